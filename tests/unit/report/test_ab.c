/*
 * ApacheBench's report, of results made by hand: whole texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "support/memory_file.h"

/* ---- results made by hand ---------------------------------------------------------------------------- */

static struct rv_load_sample samples[16];

static void answer(struct rv_load_result *result, uint32_t opening_us, uint32_t wait_us,
                   uint32_t transfer_us, int status)
{
    result->started++;
    result->answered++;
    result->statuses[status]++;
    if (opening_us > 0)
        rv_hist_record(&result->opening, opening_us);
    rv_hist_record(&result->wait, wait_us);
    rv_hist_record(&result->transfer, transfer_us);
    rv_hist_record(&result->service, wait_us + transfer_us);
    rv_hist_record(&result->total[status / 100], opening_us + wait_us + transfer_us);
}

static void failure_of(struct rv_load_result *result, enum rv_load_failure failure)
{
    result->started++;
    result->failed++;
    result->failures[failure]++;
}

/* Two clients, four answers on two connections: 2.4, 4, 1.6 and 10 ms with 1.4, 2 ms of connecting. */
static int set_up(void **state)
{
    struct rv_load_result *result = malloc(sizeof *result);
    assert_non_null(result);
    assert_int_equal(rv_load_result_init(result), 0);
    result->host = strdup("127.0.0.1");
    result->document = strdup("/a?b=<c>&d");
    result->port = 8910;
    strcpy(result->server_software, "rivulet (Linux) x/2");
    result->clients = 2;
    result->elapsed_us = 12500;
    answer(result, 1400, 900, 100, 200);
    answer(result, 2000, 1900, 100, 200);
    answer(result, 0, 1500, 100, 200);
    answer(result, 0, 9000, 1000, 200);
    result->first_content = 14;
    result->content_octets = 56;
    result->received_octets = 4 * 150;
    result->sent_octets = 4 * 80;
    result->kept_alive = 4;
    *state = result;
    return 0;
}

static int tear_down(void **state)
{
    struct rv_load_result *result = *state;
    result->samples = NULL; /* which are static here */
    rv_load_result_free(result);
    free(result);
    return 0;
}

typedef rv_error writer(const struct rv_load_result *result, FILE *file);

static char *text_of(const struct rv_load_result *result, const struct rv_ab_options *options,
                     writer *write)
{
    struct memory_file memory;
    FILE *file = memory_file_open(&memory);
    assert_int_equal(write != NULL ? write(result, file) : rv_report_ab(result, options, file), 0);
    return memory_file_text(&memory);
}

