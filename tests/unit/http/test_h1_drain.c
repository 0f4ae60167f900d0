/*
 * Content that is counted and dropped. Each case runs whole, cut in two at every octet, and octet by
 * octet; and each of these again with the octets that the drain offers dropped instead of shown to it.
 * The verdict, the count and the place where the next response starts must be the same every time.
 * Pieces lie in blocks of exactly their size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/h1_drain.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct drained {
    enum rv_h1_drain_result result;
    const char *reason;
    size_t used; /* octets taken or dropped */
    uint64_t content;
};

/* ---- draining every way ---------------------------------------------------------------------- */

/* Shows a piece to the drain; with `skips`, drops what need not be shown. */
static void feed(struct rv_h1_drain *drain, rv_bytes piece, bool skips, struct drained *drained)
{
    char *block = malloc(piece.len > 0 ? piece.len : 1);
    assert_non_null(block);
    memcpy(block, piece.ptr, piece.len);
    rv_bytes octets = rv_slice(block, piece.len);

    do {
        uint64_t skippable = rv_h1_drain_skippable(drain);
        if (skips && skippable > 0 && octets.len > 0) {
            size_t count = octets.len < skippable ? octets.len : (size_t)skippable;
            octets.ptr += count;
            octets.len -= count;
            drained->result = rv_h1_drain_skipped(drain, count);
            assert_int_not_equal(drained->result, RV_DRAIN_MALFORMED);
        } else {
            /* One octet at a time, so that what may be skipped is found where it begins. */
            rv_bytes shown = skips && octets.len > 1 ? rv_slice(octets.ptr, 1) : octets;
            rv_bytes rest = shown;
            drained->result = rv_h1_drain_next(drain, &rest, &drained->reason);
            assert_true(rest.ptr + rest.len == shown.ptr + shown.len);
            assert_true(drained->result != RV_DRAIN_MORE || rest.len == 0);
            octets.ptr += shown.len - rest.len;
            octets.len -= shown.len - rest.len;
        }
    } while (octets.len > 0 && drained->result == RV_DRAIN_MORE);
    drained->used += piece.len - octets.len;
    free(block);
}

/* In pieces of `step` octets behind a first one of `first`. */
static struct drained drain(enum rv_h1_framing framing, uint64_t length, rv_bytes octets,
                            size_t first, size_t step, bool skips)
{
    struct rv_h1_drain drain;
    struct drained drained = {RV_DRAIN_MORE, NULL, 0, 0};

    rv_h1_drain_start(&drain, framing, length);
    feed(&drain, rv_slice(octets.ptr, first), skips, &drained);
    for (size_t at = first; at < octets.len && drained.result == RV_DRAIN_MORE; at += step) {
        size_t count = octets.len - at < step ? octets.len - at : step;
        feed(&drain, rv_slice(octets.ptr + at, count), skips, &drained);
    }
    drained.content = drain.content;

    /* An end is an end. */
    if (drained.result != RV_DRAIN_MORE) {
        rv_bytes more = RV_LIT("5\r\nhello\r\n");
        const char *reason = NULL;
        assert_int_equal(rv_h1_drain_next(&drain, &more, &reason), drained.result);
        assert_int_equal(more.len, 10);
        assert_int_equal(rv_h1_drain_skippable(&drain), 0);
        assert_int_equal(drain.content, drained.content);
        assert_true(drained.result == RV_DRAIN_DONE || reason != NULL);
    }
    return drained;
}

static void assert_same(const struct drained *a, const struct drained *b, rv_bytes octets)
{
    if (a->result != b->result || a->used != b->used || a->content != b->content ||
        a->reason != b->reason)
        fail_msg("%d at %zu with %zu, and %d at %zu with %zu: \"%s\"", (int)a->result, a->used,
                 (size_t)a->content, (int)b->result, b->used, (size_t)b->content, octets.ptr);
}

/* The same however it comes. */
static struct drained every_way(enum rv_h1_framing framing, uint64_t length, rv_bytes octets)
{
    struct drained whole = drain(framing, length, octets, octets.len, 1, false);

    for (int skips = 0; skips < 2; skips++) {
        for (size_t first = 0; first <= octets.len; first++) {
            struct drained cut = drain(framing, length, octets, first, SIZE_MAX / 2, skips);
            assert_same(&whole, &cut, octets);
        }
        struct drained cut = drain(framing, length, octets, 0, 1, skips);
        assert_same(&whole, &cut, octets);
    }
    return whole;
}

#define NEXT "HTTP/1.1 200 OK\r\n\r\n"

