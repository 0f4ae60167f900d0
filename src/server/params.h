/*
 * Parameters of a request: of the path, the query and a form in the body, as one list. The pairs of
 * query and form are found when the first of them is asked for, and kept in the talk's arena.
 */
#ifndef RV_SERVER_PARAMS_H
#define RV_SERVER_PARAMS_H

#include "base/bytes.h"

struct rv_param_pair {
    rv_bytes name;  /* decoded */
    rv_bytes value; /* encoded until it is asked for */
    bool value_is_encoded;
};

struct rv_param_table {
    struct rv_param_pair *pairs; /* of the query, then of the form; in the arena */
    size_t count;
    rv_error
        form_error;  /* there is a form, but not one that can be used; then it has no pairs here */
    int form_status; /* what that is worth to its client ... */
    const char *form_reason; /* ... and why; static */
};

#endif
