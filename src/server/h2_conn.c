/*
 * The connection of HTTP/2 (h2_conn.h): octets between its stream and the session, and the end.
 *
 *     OPEN --stop, or the last request--> ENDING --PONG, or a second--> ENDED --streams over--> closed
 *       |                                    |                            |
 *       +------------------------------------+---- GOAWAY with an error --+--> BROKEN --sent--> lingers
 */
#include "server/h2_conn.h"

#include "server/tell.h"
#include "server/wire.h"

#include <stdlib.h>

/* ---- the end --------------------------------------------------------------------------------------------- */

static void lose_streams(struct rv_h2_conn *h2)
{
    while (h2->streams != NULL)
        rv_h2_stream_end(h2->streams);
}

static void lose(struct rv_conn *conn)
{
    lose_streams(conn->h2);
}

static void release(struct rv_conn *conn)
{
    struct rv_h2_conn *h2 = conn->h2;
    lose_streams(h2);
    rv_h2_free(h2->session);
    rv_h2_head_free(&h2->head);
    free(h2);
    conn->h2 = NULL;
}

void rv_h2_conn_fail(struct rv_h2_conn *h2, uint32_t code)
{
    if (h2->phase == RV_H2_BROKEN)
        return;
    h2->phase = RV_H2_BROKEN;
    rv_h2_fail(h2->session, code);
}

void rv_h2_conn_go_away(struct rv_h2_conn *h2)
{
    if (h2->phase >= RV_H2_ENDED)
        return;
    h2->phase = RV_H2_ENDED;
    rv_h2_go_away(h2->session, RV_H2_NO_ERROR);
}

/* A GOAWAY that names the last stream would refuse those that are on their way: so it is announced first,
   and named when the client has answered a PING (RFC 9113 section 6.8). */
static void announce_end(struct rv_h2_conn *h2)
{
    if (h2->phase != RV_H2_OPEN)
        return;
    h2->phase = RV_H2_ENDING;
    h2->ending_ms = rv_conn_now_ms(h2->conn);
    rv_h2_announce_end(h2->session);
    rv_h2_ping(h2->session);
}

/* Is nothing left to be said? True: the connection has ended. */
static bool end_if_over(struct rv_h2_conn *h2)
{
    struct rv_conn *conn = h2->conn;
    bool broken = h2->phase == RV_H2_BROKEN;
    bool over = broken ? !rv_h2_wants_output(h2->session) : rv_h2_is_over(h2->session);
    bool ended = conn->stream.ended || h2->phase == RV_H2_ENDED;
    if (ended && h2->stream_count == 0 && !rv_h2_wants_output(h2->session))
        over = true;
    if (!over)
        return false;
    /* A client that has answered the PING has read what was sent before; behind a stream that ended later
       it may still be giving windows back, and a reset would cost it the response. */
    bool read = h2->phase == RV_H2_ENDED && conn->since_ms < h2->ending_ms;
    release(conn);
    rv_conn_end(conn, !read);
    rv_conn_linger_on(conn);
    return true;
}

/* ---- out ---------------------------------------------------------------------------------------------------- */

/* Moves frames into the stream, as long as the client takes them and others have had their turn. */
static void send_frames(struct rv_h2_conn *h2)
{
    struct rv_stream *stream = &h2->conn->stream;
    uint64_t most = stream->sent + RV_TURN_SEND_BYTES;
    while (!stream->closed) {
        if (rv_stream_queued(stream) >= rv_conn_limits(h2->conn)->output_high_bytes) {
            rv_stream_want_drain(stream);
            return;
        }
        if (stream->sent > most) {
            rv_stream_again(stream);
            return;
        }
        rv_bytes octets = {NULL, 0};
        h2->in_session = true;
        int result = rv_h2_output(h2->session, &octets);
        h2->in_session = false;
        if (result == RV_H2_OUTPUT_NONE)
            return;
        if (result < 0 || (octets.len > 0 && rv_stream_write(stream, octets) != 0)) {
            rv_conn_cut(h2->conn);
            return;
        }
    }
}

/* A client that has ended its side opens no window any more: what waits for one waits for ever. True: there
   was such a stream. */
static bool drop_stalled(struct rv_h2_conn *h2)
{
    bool any = false;
    if (!h2->conn->stream.ended)
        return false;
    for (struct rv_h2_stream *one = h2->streams; one != NULL; one = one->next) {
        if (one->reset || rv_h2_wire_queued(one) == 0 ||
            (rv_h2_connection_window(h2->session) > 0 &&
             rv_h2_stream_window(h2->session, one->id) > 0))
            continue;
        rv_h2_stream_reset(one, RV_H2_CANCEL);
        any = true;
    }
    return any;
}

static void work_off(struct rv_h2_conn *h2)
{
    while (h2->work != NULL && h2->phase != RV_H2_BROKEN) {
        struct rv_h2_stream *stream = h2->work;
        h2->work = stream->next_work;
        if (h2->work == NULL)
            h2->work_last = &h2->work;
        stream->in_work = false;
        rv_h2_stream_do(stream);
    }
}

