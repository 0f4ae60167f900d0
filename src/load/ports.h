/*
 * Which source ports the next connection may have: a narrow run of them, another one each time (io/connect.h
 * says why). One for each load thread.
 */
#ifndef RV_LOAD_PORTS_H
#define RV_LOAD_PORTS_H

#include "io/connect.h"

/* Ports of one run. A run that is full costs as many looks; a small one is full sooner. */
#define RV_PORTS_RUN 64

struct rv_ports {
    uint32_t first; /* of ip_local_port_range */
    uint32_t runs;  /* in it; 0: it is not known, or too narrow to be divided */
    uint32_t next;  /* the next run */
};

/* Threads begin in different places. */
void rv_ports_open(struct rv_ports *ports, unsigned index, unsigned count);

/* Sets the port_ members: the next run, or none when the range is not divided. */
void rv_ports_next(struct rv_ports *ports, struct rv_connect_to *to);

#endif
