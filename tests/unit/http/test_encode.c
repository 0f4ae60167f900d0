/*
 * Compression: what comes out is read back by the libraries' other halves, however the octets were put
 * in and however little room there was, and up to a flush also before the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "http/encode.h"
#include "random.h"
#include "support/decode.h"

enum { CONTENT_MAX = 300000, OUT_MAX = CONTENT_MAX + CONTENT_MAX / 2 };

static char content[CONTENT_MAX];
static char encoded[OUT_MAX];
static char decoded[CONTENT_MAX + 1];

/* ---- decoding -------------------------------------------------------------------------------- */

static void assert_decodes(enum rv_coding coding, size_t encoded_length, size_t length, bool whole)
{
    struct decoded reading =
        decode(coding, rv_slice(encoded, encoded_length), decoded, sizeof decoded);
    assert_false(reading.bad);
    assert_int_equal(reading.length, length);
    assert_memory_equal(decoded, content, length);
    assert_int_equal(reading.whole, whole);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Words of a small vocabulary, with some noise: text that compresses as a page does. */
static void make_content(uint64_t seed, size_t length, bool is_noise)
{
    static const char *const words[] = {"<div class=\"", "</div>\n", "river", "bridge ", "water, ",
                                        "and ",          "the ",     "of ",   "1",       "href="};
    size_t at = 0;
    while (at < length) {
        const char *word = words[random_below(&seed, sizeof words / sizeof *words)];
        if (is_noise || random_below(&seed, 20) == 0) {
            content[at++] = (char)random_next(&seed);
            continue;
        }
        for (; *word != '\0' && at < length; word++)
            content[at++] = *word;
    }
}

/* Puts in `octets`, with `room` for each call, until the goal is reached; returns how much came out in
   all, and counts the calls. */
static size_t put_in(struct rv_encoder *encoder, rv_bytes octets, enum rv_encode_goal goal,
                     size_t room, size_t at)
{
    rv_error error;
    do {
        char *out = malloc(room); /* exactly: a step too far is seen */
        size_t written;
        assert_non_null(out);
        size_t before = octets.len;
        error = rv_encoder_feed(encoder, &octets, goal, out, room, &written);
        assert_true(error == RV_OK || error == RV_PENDING);
        assert_true(written <= room && octets.len <= before);
        assert_true(error == RV_OK || written == room);
        assert_true(at + written <= sizeof encoded);
        memcpy(encoded + at, out, written);
        at += written;
        free(out);
    } while (error == RV_PENDING);
    assert_int_equal(octets.len, 0);
    return at;
}

static size_t encode(enum rv_coding coding, int level, size_t length, size_t piece, size_t room)
{
    struct rv_encoder encoder;
    size_t at = 0;
    assert_int_equal(rv_encoder_begin(&encoder, coding, level), RV_OK);
    for (size_t from = 0; from < length; from += piece) {
        size_t count = length - from < piece ? length - from : piece;
        at = put_in(&encoder, rv_slice(content + from, count), RV_ENCODE_ON, room, at);
    }
    at = put_in(&encoder, (rv_bytes){0}, RV_ENCODE_END, room, at);
    rv_encoder_end(&encoder);
    return at;
}

/* `coding` points to one after the other. */
#define FOR_EACH_CODING(coding)                                                                    \
    for (const enum rv_coding *coding = rv_encoder_codings(&(size_t){0});                          \
         *coding != RV_CODING_IDENTITY; coding++)

static void content_of_any_length_is_read_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 100, 20000, 70000, CONTENT_MAX};
    FOR_EACH_CODING(coding)
    {
        for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
            size_t length = lengths[i / 2];
            bool is_noise = i % 2 == 1;
            make_content(i + 1, length, is_noise);
            size_t out = encode(*coding, 0, length, 65536, 16384);
            assert_decodes(*coding, out, length, true);
            if (length >= 20000 && !is_noise)
                assert_true(out < length / 2);
        }
    }
}

static void every_level_is_read_back(void **state)
{
    (void)state;
    make_content(1, 30000, false);
    FOR_EACH_CODING(coding)
    {
        int level = 0;
        struct rv_encoder encoder;
        while (rv_encoder_begin(&encoder, *coding, level) == RV_OK) {
            rv_encoder_end(&encoder);
            assert_decodes(*coding, encode(*coding, level, 30000, 30000, 4096), 30000, true);
            level++;
        }
        assert_int_equal(level, *coding == RV_CODING_GZIP     ? 10
                                : *coding == RV_CODING_BROTLI ? 12
                                                              : 20);
    }
}

static void pieces_and_rooms_of_any_size_give_the_same_content(void **state)
{
    (void)state;
    uint64_t random = 23;
    make_content(5, 20000, false);
    FOR_EACH_CODING(coding)
    {
        for (int round = 0; round < 40; round++) {
            size_t length = random_below(&random, 20000);
            size_t piece = 1 + random_of_any_size(&random, 14);
            size_t room = RV_ENCODE_ROOM_MIN + random_of_any_size(&random, 12);
            assert_decodes(*coding, encode(*coding, 0, length, piece, room), length, true);
        }
        assert_decodes(*coding, encode(*coding, 0, 3000, 1, RV_ENCODE_ROOM_MIN), 3000, true);
    }
}

