/*
 * Facts about histograms as text: what is written comes back, and nothing that is not a histogram does
 * any harm. That other programs read the same is tests/e2e/test_hist_wire.py's.
 */
#include "report/hist_wire.h"

#include "base/base64.h"
#include "random.h"
#include "support/hists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static struct rv_hist read_back(const struct rv_hist *hist)
{
    struct rv_hist back;
    const char *reason = NULL;
    char *text = rv_hist_encode(hist);
    assert_non_null(text);
    assert_int_equal(rv_hist_decode(text, &back, &reason), 0);
    free(text);
    return back;
}

/* ---- what is written comes back ---------------------------------------------------------------------- */

static void a_histogram_comes_back_with_every_count(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (unsigned digits = 1; digits <= RV_HIST_DIGITS_MAX; digits++) {
        struct rv_hist hist = made_hist(digits, RV_HIST_HOUR_US);
        for (int i = 0; i < 5000; i++) {
            uint64_t value = random_of_any_size(&seed, 32) % RV_HIST_HOUR_US;
            rv_hist_record_many(&hist, value, random_of_any_size(&seed, 20));
        }
        struct rv_hist back = read_back(&hist);
        assert_same_places(&hist, &back);
        assert_int_equal(back.clamped, 0);
        assert_int_equal(rv_hist_index(&back, back.min), rv_hist_index(&hist, hist.min));
        assert_int_equal(rv_hist_index(&back, back.max), rv_hist_index(&hist, hist.max));
        assert_true(back.min <= hist.min && back.max >= hist.max);
        rv_hist_free(&back);
        rv_hist_free(&hist);
    }
}

static void an_empty_histogram_comes_back_empty(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    struct rv_hist back = read_back(&hist);
    assert_same_places(&hist, &back);
    assert_int_equal(back.min, UINT64_MAX);
    assert_int_equal(back.max, 0);
    rv_hist_free(&back);
    rv_hist_free(&hist);
}

static void where_places_are_one_wide_everything_is_exact(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    for (uint64_t value = 0; value < 2000; value += 7)
        rv_hist_record_many(&hist, value, value + 1);
    struct rv_hist back = read_back(&hist);
    assert_same_places(&hist, &back);
    assert_int_equal(back.min, 0);
    assert_int_equal(back.max, hist.max);
    assert_int_equal(back.sum, hist.sum);
    assert_true(back.sum_squares == hist.sum_squares);
    rv_hist_free(&back);
    rv_hist_free(&hist);
}

static void sum_and_deviation_are_as_near_as_places_tell(void **state)
{
    (void)state;
    uint64_t seed = 9;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    for (int i = 0; i < 20000; i++)
        rv_hist_record(&hist, 1000000 + random_below(&seed, 1000000));
    struct rv_hist back = read_back(&hist);
    double mean = rv_hist_mean(&hist), deviation = rv_hist_deviation(&hist);
    assert_true(rv_hist_mean(&back) > mean * 0.999 && rv_hist_mean(&back) < mean * 1.001);
    assert_true(rv_hist_deviation(&back) > deviation * 0.999);
    assert_true(rv_hist_deviation(&back) < deviation * 1.001);
    rv_hist_free(&back);
    rv_hist_free(&hist);
}

/* One to nine octets of LEB128, and the borders between them. */
static void counts_of_every_length_come_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 63; bits++) {
        for (uint64_t less = 0; less < 2; less++) {
            struct rv_hist hist = made_hist(3, 2000);
            rv_hist_record_many(&hist, 1, (UINT64_C(1) << bits) - less);
            struct rv_hist back = read_back(&hist);
            assert_same_places(&hist, &back);
            rv_hist_free(&back);
            rv_hist_free(&hist);
        }
    }
}

static void a_value_in_the_last_place_comes_back(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, 2047);
    rv_hist_record(&hist, 0);
    rv_hist_record(&hist, 2047);
    struct rv_hist back = read_back(&hist);
    assert_same_places(&hist, &back);
    assert_int_equal(back.max, 2047);
    rv_hist_free(&back);
    rv_hist_free(&hist);
}

