/*
 * Forms that are taken part by part (rv_on_parts): a multipart reader (http/multipart.h) between the pieces
 * of a streamed body and the functions of the program. Worker thread only.
 *
 * A piece may hold many parts. When the program pauses in the middle of one, what is left of it is held
 * here, a piece at most, and comes before anything else when the body goes on.
 */
#ifndef RV_SERVER_PARTS_H
#define RV_SERVER_PARTS_H

#include "server/talk.h"

/* As rv_on_parts, for a body that need be no form: it is one part, of which nothing is known. */
int rv_parts_take_body(struct rv_talk *talk, const rv_parts *acceptor, void *ctx);

/* The form will not be read to its end: the program is told, once. Without effect when it was, or when all
   was read. */
void rv_parts_abandon(struct rv_talk *talk, rv_error reason);

/* Octets, or the end, that a pause has left over. */
struct rv_parts_held {
    struct rv_buffer octets;
    bool last;
};

bool rv_parts_hold(const struct rv_talk *talk);
struct rv_parts_held rv_parts_take_held(struct rv_talk *talk);

#endif
