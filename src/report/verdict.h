/*
 * Can the figures of a run be trusted, and if not, why not? A verdict is a function of a result, and
 * stands in the second line of every report.
 */
#ifndef RV_REPORT_VERDICT_H
#define RV_REPORT_VERDICT_H

#include "load/result.h"

enum rv_verdict_grade {
    RV_VERDICT_VALID,
    RV_VERDICT_SUSPECT, /* the figures may say more about something else than about the server */
    RV_VERDICT_INVALID  /* they say nothing: nothing was answered, most failed, a law is violated */
};

#define RV_REASONS_MAX 10

struct rv_verdict {
    enum rv_verdict_grade grade;
    uint32_t reason_count;
    char reasons[RV_REASONS_MAX][256]; /* "the client was the limit: its thread was busy 99 %" */
    bool law_violated;                 /* the command exits with 70 */
};

void rv_verdict_of(const struct rv_load_result *result, struct rv_verdict *verdict);

const char *rv_verdict_grade_name(enum rv_verdict_grade grade); /* "VALID" */

#endif
