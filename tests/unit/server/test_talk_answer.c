/*
 * Facts about whole answers (step 3 of rivulet.h): content, status, fields, cookies, redirects, and what
 * becomes of a handler that fails. Files have their own: test_talk_file.c.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- content ----------------------------------------------------------------------------------- */

typedef int (*texted)(rv_talk *talk, int status, const char *text);

/* Answers from memory that is gone when the handler has returned. */
static int answer_from_the_stack(rv_talk *talk, void *ctx)
{
    char text[] = "content";
    int result = (*(const texted *)ctx)(talk, 200, text);
    memset(text, '#', sizeof text);
    return result;
}

static int reply_from_the_stack(rv_talk *talk, int status, const char *text)
{
    return rv_reply(talk, status, "application/x-own", rv_str(text));
}

static void each_verb_copies_its_content_and_names_its_type(void **state)
{
    (void)state;
    static texted verbs[] = {rv_text, rv_html, rv_json, reply_from_the_stack};
    static const char *const types[] = {"text/plain; charset=UTF-8", "text/html; charset=UTF-8",
                                        "application/json", "application/x-own"};
    for (int i = 0; i < 4; i++) {
        char pattern[32], path[16];
        snprintf(path, sizeof path, "/%d", i);
        snprintf(pattern, sizeof pattern, "GET %s", path);
        route(pattern, answer_from_the_stack, &verbs[i]);
    }
    for (int i = 0; i < 4; i++) {
        char path[16];
        snprintf(path, sizeof path, "/%d", i);
        get(path);
        expect_answer(200, "content");
        expect_field("Content-Type", types[i]);
        expect_field("Content-Length", "7");
    }
}

static int say_ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static void the_librarys_own_fields_are_there_once(void **state)
{
    (void)state;
    route("GET /", say_ok, NULL);
    get("/");
    expect_answer(200, "Ok");
    expect_field("Server", "rivulet");
    expect_field("Date", "Thu, 01 Jan 2026 00:00:01 GMT");
    expect_field("Connection", NULL);
    expect_field("Transfer-Encoding", NULL);
    assert_int_equal(answer_field_count(last_answer(), "Server"), 1);
    assert_int_equal(answer_field_count(last_answer(), "Date"), 1);
    assert_int_equal(answer_field_count(last_answer(), "Content-Length"), 1);
    assert_int_equal(answer_field_count(last_answer(), "Content-Type"), 1);
}

static void the_date_is_that_of_the_answer(void **state)
{
    (void)state;
    route("GET /", say_ok, NULL);
    get("/");
    expect_status(200);
    advance_ms(2500);
    get("/");
    expect_status(200);
    expect_field("Date", "Thu, 01 Jan 2026 00:00:03 GMT");
}

static void the_server_field_may_be_another_or_none(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.server_name = "other/1.0"});
    route("GET /", say_ok, NULL);
    get("/");
    expect_status(200);
    expect_field("Server", "other/1.0");
}

static void an_empty_server_name_is_no_field(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.server_name = ""});
    route("GET /", say_ok, NULL);
    get("/");
    expect_answer(200, "Ok");
    expect_field("Server", NULL);
    assert_non_null(answer_field(last_answer(), "Date"));
}

static int reply_sized(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int64_t size = 0;
    rv_param_int(talk, "size", 0, 10000000, &size);
    char *octets = rv_alloc(talk, (size_t)size);
    for (int64_t i = 0; i < size; i++)
        octets[i] = (char)('a' + i % 26);
    return rv_reply(talk, 200, NULL, (rv_bytes){octets, (size_t)size});
}

static void content_of_any_size_arrives_whole(void **state)
{
    (void)state;
    static const long sizes[] = {0, 1, 16383, 16384, 16385, 32768, 65536, 100000, 3000000};
    route("GET /", reply_sized, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char path[32], length[32];
        snprintf(path, sizeof path, "/?size=%ld", sizes[i]);
        snprintf(length, sizeof length, "%ld", sizes[i]);
        get(path);
        expect_status(200);
        expect_field("Content-Length", length);
        assert_int_equal(last_answer()->content.len, sizes[i]);
        for (long at = 0; at < sizes[i]; at++)
            if (last_answer()->content.ptr[at] != (char)('a' + at % 26))
                fail();
    }
}

static void an_answer_without_a_type_has_no_such_field(void **state)
{
    (void)state;
    route("GET /", reply_sized, NULL);
    get("/?size=3");
    expect_answer(200, "abc");
    expect_field("Content-Type", NULL);
}

