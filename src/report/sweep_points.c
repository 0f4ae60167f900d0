/*
 * The runs of a point and their medians (sweep_points.h).
 */
#include "report/sweep_points.h"

#include <math.h>
#include <stdlib.h>

double rv_sweep_completed(const struct rv_sweep_row *row)
{
    return (double)row->figures.completed;
}

double rv_sweep_failed(const struct rv_sweep_row *row)
{
    return (double)row->figures.failed;
}

double rv_sweep_rate(const struct rv_sweep_row *row)
{
    return row->figures.requests_per_s;
}

double rv_sweep_ms(const struct rv_sweep_row *row)
{
    return row->figures.ms_per_request;
}

double rv_sweep_kib(const struct rv_sweep_row *row)
{
    return row->figures.kib_per_s;
}

double rv_sweep_p50(const struct rv_sweep_row *row)
{
    return row->p50_ms;
}

double rv_sweep_p99(const struct rv_sweep_row *row)
{
    return row->p99_ms;
}

double rv_sweep_max(const struct rv_sweep_row *row)
{
    return row->max_ms;
}

double rv_sweep_overflows(const struct rv_sweep_row *row)
{
    return row->overflows;
}

uint64_t rv_sweep_key(const struct rv_sweep_row *row)
{
    return row->kind == RV_SWEEP_SIZE ? row->bytes : row->clients;
}

static bool belongs(const struct rv_sweep_points *points, const struct rv_sweep_row *row)
{
    return row->kind == points->kind && row->backlog == points->backlog;
}

const struct rv_sweep_row *rv_sweep_point(const struct rv_sweep_points *points, size_t n)
{
    for (size_t i = 0; i < points->sweep->count; i++) {
        const struct rv_sweep_row *row = &points->sweep->rows[i];
        if (belongs(points, row) && row->repeat == 0 && n-- == 0)
            return row;
    }
    return NULL;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct rv_spread rv_sweep_spread(const struct rv_sweep_points *points, uint64_t key,
                                 rv_sweep_figure *figure)
{
    double values[RV_SWEEP_REPEATS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < points->sweep->count && count < RV_SWEEP_REPEATS_MAX; i++) {
        const struct rv_sweep_row *row = &points->sweep->rows[i];
        if (belongs(points, row) && rv_sweep_key(row) == key && isfinite(figure(row)))
            values[count++] = figure(row);
    }
    if (count == 0)
        return (struct rv_spread){NAN, NAN, NAN, 0};
    qsort(values, count, sizeof *values, ascending);
    return (struct rv_spread){.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
                              .min = values[0],
                              .max = values[count - 1],
                              .runs = count};
}
