/*
 * Facts about sessions as applications see them (step 8 of rivulet.h): who gets which, how long it lasts,
 * and what a client can do to another's.
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

static char last_name[64]; /* of the session in the last answer's Set-Cookie or body */

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
    snprintf(text, sizeof text, "%d%s", (int)visits, rv_session_is_new(talk) ? " new" : "");
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

static int phrase(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, rv_session_phrase(talk));
}

static int too_late(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("head has left; "));
    rv_write(talk, rv_session_of(talk, &session) == RV_ESTATE ? RV_LIT("no") : RV_LIT("yes"));
    return RV_OK;
}

/* ---- what tests do ------------------------------------------------------------------------------------------ */

static void serve(rv_session_options options)
{
    assert_int_equal(rv_sessions(rv_default_app(tested), &options), 0);
    route("GET /count", count, NULL);
    route("GET /look", look, NULL);
    route("GET /renew", renew, NULL);
    route("GET /leave", leave, NULL);
    route("GET /phrase", phrase, NULL);
    route("GET /late", too_late, NULL);
}

/* The name in the last answer's Set-Cookie. */
static const char *take_name(void)
{
    const char *field = answer_field(last_answer(), "Set-Cookie");
    assert_non_null(field);
    const char *value = strchr(field, '=');
    assert_non_null(value);
    size_t length = strcspn(value + 1, ";");
    assert_true(length < sizeof last_name);
    memcpy(last_name, value + 1, length);
    last_name[length] = '\0';
    return last_name;
}

static void get_with(const char *path, const char *name)
{
    char field[128];
    snprintf(field, sizeof field, "Cookie: a=b; sid=%s; c=d\r\n", name);
    request("GET", path, field);
}

/* ---- cookies -------------------------------------------------------------------------------------------------- */

static void a_session_is_found_again_by_its_cookie(void **state)
{
    char name[64];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(name, take_name());
    assert_int_equal(strlen(name), 32);
    get_with("/count", name);
    expect_answer(200, "2");
    expect_field("Set-Cookie", NULL);
    as(1);
    get_with("/count", name);
    expect_answer(200, "3");
}

static void the_cookie_is_kept_from_scripts_and_other_sites(void **state)
{
    char expected[128];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    snprintf(expected, sizeof expected, "sid=%s; Path=/; HttpOnly; SameSite=Lax", take_name());
    expect_field("Set-Cookie", expected);
}

static void attributes_of_the_cookie_can_be_set(void **state)
{
    (void)state;
    serve((rv_session_options){.name = "key",
                               .cookie = {.path = "/shop", .same_site = "Strict", .secure = true},
                               .cookie_for_scripts = true});
    get("/count");
    expect_answer(200, "1 new");
    const char *field = answer_field(last_answer(), "Set-Cookie");
    assert_int_equal(strncmp(field, "key=", 4), 0);
    assert_non_null(strstr(field, "Path=/shop"));
    assert_non_null(strstr(field, "SameSite=Strict"));
    assert_non_null(strstr(field, "Secure"));
    assert_null(strstr(field, "HttpOnly"));
}

static void no_session_is_begun_unless_it_is_asked_for(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/look");
    expect_answer(200, "none");
    expect_field("Set-Cookie", NULL);
}

static void always_means_every_request(void **state)
{
    (void)state;
    serve((rv_session_options){.always = true});
    get("/look");
    expect_answer(200, "one");
    take_name();
}

static void a_name_that_a_client_makes_up_is_not_taken(void **state)
{
    static const char *const names[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x", "",
                                        "../../../../../../../../../etc/p"};
    (void)state;
    serve((rv_session_options){0});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        get_with("/count", names[i]);
        expect_answer(200, "1 new");
        assert_string_not_equal(take_name(), names[i]);
    }
}

static void a_session_cannot_be_begun_behind_the_head(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/late");
    expect_answer(200, "head has left; no");
}

/* ---- how long it lasts ----------------------------------------------------------------------------------------- */

static unsigned ended;
static int64_t visits_at_end;

static void on_end(rv_app *app, rv_session *session, void *ctx)
{
    assert_ptr_equal(app, rv_default_app(tested));
    (void)ctx;
    ended++;
    rv_session_get_int(session, "visits", &visits_at_end);
}

static void a_session_expires_by_the_clock_and_its_data_is_told(void **state)
{
    (void)state;
    serve((rv_session_options){.timeout_ms = 5000, .on_end = on_end});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    advance_ms(4000);
    as(1);
    get_with("/count", last_name);
    expect_answer(200, "2"); /* and used anew */
    ended = 0;
    advance_ms(4000);
    assert_int_equal(ended, 0);
    advance_ms(4000);
    assert_int_equal(ended, 1);
    assert_int_equal(visits_at_end, 2);
    as(2);
    get_with("/count", last_name);
    expect_answer(200, "1 new");
}

static void beyond_the_most_only_new_sessions_are_refused(void **state)
{
    (void)state;
    serve((rv_session_options){.sessions_max = 1});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    get("/count");
    expect_status(503);
    expect_field("Set-Cookie", NULL);
    get("/look");
    expect_answer(200, "none");
    get_with("/count", last_name);
    expect_answer(200, "2");
}

static void an_ended_session_is_gone_and_so_is_the_cookie(void **state)
{
    (void)state;
    serve((rv_session_options){.on_end = on_end});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    ended = 0;
    get_with("/leave", last_name);
    expect_answer(200, "bye");
    assert_int_equal(ended, 1);
    assert_non_null(strstr(answer_field(last_answer(), "Set-Cookie"), "Max-Age=0"));
    get_with("/look", last_name);
    expect_answer(200, "none");
}

