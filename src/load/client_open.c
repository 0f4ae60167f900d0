/*
 * How a client gets its connection (client.h): address after address, at the pace of its thread, with a
 * pause after failures.
 */
#include "load/client_inner.h"

#include <errno.h>

/* After failures to connect: 1, 2, 4 ... 64 ms, and then this. */
#define PAUSE_DOUBLINGS 7
#define PAUSE_MS_MAX 100

/* Runs of source ports that are looked through before all are. */
#define PORT_RUNS_TRIED 4

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

void rv_client_note_refused(struct rv_client *client)
{
    if (client->refused)
        return;
    client->refused = true;
    atomic_fetch_add_explicit(&client->thread->recorder.view.clients_refused, 1,
                              memory_order_relaxed);
}

static bool is_refusal(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_CONNECT_REFUSED || failure == RV_FAILURE_CONNECT_UNREACHABLE ||
           failure == RV_FAILURE_CONNECT_TLS || failure == RV_FAILURE_CONNECT_CERTIFICATE ||
           failure == RV_FAILURE_CONNECT_PROTOCOL;
}

/* No address has taken the connection: one request has failed by it. */
static void could_not_open(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_recorder *recorder = &thread->recorder;
    struct rv_exchange exchange = rv_client_pop(client);
    rv_recorder_failed(recorder, &exchange, failure, error_number, rv_load_now_us(thread));
    if (is_refusal(failure))
        rv_client_note_refused(client);
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
        .secure = target->is_tls,
        .buffer_bytes = thread->plan->buffer_bytes,
    };
    client->attempts++;
    thread->recorder.result.connects_tried++;
    client->state = RV_CLIENT_CONNECTING;
    int error_number = EADDRNOTAVAIL;
    for (unsigned i = 0; i <= PORT_RUNS_TRIED && error_number == EADDRNOTAVAIL; i++) {
        if (i < PORT_RUNS_TRIED)
            rv_ports_next(&thread->ports, &to);
        else
            to.port_first = to.port_last = 0; /* then the kernel looks through all */
        error_number = rv_stream_connect(&client->stream, &thread->loop,
                                         &rv_client_speaks(client)->events, &to);
    }
    if (error_number == 0)
        rv_client_set_timer(client, thread->connect_timeout_ms);
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
        if (error_number == EAGAIN) { /* unix(7): the accept queue is full */
            client->failures++;
            client->attempts = 0;
            begin_pause(client);
            return;
        }
        if (client->attempts >= target->address_count) {
            could_not_open(client, connect_failure(error_number), error_number);
            begin_pause(client);
            return;
        }
        client->address = (client->address + 1) % target->address_count;
    }
}

void rv_client_open(struct rv_client *client, uint64_t now_us)
{
    client->thread->recorder.result.reopened += client->closed_on_it;
    client->closed_on_it = false;
    client->opening_us = now_us;
    client->address = client->thread->first_address;
    client->attempts = 0;
    try_addresses(client);
}

void rv_client_take_turn(struct rv_client *client, uint64_t now_us)
{
    bool closed_model = client->thread->plan->model != RV_LOAD_OPEN;
    for (uint32_t i = 0; closed_model && client->failures == 0 && i < client->count; i++) {
        struct rv_exchange *exchange = rv_client_exchange(client, i);
        if (exchange->sent_us == 0)
            exchange->due_us = exchange->taken_us = now_us;
    }
    rv_client_open(client, now_us);
}

static void attempt_failed(struct rv_client *client, enum rv_load_failure failure, int error_number)
{
    rv_client_close(client);
    if (client->attempts >= client->thread->plan->target.address_count)
        could_not_open(client, failure, error_number);
    else
        client->address = (client->address + 1) % client->thread->plan->target.address_count;
}

void rv_client_attempt_failed(struct rv_client *client, int error_number)
{
    enum rv_load_failure failure = connect_failure(error_number);
    if (RV_TLS_BUILT && client->stream.secure)
        rv_client_failed_by_tls(client, error_number, &failure);
    attempt_failed(client, failure, error_number);
}

/* TLS can be done with, and the server still not speak what was asked for. */
static bool is_understood(struct rv_client *client)
{
    return !RV_TLS_BUILT || !client->stream.secure || client->h2 == NULL ||
           rv_client_chose_h2(client);
}

void rv_client_on_connected(struct rv_stream *stream)
{
    struct rv_client *client = rv_client_of(stream);
    struct rv_load_thread *thread = client->thread;
    uint64_t now_us = rv_load_now_us(thread), there_us = now_us;
    if (!is_understood(client)) {
        attempt_failed(client, RV_FAILURE_CONNECT_PROTOCOL, 0);
        return;
    }
    client->state = RV_CLIENT_OPEN;
    client->sent_here = 0;
    client->attempts = 0;
    client->failures = 0;
    thread->first_address = client->address;
    thread->open++;
    if (thread->open > thread->recorder.result.open_peak)
        thread->recorder.result.open_peak = thread->open;
    if (RV_TLS_BUILT && stream->secure)
        there_us = rv_client_secured(client, now_us);
    rv_recorder_connected(&thread->recorder, there_us - client->opening_us, now_us);
    for (uint32_t i = 0; i < client->count; i++)
        rv_client_exchange(client, i)->opens = true;
    if (rv_client_speaks(client)->opened(client, now_us))
        rv_client_speaks(client)->send(client, now_us);
}

void rv_client_on_closed(struct rv_stream *stream)
{
    struct rv_client *client = rv_client_of(stream);
    struct rv_load_thread *thread = client->thread;
    client->state = RV_CLIENT_CLOSED;
    rv_client_speaks(client)->closed(client);
    if (thread->stopping)
        return;
    if (client->attempts > 0) /* in the middle of the addresses */
        try_addresses(client);
    else if (client->failures > 0)
        begin_pause(client);
    else if (client->count > 0)
        rv_load_thread_want_open(thread, client, rv_load_now_us(thread));
}

void rv_client_pause_over(struct rv_timer *timer)
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
