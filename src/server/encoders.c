/*
 * The encoders that workers keep (encoders.h).
 */
#include "server/encoders.h"

rv_error rv_encoder_take(struct rv_talk *talk, enum rv_coding coding, int level,
                         struct rv_encoder *encoder)
{
    struct rv_encoder *spare = &talk->worker->encoders[coding];
    if (talk->on_pool || !rv_encoder_is_like(spare, coding, level))
        return rv_encoder_begin(encoder, coding, level);
    *encoder = *spare;
    *spare = (struct rv_encoder){0};
    return RV_OK;
}

void rv_encoder_give(struct rv_talk *talk, struct rv_encoder *encoder)
{
    enum rv_coding coding = encoder->coding;
    if (encoder->kind != NULL && !talk->on_pool && rv_encoder_restart(encoder)) {
        rv_encoder_end(&talk->worker->encoders[coding]);
        talk->worker->encoders[coding] = *encoder;
        *encoder = (struct rv_encoder){0};
    }
    rv_encoder_end(encoder);
}

void rv_encoders_free(struct rv_worker *worker)
{
    for (size_t i = 0; i < RV_CODINGS; i++)
        rv_encoder_end(&worker->encoders[i]);
}
