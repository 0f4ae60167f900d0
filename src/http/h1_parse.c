/*
 * The head of an HTTP/1 request (h1_parse.h): walks over the request line and the field lines,
 * once, from front to back, and refuses at the first octet that no valid head has there; what a
 * target or a field means is judged where it ends. What was decided from the octets before a
 * place never depends on those behind it: so a head that arrives in pieces gets the same verdict
 * as one that arrives whole.
 *
 * Each step takes the place where it starts and returns the place where it ended, or NULL with the
 * parser's status set. Octets are compared in words and scanned in blocks (scan.h), which may reach
 * behind the end of what has arrived; a place behind `end` never decides.
 */
#include "http/h1_inner.h"

#include <assert.h>

#include "http/scan.h"

#define METHOD_BYTES_MAX 64

/* A first line is looked at so far for whether it is another protocol's. */
#define FOREIGN_BYTES_MAX 256

static_assert(sizeof(struct rv_field) == 16, "a field is one 16-octet record");

bool rv_h1_refuse(struct rv_h1_parser *parser, int status, const char *reason)
{
    parser->status = status;
    parser->reason = reason;
    return false;
}

static const char *refuse(struct rv_h1_parser *parser, int status, const char *reason)
{
    (void)rv_h1_refuse(parser, status, reason);
    return NULL;
}

/* The octets end before the head does. */
static const char *exhausted(struct rv_h1_parser *parser)
{
    if (parser->limited)
        return refuse(parser, 431, "The head of the request is too large.");
    parser->status = RV_H1_INCOMPLETE;
    return NULL;
}

/* ---- the request line, RFC 9112 section 3 ---------------------------------------------------- */

/* RFC 9112 section 2.2: one empty line before the request line is ignored. */
static const char *skip_empty_line(struct rv_h1_parser *parser, const char *at)
{
    if (at == parser->end || *at != '\r')
        return at;
    if (at + 1 == parser->end)
        return exhausted(parser);
    if (at[1] != '\n')
        return refuse(parser, 400, "A line does not end with CRLF.");
    return at + 2;
}

/* Nine of ten requests: four octets settle the method. */
static inline bool is_get(const struct rv_h1_parser *parser, const char *at)
{
    return parser->end - at >= 4 && memcmp(at, "GET ", 4) == 0;
}

static const char *parse_method(struct rv_h1_parser *parser, const char *at)
{
    if (is_get(parser, at)) {
        parser->head->method = rv_h1_span(parser, rv_slice(at, 3));
        parser->head->method_id = RV_METHOD_GET;
        return at + 4;
    }
    size_t arrived = (size_t)(parser->end - at);
    size_t limit = arrived < METHOD_BYTES_MAX + 1 ? arrived : METHOD_BYTES_MAX + 1;
    rv_bytes method = rv_slice(at, rv_scan_token_scalar(at, limit));

    if (method.len > METHOD_BYTES_MAX)
        return refuse(parser, 400, "The method is too long.");
    if (method.len == arrived)
        return exhausted(parser);
    if (method.len == 0 || at[method.len] != ' ')
        return refuse(parser, 400, "The request does not start with a method and a space.");
    parser->head->method = rv_h1_span(parser, method);
    parser->head->method_id = rv_method_of(method);
    return at + method.len + 1;
}

/* Why a target ends at `at`, when no space is there. */
static const char *broken_target(struct rv_h1_parser *parser, const char *target, const char *at)
{
    if ((size_t)(at - target) > parser->limits->target_bytes_max ||
        (at == parser->end && parser->limited))
        return refuse(parser, 414, "The target of the request is too long.");
    if (at == parser->end)
        return exhausted(parser);
    if (*at == '#')
        return refuse(parser, 400, "The target has a fragment.");
    if (*at == '\r' || *at == '\n')
        return refuse(parser, 400, "The request line has no version.");
    return refuse(parser, 400, "The target has an octet that no target may have.");
}

