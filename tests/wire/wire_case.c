/*
 * Reads the wire cases: JSON strings to octets, repetitions and templates filled in.
 */
#include "wire/wire_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Noreturn void fail(const char *where, const char *what)
{
    fprintf(stderr, "%s: %s\n", where, what);
    exit(1);
}

/* ---- octets ------------------------------------------------------------------------------------ */

static void append(struct wire_segment *segment, const char *octets, size_t length)
{
    if (segment->length + length >= segment->room) {
        segment->room = 2 * (segment->length + length) + 64;
        segment->octets = realloc(segment->octets, segment->room);
        if (segment->octets == NULL)
            fail("cases", "out of memory");
    }
    memcpy(segment->octets + segment->length, octets, length);
    segment->length += length;
    segment->octets[segment->length] = '\0';
}

/* A JSON string is UTF-8; each of its characters is one octet. */
static void append_latin1(struct wire_segment *segment, const json_t *text, const char *id)
{
    if (!json_is_string(text))
        fail(id, "a part of a segment is neither text nor a repetition");
    const unsigned char *utf8 = (const unsigned char *)json_string_value(text);
    size_t length = json_string_length(text);
    for (size_t i = 0; i < length; i++) {
        unsigned octet = utf8[i];
        if (octet >= 0x80) {
            if ((octet & 0xFC) != 0xC0)
                fail(id, "a character above U+00FF");
            octet = ((octet & 3U) << 6) | (utf8[++i] & 0x3FU);
        }
        append(segment, &(char){(char)octet}, 1);
    }
}

static void append_repetition(struct wire_segment *segment, const json_t *part, const char *id)
{
    struct wire_segment once = {0};
    append_latin1(&once, json_object_get(part, "repeat"), id);
    json_int_t times = json_integer_value(json_object_get(part, "times"));
    const char *mark = memchr(once.octets, '#', once.length);
    for (json_int_t i = 0; i < times; i++) {
        if (mark == NULL) {
            append(segment, once.octets, once.length);
            continue;
        }
        char number[24];
        int digits = snprintf(number, sizeof number, "%lld", (long long)i);
        size_t before = (size_t)(mark - once.octets);
        append(segment, once.octets, before);
        append(segment, number, (size_t)digits);
        append(segment, mark + 1, once.length - before - 1);
    }
    free(once.octets);
}

static struct wire_segment read_segment(const json_t *json, const char *id)
{
    struct wire_segment segment = {0};
    append(&segment, "", 0);
    if (!json_is_array(json)) {
        append_latin1(&segment, json, id);
        return segment;
    }
    size_t index;
    json_t *part;
    json_array_foreach(json, index, part)
    {
        if (json_is_object(part))
            append_repetition(&segment, part, id);
        else
            append_latin1(&segment, part, id);
    }
    return segment;
}

/* ---- templates --------------------------------------------------------------------------------- */

static void replace(struct wire_segment *segment, const char *token, const char *text)
{
    char *at;
    while ((at = strstr(segment->octets, token)) != NULL) {
        struct wire_segment made = {0};
        append(&made, segment->octets, (size_t)(at - segment->octets));
        append(&made, text, strlen(text));
        append(&made, at + strlen(token), strlen(at + strlen(token)));
        free(segment->octets);
        *segment = made;
    }
}

static void fill_template(struct wire_segment *segment, const struct wire_validators *validators)
{
    char rfc850[64], asctime_form[64];
    struct tm when = {0};
    if (strptime(validators->last_modified, "%a, %d %b %Y %H:%M:%S GMT", &when) == NULL)
        fail(validators->last_modified, "Last-Modified is no IMF-fixdate");
    strftime(rfc850, sizeof rfc850, "%A, %d-%b-%y %H:%M:%S GMT", &when);
    strftime(asctime_form, sizeof asctime_form, "%a %b %e %H:%M:%S %Y", &when);
    const char *strong = validators->etag;
    if (strncmp(strong, "W/", 2) == 0)
        strong += 2;
    replace(segment, "{etag}", validators->etag);
    replace(segment, "{etags}", strong);
    replace(segment, "{lm}", validators->last_modified);
    replace(segment, "{lm850}", rfc850);
    replace(segment, "{lmasc}", asctime_form);
}

