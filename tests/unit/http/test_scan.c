/*
 * The scanners of http/scan.h: what each class is, octet by octet, and that the scanner with
 * sixteen-octet steps and its scalar twin agree on every place and length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "http/scan.h"
#include "random.h"

enum {
    PLACES = 17,     /* one more than a step, so that every alignment occurs */
    LENGTH_MAX = 70, /* four steps and a bit */
};

/* A scanner with what it says about a path, so that all of them look alike. */
typedef size_t scanner(const char *at, size_t limit, bool *is_plain);

#define WITHOUT_PLAIN(name)                                                                        \
    static size_t name(const char *at, size_t limit, bool *is_plain)                               \
    {                                                                                              \
        *is_plain = true;                                                                          \
        return rv_scan_##name(at, limit);                                                          \
    }
WITHOUT_PLAIN(token)
WITHOUT_PLAIN(token_scalar)
WITHOUT_PLAIN(target)
WITHOUT_PLAIN(target_scalar)
WITHOUT_PLAIN(value)
WITHOUT_PLAIN(value_scalar)
WITHOUT_PLAIN(host)
WITHOUT_PLAIN(host_scalar)
WITHOUT_PLAIN(before_empty_line)
WITHOUT_PLAIN(before_empty_line_scalar)
#undef WITHOUT_PLAIN

static size_t path(const char *at, size_t limit, bool *is_plain)
{
    return rv_scan_path(at, limit, is_plain);
}

static size_t path_scalar(const char *at, size_t limit, bool *is_plain)
{
    return rv_scan_path_scalar(at, limit, is_plain);
}

