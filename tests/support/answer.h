/*
 * HTTP/1 answers as a client reads them, taken off a run of octets one by one. Written without the
 * library's own parsers, so that both cannot be wrong in the same way. Nothing here asserts: threads
 * other than a test's own use it, too.
 */
#ifndef RV_TESTS_ANSWER_H
#define RV_TESTS_ANSWER_H

#include "base/buffer.h"

struct answer {
    int status;
    char head[8192];          /* status line and fields, as a string */
    struct rv_buffer content; /* without its framing; a NUL is behind it */
    char trailers[1024];      /* fields of a trailer section, as a string */
    bool chunked;
};

enum answer_result {
    ANSWER_WHOLE,
    ANSWER_PART, /* more octets are needed; none was taken */
    ANSWER_BAD   /* no answer, or its framing is wrong */
};

/* Takes the first answer off `*octets`. `to_head`: it has no content whatever its fields say. `ended`:
   nothing follows, which is the end of an answer that does not announce its length. An interim answer
   (1xx) is an answer. */
enum answer_result answer_take(struct answer *answer, rv_bytes *octets, bool to_head, bool ended);

/* The value of the first field of that name, as a string that lives until the next call on this
   thread; NULL: there is none. */
const char *answer_field(const struct answer *answer, const char *name);

/* How many fields of that name there are. */
unsigned answer_field_count(const struct answer *answer, const char *name);

bool answer_content_is(const struct answer *answer, const char *text);

void answer_free(struct answer *answer);

#endif
