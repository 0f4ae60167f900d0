/*
 * The histogram's slow half: what is done before and after recording.
 *
 * The layout: bucket 0 holds the values 0..place_mask, one place each. Every further bucket holds the
 * values with one more leading bit, in half as many places, each twice as wide as those before; its other
 * half would repeat the bucket below. So places lie one behind the other, none is shared, and a place is
 * never wider than 1/10^digits of what it stands for.
 */
#include "base/hist.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Values from here on have no place: the wire form's are signed. */
#define HIGHEST_MAX ((uint64_t)INT64_MAX)

#define PAGE_BYTES_MIN 4096

static unsigned half_magnitude_of(unsigned digits)
{
    /* Up to 2 * 10^digits each value has a place of its own. */
    uint64_t single = 2;
    for (unsigned i = 0; i < digits; i++)
        single *= 10;
    return (unsigned)(63 - __builtin_clzll(single - 1));
}

static uint64_t half_of(const struct rv_hist *hist)
{
    return UINT64_C(1) << hist->half_magnitude;
}

/* How far to the left the values of a place are shifted: its bucket. */
static unsigned bucket_of(const struct rv_hist *hist, uint32_t index)
{
    return index <= hist->place_mask ? 0 : (index >> hist->half_magnitude) - 1;
}

uint32_t rv_hist_places(unsigned digits, uint64_t highest)
{
    if (digits < 1 || digits > RV_HIST_DIGITS_MAX || highest < 2 || highest > HIGHEST_MAX)
        return 0;
    unsigned half_magnitude = half_magnitude_of(digits);
    unsigned magnitude = (unsigned)(63 - __builtin_clzll(highest));
    unsigned bucket = magnitude > half_magnitude ? magnitude - half_magnitude : 0;
    return (bucket + 2) << half_magnitude; /* to the end of the bucket, as HdrHistogram's do */
}

/* The kernel gives a page with the first write to it: that happens here, not in the middle of a run. The
   compiler knows that calloc's octets are zero, and may leave out a memset. */
static void touch(uint64_t *counts, uint32_t places)
{
    volatile uint64_t *touched = counts;
    for (uint32_t i = 0; i < places; i += PAGE_BYTES_MIN / sizeof *counts)
        touched[i] = 0;
    touched[places - 1] = 0;
}

rv_error rv_hist_init(struct rv_hist *hist, unsigned digits, uint64_t highest)
{
    uint32_t places = rv_hist_places(digits, highest);
    if (places == 0)
        return RV_EINVAL;
    uint64_t *counts = calloc(places, sizeof *counts);
    if (counts == NULL)
        return RV_ENOMEM;
    touch(counts, places);
    unsigned half_magnitude = half_magnitude_of(digits);
    *hist = (struct rv_hist){
        .counts = counts,
        .counts_length = places,
        .digits = (uint8_t)digits,
        .half_magnitude = (uint8_t)half_magnitude,
        .place_mask = (UINT64_C(2) << half_magnitude) - 1,
        .highest = highest,
        .min = UINT64_MAX,
    };
    return 0;
}

void rv_hist_free(struct rv_hist *hist)
{
    free(hist->counts);
    *hist = (struct rv_hist){.min = UINT64_MAX};
}

void rv_hist_reset(struct rv_hist *hist)
{
    /* All that is not zero lies between the smallest and the largest value: few pages, mostly. */
    if (hist->total != 0) {
        uint32_t first = rv_hist_index(hist, hist->min);
        uint32_t last = rv_hist_index(hist, hist->max);
        memset(hist->counts + first, 0, (last - first + 1) * sizeof *hist->counts);
    }
    hist->clamped = hist->total = hist->sum = hist->max = 0;
    hist->sum_squares = 0;
    hist->min = UINT64_MAX;
}

