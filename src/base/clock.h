/*
 * Time as the rest of the house sees it: milliseconds that only go forward, and the wall clock's
 * seconds. The first is exact, since a timer must never fire early; the second is the kernel's
 * coarse clock, right to a tick (1 to 4 ms). Each costs some nanoseconds. It owns nothing; the sim
 * back end has a clock of its own.
 */
#ifndef RV_BASE_CLOCK_H
#define RV_BASE_CLOCK_H

#include <stdint.h>

uint64_t rv_clock_monotonic_ms(void);
uint64_t rv_clock_monotonic_ns(void); /* the same clock */
int64_t rv_clock_wall_s(void);        /* seconds since 1970-01-01T00:00:00Z */

/* A deadline: never, UINT64_MAX, when the sum is beyond it. */
static inline uint64_t rv_later_ms(uint64_t from_ms, uint64_t by_ms)
{
    return by_ms >= UINT64_MAX - from_ms ? UINT64_MAX : from_ms + by_ms;
}

#endif
