/*
 * The result of a run (result.h): its memory, its names, and the laws that it must obey. What is recorded
 * and how is the recorder's.
 */
#include "load/result.h"

#include "http/h2.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} failures[RV_FAILURE_COUNT] = {
#define RV_FAILURE_ROW(id, name, text) {name, text},
    RV_LOAD_FAILURES(RV_FAILURE_ROW)
#undef RV_FAILURE_ROW
};

const char *rv_load_failure_name(enum rv_load_failure failure)
{
    return failures[failure].name;
}

const char *rv_load_failure_text(enum rv_load_failure failure)
{
    return failures[failure].text;
}

bool rv_load_failure_has_code(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_STREAM_RESET || failure == RV_FAILURE_GOAWAY ||
           failure == RV_FAILURE_HTTP2_ERROR;
}

/* Files are read by builds that do not speak HTTP/2, too. */
const char *rv_load_code_name(uint32_t code, char room[RV_LOAD_CODE_ROOM])
{
    switch (code) {
#define RV_CODE_NAME(name, value)                                                                  \
    case value:                                                                                    \
        return #name;
        RV_H2_ERRORS(RV_CODE_NAME)
#undef RV_CODE_NAME
    default:
        snprintf(room, RV_LOAD_CODE_ROOM, "%" PRIu32, code);
        return room;
    }
}

/* ---- memory ------------------------------------------------------------------------------------------- */

#define SINGLE_HISTS 9
#define TOTAL_HISTS 6
#define HISTS (SINGLE_HISTS + TOTAL_HISTS)

static void hists_of(struct rv_load_result *result, struct rv_hist *hists[HISTS])
{
    struct rv_hist *single[SINGLE_HISTS] = {
        &result->connect,  &result->opening,    &result->wait,
        &result->transfer, &result->service,    &result->lateness,
        &result->failing,  &result->unfinished, &result->handshake};
    memcpy(hists, single, sizeof single);
    for (size_t i = 0; i < TOTAL_HISTS; i++)
        hists[SINGLE_HISTS + i] = &result->total[i];
}

rv_error rv_load_result_init(struct rv_load_result *result)
{
    struct rv_hist *hists[HISTS];
    memset(result, 0, sizeof *result);
    hists_of(result, hists);
    for (size_t i = 0; i < HISTS; i++) {
        if (rv_hist_init(hists[i], 3, RV_HIST_HOUR_US) != 0) {
            rv_load_result_free(result);
            return RV_ENOMEM;
        }
    }
    return 0;
}

void rv_load_result_free(struct rv_load_result *result)
{
    struct rv_hist *hists[HISTS];
    hists_of(result, hists);
    for (size_t i = 0; i < HISTS; i++)
        rv_hist_free(hists[i]);
    free(result->command);
    free(result->url);
    free(result->host);
    free(result->document);
    free(result->first_head);
    free(result->series);
    free(result->samples);
    memset(result, 0, sizeof *result);
}

rv_error rv_load_result_total(const struct rv_load_result *result, struct rv_hist *total)
{
    rv_error error = rv_hist_init(total, 3, RV_HIST_HOUR_US);
    if (error != 0)
        return error;
    for (size_t i = 0; i < TOTAL_HISTS; i++)
        rv_hist_add(total, &result->total[i]);
    return 0;
}

uint64_t rv_load_answered_between(const struct rv_load_result *result, int first, int last)
{
    uint64_t count = 0;
    for (int status = first; status <= last; status++)
        count += result->statuses[status];
    return count;
}

/* ---- laws ---------------------------------------------------------------------------------------------- */

static struct rv_load_law equal(const char *name, uint64_t left, uint64_t right)
{
    struct rv_load_law law = {.name = name, .holds = left == right};
    snprintf(law.numbers, sizeof law.numbers, "%" PRIu64 " and %" PRIu64, left, right);
    return law;
}

static uint64_t sum_of_totals(const struct rv_load_result *result)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < TOTAL_HISTS; i++)
        sum += result->total[i].sum;
    return sum;
}

/* A time above the hour is recorded as an hour in the sum and in each of its parts: then the sum is no
   longer that of the parts. */
