/*
 * The processes behind a listening socket: who they are, what CPU time they take, what descriptors they
 * have open. Those of other users cannot be looked at without privileges, and are not found.
 */
#ifndef RV_LOAD_SERVER_PROCESS_H
#define RV_LOAD_SERVER_PROCESS_H

#include "load/evidence.h"
#include "load/server_threads.h"

#include <sched.h>
#include <time.h>

struct rv_server_process {
    int pid;
    clockid_t clock; /* of its CPU time, all threads: exact */
    uint64_t
        cpu_us_before; /* when it was first seen; 0 for one that started later than the watch */
    uint64_t cpu_us;   /* when it was last seen */
    uint64_t user_ticks_before, system_ticks_before; /* the same, in clock ticks */
    uint64_t user_ticks, system_ticks;
    struct rv_server_threads threads_before; /* owned */
    uint64_t thread_busiest_us, cpu_wait_us;
    uint32_t threads;
    uint32_t descriptors; /* the most seen */
    uint64_t descriptor_limit;
    char name[32];
};

struct rv_server_processes {
    struct rv_server_process *list; /* owned; by pid */
    uint32_t count;
    uint32_t room;
    uint64_t
        since_ticks; /* when the watch began, on the clock that processes' start times are on */
};

void rv_processes_watch(struct rv_server_processes *processes);

/* Looks through /proc for processes that hold one of these sockets, and adds those that are new: a
   millisecond where 90 processes run, and 5 us for each descriptor that they have open. `run_began`: one
   that started since the watch began is taken to have done nothing but this run. */
void rv_processes_find(struct rv_server_processes *processes, const uint32_t *inodes,
                       uint32_t count, bool run_began);

/* Notes what CPU time they have taken by now. One that has ended keeps what was last seen. */
void rv_processes_look_at_cpu(struct rv_server_processes *processes);

/* Notes what each of their threads has done since the process was first seen. Not cheap: at the end. */
void rv_processes_look_at_threads(struct rv_server_processes *processes);

/* Notes how many descriptors they have open. */
void rv_processes_look_at_descriptors(struct rv_server_processes *processes);

/* Adds the CPUs that their threads may run on. */
void rv_processes_cpus(const struct rv_server_processes *processes, cpu_set_t *cpus);

/* Fills in what is known of them. */
void rv_processes_tell(const struct rv_server_processes *processes,
                       struct rv_server_evidence *server);

void rv_processes_free(struct rv_server_processes *processes);

#endif
