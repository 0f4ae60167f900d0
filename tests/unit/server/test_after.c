/*
 * Facts about after-handlers (rv_after of rivulet.h): which responses have them, on which thread and how
 * often they run, what they may do and what not.
 */
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char trace[200];     /* what ran, a letter or word each */
static pthread_t last_on;   /* the thread of the last after-handler */
static rv_error results[8]; /* of what one has tried */

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

static int mark(rv_talk *talk, void *ctx)
{
    (void)talk;
    note(ctx);
    last_on = pthread_self();
    return RV_OK;
}

/* Says the status in a field. */
static int say_status(rv_talk *talk, void *ctx)
{
    char text[16];
    (void)ctx;
    snprintf(text, sizeof text, "%d", rv_response_status(talk));
    note("s");
    return rv_add_header(talk, "X-Status", text);
}

static int handler(rv_talk *talk, void *ctx)
{
    note("h");
    return rv_text(talk, 200, ctx);
}

static void after(const char *prefix, rv_handler handler_of_it, const char *ctx)
{
    assert_int_equal(
        rv_after(rv_default_app(tested), prefix, handler_of_it, (void *)(uintptr_t)ctx), 0);
}

/* ---- whom they concern ------------------------------------------------------------------------- */

static void they_run_behind_the_handler_the_last_one_first(void **state)
{
    (void)state;
    after(NULL, mark, "1");
    after("/", mark, "2");
    after("", mark, "3");
    route("GET /x", handler, "x");
    get("/x");
    expect_answer(200, "x");
    expect_trace("h321");
    get("/x");
    expect_answer(200, "x");
    expect_trace("h321");
}

static void a_prefix_is_below_the_mount_and_of_one_app(void **state)
{
    (void)state;
    rv_app *app = rv_app_new(tested, &(rv_app_options){.mount = "/api"});
    assert_int_equal(rv_after(app, "/in", mark, "a"), 0);
    assert_int_equal(rv_route(app, "GET /{rest...}", handler, "api"), 0);
    route("GET /{rest...}", handler, "default");
    get("/api/in/x");
    expect_answer(200, "api");
    expect_trace("ha");
    get("/api/%69n");
    expect_answer(200, "api");
    expect_trace("ha");
    get("/api/inner");
    expect_answer(200, "api");
    expect_trace("h");
    get("/in");
    expect_answer(200, "default");
    expect_trace("h");
}

static int guard(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_problem(talk, 401, NULL);
}

static int fail_as(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_EIO;
}

static int say_nothing(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_OK;
}

static int send_on(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_redirect(talk, 303, "/elsewhere");
}

static void expect_said(int status)
{
    char text[16];
    snprintf(text, sizeof text, "%d", status);
    expect_status(status);
    expect_field("X-Status", text);
    assert_int_equal(answer_field_count(last_answer(), "X-Status"), 1);
}

static void answers_of_the_library_have_them_too(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.body_bytes_max = 4}});
    after(NULL, say_status, NULL);
    assert_int_equal(rv_before(rv_default_app(tested), "/guarded", guard, NULL), 0);
    route("GET /x", handler, "x");
    route("GET /guarded", handler, "x");
    route("GET /broken", fail_as, NULL);
    route("GET /silent", say_nothing, NULL);
    route("GET /on", send_on, NULL);
    get("/none");
    expect_said(404);
    request("PUT", "/x", "Content-Length: 0\r\n");
    expect_said(405);
    request("OPTIONS", "/x", NULL);
    expect_said(204);
    request("OPTIONS", "*", NULL);
    expect_said(200);
    get("/guarded");
    expect_said(401);
    get("/broken");
    expect_said(500);
    get("/silent");
    expect_said(500);
    get("/on");
    expect_said(303);
    request("GET", "/x", "Expect: something\r\n");
    expect_said(417);
    get("/%zz");
    expect_said(400);
    request("GET", "/x", "Content-Length: 5\r\n");
    expect_said(413);
}

static void what_cannot_be_read_has_none(void **state)
{
    (void)state;
    after(NULL, say_status, NULL);
    route("GET /x", handler, "x");
    say("GET /x HTTP/1.1\r\n\r\n");
    expect_status(400);
    expect_field("X-Status", NULL);
    expect_trace("");
}

static int problem_page(rv_talk *talk, int status, const char *detail, void *ctx)
{
    (void)detail;
    (void)ctx;
    return rv_html(talk, status, "<p>styled</p>");
}

