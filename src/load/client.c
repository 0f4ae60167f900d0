/*
 * The way of a request on its connection (client.h): out, and the answer in. Everything that can go wrong
 * on that way gets its name here, by where the answer stood when it happened.
 */
#include "load/client.h"

#include "load/thread.h"

#include <errno.h>
#include <string.h>

/* From here on the stream drops content by itself. Below, it is cheaper to look at it in passing. */
#define SKIP_BYTES_MIN 4096
#define SKIP_BYTES_MAX (UINT64_MAX / 4)

/* Requests above this are sent from where they lie. */
#define COPY_BYTES_MAX 8192

/* After failures to connect: 1, 2, 4 ... 64 ms, and then this. */
#define PAUSE_DOUBLINGS 7
#define PAUSE_MS_MAX 100

#define HEAD_BYTES_MAX (64 * 1024)

static const struct rv_stream_events client_events;

static struct rv_client *client_of(struct rv_stream *stream)
{
    return (struct rv_client *)stream;
}

static struct rv_exchange *exchange_at(struct rv_client *client, uint32_t place)
{
    uint32_t room = client->thread->pipeline;
    uint32_t at = client->first + place;
    return &client->ring[at >= room ? at - room : at];
}

static uint32_t sent_count(const struct rv_client *client)
{
    return client->count - client->unsent;
}

static const struct rv_load_request *request_of(const struct rv_client *client,
                                                const struct rv_exchange *exchange)
{
    return &client->thread->plan->requests[exchange->request];
}

static void pause_over(struct rv_timer *timer)
{
    struct rv_client *client =
        (struct rv_client *)((char *)timer - offsetof(struct rv_client, pause));
    uint64_t now_us = rv_load_now_us(client->thread);
    client->state = RV_CLIENT_CLOSED;
    if (client->count > 0)
        rv_load_thread_want_open(client->thread, client, now_us);
    else
        rv_load_thread_next(client->thread, client, now_us);
}

void rv_client_init(struct rv_client *client, struct rv_load_thread *thread,
                    struct rv_exchange *ring)
{
    memset(client, 0, sizeof *client);
    client->thread = thread;
    client->ring = ring;
    client->quota_left = thread->plan->quota == 0 ? UINT64_MAX : thread->plan->quota;
    rv_timer_init(&client->pause, pause_over);
}

void rv_client_free(struct rv_client *client)
{
    rv_buffer_free(&client->partial);
}

/* ---- the ends of exchanges ----------------------------------------------------------------------------- */

static struct rv_exchange pop(struct rv_client *client)
{
    struct rv_exchange exchange = *exchange_at(client, 0);
    client->first = client->first + 1 == client->thread->pipeline ? 0 : client->first + 1;
    client->count--;
    if (client->unsent > client->count) /* it was never sent */
        client->unsent = client->count;
    client->thread->exchanges--;
    client->phase = RV_ANSWER_NONE;
    return exchange;
}

void rv_client_close(struct rv_client *client)
{
    if (client->state != RV_CLIENT_OPEN && client->state != RV_CLIENT_CONNECTING)
        return;
    if (client->state == RV_CLIENT_OPEN)
        client->thread->open--;
    client->state = RV_CLIENT_CLOSING;
    client->unsent = client->count;
    client->phase = RV_ANSWER_NONE;
    rv_stream_close(&client->stream);
}

/* The oldest exchange has failed, and the connection with it. */
static void fail(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    struct rv_load_thread *thread = client->thread;
    uint64_t now_us = rv_load_now_us(thread);
    struct rv_exchange exchange = pop(client);
    rv_recorder_failed(&thread->recorder, &exchange, failure, error_number, now_us);
    rv_client_close(client);
    rv_load_thread_next(thread, client, now_us);
}

/* The server may have closed an idle connection while the request was under way to it: then that one was
   never looked at, and is sent once more. */
static bool is_race(struct rv_client *client)
{
    struct rv_exchange *exchange = exchange_at(client, 0);
    bool was_idle = client->sent_here > sent_count(client);
    return was_idle && !exchange->retried && request_of(client, exchange)->is_idempotent;
}

static void retry(struct rv_client *client)
{
    struct rv_load_result *result = &client->thread->recorder.result;
    exchange_at(client, 0)->retried = true;
    result->races++;
    result->reopened++;
    rv_client_close(client);
}

