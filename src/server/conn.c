/*
 * Connections, whatever they speak (conn.h): their beginning, their end, who is at the other side, and
 * the watch over output that nobody takes.
 */
#include "server/conn.h"

#include "base/clock.h"
#include "io/tls.h"
#include "server/tell.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

static_assert(offsetof(struct rv_conn, next) <= 128, "the hot part of a connection is two lines");
static_assert(sizeof(struct rv_conn) <= 192, "an idle connection costs 256 octets at most");

/* ---- the beginning ------------------------------------------------------------------------------------ */

static void remember_peer(struct rv_conn *conn, const struct sockaddr *peer)
{
    conn->peer_family = (uint8_t)peer->sa_family;
    if (peer->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
        memcpy(conn->peer_address, &v4->sin_addr, 4);
        conn->peer_port = v4->sin_port;
    } else if (peer->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
        /* An IPv4 client of a socket for every address (RFC 4291 section 2.5.5.2). */
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        if (mapped)
            conn->peer_family = AF_INET;
        memcpy(conn->peer_address, v6->sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
        conn->peer_port = v6->sin6_port;
    }
}

static void turn_away(struct rv_worker *worker, const struct rv_arrival *arrival)
{
    rv_stream_refuse(&worker->loop, arrival->descriptor);
    atomic_fetch_sub(&worker->load, 1);
}

/* Takes it out of the worker's connections, and gives its record back. */
static void leave(struct rv_conn *conn)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    if (conn->previous != NULL)
        conn->previous->next = conn->next;
    else
        worker->conns = conn->next;
    if (conn->next != NULL)
        conn->next->previous = conn->previous;
    rv_slab_give(&worker->conn_slab, conn);
}

void rv_conn_open(struct rv_worker *worker, const struct rv_arrival *arrival)
{
    struct rv_conn *conn = rv_slab_take(&worker->conn_slab);
    if (conn == NULL) {
        turn_away(worker, arrival);
        return;
    }
    memset(conn, 0, sizeof *conn);
    remember_peer(conn, (const struct sockaddr *)&arrival->peer);
    conn->next = worker->conns;
    if (conn->next != NULL)
        conn->next->previous = conn;
    worker->conns = conn;
    conn->since_ms = worker->accepted_ms = worker->loop.now_ms;
    conn->starved = true;
    conn->last = worker->stopping;
    if (!arrival->is_tls) {
        rv_stream_open(&conn->stream, &worker->loop, &rv_conn_h1.events, arrival->descriptor,
                       arrival->is_tcp);
    } else if (rv_stream_open_tls(&conn->stream, &worker->loop, &rv_conn_shaking.events,
                                  arrival->descriptor, arrival->is_tcp) != 0) {
        leave(conn);
        turn_away(worker, arrival);
        return;
    }
    worker->conn_count++;
    RV_COUNT(worker, connections_accepted);
    if (!conn->stream.closed)
        conn->stream.events->on_again(&conn->stream); /* its first deadline */
}

void rv_conn_count_request(struct rv_conn *conn)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    uint64_t most = rv_conn_limits(conn)->requests_per_connection_max;
    conn->requests++;
    RV_COUNT(worker, requests);
    if (most != 0 && conn->requests >= most) {
        conn->last = true;
        RV_COUNT(worker, requests_per_connection_hits);
    }
}

/* ---- the end -------------------------------------------------------------------------------------------- */

void rv_conn_cut(struct rv_conn *conn)
{
    rv_conn_protocol(conn)->lose(conn);
    rv_stream_close(&conn->stream);
}

void rv_conn_free_input(struct rv_conn *conn)
{
    if (conn->input == NULL)
        return;
    rv_buffer_free(conn->input);
    free(conn->input);
    conn->input = NULL;
}

void rv_conn_on_closed(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    struct rv_worker *worker = rv_conn_worker(conn);
    uint32_t requests = conn->requests;
    rv_conn_protocol(conn)->release(conn);
    rv_conn_free_input(conn);
    leave(conn);
    rv_worker_conn_ended(worker, requests);
}

void rv_conn_count_loss(struct rv_conn *conn, rv_error error)
{
    if (RV_TLS_BUILT && error == RV_EPROTO && conn->stream.secure &&
        rv_tls_has_flooded(&conn->stream))
        RV_COUNT(rv_conn_worker(conn), tls_message_floods);
}

/* ---- output that nobody takes ----------------------------------------------------------------------------- */

void rv_conn_watch_output(struct rv_conn *conn)
{
    if (conn->stream.output == NULL) {
        conn->stalling = false;
    } else if (!conn->stalling) {
        uint64_t now_ms = rv_conn_now_ms(conn);
        conn->stalling = true;
        conn->progress_ms = now_ms;
        conn->acknowledged = rv_stream_acknowledged(&conn->stream);
        conn->stall_check_ms = rv_later_ms(now_ms, rv_conn_limits(conn)->write_stall_ms / 4);
    }
}

bool rv_conn_output_stalls(struct rv_conn *conn)
{
    uint64_t now = rv_conn_now_ms(conn), stall_ms = rv_conn_limits(conn)->write_stall_ms;
    if (!conn->stalling || stall_ms == RV_NO_LIMIT || now < conn->stall_check_ms)
        return false;
    uint64_t acknowledged = rv_stream_acknowledged(&conn->stream);
    if (acknowledged > conn->acknowledged) {
        conn->acknowledged = acknowledged;
        conn->progress_ms = now;
    } else if (now - conn->progress_ms >= stall_ms) {
        rv_tell_bad_client(conn, 0, "while sending a response",
                           "The client has taken nothing for too long: the connection is cut.");
        return true;
    }
    conn->stall_check_ms = rv_later_ms(now, stall_ms / 4 + 1);
    return false;
}

void rv_conn_set_deadline(struct rv_conn *conn, uint64_t deadline_ms)
{
    if (conn->stalling && rv_conn_limits(conn)->write_stall_ms != RV_NO_LIMIT &&
        conn->stall_check_ms < deadline_ms)
        deadline_ms = conn->stall_check_ms;
    if (deadline_ms != UINT64_MAX)
        rv_stream_set_timer(&conn->stream, deadline_ms);
    else if (rv_timer_is_set(&conn->stream.timer))
        rv_stream_stop_timer(&conn->stream);
}

/* ---- the other side ------------------------------------------------------------------------------------------ */

void rv_conn_peer_text(const struct rv_conn *conn, char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = conn->peer_port};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = conn->peer_port};
    switch (conn->peer_family) {
    case AF_INET:
        memcpy(&v4.sin_addr, conn->peer_address, 4);
        rv_address_format((struct sockaddr *)&v4, sizeof v4, text, RV_ADDRESS_TEXT_MAX);
        break;
    case AF_INET6:
        memcpy(&v6.sin6_addr, conn->peer_address, 16);
        rv_address_format((struct sockaddr *)&v6, sizeof v6, text, RV_ADDRESS_TEXT_MAX);
        break;
    case AF_UNIX:
        snprintf(text, RV_ADDRESS_TEXT_MAX, "unix:");
        break;
    default:
        text[0] = '\0';
    }
}