void rv_h2_conn_settle(struct rv_h2_conn *h2)
{
    struct rv_conn *conn = h2->conn;
    if (conn->stream.closed || h2->in_session || h2->settling)
        return;
    h2->settling = true;
    do {
        work_off(h2);
        if (conn->last)
            announce_end(h2);
        if (h2->phase == RV_H2_ENDING && h2->answered)
            rv_h2_conn_go_away(h2);
        send_frames(h2);
    } while (h2->phase != RV_H2_BROKEN && !conn->stream.closed &&
             (h2->work != NULL || drop_stalled(h2)));
    h2->settling = false;
    if (conn->stream.closed || end_if_over(h2))
        return;
    rv_stream_flush(&conn->stream);
    if (conn->stream.closed)
        return;
    if (h2->stream_count == 0)
        rv_h2_head_free(&h2->head);
    rv_conn_watch_output(conn);
    rv_h2_set_deadline(h2);
}

/* ---- what the stream tells -------------------------------------------------------------------------------- */

static void receive(struct rv_h2_conn *h2, const char *octets, size_t length)
{
    h2->in_session = true;
    rv_error error = rv_h2_receive(h2->session, rv_slice(octets, length));
    h2->in_session = false;
    if (error == RV_ENOMEM) {
        rv_conn_cut(h2->conn);
        return;
    }
    if (error == RV_ELIMIT && h2->phase != RV_H2_BROKEN)
        RV_COUNT(rv_h2_worker(h2), h2_ping_floods);
    if (error != 0 && h2->phase != RV_H2_BROKEN)
        rv_tell_bad_client(h2->conn, 0, "while reading frames",
                           error == RV_ELIMIT
                               ? "A flood of HTTP/2 frames (ping): the connection is ended."
                               : "The rules of HTTP/2 are broken: the connection is ended.");
    if (error != 0)
        h2->phase = RV_H2_BROKEN;
    rv_h2_conn_settle(h2);
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    receive(rv_conn_of(stream)->h2, octets, length);
}

/* Requests that have not arrived in full never will; the others are still answered. */
static void on_end(struct rv_stream *stream)
{
    struct rv_h2_conn *h2 = rv_conn_of(stream)->h2;
    for (struct rv_h2_stream *one = h2->streams; one != NULL; one = one->next)
        if (!one->input_ended)
            rv_h2_stream_reset(one, RV_H2_CANCEL);
    rv_h2_conn_settle(h2);
}

static void on_settle(struct rv_stream *stream)
{
    rv_h2_conn_settle(rv_conn_of(stream)->h2);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    rv_conn_count_loss(rv_conn_of(stream), error);
    lose(rv_conn_of(stream));
}

/* ---- what the worker asks ------------------------------------------------------------------------------------ */

static bool is_idle(const struct rv_conn *conn)
{
    return conn->h2->stream_count == 0 && conn->h2->phase == RV_H2_OPEN &&
           conn->stream.output == NULL;
}

static bool is_busy(const struct rv_conn *conn)
{
    return conn->h2->stream_count > 0;
}

static void stop(struct rv_conn *conn)
{
    conn->last = true;
    rv_h2_conn_settle(conn->h2);
}

static const struct rv_conn_protocol rv_conn_h2 = {
    .events = {.on_data = on_data,
               .on_end = on_end,
               .on_drain = on_settle,
               .on_lost = on_lost,
               .on_again = on_settle,
               .on_timer = rv_h2_on_timer,
               .on_closed = rv_conn_on_closed,
               .tls_at = offsetof(struct rv_conn, tls)},
    .is_idle = is_idle,
    .is_busy = is_busy,
    .stop = stop,
    .lose = lose,
    .release = release,
};

/* ---- the beginning -------------------------------------------------------------------------------------------- */

static struct rv_h2_conn *h2_new(struct rv_conn *conn)
{
    const rv_limits *limits = rv_conn_limits(conn);
    struct rv_h2_settings settings = {
        .streams_max = (uint32_t)limits->h2_streams_max,
        .stream_window_bytes = (uint32_t)limits->h2_stream_window_bytes,
        .connection_window_bytes = (uint32_t)limits->h2_connection_window_bytes,
        .head_bytes_max = (uint32_t)limits->head_bytes_max,
        .events = &rv_h2_server_events,
    };
    struct rv_h2_conn *h2 = calloc(1, sizeof *h2);
    if (h2 == NULL)
        return NULL;
    h2->conn = conn;
    h2->work_last = &h2->work;
    h2->session = rv_h2_new(&settings, h2);
    if (h2->session != NULL)
        return h2;
    free(h2);
    return NULL;
}

void rv_h2_conn_begin(struct rv_conn *conn, const char *octets, size_t length)
{
    struct rv_h2_conn *h2 = h2_new(conn);
    if (h2 == NULL) {
        rv_conn_cut(conn);
        return;
    }
    RV_COUNT(rv_conn_worker(conn), h2_connections);
    conn->h2 = h2;
    conn->since_ms = rv_conn_now_ms(conn);
    rv_conn_speak(conn, &rv_conn_h2);
    receive(h2, octets, length);
}
