/*
 * Dispatch (dispatch.h): target to path, the quick way to a route, route to handler, and the answers that
 * need neither: 411, 413, 417, 501, OPTIONS *.
 */
#include "server/dispatch.h"

#include "server/body.h"
#include "server/find.h"
#include "server/https.h"
#include "server/tell.h"
#include "server/wire.h"

#define DISPATCHING "while routing a request"

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

/* RFC 9110 section 9.3.7: about the server as a whole. */
static void answer_options_for_all(struct rv_talk *talk)
{
    rv_set_header(talk, "Allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH");
    rv_reply(talk, 200, NULL, rv_slice("", 0));
}

/* ---- from the target to a route ------------------------------------------------------------------------ */

/* One look into the default app's exact table is all that most requests need. False: answered. */
static bool route(struct rv_talk *talk)
{
    rv_server *server = talk->worker->server;
    const struct rv_h1_head *head = &talk->head;
    rv_bytes path = rv_talk_span(talk, head->path);
    if (head->form == RV_TARGET_AUTHORITY) {
        talk->wire->abandon_body(talk);
        rv_refuse_bad_input(talk, 501, DISPATCHING, "This server is no tunnel.");
        return false;
    }
    if (head->form == RV_TARGET_ASTERISK) {
        talk->path = RV_LIT("*");
        answer_options_for_all(talk);
        return false;
    }
    if (path.len == 0) /* absolute-form without a path: RFC 9110 section 4.2.3 */
        talk->path = path = RV_LIT("/");
    if (head->path_is_plain && !server->asks_others) {
        rv_bytes method = rv_talk_span(talk, head->method);
        talk->route = rv_route_find_exact(&server->app.routes, head->method_id, method, path);
        if (talk->route != NULL) {
            rv_enter_app(talk);
            return true;
        }
    }
    return rv_find_handler(talk, path);
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
        rv_refuse_bad_input(talk, 413, DISPATCHING,
                            "The request body is larger than the server accepts.");
    } else {
        rv_refuse_bad_input(talk, 411, DISPATCHING, "This resource needs a Content-Length.");
    }
}

void rv_dispatch(struct rv_talk *talk, bool body_follows)
{
    talk->head_only = talk->head.method_id == RV_METHOD_HEAD;
    talk->wall_s = talk->worker->loop.wall_s;
    talk->arrived_ms = talk->worker->loop.now_ms;
    talk->app = &talk->worker->server->app;
    begin_body(talk, body_follows);
    rv_talk_add_policies(talk);
    if (rv_https_redirects(talk))
        return;
    if (talk->head.expect_unknown) {
        rv_refuse_bad_input(talk, 417, DISPATCHING,
                            "The only expectation that this server knows is 100-continue.");
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
