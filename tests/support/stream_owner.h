/*
 * The owner of a stream, as tests need one: it writes down what it is told, in order, and keeps what
 * it receives. A test may do something of its own in any of the calls. It works with every back end.
 */
#ifndef RV_TESTS_STREAM_OWNER_H
#define RV_TESTS_STREAM_OWNER_H

#include "base/buffer.h"
#include "io/stream.h"

/* A letter for each call; calls of on_data that follow each other are one 'D'. */
enum {
    OWNER_CONNECTED = 'O',
    OWNER_DATA = 'D',
    OWNER_SKIPPED = 'S',
    OWNER_END = 'E',
    OWNER_DRAIN = 'R',
    OWNER_LOST = 'L',
    OWNER_AGAIN = 'A',
    OWNER_TIMER = 'T',
    OWNER_CLOSED = 'C'
};

struct stream_owner {
    struct rv_stream stream; /* first: a stream is its owner */
    char calls[64];          /* what it was told, as a string of those letters */
    size_t call_count;
    struct rv_buffer data; /* what it received */
    rv_error lost_error;
    int error_number; /* of on_lost; -1: it was not called */
    uint64_t skip_left;
    void (*then)(struct stream_owner *owner, char call); /* done in each call; may be NULL */
    void *ctx;                                           /* of `then` */
};

/* Makes the owner and opens its stream. */
void stream_owner_open(struct stream_owner *owner, struct rv_loop *loop, int descriptor,
                       bool is_tcp);

/* Makes the owner and connects its stream; what rv_stream_connect said. When it is not 0, there is no
   stream to end. */
int stream_owner_connect(struct stream_owner *owner, struct rv_loop *loop,
                         const struct rv_connect_to *to);

/* Closes the stream unless it is closed, turns the loop until the owner knows, frees its memory. */
void stream_owner_end(struct stream_owner *owner);

bool stream_owner_is_closed(const struct stream_owner *owner);

#endif
