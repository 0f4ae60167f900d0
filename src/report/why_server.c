/*
 * What a server did to its answers (why_rules.h): none in time, broken off, not HTTP, errors, connections
 * closed under a client's feet, and the ways of being slow that can be told apart from outside.
 */
#include "report/why_rules.h"

#include "report/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- no good answer ---------------------------------------------------------------------------------------- */

bool rv_why_time_outs(const struct rv_load_result *result, struct rv_finding *finding)
{
    const uint64_t *failures = result->failures;
    uint64_t send = failures[RV_FAILURE_SEND_TIMEOUT], wait = failures[RV_FAILURE_WAIT_TIMEOUT];
    uint64_t head = failures[RV_FAILURE_HEAD_TIMEOUT], body = failures[RV_FAILURE_BODY_TIMEOUT];
    double cpus = rv_server_cpus(result);
    char limit[RV_FIGURE_MAX], busy[RV_FIGURE_MAX];
    if (send + wait + head + body == 0)
        return false;
    rv_write_us(result->timeout_us, limit);
    rv_finding_says(finding,
                    "No answer in time: %" PRIu64 " requests were given up after %s: %" PRIu64
                    " before the first byte, %" PRIu64 " in the head, %" PRIu64
                    " in the body, %" PRIu64 " while sending.",
                    send + wait + head + body, limit, wait, head, body, send);
    if (cpus >= 0) {
        rv_write_number(cpus, busy);
        rv_finding_adds(finding, " The server used %s CPUs meanwhile.", busy);
    }
    return rv_finding_advises(
        finding, "%s",
        cpus >= 0 && cpus < 0.5
            ? "The server waits for something: look for a lock, a pool that is "
              "used up, or a service behind it."
            : "Ask for less (fewer clients, a lower rate), or look into the server.");
}

bool rv_why_broken_off(const struct rv_load_result *result, struct rv_finding *finding)
{
    const uint64_t *failures = result->failures;
    uint64_t before = failures[RV_FAILURE_WAIT_RESET] + failures[RV_FAILURE_WAIT_CLOSED] +
                      failures[RV_FAILURE_SEND_RESET];
    uint64_t head = failures[RV_FAILURE_HEAD_RESET] + failures[RV_FAILURE_HEAD_CLOSED];
    uint64_t body = failures[RV_FAILURE_BODY_RESET] + failures[RV_FAILURE_BODY_SHORT];
    uint64_t resets = failures[RV_FAILURE_SEND_RESET] + failures[RV_FAILURE_WAIT_RESET] +
                      failures[RV_FAILURE_HEAD_RESET] + failures[RV_FAILURE_BODY_RESET];
    if (before + head + body == 0)
        return false;
    rv_finding_says(
        finding,
        "The server broke off %" PRIu64 " requests: %" PRIu64 " before the first byte, %" PRIu64
        " in the head, %" PRIu64 " in the body (%" PRIu64 " by a reset, %" PRIu64 " by closing).",
        before + head + body, before, head, body, resets, before + head + body - resets);
    return rv_finding_advises(finding,
                              "Look into the server's error log: a crash, a limit, or a time-out "
                              "of its own.");
}

bool rv_why_not_http(const struct rv_load_result *result, struct rv_finding *finding)
{
    const uint64_t *failures = result->failures;
    uint64_t head = failures[RV_FAILURE_HEAD_MALFORMED],
             chunk = failures[RV_FAILURE_BODY_MALFORMED];
    uint64_t more = failures[RV_FAILURE_BODY_LONG], other = failures[RV_FAILURE_BODY_LENGTH];
    if (head + chunk + more + other == 0)
        return false;
    rv_finding_says(finding,
                    "Answers that are wrong: %" PRIu64 " heads were not HTTP/1, %" PRIu64
                    " had a bad chunk, %" PRIu64 " went on behind their end, %" PRIu64
                    " were not of the length asked for.",
                    head, chunk, more, other);
    return rv_finding_advises(finding, "Check that the port speaks plain HTTP/1, and what it sends "
                                       "(`curl -v`).");
}

