/*
 * Facts about streamed request bodies (step 5 of rivulet.h): the pieces, pauses, answering early,
 * failing, refusing.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a route with a streamed body does, and what it has seen. */
static struct upload {
    struct rv_buffer body; /* all pieces */
    int pieces, lasts, gone;
    bool wait;           /* start the body when the test says so, not in the handler */
    bool pause;          /* after each piece */
    bool answer_at_once; /* from the handler, without asking for the body */
    int answer_at;       /* answer with this piece, counted from 1 */
    int fail_at;         /* fail with this piece */
    int last_result;     /* what the last piece returns when it does not answer */
    bool silent;         /* the last piece does not answer */
    rv_handle handle;
} upload;

static void count_gone(void *ctx)
{
    (void)ctx;
    upload.gone++;
}

static int on_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    assert_ptr_equal(ctx, &upload);
    assert_int_equal(upload.lasts, 0); /* nothing follows the last */
    assert_int_equal(rv_buffer_append(&upload.body, piece), 0);
    upload.pieces++;
    upload.lasts += last;
    if (upload.pieces == upload.answer_at)
        return rv_text(talk, 200, "early");
    if (upload.pieces == upload.fail_at)
        return RV_EIO;
    if (!last)
        return upload.pause ? RV_FULL : RV_OK;
    if (upload.silent)
        return upload.last_result;
    return rv_reply(talk, 200, NULL, (rv_bytes){upload.body.ptr, upload.body.len});
}

static int begin_upload(rv_talk *talk, void *ctx)
{
    (void)ctx;
    assert_int_equal(rv_body(talk).len, 0); /* nothing of it is there */
    upload.handle = rv_suspend(talk);
    rv_on_gone(talk, count_gone, NULL);
    if (upload.answer_at_once)
        return rv_text(talk, 200, "at once");
    if (upload.wait)
        return RV_PENDING;
    rv_error error = rv_on_body(talk, on_piece, &upload);
    return error != 0 ? error : RV_PENDING;
}

