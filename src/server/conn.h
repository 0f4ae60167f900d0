/*
 * A connection: a stream (io) and whatever it speaks. What that is tells the table of functions which its
 * stream calls: it changes when more is known, and the connection stays the same record.
 *
 *      rv_conn_open --TLS--> SHAKING HANDS --ALPN h2------------> HTTP/2 --+
 *           |                      | else                          ^       | GOAWAY sent, over
 *           |                      v                               |       v
 *           +--------------------> HTTP/1 --preface of HTTP/2------+   LINGERING (FIN sent, what still
 *                                     |                                    ^       comes is dropped)
 *                                     +-- answered, and no request after --+
 *
 * An idle connection is this record and nothing else, unless it speaks TLS or HTTP/2.
 */
#ifndef RV_SERVER_CONN_H
#define RV_SERVER_CONN_H

#include "base/buffer.h"
#include "io/stream.h"
#include "server/worker.h"

/* HTTP/1: where the connection is between its requests (h1_conn.h). */
enum rv_conn_phase {
    RV_CONN_HEAD,
    RV_CONN_EXCHANGE,
    RV_CONN_DRAIN,  /* the talk is answered, the rest of its request body is read and dropped */
    RV_CONN_LINGER, /* our side is finished */
};

/* What a connection speaks. */
struct rv_conn_protocol {
    struct rv_stream_events events; /* first: the stream's pointer to it finds the others */
    /* Between two requests: nothing is lost when it is closed. */
    bool (*is_idle)(const struct rv_conn *conn);
    /* Has it anything under way that a cut would lose? */
    bool (*is_busy)(const struct rv_conn *conn);
    /* Closes an idle connection, and takes no new requests from a busy one. */
    void (*stop)(struct rv_conn *conn);
    /* The client has gone: its talks learn it. */
    void (*lose)(struct rv_conn *conn);
    /* The last call: gives back what the connection holds. */
    void (*release)(struct rv_conn *conn);
};

/*
 * Laid out by heat: a request of a keep-alive connection touches the first two cache lines and no more,
 * which is what ten thousand connections are measured by.
 */
struct rv_conn {
    struct rv_stream stream; /* first: a stream is its connection */
    union {
        struct rv_talk *talk;  /* HTTP/1: in EXCHANGE and DRAIN */
        struct rv_h2_conn *h2; /* HTTP/2: owned */
    };
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

static inline const rv_limits *rv_conn_limits(const struct rv_conn *conn)
{
    return &rv_conn_worker(conn)->server->options.limits;
}

static inline uint64_t rv_conn_now_ms(const struct rv_conn *conn)
{
    return conn->stream.loop->now_ms;
}

static inline const struct rv_conn_protocol *rv_conn_protocol(const struct rv_conn *conn)
{
    return (const struct rv_conn_protocol *)conn->stream.events;
}

/* Takes over a connected descriptor, for which a place has been taken (rv_worker.load). */
void rv_conn_open(struct rv_worker *worker, const struct rv_arrival *arrival);

static inline bool rv_conn_is_idle(const struct rv_conn *conn)
{
    return rv_conn_protocol(conn)->is_idle(conn);
}

static inline bool rv_conn_is_busy(const struct rv_conn *conn)
{
    return rv_conn_protocol(conn)->is_busy(conn);
}

static inline void rv_conn_stop(struct rv_conn *conn)
{
    rv_conn_protocol(conn)->stop(conn);
}

/* Closes now, whatever it is doing. */
void rv_conn_cut(struct rv_conn *conn);

/* "127.0.0.1:50512" into RV_ADDRESS_TEXT_MAX octets. */
void rv_conn_peer_text(const struct rv_conn *conn, char *text);

/* ---- for protocols ----------------------------------------------------------------------------------- */

/* From now on the stream is this protocol's. */
static inline void rv_conn_speak(struct rv_conn *conn, const struct rv_conn_protocol *protocol)
{
    conn->stream.events = &protocol->events;
}

extern const struct rv_conn_protocol rv_conn_shaking;   /* conn_handshake.c */
extern const struct rv_conn_protocol rv_conn_h1;        /* h1_conn.c */
extern const struct rv_conn_protocol rv_conn_lingering; /* conn_linger.c */

/* A request has come: is it to be the last? Then conn->last is set. */
void rv_conn_count_request(struct rv_conn *conn);

/* Gives back the octets that are kept. */
void rv_conn_free_input(struct rv_conn *conn);

/* on_closed of every protocol. */
void rv_conn_on_closed(struct rv_stream *stream);

/* The client is lost by its own doing, or gone: counts what a limit of TLS had to do with it. */
void rv_conn_count_loss(struct rv_conn *conn, rv_error error);

/* Output that makes no progress: watched four times in the time that a stall may last. */
void rv_conn_watch_output(struct rv_conn *conn);

/* Has the client taken nothing for too long? */
bool rv_conn_output_stalls(struct rv_conn *conn);

/* Our side is finished: what was written is sent, and FIN. `unread`: the client may still be sending; the
   connection then lingers. What it holds is to be given back before. */
void rv_conn_end(struct rv_conn *conn, bool unread);

/* Sends, and waits on, as conn_linger.c does. */
void rv_conn_linger_on(struct rv_conn *conn);

/* The earlier of `deadline` and of the next look at stalled output becomes the timer; UINT64_MAX: none. */
void rv_conn_set_deadline(struct rv_conn *conn, uint64_t deadline_ms);

#endif
