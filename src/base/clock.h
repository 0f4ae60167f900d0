/*
 * Time as the rest of the house sees it: milliseconds that only go forward, and the wall clock's
 * seconds. Both read the kernel's coarse clocks, which cost a few nanoseconds and are right to a
 * tick (1 to 4 ms). It owns nothing; the sim back end has a clock of its own.
 */
#ifndef RV_BASE_CLOCK_H
#define RV_BASE_CLOCK_H

#include <stdint.h>

uint64_t rv_clock_monotonic_ms(void);
int64_t rv_clock_wall_s(void); /* seconds since 1970-01-01T00:00:00Z */

#endif
