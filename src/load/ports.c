/*
 * Runs of source ports (ports.h).
 */
#include "load/ports.h"

#include "load/proc_file.h"

void rv_ports_open(struct rv_ports *ports, unsigned index, unsigned count)
{
    uint32_t first, last;
    *ports = (struct rv_ports){0};
    if (!rv_proc_port_range(&first, &last) || first == 0 || last > UINT16_MAX || last < first)
        return;
    ports->first = first;
    ports->runs = (last - first + 1) / RV_PORTS_RUN;
    ports->next = ports->runs * index / count;
}

void rv_ports_next(struct rv_ports *ports, struct rv_connect_to *to)
{
    to->port_first = to->port_last = to->port_start = 0;
    if (ports->runs < 2)
        return;
    uint32_t run = ports->next % ports->runs;
    uint32_t round = ports->next / ports->runs; /* another place to begin each time */
    ports->next++;
    to->port_first = (uint16_t)(ports->first + run * RV_PORTS_RUN);
    to->port_last = (uint16_t)(to->port_first + RV_PORTS_RUN - 1);
    to->port_start = (uint16_t)(to->port_first + round % RV_PORTS_RUN);
}