bool rv_why_error_answers(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t errors = rv_load_answered_between(result, 400, 999);
    const char *start = " ";
    uint32_t told = 0;
    if (errors == 0)
        return false;
    rv_finding_says(finding,
                    errors == result->answered ? "All %" PRIu64 " answers were errors:"
                                               : "%" PRIu64 " answers were errors:",
                    errors);
    for (int status = 400; status < 1000 && told < 5; status++) {
        if (result->statuses[status] == 0)
            continue;
        rv_finding_adds(finding, "%s%" PRIu64 " x %d", start, result->statuses[status], status);
        start = ", ";
        told++;
    }
    rv_finding_adds(finding, ".");
    return rv_finding_advises(
        finding, "%s",
        errors == result->answered
            ? "Check the path and what the server wants (credentials, a field): these "
              "are the times of its error page."
            : "Look into the server's log; under \"Latency\" the status classes stand "
              "apart.");
}

/* ---- connections --------------------------------------------------------------------------------------------- */

bool rv_why_race(const struct rv_load_result *result, struct rv_finding *finding)
{
    if (result->races == 0)
        return false;
    rv_finding_says(finding,
                    "Keep-alive race: %" PRIu64
                    " request%s met a connection that the server was just "
                    "closing, and %s sent again on a new one (%" PRIu64
                    " connections were opened again in all).",
                    result->races, rv_plural(result->races), result->races == 1 ? "was" : "were",
                    result->reopened);
    return rv_finding_advises(finding,
                              "Let the server keep idle connections longer than clients do, or "
                              "let it say \"Connection: close\" before it closes.");
}

/* Reopened after nearly every answer, although the client would have kept them. */
bool rv_why_no_keep_alive(const struct rv_load_result *result, struct rv_finding *finding)
{
    if (result->close_each || result->answered < 10 ||
        result->reopened < result->answered - result->answered / 10)
        return false;
    rv_finding_says(finding,
                    "No keep-alive: the server closed the connection after %" PRIu64 " of %" PRIu64
                    " answers, so that %" PRIu64 " connections had to be opened.",
                    result->reopened, result->answered, result->connects);
    return rv_finding_advises(finding, "Switch keep-alive on in the server, or measure with "
                                       "--no-keepalive on purpose.");
}

/* ---- all at once ------------------------------------------------------------------------------------------------ */

