/*
 * The way into a worker from other threads: a lock-free queue with many posters and one taker. A
 * message is embedded in, and owned by, whatever the poster made; the taker runs it. Waking the
 * taker is not the inbox's business: a post tells whether the inbox was empty, so that one wake-up
 * serves everything that is posted until the taker comes.
 */
#ifndef RV_IO_INBOX_H
#define RV_IO_INBOX_H

#include <rivulet.h>

struct rv_message {
    struct rv_message *next;
    void (*run)(struct rv_message *message, void *owner); /* on the taker's thread; may free it */
};

struct rv_inbox {
    _Atomic(struct rv_message *) newest;
};

void rv_inbox_init(struct rv_inbox *inbox);

/* Any thread. True: the inbox was empty, the taker must be woken. */
bool rv_inbox_post(struct rv_inbox *inbox, struct rv_message *message);

/* Takes all, oldest first, as a list through `next`; NULL when empty. The taker's thread. */
struct rv_message *rv_inbox_take(struct rv_inbox *inbox);

/* Takes all and runs each; what is posted meanwhile is left for the next time. How many ran. */
size_t rv_inbox_run(struct rv_inbox *inbox, void *owner);

#endif
