/*
 * The slab. A block is one heap block: a header of one cache line, then the records. Records that
 * were never taken are not threaded on the free list but counted off the newest block one by one,
 * so their pages stay untouched and cost no memory. Heap blocks rather than mapped ones, so that
 * the leak checker follows the pointers inside the records.
 *
 * Under AddressSanitizer a record that is not taken is out of bounds, its link included.
 */
#include "base/slab.h"

#include "base/poison.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>

enum {
    CACHE_LINE = 64,
    RECORD_ALIGNMENT = 16,
    BLOCK_SIZE = 64 * 1024,
    RECORDS_PER_BLOCK_MIN = 8 /* large records make larger blocks */
};

struct rv_slab_block {
    alignas(CACHE_LINE) struct rv_slab_block *next; /* older */
    char *fresh;                                    /* the first record that was never taken */
    char *end;                                      /* one past the last record */
};

static_assert(sizeof(struct rv_slab_block) == CACHE_LINE, "records begin on a cache line");

struct free_record {
    struct free_record *next;
};

void rv_slab_init(struct rv_slab *slab, size_t record_size)
{
    size_t mask = RECORD_ALIGNMENT - 1;
    assert(record_size > 0);
    *slab = (struct rv_slab){.record_size = (record_size + mask) & ~mask};
}

static bool add_block(struct rv_slab *slab)
{
    size_t count = (BLOCK_SIZE - sizeof(struct rv_slab_block)) / slab->record_size;
    if (count < RECORDS_PER_BLOCK_MIN)
        count = RECORDS_PER_BLOCK_MIN;
    size_t records = count * slab->record_size;
    size_t size =
        (sizeof(struct rv_slab_block) + records + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

    struct rv_slab_block *block = aligned_alloc(CACHE_LINE, size);
    if (block == NULL)
        return false;
    block->next = slab->blocks;
    block->fresh = (char *)(block + 1);
    block->end = block->fresh + records;
    rv_poison(block->fresh, records);
    slab->blocks = block;
    return true;
}

void *rv_slab_take(struct rv_slab *slab)
{
    struct free_record *record = slab->free;
    if (record != NULL) {
        rv_unpoison(record, slab->record_size);
        slab->free = record->next;
    } else {
        if ((slab->blocks == NULL || slab->blocks->fresh == slab->blocks->end) && !add_block(slab))
            return NULL;
        record = (struct free_record *)slab->blocks->fresh;
        slab->blocks->fresh += slab->record_size;
        rv_unpoison(record, slab->record_size);
    }
    slab->taken++;
    return record;
}

void rv_slab_give(struct rv_slab *slab, void *record)
{
    struct free_record *given = record;
    assert(slab->taken > 0);
    slab->taken--;
    given->next = slab->free;
    slab->free = given;
    rv_poison(given, slab->record_size);
}

void rv_slab_free(struct rv_slab *slab)
{
    while (slab->blocks != NULL) {
        struct rv_slab_block *block = slab->blocks;
        slab->blocks = block->next;
        free(block);
    }
    slab->free = NULL;
    slab->taken = 0;
}
