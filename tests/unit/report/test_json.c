/*
 * Facts about results as JSON: what is written comes back, member by member; what is missing or wrong is
 * named; and no file does any harm.
 */
#include "report/report.h"

#include "load/result.h"
#include "random.h"
#include "report/hist_wire.h"
#include "report/json_tables.h"
#include "support/hists.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- results ------------------------------------------------------------------------------------------- */

#define HISTS (RV_JSON_TIMES + RV_JSON_TOTALS)

static struct rv_hist *hist_at(struct rv_load_result *result, size_t i)
{
    if (i >= RV_JSON_TIMES)
        return &result->total[i - RV_JSON_TIMES];
    return (struct rv_hist *)((char *)result + rv_json_times[i].offset);
}

static void fill_hists(struct rv_load_result *result)
{
    uint64_t seed = 5;
    for (size_t i = 0; i < HISTS; i++) {
        assert_int_equal(rv_hist_init(hist_at(result, i), 3, RV_HIST_HOUR_US), 0);
        for (size_t n = 0; n < 50 * i; n++)
            rv_hist_record(hist_at(result, i), 2000 * i + random_below(&seed, 20000));
    }
    rv_hist_record(&result->wait, UINT64_MAX); /* one that is clamped */
}

static void fill_strings(struct rv_load_result *result)
{
    result->command = strdup("rivulet bench -c 10 'http://127.0.0.1:8910/ok?x=\"1\"'");
    result->url = strdup("http://127.0.0.1:8910/ok?x=\"1\"");
    result->host = strdup("127.0.0.1");
    result->document = strdup("/ok?x=\"1\"");
    result->first_head = strdup("HTTP/1.1 200 OK\r\nServer: r\xc3\xa4ttvik/1\t2\r\n\r\n");
    strncpy(result->server_software, "r\xc3\xa4ttvik/1\t2", sizeof result->server_software);
    strncpy(result->tls_version, "TLSv1.3", sizeof result->tls_version);
    strncpy(result->tls_cipher, "TLS_AES_256_GCM_SHA384", sizeof result->tls_cipher);
    strncpy(result->tls_temp_key, "X25519 253 bits", sizeof result->tls_temp_key);
    strncpy(result->tls_name, "a.example", sizeof result->tls_name);
    strncpy(result->tls_failure, "certificate has expired", sizeof result->tls_failure);
    strncpy(result->evidence.kernel, "Linux 6.1.0", sizeof result->evidence.kernel);
    strncpy(result->evidence.server.name, "rivulet", sizeof result->evidence.server.name);
    strncpy(result->evidence.server.address, "[::1]:8910", sizeof result->evidence.server.address);
}

/* Every octet of every member is 1, but where that would be no value: a member that is not written or not
   read is seen, even one that was added after this was written. */
static struct rv_load_result *full_result(void)
{
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    memset(result, 1, sizeof *result);
    fill_strings(result);
    fill_hists(result);
    result->end = RV_END_FAILURES;
    memset(result->errnos, 0, sizeof result->errnos);
    result->errno_count = 3;
    result->errnos[0] = (struct rv_load_errno){RV_FAILURE_CONNECT_REFUSED, ECONNREFUSED, 7};
    result->errnos[1] = (struct rv_load_errno){RV_FAILURE_WAIT_RESET, ECONNRESET, 8};
    result->errnos[2] = (struct rv_load_errno){RV_FAILURE_WAIT_RESET, 524, 9}; /* has no name */
    memset(result->codes, 0, sizeof result->codes);
    result->code_count = 3;
    result->codes[0] = (struct rv_load_code){RV_FAILURE_STREAM_RESET, 7, 4}; /* REFUSED_STREAM */
    result->codes[1] = (struct rv_load_code){RV_FAILURE_STREAM_RESET, 77777, 3}; /* has no name */
    result->codes[2] = (struct rv_load_code){RV_FAILURE_GOAWAY, 0, 2};
    result->series_count = 2;
    result->series = malloc(2 * sizeof *result->series);
    memset(result->series, 1, 2 * sizeof *result->series);
    result->sample_count = 3;
    result->samples = malloc(3 * sizeof *result->samples);
    memset(result->samples, 1, 3 * sizeof *result->samples);
    result->evidence.thread_count = RV_EVIDENCE_THREADS_MAX;
    return result;
}

/* What a run leaves that nothing happened in. */
static struct rv_load_result *empty_result(void)
{
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    assert_int_equal(rv_load_result_init(result), 0);
    result->url = strdup("http://[::1]/");
    result->host = strdup("::1");
    result->document = strdup("/");
    return result;
}

