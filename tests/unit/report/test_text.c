/*
 * The text report as a whole: results made by hand against the files beside this one (@VERSION@ stands for
 * the version). And the series as CSV.
 */
#include "report/report.h"

#include "made.h"
#include "support/memory_file.h"

#include <errno.h>

static char *written(rv_error write(const struct rv_load_result *result, FILE *file))
{
    struct memory_file memory;
    assert_int_equal(write(&made, memory_file_open(&memory)), 0);
    return memory_file_text(&memory);
}

/* What the file holds, with the version in its place; the caller frees it. */
static char *golden(const char *name)
{
    char path[128], line[1024];
    struct memory_file memory;
    snprintf(path, sizeof path, "tests/unit/report/%s", name);
    FILE *from = fopen(path, "r"), *to = memory_file_open(&memory);
    if (from == NULL)
        fail_msg("no file %s", path);
    while (fgets(line, sizeof line, from) != NULL) {
        char *mark = strstr(line, "@VERSION@");
        if (mark == NULL)
            fputs(line, to);
        else
            fprintf(to, "%.*s%s%s", (int)(mark - line), line, rv_version(),
                    mark + strlen("@VERSION@"));
    }
    fclose(from);
    return memory_file_text(&memory);
}

static void expect_report(const char *name)
{
    char *expected = golden(name), *seen = written(rv_report_text);
    if (strcmp(seen, expected) != 0)
        fprintf(stderr, "---- %s is not what was written:\n%s----\n", name, seen);
    int same = strcmp(seen, expected) == 0;
    free(expected);
    free(seen);
    assert_true(same);
}

static void a_good_run(void **state)
{
    (void)state;
    rv_hist_record_many(&made.wait, 2000, 150);
    rv_hist_record_many(&made.service, 2500, 150);
    rv_hist_record_many(&made.transfer, 500, 150);
    rv_hist_record_many(&made.total[2], 2500, 150);
    made.started += 150;
    made.due += 150;
    made.answered += 150;
    made.statuses[200] += 150;
    expect_report("text_good.txt");
}

/* The seed's run: everybody connects at once to a listener with a short queue. */
static void a_run_into_a_short_accept_queue(void **state)
{
    (void)state;
    made.threads = 2;
    made.clients = 20000;
    made.connects = made.open_peak = 20000;
    made.connects_tried = 20007;
    rv_hist_record_many(&made.connect, 1004000, 1480);
    rv_hist_record_many(&made.connect, 3010000, 212);
    rv_hist_record_many(&made.connect, 7012000, 7);
    rv_hist_record_many(&made.connect, 190000, 18237);
    made_answers(404, 1000, 400000, 30);
    made_failures(RV_FAILURE_WAIT_RESET, 7400, 200000);
    made_failures(RV_FAILURE_CONNECT_TIMEOUT, 7, 5000000);
    made_errno(RV_FAILURE_WAIT_RESET, ECONNRESET, 7000);
    made_errno(RV_FAILURE_WAIT_RESET, EPIPE, 400);
    struct rv_evidence *evidence = &made.evidence;
    evidence->thread_count = 2;
    evidence->thread_cpu_us[1] = 4000000;
    evidence->client_cpu_us = 9000000;
    evidence->cpus_client = evidence->cpus_shared = 2;
    evidence->counters[RV_KERNEL_LISTEN_OVERFLOWS] = 7412;
    evidence->counters[RV_KERNEL_LISTEN_DROPS] = 7412;
    evidence->counters[RV_KERNEL_SYN_RETRANS] = 1931;
    evidence->server.queue_peak = 129;
    evidence->server.queue_full_samples = 44;
    evidence->server.queue_drops = 7412;
    evidence->server.cpus = 2;
    evidence->server.cpu_us = 10200000;
    expect_report("text_overflow.txt");
}

