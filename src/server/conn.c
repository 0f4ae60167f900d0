/*
 * The connection's state machine (conn.h). Whatever happens - octets, room, a timer, an answer from
 * somewhere - ends in settle(), which sends what was written, decides whether to read on, and sets the
 * one timer to the next deadline that matters.
 */
#include "server/conn.h"

#include "base/clock.h"
#include "io/tls_layer.h"
#include "server/body.h"
#include "server/dispatch.h"
#include "server/wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

/* Requests of one connection that are taken before others get their turn. */
#define HEADS_PER_TURN 64

/* A lingering connection from which nothing comes for that long has nothing more to say. */
#define LINGER_SILENCE_MS 5000

static_assert(offsetof(struct rv_conn, next) <= 128, "the hot part of a connection is two lines");
static_assert(sizeof(struct rv_conn) <= 192, "an idle connection costs 256 octets at most");

static const rv_limits *limits_of(const struct rv_conn *conn)
{
    return &rv_conn_worker(conn)->server->options.limits;
}

static uint64_t now_of(const struct rv_conn *conn)
{
    return conn->stream.loop->now_ms;
}

/* Its TLS handshake is not done: it cannot be answered yet. */
static bool is_new_to_tls(const struct rv_conn *conn)
{
    return RV_TLS_BUILT && conn->stream.secure && rv_tls_is_new(&conn->stream);
}

/* ---- the end of a connection ------------------------------------------------------------------------- */

static void lose_talk(struct rv_conn *conn)
{
    struct rv_talk *talk = conn->talk;
    conn->talk = NULL;
    if (talk != NULL)
        rv_talk_lose(talk);
}

void rv_conn_cut(struct rv_conn *conn)
{
    lose_talk(conn);
    rv_stream_close(&conn->stream);
}

/* Our side is finished. When the client may still be sending, closing now would answer its octets with
   a reset that can destroy the response on its way: so FIN first, and read on for a while
   (RFC 9112 section 9.6). */
static void end(struct rv_conn *conn, bool unread)
{
    lose_talk(conn);
    conn->phase = RV_CONN_LINGER;
    conn->since_ms = now_of(conn);
    conn->heard_after_ms = 0;
    if (unread && !conn->stream.ended) {
        rv_stream_finish(&conn->stream);
        rv_stream_discard(&conn->stream);
    } else {
        rv_stream_close_when_sent(&conn->stream);
    }
}

static void refuse(struct rv_conn *conn, int status, const char *reason)
{
    rv_wire_refuse(conn, status, reason);
    end(conn, true);
}

bool rv_conn_is_idle(const struct rv_conn *conn)
{
    return conn->phase == RV_CONN_HEAD && conn->input == NULL && conn->stream.output == NULL;
}

void rv_conn_stop(struct rv_conn *conn)
{
    conn->last = true;
    if (conn->phase != RV_CONN_HEAD || conn->input != NULL)
        return;
    if (RV_TLS_BUILT && is_new_to_tls(conn)) { /* one that has begun a handshake is still served */
        if (!rv_tls_is_shaking(&conn->stream))
            rv_stream_close(&conn->stream);
        return;
    }
    /* A request that is there already is still answered. */
    rv_stream_receive_now(&conn->stream);
    if (!conn->stream.closed && conn->phase == RV_CONN_HEAD && conn->input == NULL)
        end(conn, false);
}

/* ---- exchanges --------------------------------------------------------------------------------------- */

/* Is the exchange over, and what comes then? True: the connection can go on (or has ended). `left`:
   octets are there that nobody has read. */
static bool finish_exchange(struct rv_conn *conn, bool left)
{
    struct rv_talk *talk = conn->talk;
    if (talk == NULL || talk->running)
        return false;
    if (talk->cut) {
        if (RV_TLS_BUILT && conn->stream.secure)
            rv_tls_withhold_goodbye(&conn->stream);
        end(conn, left || talk->body_phase != RV_BODY_NONE);
        return true;
    }
    if (!talk->wire_ended)
        return false;
    bool body_left = talk->body_phase != RV_BODY_NONE;
    bool drained_enough = conn->phase == RV_CONN_DRAIN && talk->body_read > talk->body_max;
    if (talk->wire_closes || (body_left && (talk->continue_due || drained_enough))) {
        end(conn, left || body_left);
        return true;
    }
    if (body_left && conn->phase == RV_CONN_DRAIN)
        return false;
    if (body_left) {
        rv_talk_forget_callbacks(talk);
        conn->phase = RV_CONN_DRAIN;
        talk->body_discarded = true;
        talk->window_ms = now_of(conn);
        talk->window_read = talk->body_read;
        talk->body_max = talk->body_read + RV_DRAIN_BYTES_MAX;
        return true;
    }
    conn->talk = NULL;
    rv_talk_give(talk);
    conn->phase = RV_CONN_HEAD;
    conn->head_started = false;
    conn->since_ms = now_of(conn);
    if (conn->last)
        end(conn, left);
    return true;
}

