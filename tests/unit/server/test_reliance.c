/*
 * What an application can rely on, where no other file of facts has it: the order of a head, octets that
 * stay octets whatever their charset, what a callback sees, and calls that come at the wrong time.
 */
#include "support/served.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the head of a response ---------------------------------------------------------------------- */

/* The names of the last answer's fields, in order, "; " behind each. */
static const char *names_in_order(void)
{
    static char names[400];
    char head[8192];
    size_t used = 0;
    snprintf(head, sizeof head, "%s", last_answer()->head);
    char *line = strtok(head, "\r\n"); /* the status line */
    while ((line = strtok(NULL, "\r\n")) != NULL) {
        line[strcspn(line, ":")] = '\0';
        used += (size_t)snprintf(names + used, sizeof names - used, "%s; ", line);
    }
    return names;
}

static int with_fields(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Zebra", "1");
    rv_set_header(talk, "Alpaca", "2");
    rv_add_header(talk, "Zebra", "3");
    return rv_text(talk, 200, "x");
}

static int with_fields_streamed(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Zebra", "1");
    rv_set_header(talk, "Content-Type", "text/csv");
    rv_begin(talk, 200);
    return rv_write(talk, RV_LIT("x"));
}

static void a_head_has_one_order(void **state)
{
    (void)state;
    route("GET /whole", with_fields, NULL);
    route("GET /streamed", with_fields_streamed, NULL);
    get("/whole");
    expect_answer(200, "x");
    assert_string_equal(names_in_order(),
                        "Server; Date; Content-Type; Zebra; Alpaca; Zebra; Content-Length; ");
    get("/streamed");
    expect_answer(200, "x");
    assert_string_equal(names_in_order(), "Server; Date; Zebra; Content-Type; Transfer-Encoding; ");
    request("GET", "/whole", "Connection: close\r\n");
    expect_answer(200, "x");
    assert_string_equal(
        names_in_order(),
        "Server; Date; Content-Type; Zebra; Alpaca; Zebra; Content-Length; Connection; ");
}

/* ---- charsets ------------------------------------------------------------------------------------ */

static int echo_octets(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain; charset=ISO-8859-1", rv_param(talk, "v"));
}

static void octets_of_any_charset_are_handed_on_as_they_are(void **state)
{
    (void)state;
    route("GET /q", echo_octets, NULL);
    route("GET /p/{v}", echo_octets, NULL);
    route("POST /f", echo_octets, NULL);
    get("/q?v=%E4%FF%80"); /* no UTF-8 */
    expect_answer(200, "\xe4\xff\x80");
    get("/p/%C3%A4%E4");
    expect_answer(200, "\xc3\xa4\xe4");
    request("POST", "/f",
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n");
    say("v=%E4\xe4%FC");
    expect_answer(200, "\xe4\xe4\xfc");
}

/* ---- what a callback sees ------------------------------------------------------------------------ */

static int say_ctx(rv_talk *talk, void *ctx)
{
    return rv_text(talk, 200, ctx);
}

/* Everything about the request is there, as sent and decoded. */
static bool look_at_request(rv_talk *talk, rv_resolution *found, void *ctx)
{
    (void)ctx;
    if (!rv_equals(rv_target(talk), "/a%62c;x=%31/./d?q=%31+2") ||
        !rv_equals(rv_path(talk), "/abc/d") || !rv_equals(rv_query(talk), "q=%31+2") ||
        !rv_equals(rv_param(talk, "q"), "1 2") || !rv_equals(rv_method(talk), "PATCH") ||
        !rv_equals(rv_host_name(talk), "t") || !rv_equals(rv_cookie(talk, "c"), "v") ||
        rv_content_length(talk) != 0)
        return false;
    found->handler = say_ctx;
    found->ctx = "seen";
    return true;
}

static void a_callback_sees_what_was_sent_and_what_it_means(void **state)
{
    (void)state;
    assert_int_equal(
        rv_app_set(rv_default_app(tested), &(rv_app_options){.resolve = look_at_request}), 0);
    say("PATCH /a%62c;x=%31/./d?q=%31+2 HTTP/1.1\r\nHost: t\r\nCookie: c=v\r\nContent-Length: "
        "0\r\n\r\n");
    expect_answer(200, "seen");
    get("/abc/d?q=1+2");
    expect_status(404);
}

/* ---- calls at the wrong time ----------------------------------------------------------------------- */

static struct served served;

static void what_is_running_says_so(void **state)
{
    (void)state;
    serve_make(&served, (rv_server_options){.workers = 1});
    serve_start(&served);
    const char *text = rv_server_error_text(served.server);
    assert_int_equal(rv_server_run(served.server), RV_ESTATE);
    assert_string_equal(text, "the server is running already");
    assert_int_equal(rv_listen(served.server, "127.0.0.1:0"), RV_ESTATE);
    assert_string_equal(text, "addresses are added before the start");
    assert_int_equal(rv_route(rv_default_app(served.server), "GET /", say_ctx, ""), RV_ESTATE);
    assert_string_equal(text, "routes are added before the start");
    assert_null(rv_app_new(served.server, NULL));
    assert_string_equal(text, "apps are made before the start");
    serve_stop(&served);
    rv_server_stop(served.server); /* once more: nothing */
    serve_start(&served);
    serve_stop(&served);
    serve_free(&served);
}

/* ---- clients that leave ------------------------------------------------------------------------------ */

static atomic_uint left;

static int write_for_ever(rv_talk *talk, void *ctx)
{
    static char piece[16384];
    (void)ctx;
    rv_begin(talk, 200);
    int result;
    while ((result = rv_write(talk, (rv_bytes){piece, sizeof piece})) >= 0)
        ;
    atomic_fetch_add(&left, 1);
    return result;
}

/* It is an outcome of its own, and nothing that fails; nor does the process get a SIGPIPE. */
static void a_client_that_leaves_is_no_failure(void **state)
{
    (void)state;
    struct caller caller;
    serve_make(&served, (rv_server_options){.workers = 1, .pool_threads = 1});
    serve_route(&served, "GET /pool", write_for_ever, NULL, (rv_route_options){.run = RV_ON_POOL});
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_start(&served);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(caller_connect(&caller, served.port));
        assert_true(caller_send(&caller, "GET /pool HTTP/1.1\r\nHost: t\r\n\r\n"));
        nap_ms(20);
        if (i == 0)
            caller_close(&caller);
        else
            caller_reset(&caller);
        assert_true(EVENTUALLY(atomic_load(&left) == i + 1));
    }
    expect_served(&served);
    assert_int_equal(atomic_load(&served.errors), 0);
    serve_stop(&served);
    serve_free(&served);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_head_has_one_order),
        FACT(octets_of_any_charset_are_handed_on_as_they_are),
        FACT(a_callback_sees_what_was_sent_and_what_it_means),
        cmocka_unit_test(what_is_running_says_so),
        cmocka_unit_test(a_client_that_leaves_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
