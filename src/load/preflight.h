/*
 * The check before a run: will this machine let it do what it is to do? Descriptors, source ports, the
 * accept queue, CPUs shared with the server. It changes nothing but this process's soft limit of
 * descriptors.
 */
#ifndef RV_LOAD_PREFLIGHT_H
#define RV_LOAD_PREFLIGHT_H

#include "load/plan.h"
#include "load/probe.h"

#define RV_NOTES_MAX 8
#define RV_NOTE_MAX 400

struct rv_preflight {
    bool refused; /* the run cannot be what it is asked to be: the first note says
                                          why and what to do */
    uint32_t note_count;
    char notes[RV_NOTES_MAX][RV_NOTE_MAX]; /* one sentence each, with its numbers */
};

/* Raises the soft limit of descriptors to the hard one, then looks. Refuses when the clients need more
   descriptors than there can be, or more source ports than `source` gives; notes what will make the
   figures doubtful. `probe` may be NULL. */
void rv_preflight_check(const struct rv_load_plan *plan, const struct rv_probe *probe,
                        struct rv_preflight *preflight);

#endif