static void free_result(struct rv_load_result *result)
{
    rv_load_result_free(result);
    free(result);
}

static json_t *json_of(struct rv_load_result *result)
{
    json_t *object = rv_result_to_json(result);
    assert_non_null(object);
    return object;
}

static json_t *full_json(void)
{
    struct rv_load_result *result = full_result();
    json_t *object = json_of(result);
    free_result(result);
    return object;
}

static struct rv_load_result *read_json(const json_t *object)
{
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    if (rv_result_from_json(object, result, why) != 0)
        fail_msg("%s", why);
    return result;
}

static void assert_refused(const json_t *object, const char *what)
{
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    assert_int_equal(rv_result_from_json(object, result, why), RV_EINVAL);
    if (strstr(why, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why, what);
    free(result);
}

/* ---- what is written comes back -------------------------------------------------------------------------- */

static void assert_same_text(char *left, char *right)
{
    if (left == NULL || right == NULL)
        assert_ptr_equal(left, right);
    else
        assert_string_equal(left, right);
}

static void assert_same_blocks(struct rv_load_result *left, struct rv_load_result *right)
{
    assert_same_text(left->command, right->command);
    assert_same_text(left->url, right->url);
    assert_same_text(left->host, right->host);
    assert_same_text(left->document, right->document);
    assert_same_text(left->first_head, right->first_head);
    for (size_t i = 0; i < HISTS; i++)
        assert_same_hist(hist_at(left, i), hist_at(right, i));
    for (uint32_t i = 0; i < left->errno_count; i++) {
        assert_int_equal(left->errnos[i].failure, right->errnos[i].failure);
        assert_int_equal(left->errnos[i].error_number, right->errnos[i].error_number);
        assert_int_equal(left->errnos[i].count, right->errnos[i].count);
    }
    for (uint32_t i = 0; i < left->code_count; i++) {
        assert_int_equal(left->codes[i].failure, right->codes[i].failure);
        assert_int_equal(left->codes[i].code, right->codes[i].code);
        assert_int_equal(left->codes[i].count, right->codes[i].count);
    }
    assert_int_equal(left->series_count, right->series_count);
    if (left->series_count > 0)
        assert_memory_equal(left->series, right->series, left->series_count * sizeof *left->series);
    assert_int_equal(left->sample_count, right->sample_count);
    if (left->sample_count > 0)
        assert_memory_equal(left->samples, right->samples,
                            left->sample_count * sizeof *left->samples);
}

/* Octets that belong to no member. */
#define GAP(record, base, before, after)                                                           \
    {                                                                                              \
        (base) + offsetof(record, before) + sizeof(((record *)0)->before),                         \
            (base) + offsetof(record, after)                                                       \
    }
#define RESULT_GAP(before, after) GAP(struct rv_load_result, 0, before, after)
#define EVIDENCE_GAP(before, after)                                                                \
    GAP(struct rv_evidence, offsetof(struct rv_load_result, evidence), before, after)
#define SERVER_GAP(before, after)                                                                  \
    GAP(struct rv_server_evidence, offsetof(struct rv_load_result, evidence.server), before, after)

static const struct {
    size_t from, to;
} gaps[] = {
    RESULT_GAP(http2, streams),
    RESULT_GAP(request_kinds, requests_max),
    RESULT_GAP(has_body, started_us),
    RESULT_GAP(end, due),
    RESULT_GAP(streams_limit, races),
    RESULT_GAP(tls_cipher, tls_key_bits),
    RESULT_GAP(tls_name, tls_full),
    RESULT_GAP(first_head, connect),
    EVIDENCE_GAP(has_counters, counters),
    EVIDENCE_GAP(server, thread_count),
    EVIDENCE_GAP(thread_count, thread_cpu_us),
    EVIDENCE_GAP(cpus_online, descriptor_limit),
    EVIDENCE_GAP(time_wait_after, steal_us),
    SERVER_GAP(pid_known, pid),
    SERVER_GAP(address, sockets),
    SERVER_GAP(queue_peak, queue_samples),
    SERVER_GAP(descriptors, descriptor_limit),
};

/* What only its owner may know, and what belongs to nobody. */
static void blank(struct rv_load_result *copy)
{
    copy->command = copy->url = copy->host = copy->document = copy->first_head = NULL;
    copy->series = NULL;
    copy->samples = NULL;
    memset(copy->errnos, 0, sizeof copy->errnos);
    memset(copy->codes, 0, sizeof copy->codes);
    for (size_t n = 0; n < HISTS; n++)
        memset(hist_at(copy, n), 0, sizeof(struct rv_hist));
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        assert_in_range(gaps[i].to - gaps[i].from, 0, 15);
        memset((char *)copy + gaps[i].from, 0, gaps[i].to - gaps[i].from);
    }
    size_t end = offsetof(struct rv_load_result, evidence) + sizeof(struct rv_evidence);
    memset((char *)copy + end, 0, sizeof *copy - end);
}

