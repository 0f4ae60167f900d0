/*
 * The head of an HTTP/1 response (h1_response.h): walks over the status line and the field lines, once,
 * from front to back. Four fields are understood, all others only passed over. What was decided from the
 * octets before a place never depends on those behind it: so a head that arrives in pieces gets the
 * same verdict as one that arrives whole.
 *
 * Each step takes the place where it starts and returns the place where it ended, or NULL with the
 * parser's result set. Octets are scanned in blocks (scan.h), which may reach behind the end of what has
 * arrived; a place behind `end` never decides.
 */
#include "http/h1_inner.h"
#include "http/h1_response.h"
#include "http/scan.h"

/* A head that comes octet by octet is walked over once for each of them. Up to here that costs less than
   receiving it; from here on, one scan for the empty line says whether walking on is worth while. */
#define JUDGED_AT_ONCE 1024

/* What the transfer codings seen so far come to: the last one counts. */
enum last_coding { CODING_NONE, CODING_CHUNKED, CODING_OTHER };

/* The fields that decide about the message. */
enum response_field { OTHER, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, SERVER };

struct response_parser {
    const char *octets;
    const char *end;
    struct rv_h1_response *response;
    const char *reason;
    int result;        /* RV_H1_COMPLETE until a step fails */
    bool limited;      /* `end` is where head_bytes_max strikes, not where the octets end */
    bool end_is_there; /* the empty line was seen ahead */
    bool has_field;    /* one line of a field was read: a folded one may follow */
    bool says_close;
    bool has_transfer_encoding;
    enum last_coding last_coding;
    enum response_field field; /* the one that a folded line would continue */
};

static const char *malformed(struct response_parser *parser, const char *reason)
{
    parser->result = RV_H1_MALFORMED;
    parser->reason = reason;
    return NULL;
}

static bool refuse(struct response_parser *parser, const char *reason)
{
    (void)malformed(parser, reason);
    return false;
}

