/*
 * What the subcommands that run load share: the command line as text, exit codes, threads, the live
 * line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/run.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the command line ------------------------------------------------------------------------ */

static void words_are_quoted_where_a_shell_would_need_it(void **state)
{
    (void)state;
    char *argv[] = {(char *)"bench", (char *)"-H",  (char *)"A: it's",
                    (char *)"",      (char *)"$x&", (char *)"http://h:1/?a=b"};
    char *line = rv_cli_command_line("rivulet", COUNT(argv), argv);
    assert_string_equal(line, "rivulet bench -H 'A: it'\\''s' '' '$x&' 'http://h:1/?a=b'");
    free(line);
    line = rv_cli_command_line(NULL, 2, argv);
    assert_string_equal(line, "bench -H");
    free(line);
}

/* ---- exit codes ------------------------------------------------------------------------------ */

static struct rv_load_result answered_result(void)
{
    struct rv_load_result result;
    assert_int_equal(rv_load_result_init(&result), 0);
    result.clients = 1;
    result.due = result.started = result.answered = 1;
    result.statuses[200] = 1;
    result.elapsed_us = 1000;
    rv_hist_record(&result.wait, 100);
    rv_hist_record(&result.total[2], 100);
    rv_hist_record(&result.service, 100);
    return result;
}

static void the_exit_code_says_how_it_went(void **state)
{
    (void)state;
    struct rv_load_result result = answered_result();
    assert_int_equal(rv_cli_exit_of(&result), RV_EXIT_OK);
    result.started = result.due = 3; /* more failed than were answered */
    result.failed = result.failures[RV_FAILURE_WAIT_CLOSED] = 2;
    assert_int_equal(rv_cli_exit_of(&result), RV_EXIT_INVALID);
    result.due = 2;
    assert_int_equal(rv_cli_exit_of(&result), RV_EXIT_LAW);
    result.end = RV_END_INTERRUPTED;
    assert_int_equal(rv_cli_exit_of(&result), RV_EXIT_INTERRUPTED);
    rv_load_result_free(&result);
    assert_int_equal(rv_load_result_init(&result), 0);
    result.end = RV_END_UNREACHED;
    assert_int_equal(rv_cli_exit_of(&result), RV_EXIT_NO_START);
    rv_load_result_free(&result);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void threads_are_as_many_as_cpus_and_no_more_than_clients(void **state)
{
    (void)state;
    cpu_set_t ours;
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    unsigned cpus = (unsigned)CPU_COUNT(&ours);
    struct rv_load_plan plan = {.clients = 1000};
    rv_cli_place_threads(&plan, NULL);
    assert_int_equal(plan.threads, cpus > RV_LOAD_THREADS_MAX ? RV_LOAD_THREADS_MAX : cpus);
    assert_int_equal(CPU_COUNT(&plan.cpus), 0);
    struct rv_load_plan one_client = {.clients = 1};
    rv_cli_place_threads(&one_client, NULL);
    assert_int_equal(one_client.threads, 1);
}

static void what_was_asked_for_stays(void **state)
{
    (void)state;
    struct rv_load_plan plan = {.clients = 1000, .threads = 7};
    CPU_SET(0, &plan.cpus);
    rv_cli_place_threads(&plan, NULL);
    assert_int_equal(plan.threads, 7);
    assert_int_equal(CPU_COUNT(&plan.cpus), 1);
    struct rv_load_plan chosen = {.clients = 1000};
    CPU_SET(0, &chosen.cpus);
    CPU_SET(1, &chosen.cpus);
    CPU_SET(2, &chosen.cpus);
    rv_cli_place_threads(&chosen, NULL);
    assert_int_equal(chosen.threads, 3);
}

/* ---- the live line --------------------------------------------------------------------------- */

static void the_line_says_how_far_and_how_fast(void **state)
{
    (void)state;
    char text[RV_PROGRESS_MAX];
    struct rv_load_progress now = {.elapsed_us = 12040000,
                                   .rate_per_s = 19834.4,
                                   .failed = 3,
                                   .p99_us = 1234,
                                   .left_us = 7900000};
    rv_progress_text(&now, text);
    assert_string_equal(text, "12.0 s  19834/s  3 failed  p99 1.23 ms  7.9 s left");
    now.p99_us = 0; /* no period is full yet */
    rv_progress_text(&now, text);
    assert_string_equal(text, "12.0 s  19834/s  3 failed  7.9 s left");
    now.left_us = UINT64_MAX;
    now.p99_us = 999;
    rv_progress_text(&now, text);
    assert_string_equal(text, "12.0 s  19834/s  3 failed  p99 999 us");
    now = (struct rv_load_progress){.elapsed_us = UINT64_MAX,
                                    .rate_per_s = 1e300,
                                    .failed = UINT64_MAX,
                                    .p99_us = UINT64_MAX,
                                    .left_us = UINT64_MAX - 1};
    rv_progress_text(&now, text);
    assert_true(strlen(text) < RV_PROGRESS_MAX);
}

static void a_pipe_sees_no_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    struct rv_progress progress;
    struct rv_load_progress now = {.elapsed_us = 1};
    FILE *file = tmpfile();
    assert_non_null(file);
    rv_progress_start(&progress, file);
    rv_progress_show(&now, &progress);
    rv_progress_end(&progress);
    assert_int_equal(ftell(file), 0);
    fclose(file);
    file = open_memstream(&text, &length); /* as a terminal would get it */
    progress = (struct rv_progress){.file = file};
    rv_progress_show(&now, &progress);
    rv_progress_end(&progress);
    rv_progress_end(&progress);
    fclose(file);
    assert_string_equal(text, "\r0.0 s  0/s  0 failed  0.0 s left\033[K\r\033[K");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_where_a_shell_would_need_it),
        cmocka_unit_test(the_exit_code_says_how_it_went),
        cmocka_unit_test(threads_are_as_many_as_cpus_and_no_more_than_clients),
        cmocka_unit_test(what_was_asked_for_stays),
        cmocka_unit_test(the_line_says_how_far_and_how_fast),
        cmocka_unit_test(a_pipe_sees_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
