/*
 * What a coding is to encode.c: three functions and the range of its levels. One file each,
 * encode_gzip.c, encode_brotli.c and encode_zstd.c, of which a build may lack any.
 */
#ifndef RV_HTTP_ENCODE_INNER_H
#define RV_HTTP_ENCODE_INNER_H

#include "http/encode.h"

/* How far back a match may lie is 2 to this. More would serve files better, but each answer under way
   has such a window, and most are smaller. */
#define RV_ENCODE_WINDOW_BITS 18

struct rv_encoder_kind {
    int level_max;
    /* What costs little while it still makes much smaller. Of a page of 20 KiB: gzip 4 makes 4906 octets
       in 183 us, br 4 4755 in 183 us, zstd 3 5036 in 63 us; one level more is 20 %, 45 % and 80 % slower. */
    int level_default;
    /* NULL: no memory. */
    void *(*begin)(int level);
    /* As rv_encoder_feed, with arguments that are good; `*written` is 0. */
    rv_error (*feed)(void *state, rv_bytes *octets, enum rv_encode_goal goal, char *out,
                     size_t room, size_t *written);
    /* Forgets what was put in. NULL: the library has no such thing. */
    bool (*restart)(void *state);
    void (*end)(void *state);
};

extern const struct rv_encoder_kind rv_encoder_gzip;
extern const struct rv_encoder_kind rv_encoder_brotli;
extern const struct rv_encoder_kind rv_encoder_zstd;

#endif