static const char *parse_path_and_query(struct rv_h1_parser *parser, const char *at)
{
    struct rv_h1_head *head = parser->head;
    size_t length = rv_scan_path(at, (size_t)(parser->end - at), &head->path_is_plain);

    head->form = RV_TARGET_ORIGIN;
    head->path = rv_h1_span(parser, rv_slice(at, length));
    at += length;
    if (at < parser->end && *at == '?') {
        at++;
        length = rv_scan_target(at, (size_t)(parser->end - at));
        head->has_query = true;
        head->query = rv_h1_span(parser, rv_slice(at, length));
        at += length;
    }
    return at;
}

static const char *parse_target(struct rv_h1_parser *parser, const char *at)
{
    struct rv_h1_head *head = parser->head;
    const char *target = at;
    bool is_connect = head->method_id == RV_METHOD_CONNECT;

    if (at == parser->end)
        return exhausted(parser);
    bool is_path = *at == '/' && !is_connect;
    if (is_path)
        at = parse_path_and_query(parser, at);
    else if (is_connect || *at == '*' || rv_lower(*at) == 'h')
        at += rv_scan_target(at, (size_t)(parser->end - at));
    else
        return refuse(parser, 400, "The target is neither a path nor an http URI.");
    size_t length = (size_t)(at - target);
    if (length > parser->limits->target_bytes_max || at == parser->end || *at != ' ')
        return broken_target(parser, target, at);
    head->target = rv_h1_span(parser, rv_slice(target, length));
    if (!is_path && !rv_h1_split_target(parser, rv_slice(target, length)))
        return NULL;
    return at + 1;
}

/* Octet by octet: everything but a whole "HTTP/1.0" or "HTTP/1.1" with its CRLF. */
static const char *parse_odd_version(struct rv_h1_parser *parser, const char *at)
{
    static const char shape[] = "HTTP/d.d\r\n";
    const char *version = at;

    for (size_t i = 0; i < sizeof(shape) - 1; i++, at++) {
        if (at == parser->end)
            return exhausted(parser);
        if (shape[i] == 'd' ? !rv_is_digit(*at) : *at != shape[i])
            return refuse(parser, 400, "The request line does not end with a version and CRLF.");
    }
    if (version[5] != '1')
        return refuse(parser, 505, "The version is neither HTTP/1.0 nor HTTP/1.1.");
    parser->head->minor = 1; /* 1.2 and later, RFC 9110 section 2.5 */
    return at;
}

static const char *parse_version(struct rv_h1_parser *parser, const char *at)
{
    if (parser->end - at >= 10 && memcmp(at, "HTTP/1.", 7) == 0 && (at[7] & ~1) == '0' &&
        memcmp(at + 8, "\r\n", 2) == 0) {
        parser->head->minor = (uint8_t)(at[7] & 1);
        at += 10;
    } else {
        at = parse_odd_version(parser, at);
        if (at == NULL)
            return NULL;
    }
    /* Only now, because the preface of HTTP/2 ("PRI * HTTP/2.0") is another version first. */
    if (parser->head->form == RV_TARGET_ASTERISK && parser->head->method_id != RV_METHOD_OPTIONS)
        return refuse(parser, 400, "The target \"*\" belongs to OPTIONS.");
    return at;
}

/* ---- field lines, RFC 9112 section 5 --------------------------------------------------------- */

static inline enum rv_field_id field_id(const char *name, size_t length)
{
    switch (length) {
    case 4:
        return rv_h1_matches(name, "host", 4) ? RV_FIELD_HOST : RV_FIELD_OTHER;
    case 6:
        return rv_h1_matches(name, "expect", 6) ? RV_FIELD_EXPECT : RV_FIELD_OTHER;
    case 10:
        return rv_h1_matches(name, "connection", 10) ? RV_FIELD_CONNECTION : RV_FIELD_OTHER;
    case 14:
        return rv_h1_matches(name, "content-length", 14) ? RV_FIELD_CONTENT_LENGTH : RV_FIELD_OTHER;
    case 17:
        return rv_h1_matches(name, "transfer-encoding", 17) ? RV_FIELD_TRANSFER_ENCODING
                                                            : RV_FIELD_OTHER;
    default:
        return RV_FIELD_OTHER;
    }
}

