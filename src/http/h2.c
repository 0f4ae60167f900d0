/*
 * HTTP/2 through libnghttp2 (h2.h). Its callbacks become the owner's events, its errors ours. The session
 * is told to leave three things to the owner: when windows grow, what the content of a DATA frame is
 * copied from, and what to do about peers that keep every rule and mean harm.
 */
#include "http/h2.h"

#include "http/h2_memory.h"
#include "http/h2_watch.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a message that this side sends; a request or response has a few dozen at most. */
#define FIELDS_ON_STACK 64

/* Of fields that this side sends in one section, encoded. */
#define HEAD_SENT_BYTES_MAX (16 * 1024 * 1024)

/* SETTINGS_MAX_FRAME_SIZE when nothing is said (RFC 9113 section 6.5.2). */
#define FRAME_BYTES_MIN 16384

struct rv_h2 {
    nghttp2_session *session;
    const struct rv_h2_events *events;
    void *owner;
    bool is_client;
    bool grows_windows;
    uint8_t field_flags; /* of requests */
    bool failed;         /* GOAWAY ends it: what still arrives is dropped */
    bool content_left;   /* on_send was called by the current rv_h2_output */
    int32_t near_id;     /* the stream that the last event was about; 0: none */
    void *near;          /* the owner's record of it */
    struct rv_h2_watch watch;
};

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

static rv_error translate(int result)
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

static rv_bytes octets_of(const uint8_t *octets, size_t length)
{
    return rv_slice((const char *)octets, length);
}

/* Several events in a row are about the same stream: the library need not look it up for each. */
static void *stream_of(struct rv_h2 *h2, int32_t id)
{
    if (h2->near_id == id)
        return h2->near;
    void *stream = nghttp2_session_get_stream_user_data(h2->session, id);
    if (stream != NULL) {
        h2->near_id = id;
        h2->near = stream;
    }
    return stream;
}

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
    void *stream = stream_of(h2, frame->hd.stream_id);
    if (stream == NULL)
        return 0;
    uint32_t code = h2->events->on_field(h2->owner, stream, octets_of(name, name_length),
                                         octets_of(value, value_length));
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
    void *stream = stream_of(h2, id);
    if (stream != NULL && h2->events->on_data != NULL)
        h2->events->on_data(h2->owner, stream, octets_of(data, length));
    else if (!h2->grows_windows)
        nghttp2_session_consume(session, id, length);
    return 0;
}

