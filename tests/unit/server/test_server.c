/*
 * Facts about a server that runs: handlers of every kind under several clients at once, stopping,
 * running again, signals, two servers in one process. Real sockets and threads; tests/e2e looks at the
 * same from outside of the process. How it starts: test_server_start.c; when it is full:
 * test_server_full.c.
 */
#include "support/served.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct served served, other;

/* ---- handlers ---------------------------------------------------------------------------------- */

static int stream_number(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, rv_param(talk, "number"));
    rv_write(talk, RV_LIT(","));
    return rv_write(talk, rv_param(talk, "number"));
}

static int count_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    size_t *length = ctx;
    char text[32];
    *length += piece.len;
    if (!last)
        return RV_OK;
    snprintf(text, sizeof text, "%zu", *length);
    return rv_text(talk, 200, text);
}

static int count_body(rv_talk *talk, void *ctx)
{
    size_t *length = rv_alloc(talk, sizeof *length);
    (void)ctx;
    *length = 0;
    rv_error error = rv_on_body(talk, count_piece, length);
    return error == 0 ? RV_PENDING : error;
}

static int let_go(rv_talk *talk, void *value)
{
    (void)value;
    return rv_text(talk, 200, "held");
}

/* Deferred answers: a thread that is none of the server's takes notes and resumes their talks. */
struct note {
    rv_server *server;
    rv_handle handle;
    char number[16];
    struct note *next;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t news;
    struct note *first;
    bool closing;
} office = {.mutex = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

static int defer_number(rv_talk *talk, void *ctx)
{
    (void)ctx;
    struct note *note = calloc(1, sizeof *note);
    rv_bytes number = rv_param(talk, "number");
    snprintf(note->number, sizeof note->number, "%.*s", (int)number.len, number.ptr);
    note->server = rv_server_of(talk);
    note->handle = rv_suspend(talk);
    pthread_mutex_lock(&office.mutex);
    note->next = office.first;
    office.first = note;
    pthread_cond_signal(&office.news);
    pthread_mutex_unlock(&office.mutex);
    return RV_PENDING;
}

static int reply_note(rv_talk *talk, void *value)
{
    struct note *note = value;
    int result = rv_text(talk, 200, note->number);
    free(note);
    return result;
}

static struct note *next_note(void)
{
    pthread_mutex_lock(&office.mutex);
    while (office.first == NULL && !office.closing)
        pthread_cond_wait(&office.news, &office.mutex);
    struct note *note = office.first;
    if (note != NULL)
        office.first = note->next;
    pthread_mutex_unlock(&office.mutex);
    return note;
}

static void *answer_notes(void *argument)
{
    struct note *note;
    (void)argument;
    while ((note = next_note()) != NULL)
        if (rv_resume(note->server, note->handle, reply_note, note) != 0)
            free(note);
    return NULL;
}

static void close_office(pthread_t clerk)
{
    pthread_mutex_lock(&office.mutex);
    office.closing = true;
    pthread_cond_signal(&office.news);
    pthread_mutex_unlock(&office.mutex);
    pthread_join(clerk, NULL);
}

/* ---- fixtures ---------------------------------------------------------------------------------- */

static void make(struct served *which, rv_server_options options)
{
    const rv_route_options on_pool = {.run = RV_ON_POOL}, streamed = {.body = RV_BODY_STREAMED};
    const rv_route_options plain = {0};
    if (options.workers == 0)
        options.workers = 2;
    if (options.pool_threads == 0)
        options.pool_threads = 2;
    serve_make(which, options);
    serve_route(which, "GET /number/{number}", reply_number, NULL, plain);
    serve_route(which, "GET /pool/{number}", reply_number, NULL, on_pool);
    serve_route(which, "GET /deferred/{number}", defer_number, NULL, plain);
    serve_route(which, "GET /streamed/{number}", stream_number, NULL, plain);
    serve_route(which, "GET /streamed-on-pool/{number}", stream_number, NULL, on_pool);
    serve_route(which, "POST /length", count_body, NULL, streamed);
    serve_route(which, "GET /hold", hold, NULL, plain);
}

static void start(rv_server_options options)
{
    make(&served, options);
    serve_start(&served);
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&held.count, 0);
    atomic_store(&held.gone, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    serve_free(&served);
    serve_free(&other);
    return 0;
}

static rv_counter_values counters(void)
{
    rv_counter_values values;
    rv_counters(served.server, &values);
    return values;
}

static void call(struct caller *caller)
{
    assert_true(caller_connect(caller, served.port));
}

/* ---- many clients ------------------------------------------------------------------------------ */

enum { VISITORS = 8, CONNECTIONS_EACH = 3, ROUNDS = 10, KINDS = 6 };

struct visitor {
    pthread_t thread;
    unsigned number;
    unsigned right; /* answers that were as they should be */
};

static bool ask(struct caller *caller, unsigned kind, unsigned number)
{
    static const char *const paths[] = {"number", "pool", "deferred", "streamed",
                                        "streamed-on-pool"};
    char text[300], content[64], body[200];
    if (kind == KINDS - 1) {
        int length = (int)(number % sizeof body);
        memset(body, 'b', sizeof body);
        snprintf(text, sizeof text,
                 "POST /length HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%.*s", length,
                 length, body);
        snprintf(content, sizeof content, "%d", length);
        return caller_send(caller, text) && caller_take(caller) == 200 &&
               answer_content_is(&caller->answer, content);
    }
    snprintf(text, sizeof text, "/%s/%u", paths[kind], number);
    if (kind >= 3)
        snprintf(content, sizeof content, "%u,%u", number, number);
    else
        snprintf(content, sizeof content, "%u", number);
    return caller_get(caller, text) == 200 && answer_content_is(&caller->answer, content);
}

static void *visit(void *argument)
{
    struct visitor *visitor = argument;
    struct caller callers[CONNECTIONS_EACH];
    unsigned number = visitor->number * 10000;
    for (unsigned i = 0; i < CONNECTIONS_EACH; i++)
        if (!caller_connect(&callers[i], served.port))
            return NULL;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < CONNECTIONS_EACH * KINDS; i++)
            visitor->right += ask(&callers[i % CONNECTIONS_EACH], (i + round) % KINDS, number++);
    for (unsigned i = 0; i < CONNECTIONS_EACH; i++)
        caller_close(&callers[i]);
    return NULL;
}

