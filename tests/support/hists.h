/*
 * Histograms of tests: made, and compared.
 */
#ifndef RV_TESTS_HISTS_H
#define RV_TESTS_HISTS_H

#include "base/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline struct rv_hist made_hist(unsigned digits, uint64_t highest)
{
    struct rv_hist hist;
    assert_int_equal(rv_hist_init(&hist, digits, highest), 0);
    return hist;
}

/* The same form, and as many values in every place. */
static inline void assert_same_places(const struct rv_hist *left, const struct rv_hist *right)
{
    assert_int_equal(left->digits, right->digits);
    assert_int_equal(left->highest, right->highest);
    assert_int_equal(left->total, right->total);
    assert_int_equal(left->counts_length, right->counts_length);
    assert_memory_equal(left->counts, right->counts, left->counts_length * sizeof *left->counts);
}

/* The same in all that a histogram knows. */
static inline void assert_same_hist(const struct rv_hist *left, const struct rv_hist *right)
{
    assert_same_places(left, right);
    assert_int_equal(left->clamped, right->clamped);
    assert_int_equal(left->min, right->min);
    assert_int_equal(left->max, right->max);
    assert_int_equal(left->sum, right->sum);
    assert_true(left->sum_squares == right->sum_squares);
}

#endif
