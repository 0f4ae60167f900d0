/*
 * zstd (RFC 8878) through libzstd.
 */
#include "http/encode_inner.h"

#include <zstd.h>

static void *begin(int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context != NULL &&
        (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
         ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, RV_ENCODE_WINDOW_BITS)))) {
        ZSTD_freeCCtx(context);
        return NULL;
    }
    return context;
}

static rv_error feed(void *state, rv_bytes *octets, enum rv_encode_goal goal, char *out,
                     size_t room, size_t *written)
{
    static const ZSTD_EndDirective directives[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    ZSTD_inBuffer in = {octets->ptr, octets->len, 0};
    ZSTD_outBuffer to = {out, room, 0};
    size_t held;
    do {
        held = ZSTD_compressStream2(state, &to, &in, directives[goal]);
        if (ZSTD_isError(held))
            break;
    } while (to.pos < to.size && (in.pos < in.size || (held > 0 && goal != RV_ENCODE_ON)));
    octets->ptr += in.pos;
    octets->len -= in.pos;
    *written = to.pos;
    if (ZSTD_isError(held))
        return RV_ENOMEM; /* the arguments are good: nothing else can fail */
    return octets->len == 0 && (held == 0 || goal == RV_ENCODE_ON) ? RV_OK : RV_PENDING;
}

static bool restart(void *state)
{
    return !ZSTD_isError(ZSTD_CCtx_reset(state, ZSTD_reset_session_only));
}

static void end(void *state)
{
    ZSTD_freeCCtx(state);
}

const struct rv_encoder_kind rv_encoder_zstd = {.level_max = 19,
                                                .level_default = 3,
                                                .begin = begin,
                                                .feed = feed,
                                                .restart = restart,
                                                .end = end};
