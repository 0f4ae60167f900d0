/*
 * gzip (RFC 1952) through zlib.
 */
#include "http/encode_inner.h"

#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

enum { GZIP_WRAPPER = 16, DEFLATE_WINDOW_BITS = 15, MEMORY_LEVEL = 8 /* zlib's own default */ };

static void *begin(int level)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream != NULL &&
        deflateInit2(stream, level, Z_DEFLATED, GZIP_WRAPPER + DEFLATE_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

static uInt clip(size_t count)
{
    return count < UINT_MAX ? (uInt)count : UINT_MAX;
}

static rv_error feed(void *state, rv_bytes *octets, enum rv_encode_goal goal, char *out,
                     size_t room, size_t *written)
{
    static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    z_stream *stream = state;
    stream->next_out = (Bytef *)out;
    stream->avail_out = clip(room);
    while (stream->avail_out > 0) {
        uInt offered = clip(octets->len);
        bool is_all = offered == octets->len;
        stream->next_in = (const Bytef *)octets->ptr;
        stream->avail_in = offered;
        int result = deflate(stream, is_all ? flushes[goal] : Z_NO_FLUSH);
        octets->ptr += offered - stream->avail_in;
        octets->len -= offered - stream->avail_in;
        *written = (size_t)((char *)stream->next_out - out);
        if (result == Z_STREAM_ERROR)
            return RV_ESTATE;
        /* Z_BUF_ERROR: there was nothing left to do. Room left over means the same. */
        if (result == Z_STREAM_END || result == Z_BUF_ERROR)
            return RV_OK;
        if (stream->avail_out > 0 && octets->len == 0 && goal != RV_ENCODE_END)
            return RV_OK;
    }
    return RV_PENDING;
}

static bool restart(void *state)
{
    return deflateReset(state) == Z_OK;
}

static void end(void *state)
{
    deflateEnd(state);
    free(state);
}

const struct rv_encoder_kind rv_encoder_gzip = {.level_max = 9,
                                                .level_default = 4,
                                                .begin = begin,
                                                .feed = feed,
                                                .restart = restart,
                                                .end = end};
