/*
 * What a load thread records: moments become phases that sum up, periods follow the clock and are made
 * longer when they run out, and the parts of several threads add up to one result.
 */
#include "load/recorder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define START_US 1000000000
#define WALL_US 1700000000000000
#define SECOND_US 1000000

static struct rv_recorder recorder, other;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(rv_recorder_init(&recorder, true), 0);
    assert_int_equal(rv_recorder_init(&other, true), 0);
    rv_recorder_start(&recorder, START_US, WALL_US);
    rv_recorder_start(&other, START_US, WALL_US);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rv_recorder_free(&recorder);
    rv_recorder_free(&other);
    return 0;
}

/* A request that is due `at_us` after the start, goes out 10 microseconds later on a new connection, has
   its first octet after 100 more and its last after 20 more. */
static void answer(struct rv_recorder *to, uint64_t at_us, int status)
{
    uint64_t due_us = START_US + at_us;
    struct rv_exchange exchange = {
        .due_us = due_us, .taken_us = due_us, .sent_us = due_us + 10, .opens = true};
    struct rv_answer given = {.status = status,
                              .kept_alive = true,
                              .first_us = due_us + 110,
                              .last_us = due_us + 130,
                              .content = 5};
    rv_recorder_started(to, &exchange, false);
    rv_recorder_answered(to, &exchange, &given);
}

static void fail_at(struct rv_recorder *to, uint64_t at_us, enum rv_load_failure failure, int error)
{
    struct rv_exchange exchange = {.due_us = START_US + at_us, .taken_us = START_US + at_us};
    rv_recorder_started(to, &exchange, false);
    rv_recorder_failed(to, &exchange, failure, error, START_US + at_us + 1000);
}

static struct rv_load_result merged(unsigned count)
{
    struct rv_recorder *recorders[] = {&recorder, &other};
    struct rv_load_result result;
    assert_int_equal(rv_load_result_init(&result), 0);
    assert_int_equal(rv_recorders_merge(recorders, count, &result), 0);
    return result;
}

static void assert_lawful(struct rv_load_result *result)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    result->clients = 100;
    result->elapsed_us = SECOND_US;
    result->received_octets = result->content_octets + 100;
    uint32_t count = rv_load_laws(result, laws);
    assert_true(count >= 6);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            fail_msg("%s: %s", laws[i].name, laws[i].numbers);
}

static void an_answer_is_counted_in_every_phase(void **state)
{
    (void)state;
    answer(&recorder, 0, 200);
    answer(&recorder, 50, 404);
    struct rv_load_result result = merged(1);
    assert_int_equal(result.answered, 2);
    assert_int_equal(result.statuses[200], 1);
    assert_int_equal(result.statuses[404], 1);
    assert_int_equal(result.content_octets, 10);
    assert_int_equal(result.kept_alive, 2);
    assert_int_equal(result.opening.sum, 20);
    assert_int_equal(result.wait.sum, 200);
    assert_int_equal(result.transfer.sum, 40);
    assert_int_equal(result.service.sum, 240);
    assert_int_equal(result.total[2].sum, 130);
    assert_int_equal(result.total[4].sum, 130);
    assert_lawful(&result);
    rv_load_result_free(&result);
}

static void failures_are_kept_apart_with_their_errno(void **state)
{
    (void)state;
    answer(&recorder, 0, 200);
    fail_at(&recorder, 10, RV_FAILURE_WAIT_RESET, ECONNRESET);
    fail_at(&other, 10, RV_FAILURE_WAIT_RESET, ECONNRESET);
    fail_at(&other, 20, RV_FAILURE_CONNECT_OTHER, EPERM);
    fail_at(&other, 30, RV_FAILURE_HEAD_MALFORMED, 0);
    struct rv_load_result result = merged(2);
    assert_int_equal(result.failed, 4);
    assert_int_equal(result.failures[RV_FAILURE_WAIT_RESET], 2);
    assert_int_equal(result.errno_count, 2);
    assert_int_equal(result.errnos[0].error_number, ECONNRESET);
    assert_int_equal(result.errnos[0].count, 2);
    assert_int_equal(result.wait.total, 1); /* of the answer alone */
    assert_int_equal(result.failing.total, 4);
    assert_lawful(&result);
    rv_load_result_free(&result);
}

static void what_the_end_catches_is_in_flight(void **state)
{
    (void)state;
    struct rv_exchange exchange = {.due_us = START_US, .taken_us = START_US};
    rv_recorder_started(&recorder, &exchange, false);
    rv_recorder_unfinished(&recorder, &exchange, START_US + 500);
    struct rv_load_result result = merged(1);
    assert_int_equal(result.in_flight, 1);
    assert_int_equal(result.unfinished.max, 500);
    assert_lawful(&result);
    rv_load_result_free(&result);
}

