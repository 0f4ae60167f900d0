/*
 * Targets (RFC 3986, RFC 9112 section 3.2): authorities, paths in both forms, percent-encoding. First
 * by table, then what must hold for every path, by random paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/uri.h"
#include "random.h"
#include "unit/http/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- authorities ----------------------------------------------------------------------------- */

static void check_authorities(const char *const *authorities, size_t count, bool expected)
{
    for (size_t i = 0; i < count; i++) {
        rv_bytes copy = exact_copy(rv_str(authorities[i]));
        if (rv_authority_is_valid(copy) != expected)
            fail_msg("\"%s\" is %s", authorities[i], expected ? "refused" : "taken");
        give_back(copy);
    }
}

static void a_name_or_an_ipv4_address_is_an_authority(void **state)
{
    (void)state;
    static const char *const valid[] = {
        "x",
        "127.0.0.1",
        "127.0.0.1:8080",
        "localhost:8080",
        "www.example.com",
        "EXAMPLE.com.",
        "xn--bcher-kva.example",
        "under_score.example",
        "999.999.999.999",   /* no IPv4 address, but a name (RFC 3986 section 3.2.2) */
        "a!$&'()*+,;=-._~b", /* sub-delims and unreserved */
        "%C3%A4.example:80", /* a name in UTF-8 */
        "%c3%a4",
    };
    check_authorities(valid, COUNT(valid), true);
}

static void a_port_is_empty_or_up_to_65535(void **state)
{
    (void)state;
    static const char *const valid[] = {"x:",     "x:0",    "x:80",        "x:65535",
                                        "x:0080", "[::1]:", "[::1]:65535", "127.0.0.1:00000000080"};
    check_authorities(valid, COUNT(valid), true);
    static const char *const invalid[] = {"x:65536",
                                          "a:99999999" /* FL07 */,
                                          "x:18446744073709551696",
                                          "x:4294967376",
                                          "x:-1",
                                          "x:+1",
                                          "x: 80",
                                          "x:80 ",
                                          "x:8a",
                                          "x:0x50",
                                          "x:80:80",
                                          "x::80",
                                          "[::1]:65536",
                                          "[::1]:x",
                                          "[::1]::1"};
    check_authorities(invalid, COUNT(invalid), false);
}

static void an_authority_has_a_host(void **state)
{
    (void)state;
    static const char *const invalid[] = {"" /* FL06 */, ":", ":80", "[]", "[]:80"};
    check_authorities(invalid, COUNT(invalid), false);
    assert_false(rv_authority_is_valid((rv_bytes){0}));
}

static void an_authority_has_nothing_but_host_and_port(void **state)
{
    (void)state;
    static const char *const invalid[] = {
        "a b" /* FL03 */,
        "a/b" /* FL04 */,
        "u@a" /* FL05 */,
        "u:p@a",
        "@a",
        "a?b",
        "a#b",
        "a\\b",
        "a\"b",
        "a<b>",
        "a|b",
        "a^",
        "a`",
        "{a}",
        " a",
        "a ",
        "a\tb",
        "a\r\nb",
        "a\x7f",
        "\xc3\xa4",
        "http://a",
        "a,b@c",
        "a[b]",
        "a]",
    };
    check_authorities(invalid, COUNT(invalid), false);
    assert_false(rv_authority_is_valid(RV_LIT("a\0b")));
    assert_false(rv_authority_is_valid(RV_LIT("a\0")));
}

static void every_octet_of_a_name_is_one_that_the_rfc_names(void **state)
{
    (void)state;
    for (int octet = 0; octet < 256; octet++) {
        char host[3] = {'a', (char)octet, 'b'};
        bool allowed = (octet >= '0' && octet <= '9') || (octet >= 'a' && octet <= 'z') ||
                       (octet >= 'A' && octet <= 'Z') ||
                       (octet != 0 && strchr("-._~!$&'()*+,;=", octet) != NULL);
        if (rv_authority_is_valid(rv_slice(host, 3)) != allowed)
            fail_msg("octet 0x%02x", (unsigned)octet);
    }
}

