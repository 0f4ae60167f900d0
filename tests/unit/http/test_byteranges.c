/*
 * Several ranges as one content: what stands between them, and that the length is that of what is
 * written, for any ranges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "http/byteranges.h"
#include "random.h"

#define BOUNDARY "0123456789abcdef0000000000000001"

static struct rv_byteranges made(const struct rv_range *ranges, size_t count, uint64_t size)
{
    struct rv_byteranges byteranges = {
        .content_type = RV_LIT("text/plain"), .size = size, .ranges = ranges, .count = count};
    const uint64_t random[2] = {UINT64_C(0xfedcba9876543210), UINT64_C(0x1000000000000000)};
    rv_byteranges_set_boundary(&byteranges, random);
    return byteranges;
}

static void assert_head(const struct rv_byteranges *byteranges, size_t index, const char *expected)
{
    size_t room = rv_byteranges_head_room(byteranges);
    char *out = malloc(room);
    assert_non_null(out);
    size_t length = rv_byteranges_head_write(byteranges, index, out);
    assert_true(length <= room);
    if (!rv_bytes_equal(rv_slice(out, length), rv_str(expected)))
        fail_msg("head %zu is \"%.*s\"", index, (int)length, out);
    free(out);
}

static void heads_stand_before_between_and_behind_the_ranges(void **state)
{
    (void)state;
    const struct rv_range ranges[] = {{0, 10}, {95, 5}};
    struct rv_byteranges byteranges = made(ranges, 2, 100);
    assert_head(&byteranges, 0,
                "--" BOUNDARY "\r\nContent-Type: text/plain\r\n"
                "Content-Range: bytes 0-9/100\r\n\r\n");
    assert_head(&byteranges, 1,
                "\r\n--" BOUNDARY "\r\nContent-Type: text/plain\r\n"
                "Content-Range: bytes 95-99/100\r\n\r\n");
    assert_head(&byteranges, 2, "\r\n--" BOUNDARY "--\r\n");
    byteranges.content_type = (rv_bytes){0};
    assert_head(&byteranges, 0, "--" BOUNDARY "\r\nContent-Range: bytes 0-9/100\r\n\r\n");
}

static void the_type_names_the_boundary(void **state)
{
    (void)state;
    struct rv_byteranges byteranges = made(NULL, 0, 0);
    char type[RV_BYTERANGES_TYPE_LENGTH + 1] = {0};
    rv_byteranges_type_write(&byteranges, type);
    assert_string_equal(type, "multipart/byteranges; boundary=" BOUNDARY);
}

static void the_length_is_that_of_what_is_written(void **state)
{
    (void)state;
    uint64_t random = 17;
    for (int round = 0; round < 20000; round++) {
        struct rv_range ranges[8];
        size_t count = 1 + random_below(&random, 8);
        uint64_t size = 1 + random_of_any_size(&random, 60), length, expected = 0;
        for (size_t i = 0; i < count; i++) {
            ranges[i].first = random_below(&random, size);
            ranges[i].length = 1 + random_below(&random, size - ranges[i].first);
        }
        struct rv_byteranges byteranges = made(ranges, count, size);
        if (random_below(&random, 2) == 0)
            byteranges.content_type = (rv_bytes){0};
        char head[512];
        assert_true(rv_byteranges_head_room(&byteranges) <= sizeof head);
        for (size_t i = 0; i <= count; i++)
            expected +=
                rv_byteranges_head_write(&byteranges, i, head) + (i < count ? ranges[i].length : 0);
        assert_int_equal(rv_byteranges_length(&byteranges, &length), expected <= INT64_MAX);
        if (expected <= INT64_MAX)
            assert_int_equal(length, expected);
    }
}

static void a_length_that_no_content_may_have_is_refused(void **state)
{
    (void)state;
    uint64_t length;
    const struct rv_range wrapping[] = {{0, UINT64_MAX}, {0, UINT64_MAX}};
    struct rv_byteranges byteranges = made(wrapping, 2, UINT64_MAX);
    assert_false(rv_byteranges_length(&byteranges, &length));
    const struct rv_range large[] = {{0, INT64_MAX}};
    byteranges = made(large, 1, INT64_MAX);
    assert_false(rv_byteranges_length(&byteranges, &length));
}

static void each_random_number_makes_its_own_boundary(void **state)
{
    (void)state;
    struct rv_byteranges a = {0}, b = {0};
    for (int bit = 0; bit < 128; bit++) {
        uint64_t random[2] = {0, 0};
        rv_byteranges_set_boundary(&a, random);
        random[bit / 64] = UINT64_C(1) << bit % 64;
        rv_byteranges_set_boundary(&b, random);
        assert_memory_not_equal(a.boundary, b.boundary, sizeof a.boundary);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_stand_before_between_and_behind_the_ranges),
        cmocka_unit_test(the_type_names_the_boundary),
        cmocka_unit_test(the_length_is_that_of_what_is_written),
        cmocka_unit_test(a_length_that_no_content_may_have_is_refused),
        cmocka_unit_test(each_random_number_makes_its_own_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
