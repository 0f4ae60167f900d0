/*
 * How far does a run of allowed octets reach? The inner loops of the head parser: each function
 * returns the number of leading octets of `at` that belong to its class, never more than `limit`.
 * With SSE2 sixteen octets are looked at in one step; a scalar twin gives the same answers on
 * every machine and to the tests. Both may READ up to RV_SCAN_PADDING octets behind `at + limit`,
 * but never let them decide anything: whoever owns the buffer keeps them readable
 * (base/buffer.h).
 *
 * The runs of a head are short, so that a call would cost as much as the scan: the sixteen-octet
 * steps are inline.
 */
#ifndef RV_HTTP_SCAN_H
#define RV_HTTP_SCAN_H

#include "base/buffer.h"
#include "base/bytes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* tchar, RFC 9110 section 5.6.2. */
extern const unsigned char rv_token_table[256]; /* 1: tchar */

static inline bool rv_is_token_char(char c)
{
    return rv_token_table[(unsigned char)c] != 0;
}

/* True for a non-empty token. */
bool rv_is_token(rv_bytes text);

/* tchar. */
static inline size_t rv_scan_token(const char *at, size_t limit);
size_t rv_scan_token_scalar(const char *at, size_t limit);

/* Octets of a request target: 0x21 to 0x7e without "#", which no form of target has (RFC 9112
   section 3.2). */
static inline size_t rv_scan_target(const char *at, size_t limit);
size_t rv_scan_target_scalar(const char *at, size_t limit);

/* The same without "?": the path of a target. `*is_plain` becomes false when there is a "%", or a
   dot right behind a slash, among the octets counted; else true. */
static inline size_t rv_scan_path(const char *at, size_t limit, bool *is_plain);
size_t rv_scan_path_scalar(const char *at, size_t limit, bool *is_plain);

/* Octets of a field value: HTAB, 0x20 to 0x7e, 0x80 to 0xff (RFC 9110 section 5.5). */
static inline size_t rv_scan_value(const char *at, size_t limit);
size_t rv_scan_value_scalar(const char *at, size_t limit);

/* The octets that nearly every host consists of: letters, digits, "-" and ".". */
static inline size_t rv_scan_host(const char *at, size_t limit);
size_t rv_scan_host_scalar(const char *at, size_t limit);

/* Where the head ends: the octets before the first LF behind which an empty line follows, ended by CRLF
   or by LF alone. `limit` when that line is not there as a whole. */
static inline size_t rv_scan_before_empty_line(const char *at, size_t limit);
size_t rv_scan_before_empty_line_scalar(const char *at, size_t limit);

/* ---- sixteen octets in a step ---------------------------------------------------------------- */

#if defined(__SSE2__)

static inline __m128i rv_scan_load(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i rv_scan_equal(__m128i octets, char c)
{
    return _mm_cmpeq_epi8(octets, _mm_set1_epi8(c));
}

/* SSE2 has no unsigned comparison: what the smaller one leaves as it is, is not above it. */
static inline __m128i rv_scan_at_most(__m128i octets, char most)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(octets, _mm_set1_epi8(most)), octets);
}

static inline __m128i rv_scan_alphanumeric(__m128i octets)
{
    __m128i lower = _mm_or_si128(octets, _mm_set1_epi8(0x20));
    return _mm_or_si128(rv_scan_at_most(_mm_sub_epi8(lower, _mm_set1_epi8('a')), 25),
                        rv_scan_at_most(_mm_sub_epi8(octets, _mm_set1_epi8('0')), 9));
}

/* A bit for each octet that ends every target: below 0x21, above 0x7e, and "#". As signed numbers
   the octets from 0x80 on are below 0x21 too. */
