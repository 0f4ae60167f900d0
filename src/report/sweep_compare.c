/*
 * Lengths of the listen queue side by side (sweep.h): for each quantity the queues' figures stand next to
 * one another, so that a row tells what a longer queue has changed.
 */
#include "report/sweep.h"
#include "report/sweep_points.h"

#include <inttypes.h>
#include <math.h>

static const struct {
    const char *title;
    rv_sweep_figure *figure;
    int places;
    bool has_ratio;    /* of the other queues to the first */
    bool only_nonzero; /* the column is left out when nothing is counted in it */
} quantities[] = {
    {"req/sec", rv_sweep_rate, 2, true, false}, {"Failed", rv_sweep_failed, 0, false, true},
    {"p50 ms", rv_sweep_p50, 1, false, false},  {"p99 ms", rv_sweep_p99, 1, false, false},
    {"max ms", rv_sweep_max, 1, false, false},  {"overflows", rv_sweep_overflows, 0, false, false},
};

#define QUANTITIES (sizeof quantities / sizeof *quantities)

/* What is compared: one kind, some queues. */
struct comparison {
    const struct rv_sweep *sweep;
    enum rv_sweep_kind kind;
    const uint32_t *backlogs;
    size_t count;
};

static struct rv_sweep_points points_of(const struct comparison *comparison, size_t queue)
{
    return (struct rv_sweep_points){comparison->sweep, comparison->kind,
                                    comparison->backlogs[queue]};
}

static double figure_of(const struct comparison *comparison, size_t queue, uint64_t key,
                        rv_sweep_figure *figure)
{
    struct rv_sweep_points points = points_of(comparison, queue);
    return rv_sweep_spread(&points, key, figure).median;
}

static bool is_shown(const struct comparison *comparison, size_t quantity)
{
    if (!quantities[quantity].only_nonzero)
        return true;
    for (size_t i = 0; i < comparison->sweep->count; i++) {
        const struct rv_sweep_row *row = &comparison->sweep->rows[i];
        if (row->kind == comparison->kind && quantities[quantity].figure(row) > 0)
            return true;
    }
    return false;
}

static size_t count_columns(const struct comparison *comparison)
{
    size_t columns = 1;
    for (size_t i = 0; i < QUANTITIES; i++)
        if (is_shown(comparison, i))
            columns += comparison->count + (quantities[i].has_ratio ? comparison->count - 1 : 0);
    return columns;
}

static void number_cell(struct rv_table *table, double value, int places)
{
    if (isfinite(value))
        rv_table_cell(table, "%.*f", places, value);
    else
        rv_table_cell(table, "-");
}

static void header_cells(const struct comparison *comparison, struct rv_table *table)
{
    rv_table_cell(table, "%s", comparison->kind == RV_SWEEP_SIZE ? "bytes" : "threads");
    for (size_t i = 0; i < QUANTITIES; i++) {
        if (!is_shown(comparison, i))
            continue;
        for (size_t queue = 0; queue < comparison->count; queue++)
            rv_table_cell(table, "%s%s%" PRIu32, queue == 0 ? quantities[i].title : "",
                          queue == 0 ? " " : "", comparison->backlogs[queue]);
        for (size_t queue = 1; quantities[i].has_ratio && queue < comparison->count; queue++)
            rv_table_cell(table, comparison->count == 2 ? "ratio" : "ratio %" PRIu32,
                          comparison->backlogs[queue]);
    }
}

static void row_cells(const struct comparison *comparison, uint64_t key, struct rv_table *table)
{
    rv_table_cell(table, "%" PRIu64, key);
    for (size_t i = 0; i < QUANTITIES; i++) {
        rv_sweep_figure *figure = quantities[i].figure;
        if (!is_shown(comparison, i))
            continue;
        for (size_t queue = 0; queue < comparison->count; queue++)
            number_cell(table, figure_of(comparison, queue, key, figure), quantities[i].places);
        for (size_t queue = 1; quantities[i].has_ratio && queue < comparison->count; queue++)
            number_cell(table,
                        figure_of(comparison, queue, key, figure) /
                            figure_of(comparison, 0, key, figure),
                        2);
    }
}

static rv_error write_kind(const struct comparison *comparison, FILE *file)
{
    struct rv_sweep_points first = points_of(comparison, 0);
    const struct rv_sweep_row *row;
    fputs("Listen queue of ", file);
    for (size_t queue = 0; queue < comparison->count; queue++)
        fprintf(file, "%s%" PRIu32,
                queue == 0   ? ""
                : queue == 1 ? " against "
                             : ", ",
                comparison->backlogs[queue]);
    fprintf(file, ", %s:\n", rv_sweep_kind_name(comparison->kind));
    if (comparison->sweep->mode != NULL)
        fprintf(file, "%s\n", comparison->sweep->mode);
    fputc('\n', file);
    struct rv_table table = {.columns = count_columns(comparison)};
    header_cells(comparison, &table);
    for (size_t n = 0; (row = rv_sweep_point(&first, n)) != NULL; n++)
        row_cells(comparison, rv_sweep_key(row), &table);
    rv_error error = rv_table_write(&table, file);
    rv_table_free(&table);
    return error;
}

size_t rv_sweep_backlogs(const struct rv_sweep *sweep, uint32_t backlogs[RV_SWEEP_BACKLOGS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        size_t known = 0;
        while (known < count && backlogs[known] != sweep->rows[i].backlog)
            known++;
        if (known == count && count < RV_SWEEP_BACKLOGS_MAX)
            backlogs[count++] = sweep->rows[i].backlog;
    }
    return count;
}

rv_error rv_sweep_write_comparison(const struct rv_sweep *sweep, FILE *file)
{
    uint32_t backlogs[RV_SWEEP_BACKLOGS_MAX];
    size_t count = rv_sweep_backlogs(sweep, backlogs);
    rv_error error = 0;
    if (count < 2)
        return 0;
    for (enum rv_sweep_kind kind = 0; kind < RV_SWEEP_KIND_COUNT && error == 0; kind++) {
        struct comparison comparison = {sweep, kind, backlogs, count};
        struct rv_sweep_points points = points_of(&comparison, 0);
        if (rv_sweep_point(&points, 0) == NULL)
            continue;
        error = write_kind(&comparison, file);
        fputc('\n', file);
    }
    fputs(
        "ratio: to the first queue. Times: of answered requests, from wanting a connection to the\n"
        "last octet. overflows: how often the kernel found the listen queue full\n"
        "(ListenOverflows); such a client waits 0.2 s, 1 s or more before it tries again.\n",
        file);
    return error != 0 ? error : ferror(file) ? RV_EIO : 0;
}
