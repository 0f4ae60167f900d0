/*
 * A worker: one thread with one loop, its listeners, its connections and its talks. Workers share
 * nothing that changes; another thread reaches a worker only by posting to its loop.
 */
#ifndef RV_SERVER_WORKER_H
#define RV_SERVER_WORKER_H

#include "http/encode.h"
#include "http/h1_write.h"
#include "io/listener.h"
#include "io/loop.h"
#include "server/server.h"

struct rv_conn;
struct rv_file_cache;
struct rv_talk;

/* A connected descriptor on its way to a connection. */
struct rv_arrival {
    int descriptor; /* owned; -1: none */
    bool is_tcp;
    bool is_tls;
    struct sockaddr_storage peer;
};

struct rv_worker {
    struct rv_loop loop;
    rv_server *server;
    unsigned index;
    pthread_t thread;
    bool thread_started;
    bool stopping; /* no new connections, `Connection: close` on every answer */
    bool cut;      /* the stop's time is over: what still comes is closed */
    bool ended;    /* its loop turns no more */
    bool accept_paused;
    uint64_t accepted_ms; /* when the last connection came */
    uint64_t log_ms;      /* when it last complained that it cannot accept */
    struct rv_h1_preamble preamble;

    struct rv_listener *listeners; /* owned; one for each endpoint */
    size_t listener_count;
    struct rv_timer accept_timer; /* accepting goes on */
    bool deferring;               /* the kernel holds silent connections back */
    unsigned ended_conns;         /* of the current sample, to decide that ... */
    unsigned ended_single;        /* ... those of them that carried one request at most */

    struct rv_slab conn_slab;
    struct rv_slab h2_streams;
    struct rv_conn *conns; /* all, newest first */
    size_t conn_count;
    _Atomic size_t load;       /* connections, with those on their way here; others add to it */
    struct rv_arrival waiting; /* for which there was no place */

    struct rv_talk **talks; /* by slot; owned */
    uint32_t talk_count;
    uint32_t talk_room;
    struct rv_talk *free_talks;
    uint32_t pool_talks; /* of this worker that are at the pool */

    struct rv_file_cache *files;            /* owned; NULL until files are asked for */
    struct rv_encoder encoders[RV_CODINGS]; /* owned; one of each coding for the next response */

    struct rv_timer grace_timer;
    struct rv_timer session_timer;  /* of the first worker: sessions expire */
    struct rv_message stop_message; /* each is posted once in a run */
    struct rv_message cut_message;
    rv_counter_values counters; /* written by this thread only; others read with relaxed loads */
};

#define RV_COUNT(worker, name) rv_count(&(worker)->counters.name, 1)

/* The only writer is the worker's thread: no read-modify-write is needed, only an untorn store. */
static inline void rv_count(uint64_t *counter, uint64_t by)
{
    __atomic_store_n(counter, *counter + by, __ATOMIC_RELAXED);
}

rv_error rv_worker_open(struct rv_worker *worker, rv_server *server, unsigned index,
                        const struct rv_backend *backend);

/* Frees what it owns. Connections must be gone. */
void rv_worker_close(struct rv_worker *worker);

/* The beginning of a run: accepts on the endpoints' sockets; on the sim back end, on a virtual one. */
rv_error rv_worker_begin(struct rv_worker *worker);

/* The end of a run, when its loop turns no more. It stays, so that a late rv_resume finds it. */
void rv_worker_end(struct rv_worker *worker);

/* The thread's body: turns the loop until a stop has ended everything. */
void *rv_worker_run(void *worker);

/* One turn. */
void rv_worker_turn(struct rv_worker *worker, uint64_t wait_ms);

/* Any thread: begins the stop; ends it at once. */
void rv_worker_post_stop(struct rv_worker *worker);
void rv_worker_post_cut(struct rv_worker *worker);

/* Cuts every connection. */
void rv_worker_cut_all(struct rv_worker *worker);

/* A connection has ended, after so many requests: there may be room for a new one. */
void rv_worker_conn_ended(struct rv_worker *worker, uint32_t requests);

static inline struct rv_worker *rv_worker_of(const struct rv_loop *loop)
{
    return loop->owner;
}

#endif
