/*
 * HTTP/1's way of a request on its connection (client.h), and its end. Everything that can go wrong on that
 * way gets its name here, by where the answer stood when it happened.
 */
#include "load/client_inner.h"

#include <errno.h>

/* Requests above this are sent from where they lie. */
#define COPY_BYTES_MAX 8192

/* ---- the ends of exchanges ----------------------------------------------------------------------------- */

void rv_client_end_connection(struct rv_client *client, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    uint32_t lost = 0;
    /* Pipelined behind the last answer: what changes things must not happen twice. */
    while (rv_client_sent(client) > 0 &&
           !rv_client_request(client, rv_client_exchange(client, 0))->is_idempotent) {
        struct rv_exchange exchange = rv_client_pop(client);
        rv_recorder_failed(&thread->recorder, &exchange, RV_FAILURE_WAIT_CLOSED, 0, now_us);
        lost++;
    }
    rv_client_close(client);
    while (lost-- > 0)
        rv_load_thread_next(thread, client, now_us);
}

void rv_client_fail(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    struct rv_load_thread *thread = client->thread;
    uint64_t now_us = rv_load_now_us(thread);
    struct rv_exchange exchange = rv_client_pop(client);
    rv_recorder_failed(&thread->recorder, &exchange, failure, error_number, now_us);
    rv_client_end_connection(client, now_us);
    rv_load_thread_next(thread, client, now_us);
}

/* The server may have closed an idle connection while the request was under way to it: then that one was
   never looked at, and is sent once more. */
static bool is_race(struct rv_client *client)
{
    struct rv_exchange *exchange = rv_client_exchange(client, 0);
    bool was_idle = client->sent_here > rv_client_sent(client);
    return was_idle && !exchange->retried && rv_client_request(client, exchange)->is_idempotent;
}

static void retry(struct rv_client *client)
{
    struct rv_load_result *result = &client->thread->recorder.result;
    rv_client_exchange(client, 0)->retried = true;
    result->races++;
    client->closed_on_it = true;
    rv_client_close(client);
}