/* Why there is no field name with its colon: the token ends at `at`. */
static const char *broken_name(struct rv_h1_parser *parser, const char *name, const char *at)
{
    if (at == parser->end)
        return exhausted(parser);
    if (*at == ' ' || *at == '\t')
        return at == name ? refuse(parser, 400, "A field line starts with white space.")
                          : refuse(parser, 400, "There is white space before a colon.");
    if (*at == ':')
        return refuse(parser, 400, "A field has no name.");
    if (*at == '\r' || *at == '\n')
        return refuse(parser, 400, "A field line has no colon.");
    return refuse(parser, 400, "A field name has an octet that no token may have.");
}

static const char *broken_value(struct rv_h1_parser *parser, const char *at)
{
    if (at == parser->end || (*at == '\r' && at + 1 == parser->end))
        return exhausted(parser);
    if (*at == '\r' || *at == '\n')
        return refuse(parser, 400, "A line does not end with CRLF.");
    return refuse(parser, 400, "A field value has a control octet.");
}

/* The empty line behind the fields. */
static const char *parse_end(struct rv_h1_parser *parser, const char *at)
{
    if (at + 1 == parser->end)
        return exhausted(parser);
    if (at[1] != '\n')
        return refuse(parser, 400, "A line does not end with CRLF.");
    return at + 2;
}

/* Reads one field line into `field`. */
static const char *parse_field(struct rv_h1_parser *parser, const char *name,
                               struct rv_field *field)
{
    const char *end = parser->end;
    const char *at = name + rv_scan_token(name, (size_t)(end - name));

    size_t name_length = (size_t)(at - name);
    if (name_length > UINT16_MAX)
        return refuse(parser, 431, "A field name is too long.");
    if (at == end || *at != ':' || name_length == 0)
        return broken_name(parser, name, at);
    at++;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *value = at;
    at += rv_scan_value(at, (size_t)(end - at));
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return broken_value(parser, at);
    const char *value_end = at;
    while (value_end > value && (value_end[-1] == ' ' || value_end[-1] == '\t'))
        value_end--;

    field->name = (uint32_t)(name - parser->octets);
    field->value = (uint32_t)(value - parser->octets);
    field->value_length = (uint32_t)(value_end - value);
    field->name_length = (uint16_t)name_length;
    field->id = (uint16_t)field_id(name, name_length);
    return at + 2;
}

/* All field lines and the empty line. In a trailer section the fields of the message's framing mean
   nothing (RFC 9110 section 6.5.1). */
