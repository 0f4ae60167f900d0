/*
 * The content of one response on its way from the verbs to the wire, in an app that has a say about it
 * (shaping.h): collected until its length is known, or compressed. On the thread that runs the handler: a
 * pool thread compresses what it writes.
 *
 *                        +-- over the bound --> PASSING or ENCODING ----+
 *      first write --> BUFFERING                                        +--> the end
 *           |            +-- rv_end --> becomes a whole answer          |
 *           +------------------------> PASSING or ENCODING -------------+
 *
 * A whole answer is compressed at once, and keeps a Content-Length; a large one piece by piece, as the
 * client takes it. Without memory for that the content goes out as it is, as long as the head has not left.
 */
#ifndef RV_SERVER_SHAPER_H
#define RV_SERVER_SHAPER_H

#include "server/reply.h"
#include "server/shaping.h"

/* ---- whole answers (shape_whole.c) ---------------------------------------------------------------------- */

/* The rest of rv_answer, once the status is set. Takes the content over. */
rv_error rv_shape_answer(struct rv_talk *talk, const char *content_type,
                         const struct rv_content *content);

/* Worker: sends a whole answer as if it were streamed (talk->in_pieces). Takes the content over. */
rv_error rv_send_in_pieces(struct rv_talk *talk, const struct rv_content *content);

/* ---- streamed responses (shaper.c) ---------------------------------------------------------------------- */

/* Before the first write: `*collects` tells whether the head stays where it is for now. RV_ENOLENGTH: the
   framing is raw, and no length is set. */
rv_error rv_shape_begin(struct rv_talk *talk, bool *collects);

/* Octets are being collected. */
bool rv_shape_collects(const struct rv_talk *talk);

/* As rv_send_piece and rv_send_borrowed. */
int rv_shape_write(struct rv_talk *talk, rv_bytes piece);
int rv_shape_write_borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                            void *ctx);

/* At the end, before the wire's. `*answered`: it has become a whole answer, and nothing is left to do.
   `empty`: nothing was written. */
rv_error rv_shape_end(struct rv_talk *talk, bool empty, bool *answered);

/* Worker: the handler has returned for now: what it has written can be read by the client. */
rv_error rv_shape_flush(struct rv_talk *talk);

/* Gives back what is held, and forgets what was decided. */
void rv_shape_drop(struct rv_talk *talk);

#endif
