/*
 * The demo server in a process of its own: this very program as `rivulet serve --demo`, on a free port of
 * 127.0.0.1. It never outlives the process that started it, however that one ends.
 */
#ifndef RV_CLI_DEMO_PROCESS_H
#define RV_CLI_DEMO_PROCESS_H

#include <rivulet.h>

#include <sched.h>
#include <sys/types.h>

struct rv_demo_settings {
    unsigned backlog; /* 0: the command's default */
    unsigned pool;    /* 0: the command's default */
    cpu_set_t cpus;   /* that it may run on, one worker each; empty: all */
};

struct rv_demo_process {
    pid_t pid;
    int output;       /* its stdout: closed when it has ended */
    char address[64]; /* "127.0.0.1:40123" */
    unsigned workers, pool_threads;
    unsigned backlog; /* as the kernel has granted it */
    double started_s; /* how long it took until it listened */
};

/* False: it did not start; why not is on stderr, by itself or by us as `name`. */
bool rv_demo_start(const struct rv_demo_settings *settings, const char *name,
                   struct rv_demo_process *process);

/* Asks it to stop, and after 10 s ends it. False: it ended with an error. */
bool rv_demo_stop(struct rv_demo_process *process);

#endif
