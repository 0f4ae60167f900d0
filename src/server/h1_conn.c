/*
 * HTTP/1 on a connection (h1_conn.h). Whatever happens - octets, room, a timer, an answer from
 * somewhere - ends in settle(), which sends what was written, decides whether to read on, and sets the
 * one timer to the next deadline that matters.
 */
#include "server/h1_conn.h"

#include "io/tls_layer.h"
#include "server/dispatch.h"
#include "server/h1_body.h"
#include "server/h1_wire.h"
#include "server/tell.h"
#include "server/h2_conn.h"

#include <assert.h>
#include <stdlib.h>

/* Requests of one connection that are taken before others get their turn. */
#define HEADS_PER_TURN 64

/* ---- the end of a connection ------------------------------------------------------------------------- */

static void lose_talk(struct rv_conn *conn)
{
    struct rv_talk *talk = conn->talk;
    conn->talk = NULL;
    if (talk != NULL)
        rv_talk_lose(talk);
}

void rv_h1_conn_end(struct rv_conn *conn, bool unread)
{
    lose_talk(conn);
    rv_conn_end(conn, unread);
}

void rv_h1_conn_refuse(struct rv_conn *conn, int status, const char *reason)
{
    rv_h1_wire_refuse(conn, status, reason);
    rv_h1_conn_end(conn, true);
}

static bool is_idle(const struct rv_conn *conn)
{
    return conn->phase == RV_CONN_HEAD && conn->input == NULL && conn->stream.output == NULL;
}

static bool is_busy(const struct rv_conn *conn)
{
    return conn->talk != NULL;
}

static void stop(struct rv_conn *conn)
{
    conn->last = true;
    if (conn->phase != RV_CONN_HEAD || conn->input != NULL)
        return;
    /* A request that is there already is still answered, and so is HTTP/2: then it is not ours any more. */
    rv_stream_receive_now(&conn->stream);
    if (!conn->stream.closed && rv_conn_protocol(conn) == &rv_conn_h1 &&
        conn->phase == RV_CONN_HEAD && conn->input == NULL)
        rv_h1_conn_end(conn, false);
}

/* ---- exchanges --------------------------------------------------------------------------------------- */

bool rv_h1_finish_exchange(struct rv_conn *conn, bool left)
{
    struct rv_talk *talk = conn->talk;
    if (talk == NULL || talk->running)
        return false;
    if (talk->cut) {
        if (RV_TLS_BUILT && conn->stream.secure)
            rv_tls_withhold_goodbye(&conn->stream);
        rv_h1_conn_end(conn, left || talk->body_phase != RV_BODY_NONE);
        return true;
    }
    if (!talk->wire_ended)
        return false;
    bool body_left = talk->body_phase != RV_BODY_NONE;
    bool drained_enough = conn->phase == RV_CONN_DRAIN && talk->body_read > talk->body_max;
    if (talk->wire_closes || (body_left && (talk->continue_due || drained_enough))) {
        rv_h1_conn_end(conn, left || body_left);
        return true;
    }
    if (body_left && conn->phase == RV_CONN_DRAIN)
        return false;
    if (body_left) {
        rv_talk_forget_callbacks(talk);
        conn->phase = RV_CONN_DRAIN;
        talk->body_discarded = true;
        talk->window_ms = rv_conn_now_ms(conn);
        talk->window_read = talk->body_read;
        talk->body_max = talk->body_read + RV_H1_DRAIN_BYTES_MAX;
        return true;
    }
    conn->talk = NULL;
    rv_talk_give(talk);
    conn->phase = RV_CONN_HEAD;
    conn->head_started = false;
    conn->since_ms = rv_conn_now_ms(conn);
    if (conn->last)
        rv_h1_conn_end(conn, left);
    return true;
}

/* A head that did not become complete last time is only parsed again when a line has ended since, or a
   limit is passed: so a head that comes octet by octet costs no more than its lines. */
static bool head_may_have_grown(const struct rv_conn *conn, const char *octets, size_t length)
{
    const rv_limits *limits = rv_conn_limits(conn);
    uint32_t searched = conn->searched;
    if (searched == 0 || length <= searched)
        return true;
    return length > limits->head_bytes_max || length > limits->target_bytes_max ||
           memchr(octets + searched, '\n', length - searched) != NULL;
}

/* What begins a connection may not be HTTP at all: then it gets no answer. True also as long as that is not
   known; the few octets of it are looked at again with every one that comes. */
static bool is_foreign(struct rv_conn *conn, const char *octets, size_t length)
{
    enum rv_h1_foreign foreign =
        conn->requests > 0 ? RV_H1_FOREIGN_NO : rv_h1_is_foreign(octets, length);
    conn->searched = 0;
    if (foreign == RV_H1_FOREIGN_YES) {
        RV_COUNT(rv_conn_worker(conn), requests_malformed);
        rv_tell_bad_client(conn, 0, "while reading a request head",
                           "What has come is not HTTP: the connection is ended.");
        rv_h1_conn_end(conn, true);
    }
    return foreign != RV_H1_FOREIGN_NO;
}

