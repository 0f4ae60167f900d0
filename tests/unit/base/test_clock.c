/*
 * Facts about the two clocks, against the kernel's own.
 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static uint64_t kernel_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void monotonic_time_is_the_kernels_to_the_millisecond(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t before = kernel_ms();
        uint64_t now = rv_clock_monotonic_ms();
        uint64_t after = kernel_ms();
        assert_true(before <= now);
        assert_true(now <= after);
    }
}

static void monotonic_time_goes_on_and_never_back(void **state)
{
    (void)state;
    uint64_t begin = rv_clock_monotonic_ms();
    uint64_t last = begin;
    uint64_t give_up = kernel_ms() + 5000;
    while (last < begin + 20 && kernel_ms() < give_up) {
        uint64_t now = rv_clock_monotonic_ms();
        assert_true(now >= last);
        last = now;
    }
    assert_true(last >= begin + 20);
}

static void wall_time_is_seconds_since_1970(void **state)
{
    (void)state;
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_REALTIME, &before);
    int64_t wall = rv_clock_wall_s();
    clock_gettime(CLOCK_REALTIME, &after);
    assert_true(wall >= before.tv_sec - 1);
    assert_true(wall <= after.tv_sec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_is_the_kernels_to_the_millisecond),
        cmocka_unit_test(monotonic_time_goes_on_and_never_back),
        cmocka_unit_test(wall_time_is_seconds_since_1970),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
