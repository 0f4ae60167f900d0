/*
 * Connections that have not finished their TLS handshake (conn.h): nothing can be answered yet, and only
 * the handshake will tell what they speak.
 */
#include "base/clock.h"
#include "io/tls_layer.h"
#include "server/conn.h"
#include "server/h1_conn.h"
#include "server/h2_conn.h"
#include "server/tell.h"

#define SHAKING "during a TLS handshake"

static void set_deadline(struct rv_conn *conn)
{
    rv_conn_set_deadline(
        conn, rv_later_ms(conn->since_ms, rv_conn_limits(conn)->tls_handshake_timeout_ms));
}

/* The time for the first head begins. */
static void on_secured(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    struct rv_worker *worker = rv_conn_worker(conn);
    struct rv_tls_facts facts = {0};
    if (RV_TLS_BUILT)
        rv_tls_facts(stream, &facts);
    RV_COUNT(worker, tls_handshakes);
    if (facts.resumed)
        RV_COUNT(worker, tls_handshakes_resumed);
    conn->since_ms = rv_conn_now_ms(conn);
    if (RV_H2_BUILT &&
        rv_bytes_equal(rv_slice(facts.protocol, facts.protocol_length), RV_LIT("h2")))
        rv_h2_conn_begin(conn, NULL, 0);
    else
        rv_h1_conn_begin(conn);
}

static void on_insecure(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    RV_COUNT(rv_conn_worker(conn), tls_plain_requests);
    rv_h1_conn_begin(conn);
    const char *reason = "This port speaks TLS: the address must begin with https://";
    rv_tell_bad_client(conn, 400, SHAKING, reason);
    rv_h1_conn_refuse(conn, 400, reason);
    rv_conn_linger_on(conn); /* it may not take the answer */
}

static void on_timer(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    RV_COUNT(rv_conn_worker(conn), tls_handshake_timeouts);
    rv_tell_bad_client(conn, 0, SHAKING, "It did not end in time: the connection is cut.");
    rv_conn_cut(conn);
}

/* What has been sent of a handshake is of no use without the rest. */
static void on_end(struct rv_stream *stream)
{
    rv_conn_cut(rv_conn_of(stream));
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    if (error != RV_EPROTO)
        return;
    RV_COUNT(rv_conn_worker(rv_conn_of(stream)), tls_handshakes_failed);
    rv_tell_bad_client(rv_conn_of(stream), 0, SHAKING, "It has failed: the connection is cut.");
}

static void on_again(struct rv_stream *stream)
{
    set_deadline(rv_conn_of(stream));
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    (void)stream, (void)octets, (void)length; /* on_secured comes before any */
}

static bool is_never(const struct rv_conn *conn)
{
    (void)conn;
    return false;
}

/* One that has begun is still served. */
static void stop(struct rv_conn *conn)
{
    conn->last = true;
    if (RV_TLS_BUILT && !rv_tls_is_shaking(&conn->stream))
        rv_stream_close(&conn->stream);
}

static void nothing(struct rv_conn *conn)
{
    (void)conn;
}

const struct rv_conn_protocol rv_conn_shaking = {
    .events = {.on_data = on_data,
               .on_end = on_end,
               .on_drain = on_again,
               .on_lost = on_lost,
               .on_again = on_again,
               .on_timer = on_timer,
               .on_closed = rv_conn_on_closed,
               .on_secured = on_secured,
               .on_insecure = on_insecure,
               .tls_at = offsetof(struct rv_conn, tls)},
    .is_idle = is_never,
    .is_busy = is_never,
    .stop = stop,
    .lose = nothing,
    .release = nothing,
};