static void a_head_is_answered_like_a_get_without_content(void **state)
{
    (void)state;
    static const char *const sizes[] = {"0", "2", "100000"};
    route("GET /", reply_sized, NULL);
    for (int i = 0; i < 3; i++) {
        char path[32], head[8192];
        snprintf(path, sizeof path, "/?size=%s", sizes[i]);
        get(path);
        expect_status(200);
        strcpy(head, last_answer()->head);
        request("HEAD", path, NULL);
        expect_head_status(200);
        assert_string_equal(last_answer()->head, head);
        expect_silence();
    }
}

/* ---- status ------------------------------------------------------------------------------------ */

struct attempt {
    int status;
    int result; /* of the verb */
};

static int try_status(rv_talk *talk, void *ctx)
{
    struct attempt *attempt = ctx;
    attempt->result = rv_text(talk, attempt->status, "tried");
    return attempt->result == RV_OK ? RV_OK : rv_text(talk, 200, "refused");
}

static void a_final_status_of_three_digits_is_taken(void **state)
{
    (void)state;
    static const int statuses[] = {200, 201, 299, 300, 404, 418, 499, 500, 599, 600, 999};
    struct attempt attempt;
    route("GET /", try_status, &attempt);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        attempt.status = statuses[i];
        get("/");
        expect_answer(statuses[i], "tried");
        assert_int_equal(attempt.result, RV_OK);
    }
}

static void any_other_status_is_refused_and_leaves_the_talk_open(void **state)
{
    (void)state;
    static const int statuses[] = {-1, 0, 99, 100, 101, 199, 1000, 65536};
    struct attempt attempt;
    route("GET /", try_status, &attempt);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        attempt.status = statuses[i];
        get("/");
        expect_answer(200, "refused");
        assert_int_equal(attempt.result, RV_EINVAL);
    }
}

static void a_status_without_content_has_neither_content_nor_length(void **state)
{
    (void)state;
    struct attempt attempt = {.status = 204};
    route("GET /", try_status, &attempt);
    get("/");
    expect_answer(204, "");
    expect_field("Content-Length", NULL);
    expect_field("Content-Type", NULL);
    attempt.status = 304;
    get("/");
    expect_answer(304, "");
    expect_field("Content-Length", NULL);
    expect_silence();
}

static void responses_are_counted_by_class(void **state)
{
    (void)state;
    struct attempt attempt;
    route("GET /", try_status, &attempt);
    static const int statuses[] = {200, 204, 301, 404, 404, 404, 503, 503};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        attempt.status = statuses[i];
        get("/");
        expect_status(statuses[i]);
    }
    assert_int_equal(COUNTER(responses_2xx), 2);
    assert_int_equal(COUNTER(responses_3xx), 1);
    assert_int_equal(COUNTER(responses_4xx), 3);
    assert_int_equal(COUNTER(responses_5xx), 2);
    assert_int_equal(COUNTER(requests), 8);
}

/* ---- once -------------------------------------------------------------------------------------- */

static int answer_twice(rv_talk *talk, void *ctx)
{
    int *results = ctx;
    results[0] = rv_text(talk, 200, "first");
    results[1] = rv_text(talk, 200, "second");
    results[2] = rv_redirect(talk, 302, "/");
    results[3] = rv_file(talk, "/dev/null", NULL);
    results[4] = rv_problem(talk, 500, NULL);
    results[5] = rv_begin(talk, 200);
    results[6] = rv_set_header(talk, "X", "y");
    results[7] = rv_set_cookie(talk, "x", "y", NULL);
    return RV_OK;
}

static void a_talk_is_answered_once(void **state)
{
    (void)state;
    int results[8];
    route("GET /", answer_twice, results);
    get("/");
    expect_answer(200, "first");
    expect_silence();
    assert_int_equal(results[0], RV_OK);
    for (int i = 1; i < 8; i++)
        assert_int_equal(results[i], RV_ESTATE);
}

