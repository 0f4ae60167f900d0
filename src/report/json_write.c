/*
 * A result as JSON: a document that stands alone, in the order of the struct, with what follows from it
 * (the laws, the verdict, the findings) at its end. Functions return NULL or false when there is no memory,
 * and a value that could not be made makes what holds it impossible, too.
 */
#include "report/json_hist.h"
#include "report/json_tables.h"
#include "report/report.h"
#include "report/verdict.h"
#include "report/why.h"

#include <string.h>

/* What was being built, or NULL and nothing left. */
static json_t *whole(json_t *value, bool ok)
{
    if (ok)
        return value;
    json_decref(value);
    return NULL;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static json_t *errnos_of(const struct rv_load_result *result, enum rv_load_failure failure)
{
    json_t *errnos = json_object();
    bool ok = errnos != NULL;
    for (uint32_t i = 0; ok && i < result->errno_count; i++) {
        const struct rv_load_errno *seen = &result->errnos[i];
        if (seen->failure != failure)
            continue;
        char number[16];
        const char *name = strerrorname_np(seen->error_number);
        snprintf(number, sizeof number, "%d", seen->error_number);
        ok = rv_json_put(errnos, name != NULL ? name : number, rv_json_of_count(seen->count));
    }
    return whole(errnos, ok);
}

/* HTTP/2's, by their names. */
static json_t *codes_of(const struct rv_load_result *result, enum rv_load_failure failure)
{
    json_t *codes = json_object();
    bool ok = codes != NULL;
    for (uint32_t i = 0; ok && i < result->code_count; i++) {
        char room[RV_LOAD_CODE_ROOM];
        if (result->codes[i].failure == failure)
            ok = rv_json_put(codes, rv_load_code_name(result->codes[i].code, room),
                             rv_json_of_count(result->codes[i].count));
    }
    return whole(codes, ok);
}

/* Those that happened. */
static json_t *failures_of(const struct rv_load_result *result)
{
    json_t *failures = json_object();
    bool ok = failures != NULL;
    for (enum rv_load_failure i = 0; ok && i < RV_FAILURE_COUNT; i++) {
        json_t *errnos = errnos_of(result, i);
        if (result->failures[i] == 0 && errnos != NULL && json_object_size(errnos) == 0) {
            json_decref(errnos);
            continue;
        }
        json_t *failure = json_object();
        ok = rv_json_put(failures, rv_load_failure_name(i), failure) &&
             rv_json_put(failure, "count", rv_json_of_count(result->failures[i]));
        if (ok)
            ok = rv_json_put(failure, "errnos", errnos);
        else
            json_decref(errnos);
        if (ok && rv_load_failure_has_code(i))
            ok = rv_json_put(failure, "codes", codes_of(result, i));
    }
    return whole(failures, ok);
}

static json_t *statuses_of(const struct rv_load_result *result)
{
    json_t *statuses = json_object();
    bool ok = statuses != NULL;
    for (int i = 0; ok && i < 1000; i++) {
        char code[16];
        snprintf(code, sizeof code, "%03d", i);
        if (result->statuses[i] != 0)
            ok = rv_json_put(statuses, code, rv_json_of_count(result->statuses[i]));
    }
    return whole(statuses, ok);
}

/* ---- times ----------------------------------------------------------------------------------------------- */

static json_t *totals_of(const struct rv_load_result *result)
{
    struct rv_hist all;
    if (rv_load_result_total(result, &all) != 0)
        return NULL;
    json_t *totals = json_object();
    bool ok = totals != NULL && rv_json_put(totals, "all", rv_json_of_hist(&all));
    for (size_t i = 0; ok && i < RV_JSON_TOTALS; i++)
        ok = rv_json_put(totals, rv_json_total_names[i], rv_json_of_hist(&result->total[i]));
    rv_hist_free(&all);
    return whole(totals, ok);
}

static json_t *times_of(const struct rv_load_result *result)
{
    json_t *times = json_object();
    bool ok = times != NULL;
    for (size_t i = 0; ok && i < RV_JSON_TIMES; i++) {
        const void *hist = (const char *)result + rv_json_times[i].offset;
        ok = rv_json_put(times, rv_json_times[i].name, rv_json_of_hist(hist));
    }
    return whole(times, ok && rv_json_put(times, "total", totals_of(result)));
}

static json_t *records_of(struct rv_json_table table, const void *records, size_t size,
                          uint64_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (uint64_t i = 0; ok && i < count; i++)
        ok = json_array_append_new(array,
                                   rv_json_of_record(table, (const char *)records + i * size)) == 0;
    return whole(array, ok);
}

static json_t *samples_of(const struct rv_load_result *result)
{
    if (result->samples == NULL)
        return json_null();
    return records_of(rv_json_sample, result->samples, sizeof *result->samples,
                      result->sample_count);
}

/* ---- evidence -------------------------------------------------------------------------------------------- */

static json_t *counters_of(const struct rv_evidence *evidence)
{
    json_t *counters = json_object();
    bool ok = counters != NULL;
    for (enum rv_kernel_counter i = 0; ok && i < RV_KERNEL_COUNT; i++)
        ok = rv_json_put(counters, rv_kernel_counter_name(i),
                         evidence->counters[i] == -1 ? json_null()
                                                     : json_integer(evidence->counters[i]));
    return whole(counters, ok);
}

static json_t *thread_cpu_of(const struct rv_evidence *evidence)
{
    json_t *threads = json_array();
    bool ok = threads != NULL;
    for (uint32_t i = 0; ok && i < evidence->thread_count; i++)
        ok = json_array_append_new(threads, rv_json_of_count(evidence->thread_cpu_us[i])) == 0;
    return whole(threads, ok);
}

static json_t *evidence_of(const struct rv_evidence *evidence)
{
    json_t *object = rv_json_of_record(rv_json_evidence, evidence);
    bool ok = object != NULL && rv_json_put(object, "counters", counters_of(evidence)) &&
              rv_json_put(object, "server", rv_json_of_record(rv_json_server, &evidence->server)) &&
              rv_json_put(object, "thread_cpu_us", thread_cpu_of(evidence));
    return whole(object, ok);
}

/* ---- what follows from it -------------------------------------------------------------------------------- */

static json_t *laws_of(const struct rv_load_result *result)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result, laws);
    json_t *array = json_array();
    bool ok = array != NULL;
    for (uint32_t i = 0; ok && i < count; i++)
        ok =
            json_array_append_new(array, json_pack("{s:s, s:b, s:s}", "name", laws[i].name, "holds",
                                                   laws[i].holds, "numbers", laws[i].numbers)) == 0;
    return whole(array, ok);
}

