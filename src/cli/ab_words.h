/*
 * What `rivulet ab` says around its report: who it is, how far it is, what was sent and answered (-v), what
 * went wrong. stdout and stderr are used as ApacheBench uses them.
 */
#ifndef RV_CLI_AB_WORDS_H
#define RV_CLI_AB_WORDS_H

#include "cli/ab_options.h"
#include "load/request.h"

#include <stdio.h>

/* "Completed 100 requests" at every hundredth, or at every tenth of more than 1000. */
struct rv_ab_milestones {
    uint64_t step; /* 0: none are told of */
    uint64_t next;
};

void rv_ab_say_usage(FILE *file);
void rv_ab_say_banner(bool html);
void rv_ab_say_wrong(const struct rv_ab_command *command);

/* "Benchmarking HOST (be patient)" and, when the user wants to see it, the request. */
void rv_ab_say_begin(const struct rv_ab_command *command, const struct rv_load_target *target,
                     const struct rv_load_request *request);

struct rv_ab_milestones rv_ab_milestones_of(const struct rv_ab_command *command);

/* So many requests have come to an end. */
void rv_ab_say_progress(struct rv_ab_milestones *milestones, uint64_t complete);

/* The run is over: what -v asks for, and the end of the line or of the milestones. */
void rv_ab_say_end(const struct rv_ab_command *command, struct rv_ab_milestones *milestones,
                   const struct rv_load_result *result);

/* The run was given up: why. Returns the exit code, which is the error's number. */
int rv_ab_say_given_up(const struct rv_load_result *result);

/* What the report has no words for: requests that were out of time; with -v the errors that were passed
   over, and what the evidence says about the whole. */
void rv_ab_say_causes(const struct rv_ab_command *command, const struct rv_load_result *result);

#endif
