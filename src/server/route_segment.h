/*
 * One segment of a route's pattern: what kind it is, the names it gives to parameters, and whether a
 * segment of a path is of that kind. Knows nothing of trees.
 */
#ifndef RV_SERVER_ROUTE_SEGMENT_H
#define RV_SERVER_ROUTE_SEGMENT_H

#include "base/bytes.h"

/* In the order of precedence. */
enum rv_segment_kind {
    RV_SEGMENT_LITERAL,
    RV_SEGMENT_INT,    /* {name:int} */
    RV_SEGMENT_DATE,   /* {name:date} */
    RV_SEGMENT_DOTTED, /* {name}.{ext} */
    RV_SEGMENT_PARAM,  /* {name} */
    RV_SEGMENT_REST,   /* {name...} */
    RV_SEGMENT_MALFORMED
};

#define RV_SEGMENT_NAMES_MAX 2

/* Reads a segment of a pattern; `names` gets the names of its parameters, `*count` how many there are. */
enum rv_segment_kind rv_segment_parse(rv_bytes segment, rv_bytes names[RV_SEGMENT_NAMES_MAX],
                                      unsigned *count);

/* A decimal integer that an int64_t can hold; perhaps percent-encoded. */
bool rv_segment_is_int(rv_bytes segment);

/* A date of RFC 3339, with a time or without; perhaps percent-encoded, with `plus` as in a query. */
bool rv_segment_is_date(rv_bytes segment, bool plus);

/* Parts a segment at its last dot, with something on both sides. */
bool rv_segment_part(rv_bytes segment, rv_bytes *name, rv_bytes *extension);

#endif
