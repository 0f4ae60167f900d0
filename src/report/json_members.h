/*
 * Plain structs as JSON objects and back, by a table of their members: what is written and what is read
 * cannot drift apart. Names are those of the members, whole numbers stay whole.
 */
#ifndef RV_REPORT_JSON_MEMBERS_H
#define RV_REPORT_JSON_MEMBERS_H

#include <rivulet.h>

#include <jansson.h>
#include <stddef.h>

enum rv_json_kind {
    RV_JSON_BOOL,
    RV_JSON_INT,
    RV_JSON_UINT16,
    RV_JSON_UINT32,
    RV_JSON_UINT64,
    RV_JSON_UINT64_ANY, /* UINT64_MAX is null */
    RV_JSON_UINT64_TEXT, /* decimal digits in a string: all 64 bits, which no JSON number is sure of */
    RV_JSON_INT64_OR_NOT,  /* -1 is null */
    RV_JSON_REAL,          /* not negative */
    RV_JSON_STRING,        /* char *, owned */
    RV_JSON_STRING_OR_NOT, /* the same, and NULL is null */
    RV_JSON_TEXT           /* char[], with its terminator */
};

struct rv_json_member {
    const char *name;
    enum rv_json_kind kind;
    size_t offset;
    size_t size;
};

#define RV_JSON_MEMBER_AS(record, member, kind)                                                    \
    {                                                                                              \
#member, kind, offsetof(record, member), sizeof(((record *)0)->member)                     \
    }

/* Of the kind that its type says; text (char[]) and the special kinds are named. */
#define RV_JSON_MEMBER(record, member)                                                             \
    RV_JSON_MEMBER_AS(record, member,                                                              \
                      _Generic(((record *)0)->member, bool                                         \
                               : RV_JSON_BOOL, int                                                 \
                               : RV_JSON_INT, uint16_t                                             \
                               : RV_JSON_UINT16, uint32_t                                          \
                               : RV_JSON_UINT32, uint64_t                                          \
                               : RV_JSON_UINT64, double                                            \
                               : RV_JSON_REAL, char *                                              \
                               : RV_JSON_STRING))

struct rv_json_table {
    const struct rv_json_member *members;
    size_t count;
};

/* ---- writing: false when there is no memory -------------------------------------------------------- */

/* Takes the value over, even when it fails; NULL is a value that could not be made. */
bool rv_json_put(json_t *object, const char *name, json_t *value);

bool rv_json_put_members(json_t *object, struct rv_json_table table, const void *record);

/* An object of the record's members. */
json_t *rv_json_of_record(struct rv_json_table table, const void *record);

/* A string; where it is no UTF-8, a "?" for each octet above 127. NULL is null. */
json_t *rv_json_of_string(const char *text);

/* Numbers above INT64_MAX, which none counts up to, are INT64_MAX. */
json_t *rv_json_of_count(uint64_t count);

/* ---- reading: the first failure is told, and stays -------------------------------------------------- */

#define RV_JSON_PATH_MAX 96

/* Where in a document one is, and what was wrong. */
struct rv_json_reader {
    rv_error error;
    char *why; /* RV_REPORT_WHY_MAX octets */
};

/* An object or array and its place: "times_us.wait", "series[3]"; "" is the whole. */
struct rv_json_place {
    const json_t *value;
    char path[RV_JSON_PATH_MAX];
};

/* "PATH.NAME" and what is said of it; "" is the place itself. */
void rv_json_refuse(struct rv_json_reader *reader, const struct rv_json_place *at, const char *name,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void rv_json_no_memory(struct rv_json_reader *reader);

/* A member of an object, refused when it is missing; then, and when the reader has failed, it is NULL. */
const json_t *rv_json_get(struct rv_json_reader *reader, const struct rv_json_place *at,
                          const char *name);

/* A member that must be an object, or an array; on failure the place has no value. */
struct rv_json_place rv_json_object_at(struct rv_json_reader *reader,
                                       const struct rv_json_place *at, const char *name);
struct rv_json_place rv_json_array_at(struct rv_json_reader *reader, const struct rv_json_place *at,
                                      const char *name);

/* An array's element: "series[3]". */
struct rv_json_place rv_json_element_at(const struct rv_json_place *at, size_t index);

/* A whole number of 0 to `max`; 0 on failure. `value` is the member `name` of `at`. */
uint64_t rv_json_count_of(struct rv_json_reader *reader, const struct rv_json_place *at,
                          const char *name, const json_t *value, uint64_t max);
uint64_t rv_json_get_count(struct rv_json_reader *reader, const struct rv_json_place *at,
                           const char *name, uint64_t max);
double rv_json_get_real(struct rv_json_reader *reader, const struct rv_json_place *at,
                        const char *name);

/* Every member of the table; strings are allocated, and what was there is not freed. */
void rv_json_get_members(struct rv_json_reader *reader, const struct rv_json_place *at,
                         struct rv_json_table table, void *record);

#endif
