/*
 * Facts about sessions that are kept in a store of the program's, which answers when it likes: at once, later
 * and from another thread, with a failure, too late, or never.
 */
#include "base/bytes.h"
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a store: one session, kept as a number -------------------------------------------------------------- */

enum manner { AT_ONCE, ON_A_THREAD, WHEN_TOLD };

#define QUESTIONS_MAX 4

static struct {
    enum manner manner;
    char name[32];
    int64_t visits;
    unsigned loads, saves, touches, removes, sweeps;
    bool broken;
    rv_session_call *open[QUESTIONS_MAX]; /* questions that wait to be told */
    unsigned open_count;
} kept;

struct question {
    rv_session_call *call;
    char name[32];
};

static void answer(rv_session_call *call, const char *name)
{
    if (kept.broken) {
        rv_session_answer(call, RV_EIO, NULL);
    } else if (memcmp(name, kept.name, 32) != 0) {
        rv_session_answer(call, RV_ENOTFOUND, NULL);
    } else {
        rv_session *session = rv_session_restore(rv_slice(kept.name, 32));
        rv_session_set_int(session, "visits", kept.visits);
        rv_session_answer(call, 0, session);
    }
}

static void *answer_later(void *argument)
{
    struct question *question = argument;
    usleep(2000);
    answer(question->call, question->name);
    free(question);
    return NULL;
}

static pthread_t answering;

static void load(void *ctx, rv_bytes id, rv_session_call *call)
{
    assert_ptr_equal(ctx, &kept);
    kept.loads++;
    if (kept.manner == AT_ONCE) {
        answer(call, id.ptr);
    } else if (kept.manner == WHEN_TOLD) {
        assert_true(kept.open_count < QUESTIONS_MAX);
        kept.open[kept.open_count++] = call;
    } else {
        struct question *question = malloc(sizeof *question);
        question->call = call;
        memcpy(question->name, id.ptr, 32);
        assert_int_equal(pthread_create(&answering, NULL, answer_later, question), 0);
    }
}

static void save(void *ctx, rv_session *session)
{
    (void)ctx;
    kept.saves++;
    memcpy(kept.name, rv_session_id(session).ptr, 32);
    rv_session_get_int(session, "visits", &kept.visits);
}

static void forget(void *ctx, rv_bytes id)
{
    (void)ctx;
    kept.removes++;
    if (memcmp(id.ptr, kept.name, 32) == 0)
        memset(kept.name, 0, sizeof kept.name);
}

static void touch(void *ctx, rv_bytes id)
{
    (void)ctx;
    assert_memory_equal(id.ptr, kept.name, 32);
    kept.touches++;
}

static void sweep(void *ctx)
{
    (void)ctx;
    kept.sweeps++;
}

static const rv_session_store elsewhere = {load, save, forget, touch, sweep, &kept};

/* ---- handlers -------------------------------------------------------------------------------------------- */

static int count(rv_talk *talk, void *ctx)
{
    rv_session *session;
    int64_t visits;
    char text[64];
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    if (error != 0)
        return error;
    rv_session_add_int(session, "visits", 1, &visits);
    snprintf(text, sizeof text, "%d", (int)visits);
    return rv_text(talk, 200, text);
}

static int look(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, rv_session_found(talk) == NULL ? "none" : "one");
}

static int renew(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_renew(talk);
    return error != 0 ? error : rv_text(talk, 200, "renewed");
}

static int leave(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_end(talk);
    return error != 0 ? error : rv_text(talk, 200, "bye");
}

static int finish(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_write(talk, RV_LIT("second"));
    return rv_end(talk);
}

static int stream_long(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_session_of(talk, &session);
    rv_session_add_int(session, "visits", 1, NULL);
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("first "));
    return rv_after_ms(talk, 60000, finish, NULL) == 0 ? RV_PENDING : RV_ESTATE;
}

/* ---- what tests do ------------------------------------------------------------------------------------------ */

static void serve(rv_session_options options)
{
    memset(&kept, 0, sizeof kept);
    kept.manner = AT_ONCE;
    options.store = &elsewhere;
    assert_int_equal(rv_sessions(rv_default_app(tested), &options), 0);
    route("GET /count", count, NULL);
    route("GET /look", look, NULL);
    route("GET /renew", renew, NULL);
    route("GET /leave", leave, NULL);
    route("GET /stream", stream_long, NULL);
    route_with("GET /pool", count, NULL, (rv_route_options){.run = RV_ON_POOL});
}

/* From the client that has the session that is kept. */
static void get_as(const char *path, const char *name)
{
    char field[128];
    snprintf(field, sizeof field, "Cookie: sid=%.32s\r\n", name);
    request("GET", path, field);
}

static void get_kept(const char *path)
{
    get_as(path, kept.name);
}

static void begin_one(void)
{
    get("/count");
    expect_answer(200, "1");
    assert_int_equal(kept.saves, 1);
    assert_int_equal(kept.visits, 1);
}

static void await_answer(void)
{
    pthread_join(answering, NULL);
    rv_test_settle(client());
}

/* ---- facts --------------------------------------------------------------------------------------------------- */

static void what_has_changed_is_saved_and_what_has_not_is_touched(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/look");
    expect_answer(200, "none");
    assert_int_equal(kept.loads + kept.saves + kept.touches, 0);
    begin_one();
    assert_int_equal(kept.touches, 0);
    get_kept("/count");
    expect_answer(200, "2");
    assert_int_equal(kept.visits, 2);
    assert_int_equal(kept.saves, 2);
    get_kept("/look");
    expect_answer(200, "one");
    assert_int_equal(kept.saves, 2);
    assert_int_equal(kept.touches, 1);
}

