/*
 * The schedule of the open model: when is the next request due? It knows no clients and keeps no queue.
 * What is due and not started yet is not remembered but generated when a client is free to take it, with
 * the time at which it was due: so a server that hangs for an hour costs no memory, and no request is
 * forgotten.
 */
#ifndef RV_LOAD_PACE_H
#define RV_LOAD_PACE_H

#include "base/random.h"
#include "load/plan.h"

struct rv_pace {
    enum rv_arrivals arrivals;
    double period_us; /* between two of this thread's requests, on average */
    uint64_t start_us;
    double at_us; /* when the next one is due, from the start */
    uint64_t taken;
    struct rv_random random;
};

/* The share of thread `index` of `count`: every count-th request of an even schedule, and a Poisson process
   of its own, whose sum over the threads is one of the whole rate. */
void rv_pace_start(struct rv_pace *pace, const struct rv_load_plan *plan, unsigned index,
                   unsigned count, uint64_t start_us);

/* When the next request is due. */
static inline uint64_t rv_pace_due_us(const struct rv_pace *pace)
{
    return pace->start_us + (uint64_t)pace->at_us;
}

/* It has been taken (or given up): on to the one behind it. */
void rv_pace_advance(struct rv_pace *pace);

/* Gives up all that are due before `end_us`; returns how many. */
uint64_t rv_pace_give_up(struct rv_pace *pace, uint64_t end_us);

#endif
