/*
 * A connection that speaks HTTP/2 (h2_client.h): octets go to and from the protocol, limits and GOAWAY
 * are kept to, and when it ends everything on it gets its name. Windows are so large that they never bind:
 * what is measured is the server.
 */
#include "load/h2_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_WINDOW_BYTES (1u << 30)
#define CONNECTION_WINDOW_BYTES (1u << 30)
#define HEAD_BYTES_MAX (64 * 1024)

/* More than this is not asked of the protocol while the kernel does not take what there is. */
#define QUEUED_BYTES_MAX (256 * 1024)

static const struct rv_h2_events events;

/* ---- memory ---------------------------------------------------------------------------------------------- */

rv_error rv_h2_client_new(struct rv_client *client)
{
    uint32_t count = client->thread->pipeline;
    struct rv_h2_client *h2 = calloc(1, sizeof *h2 + count * sizeof h2->streams[0]);
    if (h2 == NULL)
        return RV_ENOMEM;
    for (uint32_t i = count; i-- > 0;) {
        h2->streams[i].older = h2->free;
        h2->free = &h2->streams[i];
    }
    client->h2 = h2;
    return 0;
}

void rv_h2_client_free(struct rv_client *client)
{
    if (client->h2 != NULL)
        rv_h2_free(client->h2->session);
    free(client->h2);
    client->h2 = NULL;
}

/* ---- how much it may have ------------------------------------------------------------------------------ */

static uint32_t streams_max(struct rv_client *client)
{
    uint32_t pipeline = client->thread->pipeline;
    uint32_t allowed = rv_h2_peer_streams_max(client->h2->session);
    return allowed < pipeline ? allowed : pipeline;
}

static bool is_used_up(const struct rv_client *client)
{
    return client->h2->goaway || client->sent_here >= client->thread->requests_per_connection;
}

/* Where the server allows no stream at all, one exchange waits for its leave. */
static void set_room(struct rv_client *client)
{
    uint32_t max = streams_max(client);
    client->room = is_used_up(client) ? 0 : max == 0 ? 1 : max;
}

/* ---- the end of a connection --------------------------------------------------------------------------- */

/* The server may have closed an idle connection while requests were under way to it: then it has never looked
   at those, and they are sent once more. */
static bool is_race(struct rv_client *client, const struct rv_h2_stream *stream)
{
    const struct rv_h2_client *h2 = client->h2;
    return h2->answered > 0 && stream->heard == h2->heard && !stream->exchange.retried &&
           !h2->goaway && rv_client_request(client, &stream->exchange)->is_idempotent;
}

/* Closes the connection, which has failed: its exchanges with it, all but those that may be sent again. Where
   an answer had not begun, the failure is `waiting`; else `reading`. */
static void lose(struct rv_client *client, enum rv_load_failure waiting,
                 enum rv_load_failure reading, int number)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_h2_client *h2 = client->h2;
    struct rv_h2_stream *stream, *older;
    h2->now_us = rv_load_now_us(thread);
    for (stream = h2->newest; stream != NULL; stream = older) {
        older = stream->older;
        if (waiting != reading && is_race(client, stream)) {
            stream->exchange.retried = true;
            thread->recorder.result.races++;
            rv_h2_stream_again(client, stream);
        } else {
            rv_h2_stream_fail(client, stream, RV_H2_HAS_BEGUN(stream) ? reading : waiting, number);
        }
    }
    rv_client_close(client);
    rv_load_thread_next(thread, client, h2->now_us);
}

/* The server has closed it, or it broke. */
static void gone(struct rv_client *client, enum rv_load_failure waiting,
                 enum rv_load_failure reading, int error_number)
{
    struct rv_h2_client *h2 = client->h2;
    client->closed_on_it = true;
    if (client->streams == 0)
        rv_client_close(client); /* idle: its server's right */
    else if (h2->goaway)
        lose(client, RV_FAILURE_GOAWAY, RV_FAILURE_GOAWAY, (int)h2->goaway_code);
    else
        lose(client, waiting, reading, error_number);
}

