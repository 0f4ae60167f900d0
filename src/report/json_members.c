/*
 * Members of structs as JSON and back: one function that writes a member by its kind, and one that reads
 * it. A reader keeps the first thing that was wrong and passes over everything behind it, so that those
 * who read need not look after each step.
 */
#include "report/json_members.h"

#include "base/bytes.h"
#include "report/report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------------------ */

bool rv_json_put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

json_t *rv_json_of_count(uint64_t count)
{
    return json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count);
}

static bool is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text <= 0x7f)
        text++;
    return *text == '\0';
}

json_t *rv_json_of_string(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *string = json_string(text);
    if (string != NULL || is_ascii(text))
        return string;
    char *ascii = strdup(text);
    if (ascii == NULL)
        return NULL;
    for (char *c = ascii; *c != '\0'; c++)
        if ((unsigned char)*c > 0x7f)
            *c = '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

static json_t *digits_of(uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return json_string(text);
}

static json_t *value_of(const struct rv_json_member *member, const void *record)
{
    const void *at = (const char *)record + member->offset;
    switch (member->kind) {
    case RV_JSON_BOOL:
        return json_boolean(*(const bool *)at);
    case RV_JSON_INT:
        return json_integer(*(const int *)at);
    case RV_JSON_UINT16:
        return json_integer(*(const uint16_t *)at);
    case RV_JSON_UINT32:
        return json_integer(*(const uint32_t *)at);
    case RV_JSON_UINT64_ANY:
        if (*(const uint64_t *)at == UINT64_MAX)
            return json_null();
        return rv_json_of_count(*(const uint64_t *)at);
    case RV_JSON_UINT64:
        return rv_json_of_count(*(const uint64_t *)at);
    case RV_JSON_UINT64_TEXT:
        return digits_of(*(const uint64_t *)at);
    case RV_JSON_INT64_OR_NOT:
        return *(const int64_t *)at == -1 ? json_null() : json_integer(*(const int64_t *)at);
    case RV_JSON_REAL:
        return json_real(*(const double *)at);
    case RV_JSON_STRING:
    case RV_JSON_STRING_OR_NOT:
        return rv_json_of_string(*(char *const *)at);
    case RV_JSON_TEXT:
        return rv_json_of_string(at);
    }
    return NULL;
}

bool rv_json_put_members(json_t *object, struct rv_json_table table, const void *record)
{
    for (size_t i = 0; i < table.count; i++)
        if (!rv_json_put(object, table.members[i].name, value_of(&table.members[i], record)))
            return false;
    return true;
}

json_t *rv_json_of_record(struct rv_json_table table, const void *record)
{
    json_t *object = json_object();
    if (object != NULL && !rv_json_put_members(object, table, record)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* Behind what is in `path`, as far as there is room. Names of members come from the file, and end on a
   terminal: of those, only what can be read. */
static void append(char path[RV_JSON_PATH_MAX], const char *text)
{
    size_t length = strlen(path);
    for (; *text != '\0' && length < RV_JSON_PATH_MAX - 1; text++)
        path[length++] = *text >= ' ' && *text < 0x7f ? *text : '?';
    path[length] = '\0';
}

static void path_to(const struct rv_json_place *at, const char *name, char path[RV_JSON_PATH_MAX])
{
    path[0] = '\0';
    append(path, at->path);
    if (path[0] != '\0' && name[0] != '\0')
        append(path, ".");
    append(path, name);
}

void rv_json_refuse(struct rv_json_reader *reader, const struct rv_json_place *at, const char *name,
                    const char *format, ...)
{
    if (reader->error != 0)
        return;
    char path[RV_JSON_PATH_MAX], what[RV_REPORT_WHY_MAX - RV_JSON_PATH_MAX - 4];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    path_to(at, name, path);
    snprintf(reader->why, RV_REPORT_WHY_MAX, "\"%s\" %s", path, what);
    reader->error = RV_EINVAL;
}

void rv_json_no_memory(struct rv_json_reader *reader)
{
    if (reader->error != 0)
        return;
    snprintf(reader->why, RV_REPORT_WHY_MAX, "out of memory");
    reader->error = RV_ENOMEM;
}

const json_t *rv_json_get(struct rv_json_reader *reader, const struct rv_json_place *at,
                          const char *name)
{
    if (reader->error != 0)
        return NULL;
    const json_t *value = json_object_get(at->value, name);
    if (value == NULL)
        rv_json_refuse(reader, at, name, "is missing");
    return value;
}

static struct rv_json_place place_at(struct rv_json_reader *reader, const struct rv_json_place *at,
                                     const char *name, json_type type, const char *type_name)
{
    struct rv_json_place place = {.value = rv_json_get(reader, at, name)};
    path_to(at, name, place.path);
    if (place.value != NULL && json_typeof(place.value) != type) {
        rv_json_refuse(reader, at, name, "must be an %s", type_name);
        place.value = NULL;
    }
    return place;
}

struct rv_json_place rv_json_object_at(struct rv_json_reader *reader,
                                       const struct rv_json_place *at, const char *name)
{
    return place_at(reader, at, name, JSON_OBJECT, "object");
}

struct rv_json_place rv_json_array_at(struct rv_json_reader *reader, const struct rv_json_place *at,
                                      const char *name)
{
    return place_at(reader, at, name, JSON_ARRAY, "array");
}

struct rv_json_place rv_json_element_at(const struct rv_json_place *at, size_t index)
{
    struct rv_json_place place = {.value = json_array_get(at->value, index)};
    char number[32];
    snprintf(number, sizeof number, "[%zu]", index);
    append(place.path, at->path);
    append(place.path, number);
    return place;
}

uint64_t rv_json_count_of(struct rv_json_reader *reader, const struct rv_json_place *at,
                          const char *name, const json_t *value, uint64_t max)
{
    if (reader->error != 0)
        return 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        (uint64_t)json_integer_value(value) <= max)
        return (uint64_t)json_integer_value(value);
    rv_json_refuse(reader, at, name, "must be a whole number of 0 to %" PRIu64,
                   max > INT64_MAX ? (uint64_t)INT64_MAX : max);
    return 0;
}

uint64_t rv_json_get_count(struct rv_json_reader *reader, const struct rv_json_place *at,
                           const char *name, uint64_t max)
{
    return rv_json_count_of(reader, at, name, rv_json_get(reader, at, name), max);
}

double rv_json_get_real(struct rv_json_reader *reader, const struct rv_json_place *at,
                        const char *name)
{
    const json_t *value = rv_json_get(reader, at, name);
    if (reader->error == 0 && !(json_is_number(value) && json_number_value(value) >= 0))
        rv_json_refuse(reader, at, name, "must be a number that is not negative");
    return reader->error != 0 ? 0 : json_number_value(value);
}

static bool get_boolean(struct rv_json_reader *reader, const struct rv_json_place *at,
                        const char *name)
{
    const json_t *value = rv_json_get(reader, at, name);
    if (value != NULL && !json_is_boolean(value))
        rv_json_refuse(reader, at, name, "must be true or false");
    return json_is_true(value);
}

static uint64_t get_digits(struct rv_json_reader *reader, const struct rv_json_place *at,
                           const char *name)
{
    const json_t *value = rv_json_get(reader, at, name);
    uint64_t number = 0;
    if (reader->error == 0 &&
        !(json_is_string(value) && rv_bytes_to_u64(rv_str(json_string_value(value)), &number)))
        rv_json_refuse(reader, at, name, "must be a string of digits, of a number below 2^64");
    return number;
}

static int64_t get_integer(struct rv_json_reader *reader, const struct rv_json_place *at,
                           const char *name, int64_t min, int64_t max)
{
    const json_t *value = rv_json_get(reader, at, name);
    if (reader->error != 0)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max)
        rv_json_refuse(reader, at, name, "must be a whole number of %" PRId64 " to %" PRId64, min,
                       max);
    return json_integer_value(value);
}

static const char *get_string(struct rv_json_reader *reader, const struct rv_json_place *at,
                              const char *name, size_t octets_max)
{
    const json_t *value = rv_json_get(reader, at, name);
    if (reader->error != 0)
        return "";
    if (!json_is_string(value)) {
        rv_json_refuse(reader, at, name, "must be a string");
        return "";
    }
    if (json_string_length(value) > octets_max) {
        rv_json_refuse(reader, at, name, "must not have more than %zu octets", octets_max);
        return "";
    }
    return json_string_value(value);
}

static char *get_owned(struct rv_json_reader *reader, const struct rv_json_place *at,
                       const char *name)
{
    const char *text = get_string(reader, at, name, SIZE_MAX);
    char *owned = reader->error == 0 ? strdup(text) : NULL;
    if (owned == NULL)
        rv_json_no_memory(reader);
    return owned;
}

static void get_member(struct rv_json_reader *reader, const struct rv_json_place *at,
                       const struct rv_json_member *member, void *record)
{
    void *to = (char *)record + member->offset;
    const char *name = member->name;
    bool is_null = json_is_null(json_object_get(at->value, name));
    switch (member->kind) {
    case RV_JSON_BOOL:
        *(bool *)to = get_boolean(reader, at, name);
        break;
    case RV_JSON_INT:
        *(int *)to = (int)get_integer(reader, at, name, INT_MIN, INT_MAX);
        break;
    case RV_JSON_UINT16:
        *(uint16_t *)to = (uint16_t)rv_json_get_count(reader, at, name, UINT16_MAX);
        break;
    case RV_JSON_UINT32:
        *(uint32_t *)to = (uint32_t)rv_json_get_count(reader, at, name, UINT32_MAX);
        break;
    case RV_JSON_UINT64_ANY:
        *(uint64_t *)to = is_null ? UINT64_MAX : rv_json_get_count(reader, at, name, INT64_MAX);
        break;
    case RV_JSON_UINT64:
        *(uint64_t *)to = rv_json_get_count(reader, at, name, INT64_MAX);
        break;
    case RV_JSON_UINT64_TEXT:
        *(uint64_t *)to = get_digits(reader, at, name);
        break;
    case RV_JSON_INT64_OR_NOT:
        *(int64_t *)to = is_null ? -1 : get_integer(reader, at, name, INT64_MIN, INT64_MAX);
        break;
    case RV_JSON_REAL:
        *(double *)to = rv_json_get_real(reader, at, name);
        break;
    case RV_JSON_STRING:
        *(char **)to = get_owned(reader, at, name);
        break;
    case RV_JSON_STRING_OR_NOT:
        *(char **)to = is_null ? NULL : get_owned(reader, at, name);
        break;
    case RV_JSON_TEXT:
        strcpy(to, get_string(reader, at, name, member->size - 1));
        break;
    }
}

void rv_json_get_members(struct rv_json_reader *reader, const struct rv_json_place *at,
                         struct rv_json_table table, void *record)
{
    for (size_t i = 0; i < table.count; i++)
        get_member(reader, at, &table.members[i], record);
}
