/*
 * Facts about talks that are answered later (step 7 of rivulet.h): resuming from here and from other
 * threads, handles that are stale, what a talk still knows then, clients that leave, and rv_after_ms.
 */
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rv_handle handle; /* of the talk that was suspended last */
static int gone;

static void count_gone(void *ctx)
{
    (void)ctx;
    gone++;
}

static int suspend(rv_talk *talk, void *ctx)
{
    (void)ctx;
    handle = rv_suspend(talk);
    rv_on_gone(talk, count_gone, NULL);
    return RV_PENDING;
}

static int set_up(void **state)
{
    handle.id = 0;
    gone = 0;
    tested_set_up(state);
    route("* /wait/{rest...}", suspend, NULL);
    return 0;
}

/* A resumption, and what came of it. */
struct resumption {
    const char *answer; /* NULL: stay suspended */
    rv_error error;     /* of rv_resume */
    int calls, calls_without_talk;
    int result; /* of the answer */
};

static int on_resume(rv_talk *talk, void *value)
{
    struct resumption *resumption = value;
    resumption->calls++;
    resumption->calls_without_talk += talk == NULL;
    if (resumption->answer == NULL)
        return RV_PENDING;
    resumption->result = rv_text(talk, 200, resumption->answer);
    return resumption->result;
}

static void resume(rv_handle which, struct resumption *resumption)
{
    resumption->error = rv_resume(tested, which, on_resume, resumption);
}

static void settle(void)
{
    rv_test_settle(client());
}

/* It was told that the talk is no more: by rv_resume at once, or by a call without a talk. */
static void expect_told_in_vain(const struct resumption *resumption)
{
    assert_int_equal(resumption->calls, resumption->calls_without_talk);
    if (resumption->error == 0)
        assert_int_equal(resumption->calls, 1);
    else
        assert_int_equal(resumption->error, RV_EGONE);
    assert_int_equal(resumption->calls, resumption->error == 0 ? 1 : 0);
}

/* ---- resuming ---------------------------------------------------------------------------------- */

static void a_suspended_talk_is_answered_when_it_is_resumed(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "later"};
    get("/wait/");
    advance_ms(100000); /* no timeout of the library's concerns a handler */
    expect_silence();
    expect_open();
    resume(handle, &resumption);
    assert_int_equal(resumption.error, 0);
    assert_int_equal(resumption.calls, 0); /* on the worker, not in here */
    settle();
    assert_int_equal(resumption.calls, 1);
    expect_answer(200, "later");
    assert_int_equal(gone, 0);
    get("/nowhere");
    expect_status(404);
}

static void *resume_from_thread(void *argument)
{
    resume(handle, argument);
    return NULL;
}

static void a_talk_is_resumed_from_another_thread(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "from afar"};
    pthread_t thread;
    get("/wait/");
    assert_int_equal(pthread_create(&thread, NULL, resume_from_thread, &resumption), 0);
    pthread_join(thread, NULL);
    settle();
    expect_answer(200, "from afar");
}

static void several_resumptions_run_in_their_order(void **state)
{
    (void)state;
    struct resumption first = {0}, second = {.answer = "second"}, third = {.answer = "third"};
    get("/wait/");
    resume(handle, &first);
    resume(handle, &second);
    resume(handle, &third);
    settle();
    expect_answer(200, "second");
    assert_int_equal(first.calls, 1);
    assert_int_equal(first.calls_without_talk, 0);
    expect_told_in_vain(&third);
    expect_silence();
}

static int suspend_and_resume(rv_talk *talk, void *ctx)
{
    struct resumption *resumption = ctx;
    handle = rv_suspend(talk);
    resume(handle, resumption);
    assert_int_equal(resumption->calls, 0);
    return RV_PENDING;
}

static void a_resumption_waits_until_the_handler_has_returned(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "at once"};
    route("GET /now", suspend_and_resume, &resumption);
    get("/now");
    expect_answer(200, "at once");
    assert_int_equal(resumption.calls, 1);
}

static int suspend_again(rv_talk *talk, void *value)
{
    *(rv_handle *)value = rv_suspend(talk);
    return RV_PENDING;
}

static void a_handle_stays_the_same_while_the_talk_lasts(void **state)
{
    (void)state;
    rv_handle again = {0};
    get("/wait/");
    assert_int_equal(rv_resume(tested, handle, suspend_again, &again), 0);
    settle();
    assert_true(again.id == handle.id);
}

static int fail_later(rv_talk *talk, void *value)
{
    (void)talk;
    (void)value;
    return RV_EIO;
}

static void a_resumed_handler_that_fails_is_500(void **state)
{
    (void)state;
    get("/wait/");
    assert_int_equal(rv_resume(tested, handle, fail_later, NULL), 0);
    settle();
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(errors_told, 1);
    assert_int_equal(gone, 1);
    expect_open();
}

