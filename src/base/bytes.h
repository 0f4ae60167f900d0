/*
 * Views of octets: comparing, trimming, numbers in and out. Everything here is small enough to be
 * inline and knows nothing but `rv_bytes`. It owns no memory.
 */
#ifndef RV_BASE_BYTES_H
#define RV_BASE_BYTES_H

#include <rivulet.h>
#include <string.h>

static inline rv_bytes rv_slice(const char *ptr, size_t len)
{
    return (rv_bytes){ptr, len};
}

/* ASCII only: what HTTP calls case-insensitive (RFC 9110 section 5.1) never means a locale. */
static inline char rv_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static inline bool rv_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool rv_bytes_equal(rv_bytes a, rv_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool rv_bytes_equal_nocase(rv_bytes a, rv_bytes b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (rv_lower(a.ptr[i]) != rv_lower(b.ptr[i]))
            return false;
    return true;
}

/* Without the spaces and tabs at both ends (OWS, RFC 9110 section 5.6.3). */
static inline rv_bytes rv_bytes_trim(rv_bytes bytes)
{
    while (bytes.len > 0 && (bytes.ptr[0] == ' ' || bytes.ptr[0] == '\t')) {
        bytes.ptr++;
        bytes.len--;
    }
    while (bytes.len > 0 && (bytes.ptr[bytes.len - 1] == ' ' || bytes.ptr[bytes.len - 1] == '\t'))
        bytes.len--;
    return bytes;
}

/* The octets before the next `separator`, which goes too, or all of them. Shortens `*text`. */
static inline rv_bytes rv_bytes_take_until(rv_bytes *text, char separator)
{
    const char *found = text->len > 0 ? memchr(text->ptr, separator, text->len) : NULL;
    rv_bytes taken = rv_slice(text->ptr, found != NULL ? (size_t)(found - text->ptr) : text->len);
    if (found != NULL) {
        text->ptr = found + 1;
        text->len -= taken.len + 1;
    } else if (text->len > 0) {
        text->ptr += taken.len;
        text->len = 0;
    }
    return taken;
}

/* 1*DIGIT and nothing else. False, and `*value` untouched, for anything else or past 2^64 - 1. */
bool rv_bytes_to_u64(rv_bytes bytes, uint64_t *value);

/* The next element of a comma separated list (RFC 9110 section 5.6.1), trimmed; empty elements are
   passed over; commas inside a quoted-string do not separate. Shortens `*list`. False: no more. */
bool rv_bytes_next_element(rv_bytes *list, rv_bytes *element);

/* Copies the octets, which are not absent; returns where they end. */
static inline char *rv_put(char *out, rv_bytes bytes)
{
    memcpy(out, bytes.ptr, bytes.len);
    return out + bytes.len;
}

#define RV_PUT(out, literal) rv_put((out), RV_LIT(literal))

/* Writes `value` in decimal, without terminator; returns the number of octets (at most 20). */
size_t rv_put_decimal(char *out, uint64_t value);

/* Writes `value` in lower case hexadecimal; returns the number of octets (at most 16). */
size_t rv_put_hex(char *out, uint64_t value);

#endif
