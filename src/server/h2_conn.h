/*
 * HTTP/2 on a connection: many exchanges at once, each a stream with a talk. The protocol itself is
 * http/h2.h's; here its events become talks, and what talks say becomes its frames.
 *
 *     h2_conn.c      the connection: octets in, frames out, the end
 *     h2_stream.c    one exchange: its request, its body, its talk
 *     h2_wire.c      its response, and the queue in front of the client's windows
 *     h2_deadlines.c what takes too long
 *     h2_calm.c      what a client does too often
 *
 * Two rules keep it simple. The session (struct rv_h2) is entered from rv_h2_conn_settle and on_data only,
 * never from a verb. And whatever an event or a verb leaves to be done for a stream makes it a member of
 * the work list, which settle works off outside of the session, until nothing is left.
 *
 * A connection without streams holds the session, with its two tables of HPACK, and this record.
 */
#ifndef RV_SERVER_H2_CONN_H
#define RV_SERVER_H2_CONN_H

#include "http/h2.h"
#include "http/h2_head.h"
#include "io/segment.h"
#include "server/conn.h"
#include "server/h2_calm.h"
#include "server/talk.h"

enum rv_h2_phase {
    RV_H2_OPEN,
    RV_H2_ENDING, /* the end is announced: streams that were opened before the client knew still count */
    RV_H2_ENDED, /* GOAWAY with the last stream is written; the streams up to it go on */
    RV_H2_BROKEN /* GOAWAY with an error, or nothing: only what is written leaves */
};

/* One exchange. */
struct rv_h2_stream {
    struct rv_h2_stream *next, *previous; /* of the connection's */
    struct rv_h2_stream *next_work;
    struct rv_h2_conn *h2;
    struct rv_talk *talk; /* until the stream is closed */
    uint32_t id;

    /* The request. */
    bool head_complete;
    bool dispatched;
    bool input_ended;
    bool unasked;     /* the client waited for a 100 that did not come: it sends no content */
    uint64_t dropped; /* octets of content that came when the response was complete */
    bool in_trailers;
    int refusal; /* the status that the head is refused with; 0: it is not */
    const char *reason;
    struct rv_buffer input; /* content that nobody has taken yet: within the stream's window */
    uint64_t opened_ms;

    /* The response. */
    bool responded;    /* its head is the session's */
    bool output_ended; /* nothing is added any more */
    bool all_taken;    /* ... and all of it has left */
    bool waiting;      /* the session was told that there is nothing to send */
    bool drain_wanted;
    bool drain_due;
    bool reset;      /* by us: nothing matters any more */
    bool ended_well; /* both sides have ended it */
    rv_bytes direct; /* content in front of `output`, in the talk's arena */
    struct rv_output output;
    uint64_t taken;       /* octets of content that have left */
    uint64_t taken_seen;  /* at progress_ms */
    uint64_t progress_ms; /* when the client's windows last let some leave */

    bool in_work;
};

struct rv_h2_conn {
    struct rv_conn *conn;
    struct rv_h2 *session;
    struct rv_h2_stream *streams; /* newest first */
    uint32_t stream_count;
    struct rv_h2_stream *work, **work_last;
    struct rv_h2_head head; /* of the request or the trailers whose fields are arriving */
    struct rv_h2_calm calm;
    uint64_t ending_ms; /* when that was announced; 0: it was not, or nobody has answered */
    uint64_t tick_ms;   /* when to look at the streams again; 0: not set */
    uint8_t phase;      /* enum rv_h2_phase */
    bool answered;      /* the PING behind the announcement */
    bool in_session;
    bool settling;
};

static inline struct rv_worker *rv_h2_worker(const struct rv_h2_conn *h2)
{
    return rv_conn_worker(h2->conn);
}

/* The connection speaks HTTP/2 from now on; these octets are the first (none, behind ALPN). */
void rv_h2_conn_begin(struct rv_conn *conn, const char *octets, size_t length);

/* Works off what there is to do, sends, and sets the timer. Not from inside the session or a verb. */
void rv_h2_conn_settle(struct rv_h2_conn *h2);

/* GOAWAY with an error: the connection ends when that is sent. Anywhere. */
void rv_h2_conn_fail(struct rv_h2_conn *h2, uint32_t code);

/* No new streams; those that are there go on. */
void rv_h2_conn_go_away(struct rv_h2_conn *h2);

/* ---- h2_stream.c ------------------------------------------------------------------------------------ */

extern const struct rv_h2_events rv_h2_server_events;

/* Puts it on the work list. */
void rv_h2_stream_work(struct rv_h2_stream *stream);

/* What there is to do for it. */
void rv_h2_stream_do(struct rv_h2_stream *stream);

/* Resets it; nothing is told any more. */
void rv_h2_stream_reset(struct rv_h2_stream *stream, uint32_t code);

/* Frees it; the talk learns that its client has gone. */
void rv_h2_stream_end(struct rv_h2_stream *stream);

/* ---- h2_wire.c ---------------------------------------------------------------------------------------- */

extern const struct rv_wire rv_h2_wire;

enum rv_h2_pull rv_h2_wire_pull(void *owner, void *stream, size_t room, size_t *octets);
bool rv_h2_wire_send(void *owner, void *stream, rv_bytes frame_head, size_t octets);

/* Octets of content that wait for the client's windows. */
uint64_t rv_h2_wire_queued(const struct rv_h2_stream *stream);

/* ---- h2_deadlines.c ------------------------------------------------------------------------------------ */

void rv_h2_set_deadline(struct rv_h2_conn *h2);
void rv_h2_on_timer(struct rv_stream *stream);

#endif
