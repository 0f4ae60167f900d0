/*
 * What a route demands of the query: the part of its pattern behind the "?". Each demand is about one name
 * that the query must have, and perhaps about what the first value of that name says. In what order the
 * names come, and what else there is, does not matter. Knows nothing of paths.
 */
#ifndef RV_SERVER_ROUTE_QUERY_H
#define RV_SERVER_ROUTE_QUERY_H

#include "base/bytes.h"

#define RV_ROUTE_PARAMS_MAX 16
#define RV_DEMANDS_MAX 16

/* In the order of precedence. */
enum rv_demand_kind {
    RV_DEMAND_EXACT,  /* name=value */
    RV_DEMAND_INT,    /* name={parameter:int} */
    RV_DEMAND_DATE,   /* name={parameter:date} */
    RV_DEMAND_TEXT,   /* name={parameter}: not empty */
    RV_DEMAND_PRESENT /* name */
};

struct rv_demand {
    enum rv_demand_kind kind;
    rv_bytes name;  /* decoded; in the pattern's text, like the others */
    rv_bytes value; /* of RV_DEMAND_EXACT, decoded */
    rv_bytes param; /* what the value is called as a parameter; absent: it is none */
};

struct rv_demands {
    struct rv_demand *list; /* owned; NULL: there are none */
    unsigned count;
    uint32_t rank; /* more for those that are asked first */
};

/* Reads the query of a pattern, decoding it in place. RV_EINVAL with a static `*why`, or RV_ENOMEM. */
rv_error rv_demands_parse(struct rv_demands *demands, char *query, const char **why);

/* Do both demand the same? */
bool rv_demands_equal(const struct rv_demands *a, const struct rv_demands *b);

/* Is its value a parameter that the query's own name does not give? */
bool rv_demand_is_captured(const struct rv_demand *demand);

/* Are all met by a query as sent (absent: there is none)? Then `params` gets, in order and as sent, the
   values of those that are captured. */
bool rv_demands_met(const struct rv_demands *demands, rv_bytes query, rv_bytes *params);

#endif
