/*
 * The table of times in the text report: a line for each phase of a request, a column for each percentile.
 * An upper percentile that rests on too few values is not shown, and the table says how many it takes.
 */
#include "report/text_inner.h"

#include "report/figures.h"

#include <inttypes.h>

#define PERCENTILES 5
static const double percentiles[PERCENTILES] = {50, 90, 99, 99.9, 99.99};

static void write_line(FILE *file, const char *name, const struct rv_hist *hist, bool *too_few)
{
    char text[RV_FIGURE_MAX];
    if (hist->total == 0)
        return;
    fprintf(file, "  %-9s %10" PRIu64, name, hist->total);
    for (size_t i = 0; i < PERCENTILES; i++) {
        if (rv_percentile_is_founded(hist->total, percentiles[i])) {
            rv_write_us(rv_hist_percentile(hist, percentiles[i]), text);
        } else {
            snprintf(text, sizeof text, "too few");
            *too_few = true;
        }
        fprintf(file, " %9s", text);
    }
    rv_write_us(hist->max, text);
    fprintf(file, " %9s\n", text);
}

static void write_classes(const struct rv_load_result *result, FILE *file, bool *too_few)
{
    static const char *const names[6] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    unsigned kinds = 0;
    for (size_t i = 0; i < 6; i++)
        kinds += result->total[i].total > 0;
    for (size_t i = 0; i < 6 && kinds > 1; i++)
        write_line(file, names[i], &result->total[i], too_few);
}

rv_error rv_text_times(const struct rv_load_result *result, FILE *file)
{
    struct rv_hist total;
    bool too_few = false;
    rv_error error = rv_load_result_total(result, &total);
    if (error != 0)
        return error;
    fprintf(file,
            "\nLatency            n       p50       p90       p99     p99.9    p99.99       max\n");
    write_line(file, "total", &total, &too_few);
    write_classes(result, file, &too_few);
    if (result->open_model)
        write_line(file, "lateness", &result->lateness, &too_few);
    write_line(file, "connect", &result->connect, &too_few);
    write_line(file, "handshake", &result->handshake, &too_few);
    write_line(file, "wait", &result->wait, &too_few);
    write_line(file, "transfer", &result->transfer, &too_few);
    write_line(file, "failed", &result->failing, &too_few);
    write_line(file, "no answer", &result->unfinished, &too_few);
    if (too_few)
        fprintf(file,
                "  (too few: p50, p90, p99 take 2, 10, 100 values, p99.9 and p99.99 100000 and "
                "1000000)\n");
    rv_hist_free(&total);
    return 0;
}
