/*
 * One exchange on its stream (h2_client.h): the request with its body, the answer's head, content counted
 * and dropped, and what became of it. Whoever closes the connection has taken all exchanges off it: events
 * that come behind that are passed over.
 */
#include "load/h2_inner.h"

#include <errno.h>
#include <string.h>

/* Pieces of bodies above this are sent from where they lie. */
#define COPY_BYTES_MAX 8192

/* ---- on its way, and off it ---------------------------------------------------------------------------- */

static void link_newest(struct rv_h2_client *h2, struct rv_h2_stream *stream)
{
    stream->older = h2->newest;
    stream->newer = NULL;
    if (h2->newest != NULL)
        h2->newest->newer = stream;
    else
        h2->oldest = stream;
    h2->newest = stream;
}

struct rv_exchange rv_h2_stream_take(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_h2_client *h2 = client->h2;
    if (stream->older != NULL)
        stream->older->newer = stream->newer;
    else
        h2->oldest = stream->newer;
    if (stream->newer != NULL)
        stream->newer->older = stream->older;
    else
        h2->newest = stream->older;
    stream->older = h2->free;
    h2->free = stream;
    client->streams--;
    client->thread->exchanges--;
    return stream->exchange;
}

void rv_h2_stream_fail(struct rv_client *client, struct rv_h2_stream *stream,
                       enum rv_load_failure failure, int number)
{
    struct rv_exchange exchange = rv_h2_stream_take(client, stream);
    rv_recorder_failed(&client->thread->recorder, &exchange, failure, number, client->h2->now_us);
}

void rv_h2_stream_again(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_exchange exchange = rv_h2_stream_take(client, stream);
    exchange.opens = true; /* the time until then is no wait for this answer */
    rv_client_put_back(client, &exchange);
}

/* ---- the request ----------------------------------------------------------------------------------------- */

/* One of the closed model that the server's limit has kept waiting is due only now: the limit is no part of
   its time. */
static void set_moments(struct rv_client *client, struct rv_exchange *exchange, uint64_t now_us)
{
    bool waited = client->sent_here > 0 && exchange->sent_us == 0 && exchange->opens;
    if (waited && client->thread->plan->model == RV_LOAD_CLOSED) {
        exchange->due_us = exchange->taken_us = now_us;
        exchange->opens = false;
    }
    exchange->sent_us = now_us;
}

bool rv_h2_stream_send(struct rv_client *client, uint64_t now_us)
{
    struct rv_h2_client *h2 = client->h2;
    struct rv_exchange *exchange = rv_client_exchange(client, 0);
    const struct rv_load_request *request = rv_client_request(client, exchange);
    struct rv_h2_stream *stream = h2->free;
    uint32_t id;
    size_t body = request->length - request->head_length;
    rv_error error =
        rv_h2_request(h2->session, request->fields, request->field_count, body > 0, stream, &id);
    if (error != 0)
        return false;
    set_moments(client, exchange, now_us);
    h2->free = stream->older;
    *stream = (struct rv_h2_stream){
        .exchange = rv_client_pop(client),
        .heard = h2->heard,
        .body_left = body,
        .id = id,
        .before_settings = !h2->settled,
    };
    rv_h2_answer_begin(&stream->answer, request->is_head);
    link_newest(h2, stream);
    client->streams++;
    client->sent_here++;
    client->thread->exchanges++;
    return true;
}

enum rv_h2_pull rv_h2_on_pull(void *owner, void *its, size_t room, size_t *octets)
{
    const struct rv_h2_stream *stream = its;
    (void)owner;
    *octets = stream->body_left < room ? stream->body_left : room;
    return *octets == stream->body_left ? RV_H2_PULL_LAST : RV_H2_PULL_MORE;
}

bool rv_h2_on_send(void *owner, void *its, rv_bytes frame_head, size_t octets)
{
    struct rv_client *client = owner;
    struct rv_h2_stream *stream = its;
    const struct rv_load_request *request = rv_client_request(client, &stream->exchange);
    rv_bytes piece = {request->octets + request->length - stream->body_left, octets};
    rv_error error = rv_stream_write(&client->stream, frame_head);
    if (error == 0 && octets <= COPY_BYTES_MAX)
        error = rv_stream_write(&client->stream, piece);
    else if (error == 0)
        error = rv_stream_write_borrowed(&client->stream, piece, NULL, NULL);
    stream->body_left -= octets;
    client->thread->recorder.result.sent_octets += frame_head.len + octets;
    return error == 0 || error == RV_EGONE; /* of a stream that is gone, its end is told */
}

/* ---- the answer ------------------------------------------------------------------------------------------ */

static void finish(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_h2_client *h2 = client->h2;
    struct rv_answer answer = {
        .status = stream->answer.status,
        .kept_alive = !h2->goaway,
        .first_us = stream->first_us,
        .last_us = h2->now_us,
        .content = stream->answer.content,
    };
    struct rv_exchange exchange = rv_h2_stream_take(client, stream);
    h2->answered++;
    if (rv_client_length_is_right(thread, &exchange, answer.content))
        rv_recorder_answered(&thread->recorder, &exchange, &answer);
    else
        rv_recorder_failed(&thread->recorder, &exchange, RV_FAILURE_BODY_LENGTH, 0, h2->now_us);
    rv_load_thread_next(thread, client, h2->now_us);
}

