/*
 * A result from JSON. A file may come from anywhere: every member is looked at before it is believed, and
 * what was read could have been the result of a run, so that reports need not fear it. What follows from
 * the result (percentiles, laws, the verdict, the findings) is not read but comes anew.
 */
#include "report/json_hist.h"
#include "report/json_tables.h"
#include "report/report.h"

#include "base/bytes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CODES_NAMED 14 /* of HTTP/2, from 0 on (RFC 9113 section 7) */
#define SAMPLES_MAX 100000000u

/* ---- what it is -------------------------------------------------------------------------------------- */

static void check_format(struct rv_json_reader *reader, const struct rv_json_place *top)
{
    const json_t *format = rv_json_get(reader, top, "format");
    const char *name = json_is_string(format) ? json_string_value(format) : "";
    if (strcmp(name, "rivulet-sweep") == 0)
        rv_json_refuse(
            reader, top, "format",
            "is \"rivulet-sweep\": each of its \"rows\" has a \"result\", and those can be "
            "read one by one");
    else if (strcmp(name, "rivulet-result") != 0)
        rv_json_refuse(reader, top, "format", "must be \"rivulet-result\"");
    uint64_t version = rv_json_get_count(reader, top, "version", INT64_MAX);
    if (version < 1)
        rv_json_refuse(reader, top, "version", "must be 1");
    else if (version > RV_RESULT_VERSION)
        rv_json_refuse(reader, top, "version",
                       "is %llu, and this rivulet reads up to %d: take a newer one",
                       (unsigned long long)version, RV_RESULT_VERSION);
}

static void get_end(struct rv_json_reader *reader, const struct rv_json_place *top,
                    struct rv_load_result *result)
{
    const json_t *name = rv_json_get(reader, top, "end");
    for (int i = 0; json_is_string(name) && i < RV_JSON_ENDS; i++) {
        if (strcmp(json_string_value(name), rv_json_end_names[i]) == 0) {
            result->end = (enum rv_load_end)i;
            return;
        }
    }
    rv_json_refuse(reader, top, "end",
                   "must be \"done\", \"interrupted\", \"unreached\" or \"failures\"");
}

/* ---- requests ------------------------------------------------------------------------------------------ */

/* "ECONNRESET", or the number of one without a name; 0: neither. */
static int errno_of(const char *name)
{
    uint64_t number;
    if (rv_bytes_to_u64(rv_str(name), &number))
        return number < INT_MAX ? (int)number : 0;
    for (int i = 1; i < 4096; i++) {
        const char *known = strerrorname_np(i);
        if (known != NULL && strcmp(known, name) == 0)
            return i;
    }
    return 0;
}

static void get_errnos(struct rv_json_reader *reader, const struct rv_json_place *failure,
                       enum rv_load_failure kind, struct rv_load_result *result)
{
    struct rv_json_place errnos = rv_json_object_at(reader, failure, "errnos");
    const char *name;
    json_t *count;
    json_object_foreach((json_t *)errnos.value, name, count)
    {
        struct rv_load_errno seen = {.failure = kind, .error_number = errno_of(name)};
        seen.count = rv_json_count_of(reader, &errnos, name, count, INT64_MAX);
        if (seen.error_number == 0)
            rv_json_refuse(reader, &errnos, name, "is no errno of this system");
        else if (result->errno_count == RV_LOAD_ERRNOS_MAX)
            rv_json_refuse(reader, &errnos, name, "is one errno too many: there are %d at most",
                           RV_LOAD_ERRNOS_MAX);
        else
            result->errnos[result->errno_count++] = seen;
        if (reader->error != 0)
            return;
    }
}

/* "REFUSED_STREAM", or the number of one without a name. */
static bool code_of(const char *name, uint32_t *code)
{
    char room[RV_LOAD_CODE_ROOM];
    uint64_t number;
    if (rv_bytes_to_u64(rv_str(name), &number)) {
        *code = (uint32_t)number;
        return number <= UINT32_MAX;
    }
    for (*code = 0; *code < CODES_NAMED; ++*code)
        if (strcmp(rv_load_code_name(*code, room), name) == 0)
            return true;
    return false;
}