static void it_begins_as_hdr_histograms_texts_do(void **state)
{
    (void)state;
    struct rv_hist hist = made_hist(3, RV_HIST_HOUR_US);
    rv_hist_record(&hist, 1000);
    char *text = rv_hist_encode(&hist);
    assert_memory_equal(text, "HISTFAAA", 8);
    assert_int_equal(strlen(text) % 4, 0);
    free(text);
    rv_hist_free(&hist);
}

/* ---- what others write ---------------------------------------------------------------------------------- */

/* A text put together by hand: its head's numbers, its counts as they stand. */
struct parts {
    uint32_t envelope_cookie, cookie, counts_bytes, offset, digits;
    uint64_t lowest, highest, ratio;
    const char *counts;
    size_t counts_length;
    size_t cut;         /* octets taken from the end of the compressed data */
    size_t zeros;       /* octets of zero behind it */
    bool announce_more; /* the envelope names an octet more than there is */
};

/* hdr-histogram-js' offset and ratio. Three values of 0, none of 1 and 2, one of 3. */
static struct parts sound(void)
{
    return (struct parts){0x1c849314, 0x1c849313,     3, 1, 3, 1,    2000,
                          1,          "\x06\x03\x02", 3, 0, 0, false};
}

static void put_be(unsigned char **to, uint64_t value, unsigned octets)
{
    while (octets-- > 0)
        *(*to)++ = (unsigned char)(value >> 8 * octets);
}

static char *text_of(const struct parts *parts)
{
    unsigned char plain[256], packed[512] = {0}, *to = plain;
    put_be(&to, parts->cookie, 4);
    put_be(&to, parts->counts_bytes, 4);
    put_be(&to, parts->offset, 4);
    put_be(&to, parts->digits, 4);
    put_be(&to, parts->lowest, 8);
    put_be(&to, parts->highest, 8);
    put_be(&to, parts->ratio, 8);
    memcpy(to, parts->counts, parts->counts_length);
    to += parts->counts_length;

    uLongf room = sizeof packed - 8;
    assert_int_equal(compress(packed + 8, &room, plain, (uLong)(to - plain)), Z_OK);
    size_t length = 8 + room - parts->cut;
    to = packed;
    put_be(&to, parts->envelope_cookie, 4);
    put_be(&to, room - parts->cut + parts->announce_more, 4);
    memset(packed + length, 0, sizeof packed - length);
    length += parts->zeros;
    char *text = malloc(rv_base64_length(length) + 1);
    assert_non_null(text);
    text[rv_base64_encode(packed, length, text)] = '\0';
    return text;
}

static rv_error decode(const struct parts *parts, struct rv_hist *hist, const char **reason)
{
    char *text = text_of(parts);
    rv_error error = rv_hist_decode(text, hist, reason);
    free(text);
    return error;
}

