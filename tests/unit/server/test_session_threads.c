/*
 * Facts about sessions that are used from many threads at once: workers and the pool of a server that runs,
 * with real clients. ThreadSanitizer has a look at it, too.
 */
#include "support/served.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALLERS 8
#define POOL_THREADS 4
#define CALLS 250

static struct served served;
static char name[33]; /* of the session that all callers have */
static atomic_uint unexpected;

/* ---- handlers -------------------------------------------------------------------------------------------- */

static int begin(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, rv_session_phrase(talk));
}

static int count(rv_talk *talk, void *ctx)
{
    rv_session *session = rv_session_found(talk);
    char text[24];
    int64_t visits = 0;
    (void)ctx;
    if (session == NULL)
        return rv_text(talk, 404, "no session");
    rv_error error = rv_session_add_int(session, "visits", 1, &visits);
    snprintf(text, sizeof text, "%d", (int)visits);
    return error != 0 ? error : rv_text(talk, 200, text);
}

/* The long way, which needs the lock. */
static int count_by_hand(rv_talk *talk, void *ctx)
{
    rv_session *session = rv_session_found(talk);
    int64_t visits = 0;
    (void)ctx;
    if (session == NULL)
        return rv_text(talk, 404, "no session");
    rv_session_lock(session);
    rv_session_get_int(session, "visits", &visits);
    rv_session_set_int(session, "visits", visits + 1);
    rv_session_unlock(session);
    return rv_text(talk, 200, "");
}

/* All pool threads have the session, and meet here. */
static pthread_barrier_t meeting;

#define TIMES 5000

static int renew_often(rv_talk *talk, void *ctx)
{
    rv_error error = 0;
    (void)ctx;
    pthread_barrier_wait(&meeting);
    for (unsigned i = 0; i < TIMES && error == 0; i++)
        error = rv_session_renew(talk);
    return error != 0 ? error : rv_text(talk, 200, rv_session_phrase(talk));
}

/* Names that it sees are whole. */
static int look_often(rv_talk *talk, void *ctx)
{
    (void)ctx;
    pthread_barrier_wait(&meeting);
    for (unsigned i = 0; i < TIMES; i++) {
        if (strlen(rv_session_phrase(talk)) != 5 + 32)
            return RV_EINVAL;
        rv_session_add_int(rv_session_found(talk), "visits", 1, NULL);
    }
    return rv_text(talk, 200, "");
}

static int renew(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_renew(talk);
    if (error != 0 && error != RV_ESTATE && error != RV_ENOTFOUND)
        return error;
    return rv_text(talk, 200, rv_session_link(talk, "/"));
}

static int end_together(rv_talk *talk, void *ctx)
{
    (void)ctx;
    pthread_barrier_wait(&meeting);
    rv_error error = rv_session_end(talk);
    return error != 0 ? error : rv_text(talk, 200, "");
}

/* ---- what tests do ------------------------------------------------------------------------------------------ */

static atomic_uint told; /* how many sessions have ended */

static void on_end(rv_app *app, rv_session *session, void *ctx)
{
    (void)app, (void)session, (void)ctx;
    atomic_fetch_add(&told, 1);
}

static void serve(void)
{
    serve_make(&served, (rv_server_options){.workers = 2, .pool_threads = POOL_THREADS});
    rv_app *app = rv_default_app(served.server);
    rv_session_options options = {.track = RV_SESSION_BY_URI, .on_end = on_end};
    assert_int_equal(rv_sessions(app, &options), 0);
    static const rv_route_options on_pool = {.run = RV_ON_POOL}, on_loop = {0};
    serve_route(&served, "GET /begin", begin, NULL, on_loop);
    serve_route(&served, "GET /count", count, NULL, on_loop);
    serve_route(&served, "GET /pool/count", count, NULL, on_pool);
    serve_route(&served, "GET /pool/by-hand", count_by_hand, NULL, on_pool);
    serve_route(&served, "GET /renew", renew, NULL, on_loop);
    serve_route(&served, "GET /pool/renew", renew, NULL, on_pool);
    serve_route(&served, "GET /pool/renew-often", renew_often, NULL, on_pool);
    serve_route(&served, "GET /pool/look-often", look_often, NULL, on_pool);
    serve_route(&served, "GET /pool/end-together", end_together, NULL, on_pool);
    serve_start(&served);
    atomic_store(&unexpected, 0);
    atomic_store(&told, 0);
    pthread_barrier_init(&meeting, NULL, POOL_THREADS);
}

