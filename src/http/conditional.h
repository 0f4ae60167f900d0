/*
 * Conditional requests (RFC 9110 section 13): evaluates the preconditions of a request against what
 * is known of a representation, in the order of section 13.2.2. Reads no clock and no file.
 */
#ifndef RV_HTTP_CONDITIONAL_H
#define RV_HTTP_CONDITIONAL_H

#include "base/bytes.h"

/* The fields of the request; absent views where a field is absent. Where a list field came on several
   lines the caller joins them with ", ". */
struct rv_conditions {
    rv_bytes if_match;
    rv_bytes if_none_match;
    rv_bytes if_modified_since;
    rv_bytes if_unmodified_since;
    rv_bytes if_range;
};

struct rv_validators {
    rv_bytes etag;         /* with its quotes, and W/ when weak; absent: none */
    int64_t last_modified; /* seconds; negative: unknown */
    int64_t now;           /* seconds; for two-digit years */
};

enum rv_condition_result {
    RV_CONDITION_PASS,         /* go on as if there were no conditions */
    RV_CONDITION_NOT_MODIFIED, /* 304 */
    RV_CONDITION_FAILED        /* 412 */
};

/* `is_get_or_head`: only then 304 is possible, otherwise a match of If-None-Match is 412. */
enum rv_condition_result rv_conditions_evaluate(const struct rv_conditions *conditions,
                                                const struct rv_validators *validators,
                                                bool is_get_or_head);

/* Section 13.1.5: does If-Range let a Range apply? True when the field is absent, or its strong
   entity tag is ours, or its date is exactly Last-Modified. */
bool rv_if_range_allows(const struct rv_conditions *conditions,
                        const struct rv_validators *validators);

#endif