static void tell_fields(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    void *stream = stream_of(h2, frame->hd.stream_id);
    if (stream != NULL && h2->events->on_fields_end != NULL)
        h2->events->on_fields_end(h2->owner, stream,
                                  (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
}

static void tell_end(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return;
    void *stream = stream_of(h2, frame->hd.stream_id);
    if (stream != NULL && h2->events->on_end != NULL)
        h2->events->on_end(h2->owner, stream);
}

static void tell_reset(struct rv_h2 *h2, const nghttp2_frame *frame)
{
    void *stream = stream_of(h2, frame->hd.stream_id);
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
            events->on_goaway(h2->owner, (uint32_t)frame->goaway.last_stream_id,
                              frame->goaway.error_code,
                              octets_of(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
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
    void *stream = stream_of(h2, id);
    if (stream != NULL)
        h2->events->on_closed(h2->owner, stream, code);
    if (h2->near_id == id)
        h2->near_id = 0;
    return 0;
}

/* ---- what the session asks for ---------------------------------------------------------------------- */

static ssize_t read_content(nghttp2_session *session, int32_t id, uint8_t *room, size_t length,
                            uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct rv_h2 *h2 = context;
    (void)session, (void)room, (void)source;
    void *stream = stream_of(h2, id);
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
    void *stream = stream_of(h2, frame->hd.stream_id);
    if (stream == NULL ||
        !h2->events->on_send(h2->owner, stream, octets_of(head, RV_H2_FRAME_HEAD_BYTES), length))
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    h2->content_left = true;
    return NGHTTP2_ERR_PAUSE; /* the owner sees whether there is room for more */
}

/* ---- making one --------------------------------------------------------------------------------------- */

static nghttp2_session_callbacks *callbacks_new(bool client)
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

static nghttp2_option *options_new(const struct rv_h2_settings *settings)
{
    nghttp2_option *option;
    if (nghttp2_option_new(&option) != 0)
        return NULL;
    nghttp2_option_set_no_auto_window_update(option, !settings->grows_windows);
    nghttp2_option_set_no_http_messaging(option, settings->unchecked);
    nghttp2_option_set_builtin_recv_extension_type(option, RV_H2_PRIORITY_UPDATE);
    /* It counts a frame anew for each piece of its head. The owner counts frames. */
    nghttp2_option_set_max_continuations(option, SIZE_MAX);
    nghttp2_option_set_max_send_header_block_length(option, HEAD_SENT_BYTES_MAX);
    return option;
}

/* ---- the session's memory ---------------------------------------------------------------------------------- */

static void *take_memory(size_t size, void *memory)
{
    return rv_h2_memory_take(memory, size);
}

static void give_memory(void *block, void *memory)
{
    rv_h2_memory_give(memory, block);
}

static void *take_zeroed(size_t count, size_t size, void *memory)
{
    size_t octets;
    void *block =
        __builtin_mul_overflow(count, size, &octets) ? NULL : rv_h2_memory_take(memory, octets);
    return block == NULL ? NULL : memset(block, 0, octets);
}

static void *resize_memory(void *block, size_t size, void *memory)
{
    return rv_h2_memory_resize(memory, block, size);
}

static rv_error open_session(struct rv_h2 *h2, const struct rv_h2_settings *settings)
{
    struct rv_h2_memory *memory = settings->memory;
    bool client = settings->client;
    nghttp2_mem source = {memory, take_memory, give_memory, take_zeroed, resize_memory};
    nghttp2_mem *from = memory == NULL ? NULL : &source;
    nghttp2_session_callbacks *callbacks = callbacks_new(client);
    nghttp2_option *option = options_new(settings);
    int result = NGHTTP2_ERR_NOMEM;
    if (callbacks != NULL && option != NULL)
        result = client ? nghttp2_session_client_new3(&h2->session, callbacks, h2, option, from)
                        : nghttp2_session_server_new3(&h2->session, callbacks, h2, option, from);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return translate(result);
}

static rv_error submit_settings(struct rv_h2 *h2, const struct rv_h2_settings *settings)
{
    nghttp2_settings_entry entries[6];
    size_t count = 0;
    entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                                settings->stream_window_bytes};
    entries[count++] =
        (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings->head_bytes_max};
    if (settings->frame_bytes_max > FRAME_BYTES_MIN)
        entries[count++] =
            (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings->frame_bytes_max};
    if (settings->client) {
        entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    } else {
        entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                                    settings->streams_max};
    }
    /* RFC 9218 section 2.1.1: the tree of RFC 7540 is not followed. */
    entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1};
    int result = nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, entries, count);
    if (result == 0)
        result = nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                                       (int32_t)settings->connection_window_bytes);
    return translate(result);
}

struct rv_h2 *rv_h2_new(const struct rv_h2_settings *settings, void *owner)
{
    struct rv_h2 *h2 = calloc(1, sizeof *h2);
    if (h2 == NULL)
        return NULL;
    h2->events = settings->events;
    h2->owner = owner;
    h2->is_client = settings->client;
    h2->grows_windows = settings->grows_windows;
    h2->field_flags = settings->keeps_fields
                          ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
                          : NGHTTP2_NV_FLAG_NONE;
    h2->watch.preface_left = settings->client ? 0 : RV_H2_PREFACE_BYTES;
    if (open_session(h2, settings) != 0 || submit_settings(h2, settings) != 0) {
        rv_h2_free(h2);
        return NULL;
    }
    return h2;
}

