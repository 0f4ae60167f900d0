/*
 * Names to addresses (target.h). Where a connection goes to is decided in this order: the unix
 * socket, the proxy, an override for the name, the system's resolver. Nothing is connected here.
 */
#include "load/target.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define PROXY_PORT 1080
#define PORT_TEXT_MAX 6
#define HOST_MAX 256 /* with terminator: a name has at most 253 octets */

/* ---- what the URL says ----------------------------------------------------------------------- */

rv_error rv_target_set_url(struct rv_load_target *target, const char *text,
                           const struct rv_url *url)
{
    char *copy = strdup(text);
    char *host = strndup(url->host.ptr, url->host.len);
    char *authority = NULL;
    const char *open = url->host_is_ipv6 ? "[" : "";
    const char *close = url->host_is_ipv6 ? "]" : "";
    int length = -1;
    if (host != NULL && url->port == (url->is_tls ? 443 : 80))
        length = asprintf(&authority, "%s%s%s", open, host, close);
    else if (host != NULL)
        length = asprintf(&authority, "%s%s%s:%u", open, host, close, (unsigned)url->port);
    if (copy == NULL || length < 0) {
        free(copy);
        free(host);
        return RV_ENOMEM;
    }
    free(target->url);
    free(target->host);
    free(target->authority);
    target->url = copy;
    target->host = host;
    target->authority = authority;
    target->port = url->port;
    target->is_tls = url->is_tls;
    return 0;
}

struct rv_tls_client_settings rv_target_tls(const struct rv_load_target *target)
{
    struct rv_tls_client_settings settings = target->tls;
    settings.host = target->host;
    return settings;
}

rv_error rv_target_check_tls(const struct rv_load_target *target, char *why)
{
    static_assert(RV_TARGET_WHY_MAX >= RV_TLS_WHY_MAX, "one sentence becomes the other");
    struct rv_tls_client_settings settings = rv_target_tls(target);
    return RV_TLS_BUILT && target->is_tls ? rv_tls_client_check(&settings, why) : 0;
}

void rv_target_free(struct rv_load_target *target)
{
    free(target->url);
    free(target->authority);
    free(target->host);
    free(target->proxy);
    free(target->unix_path);
    free(target->addresses);
    memset(target, 0, sizeof *target);
}

/* ---- the list of addresses ------------------------------------------------------------------- */

static bool is_known(const struct rv_load_target *target, const struct sockaddr *address,
                     socklen_t length)
{
    for (uint32_t i = 0; i < target->address_count; i++)
        if (target->addresses[i].length == length &&
            memcmp(&target->addresses[i].sockaddr, address, length) == 0)
            return true;
    return false;
}

/* Adds one that is not there yet, and that the source can reach. */
static rv_error add_address(struct rv_load_target *target, const struct sockaddr *address,
                            socklen_t length)
{
    const struct rv_endpoint *source = &target->source.first;
    if (source->length > 0 && address->sa_family != AF_UNIX &&
        source->sockaddr.ss_family != address->sa_family)
        return 0;
    if (is_known(target, address, length))
        return 0;
    struct rv_endpoint *grown =
        realloc(target->addresses, (target->address_count + 1) * sizeof *target->addresses);
    if (grown == NULL)
        return RV_ENOMEM;
    target->addresses = grown;
    struct rv_endpoint *added = &grown[target->address_count++];
    memset(added, 0, sizeof *added);
    memcpy(&added->sockaddr, address, length);
    added->length = length;
    return 0;
}

static rv_error add_unix(struct rv_load_target *target, char *why)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const char *path = target->unix_path;
    bool is_abstract = path[0] == '@';
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof name.sun_path) {
        snprintf(why, RV_TARGET_WHY_MAX, "the path of a unix socket has 1 to %zu octets, not %zu",
                 sizeof name.sun_path - 1, length);
        return RV_EINVAL;
    }
    memcpy(name.sun_path, path, length);
    if (is_abstract)
        name.sun_path[0] = '\0';
    size_t size = offsetof(struct sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1);
    return add_address(target, (const struct sockaddr *)&name, (socklen_t)size);
}

/* What getaddrinfo says to a name (or, with AI_NUMERICHOST, to an address). */
static rv_error add_resolved(struct rv_load_target *target, const char *host, uint16_t port,
                             int flags, const char **said)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    struct addrinfo *found = NULL;
    char service[PORT_TEXT_MAX];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int result = getaddrinfo(host, service, &hints, &found);
    if (result == EAI_MEMORY)
        return RV_ENOMEM;
    if (result != 0) {
        *said = gai_strerror(result);
        return RV_EADDR;
    }
    rv_error error = 0;
    for (struct addrinfo *each = found; each != NULL && error == 0; each = each->ai_next)
        error = add_address(target, each->ai_addr, each->ai_addrlen);
    freeaddrinfo(found);
    return error;
}

/* ---- overrides ------------------------------------------------------------------------------- */

/* "host:port:address[,address]" in slices. */
struct override {
    rv_bytes host; /* "*": any */
    uint16_t port;
    rv_bytes addresses;
};