/* Takes a head off the front: how many octets it had; 0: it is not complete, or was refused. */
static size_t take_head(struct rv_conn *conn, char *octets, size_t length)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    const rv_limits *limits = rv_conn_limits(conn);
    struct rv_h1_limits h1 = {(uint32_t)limits->target_bytes_max, (uint32_t)limits->head_bytes_max,
                              (uint32_t)limits->head_fields_max};
    conn->starved = true;
    if (!head_may_have_grown(conn, octets, length))
        return 0;
    struct rv_talk *talk = rv_talk_take(worker);
    const char *reason = NULL;
    if (talk == NULL) {
        rv_server_report(worker->server, RV_ENOMEM, "while reading a request head", "", "");
        rv_h1_conn_refuse(conn, 503, "The server is out of memory.");
        return 0;
    }
    int result = rv_h1_parse_head(octets, length, &h1, &talk->head, &reason);
    if (result == RV_H1_COMPLETE) {
        conn->searched = 0;
        conn->starved = false;
        conn->talk = talk;
        conn->phase = RV_CONN_EXCHANGE;
        rv_conn_count_request(conn);
        talk->conn = conn;
        talk->wire = &rv_h1_wire;
        talk->octets = octets;
        talk->is_tls = conn->stream.secure;
        rv_dispatch(talk, length > talk->head.length);
        return talk->head.length;
    }
    conn->searched = (uint32_t)length;
    rv_talk_give(talk);
    if (result != RV_H1_INCOMPLETE && !is_foreign(conn, octets, length)) {
        rv_dispatch_count_refusal(worker, result, talk->head.field_count);
        rv_tell_bad_client(conn, result, "while reading a request head", reason);
        rv_h1_conn_refuse(conn, result, reason);
    }
    return 0;
}

/* Works through octets in order, as far as it gets; returns how many were used. */
static size_t work_through(struct rv_conn *conn, char *octets, size_t length)
{
    size_t used = 0;
    unsigned heads = 0;
    while (!conn->stream.closed) {
        if (rv_h1_finish_exchange(conn, used < length))
            continue;
        if (conn->phase == RV_CONN_LINGER)
            return length;
        if (conn->phase != RV_CONN_HEAD) {
            size_t count = rv_h1_body_feed(conn->talk, octets + used, length - used);
            used += count;
            const struct rv_talk *talk = conn->talk;
            bool read = conn->phase == RV_CONN_EXCHANGE || talk->body_phase == RV_BODY_NONE;
            bool over = !talk->running && (talk->cut || (talk->wire_ended && read));
            if (count == 0 && !over)
                return used;
            continue;
        }
        if (used == length) {
            conn->starved = true;
            return used;
        }
        conn->starved = false;
        if (rv_stream_queued(&conn->stream) >= rv_conn_limits(conn)->output_high_bytes) {
            rv_stream_want_drain(&conn->stream); /* a client that sends and does not read */
            return used;
        }
        if (heads++ == HEADS_PER_TURN) {
            rv_stream_again(&conn->stream);
            return used;
        }
        size_t count = take_head(conn, octets + used, length - used);
        if (count == 0 && conn->phase == RV_CONN_HEAD)
            return used;
        used += count;
    }
    return length;
}

/* The same; a talk that lives on gets its head into memory of its own before the octets move. */
static size_t consume(struct rv_conn *conn, char *octets, size_t length)
{
    size_t used = work_through(conn, octets, length);
    struct rv_talk *talk = conn->talk;
    if (talk != NULL && !talk->on_pool && !talk->wire_ended && !rv_talk_keep(talk))
        rv_conn_cut(conn);
    return used;
}

/* ---- input that is kept ------------------------------------------------------------------------------- */

static bool keep_input(struct rv_conn *conn, rv_bytes octets)
{
    if (conn->input == NULL)
        conn->input = calloc(1, sizeof *conn->input);
    return conn->input != NULL && rv_buffer_append(conn->input, octets) == 0;
}

static void consume_input(struct rv_conn *conn)
{
    size_t used = consume(conn, conn->input->ptr, conn->input->len);
    if (used < conn->input->len)
        rv_buffer_consume(conn->input, used);
    else
        rv_conn_free_input(conn);
}

/* What the client sends is incomplete for ever. */
static void input_ended(struct rv_conn *conn)
{
    conn->last = true;
    if (!conn->starved || conn->phase == RV_CONN_LINGER)
        return;
    rv_h1_conn_end(conn, false);
}

