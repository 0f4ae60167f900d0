/*
 * Facts about before-handlers (rv_before of rivulet.h): whom they concern, what they may do, and how a
 * talk goes on behind them, also when they have held it.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char trace[200]; /* what ran, a letter or word each */

static void note(const char *what)
{
    strncat(trace, what, sizeof trace - strlen(trace) - 1);
}

static void expect_trace(const char *wanted)
{
    assert_string_equal(trace, wanted);
    *trace = '\0';
}

static int set_up(void **state)
{
    *trace = '\0';
    return tested_set_up(state);
}

static int pass(rv_talk *talk, void *ctx)
{
    (void)talk;
    note(ctx);
    return RV_OK;
}

static int handler(rv_talk *talk, void *ctx)
{
    note("h");
    return rv_text(talk, 200, ctx);
}

static int guard(rv_talk *talk, void *ctx)
{
    (void)ctx;
    note("g");
    if (rv_equals(rv_header(talk, "Authorization"), "yes"))
        return RV_OK;
    return rv_problem(talk, 401, NULL);
}

static void before(const char *prefix, rv_handler handler_of_it, const char *ctx)
{
    assert_int_equal(
        rv_before(rv_default_app(tested), prefix, handler_of_it, (void *)(uintptr_t)ctx), 0);
}

/* ---- order and prefix -------------------------------------------------------------------------- */

static void they_run_in_order_before_the_handler(void **state)
{
    (void)state;
    before(NULL, pass, "1");
    before("/", pass, "2");
    before("", pass, "3");
    route("GET /x", handler, "x");
    get("/x");
    expect_answer(200, "x");
    expect_trace("123h");
    get("/x");
    expect_answer(200, "x");
    expect_trace("123h");
}

static void one_that_answers_ends_the_matter(void **state)
{
    (void)state;
    before("/a", guard, NULL);
    before("/a", pass, "2");
    route("GET /a/x", handler, "x");
    get("/a/x");
    expect_status(401);
    expect_trace("g");
    request("GET", "/a/x", "Authorization: yes\r\n");
    expect_answer(200, "x");
    expect_trace("g2h");
}

static int broken(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    return RV_EIO;
}

static void one_that_fails_is_a_500(void **state)
{
    (void)state;
    before(NULL, broken, NULL);
    route("GET /x", handler, "x");
    get("/x");
    expect_status(500);
    expect_trace("");
    assert_int_equal(last_error, RV_EIO);
}

static void a_prefix_concerns_whole_segments_in_any_spelling(void **state)
{
    (void)state;
    static const char *const inside[] = {
        "/admin",        "/admin/",      "/admin/x",   "/%61dmin/x",     "//admin/x", "/admin//x",
        "/x/../admin/y", "/admin;a=b/x", "/admin%2Fx", "/./%2e/admin/x", "/admin;x"};
    static const char *const outside[] = {"/", "/administrator", "/x/admin", "/adm", "/Admin"};
    before("/admin/", guard, NULL);
    route("GET /{all...}", handler, "x");
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        get(inside[i]);
        expect_status(401);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        get(outside[i]);
        expect_answer(200, "x");
    }
}

static void a_prefix_is_below_the_mount_and_of_one_app(void **state)
{
    (void)state;
    rv_app *app = rv_app_new(tested, &(rv_app_options){.mount = "/api/v1"});
    assert_int_equal(rv_before(app, "/in", pass, "b"), 0);
    assert_int_equal(rv_route(app, "GET /in/x", handler, "in"), 0);
    assert_int_equal(rv_route(app, "GET /out", handler, "out"), 0);
    route("GET /in/x", handler, "default");
    get("/api/v1/in/x");
    expect_answer(200, "in");
    expect_trace("bh");
    get("/api/v1/out");
    expect_answer(200, "out");
    expect_trace("h");
    get("/in/x");
    expect_answer(200, "default");
    expect_trace("h");
}

