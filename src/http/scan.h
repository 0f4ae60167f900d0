/*
 * How far does a run of allowed octets reach? The inner loops of the head parser: each function
 * returns the number of leading octets of `at` that belong to its class, never more than `limit`.
 * With SSE2 sixteen octets are looked at in one step; a scalar twin gives the same answers on every
 * machine and to the tests. Both may READ up to RV_SCAN_PADDING octets behind `at + limit`, but never
 * let them decide anything: whoever owns the buffer keeps them readable (base/buffer.h).
 */
#ifndef RV_HTTP_SCAN_H
#define RV_HTTP_SCAN_H

#include "base/buffer.h"
#include "base/bytes.h"

/* tchar, RFC 9110 section 5.6.2. */
extern const unsigned char rv_token_table[256]; /* 1: tchar */

static inline bool rv_is_token_char(char c)
{
    return rv_token_table[(unsigned char)c] != 0;
}

/* True for a non-empty token. */
bool rv_is_token(rv_bytes text);

/* Octets of a request target: 0x21 to 0x7e without "#", which no form of target has (RFC 9112
   section 3.2). */
size_t rv_scan_target(const char *at, size_t limit);
size_t rv_scan_target_scalar(const char *at, size_t limit);

/* The same without "?": the path of a target. `*is_plain` becomes false when there is a "%", or a dot
   right behind a slash, among the octets counted. */
size_t rv_scan_path(const char *at, size_t limit, bool *is_plain);
size_t rv_scan_path_scalar(const char *at, size_t limit, bool *is_plain);

/* Octets of a field value: HTAB, 0x20 to 0x7e, 0x80 to 0xff (RFC 9110 section 5.5). */
size_t rv_scan_value(const char *at, size_t limit);
size_t rv_scan_value_scalar(const char *at, size_t limit);

/* tchar. */
size_t rv_scan_token(const char *at, size_t limit);

#endif
