/*
 * The one interface (encode.h): looks up the coding, checks arguments and states once for all of them.
 */
#include "http/encode_inner.h"

static const struct rv_encoder_kind *const kinds[RV_CODINGS] = {
#ifdef RV_WITH_GZIP
    [RV_CODING_GZIP] = &rv_encoder_gzip,
#endif
#ifdef RV_WITH_BROTLI
    [RV_CODING_BROTLI] = &rv_encoder_brotli,
#endif
#ifdef RV_WITH_ZSTD
    [RV_CODING_ZSTD] = &rv_encoder_zstd,
#endif
    [RV_CODING_IDENTITY] = NULL};

const enum rv_coding *rv_encoder_codings(size_t *count)
{
    static const enum rv_coding codings[] = {
#ifdef RV_WITH_ZSTD
        RV_CODING_ZSTD,
#endif
#ifdef RV_WITH_BROTLI
        RV_CODING_BROTLI,
#endif
#ifdef RV_WITH_GZIP
        RV_CODING_GZIP,
#endif
        RV_CODING_IDENTITY};
    *count = sizeof codings / sizeof *codings - 1;
    return codings;
}

int rv_encoder_level_max(enum rv_coding coding)
{
    const struct rv_encoder_kind *kind = coding < RV_CODINGS ? kinds[coding] : NULL;
    return kind == NULL ? 0 : kind->level_max;
}

rv_error rv_encoder_begin(struct rv_encoder *encoder, enum rv_coding coding, int level)
{
    *encoder = (struct rv_encoder){0};
    const struct rv_encoder_kind *kind = coding < RV_CODINGS ? kinds[coding] : NULL;
    if (kind == NULL || level < 0 || level > kind->level_max)
        return RV_EINVAL;
    void *state = kind->begin(level > 0 ? level : kind->level_default);
    if (state == NULL)
        return RV_ENOMEM;
    *encoder = (struct rv_encoder){.kind = kind, .state = state, .coding = coding, .level = level};
    return RV_OK;
}

bool rv_encoder_restart(struct rv_encoder *encoder)
{
    if (encoder->kind == NULL || encoder->kind->restart == NULL ||
        !encoder->kind->restart(encoder->state))
        return false;
    encoder->has_ended = false;
    return true;
}

rv_error rv_encoder_feed(struct rv_encoder *encoder, rv_bytes *octets, enum rv_encode_goal goal,
                         char *out, size_t room, size_t *written)
{
    *written = 0;
    if (encoder->kind == NULL || encoder->has_ended)
        return RV_ESTATE;
    if (room < RV_ENCODE_ROOM_MIN)
        return RV_EINVAL;
    if (octets->len == 0 && goal == RV_ENCODE_ON)
        return RV_OK;
    rv_error error = encoder->kind->feed(encoder->state, octets, goal, out, room, written);
    encoder->has_ended = (error == RV_OK && goal == RV_ENCODE_END) || error < 0;
    return error;
}

void rv_encoder_end(struct rv_encoder *encoder)
{
    if (encoder->kind != NULL)
        encoder->kind->end(encoder->state);
    *encoder = (struct rv_encoder){0};
}
