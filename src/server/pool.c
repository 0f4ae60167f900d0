/*
 * The pool's queue and threads (pool.h). One mutex guards the queue; a job is in it once, through its
 * own link, so that queueing allocates nothing.
 */
#include "server/pool.h"

#include "server/reply.h"
#include "server/wire.h"

#include <signal.h>
#include <stdlib.h>

struct rv_pool {
    rv_server *server;
    pthread_mutex_t mutex; /* guards everything below */
    pthread_cond_t work;
    struct rv_pool_job *first;
    struct rv_pool_job *last;
    uint64_t queued;
    unsigned idle; /* threads that wait */
    bool stopping;
    unsigned thread_count;
    pthread_t threads[];
};

/* ---- threads ---------------------------------------------------------------------------------------- */

static struct rv_pool_job *next_job(struct rv_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->idle++;
    while (pool->first == NULL && !pool->stopping)
        pthread_cond_wait(&pool->work, &pool->mutex);
    pool->idle--;
    struct rv_pool_job *job = pool->first;
    if (job != NULL) {
        pool->first = job->next;
        pool->queued--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return job;
}

static void run_talk(void *job)
{
    struct rv_talk *talk = job;
    talk->job_result = talk->job(talk, talk->job_ctx);
    rv_loop_post(&talk->worker->loop, &talk->finished); /* the talk is the worker's again */
}

static void *thread_body(void *argument)
{
    struct rv_pool *pool = argument;
    struct rv_pool_job *job;
    while ((job = next_job(pool)) != NULL)
        job->run(job->argument);
    return NULL;
}

unsigned rv_pool_threads(const struct rv_pool *pool)
{
    return pool == NULL ? 0 : pool->thread_count;
}

struct rv_pool *rv_pool_start(rv_server *server, unsigned threads)
{
    struct rv_pool *pool = calloc(1, sizeof *pool + threads * sizeof(pthread_t));
    if (pool == NULL)
        return NULL;
    pool->server = server;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    /* Signals belong to the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->thread_count < threads &&
           pthread_create(&pool->threads[pool->thread_count], NULL, thread_body, pool) == 0)
        pool->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->thread_count < threads) {
        rv_pool_stop(pool);
        return NULL;
    }
    return pool;
}

void rv_pool_stop(struct rv_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

/* ---- there and back --------------------------------------------------------------------------------- */

/* Under the mutex. */
static void enqueue(struct rv_pool *pool, struct rv_pool_job *job)
{
    job->next = NULL;
    if (pool->first == NULL)
        pool->first = job;
    else
        pool->last->next = job;
    pool->last = job;
    pool->queued++;
    pthread_cond_signal(&pool->work);
}

static bool enqueue_talk(struct rv_pool *pool, struct rv_talk *talk)
{
    uint64_t most = pool->server->options.limits.pool_queue_max;
    talk->queued = (struct rv_pool_job){NULL, run_talk, talk};
    pthread_mutex_lock(&pool->mutex);
    /* A thread that waits will take one at once: only what is beyond that is waiting. */
    bool admitted = pool->queued < pool->idle || pool->queued - pool->idle < most;
    if (admitted)
        enqueue(pool, &talk->queued);
    pthread_mutex_unlock(&pool->mutex);
    return admitted;
}

void rv_pool_do(struct rv_pool *pool, struct rv_pool_job *job)
{
    pthread_mutex_lock(&pool->mutex);
    enqueue(pool, job);
    pthread_mutex_unlock(&pool->mutex);
}

/* To the executor of the talk's route, by default the pool. False: it takes no more. */
static bool submit(struct rv_talk *talk)
{
    const rv_executor *executor = &talk->route->options.executor;
    if (executor->submit == NULL)
        return enqueue_talk(talk->worker->server->pool, talk);
    return executor->submit(run_talk, talk, executor->ctx) == RV_OK;
}

/* Sends what the handler has left to the worker. What it has returned, or what became of that. */
static int say_what_is_left(struct rv_talk *talk)
{
    const struct rv_content *content = talk->content;
    talk->content = NULL;
    if (content != NULL) {
        rv_error error = rv_answer_send(talk, talk->content_type, content);
        return error == 0 ? talk->job_result : error;
    }
    if (talk->response != RV_RESPONSE_ENDED)
        return talk->job_result;
    /* rv_end was called over there */
    talk->response = talk->head_sent ? RV_RESPONSE_OPEN : RV_RESPONSE_BEGUN;
    return talk->job_result < 0 ? talk->job_result : RV_OK;
}

/* The handler has returned. Worker thread. */
static void finished(struct rv_message *message, void *owner)
{
    struct rv_talk *talk = (struct rv_talk *)((char *)message - offsetof(struct rv_talk, finished));
    struct rv_worker *worker = owner;
    worker->pool_talks--;
    talk->on_pool = false;
    talk->running = false;
    rv_channel_close(talk);
    if (talk->conn == NULL) {
        if (talk->content != NULL)
            rv_content_drop(talk->content);
        rv_talk_give(talk);
        return;
    }
    rv_talk_settle(talk, say_what_is_left(talk));
    rv_talk_run_early_resumes(talk);
    rv_talk_advance(talk);
}

void rv_pool_run(struct rv_talk *talk, rv_handler handler, void *ctx)
{
    struct rv_worker *worker = talk->worker;
    /* Nouns that read the connection: their answers must be there already. */
    rv_peer(talk);
    rv_tls(talk);
    if (!rv_talk_keep(talk)) {
        rv_talk_fail(talk, RV_ENOMEM, "while keeping a request for the pool");
        return;
    }
    talk->job = handler;
    talk->job_ctx = ctx;
    talk->finished.run = finished;
    talk->on_pool = true;
    talk->running = true;
    rv_channel_open(talk);
    worker->pool_talks++;
    if (talk->channel != NULL && submit(talk))
        return;
    worker->pool_talks--;
    talk->on_pool = false;
    talk->running = false;
    rv_channel_close(talk);
    RV_COUNT(worker, pool_queue_full);
    rv_set_header(talk, "Retry-After", "1");
    rv_problem(talk, 503, "Too many requests are waiting.");
}

/* ---- whole answers ---------------------------------------------------------------------------------- */

rv_error rv_pool_leave_answer(struct rv_talk *talk, const char *content_type,
                              const struct rv_content *content)
{
    struct rv_content *copy = rv_arena_alloc(&talk->arena, sizeof *copy);
    char *type = rv_arena_copy(&talk->arena, rv_str(content_type == NULL ? "" : content_type));
    if (copy != NULL)
        *copy = *content;
    if (copy != NULL && content->kind == RV_CONTENT_COPIED) {
        char *octets = rv_arena_copy(&talk->arena, content->octets);
        copy->octets.ptr = octets;
        if (octets == NULL)
            copy = NULL;
    }
    if (copy == NULL || type == NULL) {
        rv_content_drop(content);
        talk->response = RV_RESPONSE_NONE;
        return RV_ENOMEM;
    }
    talk->content = copy;
    talk->content_type = content_type == NULL ? NULL : type;
    return 0;
}
