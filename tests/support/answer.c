/*
 * Reading answers (answer.h).
 */
#include "support/answer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- fields ------------------------------------------------------------------------------------ */

/* Where the value of the next field of that name begins, from `at` in the head; NULL: nowhere. */
static const char *next_value(const char *at, const char *name)
{
    size_t length = strlen(name);
    for (at = strstr(at, "\r\n"); at != NULL; at = strstr(at, "\r\n")) {
        at += 2;
        if (strncasecmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1 + strspn(at + length + 1, " \t");
    }
    return NULL;
}

const char *answer_field(const struct answer *answer, const char *name)
{
    static _Thread_local char value[8192];
    const char *start = next_value(answer->head, name);
    if (start == NULL)
        return NULL;
    snprintf(value, sizeof value, "%.*s", (int)strcspn(start, "\r"), start);
    return value;
}

unsigned answer_field_count(const struct answer *answer, const char *name)
{
    unsigned count = 0;
    for (const char *at = answer->head; (at = next_value(at, name)) != NULL;)
        count++;
    return count;
}

bool answer_content_is(const struct answer *answer, const char *text)
{
    size_t length = strlen(text);
    return answer->content.len == length &&
           (length == 0 || memcmp(answer->content.ptr, text, length) == 0);
}

/* ---- content ----------------------------------------------------------------------------------- */

static void put(struct rv_buffer *buffer, const char *octets, size_t length)
{
    if (rv_buffer_append(buffer, (rv_bytes){octets, length}) != 0 ||
        rv_buffer_reserve(buffer, 1) != 0)
        abort(); /* a test without memory can tell nothing */
    buffer->ptr[buffer->len] = '\0';
}

static const char *find(rv_bytes octets, const char *text)
{
    return octets.len == 0 ? NULL : memmem(octets.ptr, octets.len, text, strlen(text));
}

static void skip_octets(rv_bytes *octets, size_t count)
{
    octets->ptr += count;
    octets->len -= count;
}

static enum answer_result take_trailers(struct answer *answer, rv_bytes *octets)
{
    if (octets->len >= 2 && memcmp(octets->ptr, "\r\n", 2) == 0) {
        skip_octets(octets, 2);
        return ANSWER_WHOLE;
    }
    const char *end = find(*octets, "\r\n\r\n");
    if (end == NULL)
        return ANSWER_PART;
    size_t length = (size_t)(end - octets->ptr) + 2;
    if (length >= sizeof answer->trailers)
        return ANSWER_BAD;
    memcpy(answer->trailers, octets->ptr, length);
    answer->trailers[length] = '\0';
    skip_octets(octets, length + 2);
    return ANSWER_WHOLE;
}

static enum answer_result take_chunks(struct answer *answer, rv_bytes *octets)
{
    for (;;) {
        const char *line_end = find(*octets, "\r\n");
        if (line_end == NULL)
            return octets->len > 20 ? ANSWER_BAD : ANSWER_PART;
        char *digits_end;
        unsigned long length = strtoul(octets->ptr, &digits_end, 16);
        if (!isxdigit((unsigned char)octets->ptr[0]) || digits_end != line_end)
            return ANSWER_BAD;
        size_t line = (size_t)(line_end - octets->ptr) + 2;
        if (length == 0) {
            skip_octets(octets, line);
            return take_trailers(answer, octets);
        }
        if (octets->len < line + length + 2)
            return ANSWER_PART;
        if (memcmp(octets->ptr + line + length, "\r\n", 2) != 0)
            return ANSWER_BAD;
        put(&answer->content, octets->ptr + line, length);
        skip_octets(octets, line + length + 2);
    }
}

static enum answer_result take_content(struct answer *answer, rv_bytes *octets, bool to_head,
                                       bool ended)
{
    const char *coding = answer_field(answer, "Transfer-Encoding");
    answer->chunked = coding != NULL && strcmp(coding, "chunked") == 0;
    if (to_head || answer->status < 200 || answer->status == 204 || answer->status == 304)
        return ANSWER_WHOLE;
    if (answer->chunked)
        return take_chunks(answer, octets);
    const char *length_text = answer_field(answer, "Content-Length");
    if (length_text == NULL && !ended)
        return ANSWER_PART;
    size_t length = length_text == NULL ? octets->len : strtoull(length_text, NULL, 10);
    if (octets->len < length)
        return ended ? ANSWER_BAD : ANSWER_PART;
    put(&answer->content, octets->ptr, length);
    skip_octets(octets, length);
    return ANSWER_WHOLE;
}

/* ---- answers ----------------------------------------------------------------------------------- */

enum answer_result answer_take(struct answer *answer, rv_bytes *octets, bool to_head, bool ended)
{
    static const char start[] = "HTTP/1.1 ";
    rv_bytes rest = *octets;
    const char *end = find(rest, "\r\n\r\n");
    answer->status = 0;
    answer->content.len = 0;
    answer->trailers[0] = '\0';
    put(&answer->content, "", 0);
    if (end == NULL)
        return ended && rest.len > 0 ? ANSWER_BAD : ANSWER_PART;
    size_t length = (size_t)(end - rest.ptr) + 2;
    if (length >= sizeof answer->head || strncmp(rest.ptr, start, strlen(start)) != 0)
        return ANSWER_BAD;
    memcpy(answer->head, rest.ptr, length);
    answer->head[length] = '\0';
    answer->status = atoi(answer->head + strlen(start));
    skip_octets(&rest, length + 2);
    enum answer_result result = take_content(answer, &rest, to_head, ended);
    if (result == ANSWER_WHOLE)
        *octets = rest;
    return result;
}

void answer_free(struct answer *answer)
{
    rv_buffer_free(&answer->content);
}
