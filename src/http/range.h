/*
 * Byte ranges of a representation (RFC 9110 section 14). Decides; sends nothing. What several ranges
 * are sent as is byteranges.h.
 */
#ifndef RV_HTTP_RANGE_H
#define RV_HTTP_RANGE_H

#include "base/bytes.h"

/* first .. first + length - 1, all of it within the representation; length is not 0. */
struct rv_range {
    uint64_t first;
    uint64_t length;
};

enum rv_range_result {
    RV_RANGE_NONE,    /* no range applies: unknown unit, bad syntax, too many ranges: answer 200 */
    RV_RANGE_ONE,     /* 206 with ranges[0] */
    RV_RANGE_SEVERAL, /* 206 with `*count` parts, in the order asked for */
    RV_RANGE_UNSATISFIABLE /* 416 */
};

/*
 * `value` is the Range field; `ranges` has room for `ranges_max`, at least 1, and what is in it counts
 * only with a 206. first-pos past the end, and a suffix of length 0, are unsatisfiable; a last-pos past
 * the end is clipped; an empty representation has no satisfiable range. Numbers past 2^64 are treated
 * as very large, never wrapped.
 *
 * More than `ranges_max` ranges are no range at all: a server may always send the whole instead, and so
 * hundreds of them cost nothing (sections 14.2 and 17.15). Those that overlap become one, at the place
 * of the first of them, so that no octet is sent twice.
 */
enum rv_range_result rv_range_decide(rv_bytes value, uint64_t size, struct rv_range *ranges,
                                     size_t ranges_max, size_t *count);

/* "bytes 18446744073709551615-18446744073709551615/18446744073709551615" */
#define RV_CONTENT_RANGE_MAX 68

/* The value of Content-Range, not terminated; for NULL that of a 416. Returns the length. */
size_t rv_content_range_write(const struct rv_range *range, uint64_t size, char *out);

#endif
