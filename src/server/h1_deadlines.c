/*
 * HTTP/1: the deadlines of a connection (h1_conn.h), and what happens when one is over. There is one timer;
 * it is set to the nearest of them whenever something has happened.
 */
#include "base/clock.h"
#include "server/body.h"
#include "server/h1_conn.h"
#include "server/h1_wire.h"
#include "server/tell.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Is the client held to the minimum rate now? */
static bool reads_body(const struct rv_conn *conn)
{
    return conn->talk != NULL && rv_conn_limits(conn)->body_rate_min != RV_NO_LIMIT &&
           (conn->phase == RV_CONN_DRAIN || conn->talk->body_phase == RV_BODY_READING) &&
           conn->talk->body_phase != RV_BODY_NONE;
}

/* A client that opens thousands of connections before it sends on the first is not silent but busy: the
   time of a fresh connection runs from the last one that was accepted, within that of an idle one. */
static uint64_t first_octet_deadline(const struct rv_conn *conn)
{
    const rv_limits *limits = rv_conn_limits(conn);
    uint64_t last_accept_ms = rv_conn_worker(conn)->accepted_ms;
    uint64_t most_ms = limits->idle_timeout_ms > limits->head_timeout_ms ? limits->idle_timeout_ms
                                                                         : limits->head_timeout_ms;
    if (last_accept_ms < conn->since_ms)
        last_accept_ms = conn->since_ms; /* its handshake took longer than nobody else's coming */
    return earlier(rv_later_ms(last_accept_ms, limits->head_timeout_ms),
                   rv_later_ms(conn->since_ms, most_ms));
}

static uint64_t head_deadline(const struct rv_conn *conn)
{
    if (conn->head_started)
        return rv_later_ms(conn->since_ms, rv_conn_limits(conn)->head_timeout_ms);
    if (conn->requests == 0)
        return first_octet_deadline(conn);
    return rv_later_ms(conn->since_ms, rv_conn_limits(conn)->idle_timeout_ms);
}

void rv_h1_set_deadline(struct rv_conn *conn)
{
    uint64_t deadline = UINT64_MAX;
    if (conn->phase == RV_CONN_HEAD && conn->starved)
        deadline = head_deadline(conn);
    else if (reads_body(conn))
        deadline = rv_later_ms(conn->talk->window_ms, rv_conn_limits(conn)->body_grace_ms);
    rv_conn_set_deadline(conn, deadline);
}

static void head_timed_out(struct rv_conn *conn)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    const char *reason = "The request head did not arrive in time.";
    if (conn->head_started) /* one that is silent has done nothing wrong */
        rv_tell_bad_client(conn, 408, "while reading a request head", reason);
    if (conn->head_started || conn->requests == 0) {
        RV_COUNT(worker, head_timeouts);
        rv_h1_wire_refuse(conn, 408, reason);
    } else {
        RV_COUNT(worker, idle_timeouts);
    }
    rv_h1_conn_end(conn,
                   conn->head_started); /* from one that was silent nothing is to be expected */
}

static void body_timed_out(struct rv_conn *conn)
{
    struct rv_talk *talk = conn->talk;
    RV_COUNT(rv_conn_worker(conn), body_too_slow);
    bool answers = conn->phase == RV_CONN_EXCHANGE && !talk->head_sent;
    const char *reason = "The request body arrives too slowly.";
    conn->last = true;
    rv_tell_bad_client(conn, answers ? 408 : 0, "while reading the request body", reason);
    if (answers) {
        rv_talk_refuse(talk, 408, reason);
        rv_h1_finish_exchange(conn, true);
    } else {
        rv_h1_conn_end(conn, true);
    }
}

void rv_h1_on_timer(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    uint64_t now = rv_conn_now_ms(conn);
    if (rv_conn_output_stalls(conn)) {
        RV_COUNT(rv_conn_worker(conn), write_stalls);
        rv_conn_cut(conn);
        return;
    }
    if (conn->phase == RV_CONN_HEAD && conn->starved && head_deadline(conn) <= now)
        head_timed_out(conn);
    else if (reads_body(conn) && rv_body_is_too_slow(conn->talk, now))
        body_timed_out(conn);
    rv_h1_conn_settle(conn);
}