/* An open run to another machine of which little is known, and whose books do not balance. */
static void an_open_run_that_violates_a_law(void **state)
{
    (void)state;
    made_no_answers();
    made.content_octets = 0;
    made.received_octets = 70000;
    free(made.url);
    made.url = strdup("http://example.org/slow");
    made.open_model = made.poisson = true;
    made.rate_per_s = 200;
    made.requests_max = 0;
    made.duration_us = 10000000;
    made.close_each = true;
    made_answers(200, 500, 1000000, 250);
    rv_hist_record_many(&made.opening, 900, 500);
    for (int i = 0; i < 500; i++)
        made.total[2].sum += 900;
    rv_hist_record_many(&made.lateness, 40, 520);
    made_unfinished(20, 1500000);
    made.answered += 1;
    made.interim = 3;
    made.evidence = (struct rv_evidence){.thread_count = 0};
    expect_report("text_law.txt");
}

/* Nothing that was not measured may be shown. */
static void a_server_of_another_user_has_no_cost(void **state)
{
    (void)state;
    made.evidence.server.pid_known = false;
    made.evidence.server.queue_samples = 0;
    char *text = written(rv_report_text);
    assert_non_null(strstr(text, "Server       127.0.0.1:8910, a process of another user: its CPU "
                                 "time is not known\nClient"));
    assert_null(strstr(text, "accept queue"));
    free(text);
}

static void acks_that_were_put_off_are_told_beside_the_drops(void **state)
{
    (void)state;
    made.evidence.server.queue_drops = 64;
    made.evidence.counters[RV_KERNEL_DEFER_ACCEPT_DROP] = 64;
    char *text = written(rv_report_text);
    assert_non_null(strstr(text, "drop counter +64 (deferred accepts, which lose nothing: +64 on "
                                 "this machine)\n"));
    free(text);
}

static void a_server_elsewhere_has_no_line(void **state)
{
    (void)state;
    made.evidence.server = (struct rv_server_evidence){0};
    char *text = written(rv_report_text);
    assert_null(strstr(text, "Server"));
    free(text);
}

static void a_short_time_is_not_divided_into_user_and_system(void **state)
{
    (void)state;
    made.evidence.server.user_us = 50000;
    made.evidence.server.system_us = 40000;
    char *text = written(rv_report_text);
    assert_null(strstr(text, "user,"));
    free(text);
}

static void an_empty_result_can_be_reported(void **state)
{
    (void)state;
    rv_load_result_free(&made);
    assert_int_equal(rv_load_result_init(&made), 0);
    char *text = written(rv_report_text);
    assert_non_null(strstr(text, "\nINVALID: nothing was answered\n"));
    free(text);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(rv_report_text(&made, full), RV_EIO);
    assert_int_equal(rv_report_csv(&made, full), RV_EIO);
    fclose(full);
}

/* ---- CSV ---------------------------------------------------------------------------------------------- */

static void the_series_has_a_line_for_each_period(void **state)
{
    (void)state;
    made.series = calloc(3, sizeof *made.series);
    made.series_count = 3;
    made.period_s = 4;
    made.series[0] = (struct rv_load_period){400, 1, 9000, 64, 500, 1500, 30000};
    made.series[1] = (struct rv_load_period){410, 0, 9100, 0, 510, 1400, 20000};
    made.series[2] = (struct rv_load_period){200, 0, 4500, 0, 505, 1450, 1600};
    char *text = written(rv_report_csv);
    assert_string_equal(text,
                        "start_s,length_s,answered,failed,octets,connects,p50_us,p99_us,max_us\n"
                        "0,4.000,400,1,9000,64,500,1500,30000\n"
                        "4,4.000,410,0,9100,0,510,1400,20000\n"
                        "8,2.000,200,0,4500,0,505,1450,1600\n");
    free(text);
}

static void a_run_without_a_series_has_the_heading_alone(void **state)
{
    (void)state;
    char *text = written(rv_report_csv);
    assert_string_equal(text,
                        "start_s,length_s,answered,failed,octets,connects,p50_us,p99_us,max_us\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        made_test(a_good_run),
        made_test(a_run_into_a_short_accept_queue),
        made_test(an_open_run_that_violates_a_law),
        made_test(a_server_of_another_user_has_no_cost),
        made_test(acks_that_were_put_off_are_told_beside_the_drops),
        made_test(a_server_elsewhere_has_no_line),
        made_test(a_short_time_is_not_divided_into_user_and_system),
        made_test(an_empty_result_can_be_reported),
        made_test(a_full_disk_is_an_error),
        made_test(the_series_has_a_line_for_each_period),
        made_test(a_run_without_a_series_has_the_heading_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
