/*
 * The head of one part of a multipart/form-data body (RFC 7578): its fields, and what Content-
 * Disposition and Content-Type say. Works in the caller's memory; allocates nothing.
 */
#ifndef RV_HTTP_PART_H
#define RV_HTTP_PART_H

#include "base/bytes.h"

#define RV_PART_FIELDS_MAX 16

struct rv_part_field {
    rv_bytes name;
    rv_bytes value; /* trimmed; a folded one with blanks in place of its line ends */
};

struct rv_part {
    rv_bytes name;     /* of the form's field, decoded; never absent, perhaps empty */
    rv_bytes filename; /* decoded; absent: no file. What a client calls it: never a path to trust */
    rv_bytes content_type; /* absent: none was sent, which means text/plain */
    rv_bytes charset;      /* absent: not said */
    uint32_t field_count;
    struct rv_part_field fields[RV_PART_FIELDS_MAX]; /* all of them, as they came */
};

/*
 * Reads a head with the empty line at its end, whose lines all end with CRLF. Folded lines are
 * unfolded in `head` itself. `decoded` has room for `length` octets. Both must outlive `part`.
 *
 * Names and file names are decoded as they are encoded by those who send them: in quotes, \" and \\
 * are escapes and other backslashes are none, since browsers escape nothing with them, but write %22,
 * %0D and %0A (WHATWG HTML, multipart/form-data encoding). `name*` and `filename*` (RFC 8187, in UTF-8
 * or ISO-8859-1, given out in UTF-8) come before the others when they can be read.
 *
 * 0, or the status of the refusal, 400 or 413; then `*reason` is a static sentence.
 */
int rv_part_parse(char *head, size_t length, char *decoded, struct rv_part *part,
                  const char **reason);

/* The field of that name, any case; absent when there is none. */
rv_bytes rv_part_field(const struct rv_part *part, rv_bytes name);

#endif