static void get_codes(struct rv_json_reader *reader, const struct rv_json_place *failure,
                      enum rv_load_failure kind, struct rv_load_result *result)
{
    struct rv_json_place codes = rv_json_object_at(reader, failure, "codes");
    const char *name;
    json_t *count;
    json_object_foreach((json_t *)codes.value, name, count)
    {
        struct rv_load_code seen = {.failure = kind};
        bool known = code_of(name, &seen.code);
        seen.count = rv_json_count_of(reader, &codes, name, count, INT64_MAX);
        if (!known)
            rv_json_refuse(reader, &codes, name, "is no error code of HTTP/2");
        else if (result->code_count == RV_LOAD_CODES_MAX)
            rv_json_refuse(reader, &codes, name, "is one code too many: there are %d at most",
                           RV_LOAD_CODES_MAX);
        else
            result->codes[result->code_count++] = seen;
        if (reader->error != 0)
            return;
    }
}

static enum rv_load_failure failure_of(const char *name)
{
    enum rv_load_failure failure = 0;
    while (failure < RV_FAILURE_COUNT && strcmp(rv_load_failure_name(failure), name) != 0)
        failure++;
    return failure;
}

static void get_failures(struct rv_json_reader *reader, const struct rv_json_place *top,
                         struct rv_load_result *result)
{
    struct rv_json_place failures = rv_json_object_at(reader, top, "failures");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)failures.value, name, value)
    {
        enum rv_load_failure kind = failure_of(name);
        if (kind == RV_FAILURE_COUNT) {
            rv_json_refuse(reader, &failures, name, "is no failure that this rivulet knows");
            return;
        }
        struct rv_json_place failure = rv_json_object_at(reader, &failures, name);
        result->failures[kind] = rv_json_get_count(reader, &failure, "count", INT64_MAX);
        get_errnos(reader, &failure, kind, result);
        if (rv_load_failure_has_code(kind))
            get_codes(reader, &failure, kind, result);
    }
}

static void get_statuses(struct rv_json_reader *reader, const struct rv_json_place *top,
                         struct rv_load_result *result)
{
    struct rv_json_place statuses = rv_json_object_at(reader, top, "statuses");
    const char *name;
    json_t *count;
    json_object_foreach((json_t *)statuses.value, name, count)
    {
        uint64_t code = 0;
        if (strlen(name) != 3 || !rv_bytes_to_u64(rv_str(name), &code)) {
            rv_json_refuse(reader, &statuses, name, "is no status code of three digits");
            return;
        }
        result->statuses[code] = rv_json_count_of(reader, &statuses, name, count, INT64_MAX);
    }
}

/* ---- times ----------------------------------------------------------------------------------------------- */

static void get_times(struct rv_json_reader *reader, const struct rv_json_place *top,
                      struct rv_load_result *result)
{
    struct rv_json_place times = rv_json_object_at(reader, top, "times_us");
    bool has_tls = json_object_get(top->value, "tls") != NULL; /* not in files from before it */
    for (size_t i = 0; i < RV_JSON_TIMES; i++) {
        void *hist = (char *)result + rv_json_times[i].offset;
        if (!has_tls && hist == &result->handshake)
            continue;
        rv_json_get_hist(reader, &times, rv_json_times[i].name, hist);
    }
    struct rv_json_place totals = rv_json_object_at(reader, &times, "total");
    for (size_t i = 0; i < RV_JSON_TOTALS; i++)
        rv_json_get_hist(reader, &totals, rv_json_total_names[i], &result->total[i]);
}

static void check_length(struct rv_json_reader *reader, const struct rv_json_place *array,
                         size_t max)
{
    if (json_array_size(array->value) > max)
        rv_json_refuse(reader, array, "", "must not have more than %zu elements", max);
}

/* Objects of an array as an array of records; NULL for none of them, and on failure. */
static void *get_records(struct rv_json_reader *reader, const struct rv_json_place *array,
                         struct rv_json_table table, size_t size, size_t max)
{
    size_t count = json_array_size(array->value);
    check_length(reader, array, max);
    if (reader->error != 0 || count == 0)
        return NULL;
    char *records = calloc(count, size);
    if (records == NULL)
        rv_json_no_memory(reader);
    for (size_t i = 0; records != NULL && i < count && reader->error == 0; i++) {
        struct rv_json_place element = rv_json_element_at(array, i);
        if (!json_is_object(element.value))
            rv_json_refuse(reader, &element, "", "must be an object");
        rv_json_get_members(reader, &element, table, records + i * size);
    }
    return records;
}

static void get_series(struct rv_json_reader *reader, const struct rv_json_place *top,
                       struct rv_load_result *result)
{
    result->period_s = (uint32_t)rv_json_get_count(reader, top, "period_s", UINT32_MAX);
    struct rv_json_place series = rv_json_array_at(reader, top, "series");
    result->series =
        get_records(reader, &series, rv_json_period, sizeof *result->series, RV_LOAD_SERIES_MAX);
    if (result->series != NULL)
        result->series_count = (uint32_t)json_array_size(series.value);
}

