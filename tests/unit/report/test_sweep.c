/*
 * The reports of a sweep: titles, capped rows, medians and their spread, listen queues side by side, and
 * the forms for other programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/sweep.h"
#include "support/memory_file.h"

#define SERVER "10 server threads"

static struct rv_sweep_row row_of(enum rv_sweep_kind kind, uint32_t backlog, uint32_t clients,
                                  uint64_t bytes, double rate)
{
    struct rv_sweep_row row = {
        .kind = kind,
        .backlog = backlog,
        .clients = clients,
        .bytes = bytes,
        .requests = 1000,
        .figures = {1000, 0, rate, 1000 / rate, rate / 10},
        .p50_ms = 1.25,
        .p99_ms = 20.04,
        .max_ms = 1032.1,
        .overflows = 12,
        .drops = 12,
    };
    rv_cherrypy_round(&row.figures);
    return row;
}

static void add(struct rv_sweep *sweep, struct rv_sweep_row row)
{
    assert_int_equal(rv_sweep_add(sweep, &row), 0);
}

static char *report(const struct rv_sweep *sweep, enum rv_sweep_kind kind, uint32_t backlog)
{
    struct memory_file memory;
    assert_int_equal(rv_sweep_write_report(sweep, kind, backlog, memory_file_open(&memory)), 0);
    return memory_file_text(&memory);
}

/* Without what the columns mean, which stands below the last table. */
static char *comparison(const struct rv_sweep *sweep)
{
    struct memory_file memory;
    assert_int_equal(rv_sweep_write_comparison(sweep, memory_file_open(&memory)), 0);
    char *text = memory_file_text(&memory);
    char *legend = strstr(text, "\nratio: to the first queue.");
    assert_non_null(legend);
    *legend = '\0';
    return text;
}

static void assert_text(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

/* ---- titles ------------------------------------------------------------------------------------------------ */

static void each_kind_has_its_title(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000, .size_clients = 50};
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 5, 10, 14, 800));
    add(&sweep, row_of(RV_SWEEP_STATIC, 5, 10, 14, 500));
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 100, 400));
    assert_text(report(&sweep, RV_SWEEP_DYNAMIC, 5),
                "Client Thread Report (1000 requests, 14 byte response body, 10 server threads):\n"
                "\n"
                "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                "     10 |      1000 |      0 |  800.00 |    1.250 |  80.00 |\n"
                "Average |    1000.0 |    0.0 |   800.0 |     1.25 |   80.0 |\n");
    assert_text(report(&sweep, RV_SWEEP_STATIC, 5),
                "Client Thread Report (1000 requests, 14 bytes via staticdir, 10 server threads):\n"
                "\n"
                "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                "     10 |      1000 |      0 |  500.00 |    2.000 |  50.00 |\n"
                "Average |    1000.0 |    0.0 |   500.0 |      2.0 |   50.0 |\n");
    assert_text(report(&sweep, RV_SWEEP_SIZE, 5),
                "Size Report (1000 requests, 50 client threads, 10 server threads):\n"
                "\n"
                "bytes | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                "  100 |      1000 |      0 |  400.00 |    2.500 |  40.00 |\n");
    rv_sweep_free(&sweep);
}

static void what_is_not_known_is_left_out_of_the_title(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.requests = 10, .mode = "Each request on a new connection."};
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 0, 1, UINT64_MAX, 800));
    char *text = report(&sweep, RV_SWEEP_DYNAMIC, 0);
    const char *title = "Client Thread Report (10 requests):\n"
                        "Each request on a new connection.\n"
                        "\n";
    assert_memory_equal(text, title, strlen(title));
    free(text);
    rv_sweep_free(&sweep);
}

static void a_kind_or_a_queue_without_rows_is_no_report(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 5, 10, 14, 800));
    assert_text(report(&sweep, RV_SWEEP_STATIC, 5), "");
    assert_text(report(&sweep, RV_SWEEP_DYNAMIC, 128), "");
    rv_sweep_free(&sweep);
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static void a_capped_row_says_so(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000, .size_clients = 50};
    struct rv_sweep_row capped = row_of(RV_SWEEP_SIZE, 5, 50, 100000000, 20);
    capped.capped = true;
    capped.requests = capped.figures.completed = 50;
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 10, 400));
    add(&sweep, capped);
    assert_text(report(&sweep, RV_SWEEP_SIZE, 5),
                "Size Report (1000 requests, 50 client threads, 10 server threads):\n"
                "\n"
                "    bytes | Completed | Failed | req/sec | msec/req | KB/sec |"
                "              capped |\n"
                "       10 |      1000 |      0 |  400.00 |    2.500 |  40.00 |"
                "                  no |\n"
                "100000000 |        50 |      0 |   20.00 |   50.000 |   2.00 |"
                " 50 of 1000 requests |\n");
    rv_sweep_free(&sweep);
}