static bool override_parse(const char *text, struct override *override)
{
    bool bracketed = text[0] == '[';
    const char *end = bracketed ? strchr(text, ']') : strchr(text, ':');
    if (end == NULL || end == text)
        return false;
    override->host = bracketed ? rv_slice(text + 1, (size_t)(end - text) - 1)
                               : rv_slice(text, (size_t)(end - text));
    const char *port = bracketed ? end + 1 : end;
    const char *addresses = *port == ':' ? strchr(port + 1, ':') : NULL;
    uint64_t number;
    if (addresses == NULL || addresses[1] == '\0' ||
        !rv_bytes_to_u64(rv_slice(port + 1, (size_t)(addresses - port) - 1), &number) ||
        number == 0 || number > 65535)
        return false;
    override->port = (uint16_t)number;
    override->addresses = rv_str(addresses + 1);
    return true;
}

static bool override_is_for(const struct override *override, const char *host, uint16_t port)
{
    return override->port == port && (rv_bytes_equal(override->host, RV_LIT("*")) ||
                                      rv_bytes_equal_nocase(override->host, rv_str(host)));
}

static rv_error override_error(char *why, const char *text, const char *address)
{
    snprintf(why, RV_TARGET_WHY_MAX, "\"%.200s\": \"%.100s\" is no IP address", text, address);
    return RV_EINVAL;
}

static rv_error add_override(struct rv_load_target *target, const char *text,
                             const struct override *override, char *why)
{
    rv_bytes rest = override->addresses;
    rv_bytes item;
    while (rv_bytes_next_element(&rest, &item)) {
        char address[INET6_ADDRSTRLEN + 32];
        const char *said = NULL;
        if (item.len > 2 && item.ptr[0] == '[' && item.ptr[item.len - 1] == ']')
            item = rv_slice(item.ptr + 1, item.len - 2);
        snprintf(address, sizeof address, "%.*s", (int)item.len, item.ptr);
        rv_error error = item.len >= sizeof address
                             ? RV_EADDR
                             : add_resolved(target, address, override->port, AI_NUMERICHOST, &said);
        if (error == RV_EADDR)
            return override_error(why, text, address);
        if (error != 0)
            return error;
    }
    return 0;
}

/* `*applied`: one of them is for this host and port, and its addresses were added. */
static rv_error try_overrides(struct rv_load_target *target, const char *host, uint16_t port,
                              const char *const *overrides, size_t count, bool *applied, char *why)
{
    *applied = false;
    for (size_t i = 0; i < count; i++) {
        struct override override;
        if (!override_parse(overrides[i], &override)) {
            snprintf(why, RV_TARGET_WHY_MAX,
                     "\"%.200s\" is not host:port:address, such as example.org:80:127.0.0.1",
                     overrides[i]);
            return RV_EINVAL;
        }
        if (*applied || !override_is_for(&override, host, port))
            continue;
        rv_error error = add_override(target, overrides[i], &override, why);
        if (error != 0)
            return error;
        *applied = true;
    }
    if (count > 0 && !*applied) {
        snprintf(why, RV_TARGET_WHY_MAX, "\"%.200s\" is for another host or port than %.200s:%u",
                 overrides[0], host, (unsigned)port);
        return RV_EINVAL;
    }
    return 0;
}

/* ---- resolving ------------------------------------------------------------------------------- */

static rv_error resolve_host(struct rv_load_target *target, const char *host, uint16_t port,
                             const char *const *overrides, size_t override_count, char *why)
{
    bool overridden;
    const char *said = NULL;
    rv_error error = try_overrides(target, host, port, overrides, override_count, &overridden, why);
    if (error == 0 && !overridden) {
        error = add_resolved(target, host, port, 0, &said);
        if (error == RV_EADDR)
            snprintf(why, RV_TARGET_WHY_MAX, "\"%.250s\" could not be resolved: %s", host, said);
    }
    if (error == 0 && target->address_count == 0) {
        snprintf(why, RV_TARGET_WHY_MAX,
                 "\"%.250s\" has no %s address, as the source address would need", host,
                 target->source.first.sockaddr.ss_family == AF_INET6 ? "IPv6" : "IPv4");
        error = RV_EADDR;
    }
    return error;
}

static rv_error resolve_proxy(struct rv_load_target *target, const char *const *overrides,
                              size_t override_count, char *why)
{
    struct rv_url url;
    char host[HOST_MAX];
    if (rv_url_parse(target->proxy, &url, why) != 0)
        return RV_EADDR;
    snprintf(host, sizeof host, "%.*s", (int)url.host.len, url.host.ptr);
    return resolve_host(target, host, url.has_port ? url.port : PROXY_PORT, overrides,
                        override_count, why);
}

rv_error rv_target_resolve(struct rv_load_target *target, const char *const *overrides,
                           size_t override_count, char *why)
{
    target->address_count = 0;
    rv_error error;
    if (target->unix_path != NULL)
        error = add_unix(target, why);
    else if (target->proxy != NULL)
        error = resolve_proxy(target, overrides, override_count, why);
    else
        error = resolve_host(target, target->host, target->port, overrides, override_count, why);
    if (error == RV_ENOMEM)
        snprintf(why, RV_TARGET_WHY_MAX, "out of memory");
    return error;
}
