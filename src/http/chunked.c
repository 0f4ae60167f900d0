/*
 * The chunked decoder (chunked.h): one octet of a chunk line at a time, chunk data in runs.
 *
 *   SIZE ──digits──► CRLF ──► DATA ──► its CRLF ──► SIZE …          size 0: LAST
 *     └─ ";" ──► name [ "=" value ] ──┴─ ";" again, or CRLF
 *
 * Everything between two octets is in the struct, so that it makes no difference where the octets
 * were cut. LAST and FAILED are final: the decoder stays there and takes nothing more.
 */
#include "http/chunked.h"

#include <assert.h>

#include "http/scan.h"

#define CHUNK_DIGITS_MAX 16

enum chunk_state {
    SIZE,             /* hexadecimal digits */
    BEFORE_SEMICOLON, /* white space behind a size or an extension: only another one may follow */
    BEFORE_NAME,      /* behind ";" */
    NAME,             /* at least one octet of it is read */
    AFTER_NAME,       /* white space behind a name: "=" or ";" */
    BEFORE_VALUE,     /* behind "=" */
    VALUE,            /* at least one octet of a token is read */
    QUOTED,           /* inside a quoted-string */
    QUOTED_PAIR,      /* behind its backslash */
    AFTER_QUOTED,     /* behind the closing quote */
    LINE_LF,          /* behind the CR of the chunk line */
    DATA,
    DATA_CR, /* behind the data */
    DATA_LF,
    LAST,
    FAILED
};

void rv_chunked_init(struct rv_chunked *chunked)
{
    chunked->left = 0;
    chunked->line_octets = 0;
    chunked->state = SIZE;
    chunked->digits = 0;
}

static enum rv_chunked_result fail(struct rv_chunked *chunked, const char **reason, const char *why)
{
    chunked->state = FAILED;
    *reason = why;
    return RV_CHUNKED_ERROR;
}

static int digit_value(char c)
{
    if (rv_is_digit(c))
        return c - '0';
    c = rv_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What may follow a size, an extension's name or its value. */
static int behind_element(char c)
{
    switch (c) {
    case '\r':
        return LINE_LF;
    case ';':
        return BEFORE_NAME;
    case ' ':
    case '\t':
        return BEFORE_SEMICOLON;
    default:
        return FAILED;
    }
}

static int size_octet(struct rv_chunked *chunked, char c)
{
    int value = digit_value(c);
    if (value < 0)
        return chunked->digits > 0 ? behind_element(c) : FAILED;
    if (chunked->digits == CHUNK_DIGITS_MAX || chunked->left > (uint64_t)INT64_MAX >> 4)
        return FAILED;
    chunked->digits++;
    chunked->left = chunked->left << 4 | (uint64_t)value;
    return SIZE;
}

/* Inside an extension (RFC 9112 section 7.1.1): the state behind one more octet. */
static int extension_octet(int state, char c)
{
    bool is_text = c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);

    switch (state) {
    case BEFORE_SEMICOLON:
        return is_blank(c) ? BEFORE_SEMICOLON : c == ';' ? BEFORE_NAME : FAILED;
    case BEFORE_NAME:
        return is_blank(c) ? BEFORE_NAME : rv_is_token_char(c) ? NAME : FAILED;
    case NAME:
        if (rv_is_token_char(c))
            return NAME;
        return c == '=' ? BEFORE_VALUE : is_blank(c) ? AFTER_NAME : behind_element(c);
    case AFTER_NAME:
        return is_blank(c) ? AFTER_NAME : c == '=' ? BEFORE_VALUE : c == ';' ? BEFORE_NAME : FAILED;
    case BEFORE_VALUE:
        if (is_blank(c))
            return BEFORE_VALUE;
        return c == '"' ? QUOTED : rv_is_token_char(c) ? VALUE : FAILED;
    case VALUE:
        return rv_is_token_char(c) ? VALUE : behind_element(c);
    case QUOTED:
        return c == '"' ? AFTER_QUOTED : c == '\\' ? QUOTED_PAIR : is_text ? QUOTED : FAILED;
    case QUOTED_PAIR:
        return is_text ? QUOTED : FAILED;
    case AFTER_QUOTED:
        return behind_element(c);
    default:
        return FAILED;
    }
}

