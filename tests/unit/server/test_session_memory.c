/*
 * Facts about the store of sessions in memory.
 */
#include "server/session_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 8

static unsigned ended;

static void on_end(struct rv_session *session, void *ctx)
{
    (void)session, (void)ctx;
    ended++;
}

static rv_bytes id_of(const struct rv_session *session)
{
    return rv_slice(session->id, RV_SESSION_ID_BYTES);
}

static struct rv_session *saved(struct rv_session_memory *store, uint64_t now_ms)
{
    struct rv_session *session = rv_session_new();
    assert_non_null(session);
    assert_int_equal(rv_session_memory_save(store, session, now_ms), 0);
    return session;
}

/* As the library does it. */
static rv_error rename_in(struct rv_session_memory *store, struct rv_session *session)
{
    char name[RV_SESSION_ID_BYTES];
    assert_true(rv_session_make_name(name));
    rv_session_lock(session);
    rv_error error = rv_session_memory_rename(store, session, name);
    rv_session_unlock(session);
    return error;
}

static void a_session_is_found_by_its_name_only(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(10, 1000, on_end, NULL);
    struct rv_session *session = saved(store, 0);
    struct rv_session *found = rv_session_memory_load(store, id_of(session), 1);
    assert_ptr_equal(found, session);
    rv_session_drop(found);
    assert_null(rv_session_memory_load(store, RV_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 1));
    assert_null(rv_session_memory_load(store, RV_LIT("../../etc/passwd"), 1));
    assert_null(rv_session_memory_load(store, RV_LIT(""), 1));
    rv_session_drop(session);
    rv_session_memory_free(store);
}

/* A session that nobody holds but the store; its name. */
static void leave_one(struct rv_session_memory *store, char *name)
{
    struct rv_session *session = saved(store, 0);
    memcpy(name, session->id, RV_SESSION_ID_BYTES);
    rv_session_drop(session);
}

static void a_session_expires_after_its_last_use(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(10, 1000, on_end, NULL);
    char used[RV_SESSION_ID_BYTES], unused[RV_SESSION_ID_BYTES];
    leave_one(store, used);
    leave_one(store, unused);
    ended = 0;
    assert_int_equal(rv_session_memory_touch(store, rv_slice(used, sizeof used), 900), 0);
    rv_session_memory_sweep(store, 1000);
    assert_int_equal(ended, 1);
    assert_int_equal(rv_session_memory_count(store), 1);
    rv_bytes gone = rv_slice(unused, sizeof unused);
    assert_int_equal(rv_session_memory_touch(store, gone, 1000), RV_ENOTFOUND);
    rv_bytes left = rv_slice(used, sizeof used);
    assert_int_equal(rv_session_memory_touch(store, left, 1900), RV_ENOTFOUND);
    assert_int_equal(ended, 2);
    rv_session_memory_free(store);
}

static void a_session_that_a_talk_holds_does_not_expire(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(10, 1000, on_end, NULL);
    struct rv_session *held = saved(store, 0);
    char idle[RV_SESSION_ID_BYTES];
    leave_one(store, idle);
    ended = 0;
    rv_session_memory_sweep(store, 5000);
    assert_int_equal(ended, 1);
    assert_false(held->ended);
    assert_int_equal(rv_session_memory_touch(store, id_of(held), 20000), 0);
    rv_session_drop(held);
    rv_session_memory_sweep(store, 20999);
    assert_int_equal(ended, 1);
    rv_session_memory_sweep(store, 21000);
    assert_int_equal(ended, 2);
    rv_session_memory_free(store);
}

static void no_more_are_taken_than_there_may_be(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(2, 1000, on_end, NULL);
    struct rv_session *first = saved(store, 0), *second = saved(store, 0);
    struct rv_session *third = rv_session_new();
    assert_int_equal(rv_session_memory_save(store, third, 0), RV_EBUSY);
    assert_int_equal(rv_session_memory_remove(store, id_of(first)), 0);
    assert_int_equal(rv_session_memory_save(store, third, 0), 0);
    rv_session_drop(first);
    rv_session_drop(second);
    rv_session_drop(third);
    ended = 0;
    rv_session_memory_free(store);
    assert_int_equal(ended, 2);
}