/* What members point to, and then the members themselves, octet by octet. */
static void assert_same(struct rv_load_result *left, struct rv_load_result *right)
{
    assert_same_blocks(left, right);
    struct rv_load_result *copies[2] = {malloc(sizeof *left), malloc(sizeof *left)};
    memcpy(copies[0], left, sizeof *left);
    memcpy(copies[1], right, sizeof *right);
    blank(copies[0]);
    blank(copies[1]);
    const unsigned char *a = (const void *)copies[0], *b = (const void *)copies[1];
    for (size_t i = 0; i < sizeof *left; i++)
        if (a[i] != b[i])
            fail_msg("octet %zu of the result is %u, and was %u", i, b[i], a[i]);
    free(copies[0]);
    free(copies[1]);
}

static void every_member_of_a_result_comes_back(void **state)
{
    (void)state;
    struct rv_load_result *result = full_result();
    json_t *object = json_of(result);
    struct rv_load_result *back = read_json(object);
    assert_same(result, back);
    json_t *again = json_of(back);
    assert_true(json_equal(object, again));
    json_decref(again);
    json_decref(object);
    free_result(back);
    free_result(result);
}

static void a_result_of_nothing_comes_back(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    json_t *object = json_of(result);
    assert_true(json_is_null(json_object_get(object, "command")));
    assert_true(json_is_null(json_object_get(object, "samples")));
    assert_int_equal(json_object_size(json_object_get(object, "failures")), 0);
    assert_int_equal(json_object_size(json_object_get(object, "statuses")), 0);
    struct rv_load_result *back = read_json(object);
    assert_same(result, back);
    json_decref(object);
    free_result(back);
    free_result(result);
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    result->content_expected = UINT64_MAX;
    result->evidence.descriptor_limit = UINT64_MAX;
    result->evidence.server.descriptor_limit = UINT64_MAX;
    result->evidence.server.queue_drops = -1;
    result->evidence.counters[RV_KERNEL_SYN_RETRANS] = -1;
    result->evidence.counters[RV_KERNEL_OUT_RESETS] = -2;
    json_t *object = json_of(result);
    json_t *evidence = json_object_get(object, "evidence");
    json_t *server = json_object_get(evidence, "server");
    json_t *counters = json_object_get(evidence, "counters");
    assert_true(json_is_null(json_object_get(json_object_get(object, "plan"), "content_expected")));
    assert_true(json_is_null(json_object_get(evidence, "descriptor_limit")));
    assert_true(json_is_null(json_object_get(server, "descriptor_limit")));
    assert_true(json_is_null(json_object_get(server, "queue_drops")));
    assert_true(json_is_null(json_object_get(counters, "TCPSynRetrans")));
    assert_int_equal(json_integer_value(json_object_get(counters, "OutRsts")), -2);
    struct rv_load_result *back = read_json(object);
    assert_same(result, back);
    json_decref(object);
    free_result(back);
    free_result(result);
}

static void all_bits_of_a_seed_and_of_a_rate_come_back(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    result->seed = UINT64_MAX - 1;
    result->rate_per_s = 20000.0 / 3;
    json_t *object = json_of(result);
    char *text = json_dumps(object, 0);
    json_t *parsed = json_loads(text, 0, NULL);
    assert_non_null(strstr(text, "\"seed\": \"18446744073709551614\""));
    struct rv_load_result *back = read_json(parsed);
    assert_same(result, back);
    free(text);
    json_decref(parsed);
    json_decref(object);
    free_result(back);
    free_result(result);
}

static void a_small_deviation_of_large_times_comes_back(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    rv_hist_record_many(&result->service, 2999999999, 1000000);
    rv_hist_record_many(&result->service, 3000000001, 1000001);
    json_t *object = json_of(result);
    struct rv_load_result *back = read_json(object);
    assert_same(result, back);
    assert_true(fabs(rv_hist_deviation(&back->service) - 1) < 1e-6);
    json_decref(object);
    free_result(back);
    free_result(result);
}

