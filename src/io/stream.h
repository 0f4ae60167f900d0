/*
 * A stream: a connected byte stream with back-pressure both ways, whatever carries it. Received octets
 * come as calls of `on_data`; output is written by copy, by reference or from a file, leaves in order,
 * and what the peer does not take is queued. Embedded in its owner (a connection), who gives the
 * memory back in `on_closed`.
 *
 * The life of a stream:
 *
 *     rv_stream_connect -> CONNECTING
 *                        |     | on_connected
 *                        |     v
 *     rv_stream_open ----|-> OPEN --rv_stream_finish--> FINISHING --all sent--> FINISHED --+
 *                        |     |                              |                           |
 *                        +-----+---- rv_stream_close, or on_lost -------------------------+-> CLOSED
 *                                                                (end of the turn: on_closed)
 *
 * An idle stream holds nothing but this record: no buffer, no queue.
 */
#ifndef RV_IO_STREAM_H
#define RV_IO_STREAM_H

#include "base/bytes.h"
#include "io/connect.h"
#include "io/loop.h"

struct rv_stream_events {
    /* Octets have arrived; they may be changed, and RV_SCAN_PADDING octets behind them be read and
       written. They live until the call returns. Never called while the stream is paused. */
    void (*on_data)(struct rv_stream *stream, char *octets, size_t length);
    /* The peer has half-closed: nothing more will arrive. Once. */
    void (*on_end)(struct rv_stream *stream);
    /* The connection that rv_stream_connect began is there, and with TLS the handshake is done: before any
       on_data, on_end. */
    void (*on_connected)(struct rv_stream *stream);
    /* The last octet of a skip (rv_stream_skip) has arrived. */
    void (*on_skipped)(struct rv_stream *stream);
    /* The queue was over the high-water mark (rv_stream_want_drain) and is under the low one. */
    void (*on_drain)(struct rv_stream *stream);
    /* There will be no connection, or it broke, or output failed: stream->error_number tells why. The
       stream is closed right after. */
    void (*on_lost)(struct rv_stream *stream, rv_error error);
    /* The turn that rv_stream_again asked for. */
    void (*on_again)(struct rv_stream *stream);
    /* The TLS handshake of a stream that rv_stream_open_tls has opened is done: before any on_data. */
    void (*on_secured)(struct rv_stream *stream);
    /* The peer of such a stream does not speak TLS. It is a plain stream from now on; what has arrived
       is dropped. */
    void (*on_insecure)(struct rv_stream *stream);
    /* The stream's timer. */
    void (*on_timer)(struct rv_stream *stream);
    /* The last call: the descriptor is closed, the memory is the owner's. */
    void (*on_closed)(struct rv_stream *stream);
    /* Where the owner keeps what is left of a skip: a uint64_t, so many octets behind the beginning of
       the stream. Streams have no room of their own for it, because idle ones are paid for by the ten
       thousand. 0: nowhere, the owner only ever skips all. */
    size_t skip_left_at;
    /* Where, likewise, the owner keeps the pointer to what TLS needs: a struct rv_tls *. 0: nowhere, none
       of its streams speak TLS. */
    size_t tls_at;
};

struct rv_output; /* the queue; its insides are stream.c's */

