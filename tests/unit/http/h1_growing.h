/*
 * For the tests of the head parser: parses octets at every length from nothing on, each time from
 * a block of exactly that size with its padding, where the padding holds what would come next. So
 * a verdict that depends on how a head was cut, on octets that have not arrived, or on a look too
 * far, fails whatever the test is about.
 */
#ifndef RV_TESTS_H1_GROWING_H
#define RV_TESTS_H1_GROWING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "http/h1_parse.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { FIELDS_MAX = 100 };

static const struct rv_h1_limits defaults = {8192, 32768, FIELDS_MAX};

typedef int parse_function(const char *octets, size_t length, const struct rv_h1_limits *limits,
                           struct rv_h1_head *head, const char **reason);

/* What one call of the parser said. */
struct outcome {
    const char *octets; /* that `head` points into */
    const char *reason;
    int status;
    struct rv_h1_head head;
    struct rv_field fields[FIELDS_MAX];
};

/* ---- parsing at every length ----------------------------------------------------------------- */

/* The first `length` of `octets`, in a block of their own. What is not written stays 0xa5. */
static inline void parse_first(parse_function *parse, const struct rv_h1_limits *limits,
                               rv_bytes octets, size_t length, struct outcome *outcome)
{
    size_t behind = octets.len - length;
    char *block = malloc(length + RV_SCAN_PADDING);
    assert_non_null(block);
    memset(block + length, 'x', RV_SCAN_PADDING);
    memcpy(block, octets.ptr, length + (behind < RV_SCAN_PADDING ? behind : RV_SCAN_PADDING));
    memset(outcome, 0xa5, sizeof(*outcome));
    outcome->head.fields = outcome->fields;
    outcome->octets = octets.ptr;
    outcome->reason = NULL;
    outcome->status = parse(block, length, limits, &outcome->head, &outcome->reason);
    free(block);
}

static inline bool same_span(struct rv_span a, struct rv_span b)
{
    return a.at == b.at && a.length == b.length;
}

static inline void assert_same_fields(const struct outcome *a, const struct outcome *b)
{
    assert_int_equal(a->head.length, b->head.length);
    assert_int_equal(a->head.field_count, b->head.field_count);
    assert_memory_equal(a->fields, b->fields, a->head.field_count * sizeof(struct rv_field));
}

static inline void assert_same_head(const struct outcome *a, const struct outcome *b)
{
    assert_same_fields(a, b);
    assert_true(same_span(a->head.method, b->head.method));
    assert_true(same_span(a->head.target, b->head.target));
    assert_true(same_span(a->head.path, b->head.path));
    assert_true(same_span(a->head.authority, b->head.authority));
    assert_int_equal(a->head.has_query, b->head.has_query);
    assert_true(!a->head.has_query || same_span(a->head.query, b->head.query));
    assert_int_equal(a->head.has_content_length, b->head.has_content_length);
    assert_true(!a->head.has_content_length || a->head.content_length == b->head.content_length);
    assert_int_equal(a->head.method_id, b->head.method_id);
    assert_int_equal(a->head.form, b->head.form);
    assert_int_equal(a->head.minor, b->head.minor);
    assert_int_equal(a->head.chunked, b->head.chunked);
    assert_int_equal(a->head.keep_alive, b->head.keep_alive);
    assert_int_equal(a->head.asked_keep_alive, b->head.asked_keep_alive);
    assert_int_equal(a->head.expect_continue, b->head.expect_continue);
    assert_int_equal(a->head.expect_unknown, b->head.expect_unknown);
    assert_int_equal(a->head.path_is_plain, b->head.path_is_plain);
}

/* Parses at every length. Up to some length the answer is "more", from then on it never changes:
   returns that length, and the answer in `outcome`. */