static void an_escape_in_a_name_has_two_digits(void **state)
{
    (void)state;
    static const char *const invalid[] = {"%",    "a%",   "a%4",  "a%4:80",
                                          "a%zz", "a%4g", "%%41", "%:80"};
    check_authorities(invalid, COUNT(invalid), false);
}

static void an_ipv6_address_in_brackets_is_a_host(void **state)
{
    (void)state;
    static const char *const valid[] = {
        "[::]",
        "[::1]",
        "[::1]:80",
        "[1::]",
        "[1:2:3:4:5:6:7:8]",
        "[2001:DB8::abcd]",
        "[fe80::1:2:3:4]",
        "[1:2:3:4:5:6:7::]",
        "[::2:3:4:5:6:7:8]",
        "[1::3:4:5:6:7:8]",
        "[::ffff:192.0.2.1]",
        "[::192.0.2.1]",
        "[1:2:3:4:5:6:192.0.2.255]",
        "[1:2:3:4:5::192.0.2.1]",
        "[1::0.0.0.0]",
    };
    check_authorities(valid, COUNT(valid), true);
}

static void a_misspelt_ipv6_address_is_refused(void **state)
{
    (void)state;
    static const char *const invalid[] = {
        "[",
        "[::1",
        "::1",
        "1:2:3:4:5:6:7:8",
        "[:]",
        "[:::]",
        "[1]",
        "[1:2]",
        "[1:]",
        "[:1]",
        "[1:2:3:4:5:6:7]",
        "[1:2:3:4:5:6:7:8:9]",
        "[1:2:3:4:5:6:7:8:]",
        "[:1:2:3:4:5:6:7:8]",
        "[1:2:3:4:5:6:7:8::]",
        "[::1:2:3:4:5:6:7:8]",
        "[::1:2:3:4:5:6:1.2.3.4]",
        "[1:2:3:4:5:6::1.2.3.4]",
        "[1:2:3:4::5:6:7:8]",
        "[1::2::3]",
        "[12345::]",
        "[::g]",
        "[::1.2.3]",
        "[::1.2.3.4.5]",
        "[::1.2.3.256]",
        "[::1.2.3.04]",
        "[::1.2.3.]",
        "[::1..3.4]",
        "[::1.2.3.4:5]",
        "[::a.2.3.4]",
        "[1:2:3:4:5:6:7:1.2.3.4]",
        "[1:2:3:4:5:1.2.3.4]",
        "[1.2.3.4]",
        "[fe80::1%25eth0]", /* zones mean nothing to another host */
        "[ ::1]",
        "[::1]x",
        "[::1]]",
        "[[::1]]",
        "x[::1]",
    };
    check_authorities(invalid, COUNT(invalid), false);
}

static void an_ip_literal_of_the_future_is_a_host(void **state)
{
    (void)state;
    static const char *const valid[] = {"[v1.a]", "[vFF.a:b]:80", "[V1.~!$&'()*+,;=]"};
    check_authorities(valid, COUNT(valid), true);
    static const char *const invalid[] = {"[v]", "[v.a]", "[v1]", "[v1.]", "[vg.a]", "[v1.a@b]"};
    check_authorities(invalid, COUNT(invalid), false);
}

/* ---- paths ----------------------------------------------------------------------------------- */

struct both_forms {
    enum rv_path_result result;
    char raw[256];
    size_t raw_length;
    char decoded[256];
    size_t decoded_length;
};

/* Each output in a block of exactly the room that was promised. */
static struct both_forms normalise(rv_bytes path)
{
    struct both_forms forms = {0};
    rv_bytes copy = exact_copy(path);
    char *raw = malloc(path.len > 0 ? path.len : 1);
    char *decoded = malloc(path.len > 0 ? path.len : 1);
    assert_non_null(raw);
    assert_non_null(decoded);
    assert_true(path.len < sizeof forms.raw);
    forms.result = rv_path_normalise(copy, raw, &forms.raw_length, decoded, &forms.decoded_length);
    if (forms.result == RV_PATH_OK) {
        assert_true(forms.raw_length <= path.len);
        assert_true(forms.decoded_length <= forms.raw_length);
        memcpy(forms.raw, raw, forms.raw_length);
        memcpy(forms.decoded, decoded, forms.decoded_length);
    }
    free(raw);
    free(decoded);
    give_back(copy);
    return forms;
}

