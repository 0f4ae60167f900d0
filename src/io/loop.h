/*
 * The event loop of one worker thread: its back end, timers, inbox and the two pieces of memory that
 * all its streams share. It owns those, never the streams. Everything here belongs to the loop's
 * thread; only rv_loop_post may be called from elsewhere.
 *
 * One turn: send what was written since the last, wait for completions and dispatch them, sound the
 * alarm, fire timers, run the inbox, shake hands with new peers of TLS for a while, give the streams that asked for it another go, bury the streams
 * that were closed. Whatever a stream has written meanwhile sits in the output page until its dispatch
 * ends (or another stream needs the page) and leaves with one system call.
 */
#ifndef RV_IO_LOOP_H
#define RV_IO_LOOP_H

#include "base/slab.h"
#include "io/inbox.h"
#include "io/timer.h"

#define RV_RECEIVE_BYTES (64 * 1024)
#define RV_PAGE_BYTES (64 * 1024)

/* What one dispatch may send from the queues before others get their turn. */
#define RV_TURN_SEND_BYTES (1024 * 1024)

struct rv_backend;
struct rv_stream;
struct rv_tls_context;

struct rv_loop {
    const struct rv_backend *backend;
    void *backend_state; /* the back end's own */
    uint64_t now_ms;     /* read once a turn */
    int64_t wall_s;      /* seconds since 1970, read once a turn */
    struct rv_wheel wheel;
    struct rv_inbox inbox;
    char *receive_buffer; /* RV_RECEIVE_BYTES, and RV_SCAN_PADDING readable behind */
    size_t
        receive_bytes; /* what is asked for at once; a loop that expects little to read and much to skip
                             asks for less than all */
    char *page;        /* RV_PAGE_BYTES of output not sent yet ... */
    size_t page_used;
    struct rv_stream *page_owner; /* ... of this stream; NULL: the page is empty */
    struct rv_stream *again;      /* streams that asked for another go, newest first */
    struct rv_stream *dead;       /* closed in this turn */
    struct rv_slab segments;      /* of the streams' output queues */
    size_t turn_sent;             /* octets sent from queues in this dispatch */
    uint64_t output_low_bytes;    /* under which a full stream is drained */
    uint64_t octets_received;
    uint64_t octets_sent;
    /* A moment of rv_loop_clock_ns that no turn sleeps beyond, to the microsecond where timers only
       know milliseconds; UINT64_MAX: none, as in the beginning. When it has come it is unset, and
       on_alarm called, which may set the next: that is for the next turn, even when it has come, too. */
    uint64_t alarm_ns;
    void (*on_alarm)(struct rv_loop *loop);
    struct rv_tls_context *tls; /* owned (io/tls.h); NULL: no stream speaks TLS */
    void *owner;                /* of the loop: a worker, a load thread */
};

/* On failure nothing is left behind. */
rv_error rv_loop_open(struct rv_loop *loop, const struct rv_backend *backend, void *owner);

/* Every stream must have been buried before: run turns until they are. */
void rv_loop_close(struct rv_loop *loop);

/* One turn: sends what was written since the last one; waits no longer than `wait_ms` when there is nothing to do. */
void rv_loop_turn(struct rv_loop *loop, uint64_t wait_ms);

/* Any thread: runs the message on the loop's thread, with `owner` as its second argument. */
void rv_loop_post(struct rv_loop *loop, struct rv_message *message);

/* Any thread: ends a wait, so that the loop's thread looks around. */
void rv_loop_wake(struct rv_loop *loop);

/* Monotonic nanoseconds, read now. now_ms is the same clock, at the turn's beginning. */
uint64_t rv_loop_clock_ns(struct rv_loop *loop);

/* Sends what is in the page. */
void rv_loop_flush(struct rv_loop *loop);

#endif
