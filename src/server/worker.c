/*
 * Workers (worker.h): accepting, placing connections, running out of descriptors, stopping.
 */
#include "server/worker.h"

#include "base/clock.h"
#include "io/backend.h"
#include "server/conn.h"
#include "server/encoders.h"
#include "server/file_cache.h"
#include "server/h2_conn.h"
#include "server/session_track.h"
#include "server/talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pause of accepting ends when a connection ends, or after this time. */
#define ACCEPT_PAUSE_MS 50

/* Under pressure, connections that have been idle that long are closed, so many in one go. */
#define RECYCLE_IDLE_MS 1000
#define RECYCLE_MAX 32

/* Ended connections from which the worker learns whether to defer accepting. */
#define DEFER_SAMPLE 256

/* A connection is handed to another worker when that one has so many fewer. */
#define HANDOVER_DIFFERENCE 4

/* ---- placing connections ------------------------------------------------------------------------------ */

struct handover {
    struct rv_message message; /* first */
    struct rv_arrival arrival;
};

static size_t load_of(const struct rv_worker *worker)
{
    return atomic_load_explicit(&worker->load, memory_order_relaxed);
}

static void leave_place(struct rv_worker *worker)
{
    atomic_fetch_sub(&worker->load, 1);
}

static void arrive(struct rv_message *message, void *owner)
{
    struct handover *handover = (struct handover *)message;
    struct rv_worker *worker = owner;
    if (worker->ended || worker->cut) {
        close(handover->arrival.descriptor);
        leave_place(worker);
    } else {
        rv_conn_open(worker, &handover->arrival);
        if (worker->stopping && worker->conns != NULL)
            rv_conn_stop(worker->conns); /* the newest is first */
    }
    free(handover);
}

static bool hand_over(struct rv_worker *to, const struct rv_arrival *arrival)
{
    struct handover *handover = malloc(sizeof *handover);
    if (handover == NULL)
        return false;
    *handover = (struct handover){.message.run = arrive, .arrival = *arrival};
    rv_loop_post(&to->loop, &handover->message);
    return true;
}

/* What of connections_max is this worker's. */
static size_t share_of(const struct rv_worker *worker)
{
    uint64_t max = worker->server->connections_max, workers = worker->server->worker_count;
    return (size_t)(max / workers + (worker->index < max % workers ? 1 : 0));
}

static bool take_place(struct rv_worker *worker)
{
    size_t load = load_of(worker), share = share_of(worker);
    while (load < share)
        if (atomic_compare_exchange_weak(&worker->load, &load, load + 1))
            return true;
    return false;
}

/* The kernel spreads connections over the workers' sockets by a hash, evenly only in the long run. A
   worker that has clearly more than another gives the new one away. */
static struct rv_worker *preferred(struct rv_worker *worker)
{
    rv_server *server = worker->server;
    struct rv_worker *least = worker;
    for (unsigned i = 0; i < server->worker_count; i++)
        if (load_of(server->workers[i]) < load_of(least))
            least = server->workers[i];
    size_t mine = load_of(worker);
    return load_of(least) + HANDOVER_DIFFERENCE + mine / 32 < mine ? least : worker;
}

/* Takes a place for a connection, at the worker where it is best; NULL: the server is full. */
static struct rv_worker *find_place(struct rv_worker *worker)
{
    rv_server *server = worker->server;
    struct rv_worker *best = preferred(worker);
    if (take_place(best))
        return best;
    for (unsigned i = 0; i < server->worker_count; i++)
        if (take_place(server->workers[i]))
            return server->workers[i];
    return NULL;
}

static void open_at(struct rv_worker *worker, struct rv_worker *place,
                    const struct rv_arrival *arrival)
{
    if (place != worker && hand_over(place, arrival)) {
        RV_COUNT(worker, connections_handed_over);
        return;
    }
    if (place != worker) { /* no memory for the message: it stays here after all */
        leave_place(place);
        atomic_fetch_add(&worker->load, 1);
    }
    rv_conn_open(worker, arrival);
}

/* ---- accepting ---------------------------------------------------------------------------------------- */

static bool is_full(const rv_server *server)
{
    uint64_t load = 0;
    for (unsigned i = 0; i < server->worker_count; i++)
        load += load_of(server->workers[i]);
    return load >= server->connections_max;
}

