/*
 * The output queue of a stream: runs of octets of three kinds, in order. A queue exists only while the
 * peer takes less than is written. Owned by its stream; the segment records come from the loop's slab.
 */
#ifndef RV_IO_SEGMENT_H
#define RV_IO_SEGMENT_H

#include "io/loop.h"

#include <sys/uio.h>

#define RV_SEGMENT_COPY_BYTES (16 * 1024) /* block size of copied output */

enum rv_segment_kind {
    RV_SEGMENT_COPIED,   /* `octets` is a heap block that the segment owns */
    RV_SEGMENT_BORROWED, /* `octets` is somebody else's until release(ctx) */
    RV_SEGMENT_FILE      /* from `file`, which is owned unless there is a release */
};

struct rv_segment {
    struct rv_segment *next;
    enum rv_segment_kind kind;
    int file;
    uint64_t start;  /* first octet not sent yet: in `octets`, or the offset in the file */
    uint64_t length; /* octets not sent yet */
    char *octets;
    size_t capacity; /* of a copied block */
    void (*release)(void *ctx);
    void *ctx;
};

struct rv_output {
    struct rv_segment *first;
    struct rv_segment **last; /* where the next one is linked in */
    struct rv_segment *tail;
    uint64_t octets; /* queued in all */
};

/* An empty queue; NULL: no memory. */
struct rv_output *rv_output_new(void);

/* Empties a queue that is embedded in something else. */
void rv_output_clear(struct rv_loop *loop, struct rv_output *output);

/* Frees it with everything in it. */
void rv_output_free(struct rv_loop *loop, struct rv_output *output);

/* Room for `size` octets behind the copied ones at the tail; NULL: no memory. */
char *rv_output_reserve(struct rv_loop *loop, struct rv_output *output, size_t size);
void rv_output_commit(struct rv_output *output, size_t used);

rv_error rv_output_append_borrowed(struct rv_loop *loop, struct rv_output *output, rv_bytes octets,
                                   void (*release)(void *ctx), void *ctx);
rv_error rv_output_append_file(struct rv_loop *loop, struct rv_output *output, int file,
                               uint64_t offset, uint64_t length);

/* The same from a file that is somebody else's until release(ctx). */
rv_error rv_output_append_lent_file(struct rv_loop *loop, struct rv_output *output, int file,
                                    uint64_t offset, uint64_t length, void (*release)(void *ctx),
                                    void *ctx);

/* Copies octets in front of everything. */
rv_error rv_output_prepend(struct rv_loop *loop, struct rv_output *output, rv_bytes octets);

/* Fills `pieces` with what lies in memory at the front, up to a file; returns how many. */
int rv_output_gather(const struct rv_output *output, struct iovec *pieces, int room);

/* Drops octets from the front; releases what is used up. */
void rv_output_consume(struct rv_loop *loop, struct rv_output *output, uint64_t count);

#endif
