/*
 * The numbers of ApacheBench's report (ab_inner.h). They are its own by definition, and differ where it
 * is wrong: no failure is counted twice, the median is the middle one, everything is computed from
 * microseconds and rounded once, when it is printed.
 */
#include "report/ab_inner.h"

#include <string.h>

/* ---- failures ---------------------------------------------------------------------------------------- */

static bool counts_as_connect(enum rv_load_failure failure)
{
    return failure <= RV_FAILURE_CONNECT_LAST;
}

static bool counts_as_write(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_SEND_RESET || failure == RV_FAILURE_SEND_TIMEOUT;
}

static bool counts_as_length(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_BODY_SHORT || failure == RV_FAILURE_BODY_LONG ||
           failure == RV_FAILURE_BODY_LENGTH;
}

static bool counts_as_exception(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_HEAD_MALFORMED || failure == RV_FAILURE_BODY_MALFORMED ||
           failure == RV_FAILURE_HTTP2_ERROR || failure == RV_FAILURE_MEMORY;
}

static struct rv_ab_failures sort_failures(const struct rv_load_result *result,
                                           const struct rv_ab_options *options)
{
    struct rv_ab_failures sorted = {.length = options->variable_length ? 0 : result->other_length};
    for (enum rv_load_failure failure = 0; failure < RV_FAILURE_COUNT; failure++) {
        uint64_t count = result->failures[failure];
        if (counts_as_connect(failure))
            sorted.connect += count;
        else if (counts_as_length(failure))
            sorted.length += count;
        else if (counts_as_exception(failure) || counts_as_write(failure))
            sorted.exceptions += count;
        else
            sorted.receive += count;
        if (counts_as_write(failure))
            sorted.write += count;
    }
    return sorted;
}

/* ---- times --------------------------------------------------------------------------------------------- */

static double ms_of(double us)
{
    return us / 1000;
}

/* The middle one; of an even number the middle between the two in the middle. Exact where the histogram
   is, that is up to 2 ms, and within 0.1 % above. */
static double median_us(const struct rv_hist *hist)
{
    if (hist->total == 0)
        return 0;
    uint64_t lower = (hist->total + 1) / 2; /* ranks from 1 */
    uint64_t upper = hist->total / 2 + 1;
    double share = 100 / (double)hist->total;
    return ((double)rv_hist_percentile(hist, ((double)lower - 0.5) * share) +
            (double)rv_hist_percentile(hist, ((double)upper - 0.5) * share)) /
           2;
}

static struct rv_ab_times times_of(const struct rv_hist *hist)
{
    if (hist->total == 0)
        return (struct rv_ab_times){0};
    return (struct rv_ab_times){
        .min = ms_of((double)hist->min),
        .mean = ms_of(rv_hist_mean(hist)),
        .deviation = ms_of(rv_hist_deviation(hist)),
        .median = ms_of(median_us(hist)),
        .max = ms_of((double)hist->max),
    };
}

/* A request on a connection that was open already took no time to connect: its 0 counts as any other
   time. */
static rv_error connect_times(const struct rv_load_result *result, struct rv_ab_times *times)
{
    struct rv_hist all;
    rv_error error = rv_hist_init(&all, result->opening.digits, result->opening.highest);
    if (error != 0)
        return error;
    rv_hist_add(&all, &result->opening);
    if (result->answered > result->opening.total)
        rv_hist_record_many(&all, 0, result->answered - result->opening.total);
    *times = times_of(&all);
    rv_hist_free(&all);
    return 0;
}

const char *rv_ab_row_name(enum rv_ab_row row)
{
    static const char *const names[RV_AB_ROWS] = {"Connect", "Processing", "Waiting", "Total"};
    return names[row];
}

uint64_t rv_ab_whole_ms(double ms)
{
    return (uint64_t)(ms + 0.5);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static void set_rates(struct rv_ab_summary *summary, const struct rv_load_result *result)
{
    double complete = (double)summary->complete;
    summary->seconds = (double)result->elapsed_us / 1e6;
    /* a run that took no time that could be measured took less than a microsecond */
    double seconds = result->elapsed_us > 0 ? summary->seconds : 1e-6;
    summary->requests_per_s = complete / seconds;
    summary->received_kib_per_s = (double)result->received_octets / 1024 / seconds;
    summary->sent_kib_per_s = (double)result->sent_octets / 1024 / seconds;
    if (summary->complete > 0) {
        summary->request_ms = seconds * 1000 / complete;
        summary->client_ms = summary->request_ms * (double)result->clients;
    }
}

rv_error rv_ab_summary_init(struct rv_ab_summary *summary, const struct rv_load_result *result,
                            const struct rv_ab_options *options)
{
    *summary = (struct rv_ab_summary){
        .complete = result->answered + result->failed,
        .not_2xx = result->answered - rv_load_answered_between(result, 200, 299),
        .failures = sort_failures(result, options),
    };
    const struct rv_ab_failures *failures = &summary->failures;
    summary->failed =
        failures->connect + failures->receive + failures->length + failures->exceptions;
    set_rates(summary, result);
    snprintf(summary->server, sizeof summary->server, "%.*s",
             (int)strcspn(result->server_software, " "), result->server_software);
    rv_error error = rv_load_result_total(result, &summary->total);
    if (error != 0)
        return error;
    error = connect_times(result, &summary->times[RV_AB_CONNECT]);
    if (error != 0) {
        rv_hist_free(&summary->total);
        return error;
    }
    summary->times[RV_AB_PROCESSING] = times_of(&result->service);
    summary->times[RV_AB_WAITING] = times_of(&result->wait);
    summary->times[RV_AB_TOTAL] = times_of(&summary->total);
    return 0;
}

void rv_ab_summary_free(struct rv_ab_summary *summary)
{
    rv_hist_free(&summary->total);
}