static void a_renamed_session_keeps_its_values(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(2, 1000, on_end, NULL);
    struct rv_session *session = saved(store, 0);
    char old[RV_SESSION_ID_BYTES];
    int64_t value = 0;
    memcpy(old, session->id, sizeof old);
    rv_session_set_int(session, "n", 3);
    assert_int_equal(rename_in(store, session), 0);
    assert_null(rv_session_memory_load(store, rv_slice(old, sizeof old), 1));
    struct rv_session *found = rv_session_memory_load(store, id_of(session), 1);
    assert_ptr_equal(found, session);
    assert_int_equal(rv_session_get_int(found, "n", &value), 0);
    assert_int_equal(value, 3);
    assert_int_equal(rv_session_memory_count(store), 1);
    rv_session_drop(found);
    rv_session_drop(session);
    rv_session_memory_free(store);
}

static void many_sessions_are_all_found(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct rv_session_memory *store = rv_session_memory_new(COUNT, 1000, on_end, NULL);
    struct rv_session **sessions = calloc(COUNT, sizeof *sessions);
    for (unsigned i = 0; i < COUNT; i++)
        sessions[i] = saved(store, i % 100);
    for (unsigned i = 0; i < COUNT; i++) {
        struct rv_session *found = rv_session_memory_load(store, id_of(sessions[i]), 100);
        assert_ptr_equal(found, sessions[i]);
        rv_session_drop(found);
        rv_session_drop(sessions[i]);
    }
    free(sessions);
    ended = 0;
    rv_session_memory_sweep(store, 1100);
    assert_int_equal(ended, COUNT);
    rv_session_memory_free(store);
}

static void *come_and_go(void *argument)
{
    struct rv_session_memory *store = argument;
    for (unsigned i = 0; i < 2000; i++) {
        struct rv_session *session = rv_session_new();
        if (rv_session_memory_save(store, session, i) == 0) {
            rv_session_memory_touch(store, id_of(session), i + 1);
            if (i % 3 == 0)
                rv_session_memory_remove(store, id_of(session));
            if (i % 3 == 1)
                rename_in(store, session);
        }
        rv_session_drop(session);
        if (i % 64 == 0)
            rv_session_memory_sweep(store, i);
    }
    return NULL;
}

static void the_store_is_safe_on_every_thread(void **state)
{
    (void)state;
    struct rv_session_memory *store = rv_session_memory_new(1000, 100, NULL, NULL);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, store), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rv_session_memory_sweep(store, 1000000);
    assert_int_equal(rv_session_memory_count(store), 0);
    rv_session_memory_free(store);
}

/* Beyond what is stored in it (and whatever the allocator adds to a block of that size). */
static void a_session_costs_little(void **state)
{
    (void)state;
    assert_true(sizeof(struct rv_session) + 16 + 2 * sizeof(void *) < 300);
}

/* What is allocated in this process; 0: a sanitizer has its own allocator. */
static size_t allocated(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return mallinfo2().uordblks;
#endif
}

/* With all that the store and the allocator add. */
static void a_million_sessions_take_less_than_300_octets_each(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    size_t before = allocated();
    if (before == 0)
        skip();
    struct rv_session_memory *store = rv_session_memory_new(COUNT, 1000, NULL, NULL);
    for (unsigned i = 0; i < COUNT; i++)
        rv_session_drop(saved(store, 0));
    assert_int_equal(rv_session_memory_count(store), COUNT);
    double each = (double)(allocated() - before) / COUNT;
    print_message("%.1f octets for each of %d sessions\n", each, COUNT);
    assert_true(each > sizeof(struct rv_session) && each < 300);
    rv_session_memory_free(store);
    assert_true(allocated() < before + COUNT);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_found_by_its_name_only),
        TEST(a_session_expires_after_its_last_use),
        TEST(a_session_that_a_talk_holds_does_not_expire),
        TEST(no_more_are_taken_than_there_may_be),
        TEST(a_renamed_session_keeps_its_values),
        TEST(many_sessions_are_all_found),
        TEST(the_store_is_safe_on_every_thread),
        TEST(a_session_costs_little),
        TEST(a_million_sessions_take_less_than_300_octets_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
