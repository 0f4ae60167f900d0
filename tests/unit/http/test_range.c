/*
 * What a Range field means for a representation of a given size (RFC 9110 section 14).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>

#include "http/range.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED UINT64_C(0xfedcba9876543210)

struct range_case {
    const char *value;
    uint64_t size;
    uint64_t first;
    uint64_t length;
};

static void check(const struct range_case *cases, size_t count, enum rv_range_result expected)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t first = UNTOUCHED;
        uint64_t length = UNTOUCHED;
        enum rv_range_result result =
            rv_range_decide(rv_str(cases[i].value), cases[i].size, &first, &length);
        if (result != expected)
            fail_msg("\"%s\" of %" PRIu64 " gives result %d, not %d", cases[i].value, cases[i].size,
                     (int)result, (int)expected);
        if (expected == RV_RANGE_ONE && (first != cases[i].first || length != cases[i].length))
            fail_msg("\"%s\" of %" PRIu64 " is %" PRIu64 " + %" PRIu64, cases[i].value,
                     cases[i].size, first, length);
        if (expected != RV_RANGE_ONE) {
            assert_int_equal(first, UNTOUCHED);
            assert_int_equal(length, UNTOUCHED);
        }
    }
}

static void a_range_within_the_size_is_taken(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {"bytes=0-0", 100, 0, 1}, /* RG01 */
        {"bytes=0-9", 100, 0, 10},
        {"bytes=5-5", 100, 5, 1},
        {"bytes=0-99", 100, 0, 100},
        {"bytes=99-99", 100, 99, 1},
        {"bytes=000-0009", 100, 0, 10},
        {"bytes=18446744073709551613-18446744073709551613", UINT64_MAX, UINT64_MAX - 2, 1},
    };
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void an_open_end_reaches_the_end(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {"bytes=1-", 100, 1, 99}, /* RG03 */
        {"bytes=90-", 100, 90, 10},
        {"bytes=0-", 1, 0, 1},
        {"bytes=0-", UINT64_MAX, 0, UINT64_MAX},
    };
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void a_suffix_counts_from_the_end(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {"bytes=-1", 100, 99, 1}, /* RG02 */
        {"bytes=-5", 100, 95, 5},
        {"bytes=-100", 100, 0, 100},
    };
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void what_reaches_too_far_is_clipped(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {"bytes=0-99999999", 14, 0, 14}, /* RG04 */
        {"bytes=95-200", 100, 95, 5},
        {"bytes=95-100", 100, 95, 5},
        {"bytes=-500", 100, 0, 100},
        {"bytes=-2000", 1000, 0, 1000},
        {"bytes=0-18446744073709551615", 100, 0, 100},
        {"bytes=0-18446744073709551616", 100, 0, 100}, /* 2^64 is large, not 0 */
        {"bytes=1-99999999999999999999999999999999", 100, 1, 99},
        {"bytes=-18446744073709551617", 100, 0, 100},
    };
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void a_start_past_the_end_cannot_be_satisfied(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "bytes=99999999-", .size = 14}, /* RG05 */
        {.value = "bytes=100-", .size = 100},
        {.value = "bytes=100-100", .size = 100},
        {.value = "bytes=18446744073709551615-", .size = UINT64_MAX},
        {.value = "bytes=18446744073709551616-", .size = 100}, /* 2^64 is large, not 0 */
        {.value = "bytes=18446744073709551616-18446744073709551617", .size = UINT64_MAX},
    };
    check(cases, COUNT(cases), RV_RANGE_UNSATISFIABLE);
}

static void a_suffix_of_nothing_cannot_be_satisfied(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "bytes=-0", .size = 100}, /* RG06 */
        {.value = "bytes=-000", .size = 100},
    };
    check(cases, COUNT(cases), RV_RANGE_UNSATISFIABLE);
}

static void an_empty_representation_has_no_satisfiable_range(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "bytes=0-0", .size = 0}, {.value = "bytes=0-", .size = 0},
        {.value = "bytes=-1", .size = 0},  {.value = "bytes=-0", .size = 0},
        {.value = "bytes=5-9", .size = 0},
    };
    check(cases, COUNT(cases), RV_RANGE_UNSATISFIABLE);
}

static void a_field_with_bad_syntax_is_ignored(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "", .size = 100},
        {.value = "foo", .size = 100},
        {.value = "b", .size = 100},
        {.value = "byt", .size = 100},
        {.value = "bytes", .size = 100},
        {.value = "bytes=", .size = 100},
        {.value = "bytes=,", .size = 100},
        {.value = "bytes= , ,", .size = 100},
        {.value = "bytes=-", .size = 100},
        {.value = "bytes=--1", .size = 100},
        {.value = "bytes=abc", .size = 100},
        {.value = "bytes=a-b", .size = 100},
        {.value = "bytes=0", .size = 100},
        {.value = "bytes=0-b", .size = 100},
        {.value = "bytes=0-9x", .size = 100},
        {.value = "bytes=x0-9", .size = 100},
        {.value = "bytes=0-9-", .size = 100},
        {.value = "bytes=0 - 9", .size = 100},
        {.value = "bytes=0-+9", .size = 100},
        {.value = "bytes=+0-9", .size = 100},
        {.value = "bytes=0x0-0x9", .size = 100},
        {.value = "bytes=0-9;q=1", .size = 100},
        {.value = "bytes:0-9", .size = 100},
        {.value = "bytes =0-9", .size = 100},
        {.value = "bytes0-9", .size = 100},
    };
    check(cases, COUNT(cases), RV_RANGE_NONE);
}

