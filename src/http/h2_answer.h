/*
 * An answer of HTTP/2 as a client takes it that gets many: is it well-formed (RFC 9113 section 8)? It keeps
 * the status, counts content, and nothing else. libnghttp2 can check the same; a session that leaves it to
 * the owner (rv_h2_settings.unchecked) spends an eighth less on an answer, because values are looked at
 * sixteen octets at a time here.
 *
 * The calls are those of a stream's events, in their order; false: the answer is malformed, and nothing more
 * is to be asked of it.
 */
#ifndef RV_HTTP_H2_ANSWER_H
#define RV_HTTP_H2_ANSWER_H

#include "base/bytes.h"

enum rv_h2_answer_part {
    RV_H2_ANSWER_HEAD,   /* of the final answer or, before it, of an interim one */
    RV_H2_ANSWER_FIELDS, /* a field that is none of the pseudo-fields has come */
    RV_H2_ANSWER_CONTENT,
    RV_H2_ANSWER_TRAILERS
};

struct rv_h2_answer {
    uint64_t length; /* that was announced; UINT64_MAX: none was */
    uint64_t content;
    uint16_t status; /* 0: it has not come */
    uint8_t part;    /* enum rv_h2_answer_part */
    bool to_head;    /* the request was HEAD: a length says nothing of the content */
};

void rv_h2_answer_begin(struct rv_h2_answer *answer, bool to_head);

bool rv_h2_answer_field(struct rv_h2_answer *answer, rv_bytes name, rv_bytes value);

/* A section of fields is complete. `*interim` is set: that was an interim answer, and `answer` is as it was in
   the beginning. */
bool rv_h2_answer_fields_end(struct rv_h2_answer *answer, bool last, bool *interim);

bool rv_h2_answer_data(struct rv_h2_answer *answer, size_t octets);

/* The stream has ended. */
bool rv_h2_answer_end(const struct rv_h2_answer *answer);

#endif
