/*
 * A sweep out of its file (sweep.h, sweep_export.c): what has been saved can be shown again.
 */
#include "report/json_members.h"
#include "report/report.h"
#include "report/sweep.h"

#include <math.h>
#include <string.h>

/* ---- members ---------------------------------------------------------------------------------------------- */

/* A number that is not negative; null is NAN. */
static double number_or_nan(struct rv_json_reader *reader, const struct rv_json_place *at,
                            const char *name)
{
    const json_t *value = rv_json_get(reader, at, name);
    if (value == NULL || json_is_null(value))
        return NAN;
    if (!json_is_number(value) || json_number_value(value) < 0)
        rv_json_refuse(reader, at, name, "must be a number that is not negative, or null");
    return json_number_value(value);
}

static uint32_t positive(struct rv_json_reader *reader, const struct rv_json_place *at,
                         const char *name)
{
    uint32_t value = (uint32_t)rv_json_get_count(reader, at, name, UINT32_MAX);
    if (reader->error == 0 && value == 0)
        rv_json_refuse(reader, at, name, "must not be 0");
    return value;
}

static enum rv_sweep_kind kind_of(struct rv_json_reader *reader, const struct rv_json_place *at)
{
    const json_t *value = rv_json_get(reader, at, "report");
    for (enum rv_sweep_kind kind = 0; value != NULL && kind < RV_SWEEP_KIND_COUNT; kind++)
        if (json_is_string(value) &&
            strcmp(json_string_value(value), rv_sweep_kind_name(kind)) == 0)
            return kind;
    if (reader->error == 0)
        rv_json_refuse(reader, at, "report", "must be dynamic, static or size");
    return RV_SWEEP_DYNAMIC;
}

/* Borrowed from the object; NULL when it is not there. */
static const char *text_of(struct rv_json_reader *reader, const struct rv_json_place *at,
                           const char *name)
{
    const json_t *value = json_object_get(at->value, name);
    if (value != NULL && !json_is_string(value))
        rv_json_refuse(reader, at, name, "must be a string");
    return json_string_value(value);
}

/* ---- rows --------------------------------------------------------------------------------------------------- */

static void read_figures(struct rv_json_reader *reader, const struct rv_json_place *at,
                         struct rv_sweep_row *row)
{
    row->figures.completed = rv_json_get_count(reader, at, "completed", UINT64_MAX);
    row->figures.failed = rv_json_get_count(reader, at, "failed", UINT64_MAX);
    row->figures.requests_per_s = number_or_nan(reader, at, "requests_per_s");
    row->figures.ms_per_request = number_or_nan(reader, at, "ms_per_request");
    row->figures.kib_per_s = number_or_nan(reader, at, "kib_per_s");
    row->p50_ms = number_or_nan(reader, at, "p50_ms");
    row->p99_ms = number_or_nan(reader, at, "p99_ms");
    row->max_ms = number_or_nan(reader, at, "max_ms");
    row->overflows = number_or_nan(reader, at, "listen_overflows");
    row->drops = number_or_nan(reader, at, "listen_drops");
}

static void read_row(struct rv_json_reader *reader, const struct rv_json_place *at,
                     struct rv_sweep_row *row)
{
    *row = (struct rv_sweep_row){.kind = kind_of(reader, at)};
    double backlog = number_or_nan(reader, at, "backlog");
    double bytes = number_or_nan(reader, at, "bytes");
    const json_t *capped = rv_json_get(reader, at, "capped");
    const char *causes = text_of(reader, at, "causes");
    if (backlog > UINT32_MAX)
        rv_json_refuse(reader, at, "backlog", "is too large");
    if (bytes > (double)INT64_MAX)
        rv_json_refuse(reader, at, "bytes", "is too large");
    row->repeat = positive(reader, at, "repeat") - 1;
    row->clients = positive(reader, at, "clients");
    row->requests = rv_json_get_count(reader, at, "requests", UINT64_MAX);
    read_figures(reader, at, row);
    if (capped != NULL && !json_is_boolean(capped))
        rv_json_refuse(reader, at, "capped", "must be true or false");
    if (reader->error != 0)
        return;
    row->backlog = isnan(backlog) ? 0 : (uint32_t)backlog;
    row->bytes = isnan(bytes) ? UINT64_MAX : (uint64_t)bytes;
    row->capped = json_is_true(capped);
    snprintf(row->causes, sizeof row->causes, "%s", causes == NULL ? "" : causes);
    row->result = json_incref(json_object_get(at->value, "result"));
}

static void read_rows(struct rv_json_reader *reader, const struct rv_json_place *at,
                      struct rv_sweep *sweep)
{
    struct rv_json_place rows = rv_json_array_at(reader, at, "rows");
    for (size_t i = 0; reader->error == 0 && i < json_array_size(rows.value); i++) {
        struct rv_json_place place = rv_json_element_at(&rows, i);
        struct rv_sweep_row row;
        if (!json_is_object(place.value))
            rv_json_refuse(reader, &place, "", "must be an object");
        else
            read_row(reader, &place, &row);
        if (reader->error == 0 && rv_sweep_add(sweep, &row) != 0)
            rv_json_no_memory(reader);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

bool rv_sweep_is_json(const json_t *object)
{
    const char *format = json_string_value(json_object_get(object, "format"));
    return format != NULL && strcmp(format, RV_SWEEP_FORMAT) == 0;
}

rv_error rv_sweep_from_json(const json_t *object, struct rv_sweep *sweep, char *why)
{
    struct rv_json_reader reader = {.why = why};
    struct rv_json_place whole = {.value = object};
    *sweep = (struct rv_sweep){0};
    if (!rv_sweep_is_json(object))
        rv_json_refuse(&reader, &whole, "format", "must be \"" RV_SWEEP_FORMAT "\"");
    else if (rv_json_get_count(&reader, &whole, "version", UINT64_MAX) > RV_SWEEP_VERSION)
        rv_json_refuse(&reader, &whole, "version", "is that of a later rivulet");
    sweep->command = text_of(&reader, &whole, "command");
    sweep->server = text_of(&reader, &whole, "server");
    sweep->mode = text_of(&reader, &whole, "mode");
    sweep->requests = rv_json_get_count(&reader, &whole, "requests", UINT64_MAX);
    sweep->size_clients = (uint32_t)rv_json_get_count(&reader, &whole, "size_clients", UINT32_MAX);
    read_rows(&reader, &whole, sweep);
    if (reader.error != 0)
        rv_sweep_free(sweep);
    return reader.error;
}
