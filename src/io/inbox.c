/*
 * The inbox is a stack: a post swaps itself in as the newest, the taker swaps the whole stack out
 * and turns it round. Nothing is ever popped singly, so a message that is freed and posted again
 * cannot be mistaken for its former self (the ABA problem does not arise).
 */
#include "io/inbox.h"

#include <stdatomic.h>

void rv_inbox_init(struct rv_inbox *inbox)
{
    atomic_init(&inbox->newest, NULL);
}

bool rv_inbox_post(struct rv_inbox *inbox, struct rv_message *message)
{
    struct rv_message *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do
        message->next = newest;
    while (!atomic_compare_exchange_weak_explicit(&inbox->newest, &newest, message,
                                                  memory_order_release, memory_order_relaxed));
    return newest == NULL;
}

struct rv_message *rv_inbox_take(struct rv_inbox *inbox)
{
    /* Looked at before it is swapped: an empty inbox costs its taker no exclusive cache line. */
    if (atomic_load_explicit(&inbox->newest, memory_order_relaxed) == NULL)
        return NULL;
    struct rv_message *newest =
        atomic_exchange_explicit(&inbox->newest, NULL, memory_order_acquire);
    struct rv_message *oldest = NULL;
    while (newest != NULL) {
        struct rv_message *older = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = older;
    }
    return oldest;
}

size_t rv_inbox_run(struct rv_inbox *inbox, void *owner)
{
    struct rv_message *message = rv_inbox_take(inbox);
    size_t count = 0;
    while (message != NULL) {
        struct rv_message *next = message->next;
        message->run(message, owner);
        message = next;
        count++;
    }
    return count;
}