static void let_visitors_in(struct visitor visitors[VISITORS])
{
    for (unsigned i = 0; i < VISITORS; i++) {
        visitors[i] = (struct visitor){.number = i};
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
    }
}

static void see_visitors_off(struct visitor visitors[VISITORS])
{
    for (unsigned i = 0; i < VISITORS; i++)
        pthread_join(visitors[i].thread, NULL);
}

static void handlers_of_every_kind_answer_many_clients_at_once(void **state)
{
    (void)state;
    struct visitor visitors[VISITORS];
    pthread_t clerk;
    start((rv_server_options){0});
    office.closing = false;
    assert_int_equal(pthread_create(&clerk, NULL, answer_notes, NULL), 0);
    let_visitors_in(visitors);
    see_visitors_off(visitors);
    close_office(clerk);
    for (unsigned i = 0; i < VISITORS; i++)
        assert_int_equal(visitors[i].right, CONNECTIONS_EACH * ROUNDS * KINDS);
    assert_int_equal(atomic_load(&served.errors), 0);
    serve_stop(&served);
}

static uint64_t count_requests(uint64_t *last, bool *went_back)
{
    uint64_t now = counters().requests;
    *went_back |= now < *last;
    *last = now;
    return now;
}

static void counters_are_summed_by_any_thread_while_the_server_runs(void **state)
{
    (void)state;
    const uint64_t requests = VISITORS * CONNECTIONS_EACH * ROUNDS * KINDS;
    struct visitor visitors[VISITORS];
    pthread_t clerk;
    start((rv_server_options){0});
    office.closing = false;
    assert_int_equal(pthread_create(&clerk, NULL, answer_notes, NULL), 0);
    let_visitors_in(visitors);
    uint64_t last = 0;
    bool went_back = false;
    bool all = EVENTUALLY(count_requests(&last, &went_back) >= requests);
    see_visitors_off(visitors);
    close_office(clerk);
    assert_true(all);
    assert_false(went_back);
    assert_true(EVENTUALLY(counters().connections_open == 0));

    rv_counter_values sum = counters(), first, second, none;
    assert_int_equal(rv_worker_counters(served.server, 0, &first), 0);
    assert_int_equal(rv_worker_counters(served.server, 1, &second), 0);
    assert_int_equal(rv_worker_counters(served.server, 2, &none), RV_EINVAL);
    assert_int_equal(sum.requests, requests);
    assert_int_equal(sum.responses_2xx, requests);
    assert_int_equal(first.requests + second.requests, requests);
    assert_int_equal(sum.connections_accepted, VISITORS * CONNECTIONS_EACH);
    assert_int_equal(sum.connections_closed, VISITORS * CONNECTIONS_EACH);
    assert_true(sum.octets_received > 30 * requests && sum.octets_sent > 30 * requests);
}

