/*
 * Any octets as a request head and as a trailer section. Whatever the verdict is: it must not depend
 * on how the octets arrived, everything that is found must lie inside the head, and a head that is
 * accepted must be accepted again, as the same, when nothing else is there. The first two octets of
 * the input choose the limits. Blocks have exactly their size, so that the sanitizer sees a look
 * behind the padding.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "http/h1_parse.h"
#include "http/uri.h"

enum { FIELDS_MAX = 16, OCTETS_MAX = 2048 };

typedef int parse_function(const char *octets, size_t length, const struct rv_h1_limits *limits,
                           struct rv_h1_head *head, const char **reason);

struct verdict {
    int status;
    const char *reason;
    struct rv_h1_head head;
    struct rv_field fields[FIELDS_MAX];
};

/* Unlike assert() it is there in every build. */
static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The first `length` octets; the padding has what comes next, or zeros. */
static void parse(parse_function *function, const char *octets, size_t available, size_t length,
                  const struct rv_h1_limits *limits, struct verdict *verdict)
{
    size_t behind = available - length;
    char *block = calloc(1, length + RV_SCAN_PADDING);
    require(block != NULL);
    memcpy(block, octets, length + (behind < RV_SCAN_PADDING ? behind : RV_SCAN_PADDING));
    memset(verdict, 0, sizeof(*verdict));
    verdict->head.fields = verdict->fields;
    verdict->status = function(block, length, limits, &verdict->head, &verdict->reason);
    verdict->head.fields = NULL; /* the only thing that may differ between two equal verdicts */
    free(block);
}

static void require_same(const struct verdict *a, const struct verdict *b)
{
    require(a->status == b->status);
    if (a->status != RV_H1_COMPLETE) {
        require(a->reason == b->reason);
        return;
    }
    require(memcmp(&a->head, &b->head, sizeof(a->head)) == 0);
    require(memcmp(a->fields, b->fields, a->head.field_count * sizeof(a->fields[0])) == 0);
}

static void require_inside(struct rv_span span, const struct rv_h1_head *head)
{
    require(span.at <= head->length && span.length <= head->length - span.at);
}

static void require_sound_fields(const char *octets, const struct verdict *verdict)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < verdict->head.field_count; i++) {
        const struct rv_field *field = &verdict->fields[i];
        require_inside((struct rv_span){field->name, field->name_length}, &verdict->head);
        require_inside((struct rv_span){field->value, field->value_length}, &verdict->head);
        require(field->name >= at && field->name_length > 0);
        require(octets[field->name + field->name_length] == ':');
        require(field->value > field->name + field->name_length);
        at = field->value + field->value_length;
    }
    require(verdict->head.length >= 2);
    require(memcmp(octets + verdict->head.length - 2, "\r\n", 2) == 0);
}

static void require_sound_head(const char *octets, const struct verdict *verdict)
{
    const struct rv_h1_head *head = &verdict->head;
    require_inside(head->method, head);
    require_inside(head->target, head);
    require_inside(head->path, head);
    require_inside(head->authority, head);
    if (head->has_query)
        require_inside(head->query, head);
    require(head->method.length > 0 && head->target.length > 0);
    require(head->minor <= 1);
    require(head->minor == 0 || head->authority.length > 0);
    if (head->authority.length > 0)
        require(rv_authority_is_valid(rv_span_bytes(octets, head->authority)));
    require(!(head->chunked && head->has_content_length));
    require(!(head->chunked && head->minor == 0));
    require(!head->has_content_length || head->content_length <= INT64_MAX);
}

static void check(parse_function *function, const char *octets, size_t available,
                  const struct rv_h1_limits *limits)
{
    struct verdict whole;
    struct verdict next;
    bool known = false;

    parse(function, octets, available, available, limits, &whole);
    for (size_t length = 0; length < available; length++) {
        parse(function, octets, available, length, limits, &next);
        if (next.status == RV_H1_INCOMPLETE) {
            require(!known);
            continue;
        }
        known = true;
        require_same(&next, &whole);
    }
    if (whole.status != RV_H1_COMPLETE) {
        require(whole.status == RV_H1_INCOMPLETE || whole.reason != NULL);
        return;
    }
    require(whole.head.length <= available && whole.head.length <= limits->head_bytes_max);
    require(whole.head.field_count <= limits->head_fields_max);
    require_sound_fields(octets, &whole);
    if (function == rv_h1_parse_head) {
        require(whole.head.target.length <= limits->target_bytes_max);
        require_sound_head(octets, &whole);
    }
    parse(function, octets, whole.head.length, whole.head.length, limits, &next);
    require_same(&next, &whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > OCTETS_MAX)
        return 0;
    const struct rv_h1_limits limits = {
        .target_bytes_max = data[0] % 8 == 0 ? 1 + data[0] / 8 : 1024,
        .head_bytes_max = data[1] % 8 == 0 ? 1 + 4 * (uint32_t)data[1] : 4096,
        .head_fields_max = data[0] % FIELDS_MAX,
    };
    check(rv_h1_parse_head, (const char *)data + 2, size - 2, &limits);
    check(rv_h1_parse_trailers, (const char *)data + 2, size - 2, &limits);
    return 0;
}
