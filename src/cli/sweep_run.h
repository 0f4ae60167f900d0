/*
 * One run of a sweep: a row's URL, load by ourselves or by ab, and the row's figures.
 */
#ifndef RV_CLI_SWEEP_RUN_H
#define RV_CLI_SWEEP_RUN_H

#include "cli/sweep_options.h"

#include <sched.h>
#include <signal.h>

struct rv_sweep_run {
    const struct rv_sweep_options *options;
    const char *command; /* the command line */
    const char *base;    /* what the demo server's paths go behind: "http://127.0.0.1:40123/pool" */
    cpu_set_t cpus;      /* of the load; empty: those that the server does not use */
    bool keeps_results;  /* rows get their result */
    const volatile sig_atomic_t *stop; /* not 0: break off */
};

/* Runs a row whose kind, backlog, repeat, clients and bytes are set, and fills in the rest. An exit code;
   `*is_row` tells whether there are figures. Whatever else is to be said is on stderr. */
int rv_sweep_run(const struct rv_sweep_run *run, struct rv_sweep_row *row, bool *is_row);

#endif