struct rv_stream {
    const struct rv_stream_events *events;
    struct rv_loop *loop;
    struct rv_output *output; /* NULL: nothing is queued */
    struct rv_stream *next;   /* in the loop's `again` or `dead` list */
    struct rv_timer timer;
    uint64_t sent;        /* octets the back end has taken */
    int descriptor;       /* owned; the sim back end's number of the peer */
    bool paused : 1;      /* the owner wants no data */
    bool readable : 1;    /* octets may be waiting while the stream is paused */
    bool ended : 1;       /* the peer's FIN has been seen */
    bool end_ahead : 1;   /* the back end's: a FIN lies behind the octets that are waiting */
    bool skipping : 1;    /* received octets are dropped ... */
    bool endless : 1;     /* ... to the end; else as many as the owner's count says */
    bool discarded : 1;   /* some were, since the owner last cleared this */
    bool blocked : 1;     /* the back end took less than all; waiting for rv_stream_writable */
    bool write_watch : 1; /* the back end's: it is set up to hear of room for output */
    bool attached : 1;    /* the back end's: it knows the descriptor */
    bool want_drain : 1;  /* on_drain is due under the low-water mark */
    bool finishing : 1;   /* FIN when all is sent */
    bool close_when_sent : 1;
    bool closed : 1;
    bool connecting : 1; /* on_connected, or on_lost, is due */
    bool broken : 1;     /* output failed; on_lost is due */
    bool in_again : 1;
    bool again_asked : 1; /* by the owner: on_again */
    bool is_tcp : 1;
    bool client : 1;      /* it was opened by rv_stream_connect */
    bool wakes_late : 1;  /* the back end's: it is woken for no less than a run of octets */
    bool secure : 1;      /* TLS lies between it and the back end (tls_layer.h) */
    uint8_t error_number; /* the errno behind on_lost; 0: none, or not known */
};

/* Takes over a connected, non-blocking descriptor and starts receiving: on_data may be called before
   this returns, and the stream may even be closed by then. `is_tcp` false: a unix socket. */
void rv_stream_open(struct rv_stream *stream, struct rv_loop *loop,
                    const struct rv_stream_events *events, int descriptor, bool is_tcp);

/* The same, speaking TLS as a server with the loop's context (rv_tls_context_open): on_secured comes
   before anything else. RV_ENOMEM: it was not opened, and the descriptor is still the caller's. */
rv_error rv_stream_open_tls(struct rv_stream *stream, struct rv_loop *loop,
                            const struct rv_stream_events *events, int descriptor, bool is_tcp);

/*
 * Opens a stream by connecting: 0, and then on_connected or on_lost, never before this returns; or the
 * errno of what failed at once (EMFILE, EADDRNOTAVAIL, ENETUNREACH; on unix sockets ECONNREFUSED, or
 * EAGAIN when the accept queue is full): then the stream was not opened, and nothing is called. What is
 * written before it is connected leaves then. `to` is not needed any more when this returns.
 */
int rv_stream_connect(struct rv_stream *stream, struct rv_loop *loop,
                      const struct rv_stream_events *events, const struct rv_connect_to *to);

/* Closes a connected descriptor that no stream is to have. */
void rv_stream_refuse(struct rv_loop *loop, int descriptor);

/* Room for `size` octets (at most RV_PAGE_BYTES / 2) of output in one run; NULL: no memory. The caller
   fills it and says with rv_stream_commit how much it used, before any other call. */
char *rv_stream_reserve(struct rv_stream *stream, size_t size);
void rv_stream_commit(struct rv_stream *stream, size_t used);

/* Output, copied. RV_EGONE on a closed stream, RV_ENOMEM: nothing of it was taken. */
rv_error rv_stream_write(struct rv_stream *stream, rv_bytes octets);

/* Output by reference: `release(ctx)` is called once, when it is sent or the stream is closed - also
   when this fails. It may be called before this returns. */
rv_error rv_stream_write_borrowed(struct rv_stream *stream, rv_bytes octets,
                                  void (*release)(void *ctx), void *ctx);

/* Output from an open regular file, which is the stream's from now on and is closed when sent. A file
   that turns out shorter breaks the connection: on_lost with RV_EIO. */
rv_error rv_stream_write_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length);

/* The same from a file that stays somebody else's, open until release(ctx): as of rv_stream_write_borrowed. */
rv_error rv_stream_write_lent_file(struct rv_stream *stream, int file, uint64_t offset,
                                   uint64_t length, void (*release)(void *ctx), void *ctx);

/* Sends what can be sent. Failures come as on_lost at the end of the turn. */
void rv_stream_flush(struct rv_stream *stream);

