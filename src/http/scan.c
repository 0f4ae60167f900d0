/*
 * The scanners of scan.h: one table of classes for single octets, and loops that look at sixteen
 * octets in a step where the machine has SSE2. Each loop has a scalar twin that says the same in one
 * line; the tests hold them against each other. This file knows classes of octets and nothing of
 * HTTP's grammar. It allocates nothing.
 */
#include "http/scan.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

const unsigned char rv_token_table[256] = {
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1, ['!'] = 1, ['#'] = 1, ['$'] = 1,
    ['%'] = 1,         ['&'] = 1,         ['\''] = 1,        ['*'] = 1, ['+'] = 1, ['-'] = 1,
    ['.'] = 1,         ['^'] = 1,         ['_'] = 1,         ['`'] = 1, ['|'] = 1, ['~'] = 1,
};

bool rv_is_token(rv_bytes text)
{
    return text.len > 0 && rv_scan_token(text.ptr, text.len) == text.len;
}

size_t rv_scan_token(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && rv_is_token_char(at[count]))
        count++;
    return count;
}

static inline bool is_target_octet(char c)
{
    return c > 0x20 && c < 0x7f && c != '#';
}

static inline bool is_value_octet(char c)
{
    unsigned char octet = (unsigned char)c;
    return octet == '\t' || (octet >= 0x20 && octet != 0x7f);
}

size_t rv_scan_target_scalar(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && is_target_octet(at[count]))
        count++;
    return count;
}

size_t rv_scan_path_scalar(const char *at, size_t limit, bool *is_plain)
{
    size_t count = 0;
    bool plain = true;
    for (; count < limit && is_target_octet(at[count]) && at[count] != '?'; count++) {
        if (at[count] == '%' || (at[count] == '.' && count > 0 && at[count - 1] == '/'))
            plain = false;
    }
    *is_plain = plain;
    return count;
}

size_t rv_scan_value_scalar(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && is_value_octet(at[count]))
        count++;
    return count;
}

#if defined(__SSE2__)

static inline size_t clip(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

static inline __m128i load(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i equal(__m128i octets, char c)
{
    return _mm_cmpeq_epi8(octets, _mm_set1_epi8(c));
}

static inline unsigned mask_of(__m128i flags)
{
    return (unsigned)_mm_movemask_epi8(flags);
}

/* Octets that end every target: below 0x21, above 0x7e, and "#". SSE2 compares signed octets, so one
   comparison finds both the controls and everything from 0x80 on. */
static inline __m128i ends_target(__m128i octets)
{
    return _mm_or_si128(_mm_cmplt_epi8(octets, _mm_set1_epi8(0x21)),
                        _mm_or_si128(equal(octets, 0x7f), equal(octets, '#')));
}

size_t rv_scan_target(const char *at, size_t limit)
{
    for (size_t count = 0; count < limit; count += 16) {
        unsigned ends = mask_of(ends_target(load(at + count)));
        if (ends != 0)
            return clip(count + (size_t)__builtin_ctz(ends), limit);
    }
    return limit;
}

size_t rv_scan_path(const char *at, size_t limit, bool *is_plain)
{
    unsigned odd = 0;         /* a bit for each octet that makes the path not plain */
    unsigned after_slash = 0; /* bit 0: the octet before this block was a slash */
    for (size_t count = 0; count < limit; count += 16) {
        __m128i octets = load(at + count);
        unsigned ends = mask_of(_mm_or_si128(ends_target(octets), equal(octets, '?')));
        unsigned slashes = mask_of(equal(octets, '/'));
        unsigned dots = mask_of(equal(octets, '.')) & (slashes << 1 | after_slash);
        unsigned found = mask_of(equal(octets, '%')) | dots;
        if (limit - count < 16)
            ends |= 1U << (limit - count);
        if (ends != 0) {
            unsigned last = (unsigned)__builtin_ctz(ends);
            *is_plain = (odd | (found & ((1U << last) - 1))) == 0;
            return count + last;
        }
        odd |= found;
        after_slash = slashes >> 15;
    }
    *is_plain = odd == 0;
    return limit;
}

size_t rv_scan_value(const char *at, size_t limit)
{
    const __m128i last_control = _mm_set1_epi8(0x1f);
    for (size_t count = 0; count < limit; count += 16) {
        __m128i octets = load(at + count);
        __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(octets, last_control), octets);
        __m128i ends =
            _mm_or_si128(_mm_andnot_si128(equal(octets, '\t'), controls), equal(octets, 0x7f));
        unsigned mask = mask_of(ends);
        if (mask != 0)
            return clip(count + (size_t)__builtin_ctz(mask), limit);
    }
    return limit;
}

#else

size_t rv_scan_target(const char *at, size_t limit)
{
    return rv_scan_target_scalar(at, limit);
}

size_t rv_scan_path(const char *at, size_t limit, bool *is_plain)
{
    return rv_scan_path_scalar(at, limit, is_plain);
}

size_t rv_scan_value(const char *at, size_t limit)
{
    return rv_scan_value_scalar(at, limit);
}

#endif