static inline unsigned rv_scan_target_ends(__m128i octets)
{
    __m128i outside = _mm_cmplt_epi8(octets, _mm_set1_epi8(0x21));
    __m128i others = _mm_or_si128(rv_scan_equal(octets, 0x7f), rv_scan_equal(octets, '#'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(outside, others));
}

static inline size_t rv_scan_clip(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

/* A field name is what matters here: usual octets, and then a colon, within one step. Anything else
   is left to the twin. The place is taken from where the colon is, and the classes only confirm it:
   the next scan waits for fewer instructions then. */
static inline size_t rv_scan_token(const char *at, size_t limit)
{
    __m128i octets = rv_scan_load(at);
    __m128i usual = _mm_or_si128(rv_scan_alphanumeric(octets), rv_scan_equal(octets, '-'));
    unsigned others = (unsigned)_mm_movemask_epi8(usual) ^ 0xffff;
    unsigned colons = (unsigned)_mm_movemask_epi8(rv_scan_equal(octets, ':'));
    if (colons != 0 && (others & -others) == (colons & -colons)) {
        size_t count = (size_t)__builtin_ctz(colons);
        if (count <= limit)
            return count;
    }
    return rv_scan_token_scalar(at, limit);
}

static inline size_t rv_scan_target(const char *at, size_t limit)
{
    for (size_t count = 0; count < limit; count += 16) {
        unsigned ends = rv_scan_target_ends(rv_scan_load(at + count));
        if (ends != 0)
            return rv_scan_clip(count + (size_t)__builtin_ctz(ends), limit);
    }
    return limit;
}

static inline size_t rv_scan_path(const char *at, size_t limit, bool *is_plain)
{
    unsigned odd = 0;         /* not 0: something made the path not plain */
    unsigned after_slash = 0; /* bit 0: the octet before this block was a slash */
    for (size_t count = 0; count < limit; count += 16) {
        __m128i octets = rv_scan_load(at + count);
        unsigned ends =
            rv_scan_target_ends(octets) | (unsigned)_mm_movemask_epi8(rv_scan_equal(octets, '?'));
        unsigned slashes = (unsigned)_mm_movemask_epi8(rv_scan_equal(octets, '/'));
        unsigned dots = (unsigned)_mm_movemask_epi8(rv_scan_equal(octets, '.'));
        unsigned escapes = (unsigned)_mm_movemask_epi8(rv_scan_equal(octets, '%'));
        unsigned found = escapes | (dots & (slashes << 1 | after_slash));
        if (limit - count < 16)
            ends |= 1U << (limit - count);
        if (ends != 0) {
            unsigned before_end = (ends & -ends) - 1;
            *is_plain = (odd | (found & before_end)) == 0;
            return count + (size_t)__builtin_ctz(ends);
        }
        odd |= found;
        after_slash = slashes >> 15;
    }
    *is_plain = odd == 0;
    return limit;
}

static inline size_t rv_scan_value(const char *at, size_t limit)
{
    for (size_t count = 0; count < limit; count += 16) {
        __m128i octets = rv_scan_load(at + count);
        __m128i controls =
            _mm_andnot_si128(rv_scan_equal(octets, '\t'), rv_scan_at_most(octets, 0x1f));
        unsigned ends =
            (unsigned)_mm_movemask_epi8(_mm_or_si128(controls, rv_scan_equal(octets, 0x7f)));
        if (ends != 0)
            return rv_scan_clip(count + (size_t)__builtin_ctz(ends), limit);
    }
    return limit;
}

static inline size_t rv_scan_host(const char *at, size_t limit)
{
    for (size_t count = 0; count < limit; count += 16) {
        __m128i octets = rv_scan_load(at + count);
        __m128i marks = _mm_or_si128(rv_scan_equal(octets, '.'), rv_scan_equal(octets, '-'));
        unsigned ends =
            (unsigned)_mm_movemask_epi8(_mm_or_si128(rv_scan_alphanumeric(octets), marks)) ^ 0xffff;
        if (ends != 0)
            return rv_scan_clip(count + (size_t)__builtin_ctz(ends), limit);
    }
    return limit;
}

static inline size_t rv_scan_before_empty_line(const char *at, size_t limit)
{
    for (size_t count = 0; count < limit; count += 16) {
        __m128i second = rv_scan_load(at + count + 1);
        __m128i third = rv_scan_load(at + count + 2);
        __m128i crlf = _mm_and_si128(rv_scan_equal(second, '\r'), rv_scan_equal(third, '\n'));
        __m128i empty = _mm_or_si128(rv_scan_equal(second, '\n'), crlf);
        __m128i ends = _mm_and_si128(rv_scan_equal(rv_scan_load(at + count), '\n'), empty);
        unsigned found = (unsigned)_mm_movemask_epi8(ends);
        if (found != 0) {
            size_t place = count + (size_t)__builtin_ctz(found);
            return place + (at[place + 1] == '\n' ? 1 : 2) < limit ? place : limit;
        }
    }
    return limit;
}

#else

static inline size_t rv_scan_token(const char *at, size_t limit)
{
    return rv_scan_token_scalar(at, limit);
}

static inline size_t rv_scan_target(const char *at, size_t limit)
{
    return rv_scan_target_scalar(at, limit);
}

static inline size_t rv_scan_path(const char *at, size_t limit, bool *is_plain)
{
    return rv_scan_path_scalar(at, limit, is_plain);
}

static inline size_t rv_scan_value(const char *at, size_t limit)
{
    return rv_scan_value_scalar(at, limit);
}

static inline size_t rv_scan_host(const char *at, size_t limit)
{
    return rv_scan_host_scalar(at, limit);
}

static inline size_t rv_scan_before_empty_line(const char *at, size_t limit)
{
    return rv_scan_before_empty_line_scalar(at, limit);
}

#endif
#endif
