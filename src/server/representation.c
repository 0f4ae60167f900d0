/*
 * Conditions and ranges of whole answers (representation.h). What they mean is decided in
 * http/conditional and http/range; here the decisions become status, fields and content.
 */
#include "server/representation.h"

#include "base/random.h"
#include "http/byteranges.h"
#include "http/date.h"
#include "server/shaping.h"
#include "server/tell.h"
#include "server/wire.h"

#include <stdio.h>
#include <sys/random.h>

#define READING_A_RANGE "while reading a Range field"

void rv_file_etag(char etag[RV_FILE_ETAG_BYTES], uint64_t size, struct timespec modified,
                  const char *suffix)
{
    snprintf(etag, RV_FILE_ETAG_BYTES, "\"%llx-%llx.%lx%s\"", (unsigned long long)size,
             (unsigned long long)modified.tv_sec, (unsigned long)modified.tv_nsec, suffix);
}

rv_bytes rv_header_joined(struct rv_talk *talk, const char *wanted)
{
    rv_bytes first = rv_header(talk, wanted), name, value, all = first;
    size_t size = 0, count = 0;
    if (first.ptr == NULL)
        return first;
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        if (rv_bytes_equal_nocase(name, rv_str(wanted))) {
            size += value.len + 2;
            count++;
        }
    if (count < 2)
        return first;
    char *out = rv_arena_alloc(&talk->arena, size);
    if (out == NULL)
        return first;
    all = rv_slice(out, 0);
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        if (rv_bytes_equal_nocase(name, rv_str(wanted))) {
            if (all.len > 0)
                all.len = (size_t)(rv_put(out + all.len, RV_LIT(", ")) - out);
            all.len = (size_t)(rv_put(out + all.len, value) - out);
        }
    return all;
}

struct rv_conditions rv_conditions_of(struct rv_talk *talk)
{
    return (struct rv_conditions){.if_match = rv_header_joined(talk, "If-Match"),
                                  .if_none_match = rv_header_joined(talk, "If-None-Match"),
                                  .if_modified_since = rv_header(talk, "If-Modified-Since"),
                                  .if_unmodified_since = rv_header(talk, "If-Unmodified-Since"),
                                  .if_range = rv_header(talk, "If-Range")};
}

/* ---- fields ----------------------------------------------------------------------------------------- */

/* RFC 9110 section 8.8.2.1: a Last-Modified later than the message's Date is replaced by that. */
static rv_error set_last_modified(struct rv_talk *talk, int64_t modified_s)
{
    char date[RV_DATE_LENGTH + 1];
    if (modified_s < 0)
        return 0;
    rv_date_format(date, modified_s < talk->wall_s ? modified_s : talk->wall_s);
    date[RV_DATE_LENGTH] = '\0';
    return rv_set_header(talk, "Last-Modified", date);
}

/* Those of 200, 206 and 304. With 304 the client has the rest; a date is of use to it only where there is
   no entity tag (RFC 9110 section 15.4.5). */
static rv_error set_fields(struct rv_talk *talk, const struct rv_representation *what, int status)
{
    rv_error error = 0;
    if (!what->no_conditions) {
        if (status != 304 || what->etag == NULL)
            error = set_last_modified(talk, what->modified_s);
        if (error == 0 && what->etag != NULL)
            error = rv_set_header(talk, "ETag", what->etag);
        if (error == 0)
            error = rv_set_header(talk, "Accept-Ranges", "bytes");
    }
    if (error == 0 && what->varies)
        error = rv_add_header(talk, "Vary", "Accept-Encoding");
    if (error == 0 && what->coding.ptr != NULL && status != 304)
        error = rv_set_header(talk, "Content-Encoding", what->coding.ptr);
    return error;
}

/* ---- ranges ----------------------------------------------------------------------------------------- */

struct ranges {
    struct rv_range wanted[RV_RANGES_MAX];
    size_t count;
};

/* 200, 206 or 416. */
static int decide_ranges(struct rv_talk *talk, const struct rv_conditions *conditions,
                         const struct rv_validators *validators, uint64_t size,
                         struct ranges *ranges)
{
    /* RFC 9110 section 14.2: only GET has ranges, and only HTTP/1.1 clients have heard of them. */
    if (talk->head.method_id != RV_METHOD_GET || talk->head.minor == 0)
        return 200;
    rv_bytes range = rv_header_joined(talk, "Range");
    if (range.ptr == NULL || !rv_if_range_allows(conditions, validators))
        return 200;
    switch (rv_range_decide(range, size, ranges->wanted, RV_RANGES_MAX, &ranges->count)) {
    case RV_RANGE_ONE:
    case RV_RANGE_SEVERAL:
        return 206;
    case RV_RANGE_UNSATISFIABLE:
        rv_tell_bad_input(talk, 416, READING_A_RANGE,
                          "There is no such range in what was asked for.");
        return 416;
    case RV_RANGE_NONE:
        break;
    }
    rv_tell_bad_input(talk, 0, READING_A_RANGE,
                      "A Range that is none, or too much, was passed over.");
    return 200;
}

static rv_error set_content_range(struct rv_talk *talk, const struct rv_range *range, uint64_t size)
{
    char text[RV_CONTENT_RANGE_MAX + 1];
    text[rv_content_range_write(range, size, text)] = '\0';
    return rv_set_header(talk, "Content-Range", text);
}

