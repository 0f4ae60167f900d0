/*
 * What a client has asked for: the octets that it has sent on one connection, read as a sequence of
 * requests by a reader that has everything in one piece, never waits and never answers. It is the
 * measure for what a server makes of the same octets. Heads and chunks are read by the library's
 * own parsers, which have fuzz targets of their own; where one request ends and the next begins is
 * decided here anew (RFC 9112 section 6.3).
 */
#ifndef FUZZ_REQUESTS_H
#define FUZZ_REQUESTS_H

#include "base/buffer.h"
#include "http/chunked.h"
#include "http/h1_parse.h"

enum {
    FUZZ_SENT_MAX = 96 * 1024, /* octets of one connection */
    FUZZ_REQUESTS_MAX = FUZZ_SENT_MAX / 16,
    FUZZ_FIELDS_MAX = 32
};

struct fuzz_request {
    rv_bytes target;
    bool is_head;
    bool keep_alive;
    bool expects_continue;
    uint8_t minor;
    uint64_t content_length; /* 0 when it has none */
    bool is_whole;           /* the body has been sent to its end */
    rv_bytes body;           /* what has been sent of it, without framing */
};

enum fuzz_requests_phase {
    FUZZ_IN_HEAD,
    FUZZ_IN_LENGTH,
    FUZZ_IN_CHUNKS,
    FUZZ_IN_TRAILERS,
    FUZZ_LOST /* behind a fault: nothing more can be read */
};

struct fuzz_requests {
    struct rv_h1_limits limits;
    enum fuzz_requests_phase phase;
    bool expects_continue; /* one of them does */
    uint64_t left;         /* of a Content-Length */
    struct rv_chunked chunked;
    size_t length; /* octets in `sent` ... */
    size_t at;     /* ... and those that have been read */
    size_t bodies_length;
    size_t count;
    struct fuzz_request all[FUZZ_REQUESTS_MAX];
    char sent[FUZZ_SENT_MAX + RV_SCAN_PADDING];
    char bodies[FUZZ_SENT_MAX];
};

/* Forgets everything. `limits` are those of the server. */
void fuzz_requests_begin(struct fuzz_requests *requests, const struct rv_h1_limits *limits);

/* How many octets more can be taken. */
static inline size_t fuzz_requests_room(const struct fuzz_requests *requests)
{
    return FUZZ_SENT_MAX - requests->length;
}

void fuzz_requests_add(struct fuzz_requests *requests, rv_bytes octets);

#endif
