/*
 * Facts about h2_watch.c: frames are seen by their heads however their octets are cut, and what may come
 * on streams that are no more.
 */
#include "http/h2_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

static struct rv_h2_watch watch;

static int set_up(void **state)
{
    (void)state;
    watch = (struct rv_h2_watch){0};
    return 0;
}

/* What a run of octets tells, each frame as its type, 'L' for a priority that depends on itself, 'P' for
   padding alone. */
static size_t look(rv_bytes octets, char *seen, size_t room)
{
    size_t count = 0, used;
    while (octets.len > 0) {
        enum rv_h2_seen what = rv_h2_watch_next(&watch, octets, &used);
        assert_true(used <= octets.len);
        octets = rv_slice(octets.ptr + used, octets.len - used);
        if (what != RV_H2_SEEN_NOTHING && count < room)
            seen[count++] = what == RV_H2_SEEN_LOOP      ? 'L'
                            : what == RV_H2_SEEN_PADDING ? 'P'
                                                         : (char)('0' + watch.frame.type);
    }
    return count;
}

static uint32_t check(uint8_t type, uint32_t stream, bool is_open)
{
    watch.frame = (struct rv_h2_frame){.type = type, .stream = stream};
    return rv_h2_watch_check(&watch, is_open);
}

static void a_head_of_a_frame_is_read(void **state)
{
    (void)state;
    size_t used;
    rv_bytes octets = RV_LIT("\0\1\2\0\5\x80\0\0\3");
    assert_int_equal(rv_h2_watch_next(&watch, octets, &used), RV_H2_SEEN_FRAME);
    assert_int_equal(used, RV_H2_FRAME_HEAD_BYTES);
    assert_int_equal(watch.frame.length, 258);
    assert_int_equal(watch.frame.type, RV_H2_DATA);
    assert_int_equal(watch.frame.flags, 5);
    assert_int_equal(watch.frame.stream, 3); /* without the reserved bit */
}

#define SOME_FRAMES                                                                                \
    "\0\0\0\4\0\0\0\0\0"                                                                           \
    "\0\0\5\2\0\0\0\0\3\0\0\0\3\7"                                                                 \
    "\0\0\4\x08\0\0\0\0\0\0\0\0\1"                                                                 \
    "\0\0\5\2\0\0\0\0\3\0\0\0\1\7"                                                                 \
    "\0\0\3\0\1\0\0\0\3abc"                                                                        \
    "\0\0\3\0\x08\0\0\0\3\2\0\0"                                                                   \
    "\0\0\3\0\x08\0\0\0\3\1a\0"

static void frames_are_the_same_however_they_are_cut(void **state)
{
    (void)state;
    rv_bytes all = RV_LIT(RV_H2_PREFACE SOME_FRAMES);
    uint64_t seed = 1;
    for (uint64_t turn = 0; turn < 300; turn++) {
        char seen[16];
        size_t count = 0;
        watch = (struct rv_h2_watch){.preface_left = RV_H2_PREFACE_BYTES};
        for (size_t at = 0; at < all.len;) {
            size_t run = (size_t)random_below(&seed, turn % 20 + 1) + 1;
            run = run < all.len - at ? run : all.len - at;
            count += look(rv_slice(all.ptr + at, run), seen + count, sizeof seen - count);
            at += run;
        }
        assert_int_equal(count, 9);
        assert_memory_equal(seen, "42L8200P0", 9);
    }
}

static void a_stream_opens_with_headers(void **state)
{
    (void)state;
    assert_int_equal(check(RV_H2_HEADERS, 1, false), 0);
    assert_int_equal(check(RV_H2_HEADERS, 3, false), 0);
    assert_int_equal(check(RV_H2_DATA, 3, true), 0);
    assert_int_equal(watch.last_opened, 3);
}

static void a_stream_that_has_ended_is_closed(void **state)
{
    (void)state;
    check(RV_H2_HEADERS, 1, false);
    assert_int_equal(check(RV_H2_DATA, 1, false), RV_H2_STREAM_CLOSED);
    assert_int_equal(check(RV_H2_HEADERS, 1, false), RV_H2_STREAM_CLOSED);
}

static void a_stream_that_was_passed_over_is_a_wrong_number(void **state)
{
    (void)state;
    check(RV_H2_HEADERS, 1, false);
    check(RV_H2_HEADERS, 9, false);
    assert_int_equal(check(RV_H2_HEADERS, 5, false), RV_H2_PROTOCOL_ERROR);
    assert_int_equal(check(RV_H2_HEADERS, 1, false), RV_H2_STREAM_CLOSED);
    assert_int_equal(check(RV_H2_HEADERS, 7, false), RV_H2_PROTOCOL_ERROR);
}

static void what_comes_behind_a_reset_was_on_its_way(void **state)
{
    (void)state;
    check(RV_H2_HEADERS, 1, false);
    rv_h2_watch_reset(&watch, 1);
    assert_int_equal(check(RV_H2_DATA, 1, false), 0);
    /* Until so many others were reset that it is forgotten. */
    for (uint32_t i = 0; i < RV_H2_RESET_MAX; i++)
        rv_h2_watch_reset(&watch, 3 + 2 * i);
    assert_int_equal(check(RV_H2_DATA, 1, false), RV_H2_STREAM_CLOSED);
}

static void what_comes_behind_the_last_stream_was_on_its_way(void **state)
{
    (void)state;
    check(RV_H2_HEADERS, 1, false);
    watch.ended = true;
    watch.last_taken = 1;
    assert_int_equal(check(RV_H2_HEADERS, 3, false), 0);
    assert_int_equal(check(RV_H2_DATA, 3, false), 0);
    assert_int_equal(check(RV_H2_DATA, 1, false), RV_H2_STREAM_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup(name, set_up)
        FACT(a_head_of_a_frame_is_read),
        FACT(frames_are_the_same_however_they_are_cut),
        FACT(a_stream_opens_with_headers),
        FACT(a_stream_that_has_ended_is_closed),
        FACT(a_stream_that_was_passed_over_is_a_wrong_number),
        FACT(what_comes_behind_a_reset_was_on_its_way),
        FACT(what_comes_behind_the_last_stream_was_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
