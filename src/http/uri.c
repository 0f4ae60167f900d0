/*
 * Targets, read with one table: which octets may stand in a host, which are hexadecimal digits.
 * Every function works from a view into memory of the caller's; nothing is allocated or kept.
 */
#include "http/uri.h"

/* What an octet may be a part of, a bit each; the low half is the value of a hexadecimal digit. */
enum {
    HEX_VALUE = 0x0f,
    IS_HEX = 0x10,
    IS_HOST = 0x20 /* unreserved or sub-delims, RFC 3986 section 2 */
};

#define H IS_HOST
#define X(value) (IS_HOST | IS_HEX | (value))
static const unsigned char octet_table[256] = {
    ['!'] = H,     ['$'] = H,     ['&'] = H,     ['\''] = H,    ['('] = H,     [')'] = H,
    ['*'] = H,     ['+'] = H,     [','] = H,     [';'] = H,     ['='] = H,     ['-'] = H,
    ['.'] = H,     ['_'] = H,     ['~'] = H,     ['0'] = X(0),  ['1'] = X(1),  ['2'] = X(2),
    ['3'] = X(3),  ['4'] = X(4),  ['5'] = X(5),  ['6'] = X(6),  ['7'] = X(7),  ['8'] = X(8),
    ['9'] = X(9),  ['A'] = X(10), ['B'] = X(11), ['C'] = X(12), ['D'] = X(13), ['E'] = X(14),
    ['F'] = X(15), ['G'] = H,     ['H'] = H,     ['I'] = H,     ['J'] = H,     ['K'] = H,
    ['L'] = H,     ['M'] = H,     ['N'] = H,     ['O'] = H,     ['P'] = H,     ['Q'] = H,
    ['R'] = H,     ['S'] = H,     ['T'] = H,     ['U'] = H,     ['V'] = H,     ['W'] = H,
    ['X'] = H,     ['Y'] = H,     ['Z'] = H,     ['a'] = X(10), ['b'] = X(11), ['c'] = X(12),
    ['d'] = X(13), ['e'] = X(14), ['f'] = X(15), ['g'] = H,     ['h'] = H,     ['i'] = H,
    ['j'] = H,     ['k'] = H,     ['l'] = H,     ['m'] = H,     ['n'] = H,     ['o'] = H,
    ['p'] = H,     ['q'] = H,     ['r'] = H,     ['s'] = H,     ['t'] = H,     ['u'] = H,
    ['v'] = H,     ['w'] = H,     ['x'] = H,     ['y'] = H,     ['z'] = H};
#undef H
#undef X

static bool has_class(char c, int class)
{
    return (octet_table[(unsigned char)c] & class) != 0;
}

/* Does an escape begin at text[at]? */
static bool is_escape(rv_bytes text, size_t at)
{
    return text.len - at >= 3 && text.ptr[at] == '%' && has_class(text.ptr[at + 1], IS_HEX) &&
           has_class(text.ptr[at + 2], IS_HEX);
}

static char escape_value(rv_bytes text, size_t at)
{
    int high = octet_table[(unsigned char)text.ptr[at + 1]] & HEX_VALUE;
    int low = octet_table[(unsigned char)text.ptr[at + 2]] & HEX_VALUE;
    return (char)(high << 4 | low);
}

/* ---- authorities ----------------------------------------------------------------------------- */

/* *DIGIT, and a number that a port can have. */
static bool is_port(const char *at, const char *end)
{
    unsigned port = 0;
    for (; at < end; at++) {
        if (!rv_is_digit(*at))
            return false;
        port = port * 10 + (unsigned)(*at - '0');
        if (port > 65535)
            return false;
    }
    return true;
}

/* dec-octet "." dec-octet "." dec-octet "." dec-octet; a dec-octet has no leading zero. */
static bool is_ipv4_address(const char *at, const char *end)
{
    for (int part = 0; part < 4; part++) {
        const char *start = at;
        int value = 0;
        while (at < end && at - start < 3 && rv_is_digit(*at))
            value = value * 10 + (*at++ - '0');
        if (at == start || value > 255 || (*start == '0' && at - start > 1))
            return false;
        if (part < 3 && (at == end || *at++ != '.'))
            return false;
    }
    return at == end;
}

/* Eight groups of 1*4HEXDIG between colons; the last two may be written as an IPv4 address, and one
   run of groups that are zero as "::" (RFC 3986 section 3.2.2, RFC 4291 section 2.2). */
