/*
 * The head and the framing of an HTTP/1 response, as a client sees them (RFC 9112): octets in, one
 * struct out. The twin of h1_parse.h for the other direction, and as stateless: it is given everything
 * that has arrived of the head and finds it complete, wrong, or asks to be called again with more.
 * Unlike a server it is lenient about line ends (a bare LF ends a line, section 2.2) and about a missing
 * reason phrase: it must measure every server. What would leave the framing in doubt is refused.
 */
#ifndef RV_HTTP_H1_RESPONSE_H
#define RV_HTTP_H1_RESPONSE_H

#include "http/chunked.h"
#include "http/h1_parse.h"

#define RV_H1_MALFORMED (-1)

struct rv_h1_response {
    uint32_t length; /* of the head with the empty line */
    int status;      /* 100 to 999 */
    uint8_t minor;   /* 0 or 1 */
    bool has_content_length;
    bool chunked;            /* the last transfer coding is chunked */
    bool keep_alive;         /* persistence by the rules of its version (RFC 9112 section 9.3) */
    bool says_keep_alive;    /* "Connection: keep-alive" is there */
    bool coded_until_close;  /* a transfer coding whose last one is not chunked (section 6.3) */
    uint64_t content_length; /* only when has_content_length */
    struct rv_span server;   /* value of the first Server field; empty: none */
};

/*
 * RV_H1_COMPLETE, RV_H1_INCOMPLETE, or RV_H1_MALFORMED: then `*reason` is a static sentence. A head that
 * has reached `head_bytes_max` octets without its end is malformed. `octets[length]` up to
 * RV_SCAN_PADDING octets behind must be readable. Interim responses (1xx) are responses like others:
 * the caller parses again behind them.
 */
int rv_h1_parse_response(const char *octets, size_t length, uint32_t head_bytes_max,
                         struct rv_h1_response *response, const char **reason);

/* How the end of the content is found (RFC 9112 section 6.3). */
enum rv_h1_framing {
    RV_FRAMING_NONE, /* HEAD, 1xx, 204, 304 */
    RV_FRAMING_LENGTH,
    RV_FRAMING_CHUNKED,
    RV_FRAMING_UNTIL_CLOSE
};

enum rv_h1_framing rv_h1_response_framing(const struct rv_h1_response *response, bool to_head);

/* ---- content that is counted and not kept --------------------------------------------------------- */

struct rv_h1_drain {
    enum rv_h1_framing framing;
    bool in_trailers;
    bool line_is_empty; /* of the trailer line so far */
    uint32_t trailer_octets;
    uint64_t left;    /* of a length: octets to come */
    uint64_t content; /* octets of content that have come, without chunk lines and trailers */
    struct rv_chunked chunked;
};

enum rv_h1_drain_result {
    RV_DRAIN_MORE, /* all octets are used up, and more are to come (UNTIL_CLOSE: perhaps) */
    RV_DRAIN_DONE, /* the content has ended; what is left in `*octets` belongs to the next response */
    RV_DRAIN_MALFORMED
};

void rv_h1_drain_start(struct rv_h1_drain *drain, enum rv_h1_framing framing, uint64_t length);

/* Takes octets from the front of `*octets`. RV_DRAIN_DONE at once for NONE and a length of 0. */
enum rv_h1_drain_result rv_h1_drain_next(struct rv_h1_drain *drain, rv_bytes *octets,
                                         const char **reason);

/* How many of the octets that come next are content and nothing else: they may be dropped without
   being looked at. UINT64_MAX: all there are, until the close. */
uint64_t rv_h1_drain_skippable(const struct rv_h1_drain *drain);

/* That many (at most rv_h1_drain_skippable) were dropped. DONE or MORE. */
enum rv_h1_drain_result rv_h1_drain_skipped(struct rv_h1_drain *drain, uint64_t count);

#endif