/* A head that did not become complete last time is only parsed again when a line has ended since, or a
   limit is passed: so a head that comes octet by octet costs no more than its lines. */
static bool head_may_have_grown(const struct rv_conn *conn, const char *octets, size_t length)
{
    const rv_limits *limits = limits_of(conn);
    uint32_t searched = conn->searched;
    if (searched == 0 || length <= searched)
        return true;
    return length > limits->head_bytes_max || length > limits->target_bytes_max ||
           memchr(octets + searched, '\n', length - searched) != NULL;
}

/* Takes a head off the front: how many octets it had; 0: it is not complete, or was refused. */
static size_t take_head(struct rv_conn *conn, char *octets, size_t length)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    const rv_limits *limits = limits_of(conn);
    struct rv_h1_limits h1 = {(uint32_t)limits->target_bytes_max, (uint32_t)limits->head_bytes_max,
                              (uint32_t)limits->head_fields_max};
    conn->starved = true;
    if (!head_may_have_grown(conn, octets, length))
        return 0;
    struct rv_talk *talk = rv_talk_take(worker);
    const char *reason = NULL;
    if (talk == NULL) {
        refuse(conn, 503, "The server is out of memory.");
        return 0;
    }
    int result = rv_h1_parse_head(octets, length, &h1, &talk->head, &reason);
    if (result == RV_H1_COMPLETE) {
        conn->searched = 0;
        conn->starved = false;
        conn->talk = talk;
        conn->phase = RV_CONN_EXCHANGE;
        conn->requests++;
        talk->conn = conn;
        talk->octets = octets;
        talk->is_tls = conn->stream.secure;
        RV_COUNT(worker, requests);
        rv_dispatch(talk, length > talk->head.length);
        return talk->head.length;
    }
    conn->searched = (uint32_t)length;
    rv_talk_give(talk);
    if (result != RV_H1_INCOMPLETE) {
        rv_dispatch_count_refusal(worker, result, talk->head.field_count);
        refuse(conn, result, reason);
    }
    return 0;
}