static void a_request_without_a_handler_has_none(void **state)
{
    (void)state;
    before(NULL, guard, NULL);
    get("/none");
    expect_status(404);
    expect_trace("");
}

static int set_field(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_set_header(talk, "X-Before", "set");
}

static void one_may_set_fields_and_let_it_go_on(void **state)
{
    (void)state;
    before(NULL, set_field, NULL);
    route("GET /x", handler, "x");
    get("/x");
    expect_answer(200, "x");
    expect_field("X-Before", "set");
}

static int need_body(rv_talk *talk, void *ctx)
{
    (void)ctx;
    note("b");
    return rv_equals(rv_body(talk), "token") ? RV_OK : rv_problem(talk, 403, NULL);
}

static void they_see_the_whole_body(void **state)
{
    (void)state;
    before(NULL, need_body, NULL);
    route("POST /x", handler, "x");
    request("POST", "/x", "Content-Length: 5\r\n");
    expect_trace("");
    say("tok");
    say("en");
    expect_answer(200, "x");
    expect_trace("bh");
    request("POST", "/x", "Content-Length: 5\r\n");
    say("wrong");
    expect_status(403);
    expect_trace("b");
}

static int delegate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    note("d");
    if (rv_equals(rv_query(talk), "other"))
        return rv_delegate(talk, handler, "other");
    return rv_delegate(talk, pass, "p");
}

static void one_may_delegate(void **state)
{
    (void)state;
    before(NULL, delegate, NULL);
    route("GET /x", handler, "x");
    get("/x?other");
    expect_answer(200, "other");
    expect_trace("dh");
    get("/x");
    expect_answer(200, "x");
    expect_trace("dph");
}

static int delegate_badly(rv_talk *talk, void *ctx)
{
    (void)ctx;
    assert_int_equal(rv_delegate(talk, NULL, NULL), RV_EINVAL);
    assert_int_equal(rv_delegate(NULL, handler, NULL), RV_EGONE);
    rv_text(talk, 200, "first");
    assert_int_equal(rv_delegate(talk, handler, "second"), RV_ESTATE);
    return RV_OK;
}

static void what_is_answered_is_not_delegated(void **state)
{
    (void)state;
    route("GET /x", delegate_badly, NULL);
    get("/x");
    expect_answer(200, "first");
    expect_trace("");
}

/* ---- held ---------------------------------------------------------------------------------------- */

static rv_handle held;
static unsigned resumed;

static int hold(rv_talk *talk, void *ctx)
{
    note(ctx);
    held = rv_suspend(talk);
    return RV_PENDING;
}

static int let_go_on(rv_talk *talk, void *value)
{
    resumed++;
    if (talk == NULL)
        return RV_OK;
    note(value);
    return RV_OK;
}

static int refuse(rv_talk *talk, void *value)
{
    note(value);
    return rv_problem(talk, 403, NULL);
}

static void resume(rv_handler then, const char *value)
{
    assert_int_equal(rv_resume(tested, held, then, (void *)(uintptr_t)value), 0);
    rv_test_settle(client());
}

static void one_that_was_held_goes_on_where_it_was(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    before(NULL, pass, "2");
    before(NULL, hold, "3");
    before(NULL, pass, "4");
    route("GET /x", handler, "x");
    for (int round = 0; round < 3; round++) {
        get("/x");
        expect_silence();
        expect_trace("1");
        resume(let_go_on, "r");
        expect_trace("r23");
        expect_silence();
        resume(let_go_on, "r");
        expect_answer(200, "x");
        expect_trace("r4h");
    }
}

static void one_that_was_held_may_answer(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    before(NULL, pass, "2");
    route("GET /x", handler, "x");
    get("/x");
    resume(refuse, "r");
    expect_status(403);
    expect_trace("1r");
}

static int hold_again(rv_talk *talk, void *value)
{
    note(value);
    held = rv_suspend(talk);
    return RV_PENDING;
}

