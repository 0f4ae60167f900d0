/*
 * Byte ranges of a representation (RFC 9110 section 14). Decides; sends nothing.
 */
#ifndef RV_HTTP_RANGE_H
#define RV_HTTP_RANGE_H

#include "base/bytes.h"

enum rv_range_result {
    RV_RANGE_NONE, /* no range applies: unknown unit, bad syntax, several ranges: answer 200 */
    RV_RANGE_ONE,  /* 206 with first .. first + length - 1 */
    RV_RANGE_UNSATISFIABLE /* 416 with "bytes * / size" */
};

/* `value` is the Range field. first-pos past the end, and a suffix of length 0, are unsatisfiable;
   a last-pos past the end is clipped; an empty representation has no satisfiable range. Numbers past
   2^64 are treated as very large, never wrapped. */
enum rv_range_result rv_range_decide(rv_bytes value, uint64_t size, uint64_t *first,
                                     uint64_t *length);

#endif
