/*
 * A histogram of whole numbers with a fixed relative error, in fixed memory: HdrHistogram's layout (a
 * value's leading bits choose the bucket, the next ones its place in it), so that its tools read what
 * is made of it. Durations are recorded in microseconds. Beside the counts it keeps the exact count,
 * sum, smallest and largest value. It is never shared between threads: each has its own, and they are
 * added up at the end.
 */
#ifndef RV_BASE_HIST_H
#define RV_BASE_HIST_H

#include <rivulet.h>

#define RV_HIST_DIGITS_MAX 5
#define RV_HIST_HOUR_US 3600000000u /* the usual `highest`: an hour */

struct rv_hist {
    uint64_t *counts; /* owned */
    uint32_t counts_length;
    uint8_t digits;         /* significant decimal digits that are kept, 1 to 5 */
    uint8_t half_magnitude; /* log2 of half the number of places in a bucket */
    uint64_t place_mask;    /* places in the first bucket, minus one */
    uint64_t highest;       /* what can be told apart; what is above is recorded as it ... */
    uint64_t clamped;       /* ... and counted here */
    uint64_t total;         /* values recorded */
    uint64_t min, max;      /* exact, of the clamped values; min is UINT64_MAX while empty */
    uint64_t sum;           /* exact, and so is the next */
    unsigned __int128 sum_squares;
};

/* How many places such a histogram has, of eight octets each; 0: there is none such. */
uint32_t rv_hist_places(unsigned digits, uint64_t highest);

/* An empty histogram of 1..highest (0 counts as a value of its own, too). RV_EINVAL for digits outside
   1..RV_HIST_DIGITS_MAX or highest outside 2..INT64_MAX; RV_ENOMEM. All memory is taken here. */
rv_error rv_hist_init(struct rv_hist *hist, unsigned digits, uint64_t highest);
void rv_hist_free(struct rv_hist *hist);
void rv_hist_reset(struct rv_hist *hist);

/* The place of a value, which must not be above `highest`. */
static inline uint32_t rv_hist_index(const struct rv_hist *hist, uint64_t value)
{
    unsigned bucket =
        (unsigned)(63 - __builtin_clzll(value | hist->place_mask)) - hist->half_magnitude;
    uint64_t place = value >> bucket;
    return (uint32_t)(((uint64_t)bucket << hist->half_magnitude) + place);
}

static inline void rv_hist_record(struct rv_hist *hist, uint64_t value)
{
    if (value > hist->highest) {
        value = hist->highest;
        hist->clamped++;
    }
    hist->counts[rv_hist_index(hist, value)]++;
    hist->total++;
    hist->sum += value;
    hist->sum_squares += (unsigned __int128)value * value;
    if (value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
}

/* The same value `count` times; 0 is none. */
void rv_hist_record_many(struct rv_hist *hist, uint64_t value, uint64_t count);

/* Adds what `from` holds; both must have the same digits and highest (asserted). */
void rv_hist_add(struct rv_hist *into, const struct rv_hist *from);

/* The smallest and the largest value that share the place `index`. */
uint64_t rv_hist_lowest_at(const struct rv_hist *hist, uint32_t index);
uint64_t rv_hist_highest_at(const struct rv_hist *hist, uint32_t index);

/* The value that `percent` of all are not above (0 to 100): the largest one of its place, and never
   above `max`. 0 when empty. 0 gives `min`, 100 gives `max`. */
uint64_t rv_hist_percentile(const struct rv_hist *hist, double percent);

/* How many values lie in low..high, both included, as exactly as the places tell. */
uint64_t rv_hist_count_between(const struct rv_hist *hist, uint64_t low, uint64_t high);

/* Exact ones, of the recorded values; 0 when empty. The deviation is that of a sample (n - 1). */
double rv_hist_mean(const struct rv_hist *hist);
double rv_hist_deviation(const struct rv_hist *hist);

#endif