static void one_may_be_held_again_and_again(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    route("GET /x", handler, "x");
    get("/x");
    for (int round = 0; round < 5; round++)
        resume(hold_again, "r");
    expect_silence();
    resume(let_go_on, "g");
    expect_answer(200, "x");
    expect_trace("1rrrrrgh");
}

static void a_client_that_leaves_while_held_reaches_no_handler(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    route("GET /x", handler, "x");
    get("/x");
    resumed = 0;
    assert_int_equal(rv_resume(tested, held, let_go_on, "r"), 0);
    rv_test_reset(client());
    as(1);
    rv_test_settle(client());
    assert_int_equal(resumed, 1);
    assert_null(strchr(trace, 'h'));
}

static int soon(rv_talk *talk, void *ctx)
{
    (void)ctx;
    note("s");
    assert_int_equal(rv_after_ms(talk, 100, let_go_on, "t"), 0);
    return RV_PENDING;
}

static void a_timer_lets_it_go_on(void **state)
{
    (void)state;
    before(NULL, soon, NULL);
    route("GET /x", handler, "x");
    get("/x");
    advance_ms(50);
    expect_silence();
    advance_ms(60);
    expect_answer(200, "x");
    expect_trace("sth");
}

static void a_held_body_is_still_there_for_the_handler(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    before(NULL, need_body, NULL);
    route("POST /x", handler, "x");
    say("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\ntoken");
    resume(let_go_on, "r");
    expect_answer(200, "x");
    expect_trace("1rbh");
}

static int count_body(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    static size_t octets;
    char text[40];
    (void)ctx;
    octets += piece.len;
    if (!last)
        return RV_OK;
    snprintf(text, sizeof text, "%zu", octets);
    octets = 0;
    return rv_text(talk, 200, text);
}

static int stream(rv_talk *talk, void *ctx)
{
    (void)ctx;
    note("h");
    rv_error error = rv_on_body(talk, count_body, NULL);
    return error != 0 ? error : RV_PENDING;
}

static void a_streamed_body_waits_until_it_goes_on(void **state)
{
    (void)state;
    before(NULL, hold, "1");
    route_with("POST /x", stream, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    say("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n1234");
    expect_trace("1");
    say("5678");
    resume(let_go_on, "r");
    expect_answer(200, "8");
    expect_trace("rh");
}

static void the_pool_runs_them_with_its_handlers(void **state)
{
    (void)state;
    before(NULL, pass, "1");
    before("/held", hold, "2");
    before(NULL, pass, "3");
    route_with("GET /x", handler, "x", (rv_route_options){.run = RV_ON_POOL});
    route_with("GET /held", handler, "held", (rv_route_options){.run = RV_ON_POOL});
    get("/x");
    expect_answer(200, "x");
    expect_trace("13h");
    get("/held");
    expect_silence();
    expect_trace("12");
    resume(let_go_on, "r");
    expect_answer(200, "held");
    expect_trace("r3h");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(they_run_in_order_before_the_handler),
        FACT(one_that_answers_ends_the_matter),
        FACT(one_that_fails_is_a_500),
        FACT(a_prefix_concerns_whole_segments_in_any_spelling),
        FACT(a_prefix_is_below_the_mount_and_of_one_app),
        FACT(a_request_without_a_handler_has_none),
        FACT(one_may_set_fields_and_let_it_go_on),
        FACT(they_see_the_whole_body),
        FACT(one_may_delegate),
        FACT(what_is_answered_is_not_delegated),
        FACT(one_that_was_held_goes_on_where_it_was),
        FACT(one_that_was_held_may_answer),
        FACT(one_may_be_held_again_and_again),
        FACT(a_client_that_leaves_while_held_reaches_no_handler),
        FACT(a_timer_lets_it_go_on),
        FACT(a_held_body_is_still_there_for_the_handler),
        FACT(a_streamed_body_waits_until_it_goes_on),
        FACT(the_pool_runs_them_with_its_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