/* Octets that are queued because the peer takes no more. */
size_t rv_stream_queued(const struct rv_stream *stream);

/* True when everything written has been taken by the kernel. */
bool rv_stream_is_sent(const struct rv_stream *stream);

/* Asks for on_drain, once. */
void rv_stream_want_drain(struct rv_stream *stream);

/* Octets that the peer has acknowledged, as they were on the wire; only ever grows. */
uint64_t rv_stream_acknowledged(struct rv_stream *stream);

/* Stops and restarts on_data. Restarting never calls on_data by itself: that is for the next turn. */
void rv_stream_pause(struct rv_stream *stream);
void rv_stream_resume(struct rv_stream *stream);

/* Delivers what has arrived and is not delivered yet, in this call. Not from inside on_data. */
void rv_stream_receive_now(struct rv_stream *stream);

/*
 * Drops the next `octets` that arrive: they are received without being copied where the system can do
 * that, and never delivered. When the last of them is there on_skipped is called, once, and what follows
 * comes by on_data again. UINT64_MAX: all that ever comes. May be called from on_data, for octets behind
 * those that it was given, and from on_skipped. A second skip takes the place of the first; 0 ends it,
 * without a call. A FIN or a loss ends nothing: on_end or on_lost then find out what was left.
 */
void rv_stream_skip(struct rv_stream *stream, uint64_t octets);

/* What of the skip has not arrived; UINT64_MAX: it has no end; 0: there is none. */
uint64_t rv_stream_skip_left(const struct rv_stream *stream);

/* Drops everything that arrives from now on, and ends a pause. */
void rv_stream_discard(struct rv_stream *stream);

/* Calls on_again in the next turn. */
void rv_stream_again(struct rv_stream *stream);

/* FIN behind what has been written; the peer may go on sending. */
void rv_stream_finish(struct rv_stream *stream);

/* Closes as soon as everything written is sent; at once when it is. */
void rv_stream_close_when_sent(struct rv_stream *stream);

/* Closes now; what was not sent is dropped. on_closed comes at the end of the turn. */
void rv_stream_close(struct rv_stream *stream);

/* Sets the stream's one timer (lazily, io/timer.h), or stops it. */
static inline void rv_stream_set_timer(struct rv_stream *stream, uint64_t deadline_ms)
{
    rv_timer_set(&stream->loop->wheel, &stream->timer, deadline_ms);
}
void rv_stream_stop_timer(struct rv_stream *stream);

/* ---- what back ends and the loop call --------------------------------------------------------- */

void rv_stream_received(struct rv_stream *stream, char *octets, size_t length);
void rv_stream_peer_ended(struct rv_stream *stream);
void rv_stream_writable(struct rv_stream *stream);

/* True when octets that a skip drops need not even be read: with TLS they must be. */
static inline bool rv_stream_drops(const struct rv_stream *stream)
{
    return stream->skipping && !stream->secure;
}

/* The connection is there; error_number: it was there, and is broken already (0: it is not). */
void rv_stream_connected(struct rv_stream *stream, int error_number);

/* There is no connection any more, or never was; error_number: 0 when it is not known. */
void rv_stream_lost(struct rv_stream *stream, rv_error error, int error_number);

/* The connection is broken, but what has arrived before can still be received: on_lost comes in this
   turn or the next, behind that. */
void rv_stream_broke(struct rv_stream *stream, int error_number);

/* Another go in the next turn (reading on, sending on). */
void rv_stream_schedule(struct rv_stream *stream);
void rv_stream_run_again(struct rv_loop *loop);
void rv_stream_bury(struct rv_loop *loop);

/* ---- what the TLS layer reports -------------------------------------------------------------------- */

/* Plain octets: no more than is left of a skip. */
void rv_stream_deliver(struct rv_stream *stream, char *octets, size_t length);

/* Nothing more will come. */
void rv_stream_tell_end(struct rv_stream *stream);

#endif