static void the_series_has_a_period_for_each_second(void **state)
{
    (void)state;
    answer(&recorder, 0, 200);
    answer(&recorder, 2 * SECOND_US, 200);
    answer(&other, 2 * SECOND_US + 1000, 200);
    fail_at(&other, 3 * SECOND_US, RV_FAILURE_WAIT_CLOSED, 0);
    rv_recorder_received(&recorder, 1000, START_US + 3 * SECOND_US);
    struct rv_load_result result = merged(2);
    assert_int_equal(result.period_s, 1);
    assert_int_equal(result.series_count, 4);
    assert_int_equal(result.series[0].answered, 1);
    assert_int_equal(result.series[1].answered, 0);
    assert_int_equal(result.series[2].answered, 2);
    assert_int_equal(result.series[2].max_us, 130);
    assert_int_equal(result.series[3].failed, 1);
    assert_int_equal(result.series[3].octets, 1000);
    rv_load_result_free(&result);
}

/* An hour, and one thread whose clock was looked at only in the beginning. */
static void a_long_run_has_longer_periods_and_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t second = 0; second < 3600; second++)
        answer(&recorder, second * SECOND_US, 200);
    answer(&other, SECOND_US + 5, 200);
    struct rv_load_result result = merged(2);
    assert_int_equal(result.period_s, 8);
    assert_int_equal(result.series_count, 450);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < result.series_count; i++) {
        assert_int_equal(result.series[i].answered, i == 0 ? 9 : 8);
        sum += result.series[i].answered;
    }
    assert_int_equal(sum, 3601);
    rv_load_result_free(&result);
}

static void a_stall_longer_than_the_whole_series_is_survived(void **state)
{
    (void)state;
    answer(&recorder, 0, 200);
    answer(&recorder, 100000ul * SECOND_US, 200);
    struct rv_load_result result = merged(1);
    assert_true(result.series_count <= RV_LOAD_SERIES_MAX);
    assert_int_equal(result.series[0].answered, 1);
    assert_int_equal(result.series[result.series_count - 1].answered, 1);
    rv_load_result_free(&result);
}

static void samples_are_kept_when_asked_for(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        answer(&recorder, i, 200);
    answer(&other, 7, 503);
    struct rv_load_result result = merged(2);
    assert_int_equal(result.sample_count, 3001);
    assert_int_equal(result.samples[2999].start_us, WALL_US + 2999);
    assert_int_equal(result.samples[0].opening_us, 10);
    assert_int_equal(result.samples[0].wait_us, 100);
    assert_int_equal(result.samples[0].service_us, 120);
    assert_int_equal(result.samples[3000].status, 503);
    rv_load_result_free(&result);
}

static void a_law_that_is_violated_is_seen(void **state)
{
    (void)state;
    answer(&recorder, 0, 200);
    struct rv_load_result result = merged(1);
    struct rv_load_law laws[RV_LAWS_MAX];
    result.clients = 1;
    result.elapsed_us = SECOND_US;
    result.received_octets = 100;
    unsigned broken = 0;
    result.started++;
    uint32_t count = rv_load_laws(&result, laws);
    for (uint32_t i = 0; i < count; i++)
        broken += !laws[i].holds;
    assert_int_equal(broken, 2); /* started = ..., and due = started + ... */
    result.started--;
    result.wait.sum += 1;
    count = rv_load_laws(&result, laws);
    broken = 0;
    for (uint32_t i = 0; i < count; i++)
        broken += !laws[i].holds;
    assert_int_equal(broken, 1);
    rv_load_result_free(&result);
}

/* Ten clients of whom only four seem to have done anything: time has been lost. */
static void clients_that_were_idle_in_a_steady_run_are_seen(void **state)
{
    (void)state;
    struct rv_load_result result = merged(1);
    struct rv_load_law laws[RV_LAWS_MAX];
    result.clients = 10;
    result.elapsed_us = result.duration_us = 4 * SECOND_US;
    for (unsigned busy = 4; busy <= 6; busy += 2) {
        rv_hist_reset(&result.unfinished);
        rv_hist_record_many(&result.unfinished, 4 * SECOND_US, busy);
        result.started = result.due = result.in_flight = busy;
        uint32_t count = rv_load_laws(&result, laws), broken = 0;
        for (uint32_t i = 0; i < count; i++)
            broken += !laws[i].holds;
        assert_int_equal(broken, busy < 5 ? 1 : 0);
    }
    result.think_us = 1000; /* then they may be idle */
    rv_hist_reset(&result.unfinished);
    rv_hist_record_many(&result.unfinished, 4 * SECOND_US, 1);
    result.started = result.due = result.in_flight = 1;
    uint32_t count = rv_load_laws(&result, laws);
    for (uint32_t i = 0; i < count; i++)
        assert_true(laws[i].holds);
    rv_load_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_counted_in_every_phase, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_are_kept_apart_with_their_errno, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_end_catches_is_in_flight, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_series_has_a_period_for_each_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_run_has_longer_periods_and_loses_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_stall_longer_than_the_whole_series_is_survived, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(samples_are_kept_when_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_law_that_is_violated_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_that_were_idle_in_a_steady_run_are_seen, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
