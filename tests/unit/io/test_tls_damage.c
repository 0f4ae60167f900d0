/*
 * What a server makes of ciphertext that is cut off, too long, or none: the connection ends, with an alert
 * where there is somebody to tell, and nothing of it stays. A whole server in memory, with OpenSSL as its
 * client.
 */
#include "base/bytes.h"
#include "support/tested.h"
#include "support/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static int set_up(void **state)
{
    tested_set_up(state);
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:0"), 0);
    assert_int_equal(rv_tls_self_signed(tested, NULL), 0);
    route("GET /ok", ok, NULL);
    route("POST /body", ok, NULL);
    return 0;
}

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

/* A client's first message. */
static rv_bytes client_hello(void)
{
    static char octets[4096];
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    BIO *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
    assert_int_equal(SSL_connect(ssl), -1);
    int length = BIO_read(out, octets, sizeof octets);
    assert_in_range(length, 100, sizeof octets - 1);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return rv_slice(octets, (size_t)length);
}

static void expect_nothing_left(uint64_t connections)
{
    assert_int_equal(COUNTER(connections_accepted), connections);
    assert_int_equal(COUNTER(connections_open), 0);
    assert_int_equal(COUNTER(requests), 0);
    assert_int_equal(errors_told, 0);
}

/* ---- ends ------------------------------------------------------------------------------------------------ */

static void a_first_message_may_be_cut_off_at_any_octet(void **state)
{
    rv_bytes hello = client_hello();
    (void)state;
    for (size_t length = 0; length < hello.len; length++)
        for (int reset = 0; reset < 2; reset++) {
            rv_test *test = rv_test_new(tested);
            assert_non_null(test);
            if (length > 0)
                assert_int_equal(rv_test_send(test, rv_slice(hello.ptr, length)), 0);
            assert_false(rv_test_closed(test));
            if (reset)
                rv_test_reset(test);
            else
                rv_test_half_close(test);
            assert_true(rv_test_closed(test));
            assert_int_equal(rv_test_received(test).len, 0);
            rv_test_free(test);
        }
    expect_nothing_left(2 * hello.len);
    assert_int_equal(COUNTER(tls_handshakes_failed), 0); /* nobody broke the protocol */
}

static void a_client_may_leave_behind_its_first_message(void **state)
{
    rv_bytes hello = client_hello();
    (void)state;
    rv_test *test = rv_test_new(tested);
    rv_test_send(test, hello);
    assert_true(rv_test_received(test).len > 0);
    rv_test_half_close(test);
    assert_true(rv_test_closed(test));
    rv_test_free(test);
    expect_nothing_left(1);
}

static void a_request_may_be_cut_off_at_any_octet(void **state)
{
    (void)state;
    rv_bytes first = tls_cipher(GET("/ok"));
    size_t length = first.len;
    for (size_t cut = 0; cut < length; cut += 7) {
        tls_tear_down();
        tested_tear_down(NULL);
        set_up(NULL);
        rv_bytes cipher = tls_cipher(GET("/ok"));
        if (cut > 0)
            say_octets(rv_slice(cipher.ptr, cut));
        expect_open();
        rv_test_half_close(client());
        expect_closed();
        expect_nothing_left(1);
    }
}

static void a_body_that_is_cut_off_is_a_client_that_has_gone(void **state)
{
    (void)state;
    tls_say("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf ");
    expect_open();
    rv_test_half_close(client());
    expect_closed();
    assert_int_equal(COUNTER(clients_gone), 1);
    assert_int_equal(COUNTER(responses_2xx), 0);
    assert_false(tls_heard_goodbye());
}

/* ---- records that are none --------------------------------------------------------------------------------- */

static void expect_alert(const char *reason)
{
    expect_closed();
    tls_carry();
    if (strstr(tls_failure(), reason) == NULL)
        fail_msg("\"%s\" is not \"%s\"", tls_failure(), reason);
    assert_int_equal(COUNTER(requests), 0);
    assert_int_equal(COUNTER(connections_open), 0);
}

static void octets_in_the_clear_behind_the_handshake_end_it(void **state)
{
    (void)state;
    assert_true(tls_shake());
    say(GET("/ok"));
    expect_alert("");
    assert_true(*tls_failure() != '\0');
}

/* RFC 8446 section 5.2: 2^14 + 256 octets are the most. */
static void a_record_that_is_too_long_ends_it_with_its_head(void **state)
{
    (void)state;
    assert_true(tls_shake());
    say_octets(RV_LIT("\x17\x03\x03\x41\x01"));
    expect_alert("record overflow");
}

static void a_record_that_is_too_long_ends_a_handshake(void **state)
{
    (void)state;
    tls_begin();
    say_octets(RV_LIT("\x16\x03\x01\xff\xff"));
    expect_closed();
    assert_int_equal(COUNTER(tls_handshakes_failed), 1);
}

/* Only its head tells: what is announced may come later than the patience for it. */
static void a_record_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    assert_true(tls_shake());
    say_octets(RV_LIT("\x17\x03\x03\x40\x00"));
    expect_open();
    advance_ms(10000);
    tls_carry();
    expect_closed();
}

static void records_of_a_type_that_is_not_known_end_it(void **state)
{
    (void)state;
    assert_true(tls_shake());
    say_octets(RV_LIT("\x63\x03\x03\x00\x01x"));
    expect_alert("");
    assert_true(*tls_failure() != '\0');
}

/* Records without content cost work and bring nothing on: OpenSSL lets 32 of them pass in a row. */
static void a_flood_of_alerts_in_the_clear_ends_it(void **state)
{
    (void)state;
    tls_begin();
    char flood[7 * 100];
    for (size_t i = 0; i < sizeof flood; i += 7)
        memcpy(flood + i, "\x15\x03\x01\x00\x02\x01\x5a", 7); /* warning, user_canceled */
    rv_test_send(client(), rv_slice(flood, sizeof flood));
    expect_closed();
    assert_int_equal(COUNTER(connections_open), 0);
}

static void a_repeated_record_ends_it(void **state)
{
    (void)state;
    rv_bytes cipher = tls_cipher(GET("/ok"));
    say_octets(cipher);
    tls_expect_answer(200, "Ok");
    rv_test_send(client(), cipher);
    expect_closed();
    tls_carry();
    assert_non_null(strstr(tls_failure(), "bad record mac"));
    assert_int_equal(COUNTER(requests), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_first_message_may_be_cut_off_at_any_octet),
        TEST(a_client_may_leave_behind_its_first_message),
        TEST(a_request_may_be_cut_off_at_any_octet),
        TEST(a_body_that_is_cut_off_is_a_client_that_has_gone),
        TEST(octets_in_the_clear_behind_the_handshake_end_it),
        TEST(a_record_that_is_too_long_ends_it_with_its_head),
        TEST(a_record_that_is_too_long_ends_a_handshake),
        TEST(a_record_that_does_not_come_is_not_waited_for),
        TEST(records_of_a_type_that_is_not_known_end_it),
        TEST(a_flood_of_alerts_in_the_clear_ends_it),
        TEST(a_repeated_record_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