/* Where every bound that a file is held against is met exactly. */
static void histograms_of_one_value_come_back(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    rv_hist_record_many(&result->wait, 0, 3);
    rv_hist_record_many(&result->transfer, 5, 3);
    rv_hist_record(&result->service, 3599999999);
    rv_hist_record_many(&result->failing, UINT64_MAX, 4);
    json_t *object = json_of(result);
    struct rv_load_result *back = read_json(object);
    assert_same(result, back);
    json_decref(object);
    free_result(back);
    free_result(result);
}

/* Field values may hold any octet above 127 (RFC 9110 section 5.5), and JSON is UTF-8. */
static void a_file_from_before_tls_is_read(void **state)
{
    (void)state;
    json_t *object = full_json();
    json_object_del(object, "tls");
    json_object_del(json_object_get(object, "times_us"), "handshake");
    struct rv_load_result *result = read_json(object);
    assert_false(result->tls);
    assert_int_equal(result->handshake.total, 0);
    assert_true(result->wait.total > 0);
    free_result(result);
    json_decref(object);
}

static void octets_that_are_no_utf_8_become_question_marks(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    strcpy(result->server_software, "caf\xe9/1.0");
    result->command = strdup("rivulet bench http://h\xff/");
    json_t *object = json_of(result);
    struct rv_load_result *back = read_json(object);
    assert_string_equal(back->server_software, "caf?/1.0");
    assert_string_equal(back->command, "rivulet bench http://h?/");
    json_decref(object);
    free_result(back);
    free_result(result);
}

static void members_stand_in_the_order_of_the_document(void **state)
{
    (void)state;
    static const char *const names[] = {
        "format",      "version",  "rivulet",  "command",  "url",
        "host",        "document", "port",     "plan",     "started_us",
        "elapsed_us",  "end",      "requests", "failures", "statuses",
        "connections", "http2",    "tls",      "octets",   "server_software",
        "first_head",  "times_us", "period_s", "series",   "samples",
        "evidence",    "laws",     "verdict",  "why",
    };
    json_t *object = full_json();
    const char *name;
    json_t *value;
    size_t i = 0;
    json_object_foreach(object, name, value)
    {
        assert_true(i < sizeof names / sizeof *names);
        assert_string_equal(name, names[i++]);
    }
    assert_int_equal(i, sizeof names / sizeof *names);
    json_decref(object);
}

static void figures_of_a_histogram_stand_beside_it(void **state)
{
    (void)state;
    struct rv_load_result *result = empty_result();
    rv_hist_record_many(&result->total[2], 100, 9000);
    rv_hist_record_many(&result->total[5], 200, 990);
    rv_hist_record_many(&result->total[0], 1000, 10);
    json_t *object = json_of(result);
    json_t *total = json_object_get(json_object_get(object, "times_us"), "total");
    json_int_t count, min, max, p50, p90, p99, p999, p9999, sum, clamped;
    double mean;
    assert_int_equal(json_unpack(json_object_get(total, "all"),
                                 "{s:I, s:I, s:F, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count",
                                 &count, "min", &min, "mean", &mean, "p50", &p50, "p90", &p90,
                                 "p99", &p99, "p999", &p999, "p9999", &p9999, "max", &max, "sum",
                                 &sum, "clamped", &clamped),
                     0);
    assert_int_equal(count, 10000);
    assert_int_equal(min, 100);
    assert_int_equal(p50, 100);
    assert_int_equal(p90, 100);
    assert_int_equal(p99, 200);
    assert_int_equal(p999, 200);
    assert_int_equal(p9999, 1000);
    assert_int_equal(max, 1000);
    assert_int_equal(sum, 900000 + 198000 + 10000);
    assert_true(fabs(mean - 110.8) < 1e-9);
    assert_int_equal(clamped, 0);
    json_t *second = json_object_get(total, "2xx");
    assert_int_equal(json_integer_value(json_object_get(second, "count")), 9000);
    json_decref(object);
    free_result(result);
}

/* ---- what is missing or wrong ---------------------------------------------------------------------------- */

/* False: it comes anew at reading, or it may be missing by its nature. */
static bool is_needed(const char *path)
{
    static const char *const beginnings[] = {"rivulet",   "laws",      "verdict",           "why",
                                             "failures.", "statuses.", "times_us.total.all"};
    static const char *const names[] = {"mean", "deviation", "p50", "p90", "p99", "p999", "p9999"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
            return false;
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(dot + 1, names[i]) == 0)
            return false;
    return true;
}

#define PATHS_MAX 512
static char paths[PATHS_MAX][RV_JSON_PATH_MAX - 16];
static size_t path_count;

