/*
 * Making apps (app.h): their options are checked and copied, they are put into the order in which they
 * are asked, and get routes, before- and after-handlers.
 */
#include "server/session_track.h"
#include "server/app.h"

#include "http/h1_write.h"
#include "http/scan.h"
#include "server/server.h"
#include "server/shaping.h"

#include <stdlib.h>

/* ---- default fields ----------------------------------------------------------------------------------- */

/* What the library writes itself, or each answer says for itself. */
static bool is_the_librarys(rv_bytes name)
{
    static const char *const names[] = {
        "Allow", "Connection",    "Content-Length", "Content-Range",     "Content-Type",
        "Date",  "Last-Modified", "Server",         "Transfer-Encoding", "Trailer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rv_bytes_equal_nocase(name, rv_str(names[i])))
            return true;
    return false;
}

static const char *fault_of(const rv_default_header *header)
{
    if (!rv_is_token(rv_str(header->name)))
        return "a name that is no token";
    if (is_the_librarys(rv_str(header->name)))
        return "a field that the library or each answer sets";
    if (header->value == NULL || !rv_field_value_is_valid(rv_bytes_trim(rv_str(header->value))))
        return "a value that cannot stand in a field";
    return NULL;
}

void rv_default_fields_free(struct rv_default_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        free((char *)fields->fields[i].name.ptr);
    free(fields->fields);
    *fields = (struct rv_default_fields){0};
}

/* Name and value in one piece of memory. */
static bool copy_field(struct rv_default_field *field, const rv_default_header *header)
{
    rv_bytes name = rv_str(header->name), value = rv_bytes_trim(rv_str(header->value));
    char *text = malloc(name.len + value.len + 1);
    if (text == NULL)
        return false;
    field->name = rv_slice(text, name.len);
    field->value = rv_slice(rv_put(text, name), value.len);
    memcpy(text + name.len, value.ptr, value.len);
    return true;
}

const char *rv_default_fields_copy(struct rv_default_fields *fields,
                                   const rv_default_header *headers)
{
    size_t count = 0;
    *fields = (struct rv_default_fields){0};
    for (; headers != NULL && headers[count].name != NULL; count++) {
        const char *fault = fault_of(&headers[count]);
        if (fault != NULL)
            return fault;
    }
    if (count == 0)
        return NULL;
    fields->fields = calloc(count, sizeof *fields->fields);
    if (fields->fields == NULL)
        return RV_NO_MEMORY_TEXT;
    for (; fields->count < count; fields->count++)
        if (!copy_field(&fields->fields[fields->count], &headers[fields->count])) {
            rv_default_fields_free(fields);
            return RV_NO_MEMORY_TEXT;
        }
    return NULL;
}

/* ---- options ------------------------------------------------------------------------------------------ */

/* A mount or prefix: absent, "/", or segments behind slashes, as they are when decoded. */
static bool is_prefix(const char *text)
{
    return text == NULL || *text == '\0' ||
           (*text == '/' && strpbrk(text, ";?#%{}") == NULL && strstr(text, "//") == NULL);
}

/* Without the slash at its end; NULL: no memory. */
static char *copy_prefix(const char *text)
{
    char *copy = strdup(text == NULL ? "" : text);
    size_t length = copy == NULL ? 0 : strlen(copy);
    if (length > 0 && copy[length - 1] == '/')
        copy[length - 1] = '\0';
    return copy;
}

static bool are_hosts(const char *text)
{
    rv_bytes rest = rv_str(text);
    while (rest.len > 0) {
        rv_bytes host = rv_bytes_take_until(&rest, ' ');
        if (host.len > 2 && memcmp(host.ptr, "*.", 2) == 0)
            host = rv_slice(host.ptr + 2, host.len - 2);
        bool is_literal = host.len > 0 && host.ptr[0] == '[';
        if (host.len > 0 && memchr(host.ptr, is_literal ? '*' : ':', host.len) != NULL)
            return false;
        if (host.len > 0 &&
            (memchr(host.ptr, '*', host.len) != NULL || memchr(host.ptr, '/', host.len) != NULL))
            return false;
    }
    return true;
}

static rv_error refuse(rv_app *app, const char *option, const char *why)
{
    return rv_server_misconfigured(app->server, RV_EINVAL, "app option %s: %s", option, why);
}

static rv_error check(rv_app *app, const rv_app_options *options)
{
    bool is_default = app == &app->server->app;
    if (is_default && (options->mount != NULL || options->hosts != NULL))
        return refuse(app, options->mount != NULL ? "mount" : "hosts",
                      "the default app is for every path and host");
    if (!is_prefix(options->mount))
        return refuse(app, "mount", "must be like \"/api\", without any of ; ? # % { }");
    if (options->hosts != NULL && !are_hosts(options->hosts))
        return refuse(app, "hosts", "must be names without a port, separated by spaces");
    return 0;
}

static rv_error set(rv_app *app, const rv_app_options *options)
{
    struct rv_default_fields defaults;
    rv_error error = check(app, options);
    if (error != 0)
        return error;
    const char *option = "default_headers";
    struct rv_shaping *shaping = NULL;
    const char *fault = rv_default_fields_copy(&defaults, options->default_headers);
    if (fault == NULL && (fault = rv_shaping_make(options, &shaping, &option)) != NULL)
        rv_default_fields_free(&defaults);
    if (fault != NULL && strcmp(fault, RV_NO_MEMORY_TEXT) != 0)
        return refuse(app, option, fault);
    char *mount = copy_prefix(options->mount);
    char *hosts = options->hosts == NULL ? NULL : strdup(options->hosts);
    if (fault != NULL || mount == NULL || (options->hosts != NULL && hosts == NULL)) {
        rv_default_fields_free(&defaults);
        rv_shaping_free(shaping);
        free(mount);
        free(hosts);
        return rv_server_misconfigured(app->server, RV_ENOMEM, "out of memory");
    }
    rv_default_fields_free(&app->defaults);
    rv_shaping_free(app->shaping);
    free(app->mount);
    free(app->hosts);
    app->defaults = defaults;
    app->shaping = shaping;
    app->mount = mount;
    app->hosts = hosts;
    app->options = *options;
    app->options.mount = app->options.hosts = NULL; /* the caller's memory: it has been copied */
    app->options.default_headers = NULL;
    app->options.compress = NULL;
    return 0;
}

/* ---- the order in which they are asked ------------------------------------------------------------------ */

static size_t mount_length(const struct rv_app *app)
{
    return app->mount == NULL ? 0 : strlen(app->mount);
}

/* One that names its hosts before one for every host, then the longer mount. */
static bool goes_before(const struct rv_app *app, const struct rv_app *other)
{
    if ((app->hosts != NULL) != (other->hosts != NULL))
        return app->hosts != NULL;
    return mount_length(app) > mount_length(other);
}

/* Puts the app behind all that it does not go before. */
static void insert(rv_server *server, rv_app *app)
{
    size_t at = server->app_count++;
    for (; at > 0 && goes_before(app, server->apps[at - 1]); at--)
        server->apps[at] = server->apps[at - 1];
    server->apps[at] = app;
}

static void rearrange(rv_server *server)
{
    size_t count = server->app_count;
    server->app_count = 0;
    for (size_t i = 0; i < count; i++)
        insert(server, server->apps[i]);
    server->asks_others = count > 0 || server->app.options.resolve != NULL;
}

static rv_error need_idle(rv_server *server, const char *what)
{
    if (atomic_load(&server->phase) == RV_SERVER_IDLE)
        return 0;
    return rv_server_fail(server, RV_ESTATE, "%s before the start", what);
}

rv_app *rv_app_new(rv_server *server, const rv_app_options *options)
{
    static const rv_app_options defaults;
    if (need_idle(server, "apps are made") != 0)
        return NULL;
    rv_app *app = calloc(1, sizeof *app);
    rv_app **apps = realloc(server->apps, (server->app_count + 1) * sizeof(rv_app *));
    if (apps != NULL)
        server->apps = apps;
    if (app == NULL || apps == NULL) {
        free(app);
        rv_server_misconfigured(server, RV_ENOMEM, "out of memory");
        return NULL;
    }
    app->server = server;
    server->apps[server->app_count++] = app;
    rv_error error = set(app, options == NULL ? &defaults : options);
    rearrange(server);
    return error == RV_ENOMEM ? NULL : app; /* owned by the server: the start fails */
}

rv_error rv_app_set(rv_app *app, const rv_app_options *options)
{
    static const rv_app_options defaults;
    rv_error error = need_idle(app->server, "apps are set up");
    if (error == 0)
        error = set(app, options == NULL ? &defaults : options);
    if (error == 0)
        rearrange(app->server);
    return error;
}

/* ---- routes, before- and after-handlers --------------------------------------------------------------------------- */

rv_error rv_route_with(rv_app *app, const char *pattern, rv_handler handler, void *ctx,
                       const rv_route_options *options)
{
    rv_server *server = app->server;
    const char *why = "a pattern and a handler are needed";
    rv_error error = need_idle(server, "routes are added");
    if (error != 0)
        return error;
    error = pattern == NULL || handler == NULL
                ? RV_EINVAL
                : rv_route_add(&app->routes, pattern, handler, ctx, options, &why);
    if (error != 0)
        rv_server_misconfigured(server, error, "route \"%s\": %s", pattern == NULL ? "" : pattern,
                                why);
    return error;
}

rv_error rv_route(rv_app *app, const char *pattern, rv_handler handler, void *ctx)
{
    return rv_route_with(app, pattern, handler, ctx, NULL);
}

static rv_error add_side_handler(struct rv_app *app, struct rv_side_handlers *to, size_t at,
                                 const char *prefix, rv_handler handler, void *ctx)
{
    struct rv_side_handler *list = realloc(to->list, (to->count + 1) * sizeof *list);
    char *copy = list == NULL ? NULL : copy_prefix(prefix);
    if (list != NULL)
        to->list = list;
    if (copy == NULL)
        return rv_server_misconfigured(app->server, RV_ENOMEM, "out of memory");
    memmove(list + at + 1, list + at, (to->count - at) * sizeof *list);
    list[at] = (struct rv_side_handler){copy, handler, ctx};
    to->count++;
    return 0;
}

/* `which`: "before" or "after". */
static rv_error add_checked(struct rv_app *app, struct rv_side_handlers *to, const char *which,
                            const char *prefix, rv_handler handler, void *ctx)
{
    const char *fault = handler == NULL ? "a handler is needed"
                                        : "must be like \"/admin\", without any of ; ? # % { }";
    if (atomic_load(&app->server->phase) != RV_SERVER_IDLE)
        return rv_server_fail(app->server, RV_ESTATE, "%s-handlers are added before the start",
                              which);
    if (handler == NULL || !is_prefix(prefix))
        return rv_server_misconfigured(app->server, RV_EINVAL, "%s \"%s\": %s", which,
                                       prefix == NULL ? "" : prefix, fault);
    return add_side_handler(app, to, to->count, prefix, handler, ctx);
}

rv_error rv_before(rv_app *app, const char *prefix, rv_handler handler, void *ctx)
{
    return add_checked(app, &app->befores, "before", prefix, handler, ctx);
}

rv_error rv_after(rv_app *app, const char *prefix, rv_handler handler, void *ctx)
{
    return add_checked(app, &app->afters, "after", prefix, handler, ctx);
}

rv_error rv_app_add_first(struct rv_app *app, rv_handler handler, void *ctx)
{
    return add_side_handler(app, &app->befores, 0, NULL, handler, ctx);
}

static void free_side_handlers(struct rv_side_handlers *handlers)
{
    for (size_t i = 0; i < handlers->count; i++)
        free(handlers->list[i].prefix);
    free(handlers->list);
}

void rv_app_clear(struct rv_app *app)
{
    rv_route_table_free(&app->routes);
    rv_default_fields_free(&app->defaults);
    free_side_handlers(&app->befores);
    free_side_handlers(&app->afters);
    rv_shaping_free(app->shaping);
    rv_session_tracker_free(app->sessions);
    free(app->mount);
    free(app->hosts);
}
