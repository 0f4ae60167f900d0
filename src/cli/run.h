/*
 * What bench, ab and sweep have in common: a plan is checked against the machine, run with an eye
 * on Ctrl-C, and its result turned into an exit code.
 */
#ifndef RV_CLI_RUN_H
#define RV_CLI_RUN_H

#include "cli/cli.h"
#include "load/engine.h"

struct rv_cli_run {
    const char *name; /* "rivulet bench", for messages */
    bool hushed;      /* notes of the check before the run are not printed */
    uint32_t tick_ms; /* of on_progress; 0: none */
    void (*on_progress)(const struct rv_load_progress *progress, void *ctx);
    void *ctx;
};

/* Looks for the server, checks, says on stderr what there is to say, runs. SIGINT and SIGTERM
   end the run and not the program; a second one ends it at once. 0 with `*result` filled, which
   the caller frees; or an exit code, and the reason on stderr. */
int rv_cli_run(const struct rv_load_plan *plan, const struct rv_cli_run *run,
               struct rv_load_result *result);

/* RV_EXIT_INTERRUPTED, RV_EXIT_NO_START (nothing was ever answered), RV_EXIT_LAW, RV_EXIT_INVALID (by
   the verdict), or RV_EXIT_OK. */
int rv_cli_exit_of(const struct rv_load_result *result);

/* The threads and CPUs for load when nobody asked: one for each CPU that the server (NULL: not
   known) does not own, at least one. Fills plan->threads, when it is 0, and plan->cpus, when it
   is empty. */
void rv_cli_place_threads(struct rv_load_plan *plan, const struct rv_probe *probe);

/* argv in one line, quoted where a shell would need it; the caller frees it. NULL: no memory. */
char *rv_cli_command_line(const char *program, int argc, char **argv);

#endif