static void repeated_runs_are_medians_with_their_spread(void **state)
{
    (void)state;
    static const double rates[] = {700, 100, 800, 400};
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    for (uint32_t i = 0; i < 3; i++) {
        struct rv_sweep_row row = row_of(RV_SWEEP_DYNAMIC, 5, 10, 14, rates[i]);
        row.repeat = i;
        row.figures.failed = i;
        add(&sweep, row);
    }
    assert_text(
        report(&sweep, RV_SWEEP_DYNAMIC, 5),
        "Client Thread Report (1000 requests, 14 byte response body, 10 server threads):\n"
        "\n"
        "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
        "     10 |      1000 |      1 |  700.00 |    1.429 |  70.00 |\n"
        "Average |    1000.0 |    1.0 |   700.0 |    1.429 |   70.0 |\n"
        "\n"
        "Medians of 3 runs of each row. Their spread:\n"
        "\n"
        "threads | Failed min…max | req/sec min…max | msec/req min…max | KB/sec min…max |\n"
        "     10 |            0…2 |   100.00…800.00 |     1.250…10.000 |    10.00…80.00 |\n");
    struct rv_sweep_row fourth = row_of(RV_SWEEP_DYNAMIC, 5, 10, 14, rates[3]);
    fourth.repeat = 3;
    add(&sweep, fourth);
    char *text = report(&sweep, RV_SWEEP_DYNAMIC, 5);
    assert_non_null(strstr(text, " 550.00 |")); /* halfway between 400 and 700 */
    free(text);
    rv_sweep_free(&sweep);
}

static void a_row_says_why_its_requests_failed(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    struct rv_sweep_row row = row_of(RV_SWEEP_DYNAMIC, 5, 10, UINT64_MAX, 800);
    struct rv_load_result result;
    assert_int_equal(rv_load_result_init(&result), 0);
    result.elapsed_us = 1000000;
    result.answered = 90;
    result.statuses[200] = 80;
    result.statuses[404] = 7;
    result.statuses[503] = 3;
    result.first_content = 14;
    result.failed = result.failures[RV_FAILURE_CONNECT_REFUSED] = 10;
    rv_hist_record_many(&result.total[2], 2000, 80);
    rv_sweep_row_take(&row, &result);
    assert_int_equal(row.bytes, 14);
    assert_int_equal(row.figures.completed, 80);
    assert_int_equal(row.figures.failed, 20);
    assert_true(row.p50_ms == 2.0 && row.max_ms == 2.0);
    assert_true(isnan(row.overflows)); /* nobody has looked */
    assert_string_equal(row.causes, "10 connection refused, 7 status 404, 3 status 503");
    add(&sweep, row);
    char *text = report(&sweep, RV_SWEEP_DYNAMIC, 5);
    assert_non_null(strstr(text, "\nFailed, 10 threads: 10 connection refused, 7 status 404, "
                                 "3 status 503\n"));
    free(text);
    rv_load_result_free(&result);
    rv_sweep_free(&sweep);
}

static void a_row_that_was_broken_off_says_so(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    struct rv_sweep_row row = row_of(RV_SWEEP_SIZE, 5, 50, 100, 800);
    row.figures.completed = 900;
    row.figures.failed = 99;
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 10, 800));
    add(&sweep, row);
    char *text = report(&sweep, RV_SWEEP_SIZE, 5);
    assert_null(strstr(text, "Broken off, 10 bytes"));
    assert_non_null(strstr(text, "\nBroken off, 100 bytes: 999 of 1000 requests ended\n"));
    free(text);
    rv_sweep_free(&sweep);
}

static void more_causes_than_there_is_room_for_are_cut(void **state)
{
    (void)state;
    struct rv_sweep_row row = {0};
    struct rv_load_result result;
    assert_int_equal(rv_load_result_init(&result), 0);
    for (int status = 400; status < 600; status++)
        result.statuses[status] = 1;
    rv_sweep_row_take(&row, &result);
    assert_int_equal(strlen(row.causes), RV_SWEEP_CAUSES_MAX - 1);
    rv_load_result_free(&result);
}

/* ---- side by side -------------------------------------------------------------------------------------------- */

