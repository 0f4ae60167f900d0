/*
 * Targets of requests (RFC 9112 section 3.2): the four forms, their parts, and what is none of
 * them. Each head is parsed at every length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/http/h1_growing.h"

#define TARGET(text) RV_LIT("GET " text " HTTP/1.1\r\nHost: x\r\n\r\n")

static void a_query_begins_at_the_first_question_mark(void **state)
{
    (void)state;
    struct outcome o = accepted(TARGET("/a?b?c/../%zz"));
    assert_part(&o, o.head.target, "/a?b?c/../%zz");
    assert_part(&o, o.head.path, "/a");
    assert_part(&o, o.head.query, "b?c/../%zz");
    assert_true(o.head.path_is_plain);
    o = accepted(TARGET("/?"));
    assert_true(o.head.has_query);
    assert_int_equal(o.head.query.length, 0);
    o = accepted(TARGET("/a"));
    assert_false(o.head.has_query);
}

static void a_path_may_have_any_visible_octet(void **state)
{
    (void)state;
    struct outcome o = accepted(TARGET("/!\"$%&'()*+,-./:;<=>@[\\]^_`{|}~"));
    assert_part(&o, o.head.path, "/!\"$%&'()*+,-./:;<=>@[\\]^_`{|}~");
}

static void double_slashes_are_a_path_and_no_authority(void **state)
{
    (void)state;
    struct outcome o = accepted(TARGET("//other/a"));
    assert_part(&o, o.head.path, "//other/a");
    assert_part(&o, o.head.authority, "x");
}

static void escapes_and_dot_segments_make_a_path_not_plain(void **state)
{
    (void)state;
    const struct {
        rv_bytes head;
        bool plain;
    } rows[] = {
        {TARGET("/"), true},
        {TARGET("/a/b.c"), true},
        {TARGET("/a%20b"), false},
        {TARGET("/../a"), false},
        {TARGET("/a/."), false},
        {TARGET("/.git"), false},
        {TARGET("/a//b"), true},
        {TARGET("/a?/.%41"), true},
        {TARGET("http://x"), true},
        {TARGET("http://x/"), true},
        {TARGET("http://x/a.b"), true},
        {TARGET("http://x/%41"), false},
        {TARGET("http://x/.a"), false},
        {TARGET("http://x.y?/."), true},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(accepted(rows[i].head).head.path_is_plain, rows[i].plain);
}

static void octets_that_no_target_has_are_refused_at_once(void **state)
{
    (void)state;
    const rv_bytes heads[] = {TARGET("/a\x01"), TARGET("/a\0"),   TARGET("/a\x7f"),
                              TARGET("/a\x80"), TARGET("/a\xff"), TARGET("/a\t"),
                              TARGET("/a#f"),   TARGET("/a\x1f"), TARGET("/?\x01"),
                              TARGET("/?\xc3"), TARGET("/?#"),    TARGET("/?\0")};
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_refused_at(400, heads[i], 7, &defaults);
}

static void white_space_in_a_target_is_not_repaired(void **state)
{
    (void)state;
    const rv_bytes heads[] = {TARGET("/a b"), TARGET("/a "), TARGET("/a\tb"), TARGET("/a?b c")};
    assert_each_refused(400, heads, COUNT(heads));
}

static void a_target_is_a_path_or_an_http_uri(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        TARGET("index.html"),   TARGET("?a"),        TARGET("ftp://x/"),   TARGET("http:/x/"),
        TARGET("http:x"),       TARGET("https:/x/"), TARGET("httpx://x/"), TARGET("http//x/"),
        TARGET("hello"),        TARGET("x"),         TARGET("x:80"),       TARGET("example.org/"),
        TARGET("httphttp://x"), TARGET("h"),         TARGET("\\a"),        TARGET("http"),
    };
    assert_each_refused(400, heads, COUNT(heads));
    assert_refused_at(400, TARGET("index.html"), 5, &defaults);
}

static void an_absolute_form_has_authority_path_and_query(void **state)
{
    (void)state;
    struct outcome o = accepted(TARGET("http://example.org:81/a/b?c=/d"));
    assert_int_equal(o.head.form, RV_TARGET_ABSOLUTE);
    assert_part(&o, o.head.target, "http://example.org:81/a/b?c=/d");
    assert_part(&o, o.head.authority, "example.org:81");
    assert_part(&o, o.head.path, "/a/b");
    assert_part(&o, o.head.query, "c=/d");
    o = accepted(TARGET("hTTpS://[::1]:443/"));
    assert_part(&o, o.head.authority, "[::1]:443");
    assert_part(&o, o.head.path, "/");
    assert_false(o.head.has_query);
}

static void an_absolute_form_may_have_no_path(void **state)
{
    (void)state;
    struct outcome o = accepted(TARGET("http://example.org"));
    assert_part(&o, o.head.authority, "example.org");
    assert_int_equal(o.head.path.length, 0);
    o = accepted(TARGET("HTTP://example.org?a/b"));
    assert_part(&o, o.head.authority, "example.org");
    assert_int_equal(o.head.path.length, 0);
    assert_part(&o, o.head.query, "a/b");
}

static void the_authority_of_the_target_wins_over_host(void **state)
{
    (void)state;
    struct outcome o =
        accepted(RV_LIT("GET http://target/ HTTP/1.1\r\nA: b\r\nHost: other:8080\r\n\r\n"));
    assert_part(&o, o.head.authority, "target");
    assert_field(&o, 1, "Host", "other:8080", RV_FIELD_HOST);
    o = accepted(RV_LIT("GET http://target/ HTTP/1.0\r\n\r\n"));
    assert_part(&o, o.head.authority, "target");
}

static void an_absolute_form_still_needs_a_valid_host(void **state)
{
    (void)state;
    assert_refused(400, RV_LIT("GET http://x/ HTTP/1.1\r\n\r\n"));
    assert_refused(400, RV_LIT("GET http://x/ HTTP/1.1\r\nHost: a b\r\n\r\n"));
    assert_refused(400, RV_LIT("GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"));
}

static void an_absolute_form_with_an_invalid_authority_is_refused(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        TARGET("http:///a"),       TARGET("http://"),       TARGET("http://?a"),
        TARGET("http://:80/"),     TARGET("http://u@x/"),   TARGET("http://u:p@x/"),
        TARGET("http://x:65536/"), TARGET("http://x:8a/"),  TARGET("http://[::1/"),
        TARGET("http://x\\y/"),    TARGET("http://x<y/"),   TARGET("http://a%zz/"),
        TARGET("http://x#f"),      TARGET("https://x/a#f"),
    };
    assert_each_refused(400, heads, COUNT(heads));
}

static void an_asterisk_belongs_to_options(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.form, RV_TARGET_ASTERISK);
    assert_part(&o, o.head.target, "*");
    assert_part(&o, o.head.path, "*");
    assert_part(&o, o.head.authority, "x");
    assert_true(o.head.path_is_plain);
    assert_refused(400, TARGET("*"));
    assert_refused(400, RV_LIT("FOO * HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_refused(400, RV_LIT("OPTIONS *a HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_refused(400, RV_LIT("OPTIONS ** HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_refused(400, RV_LIT("OPTIONS */ HTTP/1.1\r\nHost: x\r\n\r\n"));
}