static void a_renewed_session_has_another_name_and_its_values(void **state)
{
    char old[64];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(old, take_name());
    get_with("/renew", old);
    expect_answer(200, "renewed");
    assert_string_not_equal(take_name(), old);
    get_with("/look", old);
    expect_answer(200, "none");
    get_with("/count", last_name);
    expect_answer(200, "2");
}

/* ---- in the path ---------------------------------------------------------------------------------------------- */

static void a_session_can_be_named_in_the_path(void **state)
{
    char path[128], name[64];
    (void)state;
    serve((rv_session_options){.track = RV_SESSION_BY_URI});
    get("/phrase");
    expect_status(200);
    expect_field("Set-Cookie", NULL);
    const struct rv_buffer said = last_answer()->content;
    assert_int_equal(said.len, 5 + 32);
    snprintf(name, sizeof name, "%.*s", (int)said.len, said.ptr);
    assert_int_equal(strncmp(name, ";sid=", 5), 0);
    snprintf(path, sizeof path, "/count%s", name);
    get(path);
    expect_answer(200, "1");
    get(path);
    expect_answer(200, "2");
    get_with("/look", name + 5); /* a cookie means nothing then */
    expect_answer(200, "none");
}

/* ---- a store elsewhere -------------------------------------------------------------------------------------------- */

/* One session, kept as a number, and asked for on another thread. */
static struct {
    char name[32];
    int64_t visits;
    unsigned loads, saves, touches;
    bool removed, broken;
} kept;

struct question {
    rv_session_call *call;
    char name[32];
};

static void *answer_later(void *argument)
{
    struct question *question = argument;
    usleep(2000);
    if (kept.broken) {
        rv_session_answer(question->call, RV_EIO, NULL);
    } else if (memcmp(question->name, kept.name, 32) != 0) {
        rv_session_answer(question->call, RV_ENOTFOUND, NULL);
    } else {
        rv_session *session = rv_session_restore(rv_slice(kept.name, 32));
        rv_session_set_int(session, "visits", kept.visits);
        rv_session_answer(question->call, 0, session);
    }
    free(question);
    return NULL;
}

static pthread_t answering;

static void load(void *ctx, rv_bytes id, rv_session_call *call)
{
    struct question *question = malloc(sizeof *question);
    (void)ctx;
    kept.loads++;
    question->call = call;
    memcpy(question->name, id.ptr, 32);
    assert_int_equal(pthread_create(&answering, NULL, answer_later, question), 0);
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
    (void)ctx, (void)id;
    kept.removed = true;
}

static void touch(void *ctx, rv_bytes id)
{
    (void)ctx, (void)id;
    kept.touches++;
}

static void sweep(void *ctx)
{
    (void)ctx;
}

static const rv_session_store elsewhere = {load, save, forget, touch, sweep, NULL};

static void ask_elsewhere(const char *path, const char *name)
{
    get_with(path, name);
    pthread_join(answering, NULL);
    rv_test_settle(client());
}

static void a_store_may_answer_later(void **state)
{
    char name[64];
    (void)state;
    memset(&kept, 0, sizeof kept);
    serve((rv_session_options){.store = &elsewhere});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(name, take_name());
    assert_int_equal(kept.saves, 1);
    ask_elsewhere("/count", name);
    expect_answer(200, "2");
    assert_int_equal(kept.visits, 2);
    ask_elsewhere("/look", name);
    expect_answer(200, "one");
    assert_int_equal(kept.loads, 2);
    assert_int_equal(kept.saves, 2);
    assert_int_equal(kept.touches, 1);
    ask_elsewhere("/look", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect_answer(200, "none");
    kept.broken = true;
    ask_elsewhere("/look", name);
    expect_status(500);
}

static void a_client_may_leave_before_the_store_answers(void **state)
{
    char name[64];
    (void)state;
    memset(&kept, 0, sizeof kept);
    serve((rv_session_options){.store = &elsewhere});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(name, take_name());
    get_with("/count", name);
    assert_int_equal(rv_test_reset(client()), 0);
    pthread_join(answering, NULL);
    rv_test_settle(client());
    as(1);
    get("/look");
    expect_answer(200, "none");
}

/* ---- configuring ---------------------------------------------------------------------------------------------------- */

static void bad_options_are_named(void **state)
{
    static const rv_session_store half = {.load = load};
    (void)state;
    rv_app *app = rv_default_app(tested);
    assert_int_equal(rv_sessions(app, &(rv_session_options){.name = "a b"}), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "name"));
    assert_int_equal(rv_sessions(app, &(rv_session_options){.store = &half}), RV_EINVAL);
    assert_int_equal(rv_sessions(app, NULL), 0);
    assert_int_equal(rv_sessions(app, NULL), RV_ESTATE);
}

static void without_sessions_there_are_none(void **state)
{
    (void)state;
    route("GET /count", count, NULL);
    get("/count");
    expect_status(500);
    assert_int_equal(last_error, RV_ESTATE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_found_again_by_its_cookie),
        TEST(the_cookie_is_kept_from_scripts_and_other_sites),
        TEST(attributes_of_the_cookie_can_be_set),
        TEST(no_session_is_begun_unless_it_is_asked_for),
        TEST(always_means_every_request),
        TEST(a_name_that_a_client_makes_up_is_not_taken),
        TEST(a_session_cannot_be_begun_behind_the_head),
        TEST(a_session_expires_by_the_clock_and_its_data_is_told),
        TEST(beyond_the_most_only_new_sessions_are_refused),
        TEST(an_ended_session_is_gone_and_so_is_the_cookie),
        TEST(a_renewed_session_has_another_name_and_its_values),
        TEST(a_session_can_be_named_in_the_path),
        TEST(a_store_may_answer_later),
        TEST(a_client_may_leave_before_the_store_answers),
        TEST(bad_options_are_named),
        TEST(without_sessions_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