static void two_queues_stand_side_by_side_with_their_ratio(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000, .mode = "How."};
    struct rv_sweep_row better = row_of(RV_SWEEP_DYNAMIC, 128, 50, 14, 1600);
    better.max_ms = 59;
    better.overflows = 0;
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 5, 50, 14, 800));
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 100, 400));
    add(&sweep, better);
    add(&sweep, row_of(RV_SWEEP_SIZE, 128, 50, 100, 100));
    assert_text(
        comparison(&sweep),
        "Listen queue of 5 against 128, dynamic:\n"
        "How.\n"
        "\n"
        "threads | req/sec 5 |     128 | ratio | p50 ms 5 | 128 | p99 ms 5 |  128 | max ms 5 |"
        "  128 | overflows 5 | 128 |\n"
        "     50 |    800.00 | 1600.00 |  2.00 |      1.2 | 1.2 |     20.0 | 20.0 |   1032.1 |"
        " 59.0 |          12 |   0 |\n"
        "\n"
        "Listen queue of 5 against 128, size:\n"
        "How.\n"
        "\n"
        "bytes | req/sec 5 |    128 | ratio | p50 ms 5 | 128 | p99 ms 5 |  128 | max ms 5 |"
        "    128 | overflows 5 | 128 |\n"
        "  100 |    400.00 | 100.00 |  0.25 |      1.2 | 1.2 |     20.0 | 20.0 |   1032.1 |"
        " 1032.1 |          12 |  12 |\n");
    rv_sweep_free(&sweep);
}

static void failures_have_a_column_only_when_there_are_some(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    struct rv_sweep_row worse = row_of(RV_SWEEP_DYNAMIC, 5, 50, 14, 800);
    worse.figures.failed = 3;
    worse.p50_ms = worse.p99_ms = worse.max_ms = worse.overflows = NAN;
    add(&sweep, worse);
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 128, 50, 14, 800));
    assert_text(
        comparison(&sweep),
        "Listen queue of 5 against 128, dynamic:\n"
        "\n"
        "threads | req/sec 5 |    128 | ratio | Failed 5 | 128 | p50 ms 5 | 128 | p99 ms 5 |"
        "  128 | max ms 5 |    128 | overflows 5 | 128 |\n"
        "     50 |    800.00 | 800.00 |  1.00 |        3 |   0 |        - | 1.2 |        - |"
        " 20.0 |        - | 1032.1 |           - |  12 |\n");
    rv_sweep_free(&sweep);
}

static void three_queues_are_compared_with_the_first(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.server = SERVER, .requests = 1000};
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 5, 50, 14, 100));
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 64, 50, 14, 200));
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 128, 50, 14, 300));
    char *text = comparison(&sweep);
    assert_non_null(strstr(text, "Listen queue of 5 against 64, 128, dynamic:"));
    assert_non_null(strstr(text, "| req/sec 5 |     64 |    128 | ratio 64 | ratio 128 |"));
    assert_non_null(strstr(text, "|    100.00 | 200.00 | 300.00 |     2.00 |      3.00 |"));
    free(text);
    rv_sweep_free(&sweep);
}

/* ---- for other programs ---------------------------------------------------------------------------------------- */

static void csv_has_a_line_for_each_run_and_nothing_for_the_unknown(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.requests = 1000};
    struct rv_sweep_row unknown = row_of(RV_SWEEP_DYNAMIC, 0, 50, UINT64_MAX, 800);
    unknown.p50_ms = unknown.p99_ms = unknown.max_ms = unknown.overflows = unknown.drops = NAN;
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 100, 400));
    add(&sweep, unknown);
    struct memory_file memory;
    assert_int_equal(rv_sweep_write_csv(&sweep, memory_file_open(&memory)), 0);
    assert_text(memory_file_text(&memory),
                "report,backlog,repeat,clients,bytes,requests,completed,failed,"
                "requests_per_s,ms_per_request,kib_per_s,p50_ms,p99_ms,max_ms,"
                "listen_overflows,listen_drops\n"
                "size,5,1,50,100,1000,1000,0,400.00,2.500,40.00,1.250,20.040,1032.100,12,12\n"
                "dynamic,,1,50,,1000,1000,0,800.00,1.250,80.00,,,,,\n");
    rv_sweep_free(&sweep);
}

static void json_holds_every_run_with_its_result(void **state)
{
    (void)state;
    struct rv_sweep sweep = {.command = "rivulet sweep", .server = SERVER, .requests = 1000};
    struct rv_sweep_row row = row_of(RV_SWEEP_SIZE, 5, 50, 100, 400);
    row.result = json_pack("{s:i}", "answered", 1000);
    add(&sweep, row);
    struct rv_sweep_row bare = row_of(RV_SWEEP_DYNAMIC, 0, 10, UINT64_MAX, 400);
    bare.p50_ms = NAN;
    add(&sweep, bare);
    json_t *json = rv_sweep_to_json(&sweep);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "format")), "rivulet-sweep");
    assert_int_equal(json_integer_value(json_object_get(json, "version")), 1);
    json_t *rows = json_object_get(json, "rows");
    assert_int_equal(json_array_size(rows), 2);
    const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    assert_string_equal(json_string_value(json_object_get(first, "report")), "size");
    assert_int_equal(json_integer_value(json_object_get(first, "listen_overflows")), 12);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(first, "result"), "answered")), 1000);
    assert_true(json_is_null(json_object_get(second, "backlog")));
    assert_true(json_is_null(json_object_get(second, "bytes")));
    assert_true(json_is_null(json_object_get(second, "p50_ms")));
    assert_null(json_object_get(second, "result"));
    json_decref(json);
    rv_sweep_free(&sweep);
}

