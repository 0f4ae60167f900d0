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
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct range_case {
    const char *value;
    uint64_t size;
    uint64_t first;
    uint64_t length;
};

/* As a server that sends one range at most. */
static enum rv_range_result decide_one(const char *value, uint64_t size, struct rv_range *range)
{
    size_t count;
    return rv_range_decide(rv_str(value), size, range, 1, &count);
}

static void check(const struct range_case *cases, size_t count, enum rv_range_result expected)
{
    for (size_t i = 0; i < count; i++) {
        struct rv_range range;
        enum rv_range_result result = decide_one(cases[i].value, cases[i].size, &range);
        if (result != expected)
            fail_msg("\"%s\" of %" PRIu64 " gives result %d, not %d", cases[i].value, cases[i].size,
                     (int)result, (int)expected);
        if (expected == RV_RANGE_ONE &&
            (range.first != cases[i].first || range.length != cases[i].length))
            fail_msg("\"%s\" of %" PRIu64 " is %" PRIu64 " + %" PRIu64, cases[i].value,
                     cases[i].size, range.first, range.length);
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

static void several_ranges_are_ignored_by_who_sends_one(void **state)
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

/* Four ranges at most; what comes out as "first+length" with blanks between, or what it is instead. */
static void assert_several(const char *value, uint64_t size, const char *expected)
{
    struct rv_range ranges[4];
    char seen[256] = "none";
    size_t count = 0, length = 0;
    switch (rv_range_decide(rv_str(value), size, ranges, 4, &count)) {
    case RV_RANGE_NONE:
        break;
    case RV_RANGE_UNSATISFIABLE:
        strcpy(seen, "unsatisfiable");
        break;
    case RV_RANGE_ONE:
    case RV_RANGE_SEVERAL:
        for (size_t i = 0; i < count; i++)
            length +=
                (size_t)snprintf(seen + length, sizeof seen - length, "%s%" PRIu64 "+%" PRIu64,
                                 i > 0 ? " " : "", ranges[i].first, ranges[i].length);
    }
    if (strcmp(seen, expected) != 0)
        fail_msg("\"%s\" of %" PRIu64 " gives %s, not %s", value, size, seen, expected);
}

static void several_ranges_are_taken_in_the_order_asked_for(void **state)
{
    (void)state;
    assert_several("bytes=0-0,1-1", 100, "0+1 1+1"); /* RG10 */
    assert_several("bytes=50-59, 0-9 ,-5", 100, "50+10 0+10 95+5");
    assert_several("bytes=0-0", 100, "0+1");
    assert_several("bytes=0-0,2-2,4-4,6-6", 100, "0+1 2+1 4+1 6+1");
}

static void a_range_that_cannot_be_satisfied_is_left_out_of_several(void **state)
{
    (void)state;
    assert_several("bytes=0-9,100-,20-29", 100, "0+10 20+10");
    assert_several("bytes=100-,0-9", 100, "0+10");
    assert_several("bytes=100-,200-,-0", 100, "unsatisfiable");
}

static void too_many_ranges_are_none(void **state)
{
    (void)state;
    assert_several("bytes=0-0,2-2,4-4,6-6,8-8", 100, "none");
    assert_several("bytes=0-,0-,0-,0-,0-", 100, "none"); /* RG11: also where they would be one */
    assert_several("bytes=0-0,200-,200-,200-,200-", 100, "none");
}

static void one_bad_range_spoils_the_others(void **state)
{
    (void)state;
    assert_several("bytes=0-9,x", 100, "none");
    assert_several("bytes=0-9,9-8", 100, "none");
    assert_several("bytes=0-9 20-29", 100, "none");
    assert_several("bytes=0-9,\"20-29\"", 100, "none");
}

static void ranges_that_overlap_become_one(void **state)
{
    (void)state;
    assert_several("bytes=0-9,5-14", 100, "0+15");
    assert_several("bytes=0-,0-,-100", 100, "0+100");
    assert_several("bytes=20-29,0-9,25-34", 100, "20+15 0+10");
    assert_several("bytes=0-9,20-29,40-49,5-45", 100, "0+50"); /* the last connects them all */
    assert_several("bytes=80-89,20-29,0-9,5-25", 100, "80+10 0+30");
    assert_several("bytes=0-9,10-19", 100, "0+10 10+10"); /* no octet in common */
    assert_several("bytes=0-18446744073709551614,1-", UINT64_MAX, "0+18446744073709551615");
}

#define SPECS_MAX 6
#define SIZE_MAX_TRIED 24

/* One range in one of its three spellings, far beyond the end at times; what it asks for is marked. Returns
   how much was written. */
static size_t write_spec(uint64_t *random, uint64_t size, char *out, size_t room, bool *wanted)
{
    static const char beyond[] = "18446744073709551616"; /* 2^64 */
    uint64_t from = random_below(random, SIZE_MAX_TRIED + 2), to = from + random_below(random, 10);
    bool is_far = random_below(random, 8) == 0;
    char last[24];
    snprintf(last, sizeof last, "%" PRIu64, to);
    switch (random_below(random, 3)) {
    case 0:
        for (uint64_t octet = 0; octet < size; octet++)
            wanted[octet] = wanted[octet] || is_far || octet + from >= size;
        snprintf(last, sizeof last, "%" PRIu64, from);
        return (size_t)snprintf(out, room, "-%s,", is_far ? beyond : last);
    case 1:
        for (uint64_t octet = from; octet < size; octet++)
            wanted[octet] = true;
        return (size_t)snprintf(out, room, "%" PRIu64 "-,", from);
    default:
        for (uint64_t octet = from; octet < size; octet++)
            wanted[octet] = wanted[octet] || is_far || octet <= to;
        return (size_t)snprintf(out, room, "%" PRIu64 "-%s,", from, is_far ? beyond : last);
    }
}

/* Octet by octet: what is asked for is sent, once, and nothing else; and where more ranges are asked for
   than are taken, none is. */
static void any_ranges_give_each_octet_asked_for_once(void **state)
{
    (void)state;
    uint64_t random = 13;
    for (int round = 0; round < 40000; round++) {
        char value[256] = "bytes=";
        bool wanted[SIZE_MAX_TRIED] = {false};
        uint64_t size = random_below(&random, SIZE_MAX_TRIED);
        size_t length = strlen(value), specs = 1 + random_below(&random, SPECS_MAX), count = 0;
        size_t most = 1 + random_below(&random, SPECS_MAX);
        for (size_t i = 0; i < specs; i++)
            length += write_spec(&random, size, value + length, sizeof value - length, wanted);
        struct rv_range ranges[SPECS_MAX];
        enum rv_range_result result = rv_range_decide(rv_str(value), size, ranges, most, &count);
        if ((result == RV_RANGE_NONE) != (specs > most))
            fail_msg("\"%s\" of %" PRIu64 ", %zu taken: %d", value, size, most, (int)result);
        if (result == RV_RANGE_NONE)
            continue;
        for (size_t i = 0; i < count; i++) {
            assert_true(ranges[i].length > 0 && ranges[i].first + ranges[i].length <= size);
            for (uint64_t at = 0; at < ranges[i].length; at++) {
                assert_true(wanted[ranges[i].first + at]);
                wanted[ranges[i].first + at] = false;
            }
        }
        for (uint64_t octet = 0; octet < size; octet++)
            assert_false(wanted[octet]);
        assert_int_equal(result, count == 0   ? RV_RANGE_UNSATISFIABLE
                                 : count == 1 ? RV_RANGE_ONE
                                              : RV_RANGE_SEVERAL);
    }
}

static void a_content_range_names_first_last_and_size(void **state)
{
    (void)state;
    char out[RV_CONTENT_RANGE_MAX + 1];
    const struct rv_range range = {5, 10}, last = {UINT64_MAX - 1, 1};
    out[rv_content_range_write(&range, 100, out)] = '\0';
    assert_string_equal(out, "bytes 5-14/100");
    out[rv_content_range_write(NULL, 100, out)] = '\0';
    assert_string_equal(out, "bytes */100");
    size_t length = rv_content_range_write(&last, UINT64_MAX, out);
    assert_int_equal(length, RV_CONTENT_RANGE_MAX);
    out[length] = '\0';
    assert_string_equal(out,
                        "bytes 18446744073709551614-18446744073709551614/18446744073709551615");
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
    struct rv_range range;
    size_t count;
    assert_int_equal(rv_range_decide((rv_bytes){0}, 100, &range, 1, &count), RV_RANGE_NONE);
}

/* Every pair of positions against a representation of up to 6 octets, by the words of the RFC. */
static void small_ranges_agree_with_the_definition(void **state)
{
    (void)state;
    for (uint64_t size = 0; size <= 6; size++) {
        for (uint64_t from = 0; from <= 8; from++) {
            for (uint64_t to = 0; to <= 8; to++) {
                char value[64];
                struct rv_range range;
                uint64_t selected = 0;
                for (uint64_t octet = from; octet <= to && octet < size; octet++)
                    selected++;
                enum rv_range_result expected = to < from       ? RV_RANGE_NONE
                                                : selected == 0 ? RV_RANGE_UNSATISFIABLE
                                                                : RV_RANGE_ONE;
                snprintf(value, sizeof value, "bytes=%" PRIu64 "-%" PRIu64, from, to);
                assert_int_equal(decide_one(value, size, &range), expected);
                if (expected == RV_RANGE_ONE) {
                    assert_int_equal(range.first, from);
                    assert_int_equal(range.length, selected);
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
        cmocka_unit_test(several_ranges_are_ignored_by_who_sends_one),
        cmocka_unit_test(several_ranges_are_taken_in_the_order_asked_for),
        cmocka_unit_test(a_range_that_cannot_be_satisfied_is_left_out_of_several),
        cmocka_unit_test(too_many_ranges_are_none),
        cmocka_unit_test(one_bad_range_spoils_the_others),
        cmocka_unit_test(ranges_that_overlap_become_one),
        cmocka_unit_test(any_ranges_give_each_octet_asked_for_once),
        cmocka_unit_test(a_content_range_names_first_last_and_size),
        cmocka_unit_test(empty_members_of_the_list_do_not_count),
        cmocka_unit_test(an_absent_field_asks_for_no_range),
        cmocka_unit_test(small_ranges_agree_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