/* The server breaks the rules. One that has not even sent SETTINGS does not speak HTTP/2. */
static void broke_rules(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    uint32_t code = h2->fault != 0 ? h2->fault : RV_H2_PROTOCOL_ERROR;
    rv_stream_flush(&client->stream); /* it is told so */
    if (h2->settled) {
        lose(client, RV_FAILURE_HTTP2_ERROR, RV_FAILURE_HTTP2_ERROR, (int)code);
        return;
    }
    rv_client_note_refused(client); /* as of a connection that could not be opened */
    if (client->streams > 0)
        rv_h2_stream_fail(client, h2->oldest, RV_FAILURE_CONNECT_PROTOCOL, 0);
    client->failures++; /* a pause before the next attempt */
    rv_client_close(client);
}

/* Behind the last answer. */
static void end_connection(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    client->closed_on_it = h2->goaway;
    rv_client_close(client);
    rv_load_thread_next(client->thread, client, h2->now_us);
}

/* ---- time limits: of what is under way ------------------------------------------------------------------- */

/* The one whose time is up first; NULL: none is under way. */
static const struct rv_exchange *first_due(struct rv_client *client)
{
    if (client->h2->oldest != NULL)
        return &client->h2->oldest->exchange;
    return client->count > 0 ? rv_client_exchange(client, 0) : NULL;
}

/* The timer is set to when that is. */
static void set_timer(struct rv_client *client)
{
    const struct rv_load_thread *thread = client->thread;
    const struct rv_exchange *first = first_due(client);
    if (first == NULL || thread->timeout_ms == UINT64_MAX)
        return;
    uint64_t age_us = client->h2->now_us - first->taken_us, limit_us = thread->timeout_ms * 1000;
    uint64_t left_ms = age_us < limit_us ? (limit_us - age_us) / 1000 + 1 : 1;
    rv_stream_set_timer(&client->stream, thread->loop.now_ms + left_ms);
}

/* ---- sending ------------------------------------------------------------------------------------------- */

/* Moves what is to be sent to the stream, as long as that takes it. */
static rv_error flush(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    struct rv_load_result *result = &client->thread->recorder.result;
    rv_bytes octets;
    rv_error error = 0;
    while (error == 0) {
        if (rv_stream_queued(&client->stream) > QUEUED_BYTES_MAX) {
            rv_stream_want_drain(&client->stream);
            break;
        }
        int output = rv_h2_output(h2->session, &octets);
        if (output <= RV_H2_OUTPUT_NONE)
            return output;
        if (output == RV_H2_OUTPUT_CONTENT)
            continue;
        result->sent_octets += octets.len;
        error = rv_stream_write(&client->stream, octets);
    }
    return error == RV_EGONE ? 0 : error; /* the stream will say why */
}

/* Hands over what waits. */
static void submit(struct rv_client *client, uint64_t now_us)
{
    uint32_t max = streams_max(client);
    while (client->count > 0 && client->streams < max && !is_used_up(client))
        if (!rv_h2_stream_send(client, now_us))
            client->h2->goaway = true; /* its numbers are used up: as if the server had said so */
    set_room(client);
}

/* Everything that follows from what has happened: what is to be sent leaves, what is over is closed. */
static void settle(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    if (client->state != RV_CLIENT_OPEN)
        return;
    submit(client, h2->now_us);
    rv_error error = flush(client);
    if (client->state != RV_CLIENT_OPEN)
        return;
    if (error == RV_ENOMEM)
        lose(client, RV_FAILURE_MEMORY, RV_FAILURE_MEMORY, ENOMEM);
    else if (error != 0 || h2->fault != 0)
        broke_rules(client);
    else if (is_used_up(client) && client->streams == 0)
        end_connection(client);
    else
        set_timer(client);
}

static void send_waiting(struct rv_client *client, uint64_t now_us)
{
    client->h2->now_us = now_us;
    if (client->h2->is_working)
        submit(client, now_us);
    else
        settle(client);
}

/* ---- what the protocol tells --------------------------------------------------------------------------- */

static void on_settings(void *owner)
{
    struct rv_client *client = owner;
    struct rv_load_thread *thread = client->thread;
    struct rv_load_result *result = &thread->recorder.result;
    if (client->state != RV_CLIENT_OPEN)
        return;
    client->h2->settled = true;
    set_room(client);
    if (client->room < thread->pipeline &&
        (result->streams_limit == 0 || client->room < result->streams_limit))
        result->streams_limit = client->room;
    if (thread->pipeline > 1)
        rv_load_thread_next(thread, client, client->h2->now_us);
}

