/*
 * What an app is asked for (app.h): hosts, mounts and prefixes against what a request says. Paths are
 * compared segment by segment, so that "/api" covers "/api/x" and not "/apis".
 */
#include "http/uri.h"
#include "server/app.h"

#include <stdlib.h>

/* ---- hosts ------------------------------------------------------------------------------------------- */

/* "*.example.org" is for every name below example.org. */
static bool host_matches(rv_bytes wanted, rv_bytes host)
{
    if (wanted.len < 2 || wanted.ptr[0] != '*')
        return rv_bytes_equal_nocase(wanted, host);
    rv_bytes ending = rv_slice(wanted.ptr + 1, wanted.len - 1);
    return host.len > ending.len &&
           rv_bytes_equal_nocase(rv_slice(host.ptr + host.len - ending.len, ending.len), ending);
}

bool rv_app_has_host(const struct rv_app *app, rv_bytes authority)
{
    if (app->hosts == NULL)
        return true;
    rv_bytes rest = rv_str(app->hosts);
    rv_bytes host = rv_authority_host(authority);
    if (host.len > 1 && host.ptr[host.len - 1] == '.')
        host.len--; /* the root's dot: RFC 1034 section 3.1 */
    while (host.len > 0 && rest.len > 0)
        if (host_matches(rv_bytes_take_until(&rest, ' '), host))
            return true;
    return false;
}

/* ---- mounts and prefixes -------------------------------------------------------------------------------- */

/* Takes "/segment" off the front; false: there is none. */
static bool take_segment(rv_bytes *path, rv_bytes *segment)
{
    if (path->len == 0 || path->ptr[0] != '/')
        return false;
    const char *slash = memchr(path->ptr + 1, '/', path->len - 1);
    size_t length = slash == NULL ? path->len - 1 : (size_t)(slash - path->ptr - 1);
    *segment = rv_slice(path->ptr + 1, length);
    *path = rv_slice(path->ptr + 1 + length, path->len - 1 - length);
    return true;
}

bool rv_app_covers(const struct rv_app *app, rv_bytes path, rv_bytes *below)
{
    rv_bytes mount = rv_str(app->mount), wanted, segment;
    while (mount.len > 0)
        if (!take_segment(&mount, &wanted) || !take_segment(&path, &segment) ||
            !rv_percent_equal(segment, wanted))
            return false;
    *below = path.len == 0 ? RV_LIT("/") : path;
    return true;
}

static bool take_full_segment(rv_bytes *path, rv_bytes *segment)
{
    while (take_segment(path, segment))
        if (segment->len > 0)
            return true;
    return false;
}

static bool take_prefix(rv_bytes *path, rv_bytes prefix)
{
    rv_bytes wanted, segment;
    while (prefix.len > 0)
        if (!take_segment(&prefix, &wanted) || !take_full_segment(path, &segment) ||
            !rv_bytes_equal(segment, wanted))
            return false;
    return true;
}

bool rv_side_handler_covers(const struct rv_app *app, const struct rv_side_handler *handler,
                            rv_bytes path)
{
    return take_prefix(&path, rv_str(app->mount)) && take_prefix(&path, rv_str(handler->prefix));
}
