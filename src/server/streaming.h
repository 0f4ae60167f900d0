/*
 * The lower half of step 6, behind what rv_write and its kin check: a piece goes to the wire, or on a pool
 * thread to the talk's channel. On the thread that runs the handler.
 */
#ifndef RV_SERVER_STREAMING_H
#define RV_SERVER_STREAMING_H

#include "server/talk.h"

/* What the head says of the length: RV_LENGTH_UNKNOWN, or what the application has promised. */
uint64_t rv_promised_length(const struct rv_talk *talk);

/* The head, if it has not left, and a piece. As rv_write returns. */
int rv_send_piece(struct rv_talk *talk, rv_bytes piece);
int rv_send_borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx), void *ctx);

/* Worker: the head, if it has not left, and the end. */
rv_error rv_send_end(struct rv_talk *talk, uint64_t length);

/* Worker: what a write returns. After an error the talk is cut. */
int rv_write_outcome(struct rv_talk *talk, rv_error error);

#endif
