/*
 * The four forms of a request target (RFC 9112 section 3.2), all but the common one: a path is
 * handled where the request line is read, what starts with anything else comes here. Decides about
 * the form only; escapes and dot segments are the business of uri.h.
 */
#include "http/h1_inner.h"
#include "http/scan.h"
#include "http/uri.h"

/* "http://" or "https://", any case (RFC 3986 section 3.1); 0: another scheme or none. */
static size_t scheme_length(rv_bytes target)
{
    if (target.len >= 7 && rv_bytes_equal_nocase(rv_slice(target.ptr, 7), RV_LIT("http://")))
        return 7;
    if (target.len >= 8 && rv_bytes_equal_nocase(rv_slice(target.ptr, 8), RV_LIT("https://")))
        return 8;
    return 0;
}

static bool split_absolute(struct rv_h1_parser *parser, rv_bytes target, size_t scheme)
{
    struct rv_h1_head *head = parser->head;
    const char *end = target.ptr + target.len;
    const char *authority = target.ptr + scheme;
    const char *path = authority;

    while (path < end && *path != '/' && *path != '?')
        path++;
    rv_bytes host = rv_slice(authority, (size_t)(path - authority));
    if (!rv_authority_is_valid(host))
        return rv_h1_refuse(parser, 400, "The authority of the target is not valid.");

    size_t length = rv_scan_path(path, (size_t)(end - path), &head->path_is_plain);
    const char *query = path + length;
    head->form = RV_TARGET_ABSOLUTE;
    head->authority = rv_h1_span(parser, host);
    head->path = rv_h1_span(parser, rv_slice(path, length));
    if (query < end) {
        head->has_query = true;
        head->query = rv_h1_span(parser, rv_slice(query + 1, (size_t)(end - query - 1)));
    }
    return true;
}

/* host ":" port, and unlike elsewhere the port is needed (RFC 9110 section 9.3.6). */
static bool split_authority(struct rv_h1_parser *parser, rv_bytes target)
{
    if (!rv_authority_is_valid(target) || !rv_is_digit(target.ptr[target.len - 1]) ||
        memrchr(target.ptr, ':', target.len) == NULL)
        return rv_h1_refuse(parser, 400, "The target of CONNECT is not a host and a port.");
    parser->head->form = RV_TARGET_AUTHORITY;
    parser->head->authority = rv_h1_span(parser, target);
    return true;
}

bool rv_h1_split_target(struct rv_h1_parser *parser, rv_bytes target)
{
    struct rv_h1_head *head = parser->head;

    if (head->method_id == RV_METHOD_CONNECT)
        return split_authority(parser, target);
    if (target.len == 1 && target.ptr[0] == '*') {
        head->form = RV_TARGET_ASTERISK;
        head->path = rv_h1_span(parser, target);
        return true;
    }
    size_t scheme = scheme_length(target);
    if (scheme == 0)
        return rv_h1_refuse(parser, 400, "The target is neither a path nor an http URI.");
    return split_absolute(parser, target, scheme);
}
