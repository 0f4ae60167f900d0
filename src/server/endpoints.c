/*
 * The addresses that a server listens on: asked for as text, opened at the start, closed at the stop.
 */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rv_error add(rv_server *server, const char *address, bool is_tls)
{
    struct rv_endpoint *endpoints =
        realloc(server->endpoints, (server->endpoint_count + 1) * sizeof *endpoints);
    char *wanted = strdup(address);
    if (endpoints != NULL)
        server->endpoints = endpoints;
    if (endpoints == NULL || wanted == NULL) {
        free(wanted);
        return RV_ENOMEM;
    }
    endpoints[server->endpoint_count++] = (struct rv_endpoint){.wanted = wanted, .is_tls = is_tls};
    return 0;
}

rv_error rv_listen(rv_server *server, const char *address)
{
    return rv_server_add_endpoint(server, address, false);
}

static rv_error inherit(rv_server *server, bool is_tls)
{
    if (server->inherit && server->inherit_tls != is_tls)
        return rv_server_misconfigured(server, RV_EADDR,
                                       "\"inherited\" means every socket that LISTEN_FDS passes "
                                       "on: with TLS or without. \"fd:3\" and so on tell them "
                                       "apart");
    server->inherit = true;
    server->inherit_tls = is_tls;
    return 0;
}

rv_error rv_server_add_endpoint(rv_server *server, const char *address, bool is_tls)
{
    struct rv_address parsed;
    char why[RV_WHY_MAX];
    if (atomic_load(&server->phase) != RV_SERVER_IDLE)
        return rv_server_fail(server, RV_ESTATE, "addresses are added before the start");
    if (strcmp(address, "inherited") == 0)
        return inherit(server, is_tls);
    rv_error error = rv_address_parse(address, &parsed, why);
    if (error != 0)
        return rv_server_misconfigured(server, error, "%s", why);
    error = add(server, address, is_tls);
    if (error != 0)
        return rv_server_misconfigured(server, error, "out of memory");
    server->endpoints_wanted = server->endpoint_count;
    return 0;
}

static void close_endpoint(struct rv_endpoint *endpoint)
{
    for (unsigned i = 0; i < endpoint->descriptor_count; i++)
        rv_address_close(&endpoint->address, endpoint->descriptors[i]);
    free(endpoint->descriptors);
    endpoint->descriptors = NULL;
    endpoint->descriptor_count = 0;
}

void rv_server_close_endpoints(rv_server *server)
{
    for (size_t i = 0; i < server->endpoint_count; i++)
        close_endpoint(&server->endpoints[i]);
    while (server->endpoint_count > server->endpoints_wanted)
        free(server->endpoints[--server->endpoint_count].wanted);
}

/*
 * With SO_REUSEPORT a second server of the same user could take half of the connections of one that
 * listens already, and nobody would be told. So the address is first opened without it, which fails
 * when it is taken.
 */
static rv_error probe(const struct rv_endpoint *endpoint, struct rv_listen_options options,
                      char *why)
{
    struct rv_address address = endpoint->address;
    int descriptor;
    options.reuse_port = false;
    rv_error error = rv_address_listen(&address, &options, &descriptor, why);
    if (error == 0)
        close(descriptor);
    return error;
}

static rv_error open_endpoint(struct rv_endpoint *endpoint, const rv_server_options *options,
                              char *why)
{
    unsigned workers = options->workers;
    rv_error error = rv_address_parse(endpoint->wanted, &endpoint->address, why);
    bool each = endpoint->address.kind == RV_ADDRESS_TCP && workers > 1;
    unsigned count = each ? workers : 1;
    struct rv_listen_options how = {.backlog = options->backlog, .reuse_port = each};
    endpoint->descriptors = calloc(count, sizeof *endpoint->descriptors);
    if (endpoint->descriptors == NULL)
        error = RV_ENOMEM;
    if (error == 0 && each)
        error = probe(endpoint, how, why);
    /* The first settles the port when the kernel is to choose it. */
    for (unsigned i = 0; i < count && error == 0; i++) {
        error = rv_address_listen(&endpoint->address, &how, &endpoint->descriptors[i], why);
        if (error == 0)
            endpoint->descriptor_count++;
    }
    if (error != 0) {
        close_endpoint(endpoint);
        return error;
    }
    rv_address_format((struct sockaddr *)&endpoint->address.sockaddr, endpoint->address.length,
                      endpoint->text, sizeof endpoint->text);
    return 0;
}

static rv_error add_inherited(rv_server *server)
{
    int count = rv_address_inherited();
    if (count == 0)
        return rv_server_fail(server, RV_EADDR,
                              "cannot listen on \"inherited\": LISTEN_FDS passes no socket to this "
                              "process");
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "fd:%d", 3 + i);
        if (add(server, text, server->inherit_tls) != 0)
            return rv_server_fail(server, RV_ENOMEM, "out of memory");
    }
    return 0;
}

rv_error rv_server_open_endpoints(rv_server *server)
{
    char why[RV_WHY_MAX] = "out of memory";
    unsigned somaxconn = rv_address_somaxconn();
    rv_error error = server->inherit ? add_inherited(server) : 0;
    if (error == 0 && server->endpoint_count == 0)
        error = rv_server_fail(server, RV_EINVAL, "there is no address to listen on");
    server->backlog = server->options.backlog < somaxconn ? server->options.backlog : somaxconn;
    for (size_t i = 0; i < server->endpoint_count && error == 0; i++) {
        error = open_endpoint(&server->endpoints[i], &server->options, why);
        if (error != 0)
            rv_server_fail(server, error, "%s", why);
    }
    if (error != 0)
        rv_server_close_endpoints(server);
    return error;
}

bool rv_server_address_is_tls(const rv_server *server, size_t index)
{
    return index < server->endpoint_count && server->endpoints[index].is_tls;
}

const char *rv_server_address(const rv_server *server, size_t index)
{
    return index < server->endpoint_count && server->endpoints[index].text[0] != '\0'
               ? server->endpoints[index].text
               : NULL;
}
