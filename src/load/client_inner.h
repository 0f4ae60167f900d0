/*
 * What the files of a client share, and nobody else needs: client.c takes up exchanges and closes
 * connections, client_open.c gets them; what is said on one is a protocol's: client_h1.c sends and
 * client_answer.c finds the ends of answers, h2_client.c and h2_stream.c do both for HTTP/2.
 */
#ifndef RV_LOAD_CLIENT_INNER_H
#define RV_LOAD_CLIENT_INNER_H

#include "http/h2.h"
#include "load/client.h"
#include "load/thread.h"

/* A way to speak on a connection. */
struct rv_client_protocol {
    struct rv_stream_events events; /* of the client's stream */
    /* The connection is there; what waits is sent next. False: it cannot be used, and has been closed. */
    bool (*opened)(struct rv_client *client, uint64_t now_us);
    /* Sends what waits, as far as this connection takes requests. */
    void (*send)(struct rv_client *client, uint64_t now_us);
    /* The connection is about to be closed: all exchanges become unsent ones in the ring. */
    void (*closing)(struct rv_client *client);
    /* It is closed, and nobody is in the middle of working on what it has brought. */
    void (*closed)(struct rv_client *client);
};
extern const struct rv_client_protocol rv_client_h1, rv_client_h2;

static inline const struct rv_client_protocol *rv_client_speaks(const struct rv_client *client)
{
    return RV_H2_BUILT && client->h2 != NULL ? &rv_client_h2 : &rv_client_h1;
}

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

/* Puts one that was not sent in front of the others: there must be room. */
void rv_client_put_back(struct rv_client *client, const struct rv_exchange *exchange);

/* The stream's timer; UINT64_MAX: no limit. */
void rv_client_set_timer(struct rv_client *client, uint64_t timeout_ms);

/* ---- client_open.c ----------------------------------------------------------------------------------- */

/* The attempt at one address has failed: the others get theirs when the stream is buried. */
void rv_client_attempt_failed(struct rv_client *client, int error_number);

/* The server does not take this client: when it takes none, the run is hopeless. */
void rv_client_note_refused(struct rv_client *client);

void rv_client_pause_over(struct rv_timer *timer);
void rv_client_on_connected(struct rv_stream *stream);
void rv_client_on_closed(struct rv_stream *stream);

/* ---- client_tls.c ------------------------------------------------------------------------------------ */

/* The handshake is done: notes what was agreed on; returns when the connection was there before it. */
uint64_t rv_client_secured(struct rv_client *client, uint64_t now_us);

/* Was HTTP/2 agreed on in the handshake? If it was not, what was is noted. */
bool rv_client_chose_h2(struct rv_client *client);

/* Has the connection failed in its handshake, or by TLS itself? Then what to call it; the first reason is
   noted. The stream must not be closed yet. */
bool rv_client_failed_by_tls(struct rv_client *client, int error_number,
                             enum rv_load_failure *failure);

/* ---- client_h1.c ------------------------------------------------------------------------------------- */

/* The oldest exchange has failed, and the connection with it. */
void rv_client_fail(struct rv_client *client, enum rv_load_failure failure, int error_number);

/* Closes the connection behind an answer. What was sent on it and not answered goes out again on the next
   one; what must not be sent twice has failed. */
void rv_client_end_connection(struct rv_client *client, uint64_t now_us);

/* ---- client_answer.c --------------------------------------------------------------------------------- */

/* Is the content of an answer as long as it has to be? The first one's length is noted. */
bool rv_client_length_is_right(struct rv_load_thread *thread, const struct rv_exchange *exchange,
                               uint64_t content);

/* The answer to the oldest exchange is whole. */
void rv_client_finish(struct rv_client *client, uint64_t now_us);

void rv_client_on_data(struct rv_stream *stream, char *octets, size_t length);
void rv_client_on_skipped(struct rv_stream *stream);

#endif