/* Works through octets in order, as far as it gets; returns how many were used. */
static size_t work_through(struct rv_conn *conn, char *octets, size_t length)
{
    size_t used = 0;
    unsigned heads = 0;
    while (!conn->stream.closed) {
        if (finish_exchange(conn, used < length))
            continue;
        if (conn->phase == RV_CONN_LINGER)
            return length;
        if (conn->phase != RV_CONN_HEAD) {
            size_t count = rv_body_feed(conn->talk, octets + used, length - used);
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
        if (rv_stream_queued(&conn->stream) >= limits_of(conn)->output_high_bytes) {
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

/* ---- timers ------------------------------------------------------------------------------------------ */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Is the client held to the minimum rate now? */
static bool reads_body(const struct rv_conn *conn)
{
    return conn->talk != NULL && limits_of(conn)->body_rate_min != RV_NO_LIMIT &&
           (conn->phase == RV_CONN_DRAIN || conn->talk->body_phase == RV_BODY_READING) &&
           conn->talk->body_phase != RV_BODY_NONE;
}

/* Looks for progress four times in the time that a stall may last. */
static void watch_output(struct rv_conn *conn)
{
    if (conn->stream.output == NULL) {
        conn->stalling = false;
    } else if (!conn->stalling) {
        conn->stalling = true;
        conn->progress_ms = now_of(conn);
        conn->acknowledged = rv_stream_acknowledged(&conn->stream);
        conn->stall_check_ms = rv_later_ms(now_of(conn), limits_of(conn)->write_stall_ms / 4);
    }
}

/* A client that opens thousands of connections before it sends on the first is not silent but busy: the
   time of a fresh connection runs from the last one that was accepted, within that of an idle one. */
static uint64_t first_octet_deadline(const struct rv_conn *conn)
{
    const rv_limits *limits = limits_of(conn);
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
    if (is_new_to_tls(conn))
        return rv_later_ms(conn->since_ms, limits_of(conn)->tls_handshake_timeout_ms);
    if (conn->head_started)
        return rv_later_ms(conn->since_ms, limits_of(conn)->head_timeout_ms);
    if (conn->requests == 0)
        return first_octet_deadline(conn);
    return rv_later_ms(conn->since_ms, limits_of(conn)->idle_timeout_ms);
}

static uint64_t heard_ms(const struct rv_conn *conn)
{
    return conn->since_ms + conn->heard_after_ms;
}

static void set_deadline(struct rv_conn *conn)
{
    uint64_t deadline = UINT64_MAX;
    if (conn->phase == RV_CONN_HEAD && conn->starved)
        deadline = head_deadline(conn);
    else if (conn->phase == RV_CONN_LINGER && !conn->stalling)
        deadline = earlier(rv_later_ms(conn->since_ms, limits_of(conn)->linger_ms),
                           rv_later_ms(heard_ms(conn), LINGER_SILENCE_MS));
    else if (reads_body(conn))
        deadline = rv_later_ms(conn->talk->window_ms, limits_of(conn)->body_grace_ms);
    if (conn->stalling && limits_of(conn)->write_stall_ms != RV_NO_LIMIT)
        deadline = earlier(deadline, conn->stall_check_ms);
    if (deadline != UINT64_MAX)
        rv_stream_set_timer(&conn->stream, deadline);
    else if (rv_timer_is_set(&conn->stream.timer))
        rv_stream_stop_timer(&conn->stream);
}

static bool output_stalls(struct rv_conn *conn)
{
    uint64_t now = now_of(conn), stall_ms = limits_of(conn)->write_stall_ms;
    if (!conn->stalling || stall_ms == RV_NO_LIMIT || now < conn->stall_check_ms)
        return false;
    uint64_t acknowledged = rv_stream_acknowledged(&conn->stream);
    if (acknowledged > conn->acknowledged) {
        conn->acknowledged = acknowledged;
        conn->progress_ms = now;
    } else if (now - conn->progress_ms >= stall_ms) {
        return true;
    }
    conn->stall_check_ms = rv_later_ms(now, stall_ms / 4 + 1);
    return false;
}

static void head_timed_out(struct rv_conn *conn)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    if (is_new_to_tls(conn)) {
        RV_COUNT(worker, tls_handshake_timeouts);
        rv_conn_cut(conn);
        return;
    }
    if (conn->head_started || conn->requests == 0) {
        RV_COUNT(worker, head_timeouts);
        rv_wire_refuse(conn, 408, "The request head did not arrive in time.");
    } else {
        RV_COUNT(worker, idle_timeouts);
    }
    end(conn, conn->head_started); /* from one that was silent nothing is to be expected */
}

static void body_timed_out(struct rv_conn *conn)
{
    struct rv_talk *talk = conn->talk;
    RV_COUNT(rv_conn_worker(conn), body_too_slow);
    conn->last = true;
    if (conn->phase == RV_CONN_EXCHANGE && !talk->head_sent) {
        rv_talk_refuse(talk, 408, "The request body arrives too slowly.");
        finish_exchange(conn, true);
    } else {
        end(conn, true);
    }
}

/* Closes when the time is over, or nothing was heard since the last look. */
static void linger_on(struct rv_conn *conn)
{
    uint64_t now = now_of(conn);
    if (conn->stream.discarded) {
        conn->stream.discarded = false;
        uint64_t after_ms = now - conn->since_ms;
        conn->heard_after_ms = after_ms < UINT32_MAX ? (uint32_t)after_ms : UINT32_MAX;
    }
    if (now >= rv_later_ms(conn->since_ms, limits_of(conn)->linger_ms) ||
        now >= rv_later_ms(heard_ms(conn), LINGER_SILENCE_MS))
        rv_stream_close(&conn->stream);
}

static void settle(struct rv_conn *conn);

static void on_timer(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    uint64_t now = now_of(conn);
    if (output_stalls(conn)) {
        RV_COUNT(rv_conn_worker(conn), write_stalls);
        rv_conn_cut(conn);
        return;
    }
    if (conn->phase == RV_CONN_HEAD && conn->starved && head_deadline(conn) <= now)
        head_timed_out(conn);
    else if (conn->phase == RV_CONN_LINGER && stream->output == NULL)
        linger_on(conn);
    else if (reads_body(conn) && rv_body_is_too_slow(conn->talk, now))
        body_timed_out(conn);
    settle(conn);
}

/* ---- input that is kept ------------------------------------------------------------------------------- */

static void free_input(struct rv_conn *conn)
{
    if (conn->input == NULL)
        return;
    rv_buffer_free(conn->input);
    free(conn->input);
    conn->input = NULL;
}

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
        free_input(conn);
}

/* What the client sends is incomplete for ever. */
static void input_ended(struct rv_conn *conn)
{
    conn->last = true;
    if (!conn->starved || conn->phase == RV_CONN_LINGER)
        return;
    end(conn, false);
}

static void settle(struct rv_conn *conn)
{
    struct rv_stream *stream = &conn->stream;
    if (stream->closed)
        return;
    if (stream->ended)
        input_ended(conn);
    rv_stream_flush(stream);
    if (stream->closed)
        return;
    bool waiting = conn->input != NULL && !conn->starved;
    if (conn->phase == RV_CONN_HEAD && conn->input != NULL && !conn->head_started) {
        conn->head_started = true;
        conn->since_ms = now_of(conn);
    }
    if (conn->phase == RV_CONN_LINGER)
        free_input(conn);
    else if (waiting && !stream->paused)
        rv_stream_pause(stream);
    else if (!waiting && stream->paused)
        rv_stream_resume(stream);
    watch_output(conn);
    set_deadline(conn);
}

void rv_conn_advance(struct rv_conn *conn)
{
    if (conn->stream.closed)
        return;
    char none[1];
    if (conn->input != NULL)
        consume_input(conn);
    else
        consume(conn, none, 0);
    settle(conn);
}

/* ---- what the stream tells ---------------------------------------------------------------------------- */

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_conn *conn = rv_conn_of(stream);
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
    settle(conn);
}

static void on_end(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    if (conn->phase == RV_CONN_LINGER)
        rv_stream_close_when_sent(stream);
    else
        rv_conn_advance(conn);
}

static void on_drain(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    struct rv_talk *talk = conn->talk;
    if (talk != NULL && talk->drained != NULL) {
        rv_handler drained = talk->drained;
        talk->drained = NULL;
        if (talk->on_pool)
            drained(talk, talk->drained_ctx); /* the channel's own */
        else
            rv_talk_run(talk, drained, talk->drained_ctx);
    }
    rv_conn_advance(conn);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct rv_conn *conn = rv_conn_of(stream);
    if (error == RV_EPROTO && is_new_to_tls(conn))
        RV_COUNT(rv_conn_worker(conn), tls_handshakes_failed);
    if (conn->talk != NULL)
        RV_COUNT(rv_conn_worker(conn), clients_gone);
    lose_talk(conn);
}

static void on_again(struct rv_stream *stream)
{
    rv_conn_advance(rv_conn_of(stream));
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

static void on_closed(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    struct rv_worker *worker = rv_conn_worker(conn);
    assert(conn->talk == NULL);
    free_input(conn);
    uint32_t requests = conn->requests;
    leave(conn);
    rv_worker_conn_ended(worker, requests);
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
    conn->since_ms = now_of(conn);
    settle(conn);
}

static void on_insecure(struct rv_stream *stream)
{
    struct rv_conn *conn = rv_conn_of(stream);
    RV_COUNT(rv_conn_worker(conn), tls_plain_requests);
    refuse(conn, 400, "This port speaks TLS: the address must begin with https://");
    settle(conn);
}

static const struct rv_stream_events conn_events = {
    .on_data = on_data,
    .on_end = on_end,
    .on_drain = on_drain,
    .on_lost = on_lost,
    .on_again = on_again,
    .on_timer = on_timer,
    .on_closed = on_closed,
    .on_secured = on_secured,
    .on_insecure = on_insecure,
    .tls_at = offsetof(struct rv_conn, tls),
};

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
        rv_stream_open(&conn->stream, &worker->loop, &conn_events, arrival->descriptor,
                       arrival->is_tcp);
    } else if (rv_stream_open_tls(&conn->stream, &worker->loop, &conn_events, arrival->descriptor,
                                  arrival->is_tcp) != 0) {
        leave(conn);
        turn_away(worker, arrival);
        return;
    }
    worker->conn_count++;
    RV_COUNT(worker, connections_accepted);
    settle(conn);
}

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
