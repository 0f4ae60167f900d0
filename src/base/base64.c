/*
 * Three octets are four characters of six bits each; a last group that is short is filled up with "=".
 */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t rv_base64_encode(const void *octets, size_t length, char *text)
{
    const unsigned char *from = octets;
    char *to = text;
    for (size_t left = length; left > 0;) {
        size_t taken = left < 3 ? left : 3;
        uint32_t group = (uint32_t)from[0] << 16;
        if (taken > 1)
            group |= (uint32_t)from[1] << 8;
        if (taken > 2)
            group |= from[2];
        to[0] = alphabet[group >> 18];
        to[1] = alphabet[group >> 12 & 63];
        to[2] = taken > 1 ? alphabet[group >> 6 & 63] : '=';
        to[3] = taken > 2 ? alphabet[group & 63] : '=';
        from += taken;
        to += 4;
        left -= taken;
    }
    return (size_t)(to - text);
}

/* 0 to 63; 64: no character of the alphabet. */
static uint32_t digit_of(char character)
{
    if (character >= 'A' && character <= 'Z')
        return (uint32_t)(character - 'A');
    if (character >= 'a' && character <= 'z')
        return (uint32_t)(character - 'a') + 26;
    if (character >= '0' && character <= '9')
        return (uint32_t)(character - '0') + 52;
    if (character == '+')
        return 62;
    return character == '/' ? 63 : 64;
}

rv_error rv_base64_decode(rv_bytes text, void *octets, size_t *length)
{
    if (text.len % 4 != 0)
        return RV_EINVAL;
    size_t characters = text.len;
    while (characters > 0 && text.len - characters < 2 && text.ptr[characters - 1] == '=')
        characters--;

    unsigned char *to = octets;
    uint32_t bits = 0;
    unsigned bit_count = 0; /* of `bits`, those that are not written yet: less than 8 */
    for (size_t i = 0; i < characters; i++) {
        uint32_t digit = digit_of(text.ptr[i]);
        if (digit > 63)
            return RV_EINVAL;
        bits = bits << 6 | digit;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            *to++ = (unsigned char)(bits >> bit_count);
            bits &= (1u << bit_count) - 1;
        }
    }
    if (bits != 0)
        return RV_EINVAL;
    *length = (size_t)(to - (unsigned char *)octets);
    return 0;
}
