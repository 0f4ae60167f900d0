/*
 * What the two files of the shaper share (shaper.h).
 */
#ifndef RV_SERVER_SHAPER_INNER_H
#define RV_SERVER_SHAPER_INNER_H

#include "base/buffer.h"
#include "server/shaper.h"

#include <stdlib.h>

/* What is compressed in one go goes through this much of the stack. */
#define RV_SHAPER_STEP_BYTES (16 * 1024)

enum rv_shaper_phase {
    RV_SHAPER_PASSING,   /* octets go on as they are */
    RV_SHAPER_BUFFERING, /* they are collected, and the head waits */
    RV_SHAPER_ENCODING,  /* they are compressed */
    RV_SHAPER_REFUSING   /* they were written without a length that is needed */
};

/* In the talk's arena, but for what is owned. */
struct rv_shaper {
    enum rv_shaper_phase phase;
    bool holds;                /* the encoder has taken octets that a client could not read yet */
    bool has_sent;             /* octets of the encoder have left */
    bool pumps;                /* a large whole answer: the two at the end are set */
    struct rv_encoder encoder; /* owned; in ENCODING */
    struct rv_buffer buffer;   /* owned; in BUFFERING */
    struct rv_fields_before before; /* of the response, had it not been compressed */
    struct rv_content content;      /* owned */
    uint64_t pumped;                /* of it */
};

/* The talk's shaper, PASSING; NULL: no memory. */
struct rv_shaper *rv_shaper_make(struct rv_talk *talk);

/* Compresses octets, and sends what comes out. As rv_send_piece; RV_ENOMEM: and the encoder is of no more
   use. */
int rv_shaper_encode(struct rv_talk *talk, rv_bytes octets, enum rv_encode_goal goal);

#endif
