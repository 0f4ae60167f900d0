/*
 * Targets: percent-decoding, dot segments, queries, authorities (RFC 3986, RFC 9112 section 3.2).
 * Works from one view into the caller's memory; allocates nothing.
 */
#ifndef RV_HTTP_URI_H
#define RV_HTTP_URI_H

#include "base/bytes.h"

/* uri-host [ ":" port ] with a host that is not empty (a name, an IPv4 address or an IP literal in
   brackets) and a port that is empty or 0..65535. No userinfo. */
bool rv_authority_is_valid(rv_bytes authority);

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

/* Percent-decodes into `out` (room for text.len); with `plus` a "+" is a space (form and query).
   A "%" that no two digits follow is kept as it is. Returns the length. */
size_t rv_percent_decode(rv_bytes text, bool plus, char *out);

/* True when `encoded` decodes (once, without plus) to exactly `plain`. */
bool rv_percent_equal(rv_bytes encoded, rv_bytes plain);

/* The next name=value pair of a query or an urlencoded form, both still encoded; `*value` is the
   absent view when there is no "=". Empty pairs are passed over. Shortens `*query`. False: no more. */
bool rv_query_next(rv_bytes *query, rv_bytes *name, rv_bytes *value);

/* The next pair of a Cookie field (RFC 6265 section 4.2): split at ";", trimmed, quotes are part of
   the value; pairs without "=" or with an empty name are passed over. Shortens `*cookies`. */
bool rv_cookie_next(rv_bytes *cookies, rv_bytes *name, rv_bytes *value);

#endif