static void what_was_flushed_can_be_read_before_the_end(void **state)
{
    (void)state;
    uint64_t random = 29;
    make_content(7, 40000, false);
    FOR_EACH_CODING(coding)
    {
        struct rv_encoder encoder;
        size_t from = 0, at = 0;
        assert_int_equal(rv_encoder_begin(&encoder, *coding, 0), RV_OK);
        while (from < 40000) {
            size_t count = 1 + random_of_any_size(&random, 12);
            count = count < 40000 - from ? count : 40000 - from;
            size_t room = RV_ENCODE_ROOM_MIN + random_below(&random, 200);
            at = put_in(&encoder, rv_slice(content + from, count), RV_ENCODE_FLUSH, room, at);
            from += count;
            assert_decodes(*coding, at, from, false);
        }
        at = put_in(&encoder, (rv_bytes){0}, RV_ENCODE_END, RV_ENCODE_ROOM_MIN, at);
        assert_decodes(*coding, at, from, true);
        rv_encoder_end(&encoder);
    }
}

static void a_flush_of_nothing_new_ends(void **state)
{
    (void)state;
    make_content(9, 100, false);
    FOR_EACH_CODING(coding)
    {
        struct rv_encoder encoder;
        assert_int_equal(rv_encoder_begin(&encoder, *coding, 0), RV_OK);
        size_t at = put_in(&encoder, (rv_bytes){0}, RV_ENCODE_FLUSH, RV_ENCODE_ROOM_MIN, 0);
        at = put_in(&encoder, rv_slice(content, 100), RV_ENCODE_FLUSH, RV_ENCODE_ROOM_MIN, at);
        for (int i = 0; i < 5; i++)
            at = put_in(&encoder, (rv_bytes){0}, RV_ENCODE_FLUSH, RV_ENCODE_ROOM_MIN, at);
        at = put_in(&encoder, (rv_bytes){0}, RV_ENCODE_END, RV_ENCODE_ROOM_MIN, at);
        assert_true(at < 300);
        assert_decodes(*coding, at, 100, true);
        rv_encoder_end(&encoder);
    }
}

static void nothing_is_taken_after_the_end(void **state)
{
    (void)state;
    FOR_EACH_CODING(coding)
    {
        struct rv_encoder encoder;
        char out[256];
        size_t written;
        rv_bytes octets = RV_LIT("octets");
        assert_int_equal(rv_encoder_begin(&encoder, *coding, 0), RV_OK);
        assert_int_equal(
            rv_encoder_feed(&encoder, &octets, RV_ENCODE_ON, out, RV_ENCODE_ROOM_MIN - 1, &written),
            RV_EINVAL);
        assert_int_equal(octets.len, 6);
        put_in(&encoder, octets, RV_ENCODE_END, sizeof out, 0);
        assert_int_equal(
            rv_encoder_feed(&encoder, &octets, RV_ENCODE_END, out, sizeof out, &written),
            RV_ESTATE);
        assert_int_equal(written, 0);
        rv_encoder_end(&encoder);
        rv_encoder_end(&encoder);
        assert_int_equal(
            rv_encoder_feed(&encoder, &octets, RV_ENCODE_ON, out, sizeof out, &written), RV_ESTATE);
    }
}

static void an_encoder_may_be_ended_in_the_middle(void **state)
{
    (void)state;
    make_content(11, 50000, true);
    FOR_EACH_CODING(coding)
    {
        struct rv_encoder encoder;
        char out[RV_ENCODE_ROOM_MIN];
        size_t written;
        rv_bytes octets = rv_slice(content, 50000);
        assert_int_equal(rv_encoder_begin(&encoder, *coding, 0), RV_OK);
        assert_int_equal(
            rv_encoder_feed(&encoder, &octets, RV_ENCODE_END, out, sizeof out, &written),
            RV_PENDING);
        rv_encoder_end(&encoder);
    }
}

static void a_coding_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct rv_encoder encoder;
    assert_int_equal(rv_encoder_begin(&encoder, RV_CODING_IDENTITY, 0), RV_EINVAL);
    assert_int_equal(rv_encoder_begin(&encoder, RV_CODINGS, 0), RV_EINVAL);
    rv_encoder_end(&encoder);
    bool has[RV_CODINGS] = {false};
    FOR_EACH_CODING(coding)
    {
        assert_false(has[*coding]);
        has[*coding] = true;
        assert_int_equal(rv_encoder_begin(&encoder, *coding, -1), RV_EINVAL);
        assert_int_equal(rv_encoder_begin(&encoder, *coding, 100), RV_EINVAL);
    }
    for (size_t i = RV_CODING_GZIP; i < RV_CODINGS; i++) {
        rv_error error = rv_encoder_begin(&encoder, (enum rv_coding)i, 1);
        assert_int_equal(error, has[i] ? RV_OK : RV_EINVAL);
        rv_encoder_end(&encoder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_of_any_length_is_read_back),
        cmocka_unit_test(every_level_is_read_back),
        cmocka_unit_test(pieces_and_rooms_of_any_size_give_the_same_content),
        cmocka_unit_test(what_was_flushed_can_be_read_before_the_end),
        cmocka_unit_test(a_flush_of_nothing_new_ends),
        cmocka_unit_test(nothing_is_taken_after_the_end),
        cmocka_unit_test(an_encoder_may_be_ended_in_the_middle),
        cmocka_unit_test(a_coding_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
