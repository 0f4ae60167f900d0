/*
 * The fields of a head that decide about the message itself: Host, Connection, Content-Length,
 * Transfer-Encoding, Expect. Where the length of a message could be read in two ways, it is
 * refused: that is what request smuggling lives on (RFC 9112 section 11.2).
 *
 * Refusals with 400 are spoken at the line that earns them. 413 and 501 judge a head that is well
 * formed, so they wait for its end: a 400 further down is the better answer.
 */
#include "http/h1_inner.h"
#include "http/scan.h"
#include "http/uri.h"

/* Nearly every Host is a name or an IPv4 address, and a port of four digits at most. */
static inline bool is_plain_host(rv_bytes value)
{
    size_t name = rv_scan_host(value.ptr, value.len);
    if (name == value.len)
        return name > 0;
    if (name == 0 || value.ptr[name] != ':' || value.len - name > 5)
        return false;
    for (size_t i = name + 1; i < value.len; i++)
        if (!rv_is_digit(value.ptr[i]))
            return false;
    return true;
}

/* RFC 9112 section 3.2: one line at most, and never an invalid value. */
static bool apply_host(struct rv_h1_parser *parser, rv_bytes value)
{
    if (parser->has_host)
        return rv_h1_refuse(parser, 400, "There is more than one Host field.");
    if (!is_plain_host(value) && !rv_authority_is_valid(value))
        return rv_h1_refuse(parser, 400, "The Host field is not valid.");
    parser->has_host = true;
    if (parser->head->form == RV_TARGET_ORIGIN || parser->head->form == RV_TARGET_ASTERISK)
        parser->head->authority = rv_h1_span(parser, value);
    return true;
}

/* Up to the next comma, trimmed; true while there is one more element, be it empty. */
static bool next_element(rv_bytes *list, rv_bytes *element)
{
    if (list->ptr == NULL)
        return false;
    const char *comma = list->len > 0 ? memchr(list->ptr, ',', list->len) : NULL;
    if (comma == NULL) {
        *element = rv_bytes_trim(*list);
        *list = rv_slice(NULL, 0);
        return true;
    }
    size_t length = (size_t)(comma - list->ptr);
    *element = rv_bytes_trim(rv_slice(list->ptr, length));
    *list = rv_slice(comma + 1, list->len - length - 1);
    return true;
}

/* RFC 9112 section 9.3. Options that are not known say nothing about the connection. */
static bool apply_connection(struct rv_h1_parser *parser, rv_bytes value)
{
    rv_bytes option;
    if (value.len == 10 && rv_h1_matches(value.ptr, "keep-alive", 10)) {
        parser->head->asked_keep_alive = true;
        return true;
    }
    while (next_element(&value, &option)) {
        if (rv_bytes_equal_nocase(option, RV_LIT("close")))
            parser->asked_close = true;
        else if (rv_bytes_equal_nocase(option, RV_LIT("keep-alive")))
            parser->head->asked_keep_alive = true;
    }
    return true;
}

