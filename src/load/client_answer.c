/*
 * The way of an answer (client.h): where its head ends, where its content ends, and what that means for the
 * connection. Content is looked at only where it has to be.
 */
#include "load/client_inner.h"

#include <errno.h>
#include <string.h>

/* From here on the stream drops content by itself. Below, it is cheaper to look at it in passing. */
#define SKIP_BYTES_MIN 4096
#define SKIP_BYTES_MAX (UINT64_MAX / 4)

#define HEAD_BYTES_MAX (64 * 1024)

/* Before content of this length no more is read than a head needs, as a rule: what comes along is copied for
   nothing. */
#define LONG_BYTES_MIN (32 * 1024)
#define SHORT_READ_BYTES 2048

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

bool rv_client_length_is_right(struct rv_load_thread *thread, const struct rv_exchange *exchange,
                               uint64_t content)
{
    uint64_t expected = thread->plan->requests[exchange->request].content_expected;
    if (thread->first_content == RV_LENGTH_ANY) {
        thread->first_content = content;
        thread->recorder.result.first_content = content;
    }
    if (thread->plan->first_length_counts)
        thread->recorder.result.other_length += content != thread->first_content;
    return expected == RV_LENGTH_ANY || expected == content;
}

/* What becomes of the connection, and what is next? */
void rv_client_finish(struct rv_client *client, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_recorder *recorder = &thread->recorder;
    struct rv_exchange exchange = rv_client_pop(client);
    struct rv_answer answer = {
        .status = client->status,
        .kept_alive = client->kept_alive,
        .first_us = client->first_us,
        .last_us = now_us,
        .content = client->drain.content,
    };
    if (rv_client_length_is_right(thread, &exchange, answer.content))
        rv_recorder_answered(recorder, &exchange, &answer);
    else
        rv_recorder_failed(recorder, &exchange, RV_FAILURE_BODY_LENGTH, 0, now_us);
    bool used_up =
        client->sent_here >= thread->requests_per_connection && rv_client_sent(client) == 0;
    if (!client->kept_alive || used_up) {
        client->closed_on_it = !used_up;
        rv_client_end_connection(client, now_us);
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
    bool to_head = rv_client_request(client, rv_client_exchange(client, 0))->is_head;
    enum rv_h1_framing framing = rv_h1_response_framing(response, to_head);
    client->status = (uint16_t)response->status;
    client->kept_alive =
        response->keep_alive && framing != RV_H1_FRAMING_UNTIL_CLOSE && response->status != 101;
    client->phase = RV_ANSWER_BODY;
    bool is_long = framing == RV_H1_FRAMING_LENGTH && response->content_length >= LONG_BYTES_MIN;
    thread->loop.receive_bytes = is_long ? SHORT_READ_BYTES : RV_RECEIVE_BYTES;
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
            rv_client_fail(client, RV_FAILURE_MEMORY, ENOMEM);
            return false;
        }
        head = (rv_bytes){client->partial.ptr, client->partial.len};
    }
    int result = read_head(client->thread, head, &response);
    if (result == RV_H1_MALFORMED) {
        rv_client_fail(client, RV_FAILURE_HEAD_MALFORMED, 0);
        return false;
    }
    if (result == RV_H1_INCOMPLETE) {
        if (before == 0 && rv_buffer_append(&client->partial, *octets) != 0)
            rv_client_fail(client, RV_FAILURE_MEMORY, ENOMEM);
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
        rv_client_fail(client, RV_FAILURE_BODY_MALFORMED, 0);
        return false;
    case RV_DRAIN_DONE:
        if (octets->len > 0 && rv_client_sent(client) == 1) {
            rv_client_fail(client, RV_FAILURE_BODY_LONG, 0);
            return false;
        }
        rv_client_finish(client, now_us);
        return octets->len > 0;
    default:
        client->skipping = rv_h1_drain_skippable(&client->drain);
        if (client->drain.framing == RV_H1_FRAMING_LENGTH)
            client
                ->skipping--; /* the last octet is read, with those behind it that should not be */
        if (client->skipping > SKIP_BYTES_MAX)
            client->skipping = SKIP_BYTES_MAX;
        if (client->skipping >= SKIP_BYTES_MIN)
            rv_stream_skip(&client->stream, client->skipping);
        else
            client->skipping = 0;
        return false;
    }
}

void rv_client_on_data(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_client *client = rv_client_of(stream);
    rv_bytes rest = {octets, length};
    uint64_t now_us = rv_load_now_us(client->thread);
    if (rv_client_sent(client) == 0) { /* an answer to nothing, as a 408 to an idle connection */
        client->closed_on_it = true;
        rv_client_close(client);
        return;
    }
    while (client->state == RV_CLIENT_OPEN && rv_client_sent(client) > 0) {
        bool more = client->phase == RV_ANSWER_BODY ? take_content(client, &rest, now_us)
                                                    : take_head(client, &rest, now_us);
        if (!more || (rest.len == 0 && client->phase != RV_ANSWER_BODY))
            break;
    }
}

void rv_client_on_skipped(struct rv_stream *stream)
{
    struct rv_client *client = rv_client_of(stream);
    uint64_t skipped = client->skipping;
    client->skipping = 0;
    if (rv_h1_drain_skipped(&client->drain, skipped) == RV_DRAIN_DONE)
        rv_client_finish(client, rv_load_now_us(client->thread));
}
