/*
 * Dates out and in (RFC 9110 section 5.6.7), against the C library's calendar as an independent
 * witness, and by table where the library has no opinion.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "http/date.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define YEAR_9999_END INT64_C(253402300799)
#define NOV_6_1994 INT64_C(784111777) /* the example of the RFC */
#define UNTOUCHED INT64_C(-424242424242)

/* Seconds of a civil time in UTC; months from 1. */
static int64_t utc(int year, int month, int day, int hour, int minute, int second)
{
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second};
    return timegm(&tm);
}

static int64_t random_second(uint64_t *random)
{
    return (int64_t)random_below(random, (uint64_t)YEAR_9999_END + 1);
}

static void assert_formats_like_the_c_library(int64_t seconds)
{
    char ours[RV_DATE_LENGTH + 1] = {0};
    char theirs[64];
    struct tm tm;
    time_t time = (time_t)seconds;
    assert_non_null(gmtime_r(&time, &tm));
    assert_int_equal(strftime(theirs, sizeof theirs, "%a, %d %b %Y %H:%M:%S GMT", &tm),
                     RV_DATE_LENGTH);
    rv_date_format(ours, seconds);
    assert_string_equal(ours, theirs);
}

static void assert_reads_as(const char *text, int64_t now, int64_t expected)
{
    int64_t seconds = UNTOUCHED;
    if (!rv_date_parse(rv_str(text), now, &seconds))
        fail_msg("\"%s\" was refused", text);
    if (seconds != expected)
        fail_msg("\"%s\" is %" PRId64 ", not %" PRId64, text, seconds, expected);
}

static void assert_refused(const char *text, size_t length)
{
    int64_t seconds = UNTOUCHED;
    if (rv_date_parse(rv_slice(text, length), NOV_6_1994, &seconds))
        fail_msg("\"%.*s\" was read as %" PRId64, (int)length, text, seconds);
    assert_int_equal(seconds, UNTOUCHED);
}

static void the_example_of_the_rfc_is_written(void **state)
{
    (void)state;
    char out[RV_DATE_LENGTH + 1] = {0};
    rv_date_format(out, NOV_6_1994);
    assert_string_equal(out, "Sun, 06 Nov 1994 08:49:37 GMT");
}

static void exactly_29_octets_are_written(void **state)
{
    (void)state;
    char out[RV_DATE_LENGTH + 2];
    memset(out, '#', sizeof out);
    rv_date_format(out + 1, NOV_6_1994);
    assert_int_equal(out[0], '#');
    assert_int_equal(out[1], 'S');
    assert_int_equal(out[RV_DATE_LENGTH], 'T');
    assert_int_equal(out[RV_DATE_LENGTH + 1], '#');
}

static void every_day_of_eight_centuries_is_written_like_the_c_library_does(void **state)
{
    (void)state;
    int64_t end = utc(2770, 1, 1, 0, 0, 0);
    for (int64_t day = 0; day < end; day += 86400) {
        assert_formats_like_the_c_library(day);
        assert_formats_like_the_c_library(day + 86399);
    }
}

static void random_seconds_are_written_like_the_c_library_does(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 100000; i++)
        assert_formats_like_the_c_library(random_second(&random));
}

