/*
 * A row of a sweep (sweep.h) out of the result of its run.
 */
#include "report/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void rv_sweep_row_forget(struct rv_sweep_row *row)
{
    row->figures = (struct rv_cherrypy_row){0, 0, NAN, NAN, NAN};
    row->p50_ms = row->p99_ms = row->max_ms = NAN;
    row->overflows = row->drops = NAN;
    row->server_threads = 0;
    row->causes[0] = '\0';
    row->result = NULL;
}

static void take_times(struct rv_sweep_row *row, const struct rv_load_result *result)
{
    struct rv_hist total;
    if (rv_load_result_total(result, &total) != 0)
        return;
    if (total.total > 0) {
        row->p50_ms = (double)rv_hist_percentile(&total, 50) / 1000;
        row->p99_ms = (double)rv_hist_percentile(&total, 99) / 1000;
        row->max_ms = (double)rv_hist_percentile(&total, 100) / 1000;
    }
    rv_hist_free(&total);
}

static double counted(const struct rv_evidence *evidence, enum rv_kernel_counter counter)
{
    bool known = evidence->has_counters && evidence->counters[counter] >= 0;
    return known ? (double)evidence->counters[counter] : NAN;
}

void rv_sweep_row_take_counters(struct rv_sweep_row *row, const struct rv_evidence *evidence)
{
    row->overflows = counted(evidence, RV_KERNEL_LISTEN_OVERFLOWS);
    row->drops = counted(evidence, RV_KERNEL_LISTEN_DROPS);
    row->server_threads = evidence->server.pid_known ? evidence->server.threads : 0;
}

/* Appends ", " and the cause, or as much of it as there is room for. */
static void add_cause(struct rv_sweep_row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_cause(struct rv_sweep_row *row, const char *format, ...)
{
    size_t length = strlen(row->causes);
    va_list arguments;
    if (length > 0)
        length += (size_t)snprintf(row->causes + length, sizeof row->causes - length, ", ");
    if (length >= sizeof row->causes)
        return;
    va_start(arguments, format);
    vsnprintf(row->causes + length, sizeof row->causes - length, format, arguments);
    va_end(arguments);
}

static void take_causes(struct rv_sweep_row *row, const struct rv_load_result *result)
{
    row->causes[0] = '\0';
    for (enum rv_load_failure failure = 0; failure < RV_FAILURE_COUNT; failure++)
        if (result->failures[failure] > 0)
            add_cause(row, "%" PRIu64 " %s", result->failures[failure],
                      rv_load_failure_text(failure));
    for (int status = 0; status < 1000; status++)
        if ((status < 200 || status > 399) && result->statuses[status] > 0)
            add_cause(row, "%" PRIu64 " status %d", result->statuses[status], status);
}

void rv_sweep_row_take(struct rv_sweep_row *row, const struct rv_load_result *result)
{
    row->figures = rv_cherrypy_row_of(result);
    take_times(row, result);
    rv_sweep_row_take_counters(row, &result->evidence);
    take_causes(row, result);
    if (row->bytes == UINT64_MAX && result->answered > 0)
        row->bytes = result->first_content;
}
