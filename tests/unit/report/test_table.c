/*
 * Tables in the form of CherryPy's benchmark: the two thread reports and the size report that it printed
 * in 2007, again from their numbers; cells of every width; averages; the row of a result.
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
#include "report/table.h"
#include "support/memory_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The table as a string that the caller frees. */
static char *written(const struct rv_table *table)
{
    struct memory_file memory;
    assert_int_equal(rv_table_write(table, memory_file_open(&memory)), 0);
    return memory_file_text(&memory);
}

struct labelled {
    const char *label;
    struct rv_cherrypy_row row;
};

static void assert_table(const char *first, const struct labelled *lines, size_t count,
                         bool has_average, const char *expected)
{
    struct rv_table table = {.columns = 1 + RV_CHERRYPY_COLUMNS};
    struct rv_cherrypy_row rows[8];
    assert_true(count <= COUNT(rows));
    rv_table_cell(&table, "%s", first);
    rv_cherrypy_header_cells(&table);
    for (size_t i = 0; i < count; i++) {
        rows[i] = lines[i].row;
        rv_table_cell(&table, "%s", lines[i].label);
        rv_cherrypy_cells(&table, &rows[i]);
    }
    if (has_average)
        rv_cherrypy_average_cells(&table, rows, count);
    char *text = written(&table);
    assert_string_equal(text, expected);
    free(text);
    rv_table_free(&table);
}

/* ---- the reports of 2007 -------------------------------------------------------------------------------- */

static void the_thread_report_on_the_dynamic_page_is_as_it_was(void **state)
{
    (void)state;
    static const struct labelled lines[] = {
        {"10", {1000, 0, 736.81, 1.357, 119.36}}, {"20", {1000, 0, 436.07, 2.293, 70.64}},
        {"30", {1000, 0, 348.38, 2.870, 56.44}},  {"40", {1000, 0, 233.10, 4.290, 37.76}},
        {"50", {1000, 0, 296.77, 3.370, 48.08}},
    };
    assert_table("threads", lines, COUNT(lines), true,
                 "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                 "     10 |      1000 |      0 |  736.81 |    1.357 | 119.36 |\n"
                 "     20 |      1000 |      0 |  436.07 |    2.293 |  70.64 |\n"
                 "     30 |      1000 |      0 |  348.38 |    2.870 |  56.44 |\n"
                 "     40 |      1000 |      0 |  233.10 |    4.290 |  37.76 |\n"
                 "     50 |      1000 |      0 |  296.77 |    3.370 |  48.08 |\n"
                 "Average |    1000.0 |    0.0 | 410.226 |    2.836 | 66.456 |\n");
}

/* Its average row has a cell that is wider than those above it, and one with four places. */
static void the_thread_report_with_a_longer_queue_is_as_it_was(void **state)
{
    (void)state;
    static const struct labelled lines[] = {
        {"10", {1000, 0, 745.38, 1.342, 120.75}}, {"20", {1000, 0, 772.32, 1.295, 125.12}},
        {"30", {1000, 0, 654.11, 1.529, 105.97}}, {"40", {1000, 0, 929.02, 1.076, 150.50}},
        {"50", {1000, 0, 641.03, 1.560, 103.85}},
    };
    assert_table("threads", lines, COUNT(lines), true,
                 "threads | Completed | Failed | req/sec | msec/req |  KB/sec |\n"
                 "     10 |      1000 |      0 |  745.38 |    1.342 |  120.75 |\n"
                 "     20 |      1000 |      0 |  772.32 |    1.295 |  125.12 |\n"
                 "     30 |      1000 |      0 |  654.11 |    1.529 |  105.97 |\n"
                 "     40 |      1000 |      0 |  929.02 |    1.076 |  150.50 |\n"
                 "     50 |      1000 |      0 |  641.03 |    1.560 |  103.85 |\n"
                 "Average |    1000.0 |    0.0 | 748.372 |   1.3604 | 121.238 |\n");
}

