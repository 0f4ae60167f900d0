/*
 * What the files of the HTTP/1 head parser share, and nobody else needs: h1_parse.c walks over
 * lines, h1_target.c knows the forms of a target, h1_fields.c the fields that decide about the
 * message. h1_response.c compares words as they do.
 */
#ifndef RV_HTTP_H1_INNER_H
#define RV_HTTP_H1_INNER_H

#include "http/h1_parse.h"

/* One call of the parser. Octets before `end` may decide; those behind it are only readable. */
struct rv_h1_parser {
    const char *octets;
    const char *end;
    struct rv_h1_head *head;
    const struct rv_h1_limits *limits;
    const char *reason;
    int status;   /* RV_H1_COMPLETE until a step fails, then what that step found */
    bool limited; /* `end` is where head_bytes_max strikes, not where the octets end */
    bool has_host;
    bool has_transfer_encoding;
    bool asked_close;      /* Connection: close */
    bool length_overflows; /* Content-Length beyond 2^63 - 1 */
    bool coding_unknown;   /* a transfer coding other than chunked */
};

/* Notes the refusal. False, so that a step can end with it. */
bool rv_h1_refuse(struct rv_h1_parser *parser, int status, const char *reason);

/* h1_target.c: splits the target into its parts; all its octets are 0x21 to 0x7e without "#". */
bool rv_h1_split_target(struct rv_h1_parser *parser, rv_bytes target);

/* h1_fields.c: what a field whose id is not RV_FIELD_OTHER says about the message. */
bool rv_h1_apply_field(struct rv_h1_parser *parser, enum rv_field_id id, rv_bytes value);

/* h1_fields.c: what can be said only when all fields are there. */
bool rv_h1_finish_fields(struct rv_h1_parser *parser);

static inline struct rv_span rv_h1_span(const struct rv_h1_parser *parser, rv_bytes bytes)
{
    return (struct rv_span){(uint32_t)(bytes.ptr - parser->octets), (uint32_t)bytes.len};
}

/* How four or eight octets differ from `lower`, whatever the case of letters; 0: not at all. */
static inline uint64_t rv_h1_difference(const char *text, const char *lower, size_t octets)
{
    const uint64_t lower_case = 0x2020202020202020;
    uint64_t a = 0;
    uint64_t b = 0;
    memcpy(&a, text, octets);
    memcpy(&b, lower, octets);
    return (a | lower_case) ^ (b | lower_case);
}

/*
 * Is `text` the word `lower`, whatever the case of its letters? Both have `length` octets, 4 to 24;
 * `lower` consists of small letters, digits and "-", and `text` of octets that a field value may
 * have: then setting bit 5 makes no other octet equal to one of them. With a constant length it is
 * two or three comparisons of words that overlap.
 */
static inline bool rv_h1_matches(const char *text, const char *lower, size_t length)
{
    if (length < 8)
        return (rv_h1_difference(text, lower, 4) |
                rv_h1_difference(text + length - 4, lower + length - 4, 4)) == 0;
    uint64_t middle = length > 16 ? rv_h1_difference(text + 8, lower + 8, 8) : 0;
    return (rv_h1_difference(text, lower, 8) | middle |
            rv_h1_difference(text + length - 8, lower + length - 8, 8)) == 0;
}

#endif
