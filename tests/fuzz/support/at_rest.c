/*
 * Looks into a server at rest (at_rest.h). The rules are those of conn.h, talk.h, stream.h and
 * timer.h.
 */
#include "fuzz/support/at_rest.h"

#include "fuzz/support/require.h"
#include "server/h1_conn.h"
#include "server/h2_conn.h"
#include "server/talk.h"

#include <assert.h>

static const struct rv_worker *worker_of(const rv_server *server)
{
    return server->workers[0];
}

static void require_counters(const rv_server *server)
{
    rv_counter_values values;
    rv_counters(server, &values);
    const struct rv_worker *worker = worker_of(server);
    REQUIRE(values.connections_accepted == values.connections_closed + values.connections_open);
    REQUIRE(values.connections_open == worker->conn_count);
    REQUIRE(values.octets_received == worker->loop.octets_received);
    REQUIRE(values.octets_sent == worker->loop.octets_sent);
}

static void require_quiet_loop(const struct rv_loop *loop)
{
    REQUIRE(rv_wheel_validate(&loop->wheel));
    REQUIRE(rv_wheel_wait_ms(&loop->wheel) > 0);
    REQUIRE(loop->again == NULL && loop->dead == NULL && loop->page_owner == NULL);
}

static void require_talk(const struct rv_conn *conn, bool (*waits_outside)(rv_handle handle))
{
    struct rv_talk *talk = conn->talk;
    REQUIRE(talk->conn == conn && talk->in_use && !talk->running);
    REQUIRE(!talk->cut);
    REQUIRE((conn->phase == RV_CONN_DRAIN) == talk->wire_ended);
    if (conn->phase == RV_CONN_DRAIN) {
        REQUIRE(talk->body_phase != RV_BODY_NONE && talk->on_gone == NULL);
        return;
    }
    REQUIRE(talk->kept);
    bool reads = talk->body_phase == RV_BODY_READING;
    REQUIRE(reads || talk->timer_then != NULL || talk->drained != NULL ||
            waits_outside(rv_suspend(talk)));
    REQUIRE(talk->timer_then == NULL || rv_timer_is_set(&talk->timer));
}

/* A deadline ends every wait for the client. */
static void require_deadline(const struct rv_conn *conn)
{
    bool waits_for_octets = conn->phase == RV_CONN_HEAD || conn->phase == RV_CONN_DRAIN ||
                            (conn->talk != NULL && conn->talk->body_phase == RV_BODY_READING);
    bool waits_for_room = conn->stream.output != NULL;
    REQUIRE(!waits_for_room || conn->progress_ms != 0);
    if (waits_for_octets || waits_for_room || conn->phase == RV_CONN_LINGER)
        REQUIRE(rv_timer_is_set(&conn->stream.timer));
}

static bool speaks_h2(const struct rv_conn *conn)
{
    const struct rv_conn_protocol *protocol = rv_conn_protocol(conn);
    return RV_H2_BUILT && protocol != &rv_conn_h1 && protocol != &rv_conn_lingering &&
           protocol != &rv_conn_shaking;
}

#if RV_H2_BUILT
static void require_h2_stream(const struct rv_h2_stream *stream,
                              bool (*waits_outside)(rv_handle handle))
{
    struct rv_talk *talk = stream->talk;
    REQUIRE(stream->next == NULL || stream->next->previous == stream);
    REQUIRE(talk != NULL && talk->in_use && talk->h2 == stream && !talk->running);
    REQUIRE(talk->conn == stream->h2->conn && !stream->in_work);
    if (stream->reset || !stream->head_complete || stream->h2->phase == RV_H2_BROKEN)
        return;
    REQUIRE(stream->dispatched && talk->kept);
    REQUIRE(!talk->cut || talk->wire_ended);
    REQUIRE(!talk->wire_ended || (stream->input.len == 0 && talk->on_gone == NULL));
    REQUIRE(talk->wire_ended || talk->body_phase == RV_BODY_READING || talk->timer_then != NULL ||
            talk->drained != NULL || waits_outside(rv_suspend(talk)));
    REQUIRE(talk->timer_then == NULL || rv_timer_is_set(&talk->timer));
    /* What has arrived is kept only for a handler that does not want it yet. */
    REQUIRE(talk->body_phase != RV_BODY_READING || stream->input.len == 0 || talk->wire_ended);
}

