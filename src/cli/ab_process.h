/*
 * ApacheBench as the one that makes the load of a sweep: started as CherryPy's benchmark starts it, and its
 * report read by the same five lines.
 */
#ifndef RV_CLI_AB_PROCESS_H
#define RV_CLI_AB_PROCESS_H

#include "report/sweep.h"

#include <sched.h>
#include <signal.h>

struct rv_ab_run {
    const char *program;
    const char *url;
    uint64_t requests;
    uint32_t clients;
    bool keep_alive;
    uint64_t timeout_us;
    const cpu_set_t *cpus;             /* that it may run on; empty: all */
    const volatile sig_atomic_t *stop; /* not 0: end it */
};

enum rv_ab_end {
    RV_AB_DONE,       /* the row has its figures, and its times where ab shows them */
    RV_AB_UNREADABLE, /* a figure was missing: `output` tells what ab said instead */
    RV_AB_NOT_RUN,    /* the program could not be started; why is on stderr */
    RV_AB_STOPPED
};

/* Runs it to its end. `*output`, all that it printed, is the caller's to free; NULL: it printed nothing. */
enum rv_ab_end rv_ab_run(const struct rv_ab_run *run, struct rv_sweep_row *row, char **output);

/* Reads figures and times out of a report; false: one of the five figures is not there. Times that are not
   there are NAN. */
bool rv_ab_read(const char *report, struct rv_sweep_row *row);

#endif