static void an_end_before_the_start_is_ignored(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "bytes=5-2", .size = 100}, /* RG07 */
        {.value = "bytes=50-40", .size = 100},
        {.value = "bytes=500-400", .size = 100}, /* also where it starts past the end */
        {.value = "bytes=18446744073709551616-0", .size = 100},
    };
    check(cases, COUNT(cases), RV_RANGE_NONE);
}

static void an_unknown_unit_is_ignored(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "items=0-1", .size = 100}, /* RG08 */
        {.value = "xbytes=0-1", .size = 100}, {.value = "bytesx=0-1", .size = 100},
        {.value = "none=0-1", .size = 100},   {.value = "=0-1", .size = 100},
    };
    check(cases, COUNT(cases), RV_RANGE_NONE);
}

static void the_unit_is_known_in_any_case(void **state)
{
    (void)state;
    static const struct range_case cases[] = {{"Bytes=0-9", 100, 0, 10}, {"BYTES=0-9", 100, 0, 10}};
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void several_ranges_are_ignored(void **state)
{
    (void)state;
    static const struct range_case cases[] = {
        {.value = "bytes=0-0,1-1", .size = 100}, /* RG10 */
        {.value = "bytes=0-0, -1", .size = 100},
        {.value = "bytes=0-,0-,0-,0-,0-", .size = 100}, /* RG11 */
        {.value = "bytes=0-0,x", .size = 100},
    };
    check(cases, COUNT(cases), RV_RANGE_NONE);
}

static void empty_members_of_the_list_do_not_count(void **state)
{
    (void)state;
    /* RFC 9110 section 5.6.1.2: a recipient reads past them. */
    static const struct range_case cases[] = {
        {"bytes=,0-9", 100, 0, 10}, {"bytes=0-9,", 100, 0, 10}, {"bytes= , 0-9 ,,", 100, 0, 10}};
    check(cases, COUNT(cases), RV_RANGE_ONE);
}

static void an_absent_field_asks_for_no_range(void **state)
{
    (void)state;
    uint64_t first;
    uint64_t length;
    assert_int_equal(rv_range_decide((rv_bytes){0}, 100, &first, &length), RV_RANGE_NONE);
}

/* Every pair of positions against a representation of up to 6 octets, by the words of the RFC. */
static void small_ranges_agree_with_the_definition(void **state)
{
    (void)state;
    for (uint64_t size = 0; size <= 6; size++) {
        for (uint64_t from = 0; from <= 8; from++) {
            for (uint64_t to = 0; to <= 8; to++) {
                char value[64];
                uint64_t first = UNTOUCHED;
                uint64_t length = UNTOUCHED;
                uint64_t selected = 0;
                for (uint64_t octet = from; octet <= to && octet < size; octet++)
                    selected++;
                enum rv_range_result expected = to < from       ? RV_RANGE_NONE
                                                : selected == 0 ? RV_RANGE_UNSATISFIABLE
                                                                : RV_RANGE_ONE;
                snprintf(value, sizeof value, "bytes=%" PRIu64 "-%" PRIu64, from, to);
                assert_int_equal(rv_range_decide(rv_str(value), size, &first, &length), expected);
                if (expected == RV_RANGE_ONE) {
                    assert_int_equal(first, from);
                    assert_int_equal(length, selected);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_within_the_size_is_taken),
        cmocka_unit_test(an_open_end_reaches_the_end),
        cmocka_unit_test(a_suffix_counts_from_the_end),
        cmocka_unit_test(what_reaches_too_far_is_clipped),
        cmocka_unit_test(a_start_past_the_end_cannot_be_satisfied),
        cmocka_unit_test(a_suffix_of_nothing_cannot_be_satisfied),
        cmocka_unit_test(an_empty_representation_has_no_satisfiable_range),
        cmocka_unit_test(a_field_with_bad_syntax_is_ignored),
        cmocka_unit_test(an_end_before_the_start_is_ignored),
        cmocka_unit_test(an_unknown_unit_is_ignored),
        cmocka_unit_test(the_unit_is_known_in_any_case),
        cmocka_unit_test(several_ranges_are_ignored),
        cmocka_unit_test(empty_members_of_the_list_do_not_count),
        cmocka_unit_test(an_absent_field_asks_for_no_range),
        cmocka_unit_test(small_ranges_agree_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
