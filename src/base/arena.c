/*
 * The arena. Pieces are cut off the front of the current block; a piece that is large and does not
 * fit gets a block of exactly its size, and the current block stays current. Under AddressSanitizer
 * whatever is not handed out is out of bounds, so a piece that is used after the reset is caught.
 */
#include "base/arena.h"

#include "base/poison.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = alignof(max_align_t),
    BLOCK_SIZE = 4096 - ALIGNMENT, /* with the heap's own word in front: not more than a page */
    LARGE_PIECE = 1024
};

struct rv_arena_block {
    struct rv_arena_block *next;
    alignas(max_align_t) char octets[]; /* where the pieces lie, not only the record, is aligned */
};

static void start(struct rv_arena *arena, char *block, size_t size)
{
    size_t gap = -(uintptr_t)block % ALIGNMENT;
    if (gap > size)
        gap = size;
    arena->at = block != NULL ? block + gap : NULL;
    arena->end = block != NULL ? block + size : NULL;
    if (size > gap)
        rv_poison(arena->at, size - gap);
}

void rv_arena_init(struct rv_arena *arena, void *first, size_t first_size)
{
    *arena = (struct rv_arena){.first = first, .first_size = first_size};
    start(arena, arena->first, arena->first_size);
}

/* Another block behind the others; it is the current one only when the caller starts it. */
static struct rv_arena_block *add_block(struct rv_arena *arena, size_t octets)
{
    struct rv_arena_block *block = malloc(sizeof(*block) + octets);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *rv_arena_alloc(struct rv_arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct rv_arena_block) - ALIGNMENT)
        return NULL;
    size_t room = (size + (size == 0) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

    if (room > (size_t)(arena->end - arena->at)) {
        bool large = room > LARGE_PIECE;
        size_t octets = large ? size : BLOCK_SIZE - sizeof(struct rv_arena_block);
        struct rv_arena_block *block = add_block(arena, octets);
        if (block == NULL)
            return NULL;
        if (large)
            return block->octets;
        start(arena, block->octets, octets);
    }
    char *piece = arena->at;
    arena->at += room;
    rv_unpoison(piece, size);
    return piece;
}

char *rv_arena_copy(struct rv_arena *arena, rv_bytes bytes)
{
    char *copy = rv_arena_alloc(arena, bytes.len + 1);
    if (copy == NULL)
        return NULL;
    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    copy[bytes.len] = '\0';
    return copy;
}

static void free_blocks(struct rv_arena *arena)
{
    while (arena->blocks != NULL) {
        struct rv_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
}

void rv_arena_reset(struct rv_arena *arena)
{
    free_blocks(arena);
    start(arena, arena->first, arena->first_size);
}

void rv_arena_free(struct rv_arena *arena)
{
    free_blocks(arena);
    if (arena->first != NULL)
        rv_unpoison(arena->first, arena->first_size);
    *arena = (struct rv_arena){0};
}