static void the_pages_of_an_app_have_them(void **state)
{
    (void)state;
    rv_app *app =
        rv_app_new(tested, &(rv_app_options){.mount = "/api", .on_problem = problem_page});
    assert_int_equal(rv_after(app, NULL, say_status, NULL), 0);
    assert_int_equal(rv_route(app, "GET /x", handler, "x"), 0);
    get("/api/none");
    expect_answer(404, "<p>styled</p>");
    expect_field("X-Status", "404");
    get("/none");
    expect_status(404);
    expect_field("X-Status", NULL);
}

static void files_have_them_whole_not_modified_and_in_ranges(void **state)
{
    (void)state;
    static const rv_asset table[] = {{"a.txt", "0123456789", 10, NULL, "\"tag\"", 0},
                                     {"d/index.html", "d", 1, NULL, NULL, 0}};
    after(NULL, say_status, NULL);
    assert_int_equal(rv_assets(rv_default_app(tested), "/", table, 2), 0);
    get("/a.txt");
    expect_said(200);
    request("GET", "/a.txt", "If-None-Match: \"tag\"\r\n");
    expect_said(304);
    request("GET", "/a.txt", "Range: bytes=2-3\r\n");
    expect_said(206);
    request("GET", "/a.txt", "Range: bytes=20-\r\n");
    expect_said(416);
    get("/d");
    expect_said(301);
    request("HEAD", "/a.txt", NULL);
    expect_head_status(200);
    expect_field("X-Status", "200");
    expect_field("Content-Length", "10");
}

/* ---- what they may do -------------------------------------------------------------------------- */

static int with_fields(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "X-Secret", "inner");
    rv_set_header(talk, "X-Mine", "handler");
    rv_set_header(talk, "X-Kept", "handler");
    return handler(talk, ctx);
}

static int change_fields(rv_talk *talk, void *ctx)
{
    (void)ctx;
    assert_true(rv_equals(rv_response_header(talk, "X-Kept"), "handler"));
    assert_int_equal(rv_remove_header(talk, "X-Secret"), 0);
    assert_int_equal(rv_set_header(talk, "X-Mine", "after"), 0);
    assert_int_equal(rv_add_header(talk, "X-Added", "1"), 0);
    assert_int_equal(rv_set_header(talk, "Content-Type", "text/x-after"), 0);
    assert_int_equal(rv_set_cookie(talk, "c", "v", NULL), 0);
    return rv_set_reason(talk, "After All");
}

static void they_change_the_head(void **state)
{
    (void)state;
    after(NULL, change_fields, NULL);
    route("GET /x", with_fields, "x");
    get("/x");
    expect_answer(200, "x");
    expect_field("X-Secret", NULL);
    expect_field("X-Mine", "after");
    expect_field("X-Kept", "handler");
    expect_field("X-Added", "1");
    expect_field("Content-Type", "text/x-after");
    expect_field("Set-Cookie", "c=v");
    assert_non_null(strstr(last_answer()->head, "HTTP/1.1 200 After All\r\n"));
}

static int close_it(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_set_header(talk, "Connection", "close");
}

static void they_may_close_the_connection(void **state)
{
    (void)state;
    after("/last", close_it, NULL);
    route("GET /{rest...}", handler, "x");
    get("/x");
    expect_answer(200, "x");
    expect_open();
    get("/last");
    expect_answer(200, "x");
    expect_field("Connection", "close");
    expect_closed();
}

static int ignored_drain(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_OK;
}

static int try_to_answer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_text(talk, 500, "no");
    results[1] = rv_begin(talk, 200);
    results[2] = rv_write(talk, RV_LIT("no"));
    results[3] = rv_end(talk);
    results[4] = rv_delegate(talk, handler, NULL);
    results[5] = rv_set_header(talk, "Content-Length", "7");
    results[6] = rv_remove_header(talk, "Content-Length");
    results[7] = rv_on_drain(talk, ignored_drain, NULL);
    return RV_OK;
}

static void expect_results_are_estate(void)
{
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(results[i], RV_ESTATE);
        results[i] = 0;
    }
}

static int stream(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 201);
    note("b");
    rv_write(talk, RV_LIT("ab"));
    note("w");
    assert_int_equal(rv_set_header(talk, "X-Late", "1"), RV_ESTATE);
    rv_write(talk, RV_LIT("cd"));
    return rv_end(talk);
}

