/*
 * The verdict on a result (verdict.h): what makes its figures worthless, and what makes them doubtful. The
 * causes of things are why.c's; here is only whether to believe what was measured.
 */
#include "report/verdict.h"

#include "report/figures.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BUSY_THREAD 0.90 /* a load thread's share of the time on a CPU: then it could not do more */
#define BUSY_RUN_US 100000 /* a shorter run says little about how busy anybody was */
#define OTHER_SHARE 0.10   /* of all CPU time, that other processes took ... */
#define CROWDED 0.85       /* ... while this much of it was used */
#define STEAL_SHARE 0.02   /* of all CPU time, that the hypervisor took */
#define LATE_US 1000       /* by which the open model may begin its requests late */
#define UNANSWERED_US                                                                              \
    1000000u /* an unfinished request of that age is more than one that just began */

static void reason(struct rv_verdict *verdict, enum rv_verdict_grade grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void reason(struct rv_verdict *verdict, enum rv_verdict_grade grade, const char *format, ...)
{
    va_list arguments;
    if (grade > verdict->grade)
        verdict->grade = grade;
    if (verdict->reason_count == RV_REASONS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(verdict->reasons[verdict->reason_count++], sizeof verdict->reasons[0], format,
              arguments);
    va_end(arguments);
}

/* ---- worthless --------------------------------------------------------------------------------------------- */

static void judge_laws(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result, laws);
    for (uint32_t i = 0; i < count; i++) {
        if (laws[i].holds)
            continue;
        verdict->law_violated = true;
        reason(verdict, RV_VERDICT_INVALID, "a law is violated, %s: %s", laws[i].name,
               laws[i].numbers);
    }
}

static void judge_failures(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    char share[RV_FIGURE_MAX];
    uint64_t ended = result->answered + result->failed;
    rv_write_share((double)result->failed, (double)ended, share);
    if (result->answered == 0)
        reason(verdict, RV_VERDICT_INVALID, "nothing was answered");
    else if (result->failed > 0)
        reason(verdict, result->failed > result->answered ? RV_VERDICT_INVALID : RV_VERDICT_SUSPECT,
               "%" PRIu64 " of %" PRIu64 " requests failed (%s)", result->failed, ended, share);
}

/* ---- doubtful ------------------------------------------------------------------------------------------------ */

/* The commonest status from 400 on. */
static int worst_status(const struct rv_load_result *result)
{
    int worst = 400;
    for (int status = 400; status < 1000; status++)
        if (result->statuses[status] > result->statuses[worst])
            worst = status;
    return worst;
}

static void judge_statuses(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    uint64_t errors = rv_load_answered_between(result, 400, 999);
    uint64_t redirections =
        rv_load_answered_between(result, 301, 303) + rv_load_answered_between(result, 307, 308);
    int worst = worst_status(result);
    char share[RV_FIGURE_MAX];
    if (redirections == result->answered && redirections > 0)
        reason(verdict, RV_VERDICT_SUSPECT,
               "all %" PRIu64 " answers were redirections, which are not followed", redirections);
    if (errors == 0)
        return;
    rv_write_share((double)errors, (double)result->answered, share);
    if (errors == result->answered)
        reason(verdict, RV_VERDICT_SUSPECT, "all %" PRIu64 " answers were errors, most of them %d",
               errors, worst);
    else
        reason(verdict, RV_VERDICT_SUSPECT,
               "%" PRIu64 " of %" PRIu64 " answers were errors (%s), most of them %d", errors,
               result->answered, share, worst);
}

static void judge_end(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    char seconds[RV_FIGURE_MAX];
    rv_write_us(result->elapsed_us, seconds);
    if (result->end == RV_END_INTERRUPTED)
        reason(verdict, RV_VERDICT_SUSPECT, "interrupted after %s", seconds);
    if (result->end == RV_END_FAILURES)
        reason(verdict, RV_VERDICT_SUSPECT, "given up after %s because of the failures", seconds);
}

/* What has not come to an end is in no percentile: they are too low then. */
static void judge_unfinished(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    const struct rv_hist *unfinished = &result->unfinished;
    char oldest[RV_FIGURE_MAX];
    if (unfinished->total == 0 || unfinished->max < UNANSWERED_US ||
        unfinished->max <= 2 * rv_hist_percentile(&result->service, 99))
        return;
    rv_write_us(unfinished->max, oldest);
    reason(verdict, RV_VERDICT_SUSPECT,
           "%" PRIu64
           " requests had no answer at the end, the oldest for %s: no percentile knows of them",
           unfinished->total, oldest);
}

static void judge_client(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    double busiest = rv_client_busiest(result);
    if (result->elapsed_us >= BUSY_RUN_US && busiest >= BUSY_THREAD)
        reason(verdict, RV_VERDICT_SUSPECT,
               "the client was at its limit: its busiest thread was on a CPU %.0f %% of the time",
               100 * busiest);
    if (result->evidence.cpus_shared > 0)
        reason(verdict, RV_VERDICT_SUSPECT, "client and server shared %" PRIu32 " CPU%s",
               result->evidence.cpus_shared, result->evidence.cpus_shared == 1 ? "" : "s");
}

static void judge_schedule(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    char late[RV_FIGURE_MAX];
    if (!result->open_model)
        return;
    if (result->not_started > 0)
        reason(verdict, RV_VERDICT_SUSPECT,
               "%" PRIu64 " requests that were due never began: all %" PRIu32 " clients were busy",
               result->not_started, result->clients);
    uint64_t late_us = rv_hist_percentile(&result->lateness, 99);
    rv_write_us(late_us, late);
    if (late_us > LATE_US && result->queued == 0)
        reason(verdict, RV_VERDICT_SUSPECT,
               "the client began its requests late (p99 %s) although clients were free", late);
}

/* Other processes matter when they leave no CPU idle. */
static void judge_others(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    const struct rv_evidence *evidence = &result->evidence;
    double all_us = (double)result->elapsed_us * evidence->cpus_online;
    double other_us = (double)evidence->other_cpu_us;
    double used_us = other_us + (double)evidence->client_cpu_us + (double)evidence->server.cpu_us;
    char cpus[RV_FIGURE_MAX];
    if (result->elapsed_us < BUSY_RUN_US || other_us < OTHER_SHARE * all_us || all_us == 0 ||
        used_us < CROWDED * all_us)
        return;
    rv_write_number(other_us / (double)result->elapsed_us, cpus);
    reason(verdict, RV_VERDICT_SUSPECT, "other processes kept %s of the %" PRIu32 " CPUs busy",
           cpus, evidence->cpus_online);
}

static void judge_machine(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    const struct rv_evidence *evidence = &result->evidence;
    double all_us = (double)result->elapsed_us * evidence->cpus_online;
    char share[RV_FIGURE_MAX];
    if (result->elapsed_us < BUSY_RUN_US || (double)evidence->steal_us <= STEAL_SHARE * all_us)
        return;
    rv_write_share((double)evidence->steal_us, all_us, share);
    reason(verdict, RV_VERDICT_SUSPECT, "the hypervisor took %s of the CPU time", share);
}

/* p99 is shown of a hundred answers, and is a matter of chance until a hundred lie above it. */
static void judge_samples(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    uint64_t answered = result->answered;
    if (answered > 0 && !rv_percentile_is_founded(answered, 99))
        reason(verdict, RV_VERDICT_SUSPECT,
               "%" PRIu64 " answer%s: too few for p99, which takes 100", answered,
               answered == 1 ? "" : "s");
    else if (answered > 0 && answered < 10000)
        reason(verdict, RV_VERDICT_SUSPECT,
               "p99 rests on the slowest %" PRIu64 " of %" PRIu64 " answers: 10000 are enough",
               answered / 100, answered);
}

void rv_verdict_of(const struct rv_load_result *result, struct rv_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    judge_laws(result, verdict);
    judge_failures(result, verdict);
    judge_statuses(result, verdict);
    judge_end(result, verdict);
    judge_unfinished(result, verdict);
    judge_client(result, verdict);
    judge_schedule(result, verdict);
    judge_others(result, verdict);
    judge_machine(result, verdict);
    judge_samples(result, verdict);
}

const char *rv_verdict_grade_name(enum rv_verdict_grade grade)
{
    static const char *const names[] = {"VALID", "SUSPECT", "INVALID"};
    return names[grade];
}