static void the_size_report_is_as_it_was(void **state)
{
    (void)state;
    static const struct labelled lines[] = {
        {"10", {1000, 0, 187.98, 5.320, 29.70}},
        {"100", {1000, 0, 207.45, 4.820, 51.45}},
        {"1000", {1000, 0, 186.89, 5.351, 210.81}},
        {"10000", {1000, 0, 228.12, 4.384, 2262.07}},
        {"100000", {1000, 0, 245.60, 4.072, 24022.01}},
        {"100000000", {1000, 10, 20.83, 48.001, 20358.12}},
    };
    assert_table("bytes", lines, COUNT(lines), false,
                 "    bytes | Completed | Failed | req/sec | msec/req |   KB/sec |\n"
                 "       10 |      1000 |      0 |  187.98 |    5.320 |    29.70 |\n"
                 "      100 |      1000 |      0 |  207.45 |    4.820 |    51.45 |\n"
                 "     1000 |      1000 |      0 |  186.89 |    5.351 |   210.81 |\n"
                 "    10000 |      1000 |      0 |  228.12 |    4.384 |  2262.07 |\n"
                 "   100000 |      1000 |      0 |  245.60 |    4.072 | 24022.01 |\n"
                 "100000000 |      1000 |     10 |   20.83 |   48.001 | 20358.12 |\n");
}

/* ---- cells ------------------------------------------------------------------------------------------------ */

static void counts_and_rates_beyond_32_bits_are_whole(void **state)
{
    (void)state;
    static const struct labelled lines[] = {
        {"1", {5000000000, 4294967297, 123456789.12, 0.001, 9876543210.99}},
    };
    assert_table("threads", lines, COUNT(lines), false,
                 "threads |  Completed |     Failed |      req/sec | msec/req |        KB/sec |\n"
                 "      1 | 5000000000 | 4294967297 | 123456789.12 |    0.001 | 9876543210.99 |\n");
}

static void what_is_not_known_is_a_dash_and_in_no_average(void **state)
{
    (void)state;
    static const struct labelled lines[] = {
        {"1", {0, 10, 0.0, NAN, 1.5}},
        {"2", {10, 0, 20.0, 50.0, 2.5}},
    };
    assert_table("threads", lines, COUNT(lines), true,
                 "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                 "      1 |         0 |     10 |    0.00 |        - |   1.50 |\n"
                 "      2 |        10 |      0 |   20.00 |   50.000 |   2.50 |\n"
                 "Average |       5.0 |    5.0 |    10.0 |     50.0 |    2.0 |\n");
}

static void an_average_of_nothing_is_a_dash(void **state)
{
    (void)state;
    static const struct labelled lines[] = {{"1", {0, 1, NAN, NAN, NAN}}};
    assert_table("threads", lines, COUNT(lines), true,
                 "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                 "      1 |         0 |      1 |       - |        - |      - |\n"
                 "Average |       0.0 |    1.0 |       - |        - |      - |\n");
}

static void a_column_counts_characters_and_not_octets(void **state)
{
    (void)state;
    struct rv_table table = {.columns = 2};
    const char *cells[] = {"a", "bc", "1…2", "", "…", "1234"};
    for (size_t i = 0; i < COUNT(cells); i++)
        rv_table_cell(&table, "%s", cells[i]);
    char *text = written(&table);
    assert_string_equal(text, "  a |   bc |\n"
                              "1…2 |      |\n"
                              "  … | 1234 |\n");
    free(text);
    rv_table_free(&table);
}

static void a_file_that_takes_nothing_is_an_error(void **state)
{
    (void)state;
    struct rv_table table = {.columns = 1};
    rv_table_cell(&table, "x");
    FILE *file = fopen("/dev/full", "w");
    assert_non_null(file);
    setvbuf(file, NULL, _IONBF, 0);
    assert_int_equal(rv_table_write(&table, file), RV_EIO);
    fclose(file);
    rv_table_free(&table);
}

