/*
 * The content of a response that is counted and not kept: its octets go through here and only their
 * number stays. It can also say how many octets are certainly content, so that they may be dropped
 * without being read at all (MSG_TRUNC). A few numbers between calls, so that it makes no difference
 * where the octets were cut or which of them were dropped.
 */
#ifndef RV_HTTP_H1_DRAIN_H
#define RV_HTTP_H1_DRAIN_H

#include "http/chunked.h"
#include "http/h1_response.h"

#define RV_TRAILER_BYTES_MAX 65536 /* the trailer section of a chunked response */

struct rv_h1_drain {
    enum rv_h1_framing framing;
    uint8_t trailer; /* inner: where in the trailer section */
    uint32_t trailer_octets;
    uint64_t left;    /* of a length: octets to come */
    uint64_t content; /* octets of content that have come, without chunk lines and trailers */
    struct rv_chunked chunked;
};

enum rv_h1_drain_result {
    RV_DRAIN_MORE, /* all octets are used up, and more are to come (UNTIL_CLOSE: perhaps) */
    RV_DRAIN_DONE, /* the content has ended; what is left in `*octets` belongs to the next response */
    RV_DRAIN_MALFORMED /* `*reason` is a static sentence that says what was wrong */
};

/* `length` counts for RV_H1_FRAMING_LENGTH only. */
void rv_h1_drain_start(struct rv_h1_drain *drain, enum rv_h1_framing framing, uint64_t length);

/* Takes octets from the front of `*octets`. RV_DRAIN_DONE at once for NONE and a length of 0. DONE and
   MALFORMED are final: called again, it takes nothing and says the same. */
enum rv_h1_drain_result rv_h1_drain_next(struct rv_h1_drain *drain, rv_bytes *octets,
                                         const char **reason);

/* How many of the octets that come next are content and nothing else: they may be dropped without
   being looked at. UINT64_MAX: all there are, until the close. */
uint64_t rv_h1_drain_skippable(const struct rv_h1_drain *drain);

/* That many (at most rv_h1_drain_skippable) were dropped. DONE or MORE. */
enum rv_h1_drain_result rv_h1_drain_skipped(struct rv_h1_drain *drain, uint64_t count);

#endif