static void what_answers_is_refused_to_them(void **state)
{
    (void)state;
    after(NULL, try_to_answer, NULL);
    route("GET /whole", handler, "x");
    route("GET /streamed", stream, NULL);
    get("/whole");
    expect_answer(200, "x");
    expect_results_are_estate();
    get("/streamed");
    expect_answer(201, "abcd");
    expect_results_are_estate();
    assert_int_equal(errors_told, 0);
}

static int refuse(rv_talk *talk, void *ctx)
{
    (void)talk;
    return *(const char *)ctx == 'f' ? RV_EIO : RV_PENDING;
}

static void one_that_fails_is_told_of_and_stops_nothing(void **state)
{
    (void)state;
    after(NULL, mark, "1");
    after("/f", refuse, "f");
    after("/p", refuse, "p");
    route("GET /{rest...}", handler, "x");
    get("/f");
    expect_answer(200, "x");
    expect_trace("h1");
    assert_int_equal(errors_told, 1);
    assert_int_equal(last_error, RV_EIO);
    assert_string_equal(last_error_doing, "in an after-handler");
    get("/p");
    expect_answer(200, "x");
    assert_int_equal(errors_told, 2);
    assert_int_equal(last_error, RV_ESTATE);
    get("/x");
    expect_answer(200, "x");
    assert_int_equal(errors_told, 2);
}

/* ---- streamed responses ------------------------------------------------------------------------ */

static void a_streamed_response_has_them_at_its_first_write(void **state)
{
    (void)state;
    after(NULL, say_status, NULL);
    route("GET /x", stream, NULL);
    get("/x");
    expect_answer(201, "abcd");
    expect_field("X-Status", "201");
    expect_field("X-Late", NULL);
    expect_trace("bsw");
}

static int begin_only(rv_talk *talk, void *ctx)
{
    int result = rv_begin(talk, 202);
    note("b");
    return ctx == NULL ? result : rv_end(talk);
}

static void one_without_a_write_has_them_at_its_end(void **state)
{
    (void)state;
    after(NULL, say_status, NULL);
    route("GET /begun", begin_only, NULL);
    route("GET /ended", begin_only, "end");
    get("/begun");
    expect_said(202);
    expect_trace("bs");
    get("/ended");
    expect_said(202);
    expect_trace("bs");
}

static int begin_and_fail(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    return RV_EIO;
}

static void a_500_instead_has_them_once(void **state)
{
    (void)state;
    after(NULL, say_status, NULL);
    route("GET /x", begin_and_fail, NULL);
    get("/x");
    expect_said(500);
    expect_trace("s");
}

static int later(rv_talk *talk, void *ctx)
{
    return rv_after_ms(talk, 5, handler, ctx) == 0 ? RV_PENDING : RV_ESTATE;
}

static void an_answer_that_comes_later_has_them(void **state)
{
    (void)state;
    after(NULL, say_status, NULL);
    route("GET /x", later, "x");
    get("/x");
    expect_trace("");
    advance_ms(10);
    expect_answer(200, "x");
    expect_field("X-Status", "200");
    expect_trace("hs");
}

/* ---- the pool ---------------------------------------------------------------------------------- */

static void on_pool(const char *pattern, rv_handler handler_of_it, void *ctx)
{
    route_with(pattern, handler_of_it, ctx, (rv_route_options){.run = RV_ON_POOL});
}

static void they_run_on_the_thread_that_answers(void **state)
{
    (void)state;
    after(NULL, mark, "1");
    after(NULL, say_status, NULL);
    route("GET /loop", handler, "x");
    on_pool("GET /whole", handler, "x");
    on_pool("GET /streamed", stream, NULL);
    on_pool("GET /ended", begin_only, "end");
    on_pool("GET /begun", begin_only, NULL);
    on_pool("GET /broken", fail_as, NULL);
    get("/loop");
    expect_answer(200, "x");
    expect_trace("hs1");
    assert_true(pthread_equal(last_on, pthread_self()));
    get("/whole");
    expect_answer(200, "x");
    expect_field("X-Status", "200");
    expect_trace("hs1");
    assert_false(pthread_equal(last_on, pthread_self()));
    get("/streamed");
    expect_answer(201, "abcd");
    expect_field("X-Status", "201");
    expect_trace("bs1w");
    assert_false(pthread_equal(last_on, pthread_self()));
    get("/ended");
    expect_said(202);
    expect_trace("bs1");
    assert_false(pthread_equal(last_on, pthread_self()));
    get("/begun"); /* it is the worker that ends it */
    expect_said(202);
    expect_trace("bs1");
    assert_true(pthread_equal(last_on, pthread_self()));
    get("/broken"); /* and that gives the 500 */
    expect_said(500);
    expect_trace("s1");
    assert_true(pthread_equal(last_on, pthread_self()));
}