static void note_server(struct rv_load_result *result, rv_bytes value)
{
    size_t room = sizeof result->server_software - 1;
    memcpy(result->server_software, value.ptr, value.len < room ? value.len : room);
}

/* The answer is malformed: its stream is reset, and the connection goes on. */
static void malformed(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_h2_client *h2 = client->h2;
    rv_h2_forget(h2->session, stream->id);
    rv_h2_reset(h2->session, stream->id, RV_H2_PROTOCOL_ERROR);
    rv_h2_stream_fail(client, stream, RV_FAILURE_HTTP2_ERROR, RV_H2_PROTOCOL_ERROR);
    rv_load_thread_next(client->thread, client, h2->now_us);
}

uint32_t rv_h2_on_field(void *owner, void *its, rv_bytes name, rv_bytes value)
{
    struct rv_client *client = owner;
    struct rv_h2_stream *stream = its;
    struct rv_load_result *result = &client->thread->recorder.result;
    if (client->state != RV_CLIENT_OPEN)
        return 0;
    if (!rv_h2_answer_field(&stream->answer, name, value))
        malformed(client, stream);
    else if (name.len == 6 && result->server_software[0] == '\0' &&
             memcmp(name.ptr, "server", 6) == 0)
        note_server(result, value);
    return 0;
}

static void end_of_answer(struct rv_client *client, struct rv_h2_stream *stream)
{
    struct rv_h2_client *h2 = client->h2;
    if (!rv_h2_answer_end(&stream->answer)) {
        malformed(client, stream);
        return;
    }
    stream->ended = true;
    if (stream->body_left == 0)
        return; /* on_closed follows at once */
    /* The server has answered without having read all of the request: it will not want the rest. */
    rv_h2_forget(h2->session, stream->id);
    rv_h2_reset(h2->session, stream->id, RV_H2_CANCEL);
    finish(client, stream);
}

void rv_h2_on_fields_end(void *owner, void *its, bool last)
{
    struct rv_client *client = owner;
    struct rv_h2_stream *stream = its;
    bool interim;
    if (client->state != RV_CLIENT_OPEN)
        return;
    if (!rv_h2_answer_fields_end(&stream->answer, last, &interim)) {
        malformed(client, stream);
        return;
    }
    client->thread->recorder.result.interim += interim;
    if (stream->first_us == 0 && !interim)
        stream->first_us = client->h2->now_us;
    if (last)
        end_of_answer(client, stream);
}

void rv_h2_on_data(void *owner, void *its, rv_bytes octets)
{
    struct rv_client *client = owner;
    struct rv_h2_stream *stream = its;
    if (client->state == RV_CLIENT_OPEN && !rv_h2_answer_data(&stream->answer, octets.len))
        malformed(client, stream);
}

void rv_h2_on_end(void *owner, void *its)
{
    struct rv_client *client = owner;
    if (client->state == RV_CLIENT_OPEN)
        end_of_answer(client, its);
}

/* ---- other ends ------------------------------------------------------------------------------------------ */

void rv_h2_on_reset(void *owner, void *its, uint32_t code)
{
    struct rv_h2_stream *stream = its;
    (void)owner;
    (void)code;
    stream->reset = true;
}

/* The server says that it has not looked at the request. Behind GOAWAY it is sent again on the next
   connection, again and again as long as there is progress: where none was taken, once. A stream that was
   opened before the server's limit was known may have been one too many: once, too. */
static bool may_go_again(struct rv_client *client, struct rv_h2_stream *stream, uint32_t code)
{
    bool once = stream->reset ? stream->before_settings : client->h2->goaway_last == 0;
    if (code != RV_H2_REFUSED_STREAM || (stream->reset && !once) ||
        (once && stream->exchange.retried))
        return false;
    stream->exchange.retried = stream->exchange.retried || once;
    return true;
}

void rv_h2_on_closed(void *owner, void *its, uint32_t code)
{
    struct rv_client *client = owner;
    struct rv_h2_stream *stream = its;
    struct rv_h2_client *h2 = client->h2;
    if (client->state != RV_CLIENT_OPEN)
        return;
    if (stream->ended) {
        finish(client, stream);
        return;
    }
    if (h2->fault != 0) /* the whole connection ends, and all its exchanges with it */
        return;
    if (may_go_again(client, stream, code)) {
        client->thread->recorder.result.sent_again++;
        rv_h2_stream_again(client, stream);
        return;
    }
    if (stream->reset)
        rv_h2_stream_fail(client, stream, RV_FAILURE_STREAM_RESET, (int)code);
    else if (code == RV_H2_REFUSED_STREAM && h2->goaway)
        rv_h2_stream_fail(client, stream, RV_FAILURE_GOAWAY, (int)h2->goaway_code);
    else
        rv_h2_stream_fail(client, stream, RV_FAILURE_HTTP2_ERROR, (int)code);
    rv_load_thread_next(client->thread, client, h2->now_us);
}
