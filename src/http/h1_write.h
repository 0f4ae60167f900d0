/*
 * The writing side of HTTP/1: the parts of a response head, put one behind the other into memory that
 * the caller has reserved. Each function returns the place behind what it has put. Sizes are the
 * caller's business: RV_H1_HEAD_BYTES is room for everything but the application's own fields, its
 * content type and its reason.
 */
#ifndef RV_HTTP_H1_WRITE_H
#define RV_HTTP_H1_WRITE_H

#include "base/bytes.h"

#define RV_H1_HEAD_BYTES 384
#define RV_SERVER_NAME_MAX 64

/* What every response of a second has in common, prebuilt: the status line of a 200, then Server and
   Date. Owned by a worker, refreshed by it once a second. */
struct rv_h1_preamble {
    char octets[64 + RV_SERVER_NAME_MAX + 64];
    uint32_t length;
    uint32_t fields_at; /* where the status line ends */
    uint32_t date_at;   /* where the Date field begins */
    int64_t second;     /* that it was made for */
};

/* `server_name` "" leaves the Server field out; at most RV_SERVER_NAME_MAX octets of it are used. */
void rv_h1_preamble_make(struct rv_h1_preamble *preamble, rv_bytes server_name, int64_t second);

/* "HTTP/1.1 404 Not Found\r\n"; and with another reason than the status has. */
char *rv_h1_put_status_line(char *out, int status);
char *rv_h1_put_status_line_with(char *out, int status, rv_bytes reason);

/* Status line, Server and Date. */
static inline char *rv_h1_put_start(char *out, const struct rv_h1_preamble *preamble, int status)
{
    rv_bytes all = rv_slice(preamble->octets, preamble->length);
    if (status == 200)
        return rv_put(out, all);
    out = rv_h1_put_status_line(out, status);
    return rv_put(out, rv_slice(all.ptr + preamble->fields_at, all.len - preamble->fields_at));
}

/* "Name: value\r\n" */
char *rv_h1_put_field(char *out, rv_bytes name, rv_bytes value);

/* "Content-Length: 2\r\n" */
char *rv_h1_put_content_length(char *out, uint64_t length);

/* "1a\r\n": the line before the data of a chunk (RFC 9112 section 7.1). */
#define RV_CHUNK_LINE_BYTES 18
char *rv_h1_put_chunk_line(char *out, uint64_t length);

/* Octets of "Name: value\r\n". */
static inline size_t rv_h1_field_bytes(rv_bytes name, rv_bytes value)
{
    return name.len + value.len + 4;
}

/* True for a value that may stand in a field: no CR, LF, NUL or other control but HTAB. */
bool rv_field_value_is_valid(rv_bytes value);

#endif