static void seconds_outside_1970_to_9999_are_clamped(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {-1, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {INT64_MIN, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {YEAR_9999_END, "Fri, 31 Dec 9999 23:59:59 GMT"},
        {YEAR_9999_END + 1, "Fri, 31 Dec 9999 23:59:59 GMT"},
        {INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[RV_DATE_LENGTH + 1] = {0};
        rv_date_format(out, cases[i].seconds);
        assert_string_equal(out, cases[i].text);
    }
}

static void the_three_forms_name_one_instant(void **state)
{
    (void)state;
    assert_reads_as("Sun, 06 Nov 1994 08:49:37 GMT", NOV_6_1994, NOV_6_1994);
    assert_reads_as("Sunday, 06-Nov-94 08:49:37 GMT", NOV_6_1994, NOV_6_1994);
    assert_reads_as("Sun Nov  6 08:49:37 1994", NOV_6_1994, NOV_6_1994);
}

static void what_is_written_reads_back_in_all_three_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    uint64_t random = 2;
    for (int i = 0; i < 100000; i++) {
        int64_t seconds = random_second(&random);
        char text[64] = {0};
        rv_date_format(text, seconds);
        assert_reads_as(text, 0, seconds);

        time_t time = (time_t)seconds;
        struct tm tm;
        assert_non_null(gmtime_r(&time, &tm));
        for (size_t form = 0; form < COUNT(forms); form++) {
            assert_true(strftime(text, sizeof text, forms[form], &tm) > 0);
            /* With the instant itself as the clock, two digits are enough. */
            assert_reads_as(text, seconds, seconds);
        }
    }
}

static void dates_before_1970_are_negative(void **state)
{
    (void)state;
    assert_reads_as("Wed, 31 Dec 1969 23:59:59 GMT", 0, -1);
    assert_reads_as("Mon, 01 Jan 1900 00:00:00 GMT", 0, utc(1900, 1, 1, 0, 0, 0));
    assert_reads_as("Sat, 01 Jan 0000 00:00:00 GMT", 0, utc(0, 1, 1, 0, 0, 0));
}

static void a_two_digit_year_is_at_most_fifty_years_ahead(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t now;
        int year;
    } cases[] = {
        {"Sunday, 06-Nov-94 08:49:37 GMT", utc(2026, 6, 1, 0, 0, 0), 1994},
        {"Sunday, 06-Nov-26 08:49:37 GMT", utc(2026, 6, 1, 0, 0, 0), 2026},
        {"Sunday, 06-Nov-75 08:49:37 GMT", utc(2026, 6, 1, 0, 0, 0), 2075},
        /* 50 years ahead to the second, and one second more. */
        {"Sunday, 06-Nov-76 08:49:37 GMT", utc(2026, 11, 6, 8, 49, 37), 2076},
        {"Sunday, 06-Nov-76 08:49:37 GMT", utc(2026, 11, 6, 8, 49, 36), 1976},
        {"Sunday, 06-Nov-77 08:49:37 GMT", utc(2026, 11, 6, 8, 49, 37), 1977},
        /* The next century is near. */
        {"Sunday, 06-Nov-05 08:49:37 GMT", utc(2099, 12, 31, 0, 0, 0), 2105},
        {"Sunday, 06-Nov-00 08:49:37 GMT", utc(1999, 12, 31, 0, 0, 0), 2000},
        {"Sunday, 06-Nov-70 08:49:37 GMT", 0, 1970},
        {"Sunday, 06-Nov-70 08:49:37 GMT", -1, 1970},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_reads_as(cases[i].text, cases[i].now, utc(cases[i].year, 11, 6, 8, 49, 37));
}

static void no_clock_is_too_odd_for_a_two_digit_year(void **state)
{
    (void)state;
    static const int64_t clocks[] = {INT64_MIN, INT64_MAX, YEAR_9999_END, -1};
    for (size_t i = 0; i < COUNT(clocks); i++) {
        int64_t seconds;
        assert_true(rv_date_parse(rv_str("Sunday, 06-Nov-94 08:49:37 GMT"), clocks[i], &seconds));
    }
}

static void leap_days_exist_in_leap_years_only(void **state)
{
    (void)state;
    assert_reads_as("Tue, 29 Feb 2000 00:00:00 GMT", 0, utc(2000, 2, 29, 0, 0, 0));
    assert_reads_as("Thu, 29 Feb 2024 00:00:00 GMT", 0, utc(2024, 2, 29, 0, 0, 0));
    static const char *const refused[] = {"Wed, 29 Feb 2023 00:00:00 GMT",
                                          "Mon, 29 Feb 2100 00:00:00 GMT",
                                          "Thu, 29 Feb 1900 00:00:00 GMT"};
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_refused(refused[i], strlen(refused[i]));
}

static void the_end_of_a_day_and_a_leap_second_are_times(void **state)
{
    (void)state;
    assert_reads_as("Thu, 01 Jan 1970 23:59:59 GMT", 0, 86399);
    assert_reads_as("Sat, 31 Dec 2016 23:59:60 GMT", 0, utc(2017, 1, 1, 0, 0, 0));
}

static void the_day_of_the_week_need_not_be_right(void **state)
{
    (void)state;
    assert_reads_as("Mon, 06 Nov 1994 08:49:37 GMT", 0, NOV_6_1994);
    assert_reads_as("Wed Nov  6 08:49:37 1994", 0, NOV_6_1994);
}

static void asctime_takes_a_day_of_two_digits(void **state)
{
    (void)state;
    assert_reads_as("Wed Nov 16 08:49:37 1994", 0, NOV_6_1994 + 10 * 86400);
    assert_reads_as("Sun Nov 06 08:49:37 1994", 0, NOV_6_1994);
}

static void what_is_no_date_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "garbage", /* CD07 */
        "784111777",
        "0",
        "-1",
        /* no such day, hour, minute, second */
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 32 Dec 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        /* case and spaces count (RFC 9110 section 5.6.7) */
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov 1994  08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov   6 08:49:37 1994",
        /* near the three forms */
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday Nov  6 08:49:37 1994",
        "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nob 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 EST",
        "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
        /* several dates are none (RFC 9110 section 13.1.3) */
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    };
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_refused(refused[i], strlen(refused[i]));
}

