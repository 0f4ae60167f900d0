/*
 * A sweep's rows (sweep.h), and CherryPy's reports of them.
 */
#include "report/sweep.h"
#include "report/sweep_points.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *rv_sweep_kind_name(enum rv_sweep_kind kind)
{
    static const char *const names[RV_SWEEP_KIND_COUNT] = {
#define RV_SWEEP_NAME(id, name) name,
        RV_SWEEP_KINDS(RV_SWEEP_NAME)
#undef RV_SWEEP_NAME
    };
    return names[kind];
}

rv_error rv_sweep_add(struct rv_sweep *sweep, const struct rv_sweep_row *row)
{
    struct rv_sweep_row *rows = realloc(sweep->rows, (sweep->count + 1) * sizeof *rows);
    if (rows == NULL) {
        json_decref(row->result);
        return RV_ENOMEM;
    }
    sweep->rows = rows;
    sweep->rows[sweep->count++] = *row;
    return 0;
}

void rv_sweep_free(struct rv_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        json_decref(sweep->rows[i].result);
    free(sweep->rows);
    sweep->rows = NULL;
    sweep->count = 0;
}

/* ---- titles ---------------------------------------------------------------------------------------------- */

/* ", 10 server threads", if that is known, and what ends every title. */
static void end_title(const struct rv_sweep *sweep, FILE *file)
{
    fprintf(file, "%s%s):\n", sweep->server == NULL ? "" : ", ",
            sweep->server == NULL ? "" : sweep->server);
    if (sweep->mode != NULL)
        fprintf(file, "%s\n", sweep->mode);
    fputc('\n', file);
}

static void write_title(const struct rv_sweep *sweep, const struct rv_sweep_row *row, FILE *file)
{
    if (row->kind == RV_SWEEP_SIZE) {
        fprintf(file, "Size Report (%" PRIu64 " requests, %" PRIu32 " client threads",
                sweep->requests, sweep->size_clients);
    } else {
        fprintf(file, "Client Thread Report (%" PRIu64 " requests", sweep->requests);
        if (row->bytes != UINT64_MAX)
            fprintf(file,
                    row->kind == RV_SWEEP_STATIC ? ", %" PRIu64 " bytes via staticdir"
                                                 : ", %" PRIu64 " byte response body",
                    row->bytes);
    }
    end_title(sweep, file);
}

/* ---- one report -------------------------------------------------------------------------------------------- */

static struct rv_cherrypy_row medians_of(const struct rv_sweep_points *points, uint64_t key)
{
    struct rv_cherrypy_row row = {
        .completed = (uint64_t)llround(rv_sweep_spread(points, key, rv_sweep_completed).median),
        .failed = (uint64_t)llround(rv_sweep_spread(points, key, rv_sweep_failed).median),
        .requests_per_s = rv_sweep_spread(points, key, rv_sweep_rate).median,
        .ms_per_request = rv_sweep_spread(points, key, rv_sweep_ms).median,
        .kib_per_s = rv_sweep_spread(points, key, rv_sweep_kib).median,
    };
    rv_cherrypy_round(&row);
    return row;
}

static size_t count_points(const struct rv_sweep_points *points)
{
    size_t count = 0;
    while (rv_sweep_point(points, count) != NULL)
        count++;
    return count;
}

static bool any_capped(const struct rv_sweep_points *points)
{
    const struct rv_sweep_row *row;
    for (size_t i = 0; (row = rv_sweep_point(points, i)) != NULL; i++)
        if (row->capped)
            return true;
    return false;
}

static rv_error write_table(const struct rv_sweep_points *points, FILE *file)
{
    bool has_note = any_capped(points);
    size_t count = count_points(points);
    struct rv_cherrypy_row *rows = calloc(count, sizeof *rows);
    if (rows == NULL)
        return RV_ENOMEM;
    struct rv_table table = {.columns = 1u + RV_CHERRYPY_COLUMNS + has_note};
    rv_table_cell(&table, "%s", points->kind == RV_SWEEP_SIZE ? "bytes" : "threads");
    rv_cherrypy_header_cells(&table);
    if (has_note)
        rv_table_cell(&table, "capped");
    for (size_t i = 0; i < count; i++) {
        const struct rv_sweep_row *row = rv_sweep_point(points, i);
        rows[i] = medians_of(points, rv_sweep_key(row));
        rv_table_cell(&table, "%" PRIu64, rv_sweep_key(row));
        rv_cherrypy_cells(&table, &rows[i]);
        if (row->capped)
            rv_table_cell(&table, "%" PRIu64 " of %" PRIu64 " requests", row->requests,
                          points->sweep->requests);
        else if (has_note)
            rv_table_cell(&table, "no");
    }
    if (points->kind != RV_SWEEP_SIZE) {
        rv_cherrypy_average_cells(&table, rows, count);
        if (has_note)
            rv_table_cell(&table, "%s", "");
    }
    rv_error error = rv_table_write(&table, file);
    rv_table_free(&table);
    free(rows);
    return error;
}

