/*
 * Facts about the verdict: what makes a run worthless, what doubtful, and that nothing else does.
 */
#include "report/verdict.h"

#include "made.h"

static struct rv_verdict verdict;

static void expect(enum rv_verdict_grade grade, const char *reason)
{
    rv_verdict_of(&made, &verdict);
    assert_int_equal(verdict.reason_count, reason == NULL ? 0 : 1);
    if (reason != NULL)
        assert_string_equal(verdict.reasons[0], reason);
    assert_string_equal(rv_verdict_grade_name(verdict.grade), rv_verdict_grade_name(grade));
}

static void expect_valid(void)
{
    expect(RV_VERDICT_VALID, NULL);
    assert_false(verdict.law_violated);
}

static void a_run_with_room_to_spare_is_valid(void **state)
{
    (void)state;
    expect_valid();
}

static void grades_have_names(void **state)
{
    (void)state;
    assert_string_equal(rv_verdict_grade_name(RV_VERDICT_VALID), "VALID");
    assert_string_equal(rv_verdict_grade_name(RV_VERDICT_SUSPECT), "SUSPECT");
    assert_string_equal(rv_verdict_grade_name(RV_VERDICT_INVALID), "INVALID");
}

/* ---- worthless ----------------------------------------------------------------------------------------- */

static void a_violated_law_makes_it_invalid(void **state)
{
    (void)state;
    made.in_flight = 3;
    expect(RV_VERDICT_INVALID,
           "a law is violated, started = answered + failed + in flight: 1000000 and 1000003");
    assert_true(verdict.law_violated);
}

static void nothing_answered_is_invalid(void **state)
{
    (void)state;
    made_no_answers();
    made.content_octets = 0;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 10, 100);
    expect(RV_VERDICT_INVALID, "nothing was answered");
    assert_false(verdict.law_violated);
}

static void mostly_failures_are_invalid_and_some_are_suspect(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_WAIT_RESET, 1000000, 1);
    expect(RV_VERDICT_SUSPECT, "1000000 of 2000000 requests failed (50 %)");
    made_failures(RV_FAILURE_WAIT_RESET, 1, 100);
    expect(RV_VERDICT_INVALID, "1000001 of 2000001 requests failed (50 %)");
}

/* ---- doubtful ------------------------------------------------------------------------------------------ */

static void a_single_failure_is_suspect(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_WAIT_RESET, 1, 100);
    expect(RV_VERDICT_SUSPECT, "1 of 1000001 requests failed (under 0.01 %)");
}

static void answers_that_are_all_errors_are_suspect(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(404, 900000, 600, 0);
    made_answers(503, 100000, 600, 0);
    expect(RV_VERDICT_SUSPECT, "all 1000000 answers were errors, most of them 404");
}

static void nothing_but_redirections_is_suspect(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(301, 9000, 600, 0);
    made_answers(302, 1000, 600, 0);
    expect(RV_VERDICT_SUSPECT, "all 10000 answers were redirections, which are not followed");
    made_answers(304, 1, 600, 0);
    expect_valid();
}

static void some_error_answers_are_suspect_and_redirections_are_not(void **state)
{
    (void)state;
    made_answers(302, 1000, 600, 0);
    expect_valid();
    made_answers(500, 1001, 600, 0);
    expect(RV_VERDICT_SUSPECT, "1001 of 1002001 answers were errors (0.10 %), most of them 500");
}

static void a_run_that_ended_early_is_suspect(void **state)
{
    (void)state;
    made.end = RV_END_INTERRUPTED;
    expect(RV_VERDICT_SUSPECT, "interrupted after 10.0 s");
    made.end = RV_END_FAILURES;
    expect(RV_VERDICT_SUSPECT, "given up after 10.0 s because of the failures");
    made.end = RV_END_DONE;
    expect_valid();
}

static void requests_that_hang_at_the_end_are_suspect(void **state)
{
    (void)state;
    made_unfinished(3, 5000000);
    expect(
        RV_VERDICT_SUSPECT,
        "3 requests had no answer at the end, the oldest for 5.00 s: no percentile knows of them");
}

static void requests_that_had_just_begun_at_the_end_are_not(void **state)
{
    (void)state;
    made_unfinished(64, 900);
    expect_valid();
}

static void slow_requests_that_wait_no_longer_than_others_are_not(void **state)
{
    (void)state;
    made_answers(200, 20000, 2000000, 0);
    made.clients = 6400;
    made_unfinished(1, 3000000);
    expect_valid();
}

static void a_busy_load_thread_is_suspect(void **state)
{
    (void)state;
    made.evidence.thread_cpu_us[0] = 9100000;
    expect(RV_VERDICT_SUSPECT,
           "the client was at its limit: its busiest thread was on a CPU 91 % of the time");
    made.evidence.thread_cpu_us[0] = 8900000;
    expect_valid();
}

static void the_busiest_of_several_threads_counts(void **state)
{
    (void)state;
    made.evidence.thread_count = 2;
    made.evidence.thread_cpu_us[1] = 9900000;
    rv_verdict_of(&made, &verdict);
    assert_int_equal(verdict.grade, RV_VERDICT_SUSPECT);
}