static void a_date_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    static const char *const whole[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    for (size_t i = 0; i < COUNT(whole); i++) {
        for (size_t length = 0; length < strlen(whole[i]); length++) {
            /* In a block of its own, so that a look behind the end is seen. */
            char *cut = malloc(length + 1);
            assert_non_null(cut);
            memcpy(cut + 1, whole[i], length);
            assert_refused(cut + 1, length);
            free(cut);
        }
    }
}

static void an_absent_or_nul_filled_date_is_refused(void **state)
{
    (void)state;
    int64_t seconds;
    assert_false(rv_date_parse((rv_bytes){0}, 0, &seconds));
    assert_refused("Sun, 06 Nov 1994 08:49:37\0GMT", RV_DATE_LENGTH);
    assert_refused("Sun, 06 Nov 1994 08:49:37 GMT\0", RV_DATE_LENGTH + 1);
}

/* ---- RFC 3339 ------------------------------------------------------------------------------------ */

static void a_date_of_rfc_3339_is_a_day_or_an_instant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {
        {"1970-01-01", 0},
        {"2000-02-29", 951782400},
        {"9999-12-31", 253402214400},
        {"1985-04-12T23:20:50.52Z", 482196050},
        {"1996-12-19T16:39:57-08:00", 851042397},
        {"1990-12-31T23:59:60Z", 662688000},
        {"1937-01-01T12:00:27.87+00:20", -1041337173},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01T01:00:00.000+0100", 0},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t seconds = 1;
        assert_true(rv_date_parse_3339(rv_str(good[i].text), &seconds));
        assert_int_equal(seconds, good[i].seconds);
    }
}

static void what_is_no_date_of_rfc_3339_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {"",
                                          "2026",
                                          "2026-12",
                                          "2026-12-1",
                                          "2026-12-01 ",
                                          " 2026-12-01",
                                          "2026-02-29",
                                          "2026-00-01",
                                          "2026-13-01",
                                          "2026-12-00",
                                          "2026-12-32",
                                          "26-12-01",
                                          "+2026-12-01",
                                          "2026/12/01",
                                          "2026-12-01T",
                                          "2026-12-01T10:15Z",
                                          "2026-12-01T10:15:30",
                                          "2026-12-01 10:15:30Z",
                                          "2026-12-01T24:00:00Z",
                                          "2026-12-01T10:60:00Z",
                                          "2026-12-01T10:15:61Z",
                                          "2026-12-01T10:15:30.Z",
                                          "2026-12-01T10:15:30.5",
                                          "2026-12-01T10:15:30+1",
                                          "2026-12-01T10:15:30+24:00",
                                          "2026-12-01T10:15:30+01:60",
                                          "2026-12-01T10:15:30+01:00x",
                                          "2026-12-01T10:15:30ZZ"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        size_t length = strlen(refused[i]);
        char *exact = malloc(length + 1); /* in a block of its own, so that a look behind is seen */
        int64_t seconds;
        assert_non_null(exact);
        memcpy(exact + 1, refused[i], length);
        assert_false(rv_date_parse_3339(rv_slice(exact + 1, length), &seconds));
        free(exact);
    }
    int64_t seconds;
    assert_false(rv_date_parse_3339((rv_bytes){0}, &seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_rfc_is_written),
        cmocka_unit_test(exactly_29_octets_are_written),
        cmocka_unit_test(every_day_of_eight_centuries_is_written_like_the_c_library_does),
        cmocka_unit_test(random_seconds_are_written_like_the_c_library_does),
        cmocka_unit_test(seconds_outside_1970_to_9999_are_clamped),
        cmocka_unit_test(the_three_forms_name_one_instant),
        cmocka_unit_test(what_is_written_reads_back_in_all_three_forms),
        cmocka_unit_test(dates_before_1970_are_negative),
        cmocka_unit_test(a_two_digit_year_is_at_most_fifty_years_ahead),
        cmocka_unit_test(no_clock_is_too_odd_for_a_two_digit_year),
        cmocka_unit_test(leap_days_exist_in_leap_years_only),
        cmocka_unit_test(the_end_of_a_day_and_a_leap_second_are_times),
        cmocka_unit_test(the_day_of_the_week_need_not_be_right),
        cmocka_unit_test(asctime_takes_a_day_of_two_digits),
        cmocka_unit_test(what_is_no_date_is_refused),
        cmocka_unit_test(a_date_cut_short_anywhere_is_refused),
        cmocka_unit_test(an_absent_or_nul_filled_date_is_refused),
        cmocka_unit_test(a_date_of_rfc_3339_is_a_day_or_an_instant),
        cmocka_unit_test(what_is_no_date_of_rfc_3339_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
