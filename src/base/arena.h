/*
 * A bump allocator: memory that is given back all at once. It owns the blocks it takes beyond the
 * first, which belongs to its embedder (a talk carries it inside itself). A reset is O(1) while the
 * first block was enough. It is not shared between threads.
 *
 * Under AddressSanitizer the first block is out of bounds wherever no piece lies: a first block on
 * the stack, or one that its embedder wants to use otherwise, needs rv_arena_free.
 */
#ifndef RV_BASE_ARENA_H
#define RV_BASE_ARENA_H

#include <rivulet.h>

struct rv_arena_block;

struct rv_arena {
    char *at;    /* next free octet of the current block */
    char *end;   /* one past the current block */
    char *first; /* the embedder's block, may be NULL with first_size 0 */
    size_t first_size;
    struct rv_arena_block *blocks; /* owned; newest first; NULL while `first` is enough */
};

void rv_arena_init(struct rv_arena *arena, void *first, size_t first_size);

/* Aligned for any type, contents undefined; NULL when memory is short. Size 0 is a piece, too. A
   large piece that does not fit gets a block of its own. */
void *rv_arena_alloc(struct rv_arena *arena, size_t size);

/* A copy with a terminating NUL behind it (not counted); NULL when memory is short. */
char *rv_arena_copy(struct rv_arena *arena, rv_bytes bytes);

/* Frees all but the first block, and starts that one again. */
void rv_arena_reset(struct rv_arena *arena);

/* Frees all but the first block, and lets go of that one: the arena is then to be made again. */
void rv_arena_free(struct rv_arena *arena);

#endif
