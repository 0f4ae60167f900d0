/*
 * Facts about histograms: what was recorded is found again, within the error that the digits allow.
 */
#include "base/hist.h"
#include "random.h"
#include "support/hists.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VALUES 20000

static int ascending(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static struct rv_hist made_of(const uint64_t *values, size_t count, unsigned digits)
{
    struct rv_hist hist = made_hist(digits, RV_HIST_HOUR_US);
    for (size_t i = 0; i < count; i++)
        rv_hist_record(&hist, values[i]);
    return hist;
}

/* ---- values as runs have them ------------------------------------------------------------------ */

static uint64_t uniform_value(uint64_t *seed)
{
    return random_below(seed, 50000);
}

static uint64_t value_of_any_size(uint64_t *seed)
{
    uint64_t value = random_of_any_size(seed, 32);
    return value > RV_HIST_HOUR_US ? RV_HIST_HOUR_US : value;
}

/* Most of it fast, one in a hundred a second later: a lost SYN. */
static uint64_t two_peaked_value(uint64_t *seed)
{
    uint64_t value = 180 + random_below(seed, 40);
    return random_below(seed, 100) == 0 ? value + 1000000 : value;
}

static uint64_t exponential_value(uint64_t *seed)
{
    double u = ((double)random_below(seed, UINT64_C(1) << 40) + 1) / (double)(UINT64_C(1) << 40);
    return (uint64_t)(-log(u) * 3000);
}

static uint64_t constant_value(uint64_t *seed)
{
    (void)seed;
    return 123457;
}

static uint64_t (*const distributions[])(uint64_t *seed) = {
    uniform_value, value_of_any_size, two_peaked_value, exponential_value, constant_value,
};

#define DISTRIBUTIONS (sizeof distributions / sizeof *distributions)

static void fill(uint64_t *values, size_t count, size_t distribution, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = distributions[distribution](&seed);
}

/* ---- making one ------------------------------------------------------------------------------------ */

static void digits_and_highest_outside_their_bounds_are_refused(void **state)
{
    (void)state;
    struct rv_hist hist;
    assert_int_equal(rv_hist_init(&hist, 0, 1000), RV_EINVAL);
    assert_int_equal(rv_hist_init(&hist, RV_HIST_DIGITS_MAX + 1, 1000), RV_EINVAL);
    assert_int_equal(rv_hist_init(&hist, 3, 0), RV_EINVAL);
    assert_int_equal(rv_hist_init(&hist, 3, 1), RV_EINVAL);
    assert_int_equal(rv_hist_init(&hist, 3, (uint64_t)INT64_MAX + 1), RV_EINVAL);
}

/* The numbers are HdrHistogram's own: (buckets + 1) * half the places of the first bucket. */
static void it_is_as_long_as_hdr_histograms_is(void **state)
{
    (void)state;
    static const struct {
        unsigned digits;
        uint64_t highest;
        uint32_t length;
    } known[] = {
        {3, RV_HIST_HOUR_US, 23552},
        {3, 2, 2048},
        {3, 2047, 2048},
        {3, 2048, 3072},
        {1, 31, 32},
        {2, 3600, 6 * 128},
        {3, INT64_MAX, 54 * 1024},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rv_hist hist = made_hist(known[i].digits, known[i].highest);
        assert_int_equal(hist.counts_length, known[i].length);
        assert_int_equal(rv_hist_places(known[i].digits, known[i].highest), known[i].length);
        rv_hist_free(&hist);
    }
}

static void an_empty_one_answers_with_zero(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    for (int percent = 0; percent <= 100; percent += 50)
        assert_int_equal(rv_hist_percentile(&hist, percent), 0);
    assert_int_equal(rv_hist_count_between(&hist, 0, UINT64_MAX), 0);
    assert_true(rv_hist_mean(&hist) == 0 && rv_hist_deviation(&hist) == 0);
    assert_int_equal(hist.min, UINT64_MAX);
    assert_int_equal(hist.max, 0);
    rv_hist_free(&hist);
}

/* ---- places -------------------------------------------------------------------------------------------- */

static void places_lie_without_gap_and_are_as_narrow_as_the_digits_say(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= RV_HIST_DIGITS_MAX; digits++) {
        power *= 10;
        struct rv_hist hist = made_hist(digits, RV_HIST_HOUR_US);
        uint64_t expected = 0;
        for (uint32_t i = 0; i < hist.counts_length; i++) {
            uint64_t low = rv_hist_lowest_at(&hist, i), high = rv_hist_highest_at(&hist, i);
            assert_int_equal(low, expected);
            assert_true(high >= low);
            assert_true((high - low) * power <= low);
            if (high < 2 * power)
                assert_int_equal(high, low);
            if (high <= hist.highest) {
                assert_int_equal(rv_hist_index(&hist, low), i);
                assert_int_equal(rv_hist_index(&hist, high), i);
            }
            expected = high + 1;
        }
        assert_true(expected > hist.highest);
        rv_hist_free(&hist);
    }
}