static int stop(void **state)
{
    (void)state;
    serve_free(&served);
    pthread_barrier_destroy(&meeting);
    return 0;
}

static void begin_one(void)
{
    struct caller caller = {.descriptor = -1};
    assert_true(caller_connect(&caller, served.port));
    assert_int_equal(caller_get(&caller, "/begin"), 200);
    assert_int_equal(caller.answer.content.len, 5 + 32);
    snprintf(name, sizeof name, "%s", caller.answer.content.ptr + 5);
    caller_close(&caller);
}

/* What a caller asks for in turn; NULL behind the last. */
struct round_trip {
    const char *paths[4];
    unsigned calls;
};

static void *call_again_and_again(void *argument)
{
    const struct round_trip *trip = argument;
    struct caller caller = {.descriptor = -1};
    bool connected = caller_connect(&caller, served.port);
    unsigned path = 0;
    for (unsigned i = 0; i < trip->calls && connected; i++) {
        char target[96];
        snprintf(target, sizeof target, "%s;sid=%s", trip->paths[path], name);
        path = trip->paths[path + 1] == NULL ? 0 : path + 1;
        int status = caller_get(&caller, target);
        if (status != 200 && status != 404)
            atomic_fetch_add(&unexpected, 1);
    }
    if (!connected)
        atomic_fetch_add(&unexpected, 1);
    caller_close(&caller);
    return NULL;
}

/* Each has a trip of its own, in turn. */
static void all_call(struct round_trip *trips, unsigned trip_count, unsigned callers)
{
    pthread_t threads[CALLERS];
    for (unsigned i = 0; i < callers; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_again_and_again, &trips[i % trip_count]), 0);
    for (unsigned i = 0; i < callers; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(unexpected, 0);
}

static void expect_visits(unsigned expected)
{
    struct caller caller = {.descriptor = -1};
    char target[96], text[24];
    snprintf(target, sizeof target, "/count;sid=%s", name);
    snprintf(text, sizeof text, "%u", expected);
    assert_true(caller_connect(&caller, served.port));
    assert_int_equal(caller_get(&caller, target), 200);
    assert_string_equal(caller.answer.content.ptr, text);
    caller_close(&caller);
}

/* ---- facts --------------------------------------------------------------------------------------------------- */

static void no_visit_is_lost(void **state)
{
    (void)state;
    struct round_trip trip = {{"/pool/count", "/count", "/pool/by-hand", NULL}, CALLS};
    serve();
    begin_one();
    all_call(&trip, 1, CALLERS);
    expect_visits(CALLERS * CALLS + 1);
}

static void a_session_may_be_renewed_while_others_have_it(void **state)
{
    (void)state;
    struct round_trip trips[] = {{{"/pool/renew-often", NULL}, 1}, {{"/pool/look-often", NULL}, 1}};
    serve();
    begin_one();
    all_call(trips, 2, POOL_THREADS);
    assert_int_equal(told, 0);
    serve_stop(&served);
    serve_free(&served);
    assert_int_equal(told, 1);
}

static void a_session_that_many_end_at_once_ends_once(void **state)
{
    (void)state;
    struct round_trip trip = {{"/pool/end-together", NULL}, 1};
    serve();
    for (unsigned i = 1; i <= 20; i++) {
        begin_one();
        all_call(&trip, 1, POOL_THREADS);
        assert_int_equal(told, i);
    }
}

/* Whoever comes too late finds none. */
static void names_may_change_under_many_callers(void **state)
{
    (void)state;
    struct round_trip trip = {{"/pool/count", "/renew", "/pool/renew", NULL}, 20};
    serve();
    for (unsigned i = 0; i < 5; i++) {
        begin_one();
        all_call(&trip, 1, CALLERS);
    }
    assert_int_equal(told, 0);
}

#define TEST(fact) cmocka_unit_test_teardown(fact, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_visit_is_lost),
        TEST(a_session_may_be_renewed_while_others_have_it),
        TEST(a_session_that_many_end_at_once_ends_once),
        TEST(names_may_change_under_many_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