static void no_talk_is_a_client_that_has_gone(void **state)
{
    (void)state;
    assert_int_equal(rv_text(NULL, 200, "x"), RV_EGONE);
    assert_int_equal(rv_html(NULL, 200, "x"), RV_EGONE);
    assert_int_equal(rv_json(NULL, 200, "x"), RV_EGONE);
    assert_int_equal(rv_reply(NULL, 200, NULL, RV_LIT("x")), RV_EGONE);
    assert_int_equal(rv_file(NULL, "/dev/null", NULL), RV_EGONE);
    assert_int_equal(rv_redirect(NULL, 302, "/"), RV_EGONE);
    assert_int_equal(rv_problem(NULL, 500, NULL), RV_EGONE);
    assert_int_equal(rv_set_header(NULL, "X", "y"), RV_EGONE);
    assert_int_equal(rv_add_header(NULL, "X", "y"), RV_EGONE);
    assert_int_equal(rv_set_cookie(NULL, "x", "y", NULL), RV_EGONE);
    assert_int_equal(rv_on_body(NULL, NULL, NULL), RV_EGONE);
    assert_int_equal(rv_body_resume(NULL), RV_EGONE);
    assert_int_equal(rv_begin(NULL, 200), RV_EGONE);
    assert_int_equal(rv_write(NULL, RV_LIT("x")), RV_EGONE);
    assert_int_equal(rv_on_drain(NULL, say_ok, NULL), RV_EGONE);
    assert_int_equal(rv_set_trailer(NULL, "X", "y"), RV_EGONE);
    assert_int_equal(rv_end(NULL), RV_EGONE);
    assert_int_equal(rv_on_gone(NULL, NULL, NULL), RV_EGONE);
    assert_int_equal(rv_after_ms(NULL, 1, say_ok, NULL), RV_EGONE);
    assert_int_equal(rv_suspend(NULL).id, 0);
}

/* ---- borrowed content -------------------------------------------------------------------------- */

struct loan {
    rv_bytes octets;
    int status;
    int result;
    int released;
    bool twice; /* answer before that */
};

static void take_back(void *ctx)
{
    ((struct loan *)ctx)->released++;
}

static int lend(rv_talk *talk, void *ctx)
{
    struct loan *loan = ctx;
    if (loan->twice)
        rv_text(talk, 200, "first");
    loan->result =
        rv_reply_borrowed(talk, loan->status, "text/plain", loan->octets, take_back, loan);
    if (loan->result == RV_EINVAL)
        return rv_text(talk, 200, "refused");
    return RV_OK;
}

static char large[200000];

static void borrowed_content_is_released_once_when_it_is_sent(void **state)
{
    (void)state;
    struct loan small = {.octets = RV_LIT("small"), .status = 200};
    struct loan big = {.octets = {large, sizeof large}, .status = 200};
    struct loan none = {.octets = RV_LIT(""), .status = 200};
    memset(large, 'x', sizeof large);
    route("GET /small", lend, &small);
    route("GET /big", lend, &big);
    route("GET /none", lend, &none);
    get("/small");
    expect_answer(200, "small");
    assert_int_equal(small.released, 1);
    get("/none");
    expect_answer(200, "");
    assert_int_equal(none.released, 1);

    rv_test_window(client(), 1000);
    get("/big");
    assert_int_equal(big.released, 0);
    rv_test_window(client(), RV_NO_LIMIT);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, sizeof large);
    assert_memory_equal(last_answer()->content.ptr, large, sizeof large);
    assert_int_equal(big.released, 1);
}

static void borrowed_content_is_released_when_the_client_leaves(void **state)
{
    (void)state;
    struct loan loan = {.octets = {large, sizeof large}, .status = 200};
    route("GET /", lend, &loan);
    rv_test_window(client(), 1000);
    get("/");
    assert_int_equal(loan.released, 0);
    rv_test_reset(client());
    assert_int_equal(loan.released, 1);
}

static void borrowed_content_that_a_head_leaves_out_is_released(void **state)
{
    (void)state;
    struct loan loan = {.octets = {large, sizeof large}, .status = 200};
    route("GET /", lend, &loan);
    request("HEAD", "/", NULL);
    expect_head_status(200);
    expect_field("Content-Length", "200000");
    assert_int_equal(loan.released, 1);
}

static void borrowed_content_that_is_refused_is_released(void **state)
{
    (void)state;
    struct loan late = {.octets = RV_LIT("late"), .status = 200, .twice = true};
    struct loan bad = {.octets = RV_LIT("bad"), .status = 99};
    route("GET /late", lend, &late);
    route("GET /bad", lend, &bad);
    get("/late");
    expect_answer(200, "first");
    assert_int_equal(late.result, RV_ESTATE);
    assert_int_equal(late.released, 1);
    get("/bad");
    expect_answer(200, "refused");
    assert_int_equal(bad.released, 1);
    struct loan gone = {0};
    assert_int_equal(rv_reply_borrowed(NULL, 200, NULL, RV_LIT("x"), take_back, &gone), RV_EGONE);
    assert_int_equal(gone.released, 1);
}

static int lend_static(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply_borrowed(talk, 200, "text/plain", RV_LIT("static"), NULL, NULL);
}