static void collect(json_t *object, const char *prefix)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        assert_true(path_count < PATHS_MAX);
        char *path = paths[path_count];
        int length = snprintf(path, sizeof paths[0], "%s%s%s", prefix, *prefix ? "." : "", name);
        assert_true(length > 0 && (size_t)length < sizeof paths[0]);
        if (!is_needed(path))
            continue;
        path_count++;
        if (json_is_object(value))
            collect(value, path);
    }
}

/* The object that holds the member at the end of a path, whose name is given, too. */
static json_t *holder_of(json_t *object, const char *path, const char **name)
{
    const char *dot;
    while ((dot = strchr(path, '.')) != NULL) {
        object = json_object_getn(object, path, (size_t)(dot - path));
        assert_non_null(object);
        path = dot + 1;
    }
    *name = path;
    return object;
}

static json_t *value_at(json_t *object, const char *path)
{
    const char *name;
    json_t *holder = holder_of(object, path, &name);
    return json_object_get(holder, name);
}

static void put_at(json_t *object, const char *path, json_t *value)
{
    const char *name;
    json_t *holder = holder_of(object, path, &name);
    assert_int_equal(json_object_set_new(holder, name, value), 0);
}

/* The document with another value in one place is refused, and this is said. */
static void assert_refused_with(const json_t *whole, const char *path, json_t *value,
                                const char *what)
{
    json_t *copy = json_deep_copy(whole);
    put_at(copy, path, value);
    assert_refused(copy, what);
    json_decref(copy);
}

static void each_member_that_is_missing_or_of_a_wrong_type_is_named(void **state)
{
    (void)state;
    json_t *whole = full_json();
    path_count = 0;
    collect(whole, "");
    assert_true(path_count > 200);
    for (size_t i = 0; i < path_count; i++) {
        char what[RV_JSON_PATH_MAX + 32];
        const char *name;
        json_t *copy = json_deep_copy(whole);
        json_t *holder = holder_of(copy, paths[i], &name);
        json_object_del(holder, name);
        snprintf(what, sizeof what, "\"%s\" is missing", paths[i]);
        if (strcmp(paths[i], "tls") != 0 &&
            strcmp(paths[i], "http2") != 0) /* files from before it are read */
            assert_refused(copy, what);
        json_decref(copy);

        snprintf(what, sizeof what, "\"%s\" must be ", paths[i]);
        bool is_array = json_is_array(value_at(whole, paths[i]));
        assert_refused_with(whole, paths[i], is_array ? json_object() : json_array(), what);
    }
    json_decref(whole);
}

static void each_number_out_of_range_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        json_int_t number;
        const char *what;
    } wrong[] = {
        {"version", 0, "\"version\" must be 1"},
        {"version", 2, "\"version\" is 2, and this rivulet reads up to 1"},
        {"port", 65536, "\"port\" must be a whole number of 0 to 65535"},
        {"port", -1, "\"port\" must be"},
        {"plan.clients", 4294967296, "\"plan.clients\" must be a whole number of 0 to 4294967295"},
        {"plan.quota", -1, "\"plan.quota\" must be"},
        {"plan.rate_per_s", -1, "\"plan.rate_per_s\" must be a number that is not negative"},
        {"plan.content_expected", -5, "\"plan.content_expected\" must be"},
        {"requests.answered", -1, "\"requests.answered\" must be"},
        {"failures.wait_reset.count", -1, "\"failures.wait_reset.count\" must be"},
        {"failures.wait_reset.errnos.ECONNRESET", -1, "errnos.ECONNRESET\" must be"},
        {"failures.wait_reset.errnos.EWHAT", 1, "EWHAT\" is no errno"},
        {"failures.wait_reset.errnos.99999999999", 1, "is no errno"},
        {"failures.stream_reset.codes.REFUSED_STREAM", -1, "REFUSED_STREAM\" must be"},
        {"failures.stream_reset.codes.WHATEVER", 1, "WHATEVER\" is no error code of HTTP/2"},
        {"failures.stream_reset.codes.4294967296", 1, "is no error code"},
        {"failures.bad_weather", 1, "\"failures.bad_weather\" is no failure"},
        {"statuses.200", -1, "\"statuses.200\" must be"},
        {"statuses.20", 1, "\"statuses.20\" is no status code"},
        {"statuses.2000", 1, "\"statuses.2000\" is no status code"},
        {"statuses.2x0", 1, "\"statuses.2x0\" is no status code"},
        {"period_s", 4294967296, "\"period_s\" must be"},
        {"evidence.server.pid", 4294967296, "\"evidence.server.pid\" must be"},
        {"times_us.wait.count", 77777, "\"times_us.wait.count\" is not the 101 that"},
        {"times_us.wait.min", 1, "\"times_us.wait.min\" is not the smallest"},
        {"times_us.wait.max", 1, "\"times_us.wait.max\" is not the largest"},
        {"times_us.wait.sum", 1, "\"times_us.wait.sum\" is not what"},
        {"times_us.wait.sum", INT64_MAX, "\"times_us.wait.sum\" is not what"},
        {"times_us.wait.clamped", 102, "\"times_us.wait.clamped\" must be"},
    };
    json_t *whole = full_json();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused_with(whole, wrong[i].path, json_integer(wrong[i].number), wrong[i].what);
    json_decref(whole);
}

