/*
 * The decoders (decode.h).
 */
#include "support/decode.h"

#include <string.h>

#ifdef RV_WITH_GZIP
#include <zlib.h>
#endif
#ifdef RV_WITH_BROTLI
#include <brotli/decode.h>
#endif
#ifdef RV_WITH_ZSTD
#include <zstd.h>
#endif

static struct decoded decode_gzip(rv_bytes octets, char *out, size_t room)
{
    struct decoded decoded = {0};
#ifdef RV_WITH_GZIP
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)octets.ptr,
                       .avail_in = (uInt)octets.len,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)room};
    inflateInit2(&stream, 31);
    int result = inflate(&stream, Z_SYNC_FLUSH);
    decoded.bad = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    decoded.length = room - stream.avail_out;
    decoded.whole = result == Z_STREAM_END && stream.avail_in == 0;
    inflateEnd(&stream);
#else
    (void)octets, (void)out, (void)room;
#endif
    return decoded;
}

static struct decoded decode_brotli(rv_bytes octets, char *out, size_t room)
{
    struct decoded decoded = {0};
#ifdef RV_WITH_BROTLI
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    const uint8_t *in = (const uint8_t *)octets.ptr;
    uint8_t *to = (uint8_t *)out;
    size_t left = room;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state, &octets.len, &in, &left, &to, NULL);
    decoded.bad = result == BROTLI_DECODER_RESULT_ERROR;
    decoded.length = room - left;
    decoded.whole = result == BROTLI_DECODER_RESULT_SUCCESS && octets.len == 0;
    BrotliDecoderDestroyInstance(state);
#else
    (void)octets, (void)out, (void)room;
#endif
    return decoded;
}

static struct decoded decode_zstd(rv_bytes octets, char *out, size_t room)
{
    struct decoded decoded = {0};
#ifdef RV_WITH_ZSTD
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_inBuffer in = {octets.ptr, octets.len, 0};
    ZSTD_outBuffer to = {out, room, 0};
    size_t result = 1;
    while (in.pos < in.size && result != 0 && !decoded.bad && to.pos < to.size) {
        result = ZSTD_decompressStream(context, &to, &in);
        decoded.bad = ZSTD_isError(result);
    }
    decoded.length = to.pos;
    decoded.whole = result == 0 && in.pos == in.size;
    ZSTD_freeDCtx(context);
#else
    (void)octets, (void)out, (void)room;
#endif
    return decoded;
}

struct decoded decode(enum rv_coding coding, rv_bytes octets, char *out, size_t room)
{
    switch (coding) {
    case RV_CODING_GZIP:
        return decode_gzip(octets, out, room);
    case RV_CODING_BROTLI:
        return decode_brotli(octets, out, room);
    case RV_CODING_ZSTD:
        return decode_zstd(octets, out, room);
    default:
        break;
    }
    struct decoded plain = {octets.len, true, octets.len > room};
    if (!plain.bad && octets.len > 0)
        memcpy(out, octets.ptr, octets.len);
    return plain;
}

enum rv_coding coding_of_name(const char *name)
{
    enum rv_coding coding = RV_CODING_IDENTITY;
    while (name != NULL && coding < RV_CODINGS && !rv_equals(rv_coding_name(coding), name))
        coding++;
    return coding;
}
