/*
 * The head of an HTTP/1 response, as a client sees it (RFC 9112): octets in, one struct out. The twin of
 * h1_parse.h for the other direction, and as stateless: it is given everything that has arrived of the
 * head and finds it complete, wrong, or asks to be called again with more. Unlike a server it is lenient
 * where the framing is not in doubt: a bare LF ends a line, a reason phrase may be missing, fields may
 * be folded, a value may have control octets. It must measure every server. What would leave the end of
 * the message in doubt is refused. The content behind the head is h1_drain.h's.
 */
#ifndef RV_HTTP_H1_RESPONSE_H
#define RV_HTTP_H1_RESPONSE_H

#include "http/h1_parse.h"

#define RV_H1_MALFORMED (-1)

struct rv_h1_response {
    uint32_t length; /* of the head with the empty line */
    int status;      /* 100 to 999 */
    uint8_t minor;   /* 0 or 1 (1.2 and later count as 1.1) */
    bool has_content_length;
    bool chunked;         /* the last transfer coding is chunked: it wins over Content-Length */
    bool keep_alive;      /* persistence by the rules of its version (RFC 9112 section 9.3), and of
                                section 6.1: never with both lengths, nor with a transfer coding in 1.0 */
    bool says_keep_alive; /* "Connection: keep-alive" is there */
    bool coded_until_close;  /* a transfer coding whose last one is not chunked (section 6.3) */
    uint64_t content_length; /* at most 2^63 - 1; only when has_content_length */
    struct rv_span server;   /* value of the first Server field; empty: none */
};

/*
 * RV_H1_COMPLETE, RV_H1_INCOMPLETE, or RV_H1_MALFORMED: then `*reason` is a static sentence. A head that
 * has reached `head_bytes_max` octets without its end is malformed. `octets[length]` up to
 * RV_SCAN_PADDING octets behind must be readable. Interim responses (1xx) are responses like others:
 * the caller parses again behind them.
 *
 * After RV_H1_INCOMPLETE the caller calls again from the beginning, with more. Malformed is final, and
 * found as soon as the octets that make it are there; behind the first 1024 octets only when the empty
 * line is there, too, or the limit is reached, so that a large head may come in any pieces.
 */
int rv_h1_parse_response(const char *octets, size_t length, uint32_t head_bytes_max,
                         struct rv_h1_response *response, const char **reason);

/* How the end of the content is found (RFC 9112 section 6.3). */
enum rv_h1_framing {
    RV_H1_FRAMING_NONE, /* HEAD, 1xx, 204, 304 */
    RV_H1_FRAMING_LENGTH,
    RV_H1_FRAMING_CHUNKED,
    RV_H1_FRAMING_UNTIL_CLOSE /* such a connection is not used again, whatever keep_alive says */
};

enum rv_h1_framing rv_h1_response_framing(const struct rv_h1_response *response, bool to_head);

#endif