static int set_up(void **state)
{
    memset(&upload, 0, sizeof upload);
    tested_set_up(state);
    route_with("* /", begin_upload, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route_with("POST /limited", begin_upload, NULL,
               (rv_route_options){.body = RV_BODY_STREAMED, .body_bytes_max = 10});
    return 0;
}

static int tear_down(void **state)
{
    tested_tear_down(state);
    rv_buffer_free(&upload.body);
    return 0;
}

/* Before another upload in the same test. */
static void forget_pieces(void)
{
    upload.pieces = upload.lasts = 0;
    upload.body.len = 0;
}

static void post(const char *path, const char *fields)
{
    request("POST", path, fields);
}

static void say_x(size_t count)
{
    char *octets = malloc(count + 1);
    memset(octets, 'x', count);
    say_octets((rv_bytes){octets, count});
    free(octets);
}

/* The connection is in order: the next request on it is understood. */
static void expect_next_is_served(void)
{
    request("GET", "/nowhere", NULL);
    expect_status(404);
}

static void expect_body(const char *text)
{
    assert_int_equal(upload.body.len, strlen(text));
    if (upload.body.len > 0)
        assert_memory_equal(upload.body.ptr, text, upload.body.len);
}

/* Does something with the talk from outside of its handlers. */
static void with_talk(rv_handler what, void *value)
{
    assert_int_equal(rv_resume(tested, upload.handle, what, value), 0);
    rv_test_settle(client());
}

/* ---- pieces ------------------------------------------------------------------------------------ */

static void pieces_come_as_they_arrive(void **state)
{
    (void)state;
    post("/", "Content-Length: 9\r\n");
    assert_int_equal(upload.pieces, 0);
    say("one");
    assert_int_equal(upload.pieces, 1);
    expect_body("one");
    say("two");
    expect_body("onetwo");
    assert_int_equal(upload.lasts, 0);
    expect_silence();
    say("end");
    assert_int_equal(upload.pieces, 3);
    assert_int_equal(upload.lasts, 1);
    expect_answer(200, "onetwoend");
    expect_next_is_served();
}

static void a_body_that_comes_with_its_head_is_one_piece(void **state)
{
    (void)state;
    say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    assert_int_equal(upload.pieces, 1);
    assert_int_equal(upload.lasts, 1);
    expect_answer(200, "body");
}

static void no_body_is_one_last_empty_piece(void **state)
{
    (void)state;
    request("GET", "/", NULL);
    assert_int_equal(upload.pieces, 1);
    assert_int_equal(upload.lasts, 1);
    expect_answer(200, "");
    forget_pieces();
    post("/", "Content-Length: 0\r\n");
    assert_int_equal(upload.pieces, 1);
    expect_answer(200, "");
    expect_next_is_served();
}

static void the_last_piece_of_a_chunked_body_comes_with_its_end(void **state)
{
    (void)state;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n");
    expect_body("one");
    say("6;x\r\ntwo");
    expect_body("onetwo");
    say("end\r\n");
    expect_body("onetwoend");
    assert_int_equal(upload.lasts, 0);
    say("0\r\n");
    assert_int_equal(upload.lasts, 0);
    say("\r\n");
    assert_int_equal(upload.lasts, 1);
    expect_answer(200, "onetwoend");
    expect_next_is_served();
}

static void a_body_of_any_size_streams_through(void **state)
{
    (void)state;
    post("/", "Content-Length: 5000000\r\n"); /* beyond the limit of whole bodies */
    for (int i = 0; i < 50; i++)
        say_x(100000);
    expect_status(200);
    assert_int_equal(upload.body.len, 5000000);
    assert_true(upload.pieces >= 50);
}

static void the_body_may_be_asked_for_later(void **state)
{
    (void)state;
    upload.wait = true;
    post("/", "Content-Length: 4\r\n");
    say("bo");
    advance_ms(100);
    assert_int_equal(upload.pieces, 0);
    upload.wait = false;
    with_talk(begin_upload, NULL);
    expect_body("bo");
    say("dy");
    expect_answer(200, "body");
}

/* ---- pauses ------------------------------------------------------------------------------------ */

static int resume_body(rv_talk *talk, void *value)
{
    *(rv_error *)value = rv_body_resume(talk);
    return RV_PENDING;
}

static void a_paused_body_waits_for_its_resume(void **state)
{
    (void)state;
    rv_error error = 1;
    upload.pause = true;
    post("/", "Content-Length: 9\r\n");
    say("one");
    say("two");
    say("end");
    advance_ms(1000);
    assert_int_equal(upload.pieces, 1);
    expect_body("one");
    upload.pause = false;
    with_talk(resume_body, &error);
    assert_int_equal(error, 0);
    expect_answer(200, "onetwoend");
}

static void a_paused_chunked_body_waits_chunk_by_chunk(void **state)
{
    (void)state;
    rv_error error = 1;
    upload.pause = true;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n3\r\ntwo\r\n3\r\nend\r\n0\r\n\r\n");
    for (int pieces = 1; pieces <= 3; pieces++) {
        assert_int_equal(upload.pieces, pieces);
        with_talk(resume_body, &error);
        assert_int_equal(error, 0);
    }
    expect_answer(200, "onetwoend");
}

static void what_the_client_sends_during_a_pause_is_not_taken_without_bound(void **state)
{
    (void)state;
    rv_error error = 1;
    upload.pause = true;
    post("/", "Content-Length: 3000000\r\n");
    for (int i = 0; i < 30; i++)
        say_x(100000);
    assert_true(COUNTER(octets_received) < 400000);
    upload.pause = false;
    with_talk(resume_body, &error);
    expect_status(200);
    assert_int_equal(upload.body.len, 3000000);
}

static void only_a_paused_body_can_be_resumed(void **state)
{
    (void)state;
    rv_error error = 1;
    post("/", "Content-Length: 4\r\n");
    with_talk(resume_body, &error);
    assert_int_equal(error, RV_ESTATE);
    say("body");
    expect_answer(200, "body");
}

static void a_client_that_leaves_during_a_pause_is_noticed(void **state)
{
    (void)state;
    upload.pause = true;
    post("/", "Content-Length: 9\r\n");
    say("one");
    rv_test_reset(client());
    assert_int_equal(upload.gone, 1);
    rv_error error = 1;
    assert_int_equal(rv_resume(tested, upload.handle, resume_body, &error), 0);
    as(1);
    request("GET", "/nowhere", NULL);
    assert_int_equal(error, RV_EGONE);
}

/* ---- asking wrongly ---------------------------------------------------------------------------- */

static rv_error results[4];

static int ask_twice(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_on_body(talk, NULL, NULL);
    results[1] = rv_on_body(talk, on_piece, &upload);
    results[2] = rv_on_body(talk, on_piece, &upload);
    return RV_PENDING;
}

static int ask_for_whole(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_on_body(talk, on_piece, &upload);
    results[1] = rv_body_resume(talk);
    return rv_text(talk, 200, "whole");
}

static void a_body_is_asked_for_once(void **state)
{
    (void)state;
    route_with("POST /twice", ask_twice, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    post("/twice", "Content-Length: 4\r\n");
    assert_int_equal(results[0], RV_EINVAL);
    assert_int_equal(results[1], 0);
    assert_int_equal(results[2], RV_ESTATE);
    say("body");
    expect_answer(200, "body");
}

static void a_whole_body_cannot_be_streamed(void **state)
{
    (void)state;
    route("POST /whole", ask_for_whole, NULL);
    post("/whole", "Content-Length: 4\r\n");
    say("body");
    expect_answer(200, "whole");
    assert_int_equal(results[0], RV_ESTATE);
    assert_int_equal(results[1], RV_ESTATE);
}

/* ---- answering early --------------------------------------------------------------------------- */

static void what_is_left_of_a_body_is_dropped_when_the_talk_is_answered(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Content-Length: 9\r\n");
    say("one");
    expect_answer(200, "early");
    expect_field("Connection", NULL);
    say("two");
    say("endGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_status(404);
    assert_int_equal(upload.pieces, 1);
    assert_int_equal(upload.gone, 0);
}

static void what_is_left_of_a_chunked_body_is_dropped_too(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n");
    expect_answer(200, "early");
    say("3\r\ntwo\r\n0\r\nX: y\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_status(404);
    assert_int_equal(upload.pieces, 1);
}

static void a_malformed_rest_ends_the_connection_without_a_word(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n");
    expect_answer(200, "early");
    say("not a chunk\r\n");
    expect_silence(); /* the answer has been given */
    expect_closed();
    assert_int_equal(upload.gone, 0);
}

static void a_body_that_nobody_asked_for_is_dropped(void **state)
{
    (void)state;
    upload.answer_at_once = true;
    say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
        "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "at once");
    expect_status(404);
    assert_int_equal(upload.pieces, 0);
    assert_int_equal(upload.gone, 0);
}

static int ask_and_answer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_on_body(talk, on_piece, &upload);
    int result = rv_text(talk, 200, "answered");
    results[1] = rv_on_body(talk, on_piece, &upload);
    return result;
}

static void an_answer_right_after_asking_needs_no_body(void **state)
{
    (void)state;
    route_with("* /ask", ask_and_answer, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    for (int i = 0; i < 2; i++) {
        request("GET", "/ask", NULL);
        expect_answer(200, "answered");
        assert_int_equal(results[0], 0);
        assert_int_equal(results[1], RV_ESTATE);
    }
    say("POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    expect_answer(200, "answered");
    expect_next_is_served();
    assert_int_equal(upload.pieces, 0);
    request("GET", "/ask", NULL);
    expect_answer(200, "answered");
    advance_ms(20000); /* it is idle like any other */
    expect_closed();
    assert_int_equal(COUNTER(idle_timeouts), 1);
}

static int ask_and_fail(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_on_body(talk, on_piece, &upload);
    return error != 0 ? error : RV_EIO;
}

static void a_failure_right_after_asking_is_500(void **state)
{
    (void)state;
    route_with("* /ask", ask_and_fail, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    request("GET", "/ask", NULL);
    expect_answer(500, "500 Internal Server Error\n");
    expect_next_is_served();
    assert_int_equal(upload.pieces, 0);
    advance_ms(20000);
    expect_closed();
}

static void a_body_with_much_left_ends_the_connection(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Content-Length: 1000000\r\n");
    say("one");
    expect_answer(200, "early");
    expect_field("Connection", "close");
    expect_closed();
}

static void a_chunked_body_is_not_dropped_for_ever(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n");
    expect_answer(200, "early");
    expect_open();
    for (int i = 0; i < 20 && !rv_test_closed(client()); i++) {
        say("8000\r\n");
        say_x(0x8000);
        say("\r\n");
    }
    expect_closed();
    expect_silence();
}

static void a_client_that_waits_for_100_is_answered_instead(void **state)
{
    (void)state;
    upload.answer_at_once = true;
    post("/", "Expect: 100-continue\r\nContent-Length: 4\r\n");
    expect_answer(200, "at once");
    expect_field("Connection", "close");
    expect_closed();
}

static void a_client_is_told_to_continue_when_its_body_is_asked_for(void **state)
{
    (void)state;
    upload.wait = true;
    post("/", "Expect: 100-continue\r\nContent-Length: 4\r\n");
    advance_ms(100);
    expect_silence();
    upload.wait = false;
    with_talk(begin_upload, NULL);
    expect_octets("HTTP/1.1 100 Continue\r\n\r\n");
    say("body");
    expect_answer(200, "body");
}

static void a_client_that_was_told_to_continue_keeps_its_connection(void **state)
{
    (void)state;
    upload.answer_at = 1;
    post("/", "Expect: 100-continue\r\nContent-Length: 9\r\n");
    expect_octets("HTTP/1.1 100 Continue\r\n\r\n");
    say("one");
    expect_answer(200, "early");
    expect_field("Connection", NULL);
    say("twoend");
    expect_next_is_served();
}

static int answer_late(rv_talk *talk, void *value)
{
    return rv_text(talk, 200, value);
}

static char late[] = "late";

static void the_answer_may_come_after_the_last_piece(void **state)
{
    (void)state;
    upload.silent = true;
    upload.last_result = RV_PENDING;
    post("/", "Content-Length: 4\r\n");
    say("body");
    expect_silence();
    with_talk(answer_late, late);
    expect_answer(200, "late");
    assert_int_equal(upload.gone, 0);
    expect_next_is_served();
}

/* ---- failing ----------------------------------------------------------------------------------- */

static void a_piece_that_fails_is_answered_with_500(void **state)
{
    (void)state;
    upload.fail_at = 2;
    post("/", "Content-Length: 9\r\n");
    say("one");
    say("two");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(errors_told, 1);
    assert_int_equal(last_error, RV_EIO);
    assert_int_equal(upload.gone, 1);
    say("end");
    assert_int_equal(upload.pieces, 2);
    expect_next_is_served();
}

static void a_last_piece_that_does_not_answer_has_failed(void **state)
{
    (void)state;
    upload.silent = true;
    upload.last_result = RV_OK;
    post("/", "Content-Length: 4\r\n");
    say("body");
    expect_status(500);
    assert_int_equal(last_error, RV_ESTATE);
    assert_int_equal(upload.gone, 1);
}

static int timer_calls;

static int count_timer(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    timer_calls++;
    return RV_PENDING;
}

static int begin_with_timer(rv_talk *talk, void *ctx)
{
    rv_after_ms(talk, 100, count_timer, NULL);
    return begin_upload(talk, ctx);
}

static void no_timer_of_a_talk_fires_after_it_has_failed_or_was_answered(void **state)
{
    (void)state;
    route_with("POST /timer", begin_with_timer, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    timer_calls = 0;
    upload.fail_at = 1;
    post("/timer", "Content-Length: 9\r\n");
    say("one");
    expect_status(500);
    advance_ms(1000); /* the rest of the body has not come: the talk is not over on the wire */
    assert_int_equal(timer_calls, 0);
    as(1);
    forget_pieces();
    upload.fail_at = 0;
    upload.answer_at = 1;
    post("/timer", "Content-Length: 9\r\n");
    say("one");
    expect_answer(200, "early");
    advance_ms(1000);
    assert_int_equal(timer_calls, 0);
}

static void a_client_that_leaves_in_its_body_is_gone(void **state)
{
    (void)state;
    post("/", "Content-Length: 9\r\n");
    say("one");
    rv_test_reset(client());
    assert_int_equal(upload.gone, 1);
    assert_int_equal(upload.lasts, 0);
    assert_int_equal(errors_told, 0);
    assert_int_equal(COUNTER(clients_gone), 1);
}

static void a_client_that_ends_in_its_body_is_gone(void **state)
{
    (void)state;
    post("/", "Content-Length: 9\r\n");
    say("one");
    rv_test_half_close(client());
    expect_silence();
    expect_closed();
    assert_int_equal(upload.gone, 1);
    assert_int_equal(upload.lasts, 0);
}

/* ---- refusing ---------------------------------------------------------------------------------- */

static void a_length_beyond_the_routes_limit_is_413_before_the_handler(void **state)
{
    (void)state;
    post("/limited", "Content-Length: 11\r\n");
    expect_status(413);
    expect_closed();
    assert_int_equal(upload.handle.id, 0);
}

static void a_body_at_the_routes_limit_is_taken(void **state)
{
    (void)state;
    post("/limited", "Content-Length: 10\r\n");
    say_x(10);
    expect_answer(200, "xxxxxxxxxx");
    forget_pieces();
    post("/limited", "Transfer-Encoding: chunked\r\n");
    say("A\r\nxxxxxxxxxx\r\n0\r\n\r\n");
    expect_answer(200, "xxxxxxxxxx");
}

static void chunks_beyond_the_routes_limit_are_413_and_the_program_is_told(void **state)
{
    (void)state;
    post("/limited", "Transfer-Encoding: chunked\r\n");
    say("6\r\nxxxxxx\r\n");
    assert_int_equal(upload.pieces, 1);
    say("5\r\nxxxxx\r\n");
    expect_status(413);
    expect_closed();
    assert_int_equal(upload.lasts, 0);
    assert_int_equal(upload.gone, 1);
    assert_int_equal(COUNTER(body_too_large), 1);
}

static void a_malformed_chunk_is_400_and_the_program_is_told(void **state)
{
    (void)state;
    post("/", "Transfer-Encoding: chunked\r\n");
    say("3\r\none\r\n");
    say("not a chunk\r\n");
    expect_status(400);
    expect_closed();
    assert_int_equal(upload.pieces, 1);
    assert_int_equal(upload.gone, 1);
}

/* ---- both ways at once ------------------------------------------------------------------------- */

static int echo_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)ctx;
    int result = rv_write(talk, piece);
    if (result < 0)
        return result;
    return last ? rv_end(talk) : RV_OK;
}

static int echo(rv_talk *talk, void *ctx)
{
    rv_error error = rv_begin(talk, 200);
    if (error == 0)
        error = rv_on_body(talk, echo_piece, ctx);
    return error != 0 ? error : RV_PENDING;
}

static void a_response_may_stream_while_the_body_does(void **state)
{
    (void)state;
    route_with("POST /echo", echo, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    post("/echo", "Content-Length: 6\r\n");
    say("one");
    rv_bytes octets = rv_test_received(client());
    assert_non_null(memmem(octets.ptr, octets.len, "\r\n\r\n3\r\none\r\n", 12));
    say("two");
    expect_octets("3\r\ntwo\r\n0\r\n\r\n");
    expect_next_is_served();
}

static int break_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)ctx;
    int result = rv_write(talk, piece);
    return result < 0 || last ? result : RV_EIO;
}

static int echo_and_break(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_begin(talk, 200);
    if (error == 0)
        error = rv_on_body(talk, break_piece, NULL);
    return error != 0 ? error : RV_PENDING;
}

static void a_piece_that_fails_behind_the_head_cuts_the_connection(void **state)
{
    (void)state;
    route_with("POST /break", echo_and_break, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    post("/break", "Content-Length: 6\r\n");
    say("one");
    rv_bytes octets = rv_test_received(client());
    assert_null(memmem(octets.ptr, octets.len, "0\r\n\r\n", 5)); /* no end is pretended */
    expect_closed();
    assert_int_equal(errors_told, 1);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(pieces_come_as_they_arrive),
        FACT(a_body_that_comes_with_its_head_is_one_piece),
        FACT(no_body_is_one_last_empty_piece),
        FACT(the_last_piece_of_a_chunked_body_comes_with_its_end),
        FACT(a_body_of_any_size_streams_through),
        FACT(the_body_may_be_asked_for_later),
        FACT(a_paused_body_waits_for_its_resume),
        FACT(a_paused_chunked_body_waits_chunk_by_chunk),
        FACT(what_the_client_sends_during_a_pause_is_not_taken_without_bound),
        FACT(only_a_paused_body_can_be_resumed),
        FACT(a_client_that_leaves_during_a_pause_is_noticed),
        FACT(a_body_is_asked_for_once),
        FACT(a_whole_body_cannot_be_streamed),
        FACT(what_is_left_of_a_body_is_dropped_when_the_talk_is_answered),
        FACT(what_is_left_of_a_chunked_body_is_dropped_too),
        FACT(a_malformed_rest_ends_the_connection_without_a_word),
        FACT(a_body_that_nobody_asked_for_is_dropped),
        FACT(an_answer_right_after_asking_needs_no_body),
        FACT(a_failure_right_after_asking_is_500),
        FACT(a_body_with_much_left_ends_the_connection),
        FACT(a_chunked_body_is_not_dropped_for_ever),
        FACT(a_client_that_waits_for_100_is_answered_instead),
        FACT(a_client_is_told_to_continue_when_its_body_is_asked_for),
        FACT(a_client_that_was_told_to_continue_keeps_its_connection),
        FACT(the_answer_may_come_after_the_last_piece),
        FACT(a_piece_that_fails_is_answered_with_500),
        FACT(a_last_piece_that_does_not_answer_has_failed),
        FACT(no_timer_of_a_talk_fires_after_it_has_failed_or_was_answered),
        FACT(a_client_that_leaves_in_its_body_is_gone),
        FACT(a_client_that_ends_in_its_body_is_gone),
        FACT(a_length_beyond_the_routes_limit_is_413_before_the_handler),
        FACT(a_body_at_the_routes_limit_is_taken),
        FACT(chunks_beyond_the_routes_limit_are_413_and_the_program_is_told),
        FACT(a_malformed_chunk_is_400_and_the_program_is_told),
        FACT(a_response_may_stream_while_the_body_does),
        FACT(a_piece_that_fails_behind_the_head_cuts_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