static json_t *verdict_of(const struct rv_load_result *result)
{
    struct rv_verdict verdict;
    rv_verdict_of(result, &verdict);
    json_t *reasons = json_array();
    bool ok = reasons != NULL;
    for (uint32_t i = 0; ok && i < verdict.reason_count; i++)
        ok = json_array_append_new(reasons, rv_json_of_string(verdict.reasons[i])) == 0;
    reasons = whole(reasons, ok);
    if (reasons == NULL)
        return NULL;
    return json_pack("{s:s, s:o}", "grade", rv_verdict_grade_name(verdict.grade), "reasons",
                     reasons);
}

static json_t *why_of(const struct rv_load_result *result)
{
    struct rv_finding findings[RV_FINDINGS_MAX];
    uint32_t count = rv_why(result, findings);
    json_t *array = json_array();
    bool ok = array != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        json_t *finding = json_object();
        ok = json_array_append_new(array, finding) == 0 &&
             rv_json_put(finding, "id", json_string(findings[i].id)) &&
             rv_json_put(finding, "text", rv_json_of_string(findings[i].text)) &&
             rv_json_put(finding, "remedy", rv_json_of_string(findings[i].remedy));
    }
    return whole(array, ok);
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static bool put_asked(json_t *object, const struct rv_load_result *result)
{
    return rv_json_put(object, "format", json_string("rivulet-result")) &&
           rv_json_put(object, "version", json_integer(RV_RESULT_VERSION)) &&
           rv_json_put(object, "rivulet", json_string(rv_version())) &&
           rv_json_put_members(object, rv_json_asked, result) &&
           rv_json_put(object, "plan", rv_json_of_record(rv_json_plan, result)) &&
           rv_json_put_members(object, rv_json_when, result) &&
           rv_json_put(object, "end", json_string(rv_json_end_names[result->end]));
}

static bool put_seen(json_t *object, const struct rv_load_result *result)
{
    return rv_json_put(object, "requests", rv_json_of_record(rv_json_requests, result)) &&
           rv_json_put(object, "failures", failures_of(result)) &&
           rv_json_put(object, "statuses", statuses_of(result)) &&
           rv_json_put(object, "connections", rv_json_of_record(rv_json_connections, result)) &&
           rv_json_put(object, "http2", rv_json_of_record(rv_json_http2, result)) &&
           rv_json_put(object, "tls", rv_json_of_record(rv_json_tls, result)) &&
           rv_json_put(object, "octets", rv_json_of_record(rv_json_octets, result)) &&
           rv_json_put_members(object, rv_json_first, result) &&
           rv_json_put(object, "times_us", times_of(result)) &&
           rv_json_put(object, "period_s", json_integer(result->period_s)) &&
           rv_json_put(object, "series",
                       records_of(rv_json_period, result->series, sizeof *result->series,
                                  result->series_count)) &&
           rv_json_put(object, "samples", samples_of(result)) &&
           rv_json_put(object, "evidence", evidence_of(&result->evidence));
}

json_t *rv_result_to_json(const struct rv_load_result *result)
{
    json_t *object = json_object();
    bool ok = object != NULL && put_asked(object, result) && put_seen(object, result) &&
              rv_json_put(object, "laws", laws_of(result)) &&
              rv_json_put(object, "verdict", verdict_of(result)) &&
              rv_json_put(object, "why", why_of(result));
    return whole(object, ok);
}
