/*
 * The command line of `rivulet sweep`: defaults, lists, what goes together, and how much a row
 * does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <getopt.h>

#include "cli/cli.h"
#include "cli/sweep_options.h"

#define ARGUMENTS_MAX 16
#define URL "http://127.0.0.1:1/"

/* Parses up to the NULL at the end. */
static int parse(struct rv_sweep_options *options, ...)
{
    char *arguments[ARGUMENTS_MAX + 1] = {(char[]){"sweep"}};
    int count = 1;
    va_list list;
    va_start(list, options);
    for (char *argument; (argument = va_arg(list, char *)) != NULL && count < ARGUMENTS_MAX;)
        arguments[count++] = argument;
    va_end(list);
    optind = 0; /* getopt(3): from the beginning */
    return rv_sweep_options_parse(count, arguments, options);
}

static void nothing_given_is_the_benchmark_as_it_was(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {10, 100, 1000, 10000, 100000, 100000000};
    struct rv_sweep_options options;
    assert_int_equal(parse(&options, NULL), -1);
    assert_null(options.url);
    assert_int_equal(options.requests, 1000);
    assert_int_equal(options.client_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(options.clients[i], 10 * (i + 1));
    assert_int_equal(options.size_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(options.sizes[i], sizes[i]);
    assert_int_equal(options.size_clients, 50);
    assert_int_equal(options.pool, 10);
    assert_int_equal(options.repeat, 1);
    assert_int_equal(options.backlog_count, 0);
    assert_false(options.quota);
    assert_true(options.keep_alive);
    assert_int_equal(options.format, RV_SWEEP_TEXT);
}

static void lists_take_units_and_replace_the_defaults(void **state)
{
    (void)state;
    struct rv_sweep_options options;
    assert_int_equal(
        parse(&options, "-n", "10k", "--clients", "1,2k", "--sizes", "0,1k,1KiB,100M", NULL), -1);
    assert_int_equal(options.requests, 10000);
    assert_int_equal(options.client_count, 2);
    assert_int_equal(options.clients[1], 2000);
    assert_int_equal(options.size_count, 4);
    assert_int_equal(options.sizes[0], 0);
    assert_int_equal(options.sizes[2], 1024);
    assert_int_equal(options.sizes[3], 100000000);
}

static void a_list_given_again_replaces_the_first(void **state)
{
    (void)state;
    struct rv_sweep_options options;
    assert_int_equal(parse(&options, "--clients", "1,2,3", "--clients", "7", NULL), -1);
    assert_int_equal(options.client_count, 1);
    assert_int_equal(options.clients[0], 7);
}

static void queues_are_compared_where_it_shows_unless_told_otherwise(void **state)
{
    (void)state;
    struct rv_sweep_options options;
    assert_int_equal(parse(&options, "--backlog", "5,128", NULL), -1);
    assert_int_equal(options.backlog_count, 2);
    assert_int_equal(options.backlogs[0], 5);
    assert_int_equal(options.backlogs[1], 128);
    assert_true(options.quota);
    assert_false(options.keep_alive);
    assert_int_equal(parse(&options, "--backlog", "5", "--shared", "--keepalive", NULL), -1);
    assert_false(options.quota);
    assert_true(options.keep_alive);
}

static void ab_shares_its_requests_whatever_the_queue(void **state)
{
    (void)state;
    struct rv_sweep_options options;
    assert_int_equal(parse(&options, "--backlog", "5", "--ab", "ab", NULL), -1);
    assert_false(options.quota);
    assert_false(options.keep_alive);
}

static void a_url_gets_the_lists_that_fit_it(void **state)
{
    (void)state;
    struct rv_sweep_options options;
    assert_int_equal(parse(&options, URL, NULL), -1);
    assert_int_equal(options.client_count, 5);
    assert_int_equal(options.size_count, 0);
    assert_int_equal(parse(&options, URL "?{size}", "--size-clients", "3", NULL), -1);
    assert_true(options.has_size);
    assert_int_equal(options.client_count, 0);
    assert_int_equal(options.size_count, 6);
    assert_int_equal(options.size_clients, 3);
}

#define USAGE(...)                                                                                 \
    do {                                                                                           \
        struct rv_sweep_options options;                                                           \
        assert_int_equal(parse(&options, __VA_ARGS__, NULL), RV_EXIT_USAGE);                       \
    } while (0)

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    USAGE("-n", "0");
    USAGE("-n", "-5");
    USAGE("-n", "2G");
    USAGE("-n");
    USAGE("--clients", "");
    USAGE("--clients", "10,");
    USAGE("--clients", "0");
    USAGE("--clients", "10,10");
    USAGE("--clients", "1000001");
    USAGE("--sizes", "10,x");
    USAGE("--sizes", "10,0.01k");
    USAGE("--sizes", "10737418241");
    USAGE("--size-clients", "0");
    USAGE("--backlog", "0");
    USAGE("--backlog", "5,65536");
    USAGE("--backlog", "1,2,3,4,5,6,7,8,9");
    USAGE("--pool", "1025");
    USAGE("--repeat", "0");
    USAGE("--repeat", "101");
    USAGE("--timeout", "0");
    USAGE("--timeout", "soon");
    USAGE("--format", "html");
    USAGE("--wrong");
    USAGE(URL, "another");
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    USAGE("--quota", "--shared");
    USAGE("--keepalive", "--no-keepalive");
    USAGE("--quota", "--ab", "ab");
    USAGE("--ab", "ab", "-n", "10", "--clients", "11", "--size-clients", "1");
    USAGE("--ab", "ab", "-n", "10", "--clients", "10");
    USAGE("--backlog", "5", URL);
    USAGE("--pool", "5", URL);
    USAGE("--sizes", "5", URL);
    USAGE("--clients", "5", URL "{size}");
}

static void a_row_makes_all_requests_unless_its_octets_are_capped(void **state)
{
    (void)state;
    struct rv_sweep_options options = {.requests = 1000};
    bool capped = true;
    assert_int_equal(rv_sweep_requests(&options, 50, 100000000, &capped), 1000);
    assert_false(capped);
    options.quick = true;
    assert_int_equal(rv_sweep_requests(&options, 50, 1000000, &capped), 1000);
    assert_false(capped);
    assert_int_equal(rv_sweep_requests(&options, 5, 2000000, &capped), 500);
    assert_true(capped);
    /* One answer for each client, at the least. */
    assert_int_equal(rv_sweep_requests(&options, 50, 100000000, &capped), 50);
    assert_true(capped);
    assert_int_equal(rv_sweep_requests(&options, 2000, 100000000, &capped), 1000);
    assert_false(capped);
    assert_int_equal(rv_sweep_requests(&options, 50, UINT64_MAX, &capped), 1000);
    assert_false(capped);
}

static void a_quota_is_the_same_whole_number_for_every_client(void **state)
{
    (void)state;
    struct rv_sweep_options options = {.requests = 1000, .quota = true};
    bool capped;
    assert_int_equal(rv_sweep_requests(&options, 50, 14, &capped), 1000);
    assert_int_equal(rv_sweep_requests(&options, 30, 14, &capped), 1020);
    assert_int_equal(rv_sweep_requests(&options, 3000, 14, &capped), 3000);
    assert_false(capped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_is_the_benchmark_as_it_was),
        cmocka_unit_test(lists_take_units_and_replace_the_defaults),
        cmocka_unit_test(a_list_given_again_replaces_the_first),
        cmocka_unit_test(queues_are_compared_where_it_shows_unless_told_otherwise),
        cmocka_unit_test(ab_shares_its_requests_whatever_the_queue),
        cmocka_unit_test(a_url_gets_the_lists_that_fit_it),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(a_row_makes_all_requests_unless_its_octets_are_capped),
        cmocka_unit_test(a_quota_is_the_same_whole_number_for_every_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