static const struct twins {
    const char *name;
    scanner *fast;
    scanner *scalar;
    const char *usual; /* octets of the class, some with a meaning of their own */
} twins[] = {
    {"token", token, token_scalar, "abzAZ019-_.!~"},
    {"target", target, target_scalar, "/aZ09?%.~!"},
    {"path", path, path_scalar, "/aZ09.~!/."},
    {"value", value, value_scalar, "a Z\t09~\x80\xff,"},
    {"host", host, host_scalar, "azAZ09.-"},
    {"before_empty_line", before_empty_line, before_empty_line_scalar, "a: b\r\rcdefghi\n"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- classes --------------------------------------------------------------------------------- */

/* Asserts that exactly the octets in `members` are in the class, whatever stands beside them. */
static void assert_class(scanner *scan, const bool *members, char usual)
{
    for (unsigned octet = 0; octet < 256; octet++) {
        for (size_t place = 0; place < PLACES; place++) {
            char octets[PLACES + 1 + RV_SCAN_PADDING];
            bool is_plain;
            memset(octets, usual, sizeof(octets));
            octets[place] = (char)octet;
            size_t expected = members[octet] ? PLACES + 1 : place;
            if (scan(octets, PLACES + 1, &is_plain) != expected)
                fail_msg("octet 0x%02x at place %zu", octet, place);
        }
    }
}

static void assert_class_of_both(scanner *fast, scanner *scalar, const bool *members, char usual)
{
    assert_class(fast, members, usual);
    assert_class(scalar, members, usual);
}

static void add_range(bool *members, unsigned first, unsigned last)
{
    for (unsigned octet = first; octet <= last; octet++)
        members[octet] = true;
}

static void add_letters_and_digits(bool *members)
{
    add_range(members, '0', '9');
    add_range(members, 'A', 'Z');
    add_range(members, 'a', 'z');
}

static void a_token_has_letters_digits_and_fifteen_marks(void **state)
{
    (void)state;
    bool members[256] = {false};
    add_letters_and_digits(members);
    for (const char *mark = "!#$%&'*+-.^_`|~"; *mark != '\0'; mark++)
        members[(unsigned char)*mark] = true;
    assert_class_of_both(token, token_scalar, members, 'a');
    for (unsigned octet = 0; octet < 256; octet++)
        assert_int_equal(rv_is_token_char((char)octet), members[octet]);
}

static void a_target_has_visible_ascii_without_the_hash(void **state)
{
    (void)state;
    bool members[256] = {false};
    add_range(members, 0x21, 0x7e);
    members['#'] = false;
    assert_class_of_both(target, target_scalar, members, 'a');
}

static void a_path_ends_at_the_question_mark_too(void **state)
{
    (void)state;
    bool members[256] = {false};
    add_range(members, 0x21, 0x7e);
    members['#'] = false;
    members['?'] = false;
    assert_class_of_both(path, path_scalar, members, 'a');
}

static void a_value_has_everything_but_controls_other_than_tab(void **state)
{
    (void)state;
    bool members[256] = {false};
    add_range(members, 0x20, 0x7e);
    add_range(members, 0x80, 0xff);
    members['\t'] = true;
    assert_class_of_both(value, value_scalar, members, 'a');
}

static void a_host_has_letters_digits_hyphens_and_dots(void **state)
{
    (void)state;
    bool members[256] = {false};
    add_letters_and_digits(members);
    members['-'] = true;
    members['.'] = true;
    assert_class_of_both(host, host_scalar, members, 'a');
}

static void a_token_is_not_empty_and_nothing_but_token_octets(void **state)
{
    (void)state;
    assert_true(rv_is_token(RV_LIT("X-Long_Name.of~a+Field!")));
    assert_false(rv_is_token(RV_LIT("")));
    assert_false(rv_is_token(RV_LIT("a b")));
    assert_false(rv_is_token(RV_LIT("a:")));
    assert_false(rv_is_token(RV_LIT("\xe9")));
}

/* ---- the empty line -------------------------------------------------------------------------- */

static void assert_before_empty_line(rv_bytes text, size_t expected)
{
    char octets[64 + RV_SCAN_PADDING];
    assert_in_range(text.len, 0, 64);
    memset(octets, '\n', sizeof(octets)); /* what is behind would make an empty line */
    memcpy(octets, text.ptr, text.len);
    assert_int_equal(rv_scan_before_empty_line(octets, text.len), expected);
    assert_int_equal(rv_scan_before_empty_line_scalar(octets, text.len), expected);
}

static void an_empty_line_is_found_behind_the_end_of_another(void **state)
{
    (void)state;
    assert_before_empty_line(RV_LIT("a: b\r\n\r\n"), 5);
    assert_before_empty_line(RV_LIT("a: b\n\n"), 4);
    assert_before_empty_line(RV_LIT("a: b\n\r\nc\n\n"), 4);
    assert_before_empty_line(RV_LIT("0123456789: abc\r\n\r\n"), 16);
    assert_before_empty_line(RV_LIT("0123456789: 123456789\r\nb: c\r\n\n"), 28);
}

static void a_part_of_an_empty_line_is_none(void **state)
{
    (void)state;
    const rv_bytes parts[] = {
        RV_LIT(""),           RV_LIT("\n"),       RV_LIT("\r\n"),         RV_LIT("a: b\r\n"),
        RV_LIT("a: b\r\n\r"), RV_LIT("a: b\n\r"), RV_LIT("a\r\n\rb\r\n"), RV_LIT("\r\r\n\r\rb")};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_before_empty_line(parts[i], parts[i].len);
}

/* ---- plain paths ----------------------------------------------------------------------------- */

static void assert_plain(const char *text, size_t limit, bool expected)
{
    char octets[128 + RV_SCAN_PADDING] = {0};
    bool plain = !expected;
    memcpy(octets, text, strlen(text));
    (void)rv_scan_path(octets, limit, &plain);
    assert_int_equal(plain, expected);
    plain = !expected;
    (void)rv_scan_path_scalar(octets, limit, &plain);
    assert_int_equal(plain, expected);
}

static void a_path_with_an_escape_or_a_dot_segment_is_not_plain(void **state)
{
    (void)state;
    const char *odd[] = {"/%61",
                         "/.",
                         "/..",
                         "/a/../b",
                         "/.well-known",
                         "/a/%",
                         "/0123456789abcd/.x",
                         "/0123456789abc/.x",
                         "/0123456789abcdef0123456789abc/./y"};
    const char *plain[] = {"/", "/a.b", "/a./b", "/a//b", "/0123456789abcd/x.y", "", "."};

    for (size_t i = 0; i < COUNT(odd); i++)
        assert_plain(odd[i], strlen(odd[i]), false);
    for (size_t i = 0; i < COUNT(plain); i++)
        assert_plain(plain[i], strlen(plain[i]), true);
}

static void what_follows_the_path_does_not_make_it_odd(void **state)
{
    (void)state;
    assert_plain("/a?b=/../%20", 12, true);
    assert_plain("/a /.", 5, true);
    assert_plain("/a/.", 3, true);
    assert_plain("/abcdefghijklmn/.", 16, true);
}

/* ---- twins ----------------------------------------------------------------------------------- */

/* Mostly octets of the class, so that runs grow long; now and then any other. */
static void fill(char *octets, size_t length, const char *usual, uint64_t rarity, uint64_t *random)
{
    for (size_t i = 0; i < length; i++)
        octets[i] = random_below(random, rarity) == 0 ? (char)random_below(random, 256)
                                                      : usual[random_below(random, strlen(usual))];
}

static void assert_twins_agree(const struct twins *pair, const char *at, size_t limit)
{
    bool fast_plain;
    bool scalar_plain;
    size_t fast = pair->fast(at, limit, &fast_plain);
    size_t scalar = pair->scalar(at, limit, &scalar_plain);
    if (fast != scalar || fast_plain != scalar_plain)
        fail_msg("%s: %zu and %zu of %zu, plain %d and %d", pair->name, fast, scalar, limit,
                 fast_plain, scalar_plain);
}

/* The block ends RV_SCAN_PADDING behind the last octet, so that a look further is seen. */
static void twins_agree_on_random_octets_at_every_place_and_length(void **state)
{
    (void)state;
    const uint64_t rarities[] = {2, 8, 40, 1000};
    uint64_t random = 20240611;

    for (size_t i = 0; i < COUNT(twins); i++)
        for (size_t r = 0; r < COUNT(rarities); r++)
            for (size_t place = 0; place < PLACES; place++)
                for (size_t limit = 0; limit <= LENGTH_MAX; limit++) {
                    size_t size = place + limit + RV_SCAN_PADDING;
                    char *octets = malloc(size);
                    assert_non_null(octets);
                    fill(octets, size, twins[i].usual, rarities[r], &random);
                    assert_twins_agree(&twins[i], octets + place, limit);
                    free(octets);
                }
}

static void octets_behind_the_limit_never_decide(void **state)
{
    (void)state;
    const char behind[] = {'a', ':', '\r', ' ', '?', '.', '%', '\0', (char)0xff};

    for (size_t i = 0; i < COUNT(twins); i++)
        for (size_t limit = 0; limit <= LENGTH_MAX; limit++)
            for (size_t b = 0; b < COUNT(behind); b++) {
                char octets[LENGTH_MAX + RV_SCAN_PADDING];
                bool is_plain;
                memset(octets, behind[b], sizeof(octets));
                memset(octets, 'a', limit);
                assert_int_equal(twins[i].fast(octets, limit, &is_plain), limit);
                assert_true(is_plain);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_has_letters_digits_and_fifteen_marks),
        cmocka_unit_test(a_target_has_visible_ascii_without_the_hash),
        cmocka_unit_test(a_path_ends_at_the_question_mark_too),
        cmocka_unit_test(a_value_has_everything_but_controls_other_than_tab),
        cmocka_unit_test(a_host_has_letters_digits_hyphens_and_dots),
        cmocka_unit_test(a_token_is_not_empty_and_nothing_but_token_octets),
        cmocka_unit_test(an_empty_line_is_found_behind_the_end_of_another),
        cmocka_unit_test(a_part_of_an_empty_line_is_none),
        cmocka_unit_test(a_path_with_an_escape_or_a_dot_segment_is_not_plain),
        cmocka_unit_test(what_follows_the_path_does_not_make_it_odd),
        cmocka_unit_test(twins_agree_on_random_octets_at_every_place_and_length),
        cmocka_unit_test(octets_behind_the_limit_never_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
