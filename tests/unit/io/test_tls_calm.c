/*
 * Clients that go on shaking hands behind the handshake (src/io/tls_calm.c): a few new keys are nothing, a
 * flood of them is cut, on a clock that only the test moves.
 */
#include "support/tested.h"
#include "support/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define AT_ONCE 32

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "hello");
}

static int set_up(void **state)
{
    tested_set_up(state);
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:0"), 0);
    assert_int_equal(rv_tls_self_signed(tested, NULL), 0);
    route("GET /hello", hello, NULL);
    return 0;
}

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

static void expect_hello(unsigned number)
{
    tls_as(number);
    assert_true(tls_shake());
    tls_say(GET("/hello"));
    tls_expect_answer(200, "hello");
}

/* All in one segment, each asking for new keys in return. */
static void renew_keys(unsigned times)
{
    SSL *ssl = tls_client()->ssl;
    for (unsigned i = 0; i < times; i++) {
        assert_int_equal(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        SSL_do_handshake(ssl);
    }
    tls_carry();
}

static void a_few_new_keys_are_followed(void **state)
{
    (void)state;
    expect_hello(0);
    renew_keys(AT_ONCE);
    expect_hello(0);
    assert_int_equal(tested_counters().tls_message_floods, 0);
}

static void new_keys_may_come_again_after_a_while(void **state)
{
    (void)state;
    expect_hello(0);
    for (unsigned i = 0; i < 3; i++) {
        renew_keys(AT_ONCE);
        rv_test_advance_ms(client(), 10000);
        expect_hello(0);
    }
    assert_int_equal(tested_counters().tls_message_floods, 0);
}

static void a_flood_of_new_keys_is_cut_and_counted(void **state)
{
    (void)state;
    expect_hello(0);
    expect_hello(1);
    tls_as(0);
    renew_keys(AT_ONCE + 1);
    assert_true(rv_test_closed(client()));
    assert_int_equal(tested_counters().tls_message_floods, 1);
    expect_hello(1);
}

static void requests_in_between_make_it_no_less_a_flood(void **state)
{
    (void)state;
    expect_hello(0);
    for (unsigned i = 0; i < AT_ONCE / 8; i++) {
        renew_keys(8);
        expect_hello(0);
    }
    renew_keys(1);
    assert_true(rv_test_closed(client()));
    assert_int_equal(tested_counters().tls_message_floods, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_few_new_keys_are_followed),
        TEST(new_keys_may_come_again_after_a_while),
        TEST(a_flood_of_new_keys_is_cut_and_counted),
        TEST(requests_in_between_make_it_no_less_a_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
