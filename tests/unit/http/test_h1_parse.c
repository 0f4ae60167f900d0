/*
 * Request heads (RFC 9112): the request line, the lines of fields, the limits, and what must hold
 * of every head. What single fields mean is in test_h1_fields.c. Each head is parsed at every
 * length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/uri.h"
#include "random.h"
#include "unit/http/h1_growing.h"

/* ---- the whole ------------------------------------------------------------------------------- */

static void a_head_is_taken_apart(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("GET /a/b.html?c=d&e HTTP/1.1\r\n"
                                       "Host: example.org:8080\r\n"
                                       "Accept:text/html, */*\r\n"
                                       "X-Empty:\r\n"
                                       "\r\n"));
    assert_part(&o, o.head.method, "GET");
    assert_part(&o, o.head.target, "/a/b.html?c=d&e");
    assert_part(&o, o.head.path, "/a/b.html");
    assert_part(&o, o.head.query, "c=d&e");
    assert_part(&o, o.head.authority, "example.org:8080");
    assert_int_equal(o.head.method_id, RV_METHOD_GET);
    assert_int_equal(o.head.form, RV_TARGET_ORIGIN);
    assert_int_equal(o.head.minor, 1);
    assert_true(o.head.has_query);
    assert_true(o.head.keep_alive);
    assert_true(o.head.path_is_plain);
    assert_false(o.head.asked_keep_alive);
    assert_false(o.head.has_content_length);
    assert_false(o.head.chunked);
    assert_false(o.head.expect_continue);
    assert_false(o.head.expect_unknown);
    assert_int_equal(o.head.field_count, 3);
    assert_field(&o, 0, "Host", "example.org:8080", RV_FIELD_HOST);
    assert_field(&o, 1, "Accept", "text/html, */*", RV_FIELD_OTHER);
    assert_field(&o, 2, "X-Empty", "", RV_FIELD_OTHER);
}

static void the_least_head_of_each_version_is_accepted(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("GET / HTTP/1.0\r\n\r\n"));
    assert_int_equal(o.head.minor, 0);
    assert_int_equal(o.head.field_count, 0);
    assert_int_equal(o.head.authority.length, 0);
    o = accepted(RV_LIT("GET / HTTP/1.1\r\nHost:x\r\n\r\n"));
    assert_int_equal(o.head.minor, 1);
    assert_part(&o, o.head.authority, "x");
}

static void the_fields_of_a_browser_are_all_there(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("GET /static/app.css?v=7 HTTP/1.1\r\n"
                                       "Host: www.example.org\r\n"
                                       "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:115.0)\r\n"
                                       "Accept: text/css,*/*;q=0.1\r\n"
                                       "Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n"
                                       "Accept-Encoding: gzip, deflate, br\r\n"
                                       "Upgrade-Insecure-Requests: 1\r\n"
                                       "Cookie: session=3f1c6cb0a1e84d5f9f3e; theme=dark\r\n"
                                       "Connection: keep-alive\r\n"
                                       "\r\n"));
    assert_int_equal(o.head.field_count, 8);
    assert_field(&o, 1, "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:115.0)", RV_FIELD_OTHER);
    assert_field(&o, 5, "Upgrade-Insecure-Requests", "1", RV_FIELD_OTHER);
    assert_field(&o, 6, "Cookie", "session=3f1c6cb0a1e84d5f9f3e; theme=dark", RV_FIELD_OTHER);
    assert_field(&o, 7, "Connection", "keep-alive", RV_FIELD_CONNECTION);
}

/* ---- line ends, RFC 9112 section 2.2 --------------------------------------------------------- */

static void one_empty_line_before_the_request_line_is_ignored(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_part(&o, o.head.method, "GET");
    assert_part(&o, o.head.path, "/a");
    assert_int_equal(o.head.method.at, 2);
}

