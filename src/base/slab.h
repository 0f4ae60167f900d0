/*
 * A pool of records of one size, in blocks of about 64 KiB that are never given back before the
 * end. Records that were given back are handed out again last in, first out, so that the warm ones
 * are used; records that were never taken are not touched, so that they cost no memory. It owns the
 * blocks. Not shared between threads.
 *
 * A record that is not taken is the slab's, and out of bounds under AddressSanitizer. A generation
 * that tells whether a handle is stale is kept elsewhere.
 */
#ifndef RV_BASE_SLAB_H
#define RV_BASE_SLAB_H

#include <rivulet.h>

struct rv_slab_block;

struct rv_slab {
    size_t record_size; /* rounded up to a multiple of 16 */
    void *free;         /* a list through the first word of each record given back */
    struct rv_slab_block *blocks;
    size_t taken; /* records in use */
};

void rv_slab_init(struct rv_slab *slab, size_t record_size);

/* A record, contents undefined; NULL when memory is short. 16-octet aligned (64 when record_size is
   a multiple of 64). */
void *rv_slab_take(struct rv_slab *slab);
void rv_slab_give(struct rv_slab *slab, void *record);

/* Frees every block; records still in use are gone. */
void rv_slab_free(struct rv_slab *slab);

#endif
