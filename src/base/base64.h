/*
 * Base64 (RFC 4648 section 4): octets as text, padded, without line breaks.
 */
#ifndef RV_BASE_BASE64_H
#define RV_BASE_BASE64_H

#include "base/bytes.h"

/* How long the text of `length` octets is. */
static inline size_t rv_base64_length(size_t length)
{
    return (length + 2) / 3 * 4;
}

/* Writes rv_base64_length(length) characters to `text`, and no terminator; returns their number. */
size_t rv_base64_encode(const void *octets, size_t length, char *text);

/* The other way: `octets` has room for text.len / 4 * 3. RV_EINVAL for what no encoder writes: another
   character, a length that is no multiple of four, padding before the end, bits behind the last octet
   that are not zero. */
rv_error rv_base64_decode(rv_bytes text, void *octets, size_t *length);

#endif
