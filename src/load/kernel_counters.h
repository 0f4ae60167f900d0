/*
 * What the kernel counts for all of this network namespace, and the limits that it sets: read from
 * /proc/net, /proc/stat and /proc/sys.
 */
#ifndef RV_LOAD_KERNEL_COUNTERS_H
#define RV_LOAD_KERNEL_COUNTERS_H

#include "load/evidence.h"

struct rv_kernel_state {
    bool has_counters;
    int64_t
        counters[RV_KERNEL_COUNT]; /* since the machine started; -1: there is none of that name */
    uint32_t time_wait;            /* sockets in TIME-WAIT */
    uint64_t steal_us;
    uint64_t busy_us; /* user and system time of all processes on all CPUs */
};

void rv_kernel_read(struct rv_kernel_state *state);

/* Looks for `name` in `table` of a text in the form of /proc/net/netstat: a line of names, then a line of
   as many numbers, both headed by the table. -1: it is not there. */
int64_t rv_kernel_find(const char *text, const char *table, const char *name);

/* Fills in the counters' differences, TIME-WAIT and steal. */
void rv_kernel_difference(const struct rv_kernel_state *before, const struct rv_kernel_state *after,
                          struct rv_evidence *evidence);

/* Fills in what is under "limits of this machine", but for the above. */
void rv_kernel_limits(struct rv_evidence *evidence);

#endif
