/*
 * A client: one connection at a time, and the requests that are on their way on it. It sends, finds the
 * ends of answers, and tells the recorder what became of each request. What to do next is its thread's
 * to say. Here io and http meet: how a connection is opened, and what becomes of its exchanges, is common
 * to all; what is said on it is a protocol's (client_inner.h).
 *
 *      CLOSED --want--> WAITING --open--> CONNECTING --on_connected--> OPEN
 *        ^               (its turn, a pause) | failed                   | closed, reset, timed out,
 *        +-------- on_closed --- CLOSING <---+--------------------------+ used up, not persistent
 *
 * Exchanges survive their connection: those that the server has not answered when it closes between two
 * answers are sent again on the next one.
 */
#ifndef RV_LOAD_CLIENT_H
#define RV_LOAD_CLIENT_H

#include "base/buffer.h"
#include "http/h1_drain.h"
#include "http/h1_response.h"
#include "io/stream.h"
#include "load/recorder.h"

struct rv_load_thread;
struct rv_h2_client;

enum rv_client_state {
    RV_CLIENT_CLOSED,
    RV_CLIENT_WAITING, /* for its turn to open a connection */
    RV_CLIENT_CONNECTING,
    RV_CLIENT_OPEN,
    RV_CLIENT_CLOSING /* until on_closed */
};

/* Where the answer to the oldest exchange stands. */
enum rv_answer_phase { RV_ANSWER_NONE, RV_ANSWER_HEAD, RV_ANSWER_BODY };

struct rv_client {
    struct rv_stream stream; /* must be first */
    struct rv_load_thread *thread;

    /* Exchanges, oldest first, in a ring of the thread's memory that has room for as many as a connection may
       have at once. The newest `unsent` of them have not been sent on this connection. */
    struct rv_exchange *ring;
    uint32_t first, count, unsent;
    uint32_t streams;   /* HTTP/2: exchanges on their way, which are not in the ring */
    uint32_t room;      /* exchanges that it may have now, all in all */
    uint32_t sent_here; /* requests on this connection */
    uint32_t next_request, first_request; /* of its set, in the plan's requests */
    uint8_t state;                        /* enum rv_client_state */
    bool in_free;                         /* in the thread's list */
    bool retired;                         /* closed model: it starts no more */
    bool refused;                         /* at least once */
    bool closed_on_it; /* the server ended its last connection behind an answer */
    uint64_t quota_left;
    struct rv_client *next; /* in one of the thread's lists */
    struct rv_tls *tls;     /* the stream's; NULL: it does not speak it */

    struct rv_h2_client *h2; /* owned; NULL: it speaks HTTP/1 */

    /* ---- HTTP/1 ---- */
    uint8_t phase;       /* enum rv_answer_phase, of the oldest exchange */
    bool kept_alive;     /* by the head of the current answer */
    bool behind_interim; /* nothing has come of the final answer yet */
    uint16_t status;     /* of the current answer */
    uint64_t first_us;
    struct rv_h1_drain drain;
    uint64_t skipping;  /* octets of content that the stream was told to drop; 0: it was not */
    uint64_t skip_left; /* of them, those that have not come: the stream's count */
    struct rv_buffer partial; /* a head that has not arrived in full */

    /* ---- opening ---- */
    uint64_t opening_us;   /* when the first attempt began */
    uint64_t rest_us;      /* until when it thinks */
    uint32_t address;      /* which one is tried ... */
    uint32_t attempts;     /* ... and how many have been, for this connection */
    uint32_t failures;     /* connections that could not be opened, one after the other */
    struct rv_timer pause; /* after one */
};

/* Makes a client that is closed: the run's `number`th, from 0. RV_ENOMEM. */
rv_error rv_client_init(struct rv_client *client, struct rv_load_thread *thread,
                        struct rv_exchange *ring, uint32_t number);

/* Exchanges that it has taken up and not seen to their end. */
static inline uint32_t rv_client_busy(const struct rv_client *client)
{
    return client->count + client->streams;
}

/* May it take up one more? */
static inline bool rv_client_has_room(const struct rv_client *client)
{
    return rv_client_busy(client) < client->room;
}

/* Takes up a request that was due at `due_us`: sends it, or has a connection opened first. There must be
   room in the ring. */
void rv_client_start(struct rv_client *client, uint64_t due_us, uint64_t now_us);

/* Opens a connection for the exchanges that wait for one. */
void rv_client_open(struct rv_client *client, uint64_t now_us);

/* The same for a client that had to wait for its turn: the pace of opening is ours, so that a request of the
   closed model is due only now, unless it was sent before. */
void rv_client_take_turn(struct rv_client *client, uint64_t now_us);

/* Closes the connection; exchanges stay. */
void rv_client_close(struct rv_client *client);

/* The run is over: what is under way is in flight, and the connection is closed. */
void rv_client_stop(struct rv_client *client, uint64_t now_us);

/* Gives back memory; the stream must be closed. */
void rv_client_free(struct rv_client *client);

#endif