/* The octets end before the head does. */
static const char *exhausted(struct response_parser *parser)
{
    if (parser->limited)
        return malformed(parser, "The head of the response is too large.");
    parser->result = RV_H1_INCOMPLETE;
    return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The rest of a line, of any octets but CR, LF and NUL: where its end begins. */
static inline const char *skip_text(const struct response_parser *parser, const char *at)
{
    at += rv_scan_value(at, (size_t)(parser->end - at));
    while (at < parser->end && *at != '\r' && *at != '\n' && *at != '\0') {
        at++; /* a control octet: RFC 9110 section 5.5 lets it pass */
        at += rv_scan_value(at, (size_t)(parser->end - at));
    }
    return at;
}

/* CRLF, or LF alone (RFC 9112 section 2.2). */
static inline const char *end_line(struct response_parser *parser, const char *at)
{
    if (parser->end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        return at + 2;
    if (at == parser->end)
        return exhausted(parser);
    if (*at == '\n')
        return at + 1;
    if (*at != '\r')
        return malformed(parser, "There is a NUL in the head of the response.");
    if (at + 1 == parser->end)
        return exhausted(parser);
    return malformed(parser, "There is a CR without its LF in the head of the response.");
}

/* ---- the status line, RFC 9112 section 4 ----------------------------------------------------- */

/* Octet by octet: everything but a whole "HTTP/1.x ddd". Why it is not one, if it is not. */
static const char *parse_odd_status(struct response_parser *parser, const char *at)
{
    static const char shape[] = "HTTP/d.d ddd";
    const char *line = at;

    for (size_t i = 0; i < sizeof(shape) - 1; i++, at++) {
        if (at == parser->end)
            return exhausted(parser);
        if (shape[i] == 'd' ? rv_is_digit(*at) : *at == shape[i])
            continue;
        return i < 9 ? malformed(parser, "The response does not start with HTTP/1.0 or HTTP/1.1.")
                     : malformed(parser, "The status is not a number of three digits.");
    }
    if (line[5] != '1')
        return malformed(parser, "The version of the response is neither HTTP/1.0 nor HTTP/1.1.");
    return at;
}

static const char *parse_status_line(struct response_parser *parser, const char *at)
{
    const char *line = at;

    if (parser->end - at >= 12 && memcmp(at, "HTTP/1.", 7) == 0 && rv_is_digit(at[7]) &&
        at[8] == ' ' && rv_is_digit(at[9]) && rv_is_digit(at[10]) && rv_is_digit(at[11]))
        at += 12;
    else if ((at = parse_odd_status(parser, at)) == NULL)
        return NULL;
    int status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    if (status < 100)
        return malformed(parser, "The status is below 100.");
    if (at == parser->end)
        return exhausted(parser);
    if (*at != ' ' && *at != '\r' && *at != '\n')
        return malformed(parser, "The status is not a number of three digits.");
    parser->response->status = status;
    parser->response->minor = line[7] != '0';
    return end_line(parser, skip_text(parser, at));
}

/* ---- fields that decide ---------------------------------------------------------------------- */

/* RFC 9112 section 9.3. Options that are not known say nothing about the connection. */
static bool apply_option(struct response_parser *parser, rv_bytes option)
{
    if (option.len == 10 && rv_h1_matches(option.ptr, "keep-alive", 10))
        parser->response->says_keep_alive = true;
    else if (option.len == 5 && rv_h1_matches(option.ptr, "close", 5))
        parser->says_close = true;
    else
        return false;
    return true;
}

/* Mostly there is one, and it is known. */
static bool apply_connection(struct response_parser *parser, rv_bytes value)
{
    rv_bytes option;
    if (!apply_option(parser, value))
        while (rv_bytes_next_element(&value, &option))
            (void)apply_option(parser, option);
    return true;
}

static bool apply_length(struct response_parser *parser, rv_bytes digits)
{
    struct rv_h1_response *response = parser->response;
    uint64_t length;

    if (!rv_bytes_to_u64(digits, &length) || length > INT64_MAX)
        return refuse(parser, "The Content-Length is not a number below 2^63.");
    if (response->has_content_length && response->content_length != length)
        return refuse(parser, "There are different Content-Lengths.");
    response->has_content_length = true;
    response->content_length = length;
    return true;
}

/* RFC 9112 section 6.3 number 5: several equal ones are one, be it in a list or in several fields. */
static bool apply_content_length(struct response_parser *parser, rv_bytes value)
{
    rv_bytes digits = {NULL, 0};

    while (rv_bytes_next_element(&value, &digits))
        if (!apply_length(parser, digits))
            return false;
    return digits.ptr != NULL || refuse(parser, "The Content-Length is empty.");
}

/* RFC 9112 section 6.3 number 4. "chunked" twice ends where the outer one does, so it is no other
   case; "identity" was the word for no coding at all (RFC 2616 section 3.6). */
static bool apply_transfer_encoding(struct response_parser *parser, rv_bytes value)
{
    rv_bytes coding;

    parser->has_transfer_encoding = true;
    while (rv_bytes_next_element(&value, &coding)) {
        size_t length = rv_scan_token(coding.ptr, coding.len);
        rv_bytes parameters = rv_bytes_trim(rv_slice(coding.ptr + length, coding.len - length));
        bool is_chunked = length == 7 && rv_h1_matches(coding.ptr, "chunked", 7);
        if (length == 0 || (parameters.len > 0 && (is_chunked || parameters.ptr[0] != ';')))
            return refuse(parser, "The Transfer-Encoding is malformed.");
        if (is_chunked)
            parser->last_coding = CODING_CHUNKED;
        else if (length != 8 || !rv_h1_matches(coding.ptr, "identity", 8))
            parser->last_coding = CODING_OTHER;
    }
    return true;
}

static bool apply_server(struct response_parser *parser, rv_bytes value)
{
    if (parser->response->server.length == 0)
        parser->response->server =
            (struct rv_span){(uint32_t)(value.ptr - parser->octets), (uint32_t)value.len};
    return true;
}

/* ---- field lines, RFC 9112 section 5 --------------------------------------------------------- */

static inline enum response_field field_of(const char *name, size_t length)
{
    switch (length) {
    case 6:
        return rv_h1_matches(name, "server", 6) ? SERVER : OTHER;
    case 10:
        return rv_h1_matches(name, "connection", 10) ? CONNECTION : OTHER;
    case 14:
        return rv_h1_matches(name, "content-length", 14) ? CONTENT_LENGTH : OTHER;
    case 17:
        return rv_h1_matches(name, "transfer-encoding", 17) ? TRANSFER_ENCODING : OTHER;
    default:
        return OTHER;
    }
}

static bool apply_field(struct response_parser *parser, rv_bytes value)
{
    switch (parser->field) {
    case CONNECTION:
        return apply_connection(parser, value);
    case CONTENT_LENGTH:
        return apply_content_length(parser, value);
    case TRANSFER_ENCODING:
        return apply_transfer_encoding(parser, value);
    case SERVER:
        return apply_server(parser, value);
    case OTHER:
        break;
    }
    return true;
}

/* Why there is no field name with its colon: the token ends at `at`. */
static const char *broken_name(struct response_parser *parser, const char *name, const char *at)
{
    if (at == parser->end)
        return exhausted(parser);
    if (*at == ':')
        return malformed(parser, "A field of the response has no name.");
    if (is_blank(*at))
        return malformed(parser, at == name
                                     ? "The first field line of the response starts with a blank."
                                     : "There is white space before the colon of a field.");
    if (*at == '\r' || *at == '\n')
        return malformed(parser, "A field line of the response has no colon.");
    return malformed(parser, "A field name of the response has an octet that none may have.");
}

static const char *parse_field(struct response_parser *parser, const char *name)
{
    const char *end = parser->end;
    size_t name_length = rv_scan_token(name, (size_t)(end - name));
    const char *at = name + name_length;

    if (at == end || *at != ':' || name_length == 0)
        return broken_name(parser, name, at);
    const char *value = ++at;
    const char *value_end = skip_text(parser, value);
    at = end_line(parser, value_end);
    if (at == NULL)
        return NULL;
    parser->has_field = true;
    parser->field = field_of(name, name_length);
    if (parser->field != OTHER &&
        !apply_field(parser, rv_bytes_trim(rv_slice(value, (size_t)(value_end - value)))))
        return NULL;
    return at;
}

/* A line that continues the field above it (RFC 9112 section 5.2). In a list that is one more run of
   elements; a length that is not in one piece is nothing to rely on. */
static const char *parse_folded(struct response_parser *parser, const char *line)
{
    const char *line_end = skip_text(parser, line);
    const char *at = end_line(parser, line_end);

    if (at == NULL)
        return NULL;
    if (parser->field == CONTENT_LENGTH || parser->field == TRANSFER_ENCODING)
        return malformed(parser, "A field that says where the response ends is folded.");
    if (parser->field == CONNECTION)
        (void)apply_connection(parser, rv_slice(line, (size_t)(line_end - line)));
    return at;
}

/* Is it worth while to walk on at the line that starts here? */
static inline bool may_end(struct response_parser *parser, const char *at)
{
    if (at - parser->octets < JUDGED_AT_ONCE || parser->end_is_there)
        return true;
    size_t left = (size_t)(parser->end - at);
    parser->end_is_there = rv_scan_before_empty_line(at, left) < left;
    return parser->end_is_there;
}

/* All field lines and the empty line. */
static const char *parse_fields(struct response_parser *parser, const char *at)
{
    while (at != NULL) {
        if (at == parser->end)
            return exhausted(parser);
        if (*at == '\r' || *at == '\n')
            return end_line(parser, at);
        if (!may_end(parser, at))
            return exhausted(parser);
        at =
            is_blank(*at) && parser->has_field ? parse_folded(parser, at) : parse_field(parser, at);
    }
    return NULL;
}

/* What can be said only when all fields are there. */
static void finish(const struct response_parser *parser)
{
    struct rv_h1_response *response = parser->response;
    bool doubtful =
        parser->has_transfer_encoding && (response->has_content_length || response->minor == 0);

    response->chunked = parser->last_coding == CODING_CHUNKED;
    response->coded_until_close = parser->last_coding == CODING_OTHER;
    response->keep_alive =
        !parser->says_close && !doubtful && (response->minor > 0 || response->says_keep_alive);
}

/* ---- the calls ------------------------------------------------------------------------------- */

int rv_h1_parse_response(const char *octets, size_t length, uint32_t head_bytes_max,
                         struct rv_h1_response *response, const char **reason)
{
    bool limited = length >= head_bytes_max;
    struct response_parser parser = {
        .octets = octets,
        .end = octets + (limited ? head_bytes_max : length),
        .response = response,
        .result = RV_H1_COMPLETE,
        .limited = limited,
    };

    response->has_content_length = response->says_keep_alive = false;
    response->content_length = 0;
    response->server = (struct rv_span){0, 0};
    const char *at = parse_status_line(&parser, octets);
    if (at != NULL)
        at = parse_fields(&parser, at);
    if (at != NULL) {
        response->length = (uint32_t)(at - octets);
        finish(&parser);
    } else if (parser.result == RV_H1_MALFORMED) {
        *reason = parser.reason;
    }
    return parser.result;
}

enum rv_h1_framing rv_h1_response_framing(const struct rv_h1_response *response, bool to_head)
{
    int status = response->status;
    if (to_head || status < 200 || status == 204 || status == 304)
        return RV_H1_FRAMING_NONE;
    if (response->chunked)
        return RV_H1_FRAMING_CHUNKED;
    if (response->has_content_length && !response->coded_until_close)
        return RV_H1_FRAMING_LENGTH;
    return RV_H1_FRAMING_UNTIL_CLOSE;
}
