/*
 * One connection's HTTP/2 through libnghttp2 (h2.h): octets in and out, its errors in our terms, windows, and
 * the connection's end. What the library leaves unchecked is looked at before it is fed (h2_watch.h).
 */
#include "http/h2_session.h"

const char *rv_h2_error_name(uint32_t code)
{
    switch (code) {
#define RV_H2_ERROR_CASE(name, value)                                                              \
    case value:                                                                                    \
        return #name;
        RV_H2_ERRORS(RV_H2_ERROR_CASE)
#undef RV_H2_ERROR_CASE
    default:
        return NULL;
    }
}

rv_error rv_h2_translate(int result)
{
    switch (result) {
    case NGHTTP2_ERR_NOMEM:
        return RV_ENOMEM;
    case NGHTTP2_ERR_FLOODED:
        return RV_ELIMIT;
    case NGHTTP2_ERR_STREAM_CLOSED:
    case NGHTTP2_ERR_STREAM_CLOSING:
    case NGHTTP2_ERR_STREAM_SHUT_WR:
    case NGHTTP2_ERR_INVALID_STREAM_STATE:
    case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE:
    case NGHTTP2_ERR_START_STREAM_NOT_ALLOWED:
    case NGHTTP2_ERR_DATA_EXIST:
        return RV_EGONE;
    default:
        return result < 0 ? RV_EPROTO : 0;
    }
}

/* ---- octets in and out ---------------------------------------------------------------------------------- */

/* Feeds the library. */
static rv_error feed(struct rv_h2 *h2, const char *octets, size_t length)
{
    ssize_t used = nghttp2_session_mem_recv(h2->session, (const uint8_t *)octets, length);
    if (used >= 0 || h2->failed)
        return 0;
    rv_h2_fail(h2, used == NGHTTP2_ERR_FLOODED            ? RV_H2_ENHANCE_YOUR_CALM
                   : used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? RV_H2_PROTOCOL_ERROR
                                                          : RV_H2_INTERNAL_ERROR);
    return rv_h2_translate((int)used);
}

static bool is_open(const struct rv_h2 *h2, uint32_t id)
{
    return nghttp2_session_find_stream(h2->session, (int32_t)id) != NULL;
}

/* A frame of a client has begun, and the library knows all that came before. */
static void check_frame(struct rv_h2 *h2)
{
    const struct rv_h2_frame *frame = &h2->watch.frame;
    uint32_t code = 0;
    if (frame->type == RV_H2_HEADERS || frame->type == RV_H2_DATA)
        code = rv_h2_watch_check(&h2->watch,
                                 rv_h2_watch_needs_state(&h2->watch) && is_open(h2, frame->stream));
    else if (frame->type == RV_H2_PRIORITY && frame->stream == 0)
        code = RV_H2_PROTOCOL_ERROR;
    if (code != 0)
        rv_h2_fail(h2, code);
}

static void dependency_loop(struct rv_h2 *h2)
{
    uint32_t id = h2->watch.frame.stream;
    if (id != 0 && is_open(h2, id))
        rv_h2_reset(h2, id, RV_H2_PROTOCOL_ERROR);
    else
        rv_h2_fail(h2, RV_H2_PROTOCOL_ERROR);
}

rv_error rv_h2_receive(struct rv_h2 *h2, rv_bytes octets)
{
    size_t at = 0, fed = 0;
    rv_error error = 0;
    bool watches = !h2->is_client || h2->events->on_frame != NULL;
    while (watches && at < octets.len && !h2->failed && error == 0) {
        size_t used;
        enum rv_h2_seen seen =
            rv_h2_watch_next(&h2->watch, rv_slice(octets.ptr + at, octets.len - at), &used);
        at += used;
        if (seen == RV_H2_SEEN_FRAME && !h2->is_client) {
            if (rv_h2_watch_needs_state(&h2->watch)) {
                /* Less the last octet of the head: a frame without payload would be complete with it,
                   and its stream perhaps gone. */
                error = feed(h2, octets.ptr + fed, at - 1 - fed);
                fed = at - 1;
            }
            check_frame(h2);
        } else if (seen == RV_H2_SEEN_LOOP && !h2->is_client) {
            error = feed(h2, octets.ptr + fed, at - fed);
            fed = at;
            dependency_loop(h2);
        }
        if (seen == RV_H2_SEEN_FRAME && !h2->failed && h2->events->on_frame != NULL)
            h2->events->on_frame(h2->owner, &h2->watch.frame);
        if (seen == RV_H2_SEEN_PADDING && h2->events->on_padding != NULL)
            h2->events->on_padding(h2->owner, &h2->watch.frame);
    }
    if (fed < octets.len && !h2->failed && error == 0)
        error = feed(h2, octets.ptr + fed, octets.len - fed);
    return error;
}

int rv_h2_output(struct rv_h2 *h2, rv_bytes *octets)
{
    const uint8_t *piece;
    h2->content_left = false;
    ssize_t length = nghttp2_session_mem_send(h2->session, &piece);
    if (length < 0)
        return rv_h2_translate((int)length);
    if (length == 0)
        return h2->content_left ? RV_H2_OUTPUT_CONTENT : RV_H2_OUTPUT_NONE;
    *octets = rv_h2_octets_of(piece, (size_t)length);
    return RV_H2_OUTPUT_OCTETS;
}

bool rv_h2_wants_output(const struct rv_h2 *h2)
{
    return nghttp2_session_want_write(h2->session) != 0;
}

bool rv_h2_is_over(const struct rv_h2 *h2)
{
    return nghttp2_session_want_read(h2->session) == 0 &&
           nghttp2_session_want_write(h2->session) == 0;
}

/* ---- windows ------------------------------------------------------------------------------------------------ */

int32_t rv_h2_stream_window(const struct rv_h2 *h2, uint32_t id)
{
    return nghttp2_session_get_stream_remote_window_size(h2->session, (int32_t)id);
}

int32_t rv_h2_connection_window(const struct rv_h2 *h2)
{
    return nghttp2_session_get_remote_window_size(h2->session);
}

int32_t rv_h2_receive_window(const struct rv_h2 *h2)
{
    return nghttp2_session_get_local_window_size(h2->session);
}

uint32_t rv_h2_peer_streams_max(const struct rv_h2 *h2)
{
    return nghttp2_session_get_remote_settings(h2->session,
                                               NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

/* ---- the connection ------------------------------------------------------------------------------------------ */

void rv_h2_ping(struct rv_h2 *h2)
{
    nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL);
}

void rv_h2_announce_end(struct rv_h2 *h2)
{
    nghttp2_submit_shutdown_notice(h2->session);
}

void rv_h2_go_away(struct rv_h2 *h2, uint32_t code)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(h2->session);
    h2->watch.ended = true;
    h2->watch.last_taken = (uint32_t)last;
    nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE, last, code, NULL, 0);
}

void rv_h2_fail(struct rv_h2 *h2, uint32_t code)
{
    h2->failed = true;
    if (h2->watch.ended) /* the last stream must not become a later one */
        nghttp2_session_terminate_session2(h2->session, (int32_t)h2->watch.last_taken, code);
    else
        nghttp2_session_terminate_session(h2->session, code);
}