static void a_store_may_answer_later_on_another_thread(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.manner = ON_A_THREAD;
    get_kept("/count");
    await_answer();
    expect_answer(200, "2");
    get_as("/look", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    await_answer();
    expect_answer(200, "none");
    get_as("/count", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    await_answer();
    expect_answer(200, "1");
    assert_string_not_equal(kept.name, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void handlers_on_the_pool_have_theirs_too(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.manner = ON_A_THREAD;
    get_kept("/pool");
    await_answer();
    expect_answer(200, "2");
    kept.manner = AT_ONCE;
    get_kept("/pool");
    rv_test_settle(client());
    expect_answer(200, "3");
    assert_int_equal(kept.visits, 3);
}

static void a_store_that_fails_fails_the_request_alone(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.broken = true;
    get_kept("/look");
    expect_status(500);
    assert_int_equal(last_error, RV_EIO);
    expect_open();
    kept.manner = ON_A_THREAD;
    get_kept("/look");
    await_answer();
    expect_status(500);
    get("/look"); /* the store is not asked */
    expect_answer(200, "none");
}

static void others_do_not_wait_for_an_answer(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.manner = WHEN_TOLD;
    get_kept("/count");
    expect_silence();
    as(1);
    get("/look");
    expect_answer(200, "none");
    as(0);
    advance_ms(10 * 60 * 1000);
    expect_silence();
    answer(kept.open[0], kept.name);
    rv_test_settle(client());
    expect_answer(200, "2");
}

static void a_client_may_leave_before_the_store_answers(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.manner = WHEN_TOLD;
    get_kept("/count");
    rv_test_reset(client());
    as(1);
    get("/look"); /* may have the place of the talk that is no more */
    expect_answer(200, "none");
    answer(kept.open[0], kept.name);
    rv_test_settle(client());
    expect_silence();
    get_kept("/look");
    answer(kept.open[1], kept.name);
    rv_test_settle(client());
    expect_answer(200, "one");
    assert_int_equal(kept.visits, 1);
}

/* The question stays open for ever; the client gives up, and later the server is freed. */
static void a_store_may_never_answer(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    kept.manner = WHEN_TOLD;
    get_kept("/count");
    as(1);
    get_kept("/count");
    as(0);
    rv_test_reset(client());
    as(1);
    expect_silence();
    as(2);
    get("/look");
    expect_answer(200, "none");
}

/* The client's next request may come while the first answer is still under way. */
static void a_new_session_is_saved_before_its_name_leaves(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/stream");
    assert_int_equal(kept.saves, 1);
    as(1);
    get_kept("/count");
    expect_answer(200, "2");
    as(0);
    advance_ms(60001);
    expect_answer(200, "first second");
    assert_int_equal(kept.touches, 0);
}

static void a_renewed_session_moves_to_its_new_name(void **state)
{
    char old[32];
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    memcpy(old, kept.name, sizeof old);
    get_kept("/renew");
    expect_answer(200, "renewed");
    assert_int_equal(kept.removes, 1);
    assert_int_equal(kept.saves, 2);
    assert_memory_not_equal(old, kept.name, sizeof old);
    get_as("/look", old);
    expect_answer(200, "none");
    get_kept("/count");
    expect_answer(200, "2");
}

static void an_ended_session_is_removed_and_not_saved(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    begin_one();
    get_kept("/leave");
    expect_answer(200, "bye");
    assert_int_equal(kept.removes, 1);
    assert_int_equal(kept.saves, 1);
    assert_int_equal(kept.touches, 0);
}

static void always_asks_the_store_first(void **state)
{
    (void)state;
    serve((rv_session_options){.always = true});
    get("/look");
    expect_answer(200, "one");
    kept.manner = ON_A_THREAD;
    get_kept("/count");
    await_answer();
    expect_answer(200, "1");
    expect_field("Set-Cookie", NULL);
    get_as("/look", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    await_answer();
    expect_answer(200, "one");
    assert_non_null(answer_field(last_answer(), "Set-Cookie"));
}

static void it_is_asked_by_path_parameters_as_well(void **state)
{
    char path[64];
    (void)state;
    serve((rv_session_options){.track = RV_SESSION_BY_URI});
    begin_one();
    snprintf(path, sizeof path, "/count;sid=%.32s", kept.name);
    get(path);
    expect_answer(200, "2");
}

static void what_cannot_be_a_name_is_not_asked_for(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get_as("/look", "../../etc/passwd");
    expect_answer(200, "none");
    get_as("/look", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    expect_answer(200, "none");
    assert_int_equal(kept.loads, 0);
}

static void the_store_has_its_turn_to_sweep(void **state)
{
    (void)state;
    serve((rv_session_options){.timeout_ms = 4000});
    get("/look");
    expect_answer(200, "none");
    kept.sweeps = 0;
    advance_ms(10000);
    assert_in_range(kept.sweeps, 9, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_has_changed_is_saved_and_what_has_not_is_touched),
        TEST(a_store_may_answer_later_on_another_thread),
        TEST(handlers_on_the_pool_have_theirs_too),
        TEST(a_store_that_fails_fails_the_request_alone),
        TEST(others_do_not_wait_for_an_answer),
        TEST(a_client_may_leave_before_the_store_answers),
        TEST(a_store_may_never_answer),
        TEST(a_new_session_is_saved_before_its_name_leaves),
        TEST(a_renewed_session_moves_to_its_new_name),
        TEST(an_ended_session_is_removed_and_not_saved),
        TEST(always_asks_the_store_first),
        TEST(it_is_asked_by_path_parameters_as_well),
        TEST(what_cannot_be_a_name_is_not_asked_for),
        TEST(the_store_has_its_turn_to_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
