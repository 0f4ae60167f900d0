/*
 * Memory for sessions of libnghttp2 that share a thread. For every stream the library asks for a handful of
 * small blocks and gives them back soon after; malloc, which must be ready for anything, is a sixth of what
 * such a stream costs. Here blocks of a size are kept for the next who asks. It owns all that it has ever
 * handed out, up to the most that was in use at once, until the end.
 */
#ifndef RV_HTTP_H2_MEMORY_H
#define RV_HTTP_H2_MEMORY_H

#include <stddef.h>

struct rv_h2_memory;

/* NULL: no memory. Not shared between threads. */
struct rv_h2_memory *rv_h2_memory_new(void);

/* Every block must have been given back, that is: every session be freed. NULL is allowed. */
void rv_h2_memory_free(struct rv_h2_memory *memory);

/* As malloc, realloc and free. */
void *rv_h2_memory_take(struct rv_h2_memory *memory, size_t size);
void *rv_h2_memory_resize(struct rv_h2_memory *memory, void *block, size_t size);
void rv_h2_memory_give(struct rv_h2_memory *memory, void *block);

#endif
