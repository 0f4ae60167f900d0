/*
 * Why a run went as it went: each finding is a cause that the evidence proves, in plain words with its
 * numbers, and what to do about it. A function of a result.
 */
#ifndef RV_REPORT_WHY_H
#define RV_REPORT_WHY_H

#include "load/result.h"

#define RV_FINDINGS_MAX 16

struct rv_finding {
    const char *id;   /* "accept_queue_overflow": the same in every report and version */
    char text[800];   /* what was seen, with its numbers; what it did to the clients */
    char remedy[400]; /* what to change; "" when there is nothing */
};

/* The findings, the gravest first; returns how many. */
uint32_t rv_why(const struct rv_load_result *result, struct rv_finding findings[RV_FINDINGS_MAX]);

#endif