/* The content ends in front of NEXT. */
static void assert_content(enum rv_h1_framing framing, uint64_t length, rv_bytes octets,
                           uint64_t content)
{
    struct drained d = every_way(framing, length, octets);
    if (d.result != RV_DRAIN_DONE)
        fail_msg("%d (%s): \"%s\"", (int)d.result, d.reason, octets.ptr);
    assert_int_equal(d.used, octets.len - strlen(NEXT));
    assert_int_equal(d.content, content);
}

static void assert_chunked(rv_bytes octets, uint64_t content)
{
    assert_content(RV_H1_FRAMING_CHUNKED, 0, octets, content);
}

/* More must come: all of it was taken. */
static void assert_more(enum rv_h1_framing framing, uint64_t length, rv_bytes octets,
                        uint64_t content)
{
    struct drained d = every_way(framing, length, octets);
    assert_int_equal(d.result, RV_DRAIN_MORE);
    assert_int_equal(d.used, octets.len);
    assert_int_equal(d.content, content);
}

/* At the octet behind `used` others, for a reason that has this word. */
static void assert_malformed(rv_bytes octets, size_t used, const char *word)
{
    struct drained d = every_way(RV_H1_FRAMING_CHUNKED, 0, octets);
    if (d.result != RV_DRAIN_MALFORMED)
        fail_msg("%d: \"%s\"", (int)d.result, octets.ptr);
    if (d.used != used)
        fail_msg("at %zu and not %zu: \"%s\"", d.used, used, octets.ptr);
    if (strstr(d.reason, word) == NULL)
        fail_msg("\"%s\" and not %s: \"%s\"", d.reason, word, octets.ptr);
}

/* ---- none, a length, until the close --------------------------------------------------------- */

static void no_content_ends_at_once(void **state)
{
    (void)state;
    assert_content(RV_H1_FRAMING_NONE, 0, RV_LIT(NEXT), 0);
    assert_content(RV_H1_FRAMING_NONE, 5, RV_LIT(NEXT), 0);
    assert_content(RV_H1_FRAMING_LENGTH, 0, RV_LIT(NEXT), 0);
}

static void a_length_counts_down_to_the_next_response(void **state)
{
    (void)state;
    assert_content(RV_H1_FRAMING_LENGTH, 5, RV_LIT("hello" NEXT), 5);
    assert_content(RV_H1_FRAMING_LENGTH, 1, RV_LIT("\n" NEXT), 1);
    assert_more(RV_H1_FRAMING_LENGTH, 5, RV_LIT("hell"), 4);
    assert_more(RV_H1_FRAMING_LENGTH, 5, RV_LIT(""), 0);
}

static void five_gigabytes_are_a_length_like_others(void **state)
{
    (void)state;
    struct rv_h1_drain d;
    const char *reason = NULL;
    rv_bytes octets = RV_LIT("xy" NEXT);
    const uint64_t length = 5000000000;

    rv_h1_drain_start(&d, RV_H1_FRAMING_LENGTH, length);
    assert_true(rv_h1_drain_skippable(&d) == length);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rv_h1_drain_skipped(&d, 1249999999), RV_DRAIN_MORE);
    assert_int_equal(rv_h1_drain_skippable(&d), 4);
    assert_int_equal(rv_h1_drain_skipped(&d, 2), RV_DRAIN_MORE);
    assert_int_equal(rv_h1_drain_next(&d, &octets, &reason), RV_DRAIN_DONE);
    assert_int_equal(octets.len, strlen(NEXT));
    assert_true(d.content == length);
}

static void until_the_close_everything_is_content(void **state)
{
    (void)state;
    struct rv_h1_drain d;
    assert_more(RV_H1_FRAMING_UNTIL_CLOSE, 0, RV_LIT(""), 0);
    assert_more(RV_H1_FRAMING_UNTIL_CLOSE, 0, RV_LIT("0\r\n\r\n" NEXT), 24);
    rv_h1_drain_start(&d, RV_H1_FRAMING_UNTIL_CLOSE, 0);
    assert_true(rv_h1_drain_skippable(&d) == UINT64_MAX);
}

/* ---- chunks, RFC 9112 section 7.1 ------------------------------------------------------------ */

static void chunks_are_counted_without_their_lines(void **state)
{
    (void)state;
    assert_chunked(RV_LIT("5\r\nhello\r\n0\r\n\r\n" NEXT), 5);
    assert_chunked(RV_LIT("5\r\nhello\r\n1;a=b\r\n!\r\nA\r\n0123456789\r\n000\r\n\r\n" NEXT), 16);
    assert_chunked(RV_LIT("0\r\n\r\n" NEXT), 0);
    assert_chunked(RV_LIT("8\r\n\r\n0\r\n\r\n\xff\r\n0\r\n\r\n" NEXT), 8);
    assert_chunked(RV_LIT("5\r\nhello\r\n0;last\r\n\r\n" NEXT), 5);
}

