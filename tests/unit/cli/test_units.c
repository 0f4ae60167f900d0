/*
 * Numbers with units: what each unit is worth, that nothing is rounded, what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct whole_case {
    const char *text;
    uint64_t value;
};

static void check_whole(bool (*read)(const char *text, uint64_t *value),
                        const struct whole_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 42;
        if (!read(cases[i].text, &value) || value != cases[i].value)
            fail_msg("\"%s\" is %llu", cases[i].text, (unsigned long long)value);
    }
}

static void check_refused(bool (*read)(const char *text, uint64_t *value), const char *const *texts,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 42;
        if (read(texts[i], &value) || value != 42)
            fail_msg("\"%s\" was taken as %llu", texts[i], (unsigned long long)value);
    }
}

static void counts_go_in_thousands(void **state)
{
    (void)state;
    static const struct whole_case cases[] = {
        {"0", 0},         {"10", 10},
        {"007", 7},       {"10k", 10000},
        {"10K", 10000},   {"1.5k", 1500},
        {"0.1k", 100},    {".5M", 500000},
        {"2.000k", 2000}, {"1.123456789G", 1123456789},
        {"1.0", 1},       {"18446744073709551615", UINT64_MAX}};
    static const char *const none[] = {"",
                                       "k",
                                       ".",
                                       ".k",
                                       "-1",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1 k",
                                       "1kk",
                                       "1m",
                                       "1T",
                                       "1.5",
                                       "1.2345k",
                                       "1..5k",
                                       "1,5k",
                                       "0x10",
                                       "1e3",
                                       "ten",
                                       "18446744073709551616",
                                       "99999999999999999999999999999999999999999G"};
    check_whole(rv_units_count, cases, COUNT(cases));
    check_refused(rv_units_count, none, COUNT(none));
}

static void bytes_go_in_thousands_or_in_1024s(void **state)
{
    (void)state;
    static const struct whole_case cases[] = {{"0", 0},
                                              {"5B", 5},
                                              {"10k", 10000},
                                              {"10kB", 10000},
                                              {"10KB", 10000},
                                              {"1M", 1000000},
                                              {"1MB", 1000000},
                                              {"1G", 1000000000},
                                              {"1GB", 1000000000},
                                              {"1KiB", 1024},
                                              {"0.5KiB", 512},
                                              {"10MiB", 10485760},
                                              {"1.5GiB", 1610612736}};
    static const char *const none[] = {"", "1kib", "1Ki", "1kiB", "1b", "1.5", "-1k", "1TB"};
    check_whole(rv_units_bytes, cases, COUNT(cases));
    check_refused(rv_units_bytes, none, COUNT(none));
}

static void durations_are_seconds_unless_they_say_otherwise(void **state)
{
    (void)state;
    static const struct whole_case cases[] = {
        {"10", 10000000}, {"0.5", 500000},   {"250us", 250},     {"10ms", 10000}, {"1.5ms", 1500},
        {"5s", 5000000},  {"2m", 120000000}, {"1h", 3600000000}, {"0.000001", 1}, {"0", 0}};
    static const char *const none[] = {
        "",   "s",     "0.5us", "0.0000001",        "5 s", "5min", "5S",
        "1d", "1h30m", "-5s",   "5124095576030432h"};
    check_whole(rv_units_duration_us, cases, COUNT(cases));
    check_refused(rv_units_duration_us, none, COUNT(none));
}

static void rates_are_per_second_unless_they_say_otherwise(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"20", 20},   {"20k", 20000}, {"20k/s", 20000}, {"600/m", 10},    {"7200/h", 2},
                 {"0.5", 0.5}, {"1.5k/m", 25}, {"0", 0},         {"1/m", 1.0 / 60}};
    static const char *const none[] = {"",      "/s", "k",     "20/", "20/ms",
                                       "20k/k", "-1", "1/s/s", "nan", "inf"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double value = -1;
        if (!rv_units_rate(cases[i].text, &value) || value < cases[i].value * 0.999999999 ||
            value > cases[i].value * 1.000000001)
            fail_msg("\"%s\" is %f", cases[i].text, value);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        double value = -1;
        if (rv_units_rate(none[i], &value) || value > -1)
            fail_msg("\"%s\" was taken", none[i]);
    }
}

static bool append(const char *item, void *ctx)
{
    strcat(ctx, "<");
    strcat(ctx, item);
    strcat(ctx, ">");
    return strcmp(item, "bad") != 0;
}

static void a_list_is_walked_until_something_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *items;
        bool good;
    } cases[] = {{"10", "<10>", true},
                 {"10,20,30", "<10><20><30>", true},
                 {"", "", false},
                 {",10", "", false},
                 {"10,", "<10>", false},
                 {"10,,20", "<10>", false},
                 {"1,bad,2", "<1><bad>", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char items[100] = "";
        assert_int_equal(rv_units_list(cases[i].text, append, items), cases[i].good);
        assert_string_equal(items, cases[i].items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_go_in_thousands),
        cmocka_unit_test(bytes_go_in_thousands_or_in_1024s),
        cmocka_unit_test(durations_are_seconds_unless_they_say_otherwise),
        cmocka_unit_test(rates_are_per_second_unless_they_say_otherwise),
        cmocka_unit_test(a_list_is_walked_until_something_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
