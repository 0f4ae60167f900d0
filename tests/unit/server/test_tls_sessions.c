/*
 * Facts about the cookie of a session over TLS.
 */
#include "support/tested.h"
#include "support/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int begin(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, rv_session_is_new(talk) ? "new" : "known");
}

static void serve(rv_session_options options)
{
    make_certificate("a", (struct wanted_certificate){0});
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:443"), 0);
    assert_int_equal(rv_tls_certificate(tested, made("a.crt"), made("a.key"), NULL), 0);
    assert_int_equal(rv_sessions(rv_default_app(tested), &options), 0);
    route("GET /", begin, NULL);
}

static const char *begin_over_tls(void)
{
    tls_say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    tls_expect_answer(200, "new");
    const char *cookie = answer_field(tls_last_answer(), "Set-Cookie");
    assert_non_null(cookie);
    return cookie;
}

static void it_is_secure_there(void **state)
{
    char again[160], *end;
    (void)state;
    serve((rv_session_options){0});
    const char *cookie = begin_over_tls();
    assert_non_null(strstr(cookie, "; Secure"));
    snprintf(again, sizeof again, "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: %s", cookie);
    end = strchr(again, ';');
    strcpy(end, "\r\n\r\n");
    tls_say(again);
    tls_expect_answer(200, "known");
}

static void its_name_may_demand_that(void **state)
{
    (void)state;
    serve((rv_session_options){.name = "__Host-sid", .cookie.secure = true});
    assert_int_equal(strncmp(begin_over_tls(), "__Host-sid=", 11), 0);
}

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_secure_there),
        TEST(its_name_may_demand_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