static void chunks_that_go_on_want_more(void **state)
{
    (void)state;
    const struct {
        rv_bytes octets;
        uint64_t content;
    } parts[] = {
        {RV_LIT(""), 0},
        {RV_LIT("5"), 0},
        {RV_LIT("5\r"), 0},
        {RV_LIT("5\r\n"), 0},
        {RV_LIT("5\r\nhel"), 3},
        {RV_LIT("5\r\nhello"), 5},
        {RV_LIT("5\r\nhello\r\n"), 5},
        {RV_LIT("5\r\nhello\r\n0\r\n"), 5},
        {RV_LIT("5\r\nhello\r\n0\r\n\r"), 5},
        {RV_LIT("5\r\nhello\r\n0\r\nA: b\r\n"), 5},
        {RV_LIT("ffffffff\r\nhello"), 5},
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_more(RV_H1_FRAMING_CHUNKED, 0, parts[i].octets, parts[i].content);
}

static void a_bad_chunk_is_malformed_at_its_first_octet(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("xyz\r\n"), 0, "hexadecimal");
    assert_malformed(RV_LIT("5\r\nhelloX\r\n"), 8, "CRLF");
    assert_malformed(RV_LIT("5\r\nhello\n0\r\n"), 8, "CRLF");
    assert_malformed(RV_LIT("3\r\nabc\r\n-1\r\n"), 8, "hexadecimal");
    assert_malformed(RV_LIT("3\r\nabc\r\n" NEXT), 8, "hexadecimal");
    assert_malformed(RV_LIT("10000000000000000\r\n"), 16, "hexadecimal");
    assert_malformed(RV_LIT("5\nhello"), 1, "hexadecimal");
}

/* Inside a chunk, and nowhere else. */
static void only_the_data_of_a_chunk_may_be_skipped(void **state)
{
    (void)state;
    static const char octets[] = "5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n";
    struct rv_h1_drain d;
    const char *reason = NULL;

    rv_h1_drain_start(&d, RV_H1_FRAMING_CHUNKED, 0);
    for (size_t i = 0; i < sizeof(octets) - 1; i++) {
        size_t expected = i >= 3 && i < 8 ? 8 - i : i >= 17 && i < 27 ? 27 - i : 0;
        assert_int_equal(rv_h1_drain_skippable(&d), expected);
        rv_bytes one = rv_slice(octets + i, 1);
        bool is_last = i == sizeof(octets) - 2;
        assert_int_equal(rv_h1_drain_next(&d, &one, &reason),
                         is_last ? RV_DRAIN_DONE : RV_DRAIN_MORE);
    }
    assert_int_equal(d.content, 15);
}

static void a_chunk_may_be_larger_than_four_gigabytes(void **state)
{
    (void)state;
    struct rv_h1_drain d;
    const char *reason = NULL;
    rv_bytes line = RV_LIT("12A05F200\r\n");
    rv_bytes end = RV_LIT("\r\n0\r\n\r\n");

    rv_h1_drain_start(&d, RV_H1_FRAMING_CHUNKED, 0);
    assert_int_equal(rv_h1_drain_next(&d, &line, &reason), RV_DRAIN_MORE);
    assert_true(rv_h1_drain_skippable(&d) == 5000000000);
    assert_int_equal(rv_h1_drain_skipped(&d, 4999999999), RV_DRAIN_MORE);
    assert_int_equal(rv_h1_drain_skipped(&d, 1), RV_DRAIN_MORE);
    assert_int_equal(rv_h1_drain_next(&d, &end, &reason), RV_DRAIN_DONE);
    assert_true(d.content == 5000000000);
}

/* ---- trailers, RFC 9112 section 7.1.2 -------------------------------------------------------- */

static void trailers_are_passed_over(void **state)
{
    (void)state;
    assert_chunked(RV_LIT("1\r\na\r\n0\r\nA: b\r\n\r\n" NEXT), 1);
    assert_chunked(RV_LIT("1\r\na\r\n0\r\nA: b\r\nC:\r\nD: \x01\xff : d\r\n\r\n" NEXT), 1);
    assert_chunked(RV_LIT("1\r\na\r\n0\r\nA: b\r\n folded\r\n\tagain: c\r\n\r\n" NEXT), 1);
}