static bool is_ipv6_address(const char *at, const char *end)
{
    int groups = 0;
    bool compressed = false;
    bool after_colon = true; /* a group may begin here; one at the very beginning too */
    if (end - at >= 2 && at[0] == ':' && at[1] == ':') {
        compressed = true;
        at += 2;
    }
    while (at < end) {
        const char *start = at;
        if (!after_colon)
            return false;
        while (at < end && has_class(*at, IS_HEX))
            at++;
        if (at < end && *at == '.') {
            groups += 2;
            return is_ipv4_address(start, end) && (compressed ? groups < 8 : groups == 8);
        }
        if (at == start || at - start > 4)
            return false;
        groups++;
        after_colon = at < end && *at == ':';
        if (!after_colon)
            break;
        at++;
        if (at < end && *at == ':') {
            if (compressed)
                return false;
            compressed = true;
            at++;
        } else if (at == end) {
            return false; /* a single colon at the end */
        }
    }
    return at == end && (compressed ? groups < 8 : groups == 8);
}

/* "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static bool is_ip_future(const char *at, const char *end)
{
    if (at == end || rv_lower(*at++) != 'v')
        return false;
    const char *version = at;
    while (at < end && has_class(*at, IS_HEX))
        at++;
    if (at == version || at == end || *at++ != '.' || at == end)
        return false;
    while (at < end && (has_class(*at, IS_HOST) || *at == ':'))
        at++;
    return at == end;
}

static bool is_bracketed_authority(const char *at, const char *end)
{
    const char *bracket = memchr(at, ']', (size_t)(end - at));
    if (bracket == NULL)
        return false;
    if (!is_ipv6_address(at + 1, bracket) && !is_ip_future(at + 1, bracket))
        return false;
    at = bracket + 1;
    return at == end || (*at == ':' && is_port(at + 1, end));
}

bool rv_authority_is_valid(rv_bytes authority)
{
    if (authority.len == 0)
        return false;
    const char *end = authority.ptr + authority.len;
    if (authority.ptr[0] == '[')
        return is_bracketed_authority(authority.ptr, end);
    for (size_t at = 0;; at += 3) {
        while (at < authority.len && has_class(authority.ptr[at], IS_HOST))
            at++;
        if (at == authority.len)
            return true;
        if (authority.ptr[at] == ':')
            return at > 0 && is_port(authority.ptr + at + 1, end);
        if (!is_escape(authority, at))
            return false;
    }
}

/* Where the colon before the port is; the authority's length: there is none. */
static size_t port_colon(rv_bytes authority)
{
    size_t at = authority.len;
    while (at > 0 && rv_is_digit(authority.ptr[at - 1]))
        at--;
    return at > 0 && authority.ptr[at - 1] == ':' ? at - 1 : authority.len;
}

rv_bytes rv_authority_host(rv_bytes authority)
{
    return rv_slice(authority.ptr, port_colon(authority));
}

