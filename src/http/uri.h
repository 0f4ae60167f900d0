/*
 * Targets: percent-decoding, dot segments, authorities (RFC 3986, RFC 9112 section 3.2).
 * Works from one view into the caller's memory; allocates nothing.
 */
#ifndef RV_HTTP_URI_H
#define RV_HTTP_URI_H

#include "base/bytes.h"

/* uri-host [ ":" port ] with a host that is not empty (a name, an IPv4 address or an IP literal in
   brackets) and a port that is empty or 0..65535. No userinfo. */
bool rv_authority_is_valid(rv_bytes authority);

/* The parts of a valid authority, or of the absent one. The host of an IPv6 address keeps its brackets; the port is -1
   where there is none. */
rv_bytes rv_authority_host(rv_bytes authority);
int rv_authority_port(rv_bytes authority);

enum rv_path_result {
    RV_PATH_OK,
    RV_PATH_BAD_ESCAPE, /* "%" without two hexadecimal digits */
    RV_PATH_NUL,        /* %00 */
    RV_PATH_ABOVE_ROOT  /* ".." that leads above "/", or that an escaped slash hides in a segment */
};

/*
 * A raw path ("/a%20b/../c") to two forms at once, both without dot segments ("." and "..", also when
 * they are spelled with %2e):
 *  `raw_out`      still percent-encoded ("/c"): what segments are split on, so that %2F never splits one;
 *  `decoded_out`  percent-decoded ("/c").
 * Each has room for `path.len` octets; nothing is terminated. Double slashes are kept. Only one decoding.
 */
enum rv_path_result rv_path_normalise(rv_bytes path, char *raw_out, size_t *raw_length,
                                      char *decoded_out, size_t *decoded_length);

/* True when two hexadecimal digits follow every "%". */
bool rv_percent_is_valid(rv_bytes text);

/* Percent-decodes into `out` (room for text.len); with `plus` a "+" is a space (form and query).
   A "%" that no two digits follow is kept as it is. Returns the length. */
size_t rv_percent_decode(rv_bytes text, bool plus, char *out);

/* Percent-encodes a path, or a part of one, so that it can stand in a URI reference anywhere: all but
   unreserved octets, "/", "@" and the sub-delims other than ";" and the apostrophe. `out` has room for
   3 * path.len. Returns the length. */
size_t rv_percent_encode_path(rv_bytes path, char *out);

/* True when `encoded` decodes (once; the second: with plus) to exactly `plain`. */
bool rv_percent_equal(rv_bytes encoded, rv_bytes plain);
bool rv_percent_plus_equal(rv_bytes encoded, rv_bytes plain);

#endif