/* ---- the spread of repeated runs ----------------------------------------------------------------------------- */

static void spread_cell(struct rv_table *table, struct rv_spread spread, int places)
{
    if (spread.runs == 0)
        rv_table_cell(table, "-");
    else
        rv_table_cell(table, "%.*f…%.*f", places, spread.min, places, spread.max);
}

static rv_error write_spread(const struct rv_sweep_points *points, FILE *file)
{
    static const struct {
        const char *title;
        rv_sweep_figure *figure;
        int places;
    } columns[] = {
        {"Failed", rv_sweep_failed, 0},
        {"req/sec", rv_sweep_rate, 2},
        {"msec/req", rv_sweep_ms, 3},
        {"KB/sec", rv_sweep_kib, 2},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns };
    struct rv_table table = {.columns = 1 + COLUMNS};
    const struct rv_sweep_row *row;
    rv_table_cell(&table, "%s", points->kind == RV_SWEEP_SIZE ? "bytes" : "threads");
    for (size_t i = 0; i < COLUMNS; i++)
        rv_table_cell(&table, "%s min…max", columns[i].title);
    for (size_t n = 0; (row = rv_sweep_point(points, n)) != NULL; n++) {
        uint64_t key = rv_sweep_key(row);
        rv_table_cell(&table, "%" PRIu64, key);
        for (size_t i = 0; i < COLUMNS; i++)
            spread_cell(&table, rv_sweep_spread(points, key, columns[i].figure), columns[i].places);
    }
    rv_error error = rv_table_write(&table, file);
    rv_table_free(&table);
    return error;
}

/* ---- what a table does not tell -------------------------------------------------------------------------------- */

/* Why requests failed, and which row was broken off. */
static void write_remarks(const struct rv_sweep_points *points, FILE *file)
{
    const char *unit = points->kind == RV_SWEEP_SIZE ? "bytes" : "threads";
    for (size_t i = 0; i < points->sweep->count; i++) {
        const struct rv_sweep_row *row = &points->sweep->rows[i];
        uint64_t ended = row->figures.completed + row->figures.failed;
        if (row->kind != points->kind || row->backlog != points->backlog)
            continue;
        if (row->figures.failed > 0 && row->causes[0] != '\0')
            fprintf(file, "Failed, %" PRIu64 " %s: %s\n", rv_sweep_key(row), unit, row->causes);
        if (ended < row->requests)
            fprintf(file, "Broken off, %" PRIu64 " %s: %" PRIu64 " of %" PRIu64 " requests ended\n",
                    rv_sweep_key(row), unit, ended, row->requests);
    }
}

/* ---- a report and what belongs to it --------------------------------------------------------------------------- */

static uint32_t most_repeats(const struct rv_sweep_points *points)
{
    uint32_t most = 0;
    for (size_t i = 0; i < points->sweep->count; i++) {
        const struct rv_sweep_row *row = &points->sweep->rows[i];
        if (row->kind == points->kind && row->backlog == points->backlog && row->repeat >= most)
            most = row->repeat + 1;
    }
    return most;
}

rv_error rv_sweep_write_report(const struct rv_sweep *sweep, enum rv_sweep_kind kind,
                               uint32_t backlog, FILE *file)
{
    struct rv_sweep_points points = {sweep, kind, backlog};
    const struct rv_sweep_row *first = rv_sweep_point(&points, 0);
    if (first == NULL)
        return 0;
    write_title(sweep, first, file);
    rv_error error = write_table(&points, file);
    write_remarks(&points, file);
    uint32_t runs = most_repeats(&points);
    if (error != 0 || runs < 2)
        return error;
    fprintf(file, "\nMedians of %" PRIu32 " runs of each row. Their spread:\n\n", runs);
    return write_spread(&points, file);
}

rv_error rv_sweep_write_text(const struct rv_sweep *sweep, FILE *file)
{
    uint32_t backlogs[RV_SWEEP_BACKLOGS_MAX];
    size_t count = rv_sweep_backlogs(sweep, backlogs);
    for (size_t i = 0; i < count; i++) {
        if (backlogs[i] != 0)
            fprintf(file, "Listen queue of %" PRIu32 ":\n\n", backlogs[i]);
        for (enum rv_sweep_kind kind = 0; kind < RV_SWEEP_KIND_COUNT; kind++) {
            struct rv_sweep_points points = {sweep, kind, backlogs[i]};
            if (rv_sweep_point(&points, 0) == NULL)
                continue;
            rv_error error = rv_sweep_write_report(sweep, kind, backlogs[i], file);
            if (error != 0)
                return error;
            fputc('\n', file);
        }
    }
    return rv_sweep_write_comparison(sweep, file);
}