static void static_content_needs_no_release(void **state)
{
    (void)state;
    route("GET /", lend_static, NULL);
    get("/");
    expect_answer(200, "static");
}

/* ---- problems and redirects -------------------------------------------------------------------- */

static int have_problem(rv_talk *talk, void *ctx)
{
    return rv_problem(talk, 409, ctx);
}

static char detail[] = "It is there already.";

static void a_problem_is_its_status_and_its_detail(void **state)
{
    (void)state;
    route("GET /short", have_problem, NULL);
    route("GET /long", have_problem, detail);
    get("/short");
    expect_answer(409, "409 Conflict\n");
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    get("/long");
    expect_answer(409, "409 Conflict\nIt is there already.\n");
}

struct redirection {
    int status;
    const char *location;
    int result;
};

static int redirect(rv_talk *talk, void *ctx)
{
    struct redirection *redirection = ctx;
    redirection->result = rv_redirect(talk, redirection->status, redirection->location);
    return redirection->result == RV_OK ? RV_OK : rv_text(talk, 200, "refused");
}

static void a_redirect_names_and_links_its_location(void **state)
{
    (void)state;
    static const int statuses[] = {301, 302, 303, 307, 308};
    struct redirection redirection = {.location = "/elsewhere?a=b"};
    route("GET /", redirect, &redirection);
    for (int i = 0; i < 5; i++) {
        redirection.status = statuses[i];
        get("/");
        expect_answer(statuses[i], "<a href=\"/elsewhere?a=b\">/elsewhere?a=b</a>\n");
        expect_field("Location", "/elsewhere?a=b");
        expect_field("Content-Type", "text/html; charset=UTF-8");
    }
}

static void the_page_of_a_redirect_escapes_its_location(void **state)
{
    (void)state;
    struct redirection redirection = {.status = 302, .location = "/?a=1&b=<'\">"};
    route("GET /", redirect, &redirection);
    get("/");
    expect_answer(302, "<a href=\"/?a=1&amp;b=&lt;&#39;&quot;&gt;\">"
                       "/?a=1&amp;b=&lt;&#39;&quot;&gt;</a>\n");
    expect_field("Location", "/?a=1&b=<'\">");
}

static void a_redirect_of_escapes_alone_fits_its_page(void **state)
{
    (void)state;
    char location[1001], expected[2 * 6 * 1000 + 64] = "<a href=\"";
    memset(location, '"', 1000);
    location[1000] = '\0';
    for (int i = 0; i < 1000; i++)
        strcat(expected, "&quot;");
    strcat(expected, "\">");
    for (int i = 0; i < 1000; i++)
        strcat(expected, "&quot;");
    strcat(expected, "</a>\n");
    struct redirection redirection = {.status = 302, .location = location};
    route("GET /", redirect, &redirection);
    get("/");
    expect_answer(302, expected);
}

static void a_redirect_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct redirection bad[] = {
        {200, "/", 0}, {300, "/", 0},  {304, "/", 0},         {305, "/", 0},
        {404, "/", 0}, {302, NULL, 0}, {302, "/\r\nX: y", 0}, {302, "/a\nb", 0}};
    struct redirection redirection;
    route("GET /", redirect, &redirection);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        redirection = bad[i];
        get("/");
        expect_answer(200, "refused");
        assert_int_equal(redirection.result, RV_EINVAL);
        expect_field("Location", NULL);
    }
}

/* ---- failures ---------------------------------------------------------------------------------- */

struct failure {
    int result;
    bool set_field, answer;
    int gone;
};

static void count_gone(void *ctx)
{
    ((struct failure *)ctx)->gone++;
}

static int fail_somehow(rv_talk *talk, void *ctx)
{
    struct failure *failure = ctx;
    rv_on_gone(talk, count_gone, failure);
    if (failure->set_field) {
        rv_set_header(talk, "X-Own", "value");
        rv_set_header(talk, "Content-Type", "application/x-own");
        rv_set_header(talk, "Content-Length", "100");
    }
    if (failure->answer)
        rv_text(talk, 200, "answered");
    return failure->result;
}

static void a_handler_that_fails_is_answered_with_500(void **state)
{
    (void)state;
    struct failure failure = {.result = RV_EIO};
    route("GET /", fail_somehow, &failure);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(errors_told, 1);
    assert_int_equal(last_error, RV_EIO);
    assert_string_equal(last_error_doing, "in a handler");
    assert_int_equal(failure.gone, 1);
    assert_int_equal(COUNTER(handler_failures), 1);
    expect_open();
    get("/nowhere");
    expect_status(404);
}

