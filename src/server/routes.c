/*
 * Many routes at once: static tables, which may hold further tables, and resources with a handler for
 * each verb. Both only write patterns and add them one by one.
 */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 16 /* of tables in tables: one that holds itself ends here */

static rv_error refuse(rv_app *app, const char *pattern, const char *why)
{
    return rv_server_misconfigured(app->server, RV_EINVAL, "route \"%s\": %s", pattern, why);
}

/* "METHOD " or nothing, the prefix, the path; "/" below a prefix is the prefix itself, also when a query
   follows. NULL: no memory. */
static char *joined(rv_bytes method, const char *prefix, const char *path)
{
    char *text;
    bool is_prefix_itself =
        *prefix != '\0' && path[0] == '/' && (path[1] == '\0' || path[1] == '?');
    int length = asprintf(&text, "%.*s%s%s", (int)method.len, method.ptr, prefix,
                          is_prefix_itself ? path + 1 : path);
    return length < 0 ? NULL : text;
}

static rv_error add_table(rv_app *app, const char *prefix, const rv_route_entry *table,
                          unsigned depth);

static rv_error add_route(rv_app *app, rv_bytes method, const char *prefix,
                          const rv_route_entry *entry)
{
    char *pattern = joined(method, prefix, entry->pattern + method.len);
    rv_error error = RV_ENOMEM;
    if (pattern != NULL)
        error = rv_route_with(app, pattern, entry->handler, entry->ctx, entry->options);
    free(pattern);
    return error;
}

static rv_error add_below(rv_app *app, const char *prefix, const rv_route_entry *entry,
                          const char *path, unsigned depth)
{
    char *longer = joined(rv_slice("", 0), prefix, path);
    rv_error error = RV_ENOMEM;
    if (longer != NULL && strchr(longer, '?') != NULL)
        error = refuse(app, longer, "what has a table below it has no query");
    else if (longer != NULL)
        error = add_table(app, longer, entry->below, depth + 1);
    free(longer);
    return error;
}

static rv_error add_entry(rv_app *app, const char *prefix, const rv_route_entry *entry,
                          unsigned depth)
{
    const char *space = strchr(entry->pattern, ' ');
    size_t length = space == NULL ? 0 : (size_t)(space + 1 - entry->pattern);
    rv_error error = 0;
    if (entry->handler == NULL && entry->below == NULL)
        return refuse(app, entry->pattern, "a handler or a table is needed");
    if (entry->handler != NULL)
        error = add_route(app, rv_slice(entry->pattern, length), prefix, entry);
    if (error == 0 && entry->below != NULL)
        error = add_below(app, prefix, entry, entry->pattern + length, depth);
    return error;
}

static rv_error add_table(rv_app *app, const char *prefix, const rv_route_entry *table,
                          unsigned depth)
{
    rv_error first = 0;
    if (depth > DEPTH_MAX)
        return refuse(app, prefix, "at most 16 tables may be nested");
    for (; table->pattern != NULL; table++) {
        rv_error error = add_entry(app, prefix, table, depth);
        if (first == 0)
            first = error;
    }
    return first;
}

rv_error rv_routes(rv_app *app, const char *prefix, const rv_route_entry *table)
{
    if (prefix == NULL || strcmp(prefix, "/") == 0)
        prefix = "";
    if (table == NULL || (*prefix != '\0' && *prefix != '/'))
        return refuse(app, prefix,
                      table == NULL ? "a table is needed" : "a prefix begins with a slash");
    if (strchr(prefix, '?') != NULL)
        return refuse(app, prefix, "a prefix has no query");
    return add_table(app, prefix, table, 0);
}

/* The path of a resource may have a query, where a prefix has none. */
static rv_error add_resource(rv_app *app, const char *path, const rv_route_entry *entry)
{
    if (path == NULL || strcmp(path, "/") == 0)
        path = "";
    else if (*path != '/')
        return refuse(app, path, "a path begins with a slash");
    return add_table(app, path, entry, 0);
}

rv_error rv_resource(rv_app *app, const char *path, const rv_verbs *verbs, void *ctx)
{
    const rv_route_entry table[] = {{"GET /", verbs->get, ctx, NULL, NULL},
                                    {"HEAD /", verbs->head, ctx, NULL, NULL},
                                    {"POST /", verbs->post, ctx, NULL, NULL},
                                    {"PUT /", verbs->put, ctx, NULL, NULL},
                                    {"PATCH /", verbs->patch, ctx, NULL, NULL},
                                    {"DELETE /", verbs->delete_, ctx, NULL, NULL},
                                    {"OPTIONS /", verbs->options, ctx, NULL, NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};
    rv_route_entry one[2] = {0};
    rv_error first = 0;
    for (const rv_route_entry *entry = table; entry->pattern != NULL; entry++) {
        if (entry->handler == NULL)
            continue;
        one[0] = *entry;
        rv_error error = add_resource(app, path, one);
        if (first == 0)
            first = error;
    }
    return first;
}
