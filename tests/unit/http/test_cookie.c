/*
 * Cookies: the pairs of a Cookie field, every attribute of Set-Cookie, and what is refused to be
 * written. Whatever is written is one line of one cookie, whatever it was made from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/cookie.h"
#include "random.h"
#include "unit/http/pairs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void a_cookie_field_is_pairs_between_semicolons(void **state)
{
    (void)state;
    static const struct {
        const char *cookies;
        const char *pairs;
    } cases[] = {
        {"a=1", "a=1|"},
        {"a=1; b=2", "a=1|b=2|"},
        {"a=1;b=2", "a=1|b=2|"},
        {"a=1 ;\t b=2 ", "a=1|b=2|"},
        {" a = 1 ", "a=1|"},
        {"a=", "a=|"},
        {"a=b=c", "a=b=c|"}, /* base64 pads with "=" */
        {"a=1; a=2", "a=1|a=2|"},
        {"a=%20+x", "a=%20+x|"}, /* nothing is decoded */
        {"a=x y", "a=x y|"},
        {"", ""},
        {";", ""},
        {" ; ; ", ""},
        {"a=1;", "a=1|"},
        {"a=1,b=2", "a=1,b=2|"}, /* "," separates nothing */
        {"$Version=1; a=1", "$Version=1|a=1|"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_pairs(rv_cookie_next, cases[i].cookies, cases[i].pairs);
}

static void quotes_are_part_of_a_cookie_value(void **state)
{
    (void)state;
    assert_pairs(rv_cookie_next, "a=\"x\"; b={\"k\":1}; c=3", "a=\"x\"|b={\"k\":1}|c=3|");
    assert_pairs(rv_cookie_next, "a=\"x;y\"; b=2", "a=\"x|b=2|");
    assert_pairs(rv_cookie_next, "a=\"; b=2", "a=\"|b=2|");
}

static void a_bad_pair_does_not_lose_the_others(void **state)
{
    (void)state;
    assert_pairs(rv_cookie_next, "novalue; b=2", "b=2|");
    assert_pairs(rv_cookie_next, "a=1; =x; c=3", "a=1|c=3|");
    assert_pairs(rv_cookie_next, "a=1; = ; c=3", "a=1|c=3|");
    assert_pairs(rv_cookie_next, "a=1; junk \xff; c=3", "a=1|c=3|");
    assert_pairs(rv_cookie_next, "a=1; b", "a=1|");
    assert_pairs(rv_cookie_next, "a,b=c; d=4", "a,b=c|d=4|");
}

static void what_is_passed_over_shows(void **state)
{
    (void)state;
    static const char *const sound[] = {"", "a=1", "a=1; b=2", ";;a=1;; ", "a==", "a=\"x\"", "a="};
    static const char *const unsound[] = {"a", "a=1; b", "=1", "a=1; =; b=2", "a=1;b; c=3", " = "};
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        assert_true(rv_cookies_are_pairs(rv_str(sound[i])));
    for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++)
        assert_false(rv_cookies_are_pairs(rv_str(unsound[i])));
}

static void an_absent_cookie_field_has_no_pairs(void **state)
{
    (void)state;
    rv_bytes cookies = {0}, name, value;
    assert_false(rv_cookie_next(&cookies, &name, &value));
}

/* ---- Set-Cookie ------------------------------------------------------------------------------ */