static void requests_behind_a_suspended_one_wait(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "first"};
    say("GET /wait/ HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    get("/nowhere");
    expect_silence();
    resume(handle, &resumption);
    settle();
    expect_answer(200, "first");
    expect_status(404);
    expect_status(404);
    expect_silence();
}

static void talks_of_several_clients_are_resumed_in_any_order(void **state)
{
    (void)state;
    rv_handle handles[4];
    struct resumption resumptions[4] = {
        {.answer = "0"}, {.answer = "1"}, {.answer = "2"}, {.answer = "3"}};
    for (unsigned i = 0; i < 4; i++) {
        as(i);
        get("/wait/");
        handles[i] = handle;
    }
    static const unsigned order[] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++)
        resume(handles[order[i]], &resumptions[order[i]]);
    settle();
    for (unsigned i = 0; i < 4; i++) {
        as(i);
        expect_answer(200, resumptions[i].answer);
    }
}

/* ---- handles ----------------------------------------------------------------------------------- */

static void a_handle_of_nothing_is_gone(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "never"};
    get("/wait/");
    resume((rv_handle){0}, &resumption);
    assert_int_equal(resumption.error, RV_EGONE);
    const uint64_t wrong[] = {handle.id ^ 1, handle.id ^ UINT64_C(1) << 32,
                              handle.id ^ UINT64_C(0xffff) << 32, handle.id ^ UINT64_C(1) << 56,
                              UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct resumption one = {.answer = "never"};
        resume((rv_handle){wrong[i]}, &one);
        settle();
        expect_told_in_vain(&one);
    }
    expect_silence();
    assert_int_equal(resumption.calls, 0);
}

static void something_must_be_done_with_a_resumed_talk(void **state)
{
    (void)state;
    get("/wait/");
    assert_int_equal(rv_resume(tested, handle, NULL, NULL), RV_EINVAL);
}

static void a_server_that_does_not_run_has_no_talks(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "never"};
    resume((rv_handle){1}, &resumption);
    assert_int_equal(resumption.error, RV_EGONE);
}

static void a_stale_handle_does_not_reach_the_next_talk(void **state)
{
    (void)state;
    struct resumption first = {.answer = "first"}, stale = {.answer = "stale"},
                      second = {.answer = "second"};
    get("/wait/");
    rv_handle old = handle;
    resume(old, &first);
    settle();
    expect_answer(200, "first");
    get("/wait/"); /* takes the record that the first has left */
    assert_false(handle.id == old.id);
    resume(old, &stale);
    settle();
    expect_silence();
    expect_told_in_vain(&stale);
    resume(handle, &second);
    settle();
    expect_answer(200, "second");
}

/* ---- what a talk still knows ------------------------------------------------------------------- */

static int recall(rv_talk *talk, void *value)
{
    char text[1024];
    rv_bytes nouns[] = {rv_method(talk),        rv_target(talk),
                        rv_path(talk),          rv_query(talk),
                        rv_host(talk),          rv_header(talk, "X-Own"),
                        rv_param(talk, "rest"), rv_param(talk, "q"),
                        rv_cookie(talk, "c"),   rv_header(talk, "X-Last"),
                        rv_body(talk)};
    size_t used = 0;
    (void)value;
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s|", (int)nouns[i].len,
                                 nouns[i].ptr == NULL ? "" : nouns[i].ptr);
    return rv_text(talk, 200, text);
}

/* Of a request that is longer than those that are kept, and so overwrites where they were read. */
static const char *long_path(void)
{
    static char path[1000] = "/nowhere/";
    memset(path + strlen("/nowhere/"), 'x', sizeof path - 1 - strlen("/nowhere/"));
    return path;
}

