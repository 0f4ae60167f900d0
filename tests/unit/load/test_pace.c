/*
 * The schedule of the open model: the rate is kept over hours, threads share it, and nothing that is due is
 * forgotten.
 */
#include "load/pace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define START_US 5000000

static struct rv_load_plan plan_of(double rate_per_s, enum rv_arrivals arrivals)
{
    return (struct rv_load_plan){.rate_per_s = rate_per_s, .arrivals = arrivals, .seed = 42};
}

static struct rv_pace started(const struct rv_load_plan *plan, unsigned index, unsigned count)
{
    struct rv_pace pace;
    rv_pace_start(&pace, plan, index, count, START_US);
    return pace;
}

static void an_even_schedule_has_equal_gaps(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(1000, RV_ARRIVALS_EVEN);
    struct rv_pace pace = started(&plan, 0, 1);
    for (uint64_t i = 0; i < 100; i++, rv_pace_advance(&pace))
        assert_int_equal(rv_pace_due_us(&pace), START_US + i * 1000);
}

static void no_rounding_adds_up(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(30000, RV_ARRIVALS_EVEN); /* every 33.3 microseconds */
    struct rv_pace pace = started(&plan, 0, 1);
    for (uint64_t i = 0; i < 30000 * 60; i++)
        rv_pace_advance(&pace);
    assert_in_range(rv_pace_due_us(&pace), START_US + 60000000 - 1, START_US + 60000000 + 1);
}

static void threads_take_turns_in_an_even_schedule(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(1000, RV_ARRIVALS_EVEN);
    for (unsigned index = 0; index < 4; index++) {
        struct rv_pace pace = started(&plan, index, 4);
        for (uint64_t i = 0; i < 10; i++, rv_pace_advance(&pace))
            assert_int_equal(rv_pace_due_us(&pace), START_US + (i * 4 + index) * 1000);
    }
}

/* Mean and variance of the gaps of an exponential law: m and m squared. */
static void poisson_gaps_are_exponential(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(1000, RV_ARRIVALS_POISSON);
    struct rv_pace pace = started(&plan, 0, 1);
    double before = 0, sum = 0, squares = 0;
    unsigned above_mean = 0;
    const unsigned count = 200000;
    for (unsigned i = 0; i < count; i++, rv_pace_advance(&pace)) {
        double gap = pace.at_us - before;
        before = pace.at_us;
        sum += gap;
        squares += gap * gap;
        above_mean += gap > 1000;
    }
    double mean = sum / count;
    double deviation = sqrt(squares / count - mean * mean);
    assert_true(fabs(mean - 1000) < 10);
    assert_true(fabs(deviation - 1000) < 15);
    assert_true(fabs((double)above_mean / count - exp(-1)) < 0.005);
}

static void a_seed_gives_the_same_schedule_again(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(1000, RV_ARRIVALS_POISSON);
    struct rv_load_plan other = plan;
    other.seed = 43;
    struct rv_pace a = started(&plan, 0, 1), b = started(&plan, 0, 1), c = started(&other, 0, 1);
    bool differs = false;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(rv_pace_due_us(&a), rv_pace_due_us(&b));
        differs = differs || rv_pace_due_us(&a) != rv_pace_due_us(&c);
        rv_pace_advance(&a);
        rv_pace_advance(&b);
        rv_pace_advance(&c);
    }
    assert_true(differs);
}

static void the_threads_of_a_poisson_schedule_are_independent_and_make_up_the_rate(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(4000, RV_ARRIVALS_POISSON);
    uint64_t count = 0;
    for (unsigned index = 0; index < 4; index++) {
        struct rv_pace pace = started(&plan, index, 4);
        struct rv_pace next = started(&plan, (index + 1) % 4, 4);
        assert_int_not_equal(rv_pace_due_us(&pace), rv_pace_due_us(&next));
        count += rv_pace_give_up(&pace, START_US + 50000000);
    }
    assert_in_range(count, 200000 - 1500, 200000 + 1500);
}

static void giving_up_counts_what_was_due_before_the_end(void **state)
{
    (void)state;
    struct rv_load_plan plan = plan_of(1000, RV_ARRIVALS_EVEN);
    struct rv_pace pace = started(&plan, 0, 1);
    for (unsigned i = 0; i < 10; i++)
        rv_pace_advance(&pace);
    assert_int_equal(rv_pace_give_up(&pace, START_US + 100 * 1000), 90);
    assert_int_equal(rv_pace_give_up(&pace, START_US + 100 * 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_even_schedule_has_equal_gaps),
        cmocka_unit_test(no_rounding_adds_up),
        cmocka_unit_test(threads_take_turns_in_an_even_schedule),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(a_seed_gives_the_same_schedule_again),
        cmocka_unit_test(the_threads_of_a_poisson_schedule_are_independent_and_make_up_the_rate),
        cmocka_unit_test(giving_up_counts_what_was_due_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
