/*
 * What follows from a result (figures.h).
 */
#include "report/figures.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Three digits, the last of them rounded: 1.23, 12.3, 123. */
static void three_digits(double number, const char *unit, char text[RV_FIGURE_MAX])
{
    int places = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    snprintf(text, RV_FIGURE_MAX, "%.*f %s", places, number, unit);
}

void rv_write_us(uint64_t us, char text[RV_FIGURE_MAX])
{
    if (us < 1000)
        snprintf(text, RV_FIGURE_MAX, "%" PRIu64 " us", us);
    else if (us < 999500)
        three_digits((double)us / 1e3, "ms", text);
    else
        three_digits((double)us / 1e6, "s", text);
}

void rv_write_octets(double octets, char text[RV_FIGURE_MAX])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    if (octets < 999.5) {
        snprintf(text, RV_FIGURE_MAX, "%.0f B", octets);
        return;
    }
    octets /= 1000;
    while (octets >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        octets /= 1000;
        unit++;
    }
    three_digits(octets, units[unit], text);
}

void rv_write_number(double number, char text[RV_FIGURE_MAX])
{
    int places = number < 0.0995   ? 4
                 : number < 0.9995 ? 3
                 : number < 9.995  ? 2
                 : number < 99.95  ? 1
                                   : 0;
    snprintf(text, RV_FIGURE_MAX, "%.*f", number == 0 ? 0 : places, number);
}

void rv_write_share(double part, double whole, char text[RV_FIGURE_MAX])
{
    double percent = whole == 0 ? 0 : 100 * part / whole;
    if (percent > 0 && percent < 0.01)
        snprintf(text, RV_FIGURE_MAX, "under 0.01 %%");
    else if (percent > 99.99 && percent < 100)
        snprintf(text, RV_FIGURE_MAX, "over 99.99 %%");
    else
        snprintf(text, RV_FIGURE_MAX, "%.*f %%",
                 percent < 1 || (percent > 99 && percent < 100) ? 2 : 0, percent);
}

/* ---- figures -------------------------------------------------------------------------------------------- */

uint64_t rv_counted(const struct rv_load_result *result, enum rv_kernel_counter counter)
{
    int64_t count = result->evidence.counters[counter];
    return result->evidence.has_counters && count > 0 ? (uint64_t)count : 0;
}

double rv_answers_per_s(const struct rv_load_result *result)
{
    return result->elapsed_us == 0 ? 0
                                   : (double)result->answered * 1e6 / (double)result->elapsed_us;
}

double rv_server_cpus(const struct rv_load_result *result)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    if (!server->pid_known || result->elapsed_us == 0)
        return -1;
    return (double)server->cpu_us / (double)result->elapsed_us;
}

double rv_client_busiest(const struct rv_load_result *result)
{
    const struct rv_evidence *evidence = &result->evidence;
    uint64_t busiest = 0;
    if (evidence->thread_count == 0 || result->elapsed_us == 0)
        return -1;
    for (uint32_t i = 0; i < evidence->thread_count && i < RV_EVIDENCE_THREADS_MAX; i++)
        if (evidence->thread_cpu_us[i] > busiest)
            busiest = evidence->thread_cpu_us[i];
    double share = (double)busiest / (double)result->elapsed_us;
    return share > 1 ? 1 : share;
}

double rv_in_flight(const struct rv_load_result *result)
{
    uint64_t time = result->failing.sum + result->unfinished.sum;
    if (result->open_model) /* all of these from when they were due, and lateness is of all */
        for (size_t i = 0; i < sizeof result->total / sizeof *result->total; i++)
            time += result->total[i].sum;
    else
        time += result->opening.sum + result->service.sum;
    time -= result->lateness.sum < time ? result->lateness.sum : time;
    return result->elapsed_us == 0 ? 0 : (double)time / (double)result->elapsed_us;
}

bool rv_percentile_is_founded(uint64_t count, double percent)
{
    double above = (double)count * (100 - percent) / 100;
    return above + 1e-6 >= (percent > 99 ? 100 : 1);
}