static void a_suspended_talk_keeps_its_request(void **state)
{
    (void)state;
    say("POST /wait/plain?q=1 HTTP/1.1\r\nHost: test\r\nX-Own: own\r\nCookie: c=cookie\r\n"
        "X-Last: last\r\nContent-Length: 4\r\n\r\nbody");
    for (unsigned i = 1; i < 4; i++) {
        as(i);
        request("GET", long_path(), NULL);
        expect_status(404);
    }
    as(0);
    say("GET /nowhere/behind HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(rv_resume(tested, handle, recall, NULL), 0);
    settle();
    expect_answer(200, "POST|/wait/plain?q=1|/wait/plain|q=1|test|own|plain|1|cookie|last|body|");
    expect_status(404);
}

static void a_suspended_talk_keeps_a_request_that_had_to_be_decoded(void **state)
{
    (void)state;
    say("POST /wait/./x/../a%20b/c%2Fd?q=%31+2 HTTP/1.1\r\nHost: test\r\nX-Own:\r\n"
        "Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n");
    as(1);
    request("GET", long_path(), NULL);
    as(0);
    assert_int_equal(rv_resume(tested, handle, recall, NULL), 0);
    settle();
    expect_answer(200, "POST|/wait/./x/../a%20b/c%2Fd?q=%31+2|/wait/a b/c/d|q=%31+2|test||"
                       "a b/c/d|1 2|||body|");
}

static void a_suspended_talk_keeps_a_request_that_came_in_pieces(void **state)
{
    (void)state;
    static const char text[] = "POST /wait/plain?q=1 HTTP/1.1\r\nHost: test\r\nX-Own: own\r\n"
                               "Content-Length: 4\r\n\r\nbody";
    for (size_t i = 0; i + 1 < sizeof text; i++)
        say_octets((rv_bytes){text + i, 1});
    say("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(rv_resume(tested, handle, recall, NULL), 0);
    settle();
    expect_answer(200, "POST|/wait/plain?q=1|/wait/plain|q=1|test|own|plain|1|||body|");
}

/* ---- clients that leave ------------------------------------------------------------------------ */

static void a_client_that_leaves_is_told_once(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "too late"};
    get("/wait/");
    assert_int_equal(gone, 0);
    rv_test_reset(client());
    assert_int_equal(gone, 1);
    assert_int_equal(COUNTER(clients_gone), 1);
    assert_int_equal(errors_told, 0);
    resume(handle, &resumption);
    as(1);
    get("/nowhere");
    expect_status(404);
    expect_told_in_vain(&resumption);
    if (resumption.calls == 1)
        assert_int_equal(resumption.result, RV_EGONE);
    assert_int_equal(gone, 1);
}

static void a_resumption_that_is_under_way_when_the_client_leaves_gets_no_talk(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "too late"};
    get("/wait/");
    resume(handle, &resumption);
    rv_test_reset(client()); /* before the worker has looked into its inbox */
    settle();
    assert_int_equal(resumption.calls, 1);
    assert_int_equal(resumption.calls_without_talk, 1);
    assert_int_equal(resumption.result, RV_EGONE);
    assert_int_equal(gone, 1);
}

static void a_client_that_leaves_behind_its_answer_is_not_gone(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "in time"};
    get("/wait/");
    resume(handle, &resumption);
    settle();
    expect_answer(200, "in time");
    rv_test_reset(client());
    assert_int_equal(gone, 0);
    assert_int_equal(COUNTER(clients_gone), 0);
}

static void a_client_that_has_half_closed_still_gets_its_answer(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "in time"};
    get("/wait/");
    rv_test_half_close(client());
    advance_ms(1000);
    expect_open();
    assert_int_equal(gone, 0);
    resume(handle, &resumption);
    settle();
    expect_answer(200, "in time");
    expect_field("Connection", "close");
    expect_closed();
    assert_int_equal(gone, 0);
}

static int answer_then_listen(rv_talk *talk, void *ctx)
{
    rv_error *error = ctx;
    rv_text(talk, 200, "answered");
    error[0] = rv_on_gone(talk, count_gone, NULL);
    error[1] = rv_after_ms(talk, 1, suspend, NULL);
    return RV_OK;
}

static void nothing_is_told_of_a_talk_that_is_answered(void **state)
{
    (void)state;
    rv_error errors[2];
    route("GET /answered", answer_then_listen, errors);
    get("/answered");
    expect_answer(200, "answered");
    assert_int_equal(errors[0], RV_ESTATE);
    assert_int_equal(errors[1], RV_ESTATE);
}

static void talks_that_are_suspended_at_the_end_are_told(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "too late"};
    get("/wait/");
    rv_handle first = handle;
    as(1);
    get("/wait/");
    resume(first, &resumption);
    assert_int_equal(resumption.error, 0);
    tested_tear_down(state); /* the clients leave, the server is freed */
    assert_int_equal(gone, 2);
    assert_int_equal(resumption.calls, 1);
    tested_set_up(state);
}

/* ---- timers ------------------------------------------------------------------------------------ */

static struct timing {
    uint64_t delay_ms;
    int fired;
    int repeat; /* so often again */
    rv_error second, bad, late;
} timing;

static int fire(rv_talk *talk, void *ctx)
{
    struct timing *mine = ctx;
    mine->fired++;
    if (mine->fired <= mine->repeat)
        return rv_after_ms(talk, mine->delay_ms, fire, mine) == 0 ? RV_PENDING : RV_EIO;
    return rv_text(talk, 200, "fired");
}

static int answer_after(rv_talk *talk, void *ctx)
{
    struct timing *mine = ctx;
    handle = rv_suspend(talk);
    rv_on_gone(talk, count_gone, NULL);
    mine->bad = rv_after_ms(talk, 1, NULL, NULL);
    rv_error error = rv_after_ms(talk, mine->delay_ms, fire, mine);
    mine->second = rv_after_ms(talk, 1, fire, mine);
    return error != 0 ? error : RV_PENDING;
}

