/*
 * How a server can be slow, as far as it can be told from outside (why_rules.h): all at once for a while, by
 * letting in few at a time, by waiting for an ACK, by having no more CPU time to give.
 */
#include "report/why_rules.h"

#include "report/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- all at once ------------------------------------------------------------------------------------------------ */

#define STALL_US 300000u     /* shorter ones do not stand out from the noise of a machine */
#define STALL_OVER_MEDIAN 10 /* the stall is that much longer than what is usual */

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* The answers of two whole periods that follow one another: the fewest, and twice the median. A stall may lie
   across the end of one. False: there are too few periods. */
static bool pairs_of(const struct rv_load_result *result, uint64_t *fewest, uint64_t *usual)
{
    uint64_t sorted[RV_LOAD_SERIES_MAX];
    uint32_t count =
        result->series_count > 0 ? result->series_count - 1 : 0; /* the last is not whole */
    if (count < 4 || count > RV_LOAD_SERIES_MAX)
        return false;
    *fewest = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t pair = result->series[i].answered + (i == 0 ? 0 : result->series[i - 1].answered);
        sorted[i] = result->series[i].answered;
        *fewest = i > 0 && pair < *fewest ? pair : *fewest;
    }
    qsort(sorted, count, sizeof *sorted, by_size);
    *usual = 2 * sorted[count / 2];
    return true;
}

/* Every client that had a request under way saw it, and meanwhile there were fewer answers by as much. */
bool rv_why_stall(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_hist *service = &result->service;
    uint64_t longest = service->max, fewest, usual;
    uint64_t room = (uint64_t)result->clients * rv_load_at_once(result);
    char text[RV_FIGURE_MAX];
    if (service->total == 0 || longest < STALL_US || room < 2 || result->open_model ||
        longest < STALL_OVER_MEDIAN * rv_hist_percentile(service, 50) ||
        !pairs_of(result, &fewest, &usual))
        return false;
    uint64_t seen = rv_hist_count_between(service, longest / 10 * 8, longest);
    double share = (double)longest / (2e6 * (double)result->period_s);
    bool all_saw_it = seen >= room - room / 10 && seen <= room + room / 10;
    if (!all_saw_it || (double)fewest > (double)usual * (1 - 0.5 * (share < 1 ? share : 1)))
        return false;
    rv_write_us(longest, text);
    rv_finding_says(finding,
                    "One stall of %s hit all: %" PRIu64 " of %" PRIu64
                    " clients waited for it at the same time (%" PRIu64 " answers in the %" PRIu32
                    " s around it, where %" PRIu64 " are usual).",
                    text, seen > room ? room : seen, room, fewest, 2 * result->period_s, usual);
    return rv_finding_advises(
        finding, "Look for a pause of the whole server: garbage collection, fsync, a lock. Users "
                 "who come on their own would have seen it more often: run with --rate.");
}

/* ---- slow although idle ------------------------------------------------------------------------------------------- */

#define IDLE_SHARE 0.5    /* of the CPUs that a server that slow would need */
#define QUEUE_FACTOR 1.5  /* more under way than in service */
#define SLOW_WAIT_US 2000 /* below, the way there and back is most of it */
#define CLIENT_BUSY 0.8

/* Little's law, twice: on average N = rate x time are under way; and the fastest answer shows how long one is
   in service when nobody is before it, so k = rate x fastest are in service. When k is well below N and no CPU
   is short, something lets only k in at a time. That the fastest answer speaks for all is likely when answers
   take much the same time, or when k comes out a small whole number, as pools have; and as many as fit in
   must have been as fast. */
