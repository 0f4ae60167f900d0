/*
 * The chunked transfer coding, decoding side (RFC 9112 section 7.1): octets in, runs of chunk
 * data out, in place. It is called again and again with what has arrived and keeps only a few
 * numbers between calls; the trailer section is left to rv_h1_parse_trailers. Sizes are 1*HEXDIG
 * and nothing else; lines end with CRLF and nothing else; extensions are checked, bounded and
 * dropped.
 */
#ifndef RV_HTTP_CHUNKED_H
#define RV_HTTP_CHUNKED_H

#include "base/bytes.h"

#define RV_CHUNK_LINE_BYTES_MAX 4096 /* size and extensions of one chunk */

struct rv_chunked {
    uint64_t left;        /* data octets of the current chunk still to come */
    uint32_t line_octets; /* of the chunk line so far */
    uint8_t state;        /* inner */
    uint8_t digits;
};

enum rv_chunked_result {
    RV_CHUNKED_DATA,       /* `*data` is the next run; call again with the rest */
    RV_CHUNKED_INCOMPLETE, /* all octets are used up, more are needed */
    RV_CHUNKED_LAST,       /* the last chunk's line is read: the trailer section follows */
    RV_CHUNKED_ERROR       /* `*reason` says what was wrong: 400 and close */
};

void rv_chunked_init(struct rv_chunked *chunked);

/* Takes octets from the front of `*octets` (which is shortened by what was used). Never yields an
   empty run of data. */
enum rv_chunked_result rv_chunked_next(struct rv_chunked *chunked, rv_bytes *octets, rv_bytes *data,
                                       const char **reason);

/* How many of the octets that come next are data of the current chunk. */
uint64_t rv_chunked_data_left(const struct rv_chunked *chunked);

/* Passes over that many of them (at most rv_chunked_data_left), which the caller has dropped. */
void rv_chunked_skip(struct rv_chunked *chunked, uint64_t count);

#endif
