/*
 * A connection: where a stream (io) and the protocol (http) meet. It parses requests from what
 * arrives, hands each to a talk, feeds the talk its body, and goes on with the next when the talk is
 * done. Exchanges follow each other: there is never more than one talk.
 *
 *            +------------------ answered, body read, persistent -----------------+
 *            v                                                                    |
 *          HEAD --head complete--> EXCHANGE --answered, body not read--> DRAIN ---+
 *            |                        |                                    |
 *            | refused, timed out     | answered, not persistent           | too much
 *            v                        v                                    v
 *          LINGER (answer sent, FIN, whatever still comes is dropped)   or closed at once when
 *                                                                       everything was read
 *
 * An idle connection is this record and nothing else: the input buffer exists only while a part of a
 * request is kept, the talk only during an exchange.
 */
#ifndef RV_SERVER_CONN_H
#define RV_SERVER_CONN_H

#include "base/buffer.h"
#include "io/stream.h"
#include "server/worker.h"

enum rv_conn_phase {
    RV_CONN_HEAD,
    RV_CONN_EXCHANGE,
    RV_CONN_DRAIN,  /* the talk is answered, the rest of its request body is read and dropped */
    RV_CONN_LINGER, /* our side is finished */
};

/*
 * Laid out by heat: a request of a keep-alive connection touches the first two cache lines and no more,
 * which is what ten thousand connections are measured by.
 */
struct rv_conn {
    struct rv_stream stream; /* first: a stream is its connection */
    struct rv_talk *talk;    /* in EXCHANGE and DRAIN */
    struct rv_buffer *input; /* owned; octets kept for later; NULL: none */
    uint64_t since_ms;       /* HEAD: the head's first octet, or the end of the last exchange */
    uint32_t requests;
    union {
        uint32_t searched;       /* HEAD: octets of `input` in which no new line end was found */
        uint32_t heard_after_ms; /* LINGER: when something was last heard, behind since_ms */
    };
    uint8_t phase;
    bool last;           /* no request after this one */
    bool head_started;   /* HEAD: a part of it is there */
    bool starved;        /* only more octets from the client let it go on */
    bool stalling;       /* output is queued: the three numbers below are set */
    uint8_t peer_family; /* AF_INET, AF_INET6, AF_UNIX or AF_UNSPEC */
    uint16_t peer_port;

    struct rv_conn *next; /* of the worker's connections */
    struct rv_conn *previous;
    uint64_t progress_ms;    /* output: the last time that it made progress */
    uint64_t stall_check_ms; /* output: when to look for progress again */
    uint64_t acknowledged;   /* output: octets acknowledged at progress_ms */
    struct rv_tls *tls;      /* the stream's own, while it is secure */
    uint8_t peer_address[16];
};

static inline struct rv_conn *rv_conn_of(struct rv_stream *stream)
{
    return (struct rv_conn *)stream;
}

static inline struct rv_worker *rv_conn_worker(const struct rv_conn *conn)
{
    return conn->stream.loop->owner;
}

/* Takes over a connected descriptor, for which a place has been taken (rv_worker.load). */
void rv_conn_open(struct rv_worker *worker, const struct rv_arrival *arrival);

/* Does whatever can be done now: called after anything has changed outside of on_data - a talk was
   answered, a body resumed. Never from inside a verb. */
void rv_conn_advance(struct rv_conn *conn);

/* True when it is between two requests: nothing is lost when it is closed. */
bool rv_conn_is_idle(const struct rv_conn *conn);

/* Stop: closes an idle connection, and makes the current exchange the last. */
void rv_conn_stop(struct rv_conn *conn);

/* Closes now, whatever it is doing. */
void rv_conn_cut(struct rv_conn *conn);

/* "127.0.0.1:50512" into RV_ADDRESS_TEXT_MAX octets. */
void rv_conn_peer_text(const struct rv_conn *conn, char *text);

#endif
