/*
 * Request bodies (body.h), and the public functions of step 5.
 *
 *     NONE <---------------- last octet --------------+
 *      |                                              |
 *   (has a body)--whole--> READING <--resume-- PAUSED-+
 *      |                      |  ^------RV_FULL---^
 *      +--streamed--> UNASKED-+ rv_on_body
 */
#include "server/body.h"

#include "server/parts.h"
#include "server/tell.h"
#include "server/wire.h"

int rv_body_prepare(struct rv_talk *talk)
{
    const struct rv_h1_head *head = &talk->head;
    const rv_route_options *options = &talk->route->options;
    bool whole = rv_body_is_whole(talk);
    talk->body = rv_slice("", 0);
    talk->body_max = options->body_bytes_max;
    if (talk->body_max == 0)
        talk->body_max = whole ? talk->worker->server->options.limits.body_bytes_max : RV_NO_LIMIT;
    if (options->length_required && head->chunked)
        return 411;
    if (head->has_content_length && head->content_length > talk->body_max)
        return 413;
    return 0;
}

bool rv_body_is_coded(const struct rv_talk *talk)
{
    rv_bytes name, value;
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        if (rv_bytes_equal_nocase(name, RV_LIT("content-encoding")) && value.len > 0 &&
            !rv_bytes_equal_nocase(value, RV_LIT("identity")))
            return true;
    return false;
}

bool rv_body_is_too_slow(struct rv_talk *talk, uint64_t now_ms)
{
    const rv_limits *limits = &talk->worker->server->options.limits;
    if (limits->body_rate_min == RV_NO_LIMIT || now_ms - talk->window_ms < limits->body_grace_ms)
        return false;
    uint64_t wanted = limits->body_rate_min * limits->body_grace_ms / 1000;
    if (talk->body_read - talk->window_read < wanted)
        return true;
    talk->window_ms = now_ms;
    talk->window_read = talk->body_read;
    return false;
}

/* ---- what arrives ----------------------------------------------------------------------------------- */

void rv_body_refuse(struct rv_talk *talk, int status, const char *reason)
{
    talk->wire->abandon_body(talk);
    if (talk->conn != NULL)
        rv_tell_bad_client(talk->conn, talk->head_sent ? 0 : status,
                           "while reading the request body", reason);
    if (talk->wire_ended)
        talk->cut = true; /* nothing is left to be said: the framing is lost */
    else
        rv_talk_refuse(talk, status, reason);
}

void rv_body_too_large(struct rv_talk *talk)
{
    RV_COUNT(talk->worker, body_too_large);
    rv_body_refuse(talk, 413, "The request body is larger than the server accepts.");
}

/* A run of the whole body. Without a copy when all of it is here. */
static void take_whole(struct rv_talk *talk, rv_bytes run, bool last)
{
    if (last && talk->body_buffer.len == 0) {
        talk->body = run;
        return;
    }
    if (rv_buffer_append(&talk->body_buffer, run) != 0) {
        rv_talk_fail(talk, RV_ENOMEM, "while reading the request body");
        return;
    }
    talk->body = rv_slice(talk->body_buffer.ptr, talk->body_buffer.len);
}

static void give_piece(struct rv_talk *talk, rv_bytes piece, bool last)
{
    talk->running = true;
    int result = talk->on_body(talk, piece, last, talk->on_body_ctx);
    talk->running = false;
    if (result < 0)
        rv_talk_fail(talk, result, "in a body handler");
    else if (rv_parts_hold(talk))
        talk->body_phase = RV_BODY_PAUSED; /* if need be at the end of the body */
    else if (last)
        rv_talk_settle(talk, result == RV_FULL ? RV_PENDING : result);
    else if (result == RV_FULL && talk->body_phase == RV_BODY_READING)
        talk->body_phase = RV_BODY_PAUSED;
    if (result >= 0 && !last)
        rv_talk_flush(talk);
}

void rv_body_take(struct rv_talk *talk, rv_bytes run, bool last)
{
    talk->body_read += run.len;
    if (last)
        talk->body_phase = RV_BODY_NONE;
    if (talk->body_discarded)
        return;
    if (talk->body_read > talk->body_max) {
        rv_body_too_large(talk);
        return;
    }
    if (!rv_body_is_whole(talk)) {
        give_piece(talk, run, last);
        return;
    }
    take_whole(talk, run, last);
    if (last && talk->response == RV_RESPONSE_NONE)
        rv_talk_start(talk);
}

bool rv_body_holds(const struct rv_talk *talk)
{
    return rv_parts_hold(talk);
}

void rv_body_take_held(struct rv_talk *talk)
{
    struct rv_parts_held held = rv_parts_take_held(talk);
    if (held.last)
        talk->body_phase = RV_BODY_NONE;
    give_piece(talk, rv_slice(held.octets.ptr, held.octets.len), held.last);
    rv_buffer_free(&held.octets);
}

/* ---- step 5 ------------------------------------------------------------------------------------------ */

rv_bytes rv_body(const rv_talk *talk)
{
    return talk == NULL ? rv_slice(NULL, 0) : talk->body;
}

rv_error rv_on_body(rv_talk *talk, rv_body_fn piece, void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || rv_body_is_whole(talk) || talk->on_body != NULL ||
        talk->response == RV_RESPONSE_ENDED)
        return RV_ESTATE;
    if (piece == NULL)
        return RV_EINVAL;
    talk->on_body = piece;
    talk->on_body_ctx = ctx;
    if (talk->body_phase == RV_BODY_UNASKED) {
        talk->body_phase = RV_BODY_READING;
        talk->window_ms = talk->worker->loop.now_ms;
        talk->wire->go_on(talk);
    } else {
        talk->body_phase = RV_BODY_READING; /* no body: the one, empty, last piece is still due */
        talk->body_left = 0;
    }
    return 0;
}

rv_error rv_body_resume(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || talk->body_phase != RV_BODY_PAUSED)
        return RV_ESTATE;
    talk->body_phase = RV_BODY_READING;
    talk->window_ms = talk->worker->loop.now_ms;
    talk->window_read = talk->body_read;
    return 0;
}

rv_bytes rv_trailer(const rv_talk *talk, const char *name)
{
    rv_bytes wanted = rv_str(name);
    for (uint32_t i = 0; talk != NULL && i < talk->trailer_count; i++) {
        const struct rv_field *field = &talk->trailers[i];
        if (rv_bytes_equal_nocase(rv_slice(talk->trailer_octets + field->name, field->name_length),
                                  wanted))
            return rv_slice(talk->trailer_octets + field->value, field->value_length);
    }
    return rv_slice(NULL, 0);
}
