/*
 * Threads, and the one who watches over them (engine.h). What a thread does is thread.c's.
 */
#include "load/engine.h"

#include "io/backend.h"
#include "load/describe.h"
#include "load/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* How often the accept queue is looked at, and the progress of the threads. A look costs some 30
   microseconds with the waking up, on the client's account: it is often only while connections are being
   opened, when there is something to see. */
#define SAMPLE_OPENING_MS 1
#define SAMPLE_STORM_US 3000000 /* ... and the run is this young */
#define SAMPLE_MS 20

struct run {
    const struct rv_load_plan *plan;
    struct rv_load_shared shared;
    struct worker *workers; /* owned; one for each thread */
    unsigned opened;        /* of them, those that are open */
    unsigned started;
    int ended;             /* eventfd: counts the threads that have ended */
    unsigned gone;         /* threads that have ended, as far as is known */
    pthread_mutex_t mutex; /* of `go` */
    pthread_cond_t changed;
    enum { GO_WAIT, GO_RUN, GO_HOME } go;
    uint64_t start_us;
    uint64_t wall_us;
    enum rv_load_end end;
    uint64_t last_answered, last_tick_us; /* of on_progress */
};

struct worker {
    struct rv_load_thread thread;
    struct run *run;
    pthread_t id;
};

static uint64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- a thread ------------------------------------------------------------------------------------------- */

/* False: the run does not take place. */
static bool wait_for_start(struct run *run)
{
    pthread_mutex_lock(&run->mutex);
    while (run->go == GO_WAIT)
        pthread_cond_wait(&run->changed, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
    return run->go == GO_RUN;
}

static void *run_thread(void *arg)
{
    struct worker *worker = arg;
    struct run *run = worker->run;
    if (!wait_for_start(run))
        return NULL;
    uint64_t cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    rv_load_thread_begin(&worker->thread, run->start_us, run->wall_us);
    while (rv_load_thread_turn(&worker->thread))
        ;
    rv_load_thread_finish(&worker->thread);
    worker->thread.cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu_us;
    uint64_t one = 1;
    ssize_t ignored = write(run->ended, &one, sizeof one);
    (void)ignored; /* it cannot fail: the counter is far from full */
    return NULL;
}

/* The nth CPU of a set, in turn; -1: the set is empty. */
static int nth_cpu(const cpu_set_t *cpus, unsigned n)
{
    unsigned count = (unsigned)CPU_COUNT(cpus);
    if (count == 0)
        return -1;
    unsigned before = n % count;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus) && before-- == 0)
            return (int)cpu;
    return -1;
}

static int create_thread(struct worker *worker)
{
    const struct rv_load_plan *plan = worker->run->plan;
    int cpu = nth_cpu(&plan->cpus, worker->thread.index);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    }
    int error = pthread_create(&worker->id, &attributes, run_thread, worker);
    pthread_attr_destroy(&attributes);
    return error;
}

/* ---- the run ---------------------------------------------------------------------------------------------- */

/* Clients of thread `index`: as even as can be. */
static uint32_t clients_of(const struct rv_load_plan *plan, unsigned index)
{
    return plan->clients / plan->threads + (index < plan->clients % plan->threads);
}

static rv_error open_threads(struct run *run)
{
    run->workers = calloc(run->shared.threads, sizeof *run->workers);
    if (run->workers == NULL)
        return RV_ENOMEM;
    for (unsigned i = 0; i < run->shared.threads; i++) {
        struct worker *worker = &run->workers[i];
        worker->run = run;
        rv_error error = rv_load_thread_open(&worker->thread, &run->shared, &rv_backend_epoll, i,
                                             clients_of(run->plan, i));
        if (error != 0)
            return error;
        run->opened++;
    }
    return 0;
}

static void release_threads(struct run *run, bool really)
{
    pthread_mutex_lock(&run->mutex);
    run->wall_us = clock_us(CLOCK_REALTIME);
    run->start_us = clock_us(CLOCK_MONOTONIC);
    run->go = really ? GO_RUN : GO_HOME;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->mutex);
}

static void join_threads(struct run *run)
{
    for (unsigned i = 0; i < run->started; i++)
        pthread_join(run->workers[i].id, NULL);
}

/* Starts them all, or none: a thread that cannot be had is a run that cannot be. Signals stay with the
   calling thread. */
static rv_error start_threads(struct run *run)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    for (unsigned i = 0; i < run->shared.threads && error == 0; i++) {
        error = create_thread(&run->workers[i]);
        run->started += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    release_threads(run, error == 0);
    if (error == 0)
        return 0;
    join_threads(run);
    return error == ENOMEM ? RV_ENOMEM : RV_EIO;
}

