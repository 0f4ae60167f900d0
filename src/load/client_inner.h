/*
 * What the files of a client share, and nobody else needs: client.c ends exchanges and sends requests,
 * client_open.c gets connections, client_answer.c finds the ends of answers.
 */
#ifndef RV_LOAD_CLIENT_INNER_H
#define RV_LOAD_CLIENT_INNER_H

#include "load/client.h"
#include "load/thread.h"

/* What a client's stream calls. */
extern const struct rv_stream_events rv_client_events;

static inline struct rv_client *rv_client_of(struct rv_stream *stream)
{
    return (struct rv_client *)stream;
}

static inline struct rv_exchange *rv_client_exchange(struct rv_client *client, uint32_t place)
{
    uint32_t room = client->thread->pipeline;
    uint32_t at = client->first + place;
    return &client->ring[at >= room ? at - room : at];
}

static inline uint32_t rv_client_sent(const struct rv_client *client)
{
    return client->count - client->unsent;
}

static inline const struct rv_load_request *rv_client_request(const struct rv_client *client,
                                                              const struct rv_exchange *exchange)
{
    return &client->thread->plan->requests[exchange->request];
}

/* ---- client.c ---------------------------------------------------------------------------------------- */

/* Takes the oldest exchange out of the ring. */
struct rv_exchange rv_client_pop(struct rv_client *client);

/* The oldest exchange has failed, and the connection with it. */
void rv_client_fail(struct rv_client *client, enum rv_load_failure failure, int error_number);

/* Closes the connection behind an answer. What was sent on it and not answered goes out again on the next
   one; what must not be sent twice has failed. */
void rv_client_end_connection(struct rv_client *client, uint64_t now_us);

/* Sends what waits, as far as this connection takes requests. */
void rv_client_send_waiting(struct rv_client *client, uint64_t now_us);

/* The stream's timer; UINT64_MAX: no limit. */
void rv_client_set_timer(struct rv_client *client, uint64_t timeout_ms);

/* ---- client_open.c ----------------------------------------------------------------------------------- */

/* The attempt at one address has failed: the others get theirs when the stream is buried. */
void rv_client_attempt_failed(struct rv_client *client, int error_number);

void rv_client_pause_over(struct rv_timer *timer);
void rv_client_on_connected(struct rv_stream *stream);
void rv_client_on_closed(struct rv_stream *stream);

/* ---- client_tls.c ------------------------------------------------------------------------------------ */

/* The handshake is done: notes what was agreed on; returns when the connection was there before it. */
uint64_t rv_client_secured(struct rv_client *client, uint64_t now_us);

/* Has the connection failed in its handshake, or by TLS itself? Then what to call it; the first reason is
   noted. The stream must not be closed yet. */
bool rv_client_failed_by_tls(struct rv_client *client, int error_number,
                             enum rv_load_failure *failure);

/* ---- client_answer.c --------------------------------------------------------------------------------- */

/* The answer to the oldest exchange is whole. */
void rv_client_finish(struct rv_client *client, uint64_t now_us);

void rv_client_on_data(struct rv_stream *stream, char *octets, size_t length);
void rv_client_on_skipped(struct rv_stream *stream);

#endif