/* ---- files ------------------------------------------------------------------------------------- */

static struct wire_case read_case(const json_t *json, const char *group,
                                  const struct wire_validators *validators)
{
    struct wire_case made = {
        .group = group,
        .id = json_string_value(json_object_get(json, "id")),
        .note = json_string_value(json_object_get(json, "note")),
        .expect = json_object_get(json, "expect"),
        .also = json_object_get(json, "also"),
        .head_responses = json_object_get(json, "head_responses"),
        .advance_ms = (uint64_t)json_integer_value(json_object_get(json, "advance_ms")),
        .half_close = json_is_true(json_object_get(json, "half_close")),
        .awaits_continue = json_object_get(json, "awaits") != NULL,
        .unannounced = json_is_true(json_object_get(json, "unannounced")),
        .interim = -1,
    };
    if (made.id == NULL || made.note == NULL || json_array_size(made.expect) == 0)
        fail(group, "a case without id, note or expect");
    if (json_object_get(json, "interim") != NULL)
        made.interim = (int)json_integer_value(json_object_get(json, "interim"));
    json_t *send = json_object_get(json, "send");
    made.segment_count = json_array_size(send);
    if (made.segment_count == 0 || made.segment_count > WIRE_SEGMENTS_MAX)
        fail(made.id, "the number of segments");
    for (size_t i = 0; i < made.segment_count; i++) {
        made.segments[i] = read_segment(json_array_get(send, i), made.id);
        if (json_is_true(json_object_get(json, "template")))
            fill_template(&made.segments[i], validators);
    }
    return made;
}

static void read_file(struct wire_cases *cases, const char *directory, const char *name,
                      const struct wire_validators *validators)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    json_error_t error;
    json_t *file = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (file == NULL) {
        fprintf(stderr, "%s:%d: ", path, error.line);
        fail("cases", error.text);
    }
    /* The file keeps its own name, and the array keeps the file: nothing else need be freed. */
    json_object_set_new(file, "name", json_stringn(name, strlen(name) - strlen(".json")));
    json_array_append_new(cases->files, file);
    const char *group = json_string_value(json_object_get(file, "name"));
    json_t *list = json_object_get(file, "cases"), *json;
    cases->all = realloc(cases->all, (cases->count + json_array_size(list)) * sizeof *cases->all);
    if (group == NULL || cases->all == NULL)
        fail(path, "out of memory");
    size_t index;
    json_array_foreach(list, index, json) cases->all[cases->count++] =
        read_case(json, group, validators);
}

static int is_json(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

struct wire_cases wire_cases_load(const char *directory, const struct wire_validators *validators)
{
    struct wire_cases cases = {.files = json_array()};
    struct dirent **names;
    int count = scandir(directory, &names, is_json, alphasort);
    if (count <= 0)
        fail(directory, "no case files here");
    for (int i = 0; i < count; i++) {
        read_file(&cases, directory, names[i]->d_name, validators);
        free(names[i]);
    }
    free(names);
    return cases;
}

void wire_cases_free(struct wire_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++)
        for (size_t j = 0; j < cases->all[i].segment_count; j++)
            free(cases->all[i].segments[j].octets);
    free(cases->all);
    json_decref(cases->files);
}

struct wire_segment wire_case_joined(const struct wire_case *wire_case, const char *prefix)
{
    struct wire_segment joined = {0};
    append(&joined, prefix, strlen(prefix));
    for (size_t i = 0; i < wire_case->segment_count; i++)
        append(&joined, wire_case->segments[i].octets, wire_case->segments[i].length);
    return joined;
}