static void stop_threads(struct run *run, enum rv_load_end end)
{
    if (run->end != RV_END_DONE)
        return;
    run->end = end;
    for (unsigned i = 0; i < run->shared.threads; i++) {
        struct rv_load_thread *thread = &run->workers[i].thread;
        rv_loop_post(&thread->loop, &thread->stop);
    }
}

static uint64_t load(const _Atomic uint64_t *place)
{
    return atomic_load_explicit(place, memory_order_relaxed);
}

struct totals {
    uint64_t answered, failed, p99_us;
    uint64_t connects, connect_failures, receive_failures, clients_refused;
};

static struct totals totals_of(const struct run *run)
{
    struct totals sum = {0};
    for (unsigned i = 0; i < run->shared.threads; i++) {
        const struct rv_recorder_view *view = &run->workers[i].thread.recorder.view;
        uint64_t p99_us = load(&view->p99_us);
        sum.answered += load(&view->answered);
        sum.failed += load(&view->failed);
        sum.connects += load(&view->connects);
        sum.connect_failures += load(&view->connect_failures);
        sum.receive_failures += load(&view->receive_failures);
        sum.clients_refused += load(&view->clients_refused);
        sum.p99_us = p99_us > sum.p99_us ? p99_us : sum.p99_us;
    }
    return sum;
}

/* ---- watching ---------------------------------------------------------------------------------------------- */

static uint64_t clients_that_begin(const struct rv_load_plan *plan)
{
    bool few = plan->requests_max > 0 && plan->requests_max < plan->clients;
    return few ? plan->requests_max : plan->clients;
}

static bool failed_too_often(const struct rv_load_plan *plan, const struct totals *sum)
{
    return (plan->connect_failures_max > 0 &&
            sum->connect_failures >= plan->connect_failures_max) ||
           (plan->receive_failures_max > 0 && sum->receive_failures >= plan->receive_failures_max);
}

static void give_up_when_hopeless(struct run *run, const struct totals *sum)
{
    const struct rv_load_plan *plan = run->plan;
    if (plan->give_up_unreached && sum->connects == 0 &&
        sum->clients_refused >= clients_that_begin(plan))
        stop_threads(run, RV_END_UNREACHED);
    if (failed_too_often(plan, sum))
        stop_threads(run, RV_END_FAILURES);
}

/* The share of the run that is behind us; < 0: not known. */
static double done_share(const struct rv_load_plan *plan, const struct totals *sum,
                         uint64_t elapsed_us)
{
    double ended = (double)(sum->answered + sum->failed);
    double done = -1;
    if (plan->duration_us > 0)
        done = (double)elapsed_us / (double)plan->duration_us;
    if (plan->requests_max > 0 && ended / (double)plan->requests_max > done)
        done = ended / (double)plan->requests_max;
    if (plan->quota > 0 && ended / (double)plan->quota / plan->clients > done)
        done = ended / (double)plan->quota / plan->clients;
    return done > 1 ? 1 : done;
}

static void tell_progress(struct run *run, const struct rv_load_watch *watch,
                          const struct totals *sum, uint64_t now_us)
{
    uint64_t elapsed_us = now_us - run->start_us;
    uint64_t tick_us = now_us - run->last_tick_us;
    double done = done_share(run->plan, sum, elapsed_us);
    struct rv_load_progress progress = {
        .elapsed_us = elapsed_us,
        .answered = sum->answered,
        .failed = sum->failed,
        .p99_us = sum->p99_us,
        .left_us = UINT64_MAX,
    };
    progress.rate_per_s = (double)(sum->answered - run->last_answered) * 1e6 / (double)tick_us;
    if (done > 0)
        progress.left_us = (uint64_t)((double)elapsed_us * (1 - done) / done + 0.5);
    run->last_answered = sum->answered;
    run->last_tick_us = now_us;
    watch->on_progress(&progress, watch->ctx);
}

/* Waits a little, or until a thread ends. */
static void wait_a_little(struct run *run, int ms)
{
    struct pollfd ended = {.fd = run->ended, .events = POLLIN};
    uint64_t count;
    if (poll(&ended, 1, ms) == 1 && read(run->ended, &count, sizeof count) == sizeof count)
        run->gone += (unsigned)count;
}

