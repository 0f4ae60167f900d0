/*
 * Reading ApacheBench's report by the five lines that CherryPy's benchmark looks for, and its
 * times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ab_process.h"

#define COMPLETE "Complete requests:      1000\n"
#define FAILED "Failed requests:        8\n   (Connect: 0, Receive: 0, Length: 8, Exceptions: 0)\n"
#define RATE "Requests per second:    83436.06 [#/sec] (mean)\n"
#define TIMES                                                                                      \
    "Time per request:       239.704 [ms] (mean)\n"                                                \
    "Time per request:       0.012 [ms] (mean, across all concurrent requests)\n"
#define TRANSFER "Transfer rate:          17604.51 [Kbytes/sec] received\n"
#define PERCENTAGES                                                                                \
    "  50%     75\n"                                                                               \
    "  66%     84\n"                                                                               \
    "  99%    156\n"                                                                               \
    " 100%  10088 (longest request)\n"

static void the_five_figures_and_the_times_are_read(void **state)
{
    (void)state;
    struct rv_sweep_row row = {0};
    assert_true(rv_ab_read(
        "This is ApacheBench\n\n" COMPLETE FAILED RATE TIMES TRANSFER PERCENTAGES, &row));
    assert_int_equal(row.figures.completed, 1000);
    assert_int_equal(row.figures.failed, 8);
    assert_string_equal(row.causes, "(Connect: 0, Receive: 0, Length: 8, Exceptions: 0)");
    assert_true(row.figures.requests_per_s == 83436.06);
    assert_true(row.figures.ms_per_request == 0.012);
    assert_true(row.figures.kib_per_s == 17604.51);
    assert_true(row.p50_ms == 75 && row.p99_ms == 156 && row.max_ms == 10088);
}

static void a_report_without_one_of_the_five_is_unreadable(void **state)
{
    (void)state;
    static const char *const reports[] = {
        "",
        "ab: invalid URL\n",
        FAILED RATE TIMES TRANSFER,
        COMPLETE RATE TIMES TRANSFER,
        COMPLETE FAILED TIMES TRANSFER,
        COMPLETE FAILED RATE TRANSFER,
        COMPLETE FAILED RATE TIMES,
        /* a counter of 32 bits that has gone over */
        COMPLETE FAILED RATE TIMES "Transfer rate:          -12.81 [Kbytes/sec] received\n",
        /* not at the beginning of a line */
        " " COMPLETE FAILED RATE TIMES TRANSFER,
    };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct rv_sweep_row row = {0};
        if (rv_ab_read(reports[i], &row))
            fail_msg("this was read as a report:\n%s", reports[i]);
    }
}

static void times_that_are_not_there_are_not_known(void **state)
{
    (void)state;
    struct rv_sweep_row row = {.p50_ms = 1, .p99_ms = 1, .max_ms = 1};
    assert_true(rv_ab_read(COMPLETE FAILED RATE TIMES TRANSFER, &row));
    assert_true(isnan(row.p50_ms) && isnan(row.p99_ms) && isnan(row.max_ms));
}

static volatile sig_atomic_t go_on;

static enum rv_ab_end run(const char *program, struct rv_sweep_row *row, char **output)
{
    cpu_set_t anywhere;
    CPU_ZERO(&anywhere);
    return rv_ab_run(&(struct rv_ab_run){.program = program,
                                         .url = "http://127.0.0.1:1/",
                                         .requests = 1,
                                         .clients = 1,
                                         .keep_alive = true,
                                         .timeout_us = 1500000,
                                         .cpus = &anywhere,
                                         .stop = &go_on},
                     row, output);
}

static void a_program_that_is_not_there_is_not_run(void **state)
{
    (void)state;
    struct rv_sweep_row row = {0};
    char *output;
    assert_int_equal(run("/nonexistent/ab", &row, &output), RV_AB_NOT_RUN);
    free(output);
}

static void what_another_program_says_is_handed_on(void **state)
{
    (void)state;
    struct rv_sweep_row row = {0};
    char *output;
    assert_int_equal(run("echo", &row, &output), RV_AB_UNREADABLE);
    assert_string_equal(output, "-k -n 1 -c 1 -s 2 http://127.0.0.1:1/\n");
    free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_five_figures_and_the_times_are_read),
        cmocka_unit_test(a_report_without_one_of_the_five_is_unreadable),
        cmocka_unit_test(times_that_are_not_there_are_not_known),
        cmocka_unit_test(a_program_that_is_not_there_is_not_run),
        cmocka_unit_test(what_another_program_says_is_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
