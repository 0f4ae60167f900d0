/*
 * The head of an HTTP/1 request: octets in, one struct out (RFC 9112). Stateless and in place: the
 * parser is given everything that has arrived of the head, and either finds it complete, finds it
 * wrong, or asks to be called again with more. It records where things are as offsets from the
 * beginning, so the octets may be moved afterwards. It allocates nothing and knows no sockets.
 *
 * Strict where leniency has let requests be smuggled: no bare CR or LF, no folded fields, no space
 * before a colon, exactly one Host, one Content-Length, never both lengths.
 */
#ifndef RV_HTTP_H1_PARSE_H
#define RV_HTTP_H1_PARSE_H

#include "http/method.h"

/* The fields that the protocol itself must understand. */
enum rv_field_id {
    RV_FIELD_OTHER = 0,
    RV_FIELD_HOST,
    RV_FIELD_CONNECTION,
    RV_FIELD_CONTENT_LENGTH,
    RV_FIELD_TRANSFER_ENCODING,
    RV_FIELD_EXPECT,
};

struct rv_field {
    uint32_t name;  /* offset */
    uint32_t value; /* offset; OWS at both ends is not part of it */
    uint32_t value_length;
    uint16_t name_length;
    uint16_t id; /* enum rv_field_id */
};

/* RFC 9112 section 3.2. */
enum rv_target_form {
    RV_TARGET_ORIGIN,
    RV_TARGET_ABSOLUTE,
    RV_TARGET_AUTHORITY, /* CONNECT */
    RV_TARGET_ASTERISK   /* OPTIONS * */
};

struct rv_h1_limits {
    uint32_t target_bytes_max;
    uint32_t head_bytes_max;  /* request line, fields and the empty line */
    uint32_t head_fields_max; /* the room behind rv_h1_head.fields */
};

/* A 32-bit run of octets: offset from the beginning of the head, and length. */
struct rv_span {
    uint32_t at;
    uint32_t length;
};

struct rv_h1_head {
    /* Set by the caller once. */
    struct rv_field *fields; /* head_fields_max of them, owned by the caller */

    /* Set by rv_h1_parse_head when it returns RV_H1_COMPLETE. */
    uint32_t length; /* of the whole head with the empty line (and a leading CRLF) */
    uint32_t field_count;
    struct rv_span method;
    struct rv_span target;
    struct rv_span path;      /* part of the target: "*" for OPTIONS *, empty for CONNECT; empty too
                                 when an absolute-form has none: then "/" is implied */
    struct rv_span query;     /* without the "?"; only when has_query */
    struct rv_span authority; /* of the target if it has one, else the value of Host; empty: none */
    uint64_t content_length;  /* only when has_content_length */
    enum rv_method method_id;
    enum rv_target_form form;
    uint8_t minor; /* 0 or 1: what the message is treated as (1.2 and later count as 1.1) */
    bool has_query;
    bool has_content_length;
    bool chunked;
    bool keep_alive;       /* persistence as both versions' rules give it (RFC 9112 section 9.3) */
    bool asked_keep_alive; /* Connection: keep-alive was there (a 1.0 client must be told) */
    bool expect_continue;  /* only ever true for 1.1 */
    bool expect_unknown;   /* an expectation other than 100-continue */
    bool path_is_plain;    /* no "%" in the path, and no segment that starts with a dot */
};

enum rv_h1_result {
    RV_H1_COMPLETE = 0,
    RV_H1_INCOMPLETE = 1,
    /* Everything else is the status of the refusal: 400, 413 (a Content-Length beyond 2^63 - 1),
       414, 431, 501 or 505. */
};

/* A head that is refused with 431 for its number of fields has field_count == head_fields_max, one that
   is refused for its size has 0. */

/*
 * Parses the head that starts at `octets`. RV_H1_COMPLETE, RV_H1_INCOMPLETE, or a status code; then
 * `*reason` is a static sentence that says what was wrong. `octets[length]` up to
 * RV_SCAN_PADDING octets behind must be readable.
 *
 * After RV_H1_INCOMPLETE the caller calls again from the beginning, with more: when a LF has
 * arrived, or when what has arrived reaches one of the limits. A refusal is final: more octets
 * would not change it. Most faults are found at the octet that makes them; a missing Host, 413
 * and 501 at the end of the head.
 */
int rv_h1_parse_head(const char *octets, size_t length, const struct rv_h1_limits *limits,
                     struct rv_h1_head *head, const char **reason);

/*
 * Is a line that was refused that of another protocol? A word that could be a method, one that is no
 * target, and a third that is not HTTP's at all: whoever sends that would not understand an answer. (TLS
 * begins otherwise, and is to get its 400.) MAYBE: more octets will tell, and not many.
 */
enum rv_h1_foreign { RV_H1_FOREIGN_NO, RV_H1_FOREIGN_MAYBE, RV_H1_FOREIGN_YES };
enum rv_h1_foreign rv_h1_is_foreign(const char *octets, size_t length);

/*
 * Parses a trailer section (RFC 9112 section 7.1.2): fields up to and with the empty line. The same
 * rules and results as above; `head->fields`, `field_count` and `length` are set, nothing else.
 */
int rv_h1_parse_trailers(const char *octets, size_t length, const struct rv_h1_limits *limits,
                         struct rv_h1_head *head, const char **reason);

/* The first field of that name, any case; NULL when there is none. */
const struct rv_field *rv_h1_find(const char *octets, const struct rv_h1_head *head, rv_bytes name);

static inline rv_bytes rv_span_bytes(const char *octets, struct rv_span span)
{
    return rv_slice(octets + span.at, span.length);
}

#endif