static void assert_refused(struct parts parts, const char *reason_part)
{
    struct rv_hist hist;
    const char *reason = NULL;
    assert_int_equal(decode(&parts, &hist, &reason), RV_EINVAL);
    if (strstr(reason, reason_part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, reason_part);
}

static void offset_and_ratio_and_zeros_behind_the_end_are_not_looked_at(void **state)
{
    (void)state;
    for (size_t zeros = 0; zeros < 5; zeros++) {
        struct parts parts = sound();
        parts.zeros = zeros;
        struct rv_hist hist;
        const char *reason;
        assert_int_equal(decode(&parts, &hist, &reason), 0);
        assert_int_equal(hist.total, 4);
        assert_int_equal(hist.counts[0], 3);
        assert_int_equal(hist.counts[3], 1);
        assert_int_equal(hist.max, 3);
        rv_hist_free(&hist);
    }
}

/* 2000 lies in a bucket that ends with 2047: others count there, too. */
static void values_above_the_highest_raise_it(void **state)
{
    (void)state;
    struct parts parts = sound();
    parts.counts = "\xfb\x1f\x02"; /* 2046 places without a value, one with a value */
    parts.counts_bytes = 3;
    struct rv_hist hist;
    const char *reason;
    assert_int_equal(decode(&parts, &hist, &reason), 0);
    assert_int_equal(hist.total, 1);
    assert_int_equal(hist.max, 2046);
    assert_int_equal(hist.highest, 2047);
    assert_int_equal(rv_hist_percentile(&hist, 50), 2046);
    rv_hist_free(&hist);
}

/* ---- what is none ------------------------------------------------------------------------------------------ */

static void what_is_no_text_of_a_histogram_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "H",
        "HIST",
        "HISTFAAA",
        "HISTFAAAAA==",
        "HISTFAAAAAA=",
        "HISTFAAAABB4",
        "hello, world",
        "HISTFP////8=",
        "HISTFAAAAAB4nA==",
        "AAAAAAAAAAAAAAAAAAAA",
        "HISTEwAAAAAAAAAAAAAA",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rv_hist hist;
        const char *reason = NULL;
        assert_int_equal(rv_hist_decode(texts[i], &hist, &reason), RV_EINVAL);
        assert_true(strlen(reason) > 20);
    }
}

static void each_wrong_number_in_a_head_is_refused(void **state)
{
    (void)state;
    struct parts parts = sound();
    parts.envelope_cookie = 0x1c849304;
    assert_refused(parts, "no HdrHistogram");
    parts = sound();
    parts.cookie = 0x1c849301;
    assert_refused(parts, "no HdrHistogram");
    parts = sound();
    parts.lowest = 1000;
    assert_refused(parts, "lowest value is not 1");
    static const uint32_t digits[] = {0, 6, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        parts = sound();
        parts.digits = digits[i];
        assert_refused(parts, "digits or highest");
    }
    static const uint64_t highest[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        parts = sound();
        parts.highest = highest[i];
        assert_refused(parts, "digits or highest");
    }
}

static void a_histogram_that_would_need_much_memory_is_refused(void **state)
{
    (void)state;
    struct parts parts = sound();
    parts.digits = 5;
    parts.highest = INT64_MAX;
    assert_refused(parts, "larger than");
}

static void counts_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *counts;
        uint32_t length;
        const char *reason;
    } wrong[] = {
        {"\x01\xff\x1f\x02", 4, "more places"},                     /* 1 + 2048 + 1 */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, "more places"}, /* INT64_MIN places */
        {"\x80", 1, "cut off"},                                     /* goes on, and ends */
        {"\x02\x80\x80", 3, "cut off"},
        {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff"
         "\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
         27, "64 bits"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct parts parts = sound();
        parts.counts = wrong[i].counts;
        parts.counts_length = parts.counts_bytes = wrong[i].length;
        assert_refused(parts, wrong[i].reason);
    }
}

static void lengths_that_are_not_true_are_refused(void **state)
{
    (void)state;
    struct parts parts = sound();
    parts.counts_bytes = 4;
    assert_refused(parts, "cut off");
    parts = sound();
    parts.counts_bytes = UINT32_MAX;
    assert_refused(parts, "cut off");
    parts = sound();
    parts.counts_bytes = 2;
    assert_refused(parts, "behind the histogram's counts");
    parts = sound();
    parts.counts = "\x06\x80\x02";
    parts.counts_bytes = 2;
    assert_refused(parts, "last count is cut off");
    parts = sound();
    parts.announce_more = true;
    assert_refused(parts, "cut off");
    parts.zeros = 1;
    assert_refused(parts, "behind the histogram's counts");
}

