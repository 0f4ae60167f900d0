/*
 * Facts about written figures, and about those that follow from a result.
 */
#include "report/figures.h"

#include "made.h"

static void expect_us(uint64_t us, const char *expected)
{
    char text[RV_FIGURE_MAX];
    rv_write_us(us, text);
    assert_string_equal(text, expected);
}

static void times_have_three_digits_and_their_unit(void **state)
{
    (void)state;
    expect_us(0, "0 us");
    expect_us(999, "999 us");
    expect_us(1000, "1.00 ms");
    expect_us(9994, "9.99 ms");
    expect_us(9996, "10.0 ms");
    expect_us(99960, "100 ms");
    expect_us(312400, "312 ms");
    expect_us(999499, "999 ms");
    expect_us(999500, "1.00 s");
    expect_us(75300000, "75.3 s");
    expect_us(3600000000, "3600 s");
}

static void expect_octets(double octets, const char *expected)
{
    char text[RV_FIGURE_MAX];
    rv_write_octets(octets, text);
    assert_string_equal(text, expected);
}

static void octets_go_up_in_thousands(void **state)
{
    (void)state;
    expect_octets(0, "0 B");
    expect_octets(999, "999 B");
    expect_octets(1000, "1.00 kB");
    expect_octets(999900, "1.00 MB");
    expect_octets(13400000, "13.4 MB");
    expect_octets(5e9, "5.00 GB");
    expect_octets(1e22, "10000 EB");
}

static void expect_number(double number, const char *expected)
{
    char text[RV_FIGURE_MAX];
    rv_write_number(number, text);
    assert_string_equal(text, expected);
}

static void numbers_have_three_digits_or_all_before_the_point(void **state)
{
    (void)state;
    expect_number(0, "0");
    expect_number(0.01234, "0.0123");
    expect_number(0.5, "0.500");
    expect_number(3.14159, "3.14");
    expect_number(16.66, "16.7");
    expect_number(61240.4, "61240");
}

static void expect_share(double part, double whole, const char *expected)
{
    char text[RV_FIGURE_MAX];
    rv_write_share(part, whole, text);
    assert_string_equal(text, expected);
}

static void a_share_is_never_rounded_to_none_or_all(void **state)
{
    (void)state;
    expect_share(0, 100, "0.00 %");
    expect_share(1, 1000000, "under 0.01 %");
    expect_share(7412, 1000000, "0.74 %");
    expect_share(1, 2, "50 %");
    expect_share(999999, 1000000, "over 99.99 %");
    expect_share(995, 1000, "99.50 %");
    expect_share(5, 5, "100 %");
    expect_share(0, 0, "0.00 %");
}

static void an_upper_percentile_needs_a_hundred_values_above_it(void **state)
{
    (void)state;
    assert_false(rv_percentile_is_founded(99999, 99.9));
    assert_true(rv_percentile_is_founded(100000, 99.9));
    assert_false(rv_percentile_is_founded(999999, 99.99));
    assert_true(rv_percentile_is_founded(1000000, 99.99));
    assert_false(rv_percentile_is_founded(99, 99));
    assert_true(rv_percentile_is_founded(100, 99));
    assert_false(rv_percentile_is_founded(1, 50));
    assert_true(rv_percentile_is_founded(2, 50));
}

static void rates_and_shares_of_cpus_are_per_elapsed_time(void **state)
{
    (void)state;
    assert_float_equal(rv_answers_per_s(&made), 100000, 1e-6);
    assert_float_equal(rv_server_cpus(&made), 0.6, 1e-6);
    assert_float_equal(rv_client_busiest(&made), 0.5, 1e-6);
    assert_float_equal(rv_in_flight(&made), 60, 1e-6);
    made.open_model = true; /* from when a client took them up, not from when they were due */
    rv_hist_record_many(&made.total[2], 1000600, 100);
    made.total[2].sum -= 100 * 600;
    rv_hist_record_many(&made.lateness, 1000000, 100);
    assert_float_equal(rv_in_flight(&made), 60, 0.1);
    made.elapsed_us = 0;
    assert_float_equal(rv_answers_per_s(&made), 0, 0);
    assert_float_equal(rv_server_cpus(&made), -1, 0);
    assert_float_equal(rv_client_busiest(&made), -1, 0);
    assert_float_equal(rv_in_flight(&made), 0, 0);
}

static void what_was_not_measured_is_not_known(void **state)
{
    (void)state;
    made.evidence.server.pid_known = false;
    made.evidence.thread_count = 0;
    made.evidence.counters[RV_KERNEL_TIMEOUTS] = -1;
    made.evidence.counters[RV_KERNEL_LISTEN_DROPS] = 5;
    assert_float_equal(rv_server_cpus(&made), -1, 0);
    assert_float_equal(rv_client_busiest(&made), -1, 0);
    assert_int_equal(rv_counted(&made, RV_KERNEL_TIMEOUTS), 0);
    assert_int_equal(rv_counted(&made, RV_KERNEL_LISTEN_DROPS), 5);
    made.evidence.has_counters = false;
    assert_int_equal(rv_counted(&made, RV_KERNEL_LISTEN_DROPS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_three_digits_and_their_unit),
        cmocka_unit_test(octets_go_up_in_thousands),
        cmocka_unit_test(numbers_have_three_digits_or_all_before_the_point),
        cmocka_unit_test(a_share_is_never_rounded_to_none_or_all),
        cmocka_unit_test(an_upper_percentile_needs_a_hundred_values_above_it),
        made_test(rates_and_shares_of_cpus_are_per_elapsed_time),
        made_test(what_was_not_measured_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
