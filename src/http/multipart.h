/*
 * A multipart/form-data body (RFC 7578, RFC 2046 section 5.1), read as it arrives: octets in, in pieces
 * cut anywhere, and parts out. Data is given out as slices of what was put in; only part heads are
 * copied, into memory of the caller's. It makes no difference where the octets were cut, but for how
 * many slices there are.
 *
 *   preamble ─► delimiter ─► head ─► data ─► delimiter ─► head …     delimiter with "--": epilogue
 */
#ifndef RV_HTTP_MULTIPART_H
#define RV_HTTP_MULTIPART_H

#include "http/part.h"

#define RV_BOUNDARY_LENGTH_MAX 70

struct rv_multipart_limits {
    uint32_t parts_max;
    uint32_t part_head_bytes_max; /* fields and the empty line behind them */
    uint64_t bytes_max;           /* of the whole body; 0: somebody else sees to that */
};

/* What rv_multipart_begin needs for part heads of `head_bytes_max` octets. */
#define RV_MULTIPART_MEMORY(head_bytes_max) (2 * (size_t)(head_bytes_max))

struct rv_multipart {
    /* To be read: the part whose RV_MULTIPART_PART came last, until the next one; and once there
       was an error the status to answer, with a static sentence that says what was wrong. */
    struct rv_part part;
    int status;
    const char *reason;

    /* inner */
    struct rv_multipart_limits limits;
    uint64_t bytes; /* used up so far */
    char *memory; /* the caller's: a part head, and behind part_head_bytes_max what it decodes to */
    uint32_t head_length;
    uint32_t line_start; /* where the last line of the head begins */
    uint32_t parts;
    uint8_t state;
    uint8_t delimiter_length;
    uint8_t matched;  /* octets of the delimiter that the last ones were */
    uint8_t not_data; /* how many of these are no data even if it is none: the line end of a head */
    char delimiter[4 + RV_BOUNDARY_LENGTH_MAX]; /* CRLF "--" boundary */
};

enum rv_multipart_event {
    RV_MULTIPART_INCOMPLETE, /* all octets are used up */
    RV_MULTIPART_PART,       /* `part` begins */
    RV_MULTIPART_DATA, /* `*data` is the next run of it, never empty; it lies in the octets, or
                                in the struct until the next call */
    RV_MULTIPART_PART_END,
    RV_MULTIPART_ERROR
};

/* `content_type` is the field of the message, `memory` has RV_MULTIPART_MEMORY octets and outlives the
   struct. False: `status` is 415 (no multipart/form-data) or 400 (no boundary, or none that RFC 2046
   allows), `reason` says it. */
bool rv_multipart_begin(struct rv_multipart *multipart, rv_bytes content_type,
                        const struct rv_multipart_limits *limits, char *memory);

/* Uses up octets until there is something to tell. After RV_MULTIPART_ERROR, which is final, `status`
   is 400 for what is malformed and 413 for a limit. */
enum rv_multipart_event rv_multipart_next(struct rv_multipart *multipart, rv_bytes *octets,
                                          rv_bytes *data);

/* The body has ended: true when all of it was there. Otherwise `status` and `reason` are set, as behind
   an error that came before. Until here a form that looks complete may still turn out malformed. */
bool rv_multipart_finish(struct rv_multipart *multipart);

#endif