static void both_workers_are_used(void **state)
{
    (void)state;
    enum { CALLERS = 64 };
    struct caller callers[CALLERS];
    start((rv_server_options){.workers = 2});
    assert_int_equal(rv_server_workers(served.server), 2);
    for (unsigned i = 0; i < CALLERS; i++) {
        call(&callers[i]);
        assert_int_equal(caller_get(&callers[i], "/number/1"), 200);
    }
    assert_true(EVENTUALLY(counters().connections_open == CALLERS));
    for (unsigned i = 0; i < 2; i++) {
        rv_counter_values values;
        rv_worker_counters(served.server, i, &values);
        assert_in_range(values.connections_open, CALLERS / 4, CALLERS * 3 / 4);
        assert_in_range(values.requests, CALLERS / 4, CALLERS * 3 / 4);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        caller_close(&callers[i]);
}

/* ---- stopping ---------------------------------------------------------------------------------- */

static void a_stop_lets_a_running_talk_finish_and_then_closes(void **state)
{
    (void)state;
    struct caller caller, idle;
    start((rv_server_options){.stop_grace_ms = 2 * DEADLINE_MS});
    call(&idle);
    assert_int_equal(caller_get(&idle, "/number/1"), 200);
    assert_null(answer_field(&idle.answer, "Connection"));
    expect_held(&caller, &served);
    rv_server_stop(served.server);
    assert_true(EVENTUALLY(is_refused(served.port)));
    assert_true(caller_sees_the_end(&idle));
    assert_true(caller_hears_nothing(&caller));
    assert_int_equal(rv_resume(served.server, held_handle(), let_go, NULL), 0);
    assert_int_equal(caller_take(&caller), 200);
    assert_true(answer_content_is(&caller.answer, "held"));
    assert_string_equal(answer_field(&caller.answer, "Connection"), "close");
    assert_true(caller_sees_the_end(&caller));
    serve_wait(&served);
    assert_int_equal(counters().stop_cuts, 0);
    assert_int_equal(atomic_load(&held.gone), 0);
    caller_close(&caller);
    caller_close(&idle);
}

static void a_second_stop_cuts_a_running_talk(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.stop_grace_ms = RV_NO_LIMIT});
    expect_held(&caller, &served);
    rv_server_stop(served.server);
    assert_true(EVENTUALLY(is_refused(served.port)));
    assert_true(caller_hears_nothing(&caller));
    serve_stop(&served);
    assert_true(caller_sees_the_end(&caller));
    assert_int_equal(counters().stop_cuts, 1);
    assert_int_equal(atomic_load(&held.gone), 1);
    assert_int_equal(rv_resume(served.server, held_handle(), let_go, NULL), RV_EGONE);
    caller_close(&caller);
}

static void a_talk_that_outlasts_the_grace_is_cut(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.stop_grace_ms = 50});
    expect_held(&caller, &served);
    serve_stop(&served);
    assert_true(caller_sees_the_end(&caller));
    assert_int_equal(counters().stop_cuts, 1);
    caller_close(&caller);
}

static void a_stop_of_a_server_that_does_not_run_is_without_effect(void **state)
{
    (void)state;
    make(&served, (rv_server_options){0});
    rv_server_stop(served.server);
    serve_start(&served);
    expect_served(&served);
    serve_stop(&served);
    rv_server_stop(served.server);
    serve_start(&served);
    expect_served(&served);
}

