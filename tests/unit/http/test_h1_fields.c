/*
 * What the fields of a head say about the message: Host, Connection, Content-Length,
 * Transfer-Encoding and Expect. Each head is parsed at every length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "http/uri.h"
#include "random.h"
#include "unit/http/h1_growing.h"

/* ---- Host, RFC 9112 section 3.2 -------------------------------------------------------------- */

#define HOST(value) RV_LIT("GET / HTTP/1.1\r\nHost: " value "\r\n\r\n")
#define HOST_1_0(value) RV_LIT("GET / HTTP/1.0\r\nHost: " value "\r\n\r\n")

static void a_host_is_a_name_or_an_address_with_or_without_port(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HOST("x"),
        HOST("example.org"),
        HOST("example.org:8080"),
        HOST("127.0.0.1:1"),
        HOST("x:"),
        HOST("x:0"),
        HOST("x:65535"),
        HOST("[::1]"),
        HOST("[::1]:80"),
        HOST("a_b"),
        HOST("a%41"),
        HOST("x:00080"),
        HOST("xn--bcher-kva.example"),
        HOST("a-very-long-name.of.a.host.example:12345"),
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct outcome o = accepted(heads[i]);
        assert_int_equal(o.fields[0].id, RV_FIELD_HOST);
        assert_int_equal(o.head.authority.at, o.fields[0].value);
        assert_int_equal(o.head.authority.length, o.fields[0].value_length);
    }
}