static void places_reach_up_to_the_largest_highest(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(2, INT64_MAX);
    uint32_t last = rv_hist_index(&hist, INT64_MAX);
    assert_int_equal(last, hist.counts_length - 1);
    assert_int_equal(rv_hist_highest_at(&hist, last), INT64_MAX);
    rv_hist_record(&hist, INT64_MAX);
    assert_int_equal(rv_hist_percentile(&hist, 50), INT64_MAX);
    rv_hist_free(&hist);
}

/* ---- recording --------------------------------------------------------------------------------------------- */

static void the_edges_are_recorded_as_they_are(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 0);
    rv_hist_record(&hist, 1);
    rv_hist_record(&hist, RV_HIST_HOUR_US);
    assert_int_equal(hist.clamped, 0);
    assert_int_equal(hist.min, 0);
    assert_int_equal(hist.max, RV_HIST_HOUR_US);
    assert_int_equal(hist.sum, (uint64_t)RV_HIST_HOUR_US + 1);
    assert_int_equal(rv_hist_count_between(&hist, 0, 0), 1);
    assert_int_equal(rv_hist_count_between(&hist, 1, 1), 1);
    assert_int_equal(rv_hist_count_between(&hist, 2, UINT64_MAX), 1);
    assert_int_equal(rv_hist_percentile(&hist, 33), 0);
    assert_int_equal(rv_hist_percentile(&hist, 66), 1);
    assert_int_equal(rv_hist_percentile(&hist, 67), RV_HIST_HOUR_US);
    rv_hist_free(&hist);
}

static void what_is_above_the_highest_is_recorded_as_it_and_counted(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record(&hist, (uint64_t)RV_HIST_HOUR_US + 1);
    rv_hist_record(&hist, UINT64_MAX);
    rv_hist_record_many(&hist, UINT64_MAX, 3);
    assert_int_equal(hist.total, 5);
    assert_int_equal(hist.clamped, 5);
    assert_int_equal(hist.min, RV_HIST_HOUR_US);
    assert_int_equal(hist.max, RV_HIST_HOUR_US);
    assert_int_equal(hist.sum, 5 * (uint64_t)RV_HIST_HOUR_US);
    assert_int_equal(rv_hist_percentile(&hist, 50), RV_HIST_HOUR_US);
    rv_hist_free(&hist);
}

static void many_at_once_are_many_one_by_one(void **state)
{
    (void)state;
    struct rv_hist once = made_hist(3, RV_HIST_HOUR_US), singly = made_hist(3, RV_HIST_HOUR_US);
    static const uint64_t values[] = {0, 7, 2048, 99999, RV_HIST_HOUR_US, UINT64_MAX};
    for (uint64_t i = 0; i < sizeof values / sizeof *values; i++) {
        rv_hist_record_many(&once, values[i], 10 * i);
        for (uint64_t n = 0; n < 10 * i; n++)
            rv_hist_record(&singly, values[i]);
    }
    assert_same_hist(&once, &singly);
    assert_int_equal(once.min, 7); /* 0 was recorded no times */
    rv_hist_free(&once);
    rv_hist_free(&singly);
}