/* Closes the connections that have been idle longest, as a stop would: each is told good-bye. */
static void recycle_idle(struct rv_worker *worker)
{
    uint64_t now = worker->loop.now_ms, oldest = now;
    for (struct rv_conn *conn = worker->conns; conn != NULL; conn = conn->next)
        if (rv_conn_is_idle(conn) && conn->requests > 0 && conn->since_ms < oldest)
            oldest = conn->since_ms;
    if (now - oldest < RECYCLE_IDLE_MS)
        return;
    unsigned count = 0;
    for (struct rv_conn *conn = worker->conns, *next; conn != NULL && count < RECYCLE_MAX;
         conn = next) {
        next = conn->next;
        if (rv_conn_is_idle(conn) && conn->requests > 0 && conn->since_ms <= oldest + 100) {
            RV_COUNT(worker, connections_recycled);
            rv_conn_stop(conn);
            count++;
        }
    }
}

static void pause_accepting(struct rv_worker *worker)
{
    worker->accept_paused = true;
    for (size_t i = 0; i < worker->listener_count; i++)
        rv_listener_stop(&worker->listeners[i]);
    rv_timer_set(&worker->loop.wheel, &worker->accept_timer, worker->loop.now_ms + ACCEPT_PAUSE_MS);
}

/* Gives the connection that was accepted while the last place was taken elsewhere its place. */
static bool seat_waiting(struct rv_worker *worker)
{
    if (worker->waiting.descriptor < 0)
        return true;
    struct rv_worker *place = find_place(worker);
    if (place == NULL)
        return false;
    struct rv_arrival arrival = worker->waiting;
    worker->waiting.descriptor = -1;
    open_at(worker, place, &arrival);
    return true;
}

static void resume_accepting(struct rv_worker *worker)
{
    if (!worker->accept_paused || worker->stopping)
        return;
    if (is_full(worker->server) || !seat_waiting(worker)) {
        recycle_idle(worker);
        rv_timer_set(&worker->loop.wheel, &worker->accept_timer,
                     worker->loop.now_ms + ACCEPT_PAUSE_MS);
        return;
    }
    worker->accept_paused = false;
    rv_timer_stop(&worker->loop.wheel, &worker->accept_timer);
    for (size_t i = 0; i < worker->listener_count; i++)
        rv_listener_start(&worker->listeners[i]);
}

static void accept_timer_fired(struct rv_timer *timer)
{
    resume_accepting(
        (struct rv_worker *)((char *)timer - offsetof(struct rv_worker, accept_timer)));
}

static void complain(struct rv_worker *worker, const char *reason)
{
    if (worker->log_ms != 0 && worker->loop.now_ms - worker->log_ms < 1000)
        return;
    worker->log_ms = worker->loop.now_ms;
    rv_server_log(worker->server, "accepting paused: %s", reason);
}

static void on_exhausted(struct rv_listener *listener, int error_number)
{
    struct rv_worker *worker = rv_worker_of(listener->loop);
    RV_COUNT(worker, accept_pauses);
    complain(worker, strerror(error_number));
    recycle_idle(worker);
    pause_accepting(worker);
}

static void full(struct rv_worker *worker)
{
    RV_COUNT(worker, connections_full);
    complain(worker, "the limit connections_max is reached");
    recycle_idle(worker);
    pause_accepting(worker);
}

static void on_accept(struct rv_listener *listener, int descriptor, const struct sockaddr *peer,
                      socklen_t peer_length)
{
    struct rv_worker *worker = rv_worker_of(listener->loop);
    struct rv_arrival arrival = {
        .descriptor = descriptor, .is_tcp = listener->is_tcp, .is_tls = listener->is_tls};
    memcpy(&arrival.peer, peer,
           peer_length < sizeof arrival.peer ? peer_length : sizeof arrival.peer);
    if (worker->stopping) { /* what the kernel has accepted is served, full or not */
        atomic_fetch_add(&worker->load, 1);
        rv_conn_open(worker, &arrival);
        return;
    }
    struct rv_worker *place = find_place(worker);
    if (place == NULL) { /* another worker was quicker: one of each may wait here */
        worker->waiting = arrival;
        full(worker);
        return;
    }
    open_at(worker, place, &arrival);
    if (is_full(worker->server))
        full(worker);
}

/*
 * Where most connections carry one request, accepting them with that request saves a wake-up and an
 * epoll_ctl for each, a third of what one costs. Where they live long it saves nothing, and a storm of
 * clients that connect first and send later would fill the kernel's queue. So the decision follows what
 * the last connections were like.
 */
