/*
 * Which members of a result stand where in its JSON form. A member that is added to one of these structs
 * gets a line in json_tables.c: a test misses it otherwise.
 */
#ifndef RV_REPORT_JSON_TABLES_H
#define RV_REPORT_JSON_TABLES_H

#include "report/json_members.h"

/* Of struct rv_load_result: at the top, and in the objects of these names. */
extern const struct rv_json_table rv_json_asked;       /* command, url, host, … */
extern const struct rv_json_table rv_json_plan;        /* "plan" */
extern const struct rv_json_table rv_json_when;        /* started_us, elapsed_us */
extern const struct rv_json_table rv_json_requests;    /* "requests" */
extern const struct rv_json_table rv_json_connections; /* "connections" */
extern const struct rv_json_table rv_json_http2;       /* "http2" */
extern const struct rv_json_table rv_json_tls;         /* "tls" */
extern const struct rv_json_table rv_json_octets;      /* "octets" */
extern const struct rv_json_table rv_json_first;       /* server_software, first_head */

extern const struct rv_json_table rv_json_period;   /* struct rv_load_period: "series" */
extern const struct rv_json_table rv_json_sample;   /* struct rv_load_sample: "samples" */
extern const struct rv_json_table rv_json_evidence; /* struct rv_evidence: "evidence" */
extern const struct rv_json_table rv_json_server;   /* struct rv_server_evidence: its "server" */

/* The names of enum rv_load_end in files. */
#define RV_JSON_ENDS 4
extern const char *const rv_json_end_names[RV_JSON_ENDS];

/* The histograms of a result, in "times_us". */
struct rv_json_time {
    const char *name;
    size_t offset; /* of the struct rv_hist in struct rv_load_result */
};

#define RV_JSON_TIMES 9
extern const struct rv_json_time rv_json_times[RV_JSON_TIMES];

/* Those of "total" in it: the index is that of `total`. */
#define RV_JSON_TOTALS 6
extern const char *const rv_json_total_names[RV_JSON_TOTALS];

#endif