static void adding_up_is_recording_in_one(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    for (size_t distribution = 0; distribution < DISTRIBUTIONS; distribution++) {
        fill(values, VALUES, distribution, 11 + distribution);
        values[5] = UINT64_MAX; /* one that is clamped */
        struct rv_hist whole = made_of(values, VALUES, 3), sum = made_hist(3, RV_HIST_HOUR_US);
        for (size_t i = 0; i < 4; i++) {
            struct rv_hist part = made_of(values + i * VALUES / 4, VALUES / 4, 3);
            rv_hist_add(&sum, &part);
            rv_hist_free(&part);
        }
        struct rv_hist empty = made_hist(3, RV_HIST_HOUR_US);
        rv_hist_add(&sum, &empty);
        assert_same_hist(&sum, &whole);
        rv_hist_add(&empty, &whole);
        assert_same_hist(&empty, &whole);
        rv_hist_free(&empty);
        rv_hist_free(&whole);
        rv_hist_free(&sum);
    }
}

static void a_reset_one_is_as_new(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    fill(values, VALUES, 1, 3);
    values[0] = UINT64_MAX;
    struct rv_hist used = made_of(values, VALUES, 3), fresh = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_reset(&used);
    assert_same_hist(&used, &fresh);
    rv_hist_reset(&used);
    assert_same_hist(&used, &fresh);
    rv_hist_free(&used);
    rv_hist_free(&fresh);

    used = made_hist(3, 2047); /* whose last place is that of the highest value */
    rv_hist_record(&used, 0);
    rv_hist_record(&used, 2047);
    rv_hist_reset(&used);
    assert_int_equal(used.counts[0] + used.counts[used.counts_length - 1], 0);
    rv_hist_free(&used);
}

/* A week of a million a second, a second each; and all that 64 bits count of an hour each. */
static void a_long_run_overflows_nothing(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    uint64_t week = UINT64_C(604800) * 1000000;
    rv_hist_record_many(&hist, 1000000, week);
    rv_hist_record_many(&hist, 2000000, week);
    assert_int_equal(hist.total, 2 * week);
    assert_int_equal(hist.sum, week * 3000000);
    assert_true(rv_hist_mean(&hist) == 1500000);
    assert_true(fabs(rv_hist_deviation(&hist) - 500000) < 1e-3);
    assert_int_equal(rv_hist_count_between(&hist, 0, 1500000), week);

    rv_hist_reset(&hist);
    uint64_t hours = UINT64_MAX / RV_HIST_HOUR_US;
    rv_hist_record_many(&hist, RV_HIST_HOUR_US, hours);
    assert_true(rv_hist_mean(&hist) == RV_HIST_HOUR_US);
    assert_true(rv_hist_deviation(&hist) == 0);
    assert_int_equal(rv_hist_percentile(&hist, 99.99), RV_HIST_HOUR_US);
    rv_hist_free(&hist);
}

/* ---- percentiles ------------------------------------------------------------------------------------------- */

static void assert_near(uint64_t value, uint64_t exact, uint64_t power)
{
    if (value < exact || (value - exact) * power > exact)
        fail_msg("%llu stands for %llu", (unsigned long long)value, (unsigned long long)exact);
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    static const double percents[] = {0.01, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999};
    for (size_t distribution = 0; distribution < DISTRIBUTIONS; distribution++) {
        fill(values, VALUES, distribution, 77 + distribution);
        uint64_t power = 1;
        for (unsigned digits = 1; digits <= RV_HIST_DIGITS_MAX; digits++) {
            power *= 10;
            struct rv_hist hist = made_of(values, VALUES, digits);
            qsort(values, VALUES, sizeof *values, ascending);
            for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
                long double rank = (long double)(uint64_t)(percents[i] * 1000 + 0.5) * VALUES;
                uint64_t exact = values[(size_t)ceill(rank / 100000) - 1];
                assert_near(rv_hist_percentile(&hist, percents[i]), exact, power);
            }
            assert_int_equal(rv_hist_percentile(&hist, 0), values[0]);
            assert_int_equal(rv_hist_percentile(&hist, 100), values[VALUES - 1]);
            rv_hist_free(&hist);
        }
    }
}