static void on_goaway(void *owner, uint32_t last_id, uint32_t code, rv_bytes debug)
{
    struct rv_client *client = owner;
    struct rv_h2_client *h2 = client->h2;
    (void)debug;
    if (client->state != RV_CLIENT_OPEN)
        return;
    client->thread->recorder.result.goaways += !h2->goaway;
    h2->goaway = true;
    h2->goaway_last = last_id;
    h2->goaway_code = code;
    client->room = 0;
}

static void on_goaway_sent(void *owner, uint32_t code)
{
    ((struct rv_client *)owner)->h2->fault = code;
}

static const struct rv_h2_events events = {
    .on_field = rv_h2_on_field,
    .on_fields_end = rv_h2_on_fields_end,
    .on_data = rv_h2_on_data,
    .on_end = rv_h2_on_end,
    .on_pull = rv_h2_on_pull,
    .on_send = rv_h2_on_send,
    .on_reset = rv_h2_on_reset,
    .on_closed = rv_h2_on_closed,
    .on_settings = on_settings,
    .on_goaway = on_goaway,
    .on_goaway_sent = on_goaway_sent,
};

/* ---- what the stream tells ----------------------------------------------------------------------------- */

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_client *client = rv_client_of(stream);
    struct rv_h2_client *h2 = client->h2;
    h2->now_us = rv_load_now_us(client->thread);
    h2->heard++;
    h2->is_working = true;
    rv_error error = rv_h2_receive(h2->session, rv_slice(octets, length));
    h2->is_working = false;
    if (client->state != RV_CLIENT_OPEN)
        return;
    if (error == RV_ENOMEM)
        lose(client, RV_FAILURE_MEMORY, RV_FAILURE_MEMORY, ENOMEM);
    else if (error != 0)
        broke_rules(client);
    else
        settle(client);
}

static void on_drain(struct rv_stream *stream)
{
    settle(rv_client_of(stream));
}

static void on_end(struct rv_stream *stream)
{
    gone(rv_client_of(stream), RV_FAILURE_WAIT_CLOSED, RV_FAILURE_BODY_SHORT, 0);
}

/* A server may turn a client away when that believes the handshake done: then an alert is the first thing
   that comes. */
static bool is_turned_away(struct rv_client *client, enum rv_load_failure *failure)
{
    return RV_TLS_BUILT && client->stream.secure && client->h2->heard == 0 && client->streams > 0 &&
           rv_client_failed_by_tls(client, 0, failure);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct rv_client *client = rv_client_of(stream);
    int error_number = stream->error_number;
    enum rv_load_failure failure;
    if (client->state == RV_CLIENT_CONNECTING)
        rv_client_attempt_failed(client, error_number);
    else if (error == RV_ENOMEM)
        lose(client, RV_FAILURE_MEMORY, RV_FAILURE_MEMORY, ENOMEM);
    else if (is_turned_away(client, &failure))
        lose(client, failure, failure, error_number);
    else if (error == RV_EGONE && error_number == 0) /* TLS: an end without close_notify */
        gone(client, RV_FAILURE_WAIT_CLOSED, RV_FAILURE_BODY_SHORT, 0);
    else
        gone(client,
             client->h2->heard == 0 && !rv_stream_is_sent(stream) ? RV_FAILURE_SEND_RESET
                                                                  : RV_FAILURE_WAIT_RESET,
             RV_FAILURE_BODY_RESET, error_number);
}

/* ---- time limits: what is done then --------------------------------------------------------------------------------------- */

/* Nothing at all has come since it was sent: the connection is given up. What waits on it behind the one that
   has timed out goes again, unless that could do harm. */
static void give_up(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    struct rv_h2_stream *stream, *older;
    bool is_sent = rv_stream_is_sent(&client->stream);
    rv_h2_stream_fail(client, h2->oldest,
                      is_sent ? RV_FAILURE_WAIT_TIMEOUT : RV_FAILURE_SEND_TIMEOUT, 0);
    for (stream = h2->newest; stream != NULL; stream = older) {
        older = stream->older;
        if (rv_client_request(client, &stream->exchange)->is_idempotent)
            rv_h2_stream_again(client, stream);
        else
            rv_h2_stream_fail(client, stream, RV_FAILURE_WAIT_CLOSED, 0);
    }
    rv_client_close(client);
    rv_load_thread_next(client->thread, client, h2->now_us);
}

