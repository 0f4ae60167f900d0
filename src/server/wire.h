/*
 * The wire side of a response: what a talk has to say becomes octets in its connection's stream, in the
 * form of the protocol that it speaks. Worker thread only. The verbs check and the wire writes: nothing
 * here refuses what an application asked for, except for a client that has gone.
 */
#ifndef RV_SERVER_WIRE_H
#define RV_SERVER_WIRE_H

#include "server/talk.h"

/* What a talk needs of the protocol that its connection speaks. While talk->conn is there. */
struct rv_wire {
    /* Head, content and end of a whole answer. Takes over the content: its `release` will be called, its
       file closed. `content_type` may be NULL. */
    rv_error (*answer)(struct rv_talk *talk, const char *content_type,
                       const struct rv_content *content);
    /* The head of a streamed response, unless it has been sent. `length`: RV_LENGTH_UNKNOWN: to the end. */
    rv_error (*begin)(struct rv_talk *talk, uint64_t length);
    /* A piece of a streamed response. `release` as of rv_stream_write_borrowed. */
    rv_error (*piece)(struct rv_talk *talk, rv_bytes piece);
    rv_error (*borrowed)(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                         void *ctx);
    /* The end of a streamed response. */
    rv_error (*end)(struct rv_talk *talk);
    /* 100 Continue, if it is due. */
    void (*go_on)(struct rv_talk *talk);
    /* Octets of the response that are queued because the client takes no more. */
    uint64_t (*queued)(const struct rv_talk *talk);
    /* talk->drained will be called when there is room again. */
    void (*want_drain)(struct rv_talk *talk);
    /* The request's body is not going to be read to its end. */
    void (*abandon_body)(struct rv_talk *talk);
    /* Something has changed outside of the connection's own calls: goes on. The talk may be gone then. */
    void (*advance)(struct rv_talk *talk);
};

/* What the responses of this second have in common. */
const struct rv_h1_preamble *rv_wire_preamble(struct rv_worker *worker);

/* Counts a response by its class. */
void rv_wire_count(struct rv_worker *worker, int status);

/* Gives back what a content holds that is not going to be sent. */
void rv_content_drop(const struct rv_content *content);

#endif