static void assert_path(const char *path, const char *raw, const char *decoded)
{
    struct both_forms forms = normalise(rv_str(path));
    if (forms.result != RV_PATH_OK)
        fail_msg("\"%s\" is refused with %d", path, (int)forms.result);
    assert_string_equal(forms.raw, raw);
    assert_string_equal(forms.decoded, decoded);
}

static void check_refusals(const char *const *paths, size_t count, enum rv_path_result expected)
{
    for (size_t i = 0; i < count; i++) {
        enum rv_path_result result = normalise(rv_str(paths[i])).result;
        if (result != expected)
            fail_msg("\"%s\" gives %d, not %d", paths[i], (int)result, (int)expected);
    }
}

static void a_plain_path_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const plain[] = {"/",        "/a",      "/a/b/c.html", "/a/",
                                        "/...",     "/.a",     "/a.",         "/..a",
                                        "/a../b",   "/a/.b/c", "/a;p=1/b",    "/~u/!$&'()*+,=:@",
                                        "/a\\..\\b"};
    for (size_t i = 0; i < COUNT(plain); i++)
        assert_path(plain[i], plain[i], plain[i]);
}

static void escapes_are_decoded_once_and_kept_raw(void **state)
{
    (void)state;
    assert_path("/a%20b", "/a%20b", "/a b");
    assert_path("/%41%7a", "/%41%7a", "/Az");
    assert_path("/%C3%a4", "/%C3%a4", "/\xc3\xa4");
    assert_path("/%252e%252e/x", "/%252e%252e/x", "/%2e%2e/x"); /* PT04: not a second time */
    assert_path("/a+b", "/a+b", "/a+b");
    assert_path("/100%25", "/100%25", "/100%");
    assert_path("/%A0%D0blah%20key%200%20900%204%20data", "/%A0%D0blah%20key%200%20900%204%20data",
                "/\xa0\xd0"
                "blah key 0 900 4 data");
    assert_path("/a%0d%0aX:%20y", "/a%0d%0aX:%20y", "/a\r\nX: y");
}

static void an_escaped_slash_splits_no_raw_segment(void **state)
{
    (void)state;
    assert_path("/page%2Fname", "/page%2Fname", "/page/name");
    assert_path("/a%2Fb/../c", "/c", "/c"); /* ".." takes the whole segment away */
    assert_path("/x/a%2fb%20/..", "/x/", "/x/");
}

static void dot_segments_are_removed(void **state)
{
    (void)state;
    /* RFC 3986 section 5.2.4 and the examples of 5.4, seen from "/b/c/". */
    assert_path("/a/b/c/./../../g", "/a/g", "/a/g");
    assert_path("/mid/content=5/../6", "/mid/6", "/mid/6");
    assert_path("/b/c/./", "/b/c/", "/b/c/");
    assert_path("/b/c/.", "/b/c/", "/b/c/");
    assert_path("/b/c/..", "/b/", "/b/");
    assert_path("/b/c/../", "/b/", "/b/");
    assert_path("/b/c/../g", "/b/g", "/b/g");
    assert_path("/b/c/../..", "/", "/");
    assert_path("/b/c/../../g", "/g", "/g");
    assert_path("/b/c/./g/.", "/b/c/g/", "/b/c/g/");
    assert_path("/b/c/g/./h", "/b/c/g/h", "/b/c/g/h");
    assert_path("/b/c/g/../h", "/b/c/h", "/b/c/h");
    assert_path("/.", "/", "/");
    assert_path("/./", "/", "/");
    assert_path("/./index.html", "/index.html", "/index.html");    /* PT10 */
    assert_path("/x/../index.html", "/index.html", "/index.html"); /* PT12 */
    assert_path("/pub/../pub-secret/s.txt", "/pub-secret/s.txt", "/pub-secret/s.txt");
}