static void time_out(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_h2_client *h2 = client->h2;
    if (stream->heard == h2->heard) {
        give_up(client);
        return;
    }
    rv_h2_forget(h2->session, stream->id);
    rv_h2_reset(h2->session, stream->id, RV_H2_CANCEL);
    rv_h2_stream_fail(client, stream,
                      RV_H2_HAS_BEGUN(stream) ? RV_FAILURE_BODY_TIMEOUT : RV_FAILURE_WAIT_TIMEOUT,
                      0);
    rv_load_thread_next(client->thread, client, h2->now_us);
}

/* One that the server's limit keeps from being sent. */
static void time_out_waiting(struct rv_client *client)
{
    struct rv_exchange exchange = rv_client_pop(client);
    rv_recorder_failed(&client->thread->recorder, &exchange, RV_FAILURE_SEND_TIMEOUT, 0,
                       client->h2->now_us);
    rv_load_thread_next(client->thread, client, client->h2->now_us);
}

static void on_timer(struct rv_stream *stream)
{
    struct rv_client *client = rv_client_of(stream);
    struct rv_load_thread *thread = client->thread;
    struct rv_h2_client *h2 = client->h2;
    const struct rv_exchange *first;
    uint64_t limit_us = thread->timeout_ms * 1000;
    if (client->state == RV_CLIENT_CONNECTING) {
        rv_client_attempt_failed(client, ETIMEDOUT);
        return;
    }
    if (thread->timeout_ms == UINT64_MAX)
        return;
    h2->now_us = rv_load_now_us(thread);
    h2->is_working = true;
    while (client->state == RV_CLIENT_OPEN && (first = first_due(client)) != NULL &&
           h2->now_us - first->taken_us >= limit_us) {
        if (h2->oldest != NULL)
            time_out(client, h2->oldest);
        else
            time_out_waiting(client);
    }
    h2->is_working = false;
    settle(client);
}

/* ---- beginning and end ----------------------------------------------------------------------------------- */

static bool opened(struct rv_client *client, uint64_t now_us)
{
    struct rv_h2_client *h2 = client->h2;
    const struct rv_h2_settings settings = {
        .client = true,
        .stream_window_bytes = STREAM_WINDOW_BYTES,
        .connection_window_bytes = CONNECTION_WINDOW_BYTES,
        .head_bytes_max = client->thread->plan->head_bytes_max == 0
                              ? HEAD_BYTES_MAX
                              : client->thread->plan->head_bytes_max,
        .grows_windows = true,
        .keeps_fields = true,
        .unchecked = true,
        .memory = client->thread->h2_memory,
        .events = &events,
    };
    h2->now_us = now_us;
    h2->heard = h2->answered = 0;
    h2->goaway_last = h2->goaway_code = h2->fault = 0;
    h2->goaway = h2->settled = false;
    h2->session = rv_h2_new(&settings, client);
    if (h2->session == NULL) {
        struct rv_exchange exchange = rv_client_pop(client);
        rv_recorder_failed(&client->thread->recorder, &exchange, RV_FAILURE_MEMORY, ENOMEM, now_us);
        client->failures++;
        rv_client_close(client);
        return false;
    }
    set_room(client);
    return true;
}

static void closing(struct rv_client *client)
{
    struct rv_h2_client *h2 = client->h2;
    while (h2->newest != NULL)
        rv_h2_stream_again(client, h2->newest);
    client->room = client->thread->pipeline;
}

static void closed(struct rv_client *client)
{
    rv_h2_free(client->h2->session);
    client->h2->session = NULL;
}

const struct rv_client_protocol rv_client_h2 = {
    .events =
        {
            .on_connected = rv_client_on_connected,
            .on_data = on_data,
            .on_drain = on_drain,
            .on_end = on_end,
            .on_lost = on_lost,
            .on_timer = on_timer,
            .on_closed = rv_client_on_closed,
            .tls_at = offsetof(struct rv_client, tls),
        },
    .opened = opened,
    .send = send_waiting,
    .closing = closing,
    .closed = closed,
};
