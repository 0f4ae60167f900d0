/*
 * What a result says of the plan that it came from, so that a report needs no plan.
 */
#ifndef RV_LOAD_DESCRIBE_H
#define RV_LOAD_DESCRIBE_H

#include "load/plan.h"
#include "load/result.h"

/* RV_ENOMEM: some of the texts are missing; rv_load_result_free copes. */
rv_error rv_load_describe(const struct rv_load_plan *plan, struct rv_load_result *result);

#endif