static int line_end_octet(const struct rv_chunked *chunked, char c)
{
    if (c != '\n')
        return FAILED;
    return chunked->left == 0 ? LAST : DATA;
}

/* Reads one chunk line as far as it is there. */
static enum rv_chunked_result read_line(struct rv_chunked *chunked, rv_bytes *octets,
                                        const char **reason)
{
    while (octets->len > 0 && chunked->state <= LINE_LF) {
        char c = *octets->ptr;
        if (++chunked->line_octets > RV_CHUNK_LINE_BYTES_MAX)
            return fail(chunked, reason, "A chunk's size and extensions are too long.");
        int state = chunked->state;
        int next = state == SIZE      ? size_octet(chunked, c)
                   : state == LINE_LF ? line_end_octet(chunked, c)
                                      : extension_octet(state, c);
        if (next == FAILED)
            return fail(chunked, reason,
                        state == SIZE      ? "A chunk size is not hexadecimal or too large."
                        : state == LINE_LF ? "A chunk line does not end with CRLF."
                                           : "A chunk extension is malformed.");
        chunked->state = (uint8_t)next;
        octets->ptr++;
        octets->len--;
    }
    return RV_CHUNKED_INCOMPLETE;
}

/* The CRLF behind the data of a chunk. */
static enum rv_chunked_result read_data_end(struct rv_chunked *chunked, rv_bytes *octets,
                                            const char **reason)
{
    while (octets->len > 0 && chunked->state != SIZE) {
        if (*octets->ptr != (chunked->state == DATA_CR ? '\r' : '\n'))
            return fail(chunked, reason, "The data of a chunk is not followed by CRLF.");
        chunked->state = chunked->state == DATA_CR ? DATA_LF : SIZE;
        octets->ptr++;
        octets->len--;
    }
    chunked->line_octets = 0;
    chunked->digits = 0;
    return RV_CHUNKED_INCOMPLETE;
}

uint64_t rv_chunked_data_left(const struct rv_chunked *chunked)
{
    return chunked->state == DATA ? chunked->left : 0;
}

void rv_chunked_skip(struct rv_chunked *chunked, uint64_t count)
{
    assert(count <= rv_chunked_data_left(chunked));
    if (chunked->state != DATA)
        return;
    chunked->left -= count;
    if (chunked->left == 0)
        chunked->state = DATA_CR;
}

static void take_data(struct rv_chunked *chunked, rv_bytes *octets, rv_bytes *data)
{
    *data = *octets;
    if (data->len > chunked->left)
        data->len = (size_t)chunked->left;
    octets->ptr += data->len;
    octets->len -= data->len;
    rv_chunked_skip(chunked, data->len);
}

enum rv_chunked_result rv_chunked_next(struct rv_chunked *chunked, rv_bytes *octets, rv_bytes *data,
                                       const char **reason)
{
    while (octets->len > 0 && chunked->state < LAST) {
        enum rv_chunked_result result = RV_CHUNKED_INCOMPLETE;
        if (chunked->state == DATA) {
            take_data(chunked, octets, data);
            return RV_CHUNKED_DATA;
        }
        if (chunked->state <= LINE_LF)
            result = read_line(chunked, octets, reason);
        else
            result = read_data_end(chunked, octets, reason);
        if (result == RV_CHUNKED_ERROR)
            return result;
    }
    if (chunked->state == LAST)
        return RV_CHUNKED_LAST;
    if (chunked->state == FAILED)
        return fail(chunked, reason, "The chunked body was malformed before.");
    return RV_CHUNKED_INCOMPLETE;
}
