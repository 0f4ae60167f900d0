/*
 * An exchange of HTTP/2 (h2_conn.h): from the fields of a request to a talk, from DATA frames to its body,
 * and from the end of the stream to the end of the talk.
 *
 * Handlers run from the work list, outside of the session, with one exception: content for a talk that is
 * reading is handed on as it arrives, without a copy.
 */
#include "server/body.h"
#include "server/dispatch.h"
#include "server/h2_conn.h"
#include "server/https.h"
#include "server/tell.h"
#include "server/wire.h"

#include <stdlib.h>

/* What a body that nobody wants may have left before it is cheaper to reset the stream. */
#define DRAIN_BYTES_MAX (256 * 1024)

#define READING_FRAMES "while reading frames"
#define READING_A_HEAD "while reading a request head"

static struct rv_h1_limits head_limits(const struct rv_h2_conn *h2)
{
    const rv_limits *limits = rv_conn_limits(h2->conn);
    return (struct rv_h1_limits){(uint32_t)limits->target_bytes_max,
                                 (uint32_t)limits->head_bytes_max,
                                 (uint32_t)limits->head_fields_max};
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

void rv_h2_stream_work(struct rv_h2_stream *stream)
{
    if (stream->in_work)
        return;
    stream->in_work = true;
    stream->next_work = NULL;
    *stream->h2->work_last = stream;
    stream->h2->work_last = &stream->next_work;
}

static void take_from_work(struct rv_h2_stream *stream)
{
    struct rv_h2_conn *h2 = stream->h2;
    struct rv_h2_stream **place = &h2->work;
    while (*place != stream)
        place = &(*place)->next_work;
    *place = stream->next_work;
    if (stream->next_work == NULL)
        h2->work_last = place;
}

static struct rv_h2_stream *stream_new(struct rv_h2_conn *h2, uint32_t id)
{
    struct rv_worker *worker = rv_h2_worker(h2);
    struct rv_talk *talk = rv_talk_take(worker);
    struct rv_h2_stream *stream = talk == NULL ? NULL : rv_slab_take(&worker->h2_streams);
    if (stream == NULL) {
        if (talk != NULL)
            rv_talk_give(talk);
        return NULL;
    }
    memset(stream, 0, sizeof *stream);
    stream->h2 = h2;
    stream->id = id;
    stream->talk = talk;
    stream->opened_ms = stream->progress_ms = rv_conn_now_ms(h2->conn);
    stream->output.last = &stream->output.first;
    stream->next = h2->streams;
    if (stream->next != NULL)
        stream->next->previous = stream;
    h2->streams = stream;
    h2->stream_count++;
    talk->conn = h2->conn;
    talk->h2 = stream;
    talk->wire = &rv_h2_wire;
    talk->is_tls = h2->conn->stream.secure;
    return stream;
}

/* Content that nobody will take. */
static void drop_input(struct rv_h2_stream *stream)
{
    size_t length = stream->input.len;
    stream->dropped += length;
    rv_buffer_free(&stream->input);
    if (length > 0)
        rv_h2_consume(stream->h2->session, stream->id, length);
}

static void lose_talk(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    stream->talk = NULL;
    if (!talk->wire_ended && stream->dispatched && !stream->reset && !stream->ended_well)
        RV_COUNT(rv_h2_worker(stream->h2), clients_gone);
    talk->h2 = NULL;
    rv_talk_lose(talk);
}

void rv_h2_stream_end(struct rv_h2_stream *stream)
{
    struct rv_h2_conn *h2 = stream->h2;
    if (stream->in_work)
        take_from_work(stream);
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        h2->streams = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    h2->stream_count--;
    h2->conn->since_ms = rv_conn_now_ms(h2->conn);
    if (stream->talk != NULL)
        lose_talk(stream);
    drop_input(stream); /* the connection's window was shared, and outlives it */
    rv_output_clear(&rv_h2_worker(h2)->loop, &stream->output);
    rv_slab_give(&rv_h2_worker(h2)->h2_streams, stream);
}

void rv_h2_stream_reset(struct rv_h2_stream *stream, uint32_t code)
{
    if (stream->reset)
        return;
    stream->reset = true;
    if (rv_h2_reset(stream->h2->session, stream->id, code) != 0)
        stream->h2->phase = RV_H2_BROKEN; /* else it would be there for ever */
}

/* ---- what the session tells ------------------------------------------------------------------------------ */

static void on_frame(void *owner, const struct rv_h2_frame *frame)
{
    rv_h2_calm_on_frame(owner, frame);
}

static void on_padding(void *owner, const struct rv_h2_frame *frame)
{
    rv_h2_calm_on_padding(owner, frame);
}

static void on_reset_sent(void *owner, uint32_t id, uint32_t code)
{
    const struct rv_h2_conn *h2 = owner;
    (void)id;
    if (code == RV_H2_PROTOCOL_ERROR || code == RV_H2_FLOW_CONTROL_ERROR ||
        code == RV_H2_STREAM_CLOSED || code == RV_H2_FRAME_SIZE_ERROR)
        rv_tell_bad_client(h2->conn, 0, READING_FRAMES,
                           "A message of HTTP/2 is malformed: its stream is reset.");
    rv_h2_calm_on_reset_sent(owner, code);
}

/* What this side has ended for another reason has been told. */
static void on_goaway_sent(void *owner, uint32_t code)
{
    const struct rv_h2_conn *h2 = owner;
    if (code != RV_H2_NO_ERROR && code != RV_H2_INTERNAL_ERROR && h2->phase != RV_H2_BROKEN)
        rv_tell_bad_client(h2->conn, 0, READING_FRAMES,
                           "The rules of HTTP/2 are broken: the connection is ended.");
}

static void *on_open(void *owner, uint32_t id)
{
    struct rv_h2_conn *h2 = owner;
    struct rv_h2_stream *stream = h2->phase >= RV_H2_ENDED ? NULL : stream_new(h2, id);
    if (stream == NULL)
        return NULL;
    struct rv_h1_limits limits = head_limits(h2);
    rv_h2_head_begin(&h2->head, &limits, stream->talk->fields_room);
    return stream;
}

/* Trailers that come when their talk is answered, or while a pool thread has it and its arena, are for
   nobody. */
static bool wants_trailers(const struct rv_talk *talk)
{
    return !talk->on_pool && !talk->wire_ended;
}

/* The first field of a section behind a complete head. */
static bool begin_trailers(struct rv_h2_stream *stream)
{
    struct rv_h1_limits limits = head_limits(stream->h2);
    struct rv_talk *talk = stream->talk;
    talk->trailers = rv_arena_alloc(&talk->arena, limits.head_fields_max * sizeof(struct rv_field));
    rv_h2_head_begin(&stream->h2->head, &limits, talk->trailers);
    stream->in_trailers = true;
    return talk->trailers != NULL;
}

static uint32_t on_field(void *owner, void *record, rv_bytes name, rv_bytes value)
{
    struct rv_h2_conn *h2 = owner;
    struct rv_h2_stream *stream = record;
    if (stream->reset || (stream->head_complete && !wants_trailers(stream->talk)))
        return 0;
    if (stream->head_complete && !stream->in_trailers && !begin_trailers(stream))
        return RV_H2_INTERNAL_ERROR;
    return rv_h2_head_add(&h2->head, name, value);
}

static void take_trailers(struct rv_h2_stream *stream)
{
    struct rv_h2_head *head = &stream->h2->head;
    struct rv_talk *talk = stream->talk;
    if (!stream->in_trailers || !wants_trailers(talk))
        return;
    if (head->refused || head->no_memory) {
        rv_h2_stream_reset(stream, head->refused ? RV_H2_ENHANCE_YOUR_CALM : RV_H2_INTERNAL_ERROR);
        return;
    }
    talk->trailer_octets =
        rv_arena_copy(&talk->arena, rv_slice(head->octets.ptr, head->octets.len));
    talk->trailer_count = talk->trailer_octets == NULL ? 0 : head->field_count;
}

/* The fields' octets move to the talk, with room for scanners behind them. */
static bool take_octets(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    rv_bytes octets = rv_slice(stream->h2->head.octets.ptr, stream->h2->head.octets.len);
    char *copy = rv_arena_alloc(&talk->arena, octets.len + RV_SCAN_PADDING);
    if (copy == NULL)
        return false;
    if (octets.len > 0)
        memcpy(copy, octets.ptr, octets.len);
    memset(copy + octets.len, 0, RV_SCAN_PADDING);
    talk->octets = copy;
    talk->kept = true;
    return true;
}

static void take_head(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    uint32_t code;
    stream->refusal = rv_h2_head_finish(&stream->h2->head, stream->input_ended, &talk->head, &code,
                                        &stream->reason);
    if (code == 0 && !take_octets(stream))
        code = RV_H2_INTERNAL_ERROR;
    if (code == 0)
        return;
    if (code == RV_H2_PROTOCOL_ERROR)
        RV_COUNT(talk->worker, requests_malformed);
    rv_h2_stream_reset(stream, code);
}

static void on_fields_end(void *owner, void *record, bool last)
{
    struct rv_h2_stream *stream = record;
    (void)owner;
    stream->input_ended = last;
    if (stream->reset)
        return;
    if (stream->head_complete)
        take_trailers(stream);
    else
        take_head(stream);
    stream->head_complete = true;
    rv_h2_stream_work(stream);
}

static void on_data(void *owner, void *record, rv_bytes octets)
{
    struct rv_h2_conn *h2 = owner;
    struct rv_h2_stream *stream = record;
    struct rv_talk *talk = stream->talk;
    bool over = stream->reset || talk->cut || (stream->dispatched && talk->wire_ended);
    bool at_once = stream->dispatched && stream->input.len == 0 && !talk->running &&
                   talk->body_phase == RV_BODY_READING && !rv_body_holds(talk);
    if (over) {
        stream->dropped += octets.len;
        rv_h2_consume(h2->session, stream->id, octets.len);
        rv_h2_stream_work(stream);
    } else if (at_once) {
        rv_h2_consume(h2->session, stream->id, octets.len);
        rv_body_take(talk, octets, false);
        rv_h2_stream_work(stream);
    } else if (rv_buffer_append(&stream->input, octets) != 0) {
        rv_h2_consume(h2->session, stream->id, octets.len);
        rv_h2_stream_reset(stream, RV_H2_INTERNAL_ERROR);
    } else {
        rv_h2_stream_work(stream);
    }
}

static void on_end(void *owner, void *record)
{
    struct rv_h2_stream *stream = record;
    (void)owner;
    stream->input_ended = true;
    rv_h2_stream_work(stream);
}

/* A response without content is complete with its head, whatever its handler still means to say. */
static void on_closed(void *owner, void *record, uint32_t code)
{
    struct rv_h2_stream *stream = record;
    (void)owner;
    stream->ended_well = code == RV_H2_NO_ERROR;
    rv_h2_stream_end(stream);
}

/* A round trip has passed since the end was announced: every stream that the client opened before it knew
   is here. Those behind the answer in the same octets are taken along. */
static void on_pong(void *owner)
{
    struct rv_h2_conn *h2 = owner;
    h2->answered = h2->phase == RV_H2_ENDING;
}

const struct rv_h2_events rv_h2_server_events = {
    .on_frame = on_frame,
    .on_padding = on_padding,
    .on_open = on_open,
    .on_field = on_field,
    .on_fields_end = on_fields_end,
    .on_data = on_data,
    .on_end = on_end,
    .on_pull = rv_h2_wire_pull,
    .on_send = rv_h2_wire_send,
    .on_closed = on_closed,
    .on_reset_sent = on_reset_sent,
    .on_goaway_sent = on_goaway_sent,
    .on_pong = on_pong,
};

/* ---- what is done outside of it ------------------------------------------------------------------------- */

static void deliver(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    while (talk->body_phase == RV_BODY_READING && !talk->cut && !talk->wire_ended &&
           (stream->input.len > 0 || stream->input_ended || rv_body_holds(talk))) {
        if (rv_body_holds(talk)) {
            rv_body_take_held(talk);
            continue;
        }
        /* What a handler that answers later needs of the body, it has copied (rv_talk_keep). */
        struct rv_buffer input = stream->input;
        rv_bytes run = input.len > 0 ? rv_slice(input.ptr, input.len) : rv_slice("", 0);
        stream->input = (struct rv_buffer){0};
        if (run.len > 0)
            rv_h2_consume(stream->h2->session, stream->id, run.len);
        rv_body_take(talk, run, stream->input_ended);
        rv_buffer_free(&input);
    }
}

/* What is left of a body that nobody wants is read when it is little, so that what is wrong with it can
   still be told; else the client is told to stop (RFC 9113 section 8.1). */
static bool is_worth_reading(const struct rv_h2_stream *stream)
{
    const struct rv_talk *talk = stream->talk;
    uint64_t left = talk->head.has_content_length ? talk->head.content_length : 0;
    left = left > talk->body_read ? left - talk->body_read : 0;
    return !stream->unasked && stream->dropped <= DRAIN_BYTES_MAX && left <= DRAIN_BYTES_MAX;
}

/* The response is complete. */
static void finish(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    rv_talk_forget_callbacks(talk);
    drop_input(stream);
    talk->body_discarded = true;
    if (stream->all_taken && !stream->input_ended && !is_worth_reading(stream))
        rv_h2_stream_reset(stream, RV_H2_NO_ERROR);
}

static void tell_drained(struct rv_h2_stream *stream)
{
    stream->drain_wanted = stream->drain_due = false;
    rv_talk_tell_drained(stream->talk);
}

static void dispatch(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    stream->dispatched = true;
    rv_conn_count_request(stream->h2->conn);
    if (stream->refusal == 0) {
        rv_dispatch(talk, stream->input.len > 0);
        return;
    }
    rv_dispatch_count_refusal(talk->worker, stream->refusal, talk->head.field_count);
    talk->head_only = talk->head.method_id == RV_METHOD_HEAD;
    rv_talk_add_policies(talk);
    rv_refuse_bad_input(talk, stream->refusal, READING_A_HEAD, stream->reason);
}

void rv_h2_stream_do(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    if (stream->reset || !stream->head_complete)
        return;
    if (!stream->dispatched)
        dispatch(stream);
    if (stream->drain_due && !talk->wire_ended && !talk->cut && (talk->on_pool || !talk->running))
        tell_drained(stream); /* on the pool it is the channel that waits */
    if (talk->running)
        return;
    deliver(stream);
    if (talk->cut && !talk->wire_ended)
        rv_h2_stream_reset(stream, RV_H2_INTERNAL_ERROR);
    else if (talk->wire_ended && !talk->running)
        finish(stream);
}