static void options_may_ask_about_a_path(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("OPTIONS /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.form, RV_TARGET_ORIGIN);
    o = accepted(RV_LIT("OPTIONS http://x HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(o.head.form, RV_TARGET_ABSOLUTE);
}

#define CONNECT(text) RV_LIT("CONNECT " text " HTTP/1.1\r\nHost: x\r\n\r\n")

static void connect_has_a_host_and_a_port(void **state)
{
    (void)state;
    struct outcome o = accepted(CONNECT("example.org:443"));
    assert_int_equal(o.head.form, RV_TARGET_AUTHORITY);
    assert_int_equal(o.head.method_id, RV_METHOD_CONNECT);
    assert_part(&o, o.head.target, "example.org:443");
    assert_part(&o, o.head.authority, "example.org:443");
    assert_int_equal(o.head.path.length, 0);
    o = accepted(CONNECT("[::1]:80"));
    assert_part(&o, o.head.authority, "[::1]:80");
    const rv_bytes heads[] = {
        CONNECT("/"),           CONNECT("x"),       CONNECT("x:"),       CONNECT(":80"),
        CONNECT("http://x/"),   CONNECT("*"),       CONNECT("[::1]"),    CONNECT("u@x:80"),
        CONNECT("x:80/"),       CONNECT("x:99999"), CONNECT("10.0.0.1"), CONNECT(""),
        CONNECT("http://x:80"), CONNECT("x:8 0"),
    };
    assert_each_refused(400, heads, COUNT(heads));
    assert_refused(400, TARGET("example.org:443"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_begins_at_the_first_question_mark),
        cmocka_unit_test(a_path_may_have_any_visible_octet),
        cmocka_unit_test(double_slashes_are_a_path_and_no_authority),
        cmocka_unit_test(escapes_and_dot_segments_make_a_path_not_plain),
        cmocka_unit_test(octets_that_no_target_has_are_refused_at_once),
        cmocka_unit_test(white_space_in_a_target_is_not_repaired),
        cmocka_unit_test(a_target_is_a_path_or_an_http_uri),
        cmocka_unit_test(an_absolute_form_has_authority_path_and_query),
        cmocka_unit_test(an_absolute_form_may_have_no_path),
        cmocka_unit_test(the_authority_of_the_target_wins_over_host),
        cmocka_unit_test(an_absolute_form_still_needs_a_valid_host),
        cmocka_unit_test(an_absolute_form_with_an_invalid_authority_is_refused),
        cmocka_unit_test(an_asterisk_belongs_to_options),
        cmocka_unit_test(options_may_ask_about_a_path),
        cmocka_unit_test(connect_has_a_host_and_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