static void a_second_empty_line_is_refused_at_its_first_octet(void **state)
{
    (void)state;
    assert_refused_at(400, RV_LIT("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 3, &defaults);
}

static void a_bare_lf_ends_no_line(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\nHost: x\n\n"),
        RV_LIT("GET / HTTP/1.1\nHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\n\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA\n: b\r\n\r\n"),
        RV_LIT("GET\n/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET /\nHTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET /a\n HTTP/1.1\r\nHost: x\r\n\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_bare_cr_ends_no_line(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("\rGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\rHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\r\nHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA: \rb\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\nA\r: b\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\nHost: x\r\n\rA: b\r\n\r\n"),
        RV_LIT("GET /\r HTTP/1.1\r\nHost: x\r\n\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void what_is_not_http_is_refused_at_once(void **state)
{
    (void)state;
    assert_refused_at(400, RV_LIT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), 1, &defaults);
    assert_refused_at(400, RV_LIT("G(T / HTTP/1.1\r\nHost: x\r\n\r\n"), 2, &defaults);
    assert_refused_at(400, RV_LIT("SSH-2.0-OpenSSH_9.2\r\n"), 20, &defaults);
    assert_refused_at(400, RV_LIT(" GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 1, &defaults);
    assert_refused_at(400, RV_LIT("\0"), 1, &defaults);
    assert_refused_at(400, RV_LIT("\xff"), 1, &defaults);
}

static void nothing_and_beginnings_are_incomplete(void **state)
{
    (void)state;
    const rv_bytes parts[] = {RV_LIT(""),      RV_LIT("\r"),    RV_LIT("\r\n"),
                              RV_LIT("G"),     RV_LIT("GET"),   RV_LIT("GET "),
                              RV_LIT("GET /"), RV_LIT("GET h"), RV_LIT("GET / HTTP/1.1\r")};
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct outcome o;
        assert_int_equal(parse_growing(rv_h1_parse_head, &defaults, parts[i], &o), SIZE_MAX);
    }
}

/* ---- methods, RFC 9112 section 3.1 ----------------------------------------------------------- */

static void known_methods_are_numbered(void **state)
{
    (void)state;
#define EXPECT(name)                                                                               \
    if (RV_METHOD_##name != RV_METHOD_CONNECT) {                                                   \
        struct outcome o = accepted(RV_LIT(#name " /a HTTP/1.1\r\nHost: x\r\n\r\n"));              \
        assert_part(&o, o.head.method, #name);                                                     \
        assert_int_equal(o.head.method_id, RV_METHOD_##name);                                      \
        assert_part(&o, o.head.path, "/a");                                                        \
    }
    RV_METHODS(EXPECT)
#undef EXPECT
}

static void any_other_token_is_an_extension_method(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("PROP.FIND_~! / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_part(&o, o.head.method, "PROP.FIND_~!");
    assert_int_equal(o.head.method_id, RV_METHOD_EXTENSION);
    o = accepted(RV_LIT("get / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.method_id, RV_METHOD_EXTENSION);
    o = accepted(RV_LIT("GE / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.method_id, RV_METHOD_EXTENSION);
    o = accepted(RV_LIT("GETT / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.method_id, RV_METHOD_EXTENSION);
}

#define TEXT_64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static void a_method_of_64_octets_is_accepted_and_one_of_65_is_not(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT(TEXT_64 " / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_part(&o, o.head.method, TEXT_64);
    assert_refused_at(400, RV_LIT(TEXT_64 "x / HTTP/1.1\r\nHost: x\r\n\r\n"), 65, &defaults);
    assert_refused_at(400, RV_LIT(TEXT_64 "xxxxx"), 65, &defaults);
}

static void a_method_is_a_token_and_one_space(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT(" / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("G@T / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET: / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("G=\":<>( / HTTP/1.1\r\n\r\n"),
        RV_LIT("GET\r\n\r\n"),
        RV_LIT("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("GET \t/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("G\xc9T / HTTP/1.1\r\nHost: x\r\n\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

/* ---- versions, RFC 9112 section 2.3 ---------------------------------------------------------- */

#define VERSION(text) RV_LIT("GET / " text "\r\nHost: x\r\n\r\n")

static void a_higher_minor_version_counts_as_1_1(void **state)
{
    (void)state;
    assert_int_equal(accepted(VERSION("HTTP/1.0")).head.minor, 0);
    assert_int_equal(accepted(VERSION("HTTP/1.1")).head.minor, 1);
    assert_int_equal(accepted(VERSION("HTTP/1.2")).head.minor, 1);
    assert_int_equal(accepted(VERSION("HTTP/1.9")).head.minor, 1);
    assert_true(accepted(VERSION("HTTP/1.2")).head.keep_alive);
}

static void another_major_version_is_505(void **state)
{
    (void)state;
    const rv_bytes heads[] = {VERSION("HTTP/2.0"), VERSION("HTTP/0.9"), VERSION("HTTP/3.0"),
                              VERSION("HTTP/9.9"), RV_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")};
    assert_each_refused(505, heads, COUNT(heads));
    assert_refused_at(505, RV_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 16, &defaults);
}

static void anything_else_in_place_of_the_version_is_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        VERSION("http/1.1"),   VERSION("HTTP/1.11"),  VERSION("HTTP/2.15"),
        VERSION("HTTP/11.1"),  VERSION("HTTP/1"),     VERSION("HTTP/1."),
        VERSION("HTTP/.1"),    VERSION("HTTPS/1.1"),  VERSION("HTTP/1.1 "),
        VERSION("HTTP/1.1\t"), VERSION("HTTP/1.1 x"), VERSION("HTTP 1.1"),
        VERSION("HTTP/1,1"),   VERSION("HTTP/1.x"),   VERSION("HTTP/x.1"),
        VERSION(""),           VERSION(" HTTP/1.1"),  VERSION("HTTP/+1.1"),
        VERSION("HTTP/1.1\0"), VERSION("ICY/1.1"),    VERSION("HTTP/1.\x31\x80"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_request_without_version_is_refused(void **state)
{
    (void)state;
    assert_refused_at(400, RV_LIT("GET /\r\n"), 6, &defaults);
    assert_refused(400, RV_LIT("GET /a?b\r\nHost: x\r\n\r\n"));
    assert_refused(400, RV_LIT("GET\r\n\r\n"));
}

/* ---- field lines, RFC 9112 section 5 --------------------------------------------------------- */

static void white_space_around_a_value_is_not_part_of_it(void **state)
{
    (void)state;
    struct outcome o = accepted(HEAD("A: \t b\tc  d \t \r\nB:e\r\nC: \t \r\nD:f \r\n"));
    assert_field(&o, 1, "A", "b\tc  d", RV_FIELD_OTHER);
    assert_field(&o, 2, "B", "e", RV_FIELD_OTHER);
    assert_field(&o, 3, "C", "", RV_FIELD_OTHER);
    assert_field(&o, 4, "D", "f", RV_FIELD_OTHER);
}

static void a_value_may_have_octets_beyond_ascii(void **state)
{
    (void)state;
    struct outcome o = accepted(HEAD("A: \xe9\x80\xff\r\n"));
    assert_field(&o, 1, "A", "\xe9\x80\xff", RV_FIELD_OTHER);
}

static void a_name_may_have_any_token_octet(void **state)
{
    (void)state;
    struct outcome o = accepted(HEAD("!#$%&'*+-.^_`|~09azAZ: 1\r\nX_Y: 2\r\n"));
    assert_field(&o, 1, "!#$%&'*+-.^_`|~09azAZ", "1", RV_FIELD_OTHER);
    assert_field(&o, 2, "X_Y", "2", RV_FIELD_OTHER);
}

static void names_are_recognised_in_any_case(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("GET / HTTP/1.1\r\n"
                                       "hOST: x\r\n"
                                       "CONTENT-LENGTH: 1\r\n"
                                       "connection: close\r\n"
                                       "eXpEcT: 100-continue\r\n\r\n"));
    assert_field(&o, 0, "hOST", "x", RV_FIELD_HOST);
    assert_field(&o, 1, "CONTENT-LENGTH", "1", RV_FIELD_CONTENT_LENGTH);
    assert_field(&o, 2, "connection", "close", RV_FIELD_CONNECTION);
    assert_field(&o, 3, "eXpEcT", "100-continue", RV_FIELD_EXPECT);
    o = accepted(HEAD("transfer-ENCODING: chunked\r\n"));
    assert_field(&o, 1, "transfer-ENCODING", "chunked", RV_FIELD_TRANSFER_ENCODING);
}

static void names_of_the_same_length_are_other_fields(void **state)
{
    (void)state;
    struct outcome o = accepted(HEAD("Hast: a b\r\nExpecu: x\r\nConnectiom: close\r\n"
                                     "Content_Length: x\r\nTransfer-Encodinh: y\r\n"));
    for (uint32_t i = 1; i < o.head.field_count; i++)
        assert_int_equal(o.fields[i].id, RV_FIELD_OTHER);
    assert_int_equal(o.head.field_count, 6);
    assert_true(o.head.keep_alive);
    assert_false(o.head.has_content_length);
    assert_false(o.head.chunked);
}

static void a_name_with_any_octet_changed_is_another_field(void **state)
{
    (void)state;
    const char *names[] = {"Host", "Expect", "Connection", "Content-Length", "Transfer-Encoding"};
    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t at = 0; at < strlen(names[i]); at++) {
            char text[64] = "GET / HTTP/1.0\r\n";
            struct outcome o;
            strcat(text, names[i]);
            text[16 + at] = '_';
            strcat(text, ": a b\r\n\r\n");
            parse_first(rv_h1_parse_head, &defaults, rv_str(text), strlen(text), &o);
            assert_int_equal(o.status, RV_H1_COMPLETE);
            assert_int_equal(o.fields[0].id, RV_FIELD_OTHER);
        }
}

static void a_line_without_a_proper_name_is_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HEAD("A : b\r\n"),
        HEAD("A\t: b\r\n"),
        HEAD(": b\r\n"),
        HEAD("A\r\n"),
        HEAD("A b\r\n"),
        HEAD("A[]: b\r\n"),
        HEAD("A\xe9: b\r\n"),
        HEAD("A\0: b\r\n"),
        HEAD("\"A\": b\r\n"),
        HEAD("A,B: c\r\n"),
        HEAD("A(b): c\r\n"),
        HEAD("\x7f: b\r\n"),
        HEAD(":\r\nI: l\r\n"),
        HEAD("A@b: c\r\n"),
        HEAD("A{b}: c\r\n"),
        HEAD("Abcdefghijklmnop\r\n"),
        HEAD("Transfer-Encoding : chunked\r\n"),
        HEAD("Content-Length : 5\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_folded_line_is_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        HEAD("A: b\r\n c\r\n"),
        HEAD("A: b\r\n\tc\r\n"),
        HEAD("A: b\r\n \r\n"),
        HEAD(" A: b\r\n"),
        RV_LIT("GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\n\tHost: x\r\n\r\n"),
        RV_LIT("GET / HTTP/1.1\r\n\r\n Host: x\r\n\r\n"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_control_octet_in_a_value_is_refused_at_once(void **state)
{
    (void)state;
    for (unsigned octet = 0; octet < 256; octet++) {
        char text[] = "GET / HTTP/1.0\r\nA: b_c\r\n\r\n";
        struct outcome o;
        text[20] = (char)octet;
        size_t at = parse_growing(rv_h1_parse_head, &defaults, rv_slice(text, 26), &o);
        if (octet == '\t' || (octet >= 0x20 && octet != 0x7f)) {
            assert_int_equal(o.status, RV_H1_COMPLETE);
        } else {
            assert_int_equal(o.status, 400);
            assert_int_equal(at, octet == '\r' ? 22 : 21);
        }
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_target_may_be_as_long_as_its_limit(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("GET /abcdefghijklmnopqrstuvwxyz HTTP/1.0\r\n\r\n"),
        RV_LIT("GET /abcdefghijk?mnopqrstuvwxyz HTTP/1.0\r\n\r\n"),
        RV_LIT("GET http://abcdefgh/ij HTTP/1.0\r\n\r\n"),
        RV_LIT("GET http://abcdefgh HTTP/1.0\r\n\r\n"),
        RV_LIT("CONNECT abcdefgh:80 HTTP/1.0\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct rv_span target = accepted(heads[i]).head.target;
        struct rv_h1_limits limits = {target.length, 1000, 10};
        struct outcome o;
        (void)parse_growing(rv_h1_parse_head, &limits, heads[i], &o);
        assert_int_equal(o.status, RV_H1_COMPLETE);
        limits.target_bytes_max--;
        assert_refused_at(414, heads[i], target.at + target.length, &limits);
    }
}

static void a_target_that_is_too_long_is_refused_before_it_ends(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {8, 1000, 10};
    assert_refused_at(414, RV_LIT("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaa"), 13, &limits);
    assert_refused_at(414, RV_LIT("GET /?aaaaaaaaaaaaaaaaaaaaaaaaaa"), 13, &limits);
    assert_refused_at(414, RV_LIT("GET http://aaaaaaaaaaaaaaaaaaaaaa"), 13, &limits);
}

static void the_first_fault_of_a_target_decides(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {8, 1000, 10};
    assert_refused_at(400, RV_LIT("GET /aaaaaa\x01\x61\x61\x61 HTTP/1.0\r\n\r\n"), 12, &limits);
    assert_refused_at(400, RV_LIT("GET /aaaaaaa\x01\x61\x61 HTTP/1.0\r\n\r\n"), 13, &limits);
    assert_refused_at(414, RV_LIT("GET /aaaaaaaa\x01\x61 HTTP/1.0\r\n\r\n"), 13, &limits);
}

static void a_head_may_be_as_long_as_its_limit(void **state)
{
    (void)state;
    rv_bytes head = RV_LIT("GET / HTTP/1.0\r\nA: bcdefghijklmnop\r\n\r\n");
    struct rv_h1_limits limits = {20, (uint32_t)head.len, 10};
    struct outcome o;
    (void)parse_growing(rv_h1_parse_head, &limits, head, &o);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    limits.head_bytes_max--;
    assert_refused_at(431, head, limits.head_bytes_max, &limits);
}

static void a_head_that_is_too_long_is_refused_before_it_ends(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 40, 10};
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nA: bcdefghijklmnopqrstuvwxyzabcdefghi"), 40,
                      &limits);
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nAbcdefghijklmnopqrstuvwxyzabcdefghijkl"), 40,
                      &limits);
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\nI: j\r\n"), 40,
                      &limits);
}

static void a_fault_before_the_limit_of_the_head_is_named(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 24, 10};
    assert_refused_at(400, RV_LIT("GET / HTTP/1.0\r\nA: bcd\x01\x65\x66\x67\r\n\r\n"), 23, &limits);
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nA: bcdef\x01\x67\r\n\r\n"), 24, &limits);
}

static void a_head_that_ends_inside_its_target_is_414(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {100, 20, 10};
    assert_refused_at(414, RV_LIT("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 20, &limits);
}

static void an_empty_line_in_front_counts_as_part_of_the_head(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 19, 10};
    struct outcome o;
    (void)parse_growing(rv_h1_parse_head, &limits, RV_LIT("GET / HTTP/1.0\r\n\r\n"), &o);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_refused_at(431, RV_LIT("\r\nGET / HTTP/1.0\r\n\r\n"), 19, &limits);
}

static void one_field_too_many_is_refused_at_its_first_octet(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 1000, 2};
    struct outcome o;
    (void)parse_growing(rv_h1_parse_head, &limits, RV_LIT("GET / HTTP/1.0\r\nA: b\r\nC: d\r\n\r\n"),
                        &o);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_int_equal(o.head.field_count, 2);
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n"), 29, &limits);
    assert_refused_at(400, RV_LIT("GET / HTTP/1.0\r\nA: b\r\nC: d\r\n e\r\n\r\n"), 29, &limits);
}

static void no_field_at_all_may_be_allowed(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 1000, 0};
    struct outcome o;
    (void)parse_growing(rv_h1_parse_head, &limits, RV_LIT("GET / HTTP/1.0\r\n\r\n"), &o);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_refused_at(431, RV_LIT("GET / HTTP/1.0\r\nA: b\r\n\r\n"), 17, &limits);
}

/* name_length has sixteen bits. */
static void a_name_of_65535_octets_is_accepted_and_one_more_is_not(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 1000000, 1};
    const size_t name = 65535;
    char *octets = malloc(70000 + RV_SCAN_PADDING);
    assert_non_null(octets);
    for (size_t more = 0; more <= 1; more++) {
        struct outcome o;
        memcpy(octets, "GET / HTTP/1.0\r\n", 16);
        memset(octets + 16, 'a', name + more);
        memcpy(octets + 16 + name + more, ":b\r\n\r\n", 6);
        parse_first(rv_h1_parse_head, &limits, rv_slice(octets, 16 + name + more + 6),
                    16 + name + more + 6, &o);
        assert_int_equal(o.status, more == 0 ? RV_H1_COMPLETE : 431);
        assert_true(more == 1 || o.fields[0].name_length == name);
    }
    free(octets);
}

/* ---- trailers, RFC 9112 section 7.1.2 -------------------------------------------------------- */

static size_t trailers(rv_bytes octets, const struct rv_h1_limits *limits, struct outcome *outcome)
{
    size_t known_at = parse_growing(rv_h1_parse_trailers, limits, octets, outcome);
    outcome->octets = octets.ptr;
    return known_at;
}

static void a_trailer_section_may_be_empty(void **state)
{
    (void)state;
    struct outcome o;
    assert_int_equal(trailers(RV_LIT("\r\nGET / HTTP/1.1\r\n"), &defaults, &o), 2);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_int_equal(o.head.length, 2);
    assert_int_equal(o.head.field_count, 0);
}

static void trailers_are_fields(void **state)
{
    (void)state;
    struct outcome o;
    assert_int_equal(trailers(RV_LIT("A: b\r\nDigest:\tc \r\n\r\nGET"), &defaults, &o), 20);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_int_equal(o.head.length, 20);
    assert_field(&o, 0, "A", "b", RV_FIELD_OTHER);
    assert_field(&o, 1, "Digest", "c", RV_FIELD_OTHER);
}

static void framing_fields_in_trailers_have_no_effect(void **state)
{
    (void)state;
    struct outcome o;
    rv_bytes octets = RV_LIT("Content-Length: 5\r\nContent-Length: x\r\nHost: a b\r\n"
                             "Transfer-Encoding: gzip\r\nExpect: y\r\nConnection: close\r\n\r\n");
    assert_int_equal(trailers(octets, &defaults, &o), octets.len);
    assert_int_equal(o.status, RV_H1_COMPLETE);
    assert_int_equal(o.head.field_count, 6);
}

static void trailers_obey_the_rules_of_fields(void **state)
{
    (void)state;
    const rv_bytes sections[] = {
        RV_LIT("XXGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RV_LIT("A : b\r\n\r\n"),
        RV_LIT(" A: b\r\n\r\n"),
        RV_LIT("A: b\r\n c\r\n\r\n"),
        RV_LIT("\n"),
        RV_LIT("\rX"),
        RV_LIT("A: b\n\r\n"),
        RV_LIT("A: \0\r\n\r\n"),
        RV_LIT(": b\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(sections); i++) {
        struct outcome o;
        (void)trailers(sections[i], &defaults, &o);
        assert_int_equal(o.status, 400);
        assert_non_null(o.reason);
    }
}

static void trailers_are_limited(void **state)
{
    (void)state;
    const struct rv_h1_limits limits = {20, 24, 2};
    struct outcome o;
    assert_int_equal(trailers(RV_LIT("A: b\r\nC: d\r\nE: f\r\n\r\n"), &limits, &o), 13);
    assert_int_equal(o.status, 431);
    assert_int_equal(trailers(RV_LIT("A: bcdefghijklmnopqrstuvwxyz\r\n\r\n"), &limits, &o), 24);
    assert_int_equal(o.status, 431);
}

/* ---- finding a field ------------------------------------------------------------------------- */

static void the_first_field_of_a_name_is_found_in_any_case(void **state)
{
    (void)state;
    rv_bytes head = HEAD("Accept: a\r\nAccept-: b\r\nACCEPT: c\r\n");
    struct outcome o = accepted(head);
    const struct rv_field *field = rv_h1_find(head.ptr, &o.head, RV_LIT("aCCept"));
    assert_non_null(field);
    assert_memory_equal(head.ptr + field->value, "a", 1);
    field = rv_h1_find(head.ptr, &o.head, RV_LIT("accept-"));
    assert_non_null(field);
    assert_memory_equal(head.ptr + field->value, "b", 1);
}

static void a_field_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    rv_bytes head = HEAD("Accept: a\r\n");
    struct outcome o = accepted(head);
    assert_null(rv_h1_find(head.ptr, &o.head, RV_LIT("Accep")));
    assert_null(rv_h1_find(head.ptr, &o.head, RV_LIT("Accept-")));
    assert_null(rv_h1_find(head.ptr, &o.head, RV_LIT("")));
    o = accepted(RV_LIT("GET / HTTP/1.0\r\n\r\n"));
    assert_null(rv_h1_find(head.ptr, &o.head, RV_LIT("Host")));
}

/* Every longer line says the same as the shortest that says anything. */
static void another_protocol_is_told_by_its_first_line(void **state)
{
    (void)state;
    const char *foreign = "INVALID CONNECTION PREFACE\r\n\r\n";
    for (size_t length = 1; length <= strlen(foreign); length++)
        assert_int_equal(rv_h1_is_foreign(foreign, length),
                         length < 20 ? RV_H1_FOREIGN_MAYBE : RV_H1_FOREIGN_YES);
    char endless[1000];
    memset(endless, 'x', sizeof endless);
    assert_int_equal(rv_h1_is_foreign(endless, 255), RV_H1_FOREIGN_MAYBE);
    assert_int_equal(rv_h1_is_foreign(endless, 256), RV_H1_FOREIGN_NO);
    assert_int_equal(rv_h1_is_foreign(endless, sizeof endless), RV_H1_FOREIGN_NO);
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\n", "GET / HTPP/1.1\r\n", "GET x HTTP/9\r\n",   "GET x:1 y\r\n",
        "GET  x y\r\n",       "GET x\r\n",          "\x16\x03\x01 x y \n"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        enum rv_h1_foreign last = RV_H1_FOREIGN_MAYBE;
        for (size_t length = 1; length <= strlen(requests[i]); length++) {
            enum rv_h1_foreign now = rv_h1_is_foreign(requests[i], length);
            assert_true(last == RV_H1_FOREIGN_MAYBE || now == last);
            last = now;
        }
        assert_int_equal(last, RV_H1_FOREIGN_NO);
    }
}

/* ---- every head ------------------------------------------------------------------------------ */

static void assert_inside(rv_bytes octets, const struct outcome *o)
{
    const struct rv_h1_head *head = &o->head;
    const struct rv_span spans[] = {head->method, head->target, head->path, head->authority};
    for (size_t i = 0; i < COUNT(spans); i++)
        assert_true(spans[i].at + spans[i].length <= head->length);
    assert_true(!head->has_query || head->query.at + head->query.length <= head->length);
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct rv_field *field = &o->fields[i];
        assert_true(field->name + field->name_length < field->value + 1);
        assert_true(field->value + field->value_length <= head->length - 4);
        assert_int_equal(octets.ptr[field->name + field->name_length], ':');
    }
    assert_memory_equal(octets.ptr + head->length - 4, "\r\n\r\n", 4);
    if (head->authority.length > 0)
        assert_true(rv_authority_is_valid(rv_span_bytes(octets.ptr, head->authority)));
    assert_false(head->chunked && head->has_content_length);
}

/* Good heads with a few octets changed, dropped or doubled: most are refused somewhere, and
   whatever the verdict is, parse_growing asserts that it does not depend on how they arrived. */
static void the_verdict_on_damaged_heads_does_not_depend_on_cuts(void **state)
{
    (void)state;
    const rv_bytes seeds[] = {
        RV_LIT("GET /a/b?c HTTP/1.1\r\nHost: example.org:80\r\nConnection: keep-alive\r\n\r\n"),
        RV_LIT("POST http://a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n"),
        RV_LIT("PUT / HTTP/1.1\r\nhost:[::1]\r\nTransfer-Encoding: chunked\r\nExpect: 100-"
               "continue\r\n\r\n"),
        RV_LIT("\r\nOPTIONS * HTTP/1.0\r\nConnection: a, close\r\nX_Y:\t z \r\n\r\n"),
        RV_LIT("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: gzip;a=\"b,c\"\r\n\r\n"),
    };
    const char spice[] = "\r\n\t :/?#*,;\"\\%\0\x01\x7f\x80\xff"
                         "019aAhH";
    uint64_t random = 9112;
    unsigned complete = 0;

    for (unsigned run = 0; run < 4000; run++) {
        rv_bytes seed = seeds[random_below(&random, COUNT(seeds))];
        char text[256];
        size_t length = seed.len;
        memcpy(text, seed.ptr, seed.len);
        for (uint64_t changes = random_below(&random, 3); changes > 0; changes--) {
            size_t at = random_below(&random, length - 1);
            switch (random_below(&random, 3)) {
            case 0:
                text[at] = spice[random_below(&random, sizeof(spice))];
                break;
            case 1:
                memmove(text + at, text + at + 1, length - at - 1);
                length--;
                break;
            default:
                memmove(text + at + 1, text + at, length - at);
                length++;
                break;
            }
        }
        struct outcome o;
        struct rv_h1_limits limits = {24, 120, 3};
        (void)parse_growing(rv_h1_parse_head, &limits, rv_slice(text, length), &o);
        if (o.status == RV_H1_COMPLETE) {
            complete++;
            assert_inside(rv_slice(text, length), &o);
        }
    }
    assert_in_range(complete, 400, 3600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_taken_apart),
        cmocka_unit_test(the_least_head_of_each_version_is_accepted),
        cmocka_unit_test(the_fields_of_a_browser_are_all_there),
        cmocka_unit_test(one_empty_line_before_the_request_line_is_ignored),
        cmocka_unit_test(a_second_empty_line_is_refused_at_its_first_octet),
        cmocka_unit_test(a_bare_lf_ends_no_line),
        cmocka_unit_test(a_bare_cr_ends_no_line),
        cmocka_unit_test(what_is_not_http_is_refused_at_once),
        cmocka_unit_test(nothing_and_beginnings_are_incomplete),
        cmocka_unit_test(known_methods_are_numbered),
        cmocka_unit_test(any_other_token_is_an_extension_method),
        cmocka_unit_test(a_method_of_64_octets_is_accepted_and_one_of_65_is_not),
        cmocka_unit_test(a_method_is_a_token_and_one_space),
        cmocka_unit_test(a_higher_minor_version_counts_as_1_1),
        cmocka_unit_test(another_major_version_is_505),
        cmocka_unit_test(anything_else_in_place_of_the_version_is_refused),
        cmocka_unit_test(a_request_without_version_is_refused),
        cmocka_unit_test(white_space_around_a_value_is_not_part_of_it),
        cmocka_unit_test(a_value_may_have_octets_beyond_ascii),
        cmocka_unit_test(a_name_may_have_any_token_octet),
        cmocka_unit_test(names_are_recognised_in_any_case),
        cmocka_unit_test(names_of_the_same_length_are_other_fields),
        cmocka_unit_test(a_name_with_any_octet_changed_is_another_field),
        cmocka_unit_test(a_line_without_a_proper_name_is_refused),
        cmocka_unit_test(a_folded_line_is_refused),
        cmocka_unit_test(a_control_octet_in_a_value_is_refused_at_once),
        cmocka_unit_test(a_target_may_be_as_long_as_its_limit),
        cmocka_unit_test(a_target_that_is_too_long_is_refused_before_it_ends),
        cmocka_unit_test(the_first_fault_of_a_target_decides),
        cmocka_unit_test(a_head_may_be_as_long_as_its_limit),
        cmocka_unit_test(a_head_that_is_too_long_is_refused_before_it_ends),
        cmocka_unit_test(a_fault_before_the_limit_of_the_head_is_named),
        cmocka_unit_test(a_head_that_ends_inside_its_target_is_414),
        cmocka_unit_test(an_empty_line_in_front_counts_as_part_of_the_head),
        cmocka_unit_test(one_field_too_many_is_refused_at_its_first_octet),
        cmocka_unit_test(no_field_at_all_may_be_allowed),
        cmocka_unit_test(a_name_of_65535_octets_is_accepted_and_one_more_is_not),
        cmocka_unit_test(a_trailer_section_may_be_empty),
        cmocka_unit_test(trailers_are_fields),
        cmocka_unit_test(framing_fields_in_trailers_have_no_effect),
        cmocka_unit_test(trailers_obey_the_rules_of_fields),
        cmocka_unit_test(trailers_are_limited),
        cmocka_unit_test(the_first_field_of_a_name_is_found_in_any_case),
        cmocka_unit_test(a_field_that_is_not_there_is_not_found),
        cmocka_unit_test(another_protocol_is_told_by_its_first_line),
        cmocka_unit_test(the_verdict_on_damaged_heads_does_not_depend_on_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