static void expect(const struct rv_load_result *result, const struct rv_ab_options *options,
                   const char *expected)
{
    char *text = text_of(result, options, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_line(const struct rv_load_result *result, const struct rv_ab_options *options,
                        const char *line)
{
    char *text = text_of(result, options, NULL);
    if (strstr(text, line) == NULL)
        fail_msg("there is no \"%s\" in:\n%s", line, text);
    free(text);
}

static void expect_without(const struct rv_load_result *result, const struct rv_ab_options *options,
                           const char *words)
{
    char *text = text_of(result, options, NULL);
    if (strstr(text, words) != NULL)
        fail_msg("\"%s\" is in:\n%s", words, text);
    free(text);
}

/* ---- text ------------------------------------------------------------------------------------------------ */

#define HEAD                                                                                       \
    "Server Software:        rivulet\n"                                                            \
    "Server Hostname:        127.0.0.1\n"                                                          \
    "Server Port:            8910\n"                                                               \
    "\n"                                                                                           \
    "Document Path:          /a?b=<c>&d\n"                                                         \
    "Document Length:        14 bytes\n"                                                           \
    "\n"                                                                                           \
    "Concurrency Level:      2\n"                                                                  \
    "Time taken for tests:   0.013 seconds\n"

#define RATES                                                                                      \
    "Requests per second:    320.00 [#/sec] (mean)\n"                                              \
    "Time per request:       6.250 [ms] (mean)\n"                                                  \
    "Time per request:       3.125 [ms] (mean, across all concurrent requests)\n"                  \
    "Transfer rate:          46.88 [Kbytes/sec] received\n"

/* Total: 2.4, 4, 1.6, 10: mean 4.5, median 3.2, deviation of the sample 3.80. */
#define TIMES                                                                                      \
    "\n"                                                                                           \
    "Connection Times (ms)\n"                                                                      \
    "              min  mean[+/-sd] median   max\n"                                                \
    "Connect:        0    1   1.0      1       2\n"                                                \
    "Processing:     1    4   4.3      2      10\n"                                                \
    "Waiting:        1    3   3.8      2       9\n"                                                \
    "Total:          2    5   3.8      3      10\n"

#define PERCENTAGES                                                                                \
    "\n"                                                                                           \
    "Percentage of the requests served within a certain time (ms)\n"                               \
    "  50%      2\n"                                                                               \
    "  66%      4\n"                                                                               \
    "  75%      4\n"                                                                               \
    "  80%     10\n"                                                                               \
    "  90%     10\n"                                                                               \
    "  95%     10\n"                                                                               \
    "  98%     10\n"                                                                               \
    "  99%     10\n"                                                                               \
    " 100%     10 (longest request)\n"

static void a_report_has_its_labels_in_their_order(void **state)
{
    expect(*state, &(struct rv_ab_options){0},
           HEAD "Complete requests:      4\n"
                "Failed requests:        0\n"
                "Total transferred:      600 bytes\n"
                "HTML transferred:       56 bytes\n" RATES TIMES PERCENTAGES);
}

static void every_optional_line_stands_in_its_place(void **state)
{
    struct rv_load_result *result = *state;
    result->has_body = true;
    failure_of(result, RV_FAILURE_CONNECT_REFUSED);
    failure_of(result, RV_FAILURE_WAIT_RESET);
    failure_of(result, RV_FAILURE_BODY_SHORT);
    failure_of(result, RV_FAILURE_SEND_RESET);
    result->statuses[200] -= 3;
    result->statuses[302] += 1;
    result->statuses[404] += 2;
    expect(result, &(struct rv_ab_options){.keep_alive = true},
           HEAD "Complete requests:      8\n"
                "Failed requests:        4\n"
                "   (Connect: 1, Receive: 1, Length: 1, Exceptions: 1)\n"
                "Write errors:           1\n"
                "Non-2xx responses:      3\n"
                "Keep-Alive requests:    4\n"
                "Total transferred:      600 bytes\n"
                "Total body sent:        320\n"
                "HTML transferred:       56 bytes\n"
                "Requests per second:    640.00 [#/sec] (mean)\n"
                "Time per request:       3.125 [ms] (mean)\n"
                "Time per request:       1.562 [ms] (mean, across all concurrent requests)\n"
                "Transfer rate:          46.88 [Kbytes/sec] received\n"
                "                        25.00 kb/s sent\n"
                "                        71.88 kb/s total\n" TIMES PERCENTAGES);
}

static void without_statistics_the_table_has_three_columns(void **state)
{
    expect(*state, &(struct rv_ab_options){.no_statistics = true, .no_percentiles = true},
           HEAD "Complete requests:      4\n"
                "Failed requests:        0\n"
                "Total transferred:      600 bytes\n"
                "HTML transferred:       56 bytes\n" RATES "\n"
                "Connection Times (ms)\n"
                "              min   avg   max\n"
                "Connect:        0     1    2\n"
                "Processing:     1     4   10\n"
                "Waiting:        1     3    9\n"
                "Total:          2     5   10\n");
}

static void variable_lengths_are_no_failures(void **state)
{
    struct rv_load_result *result = *state;
    result->other_length = 3;
    expect_line(result, &(struct rv_ab_options){0},
                "Complete requests:      4\n"
                "Failed requests:        3\n"
                "   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)\n");
    expect_line(result, &(struct rv_ab_options){.variable_length = true},
                "Document Length:        Variable\n");
    expect_line(result, &(struct rv_ab_options){.variable_length = true},
                "Failed requests:        0\nTotal transferred:");
}

static void each_failure_is_counted_once_and_in_one_kind(void **state)
{
    struct rv_load_result *result = *state;
    for (enum rv_load_failure failure = 0; failure < RV_FAILURE_COUNT; failure++)
        failure_of(result, failure);
    expect_line(result, &(struct rv_ab_options){0},
                "Complete requests:      34\n"
                "Failed requests:        30\n"
                "   (Connect: 10, Receive: 11, Length: 3, Exceptions: 6)\n"
                "Write errors:           2\n");
}

static void tls_is_told_in_the_head_of_the_report(void **state)
{
    struct rv_load_result *result = *state;
    expect_without(result, &(struct rv_ab_options){0}, "SSL/TLS");
    strcpy(result->tls_version, "TLSv1.3");
    strcpy(result->tls_cipher, "TLS_AES_128_GCM_SHA256");
    result->tls_certificate_bits = 2048;
    result->tls_key_bits = 128;
    expect_line(result, &(struct rv_ab_options){0},
                "SSL/TLS Protocol:       TLSv1.3,TLS_AES_128_GCM_SHA256,2048,128\n\n");
    strcpy(result->tls_temp_key, "X25519 253 bits");
    strcpy(result->tls_name, "a.example");
    expect_line(result, &(struct rv_ab_options){0},
                "2048,128\n"
                "Server Temp Key:        X25519 253 bits\n"
                "TLS Server Name:        a.example\n\n");
}

static void one_answer_has_no_percentages(void **state)
{
    struct rv_load_result one;
    (void)state;
    assert_int_equal(rv_load_result_init(&one), 0);
    answer(&one, 1000, 2000, 0, 200);
    one.host = strdup("h");
    one.document = strdup("/");
    one.elapsed_us = 3000;
    one.clients = 1;
    expect_line(&one, &(struct rv_ab_options){0}, "Total:          3    3   0.0      3       3\n");
    expect_without(&one, &(struct rv_ab_options){0}, "Percentage");
    rv_load_result_free(&one);
}

static void without_any_answer_the_report_ends_with_what_was_transferred(void **state)
{
    struct rv_load_result none;
    (void)state;
    assert_int_equal(rv_load_result_init(&none), 0);
    none.host = strdup("::1");
    none.document = strdup("/");
    none.port = 80;
    none.clients = 1;
    none.elapsed_us = 1013000;
    expect(&none, &(struct rv_ab_options){0},
           "Server Software:        \n"
           "Server Hostname:        ::1\n"
           "Server Port:            80\n"
           "\n"
           "Document Path:          /\n"
           "Document Length:        0 bytes\n"
           "\n"
           "Concurrency Level:      1\n"
           "Time taken for tests:   1.013 seconds\n"
           "Complete requests:      0\n"
           "Failed requests:        0\n"
           "Total transferred:      0 bytes\n"
           "HTML transferred:       0 bytes\n");
    rv_load_result_free(&none);
}

static void failures_alone_have_a_rate_and_no_times(void **state)
{
    struct rv_load_result none;
    (void)state;
    assert_int_equal(rv_load_result_init(&none), 0);
    none.host = strdup("h");
    none.document = strdup("/");
    none.clients = 1;
    none.elapsed_us = 1000000;
    failure_of(&none, RV_FAILURE_WAIT_RESET);
    failure_of(&none, RV_FAILURE_WAIT_RESET);
    expect_line(&none, &(struct rv_ab_options){0}, "Requests per second:    2.00 [#/sec] (mean)\n");
    expect_without(&none, &(struct rv_ab_options){0}, "Connection Times");
    expect_without(&none, &(struct rv_ab_options){0}, "nan");
    rv_load_result_free(&none);
}

static void a_run_without_measurable_time_divides_by_nothing(void **state)
{
    struct rv_load_result *result = *state;
    result->elapsed_us = 0;
    expect_line(result, &(struct rv_ab_options){0},
                "Requests per second:    4000000.00 [#/sec] (mean)\n");
}

static void counts_beyond_32_bits_are_whole(void **state)
{
    struct rv_load_result *result = *state;
    result->received_octets = 1000000000000000;
    result->content_octets = 999999999999999;
    result->first_content = 5000000000;
    expect_line(result, &(struct rv_ab_options){0}, "Document Length:        5000000000 bytes\n");
    expect_line(result, &(struct rv_ab_options){0},
                "Total transferred:      1000000000000000 bytes\n"
                "HTML transferred:       999999999999999 bytes\n");
}

/* ApacheBench rounds to 1 and 0 ms before it compares, and calls such a run "NOT reliable". */
static void a_fast_and_even_run_is_not_called_unreliable(void **state)
{
    struct rv_load_result fast;
    (void)state;
    assert_int_equal(rv_load_result_init(&fast), 0);
    fast.host = strdup("h");
    fast.document = strdup("/");
    fast.clients = 1;
    fast.elapsed_us = 5000;
    for (uint32_t us = 480; us < 490; us++)
        answer(&fast, 0, us, 0, 200);
    answer(&fast, 0, 700, 0, 200);
    expect_line(&fast, &(struct rv_ab_options){0}, "Total:          0    1   0.1      0       1\n");
    expect_without(&fast, &(struct rv_ab_options){0}, "reliable");
    rv_load_result_free(&fast);
}

/* ---- HTML ------------------------------------------------------------------------------------------------ */

static void html_has_its_rows_and_escapes_what_is_not_its_own(void **state)
{
    struct rv_load_result *result = *state;
    result->has_body = true;
    result->other_length = 1;
    expect(result, &(struct rv_ab_options){.html = true, .keep_alive = true},
           "<table >\n"
           "<tr ><th colspan=2 bgcolor=white>Server Software:</th>"
           "<td colspan=2 bgcolor=white>rivulet</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Server Hostname:</th>"
           "<td colspan=2 bgcolor=white>127.0.0.1</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Server Port:</th>"
           "<td colspan=2 bgcolor=white>8910</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Document Path:</th>"
           "<td colspan=2 bgcolor=white>/a?b=&lt;c&gt;&amp;d</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Document Length:</th>"
           "<td colspan=2 bgcolor=white>14 bytes</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Concurrency Level:</th>"
           "<td colspan=2 bgcolor=white>2</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Time taken for tests:</th>"
           "<td colspan=2 bgcolor=white>0.013 seconds</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Complete requests:</th>"
           "<td colspan=2 bgcolor=white>4</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Failed requests:</th>"
           "<td colspan=2 bgcolor=white>1</td></tr>\n"
           "<tr ><td colspan=4 bgcolor=white >   (Connect: 0, Receive: 0, Length: 1, "
           "Exceptions: 0)</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Keep-Alive requests:</th>"
           "<td colspan=2 bgcolor=white>4</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Total transferred:</th>"
           "<td colspan=2 bgcolor=white>600 bytes</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Total body sent:</th>"
           "<td colspan=2 bgcolor=white>320</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>HTML transferred:</th>"
           "<td colspan=2 bgcolor=white>56 bytes</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Requests per second:</th>"
           "<td colspan=2 bgcolor=white>320.00</td></tr>\n"
           "<tr ><th colspan=2 bgcolor=white>Transfer rate:</th>"
           "<td colspan=2 bgcolor=white>46.88 kb/s received</td></tr>\n"
           "<tr ><td colspan=2 bgcolor=white>&nbsp;</td>"
           "<td colspan=2 bgcolor=white>25.00 kb/s sent</td></tr>\n"
           "<tr ><td colspan=2 bgcolor=white>&nbsp;</td>"
           "<td colspan=2 bgcolor=white>71.88 kb/s total</td></tr>\n"
           "<tr ><th bgcolor=white colspan=4>Connection Times (ms)</th></tr>\n"
           "<tr ><th bgcolor=white>&nbsp;</th> <th bgcolor=white>min</th>   "
           "<th bgcolor=white>avg</th>   <th bgcolor=white>max</th></tr>\n"
           "<tr ><th bgcolor=white>Connect:</th><td bgcolor=white>    0</td>"
           "<td bgcolor=white>    1</td><td bgcolor=white>    2</td></tr>\n"
           "<tr ><th bgcolor=white>Processing:</th><td bgcolor=white>    1</td>"
           "<td bgcolor=white>    4</td><td bgcolor=white>   10</td></tr>\n"
           "<tr ><th bgcolor=white>Total:</th><td bgcolor=white>    2</td>"
           "<td bgcolor=white>    5</td><td bgcolor=white>   10</td></tr>\n"
           "</table>\n");
}

static void html_attributes_are_the_users(void **state)
{
    struct rv_ab_options options = {
        .html = true, .html_table = "border=1", .html_row = "class=r", .html_cell = "class=c"};
    expect_line(*state, &options, "<table border=1>\n");
    expect_line(*state, &options,
                "<tr class=r><th colspan=2 class=c>Server Port:</th>"
                "<td colspan=2 class=c>8910</td></tr>\n");
    expect_line(*state, &options,
                "<tr class=r><th class=c>Total:</th><td class=c>    2</td>"
                "<td class=c>    5</td><td class=c>   10</td></tr>\n");
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static void the_csv_file_has_a_row_for_each_percent(void **state)
{
    char *text = text_of(*state, NULL, rv_report_ab_csv);
    static const char begin[] = "Percentage served,Time in ms\n0,1.600\n1,1.600\n";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_non_null(strstr(text, "\n25,1.600\n26,2.401\n"));
    assert_non_null(strstr(text, "\n99,10.000\n100,10.000\n"));
    size_t lines = 0;
    for (const char *end = text; (end = strchr(end, '\n')) != NULL; end++)
        lines++;
    assert_int_equal(lines, 102);
    free(text);
}

static void the_csv_file_of_no_answer_has_a_header(void **state)
{
    struct rv_load_result none;
    (void)state;
    assert_int_equal(rv_load_result_init(&none), 0);
    char *text = text_of(&none, NULL, rv_report_ab_csv);
    assert_string_equal(text, "Percentage served,Time in ms\n");
    free(text);
    rv_load_result_free(&none);
}

static void the_gnuplot_file_is_in_the_order_of_total_times(void **state)
{
    struct rv_load_result *result = *state;
    setenv("TZ", "UTC0", 1);
    samples[0] = (struct rv_load_sample){1234567892000000, 0, 9000, 10000, 200};
    samples[1] = (struct rv_load_sample){1234567891999999, 2000, 1900, 2000, 200};
    samples[2] = (struct rv_load_sample){1234567890000000, 0, 3499, 4000, 404};
    samples[3] = (struct rv_load_sample){1233500000000000, 1400, 900, 1000, 200};
    result->samples = samples;
    result->sample_count = 4;
    char *text = text_of(result, NULL, rv_report_ab_gnuplot);
    assert_string_equal(text, "starttime\tseconds\tctime\tdtime\tttime\twait\n"
                              "Sun Feb 01 14:53:20 2009\t1233500000\t1\t1\t2\t1\n"
                              "Fri Feb 13 23:31:30 2009\t1234567890\t0\t4\t4\t3\n"
                              "Fri Feb 13 23:31:31 2009\t1234567891\t2\t2\t4\t2\n"
                              "Fri Feb 13 23:31:32 2009\t1234567892\t0\t10\t10\t9\n");
    free(text);
}

static void a_full_disk_is_an_error(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(rv_report_ab(*state, &(struct rv_ab_options){0}, full), RV_EIO);
    assert_int_equal(rv_report_ab_csv(*state, full), RV_EIO);
    assert_int_equal(rv_report_ab_gnuplot(*state, full), RV_EIO);
    fclose(full);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_report_has_its_labels_in_their_order),
        TEST(every_optional_line_stands_in_its_place),
        TEST(without_statistics_the_table_has_three_columns),
        TEST(variable_lengths_are_no_failures),
        TEST(each_failure_is_counted_once_and_in_one_kind),
        TEST(tls_is_told_in_the_head_of_the_report),
        TEST(one_answer_has_no_percentages),
        TEST(without_any_answer_the_report_ends_with_what_was_transferred),
        TEST(failures_alone_have_a_rate_and_no_times),
        TEST(a_run_without_measurable_time_divides_by_nothing),
        TEST(counts_beyond_32_bits_are_whole),
        TEST(a_fast_and_even_run_is_not_called_unreliable),
        TEST(html_has_its_rows_and_escapes_what_is_not_its_own),
        TEST(html_attributes_are_the_users),
        TEST(the_csv_file_has_a_row_for_each_percent),
        TEST(the_csv_file_of_no_answer_has_a_header),
        TEST(the_gnuplot_file_is_in_the_order_of_total_times),
        TEST(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