/* 100 * k / n percent are k values, whatever a double makes of it. */
static void each_rank_of_a_small_count_is_found(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 300; count++) {
        struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
        for (unsigned i = 1; i <= count; i++)
            rv_hist_record(&hist, 3 * i);
        for (unsigned rank = 1; rank <= count; rank++) {
            double percent = 100.0 * rank / count;
            assert_int_equal(rv_hist_percentile(&hist, percent), 3 * rank);
            if (rank < count)
                assert_int_equal(rv_hist_percentile(&hist, percent + 1e-9), 3 * rank + 3);
            assert_int_equal(rv_hist_percentile(&hist, percent - 1e-9), 3 * rank);
        }
        rv_hist_free(&hist);
    }
}

static void a_percentage_without_exact_double_takes_no_rank_more(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record_many(&hist, 1, 9990);
    rv_hist_record_many(&hist, 2, 10);
    assert_int_equal(rv_hist_percentile(&hist, 99.9), 1);
    assert_int_equal(rv_hist_percentile(&hist, 99.91), 2);
    rv_hist_free(&hist);
}

static void a_percentile_is_never_above_the_largest_value(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(1, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 1000001);
    for (double percent = 0; percent <= 100; percent += 12.5)
        assert_int_equal(rv_hist_percentile(&hist, percent), 1000001);
    rv_hist_free(&hist);
}

static void a_percentage_out_of_range_is_taken_as_the_nearest(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 5);
    rv_hist_record(&hist, 9);
    assert_int_equal(rv_hist_percentile(&hist, -1), 5);
    assert_int_equal(rv_hist_percentile(&hist, (double)NAN), 5);
    assert_int_equal(rv_hist_percentile(&hist, 1e300), 9);
    rv_hist_free(&hist);
}

/* ---- counts, mean, deviation ----------------------------------------------------------------------------- */

static uint64_t counted(const uint64_t *values, uint64_t low, uint64_t high)
{
    uint64_t count = 0;
    for (size_t i = 0; i < VALUES; i++)
        count += values[i] >= low && values[i] <= high;
    return count;
}

static void counts_between_are_exact_where_bounds_are_those_of_places(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    for (size_t distribution = 0; distribution < DISTRIBUTIONS; distribution++) {
        uint64_t seed = 5 + distribution;
        fill(values, VALUES, distribution, seed);
        struct rv_hist hist = made_of(values, VALUES, 3);
        for (int i = 0; i < 100; i++) {
            uint64_t bounds[2] = {value_of_any_size(&seed), value_of_any_size(&seed)};
            qsort(bounds, 2, sizeof *bounds, ascending);
            uint64_t low = rv_hist_lowest_at(&hist, rv_hist_index(&hist, bounds[0]));
            uint64_t high = rv_hist_highest_at(&hist, rv_hist_index(&hist, bounds[1]));
            uint64_t expected = counted(values, low, high);
            assert_int_equal(rv_hist_count_between(&hist, low, high), expected);
            assert_int_equal(rv_hist_count_between(&hist, bounds[0], bounds[1]), expected);
        }
        assert_int_equal(rv_hist_count_between(&hist, 0, UINT64_MAX), VALUES);
        rv_hist_free(&hist);
    }
}

static void nothing_lies_between_bounds_in_the_wrong_order_or_outside(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record_many(&hist, 1000, 10);
    rv_hist_record_many(&hist, 2000, 10);
    assert_int_equal(rv_hist_count_between(&hist, 2000, 1000), 0);
    assert_int_equal(rv_hist_count_between(&hist, 0, 999), 0);
    assert_int_equal(rv_hist_count_between(&hist, 2001, UINT64_MAX), 0);
    assert_int_equal(rv_hist_count_between(&hist, 1001, 1999), 0);
    assert_int_equal(rv_hist_count_between(&hist, 1000, 1000), 10);
    assert_int_equal(rv_hist_count_between(&hist, 2000, 2000), 10);
    rv_hist_free(&hist);
}

