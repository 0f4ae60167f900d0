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

/* An unknown number is null. */
static bool set_number(json_t *object, const char *name, double value, bool is_count)
{
    json_t *number = json_null();
    if (isfinite(value))
        number = is_count ? json_integer((json_int_t)value) : json_real(value);
    return json_object_set_new(object, name, number) == 0;
}

static bool set_count(json_t *object, const char *name, uint64_t count)
{
    return set_number(object, name, (double)count, true);
}

static bool set_figures(json_t *object, const struct rv_sweep_row *row)
{
    return set_count(object, "completed", row->figures.completed) &&
           set_count(object, "failed", row->figures.failed) &&
           set_number(object, "requests_per_s", row->figures.requests_per_s, false) &&
           set_number(object, "ms_per_request", row->figures.ms_per_request, false) &&
           set_number(object, "kib_per_s", row->figures.kib_per_s, false) &&
           set_number(object, "p50_ms", row->p50_ms, false) &&
           set_number(object, "p99_ms", row->p99_ms, false) &&
           set_number(object, "max_ms", row->max_ms, false) &&
           set_number(object, "listen_overflows", row->overflows, true) &&
           set_number(object, "listen_drops", row->drops, true);
}

/* NULL: no memory. */
static json_t *row_to_json(const struct rv_sweep_row *row)
{
    json_t *object = json_object();
    bool done =
        json_object_set_new(object, "report", json_string(rv_sweep_kind_name(row->kind))) == 0 &&
        set_number(object, "backlog", row->backlog == 0 ? (double)NAN : row->backlog, true) &&
        set_count(object, "repeat", row->repeat + 1u) &&
        set_count(object, "clients", row->clients) &&
        set_number(object, "bytes", row->bytes == UINT64_MAX ? NAN : (double)row->bytes, true) &&
        set_count(object, "requests", row->requests) &&
        json_object_set_new(object, "capped", json_boolean(row->capped)) == 0 &&
        set_figures(object, row) &&
        json_object_set_new(object, "causes", json_string(row->causes)) == 0 &&
        (row->result == NULL || json_object_set(object, "result", row->result) == 0);
    if (done)
        return object;
    json_decref(object);
    return NULL;
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
    return json_pack("{s:s, s:i, s:s*, s:s*, s:s*, s:I, s:I, s:o}", "format", RV_SWEEP_FORMAT,
                     "version", RV_SWEEP_VERSION, "command", sweep->command, "server",
                     sweep->server, "mode", sweep->mode, "requests", (json_int_t)sweep->requests,
                     "size_clients", (json_int_t)sweep->size_clients, "rows", rows);
}