static void an_escaped_dot_is_a_dot(void **state)
{
    (void)state;
    assert_path("/a/%2e/b", "/a/b", "/a/b");
    assert_path("/a/%2E%2e/b", "/b", "/b");
    assert_path("/a/.%2e/b", "/b", "/b");
    assert_path("/a/%2E./b", "/b", "/b");
    assert_path("/a/%2e%2e%2e/b", "/a/%2e%2e%2e/b", "/a/.../b");
    assert_path("/a%2eb", "/a%2eb", "/a.b");
}

static void double_slashes_are_kept(void **state)
{
    (void)state;
    assert_path("//index.html", "//index.html", "//index.html"); /* PT11 */
    assert_path("//x/hello", "//x/hello", "//x/hello");
    assert_path("/a//b/", "/a//b/", "/a//b/");
    assert_path("//", "//", "//");
    /* An empty segment is one that ".." takes away. */
    assert_path("/a//../b", "/a/b", "/a/b");
    assert_path("//..", "/", "/");
}

static void what_leads_above_the_root_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/..",
        "/../",
        "/../../../../etc/passwd",                 /* PT01 */
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd", /* PT02 */
        "/a/../..",
        "/a/../../a",
        "/./..",
        "/a/b/../../../c",
        "/.%2E/x",
    };
    check_refusals(paths, COUNT(paths), RV_PATH_ABOVE_ROOT);
}

static void a_way_up_that_an_escaped_slash_hides_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/..%2f..%2f..%2f..%2fetc/passwd", /* PT03 */
        "/a/b/..%2fc",
        "/a%2f..",
        "/a%2F%2e%2e%2Fb",
        "/%2f..",
        "/..%2f",
        "..%2fa",
    };
    check_refusals(paths, COUNT(paths), RV_PATH_ABOVE_ROOT);
    assert_path("/a%2f..b", "/a%2f..b", "/a/..b");
    assert_path("/a..%2fb", "/a..%2fb", "/a../b");
    assert_path("/..%5c..%5cetc/passwd", "/..%5c..%5cetc/passwd", "/..\\..\\etc/passwd"); /* PT05 */
}

static void a_bad_escape_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/%zz" /* PT07 */, "/%" /* PT08 */, "/a%4", "/%4g",  "/%g4", "/%%41",
        "/%/41",           "/a/%2",         "/%-1", "/% 41", "/.%"};
    check_refusals(paths, COUNT(paths), RV_PATH_BAD_ESCAPE);
}

static void a_nul_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/%00", "/index.html%00.txt" /* PT06 */, "/a/%00/b"};
    check_refusals(paths, COUNT(paths), RV_PATH_NUL);
    assert_int_equal(normalise(RV_LIT("/a\0b")).result, RV_PATH_NUL);
}

static void an_empty_path_stays_empty(void **state)
{
    (void)state;
    assert_path("", "", "");
    assert_int_equal(normalise((rv_bytes){0}).result, RV_PATH_OK);
}

/* Paths made of the pieces that matter, so that a few thousand of them meet every rule. */
static size_t random_path(uint64_t *random, char *out)
{
    static const char *const pieces[] = {"/",   "/",   "/",   ".",   "..",  "a",      "b", "%2e",
                                         "%2E", "%2f", "%41", "%20", "%25", "%c3%a4", "%", "%00"};
    /* The last two refuse the path: rarely. */
    size_t length = 0;
    size_t count = random_below(random, 12);
    out[length++] = '/';
    for (size_t i = 0; i < count; i++) {
        bool any = random_below(random, 40) == 0;
        const char *piece = pieces[random_below(random, any ? COUNT(pieces) : COUNT(pieces) - 2)];
        memcpy(out + length, piece, strlen(piece));
        length += strlen(piece);
    }
    return length;
}

static bool has_segment(const char *text, size_t length, const char *segment)
{
    size_t wanted = strlen(segment);
    for (size_t start = 0; start <= length;) {
        size_t end = start;
        while (end < length && text[end] != '/')
            end++;
        if (end - start == wanted && memcmp(text + start, segment, wanted) == 0)
            return true;
        start = end + 1;
    }
    return false;
}

