/*
 * zlib's other half (inflated.h).
 */
#include "fuzz/support/inflated.h"

#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"

#include <stdlib.h>
#include <zlib.h>

struct fuzz_inflated {
    z_stream stream;
    bool is_whole;
};

struct fuzz_inflated *fuzz_inflated_begin(void)
{
    struct fuzz_inflated *inflated = fuzz_memory_take(sizeof *inflated);
    REQUIRE(inflateInit2(&inflated->stream, 31) == Z_OK);
    return inflated;
}

void fuzz_inflate(struct fuzz_inflated *inflated, rv_bytes octets,
                  void (*tell)(void *owner, rv_bytes octets), void *owner)
{
    z_stream *stream = &inflated->stream;
    char room[4096];
    REQUIRE(octets.len == 0 || !inflated->is_whole);
    stream->next_in = (Bytef *)(uintptr_t)octets.ptr;
    stream->avail_in = (uInt)octets.len;
    do {
        stream->next_out = (Bytef *)room;
        stream->avail_out = sizeof room;
        int result = inflate(stream, Z_SYNC_FLUSH);
        REQUIRE(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
        inflated->is_whole = inflated->is_whole || result == Z_STREAM_END;
        if (stream->avail_out < sizeof room)
            tell(owner, rv_slice(room, sizeof room - stream->avail_out));
    } while (stream->avail_out == 0);
    REQUIRE(stream->avail_in == 0);
}

bool fuzz_inflated_is_whole(const struct fuzz_inflated *inflated)
{
    return inflated->is_whole;
}

void fuzz_inflated_end(struct fuzz_inflated **inflated)
{
    if (*inflated != NULL)
        inflateEnd(&(*inflated)->stream);
    free(*inflated);
    *inflated = NULL;
}