static void each_string_that_does_not_do_is_named(void **state)
{
    (void)state;
    static const char long_text[] =
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890"
        "123456789012345678901234567890123456789012345678";
    static const struct {
        const char *path, *text, *what;
    } wrong[] = {
        {"format", "vegeta", "\"format\" must be \"rivulet-result\""},
        {"format", "rivulet-sweep", "\"format\" is \"rivulet-sweep\": each of its \"rows\""},
        {"end", "happily", "\"end\" must be \"done\""},
        {"plan.seed", "-1", "\"plan.seed\" must be a string of digits"},
        {"plan.seed", "18446744073709551616", "\"plan.seed\" must be a string of digits"},
        {"server_software", long_text, "\"server_software\" must not have more than 127 octets"},
        {"evidence.kernel", long_text, "\"evidence.kernel\" must not have more than 63 octets"},
        {"times_us.wait.sum_squares", "", "\"times_us.wait.sum_squares\" must be a string of"},
        {"times_us.wait.sum_squares", "12a", "\"times_us.wait.sum_squares\" must be a string of"},
        {"times_us.wait.sum_squares", "340282366920938463463374607431768211456",
         "\"times_us.wait.sum_squares\" must be a string of"},
        {"times_us.wait.sum_squares", "1", "\"times_us.wait.sum_squares\" does not go with"},
        {"times_us.wait.sum_squares", "340282366920938463463374607431768211455",
         "\"times_us.wait.sum_squares\" does not go with"},
        {"times_us.wait.hdr", "HIST", "\"times_us.wait.hdr\" cannot be read: it is no HdrHist"},
        {"times_us.wait.hdr", "?", "\"times_us.wait.hdr\" cannot be read: the histogram is not in"},
    };
    json_t *whole = full_json();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused_with(whole, wrong[i].path, json_string(wrong[i].text), wrong[i].what);
    json_decref(whole);
}

static void a_histogram_of_other_digits_is_refused(void **state)
{
    (void)state;
    json_t *whole = full_json();
    struct rv_hist other;
    assert_int_equal(rv_hist_init(&other, 2, RV_HIST_HOUR_US), 0);
    char *text = rv_hist_encode(&other);
    assert_refused_with(whole, "times_us.total.2xx.hdr", json_string(text),
                        "\"times_us.total.2xx.hdr\" must have 3 digits");
    free(text);
    rv_hist_free(&other);
    json_decref(whole);
}

static void wrong_elements_of_arrays_are_named(void **state)
{
    (void)state;
    json_t *whole = full_json();
    json_t *copy = json_deep_copy(whole);
    json_object_set_new(json_array_get(json_object_get(copy, "series"), 1), "p50_us",
                        json_integer(-1));
    assert_refused(copy, "\"series[1].p50_us\" must be");
    json_array_set_new(json_object_get(copy, "series"), 0, json_integer(3));
    assert_refused(copy, "\"series[0]\" must be an object");
    json_decref(copy);
    copy = json_deep_copy(whole);
    json_object_del(json_array_get(json_object_get(copy, "samples"), 2), "status");
    assert_refused(copy, "\"samples[2].status\" is missing");
    json_decref(copy);
    copy = json_deep_copy(whole);
    json_t *threads = value_at(copy, "evidence.thread_cpu_us");
    json_array_set_new(threads, 5, json_string("5"));
    assert_refused(copy, "\"evidence.thread_cpu_us[5]\" must be a whole number");
    json_decref(copy);
    json_decref(whole);
}

