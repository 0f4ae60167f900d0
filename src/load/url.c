/*
 * URLs, taken apart into slices (target.h). A URL that a person typed is read as curl reads it:
 * scheme and path may be missing, what stands before the last "@" of the authority is userinfo.
 * Octets that would break a request line are refused, with the way to write them.
 */
#include "http/uri.h"
#include "load/target.h"

#include <stdio.h>

#define SHOWN_MAX 200 /* octets of a URL in a sentence about it */

/* The URL as it can be shown: without control octets, and not longer than need be. */
static void show(const char *text, char shown[SHOWN_MAX + 4])
{
    size_t at = 0;
    for (; text[at] != '\0' && at < SHOWN_MAX; at++)
        shown[at] = (unsigned char)text[at] < 0x20 || text[at] == 0x7f ? '?' : text[at];
    memcpy(shown + at, text[at] == '\0' ? "" : "...", text[at] == '\0' ? 1 : 4);
}

static rv_error bad(char *why, const char *text, const char *reason)
{
    char shown[SHOWN_MAX + 4];
    show(text, shown);
    snprintf(why, RV_TARGET_WHY_MAX, "\"%s\": %s", shown, reason);
    return RV_EINVAL;
}

/* A space would end the target in the request line, a control octet the line; others are what
   RFC 3986 wants percent-encoded. */
static rv_error check_octets(const char *text, char *why)
{
    char reason[96];
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at > 0x20 && *at < 0x7f)
            continue;
        const char *what = *at == ' '   ? "a space"
                           : *at < 0x80 ? "a control octet"
                                        : "a non-ASCII octet";
        snprintf(reason, sizeof reason, "%s does not go into a URL: percent-encode it, as %%%02X",
                 what, *at);
        return bad(why, text, reason);
    }
    return 0;
}

static rv_error parse_scheme(const char *text, rv_bytes *rest, struct rv_url *url, char *why)
{
    size_t length = strcspn(text, ":/?#@[");
    url->scheme = RV_LIT("http");
    *rest = rv_str(text);
    if (strncmp(text + length, "://", 3) != 0)
        return 0;
    url->scheme = rv_slice(text, length);
    *rest = rv_slice(rest->ptr + length + 3, rest->len - length - 3);
    url->is_tls = rv_bytes_equal_nocase(url->scheme, RV_LIT("https"));
    if (url->is_tls && !RV_TLS_BUILT)
        return bad(why, text,
                   "https needs TLS, and this rivulet was built without it (CMake option RV_TLS)");
    if (!url->is_tls && !rv_bytes_equal_nocase(url->scheme, RV_LIT("http")))
        return bad(why, text, "the scheme must be http or https");
    return 0;
}

static void split_userinfo(rv_bytes *authority, struct rv_url *url)
{
    const char *at_sign = authority->len == 0 ? NULL : memrchr(authority->ptr, '@', authority->len);
    if (at_sign == NULL)
        return;
    size_t length = (size_t)(at_sign - authority->ptr);
    if (length > 0)
        url->userinfo = rv_slice(authority->ptr, length);
    *authority = rv_slice(at_sign + 1, authority->len - length - 1);
}

static rv_error parse_port(const char *text, rv_bytes digits, struct rv_url *url, char *why)
{
    uint64_t port;
    if (digits.len == 0)
        return bad(why, text, "no port follows the colon");
    if (!rv_bytes_to_u64(digits, &port) || port == 0 || port > 65535)
        return bad(why, text, "the port must be a number from 1 to 65535");
    url->port = (uint16_t)port;
    url->has_port = true;
    return 0;
}

/* host [ ":" port ] */
static rv_error parse_host(const char *text, rv_bytes authority, struct rv_url *url, char *why)
{
    bool bracketed = authority.len > 0 && authority.ptr[0] == '[';
    const char *end = bracketed ? memchr(authority.ptr, ']', authority.len)
                                : memchr(authority.ptr, ':', authority.len);
    if (bracketed && end == NULL)
        return bad(why, text, "the bracket of the IPv6 address is not closed");
    size_t length = end == NULL ? authority.len : (size_t)(end - authority.ptr) + bracketed;
    rv_bytes host = rv_slice(authority.ptr, length);
    rv_bytes rest = rv_slice(authority.ptr + length, authority.len - length);
    if (!bracketed && rest.len > 1 && memchr(rest.ptr + 1, ':', rest.len - 1) != NULL)
        return bad(why, text, "an IPv6 address goes in brackets, such as [::1]:8080");
    if (host.len == 0)
        return bad(why, text, "there is no host");
    if (!rv_authority_is_valid(host) || (rest.len > 0 && rest.ptr[0] != ':'))
        return bad(why, text, "the host is neither a name nor an address");
    url->host = bracketed ? rv_slice(host.ptr + 1, host.len - 2) : host;
    url->host_is_ipv6 = bracketed;
    url->port = url->is_tls ? 443 : 80;
    if (rest.len == 0)
        return 0;
    return parse_port(text, rv_slice(rest.ptr + 1, rest.len - 1), url, why);
}

rv_error rv_url_parse(const char *text, struct rv_url *url, char *why)
{
    rv_bytes rest;
    memset(url, 0, sizeof *url);
    rv_error error = check_octets(text, why);
    if (error == 0)
        error = parse_scheme(text, &rest, url, why);
    if (error != 0)
        return error;
    size_t authority_length = strcspn(rest.ptr, "/?#");
    rv_bytes authority = rv_slice(rest.ptr, authority_length);
    url->target = rv_slice(rest.ptr + authority_length, strcspn(rest.ptr + authority_length, "#"));
    if (url->target.len == 0)
        url->target = RV_LIT("/");
    split_userinfo(&authority, url);
    return parse_host(text, authority, url, why);
}
