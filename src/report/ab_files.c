/*
 * The files that ApacheBench writes beside its report: percentiles as CSV (-e) and every request as a line
 * for gnuplot (-g).
 */
#include "report/ab_inner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

rv_error rv_report_ab_csv(const struct rv_load_result *result, FILE *file)
{
    struct rv_hist total;
    rv_error error = rv_load_result_total(result, &total);
    if (error != 0)
        return error;
    fputs("Percentage served,Time in ms\n", file);
    for (int percent = 0; percent <= 100 && total.total > 0; percent++)
        fprintf(file, "%d,%.3f\n", percent, (double)rv_hist_percentile(&total, percent) / 1000);
    rv_hist_free(&total);
    return ferror(file) ? RV_EIO : 0;
}

static uint64_t total_us(const struct rv_load_sample *sample)
{
    return (uint64_t)sample->opening_us + sample->service_us;
}

/* By total time, and then by the time of the start: the file is the same however threads took turns. */
static int by_total(const void *left, const void *right)
{
    const struct rv_load_sample *a = left, *b = right;
    uint64_t a_us = total_us(a), b_us = total_us(b);
    if (a_us != b_us)
        return a_us < b_us ? -1 : 1;
    return a->start_us < b->start_us ? -1 : a->start_us > b->start_us;
}

static void write_line(const struct rv_load_sample *sample, FILE *file)
{
    char start[64];
    struct tm local;
    time_t seconds = (time_t)(sample->start_us / 1000000);
    if (localtime_r(&seconds, &local) == NULL ||
        strftime(start, sizeof start, "%a %b %d %H:%M:%S %Y", &local) == 0)
        start[0] = '\0'; /* a year that has no number */
    fprintf(file, "%s\t%jd\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", start,
            (intmax_t)seconds, rv_ab_whole_ms((double)sample->opening_us / 1000),
            rv_ab_whole_ms((double)sample->service_us / 1000),
            rv_ab_whole_ms((double)total_us(sample) / 1000),
            rv_ab_whole_ms((double)sample->wait_us / 1000));
}

rv_error rv_report_ab_gnuplot(const struct rv_load_result *result, FILE *file)
{
    struct rv_load_sample *sorted = NULL;
    if (result->sample_count > 0) {
        sorted = malloc(result->sample_count * sizeof *sorted);
        if (sorted == NULL)
            return RV_ENOMEM;
        memcpy(sorted, result->samples, result->sample_count * sizeof *sorted);
        qsort(sorted, result->sample_count, sizeof *sorted, by_total);
    }
    fputs("starttime\tseconds\tctime\tdtime\tttime\twait\n", file);
    for (uint64_t i = 0; i < result->sample_count; i++)
        write_line(&sorted[i], file);
    free(sorted);
    return ferror(file) ? RV_EIO : 0;
}
