/*
 * The series as comma-separated values (RFC 4180, but with LF): a line for each period of the run.
 */
#include "report/report.h"

#include <inttypes.h>

/* The last period ends with the run. */
static double length_s(const struct rv_load_result *result, uint32_t index)
{
    double start_s = (double)index * result->period_s, end_s = (double)result->elapsed_us / 1e6;
    bool is_whole = index + 1 < result->series_count || start_s + result->period_s <= end_s;
    return is_whole ? result->period_s : end_s > start_s ? end_s - start_s : 0;
}

rv_error rv_report_csv(const struct rv_load_result *result, FILE *file)
{
    fprintf(file, "start_s,length_s,answered,failed,octets,connects,p50_us,p99_us,max_us\n");
    for (uint32_t i = 0; i < result->series_count; i++) {
        const struct rv_load_period *period = &result->series[i];
        fprintf(file,
                "%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64 "\n",
                (uint64_t)i * result->period_s, length_s(result, i), period->answered,
                period->failed, period->octets, period->connects, period->p50_us, period->p99_us,
                period->max_us);
    }
    return ferror(file) ? RV_EIO : 0;
}