static void watch_over(struct run *run, struct rv_probe *probe, const struct rv_load_watch *watch)
{
    bool has_progress = watch != NULL && watch->tick_ms > 0 && watch->on_progress != NULL;
    bool opening = true;
    uint64_t connects = 0;
    run->last_tick_us = run->start_us;
    while (run->gone < run->shared.threads) {
        wait_a_little(run, opening ? SAMPLE_OPENING_MS : SAMPLE_MS);
        if (probe != NULL)
            rv_probe_sample(probe);
        uint64_t now_us = clock_us(CLOCK_MONOTONIC);
        struct totals sum = totals_of(run);
        opening = sum.connects != connects && now_us - run->start_us < SAMPLE_STORM_US;
        connects = sum.connects;
        give_up_when_hopeless(run, &sum);
        if (watch != NULL && watch->stop != NULL && *watch->stop != 0)
            stop_threads(run, RV_END_INTERRUPTED);
        if (has_progress && now_us - run->last_tick_us >= (uint64_t)watch->tick_ms * 1000)
            tell_progress(run, watch, &sum, now_us);
    }
}

/* ---- the result ---------------------------------------------------------------------------------------------- */

static enum rv_load_end end_of(const struct run *run)
{
    struct totals sum = totals_of(run);
    if (run->end == RV_END_DONE && failed_too_often(run->plan, &sum))
        return RV_END_FAILURES;
    return run->end;
}

static void add_client_evidence(const struct run *run, const struct rv_probe *probe,
                                struct rv_evidence *evidence)
{
    cpu_set_t cpus = run->plan->cpus;
    if (CPU_COUNT(&cpus) == 0)
        sched_getaffinity(0, sizeof cpus, &cpus);
    evidence->cpus_client = (uint32_t)CPU_COUNT(&cpus);
    evidence->cpus_shared = probe == NULL ? 0 : rv_probe_cpus_shared(probe, &cpus);
    evidence->thread_count = run->shared.threads;
    for (unsigned i = 0; i < run->shared.threads; i++) {
        const struct rv_load_thread *thread = &run->workers[i].thread;
        evidence->client_cpu_us += thread->cpu_us;
        evidence->turns += thread->turns;
        if (i < RV_EVIDENCE_THREADS_MAX)
            evidence->thread_cpu_us[i] = thread->cpu_us;
    }
}

static rv_error gather(struct run *run, struct rv_probe *probe, struct rv_load_result *result)
{
    struct rv_recorder **recorders = calloc(run->shared.threads, sizeof *recorders);
    if (recorders == NULL)
        return RV_ENOMEM;
    uint64_t end_us = run->start_us;
    for (unsigned i = 0; i < run->shared.threads; i++) {
        recorders[i] = &run->workers[i].thread.recorder;
        if (run->workers[i].thread.end_us > end_us)
            end_us = run->workers[i].thread.end_us;
    }
    result->elapsed_us = end_us - run->start_us;
    result->started_us = run->wall_us;
    result->end = end_of(run);
    rv_error error = rv_recorders_merge(recorders, run->shared.threads, result);
    free(recorders);
    if (error != 0)
        return error;
    if (probe != NULL)
        rv_probe_finish(probe, &result->evidence);
    add_client_evidence(run, probe, &result->evidence);
    return rv_load_describe(run->plan, result);
}

static rv_error run_plan(struct run *run, struct rv_probe *probe, const struct rv_load_watch *watch,
                         struct rv_load_result *result)
{
    rv_error error = open_threads(run);
    if (error == 0)
        error = start_threads(run);
    if (error != 0)
        return error;
    watch_over(run, probe, watch);
    join_threads(run);
    return gather(run, probe, result);
}

static void free_run(struct run *run)
{
    for (unsigned i = 0; i < run->opened; i++)
        rv_load_thread_close(&run->workers[i].thread);
    free(run->workers);
    pthread_mutex_destroy(&run->mutex);
    pthread_cond_destroy(&run->changed);
    close(run->ended);
}

rv_error rv_load_run(const struct rv_load_plan *plan, struct rv_probe *probe,
                     const struct rv_load_watch *watch, struct rv_load_result *result, char *why)
{
    struct run run = {
        .plan = plan,
        .shared = {.plan = plan, .threads = plan->threads, .requests_left = plan->requests_max},
        .ended = eventfd(0, EFD_CLOEXEC),
    };
    rv_error error = run.ended < 0 ? RV_EFILES : rv_load_result_init(result);
    if (error != 0) {
        if (run.ended >= 0)
            close(run.ended);
        snprintf(why, RV_TARGET_WHY_MAX, "the run cannot begin: %s", rv_strerror(error));
        return error;
    }
    pthread_mutex_init(&run.mutex, NULL);
    pthread_cond_init(&run.changed, NULL);
    error = run_plan(&run, probe, watch, result);
    if (error != 0) {
        snprintf(why, RV_TARGET_WHY_MAX, "the run with %u threads and %u clients failed: %s",
                 plan->threads, plan->clients, rv_strerror(error));
        rv_load_result_free(result);
    }
    free_run(&run);
    return error;
}
