/*
 * Gathers the evidence around a run: what the kernel counted, how full the listener's accept queue was,
 * what CPU time the server took. It asks /proc and sock_diag(7), and needs no privilege. It measures
 * nothing of the load itself. One thread.
 */
#ifndef RV_LOAD_PROBE_H
#define RV_LOAD_PROBE_H

#include "load/evidence.h"
#include "load/target.h"

#include <sched.h>

struct rv_probe; /* owned by whoever made it */

/* Looks for the target's listening socket and its process, and notes where all counters stand. NULL: no
   memory. That something cannot be found is no failure: the evidence then says so. */
struct rv_probe *rv_probe_new(const struct rv_load_target *target);

/* Looks at the accept queue: one netlink exchange, 1.1 us where the address has one listening socket and
   11 us where it has several (measured on Linux 6.18). Ten times a second it looks at the server's
   descriptors and CPU time, too, and for a server that has gone or was not there yet. */
void rv_probe_sample(struct rv_probe *probe);

/* How many CPUs of `cpus` the server may run on; 0 when the server is not known. */
uint32_t rv_probe_cpus_shared(const struct rv_probe *probe, const cpu_set_t *cpus);

/* What the server may run on; false: not known. */
bool rv_probe_server_cpus(const struct rv_probe *probe, cpu_set_t *cpus);

/* What is known of the server so far (for the check before a run). */
const struct rv_server_evidence *rv_probe_server(const struct rv_probe *probe);

/* Notes where everything stands once more, and fills in all but the thread_, client_, turns and cpus_client
   fields and cpus_shared. */
void rv_probe_finish(struct rv_probe *probe, struct rv_evidence *evidence);

void rv_probe_free(struct rv_probe *probe);

#endif