/* The boundary needs to be in no file, not to be a secret: two numbers of the kernel's. */
static void set_boundary(struct rv_byteranges *byteranges, const struct rv_talk *talk)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        struct rv_random spare = {(uintptr_t)talk ^ (uint64_t)talk->wall_s << 32 ^
                                  talk->generation};
        random[0] = rv_random_next(&spare);
        random[1] = rv_random_next(&spare);
    }
    rv_byteranges_set_boundary(byteranges, random);
}

/* multipart/byteranges: the heads of the parts are made at once, in the talk's memory. */
static rv_error divide(struct rv_talk *talk, const struct rv_representation *what,
                       const struct ranges *ranges, struct rv_content *content, const char **type)
{
    struct rv_byteranges byteranges = {.content_type = rv_str(what->content_type),
                                       .size = content->length,
                                       .ranges = ranges->wanted,
                                       .count = ranges->count};
    set_boundary(&byteranges, talk);
    size_t room = rv_byteranges_head_room(&byteranges), count = ranges->count + 1;
    struct rv_content_part *parts = rv_arena_alloc(&talk->arena, count * sizeof *parts);
    char *heads = rv_arena_alloc(&talk->arena, count * room);
    char *multipart = rv_arena_alloc(&talk->arena, RV_BYTERANGES_TYPE_LENGTH + 1);
    uint64_t length;
    if (parts == NULL || heads == NULL || multipart == NULL ||
        !rv_byteranges_length(&byteranges, &length))
        return RV_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        char *head = heads + i * room;
        parts[i].head = rv_slice(head, rv_byteranges_head_write(&byteranges, i, head));
        parts[i].offset = i < ranges->count ? content->offset + ranges->wanted[i].first : 0;
        parts[i].length = i < ranges->count ? ranges->wanted[i].length : 0;
    }
    rv_byteranges_type_write(&byteranges, multipart);
    multipart[RV_BYTERANGES_TYPE_LENGTH] = '\0';
    *type = multipart;
    content->parts = parts;
    content->part_count = count;
    content->length = length;
    return 0;
}

static rv_error narrow(struct rv_talk *talk, const struct rv_representation *what,
                       const struct ranges *ranges, struct rv_content *content, const char **type)
{
    if (ranges->count > 1)
        return divide(talk, what, ranges, content, type);
    rv_error error = set_content_range(talk, ranges->wanted, content->length);
    content->offset += ranges->wanted[0].first;
    content->length = ranges->wanted[0].length;
    if (content->kind != RV_CONTENT_FILE) {
        content->octets = rv_slice(content->octets.ptr + content->offset, (size_t)content->length);
        content->offset = 0;
    }
    return error;
}

/* ---- all together ------------------------------------------------------------------------------------- */

static int decide(struct rv_talk *talk, const struct rv_representation *what, struct ranges *ranges)
{
    struct rv_conditions conditions = rv_conditions_of(talk);
    struct rv_validators validators = {
        .etag = rv_str(what->etag), .last_modified = what->modified_s, .now = talk->wall_s};
    bool get_or_head =
        talk->head.method_id == RV_METHOD_GET || talk->head.method_id == RV_METHOD_HEAD;
    switch (rv_conditions_evaluate(&conditions, &validators, get_or_head)) {
    case RV_CONDITION_NOT_MODIFIED:
        return 304;
    case RV_CONDITION_FAILED:
        return 412;
    case RV_CONDITION_PASS:
        break;
    }
    return decide_ranges(talk, &conditions, &validators, what->content.length, ranges);
}

/* What the app's compression would make of the whole of it holds for a 304, too, and for a part. */
static rv_error settle_coding(struct rv_talk *talk, const struct rv_representation *what,
                              int status)
{
    if (rv_shaping_of(talk) == NULL)
        return 0;
    talk->coding_settled =
        what->coding.ptr != NULL ||
        !rv_choose_coding(talk, 200, rv_str(what->content_type), what->content.length).varies;
    return talk->coding_settled || what->varies || status != 206
               ? 0
               : rv_add_header(talk, "Vary", "Accept-Encoding");
}

/* 304, 412 and 416. */
static int answer_without_content(struct rv_talk *talk, const struct rv_representation *what,
                                  int status)
{
    rv_error error = 0;
    uint64_t size = what->content.length;
    if (status == 304)
        error = set_fields(talk, what, status);
    else if (status == 416)
        error = set_content_range(talk, NULL, size);
    rv_content_drop(&what->content);
    if (error != 0)
        return error;
    return status == 304 ? rv_reply(talk, 304, what->content_type, rv_slice("", 0))
                         : rv_problem(talk, status, NULL);
}

int rv_answer_representation(struct rv_talk *talk, const struct rv_representation *what)
{
    struct rv_content content = what->content;
    const char *type = what->content_type;
    struct ranges ranges;
    int status = what->no_conditions ? 200 : decide(talk, what, &ranges);
    rv_error error = settle_coding(talk, what, status);
    if (error != 0) {
        rv_content_drop(&what->content);
        return error;
    }
    if (status != 200 && status != 206)
        return answer_without_content(talk, what, status);
    error = set_fields(talk, what, status);
    if (error == 0 && status == 206)
        error = narrow(talk, what, &ranges, &content, &type);
    if (error != 0) {
        rv_content_drop(&what->content);
        return error;
    }
    return rv_answer(talk, status, type, &content);
}