/* The connection has ended between two answers. */
static void ended_between(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    if (rv_client_sent(client) == 0) { /* idle: its server's right */
        client->closed_on_it = true;
        rv_client_close(client);
    } else if (is_race(client)) {
        retry(client);
    } else {
        rv_client_fail(client, failure, error_number);
    }
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static rv_error write_request(struct rv_client *client, const struct rv_load_request *request)
{
    rv_bytes octets = {request->octets, request->length};
    if (request->length <= COPY_BYTES_MAX)
        return rv_stream_write(&client->stream, octets);
    return rv_stream_write_borrowed(&client->stream, octets, NULL, NULL);
}

static void send_waiting(struct rv_client *client, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    while (client->unsent > 0 && client->sent_here < thread->requests_per_connection) {
        struct rv_exchange *exchange = rv_client_exchange(client, rv_client_sent(client));
        const struct rv_load_request *request = rv_client_request(client, exchange);
        exchange->sent_us = now_us;
        client->unsent--;
        client->sent_here++;
        thread->recorder.result.sent_octets += request->length;
        rv_error error = write_request(client, request);
        if (error == RV_EGONE) /* the stream will say why */
            break;
        if (error != 0) {
            rv_client_fail(client, RV_FAILURE_MEMORY, ENOMEM);
            return;
        }
    }
    rv_client_set_timer(client, thread->timeout_ms);
}

/* ---- ends ------------------------------------------------------------------------------------------------ */

/* `whole`: nobody has cut off what the server meant to say. */
static void ended(struct rv_client *client, bool whole)
{
    bool until_close = client->drain.framing == RV_H1_FRAMING_UNTIL_CLOSE;
    if (client->phase == RV_ANSWER_NONE) {
        ended_between(client, RV_FAILURE_WAIT_CLOSED, 0);
    } else if (client->phase == RV_ANSWER_HEAD) {
        rv_client_fail(client, RV_FAILURE_HEAD_CLOSED, 0);
    } else if (until_close && whole) {
        if (client->skipping > 0)
            rv_h1_drain_skipped(&client->drain, client->skipping - client->skip_left);
        rv_client_finish(client, rv_load_now_us(client->thread));
    } else {
        rv_client_fail(client, until_close ? RV_FAILURE_BODY_CUT : RV_FAILURE_BODY_SHORT, 0);
    }
}

static void on_end(struct rv_stream *stream)
{
    ended(rv_client_of(stream), true);
}

/* A FIN without close_notify before it. An answer that has its length is none the worse for that; of one
   that only the end delimits nobody knows whether it is whole (RFC 9112 section 9.8). */
static bool is_unannounced_end(const struct rv_stream *stream, rv_error error)
{
    return stream->secure && error == RV_EGONE && stream->error_number == 0;
}

/* A server may turn a client away when that believes the handshake done: then an alert is the answer to the
   first request. */
static bool is_turned_away(struct rv_client *client, enum rv_load_failure *failure)
{
    return RV_TLS_BUILT && client->stream.secure && client->phase == RV_ANSWER_NONE &&
           rv_client_sent(client) > 0 && client->sent_here == rv_client_sent(client) &&
           rv_client_failed_by_tls(client, 0, failure);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct rv_client *client = rv_client_of(stream);
    int error_number = stream->error_number;
    enum rv_load_failure failure;
    if (client->state == RV_CLIENT_CONNECTING) {
        rv_client_attempt_failed(client, error_number);
    } else if (error == RV_ENOMEM && client->count > 0) {
        rv_client_fail(client, RV_FAILURE_MEMORY, ENOMEM);
    } else if (is_turned_away(client, &failure)) {
        rv_client_fail(client, failure, error_number);
    } else if (is_unannounced_end(stream, error)) {
        ended(client, false);
    } else if (client->phase == RV_ANSWER_HEAD) {
        rv_client_fail(client, RV_FAILURE_HEAD_RESET, error_number);
    } else if (client->phase == RV_ANSWER_BODY) {
        rv_client_fail(client, RV_FAILURE_BODY_RESET, error_number);
    } else if (rv_client_sent(client) > 0 && !rv_stream_is_sent(stream) && !is_race(client)) {
        rv_client_fail(client, RV_FAILURE_SEND_RESET, error_number);
    } else {
        ended_between(client, RV_FAILURE_WAIT_RESET, error_number);
    }
}

static enum rv_load_failure timeout_failure(struct rv_client *client)
{
    if (client->phase == RV_ANSWER_BODY)
        return RV_FAILURE_BODY_TIMEOUT;
    if (client->phase == RV_ANSWER_HEAD)
        return RV_FAILURE_HEAD_TIMEOUT;
    return rv_stream_is_sent(&client->stream) ? RV_FAILURE_WAIT_TIMEOUT : RV_FAILURE_SEND_TIMEOUT;
}

static void on_timer(struct rv_stream *stream)
{
    struct rv_client *client = rv_client_of(stream);
    struct rv_load_thread *thread = client->thread;
    if (client->state == RV_CLIENT_CONNECTING) {
        rv_client_attempt_failed(client, ETIMEDOUT);
        return;
    }
    if (rv_client_sent(client) == 0 || thread->timeout_ms == UINT64_MAX)
        return;
    uint64_t timeout_us = thread->timeout_ms * 1000;
    uint64_t age_us = rv_load_now_us(thread) - rv_client_exchange(client, 0)->taken_us;
    if (age_us >= timeout_us)
        rv_client_fail(client, timeout_failure(client), 0);
    else
        rv_stream_set_timer(stream, thread->loop.now_ms + (timeout_us - age_us) / 1000 + 1);
}

/* ---- what is particular to it ------------------------------------------------------------------------------ */

static bool opened(struct rv_client *client, uint64_t now_us)
{
    (void)now_us;
    client->skipping = 0;
    client->partial.len = 0;
    return true;
}

static void closing(struct rv_client *client)
{
    client->unsent = client->count;
    client->phase = RV_ANSWER_NONE;
}

static void closed(struct rv_client *client)
{
    (void)client;
}

const struct rv_client_protocol rv_client_h1 = {
    .events =
        {
            .on_connected = rv_client_on_connected,
            .on_data = rv_client_on_data,
            .on_skipped = rv_client_on_skipped,
            .on_end = on_end,
            .on_lost = on_lost,
            .on_timer = on_timer,
            .on_closed = rv_client_on_closed,
            .skip_left_at = offsetof(struct rv_client, skip_left),
            .tls_at = offsetof(struct rv_client, tls),
        },
    .opened = opened,
    .send = send_waiting,
    .closing = closing,
    .closed = closed,
};
