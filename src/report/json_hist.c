/*
 * Counts come from the wire form; count, smallest, largest and sum are exact beside it, and are held
 * against the places: whoever reads a file gets a histogram that could have been recorded.
 */
#include "report/json_hist.h"

#include "base/bytes.h"
#include "report/hist_wire.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct {
    const char *name;
    double percent;
} percentiles[] = {
    {"p50", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}, {"p9999", 99.99},
};

/* ---- 128 bits in decimal: no number in JSON is sure to have them ------------------------------------- */

#define DIGITS_MAX 39

static json_t *digits_of(unsigned __int128 number)
{
    char digits[DIGITS_MAX + 1];
    char *first = digits + DIGITS_MAX;
    *first = '\0';
    do {
        *--first = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number != 0);
    return json_string(first);
}

/* False: it is none, or has more than 128 bits. */
static bool number_of(const json_t *digits, unsigned __int128 *number)
{
    const char *text = json_string_value(digits);
    if (text == NULL || text[0] == '\0')
        return false;
    for (*number = 0; *text != '\0'; text++) {
        if (!rv_is_digit(*text) || __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (unsigned)(*text - '0'), number))
            return false;
    }
    return true;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static bool put_figures(json_t *object, const struct rv_hist *hist)
{
    bool ok = rv_json_put(object, "count", rv_json_of_count(hist->total)) &&
              rv_json_put(object, "min", rv_json_of_count(hist->total == 0 ? 0 : hist->min)) &&
              rv_json_put(object, "mean", json_real(rv_hist_mean(hist))) &&
              rv_json_put(object, "deviation", json_real(rv_hist_deviation(hist)));
    for (size_t i = 0; ok && i < sizeof percentiles / sizeof *percentiles; i++)
        ok = rv_json_put(object, percentiles[i].name,
                         rv_json_of_count(rv_hist_percentile(hist, percentiles[i].percent)));
    return ok && rv_json_put(object, "max", rv_json_of_count(hist->max)) &&
           rv_json_put(object, "sum", rv_json_of_count(hist->sum)) &&
           rv_json_put(object, "sum_squares", digits_of(hist->sum_squares)) &&
           rv_json_put(object, "clamped", rv_json_of_count(hist->clamped));
}

json_t *rv_json_of_hist(const struct rv_hist *hist)
{
    json_t *object = json_object();
    char *text = rv_hist_encode(hist);
    bool ok = object != NULL && text != NULL && put_figures(object, hist) &&
              rv_json_put(object, "hdr", json_string(text));
    free(text);
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static bool same_place(const struct rv_hist *hist, uint64_t a, uint64_t b)
{
    return a <= hist->highest && rv_hist_index(hist, a) == rv_hist_index(hist, b);
}

/* The least and the most that the values in their places can add up to. */
static bool sum_is_possible(const struct rv_hist *hist, uint64_t sum)
{
    unsigned __int128 least = 0, most = 0;
    uint32_t last = rv_hist_index(hist, hist->max);
    for (uint32_t i = rv_hist_index(hist, hist->min); i <= last; i++) {
        least += (unsigned __int128)rv_hist_lowest_at(hist, i) * hist->counts[i];
        most += (unsigned __int128)rv_hist_highest_at(hist, i) * hist->counts[i];
    }
    return sum >= least && sum <= most;
}

/* Between those of as many equal values of the same sum and those of the highest one. */
static bool squares_are_possible(const struct rv_hist *hist, uint64_t sum,
                                 unsigned __int128 squares)
{
    unsigned __int128 square = (unsigned __int128)sum * sum;
    unsigned __int128 least = square / hist->total + (square % hist->total != 0);
    return squares >= least &&
           squares / hist->total <= (unsigned __int128)hist->highest * hist->highest;
}

/* Puts the exact figures in the place of what the places told. */
static void get_figures(struct rv_json_reader *reader, const struct rv_json_place *at,
                        struct rv_hist *hist)
{
    uint64_t count = rv_json_get_count(reader, at, "count", INT64_MAX);
    uint64_t min = rv_json_get_count(reader, at, "min", INT64_MAX);
    uint64_t max = rv_json_get_count(reader, at, "max", INT64_MAX);
    uint64_t sum = rv_json_get_count(reader, at, "sum", INT64_MAX);
    uint64_t clamped = rv_json_get_count(reader, at, "clamped", count);
    unsigned __int128 squares = 0;
    const json_t *digits = rv_json_get(reader, at, "sum_squares");
    if (!number_of(digits, &squares))
        rv_json_refuse(reader, at, "sum_squares", "must be a string of digits");
    if (count != hist->total)
        rv_json_refuse(reader, at, "count", "is not the %" PRIu64 " that its \"hdr\" counts",
                       hist->total);
    if (reader->error != 0 || count == 0)
        return;
    if (!same_place(hist, min, hist->min))
        rv_json_refuse(reader, at, "min", "is not the smallest value of its \"hdr\"");
    if (!same_place(hist, max, hist->max))
        rv_json_refuse(reader, at, "max", "is not the largest value of its \"hdr\"");
    if (min > max)
        rv_json_refuse(reader, at, "min", "is above \"max\"");
    if (!sum_is_possible(hist, sum))
        rv_json_refuse(reader, at, "sum", "is not what the values of its \"hdr\" add up to");
    else if (!squares_are_possible(hist, sum, squares))
        rv_json_refuse(reader, at, "sum_squares", "does not go with \"sum\" and \"count\"");
    if (reader->error != 0)
        return;
    hist->min = min;
    hist->max = max;
    hist->sum = sum;
    hist->clamped = clamped;
    hist->sum_squares = squares;
}

static void get_counts(struct rv_json_reader *reader, const struct rv_json_place *at,
                       struct rv_hist *hist)
{
    const json_t *text = rv_json_get(reader, at, "hdr");
    if (text != NULL && !json_is_string(text))
        rv_json_refuse(reader, at, "hdr", "must be a string");
    if (reader->error != 0)
        return;
    struct rv_hist read;
    const char *reason;
    rv_error error = rv_hist_decode(json_string_value(text), &read, &reason);
    if (error == RV_ENOMEM)
        rv_json_no_memory(reader);
    else if (error != 0)
        rv_json_refuse(reader, at, "hdr", "cannot be read: %s", reason);
    if (error != 0)
        return;
    if (read.digits == hist->digits && read.highest == hist->highest)
        rv_hist_add(hist, &read);
    else
        rv_json_refuse(reader, at, "hdr", "must have %u digits and a highest value of %" PRIu64,
                       hist->digits, hist->highest);
    rv_hist_free(&read);
}

void rv_json_get_hist(struct rv_json_reader *reader, const struct rv_json_place *at,
                      const char *name, struct rv_hist *hist)
{
    struct rv_json_place place = rv_json_object_at(reader, at, name);
    get_counts(reader, &place, hist);
    get_figures(reader, &place, hist);
}