static void whatever_is_accepted_holds_the_promises(void **state)
{
    (void)state;
    uint64_t random = 3;
    size_t accepted = 0;
    for (int i = 0; i < 200000; i++) {
        char path[128];
        char decoded[128];
        rv_bytes view = rv_slice(path, random_path(&random, path));
        struct both_forms forms = normalise(view);
        if (forms.result != RV_PATH_OK)
            continue;
        accepted++;

        /* It still is a path, free of dot segments; no opener of files is led upwards. */
        rv_bytes raw = rv_slice(forms.raw, forms.raw_length);
        assert_true(raw.len > 0 && raw.ptr[0] == '/' && forms.decoded[0] == '/');
        assert_false(has_segment(forms.raw, forms.raw_length, "."));
        assert_false(has_segment(forms.raw, forms.raw_length, ".."));
        assert_false(has_segment(forms.decoded, forms.decoded_length, ".."));
        assert_null(memchr(forms.decoded, '\0', forms.decoded_length));

        /* The two forms are the same path. */
        assert_int_equal(rv_percent_decode(raw, false, decoded), forms.decoded_length);
        assert_memory_equal(decoded, forms.decoded, forms.decoded_length);
        assert_true(rv_percent_equal(raw, rv_slice(forms.decoded, forms.decoded_length)));

        /* What is plain stays as it is; once is enough for everything else. */
        if (memchr(raw.ptr, '%', raw.len) == NULL)
            assert_string_equal(forms.decoded, forms.raw);
        struct both_forms again = normalise(raw);
        assert_int_equal(again.result, RV_PATH_OK);
        assert_string_equal(again.raw, forms.raw);
        assert_int_equal(again.decoded_length, forms.decoded_length);
        assert_memory_equal(again.decoded, forms.decoded, forms.decoded_length);
    }
    assert_true(accepted > 20000);
}

/* ---- percent-encoding ------------------------------------------------------------------------ */

static void assert_decodes(const char *text, bool plus, const char *expected)
{
    rv_bytes copy = exact_copy(rv_str(text));
    char out[64] = {0};
    size_t length = rv_percent_decode(copy, plus, out);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(out, expected);
    give_back(copy);
}

static void an_escape_decodes_to_its_octet(void **state)
{
    (void)state;
    for (int octet = 0; octet < 256; octet++) {
        char lower[8];
        char upper[8];
        char out[8];
        snprintf(lower, sizeof lower, "a%%%02xb", (unsigned)octet);
        snprintf(upper, sizeof upper, "a%%%02Xb", (unsigned)octet);
        const char expected[3] = {'a', (char)octet, 'b'};
        assert_int_equal(rv_percent_decode(rv_str(lower), false, out), 3);
        assert_memory_equal(out, expected, 3);
        assert_int_equal(rv_percent_decode(rv_str(upper), false, out), 3);
        assert_memory_equal(out, expected, 3);
    }
}

static void a_plus_is_a_space_only_when_asked_for(void **state)
{
    (void)state;
    assert_decodes("a+b", true, "a b");
    assert_decodes("a+b", false, "a+b");
    assert_decodes("a%2Bb", true, "a+b");
}

static void a_percent_without_two_digits_is_kept(void **state)
{
    (void)state;
    assert_decodes("%", false, "%");
    assert_decodes("%4", false, "%4");
    assert_decodes("100%", true, "100%");
    assert_decodes("%zz%41", false, "%zzA");
    assert_decodes("%%41", false, "%A");
    assert_decodes("%4%41", false, "%4A");
    assert_decodes("%2541", false, "%41");
}

static void nothing_decodes_to_nothing(void **state)
{
    (void)state;
    char out[1];
    assert_int_equal(rv_percent_decode((rv_bytes){0}, true, out), 0);
    assert_int_equal(rv_percent_decode(RV_LIT(""), true, out), 0);
}

