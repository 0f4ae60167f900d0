/*
 * The reports of a sweep: CherryPy's client-thread and size tables, the spread of repeated runs, and two
 * or more lengths of the listen queue side by side. A function of the rows; a row is one run.
 */
#ifndef RV_REPORT_SWEEP_H
#define RV_REPORT_SWEEP_H

#include "report/table.h"

#include <jansson.h>

/* id, name in files */
#define RV_SWEEP_KINDS(X)                                                                          \
    X(DYNAMIC, "dynamic") /* clients, on a page that a handler makes */                            \
    X(STATIC, "static")   /* clients, on a file */                                                 \
    X(SIZE, "size")       /* sizes of the body, with one number of clients */

enum rv_sweep_kind {
#define RV_SWEEP_ID(id, name) RV_SWEEP_##id,
    RV_SWEEP_KINDS(RV_SWEEP_ID)
#undef RV_SWEEP_ID
        RV_SWEEP_KIND_COUNT
};

const char *rv_sweep_kind_name(enum rv_sweep_kind kind);

#define RV_SWEEP_CAUSES_MAX 200

/* One run. Times are of answered requests, from the moment their client was free, so with the opening of
   a connection if there had to be one. */
struct rv_sweep_row {
    enum rv_sweep_kind kind;
    uint32_t backlog; /* the listen queue asked for; 0: the server is not ours */
    uint32_t repeat;  /* 0 for the first run of this row */
    uint32_t clients;
    uint64_t bytes;    /* of the body; UINT64_MAX: not known */
    uint64_t requests; /* that it was to make */
    bool capped;       /* fewer than all rows were to make, to cap its bytes */
    struct rv_cherrypy_row figures;
    double p50_ms, p99_ms, max_ms; /* NAN: not known */
    double overflows, drops; /* ListenOverflows and ListenDrops, the machine's; NAN: not known */
    uint32_t server_threads; /* of its process; 0: not known */
    char causes[RV_SWEEP_CAUSES_MAX]; /* of the failed ones: "3 connection refused, 7 status 404" */
    json_t *result;                   /* owned, with all there is to know; NULL: it is not kept */
};

#define RV_SWEEP_BACKLOGS_MAX 8
#define RV_SWEEP_REPEATS_MAX 100 /* runs of a row */

struct rv_sweep {
    const char *command; /* the command line; the caller's, like all below */
    const char *server;  /* "10 server threads" for the titles; NULL: not known */
    const char *mode;    /* a sentence below each title; NULL: none */
    uint64_t requests;   /* of a row, when nothing caps it */
    uint32_t size_clients;
    struct rv_sweep_row *rows; /* owned, in the order of their runs */
    size_t count;
};

/* Nothing is known of the run. */
void rv_sweep_row_forget(struct rv_sweep_row *row);

/* Figures, times, the kernel's counts and causes out of a result; also the octets of the body, unless they
   are known. */
void rv_sweep_row_take(struct rv_sweep_row *row, const struct rv_load_result *result);
void rv_sweep_row_take_counters(struct rv_sweep_row *row, const struct rv_evidence *evidence);

/* Takes over row->result, also when there is no memory for the row. */
rv_error rv_sweep_add(struct rv_sweep *sweep, const struct rv_sweep_row *row);
void rv_sweep_free(struct rv_sweep *sweep);

/* Title, empty line, table, of the rows of this kind and listen queue; of repeated runs the medians, and
   a table of their spread below. Nothing when there is no such row. RV_ENOMEM, RV_EIO. */
rv_error rv_sweep_write_report(const struct rv_sweep *sweep, enum rv_sweep_kind kind,
                               uint32_t backlog, FILE *file);

/* The queues in the order of their runs, as many as there is room for; returns how many. */
size_t rv_sweep_backlogs(const struct rv_sweep *sweep, uint32_t backlogs[RV_SWEEP_BACKLOGS_MAX]);

/* For each kind a table with the queues' figures side by side, ratios against the first queue; then what
   the columns mean. Nothing when there is but one queue. */
rv_error rv_sweep_write_comparison(const struct rv_sweep *sweep, FILE *file);

/* A line for each run, behind one that names the columns. */
rv_error rv_sweep_write_csv(const struct rv_sweep *sweep, FILE *file);

/* All reports of all queues, in the order of their runs, and the comparison. */
rv_error rv_sweep_write_text(const struct rv_sweep *sweep, FILE *file);

#define RV_SWEEP_FORMAT "rivulet-sweep"
#define RV_SWEEP_VERSION 1

/* {"format": "rivulet-sweep", "version": 1, …, "rows": […]}; NULL: no memory. */
json_t *rv_sweep_to_json(const struct rv_sweep *sweep);

/* Is it one, by its format? */
bool rv_sweep_is_json(const json_t *object);

/* Reads it back; the strings of `sweep` are the object's, its rows the caller's to free. RV_EINVAL with a
   sentence in `why` (RV_REPORT_WHY_MAX octets) that names the member that is missing or wrong; RV_ENOMEM. */
rv_error rv_sweep_from_json(const json_t *object, struct rv_sweep *sweep, char *why);

#endif
