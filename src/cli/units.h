/*
 * Numbers as people write them: 10k, 1.5M, 250us, 5s, 10MiB, 20k/s.
 */
#ifndef RV_CLI_UNITS_H
#define RV_CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* False for anything but a number with one of the units, for a negative one, and for one that
   does not fit. Fractions are fine where the result is a whole number ("1.5k"). */
bool rv_units_count(const char *text, uint64_t *count);    /* k M G: powers of 1000 */
bool rv_units_bytes(const char *text, uint64_t *bytes);    /* k M G, kB MB GB; KiB MiB GiB */
bool rv_units_duration_us(const char *text, uint64_t *us); /* us ms s m h; none: seconds */
bool rv_units_rate(const char *text, double *per_second);  /* 20k, 20k/s, 600/m */

/* Calls `each` for every item of "10,20,30"; false as soon as one call or the list is not good. */
bool rv_units_list(const char *text, bool (*each)(const char *item, void *ctx), void *ctx);

#endif