static void a_short_float_has_twelve_digits_and_a_point(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {1000, "1000.0"},
        {410.226, "410.226"},
        {1.3604, "1.3604"},
        {1.0 / 3, "0.333333333333"},
        {200.0 / 3, "66.6666666667"},
        {0.00001, "0.000010000000000"},
        {123456789012.0, "123456789012.0"},
        {1234567890123456.0, "1234567890123456.0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[RV_SHORT_FLOAT_MAX];
        rv_short_float(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    char longest[RV_SHORT_FLOAT_MAX];
    rv_short_float(-1.7e308, longest);
    assert_true(strlen(longest) < RV_SHORT_FLOAT_MAX);
    assert_non_null(strchr(longest, '.'));
}

/* ---- the row of a result ------------------------------------------------------------------------------------- */

static int make_result(void **state)
{
    struct rv_load_result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    assert_int_equal(rv_load_result_init(result), 0);
    result->clients = 50;
    result->elapsed_us = 2000000;
    *state = result;
    return 0;
}

static int free_result(void **state)
{
    rv_load_result_free(*state);
    free(*state);
    return 0;
}

static void a_row_divides_by_the_time_of_the_whole_run(void **state)
{
    struct rv_load_result *result = *state;
    result->answered = 1000;
    result->statuses[200] = 1000;
    result->received_octets = 166000;
    struct rv_cherrypy_row row = rv_cherrypy_row_of(result);
    assert_int_equal(row.completed, 1000);
    assert_int_equal(row.failed, 0);
    assert_true(row.requests_per_s == 500.0);
    assert_true(row.ms_per_request == 2.0);
    assert_true(row.kib_per_s == 81.05);
}

static void answers_with_an_error_status_are_failed_and_no_rate(void **state)
{
    struct rv_load_result *result = *state;
    result->answered = 1000;
    result->statuses[200] = 300;
    result->statuses[304] = 100;
    result->statuses[404] = 500;
    result->statuses[503] = 100;
    result->failed = 7;
    struct rv_cherrypy_row row = rv_cherrypy_row_of(result);
    assert_int_equal(row.completed, 400);
    assert_int_equal(row.failed, 607);
    assert_true(row.requests_per_s == 200.0);
    assert_true(row.ms_per_request == 5.0);
}

/* 100 GB in 30 s: more than 32 bits of octets, whole. */
static void a_hundred_gigabytes_are_counted_whole(void **state)
{
    struct rv_load_result *result = *state;
    result->answered = result->statuses[200] = 1000;
    result->elapsed_us = 30000000;
    result->received_octets = UINT64_C(100000000) * 1000;
    struct rv_cherrypy_row row = rv_cherrypy_row_of(result);
    assert_true(row.kib_per_s == 3255208.33);
    assert_true(row.ms_per_request == 30.0);
}

static void a_run_without_time_or_answers_has_no_figures(void **state)
{
    struct rv_load_result *result = *state;
    result->elapsed_us = 0;
    struct rv_cherrypy_row row = rv_cherrypy_row_of(result);
    assert_int_equal(row.completed, 0);
    assert_true(isnan(row.requests_per_s));
    assert_true(isnan(row.ms_per_request));
    assert_true(isnan(row.kib_per_s));
}

static void a_single_result_is_a_header_and_a_row(void **state)
{
    struct rv_load_result *result = *state;
    result->answered = result->statuses[200] = 1000;
    result->received_octets = 166000;
    struct memory_file memory;
    assert_int_equal(rv_report_cherrypy(result, memory_file_open(&memory)), 0);
    char *text = memory_file_text(&memory);
    assert_string_equal(text, "threads | Completed | Failed | req/sec | msec/req | KB/sec |\n"
                              "     50 |      1000 |      0 |  500.00 |    2.000 |  81.05 |\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_report_on_the_dynamic_page_is_as_it_was),
        cmocka_unit_test(the_thread_report_with_a_longer_queue_is_as_it_was),
        cmocka_unit_test(the_size_report_is_as_it_was),
        cmocka_unit_test(counts_and_rates_beyond_32_bits_are_whole),
        cmocka_unit_test(what_is_not_known_is_a_dash_and_in_no_average),
        cmocka_unit_test(an_average_of_nothing_is_a_dash),
        cmocka_unit_test(a_column_counts_characters_and_not_octets),
        cmocka_unit_test(a_file_that_takes_nothing_is_an_error),
        cmocka_unit_test(a_short_float_has_twelve_digits_and_a_point),
        cmocka_unit_test_setup_teardown(a_row_divides_by_the_time_of_the_whole_run, make_result,
                                        free_result),
        cmocka_unit_test_setup_teardown(answers_with_an_error_status_are_failed_and_no_rate,
                                        make_result, free_result),
        cmocka_unit_test_setup_teardown(a_hundred_gigabytes_are_counted_whole, make_result,
                                        free_result),
        cmocka_unit_test_setup_teardown(a_run_without_time_or_answers_has_no_figures, make_result,
                                        free_result),
        cmocka_unit_test_setup_teardown(a_single_result_is_a_header_and_a_row, make_result,
                                        free_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
