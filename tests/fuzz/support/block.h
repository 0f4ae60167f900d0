/*
 * Views of what a fuzz target reads: copies in blocks of exactly their size, so that the sanitizers
 * see a step too far, and what can be asked of a view.
 */
#ifndef FUZZ_BLOCK_H
#define FUZZ_BLOCK_H

#include "base/bytes.h"
#include "fuzz/support/require.h"

static inline char *block_of(size_t size)
{
    char *memory = malloc(size > 0 ? size : 1);
    REQUIRE(memory != NULL);
    return memory;
}

/* Its pointer is to be freed. */
static inline rv_bytes block_copy(const void *octets, size_t size)
{
    char *memory = block_of(size);
    if (size > 0)
        memcpy(memory, octets, size);
    return rv_slice(memory, size);
}

static inline void block_free(rv_bytes block)
{
    free((char *)block.ptr);
}

static inline bool lies_within(rv_bytes inner, rv_bytes outer)
{
    return inner.ptr >= outer.ptr && inner.ptr + inner.len <= outer.ptr + outer.len;
}

static inline bool has_octet(rv_bytes text, char octet)
{
    return text.len > 0 && memchr(text.ptr, octet, text.len) != NULL;
}

#endif
