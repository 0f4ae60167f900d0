/*
 * Reads what a server has sent: octets to responses, strictly (RFC 9112 sections 4 to 7). A test's
 * reader, made to find faults: whatever is not as the standard has it is a sentence in `fault`.
 * Works in place; the octets must outlive the responses.
 */
#ifndef WIRE_ANSWER_H
#define WIRE_ANSWER_H

#include <rivulet.h>

#define WIRE_FIELDS_MAX 32
#define WIRE_ANSWERS_MAX 80

struct wire_field {
    rv_bytes name;
    rv_bytes value;
};

struct wire_fields {
    struct wire_field all[WIRE_FIELDS_MAX];
    size_t count;
};

struct wire_answer {
    rv_bytes line; /* the status line */
    int status;
    struct wire_fields fields;
    struct wire_fields trailers;
    char *body; /* owned; chunks joined */
    size_t body_length;
    bool whole; /* false: cut short */
};

struct wire_answers {
    struct wire_answer final[WIRE_ANSWERS_MAX];
    size_t count;
    int interim;       /* 1xx responses among them */
    const char *fault; /* what was wrong, or NULL */
};

/*
 * Reads all responses. `is_head(index, ctx)` says which final ones answer a HEAD; `closed` says that
 * nothing follows, which ends a body that has no length.
 */
struct wire_answers wire_answers_read(rv_bytes octets, bool closed,
                                      bool (*is_head)(size_t index, const void *ctx),
                                      const void *ctx);
void wire_answers_free(struct wire_answers *answers);

/* The first value of a field, any case; absent when there is none. */
rv_bytes wire_fields_find(const struct wire_fields *fields, const char *name);

/* Like "200,404k", "-c", "200!c". */
void wire_answers_summary(const struct wire_answers *answers, bool closed, char *text, size_t size);

/* What holds of every response: NULL, or a sentence that says what does not. */
const char *wire_answers_check(const struct wire_answers *answers, bool closed,
                               bool may_just_close);

#endif