static void learn(struct rv_worker *worker, uint32_t requests)
{
    worker->ended_conns++;
    worker->ended_single += requests <= 1;
    if (worker->ended_conns < DEFER_SAMPLE)
        return;
    bool defer = worker->ended_single > DEFER_SAMPLE / 2 && !worker->server->options.accept_silent;
    worker->ended_conns = worker->ended_single = 0;
    if (defer == worker->deferring)
        return;
    worker->deferring = defer;
    for (size_t i = 0; i < worker->listener_count; i++)
        rv_listener_defer(&worker->listeners[i], defer);
}

void rv_worker_conn_ended(struct rv_worker *worker, uint32_t requests)
{
    learn(worker, requests);
    worker->conn_count--;
    leave_place(worker);
    RV_COUNT(worker, connections_closed);
    if (worker->accept_paused)
        resume_accepting(worker);
}

static rv_error listen_on_all(struct rv_worker *worker)
{
    rv_server *server = worker->server;
    bool virtual = worker->loop.backend != &rv_backend_epoll;
    size_t count = virtual ? 1 : server->endpoint_count;
    worker->listeners = calloc(count, sizeof *worker->listeners);
    if (worker->listeners == NULL)
        return RV_ENOMEM;
    worker->listener_count = count;
    for (size_t i = 0; i < count; i++) {
        struct rv_listener *listener = &worker->listeners[i];
        *listener = (struct rv_listener){.loop = &worker->loop,
                                         .descriptor = -1,
                                         .on_accept = on_accept,
                                         .on_exhausted = on_exhausted};
        if (server->endpoint_count > i)
            listener->is_tls = server->endpoints[i].is_tls;
        if (!virtual) {
            const struct rv_endpoint *endpoint = &server->endpoints[i];
            unsigned own = endpoint->descriptor_count > 1 ? worker->index : 0;
            listener->descriptor = endpoint->descriptors[own];
            listener->shared = endpoint->descriptor_count == 1 && server->worker_count > 1;
            listener->is_tcp = endpoint->address.sockaddr.ss_family != AF_UNIX;
        }
        rv_error error = rv_listener_start(listener);
        if (error != 0)
            return error;
    }
    return 0;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static void sweep_sessions(struct rv_worker *worker)
{
    uint64_t next_ms = rv_sessions_sweep(worker->server, worker->loop.now_ms);
    if (next_ms != UINT64_MAX)
        rv_timer_set(&worker->loop.wheel, &worker->session_timer, worker->loop.now_ms + next_ms);
}

static void session_timer_fired(struct rv_timer *timer)
{
    sweep_sessions((struct rv_worker *)((char *)timer - offsetof(struct rv_worker, session_timer)));
}

rv_error rv_worker_begin(struct rv_worker *worker)
{
    worker->loop.backend->read_clock(&worker->loop);
    if (worker->index == 0)
        sweep_sessions(worker);
    worker->stopping = worker->cut = worker->ended = false;
    worker->accept_paused = worker->deferring = false;
    rv_error error = rv_server_open_tls(worker->server, &worker->loop);
    return error == 0 ? listen_on_all(worker) : error;
}

void rv_worker_end(struct rv_worker *worker)
{
    worker->ended = true;
    rv_timer_stop(&worker->loop.wheel, &worker->accept_timer);
    rv_timer_stop(&worker->loop.wheel, &worker->grace_timer);
    rv_timer_stop(&worker->loop.wheel, &worker->session_timer);
    for (size_t i = 0; i < worker->listener_count; i++)
        rv_listener_stop(&worker->listeners[i]);
    free(worker->listeners);
    worker->listeners = NULL;
    worker->listener_count = 0;
    rv_inbox_run(&worker->loop.inbox, worker); /* what was posted too late */
    rv_server_close_tls(&worker->loop);
}

static void grace_fired(struct rv_timer *timer)
{
    rv_worker_cut_all(
        (struct rv_worker *)((char *)timer - offsetof(struct rv_worker, grace_timer)));
}

rv_error rv_worker_open(struct rv_worker *worker, rv_server *server, unsigned index,
                        const struct rv_backend *backend)
{
    worker->server = server;
    worker->index = index;
    worker->waiting.descriptor = -1;
    /* Whole cache lines, so that no connection shares one with its neighbour. */
    rv_slab_init(&worker->h2_streams, sizeof(struct rv_h2_stream));
    rv_slab_init(&worker->conn_slab, (sizeof(struct rv_conn) + 63) / 64 * 64);
    rv_timer_init(&worker->accept_timer, accept_timer_fired);
    rv_timer_init(&worker->grace_timer, grace_fired);
    rv_timer_init(&worker->session_timer, session_timer_fired);
    rv_error error = rv_loop_open(&worker->loop, backend, worker);
    if (error == 0)
        worker->loop.output_low_bytes = server->options.limits.output_low_bytes;
    return error;
}

void rv_worker_close(struct rv_worker *worker)
{
    rv_worker_end(worker);
    rv_loop_close(&worker->loop);
    rv_talks_free(worker);
    rv_file_cache_free(worker->files);
    rv_encoders_free(worker);
    rv_slab_free(&worker->conn_slab);
    rv_slab_free(&worker->h2_streams);
}

void rv_worker_turn(struct rv_worker *worker, uint64_t wait_ms)
{
    struct rv_loop *loop = &worker->loop;
    rv_counter_values *counters = &worker->counters;
    rv_loop_turn(loop, wait_ms);
    rv_count(&counters->octets_received, loop->octets_received - counters->octets_received);
    rv_count(&counters->octets_sent, loop->octets_sent - counters->octets_sent);
    rv_count(&counters->connections_open, worker->conn_count - counters->connections_open);
}

/* Until no worker accepts any more, a connection may still be handed over to this one. */
static bool may_end(struct rv_worker *worker)
{
    rv_server *server = worker->server;
    return worker->stopping &&
           atomic_load(&server->workers_deaf) >= atomic_load(&server->workers_started) &&
           load_of(worker) == 0 && worker->conn_count == 0 && worker->pool_talks == 0;
}

void *rv_worker_run(void *argument)
{
    struct rv_worker *worker = argument;
    while (!may_end(worker))
        rv_worker_turn(worker, UINT64_MAX);
    atomic_fetch_add(&worker->server->workers_ended, 1);
    rv_server_notify(worker->server);
    return NULL;
}

/* ---- stopping ----------------------------------------------------------------------------------------- */

/* What is in the accept queue was promised a server by the kernel: it is still served. */
static void stop_listening(struct rv_worker *worker)
{
    for (size_t i = 0; i < worker->listener_count; i++) {
        struct rv_listener *listener = &worker->listeners[i];
        if (listener->descriptor >= 0 && rv_listener_start(listener) == 0) /* it may be paused */
            rv_listener_take(listener, worker->server->backlog);
        rv_listener_stop(listener);
    }
    rv_timer_stop(&worker->loop.wheel, &worker->accept_timer);
    if (worker->waiting.descriptor >= 0) {
        struct rv_arrival arrival = worker->waiting;
        worker->waiting.descriptor = -1;
        atomic_fetch_add(&worker->load, 1);
        rv_conn_open(worker, &arrival);
    }
}

static void stop(struct rv_message *message, void *owner)
{
    struct rv_worker *worker = owner;
    (void)message;
    if (worker->stopping)
        return;
    worker->stopping = true;
    stop_listening(worker);
    for (struct rv_conn *conn = worker->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        rv_conn_stop(conn);
    }
    rv_timer_set(&worker->loop.wheel, &worker->grace_timer,
                 rv_later_ms(worker->loop.now_ms, worker->server->options.stop_grace_ms));
    atomic_fetch_add(&worker->server->workers_deaf, 1);
    rv_server_notify(worker->server);
}

void rv_worker_cut_all(struct rv_worker *worker)
{
    worker->cut = worker->stopping;
    for (struct rv_conn *conn = worker->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (rv_conn_is_busy(conn))
            RV_COUNT(worker, stop_cuts);
        rv_conn_cut(conn);
    }
}

static void cut(struct rv_message *message, void *owner)
{
    (void)message;
    rv_worker_cut_all(owner);
}

void rv_worker_post_stop(struct rv_worker *worker)
{
    worker->stop_message.run = stop;
    rv_loop_post(&worker->loop, &worker->stop_message);
}

void rv_worker_post_cut(struct rv_worker *worker)
{
    worker->cut_message.run = cut;
    rv_loop_post(&worker->loop, &worker->cut_message);
}
