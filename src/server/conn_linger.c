/*
 * Connections whose server side is finished (conn.h). When the client may still be sending, closing would
 * answer its octets with a reset that can destroy the response on its way: so FIN first, and whatever
 * comes is read and dropped for a while (RFC 9112 section 9.6).
 */
#include "base/clock.h"
#include "server/conn.h"

/* A lingering connection from which nothing comes for that long has nothing more to say. */
#define SILENCE_MS 5000

void rv_conn_end(struct rv_conn *conn, bool unread)
{
    rv_conn_speak(conn, &rv_conn_lingering);
    conn->phase = RV_CONN_LINGER;
    conn->since_ms = rv_conn_now_ms(conn);
    conn->heard_after_ms = 0;
    if (unread && !conn->stream.ended) {
        rv_stream_finish(&conn->stream);
        rv_stream_discard(&conn->stream);
    } else {
        rv_stream_close_when_sent(&conn->stream);
    }
}

static uint64_t deadline_ms(const struct rv_conn *conn)
{
    uint64_t end_ms = rv_later_ms(conn->since_ms, rv_conn_limits(conn)->linger_ms);
    uint64_t silent_ms = rv_later_ms(conn->since_ms + conn->heard_after_ms, SILENCE_MS);
    return end_ms < silent_ms ? end_ms : silent_ms;
}

void rv_conn_linger_on(struct rv_conn *conn)
{
    rv_stream_flush(&conn->stream);
    if (conn->stream.closed)
        return;
    rv_conn_watch_output(conn);
    rv_conn_set_deadline(conn, conn->stalling ? UINT64_MAX : deadline_ms(conn));
}

static void on_something(struct rv_stream *stream)
{
    if (!stream->closed)
        rv_conn_linger_on(rv_conn_of(stream));
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    (void)octets, (void)length; /* that was underway when the end came */
    on_something(stream);
}

static void on_end(struct rv_stream *stream)
{
    rv_stream_close_when_sent(stream);
    on_something(stream);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    rv_conn_count_loss(rv_conn_of(stream), error);
}

/* Closes when the time is over, or nothing was heard since the last look. */
static void on_timer(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    if (rv_conn_output_stalls(conn)) {
        RV_COUNT(rv_conn_worker(conn), write_stalls);
        rv_stream_close(stream);
        return;
    }
    if (stream->output == NULL) {
        if (stream->discarded) {
            stream->discarded = false;
            uint64_t after_ms = rv_conn_now_ms(conn) - conn->since_ms;
            conn->heard_after_ms = after_ms < UINT32_MAX ? (uint32_t)after_ms : UINT32_MAX;
        }
        if (rv_conn_now_ms(conn) >= deadline_ms(conn))
            rv_stream_close(stream);
    }
    on_something(stream);
}

static bool is_never(const struct rv_conn *conn)
{
    (void)conn;
    return false;
}

static void nothing(struct rv_conn *conn)
{
    (void)conn;
}

const struct rv_conn_protocol rv_conn_lingering = {
    .events = {.on_data = on_data,
               .on_end = on_end,
               .on_drain = on_something,
               .on_lost = on_lost,
               .on_again = on_something,
               .on_timer = on_timer,
               .on_closed = rv_conn_on_closed,
               .tls_at = offsetof(struct rv_conn, tls)},
    .is_idle = is_never,
    .is_busy = is_never,
    .stop = nothing,
    .lose = nothing,
    .release = nothing,
};
