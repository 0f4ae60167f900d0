/*
 * The wire cases in memory: reads tests/wire/cases (see README.md there for the form) and turns each
 * into octets, ready to send. Owns all of it; ends the program when a file is not as it should be,
 * because a case that is not run must not pass.
 */
#ifndef WIRE_CASE_H
#define WIRE_CASE_H

#include <jansson.h>
#include <rivulet.h>

#define WIRE_SEGMENTS_MAX 4

struct wire_segment {
    char *octets;
    size_t length;
    size_t room;
};

struct wire_case {
    const char *group; /* the name of its file */
    const char *id;
    const char *note;
    struct wire_segment segments[WIRE_SEGMENTS_MAX];
    size_t segment_count;
    json_t *expect;         /* array of strings */
    json_t *also;           /* array of objects, or NULL */
    json_t *head_responses; /* array of numbers, or NULL */
    int interim;            /* how many 1xx; -1: any */
    uint64_t advance_ms;
    bool half_close;
    bool awaits_continue;
    bool unannounced; /* the end of the connection need not be said before */
};

struct wire_cases {
    struct wire_case *all;
    size_t count;
    json_t *files; /* array of the parsed files: texts of the cases live in them */
};

/* The validators of "/", for templates. */
struct wire_validators {
    char etag[128];
    char last_modified[64];
};

/* Reads every file of the directory, in the order of their names. */
struct wire_cases wire_cases_load(const char *directory, const struct wire_validators *validators);
void wire_cases_free(struct wire_cases *cases);

/* All segments in one piece. The caller frees it. */
struct wire_segment wire_case_joined(const struct wire_case *wire_case, const char *prefix);

#endif
