/*
 * One connection as its client sees it: what was sent as requests, what came back as responses, and
 * each response held against the request that it answers. The server's app (app.h) helps: its
 * responses name their target and say what their content must be. Everything that must hold of any
 * connection at any time is required here; what may depend on timers, resets and failing handlers
 * is left to the target, which asks how the conversation ended.
 *
 * On request it keeps a transcript: the responses without what may differ between two runs or two
 * ways of cutting the same octets - Date, interim responses, the chunks that content came in, and how it
 * was compressed.
 */
#ifndef FUZZ_CONVERSATION_H
#define FUZZ_CONVERSATION_H

#include "fuzz/support/requests.h"
#include "fuzz/support/responses.h"

/* What the app says about the content of a response, in the field X-Content. */
enum fuzz_content {
    FUZZ_CONTENT_ANY,
    FUZZ_CONTENT_PATTERN, /* "pattern": the octets of fuzz_pattern, X-Length of them or any */
    FUZZ_CONTENT_ECHO     /* "echo": the request's body */
};

enum {
    FUZZ_PATTERN_MAX = 128 * 1024,
    FUZZ_REQUESTS_OF_A_CONNECTION = 100 /* that the server answers */
};

/* Octets that tell their place. */
extern char fuzz_pattern[FUZZ_PATTERN_MAX];
void fuzz_pattern_make(void);

struct fuzz_transcript {
    size_t length;
    bool is_short; /* not all of it had room */
    char octets[512 * 1024];
};

struct fuzz_inflated;

struct fuzz_conversation {
    struct fuzz_requests requests;
    struct fuzz_response response;
    size_t answered; /* requests whose final response is whole */
    bool is_over;    /* a response has said that it is the last, and is whole ... */
    bool has_no_end; /* ... by its head alone: its handler may still stream what is left out */
    bool is_closed;  /* the server has closed */
    bool was_cut;    /* ... within a response */
    bool is_ending;  /* set by the target: client or server are about to end the connection */
    bool interim_seen;
    const struct fuzz_request
        *request; /* that the response at hand answers; NULL: a refused head */
    enum fuzz_content content;
    uint64_t content_length; /* as X-Length has it; the most there can be without that */
    bool has_length;
    uint64_t content_at;
    struct fuzz_inflated *inflated;     /* its content comes in gzip; NULL: as it is */
    uint64_t received;                  /* octets in all */
    struct fuzz_transcript *transcript; /* NULL: none is kept */
};

void fuzz_conversation_begin(struct fuzz_conversation *conversation,
                             const struct rv_h1_limits *limits, struct fuzz_transcript *transcript);

/* Octets that the server has taken. They must be told of before what is received after them. */
void fuzz_conversation_sent(struct fuzz_conversation *conversation, rv_bytes octets);

void fuzz_conversation_received(struct fuzz_conversation *conversation, rv_bytes octets);

/* The server has closed its side: nothing more may come. */
void fuzz_conversation_closed(struct fuzz_conversation *conversation);

#endif