static bool any_clamped(const struct rv_load_result *result)
{
    uint64_t clamped = result->opening.clamped + result->wait.clamped + result->transfer.clamped;
    for (size_t i = 0; i < TOTAL_HISTS; i++)
        clamped += result->total[i].clamped;
    return clamped > 0;
}

/* Phases sum to the total. In the open model the lateness of answered requests is part of it, and that
   histogram holds every started one: there the sums bound one another. */
static struct rv_load_law phases_sum(const struct rv_load_result *result)
{
    uint64_t phases = result->opening.sum + result->wait.sum + result->transfer.sum;
    uint64_t total = sum_of_totals(result);
    struct rv_load_law law = equal("opening + wait + transfer = total", phases, total);
    if (result->open_model) {
        law.name = "opening + wait + transfer <= total <= the same + lateness";
        law.holds = phases <= total && total <= phases + result->lateness.sum;
    }
    law.holds = law.holds || any_clamped(result);
    return law;
}

/* Were all clients busy all the time? So it is while time alone limits the run, apart from its beginning:
   that is why it must last a while, with few clients, and why a half is allowed for. */
static bool was_steady(const struct rv_load_result *result)
{
    bool time_alone = result->duration_us > 0 && result->requests_max == 0 && result->quota == 0;
    bool unpaced = result->think_us == 0 && result->connect_rate_per_s == 0;
    bool unbound = result->streams_limit == 0; /* by the server: else clients wait for its leave */
    return time_alone && unpaced && unbound && result->failed == 0 &&
           result->elapsed_us >= 3000000 && result->clients <= 1000;
}

uint64_t rv_load_at_once(const struct rv_load_result *result)
{
    uint64_t at_once = result->http2 ? result->streams : result->pipeline;
    return at_once == 0 ? 1 : at_once;
}

/* Little's law, N = X R: as many requests were in flight on average (the integral of all their times) as
   there were clients; never more, and in a steady run not much less. */
static struct rv_load_law little(const struct rv_load_result *result)
{
    double busy = (double)(result->service.sum + result->opening.sum + result->failing.sum +
                           result->unfinished.sum);
    uint64_t at_once = rv_load_at_once(result);
    double room = (double)result->clients * (double)at_once * (double)result->elapsed_us;
    bool steady = was_steady(result);
    struct rv_load_law law = {.name = steady ? "requests in flight on average = clients, nearly"
                                             : "requests in flight on average <= clients"};
    double average = result->elapsed_us == 0 ? 0 : busy / (double)result->elapsed_us;
    law.holds = busy <= room * 1.01 + 1e5 && (!steady || busy >= room / 2);
    law.holds = law.holds || any_clamped(result);
    snprintf(law.numbers, sizeof law.numbers, "%.1f of %.0f", average,
             result->elapsed_us == 0 ? 0 : room / (double)result->elapsed_us);
    return law;
}

uint32_t rv_load_laws(const struct rv_load_result *result, struct rv_load_law laws[RV_LAWS_MAX])
{
    uint32_t count = 0;
    uint64_t failed = 0;
    for (size_t i = 0; i < RV_FAILURE_COUNT; i++)
        failed += result->failures[i];
    uint64_t timed = 0;
    for (size_t i = 0; i < TOTAL_HISTS; i++)
        timed += result->total[i].total;
    laws[count++] = equal("started = answered + failed + in flight", result->started,
                          result->answered + result->failed + result->in_flight);
    laws[count++] =
        equal("due = started + not started", result->due, result->started + result->not_started);
    laws[count++] = equal("failed = the sum of its causes", result->failed, failed);
    laws[count++] = equal("answered = the sum of its statuses", result->answered,
                          rv_load_answered_between(result, 0, 999));
    laws[count++] = equal("answered = the times recorded", result->answered, timed);
    struct rv_load_law octets =
        equal("content <= received", result->content_octets, result->received_octets);
    octets.holds = result->content_octets <= result->received_octets;
    laws[count++] = octets;
    laws[count++] = phases_sum(result);
    if (!result->open_model) /* there requests wait for clients, too */
        laws[count++] = little(result);
    return count;
}
