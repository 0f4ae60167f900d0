/*
 * The scalar twins of the scanners in scan.h, and the table of token octets. Each says in one line
 * what its class is; the tests hold the twins against each other.
 */
#include "http/scan.h"

const unsigned char rv_token_table[256] = {
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1, ['!'] = 1, ['#'] = 1, ['$'] = 1,
    ['%'] = 1,         ['&'] = 1,         ['\''] = 1,        ['*'] = 1, ['+'] = 1, ['-'] = 1,
    ['.'] = 1,         ['^'] = 1,         ['_'] = 1,         ['`'] = 1, ['|'] = 1, ['~'] = 1,
};

bool rv_is_token(rv_bytes text)
{
    return text.len > 0 && rv_scan_token_scalar(text.ptr, text.len) == text.len;
}

size_t rv_scan_token_scalar(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && rv_is_token_char(at[count]))
        count++;
    return count;
}

static bool is_target_octet(char c)
{
    return c > 0x20 && c < 0x7f && c != '#';
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
    *is_plain = true;
    for (; count < limit && is_target_octet(at[count]) && at[count] != '?'; count++)
        if (at[count] == '%' || (at[count] == '.' && count > 0 && at[count - 1] == '/'))
            *is_plain = false;
    return count;
}

static bool is_value_octet(char c)
{
    unsigned char octet = (unsigned char)c;
    return octet == '\t' || (octet >= 0x20 && octet != 0x7f);
}

size_t rv_scan_value_scalar(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && is_value_octet(at[count]))
        count++;
    return count;
}

static bool is_host_octet(char c)
{
    char lower = rv_lower(c);
    return (lower >= 'a' && lower <= 'z') || rv_is_digit(c) || c == '-' || c == '.';
}

size_t rv_scan_host_scalar(const char *at, size_t limit)
{
    size_t count = 0;
    while (count < limit && is_host_octet(at[count]))
        count++;
    return count;
}

size_t rv_scan_before_empty_line_scalar(const char *at, size_t limit)
{
    for (size_t i = 0; i + 1 < limit; i++)
        if (at[i] == '\n' &&
            (at[i + 1] == '\n' || (at[i + 1] == '\r' && i + 2 < limit && at[i + 2] == '\n')))
            return i;
    return limit;
}
