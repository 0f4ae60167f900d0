/*
 * Encoders for responses. To make one costs a good part of what compressing a page does, since its tables
 * are large and must be cleared; so each worker keeps one of each coding when it is done, for the next.
 * A pool thread makes its own.
 */
#ifndef RV_SERVER_ENCODERS_H
#define RV_SERVER_ENCODERS_H

#include "http/encode.h"
#include "server/talk.h"

/* As rv_encoder_begin. */
rv_error rv_encoder_take(struct rv_talk *talk, enum rv_coding coding, int level,
                         struct rv_encoder *encoder);

/* In the stead of rv_encoder_end. */
void rv_encoder_give(struct rv_talk *talk, struct rv_encoder *encoder);

/* Frees what a worker keeps. */
void rv_encoders_free(struct rv_worker *worker);

#endif
