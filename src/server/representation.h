/*
 * One representation as a whole answer: validators, preconditions, ranges. Where its octets come from -
 * a file, the worker's cache, a table in the program - is the caller's affair.
 */
#ifndef RV_SERVER_REPRESENTATION_H
#define RV_SERVER_REPRESENTATION_H

#include "http/conditional.h"
#include "server/reply.h"

/* More ranges than these in one request are answered with the whole. */
#define RV_RANGES_MAX 16

struct rv_representation {
    const char *content_type;  /* NULL: none is said */
    const char *etag;          /* an entity tag with its quotes; NULL: none */
    int64_t modified_s;        /* seconds since 1970; negative: not known */
    rv_bytes coding;           /* Content-Encoding; absent: none */
    bool varies;               /* which coding it has depends on Accept-Encoding */
    bool no_conditions;        /* conditions, ranges and validators are left out */
    struct rv_content content; /* the whole of it; no parts */
};

/* Answers with it: 200, 206, 304, 412 or 416. Takes the content over, also when it fails. */
int rv_answer_representation(struct rv_talk *talk, const struct rv_representation *what);

/* All values of a list field of the request as one, joined with ", " (RFC 9110 section 5.3); absent
   without one. Lives as long as the talk. */
rv_bytes rv_header_joined(struct rv_talk *talk, const char *name);

/* The conditions of the request. Live as long as the talk. */
struct rv_conditions rv_conditions_of(struct rv_talk *talk);

/* The strong entity tag of a file: its size and time, and what sets codings of it apart (may be ""). */
#define RV_FILE_ETAG_BYTES 64
void rv_file_etag(char etag[RV_FILE_ETAG_BYTES], uint64_t size, struct timespec modified,
                  const char *suffix);

#endif