/* The connection has ended between two answers. */
static void ended_between(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    if (sent_count(client) == 0) { /* idle: its server's right */
        client->thread->recorder.result.reopened++;
        rv_client_close(client);
    } else if (is_race(client)) {
        retry(client);
    } else {
        fail(client, failure, error_number);
    }
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static void set_timer(struct rv_client *client, uint64_t timeout_ms)
{
    if (timeout_ms != UINT64_MAX)
        rv_stream_set_timer(&client->stream, client->thread->loop.now_ms + timeout_ms);
}

static rv_error write_request(struct rv_client *client, const struct rv_load_request *request)
{
    rv_bytes octets = {request->octets, request->length};
    if (request->length <= COPY_BYTES_MAX)
        return rv_stream_write(&client->stream, octets);
    return rv_stream_write_borrowed(&client->stream, octets, NULL, NULL);
}

/* Sends what waits, as far as this connection takes requests. */
static void send_waiting(struct rv_client *client, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    while (client->unsent > 0 && client->sent_here < thread->requests_per_connection) {
        struct rv_exchange *exchange = exchange_at(client, sent_count(client));
        const struct rv_load_request *request = request_of(client, exchange);
        exchange->sent_us = now_us;
        client->unsent--;
        client->sent_here++;
        thread->recorder.result.sent_octets += request->length;
        rv_error error = write_request(client, request);
        if (error == RV_EGONE) /* the stream will say why */
            break;
        if (error != 0) {
            fail(client, RV_FAILURE_MEMORY, ENOMEM);
            return;
        }
    }
    set_timer(client, thread->timeout_ms);
}

void rv_client_start(struct rv_client *client, uint64_t due_us, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_exchange *exchange = exchange_at(client, client->count);
    *exchange = (struct rv_exchange){
        .due_us = due_us,
        .taken_us = now_us,
        .request = client->next_request,
        .opens = client->state != RV_CLIENT_OPEN,
    };
    client->next_request =
        client->next_request + 1 == thread->plan->request_count ? 0 : client->next_request + 1;
    client->count++;
    client->unsent++;
    thread->exchanges++;
    rv_recorder_started(&thread->recorder, exchange, thread->plan->model == RV_LOAD_OPEN);
    if (client->state == RV_CLIENT_OPEN)
        send_waiting(client, now_us);
    else if (client->state == RV_CLIENT_CLOSED)
        rv_load_thread_want_open(thread, client, now_us);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static enum rv_load_failure connect_failure(int error_number)
{
    switch (error_number) {
    case ECONNREFUSED:
    case ENOENT: /* a unix socket that is not there */
        return RV_FAILURE_CONNECT_REFUSED;
    case ECONNRESET:
        return RV_FAILURE_CONNECT_RESET;
    case ETIMEDOUT:
        return RV_FAILURE_CONNECT_TIMEOUT;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
        return RV_FAILURE_CONNECT_UNREACHABLE;
    case EADDRNOTAVAIL:
        return RV_FAILURE_CONNECT_PORTS;
    case EMFILE:
    case ENFILE:
        return RV_FAILURE_CONNECT_DESCRIPTORS;
    case ENOMEM:
    case ENOBUFS:
        return RV_FAILURE_MEMORY;
    default:
        return RV_FAILURE_CONNECT_OTHER;
    }
}

/* No address has taken the connection: one request has failed by it. */
static void could_not_open(struct rv_client *client, int error_number)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_recorder *recorder = &thread->recorder;
    enum rv_load_failure failure = connect_failure(error_number);
    struct rv_exchange exchange = pop(client);
    rv_recorder_failed(recorder, &exchange, failure, error_number, rv_load_now_us(thread));
    if (!client->refused &&
        (failure == RV_FAILURE_CONNECT_REFUSED || failure == RV_FAILURE_CONNECT_UNREACHABLE)) {
        client->refused = true;
        atomic_fetch_add_explicit(&recorder->view.clients_refused, 1, memory_order_relaxed);
    }
    client->failures++;
    client->attempts = 0;
}

/* A client that could not connect holds its breath, the longer the more often that happened. */
static void begin_pause(struct rv_client *client)
{
    struct rv_load_thread *thread = client->thread;
    uint64_t pause_ms =
        client->failures <= PAUSE_DOUBLINGS ? 1u << (client->failures - 1) : PAUSE_MS_MAX;
    client->state = RV_CLIENT_WAITING;
    rv_timer_set(&thread->loop.wheel, &client->pause, thread->loop.now_ms + pause_ms);
}

/* Tries the address at hand; the errno of what failed at once. */
static int try_address(struct rv_client *client)
{
    struct rv_load_thread *thread = client->thread;
    const struct rv_load_target *target = &thread->plan->target;
    const struct rv_endpoint *peer = &target->addresses[client->address];
    struct rv_endpoint source = {.length = 0};
    if (target->source.count > 0)
        source = rv_source_nth(&target->source,
                               thread->sources++ * thread->shared->threads + thread->index);
    struct rv_connect_to to = {
        .peer = (const struct sockaddr *)&peer->sockaddr,
        .peer_length = peer->length,
        .source = source.length > 0 ? (const struct sockaddr *)&source.sockaddr : NULL,
        .source_length = source.length,
        .buffer_bytes = thread->plan->buffer_bytes,
    };
    client->attempts++;
    thread->recorder.result.connects_tried++;
    client->state = RV_CLIENT_CONNECTING;
    int error_number = rv_stream_connect(&client->stream, &thread->loop, &client_events, &to);
    if (error_number == 0)
        set_timer(client, thread->connect_timeout_ms);
    return error_number;
}

/* Goes on from address to address until one does not fail at once. */
static void try_addresses(struct rv_client *client)
{
    const struct rv_load_target *target = &client->thread->plan->target;
    for (;;) {
        int error_number = try_address(client);
        if (error_number == 0)
            return;
        client->state = RV_CLIENT_CLOSED;
        if (client->attempts >= target->address_count) {
            could_not_open(client, error_number);
            begin_pause(client);
            return;
        }
        client->address = (client->address + 1) % target->address_count;
    }
}

void rv_client_open(struct rv_client *client, uint64_t now_us)
{
    client->opening_us = now_us;
    client->address = client->thread->first_address;
    client->attempts = 0;
    try_addresses(client);
}

static void on_connected(struct rv_stream *stream)
{
    struct rv_client *client = client_of(stream);
    struct rv_load_thread *thread = client->thread;
    uint64_t now_us = rv_load_now_us(thread);
    client->state = RV_CLIENT_OPEN;
    client->sent_here = 0;
    client->attempts = 0;
    client->failures = 0;
    client->skipping = 0;
    client->partial.len = 0;
    thread->first_address = client->address;
    thread->open++;
    if (thread->open > thread->recorder.result.open_peak)
        thread->recorder.result.open_peak = thread->open;
    rv_recorder_connected(&thread->recorder, now_us - client->opening_us, now_us);
    for (uint32_t i = 0; i < client->count; i++)
        exchange_at(client, i)->opens = true;
    send_waiting(client, now_us);
}

/* The attempt at one address has failed: the others get theirs when the stream is buried. */
static void attempt_failed(struct rv_client *client, int error_number)
{
    rv_client_close(client);
    if (client->attempts >= client->thread->plan->target.address_count)
        could_not_open(client, error_number);
    else
        client->address = (client->address + 1) % client->thread->plan->target.address_count;
}

static void on_closed(struct rv_stream *stream)
{
    struct rv_client *client = client_of(stream);
    struct rv_load_thread *thread = client->thread;
    client->state = RV_CLIENT_CLOSED;
    if (thread->stopping)
        return;
    if (client->attempts > 0) /* in the middle of the addresses */
        try_addresses(client);
    else if (client->failures > 0)
        begin_pause(client);
    else if (client->count > 0)
        rv_load_thread_want_open(thread, client, rv_load_now_us(thread));
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

/* Without memory the head is not kept: nothing but the curious misses it. */
static void note_first_answer(struct rv_load_result *result, const char *head,
                              const struct rv_h1_response *response)
{
    rv_bytes server = rv_span_bytes(head, response->server);
    if (result->first_head == NULL && response->status >= 200)
        result->first_head = strndup(head, response->length);
    if (result->server_software[0] != '\0' || server.len == 0)
        return;
    size_t length = server.len < sizeof result->server_software - 1
                        ? server.len
                        : sizeof result->server_software - 1;
    memcpy(result->server_software, server.ptr, length);
}

/* The head at `octets`: by memory, when it is the same as the last one, or by parsing. */
static int read_head(struct rv_load_thread *thread, rv_bytes octets,
                     struct rv_h1_response *response)
{
    struct rv_head_memo *memo = &thread->memo;
    if (memo->length > 0 && octets.len >= memo->length &&
        memcmp(octets.ptr, memo->octets, memo->length) == 0) {
        *response = memo->response;
        return RV_H1_COMPLETE;
    }
    uint32_t head_bytes_max =
        thread->plan->head_bytes_max == 0 ? HEAD_BYTES_MAX : thread->plan->head_bytes_max;
    const char *reason;
    int result = rv_h1_parse_response(octets.ptr, octets.len, head_bytes_max, response, &reason);
    if (result != RV_H1_COMPLETE)
        return result;
    note_first_answer(&thread->recorder.result, octets.ptr, response);
    if (response->length <= sizeof memo->octets) {
        memcpy(memo->octets, octets.ptr, response->length);
        memo->response = *response;
        memo->length = response->length;
    }
    return RV_H1_COMPLETE;
}

/* Is the content as long as it has to be? */
static bool length_is_right(struct rv_client *client, const struct rv_exchange *exchange)
{
    struct rv_load_thread *thread = client->thread;
    uint64_t content = client->drain.content;
    uint64_t expected = request_of(client, exchange)->content_expected;
    if (thread->first_content == RV_LENGTH_ANY) {
        thread->first_content = content;
        thread->recorder.result.first_content = content;
    }
    if (thread->plan->first_length_counts)
        thread->recorder.result.other_length += content != thread->first_content;
    return expected == RV_LENGTH_ANY || expected == content;
}

/* The answer is whole: what becomes of the connection, and what is next? */
static void finish(struct rv_client *client, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_recorder *recorder = &thread->recorder;
    struct rv_exchange exchange = pop(client);
    struct rv_answer answer = {
        .status = client->status,
        .kept_alive = client->kept_alive,
        .first_us = client->first_us,
        .last_us = now_us,
        .content = client->drain.content,
    };
    if (length_is_right(client, &exchange))
        rv_recorder_answered(recorder, &exchange, &answer);
    else
        rv_recorder_failed(recorder, &exchange, RV_FAILURE_BODY_LENGTH, 0, now_us);
    bool used_up = client->sent_here >= thread->requests_per_connection && sent_count(client) == 0;
    if (!client->kept_alive || used_up) {
        recorder->result.reopened += !used_up;
        rv_client_close(client);
    }
    rv_load_thread_next(thread, client, now_us);
}

/* The head is complete. False: it is an interim one. */
static bool head_arrived(struct rv_client *client, const struct rv_h1_response *response)
{
    struct rv_load_thread *thread = client->thread;
    if (response->status < 200 && response->status != 101) {
        thread->recorder.result.interim++;
        return false;
    }
    bool to_head = request_of(client, exchange_at(client, 0))->is_head;
    enum rv_h1_framing framing = rv_h1_response_framing(response, to_head);
    client->status = (uint16_t)response->status;
    client->kept_alive =
        response->keep_alive && framing != RV_FRAMING_UNTIL_CLOSE && response->status != 101;
    client->phase = RV_ANSWER_BODY;
    rv_h1_drain_start(&client->drain, framing, response->content_length);
    return true;
}

/* Takes the head from the front of `*octets`. False: the octets are used up, or the exchange failed. */
static bool take_head(struct rv_client *client, rv_bytes *octets, uint64_t now_us)
{
    struct rv_h1_response response;
    rv_bytes head = *octets;
    size_t before = client->partial.len;
    if (client->phase == RV_ANSWER_NONE || client->behind_interim)
        client->first_us = now_us;
    client->phase = RV_ANSWER_HEAD;
    client->behind_interim = false;
    if (before > 0) {
        if (rv_buffer_append(&client->partial, *octets) != 0) {
            fail(client, RV_FAILURE_MEMORY, ENOMEM);
            return false;
        }
        head = (rv_bytes){client->partial.ptr, client->partial.len};
    }
    int result = read_head(client->thread, head, &response);
    if (result == RV_H1_MALFORMED) {
        fail(client, RV_FAILURE_HEAD_MALFORMED, 0);
        return false;
    }
    if (result == RV_H1_INCOMPLETE) {
        if (before == 0 && rv_buffer_append(&client->partial, *octets) != 0)
            fail(client, RV_FAILURE_MEMORY, ENOMEM);
        return false;
    }
    size_t used = response.length - before;
    *octets = (rv_bytes){octets->ptr + used, octets->len - used};
    client->partial.len = 0;
    client->behind_interim = !head_arrived(client, &response);
    return true;
}

/* Takes content from the front of `*octets`. False: they are used up, or the exchange failed. */
static bool take_content(struct rv_client *client, rv_bytes *octets, uint64_t now_us)
{
    const char *reason;
    switch (rv_h1_drain_next(&client->drain, octets, &reason)) {
    case RV_DRAIN_MALFORMED:
        fail(client, RV_FAILURE_BODY_MALFORMED, 0);
        return false;
    case RV_DRAIN_DONE:
        if (octets->len > 0 && sent_count(client) == 1) {
            fail(client, RV_FAILURE_BODY_LONG, 0);
            return false;
        }
        finish(client, now_us);
        return octets->len > 0;
    default:
        client->skipping = rv_h1_drain_skippable(&client->drain);
        if (client->skipping > SKIP_BYTES_MAX)
            client->skipping = SKIP_BYTES_MAX;
        if (client->skipping >= SKIP_BYTES_MIN)
            rv_stream_skip(&client->stream, client->skipping);
        else
            client->skipping = 0;
        return false;
    }
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_client *client = client_of(stream);
    rv_bytes rest = {octets, length};
    uint64_t now_us = rv_load_now_us(client->thread);
    if (sent_count(client) == 0) { /* an answer to nothing, as a 408 to an idle connection */
        client->thread->recorder.result.reopened++;
        rv_client_close(client);
        return;
    }
    while (client->state == RV_CLIENT_OPEN && sent_count(client) > 0) {
        bool more = client->phase == RV_ANSWER_BODY ? take_content(client, &rest, now_us)
                                                    : take_head(client, &rest, now_us);
        if (!more || (rest.len == 0 && client->phase != RV_ANSWER_BODY))
            break;
    }
}

static void on_skipped(struct rv_stream *stream)
{
    struct rv_client *client = client_of(stream);
    uint64_t skipped = client->skipping;
    client->skipping = 0;
    if (rv_h1_drain_skipped(&client->drain, skipped) == RV_DRAIN_DONE)
        finish(client, rv_load_now_us(client->thread));
}

/* ---- ends ------------------------------------------------------------------------------------------------ */

static void on_end(struct rv_stream *stream)
{
    struct rv_client *client = client_of(stream);
    if (client->phase == RV_ANSWER_NONE) {
        ended_between(client, RV_FAILURE_WAIT_CLOSED, 0);
    } else if (client->phase == RV_ANSWER_HEAD) {
        fail(client, RV_FAILURE_HEAD_CLOSED, 0);
    } else if (client->drain.framing == RV_FRAMING_UNTIL_CLOSE) {
        if (client->skipping > 0)
            rv_h1_drain_skipped(&client->drain, client->skipping - client->skip_left);
        finish(client, rv_load_now_us(client->thread));
    } else {
        fail(client, RV_FAILURE_BODY_SHORT, 0);
    }
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct rv_client *client = client_of(stream);
    int error_number = stream->error_number;
    if (client->state == RV_CLIENT_CONNECTING) {
        attempt_failed(client, error_number);
    } else if (error == RV_ENOMEM && client->count > 0) {
        fail(client, RV_FAILURE_MEMORY, ENOMEM);
    } else if (client->phase == RV_ANSWER_HEAD) {
        fail(client, RV_FAILURE_HEAD_RESET, error_number);
    } else if (client->phase == RV_ANSWER_BODY) {
        fail(client, RV_FAILURE_BODY_RESET, error_number);
    } else if (sent_count(client) > 0 && !rv_stream_is_sent(stream) && !is_race(client)) {
        fail(client, RV_FAILURE_SEND_RESET, error_number);
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
    struct rv_client *client = client_of(stream);
    struct rv_load_thread *thread = client->thread;
    if (client->state == RV_CLIENT_CONNECTING) {
        attempt_failed(client, ETIMEDOUT);
        return;
    }
    if (sent_count(client) == 0 || thread->timeout_ms == UINT64_MAX)
        return;
    uint64_t timeout_us = thread->timeout_ms * 1000;
    uint64_t age_us = rv_load_now_us(thread) - exchange_at(client, 0)->taken_us;
    if (age_us >= timeout_us)
        fail(client, timeout_failure(client), 0);
    else
        rv_stream_set_timer(stream, thread->loop.now_ms + (timeout_us - age_us) / 1000 + 1);
}

void rv_client_stop(struct rv_client *client, uint64_t now_us)
{
    rv_timer_stop(&client->thread->loop.wheel, &client->pause);
    while (client->count > 0) {
        struct rv_exchange exchange = pop(client);
        rv_recorder_unfinished(&client->thread->recorder, &exchange, now_us);
    }
    rv_client_close(client);
}

static const struct rv_stream_events client_events = {
    .on_connected = on_connected,
    .on_data = on_data,
    .on_skipped = on_skipped,
    .on_end = on_end,
    .on_lost = on_lost,
    .on_timer = on_timer,
    .on_closed = on_closed,
    .skip_left_at = offsetof(struct rv_client, skip_left),
};