static void the_pool_refuses_and_reports_as_the_loop_does(void **state)
{
    (void)state;
    after("/a", try_to_answer, NULL);
    after("/f", refuse, "f");
    on_pool("GET /{rest...}", handler, "x");
    get("/a");
    expect_answer(200, "x");
    expect_results_are_estate();
    get("/f");
    expect_answer(200, "x");
    assert_int_equal(errors_told, 1);
    assert_int_equal(last_error, RV_EIO);
}

/* ---- framing and compression ------------------------------------------------------------------- */

#ifdef RV_WITH_GZIP
#define GZIP_BUILT true
#else
#define GZIP_BUILT false
#endif

static char long_text[4001];

static int write_long(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/plain");
    rv_begin(talk, 203);
    rv_write(talk, (rv_bytes){long_text, 2000});
    rv_write(talk, (rv_bytes){long_text, 2000});
    return rv_end(talk);
}

static int keep_as_it_is(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_set_header(talk, "Cache-Control", "no-transform");
}

static void they_run_once_before_compression_and_framing_are_decided(void **state)
{
    (void)state;
    static const rv_framing framings[] = {RV_FRAMING_AUTO, RV_FRAMING_BUFFERED};
    memset(long_text, 'x', sizeof long_text - 1);
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++) {
        static const rv_compress_options compress = {.bytes_min = 100};
        tested_with(NULL);
        rv_app_set(rv_default_app(tested),
                   &(rv_app_options){.framing = framings[i], .compress = &compress});
        after(NULL, say_status, NULL);
        after("/plain", keep_as_it_is, NULL);
        route("GET /whole", handler, long_text);
        route("GET /streamed", write_long, NULL);
        route("GET /plain", write_long, NULL);
        on_pool("GET /pool", write_long, NULL);
        static const struct {
            const char *path;
            int status;
        } cases[] = {{"/whole", 200}, {"/streamed", 203}, {"/plain", 203}, {"/pool", 203}};
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            *trace = '\0';
            request("GET", cases[j].path, "Accept-Encoding: gzip\r\n");
            expect_said(cases[j].status);
            expect_trace(j == 0 ? "hs" : "s");
            bool is_plain = strcmp(cases[j].path, "/plain") == 0;
            bool is_coded = answer_field(last_answer(), "Content-Encoding") != NULL;
            assert_true(is_coded ? !is_plain : is_plain || !GZIP_BUILT);
        }
    }
}

/* ---- adding them ------------------------------------------------------------------------------- */

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    rv_app *app = rv_default_app(tested);
    route("GET /x", handler, "x");
    get("/x");
    expect_answer(200, "x");
    assert_int_equal(rv_after(app, NULL, mark, "1"), RV_ESTATE);
    assert_string_equal(rv_server_error_text(tested), "after-handlers are added before the start");
    assert_int_equal(rv_before(app, NULL, mark, "1"), RV_ESTATE);
    assert_string_equal(rv_server_error_text(tested), "before-handlers are added before the start");
    tested_with(NULL);
    assert_int_equal(rv_after(rv_default_app(tested), "/a", NULL, NULL), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested), "after \"/a\": a handler is needed");
    tested_with(NULL);
    assert_int_equal(rv_after(rv_default_app(tested), "a?b", mark, "1"), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested),
                        "after \"a?b\": must be like \"/admin\", without any of ; ? # % { }");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(they_run_behind_the_handler_the_last_one_first),
        FACT(a_prefix_is_below_the_mount_and_of_one_app),
        FACT(answers_of_the_library_have_them_too),
        FACT(what_cannot_be_read_has_none),
        FACT(the_pages_of_an_app_have_them),
        FACT(files_have_them_whole_not_modified_and_in_ranges),
        FACT(they_change_the_head),
        FACT(they_may_close_the_connection),
        FACT(what_answers_is_refused_to_them),
        FACT(one_that_fails_is_told_of_and_stops_nothing),
        FACT(a_streamed_response_has_them_at_its_first_write),
        FACT(one_without_a_write_has_them_at_its_end),
        FACT(a_500_instead_has_them_once),
        FACT(an_answer_that_comes_later_has_them),
        FACT(they_run_on_the_thread_that_answers),
        FACT(the_pool_refuses_and_reports_as_the_loop_does),
        FACT(they_run_once_before_compression_and_framing_are_decided),
        FACT(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
