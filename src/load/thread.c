/*
 * Who sends when (thread.h). All that waits for a time is looked at once a turn; the loop's alarm ends
 * the wait for whatever comes first.
 */
#include "load/thread.h"

#include "base/clock.h"
#include "http/h2_memory.h"

#include <stdlib.h>
#include <string.h>

#define LEASE_MAX 1024

/* Clients that are started before what has happened meanwhile is looked at: connections that are there send
   their requests at once, instead of waiting until all have begun. */
#define START_BATCH 32

/* Turns of opening that passed while the thread was busy are made up for, as far back as this. */
#define CATCH_UP_US 10000.0

/* ---- queues ------------------------------------------------------------------------------------------- */

static void queue_init(struct rv_client_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_append(struct rv_client_queue *queue, struct rv_client *client)
{
    client->next = NULL;
    *queue->last = client;
    queue->last = &client->next;
}

static struct rv_client *queue_take(struct rv_client_queue *queue)
{
    struct rv_client *client = queue->first;
    queue->first = client->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return client;
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static uint64_t ms_up(uint64_t us)
{
    return us == 0 ? UINT64_MAX : (us + 999) / 1000;
}

static void set_limits(struct rv_load_thread *thread, const struct rv_load_plan *plan)
{
    thread->pipeline = plan->http2 ? plan->streams : plan->pipeline;
    if (thread->pipeline == 0 || plan->think_us > 0)
        thread->pipeline = 1;
    thread->requests_per_connection = plan->close_each ? 1 : plan->requests_per_connection;
    if (thread->requests_per_connection == 0)
        thread->requests_per_connection = UINT64_MAX;
    thread->timeout_ms = ms_up(plan->timeout_us);
    thread->connect_timeout_ms =
        plan->connect_timeout_us == 0 ? thread->timeout_ms : ms_up(plan->connect_timeout_us);
    if (plan->connect_rate_per_s > 0)
        thread->opening_period_us = 1e6 / plan->connect_rate_per_s * thread->shared->threads;
    thread->opening_at_us = thread->opening_period_us * thread->index / thread->shared->threads;
    thread->first_content = RV_LENGTH_ANY;
}

static void on_alarm(struct rv_loop *loop)
{
    (void)loop; /* it has ended the wait: that is all it is for */
}

static void on_stop(struct rv_message *message, void *owner)
{
    (void)message;
    ((struct rv_load_thread *)owner)->stopping = true;
}

/* The settings were checked before the run (rv_target_check_tls), with a sentence. */
static rv_error open_tls(struct rv_load_thread *thread)
{
    char why[RV_TLS_WHY_MAX];
    struct rv_tls_client_settings settings = rv_target_tls(&thread->plan->target);
    return RV_TLS_BUILT ? rv_tls_client_open(&thread->loop, &settings, why) : RV_EINVAL;
}

/* A request for each client, as far as there are so many. */
static uint64_t set_aside(struct rv_load_shared *shared, uint32_t clients)
{
    uint64_t left = atomic_load_explicit(&shared->requests_left, memory_order_relaxed);
    uint64_t firsts = left < clients ? left : clients;
    if (shared->plan->requests_max == 0)
        return clients;
    /* No thread runs yet. */
    atomic_store_explicit(&shared->requests_left, left - firsts, memory_order_relaxed);
    return firsts;
}

rv_error rv_load_thread_open(struct rv_load_thread *thread, struct rv_load_shared *shared,
                             const struct rv_backend *backend, unsigned index, uint32_t clients)
{
    const struct rv_load_plan *plan = shared->plan;
    memset(thread, 0, sizeof *thread);
    thread->shared = shared;
    thread->plan = plan;
    thread->index = index;
    thread->client_count = clients;
    thread->untouched = clients;
    if (plan->model == RV_LOAD_CLOSED)
        thread->firsts = set_aside(shared, clients);
    thread->stop.run = on_stop;
    queue_init(&thread->resting);
    queue_init(&thread->opening);
    set_limits(thread, plan);
    rv_ports_open(&thread->ports, index, shared->threads);
    rv_error error = rv_recorder_init(&thread->recorder, plan->keep_samples);
    if (error != 0)
        return error;
    error = rv_loop_open(&thread->loop, backend, thread);
    if (error != 0) {
        rv_recorder_free(&thread->recorder);
        return error;
    }
    thread->loop.on_alarm = on_alarm;
    if (RV_TLS_BUILT && plan->target.is_tls)
        error = open_tls(thread);
    if (error != 0) {
        rv_load_thread_close(thread);
        return error;
    }
    thread->clients = calloc(clients, sizeof *thread->clients);
    thread->rings = calloc((size_t)clients * thread->pipeline, sizeof *thread->rings);
    if (RV_H2_BUILT && plan->http2)
        thread->h2_memory = rv_h2_memory_new();
    if (thread->clients == NULL || thread->rings == NULL ||
        (plan->http2 && thread->h2_memory == NULL)) {
        rv_load_thread_close(thread);
        return RV_ENOMEM;
    }
    for (uint32_t i = 0; i < clients && error == 0; i++)
        error = rv_client_init(&thread->clients[i], thread,
                               thread->rings + (size_t)i * thread->pipeline,
                               i * shared->threads + index);
    if (error != 0)
        rv_load_thread_close(thread);
    return error;
}

void rv_load_thread_close(struct rv_load_thread *thread)
{
    if (thread->clients != NULL)
        for (uint32_t i = 0; i < thread->client_count; i++)
            rv_client_free(&thread->clients[i]);
    if (RV_H2_BUILT)
        rv_h2_memory_free(thread->h2_memory);
    free(thread->clients);
    free(thread->rings);
    rv_loop_close(&thread->loop);
    rv_recorder_free(&thread->recorder);
}

/* ---- who may start a request ---------------------------------------------------------------------------- */

/* Takes a share of what is left of plan->requests_max: small ones towards the end, so that all threads end
   together. */
static bool renew_lease(struct rv_load_thread *thread)
{
    struct rv_load_shared *shared = thread->shared;
    uint64_t left = atomic_load_explicit(&shared->requests_left, memory_order_relaxed);
    for (;;) {
        uint64_t share = left / (shared->threads * 16ul);
        share = share < 1 ? 1 : share;
        share = share > LEASE_MAX ? LEASE_MAX : share;
        if (left == 0)
            return false;
        if (atomic_compare_exchange_weak_explicit(&shared->requests_left, &left, left - share,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            thread->lease = share;
            return true;
        }
    }
}

/* May one more request begin? Counts it when it may. */
static bool lease(struct rv_load_thread *thread)
{
    if (thread->stopping || thread->out_of_requests)
        return false;
    if (thread->plan->requests_max == 0)
        return true;
    if (thread->lease == 0 && !renew_lease(thread)) {
        thread->out_of_requests = true;
        return false;
    }
    thread->lease--;
    return true;
}

/* ---- the closed model ------------------------------------------------------------------------------------ */

/* Nothing more is to be had for this client. What it holds open could keep others from being served. */
static void retire(struct rv_load_thread *thread, struct rv_client *client)
{
    if (rv_client_busy(client) > 0 || client->retired)
        return; /* asked again when the last one is answered */
    client->retired = true;
    thread->retired++;
    rv_client_close(client);
}

/* Takes one of the client's requests, or retires the client. */
static bool may_go_on(struct rv_load_thread *thread, struct rv_client *client)
{
    if (client->quota_left == 0 || !lease(thread)) {
        retire(thread, client);
        return false;
    }
    client->quota_left--;
    return true;
}

/* Only a client that has another request ahead thinks about it. */
static void next_closed(struct rv_load_thread *thread, struct rv_client *client, uint64_t now_us)
{
    while (rv_client_has_room(client) && may_go_on(thread, client)) {
        if (thread->plan->think_us > 0) {
            client->rest_us = now_us + thread->plan->think_us;
            queue_append(&thread->resting, client);
            return;
        }
        rv_client_start(client, now_us, now_us);
    }
}

/* However fast the others are, every client takes part: its first request was set aside for it. */
static void begin_client(struct rv_load_thread *thread, struct rv_client *client, uint64_t now_us)
{
    if (thread->firsts == 0) {
        retire(thread, client);
        return;
    }
    thread->firsts--;
    client->quota_left--;
    rv_client_start(client, now_us, now_us);
    if (rv_client_busy(client) > 0)
        next_closed(thread, client, now_us);
}

static void begin_clients(struct rv_load_thread *thread, uint64_t now_us)
{
    for (unsigned i = 0; i < START_BATCH && thread->untouched > 0; i++) {
        uint32_t next = thread->client_count - thread->untouched;
        thread->untouched--;
        begin_client(thread, &thread->clients[next], now_us);
    }
}

static void wake_resting(struct rv_load_thread *thread, uint64_t now_us)
{
    while (thread->resting.first != NULL && thread->resting.first->rest_us <= now_us)
        rv_client_start(queue_take(&thread->resting), now_us, now_us);
}

/* ---- the open model -------------------------------------------------------------------------------------- */

static void add_to_free(struct rv_load_thread *thread, struct rv_client *client)
{
    if (client->in_free || client->state == RV_CLIENT_WAITING)
        return; /* a client that pauses after a failure comes back when that is over */
    client->in_free = true;
    client->next = thread->free;
    thread->free = client;
}

/* Does its connection carry several exchanges, none of which waits for another? */
static bool shares(const struct rv_client *client)
{
    return client->h2 != NULL;
}

/* Those that cannot take anything just now come back with their next answer. */
static void drop_unfit(struct rv_load_thread *thread)
{
    struct rv_client *client;
    while ((client = thread->free) != NULL &&
           (client->state == RV_CLIENT_WAITING || !rv_client_has_room(client))) {
        thread->free = client->next;
        client->in_free = false;
    }
}

/* A client for one more request: one that was used, or one that was not yet. One whose connection is shared
   stays in the list until it is full. */
static struct rv_client *take_free(struct rv_load_thread *thread)
{
    struct rv_client *client = thread->free;
    if (client == NULL && thread->untouched > 0) {
        client = &thread->clients[thread->client_count - thread->untouched];
        thread->untouched--;
        if (shares(client))
            add_to_free(thread, client);
    } else if (client != NULL && !shares(client)) {
        thread->free = client->next;
        client->in_free = false;
    }
    return client;
}

static bool has_free(struct rv_load_thread *thread)
{
    drop_unfit(thread);
    return thread->free != NULL || thread->untouched > 0;
}

/* Starts what is due, as far as there are clients for it. */
static void start_due(struct rv_load_thread *thread, uint64_t now_us)
{
    struct rv_load_result *result = &thread->recorder.result;
    for (;;) {
        uint64_t due_us = rv_pace_due_us(&thread->pace);
        if (due_us > now_us || due_us >= thread->deadline_us)
            return;
        if (!has_free(thread)) {
            thread->starved_us = now_us;
            return;
        }
        if (!lease(thread))
            return;
        result->queued += due_us <= thread->starved_us;
        rv_pace_advance(&thread->pace);
        rv_client_start(take_free(thread), due_us, now_us);
    }
}

static void next_open(struct rv_load_thread *thread, struct rv_client *client, uint64_t now_us)
{
    if (!has_free(thread))
        thread->starved_us = now_us;
    if (rv_client_has_room(client))
        add_to_free(thread, client);
    start_due(thread, now_us);
}

void rv_load_thread_next(struct rv_load_thread *thread, struct rv_client *client, uint64_t now_us)
{
    if (thread->plan->model == RV_LOAD_OPEN)
        next_open(thread, client, now_us);
    else
        next_closed(thread, client, now_us);
}

/* ---- opening connections --------------------------------------------------------------------------------- */

static uint64_t opening_due_us(const struct rv_load_thread *thread)
{
    return thread->start_us + (uint64_t)thread->opening_at_us;
}

void rv_load_thread_want_open(struct rv_load_thread *thread, struct rv_client *client,
                              uint64_t now_us)
{
    if (thread->opening_period_us == 0) {
        rv_client_open(client, now_us);
        return;
    }
    /* What nobody wanted for a while is not made up for. */
    double oldest_us = (double)(now_us - thread->start_us) - CATCH_UP_US;
    if (thread->opening.first == NULL && thread->opening_at_us < oldest_us)
        thread->opening_at_us = oldest_us;
    client->state = RV_CLIENT_WAITING;
    queue_append(&thread->opening, client);
}

static void open_in_turn(struct rv_load_thread *thread, uint64_t now_us)
{
    while (thread->opening.first != NULL && opening_due_us(thread) <= now_us) {
        thread->opening_at_us += thread->opening_period_us;
        rv_client_take_turn(queue_take(&thread->opening), now_us);
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------- */

void rv_load_thread_begin(struct rv_load_thread *thread, uint64_t start_us, uint64_t wall_us)
{
    const struct rv_load_plan *plan = thread->plan;
    thread->start_us = start_us;
    thread->deadline_us = plan->duration_us == 0 ? UINT64_MAX : start_us + plan->duration_us;
    rv_recorder_start(&thread->recorder, start_us, wall_us);
    if (plan->model == RV_LOAD_OPEN)
        rv_pace_start(&thread->pace, plan, thread->index, thread->shared->threads, start_us);
}

static bool failed_enough(const struct rv_load_thread *thread)
{
    const struct rv_load_plan *plan = thread->plan;
    const struct rv_recorder_view *view = &thread->recorder.view;
    return (plan->connect_failures_max > 0 &&
            view->connect_failures >= plan->connect_failures_max) ||
           (plan->receive_failures_max > 0 && view->receive_failures >= plan->receive_failures_max);
}

static bool is_over(const struct rv_load_thread *thread, uint64_t now_us)
{
    if (thread->stopping || now_us >= thread->deadline_us || failed_enough(thread))
        return true;
    if (thread->plan->model == RV_LOAD_OPEN)
        return thread->out_of_requests && thread->exchanges == 0;
    return thread->retired == thread->client_count;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When there is something to do even if nothing arrives. */
static uint64_t next_us(struct rv_load_thread *thread)
{
    uint64_t next = thread->deadline_us;
    if (thread->resting.first != NULL)
        next = earlier(next, thread->resting.first->rest_us);
    if (thread->opening.first != NULL)
        next = earlier(next, opening_due_us(thread));
    if (thread->plan->model == RV_LOAD_OPEN && has_free(thread) && !thread->out_of_requests)
        next = earlier(next, rv_pace_due_us(&thread->pace));
    return next;
}

static void account(struct rv_load_thread *thread, uint64_t now_us)
{
    uint64_t octets = thread->loop.octets_received - thread->counted_octets;
    if (octets > 0) {
        thread->counted_octets += octets;
        rv_recorder_received(&thread->recorder, octets, now_us);
    }
    rv_recorder_publish(&thread->recorder);
}

bool rv_load_thread_turn(struct rv_load_thread *thread)
{
    bool is_open = thread->plan->model == RV_LOAD_OPEN;
    uint64_t now_us = rv_load_now_us(thread);
    if (!is_open && thread->untouched > 0)
        begin_clients(thread, now_us);
    wake_resting(thread, now_us);
    open_in_turn(thread, now_us);
    if (is_open)
        start_due(thread, now_us);
    account(thread, now_us);
    if (is_over(thread, now_us))
        return false;
    uint64_t next = next_us(thread);
    thread->loop.alarm_ns = next == UINT64_MAX ? UINT64_MAX : next * 1000;
    rv_loop_turn(&thread->loop, !is_open && thread->untouched > 0 ? 0 : UINT64_MAX);
    thread->turns++;
    return true;
}

void rv_load_thread_finish(struct rv_load_thread *thread)
{
    struct rv_load_result *result = &thread->recorder.result;
    uint64_t now_us = rv_load_now_us(thread);
    bool cut_short = thread->stopping || now_us >= thread->deadline_us;
    thread->end_us = cut_short ? now_us : thread->recorder.last_us;
    thread->stopping = true;
    thread->loop.alarm_ns = UINT64_MAX;
    if (thread->plan->model == RV_LOAD_OPEN && !thread->out_of_requests) {
        result->not_started = rv_pace_give_up(&thread->pace, earlier(now_us, thread->deadline_us));
        result->due += result->not_started;
    }
    for (uint32_t i = 0; i < thread->client_count; i++)
        rv_client_stop(&thread->clients[i], now_us);
    rv_loop_turn(&thread->loop, 0);
    account(thread, now_us);
}
