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

#include "server/wire.h"

static struct rv_h1_limits trailer_limits(const struct rv_talk *talk)
{
    const rv_limits *limits = &talk->worker->server->options.limits;
    return (struct rv_h1_limits){.target_bytes_max = 0,
                                 .head_bytes_max = (uint32_t)limits->head_bytes_max,
                                 .head_fields_max = (uint32_t)limits->head_fields_max};
}

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

bool rv_body_forces_close(const struct rv_talk *talk, bool whole)
{
    if (talk->body_phase == RV_BODY_NONE)
        return false;
    if (talk->continue_due)
        return true;
    if (!whole && talk->body_phase != RV_BODY_UNASKED)
        return false; /* the handler goes on reading while it answers */
    return !talk->body_chunked && talk->body_left > RV_DRAIN_BYTES_MAX;
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

static void refuse(struct rv_talk *talk, int status, const char *reason)
{
    talk->conn->last = true;
    if (talk->wire_ended)
        talk->cut = true; /* nothing is left to be said: the framing is lost */
    else
        rv_talk_refuse(talk, status, reason);
}

static void too_large(struct rv_talk *talk)
{
    RV_COUNT(talk->worker, body_too_large);
    refuse(talk, 413, "The request body is larger than the server accepts.");
}

static void malformed(struct rv_talk *talk, int status, const char *reason)
{
    RV_COUNT(talk->worker, requests_malformed);
    refuse(talk, status, reason);
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
    else if (last)
        rv_talk_settle(talk, result == RV_FULL ? RV_PENDING : result);
    else if (result == RV_FULL && talk->body_phase == RV_BODY_READING)
        talk->body_phase = RV_BODY_PAUSED;
}

/* A run of content; `last`: of the body. */
static void take_run(struct rv_talk *talk, rv_bytes run, bool last)
{
    talk->body_read += run.len;
    if (last)
        talk->body_phase = RV_BODY_NONE;
    if (talk->body_discarded)
        return;
    if (talk->body_read > talk->body_max) {
        too_large(talk);
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

static size_t feed_length(struct rv_talk *talk, char *octets, size_t length)
{
    size_t run = talk->body_left < length ? (size_t)talk->body_left : length;
    talk->body_left -= run;
    take_run(talk, rv_slice(octets, run), talk->body_left == 0);
    return run;
}

/* RFC 9112 section 7.1.2. Kept in the arena for rv_trailer; what they say has no effect on framing. */
static size_t feed_trailers(struct rv_talk *talk, char *octets, size_t length)
{
    struct rv_h1_limits limits = trailer_limits(talk);
    if (talk->trailers == NULL)
        talk->trailers =
            rv_arena_alloc(&talk->arena, limits.head_fields_max * sizeof(struct rv_field));
    struct rv_h1_head section = {.fields = talk->trailers};
    const char *reason = "The server is out of memory.";
    int result = section.fields == NULL
                     ? 500
                     : rv_h1_parse_trailers(octets, length, &limits, &section, &reason);
    if (result == RV_H1_INCOMPLETE) {
        talk->conn->searched = (uint32_t)length;
        talk->conn->starved = true;
        return 0;
    }
    talk->conn->searched = 0;
    if (result != RV_H1_COMPLETE) {
        malformed(talk, result, reason);
        return 0;
    }
    talk->trailer_octets = rv_arena_copy(&talk->arena, rv_slice(octets, section.length));
    talk->trailer_count = talk->trailer_octets == NULL ? 0 : section.field_count;
    take_run(talk, rv_slice(octets, 0), true);
    return section.length;
}

/* Trailers are only parsed again when a line has ended since: an octet at a time stays linear. */
static bool trailers_may_have_grown(const struct rv_talk *talk, const char *octets, size_t length)
{
    uint32_t searched = talk->conn->searched;
    return length <= searched || searched == 0 ||
           length > talk->worker->server->options.limits.head_bytes_max ||
           memchr(octets + searched, '\n', length - searched) != NULL;
}

/* The size of a chunk tells before its data that the body will be too large. */
static bool announces_too_much(const struct rv_talk *talk, size_t run)
{
    uint64_t room = talk->body_max - talk->body_read;
    return run > room || talk->chunked.left > room - run;
}

static size_t feed_chunked(struct rv_talk *talk, char *octets, size_t length)
{
    if (talk->body_in_trailers) {
        if (length == 0 || !trailers_may_have_grown(talk, octets, length)) {
            talk->conn->starved = true;
            return 0;
        }
        return feed_trailers(talk, octets, length);
    }
    rv_bytes rest = rv_slice(octets, length), data;
    const char *reason = NULL;
    enum rv_chunked_result result = rv_chunked_next(&talk->chunked, &rest, &data, &reason);
    if (!talk->body_discarded &&
        announces_too_much(talk, result == RV_CHUNKED_DATA ? data.len : 0)) {
        too_large(talk);
        return length - rest.len;
    }
    switch (result) {
    case RV_CHUNKED_DATA:
        take_run(talk, data, false);
        break;
    case RV_CHUNKED_LAST:
        talk->body_in_trailers = true;
        break;
    case RV_CHUNKED_INCOMPLETE:
        break;
    case RV_CHUNKED_ERROR:
        malformed(talk, 400, reason);
        break;
    }
    return length - rest.len;
}

size_t rv_body_feed(struct rv_talk *talk, char *octets, size_t length)
{
    size_t used = 0;
    talk->conn->starved = false;
    while (talk->body_phase == RV_BODY_READING ||
           (talk->body_discarded && talk->body_phase != RV_BODY_NONE)) {
        bool empty = !talk->body_chunked && talk->body_left == 0;
        if (used == length && !empty) {
            talk->conn->starved = true;
            break;
        }
        size_t count = talk->body_chunked ? feed_chunked(talk, octets + used, length - used)
                                          : feed_length(talk, octets + used, length - used);
        used += count;
        if ((count == 0 && !empty) || talk->wire_ended || talk->cut)
            break;
    }
    return used;
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
        rv_wire_continue(talk);
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