void rv_hist_record_many(struct rv_hist *hist, uint64_t value, uint64_t count)
{
    if (count == 0)
        return;
    if (value > hist->highest) {
        value = hist->highest;
        hist->clamped += count;
    }
    hist->counts[rv_hist_index(hist, value)] += count;
    hist->total += count;
    hist->sum += value * count;
    hist->sum_squares += (unsigned __int128)value * value * count;
    if (value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
}

void rv_hist_add(struct rv_hist *into, const struct rv_hist *from)
{
    assert(into->digits == from->digits && into->highest == from->highest);
    if (from->total == 0)
        return;
    uint32_t last = rv_hist_index(from, from->max);
    for (uint32_t i = rv_hist_index(from, from->min); i <= last; i++)
        into->counts[i] += from->counts[i];
    into->clamped += from->clamped;
    into->total += from->total;
    into->sum += from->sum;
    into->sum_squares += from->sum_squares;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
}

uint64_t rv_hist_lowest_at(const struct rv_hist *hist, uint32_t index)
{
    unsigned bucket = bucket_of(hist, index);
    if (bucket == 0)
        return index;
    uint64_t half = half_of(hist);
    return ((index & (half - 1)) + half) << bucket;
}

uint64_t rv_hist_highest_at(const struct rv_hist *hist, uint32_t index)
{
    return rv_hist_lowest_at(hist, index) + (UINT64_C(1) << bucket_of(hist, index)) - 1;
}

/* The rank (1 to total) of the value that `percent` of all are not above. A percentage like 99.9 has no
   exact double, and may come out an ulp above a whole rank: it is that rank all the same. */
static uint64_t rank_of(const struct rv_hist *hist, double percent)
{
    double exact = percent / 100 * (double)hist->total * (1 - 4 * DBL_EPSILON);
    uint64_t rank = (uint64_t)exact;
    return (double)rank < exact ? rank + 1 : rank;
}

uint64_t rv_hist_percentile(const struct rv_hist *hist, double percent)
{
    if (hist->total == 0)
        return 0;
    if (!(percent > 0)) /* and NaN */
        return hist->min;
    if (percent >= 100)
        return hist->max;
    uint64_t rank = rank_of(hist, percent);
    uint64_t passed = 0;
    uint32_t last = rv_hist_index(hist, hist->max);
    for (uint32_t i = rv_hist_index(hist, hist->min); i < last; i++) {
        passed += hist->counts[i];
        if (passed >= rank)
            return rv_hist_highest_at(hist, i);
    }
    return hist->max; /* which shares its place with larger ones */
}

uint64_t rv_hist_count_between(const struct rv_hist *hist, uint64_t low, uint64_t high)
{
    /* An empty histogram's min is above any max. */
    if (low > high || high < hist->min || low > hist->max || hist->total == 0)
        return 0;
    uint32_t first = rv_hist_index(hist, low < hist->min ? hist->min : low);
    uint32_t last = rv_hist_index(hist, high > hist->max ? hist->max : high);
    uint64_t count = 0;
    for (uint32_t i = first; i <= last; i++)
        count += hist->counts[i];
    return count;
}

/* By Newton's method, from above: the library does without libm. */
static double square_root(double square)
{
    double root = square > 1 ? square : 1;
    for (double next = root; next > 0; root = next) {
        next = (root + square / root) / 2;
        if (next >= root)
            break;
    }
    return root;
}

double rv_hist_mean(const struct rv_hist *hist)
{
    return hist->total == 0 ? 0 : (double)hist->sum / (double)hist->total;
}

double rv_hist_deviation(const struct rv_hist *hist)
{
    if (hist->total < 2)
        return 0;
    /* In whole numbers as far as they go: the difference of two sums of squares in floating point has
       nothing left of a deviation that is small beside its mean. */
    unsigned __int128 square = (unsigned __int128)hist->sum * hist->sum;
    unsigned __int128 around = hist->sum_squares - square / hist->total;
    double rest = (double)(uint64_t)(square % hist->total) / (double)hist->total;
    return square_root(((double)around - rest) / (double)(hist->total - 1));
}
