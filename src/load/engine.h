/*
 * The run of a plan: starts the load threads, watches over them, adds up what they have recorded. The
 * calling thread does no load: it sleeps, looks at the accept queue and tells how far things are.
 */
#ifndef RV_LOAD_ENGINE_H
#define RV_LOAD_ENGINE_H

#include "load/plan.h"
#include "load/probe.h"
#include "load/result.h"

#include <signal.h>

/* How far a run is, as of now. */
struct rv_load_progress {
    uint64_t elapsed_us;
    uint64_t answered, failed;
    double rate_per_s; /* answers, of the last tick */
    uint64_t p99_us;   /* so far, within 3 %; of answers, total; 0: not known yet */
    uint64_t left_us;  /* by the pace so far; UINT64_MAX: not known */
};

struct rv_load_watch {
    const volatile sig_atomic_t *stop; /* not 0: end now; NULL: never */
    uint32_t tick_ms;                  /* of on_progress; 0: it is never called */
    void (*on_progress)(const struct rv_load_progress *progress, void *ctx);
    void *ctx;
};

/*
 * Runs the plan to its end. `result` is initialised here and is the caller's to free when 0 is returned;
 * its `command` is left NULL. `probe` may be NULL: there is no evidence then. RV_ENOMEM, RV_EFILES or
 * RV_EIO with a sentence in `why` (RV_TARGET_WHY_MAX octets): the run did not begin.
 */
rv_error rv_load_run(const struct rv_load_plan *plan, struct rv_probe *probe,
                     const struct rv_load_watch *watch, struct rv_load_result *result, char *why);

#endif
