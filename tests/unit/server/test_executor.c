/*
 * Facts about a program's own executors (rv_executor of rivulet.h), and about talks that are suspended
 * again and again.
 */
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- an executor: a thread for each job, at most so many ------------------------------------------ */

#define THREADS_MAX 16

struct threads {
    pthread_t threads[THREADS_MAX];
    unsigned count, most;
    pthread_t last;
};

struct job {
    void (*run)(void *arg);
    void *arg;
};

static void *run_job(void *argument)
{
    struct job job = *(struct job *)argument;
    free(argument);
    job.run(job.arg);
    return NULL;
}

static rv_error submit(void (*run)(void *arg), void *arg, void *ctx)
{
    struct threads *threads = ctx;
    if (threads->count == threads->most)
        return RV_EBUSY;
    struct job *job = malloc(sizeof *job);
    assert_non_null(job);
    *job = (struct job){run, arg};
    assert_int_equal(pthread_create(&threads->threads[threads->count++], NULL, run_job, job), 0);
    return RV_OK;
}

static void end_threads(struct threads *threads)
{
    for (unsigned i = 0; i < threads->count; i++)
        pthread_join(threads->threads[i], NULL);
    threads->count = 0;
}

static int name_thread(rv_talk *talk, void *ctx)
{
    struct threads *threads = ctx;
    threads->last = pthread_self();
    rv_bytes body = rv_body(talk);
    return rv_reply(talk, 200, "text/plain", body);
}

static void handlers_run_where_the_executor_runs_them(void **state)
{
    (void)state;
    struct threads threads = {.most = THREADS_MAX};
    route_with("POST /x", name_thread, &threads,
               (rv_route_options){.body = RV_BODY_STREAMED, .executor = {submit, &threads}});
    for (int round = 0; round < 3; round++) {
        say("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
        expect_answer(200, "body");
        assert_true(pthread_equal(threads.last, threads.threads[round]));
        assert_false(pthread_equal(threads.last, pthread_self()));
    }
    end_threads(&threads);
}

static void an_executor_that_takes_no_more_is_a_503(void **state)
{
    (void)state;
    struct threads threads = {.most = 1};
    route_with("GET /x", name_thread, &threads, (rv_route_options){.executor = {submit, &threads}});
    get("/x");
    expect_answer(200, "");
    get("/x");
    expect_status(503);
    expect_field("Retry-After", "1");
    assert_int_equal(COUNTER(pool_queue_full), 1);
    end_threads(&threads);
}

static int write_much(rv_talk *talk, void *ctx)
{
    static const char octets[10000];
    (void)ctx;
    rv_begin(talk, 200);
    for (int i = 0; i < 100; i++)
        if (rv_write(talk, (rv_bytes){octets, sizeof octets}) < 0)
            return RV_EGONE;
    return RV_OK;
}

static void a_streamed_answer_comes_from_an_executor_as_well(void **state)
{
    (void)state;
    struct threads threads = {.most = 1};
    route_with("GET /x", write_much, NULL, (rv_route_options){.executor = {submit, &threads}});
    get("/x");
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 1000000);
    end_threads(&threads);
}

static bool by_executor(rv_talk *talk, rv_resolution *found, void *ctx)
{
    (void)talk;
    found->handler = name_thread;
    found->ctx = ctx;
    found->options.executor = (rv_executor){submit, ctx};
    return true;
}

static void a_callback_may_name_an_executor(void **state)
{
    (void)state;
    struct threads threads = {.most = 1};
    rv_app_set(rv_default_app(tested), &(rv_app_options){.resolve = by_executor, .ctx = &threads});
    get("/any");
    expect_answer(200, "");
    assert_true(pthread_equal(threads.last, threads.threads[0]));
    end_threads(&threads);
}

/* ---- many rounds ------------------------------------------------------------------------------------ */

#define ROUNDS 200

struct poll {
    rv_handle handle;
    unsigned rounds;
};

static int wait_again(rv_talk *talk, void *value)
{
    struct poll *poll = value;
    if (++poll->rounds == ROUNDS)
        return rv_text(talk, 200, "at last");
    poll->handle = rv_suspend(talk);
    return RV_PENDING;
}

static int wait_first(rv_talk *talk, void *ctx)
{
    struct poll *poll = ctx;
    poll->handle = rv_suspend(talk);
    return RV_PENDING;
}

static void *resume_once(void *argument)
{
    struct poll *poll = argument;
    assert_int_equal(rv_resume(tested, poll->handle, wait_again, poll), 0);
    return NULL;
}

static void a_poll_waits_any_number_of_rounds_from_any_thread(void **state)
{
    (void)state;
    struct poll poll = {0};
    route("GET /poll", wait_first, &poll);
    get("/poll");
    while (poll.rounds < ROUNDS) {
        pthread_t thread;
        unsigned before = poll.rounds;
        assert_int_equal(pthread_create(&thread, NULL, resume_once, &poll), 0);
        pthread_join(thread, NULL);
        rv_test_settle(client());
        assert_int_equal(poll.rounds, before + 1);
    }
    expect_answer(200, "at last");
    assert_int_equal(rv_resume(tested, poll.handle, wait_again, &poll), RV_OK);
    rv_test_settle(client()); /* with no talk: it is no more */
    assert_int_equal(poll.rounds, ROUNDS + 1);
}

/* A chat: each client's answer goes on for as long as it listens. */
static rv_handle listeners[2];
static unsigned gone;

static void leave(void *ctx)
{
    (void)ctx;
    gone++;
}

static int listen_to(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("hello\n"));
    rv_on_gone(talk, leave, NULL);
    listeners[rv_equals(rv_query(talk), "1")] = rv_suspend(talk);
    return RV_PENDING;
}

static int hear(rv_talk *talk, void *value)
{
    if (talk == NULL)
        return RV_OK;
    if (value == NULL)
        return RV_OK; /* ended */
    rv_write(talk, rv_str(value));
    return RV_PENDING;
}

static void *tell_all(void *line)
{
    for (int i = 0; i < 2; i++)
        rv_resume(tested, listeners[i], hear, line);
    return NULL;
}

static void tell(const char *line)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, tell_all, (void *)(uintptr_t)line), 0);
    pthread_join(thread, NULL);
    rv_test_settle(client());
}

static void a_chat_goes_on_in_chunks_for_many_rounds(void **state)
{
    (void)state;
    route("GET /chat", listen_to, NULL);
    gone = 0;
    get("/chat");
    as(1);
    get("/chat?1");
    for (int round = 0; round < ROUNDS; round++)
        tell("line\n");
    rv_test_reset(client());
    as(0);
    rv_test_settle(client());
    assert_int_equal(gone, 1);
    tell("to one\n");
    assert_int_equal(rv_resume(tested, listeners[1], hear, NULL), RV_OK);
    tell(NULL);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 6 + 5 * ROUNDS + 7);
    assert_int_equal(gone, 1);
    get("/none");
    expect_status(404);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(handlers_run_where_the_executor_runs_them),
        FACT(an_executor_that_takes_no_more_is_a_503),
        FACT(a_streamed_answer_comes_from_an_executor_as_well),
        FACT(a_callback_may_name_an_executor),
        FACT(a_poll_waits_any_number_of_rounds_from_any_thread),
        FACT(a_chat_goes_on_in_chunks_for_many_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