static void arrays_that_are_too_long_are_refused(void **state)
{
    (void)state;
    json_t *whole = full_json();
    json_array_append_new(value_at(whole, "evidence.thread_cpu_us"), json_integer(1));
    assert_refused(whole, "\"evidence.thread_cpu_us\" must not have more than 256 elements");
    json_decref(whole);

    whole = full_json();
    json_t *series = json_object_get(whole, "series");
    while (json_array_size(series) <= RV_LOAD_SERIES_MAX)
        json_array_append(series, json_array_get(series, 0));
    assert_refused(whole, "\"series\" must not have more than 512 elements");
    json_decref(whole);

    whole = full_json();
    json_t *errnos = value_at(whole, "failures.wait_reset.errnos");
    for (int i = 600; i < 600 + RV_LOAD_ERRNOS_MAX; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        json_object_set_new(errnos, number, json_integer(1));
    }
    assert_refused(whole, "is one errno too many: there are 32 at most");
    json_decref(whole);
}

/* Names of members end on a terminal. */
static void names_are_shown_without_control_characters_and_not_in_full_length(void **state)
{
    (void)state;
    json_t *whole = full_json();
    json_t *failures = json_object_get(whole, "failures");
    json_object_clear(failures);
    json_object_set_new(failures, "\x1b[2 J\x7f\xc3\xa4", json_integer(1));
    assert_refused(whole, "\"failures.?[2 J???\" is no failure");
    json_object_clear(failures);
    char name[3000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    json_object_set_new(failures, name, json_integer(1));
    assert_refused(whole, "nnn\" is no failure");
    json_decref(whole);
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    json_t *array = json_array();
    assert_refused(array, "it is no JSON object");
    assert_refused(NULL, "it is no JSON object");
    json_t *object = json_object();
    assert_refused(object, "\"format\" is missing");
    json_decref(object);
    json_decref(array);
}

static void members_that_are_not_known_are_passed_over(void **state)
{
    (void)state;
    json_t *whole = full_json();
    json_object_set_new(whole, "weather", json_string("fine"));
    json_object_set_new(json_object_get(whole, "plan"), "mood", json_null());
    free_result(read_json(whole));
    json_decref(whole);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/rivulet-test-json-XXXXXX";
static char path[sizeof folder + 32];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/result.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* As `rivulet report` reads a file. */
static rv_error load_result(const char *from, struct rv_load_result *result, char *why)
{
    json_t *object = NULL;
    rv_error error = rv_json_load(from, &object, why);
    if (error == 0)
        error = rv_result_of(object, from, result, why);
    json_decref(object);
    return error;
}

static void assert_not_loaded(const char *from, rv_error error, const char *what)
{
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    assert_int_equal(load_result(from, result, why), error);
    if (strstr(why, what) == NULL || (from[0] != '-' && strstr(why, from) == NULL))
        fail_msg("\"%s\" does not say \"%s\" of %s", why, what, from);
    free(result);
}

static void a_result_comes_back_from_a_file(void **state)
{
    (void)state;
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_load_result *result = full_result();
    struct rv_load_result *back = malloc(sizeof *back);
    for (int i = 0; i < 2; i++) { /* the second time the file is there */
        assert_int_equal(rv_result_save(path, result, why), 0);
        assert_int_equal(load_result(path, back, why), 0);
        assert_same(result, back);
        rv_load_result_free(back);
    }
    free(back);
    free_result(result);
}

static void a_file_that_cannot_be_opened_is_named(void **state)
{
    (void)state;
    assert_not_loaded("/nowhere/result.json", RV_EIO, "cannot open");
    assert_not_loaded("/nowhere/result.json", RV_EIO, "No such file");
    assert_not_loaded("/tmp", RV_EIO, "cannot read /tmp: Is a directory");
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_load_result *result = full_result();
    assert_int_equal(rv_result_save("/nowhere/result.json", result, why), RV_EIO);
    assert_string_equal(why, "cannot write /nowhere/result.json: No such file or directory");
    assert_int_equal(rv_result_save("/dev/full", result, why), RV_EIO);
    assert_string_equal(why, "cannot write /dev/full: No space left on device");
    free_result(result);
}

static void a_file_that_is_no_result_is_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } wrong[] = {
        {"", "is no JSON: line 1, column 0"},
        {"hello", "is no JSON: line 1, column 5"},
        {"{\n\"format\": \n", "is no JSON: line 3, column 0"},
        {"{} {}", "is no JSON: line 1"},
        {"{\"a\": 1, \"a\": 1}", "is no JSON: line 1"},
        {"[]", "is no result of rivulet: it is no JSON object"},
        {"{}", "is no result of rivulet: \"format\" is missing"},
        {"{\"format\": \"other\"}", "is no result of rivulet: \"format\" must be"},
        {"{\"format\": \"\xff\"}", "is no JSON: line 1"},
        {"{\"format\": \"a\\u0000b\"}", "is no JSON: line 1"},
        {"{\"port\": 99999999999999999999999999}", "is no JSON: line 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(wrong[i].text, strlen(wrong[i].text));
        assert_not_loaded(path, RV_EINVAL, wrong[i].what);
    }
}

static void brackets_without_end_are_refused(void **state)
{
    (void)state;
    static char brackets[1000000];
    memset(brackets, '[', sizeof brackets);
    write_file(brackets, sizeof brackets);
    assert_not_loaded(path, RV_EINVAL, "is no JSON");
}

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    json_t *whole = full_json();
    char *text = json_dumps(whole, JSON_COMPACT);
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length; cut += 499) {
        write_file(text, cut);
        assert_not_loaded(path, RV_EINVAL, "is no JSON");
    }
    free(text);
    json_decref(whole);
}

