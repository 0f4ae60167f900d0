/*
 * What makes clients come over TLS: redirects from addresses that do not speak it, and
 * Strict-Transport-Security on those that do.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int never_runs(rv_talk *talk, void *ctx)
{
    (void)ctx;
    fail_msg("a handler ran for %.*s", (int)rv_target(talk).len, rv_target(talk).ptr);
    return RV_OK;
}

/* Clients of the first address, which is in the clear; the second one speaks TLS. */
static void redirecting_to(const char *tls_address)
{
    rv_listen(tested, "127.0.0.1:8080");
    rv_listen_tls(tested, tls_address);
    rv_tls_self_signed(tested, NULL);
    assert_int_equal(rv_tls_set(tested, &(rv_tls_options){.redirect = true, .hsts = "max-age=60"}),
                     0);
    route("* /{rest...}", never_runs, NULL);
}

static void expect_sent_to(const char *location)
{
    expect_status(308);
    expect_field("Location", location);
    expect_field("Strict-Transport-Security", NULL);
}

static void a_request_in_the_clear_is_sent_on(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("GET /a%20b?c=d HTTP/1.1\r\nHost: here.example:8080\r\n\r\n");
    expect_sent_to("https://here.example:8443/a%20b?c=d");
    expect_open();
}

static void the_port_of_https_is_left_out(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:443");
    say("GET / HTTP/1.1\r\nHost: here.example\r\n\r\n");
    expect_sent_to("https://here.example/");
}

static void a_unix_socket_is_taken_to_be_behind_the_port_of_https(void **state)
{
    (void)state;
    redirecting_to("unix:@test_https");
    say("GET / HTTP/1.1\r\nHost: here.example:80\r\n\r\n");
    expect_sent_to("https://here.example/");
}

static void an_ipv6_address_keeps_its_brackets(void **state)
{
    (void)state;
    redirecting_to("[::1]:8443");
    say("GET /x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\nGET /y HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    expect_sent_to("https://[::1]:8443/x");
    expect_sent_to("https://[::1]:8443/y");
}

static void a_target_with_an_authority_is_sent_to_that(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("GET http://there.example:81/x?y HTTP/1.1\r\nHost: there.example:81\r\n\r\n");
    expect_sent_to("https://there.example:8443/x?y");
    say("GET http://there.example HTTP/1.1\r\nHost: there.example\r\n\r\n");
    expect_sent_to("https://there.example:8443/");
    say("GET http://there.example?y HTTP/1.1\r\nHost: there.example\r\n\r\n");
    expect_sent_to("https://there.example:8443/?y");
}

static void a_request_without_a_host_is_refused(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("GET / HTTP/1.1\r\nHost:\r\n\r\n");
    expect_status(400);
    as(1);
    say("GET / HTTP/1.0\r\n\r\n");
    expect_status(400);
}

static void every_method_is_sent_on_and_its_content_is_read(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    expect_sent_to("https://a:8443/form");
    say("OPTIONS /form HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_sent_to("https://a:8443/form");
    say("HEAD /form HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_head_status(308);
    say("GET /../form HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_sent_to("https://a:8443/../form");
    expect_open();
}

static void a_client_that_waits_to_send_its_content_is_not_asked_for_it(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect_sent_to("https://a:8443/form");
    expect_closed();
}

static void what_is_about_no_resource_is_answered_here(void **state)
{
    (void)state;
    redirecting_to("127.0.0.1:8443");
    say("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_status(200);
    say("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n");
    expect_status(501);
}

static void there_must_be_an_address_to_be_sent_to(void **state)
{
    (void)state;
    rv_listen(tested, "127.0.0.1:8080");
    rv_tls_set(tested, &(rv_tls_options){.redirect = true});
    assert_null(rv_test_new(tested));
    assert_non_null(strstr(rv_server_error_text(tested), "no address speaks it"));
}

static void a_policy_must_have_an_age(void **state)
{
    static const char *const wrong[] = {
        "",           "includeSubDomains", "max-age=",    "max-age=x",
        "xmax-age=5", "max-age=5 5",       "max-age=\"5", "max-age=1\r\nX: y"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tested_with(NULL);
        assert_int_equal(rv_tls_set(tested, &(rv_tls_options){.hsts = wrong[i]}), RV_EINVAL);
        assert_non_null(strstr(rv_server_error_text(tested), "TLS: hsts must"));
    }
    tested_with(NULL);
    assert_int_equal(rv_tls_set(tested, &(rv_tls_options){.hsts = "Max-Age=\"0\""}), 0);
    assert_int_equal(rv_tls_set(tested, &(rv_tls_options){.hsts = "preload; max-age=5 ; x"}), 0);
}

static void inherited_sockets_speak_tls_all_or_none(void **state)
{
    (void)state;
    assert_int_equal(rv_listen_tls(tested, "inherited"), 0);
    assert_int_equal(rv_listen_tls(tested, "inherited"), 0);
    assert_int_equal(rv_listen(tested, "inherited"), RV_EADDR);
    assert_non_null(strstr(rv_server_error_text(tested), "fd:3"));
}

static void inherited_sockets_that_speak_tls_need_a_certificate(void **state)
{
    (void)state;
    rv_listen_tls(tested, "inherited");
    assert_null(rv_test_new(tested));
    assert_non_null(strstr(rv_server_error_text(tested), "there is no certificate"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_in_the_clear_is_sent_on),
        TEST(the_port_of_https_is_left_out),
        TEST(a_unix_socket_is_taken_to_be_behind_the_port_of_https),
        TEST(an_ipv6_address_keeps_its_brackets),
        TEST(a_target_with_an_authority_is_sent_to_that),
        TEST(a_request_without_a_host_is_refused),
        TEST(every_method_is_sent_on_and_its_content_is_read),
        TEST(a_client_that_waits_to_send_its_content_is_not_asked_for_it),
        TEST(what_is_about_no_resource_is_answered_here),
        TEST(there_must_be_an_address_to_be_sent_to),
        TEST(a_policy_must_have_an_age),
        TEST(inherited_sockets_speak_tls_all_or_none),
        TEST(inherited_sockets_that_speak_tls_need_a_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
