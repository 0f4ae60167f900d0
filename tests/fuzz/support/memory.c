/*
 * The allocator that can be told to fail (memory.h). What it is told is not guarded: targets whose
 * server has threads at work do not use it.
 */
#include "fuzz/support/memory.h"

#include "fuzz/support/require.h"

/* What the linker makes of the names (ld, --wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool runs_out;
static bool for_all;
static unsigned left;
static bool has_failed;

static bool fails(void)
{
    if (!runs_out)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    runs_out = for_all;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

void fuzz_memory_begin(void)
{
    runs_out = has_failed = false;
}

void fuzz_memory_runs_out(unsigned count, bool all)
{
    runs_out = true;
    for_all = all;
    left = count;
}

void fuzz_memory_is_back(void)
{
    runs_out = false;
}

bool fuzz_memory_has_failed(void)
{
    return has_failed;
}

void *fuzz_memory_take(size_t size)
{
    void *block = __real_calloc(1, size > 0 ? size : 1);
    REQUIRE(block != NULL);
    return block;
}
