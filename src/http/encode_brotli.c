/*
 * br (RFC 7932) through libbrotlienc.
 */
#include "http/encode_inner.h"

#include <brotli/encode.h>

static void *begin(int level)
{
    BrotliEncoderState *state = BrotliEncoderCreateInstance(NULL, NULL, NULL);
    if (state != NULL) {
        BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, (uint32_t)level);
        BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, RV_ENCODE_WINDOW_BITS);
    }
    return state;
}

static rv_error feed(void *state, rv_bytes *octets, enum rv_encode_goal goal, char *out,
                     size_t room, size_t *written)
{
    static const BrotliEncoderOperation operations[] = {
        BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_FLUSH, BROTLI_OPERATION_FINISH};
    size_t left = room;
    const uint8_t *next_in = (const uint8_t *)octets->ptr;
    uint8_t *next_out = (uint8_t *)out;
    BROTLI_BOOL is_good = BrotliEncoderCompressStream(state, operations[goal], &octets->len,
                                                      &next_in, &left, &next_out, NULL);
    octets->ptr = (const char *)next_in;
    *written = room - left;
    if (!is_good)
        return RV_ENOMEM; /* the arguments are good: nothing else can fail */
    bool is_done = octets->len == 0 && !BrotliEncoderHasMoreOutput(state) &&
                   (goal != RV_ENCODE_END || BrotliEncoderIsFinished(state));
    return is_done ? RV_OK : RV_PENDING;
}

static void end(void *state)
{
    BrotliEncoderDestroyInstance(state);
}

const struct rv_encoder_kind rv_encoder_brotli = {
    .level_max = 11, .level_default = 4, .begin = begin, .feed = feed, .end = end};
