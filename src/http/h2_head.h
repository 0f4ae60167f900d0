/*
 * The head of an HTTP/2 request, or its trailers, gathered field by field as they are decoded, in the same
 * form that the parser of HTTP/1 gives (h1_parse.h): whoever reads it need not know which it was. That the
 * fields keep the rules of RFC 9113 section 8.2 and 8.3 one by one has been seen to before (h2.h); what
 * only shows when all are there is checked here.
 *
 * Memory is bounded by the limits: fields beyond them are counted and dropped, so that a small frame that
 * names one large field a thousand times (an HPACK bomb) costs no more than the time to count.
 */
#ifndef RV_HTTP_H2_HEAD_H
#define RV_HTTP_H2_HEAD_H

#include "base/buffer.h"
#include "http/h1_parse.h"

/* What a field costs beyond its octets (RFC 9113 section 6.5.2). */
#define RV_H2_FIELD_OVERHEAD 32

struct rv_h2_head {
    struct rv_h1_limits limits;
    struct rv_field *fields; /* room for limits.head_fields_max, the caller's */
    uint32_t field_count;
    uint64_t bytes;           /* names, values and overhead, also of what was dropped */
    struct rv_buffer octets;  /* owned: all that the spans and the fields point into */
    struct rv_buffer cookies; /* owned: the crumbs, joined */
    struct rv_span method, path, authority, host;
    uint64_t content_length;
    uint32_t cookie_crumbs;
    bool has_content_length;
    bool expect_continue, expect_unknown;
    bool refused; /* some field was dropped */
    bool no_memory;
};

/* Begins another. The buffers are kept from the last one; zeroed memory is the first. */
void rv_h2_head_begin(struct rv_h2_head *head, const struct rv_h1_limits *limits,
                      struct rv_field *fields);

/* 0, or the code of the stream error that the field is. */
uint32_t rv_h2_head_add(struct rv_h2_head *head, rv_bytes name, rv_bytes value);

/*
 * All fields of a request are there: fills in `request`, whose offsets are into `head->octets`, and whose
 * `fields` were set by the caller. `last`: there is no body. `*code` is the stream error that the head as
 * a whole is, or 0; then the result is 0, or the status of a refusal (400, 414, 431, 500), and `*reason` a
 * static sentence.
 */
int rv_h2_head_finish(struct rv_h2_head *head, bool last, struct rv_h1_head *request,
                      uint32_t *code, const char **reason);

void rv_h2_head_free(struct rv_h2_head *head);

#endif
