/*
 * The parts of the text report: what the run was and gave (text.c), its times (text_times.c).
 */
#ifndef RV_REPORT_TEXT_INNER_H
#define RV_REPORT_TEXT_INNER_H

#include "load/result.h"

#include <stdio.h>

/* The table of percentiles. RV_ENOMEM. */
rv_error rv_text_times(const struct rv_load_result *result, FILE *file);

#endif