static void a_text_cut_anywhere_or_with_an_octet_changed_is_refused_or_read(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 20; cut++) {
        struct parts parts = sound();
        parts.cut = cut;
        struct rv_hist hist;
        const char *reason;
        assert_int_equal(decode(&parts, &hist, &reason), RV_EINVAL);
    }
    struct parts parts = sound();
    char *text = text_of(&parts);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];
        for (int c = 1; c < 256; c++) {
            struct rv_hist hist;
            const char *reason;
            text[i] = (char)c;
            if (rv_hist_decode(text, &hist, &reason) == 0) {
                assert_int_equal(hist.total, 4); /* zlib's checksum lets no other through */
                rv_hist_free(&hist);
            }
        }
        text[i] = kept;
    }
    free(text);
}

static void something_behind_the_histogram_is_refused(void **state)
{
    (void)state;
    struct parts parts = sound();
    parts.zeros = 3;
    char *text = text_of(&parts);
    unsigned char octets[512];
    size_t length = 0;
    assert_int_equal(rv_base64_decode(rv_str(text), octets, &length), 0);
    free(text);
    octets[length - 1] = 1;
    text = malloc(rv_base64_length(length) + 1);
    text[rv_base64_encode(octets, length, text)] = '\0';
    struct rv_hist hist;
    const char *reason;
    assert_int_equal(rv_hist_decode(text, &hist, &reason), RV_EINVAL);
    assert_non_null(strstr(reason, "behind the histogram"));
    free(text);
}

/* A hundred megabytes of zeros in a hundred kilobytes: they are not even looked at. */
static void a_bomb_costs_nothing(void **state)
{
    (void)state;
    size_t length = 100000000;
    unsigned char *zeros = calloc(1, length);
    uLongf room = compressBound(length);
    unsigned char *packed = calloc(1, 8 + room);
    assert_non_null(zeros);
    assert_non_null(packed);
    struct parts parts = sound();
    unsigned char *to = zeros;
    put_be(&to, parts.cookie, 4);
    put_be(&to, length - 40, 4);
    put_be(&to, 0, 4);
    put_be(&to, parts.digits, 4);
    put_be(&to, 1, 8);
    put_be(&to, parts.highest, 8);
    assert_int_equal(compress2(packed + 8, &room, zeros, length, 1), Z_OK);
    free(zeros);
    to = packed;
    put_be(&to, parts.envelope_cookie, 4);
    put_be(&to, room, 4);
    char *text = malloc(rv_base64_length(8 + room) + 1);
    text[rv_base64_encode(packed, 8 + room, text)] = '\0';
    free(packed);
    struct rv_hist hist;
    const char *reason;
    assert_int_equal(rv_hist_decode(text, &hist, &reason), RV_EINVAL);
    assert_non_null(strstr(reason, "more places"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_histogram_comes_back_with_every_count),
        cmocka_unit_test(an_empty_histogram_comes_back_empty),
        cmocka_unit_test(where_places_are_one_wide_everything_is_exact),
        cmocka_unit_test(sum_and_deviation_are_as_near_as_places_tell),
        cmocka_unit_test(counts_of_every_length_come_back),
        cmocka_unit_test(a_value_in_the_last_place_comes_back),
        cmocka_unit_test(it_begins_as_hdr_histograms_texts_do),
        cmocka_unit_test(offset_and_ratio_and_zeros_behind_the_end_are_not_looked_at),
        cmocka_unit_test(values_above_the_highest_raise_it),
        cmocka_unit_test(what_is_no_text_of_a_histogram_is_refused),
        cmocka_unit_test(each_wrong_number_in_a_head_is_refused),
        cmocka_unit_test(a_histogram_that_would_need_much_memory_is_refused),
        cmocka_unit_test(counts_that_do_not_fit_are_refused),
        cmocka_unit_test(lengths_that_are_not_true_are_refused),
        cmocka_unit_test(a_text_cut_anywhere_or_with_an_octet_changed_is_refused_or_read),
        cmocka_unit_test(something_behind_the_histogram_is_refused),
        cmocka_unit_test(a_bomb_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
