/*
 * The threads of a process: which of them was busiest, and how long they waited for a CPU. A server with one
 * thread at its limit is at its limit, whatever its other threads do.
 */
#ifndef RV_LOAD_SERVER_THREADS_H
#define RV_LOAD_SERVER_THREADS_H

#include <stdint.h>

struct rv_server_thread {
    int tid;
    uint64_t ran_us, waited_us; /* on a CPU; for one; until the watch began */
};

struct rv_server_threads {
    struct rv_server_thread *list; /* owned */
    uint32_t count;
};

/* Notes where the threads of the process stand: one small file for each. Nothing is noted where the kernel does not
   tell (it has no schedstats). */
void rv_threads_watch(struct rv_server_threads *threads, int pid);

/* What they did since: the time on a CPU of the busiest one, and the sum of their waits. A thread that was
   not there then began at nothing; one that has ended is not known any more. */
void rv_threads_since(const struct rv_server_threads *threads, int pid, uint64_t *busiest_us,
                      uint64_t *waited_us);

void rv_threads_free(struct rv_server_threads *threads);

#endif
