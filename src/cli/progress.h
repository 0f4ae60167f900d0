/*
 * The line that tells how far a run is, on a terminal; nothing anywhere else.
 */
#ifndef RV_CLI_PROGRESS_H
#define RV_CLI_PROGRESS_H

#include "load/engine.h"

#include <stdio.h>

#define RV_PROGRESS_MAX 160
#define RV_PROGRESS_TICK_MS 500

struct rv_progress {
    FILE *file;        /* NULL: nobody looks */
    bool line_stands;  /* there is one to be erased */
    const char *label; /* what stands before the numbers; NULL: nothing */
};

/* Shows progress on `file` when that is a terminal. Without a label, which may be set then. */
void rv_progress_start(struct rv_progress *progress, FILE *file);

/* An rv_cli_run's on_progress; `ctx` is a struct rv_progress. */
void rv_progress_show(const struct rv_load_progress *now, void *ctx);

/* Takes the line away. */
void rv_progress_end(struct rv_progress *progress);

/* "12.0 s  19834/s  0 failed  p99 1.23 ms  7.9 s left" */
void rv_progress_text(const struct rv_load_progress *now, char text[RV_PROGRESS_MAX]);

#endif
