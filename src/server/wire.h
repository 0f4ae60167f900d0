/*
 * The wire side of a response: what a talk has to say becomes HTTP/1 octets in its connection's
 * stream. Worker thread only. The verbs check and the wire writes: nothing here refuses what an
 * application asked for, except for a client that has gone.
 */
#ifndef RV_SERVER_WIRE_H
#define RV_SERVER_WIRE_H

#include "server/talk.h"

/* Head, content and end of a whole answer. Takes over the content: its `release` will be called, its
   file closed. `content_type` may be NULL. */
rv_error rv_wire_answer(struct rv_talk *talk, const char *content_type,
                        const struct rv_content *content);

/* The head of a streamed response, unless it has been sent. `length`: RV_LENGTH_UNKNOWN for chunked. */
rv_error rv_wire_begin(struct rv_talk *talk, uint64_t length);

/* A piece of a streamed response. `release` as of rv_stream_write_borrowed. */
rv_error rv_wire_piece(struct rv_talk *talk, rv_bytes piece);
rv_error rv_wire_borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                          void *ctx);

/* The end of a streamed response. */
rv_error rv_wire_end(struct rv_talk *talk);

/* 100 Continue, if it is due. */
void rv_wire_continue(struct rv_talk *talk);

/* A refusal without a talk, `Connection: close`: the head could not be read. */
void rv_wire_refuse(struct rv_conn *conn, int status, const char *reason);

/* Gives back what a content holds that is not going to be sent. */
void rv_content_drop(const struct rv_content *content);

#endif
