/*
 * Blocks in classes of sizes (h2_memory.h). In front of each lies how much room it has; that of one given
 * back holds the next of its class's list.
 */
#include "http/h2_memory.h"

#include "base/poison.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BYTES 32
#define CLASSES 32 /* up to 1 KiB; larger blocks, which are few, are malloc's */

/* As long as the strictest alignment, so that what follows has it, too. */
struct head {
    union {
        size_t room;
        max_align_t alignment;
    };
};

/* A block that is free. */
struct idle {
    struct idle *next;
};

struct rv_h2_memory {
    struct idle *lists[CLASSES]; /* by room / STEP_BYTES - 1 */
};

static struct head *head_of(void *block)
{
    return (struct head *)block - 1;
}

struct rv_h2_memory *rv_h2_memory_new(void)
{
    return calloc(1, sizeof(struct rv_h2_memory));
}

void rv_h2_memory_free(struct rv_h2_memory *memory)
{
    if (memory == NULL)
        return;
    for (size_t i = 0; i < CLASSES; i++) {
        for (struct idle *block = memory->lists[i], *next; block != NULL; block = next) {
            rv_unpoison(block, head_of(block)->room);
            next = block->next;
            free(head_of(block));
        }
    }
    free(memory);
}

void *rv_h2_memory_take(struct rv_h2_memory *memory, size_t size)
{
    size_t class = size == 0 ? 0 : (size - 1) / STEP_BYTES;
    if (class < CLASSES && memory->lists[class] != NULL) {
        struct idle *block = memory->lists[class];
        rv_unpoison(block, head_of(block)->room);
        memory->lists[class] = block->next;
        return block;
    }
    size_t room = (class + 1) * STEP_BYTES;
    struct head *head =
        room < size || room > SIZE_MAX - sizeof *head ? NULL : malloc(sizeof *head + room);
    if (head == NULL)
        return NULL;
    head->room = room;
    return head + 1;
}

void rv_h2_memory_give(struct rv_h2_memory *memory, void *block)
{
    if (block == NULL)
        return;
    struct head *head = head_of(block);
    size_t class = head->room / STEP_BYTES - 1;
    if (class >= CLASSES) {
        free(head);
        return;
    }
    struct idle *idle = block;
    idle->next = memory->lists[class];
    memory->lists[class] = idle;
    rv_poison(block, head->room);
}

void *rv_h2_memory_resize(struct rv_h2_memory *memory, void *block, size_t size)
{
    if (block != NULL && head_of(block)->room >= size)
        return block;
    void *larger = rv_h2_memory_take(memory, size);
    if (larger == NULL || block == NULL)
        return larger;
    memcpy(larger, block, head_of(block)->room);
    rv_h2_memory_give(memory, block);
    return larger;
}