static inline size_t parse_growing(parse_function *parse, const struct rv_h1_limits *limits,
                                   rv_bytes octets, struct outcome *outcome)
{
    size_t known_at = SIZE_MAX;

    for (size_t length = 0; length <= octets.len; length++) {
        struct outcome next;
        parse_first(parse, limits, octets, length, &next);
        if (known_at != SIZE_MAX) {
            if (next.status != outcome->status || next.reason != outcome->reason)
                fail_msg("%d (%s) became %d (%s) at %zu of \"%s\"", outcome->status,
                         outcome->reason, next.status, next.reason, length, octets.ptr);
            if (next.status == RV_H1_COMPLETE && parse == rv_h1_parse_head)
                assert_same_head(&next, outcome);
            else if (next.status == RV_H1_COMPLETE)
                assert_same_fields(&next, outcome);
        } else {
            *outcome = next;
            outcome->head.fields = outcome->fields;
            if (next.status != RV_H1_INCOMPLETE)
                known_at = length;
        }
    }
    return known_at;
}

/* What an accepted head says; another request behind it changes nothing. */
static inline struct outcome accepted(rv_bytes head)
{
    static struct outcome outcome;
    char octets[1024];

    assert_in_range(head.len, 1, sizeof(octets) - 8);
    memcpy(octets, head.ptr, head.len);
    memcpy(octets + head.len, "GET / H", 8);
    rv_bytes more = rv_slice(octets, head.len + 7);
    size_t known_at = parse_growing(rv_h1_parse_head, &defaults, more, &outcome);
    if (outcome.status != RV_H1_COMPLETE)
        fail_msg("%d %s: \"%s\"", outcome.status, outcome.reason, head.ptr);
    assert_int_equal(known_at, head.len);
    assert_int_equal(outcome.head.length, head.len);
    outcome.octets = head.ptr;
    return outcome;
}

/* Asserts the refusal, and that it comes as soon as `known_at` octets are there. */
static inline void assert_refused_at(int status, rv_bytes octets, size_t known_at,
                                     const struct rv_h1_limits *limits)
{
    struct outcome outcome;
    size_t at = parse_growing(rv_h1_parse_head, limits, octets, &outcome);
    if (outcome.status != status)
        fail_msg("%d and not %d: \"%s\"", outcome.status, status, octets.ptr);
    if (at != known_at)
        fail_msg("known at %zu and not %zu: \"%s\"", at, known_at, octets.ptr);
    assert_non_null(outcome.reason);
}

static inline void assert_refused(int status, rv_bytes octets)
{
    struct outcome outcome;
    (void)parse_growing(rv_h1_parse_head, &defaults, octets, &outcome);
    if (outcome.status != status)
        fail_msg("%d and not %d: \"%s\"", outcome.status, status, octets.ptr);
    assert_non_null(outcome.reason);
}

static inline void assert_each_refused(int status, const rv_bytes *heads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_refused(status, heads[i]);
}

static inline void assert_part(const struct outcome *outcome, struct rv_span span, const char *text)
{
    rv_bytes part = rv_span_bytes(outcome->octets, span);
    if (!rv_equals(part, text))
        fail_msg("\"%.*s\" is not \"%s\"", (int)part.len, part.ptr, text);
}

static inline void assert_field(const struct outcome *outcome, uint32_t index, const char *name,
                                const char *value, enum rv_field_id id)
{
    const struct rv_field *field = &outcome->fields[index];
    assert_in_range(index, 0, outcome->head.field_count - 1);
    assert_part(outcome, (struct rv_span){field->name, field->name_length}, name);
    assert_part(outcome, (struct rv_span){field->value, field->value_length}, value);
    assert_int_equal(field->id, id);
}

/* A 1.1 head with a Host and these lines. */
#define HEAD(lines) RV_LIT("POST /a HTTP/1.1\r\nHost: x\r\n" lines "\r\n")
#define HEAD_1_0(lines) RV_LIT("POST /a HTTP/1.0\r\n" lines "\r\n")

#endif
