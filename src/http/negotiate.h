/*
 * Which content coding an answer gets: Accept-Encoding with its weights (RFC 9110 section 12.5.3)
 * against the codings that we have, and whether content of a type is worth it. Never 406: who accepts
 * nothing that we have gets the content as it is.
 */
#ifndef RV_HTTP_NEGOTIATE_H
#define RV_HTTP_NEGOTIATE_H

#include "base/bytes.h"

enum rv_coding {
    RV_CODING_IDENTITY,
    RV_CODING_GZIP,
    RV_CODING_BROTLI,
    RV_CODING_ZSTD,
    RV_CODINGS /* how many */
};

/* As Content-Encoding says it: "gzip", "br", "zstd"; "identity". */
rv_bytes rv_coding_name(enum rv_coding coding);

/*
 * The coding with the highest weight; of several with the same the one that comes first in `ours`, the
 * codings that we can give in our order of preference, without identity. Identity is chosen when the
 * field is absent or empty, when it is named with a higher weight than any of ours, and when none of
 * ours is accepted. An element that is malformed is passed over. Of a coding that is there twice the
 * lower weight counts: content that is larger is better than content that cannot be read.
 */
enum rv_coding rv_negotiate_coding(rv_bytes accept_encoding, const enum rv_coding *ours,
                                   size_t count);

/* A weight in thousandths (RFC 9110 section 12.4.2). False: it is none. */
bool rv_weight_parse(rv_bytes text, unsigned *thousandths);

/* Does a media type, whatever its parameters, match a pattern? That is a type, or the beginning of one
   with "*" behind it, or the end of one with "*" before it ("*+json"). Any case. */
bool rv_type_matches(rv_bytes content_type, rv_bytes pattern);

/* Types that compression makes smaller. Not among them: what is compressed already, and
   text/event-stream, whose events are small and must not wait. */
bool rv_type_is_compressible(rv_bytes content_type);

#endif