static void shared_cpus_are_suspect(void **state)
{
    (void)state;
    made.evidence.cpus_shared = 1;
    expect(RV_VERDICT_SUSPECT, "client and server shared 1 CPU");
}

static void a_late_client_is_suspect_when_clients_were_free(void **state)
{
    (void)state;
    made.open_model = true;
    made.rate_per_s = 100000;
    rv_hist_record_many(&made.lateness, 3000, 1000000);
    expect(RV_VERDICT_SUSPECT,
           "the client began its requests late (p99 3.00 ms) although clients were free");
    made.queued = 1000000;
    expect_valid();
    made.queued = 0;
    rv_hist_reset(&made.lateness);
    rv_hist_record_many(&made.lateness, 900, 1000000);
    expect_valid();
}

/* A schedule of a second or two is a few per cent off its rate: all that was due is what counts. */
static void a_poisson_schedule_that_fell_short_is_valid(void **state)
{
    (void)state;
    made.open_model = made.poisson = true;
    made.rate_per_s = 103000;
    expect_valid();
}

static void requests_that_never_began_are_suspect(void **state)
{
    (void)state;
    made.open_model = true;
    made.rate_per_s = 100000;
    made.not_started = 5;
    made.due += 5;
    expect(RV_VERDICT_SUSPECT, "5 requests that were due never began: all 64 clients were busy");
}

static void stolen_cpu_time_is_suspect(void **state)
{
    (void)state;
    made.evidence.steal_us = 1000000;
    expect(RV_VERDICT_SUSPECT, "the hypervisor took 5 % of the CPU time");
    made.evidence.steal_us = 390000;
    expect_valid();
}

static void other_processes_that_leave_no_cpu_idle_are_suspect(void **state)
{
    (void)state;
    made.evidence.other_cpu_us = 7000000; /* and 5 s of the client, 6 s of the server, of 20 s */
    expect(RV_VERDICT_SUSPECT, "other processes kept 0.700 of the 2 CPUs busy");
    made.evidence.other_cpu_us = 5000000;
    expect_valid();
    made.evidence.other_cpu_us = 1900000;
    made.evidence.client_cpu_us = 11000000;
    expect_valid();
    made.evidence.other_cpu_us = -1;
    expect_valid();
}

static void too_few_answers_for_p99_are_suspect(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(200, 9999, 600, 0);
    expect(RV_VERDICT_SUSPECT, "p99 rests on the slowest 99 of 9999 answers: 10000 are enough");
    made_answers(200, 1, 600, 0);
    expect_valid();
    made_no_answers();
    made_answers(200, 99, 600, 0);
    expect(RV_VERDICT_SUSPECT, "99 answers: too few for p99, which takes 100");
    made_no_answers();
    made_answers(200, 1, 600, 0);
    expect(RV_VERDICT_SUSPECT, "1 answer: too few for p99, which takes 100");
}

static void more_reasons_than_there_is_room_for_do_no_harm(void **state)
{
    (void)state;
    made.open_model = true;
    made.rate_per_s = 1e9;
    made.not_started = 5;
    made.evidence.cpus_shared = 2;
    made.evidence.steal_us = made.elapsed_us;
    made.evidence.thread_cpu_us[0] = made.elapsed_us;
    made.end = RV_END_INTERRUPTED;
    made.in_flight = made.failed = 77;
    made.content_octets = UINT64_MAX;
    rv_hist_record_many(&made.lateness, 5000, 100);
    made.statuses[500] = 5;
    rv_hist_record_many(&made.unfinished, 90000000, 10);
    rv_verdict_of(&made, &verdict);
    assert_int_equal(verdict.reason_count, RV_REASONS_MAX);
    assert_int_equal(verdict.grade, RV_VERDICT_INVALID);
    assert_true(verdict.law_violated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        made_test(a_run_with_room_to_spare_is_valid),
        cmocka_unit_test(grades_have_names),
        made_test(a_violated_law_makes_it_invalid),
        made_test(nothing_answered_is_invalid),
        made_test(mostly_failures_are_invalid_and_some_are_suspect),
        made_test(a_single_failure_is_suspect),
        made_test(answers_that_are_all_errors_are_suspect),
        made_test(nothing_but_redirections_is_suspect),
        made_test(some_error_answers_are_suspect_and_redirections_are_not),
        made_test(a_run_that_ended_early_is_suspect),
        made_test(requests_that_hang_at_the_end_are_suspect),
        made_test(requests_that_had_just_begun_at_the_end_are_not),
        made_test(slow_requests_that_wait_no_longer_than_others_are_not),
        made_test(a_busy_load_thread_is_suspect),
        made_test(the_busiest_of_several_threads_counts),
        made_test(shared_cpus_are_suspect),
        made_test(a_late_client_is_suspect_when_clients_were_free),
        made_test(a_poisson_schedule_that_fell_short_is_valid),
        made_test(requests_that_never_began_are_suspect),
        made_test(stolen_cpu_time_is_suspect),
        made_test(other_processes_that_leave_no_cpu_idle_are_suspect),
        made_test(too_few_answers_for_p99_are_suspect),
        made_test(more_reasons_than_there_is_room_for_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
