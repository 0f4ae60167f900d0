/*
 * HTTP/2: what takes too long (h2_conn.h). A connection without streams has one deadline; one with streams
 * looks at them all now and then, which with a hundred of them costs less than to keep their deadlines in
 * order.
 */
#include "base/clock.h"
#include "server/body.h"
#include "server/h2_conn.h"
#include "server/tell.h"

#define TICK_MS_MAX 1000
#define TICK_MS_MIN 10

/* Room for less than that on the connection: content that other streams' handlers do not take holds the
   client up. */
#define HELD_UP_BYTES 16384

/* A client that does not answer the PING behind the announcement of the end. */
#define ENDING_MS_MAX 1000

static uint64_t tick_period_ms(const rv_limits *limits)
{
    uint64_t shortest = limits->head_timeout_ms;
    if (limits->body_grace_ms < shortest)
        shortest = limits->body_grace_ms;
    if (limits->write_stall_ms < shortest)
        shortest = limits->write_stall_ms;
    shortest /= 4;
    return shortest > TICK_MS_MAX ? TICK_MS_MAX : shortest < TICK_MS_MIN ? TICK_MS_MIN : shortest;
}

static bool is_at_rest(const struct rv_h2_conn *h2)
{
    return h2->stream_count == 0 && h2->phase == RV_H2_OPEN;
}

void rv_h2_set_deadline(struct rv_h2_conn *h2)
{
    struct rv_conn *conn = h2->conn;
    const rv_limits *limits = rv_conn_limits(conn);
    if (is_at_rest(h2)) {
        h2->tick_ms = 0;
        rv_conn_set_deadline(conn, rv_later_ms(conn->since_ms, limits->idle_timeout_ms));
        return;
    }
    if (h2->tick_ms == 0)
        h2->tick_ms = rv_conn_now_ms(conn) + tick_period_ms(limits);
    rv_conn_set_deadline(conn, h2->tick_ms);
}

static void check_body(struct rv_h2_stream *stream, uint64_t now_ms)
{
    struct rv_talk *talk = stream->talk;
    if (talk->wire_ended && stream->all_taken && !stream->input_ended &&
        now_ms - stream->progress_ms >= rv_conn_limits(stream->h2->conn)->body_grace_ms) {
        rv_h2_stream_reset(stream, RV_H2_NO_ERROR);
        return;
    }
    if (!stream->dispatched || talk->body_phase != RV_BODY_READING || talk->wire_ended ||
        talk->running)
        return;
    if (rv_h2_receive_window(stream->h2->session) < HELD_UP_BYTES) {
        talk->window_ms = now_ms;
        talk->window_read = talk->body_read;
        return;
    }
    if (!rv_body_is_too_slow(talk, now_ms))
        return;
    RV_COUNT(talk->worker, body_too_slow);
    rv_body_refuse(talk, 408, "The request body arrives too slowly.");
    rv_h2_stream_work(stream);
}

/* Only the client's windows can be at fault: while they are open it is for others that the stream waits. */
static void check_window(struct rv_h2_stream *stream, uint64_t now_ms)
{
    struct rv_h2_conn *h2 = stream->h2;
    const rv_limits *limits = rv_conn_limits(h2->conn);
    int32_t all = rv_h2_connection_window(h2->session);
    if (stream->all_taken)
        return;
    bool open = all > 0 && rv_h2_stream_window(h2->session, stream->id) > 0;
    /* The end waits for the windows, too, though it is no content. */
    bool waits = stream->output_ended || rv_h2_wire_queued(stream) > 0;
    if (open || !waits || stream->taken != stream->taken_seen) {
        stream->taken_seen = stream->taken;
        stream->progress_ms = now_ms;
        return;
    }
    if (limits->write_stall_ms == RV_NO_LIMIT ||
        now_ms - stream->progress_ms < limits->write_stall_ms)
        return;
    RV_COUNT(rv_h2_worker(h2), h2_window_stalls);
    rv_tell_bad_client(h2->conn, 0, "while sending a response",
                       "The client has opened no window for too long: the stream is ended.");
    if (all > 0)
        rv_h2_stream_reset(stream, RV_H2_ENHANCE_YOUR_CALM);
    else
        rv_h2_conn_fail(h2, RV_H2_ENHANCE_YOUR_CALM);
}

static void check_head(struct rv_h2_stream *stream, uint64_t now_ms)
{
    struct rv_h2_conn *h2 = stream->h2;
    if (now_ms < rv_later_ms(stream->opened_ms, rv_conn_limits(h2->conn)->head_timeout_ms))
        return;
    RV_COUNT(rv_h2_worker(h2), head_timeouts);
    rv_tell_bad_client(h2->conn, 0, "while reading a request head",
                       "It did not arrive in time: the connection is ended.");
    rv_h2_conn_fail(h2, RV_H2_ENHANCE_YOUR_CALM); /* nothing else may come in between */
}

static void check_streams(struct rv_h2_conn *h2, uint64_t now_ms)
{
    for (struct rv_h2_stream *stream = h2->streams, *next;
         stream != NULL && h2->phase != RV_H2_BROKEN; stream = next) {
        next = stream->next;
        if (stream->reset)
            continue;
        if (!stream->head_complete) {
            check_head(stream, now_ms);
        } else {
            check_body(stream, now_ms);
            check_window(stream, now_ms);
        }
    }
    if (h2->phase == RV_H2_ENDING && now_ms - h2->ending_ms >= ENDING_MS_MAX) {
        h2->ending_ms = 0; /* who knows what it has read */
        rv_h2_conn_go_away(h2);
    }
}

void rv_h2_on_timer(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    struct rv_h2_conn *h2 = conn->h2;
    uint64_t now_ms = rv_conn_now_ms(conn);
    if (rv_conn_output_stalls(conn)) {
        RV_COUNT(rv_h2_worker(h2), write_stalls);
        rv_conn_cut(conn);
        return;
    }
    if (is_at_rest(h2)) {
        if (now_ms >= rv_later_ms(conn->since_ms, rv_conn_limits(conn)->idle_timeout_ms)) {
            RV_COUNT(rv_h2_worker(h2), idle_timeouts);
            rv_h2_conn_go_away(h2);
        }
    } else if (h2->tick_ms != 0 && now_ms >= h2->tick_ms) {
        h2->tick_ms = 0;
        check_streams(h2, now_ms);
    }
    rv_h2_conn_settle(h2);
}