/* RFC 9110 section 8.6, RFC 9112 section 6.3 number 5. */
static bool apply_content_length(struct rv_h1_parser *parser, rv_bytes value)
{
    struct rv_h1_head *head = parser->head;
    uint64_t length = 0;

    if (head->has_content_length)
        return rv_h1_refuse(parser, 400, "There is more than one Content-Length field.");
    if (parser->has_transfer_encoding)
        return rv_h1_refuse(parser, 400, "There are Content-Length and Transfer-Encoding.");
    if (value.len == 0)
        return rv_h1_refuse(parser, 400, "The Content-Length is not a number.");
    for (size_t i = 0; i < value.len; i++) {
        if (!rv_is_digit(value.ptr[i]))
            return rv_h1_refuse(parser, 400, "The Content-Length is not a number.");
        uint64_t digit = (uint64_t)(value.ptr[i] - '0');
        if (length > ((uint64_t)INT64_MAX - digit) / 10)
            parser->length_overflows = true;
        else
            length = length * 10 + digit;
    }
    head->has_content_length = true;
    head->content_length = length;
    return true;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *skip_token(const char *at, const char *end)
{
    return at + rv_scan_token(at, (size_t)(end - at));
}

/* Behind the closing quote; NULL when there is none. */
static const char *skip_quoted(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
    return NULL;
}

/* One transfer coding with its parameters (RFC 9112 section 7): returns where it ends, NULL when it
   is malformed. */
static const char *skip_coding(const char *at, const char *end, rv_bytes *name)
{
    const char *behind = skip_token(at, end);
    *name = rv_slice(at, (size_t)(behind - at));
    if (name->len == 0)
        return NULL;
    for (;;) {
        at = skip_blanks(behind, end);
        if (at == end || *at != ';')
            return at;
        at = skip_blanks(at + 1, end);
        behind = skip_token(at, end);
        if (behind == at)
            return NULL;
        at = skip_blanks(behind, end);
        if (at == end || *at != '=')
            return NULL;
        at = skip_blanks(at + 1, end);
        if (at < end && *at == '"')
            behind = skip_quoted(at, end);
        else
            behind = skip_token(at, end);
        if (behind == NULL || behind == at)
            return NULL;
    }
}

/* RFC 9112 sections 6.1 and 6.3: "chunked" alone is understood. Another coding that is well formed
   is not implemented; anything behind "chunked" leaves the end of the message undefined. */
static bool apply_transfer_encoding(struct rv_h1_parser *parser, rv_bytes value)
{
    struct rv_h1_head *head = parser->head;
    const char *at = value.ptr;
    const char *end = value.ptr + value.len;
    rv_bytes name;

    if (parser->has_transfer_encoding)
        return rv_h1_refuse(parser, 400, "There is more than one Transfer-Encoding field.");
    if (head->has_content_length)
        return rv_h1_refuse(parser, 400, "There are Content-Length and Transfer-Encoding.");
    if (head->minor == 0)
        return rv_h1_refuse(parser, 400, "HTTP/1.0 has no Transfer-Encoding.");
    parser->has_transfer_encoding = true;
    if (rv_bytes_equal_nocase(value, RV_LIT("chunked"))) {
        head->chunked = true;
        return true;
    }
    for (;;) {
        at = skip_coding(at, end, &name);
        if (at == NULL || (at < end && *at != ','))
            return rv_h1_refuse(parser, 400, "The Transfer-Encoding is malformed.");
        bool is_last = at == end;
        if (rv_bytes_equal_nocase(name, RV_LIT("chunked")) && name.ptr + name.len != end)
            return rv_h1_refuse(parser, 400, "Something follows the chunked coding.");
        parser->coding_unknown = true;
        if (is_last)
            return true;
        at = skip_blanks(at + 1, end);
    }
}

/* RFC 9110 section 10.1.1; from a 1.0 client the field is ignored. */
static bool apply_expect(struct rv_h1_parser *parser, rv_bytes value)
{
    rv_bytes expectation;
    while (parser->head->minor > 0 && next_element(&value, &expectation)) {
        if (rv_bytes_equal_nocase(expectation, RV_LIT("100-continue")))
            parser->head->expect_continue = true;
        else if (expectation.len > 0)
            parser->head->expect_unknown = true;
    }
    return true;
}

bool rv_h1_apply_field(struct rv_h1_parser *parser, enum rv_field_id id, rv_bytes value)
{
    switch (id) {
    case RV_FIELD_HOST:
        return apply_host(parser, value);
    case RV_FIELD_CONNECTION:
        return apply_connection(parser, value);
    case RV_FIELD_CONTENT_LENGTH:
        return apply_content_length(parser, value);
    case RV_FIELD_TRANSFER_ENCODING:
        return apply_transfer_encoding(parser, value);
    case RV_FIELD_EXPECT:
        return apply_expect(parser, value);
    case RV_FIELD_OTHER:
        break;
    }
    return true;
}

bool rv_h1_finish_fields(struct rv_h1_parser *parser)
{
    struct rv_h1_head *head = parser->head;

    if (!parser->has_host && head->minor > 0)
        return rv_h1_refuse(parser, 400, "An HTTP/1.1 request needs a Host field.");
    if (parser->length_overflows)
        return rv_h1_refuse(parser, 413, "The Content-Length is beyond every limit.");
    if (parser->coding_unknown)
        return rv_h1_refuse(parser, 501, "The transfer coding is not implemented.");
    head->keep_alive = !parser->asked_close && (head->minor > 0 || head->asked_keep_alive);
    return true;
}