void rv_h1_conn_settle(struct rv_conn *conn)
{
    struct rv_stream *stream = &conn->stream;
    if (stream->closed)
        return;
    if (stream->ended)
        input_ended(conn);
    if (conn->phase == RV_CONN_LINGER) {
        rv_conn_free_input(conn);
        rv_conn_linger_on(conn);
        return;
    }
    rv_stream_flush(stream);
    if (stream->closed)
        return;
    bool waiting = conn->input != NULL && !conn->starved;
    if (conn->phase == RV_CONN_HEAD && conn->input != NULL && !conn->head_started) {
        conn->head_started = true;
        conn->since_ms = rv_conn_now_ms(conn);
    }
    if (waiting && !stream->paused)
        rv_stream_pause(stream);
    else if (!waiting && stream->paused)
        rv_stream_resume(stream);
    rv_conn_watch_output(conn);
    rv_h1_set_deadline(conn);
}

/* The beginning of a connection, as far as it goes, is what a client that knows of HTTP/2 sends (RFC 9113
   section 3.3). */
static bool may_be_h2(const struct rv_conn *conn, const char *octets, size_t length)
{
    size_t compared = length < RV_H2_PREFACE_BYTES ? length : RV_H2_PREFACE_BYTES;
    return memcmp(octets, RV_H2_PREFACE, compared) == 0 &&
           !rv_conn_worker(conn)->server->options.no_http2;
}

/* What has come may still become HTTP/2's preface: it is no request before it is known not to. */
static bool awaits_preface(const struct rv_conn *conn)
{
    return RV_H2_BUILT && conn->requests == 0 && conn->phase == RV_CONN_HEAD &&
           conn->input->len < RV_H2_PREFACE_BYTES && !conn->stream.ended &&
           may_be_h2(conn, conn->input->ptr, conn->input->len);
}

void rv_h1_conn_advance(struct rv_conn *conn)
{
    if (conn->stream.closed)
        return;
    char none[1];
    if (conn->input == NULL)
        consume(conn, none, 0);
    else if (!awaits_preface(conn))
        consume_input(conn);
    rv_h1_conn_settle(conn);
}

/* ---- what the stream tells ---------------------------------------------------------------------------- */

/* Takes the first octets of a connection if they are HTTP/2's, or may still become that. */
static bool take_preface(struct rv_conn *conn, const char *octets, size_t length)
{
    rv_bytes all = rv_slice(octets, length);
    if (!RV_H2_BUILT || (conn->input == NULL && !may_be_h2(conn, octets, length)))
        return false;
    if (conn->input != NULL || length < RV_H2_PREFACE_BYTES) {
        if (!keep_input(conn, all)) {
            rv_conn_cut(conn);
            return true;
        }
        all = rv_slice(conn->input->ptr, conn->input->len);
    }
    if (!may_be_h2(conn, all.ptr, all.len)) {
        consume_input(conn);
    } else if (all.len >= RV_H2_PREFACE_BYTES) {
        rv_h2_conn_begin(conn, all.ptr, all.len);
        rv_conn_free_input(conn);
        return true;
    }
    rv_h1_conn_settle(conn);
    return true;
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_conn *conn = rv_conn_of(stream);
    if (RV_H2_BUILT && conn->requests == 0 && conn->phase == RV_CONN_HEAD &&
        take_preface(conn, octets, length))
        return;
    if (conn->input != NULL) {
        if (!keep_input(conn, rv_slice(octets, length)))
            rv_conn_cut(conn);
        else
            consume_input(conn);
    } else {
        size_t used = consume(conn, octets, length);
        if (used < length && !keep_input(conn, rv_slice(octets + used, length - used)))
            rv_conn_cut(conn);
    }
    rv_h1_conn_settle(conn);
}

static void on_end(struct rv_stream *stream)
{
    rv_h1_conn_advance(rv_conn_of(stream));
}

static void on_drain(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    if (conn->talk != NULL)
        rv_talk_tell_drained(conn->talk);
    rv_h1_conn_advance(conn);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct rv_conn *conn = rv_conn_of(stream);
    rv_conn_count_loss(conn, error);
    if (conn->talk != NULL)
        RV_COUNT(rv_conn_worker(conn), clients_gone);
    lose_talk(conn);
}

static void on_again(struct rv_stream *stream)
{
    rv_h1_conn_advance(rv_conn_of(stream));
}

static void release(struct rv_conn *conn)
{
    assert(conn->talk == NULL);
    (void)conn;
}

const struct rv_conn_protocol rv_conn_h1 = {
    .events = {.on_data = on_data,
               .on_end = on_end,
               .on_drain = on_drain,
               .on_lost = on_lost,
               .on_again = on_again,
               .on_timer = rv_h1_on_timer,
               .on_closed = rv_conn_on_closed,
               .tls_at = offsetof(struct rv_conn, tls)},
    .is_idle = is_idle,
    .is_busy = is_busy,
    .stop = stop,
    .lose = lose_talk,
    .release = release,
};

/* ---- the beginning ------------------------------------------------------------------------------------ */

void rv_h1_conn_begin(struct rv_conn *conn)
{
    rv_conn_speak(conn, &rv_conn_h1);
    rv_h1_conn_settle(conn);
}
