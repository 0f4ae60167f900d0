/*
 * A histogram in a result: its exact figures, some percentiles for those who read no histograms, and all of
 * it in HdrHistogram's wire form.
 */
#ifndef RV_REPORT_JSON_HIST_H
#define RV_REPORT_JSON_HIST_H

#include "base/hist.h"
#include "report/json_members.h"

/* NULL: no memory. */
json_t *rv_json_of_hist(const struct rv_hist *hist);

/* Reads the member `name` of `at` into a histogram that is there, and which must have the digits and the
   highest value of the one that is read. What is exact comes back exactly. */
void rv_json_get_hist(struct rv_json_reader *reader, const struct rv_json_place *at,
                      const char *name, struct rv_hist *hist);

#endif
