/*
 * A strict reader of HTTP/1.1 responses, for what a server under test has sent: octets in, events
 * out, in pieces of any size. It aborts at the first octet that RFC 9112 (sections 4 to 7) or RFC
 * 9110 (sections 6.6.1, 8.6, 15) does not allow a server to send, and at what this server never
 * sends: a chunk extension, an interim response but 100. It does not know what was asked: that is
 * conversation.h's business.
 */
#ifndef FUZZ_RESPONSES_H
#define FUZZ_RESPONSES_H

#include "base/bytes.h"

enum { FUZZ_RESPONSE_HEAD_MAX = 64 * 1024 };

enum fuzz_response_event {
    FUZZ_RESPONSE_MORE,    /* more octets are needed */
    FUZZ_RESPONSE_HEAD,    /* the head is read; the caller may set `without_content` */
    FUZZ_RESPONSE_CONTENT, /* `*content` is the next run of content */
    FUZZ_RESPONSE_END      /* the response is whole; the next one may begin */
};

enum fuzz_response_state {
    FUZZ_AT_HEAD,
    FUZZ_AT_CONTENT, /* the head has been told of, its framing not looked at */
    FUZZ_AT_LENGTH,
    FUZZ_AT_CHUNK_LINE,
    FUZZ_AT_CHUNK,
    FUZZ_AT_CHUNK_END,
    FUZZ_AT_TRAILERS,
    FUZZ_AT_CLOSE, /* the end of the connection ends the content */
    FUZZ_AT_END    /* all is read, the end has not been told of */
};

struct fuzz_response {
    enum fuzz_response_state state;
    int status;
    bool is_interim;
    bool says_close;
    bool chunked;
    bool has_length;
    bool without_content; /* set by the caller: it answers a HEAD */
    uint64_t length;
    uint64_t left; /* of the content, or of the chunk */
    size_t line_length;
    size_t head_length; /* with the empty line */
    char line[1024];    /* a chunk line or a trailer field */
    char head[FUZZ_RESPONSE_HEAD_MAX];
};

void fuzz_response_begin(struct fuzz_response *response);

/* Takes octets from the front of `*octets`, up to the next event. */
enum fuzz_response_event fuzz_response_next(struct fuzz_response *response, rv_bytes *octets,
                                            rv_bytes *content);

/* Is it between two responses? */
static inline bool fuzz_response_is_between(const struct fuzz_response *response)
{
    return response->state == FUZZ_AT_HEAD && response->head_length == 0;
}

/* The value of a field of the head at hand; absent when it has none of that name. */
rv_bytes fuzz_response_field(const struct fuzz_response *response, const char *name);

/* The next line of a head, without its CRLF, off the front of `*rest`; false: that was the empty
   one. */
bool fuzz_head_line(rv_bytes *rest, rv_bytes *line);

#endif