bool rv_why_pool_limit(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_hist *wait = &result->wait;
    double rate = rv_answers_per_s(result), under_way = rv_in_flight(result);
    double cpus = rv_server_cpus(result), online = (double)result->evidence.cpus_online;
    double wanted = cpus; /* what it used, and what it was ready to use and others had */
    if (result->elapsed_us > 0)
        wanted += (double)result->evidence.server.cpu_wait_us / (double)result->elapsed_us;
    if (wait->total < 20 || wait->min < SLOW_WAIT_US || cpus < 0 ||
        rv_client_busiest(result) >= CLIENT_BUSY)
        return false;
    double in_service = rate * (double)wait->min / 1e6;
    double needed = in_service < 1 || online == 0 ? 1 : in_service < online ? in_service : online;
    uint64_t as_fast = rv_hist_count_between(wait, wait->min, wait->min + wait->min / 5);
    bool alike = rv_hist_percentile(wait, 90) <= 3 * rv_hist_percentile(wait, 10);
    bool queued = (double)rv_hist_percentile(wait, 50) >= QUEUE_FACTOR * (double)wait->min;
    /* Some never got in; when a schedule has them wait, it may be for a client of ours. */
    bool starved = !result->open_model && result->unfinished.max > result->elapsed_us / 2;
    bool whole = in_service < 4.5 && fabs(in_service - round(in_service)) <= 0.1 * in_service;
    if (in_service < 0.9 || under_way < QUEUE_FACTOR * in_service || (!queued && !starved) ||
        (!alike && !whole) || (double)as_fast < in_service / 2 || wanted > IDLE_SHARE * needed)
        return false;
    char k[RV_FIGURE_MAX], x[RV_FIGURE_MAX], s[RV_FIGURE_MAX], n[RV_FIGURE_MAX], c[RV_FIGURE_MAX];
    rv_write_number(in_service, k);
    rv_write_number(rate, x);
    rv_write_us(wait->min, s);
    rv_write_number(under_way, n);
    rv_write_number(cpus, c);
    rv_finding_says(finding,
                    "The server worked on only about %s requests at a time: %s answers/s x %s (the "
                    "fastest answer) = %s, while %s were under way on average. It used %s CPUs: it "
                    "waits, it does not compute.",
                    k, x, s, k, n, c);
    return rv_finding_advises(finding,
                              "Look for a pool of that size (threads, workers, connections to a "
                              "database) or a lock, and make it larger or hold it shorter.");
}

bool rv_why_delayed_ack(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t count = rv_hist_count_between(&result->transfer, 38000, 48000);
    if (result->answered < 10 || count < result->answered / 2 ||
        result->content_octets / result->answered > 65536)
        return false;
    rv_finding_says(finding,
                    "Nagle and delayed ACK: the content of %" PRIu64 " of %" PRIu64
                    " answers came 40 ms after its head.",
                    count, result->answered);
    return rv_finding_advises(
        finding, "Let the server send head and body in one write, or set TCP_NODELAY.");
}

/* ---- at its limit ---------------------------------------------------------------------------------------------------- */

#define AT_LIMIT 0.9
#define IN_LINE_USED                                                                               \
    0.3 /* many threads that wake at once stand in line without being short of time */
#define IN_LINE_WAIT 0.5

/* Its CPUs were busy with it; or one of its threads filled one; or its threads stood in line for them, whoever
   had them instead. */
bool rv_why_server_cpu(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    double elapsed = (double)result->elapsed_us, cpus = rv_server_cpus(result);
    char text[RV_FIGURE_MAX], cost[RV_FIGURE_MAX];
    if (cpus < 0 || result->elapsed_us < 100000 || result->answered == 0)
        return false;
    double busiest = (double)server->thread_busiest_us / elapsed;
    bool all_cpus = server->cpus > 0 && cpus >= AT_LIMIT * server->cpus;
    bool in_line = server->cpus > 0 && cpus >= IN_LINE_USED * server->cpus &&
                   (double)server->cpu_wait_us >= IN_LINE_WAIT * elapsed;
    if (!all_cpus && !in_line && busiest < AT_LIMIT)
        return false;
    rv_write_number(cpus, text);
    rv_finding_says(finding,
                    "The server was short of CPU time: it used %s of the %" PRIu32
                    " CPU%s that it may run on",
                    text, server->cpus, rv_plural(server->cpus));
    if (busiest >= AT_LIMIT)
        rv_finding_adds(finding, ", its busiest thread %.0f %% of one",
                        100 * (busiest > 1 ? 1 : busiest));
    rv_write_us(server->cpu_wait_us, text);
    if (in_line)
        rv_finding_adds(finding, ", and its threads were ready to run for %s without one", text);
    rv_finding_adds(finding, ".");
    rv_write_us(server->cpu_us / result->answered, cost);
    return rv_finding_advises(
        finding, "Its cost of %s CPU time for an answer is the figure to compare%s.", cost,
        all_cpus || in_line ? "" : "; more worker threads would use more CPUs");
}
