/*
 * One load thread: its loop, its clients, its recorder, and the decision who sends when. It shares
 * nothing with other threads but the number of requests that are left.
 */
#ifndef RV_LOAD_THREAD_H
#define RV_LOAD_THREAD_H

#include "io/loop.h"
#include "load/client.h"
#include "load/pace.h"
#include "load/plan.h"
#include "load/ports.h"

#include <stdatomic.h>

/* Common to all threads of a run. */
struct rv_load_shared {
    const struct rv_load_plan *plan;
    unsigned threads;
    _Atomic uint64_t requests_left; /* of plan->requests_max; leased in runs */
};

/* Clients in the order in which their time comes. */
struct rv_client_queue {
    struct rv_client *first;
    struct rv_client **last;
};

/* Answers whose heads are the same octets need not be parsed again. */
#define RV_HEAD_MEMO_BYTES 1024
struct rv_head_memo {
    uint32_t length; /* 0: none */
    struct rv_h1_response response;
    char octets[RV_HEAD_MEMO_BYTES];
};

struct rv_load_thread {
    struct rv_load_shared *shared;
    const struct rv_load_plan *plan;
    unsigned index;
    struct rv_loop loop;
    struct rv_recorder recorder;
    struct rv_head_memo memo;
    struct rv_h2_memory *h2_memory;   /* owned; of the sessions of all clients; NULL: HTTP/1 */
    uint32_t pipeline;                /* exchanges that a connection may have at once */
    uint64_t requests_per_connection; /* UINT64_MAX: any number */
    uint64_t timeout_ms, connect_timeout_ms; /* UINT64_MAX: none */

    struct rv_client *clients; /* owned */
    struct rv_exchange *rings; /* owned */
    uint32_t client_count;
    uint32_t untouched; /* clients that were never used: the last ones */
    uint64_t firsts;    /* closed model: requests set aside for clients that have not begun */
    uint32_t retired; /* closed model: clients that may start no more and have nothing under way */
    struct rv_client *free; /* open model: clients with nothing to do, the last one used first */
    struct rv_client_queue resting; /* think time */
    struct rv_client_queue opening; /* the pace of opening connections */
    double opening_period_us;       /* 0: no pace */
    double opening_at_us;           /* the next turn, from start_us */

    struct rv_pace pace;
    uint64_t starved_us; /* open model: until when every client was busy */
    uint64_t lease;      /* requests that this thread may still start */
    uint64_t exchanges;  /* under way */
    uint64_t open;       /* connections */
    uint64_t start_us;
    uint64_t deadline_us;    /* UINT64_MAX: none */
    uint64_t first_content;  /* of the first answer; RV_LENGTH_ANY: there was none */
    uint64_t counted_octets; /* of loop.octets_received, those that the recorder has */
    uint64_t end_us;         /* set by rv_load_thread_finish */
    uint64_t turns;
    uint64_t cpu_us;
    uint64_t sources;       /* source addresses handed out */
    struct rv_ports ports;  /* source ports */
    uint32_t first_address; /* where the next connection begins to try */
    bool stopping;
    bool out_of_requests; /* no lease can be had any more */
    struct rv_message stop;
};

/* All threads of a run are opened before one of them begins. Memory and loop; the thread is not started. On failure nothing is left behind. */
rv_error rv_load_thread_open(struct rv_load_thread *thread, struct rv_load_shared *shared,
                             const struct rv_backend *backend, unsigned index, uint32_t clients);
void rv_load_thread_close(struct rv_load_thread *thread);

/* What the thread does from the start to the end of a run: begin, turns until one says false, finish. */
void rv_load_thread_begin(struct rv_load_thread *thread, uint64_t start_us, uint64_t wall_us);
bool rv_load_thread_turn(struct rv_load_thread *thread);
void rv_load_thread_finish(struct rv_load_thread *thread);

/* ---- what clients ask and tell ------------------------------------------------------------------------ */

static inline uint64_t rv_load_now_us(struct rv_load_thread *thread)
{
    return rv_loop_clock_ns(&thread->loop) / 1000;
}

/* The client may have room for more exchanges: it starts them, rests, waits for one that is due, or retires. */
void rv_load_thread_next(struct rv_load_thread *thread, struct rv_client *client, uint64_t now_us);

/* The client needs a connection: opens it, or lets it wait for its turn. */
void rv_load_thread_want_open(struct rv_load_thread *thread, struct rv_client *client,
                              uint64_t now_us);

#endif
