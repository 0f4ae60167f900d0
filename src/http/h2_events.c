/*
 * What libnghttp2's session tells and asks for becomes the owner's events (h2_session.h). The session is told
 * to leave three things to the owner: when windows grow, what the content of a DATA frame is copied from, and
 * what to do about peers that keep every rule and mean harm.
 */
#include "http/h2_session.h"

/* ---- what the session tells ------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct rv_h2 *h2 = context;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    void *stream = h2->events->on_open(h2->owner, (uint32_t)frame->hd.stream_id);
    if (stream == NULL)
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM) == 0
                   ? 0
                   : NGHTTP2_ERR_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *context)
{
    struct rv_h2 *h2 = context;
    (void)flags;
    void *stream = rv_h2_stream_of(h2, frame->hd.stream_id);
    if (stream == NULL)
        return 0;
    uint32_t code = h2->events->on_field(h2->owner, stream, rv_h2_octets_of(name, name_length),
                                         rv_h2_octets_of(value, value_length));
    if (code == 0)
        return 0;
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, code);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* A field that breaks the rules makes the message malformed (RFC 9113 section 8.2.1), where the library
   would pass it over. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_length, const uint8_t *value,
                             size_t value_length, uint8_t flags, void *context)
{
    (void)session, (void)frame, (void)name, (void)name_length;
    (void)value, (void)value_length, (void)flags, (void)context;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                         size_t length, void *context)
{
    struct rv_h2 *h2 = context;
    (void)flags;
    void *stream = rv_h2_stream_of(h2, id);
    if (stream != NULL && h2->events->on_data != NULL)
        h2->events->on_data(h2->owner, stream, rv_h2_octets_of(data, length));
    else if (!h2->grows_windows)
        nghttp2_session_consume(session, id, length);
    return 0;
}

static void tell_fields(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    void *stream = rv_h2_stream_of(h2, frame->hd.stream_id);
    if (stream != NULL && h2->events->on_fields_end != NULL)
        h2->events->on_fields_end(h2->owner, stream,
                                  (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
}

static void tell_end(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return;
    void *stream = rv_h2_stream_of(h2, frame->hd.stream_id);
    if (stream != NULL && h2->events->on_end != NULL)
        h2->events->on_end(h2->owner, stream);
}

static void tell_reset(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    void *stream = rv_h2_stream_of(h2, frame->hd.stream_id);
    if (stream != NULL && h2->events->on_reset != NULL)
        h2->events->on_reset(h2->owner, stream, frame->rst_stream.error_code);
}

static int on_frame_received(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct rv_h2 *h2 = context;
    const struct rv_h2_events *events = h2->events;
    (void)session;
    bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        tell_fields(h2, frame);
        break;
    case NGHTTP2_DATA:
        tell_end(h2, frame);
        break;
    case NGHTTP2_RST_STREAM:
        tell_reset(h2, frame);
        break;
    case NGHTTP2_SETTINGS:
        if (!is_ack && events->on_settings != NULL)
            events->on_settings(h2->owner);
        break;
    case NGHTTP2_PING:
        if (is_ack && events->on_pong != NULL)
            events->on_pong(h2->owner);
        break;
    case NGHTTP2_GOAWAY:
        if (events->on_goaway != NULL)
            events->on_goaway(
                h2->owner, (uint32_t)frame->goaway.last_stream_id, frame->goaway.error_code,
                rv_h2_octets_of(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
        break;
    default:
        break;
    }
    return 0;
}

/* The library resets streams that it has never opened, such as one too many: their content is on its way
   already. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *context)
{
    struct rv_h2 *h2 = context;
    (void)session, (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS)
        rv_h2_watch_reset(&h2->watch, (uint32_t)frame->hd.stream_id);
    return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct rv_h2 *h2 = context;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY && h2->events->on_goaway_sent != NULL)
        h2->events->on_goaway_sent(h2->owner, frame->goaway.error_code);
    if (frame->hd.type != NGHTTP2_RST_STREAM)
        return 0;
    rv_h2_watch_reset(&h2->watch, (uint32_t)frame->hd.stream_id);
    if (h2->events->on_reset_sent != NULL)
        h2->events->on_reset_sent(h2->owner, (uint32_t)frame->hd.stream_id,
                                  frame->rst_stream.error_code);
    return 0;
}

/* A response whose head cannot be sent - it is too large, or memory is short - would leave its stream
   waiting for ever. */
static int on_frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error,
                             void *context)
{
    struct rv_h2 *h2 = context;
    bool gone = error == NGHTTP2_ERR_STREAM_CLOSED || error == NGHTTP2_ERR_STREAM_CLOSING ||
                error == NGHTTP2_ERR_SESSION_CLOSING;
    if (frame->hd.type == NGHTTP2_HEADERS && !h2->is_client && !gone)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct rv_h2 *h2 = context;
    (void)session;
    void *stream = rv_h2_stream_of(h2, id);
    if (stream != NULL)
        h2->events->on_closed(h2->owner, stream, code);
    if (h2->near_id == id)
        h2->near_id = 0;
    return 0;
}

/* ---- what the session asks for ---------------------------------------------------------------------- */

ssize_t rv_h2_read_content(nghttp2_session *session, int32_t id, uint8_t *room, size_t length,
                           uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct rv_h2 *h2 = context;
    (void)session, (void)room, (void)source;
    void *stream = rv_h2_stream_of(h2, id);
    if (stream == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t octets = 0;
    enum rv_h2_pull pull = h2->events->on_pull(h2->owner, stream, length, &octets);
    if (pull == RV_H2_PULL_WAIT)
        return NGHTTP2_ERR_DEFERRED;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (pull == RV_H2_PULL_LAST)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (pull == RV_H2_PULL_TRAILERS)
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return (ssize_t)octets;
}

static int send_content(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                        size_t length, nghttp2_data_source *source, void *context)
{
    struct rv_h2 *h2 = context;
    (void)session, (void)source;
    void *stream = rv_h2_stream_of(h2, frame->hd.stream_id);
    if (stream == NULL ||
        !h2->events->on_send(h2->owner, stream, rv_h2_octets_of(head, RV_H2_FRAME_HEAD_BYTES),
                             length))
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    h2->content_left = true;
    return NGHTTP2_ERR_PAUSE; /* the owner sees whether there is room for more */
}

/* ---- all of them -------------------------------------------------------------------------------------- */

nghttp2_session_callbacks *rv_h2_callbacks_new(bool client)
{
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    if (!client)
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_received);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_content);
    return callbacks;
}
