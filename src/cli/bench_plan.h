/*
 * From what was asked of `rivulet bench` to the plan of a run: files are read, names resolved,
 * requests written.
 */
#ifndef RV_CLI_BENCH_PLAN_H
#define RV_CLI_BENCH_PLAN_H

#include "cli/bench_urls.h"

#define RV_BENCH_NOTE_MAX 256

struct rv_bench_plan {
    struct rv_load_plan load;     /* owned, with all it points to */
    char note[RV_BENCH_NOTE_MAX]; /* what was asked and is not done, and why; "": nothing */
};

/* 0, or an exit code with a sentence in `why` (RV_BENCH_WHY_MAX octets): RV_EXIT_USAGE for what
   is wrong with what was asked, RV_EXIT_NO_START for a file that cannot be read or a name that
   nobody knows. The plan is to be freed whatever comes. */
int rv_bench_plan_make(const struct rv_bench_options *options, struct rv_bench_plan *plan,
                       char *why);
void rv_bench_plan_free(struct rv_bench_plan *plan);

/* ---- bench_requests.c ------------------------------------------------------------------------ */

/* Fills the plan's requests: one for each URL, all with the same fields and body, for each of the fields
   that clients have of their own.
   `proxy_credentials` may be NULL. As rv_bench_plan_make. */
int rv_bench_requests_make(const struct rv_bench_options *options, const struct rv_bench_urls *urls,
                           const char *proxy_credentials, struct rv_load_plan *plan, char *why);

#endif