static void the_port_is_free_after_a_stop(void **state)
{
    (void)state;
    start((rv_server_options){0});
    expect_served(&served);
    serve_stop(&served);
    assert_true(is_refused(served.port));

    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons(served.port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* TIME_WAIT is no owner */
    assert_int_equal(bind(descriptor, (struct sockaddr *)&there, sizeof there), 0);
    assert_int_equal(listen(descriptor, 1), 0);
    close(descriptor);
}

/* ---- running again ----------------------------------------------------------------------------- */

enum { RUNS = 10 };

/* Handles of talks that ended with the runs before, and what became of those who resumed them. */
static struct {
    _Atomic uint64_t handles[RUNS];
    atomic_bool enough;
    atomic_uint taken, refused, failed; /* by rv_resume */
    atomic_uint called, reached;        /* `then`: without a talk, with one */
} old;

static int resumed_old(rv_talk *talk, void *value)
{
    (void)value;
    atomic_fetch_add(talk == NULL ? &old.called : &old.reached, 1);
    return talk == NULL ? RV_EGONE : RV_PENDING;
}

static void *resume_old_ones(void *argument)
{
    (void)argument;
    while (!atomic_load(&old.enough)) {
        for (unsigned i = 0; i < RUNS; i++) {
            rv_handle handle = {atomic_load(&old.handles[i])};
            rv_error error = rv_resume(served.server, handle, resumed_old, NULL);
            atomic_fetch_add(error == 0          ? &old.taken
                             : error == RV_EGONE ? &old.refused
                                                 : &old.failed,
                             1);
        }
        sched_yield();
    }
    return NULL;
}

static void a_server_runs_again_and_old_handles_reach_nobody(void **state)
{
    (void)state;
    pthread_t thread;
    make(&served, (rv_server_options){.stop_grace_ms = RV_NO_LIMIT});
    assert_int_equal(pthread_create(&thread, NULL, resume_old_ones, NULL), 0);
    for (unsigned run = 0; run < RUNS; run++) {
        struct caller caller;
        serve_start(&served);
        expect_served(&served);
        expect_held(&caller, &served);
        if (run > 0) {
            unsigned before = atomic_load(&old.called);
            assert_true(EVENTUALLY(atomic_load(&old.called) > before));
        }
        rv_server_stop(served.server);
        serve_stop(&served);
        assert_true(caller_sees_the_end(&caller));
        caller_close(&caller);
        assert_int_equal(atomic_load(&held.gone), run + 1);
        assert_int_equal(rv_resume(served.server, held_handle(), resumed_old, NULL), RV_EGONE);
        atomic_store(&old.handles[run], held_handle().id);
    }
    atomic_store(&old.enough, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&served.starts), RUNS);
    assert_int_equal(atomic_load(&served.stops), RUNS);
    serve_free(&served);
    assert_int_equal(atomic_load(&old.called), atomic_load(&old.taken));
    assert_int_equal(atomic_load(&old.reached), 0);
    assert_int_equal(atomic_load(&old.failed), 0);
    assert_true(atomic_load(&old.refused) > 0);
}

static void counters_go_on_over_several_runs(void **state)
{
    (void)state;
    make(&served, (rv_server_options){0});
    for (unsigned run = 1; run <= 3; run++) {
        serve_start(&served);
        expect_served(&served);
        serve_stop(&served);
        assert_int_equal(counters().requests, run);
        assert_int_equal(counters().connections_open, 0);
    }
}

/* ---- signals ----------------------------------------------------------------------------------- */

static void (*disposition(int number))(int)
{
    struct sigaction action;
    sigaction(number, NULL, &action);
    return action.sa_handler;
}

static void set_disposition(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
}

static void a_signal_stops_and_the_disposition_is_as_before_afterwards(void **state)
{
    (void)state;
    const int numbers[] = {SIGTERM, SIGINT};
    make(&served, (rv_server_options){0});
    for (unsigned i = 0; i < 2; i++) {
        assert_true(disposition(numbers[i]) == SIG_DFL);
        serve_start(&served);
        assert_true(disposition(SIGTERM) != SIG_DFL && disposition(SIGINT) != SIG_DFL);
        kill(getpid(), numbers[i]);
        serve_wait(&served);
        assert_true(disposition(SIGTERM) == SIG_DFL && disposition(SIGINT) == SIG_DFL);
    }
}