static void what_was_saved_reads_as_it_was(void **state)
{
    (void)state;
    char why[RV_REPORT_WHY_MAX] = "";
    struct rv_sweep sweep = {.command = "rivulet sweep",
                             .server = SERVER,
                             .mode = "How.",
                             .requests = 1000,
                             .size_clients = 50};
    struct rv_sweep_row odd = row_of(RV_SWEEP_SIZE, 128, 50, 1000000000000, 100);
    odd.capped = true;
    odd.figures.failed = 3;
    odd.figures.ms_per_request = odd.p50_ms = NAN;
    strcpy(odd.causes, "3 status 503");
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 5, 50, UINT64_MAX, 800));
    add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 1000000000000, 400));
    add(&sweep, row_of(RV_SWEEP_DYNAMIC, 128, 50, UINT64_MAX, 800));
    add(&sweep, odd);
    json_t *json = rv_sweep_to_json(&sweep);
    struct rv_sweep back;
    if (rv_sweep_from_json(json, &back, why) != 0)
        fail_msg("%s", why);
    json_t *again = rv_sweep_to_json(&back);
    assert_true(json_equal(json, again));
    char *texts[2];
    const struct rv_sweep *both[] = {&sweep, &back};
    for (size_t i = 0; i < 2; i++) {
        struct memory_file memory;
        assert_int_equal(rv_sweep_write_text(both[i], memory_file_open(&memory)), 0);
        texts[i] = memory_file_text(&memory);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_non_null(strstr(texts[0], "Listen queue of 128:\n\nClient Thread Report"));
    assert_non_null(strstr(texts[0], "Listen queue of 5 against 128, size:"));
    free(texts[0]);
    free(texts[1]);
    json_decref(json);
    json_decref(again);
    rv_sweep_free(&sweep);
    rv_sweep_free(&back);
}

static void what_is_wrong_in_a_file_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *member; /* of the row, or of the whole */
        const char *value;  /* JSON in its place; NULL: it is missing */
        bool of_row;
    } cases[] = {
        {"format", "\"rivulet-result\"", false},
        {"format", NULL, false},
        {"version", "2", false},
        {"server", "7", false},
        {"requests", "-1", false},
        {"rows", "{}", false},
        {"rows", NULL, false},
        {"rows", "[1]", false},
        {"report", "\"other\"", true},
        {"report", NULL, true},
        {"backlog", "4294967296", true},
        {"repeat", "0", true},
        {"clients", "\"5\"", true},
        {"bytes", "-5", true},
        {"capped", "1", true},
        {"completed", "1.5", true},
        {"kib_per_s", "\"x\"", true},
        {"p99_ms", NULL, true},
        {"causes", "[]", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[RV_REPORT_WHY_MAX] = "";
        struct rv_sweep sweep = {.server = SERVER, .requests = 1000}, back;
        add(&sweep, row_of(RV_SWEEP_SIZE, 5, 50, 100, 400));
        json_t *json = rv_sweep_to_json(&sweep);
        json_t *object = cases[i].of_row ? json_array_get(json_object_get(json, "rows"), 0) : json;
        if (cases[i].value == NULL)
            json_object_del(object, cases[i].member);
        else
            json_object_set_new(object, cases[i].member,
                                json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        assert_int_equal(rv_sweep_from_json(json, &back, why), RV_EINVAL);
        if (strstr(why, cases[i].member) == NULL)
            fail_msg("%s is not in: %s", cases[i].member, why);
        json_decref(json);
        rv_sweep_free(&sweep);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_title),
        cmocka_unit_test(what_is_not_known_is_left_out_of_the_title),
        cmocka_unit_test(a_kind_or_a_queue_without_rows_is_no_report),
        cmocka_unit_test(a_capped_row_says_so),
        cmocka_unit_test(repeated_runs_are_medians_with_their_spread),
        cmocka_unit_test(a_row_says_why_its_requests_failed),
        cmocka_unit_test(a_row_that_was_broken_off_says_so),
        cmocka_unit_test(more_causes_than_there_is_room_for_are_cut),
        cmocka_unit_test(two_queues_stand_side_by_side_with_their_ratio),
        cmocka_unit_test(failures_have_a_column_only_when_there_are_some),
        cmocka_unit_test(three_queues_are_compared_with_the_first),
        cmocka_unit_test(csv_has_a_line_for_each_run_and_nothing_for_the_unknown),
        cmocka_unit_test(json_holds_every_run_with_its_result),
        cmocka_unit_test(what_was_saved_reads_as_it_was),
        cmocka_unit_test(what_is_wrong_in_a_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
