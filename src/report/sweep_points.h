/*
 * The runs of one row of a sweep's table, gathered: a point has a key (clients, or octets of the body), and
 * each of its figures is the median of its runs.
 */
#ifndef RV_REPORT_SWEEP_POINTS_H
#define RV_REPORT_SWEEP_POINTS_H

#include "report/sweep.h"

/* The rows that one table shows. */
struct rv_sweep_points {
    const struct rv_sweep *sweep;
    enum rv_sweep_kind kind;
    uint32_t backlog;
};

/* What stands in the first column. */
uint64_t rv_sweep_key(const struct rv_sweep_row *row);

/* The nth point, by its first run; NULL: there are not so many. */
const struct rv_sweep_row *rv_sweep_point(const struct rv_sweep_points *points, size_t n);

/* A figure of a run; NAN: it has none. */
typedef double rv_sweep_figure(const struct rv_sweep_row *row);

rv_sweep_figure rv_sweep_completed, rv_sweep_failed, rv_sweep_rate, rv_sweep_ms, rv_sweep_kib,
    rv_sweep_p50, rv_sweep_p99, rv_sweep_max, rv_sweep_overflows;

struct rv_spread {
    double median, min, max; /* NAN when no run has the figure */
    size_t runs;             /* that have it */
};

/* Of all runs with that key. The median of an even number of runs lies halfway between two of them. */
struct rv_spread rv_sweep_spread(const struct rv_sweep_points *points, uint64_t key,
                                 rv_sweep_figure *figure);

#endif