static void fields_that_were_set_before_a_failure_are_not_sent(void **state)
{
    (void)state;
    struct failure failure = {.result = RV_EIO, .set_field = true};
    route("GET /", fail_somehow, &failure);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    expect_field("X-Own", NULL);
    expect_field("Content-Type", "text/plain; charset=UTF-8");
}

static void a_handler_that_returns_ok_without_an_answer_has_failed(void **state)
{
    (void)state;
    struct failure failure = {.result = RV_OK};
    route("GET /", fail_somehow, &failure);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(errors_told, 1);
    assert_int_equal(last_error, RV_ESTATE);
    assert_string_equal(last_error_doing, "in a handler that returned without an answer");
}

static void an_answer_stands_when_its_handler_fails_afterwards(void **state)
{
    (void)state;
    struct failure failure = {.result = RV_EIO, .answer = true};
    route("GET /", fail_somehow, &failure);
    get("/");
    expect_answer(200, "answered");
    expect_silence();
    assert_int_equal(errors_told, 1);
    assert_int_equal(failure.gone, 0);
}

static void a_handler_that_says_the_client_has_gone_ends_the_connection(void **state)
{
    (void)state;
    struct failure failure = {.result = RV_EGONE};
    route("GET /", fail_somehow, &failure);
    get("/");
    expect_silence();
    expect_closed();
    assert_int_equal(errors_told, 0);
    assert_int_equal(COUNTER(handler_failures), 0);
}

/* ---- persistence ------------------------------------------------------------------------------- */

static void http_1_1_goes_on_unless_the_client_says_close(void **state)
{
    (void)state;
    route("GET /", say_ok, NULL);
    get("/");
    expect_status(200);
    expect_field("Connection", NULL);
    expect_open();
    request("GET", "/", "Connection: close\r\n");
    expect_answer(200, "Ok");
    expect_field("Connection", "close");
    expect_closed();
}

static void http_1_0_ends_unless_the_client_says_keep_alive(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.idle_timeout_ms = 7000});
    route("GET /", say_ok, NULL);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(200, "Ok");
    expect_field("Connection", "keep-alive");
    expect_field("Keep-Alive", "timeout=7");
    expect_open();
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(200, "Ok");
    expect_field("Connection", "close");
    expect_closed();
}

static void what_follows_the_last_request_is_not_answered(void **state)
{
    (void)state;
    route("GET /", say_ok, NULL);
    say("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "Ok");
    expect_silence();
    expect_closed();
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(each_verb_copies_its_content_and_names_its_type),
        FACT(the_librarys_own_fields_are_there_once),
        FACT(the_date_is_that_of_the_answer),
        FACT(the_server_field_may_be_another_or_none),
        FACT(an_empty_server_name_is_no_field),
        FACT(content_of_any_size_arrives_whole),
        FACT(an_answer_without_a_type_has_no_such_field),
        FACT(a_head_is_answered_like_a_get_without_content),
        FACT(a_final_status_of_three_digits_is_taken),
        FACT(any_other_status_is_refused_and_leaves_the_talk_open),
        FACT(a_status_without_content_has_neither_content_nor_length),
        FACT(responses_are_counted_by_class),
        FACT(a_talk_is_answered_once),
        FACT(no_talk_is_a_client_that_has_gone),
        FACT(borrowed_content_is_released_once_when_it_is_sent),
        FACT(borrowed_content_is_released_when_the_client_leaves),
        FACT(borrowed_content_that_a_head_leaves_out_is_released),
        FACT(borrowed_content_that_is_refused_is_released),
        FACT(static_content_needs_no_release),
        FACT(a_problem_is_its_status_and_its_detail),
        FACT(a_redirect_names_and_links_its_location),
        FACT(the_page_of_a_redirect_escapes_its_location),
        FACT(a_redirect_of_escapes_alone_fits_its_page),
        FACT(a_redirect_that_is_none_is_refused),
        FACT(a_handler_that_fails_is_answered_with_500),
        FACT(fields_that_were_set_before_a_failure_are_not_sent),
        FACT(a_handler_that_returns_ok_without_an_answer_has_failed),
        FACT(an_answer_stands_when_its_handler_fails_afterwards),
        FACT(a_handler_that_says_the_client_has_gone_ends_the_connection),
        FACT(http_1_1_goes_on_unless_the_client_says_close),
        FACT(http_1_0_ends_unless_the_client_says_keep_alive),
        FACT(what_follows_the_last_request_is_not_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
