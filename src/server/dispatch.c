/*
 * Dispatch (dispatch.h): target to path, path to route, route to handler, and the answers that need no
 * handler: 404, 405, 411, 413, 417, 501, OPTIONS.
 */
#include "server/dispatch.h"

#include "http/uri.h"
#include "server/body.h"
#include "server/https.h"
#include "server/wire.h"

#include <stdio.h>

void rv_dispatch_count_refusal(struct rv_worker *worker, int status, uint32_t field_count)
{
    if (status == 414)
        RV_COUNT(worker, target_too_long);
    else if (status == 413)
        RV_COUNT(worker, body_too_large);
    else if (status == 431 && field_count >= worker->server->options.limits.head_fields_max)
        RV_COUNT(worker, head_fields_too_many);
    else if (status == 431)
        RV_COUNT(worker, head_too_large);
    else
        RV_COUNT(worker, requests_malformed);
}

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

/* RFC 9110 section 9.3.7: about the server as a whole. */
static void answer_options_for_all(struct rv_talk *talk)
{
    rv_set_header(talk, "Allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH");
    rv_reply(talk, 200, NULL, rv_slice("", 0));
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

/* ---- from the target to a route ------------------------------------------------------------------------ */

/* The general way: dot segments, percent-encoding, parameters. False: the talk has been answered. */
static bool find_route(struct rv_talk *talk, rv_bytes path, const struct rv_route_table *routes)
{
    struct rv_route_match match;
    rv_bytes method = rv_talk_span(talk, talk->head.method), raw = path;
    bool plain = talk->head.path_is_plain;
    if (!plain) {
        char *decoded = rv_arena_alloc(&talk->arena, path.len + 1);
        char *encoded = rv_arena_alloc(&talk->arena, path.len + 1);
        size_t decoded_length, encoded_length;
        if (decoded == NULL || encoded == NULL) {
            rv_talk_fail(talk, RV_ENOMEM, "while routing a request");
            return false;
        }
        switch (rv_path_normalise(path, encoded, &encoded_length, decoded, &decoded_length)) {
        case RV_PATH_OK:
            break;
        case RV_PATH_BAD_ESCAPE:
            rv_problem(talk, 400, "The path has a % that no two hexadecimal digits follow.");
            return false;
        case RV_PATH_NUL:
            rv_problem(talk, 400, "The path has an encoded NUL.");
            return false;
        case RV_PATH_ABOVE_ROOT:
            rv_problem(talk, 400, "The path leads above the root.");
            return false;
        }
        talk->path = rv_slice(decoded, decoded_length);
        raw = rv_slice(encoded, encoded_length);
    }
    rv_route_find(routes, talk->head.method_id, method, raw, plain, &match);
    talk->route = match.route;
    if (match.route == NULL) {
        not_found(talk, &match);
        return false;
    }
    memcpy(talk->params, match.params, match.route->param_count * sizeof *match.params);
    return true;
}

static bool route(struct rv_talk *talk)
{
    const struct rv_route_table *routes = &talk->worker->server->app.routes;
    const struct rv_h1_head *head = &talk->head;
    rv_bytes path = rv_talk_span(talk, head->path);
    if (head->form == RV_TARGET_AUTHORITY) {
        talk->wire->abandon_body(talk);
        rv_problem(talk, 501, "This server is no tunnel.");
        return false;
    }
    if (head->form == RV_TARGET_ASTERISK) {
        talk->path = RV_LIT("*");
        answer_options_for_all(talk);
        return false;
    }
    if (path.len == 0) /* absolute-form without a path: RFC 9110 section 4.2.3 */
        talk->path = path = RV_LIT("/");
    if (head->path_is_plain) {
        rv_bytes method = rv_talk_span(talk, head->method);
        talk->route = rv_route_find_exact(routes, head->method_id, method, path);
        if (talk->route != NULL)
            return true;
    }
    return find_route(talk, path, routes);
}

/* ---- from the route to its handler ---------------------------------------------------------------------- */

static void begin_body(struct rv_talk *talk, bool body_follows)
{
    const struct rv_h1_head *head = &talk->head;
    talk->body_chunked = head->chunked;
    talk->body_left = head->has_content_length ? head->content_length : 0;
    talk->window_ms = talk->worker->loop.now_ms;
    if (!head->chunked && talk->body_left == 0)
        return;
    talk->body_phase = RV_BODY_UNASKED;
    rv_chunked_init(&talk->chunked);
    /* A client that sends at once does not wait for a 100 (RFC 9110 section 10.1.1). */
    talk->continue_due = head->expect_continue && !body_follows;
}

static void refuse_body(struct rv_talk *talk, int status)
{
    if (status == 413) {
        RV_COUNT(talk->worker, body_too_large);
        talk->wire->abandon_body(talk);
        rv_problem(talk, 413, "The request body is larger than the server accepts.");
    } else {
        rv_problem(talk, 411, "This resource needs a Content-Length.");
    }
}

void rv_dispatch(struct rv_talk *talk, bool body_follows)
{
    talk->head_only = talk->head.method_id == RV_METHOD_HEAD;
    talk->wall_s = talk->worker->loop.wall_s;
    begin_body(talk, body_follows);
    rv_https_add_policy(talk);
    if (rv_https_redirects(talk))
        return;
    if (talk->head.expect_unknown) {
        rv_problem(talk, 417, "The only expectation that this server knows is 100-continue.");
        return;
    }
    if (!route(talk))
        return;
    int refusal = rv_body_prepare(talk);
    if (refusal != 0) {
        refuse_body(talk, refusal);
        return;
    }
    if (talk->body_phase == RV_BODY_NONE || !rv_body_is_whole(talk)) {
        rv_talk_start(talk);
        return;
    }
    talk->body_phase = RV_BODY_READING;
    talk->wire->go_on(talk);
}
