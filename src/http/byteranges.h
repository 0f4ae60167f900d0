/*
 * Several ranges as one content: multipart/byteranges (RFC 9110 section 14.6). Gives what stands
 * before, between and behind the ranges, and how long all of it is; the octets of the ranges are sent
 * by whoever has them.
 */
#ifndef RV_HTTP_BYTERANGES_H
#define RV_HTTP_BYTERANGES_H

#include "http/range.h"

#define RV_BYTERANGES_BOUNDARY_LENGTH 32

struct rv_byteranges {
    char boundary[RV_BYTERANGES_BOUNDARY_LENGTH];
    rv_bytes content_type; /* of the representation; absent: none is said */
    uint64_t size;         /* of the representation */
    const struct rv_range *ranges;
    size_t count;
};

/* Random numbers make a boundary that is not in the data. Nothing else is set. */
void rv_byteranges_set_boundary(struct rv_byteranges *byteranges, const uint64_t random[2]);

/* "multipart/byteranges; boundary=" and the boundary, not terminated. */
#define RV_BYTERANGES_TYPE_LENGTH (31 + RV_BYTERANGES_BOUNDARY_LENGTH)
void rv_byteranges_type_write(const struct rv_byteranges *byteranges, char *out);

/* The most that rv_byteranges_head_write can write. */
size_t rv_byteranges_head_room(const struct rv_byteranges *byteranges);

/* What stands before the range at `index`; for `index` == count what stands behind the last one. Not
   terminated. Returns the length. */
size_t rv_byteranges_head_write(const struct rv_byteranges *byteranges, size_t index, char *out);

/* The length of all heads and ranges together. False: it is past 2^63 - 1, which no content may have. */
bool rv_byteranges_length(const struct rv_byteranges *byteranges, uint64_t *length);

#endif
