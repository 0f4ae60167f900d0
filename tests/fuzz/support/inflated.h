/*
 * Content that comes in gzip, read as it comes. For judges: the memory is the coding library's own, and
 * never runs out.
 */
#ifndef FUZZ_INFLATED_H
#define FUZZ_INFLATED_H

#include "base/bytes.h"

struct fuzz_inflated;

/* Never NULL. */
struct fuzz_inflated *fuzz_inflated_begin(void);

/* Tells of all that can be read now. What is no gzip, or comes behind its end, fails. */
void fuzz_inflate(struct fuzz_inflated *inflated, rv_bytes octets,
                  void (*tell)(void *owner, rv_bytes octets), void *owner);

bool fuzz_inflated_is_whole(const struct fuzz_inflated *inflated);

/* NULL is allowed, and what is left. */
void fuzz_inflated_end(struct fuzz_inflated **inflated);

#endif