#define BARE(its_name, its_value, ...)                                                             \
    ((struct rv_set_cookie){.name = its_name, .value = its_value, ##__VA_ARGS__})
#define COOKIE(...) BARE(RV_LIT("n"), RV_LIT("v"), __VA_ARGS__)

static void assert_written(struct rv_set_cookie cookie, const char *expected)
{
    assert_int_equal(rv_set_cookie_check(&cookie), RV_COOKIE_GOOD);
    size_t room = rv_set_cookie_room(&cookie);
    char *out = malloc(room);
    assert_non_null(out);
    size_t length = rv_set_cookie_write(&cookie, out);
    assert_true(length <= room);
    if (!rv_bytes_equal(rv_slice(out, length), rv_str(expected)))
        fail_msg("\"%.*s\", not \"%s\"", (int)length, out, expected);
    free(out);
}

static void a_cookie_carries_its_attributes_and_no_others(void **state)
{
    (void)state;
    assert_written(COOKIE(.path = {0}), "n=v");
    assert_written(COOKIE(.path = RV_LIT("/a b")), "n=v; Path=/a b");
    assert_written(COOKIE(.domain = RV_LIT("example.org")), "n=v; Domain=example.org");
    assert_written(COOKIE(.max_age_s = 60, .has_max_age = true), "n=v; Max-Age=60");
    assert_written(COOKIE(.max_age_s = -5, .has_max_age = true), "n=v; Max-Age=0");
    assert_written(COOKIE(.expires = 784111777, .has_expires = true),
                   "n=v; Expires=Sun, 06 Nov 1994 08:49:37 GMT");
    assert_written(COOKIE(.http_only = true), "n=v; HttpOnly");
    assert_written(COOKIE(.secure = true), "n=v; Secure");
    assert_written(COOKIE(.same_site = RV_SAME_SITE_LAX), "n=v; SameSite=Lax");
    assert_written(COOKIE(.same_site = RV_SAME_SITE_STRICT), "n=v; SameSite=Strict");
    assert_written(COOKIE(.same_site = RV_SAME_SITE_NONE, .secure = true),
                   "n=v; Secure; SameSite=None");
    assert_written(COOKIE(.partitioned = true, .secure = true), "n=v; Secure; Partitioned");
    assert_written(
        COOKIE(.path = RV_LIT("/"), .domain = RV_LIT("a.b"), .max_age_s = INT64_MAX,
               .expires = INT64_MAX, .has_max_age = true, .has_expires = true, .http_only = true,
               .secure = true, .partitioned = true, .same_site = RV_SAME_SITE_STRICT),
        "n=v; Expires=Fri, 31 Dec 9999 23:59:59 GMT; Max-Age=9223372036854775807; Path=/; "
        "Domain=a.b; HttpOnly; Secure; SameSite=Strict; Partitioned");
}

static void assert_fault(struct rv_set_cookie cookie, enum rv_cookie_fault fault)
{
    enum rv_cookie_fault found = rv_set_cookie_check(&cookie);
    if (found != fault)
        fail_msg("%.*s=%.*s: \"%s\", not \"%s\"", (int)cookie.name.len, cookie.name.ptr,
                 (int)cookie.value.len, cookie.value.ptr, rv_cookie_fault_text(found),
                 rv_cookie_fault_text(fault));
}

static void each_octet_of_a_cookie_is_one_that_the_rfc_names(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        const char text[] = {'/', (char)c, 'x'};
        rv_bytes bytes = rv_slice(text, sizeof text), inner = rv_slice(text + 1, 2);
        bool visible = c > 0x20 && c < 0x7f;
        bool is_value = visible && strchr("\",;\\", c) == NULL;
        bool is_path = (visible || c == ' ') && c != ';';
        bool is_name = visible && strchr("()<>@,;:\\\"/[]?={}", c) == NULL;
        bool is_domain = visible && (strchr("-_.", c) != NULL || (c >= '0' && c <= '9') ||
                                     ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'));
        assert_fault(BARE(RV_LIT("n"), inner), is_value ? RV_COOKIE_GOOD : RV_COOKIE_BAD_VALUE);
        assert_fault(COOKIE(.path = bytes), is_path ? RV_COOKIE_GOOD : RV_COOKIE_BAD_PATH);
        assert_fault(BARE(inner, RV_LIT("v")), is_name ? RV_COOKIE_GOOD : RV_COOKIE_BAD_NAME);
        assert_fault(COOKIE(.domain = inner), is_domain ? RV_COOKIE_GOOD : RV_COOKIE_BAD_DOMAIN);
    }
}

static void a_cookie_needs_a_name_and_a_value(void **state)
{
    (void)state;
    assert_fault(BARE((rv_bytes){0}, RV_LIT("v")), RV_COOKIE_BAD_NAME);
    assert_fault(BARE(RV_LIT(""), RV_LIT("v")), RV_COOKIE_BAD_NAME);
    assert_fault(BARE(RV_LIT("n"), (rv_bytes){0}), RV_COOKIE_BAD_VALUE);
    assert_written(BARE(RV_LIT("n"), RV_LIT("")), "n=");
    assert_written(BARE(RV_LIT("n"), RV_LIT("\"q\"")), "n=\"q\"");
    assert_fault(BARE(RV_LIT("n"), RV_LIT("\"")), RV_COOKIE_BAD_VALUE);
    assert_fault(BARE(RV_LIT("n"), RV_LIT("\"a\"b\"")), RV_COOKIE_BAD_VALUE);
}

static void an_attribute_that_browsers_would_read_otherwise_is_refused(void **state)
{
    (void)state;
    assert_fault(COOKIE(.path = RV_LIT("")), RV_COOKIE_BAD_PATH);
    assert_fault(COOKIE(.path = RV_LIT("a/")), RV_COOKIE_BAD_PATH);
    static const char *const domains[] = {"", ".", "a..b", "..a", "a.", "a:80", "[::1]", "a/b"};
    for (size_t i = 0; i < COUNT(domains); i++)
        assert_fault(COOKIE(.domain = rv_str(domains[i])), RV_COOKIE_BAD_DOMAIN);
    assert_written(COOKIE(.domain = RV_LIT(".a.b")), "n=v; Domain=.a.b");
}

static void a_cookie_that_browsers_would_drop_is_refused(void **state)
{
    (void)state;
    char large[4096];
    memset(large, '/', sizeof large);
    assert_fault(COOKIE(.same_site = RV_SAME_SITE_NONE), RV_COOKIE_NOT_SECURE);
    assert_fault(COOKIE(.partitioned = true), RV_COOKIE_NOT_SECURE);
    assert_fault(BARE(RV_LIT("__Secure-a"), RV_LIT("v")), RV_COOKIE_NOT_SECURE);
    assert_fault(BARE(RV_LIT("__host-a"), RV_LIT("v"), .path = RV_LIT("/")), RV_COOKIE_NOT_SECURE);
    assert_fault(BARE(RV_LIT("__Host-a"), RV_LIT("v"), .secure = true), RV_COOKIE_BAD_HOST_PREFIX);
    assert_fault(BARE(RV_LIT("__Host-a"), RV_LIT("v"), .secure = true, .path = RV_LIT("/"),
                      .domain = RV_LIT("a")),
                 RV_COOKIE_BAD_HOST_PREFIX);
    assert_written(BARE(RV_LIT("__Host-a"), RV_LIT("v"), .secure = true, .path = RV_LIT("/")),
                   "__Host-a=v; Path=/; Secure");
    assert_written(BARE(RV_LIT("__Secure-a"), RV_LIT("v"), .secure = true), "__Secure-a=v; Secure");
    assert_fault(BARE(RV_LIT("n"), rv_slice(large, 4096)), RV_COOKIE_TOO_LONG);
    assert_fault(BARE(RV_LIT("n"), rv_slice(large, 4095)), RV_COOKIE_GOOD);
    assert_fault(COOKIE(.path = rv_slice(large, 1025)), RV_COOKIE_TOO_LONG);
    assert_fault(COOKIE(.path = rv_slice(large, 1024)), RV_COOKIE_GOOD);
}

static void each_fault_has_a_sentence(void **state)
{
    (void)state;
    assert_string_equal(rv_cookie_fault_text(RV_COOKIE_GOOD), "");
    for (enum rv_cookie_fault fault = RV_COOKIE_BAD_NAME; fault <= RV_COOKIE_TOO_LONG; fault++)
        assert_true(strlen(rv_cookie_fault_text(fault)) > 20);
}

/* What a client reads back from any cookie that is found good: the pair, and nothing that the octets
   of name, value, path or domain have added. */
static void no_octets_make_another_cookie_or_attribute(void **state)
{
    (void)state;
    static const char octets[] = "ab/.-_=;,\"\\ \r\n\t\x7f\xc3";
    uint64_t random = 11;
    int good = 0;
    for (int round = 0; round < 200000; round++) {
        char text[4][5];
        rv_bytes part[4];
        for (int i = 0; i < 4; i++) {
            size_t length = random_below(&random, sizeof text[i]);
            for (size_t at = 0; at < length; at++)
                text[i][at] = octets[random_below(&random, sizeof octets)]; /* with the NUL */
            part[i] = rv_slice(text[i], length);
            if (i > 1 && random_below(&random, 2) == 0)
                part[i] = (rv_bytes){0};
        }
        struct rv_set_cookie cookie = {
            .name = part[0], .value = part[1], .path = part[2], .domain = part[3]};
        char out[256];
        if (rv_set_cookie_check(&cookie) != RV_COOKIE_GOOD)
            continue;
        good++;
        rv_bytes written = rv_slice(out, rv_set_cookie_write(&cookie, out));
        int semicolons = 0;
        for (size_t i = 0; i < written.len; i++) {
            assert_true(out[i] >= 0x20 && out[i] < 0x7f);
            semicolons += out[i] == ';';
        }
        assert_int_equal(semicolons, (part[2].ptr != NULL) + (part[3].ptr != NULL));
        rv_bytes name, value;
        assert_true(rv_cookie_next(&written, &name, &value));
        assert_true(rv_bytes_equal(name, part[0]) && rv_bytes_equal(value, part[1]));
    }
    assert_true(good > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_field_is_pairs_between_semicolons),
        cmocka_unit_test(quotes_are_part_of_a_cookie_value),
        cmocka_unit_test(a_bad_pair_does_not_lose_the_others),
        cmocka_unit_test(what_is_passed_over_shows),
        cmocka_unit_test(an_absent_cookie_field_has_no_pairs),
        cmocka_unit_test(a_cookie_carries_its_attributes_and_no_others),
        cmocka_unit_test(each_octet_of_a_cookie_is_one_that_the_rfc_names),
        cmocka_unit_test(a_cookie_needs_a_name_and_a_value),
        cmocka_unit_test(an_attribute_that_browsers_would_read_otherwise_is_refused),
        cmocka_unit_test(a_cookie_that_browsers_would_drop_is_refused),
        cmocka_unit_test(each_fault_has_a_sentence),
        cmocka_unit_test(no_octets_make_another_cookie_or_attribute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
