/*
 * The two halves of the check before a run: what this machine has, and what that means for a plan. Apart,
 * so that any machine can be judged.
 */
#ifndef RV_LOAD_PREFLIGHT_INNER_H
#define RV_LOAD_PREFLIGHT_INNER_H

#include "load/preflight.h"

struct rv_machine {
    uint64_t descriptor_limit;      /* 0: not known */
    uint64_t descriptors_open;      /* by this process */
    uint32_t port_first, port_last; /* net.ipv4.ip_local_port_range; 0: not known */
    bool source_is_elsewhere; /* the plan's source addresses, or some, are not this machine's */
    uint32_t time_wait_reuse; /* net.ipv4.tcp_tw_reuse: 1 everywhere, 2 on the loopback */
    uint32_t somaxconn;
    uint32_t cpus;        /* that the load threads may run on */
    uint32_t cpus_shared; /* of them, those that the server may run on */
};

void rv_machine_look(const struct rv_load_plan *plan, const struct rv_probe *probe,
                     struct rv_machine *machine);

/* `server`: what is known of it; NULL: nothing. */
void rv_preflight_judge(const struct rv_load_plan *plan, const struct rv_machine *machine,
                        const struct rv_server_evidence *server, struct rv_preflight *preflight);

#endif
