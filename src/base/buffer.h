/*
 * A growable run of octets in one heap block, for what must outlive the place it was read into: a
 * partial request head, a whole body, a response under construction. Owned by whoever embeds it.
 * Behind the contents there are always RV_SCAN_PADDING readable octets, so that the scanners of
 * http/ may look past the end (http/scan.h).
 */
#ifndef RV_BASE_BUFFER_H
#define RV_BASE_BUFFER_H

#include <rivulet.h>

#define RV_SCAN_PADDING 32

struct rv_buffer {
    char *ptr; /* NULL while nothing was ever put in, or after a free */
    size_t len;
    size_t capacity; /* without the padding */
};

/* Makes room for `more` octets behind the contents, to be written there and added to `len`. The
   room lasts until the next consume. On RV_ENOMEM the contents are as before. */
rv_error rv_buffer_reserve(struct rv_buffer *buffer, size_t more);

/* `bytes` must not lie in the buffer itself. */
rv_error rv_buffer_append(struct rv_buffer *buffer, rv_bytes bytes);

/* Drops `count` octets from the front; an emptied buffer keeps its block. */
void rv_buffer_consume(struct rv_buffer *buffer, size_t count);

/* Gives the block back; the buffer is then empty and may be used again. */
void rv_buffer_free(struct rv_buffer *buffer);

#endif