int rv_authority_port(rv_bytes authority)
{
    size_t colon = port_colon(authority);
    int port = 0;
    if (colon + 1 >= authority.len)
        return -1;
    for (size_t at = colon + 1; at < authority.len; at++)
        port = port * 10 + (authority.ptr[at] - '0');
    return port;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Both forms of a path, as far as they are built. Invariant: `decoded` is what `raw` decodes to. */
struct path_pair {
    char *raw;
    size_t raw_length;
    char *decoded;
    size_t decoded_length;
};

/* Appends a segment to both forms. */
static enum rv_path_result append_segment(struct path_pair *pair, rv_bytes segment)
{
    char *out = pair->decoded + pair->decoded_length;
    for (size_t at = 0; at < segment.len; at++) {
        char c = segment.ptr[at];
        if (c == '%') {
            if (!is_escape(segment, at))
                return RV_PATH_BAD_ESCAPE;
            c = escape_value(segment, at);
            at += 2;
        }
        if (c == '\0')
            return RV_PATH_NUL;
        *out++ = c;
    }
    memcpy(pair->raw + pair->raw_length, segment.ptr, segment.len);
    pair->raw_length += segment.len;
    pair->decoded_length = (size_t)(out - pair->decoded);
    return RV_PATH_OK;
}

/* Takes the last segment off both forms, up to and without its slash. False when there is none. */
static bool remove_segment(struct path_pair *pair)
{
    if (pair->raw_length == 0)
        return false;
    char c;
    do {
        c = pair->raw[--pair->raw_length];
        /* An escape is three octets here and one there. */
        if (c == '%')
            pair->decoded_length += 2;
        pair->decoded_length--;
    } while (c != '/' && pair->raw_length > 0);
    return true;
}

/* Does text[at] begin a piece ".." between slashes? */
static bool has_parent_piece(const char *text, size_t length)
{
    for (size_t at = 0; at + 2 <= length; at++) {
        if (text[at] == '.' && text[at + 1] == '.' && (at == 0 || text[at - 1] == '/') &&
            (at + 2 == length || text[at + 2] == '/'))
            return true;
    }
    return false;
}

enum dot_segment { NOT_DOTS, ONE_DOT, TWO_DOTS };

/* "." and ".." in any spelling. */
static enum dot_segment dots_of(rv_bytes segment)
{
    int dots = 0;
    for (size_t at = 0; at < segment.len && dots < 3; dots++) {
        if (segment.ptr[at] == '.')
            at++;
        else if (is_escape(segment, at) && escape_value(segment, at) == '.')
            at += 3;
        else
            return NOT_DOTS;
    }
    return dots == 1 ? ONE_DOT : dots == 2 ? TWO_DOTS : NOT_DOTS;
}

/* RFC 3986 section 5.2.4, a segment at a time; but what leads above the root is refused rather than
   clipped, since no honest client sends it. */
enum rv_path_result rv_path_normalise(rv_bytes path, char *raw_out, size_t *raw_length,
                                      char *decoded_out, size_t *decoded_length)
{
    struct path_pair pair = {.raw = raw_out, .decoded = decoded_out};
    for (size_t at = 0; at < path.len;) {
        bool has_slash = path.ptr[at] == '/'; /* only the first segment may be without */
        size_t start = at + has_slash;
        for (at = start; at < path.len && path.ptr[at] != '/';)
            at++;
        rv_bytes segment = rv_slice(path.ptr + start, at - start);

        enum dot_segment dots = dots_of(segment);
        if (dots == TWO_DOTS && !remove_segment(&pair))
            return RV_PATH_ABOVE_ROOT;
        if (dots != NOT_DOTS && at < path.len)
            continue;
        if (has_slash) {
            pair.raw[pair.raw_length++] = '/';
            pair.decoded[pair.decoded_length++] = '/';
        }
        if (dots != NOT_DOTS)
            continue;
        size_t decoded_start = pair.decoded_length;
        enum rv_path_result result = append_segment(&pair, segment);
        if (result != RV_PATH_OK)
            return result;
        /* "..%2f": one segment here, but a way up for whoever opens a file by the decoded form. */
        if (has_parent_piece(pair.decoded + decoded_start, pair.decoded_length - decoded_start))
            return RV_PATH_ABOVE_ROOT;
    }
    *raw_length = pair.raw_length;
    *decoded_length = pair.decoded_length;
    return RV_PATH_OK;
}

/* ---- percent-encoding ------------------------------------------------------------------------ */

bool rv_percent_is_valid(rv_bytes text)
{
    size_t at = 0;
    while (at < text.len) {
        const char *found = memchr(text.ptr + at, '%', text.len - at);
        if (found == NULL)
            return true;
        at = (size_t)(found - text.ptr);
        if (!is_escape(text, at))
            return false;
        at += 3;
    }
    return true;
}

size_t rv_percent_decode(rv_bytes text, bool plus, char *out)
{
    char *start = out;
    for (size_t at = 0; at < text.len; at++) {
        char c = text.ptr[at];
        if (is_escape(text, at)) {
            c = escape_value(text, at);
            at += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        *out++ = c;
    }
    return (size_t)(out - start);
}

/* A colon in the first segment of a relative reference would make it a scheme (RFC 3986 section 4.2),
   and an apostrophe end an attribute of HTML. */
static bool may_stand_in_path(char c)
{
    return (has_class(c, IS_HOST) && c != ';' && c != '\'') || c == '/' || c == '@';
}

size_t rv_percent_encode_path(rv_bytes path, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    char *start = out;
    for (size_t at = 0; at < path.len; at++) {
        unsigned char c = (unsigned char)path.ptr[at];
        if (may_stand_in_path((char)c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    return (size_t)(out - start);
}

static bool decodes_to(rv_bytes encoded, bool plus, rv_bytes plain)
{
    size_t matched = 0;
    for (size_t at = 0; at < encoded.len; at++, matched++) {
        char c = encoded.ptr[at];
        if (is_escape(encoded, at)) {
            c = escape_value(encoded, at);
            at += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (matched == plain.len || c != plain.ptr[matched])
            return false;
    }
    return matched == plain.len;
}

bool rv_percent_equal(rv_bytes encoded, rv_bytes plain)
{
    return decodes_to(encoded, false, plain);
}

bool rv_percent_plus_equal(rv_bytes encoded, rv_bytes plain)
{
    return decodes_to(encoded, true, plain);
}