static void encoded_and_plain_are_compared_octet_by_octet(void **state)
{
    (void)state;
    static const struct {
        const char *encoded;
        const char *plain;
        bool equal;
    } cases[] = {
        {"abc", "abc", true},      {"a%62c", "abc", true}, {"%61%62%63", "abc", true},
        {"a%2fb", "a/b", true},    {"a%2Fb", "a/b", true}, {"%zz", "%zz", true},
        {"%", "%", true},          {"", "", true},         {"a+b", "a+b", true},
        {"abc", "ab", false},      {"ab", "abc", false},   {"a+b", "a b", false},
        {"a%62c", "a%62c", false}, {"abc", "abC", false},  {"a%252f", "a/", false},
        {"", "a", false},          {"a", "", false},       {"%61", "", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        rv_bytes copy = exact_copy(rv_str(cases[i].encoded));
        if (rv_percent_equal(copy, rv_str(cases[i].plain)) != cases[i].equal)
            fail_msg("%s against %s", cases[i].encoded, cases[i].plain);
        give_back(copy);
    }
    assert_true(rv_percent_equal((rv_bytes){0}, (rv_bytes){0}));
    assert_true(rv_percent_equal(RV_LIT("a%00b"), RV_LIT("a\0b")));
    assert_false(rv_percent_equal(RV_LIT("a%00b"), RV_LIT("a")));
}

static void an_escape_is_valid_with_its_two_digits(void **state)
{
    (void)state;
    static const char *const valid[] = {"", "a", "%41", "a%20b%C3%bc", "%25%25"};
    static const char *const invalid[] = {"%",    "a%",   "%4",     "%4g", "%g4",
                                          "%%41", "%41%", "a%41%4", "%-1"};
    for (size_t i = 0; i < COUNT(valid) + COUNT(invalid); i++) {
        bool is_valid = i < COUNT(valid);
        const char *text = is_valid ? valid[i] : invalid[i - COUNT(valid)];
        rv_bytes copy = exact_copy(rv_str(text));
        if (rv_percent_is_valid(copy) != is_valid)
            fail_msg("\"%s\" is %s", text, is_valid ? "refused" : "accepted");
        give_back(copy);
    }
    assert_true(rv_percent_is_valid((rv_bytes){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_or_an_ipv4_address_is_an_authority),
        cmocka_unit_test(a_port_is_empty_or_up_to_65535),
        cmocka_unit_test(an_authority_has_a_host),
        cmocka_unit_test(an_authority_has_nothing_but_host_and_port),
        cmocka_unit_test(every_octet_of_a_name_is_one_that_the_rfc_names),
        cmocka_unit_test(an_escape_in_a_name_has_two_digits),
        cmocka_unit_test(an_ipv6_address_in_brackets_is_a_host),
        cmocka_unit_test(a_misspelt_ipv6_address_is_refused),
        cmocka_unit_test(an_ip_literal_of_the_future_is_a_host),
        cmocka_unit_test(a_plain_path_stays_as_it_is),
        cmocka_unit_test(escapes_are_decoded_once_and_kept_raw),
        cmocka_unit_test(an_escaped_slash_splits_no_raw_segment),
        cmocka_unit_test(dot_segments_are_removed),
        cmocka_unit_test(an_escaped_dot_is_a_dot),
        cmocka_unit_test(double_slashes_are_kept),
        cmocka_unit_test(what_leads_above_the_root_is_refused),
        cmocka_unit_test(a_way_up_that_an_escaped_slash_hides_is_refused),
        cmocka_unit_test(a_bad_escape_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(an_empty_path_stays_empty),
        cmocka_unit_test(whatever_is_accepted_holds_the_promises),
        cmocka_unit_test(an_escape_decodes_to_its_octet),
        cmocka_unit_test(a_plus_is_a_space_only_when_asked_for),
        cmocka_unit_test(a_percent_without_two_digits_is_kept),
        cmocka_unit_test(nothing_decodes_to_nothing),
        cmocka_unit_test(an_escape_is_valid_with_its_two_digits),
        cmocka_unit_test(encoded_and_plain_are_compared_octet_by_octet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
