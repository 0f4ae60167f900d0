/*
 * Whole runs, with several threads, against a real server in the same process.
 */
#include "load/engine.h"
#include "support/served.h"

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct served served;
static struct rv_endpoint address;
static struct rv_load_request request;
static struct rv_load_plan plan;
static struct rv_load_result result;
static char head[128];
static char why[RV_TARGET_WHY_MAX];

static void aim_at(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&address.sockaddr, &to, sizeof to);
    address.length = sizeof to;
}

static void ask(const char *path)
{
    int length = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    request = (struct rv_load_request){.octets = head,
                                       .length = (size_t)length,
                                       .head_length = (size_t)length,
                                       .is_idempotent = true,
                                       .content_expected = RV_LENGTH_ANY};
}

static int set_up(void **state)
{
    (void)state;
    serve_make(&served, (rv_server_options){.workers = 2, .pool_threads = 1});
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_route(&served, "GET /hold", hold, NULL, (rv_route_options){0});
    serve_start(&served);
    memset(&plan, 0, sizeof plan);
    plan.target.addresses = &address;
    plan.target.address_count = 1;
    plan.requests = &request;
    plan.request_count = 1;
    plan.clients = 8;
    plan.threads = 2;
    plan.timeout_us = 60000000;
    plan.give_up_unreached = true;
    aim_at(served.port);
    ask("/number/12345");
    memset(&result, 0, sizeof result);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rv_load_result_free(&result);
    serve_free(&served);
    return 0;
}

static void run(const struct rv_load_watch *watch)
{
    struct rv_probe *probe = rv_probe_new(&plan.target);
    assert_int_equal(rv_load_run(&plan, probe, watch, &result, why), 0);
    rv_probe_free(probe);
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(&result, laws);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            fail_msg("violated: %s: %s", laws[i].name, laws[i].numbers);
}

static void threads_share_the_requests(void **state)
{
    (void)state;
    plan.requests_max = 5001;
    run(NULL);
    assert_int_equal(result.answered, 5001);
    assert_int_equal(result.statuses[200], 5001);
    assert_int_equal(result.content_octets, 5001 * 5);
    assert_int_equal(result.connects, 8);
    assert_int_equal(result.open_peak, 8);
    assert_int_equal(result.end, RV_END_DONE);
    assert_int_equal(result.evidence.thread_count, 2);
    assert_true(result.evidence.client_cpu_us > 0);
    assert_string_equal(result.document, "/number/12345");
    assert_string_equal(result.server_software, "rivulet");
}

static void every_client_of_every_thread_has_its_quota(void **state)
{
    (void)state;
    plan.quota = 100;
    plan.clients = 7; /* four for one thread, three for the other */
    run(NULL);
    assert_int_equal(result.answered, 700);
}

static void a_connection_for_each_request(void **state)
{
    (void)state;
    plan.requests_max = 500;
    plan.close_each = true;
    run(NULL);
    assert_int_equal(result.answered, 500);
    assert_int_equal(result.connects, 500);
    assert_int_equal(result.connect.total, 500);
}

static void a_run_of_a_certain_time(void **state)
{
    (void)state;
    plan.duration_us = 200000;
    run(NULL);
    assert_true(result.answered > 0);
    assert_in_range(result.elapsed_us, 200000, 5000000);
    assert_int_equal(result.end, RV_END_DONE);
}

static void an_open_loop_of_two_threads_keeps_the_rate(void **state)
{
    (void)state;
    plan.model = RV_LOAD_OPEN;
    plan.rate_per_s = 2000;
    plan.duration_us = 500000;
    plan.clients = 100;
    run(NULL);
    assert_in_range(result.due, 999, 1001);
    assert_int_equal(result.started + result.not_started, result.due);
}

struct heard {
    unsigned ticks;
    volatile sig_atomic_t stop;
};

static void stop_at_the_third_tick(const struct rv_load_progress *progress, void *ctx)
{
    struct heard *heard = ctx;
    if (++heard->ticks == 3) {
        assert_true(progress->elapsed_us > 0);
        heard->stop = 1;
    }
}

static void a_run_that_is_told_to_stop_has_its_result(void **state)
{
    (void)state;
    struct heard heard = {0};
    ask("/hold");
    plan.duration_us = 60000000;
    run(&(struct rv_load_watch){
        .stop = &heard.stop, .tick_ms = 5, .on_progress = stop_at_the_third_tick, .ctx = &heard});
    assert_int_equal(result.end, RV_END_INTERRUPTED);
    assert_int_equal(result.answered, 0);
    assert_int_equal(result.in_flight, 8);
}

static void nobody_there_ends_the_run_early(void **state)
{
    (void)state;
    plan.duration_us = 60000000;
    serve_stop(&served);
    run(NULL);
    assert_int_equal(result.end, RV_END_UNREACHED);
    assert_true(result.failures[RV_FAILURE_CONNECT_REFUSED] >= 8);
    assert_int_equal(result.failures[RV_FAILURE_CONNECT_REFUSED], result.failed);
}

static void more_threads_than_clients_are_no_problem(void **state)
{
    (void)state;
    plan.threads = 5;
    plan.clients = 2;
    plan.quota = 50; /* of each, so that the first thread to start cannot have them all */
    run(NULL);
    assert_int_equal(result.answered, 100);
    assert_int_equal(result.connects, 2);
}

static void the_listener_is_found_and_its_limit_known(void **state)
{
    (void)state;
    plan.requests_max = 100;
    run(NULL);
    assert_true(result.evidence.server.found);
    assert_int_equal(result.evidence.server.sockets, 2);
    assert_true(result.evidence.server.backlog > 0);
    assert_true(result.evidence.server.queue_samples > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_share_the_requests),
        TEST(every_client_of_every_thread_has_its_quota),
        TEST(a_connection_for_each_request),
        TEST(a_run_of_a_certain_time),
        TEST(an_open_loop_of_two_threads_keeps_the_rate),
        TEST(a_run_that_is_told_to_stop_has_its_result),
        TEST(nobody_there_ends_the_run_early),
        TEST(more_threads_than_clients_are_no_problem),
        TEST(the_listener_is_found_and_its_limit_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
