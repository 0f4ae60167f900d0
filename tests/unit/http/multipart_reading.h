/*
 * Reads a body with rv_multipart in pieces and writes down what came out, so that two ways of cutting
 * the same octets can be compared: "[name|filename|type|charset:data]" for each part, "." for the end,
 * "!400" for a refusal. An absent text is written "-".
 */
#ifndef RV_TESTS_MULTIPART_READING_H
#define RV_TESTS_MULTIPART_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "http/multipart.h"
#include "unit/http/exact_copy.h"

struct reading {
    struct rv_multipart multipart;
    char *memory;
    char *seen;
    size_t length, room;
    size_t data_events;
    bool is_over; /* refused, or never begun */
};

static inline void write_down(struct reading *reading, rv_bytes text)
{
    if (reading->length + text.len + 1 > reading->room) {
        reading->room = 2 * (reading->length + text.len + 1);
        reading->seen = realloc(reading->seen, reading->room);
        assert_non_null(reading->seen);
    }
    if (text.len > 0)
        memcpy(reading->seen + reading->length, text.ptr, text.len);
    reading->length += text.len;
    reading->seen[reading->length] = '\0';
}

static inline void write_down_refusal(struct reading *reading)
{
    char text[8];
    assert_non_null(reading->multipart.reason);
    snprintf(text, sizeof text, "!%d", reading->multipart.status);
    write_down(reading, rv_str(text));
    reading->is_over = true;
}

static inline void write_down_part(struct reading *reading)
{
    const struct rv_part *part = &reading->multipart.part;
    const rv_bytes texts[] = {part->name, part->filename, part->content_type, part->charset};
    for (size_t i = 0; i < 4; i++) {
        write_down(reading, i == 0 ? RV_LIT("[") : RV_LIT("|"));
        write_down(reading, texts[i].ptr != NULL ? texts[i] : RV_LIT("-"));
    }
    write_down(reading, RV_LIT(":"));
}

static inline void reading_begin(struct reading *reading, const char *content_type,
                                 const struct rv_multipart_limits *limits)
{
    *reading = (struct reading){0};
    reading->memory = malloc(RV_MULTIPART_MEMORY(limits->part_head_bytes_max));
    assert_non_null(reading->memory);
    write_down(reading, RV_LIT(""));
    rv_bytes field = exact_copy(rv_str(content_type));
    if (!rv_multipart_begin(&reading->multipart, field, limits, reading->memory))
        write_down_refusal(reading);
    give_back(field);
}

/* One piece, in a block of exactly its size. */
static inline void reading_feed(struct reading *reading, rv_bytes piece)
{
    rv_bytes copy = exact_copy(piece), rest = copy, data;
    enum rv_multipart_event event = RV_MULTIPART_PART;
    while (!reading->is_over && event != RV_MULTIPART_INCOMPLETE) {
        event = rv_multipart_next(&reading->multipart, &rest, &data);
        switch (event) {
        case RV_MULTIPART_INCOMPLETE:
            assert_int_equal(rest.len, 0);
            break;
        case RV_MULTIPART_PART:
            write_down_part(reading);
            break;
        case RV_MULTIPART_DATA:
            assert_true(data.len > 0);
            reading->data_events++;
            write_down(reading, data);
            break;
        case RV_MULTIPART_PART_END:
            write_down(reading, RV_LIT("]"));
            break;
        case RV_MULTIPART_ERROR:
            write_down_refusal(reading);
            rest.len = 0;
            assert_int_equal(rv_multipart_next(&reading->multipart, &rest, &data),
                             RV_MULTIPART_ERROR);
            break;
        }
    }
    give_back(copy);
}

static inline void reading_end(struct reading *reading)
{
    bool is_whole = rv_multipart_finish(&reading->multipart);
    assert_int_equal(is_whole, reading->multipart.status == 0);
    if (is_whole)
        write_down(reading, RV_LIT("."));
    else if (!reading->is_over)
        write_down_refusal(reading);
}

static inline void reading_free(struct reading *reading)
{
    free(reading->memory);
    free(reading->seen);
}

#endif
