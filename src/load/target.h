/*
 * Where load goes: URLs taken apart, names resolved, source addresses. It opens no connection.
 */
#ifndef RV_LOAD_TARGET_H
#define RV_LOAD_TARGET_H

#include "base/bytes.h"
#include "io/tls.h"

#include <sys/socket.h>

#define RV_TARGET_WHY_MAX 512 /* the longest sentence about a target, with terminator */

/* "http://user:pass@host:8080/path?query#fragment", in slices of the text. */
struct rv_url {
    rv_bytes scheme;   /* "http" when there is none */
    bool is_tls;       /* it is "https" */
    rv_bytes userinfo; /* absent: there is none */
    rv_bytes host;     /* without the brackets of an IPv6 literal */
    bool host_is_ipv6; /* it had brackets */
    uint16_t port;     /* 80 when there is none; 443 with https */
    bool has_port;
    rv_bytes
        target; /* path and query as they stand; "/" when there is none. "?x" when only the path
                        is missing: rv_request_build puts the slash before it */
};

/* Any scheme may be missing ("127.0.0.1:8910/ok"), and so may the path. RV_EINVAL, with a
   sentence in `why` (RV_TARGET_WHY_MAX octets) that names the URL and what is wrong with it: no
   host, a port that is none, a scheme other than http and https, an octet that no URL
   has; https in a build without TLS. */
rv_error rv_url_parse(const char *text, struct rv_url *url, char *why);

struct rv_endpoint {
    struct sockaddr_storage sockaddr;
    socklen_t length;
};

/* Addresses that connections may come from: a run of them, used in turn. */
struct rv_source_range {
    struct rv_endpoint first; /* length 0: the kernel chooses */
    uint64_t count;           /* addresses from the first one on, at most 2^32 */
};

/* "127.0.0.5", "127.0.0.0/8" (without the network's own and the broadcast address), "::1",
   "127.0.0.2-127.0.0.9". */
rv_error rv_source_parse(const char *text, struct rv_source_range *range, char *why);

/* The nth address of a range, modulo its count. */
struct rv_endpoint rv_source_nth(const struct rv_source_range *range, uint64_t n);

struct rv_load_target {
    char *url;       /* the first URL, as it was given; owned, like all below */
    char *authority; /* for Host: "127.0.0.1:8910", "[::1]:8080", "example.org"; no port that is
                        the scheme's */
    char *host;      /* "127.0.0.1", "::1", "example.org" */
    uint16_t port;
    bool is_tls;                       /* by the URL; then ... */
    struct rv_tls_client_settings tls; /* ... with these; its `host` is filled in when it is used */
    /* "host:port" of the proxy that connections go to, without a port 1080 (as curl); NULL: none */
    char *proxy;
    char *unix_path; /* NULL: TCP. "@name" is an abstract one */
    /* What to connect to, in the order to try: a connection that is refused goes on to the next
       one. */
    struct rv_endpoint *addresses;
    uint32_t address_count; /* at least 1 */
    struct rv_source_range source;
};

/* Takes over url, authority, host and port; the rest of `target` stays as it is. RV_ENOMEM. */
rv_error rv_target_set_url(struct rv_load_target *target, const char *text,
                           const struct rv_url *url);

/* Fills `addresses` from the unix path, the proxy, one of the overrides
   ("host:port:address[,address]", as curl's --resolve; "*" for any host) or the system's
   resolver. Those of another family than the source's are left out. RV_EADDR with `why`: it says
   what could not be resolved and what the resolver said. RV_EINVAL with `why`: an override is no
   such thing, or none is for this host and port; the unix path fits no address. RV_ENOMEM. */
rv_error rv_target_resolve(struct rv_load_target *target, const char *const *overrides,
                           size_t override_count, char *why);

/* The settings of TLS with the target's own host. */
struct rv_tls_client_settings rv_target_tls(const struct rv_load_target *target);

/* Can the target's TLS settings be used, if it has any? RV_EINVAL with `why`, RV_ENOMEM. */
rv_error rv_target_check_tls(const struct rv_load_target *target, char *why);

void rv_target_free(struct rv_load_target *target);

#endif