static void get_samples(struct rv_json_reader *reader, const struct rv_json_place *top,
                        struct rv_load_result *result)
{
    if (json_is_null(rv_json_get(reader, top, "samples")))
        return;
    struct rv_json_place samples = rv_json_array_at(reader, top, "samples");
    result->samples =
        get_records(reader, &samples, rv_json_sample, sizeof *result->samples, SAMPLES_MAX);
    if (result->samples != NULL)
        result->sample_count = json_array_size(samples.value);
}

/* ---- evidence -------------------------------------------------------------------------------------------- */

static void get_counters(struct rv_json_reader *reader, const struct rv_json_place *at,
                         struct rv_evidence *evidence)
{
    struct rv_json_place counters = rv_json_object_at(reader, at, "counters");
    for (enum rv_kernel_counter i = 0; i < RV_KERNEL_COUNT; i++) {
        const char *name = rv_kernel_counter_name(i);
        const json_t *value = rv_json_get(reader, &counters, name);
        if (value != NULL && !json_is_integer(value) && !json_is_null(value))
            rv_json_refuse(reader, &counters, name, "must be a whole number or null");
        evidence->counters[i] = json_is_integer(value) ? json_integer_value(value) : -1;
    }
}

static void get_thread_cpu(struct rv_json_reader *reader, const struct rv_json_place *at,
                           struct rv_evidence *evidence)
{
    struct rv_json_place threads = rv_json_array_at(reader, at, "thread_cpu_us");
    size_t count = json_array_size(threads.value);
    check_length(reader, &threads, RV_EVIDENCE_THREADS_MAX);
    for (size_t i = 0; i < count && reader->error == 0; i++) {
        struct rv_json_place element = rv_json_element_at(&threads, i);
        evidence->thread_cpu_us[i] =
            rv_json_count_of(reader, &element, "", element.value, INT64_MAX);
    }
    if (reader->error == 0)
        evidence->thread_count = (uint32_t)count;
}

static void get_evidence(struct rv_json_reader *reader, const struct rv_json_place *top,
                         struct rv_evidence *evidence)
{
    struct rv_json_place at = rv_json_object_at(reader, top, "evidence");
    rv_json_get_members(reader, &at, rv_json_evidence, evidence);
    get_counters(reader, &at, evidence);
    struct rv_json_place server = rv_json_object_at(reader, &at, "server");
    rv_json_get_members(reader, &server, rv_json_server, &evidence->server);
    get_thread_cpu(reader, &at, evidence);
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static void get_nested(struct rv_json_reader *reader, const struct rv_json_place *top,
                       const char *name, struct rv_json_table table, struct rv_load_result *result)
{
    struct rv_json_place at = rv_json_object_at(reader, top, name);
    rv_json_get_members(reader, &at, table, result);
}

static void get_result(struct rv_json_reader *reader, const struct rv_json_place *top,
                       struct rv_load_result *result)
{
    check_format(reader, top);
    rv_json_get_members(reader, top, rv_json_asked, result);
    get_nested(reader, top, "plan", rv_json_plan, result);
    rv_json_get_members(reader, top, rv_json_when, result);
    get_end(reader, top, result);
    get_nested(reader, top, "requests", rv_json_requests, result);
    get_failures(reader, top, result);
    get_statuses(reader, top, result);
    get_nested(reader, top, "connections", rv_json_connections, result);
    if (json_object_get(top->value, "http2") != NULL) /* likewise */
        get_nested(reader, top, "http2", rv_json_http2, result);
    if (json_object_get(top->value, "tls") != NULL)
        get_nested(reader, top, "tls", rv_json_tls, result);
    get_nested(reader, top, "octets", rv_json_octets, result);
    rv_json_get_members(reader, top, rv_json_first, result);
    get_times(reader, top, result);
    get_series(reader, top, result);
    get_samples(reader, top, result);
    get_evidence(reader, top, &result->evidence);
}

rv_error rv_result_from_json(const json_t *object, struct rv_load_result *result, char *why)
{
    struct rv_json_reader reader = {.why = why};
    struct rv_json_place top = {.value = object};
    if (!json_is_object(object)) {
        snprintf(why, RV_REPORT_WHY_MAX, "it is no JSON object");
        return RV_EINVAL;
    }
    if (rv_load_result_init(result) != 0) {
        rv_json_no_memory(&reader);
        return reader.error;
    }
    get_result(&reader, &top, result);
    if (reader.error != 0)
        rv_load_result_free(result);
    return reader.error;
}