void rv_h2_free(struct rv_h2 *h2)
{
    if (h2 == NULL)
        return;
    nghttp2_session_del(h2->session);
    free(h2);
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
    return translate((int)used);
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
        return translate((int)length);
    if (length == 0)
        return h2->content_left ? RV_H2_OUTPUT_CONTENT : RV_H2_OUTPUT_NONE;
    *octets = octets_of(piece, (size_t)length);
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

/* ---- messages -------------------------------------------------------------------------------------------- */

/* The library's form of fields, in `room` or on the heap; NULL: no memory. */
static nghttp2_nv *fields_of(const struct rv_h2_field *fields, size_t count, uint8_t flags,
                             nghttp2_nv *room)
{
    nghttp2_nv *values = count <= FIELDS_ON_STACK ? room : malloc(count * sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++)
        values[i] = (nghttp2_nv){(uint8_t *)fields[i].name.ptr, (uint8_t *)fields[i].value.ptr,
                                 fields[i].name.len, fields[i].value.len, flags};
    return values;
}

static void fields_free(nghttp2_nv *values, nghttp2_nv *room)
{
    if (values != room)
        free(values);
}

rv_error rv_h2_respond(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                       size_t count, bool content)
{
    nghttp2_nv room[FIELDS_ON_STACK],
        *values = fields_of(fields, count, NGHTTP2_NV_FLAG_NONE, room);
    if (values == NULL)
        return RV_ENOMEM;
    nghttp2_data_provider provider = {.read_callback = read_content};
    int result = nghttp2_submit_response(h2->session, (int32_t)id, values, count,
                                         content ? &provider : NULL);
    fields_free(values, room);
    return translate(result);
}

rv_error rv_h2_respond_interim(struct rv_h2 *h2, uint32_t id, int status)
{
    char digits[20];
    size_t length = rv_put_decimal(digits, (uint64_t)status);
    nghttp2_nv field = {(uint8_t *)":status", (uint8_t *)digits, 7, length, NGHTTP2_NV_FLAG_NONE};
    return translate(
        nghttp2_submit_headers(h2->session, NGHTTP2_FLAG_NONE, (int32_t)id, NULL, &field, 1, NULL));
}

rv_error rv_h2_trailers(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                        size_t count)
{
    nghttp2_nv room[FIELDS_ON_STACK],
        *values = fields_of(fields, count, NGHTTP2_NV_FLAG_NONE, room);
    if (values == NULL)
        return RV_ENOMEM;
    int result = nghttp2_submit_trailer(h2->session, (int32_t)id, values, count);
    fields_free(values, room);
    return translate(result);
}

rv_error rv_h2_request(struct rv_h2 *h2, const struct rv_h2_field *fields, size_t count,
                       bool content, void *stream, uint32_t *id)
{
    if (nghttp2_session_check_request_allowed(h2->session) == 0)
        return RV_EGONE;
    nghttp2_nv room[FIELDS_ON_STACK], *values = fields_of(fields, count, h2->field_flags, room);
    if (values == NULL)
        return RV_ENOMEM;
    nghttp2_data_provider provider = {.read_callback = read_content};
    int32_t result = nghttp2_submit_request(h2->session, NULL, values, count,
                                            content ? &provider : NULL, stream);
    fields_free(values, room);
    if (result < 0)
        return translate(result);
    if (id != NULL)
        *id = (uint32_t)result;
    return 0;
}

void rv_h2_resume(struct rv_h2 *h2, uint32_t id)
{
    nghttp2_session_resume_data(h2->session, (int32_t)id);
}

rv_error rv_h2_reset(struct rv_h2 *h2, uint32_t id, uint32_t code)
{
    return translate(nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, (int32_t)id, code));
}

void rv_h2_consume(struct rv_h2 *h2, uint32_t id, size_t octets)
{
    nghttp2_session_consume(h2->session, (int32_t)id, octets);
}

void rv_h2_forget(struct rv_h2 *h2, uint32_t id)
{
    nghttp2_session_set_stream_user_data(h2->session, (int32_t)id, NULL);
    if (h2->near_id == (int32_t)id)
        h2->near_id = 0;
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