static void a_bare_lf_ends_a_line_of_trailers(void **state)
{
    (void)state;
    assert_chunked(RV_LIT("1\r\na\r\n0\r\n\n" NEXT), 1);
    assert_chunked(RV_LIT("1\r\na\r\n0\r\nA: b\n\n" NEXT), 1);
    assert_chunked(RV_LIT("1\r\na\r\n0\r\nA: b\n\r\n" NEXT), 1);
}

/* A server that leaves out the empty line: the next response must not be taken for trailers. */
static void a_line_that_can_be_no_trailer_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("0\r\n" NEXT), 3 + 4, "trailer");
    assert_malformed(RV_LIT("0\r\n folded"), 3, "trailer");
    assert_malformed(RV_LIT("0\r\n:"), 3, "trailer");
    assert_malformed(RV_LIT("0\r\nA b: c"), 4, "trailer");
    assert_malformed(RV_LIT("0\r\nA\r\n"), 4, "trailer");
    assert_malformed(RV_LIT("0\r\n\rX"), 4, "trailer");
    assert_malformed(RV_LIT("0\r\nA: b\rX"), 8, "trailer");
    assert_malformed(RV_LIT("0\r\nA: \0"), 6, "trailer");
}

static void trailers_have_a_limit(void **state)
{
    (void)state;
    static char octets[RV_TRAILER_BYTES_MAX + 16];
    struct rv_h1_drain d;
    const char *reason = NULL;
    size_t end = 3 + RV_TRAILER_BYTES_MAX;

    memset(octets, 'x', sizeof(octets));
    memcpy(octets, "0\r\nA:", 5);
    memcpy(octets + end - 4, "\r\n\r\n", 4);
    rv_bytes fits = rv_slice(octets, end);
    rv_h1_drain_start(&d, RV_H1_FRAMING_CHUNKED, 0);
    assert_int_equal(rv_h1_drain_next(&d, &fits, &reason), RV_DRAIN_DONE);

    memcpy(octets + end - 4, "x\r\n\r\n", 5);
    rv_bytes too_large = rv_slice(octets, end + 1);
    rv_h1_drain_start(&d, RV_H1_FRAMING_CHUNKED, 0);
    assert_int_equal(rv_h1_drain_next(&d, &too_large, &reason), RV_DRAIN_MALFORMED);
    assert_int_equal(too_large.len, 1);
    assert_non_null(strstr(reason, "too large"));
}

/* ---- at random ------------------------------------------------------------------------------- */

static size_t random_chunks(char *out, uint64_t *content, uint64_t *random)
{
    size_t length = 0;
    *content = 0;
    for (uint64_t chunks = random_below(random, 6); chunks > 0; chunks--) {
        size_t size = 1 + (size_t)random_below(random, 40);
        length += (size_t)sprintf(out + length, "%zx\r\n", size);
        for (size_t i = 0; i < size; i++)
            out[length++] = (char)random_below(random, 256);
        length += (size_t)sprintf(out + length, "\r\n");
        *content += size;
    }
    length += (size_t)sprintf(out + length, "0\r\n");
    for (uint64_t lines = random_below(random, 3); lines > 0; lines--)
        length += (size_t)sprintf(out + length, "T%d: u\r\n", (int)lines);
    return length + (size_t)sprintf(out + length, "\r\n" NEXT);
}

static void chunks_of_any_size_are_counted_however_they_come(void **state)
{
    (void)state;
    uint64_t random = 20261130;
    char octets[1024];

    for (int i = 0; i < 60; i++) {
        uint64_t content;
        size_t length = random_chunks(octets, &content, &random);
        assert_chunked(rv_slice(octets, length), content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_content_ends_at_once),
        cmocka_unit_test(a_length_counts_down_to_the_next_response),
        cmocka_unit_test(five_gigabytes_are_a_length_like_others),
        cmocka_unit_test(until_the_close_everything_is_content),
        cmocka_unit_test(chunks_are_counted_without_their_lines),
        cmocka_unit_test(chunks_that_go_on_want_more),
        cmocka_unit_test(a_bad_chunk_is_malformed_at_its_first_octet),
        cmocka_unit_test(only_the_data_of_a_chunk_may_be_skipped),
        cmocka_unit_test(a_chunk_may_be_larger_than_four_gigabytes),
        cmocka_unit_test(trailers_are_passed_over),
        cmocka_unit_test(a_bare_lf_ends_a_line_of_trailers),
        cmocka_unit_test(a_line_that_can_be_no_trailer_is_malformed),
        cmocka_unit_test(trailers_have_a_limit),
        cmocka_unit_test(chunks_of_any_size_are_counted_however_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