static void a_second_signal_cuts(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.stop_grace_ms = RV_NO_LIMIT});
    expect_held(&caller, &served);
    kill(getpid(), SIGTERM);
    assert_true(EVENTUALLY(is_refused(served.port)));
    assert_true(caller_hears_nothing(&caller));
    kill(getpid(), SIGTERM);
    serve_wait(&served);
    assert_true(caller_sees_the_end(&caller));
    caller_close(&caller);
}

static atomic_uint own_calls;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&own_calls, 1);
}

static void a_handler_of_the_program_stays(void **state)
{
    (void)state;
    set_disposition(SIGTERM, count_signal);
    start((rv_server_options){0});
    bool stays = disposition(SIGTERM) == count_signal;
    bool other_is_taken = disposition(SIGINT) != SIG_DFL;
    kill(getpid(), SIGTERM);
    bool called = EVENTUALLY(atomic_load(&own_calls) == 1);
    expect_served(&served);
    serve_stop(&served);
    bool stayed = disposition(SIGTERM) == count_signal;
    set_disposition(SIGTERM, SIG_DFL);
    assert_true(stays && other_is_taken && called && stayed);
}

static void a_signal_that_is_ignored_stays_ignored(void **state)
{
    (void)state;
    set_disposition(SIGINT, SIG_IGN);
    start((rv_server_options){0});
    bool ignored = disposition(SIGINT) == SIG_IGN;
    kill(getpid(), SIGINT);
    expect_served(&served);
    serve_stop(&served);
    ignored = ignored && disposition(SIGINT) == SIG_IGN;
    set_disposition(SIGINT, SIG_DFL);
    assert_true(ignored);
}

static void keep_signals_leaves_them_alone(void **state)
{
    (void)state;
    start((rv_server_options){.keep_signals = true});
    assert_true(disposition(SIGTERM) == SIG_DFL && disposition(SIGINT) == SIG_DFL);
    expect_served(&served);
    serve_stop(&served);
}

/* ---- two servers ------------------------------------------------------------------------------- */

static void start_two(void)
{
    make(&served, (rv_server_options){0});
    make(&other, (rv_server_options){0});
    serve_start(&served);
    serve_start(&other);
}

static void two_servers_run_in_one_process(void **state)
{
    (void)state;
    rv_counter_values values;
    start_two();
    expect_served(&served);
    expect_served(&other);
    expect_served(&other);
    serve_stop(&served);
    expect_served(&other);
    rv_counters(other.server, &values);
    assert_int_equal(values.requests, 3);
    assert_int_equal(counters().requests, 1);
    assert_true(disposition(SIGTERM) != SIG_DFL);
    kill(getpid(), SIGTERM);
    serve_wait(&other);
    assert_true(disposition(SIGTERM) == SIG_DFL);
}

static void a_signal_stops_both_servers(void **state)
{
    (void)state;
    start_two();
    kill(getpid(), SIGTERM);
    serve_wait(&served);
    serve_wait(&other);
    assert_true(disposition(SIGTERM) == SIG_DFL);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FACT(handlers_of_every_kind_answer_many_clients_at_once),
        FACT(counters_are_summed_by_any_thread_while_the_server_runs),
        FACT(both_workers_are_used),
        FACT(a_stop_lets_a_running_talk_finish_and_then_closes),
        FACT(a_second_stop_cuts_a_running_talk),
        FACT(a_talk_that_outlasts_the_grace_is_cut),
        FACT(a_stop_of_a_server_that_does_not_run_is_without_effect),
        FACT(the_port_is_free_after_a_stop),
        FACT(a_server_runs_again_and_old_handles_reach_nobody),
        FACT(counters_go_on_over_several_runs),
        FACT(a_signal_stops_and_the_disposition_is_as_before_afterwards),
        FACT(a_second_signal_cuts),
        FACT(a_handler_of_the_program_stays),
        FACT(a_signal_that_is_ignored_stays_ignored),
        FACT(keep_signals_leaves_them_alone),
        FACT(two_servers_run_in_one_process),
        FACT(a_signal_stops_both_servers),
    };
#undef FACT
    return cmocka_run_group_tests(tests, NULL, NULL);
}
