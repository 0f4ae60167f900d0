/*
 * What a server did to its answers (why_rules.h): none in time, broken off, not HTTP, errors, connections
 * closed under a client's feet. How it can be slow is why_slow.c's.
 */
#include "report/why_rules.h"

#include "report/figures.h"

#include <inttypes.h>

#define UNANSWERED_US 500000 /* what has waited less may have been on its way */

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
            ? "The server waits for something: look for a lock, a pool that is used up, or a "
              "service behind it."
            : "Ask for less (fewer clients, a lower rate), or look into the server.");
}

/* Requests that had no answer when the run ended, and had waited for longer than anything that was
   answered: their server has let them be. */
bool rv_why_unanswered(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    const struct rv_hist *waited = &result->unfinished;
    char oldest[RV_FIGURE_MAX];
    uint64_t longest = 0;
    for (size_t i = 0; i < 6; i++)
        longest = result->total[i].max > longest ? result->total[i].max : longest;
    uint64_t silent_us = longest > UNANSWERED_US / 2 ? 2 * longest : UNANSWERED_US;
    uint64_t silent = rv_hist_count_between(waited, silent_us, RV_HIST_HOUR_US);
    if (silent == 0)
        return false;
    rv_write_us(waited->max, oldest);
    rv_finding_says(finding,
                    "No answer: %" PRIu64
                    " request%s had none when the run ended, the oldest after %s",
                    silent, rv_plural(silent), oldest);
    if (longest > 0) {
        char slowest[RV_FIGURE_MAX];
        rv_write_us(longest, slowest);
        rv_finding_adds(finding, ", while the slowest answer took %s", slowest);
    }
    rv_finding_adds(finding, ".");
    if (server->found && server->queue_peak > 0)
        rv_finding_adds(finding,
                        " The accept queue held up to %" PRIu32
                        " connections that the server had not accepted.",
                        server->queue_peak);
    return rv_finding_advises(
        finding, "See what the server does with them: it has not accepted them, waits for "
                 "something, or has as many under way as it can (threads, a pool, "
                 "connections, descriptors).");
}

bool rv_why_broken_off(const struct rv_load_result *result, struct rv_finding *finding)
{
    const uint64_t *failures = result->failures;
    uint64_t before = failures[RV_FAILURE_WAIT_RESET] + failures[RV_FAILURE_WAIT_CLOSED] +
                      failures[RV_FAILURE_SEND_RESET];
    uint64_t head = failures[RV_FAILURE_HEAD_RESET] + failures[RV_FAILURE_HEAD_CLOSED];
    uint64_t body = failures[RV_FAILURE_BODY_RESET] + failures[RV_FAILURE_BODY_SHORT] +
                    failures[RV_FAILURE_BODY_CUT];
    uint64_t resets = failures[RV_FAILURE_SEND_RESET] + failures[RV_FAILURE_WAIT_RESET] +
                      failures[RV_FAILURE_HEAD_RESET] + failures[RV_FAILURE_BODY_RESET];
    if (before + head + body == 0)
        return false;
    rv_finding_says(
        finding,
        "The server broke off %" PRIu64 " requests: %" PRIu64 " before the first byte, %" PRIu64
        " in the head, %" PRIu64 " in the body (%" PRIu64 " by a reset, %" PRIu64 " by closing).",
        before + head + body, before, head, body, resets, before + head + body - resets);
    return rv_finding_advises(
        finding, "Look into the server's error log: a crash, a limit, or a time-out of its own.");
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
    return rv_finding_advises(
        finding, "Check that the port speaks plain HTTP/1, and what it sends (`curl -v`).");
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
            ? "Check the path and what the server wants (credentials, a field): these are the "
              "times of its error page."
            : "Look into the server's log; under \"Latency\" the status classes stand apart.");
}

/* ---- connections --------------------------------------------------------------------------------------------- */

bool rv_why_race(const struct rv_load_result *result, struct rv_finding *finding)
{
    if (result->races == 0)
        return false;
    rv_finding_says(finding,
                    "Keep-alive race: %" PRIu64
                    " request%s met a connection that the server was just closing, and %s sent "
                    "again on a new one (%" PRIu64 " connections were opened again in all).",
                    result->races, rv_plural(result->races), result->races == 1 ? "was" : "were",
                    result->reopened);
    return rv_finding_advises(finding, "Let the server keep idle connections longer than clients "
                                       "do, or let it say \"Connection: close\" before it closes.");
}

/* Nearly every request that could have gone out on a kept connection, as the first ones cannot, had another
   one opened. */
bool rv_why_no_keep_alive(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t first = result->connects > result->reopened ? result->connects - result->reopened : 0;
    uint64_t later = result->answered > first ? result->answered - first : 0;
    if (result->close_each || later < 10 || result->reopened < later - later / 10)
        return false;
    rv_finding_says(finding,
                    "No keep-alive: the server closed the connection after nearly every answer, so "
                    "that %" PRIu64 " of %" PRIu64 " had to be opened again (%" PRIu64 " answers).",
                    result->reopened, result->connects, result->answered);
    return rv_finding_advises(
        finding, "Switch keep-alive on in the server, or measure with --no-keepalive on purpose.");
}