#define STALL_US 300000u     /* shorter ones do not stand out from the noise of a machine */
#define STALL_OVER_MEDIAN 10 /* the stall is that much longer than what is usual */

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* The whole periods' answers: the fewest and the median. False: there are too few periods. */
static bool periods_of(const struct rv_load_result *result, uint64_t *fewest, uint64_t *median)
{
    uint64_t sorted[RV_LOAD_SERIES_MAX];
    uint32_t count =
        result->series_count > 0 ? result->series_count - 1 : 0; /* the last is not whole */
    if (count < 3 || count > RV_LOAD_SERIES_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = result->series[i].answered;
    qsort(sorted, count, sizeof *sorted, by_size);
    *fewest = sorted[0];
    *median = sorted[count / 2];
    return true;
}

/* Every client that had a request under way saw it, and in its period there were fewer answers by as much. */
bool rv_why_stall(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_hist *service = &result->service;
    uint64_t longest = service->max, fewest, median;
    uint64_t room = (uint64_t)result->clients * (result->pipeline == 0 ? 1 : result->pipeline);
    char text[RV_FIGURE_MAX];
    if (service->total == 0 || longest < STALL_US ||
        longest < STALL_OVER_MEDIAN * rv_hist_percentile(service, 50) || room < 2 ||
        !periods_of(result, &fewest, &median))
        return false;
    uint64_t seen = rv_hist_count_between(service, longest / 10 * 8, longest);
    double share = (double)longest / ((double)result->period_s * 1e6);
    bool all_saw_it = seen >= room - room / 10 && seen <= room + room / 10;
    if (result->open_model || !all_saw_it ||
        (double)fewest > (double)median * (1 - 0.5 * (share < 1 ? share : 1)))
        return false;
    rv_write_us(longest, text);
    rv_finding_says(finding,
                    "One stall of %s hit all: %" PRIu64 " of %" PRIu64
                    " clients waited for it at the same time (%" PRIu64
                    " answers in the worst period, %" PRIu64 " in the median one).",
                    text, seen > room ? room : seen, room, fewest, median);
    return rv_finding_advises(
        finding, "Look for a pause of the whole server: garbage collection, fsync, a lock. "
                 "Users who come on their own would have seen it more often: run with "
                 "--rate.");
}

/* ---- slow although idle ------------------------------------------------------------------------------------------- */

#define IDLE_SHARE 0.5    /* of the CPUs that a server that slow would need */
#define QUEUE_FACTOR 1.5  /* more under way than in service */
#define SLOW_WAIT_US 1000 /* below, the way there and back is most of it */
#define CLIENT_BUSY 0.8

/* Little's law, twice: on average N = rate x time are under way; and the fastest answer shows how long one is
   in service when nobody is before it, so k = rate x fastest are in service. When k is well below N and no CPU
   is short, something lets only k in at a time. That the fastest answer speaks for all is sure only when
   answers take much the same time, and when as many as fit in were as fast. */
bool rv_why_pool_limit(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_hist *wait = &result->wait;
    double rate = rv_answers_per_s(result), under_way = rv_in_flight(result);
    double cpus = rv_server_cpus(result), online = (double)result->evidence.cpus_online;
    if (wait->total < 20 || wait->min < SLOW_WAIT_US || cpus < 0 ||
        rv_client_busiest(result) >= CLIENT_BUSY)
        return false;
    double in_service = rate * (double)wait->min / 1e6;
    double needed = in_service < 1 || online == 0 ? 1 : in_service < online ? in_service : online;
    uint64_t as_fast = rv_hist_count_between(wait, wait->min, wait->min + wait->min / 5);
    bool alike = rv_hist_percentile(wait, 90) <= 3 * rv_hist_percentile(wait, 10);
    if (in_service < 0.9 || under_way < QUEUE_FACTOR * in_service || !alike ||
        (double)as_fast < in_service / 2 || cpus > IDLE_SHARE * needed)
        return false;
    char k[RV_FIGURE_MAX], x[RV_FIGURE_MAX], s[RV_FIGURE_MAX], n[RV_FIGURE_MAX], c[RV_FIGURE_MAX];
    rv_write_number(in_service, k);
    rv_write_number(rate, x);
    rv_write_us(wait->min, s);
    rv_write_number(under_way, n);
    rv_write_number(cpus, c);
    rv_finding_says(
        finding,
        "The server lets in only about %s requests at a time: %s answers/s x %s (the fastest "
        "answer) = %s, while %s were under way on average. It used %s CPUs: it waits, it does "
        "not compute.",
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
    return rv_finding_advises(finding, "Let the server send head and body in one write, or set "
                                       "TCP_NODELAY.");
}

/* ---- at its limit ---------------------------------------------------------------------------------------------------- */

#define THREAD_AT_LIMIT 0.9

bool rv_why_server_cpu(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    double cpus = rv_server_cpus(result);
    double busiest = result->elapsed_us == 0
                         ? 0
                         : (double)server->thread_busiest_us / (double)result->elapsed_us;
    char text[RV_FIGURE_MAX], cost[RV_FIGURE_MAX];
    if (cpus < 0 || result->elapsed_us < 100000 || result->answered == 0)
        return false;
    bool all_cpus = server->cpus > 0 && cpus >= THREAD_AT_LIMIT * server->cpus;
    if (!all_cpus && busiest < THREAD_AT_LIMIT)
        return false;
    rv_write_number(cpus, text);
    rv_write_us(server->cpu_us / result->answered, cost);
    rv_finding_says(finding,
                    "The server was at the limit of its CPU time: it used %s of the %" PRIu32
                    " CPU%s that it may run on",
                    text, server->cpus, rv_plural(server->cpus));
    if (busiest >= THREAD_AT_LIMIT)
        rv_finding_adds(finding, ", its busiest thread %.0f %% of one",
                        100 * (busiest > 1 ? 1 : busiest));
    rv_finding_adds(finding, ".");
    return rv_finding_advises(finding,
                              "Its cost of %s CPU time for an answer is the figure to compare%s.",
                              cost, all_cpus ? "" : "; more worker threads would use more CPUs");
}
