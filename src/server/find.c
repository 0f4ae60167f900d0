/*
 * Finding the handler (find.h). The path is brought into its plain forms once; then each app that
 * answers for the host and covers the path is asked, its callback before its routes, until one of them
 * has a handler. What they say about methods on the way adds up to the Allow field.
 */
#include "server/find.h"

#include "http/uri.h"
#include "server/session_track.h"
#include "server/tell.h"

#define ROUTING "while routing a request"

/* ---- answers without a handler ------------------------------------------------------------------------ */

static void answer_allow(struct rv_talk *talk, int status, const struct rv_route_match *match)
{
    char allow[RV_ALLOW_BYTES_MAX + 1];
    memcpy(allow, match->allow, match->allow_length);
    allow[match->allow_length] = '\0';
    rv_set_header(talk, "Allow", allow);
    if (status == 204)
        rv_reply(talk, 204, NULL, rv_slice("", 0));
    else
        rv_problem(talk, status, NULL);
}

static void not_found(struct rv_talk *talk, const struct rv_route_match *match)
{
    if (!match->path_matched)
        rv_problem(talk, 404, NULL);
    else if (talk->head.method_id == RV_METHOD_OPTIONS)
        answer_allow(talk, 204, match);
    else
        answer_allow(talk, 405, match);
}

/* ---- the path ------------------------------------------------------------------------------------------ */

/* What is behind the first ";" of a segment is not for routing (RFC 3986 section 3.3). Copies the rest to
   `out`, before dot segments are looked at: "..;x" is "..". */
static rv_bytes without_parameters(rv_bytes path, char *out, rv_bytes *extension)
{
    char *end = out;
    while (path.len > 0) {
        const char *slash = memchr(path.ptr + 1, '/', path.len - 1);
        size_t length = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        rv_bytes parameters = rv_slice(path.ptr, length);
        end = rv_put(end, rv_bytes_take_until(&parameters, ';'));
        bool has_some = parameters.ptr > path.ptr && parameters.ptr[-1] == ';';
        *extension = has_some ? parameters : rv_slice(NULL, 0);
        path = rv_slice(path.ptr + length, path.len - length);
    }
    return rv_slice(out, (size_t)(end - out));
}

/* The path in the raw form of rv_path_normalise; talk->path is the decoded one. False: the talk has been
   answered. */
static bool normalise(struct rv_talk *talk, rv_bytes path, rv_bytes *raw)
{
    char *decoded = rv_arena_alloc(&talk->arena, path.len + 1);
    char *encoded = rv_arena_alloc(&talk->arena, path.len + 1);
    char *bare = rv_arena_alloc(&talk->arena, path.len + 1);
    size_t decoded_length, encoded_length;
    if (decoded == NULL || encoded == NULL || bare == NULL) {
        rv_talk_fail(talk, RV_ENOMEM, ROUTING);
        return false;
    }
    path = without_parameters(path, bare, &talk->path_extension);
    switch (rv_path_normalise(path, encoded, &encoded_length, decoded, &decoded_length)) {
    case RV_PATH_OK:
        break;
    case RV_PATH_BAD_ESCAPE:
        rv_refuse_bad_input(talk, 400, ROUTING,
                            "The path has a % that no two hexadecimal digits follow.");
        return false;
    case RV_PATH_NUL:
        rv_refuse_bad_input(talk, 400, ROUTING, "The path has an encoded NUL.");
        return false;
    case RV_PATH_ABOVE_ROOT:
        rv_refuse_bad_input(talk, 400, ROUTING, "The path leads above the root.");
        return false;
    }
    talk->path = rv_slice(decoded, decoded_length);
    *raw = rv_slice(encoded, encoded_length);
    return true;
}

/* ---- the apps ------------------------------------------------------------------------------------------ */

void rv_enter_demanding_app(struct rv_talk *talk)
{
    rv_fields_add_defaults(talk, &talk->app->defaults);
    if (talk->app->options.no_keep_alive)
        talk->close_asked = true;
}

/* The app has nothing for the talk: what its callback may have looked at is not the next one's. */
static void leave_app(struct rv_talk *talk)
{
    if (talk->session != NULL)
        rv_session_leave(talk);
    talk->session_sought = false;
}

/* The app's callback. True: it has found a handler, or has answered the talk itself. */
static bool resolve(struct rv_talk *talk)
{
    rv_resolution found = {0};
    if (!talk->app->options.resolve(talk, &found, talk->app->options.ctx) || found.handler == NULL)
        return false;
    struct rv_route *route = rv_arena_alloc(&talk->arena, sizeof *route);
    if (route == NULL) {
        rv_talk_fail(talk, RV_ENOMEM, ROUTING);
        return true;
    }
    memset(route, 0, sizeof *route);
    route->handler = found.handler;
    route->ctx = found.ctx;
    route->options = found.options;
    if (found.options.executor.submit != NULL)
        route->options.run = RV_ON_POOL;
    talk->route = route;
    return true;
}

/* The app's routes. */
static bool look_up(struct rv_talk *talk, rv_bytes path, bool plain, struct rv_route_match *match)
{
    const struct rv_route_table *routes = &talk->app->routes;
    rv_bytes method = rv_talk_span(talk, talk->head.method);
    if (plain)
        talk->route = rv_route_find_exact(routes, talk->head.method_id, method, path);
    if (talk->route != NULL)
        return true;
    struct rv_route_request request = {
        .method = talk->head.method_id,
        .method_text = method,
        .path = path,
        .plain = plain,
        .query = rv_query(talk),
    };
    rv_route_search(routes, &request, match);
    talk->route = match->route;
    if (match->route == NULL)
        return false;
    memcpy(talk->params, match->params, match->route->param_count * sizeof *match->params);
    return true;
}

static bool ask(struct rv_talk *talk, rv_bytes raw, bool plain)
{
    rv_server *server = talk->worker->server;
    struct rv_app *foremost = NULL, *refusing = NULL;
    struct rv_route_match match;
    rv_route_match_begin(&match);
    for (size_t i = 0; i <= server->app_count; i++) {
        struct rv_app *app = i < server->app_count ? server->apps[i] : &server->app;
        rv_bytes below;
        if (!rv_app_has_host(app, rv_host(talk)) || !rv_app_covers(app, raw, &below))
            continue;
        if (foremost == NULL)
            foremost = app;
        talk->app = app;
        if (app->options.resolve != NULL && resolve(talk))
            return true;
        if (look_up(talk, below, plain, &match))
            return true;
        if (match.path_matched && refusing == NULL)
            refusing = app;
        leave_app(talk);
    }
    talk->app = refusing != NULL ? refusing : foremost;
    rv_route_match_end(&match);
    rv_enter_app(talk);
    not_found(talk, &match);
    return false;
}

bool rv_find_handler(struct rv_talk *talk, rv_bytes path)
{
    bool plain = talk->head.path_is_plain && memchr(path.ptr, ';', path.len) == NULL;
    rv_bytes raw = path;
    if (!plain && !normalise(talk, path, &raw))
        return false;
    if (!ask(talk, raw, plain) || talk->response != RV_RESPONSE_NONE)
        return false;
    rv_enter_app(talk);
    return true;
}