static void
nothing_lies_below_the_smallest_or_above_the_largest_not_even_in_their_places(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(1, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 1000010);
    assert_int_equal(rv_hist_count_between(&hist, 0, 1000009), 0);
    assert_int_equal(rv_hist_count_between(&hist, 1000011, UINT64_MAX), 0);
    assert_int_equal(rv_hist_count_between(&hist, 1000010, 1000010), 1);
    rv_hist_free(&hist);
}

static void mean_and_deviation_are_exact(void **state)
{
    (void)state;
    static uint64_t values[VALUES];
    for (size_t distribution = 0; distribution < DISTRIBUTIONS; distribution++) {
        fill(values, VALUES, distribution, 31 + distribution);
        struct rv_hist hist = made_of(values, VALUES, 1);
        long double sum = 0, squares = 0;
        for (size_t i = 0; i < VALUES; i++)
            sum += values[i];
        long double mean = sum / VALUES;
        for (size_t i = 0; i < VALUES; i++)
            squares += (values[i] - mean) * (values[i] - mean);
        double deviation = (double)sqrtl(squares / (VALUES - 1));
        assert_true(fabs(rv_hist_mean(&hist) - (double)mean) <= 1e-12 * (double)mean);
        assert_true(fabs(rv_hist_deviation(&hist) - deviation) <= 1e-12 * deviation);
        rv_hist_free(&hist);
    }
}

static void a_small_deviation_beside_a_large_mean_is_kept(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record_many(&hist, 2999999999, 500000000);
    rv_hist_record_many(&hist, 3000000001, 500000000);
    assert_true(fabs(rv_hist_deviation(&hist) - 1) < 1e-8);
    rv_hist_free(&hist);
}

static void one_value_has_no_deviation_and_two_have(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 12345);
    assert_true(rv_hist_mean(&hist) == 12345);
    assert_true(rv_hist_deviation(&hist) == 0);
    rv_hist_record(&hist, 12347);
    assert_true(fabs(rv_hist_deviation(&hist) - sqrt(2)) < 1e-12);
    rv_hist_free(&hist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_and_highest_outside_their_bounds_are_refused),
        cmocka_unit_test(it_is_as_long_as_hdr_histograms_is),
        cmocka_unit_test(an_empty_one_answers_with_zero),
        cmocka_unit_test(places_lie_without_gap_and_are_as_narrow_as_the_digits_say),
        cmocka_unit_test(places_reach_up_to_the_largest_highest),
        cmocka_unit_test(the_edges_are_recorded_as_they_are),
        cmocka_unit_test(what_is_above_the_highest_is_recorded_as_it_and_counted),
        cmocka_unit_test(many_at_once_are_many_one_by_one),
        cmocka_unit_test(adding_up_is_recording_in_one),
        cmocka_unit_test(a_reset_one_is_as_new),
        cmocka_unit_test(a_long_run_overflows_nothing),
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(each_rank_of_a_small_count_is_found),
        cmocka_unit_test(a_percentage_without_exact_double_takes_no_rank_more),
        cmocka_unit_test(a_percentile_is_never_above_the_largest_value),
        cmocka_unit_test(a_percentage_out_of_range_is_taken_as_the_nearest),
        cmocka_unit_test(counts_between_are_exact_where_bounds_are_those_of_places),
        cmocka_unit_test(nothing_lies_between_bounds_in_the_wrong_order_or_outside),
        cmocka_unit_test(
            nothing_lies_below_the_smallest_or_above_the_largest_not_even_in_their_places),
        cmocka_unit_test(mean_and_deviation_are_exact),
        cmocka_unit_test(a_small_deviation_beside_a_large_mean_is_kept),
        cmocka_unit_test(one_value_has_no_deviation_and_two_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
