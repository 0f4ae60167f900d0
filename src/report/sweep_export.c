/*
 * A sweep's runs (sweep.h) for other programs: CSV, JSON.
 */
#include "report/sweep.h"

#include <inttypes.h>
#include <math.h>

/* ---- CSV --------------------------------------------------------------------------------------------------- */

/* An unknown number is an empty field. */
static void number_field(FILE *file, double value, int places)
{
    fputc(',', file);
    if (isfinite(value))
        fprintf(file, "%.*f", places, value);
}

rv_error rv_sweep_write_csv(const struct rv_sweep *sweep, FILE *file)
{
    fputs("report,backlog,repeat,clients,bytes,requests,completed,failed,requests_per_s,"
          "ms_per_request,kib_per_s,p50_ms,p99_ms,max_ms,listen_overflows,listen_drops\n",
          file);
    for (size_t i = 0; i < sweep->count; i++) {
        const struct rv_sweep_row *row = &sweep->rows[i];
        fprintf(file, "%s,", rv_sweep_kind_name(row->kind));
        if (row->backlog != 0)
            fprintf(file, "%" PRIu32, row->backlog);
        fprintf(file, ",%" PRIu32 ",%" PRIu32 ",", row->repeat + 1, row->clients);
        if (row->bytes != UINT64_MAX)
            fprintf(file, "%" PRIu64, row->bytes);
        fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->requests, row->figures.completed,
                row->figures.failed);
        number_field(file, row->figures.requests_per_s, 2);
        number_field(file, row->figures.ms_per_request, 3);
        number_field(file, row->figures.kib_per_s, 2);
        number_field(file, row->p50_ms, 3);
        number_field(file, row->p99_ms, 3);
        number_field(file, row->max_ms, 3);
        number_field(file, row->overflows, 0);
        number_field(file, row->drops, 0);
        fputc('\n', file);
    }
    return ferror(file) ? RV_EIO : 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------- */

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count_or_null(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

static json_t *row_to_json(const struct rv_sweep_row *row)
{
    return json_pack("{s:s, s:o, s:I, s:I, s:o, s:I, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, "
                     "s:o, s:o, s:O*}",
                     "report", rv_sweep_kind_name(row->kind),                                 /**/
                     "backlog", row->backlog != 0 ? json_integer(row->backlog) : json_null(), /**/
                     "repeat", (json_int_t)row->repeat + 1,                                   /**/
                     "clients", (json_int_t)row->clients,                                     /**/
                     "bytes",
                     row->bytes != UINT64_MAX ? json_integer((json_int_t)row->bytes) : json_null(),
                     "requests", (json_int_t)row->requests,                       /**/
                     "capped", (int)row->capped,                                  /**/
                     "completed", (json_int_t)row->figures.completed,             /**/
                     "failed", (json_int_t)row->figures.failed,                   /**/
                     "requests_per_s", real_or_null(row->figures.requests_per_s), /**/
                     "ms_per_request", real_or_null(row->figures.ms_per_request), /**/
                     "kib_per_s", real_or_null(row->figures.kib_per_s),           /**/
                     "p50_ms", real_or_null(row->p50_ms),                         /**/
                     "p99_ms", real_or_null(row->p99_ms),                         /**/
                     "max_ms", real_or_null(row->max_ms),                         /**/
                     "listen_overflows", count_or_null(row->overflows),           /**/
                     "listen_drops", count_or_null(row->drops),                   /**/
                     "result", row->result);
}

json_t *rv_sweep_to_json(const struct rv_sweep *sweep)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < sweep->count; i++) {
        if (json_array_append_new(rows, row_to_json(&sweep->rows[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:s, s:i, s:s*, s:s*, s:s*, s:I, s:I, s:o}", "format", "rivulet-sweep",
                     "version", 1, "command", sweep->command, "server", sweep->server, "mode",
                     sweep->mode, "requests", (json_int_t)sweep->requests, "size_clients",
                     (json_int_t)sweep->size_clients, "rows", rows);
}