/* One octet in a thousand is another one: it is read or refused, and if read it can be written. */
static void a_file_with_octets_changed_does_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 3;
    char why[RV_REPORT_WHY_MAX];
    struct rv_load_result *source = empty_result();
    rv_hist_record_many(&source->total[2], 5, 7);
    json_t *whole = json_of(source);
    char *text = json_dumps(whole, JSON_COMPACT);
    size_t length = strlen(text);
    struct rv_load_result *result = malloc(sizeof *result);
    for (int i = 0; i < 300; i++) {
        char *changed = strdup(text);
        for (uint64_t n = random_below(&seed, 4) + 1; n > 0; n--)
            changed[random_below(&seed, length)] = (char)random_next(&seed);
        json_t *object = json_loadb(changed, length, 0, NULL);
        if (object != NULL && rv_result_from_json(object, result, why) == 0) {
            json_t *again = json_of(result);
            json_decref(again);
            rv_load_result_free(result);
        }
        json_decref(object);
        free(changed);
    }
    free(result);
    free(text);
    json_decref(whole);
    free_result(source);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static long allocations_before; /* of jansson's, until one fails */

static void *failing_malloc(size_t size)
{
    return allocations_before-- == 0 ? NULL : malloc(size);
}

/* What jansson needs, that is; the fuzz targets let the rest run out. */
static void memory_that_is_missing_once_makes_no_document(void **state)
{
    (void)state;
    struct rv_load_result *result = full_result();
    result->sample_count = 1;
    strcpy(result->server_software, "rivulet");
    strcpy(result->first_head, "HTTP/1.1 200 OK");
    allocations_before = LONG_MAX;
    json_set_alloc_funcs(failing_malloc, free);
    json_decref(json_of(result));
    long needed = LONG_MAX - allocations_before;
    assert_true(needed > 1000);
    for (long i = 0; i < needed; i += i < 400 ? 1 : 29) {
        allocations_before = i;
        assert_null(rv_result_to_json(result));
    }
    json_set_alloc_funcs(malloc, free);
    free_result(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_a_result_comes_back),
        cmocka_unit_test(a_result_of_nothing_comes_back),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(all_bits_of_a_seed_and_of_a_rate_come_back),
        cmocka_unit_test(a_small_deviation_of_large_times_comes_back),
        cmocka_unit_test(histograms_of_one_value_come_back),
        cmocka_unit_test(a_file_from_before_tls_is_read),
        cmocka_unit_test(octets_that_are_no_utf_8_become_question_marks),
        cmocka_unit_test(members_stand_in_the_order_of_the_document),
        cmocka_unit_test(figures_of_a_histogram_stand_beside_it),
        cmocka_unit_test(each_member_that_is_missing_or_of_a_wrong_type_is_named),
        cmocka_unit_test(each_number_out_of_range_is_named),
        cmocka_unit_test(each_string_that_does_not_do_is_named),
        cmocka_unit_test(a_histogram_of_other_digits_is_refused),
        cmocka_unit_test(wrong_elements_of_arrays_are_named),
        cmocka_unit_test(arrays_that_are_too_long_are_refused),
        cmocka_unit_test(names_are_shown_without_control_characters_and_not_in_full_length),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(members_that_are_not_known_are_passed_over),
        cmocka_unit_test(a_result_comes_back_from_a_file),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_named),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(a_file_that_is_no_result_is_refused_with_the_place),
        cmocka_unit_test(brackets_without_end_are_refused),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_file_with_octets_changed_does_no_harm),
        cmocka_unit_test(memory_that_is_missing_once_makes_no_document),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