static void start_timing(uint64_t delay_ms, int repeat)
{
    timing = (struct timing){.delay_ms = delay_ms, .repeat = repeat};
    route("GET /after", answer_after, &timing);
    get("/after");
}

static void a_delayed_handler_runs_when_the_time_has_passed(void **state)
{
    (void)state;
    start_timing(500, 0);
    advance_ms(499);
    assert_int_equal(timing.fired, 0);
    advance_ms(2);
    assert_int_equal(timing.fired, 1);
    expect_answer(200, "fired");
    advance_ms(10000);
    assert_int_equal(timing.fired, 1);
}

static void a_delay_of_0_comes_after_the_handler_has_returned(void **state)
{
    (void)state;
    start_timing(0, 0);
    advance_ms(1);
    expect_answer(200, "fired");
    assert_int_equal(timing.fired, 1);
}

static void a_delayed_handler_may_wait_again(void **state)
{
    (void)state;
    start_timing(100, 3);
    advance_ms(350);
    assert_int_equal(timing.fired, 3);
    expect_silence();
    advance_ms(100);
    expect_answer(200, "fired");
}

static void a_talk_waits_for_one_thing_at_a_time(void **state)
{
    (void)state;
    start_timing(100, 0);
    assert_int_equal(timing.second, RV_ESTATE);
    assert_int_equal(timing.bad, RV_EINVAL);
    advance_ms(200);
    expect_answer(200, "fired");
    assert_int_equal(timing.fired, 1);
}

static void a_delayed_handler_does_not_run_for_a_client_that_has_left(void **state)
{
    (void)state;
    start_timing(100, 0);
    rv_test_reset(client());
    assert_int_equal(gone, 1);
    as(1);
    advance_ms(1000);
    assert_int_equal(timing.fired, 0);
}

static void a_delayed_handler_does_not_run_for_a_talk_that_was_resumed_and_answered(void **state)
{
    (void)state;
    struct resumption resumption = {.answer = "earlier"};
    start_timing(100, 0);
    resume(handle, &resumption);
    settle();
    expect_answer(200, "earlier");
    get("/wait/"); /* the record of the talk is used again */
    advance_ms(1000);
    assert_int_equal(timing.fired, 0);
}

static void delays_of_several_talks_are_apart(void **state)
{
    (void)state;
    static struct timing timings[3];
    static const char *const paths[] = {"GET /0", "GET /1", "GET /2"};
    for (int i = 0; i < 3; i++) {
        timings[i] = (struct timing){.delay_ms = (uint64_t)(300 - 100 * i)};
        route(paths[i], answer_after, &timings[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        as(i);
        get(paths[i] + 4);
    }
    for (unsigned i = 3; i-- > 0;) {
        advance_ms(101);
        as(i);
        expect_answer(200, "fired");
    }
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_suspended_talk_is_answered_when_it_is_resumed),
        FACT(a_talk_is_resumed_from_another_thread),
        FACT(several_resumptions_run_in_their_order),
        FACT(a_resumption_waits_until_the_handler_has_returned),
        FACT(a_handle_stays_the_same_while_the_talk_lasts),
        FACT(a_resumed_handler_that_fails_is_500),
        FACT(requests_behind_a_suspended_one_wait),
        FACT(talks_of_several_clients_are_resumed_in_any_order),
        FACT(a_handle_of_nothing_is_gone),
        FACT(something_must_be_done_with_a_resumed_talk),
        FACT(a_server_that_does_not_run_has_no_talks),
        FACT(a_stale_handle_does_not_reach_the_next_talk),
        FACT(a_suspended_talk_keeps_its_request),
        FACT(a_suspended_talk_keeps_a_request_that_had_to_be_decoded),
        FACT(a_suspended_talk_keeps_a_request_that_came_in_pieces),
        FACT(a_client_that_leaves_is_told_once),
        FACT(a_resumption_that_is_under_way_when_the_client_leaves_gets_no_talk),
        FACT(a_client_that_leaves_behind_its_answer_is_not_gone),
        FACT(a_client_that_has_half_closed_still_gets_its_answer),
        FACT(nothing_is_told_of_a_talk_that_is_answered),
        FACT(talks_that_are_suspended_at_the_end_are_told),
        FACT(a_delayed_handler_runs_when_the_time_has_passed),
        FACT(a_delay_of_0_comes_after_the_handler_has_returned),
        FACT(a_delayed_handler_may_wait_again),
        FACT(a_talk_waits_for_one_thing_at_a_time),
        FACT(a_delayed_handler_does_not_run_for_a_client_that_has_left),
        FACT(a_delayed_handler_does_not_run_for_a_talk_that_was_resumed_and_answered),
        FACT(delays_of_several_talks_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
