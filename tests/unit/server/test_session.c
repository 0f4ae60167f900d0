/*
 * Facts about the values of a session: what type they have, who destroys them, and that threads lose none.
 */
#include "server/session.h"
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 8
#define INCREMENTS 20000

/* ---- types ------------------------------------------------------------------------------------------------- */

enum type { STRING, INT, DOUBLE, BOOL, TIME, POINTER, TYPES };

static void set(struct rv_session *session, enum type type)
{
    static char anything;
    rv_error error = type == STRING   ? rv_session_set_string(session, "v", RV_LIT("a\0b"))
                     : type == INT    ? rv_session_set_int(session, "v", INT64_MIN)
                     : type == DOUBLE ? rv_session_set_double(session, "v", -0.5)
                     : type == BOOL   ? rv_session_set_bool(session, "v", true)
                     : type == TIME   ? rv_session_set_time(session, "v", 784111777)
                                      : rv_session_set_pointer(session, "v", &anything, NULL);
    assert_int_equal(error, 0);
}

/* The value is what set() has made it; on failure nothing is touched. */
static rv_error get_value(rv_talk *talk, struct rv_session *session, enum type type)
{
    int64_t integer = 7, time = 7;
    double number = 7;
    bool truth = false;
    void *pointer = NULL;
    rv_bytes string = RV_LIT("7");
    rv_error error = type == STRING   ? rv_session_get_string(talk, session, "v", &string)
                     : type == INT    ? rv_session_get_int(session, "v", &integer)
                     : type == DOUBLE ? rv_session_get_double(session, "v", &number)
                     : type == BOOL   ? rv_session_get_bool(session, "v", &truth)
                     : type == TIME   ? rv_session_get_time(session, "v", &time)
                                      : rv_session_get_pointer(session, "v", &pointer);
    bool got = error == 0;
    assert_int_equal(string.len, got && type == STRING ? 3 : 1);
    assert_memory_equal(string.ptr, string.len == 3 ? "a\0b" : "7", string.len);
    assert_true(integer == (got && type == INT ? INT64_MIN : 7));
    assert_true(number == (got && type == DOUBLE ? -0.5 : 7));
    assert_true(truth == (got && type == BOOL));
    assert_true(time == (got && type == TIME ? 784111777 : 7));
    assert_true((pointer != NULL) == (got && type == POINTER));
    return error;
}

/* Strings are copied for a talk, so there must be one. */
static int try_all(rv_talk *talk, void *ctx)
{
    struct rv_session *session = rv_session_new();
    (void)ctx;
    for (enum type asked = 0; asked < TYPES; asked++)
        assert_int_equal(get_value(talk, session, asked), RV_ENOTFOUND);
    for (enum type is = 0; is < TYPES; is++) {
        set(session, is);
        for (enum type asked = 0; asked < TYPES; asked++)
            assert_int_equal(get_value(talk, session, asked), asked == is ? 0 : RV_EINVAL);
        assert_int_equal(rv_session_count(session), 1);
    }
    rv_session_drop(session);
    return rv_text(talk, 200, "done");
}

static void a_getter_wants_exactly_its_type(void **state)
{
    (void)state;
    route("GET /", try_all, NULL);
    get("/");
    expect_answer(200, "done");
}

/* ---- as a map ------------------------------------------------------------------------------------------------ */

static bool join(const char *key, void *ctx)
{
    strcat(ctx, key);
    return strlen(ctx) < 2;
}

static void keys_are_visited_until_that_is_enough(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    char keys[8] = "";
    rv_session_each(session, join, keys);
    assert_string_equal(keys, "");
    rv_session_set_int(session, "a", 1);
    rv_session_set_int(session, "b", 2);
    rv_session_set_int(session, "c", 3);
    rv_session_each(session, join, keys);
    assert_int_equal(strlen(keys), 2);
    assert_true(keys[0] != keys[1]);
    assert_int_equal(rv_session_remove(session, "b"), 0);
    assert_int_equal(rv_session_remove(session, "b"), RV_ENOTFOUND);
    assert_int_equal(rv_session_count(session), 2);
    rv_session_clear(session, NULL);
    assert_int_equal(rv_session_count(session), 0);
    rv_session_drop(session);
}

static void what_is_replaced_stays_one(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    for (enum type type = 0; type < TYPES; type++) {
        rv_session_set_int(session, "other", type);
        set(session, type);
    }
    assert_int_equal(rv_session_count(session), 2);
    rv_session_drop(session);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    assert_int_equal(rv_session_set_int(NULL, "n", 1), RV_EINVAL);
    assert_int_equal(rv_session_set_int(session, "", 1), RV_EINVAL);
    assert_int_equal(rv_session_set_string(session, "s", rv_slice(NULL, 0)), RV_EINVAL);
    assert_int_equal(rv_session_remove(session, "n"), RV_ENOTFOUND);
    rv_session_drop(session);
}

static unsigned destroyed;

static void destroy(void *pointer)
{
    free(pointer);
    destroyed++;
}

static void pointers_are_destroyed_once(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    static const char *const keep[] = {"b", NULL};
    destroyed = 0;
    rv_session_set_pointer(session, "a", malloc(1), destroy);
    rv_session_set_pointer(session, "a", malloc(1), destroy);
    assert_int_equal(destroyed, 1);
    rv_session_set_pointer(session, "b", malloc(1), destroy);
    rv_session_clear(session, keep);
    assert_int_equal(destroyed, 2);
    assert_int_equal(rv_session_count(session), 1);
    rv_session_drop(session);
    assert_int_equal(destroyed, 3);
}

static void sums_do_not_overflow(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    int64_t sum = 0;
    assert_int_equal(rv_session_add_int(session, "n", INT64_MAX, &sum), 0);
    assert_int_equal(rv_session_add_int(session, "n", 1, &sum), RV_ELIMIT);
    assert_true(sum == INT64_MAX);
    rv_session_set_bool(session, "t", true);
    assert_int_equal(rv_session_add_int(session, "t", 1, &sum), RV_EINVAL);
    rv_session_drop(session);
}

static void *increment(void *argument)
{
    struct rv_session *session = argument;
    for (unsigned i = 0; i < INCREMENTS; i++) {
        if (i % 2 == 0) {
            rv_session_add_int(session, "n", 1, NULL);
        } else {
            int64_t value = 0;
            rv_session_lock(session);
            rv_session_get_int(session, "n", &value);
            rv_session_set_int(session, "n", value + 1);
            rv_session_unlock(session);
        }
    }
    return NULL;
}

static void no_update_is_lost(void **state)
{
    (void)state;
    struct rv_session *session = rv_session_new();
    pthread_t threads[THREADS];
    int64_t value = 0;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, increment, session), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rv_session_get_int(session, "n", &value);
    assert_int_equal(value, THREADS * INCREMENTS);
    rv_session_drop(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_getter_wants_exactly_its_type),
        TEST(keys_are_visited_until_that_is_enough),
        TEST(what_is_replaced_stays_one),
        TEST(bad_arguments_are_refused),
        TEST(pointers_are_destroyed_once),
        TEST(sums_do_not_overflow),
        TEST(no_update_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