static const char *parse_fields(struct rv_h1_parser *parser, const char *at, bool is_trailer)
{
    struct rv_field *fields = parser->head->fields;
    uint32_t count = 0;

    parser->head->field_count = 0;
    for (;; count++) {
        if (at == parser->end)
            return exhausted(parser);
        if (*at == '\r')
            break;
        if (count == parser->limits->head_fields_max) {
            parser->head->field_count = count;
            return rv_is_token_char(*at)
                       ? refuse(parser, 431, "The head of the request has too many fields.")
                       : broken_name(parser, at, at);
        }
        struct rv_field *field = &fields[count];
        at = parse_field(parser, at, field);
        if (at == NULL)
            return NULL;
        if (field->id != RV_FIELD_OTHER && !is_trailer &&
            !rv_h1_apply_field(parser, (enum rv_field_id)field->id,
                               rv_slice(parser->octets + field->value, field->value_length)))
            return NULL;
    }
    at = parse_end(parser, at);
    if (at == NULL)
        return NULL;
    parser->head->field_count = count;
    parser->head->length = (uint32_t)(at - parser->octets);
    return at;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static struct rv_h1_parser parser_of(const char *octets, size_t length,
                                     const struct rv_h1_limits *limits, struct rv_h1_head *head)
{
    bool limited = length >= limits->head_bytes_max;
    return (struct rv_h1_parser){
        .octets = octets,
        .end = octets + (limited ? limits->head_bytes_max : length),
        .head = head,
        .limits = limits,
        .status = RV_H1_COMPLETE,
        .limited = limited,
    };
}

static const char *parse_head(struct rv_h1_parser *parser)
{
    const char *at = parser->octets;
    struct rv_h1_head *head = parser->head;

    head->path = head->query = head->authority = (struct rv_span){0, 0};
    head->content_length = 0;
    head->has_query = head->has_content_length = head->chunked = false;
    head->keep_alive = head->asked_keep_alive = false;
    head->expect_continue = head->expect_unknown = false;
    head->path_is_plain = true;

    if ((at = skip_empty_line(parser, at)) == NULL)
        return NULL;
    if ((at = parse_method(parser, at)) == NULL)
        return NULL;
    if ((at = parse_target(parser, at)) == NULL)
        return NULL;
    if ((at = parse_version(parser, at)) == NULL)
        return NULL;
    if ((at = parse_fields(parser, at, false)) == NULL)
        return NULL;
    return rv_h1_finish_fields(parser) ? at : NULL;
}

int rv_h1_parse_head(const char *octets, size_t length, const struct rv_h1_limits *limits,
                     struct rv_h1_head *head, const char **reason)
{
    struct rv_h1_parser parser = parser_of(octets, length, limits, head);
    if (parse_head(&parser) == NULL && parser.status != RV_H1_INCOMPLETE)
        *reason = parser.reason;
    return parser.status;
}

int rv_h1_parse_trailers(const char *octets, size_t length, const struct rv_h1_limits *limits,
                         struct rv_h1_head *head, const char **reason)
{
    struct rv_h1_parser parser = parser_of(octets, length, limits, head);
    if (parse_fields(&parser, octets, true) == NULL && parser.status != RV_H1_INCOMPLETE)
        *reason = parser.reason;
    return parser.status;
}

const struct rv_field *rv_h1_find(const char *octets, const struct rv_h1_head *head, rv_bytes name)
{
    for (uint32_t i = 0; i < head->field_count; i++) {
        const struct rv_field *field = &head->fields[i];
        if (field->name_length == name.len &&
            rv_bytes_equal_nocase(rv_slice(octets + field->name, field->name_length), name))
            return field;
    }
    return NULL;
}

enum rv_h1_foreign rv_h1_is_foreign(const char *octets, size_t length)
{
    static const char version[] = "HTTP/";
    size_t at = 0;
    enum rv_h1_foreign undecided = RV_H1_FOREIGN_MAYBE;
    if (length >= FOREIGN_BYTES_MAX) {
        length = FOREIGN_BYTES_MAX;
        undecided = RV_H1_FOREIGN_NO;
    }
    while (at < length && rv_is_token_char(octets[at]))
        at++;
    if (at < length && (at == 0 || octets[at] != ' '))
        return RV_H1_FOREIGN_NO;
    for (size_t target = ++at; at < length && octets[at] != ' '; at++) {
        bool is_target = at == target && (octets[at] == '/' || octets[at] == '*');
        if (is_target || octets[at] == ':' || octets[at] < '!' || octets[at] > '~')
            return RV_H1_FOREIGN_NO;
    }
    if (at < length && octets[at - 1] == ' ')
        return RV_H1_FOREIGN_NO; /* no word at all */
    at++;
    for (size_t i = 0; i < sizeof version - 1; i++, at++) {
        if (at >= length)
            return undecided;
        if (octets[at] != version[i])
            return octets[at] < '!' || octets[at] > '~' ? RV_H1_FOREIGN_NO : RV_H1_FOREIGN_YES;
    }
    return RV_H1_FOREIGN_NO;
}
