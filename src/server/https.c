/*
 * Redirects to TLS, and Strict-Transport-Security (https.h).
 */
#include "server/https.h"

#include "http/h1_write.h"
#include "http/uri.h"
#include "server/tell.h"

#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>

#define PORT_DEFAULT 443 /* of https, and so left out */

/* ---- configuring --------------------------------------------------------------------------------------- */

/* "max-age=" and digits, perhaps in quotes, up to the end of the directive. */
static bool is_age(const char *directive)
{
    if (strncasecmp(directive, "max-age=", 8) != 0)
        return false;
    bool quoted = directive[8] == '"';
    const char *digits = directive + 8 + quoted, *end = digits + strspn(digits, "0123456789");
    if (end == digits || (quoted && *end++ != '"'))
        return false;
    end += strspn(end, " \t");
    return *end == '\0' || *end == ';';
}

/* RFC 6797 section 6.1.1: this directive is required. */
static bool has_age(const char *value)
{
    for (const char *at = value; at != NULL; at = strchr(at, ';')) {
        at += strspn(at, "; \t");
        if (is_age(at))
            return true;
    }
    return false;
}

const char *rv_https_policy_fault(const char *value)
{
    if (!rv_field_value_is_valid(rv_str(value)) || strlen(value) > RV_HTTPS_POLICY_MAX)
        return "hsts must be a field value of at most 128 octets";
    if (!has_age(value))
        return "hsts must have a max-age in seconds, such as \"max-age=31536000\"";
    return NULL;
}

static bool has_port(const struct rv_address *address, unsigned *port)
{
    const struct sockaddr *sockaddr = (const struct sockaddr *)&address->sockaddr;
    if (sockaddr->sa_family == AF_INET)
        *port = ntohs(((const struct sockaddr_in *)sockaddr)->sin_port);
    else if (sockaddr->sa_family == AF_INET6)
        *port = ntohs(((const struct sockaddr_in6 *)sockaddr)->sin6_port);
    else
        return false;
    return true;
}

/* A server that is tested opens no listener: then the port is the one that was asked for. */
void rv_https_find_port(rv_server *server)
{
    server->https.port = PORT_DEFAULT;
    for (size_t i = 0; i < server->endpoint_count; i++) {
        struct rv_endpoint *endpoint = &server->endpoints[i];
        char why[RV_WHY_MAX];
        struct rv_address address = endpoint->address;
        if (!endpoint->is_tls)
            continue;
        if (address.length == 0 && rv_address_parse(endpoint->wanted, &address, why) != 0)
            continue;
        if (has_port(&address, &server->https.port))
            return;
    }
}

/* ---- redirects ------------------------------------------------------------------------------------------- */

/* Path and query, as they were sent. */
static rv_bytes path_and_query(const struct rv_talk *talk)
{
    const struct rv_h1_head *head = &talk->head;
    rv_bytes target = rv_talk_span(talk, head->target);
    rv_bytes path = rv_talk_span(talk, head->path);
    if (head->form != RV_TARGET_ABSOLUTE)
        return target;
    return rv_slice(path.ptr, (size_t)(target.ptr + target.len - path.ptr));
}

static char *location_of(struct rv_talk *talk)
{
    rv_bytes host = rv_authority_host(rv_host(talk)), rest = path_and_query(talk);
    unsigned port_number = talk->worker->server->https.port;
    char port[16] = "";
    size_t size = host.len + rest.len + sizeof port + sizeof "https:///";
    char *text = rv_arena_alloc(&talk->arena, size);
    if (text == NULL)
        return NULL;
    if (port_number != PORT_DEFAULT)
        snprintf(port, sizeof port, ":%u", port_number);
    bool bare = rest.len == 0 || rest.ptr[0] != '/'; /* RFC 9110 section 4.2.3 */
    snprintf(text, size, "https://%.*s%s%s%.*s", (int)host.len, host.ptr, port, bare ? "/" : "",
             (int)rest.len, rest.ptr);
    return text;
}

/* 308 keeps method and content (RFC 9110 section 15.4.9). What is about no resource - CONNECT, OPTIONS *
   - has no other address. */
bool rv_https_redirects(struct rv_talk *talk)
{
    enum rv_target_form form = talk->head.form;
    if (!talk->worker->server->https.redirect || talk->is_tls || form == RV_TARGET_AUTHORITY ||
        form == RV_TARGET_ASTERISK)
        return false;
    if (rv_host(talk).ptr == NULL) {
        rv_refuse_bad_input(talk, 400, "while sending a client on to https",
                            "A Host field is needed to be sent on to https.");
        return true;
    }
    char *location = location_of(talk);
    if (location == NULL || rv_redirect(talk, 308, location) < 0)
        rv_talk_fail(talk, RV_ENOMEM, "while sending a client on to https");
    return true;
}

/* ---- the policy ------------------------------------------------------------------------------------------ */

/* RFC 6797 section 7.2: never on an answer in the clear. Without memory for it the response has none. */
void rv_https_add_policy(struct rv_talk *talk)
{
    const char *policy = talk->worker->server->https.policy;
    if (policy != NULL && talk->is_tls)
        rv_set_header(talk, "Strict-Transport-Security", policy);
}