static void an_invalid_host_is_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HOST(""),
        HOST(":80"),
        HOST("a b"),
        HOST("a/b"),
        HOST("u@a"),
        HOST("a:99999999"),
        HOST("a:65536"),
        HOST("a:8a"),
        HOST("a:+8"),
        HOST("a:8:8"),
        HOST("[::1"),
        HOST("::1"),
        HOST("a,b"
             "@"),
        HOST("a?"),
        HOST("a#b"),
        HOST("a\tb"),
        HOST("\xe9"),
        HOST("a%zz"),
        HOST("a\\b"),
        HOST("http://a"),
        HOST("a: 80"),
        HOST("a :80"),
        HOST("a:80 80"),
        HOST("[::1]x"),
        HOST("a:12345x"),
        RV_LIT("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_1_1_request_needs_a_host(void **state)
{
    (void)state;
    rv_bytes head = RV_LIT("GET / HTTP/1.1\r\nX: y\r\n\r\n");
    assert_refused_at(400, head, head.len, &defaults);
    assert_refused(400, RV_LIT("GET / HTTP/1.1\r\n\r\n"));
    assert_refused(400, RV_LIT("GET / HTTP/1.2\r\n\r\n"));
    assert_refused(400, RV_LIT("OPTIONS * HTTP/1.1\r\n\r\n"));
    assert_refused(400, RV_LIT("CONNECT x:80 HTTP/1.1\r\n\r\n"));
}

static void a_1_0_request_may_have_a_valid_host(void **state)
{
    (void)state;
    struct outcome o = accepted(HOST_1_0("x"));
    assert_part(&o, o.head.authority, "x");
    assert_refused(400, HOST_1_0("a b"));
    assert_refused(400, HOST_1_0(""));
    assert_refused(400, RV_LIT("GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n"));
}

static void a_second_host_is_refused_even_if_equal(void **state)
{
    (void)state;
    assert_refused_at(400, RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"), 34, &defaults);
    assert_refused(400, RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\nHost: y\r\n\r\n"));
}

/* The parser knows the usual hosts by itself; it must not know more than rv_authority_is_valid. */
static void a_host_is_accepted_exactly_if_it_is_a_valid_authority(void **state)
{
    (void)state;
    const char usual[] = "aZ09.-:::801%[]_";
    uint64_t random = 3986;

    for (unsigned run = 0; run < 3000; run++) {
        char text[64];
        struct outcome o;
        char value[16];
        size_t length = random_below(&random, sizeof(value));
        for (size_t i = 0; i < length; i++)
            value[i] = random_below(&random, 30) == 0
                           ? (char)(0x21 + random_below(&random, 0x5e))
                           : usual[random_below(&random, sizeof(usual) - 1)];
        int size =
            snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost:%.*s\r\n\r\n", (int)length, value);
        parse_first(rv_h1_parse_head, &defaults, rv_slice(text, (size_t)size), (size_t)size, &o);
        assert_int_equal(o.status == RV_H1_COMPLETE,
                         rv_authority_is_valid(rv_slice(value, length)));
    }
}

/* ---- persistence, RFC 9112 section 9.3 ------------------------------------------------------- */

static void persistence_follows_version_and_connection(void **state)
{
    (void)state;
    const struct {
        rv_bytes head;
        bool keep_alive;
        bool asked;
    } rows[] = {
        {HEAD(""), true, false},
        {HEAD("Connection: close\r\n"), false, false},
        {HEAD("Connection: CLOSE\r\n"), false, false},
        {HEAD("Connection: Close\r\n"), false, false},
        {HEAD("Connection: keep-alive\r\n"), true, true},
        {HEAD("Connection: x, CLOSE\r\n"), false, false},
        {HEAD("Connection: close,x\r\n"), false, false},
        {HEAD("Connection: ,\t, close ,\r\n"), false, false},
        {HEAD("Connection: keep-alive, close\r\n"), false, true},
        {HEAD("Connection: close, keep-alive\r\n"), false, true},
        {HEAD("Connection: keep-alive\r\nConnection: close\r\n"), false, true},
        {HEAD("Connection: close\r\nConnection: keep-alive\r\n"), false, true},
        {HEAD("Connection: close\r\nConnection: upgrade\r\n"), false, false},
        {HEAD("Connection: closed\r\n"), true, false},
        {HEAD("Connection: close x\r\n"), true, false},
        {HEAD("Connection: xclose\r\n"), true, false},
        {HEAD("Connection:\r\n"), true, false},
        {HEAD("Connection: upgrade\r\n"), true, false},
        {HEAD("Connections: close\r\n"), true, false},
        {HEAD_1_0(""), false, false},
        {HEAD_1_0("Connection: keep-alive\r\n"), true, true},
        {HEAD_1_0("Connection: Keep-Alive\r\n"), true, true},
        {HEAD_1_0("Connection: KEEP-ALIVE\r\n"), true, true},
        {HEAD_1_0("Connection: x , keep-alive\r\n"), true, true},
        {HEAD_1_0("Connection: x\r\nConnection: keep-alive\r\n"), true, true},
        {HEAD_1_0("Connection: keep-alive, close\r\n"), false, true},
        {HEAD_1_0("Connection: close\r\n"), false, false},
        {HEAD_1_0("Connection: keepalive\r\n"), false, false},
        {HEAD_1_0("Connection: keep-alivf\r\n"), false, false},
        {HEAD_1_0("Keep-Alive: timeout=5\r\n"), false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome o = accepted(rows[i].head);
        if (o.head.keep_alive != rows[i].keep_alive || o.head.asked_keep_alive != rows[i].asked)
            fail_msg("keep_alive %d, asked %d: %s", o.head.keep_alive, o.head.asked_keep_alive,
                     rows[i].head.ptr);
    }
}

static void an_option_with_any_octet_changed_is_not_known(void **state)
{
    (void)state;
    for (size_t at = 0; at < 10; at++) {
        char text[] = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        struct outcome o;
        text[28 + at] = '_';
        parse_first(rv_h1_parse_head, &defaults, rv_slice(text, sizeof(text) - 1), sizeof(text) - 1,
                    &o);
        assert_int_equal(o.status, RV_H1_COMPLETE);
        assert_false(o.head.keep_alive);
    }
}

/* ---- Content-Length, RFC 9110 section 8.6 ---------------------------------------------------- */

#define LENGTH(value) HEAD("Content-Length: " value "\r\n")

static void a_content_length_is_a_decimal_number(void **state)
{
    (void)state;
    const struct {
        rv_bytes head;
        uint64_t length;
    } rows[] = {
        {LENGTH("0"), 0},
        {LENGTH("5"), 5},
        {LENGTH("00005"), 5},
        {LENGTH("000000000000000000000000000000000000010"), 10},
        {LENGTH(" 42 \t"), 42},
        {LENGTH("10000000000"), 10000000000},
        {LENGTH("9223372036854775807"), INT64_MAX},
        {LENGTH("0009223372036854775807"), INT64_MAX},
        {HEAD_1_0("Content-Length: 7\r\n"), 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome o = accepted(rows[i].head);
        assert_true(o.head.has_content_length);
        assert_false(o.head.chunked);
        assert_true(o.head.content_length == rows[i].length);
    }
    assert_false(accepted(HEAD("")).head.has_content_length);
}

static void anything_but_digits_is_no_content_length(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        LENGTH("+5"),
        LENGTH("-5"),
        LENGTH("5a"),
        LENGTH("0x5"),
        LENGTH(""),
        LENGTH("5 5"),
        LENGTH("5.0"),
        LENGTH("1e1"),
        LENGTH("5,6"),
        LENGTH("5, 5"),
        LENGTH("5,5"),
        LENGTH(",5"),
        LENGTH("5,"),
        LENGTH("1_0"),
        LENGTH("1Z"),
        LENGTH("bla"),
        LENGTH("\"5\""),
        LENGTH("5;"),
        LENGTH("\x0c"
               "5"),
        LENGTH("5\0"),
        LENGTH("-"),
        LENGTH("5\xb2"),
        LENGTH("a5"),
        LENGTH("99999999999999999999x"),
        LENGTH("99999999999999999999,5"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_content_length_past_63_bits_is_413(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        LENGTH("9223372036854775808"),     LENGTH("9999999999999999999"),
        LENGTH("18446744073709551615"),    LENGTH("18446744073709551616"),
        LENGTH("18446744073709551621"),    LENGTH("99999999999999999999999999"),
        LENGTH("00092233720368547758070"), LENGTH("92233720368547758070000000000000000000000000"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_refused_at(413, heads[i], heads[i].len, &defaults);
}

static void a_second_content_length_is_refused_even_if_equal(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HEAD("Content-Length: 5\r\nContent-Length: 6\r\n"),
        HEAD("Content-Length: 5\r\nContent-Length: 5\r\n"),
        HEAD("Content-Length: 5\r\nA: b\r\ncontent-length: 5\r\n"),
        HEAD("Content-Length: 0\r\nContent-Length: 5\r\n"),
        HEAD("Content-Length:\r\nContent-Length: 5\r\n"),
        HEAD("Content-Length: 5\r\nContent-Length:\r\n"),
        HEAD("Content-Length: 99999999999999999999\r\nContent-Length: 5\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

/* ---- Transfer-Encoding, RFC 9112 section 6.1 ------------------------------------------------- */

#define CODING(value) HEAD("Transfer-Encoding: " value "\r\n")

static void chunked_alone_is_understood_in_any_case(void **state)
{
    (void)state;
    const rv_bytes heads[] = {CODING("chunked"), CODING("CHUNKED"), CODING(" chunked \t"),
                              CODING("cHuNkEd")};
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct outcome o = accepted(heads[i]);
        assert_true(o.head.chunked);
        assert_false(o.head.has_content_length);
    }
    assert_false(accepted(HEAD("TE: chunked\r\n")).head.chunked);
}

static void two_lengths_of_one_message_are_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HEAD("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        HEAD("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        HEAD("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"),
        HEAD("Content-Length: 5\r\nTransfer-Encoding: gzip\r\n"),
        HEAD("Transfer-Encoding:\r\nContent-Length: 5\r\n"),
        HEAD("Transfer-Encoding: ,chunked\r\nContent-Length: 5\r\n"),
        HEAD("Content-Length: bla\r\nTransfer-Encoding: chunked\r\n"),
        HEAD("Transfer-Encoding: chunked\r\nContent-Length: 99999999999999999999\r\n"),
        HEAD("Content-Length: 99999999999999999999\r\nTransfer-Encoding: chunked\r\n"),
        HEAD("Transfer-Encoding: chunked\r\nA: b\r\nTransfer-Encoding: chunked\r\n"),
        HEAD("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
        HEAD("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_1_0_message_has_no_transfer_encoding(void **state)
{
    (void)state;
    assert_refused(400, HEAD_1_0("Host: x\r\nTransfer-Encoding: chunked\r\n"));
    assert_refused(400, HEAD_1_0("Transfer-Encoding: gzip\r\n"));
    assert_refused(400, HEAD_1_0("Transfer-Encoding: identity\r\n"));
}

static void codings_that_are_malformed_or_follow_chunked_are_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        CODING(""),
        CODING(",chunked"),
        CODING("chunked,"),
        CODING("chunked, chunked"),
        CODING("chunked, gzip"),
        CODING("chunked,gzip,chunked"),
        CODING("gzip, chunked, x"),
        CODING("gzip,,chunked"),
        CODING("gzip, chunked,"),
        CODING(","),
        CODING("gzip,"),
        CODING("chunked chunked"),
        CODING("gzip chunked"),
        CODING("chunked;a=b"),
        CODING("gzip, chunked;a=b"),
        CODING("\"chunked\""),
        CODING("chunked;"),
        CODING(";chunked"),
        CODING("gzip;"),
        CODING("gzip;a"),
        CODING("gzip;a="),
        CODING("gzip;a=\"b"),
        CODING("gzip;a=\"b\\"),
        CODING("gzip;a=\"b\"c"),
        CODING("gzip;=b"),
        CODING("chunked\xa0"),
        CODING("chunked="),
        CODING("chunked:"),
        CODING("\x0b"
               "chunked"),
        CODING("chun\0ked"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void well_formed_codings_that_are_not_known_are_501_at_the_end(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        CODING("gzip"),         CODING("gzip, chunked"), CODING("identity"),
        CODING("xchunked"),     CODING("chunkedx"),      CODING("gzip,deflate , chunked"),
        CODING("gzip;a=b"),     CODING("gzip ; a = b"),  CODING("gzip;a=\"b,c\\\"\" , chunked"),
        CODING("gzip;a=b;c=d"), CODING("x;chunked=1"),   CODING("x;a=chunked"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_refused_at(501, heads[i], heads[i].len, &defaults);
}

static void a_fault_of_the_head_comes_before_501_and_413(void **state)
{
    (void)state;
    assert_refused(400, HEAD("Transfer-Encoding: gzip\r\nA : b\r\n"));
    assert_refused(400, HEAD("Content-Length: 99999999999999999999\r\n b\r\n"));
    assert_refused(400, RV_LIT("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"));
    assert_refused(400, RV_LIT("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"));
}

static void any_method_may_have_a_body(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"));
    assert_true(o.head.has_content_length);
    o = accepted(RV_LIT("FOO / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    assert_true(o.head.chunked);
}

/* ---- Expect, RFC 9110 section 10.1.1 --------------------------------------------------------- */

static void only_100_continue_is_a_known_expectation(void **state)
{
    (void)state;
    const struct {
        rv_bytes head;
        bool expect_continue;
        bool expect_unknown;
    } rows[] = {
        {HEAD(""), false, false},
        {HEAD("Expect: 100-continue\r\n"), true, false},
        {HEAD("Expect: 100-Continue\r\n"), true, false},
        {HEAD("expect:100-CONTINUE \r\n"), true, false},
        {HEAD("Expect: 100-continue\r\nExpect: 100-continue\r\n"), true, false},
        {HEAD("Expect: x\r\n"), false, true},
        {HEAD("Expect: 100-continuf\r\n"), false, true},
        {HEAD("Expect: 200-ok\r\n"), false, true},
        {HEAD("Expect: 100-continue;a=b\r\n"), false, true},
        {HEAD("Expect: 100-continue, x\r\n"), true, true},
        {HEAD("Expect: x\r\nExpect: 100-continue\r\n"), true, true},
        {HEAD("Expect:\r\n"), false, false},
        {HEAD("Expected: x\r\n"), false, false},
        {HEAD_1_0("Expect: 100-continue\r\n"), false, false},
        {HEAD_1_0("Expect: x\r\n"), false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome o = accepted(rows[i].head);
        assert_int_equal(o.head.expect_continue, rows[i].expect_continue);
        assert_int_equal(o.head.expect_unknown, rows[i].expect_unknown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_a_name_or_an_address_with_or_without_port),
        cmocka_unit_test(an_invalid_host_is_refused),
        cmocka_unit_test(a_1_1_request_needs_a_host),
        cmocka_unit_test(a_1_0_request_may_have_a_valid_host),
        cmocka_unit_test(a_second_host_is_refused_even_if_equal),
        cmocka_unit_test(a_host_is_accepted_exactly_if_it_is_a_valid_authority),
        cmocka_unit_test(persistence_follows_version_and_connection),
        cmocka_unit_test(an_option_with_any_octet_changed_is_not_known),
        cmocka_unit_test(a_content_length_is_a_decimal_number),
        cmocka_unit_test(anything_but_digits_is_no_content_length),
        cmocka_unit_test(a_content_length_past_63_bits_is_413),
        cmocka_unit_test(a_second_content_length_is_refused_even_if_equal),
        cmocka_unit_test(chunked_alone_is_understood_in_any_case),
        cmocka_unit_test(two_lengths_of_one_message_are_refused),
        cmocka_unit_test(a_1_0_message_has_no_transfer_encoding),
        cmocka_unit_test(codings_that_are_malformed_or_follow_chunked_are_refused),
        cmocka_unit_test(well_formed_codings_that_are_not_known_are_501_at_the_end),
        cmocka_unit_test(a_fault_of_the_head_comes_before_501_and_413),
        cmocka_unit_test(any_method_may_have_a_body),
        cmocka_unit_test(only_100_continue_is_a_known_expectation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