/* How many streams it has. */
static size_t require_h2(const struct rv_conn *conn, bool (*waits_outside)(rv_handle handle))
{
    const struct rv_h2_conn *h2 = conn->h2;
    uint64_t kept = 0;
    size_t count = 0;
    REQUIRE(!h2->in_session && !h2->settling);
    REQUIRE(h2->work == NULL || h2->phase == RV_H2_BROKEN);
    for (const struct rv_h2_stream *stream = h2->streams; stream != NULL; stream = stream->next) {
        REQUIRE(stream->h2 == h2);
        require_h2_stream(stream, waits_outside);
        kept += stream->input.len;
        count++;
    }
    REQUIRE(count == h2->stream_count);
    REQUIRE(count > 0 || h2->head.octets.ptr == NULL);
    /* Half of the connection's window, at most, is still to be given back. */
    uint64_t window = rv_conn_limits(conn)->h2_connection_window_bytes;
    REQUIRE(h2->phase == RV_H2_BROKEN || conn->stream.output != NULL ||
            (uint64_t)rv_h2_receive_window(h2->session) + kept >= window / 2);
    REQUIRE(rv_timer_is_set(&conn->stream.timer));
    return count;
}
#else
static size_t require_h2(const struct rv_conn *conn, bool (*waits_outside)(rv_handle handle))
{
    (void)conn, (void)waits_outside;
    return 0;
}
#endif

static void require_conn(const struct rv_conn *conn, bool (*waits_outside)(rv_handle handle))
{
    const struct rv_stream *stream = &conn->stream;
    REQUIRE(!stream->closed && !stream->broken && !stream->in_again);
    REQUIRE(stream->output == NULL || stream->blocked);
    if (speaks_h2(conn))
        return;
    REQUIRE((conn->phase == RV_CONN_EXCHANGE || conn->phase == RV_CONN_DRAIN) ==
            (conn->talk != NULL));
    if (conn->talk != NULL)
        require_talk(conn, waits_outside);
    if (conn->phase == RV_CONN_LINGER)
        REQUIRE(conn->input == NULL);
    REQUIRE(!stream->paused || conn->input != NULL);
    REQUIRE(conn->input == NULL || conn->input->len > 0);
    /* What comes behind the last request is never waited for. */
    REQUIRE(!conn->last || conn->phase != RV_CONN_HEAD || conn->input != NULL);
    require_deadline(conn);
}

void fuzz_require_at_rest(const rv_server *server, bool (*waits_outside)(rv_handle handle))
{
    const struct rv_worker *worker = worker_of(server);
    size_t conns = 0, with_talk = 0, talks = 0, timers = 0;
    require_counters(server);
    require_quiet_loop(&worker->loop);
    for (const struct rv_conn *conn = worker->conns; conn != NULL; conn = conn->next) {
        REQUIRE(conn->next == NULL || conn->next->previous == conn);
        require_conn(conn, waits_outside);
        conns++;
        if (speaks_h2(conn))
            with_talk += require_h2(conn, waits_outside);
        else
            with_talk += conn->talk != NULL;
        timers += rv_timer_is_set(&conn->stream.timer);
    }
    for (uint32_t i = 0; i < worker->talk_count; i++) {
        talks += worker->talks[i]->in_use;
        timers += rv_timer_is_set(&worker->talks[i]->timer);
        REQUIRE(worker->talks[i]->in_use || !rv_timer_is_set(&worker->talks[i]->timer));
    }
    timers += rv_timer_is_set(&worker->accept_timer) + rv_timer_is_set(&worker->grace_timer);
    REQUIRE(conns == worker->conn_count && conns == worker->conn_slab.taken);
    REQUIRE(with_talk == talks);
    REQUIRE(timers == worker->loop.wheel.count);
}

void fuzz_scribble(const rv_server *server)
{
    enum { OCTETS = 8192 }; /* most segments are smaller, and this is done often */
    static_assert(OCTETS <= RV_RECEIVE_BYTES && OCTETS <= RV_PAGE_BYTES, "both have so many");
    const struct rv_loop *loop = &worker_of(server)->loop;
    memset(loop->receive_buffer, '~', OCTETS);
    memset(loop->page, '~', OCTETS);
}

static bool nobody(rv_handle handle)
{
    (void)handle;
    return false;
}

void fuzz_require_empty(const rv_server *server)
{
    const struct rv_worker *worker = worker_of(server);
    fuzz_require_at_rest(server, nobody);
    REQUIRE(worker->conn_count == 0 && worker->conns == NULL);
    REQUIRE(worker->loop.segments.taken == 0);
}
