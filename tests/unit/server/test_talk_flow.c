/*
 * Facts about streamed responses (step 6 of rivulet.h) whose client is slow, leaves, or whose handler
 * fails: back-pressure, borrowed pieces, breaking. Framing and order: test_talk_stream.c.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The octets of the connection so far, behind the head of the one answer on it. */
static rv_bytes received_content(void)
{
    rv_bytes octets = rv_test_received(client());
    const char *end = memmem(octets.ptr, octets.len, "\r\n\r\n", 4);
    assert_non_null(end);
    return (rv_bytes){end + 4, octets.len - (size_t)(end + 4 - octets.ptr)};
}

static void expect_content(const char *text)
{
    rv_bytes content = received_content();
    assert_int_equal(content.len, strlen(text));
    assert_memory_equal(content.ptr, text, content.len);
}

/* ---- back-pressure ----------------------------------------------------------------------------- */

/* Writes pieces until RV_FULL, and goes on when there is room, until all are written. */
static struct flow {
    int pieces; /* of 1000 octets, still to be written */
    int drains;
} flow;

static int flow_on(rv_talk *talk, void *ctx);

static int drained(rv_talk *talk, void *ctx)
{
    flow.drains++;
    return flow_on(talk, ctx);
}

static int flow_on(rv_talk *talk, void *ctx)
{
    static char piece[1000];
    int result = RV_OK;
    memset(piece, 'p', sizeof piece);
    while (flow.pieces > 0 && result == RV_OK) {
        result = rv_write(talk, (rv_bytes){piece, sizeof piece});
        flow.pieces--;
    }
    if (result == RV_OK)
        return rv_end(talk);
    if (result < 0)
        return result;
    rv_error error = rv_on_drain(talk, drained, ctx);
    return error != 0 ? error : RV_PENDING;
}

static int begin_flow(rv_talk *talk, void *ctx)
{
    rv_begin(talk, 200);
    return flow_on(talk, ctx);
}

/* A server whose queues are over at 10 000 octets and drained under 4 000. */
static void small_queues(void)
{
    tested_with(
        &(rv_server_options){.limits = {.output_high_bytes = 10000, .output_low_bytes = 4000}});
    route("GET /", begin_flow, NULL);
}

static void a_writer_is_told_when_the_queue_is_full(void **state)
{
    (void)state;
    small_queues();
    flow = (struct flow){.pieces = 100};
    rv_test_window(client(), 0);
    get("/");
    /* What fits into the output page is not queued yet when it is written. */
    assert_true(flow.pieces > 0 && flow.pieces < 91);
    assert_int_equal(flow.drains, 0);
}

static void a_drain_comes_under_the_low_water_mark(void **state)
{
    (void)state;
    small_queues();
    flow = (struct flow){.pieces = 100};
    rv_test_window(client(), 0);
    get("/");
    int left = flow.pieces;
    rv_test_window(client(), 1000);
    advance_ms(10);
    assert_int_equal(flow.drains, 0);
    assert_int_equal(flow.pieces, left);
    rv_test_window(client(), 200000);
    assert_true(flow.drains >= 1);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 100000);
    assert_int_equal(flow.pieces, 0);
}

static void a_trickle_arrives_whole_and_in_order(void **state)
{
    (void)state;
    small_queues();
    flow = (struct flow){.pieces = 300};
    rv_test_window(client(), 0);
    get("/");
    for (int i = 0; i < 500; i++)
        rv_test_window(client(), 777);
    assert_int_equal(flow.pieces, 0);
    assert_true(flow.drains > 5);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 300000);
    expect_open();
}

static int count_drain(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    flow.drains++;
    return RV_PENDING;
}

static int write_and_want_drain(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    rv_on_drain(talk, count_drain, NULL);
    assert_int_equal(flow.drains, 0); /* never from inside the call */
    return RV_PENDING;
}

static void a_drain_that_is_due_already_is_told_once(void **state)
{
    (void)state;
    flow = (struct flow){0};
    route("GET /", write_and_want_drain, NULL);
    get("/");
    assert_int_equal(flow.drains, 1);
    advance_ms(1000);
    assert_int_equal(flow.drains, 1);
}

static void a_drain_is_not_told_when_the_client_has_left(void **state)
{
    (void)state;
    small_queues();
    flow = (struct flow){.pieces = 100};
    rv_test_window(client(), 0);
    get("/");
    rv_test_reset(client());
    assert_int_equal(flow.drains, 0);
}

/* ---- borrowed pieces --------------------------------------------------------------------------- */

static struct lending {
    rv_bytes piece;
    int released;
    int result;
    const char *length; /* of the response; NULL: chunked */
    bool early;         /* before rv_begin */
} lending;

static char large[100000];

static void take_back(void *ctx)
{
    ((struct lending *)ctx)->released++;
}

static int lend(rv_talk *talk, void *ctx)
{
    (void)ctx;
    if (lending.length != NULL)
        rv_set_header(talk, "Content-Length", lending.length);
    if (!lending.early)
        rv_begin(talk, 200);
    lending.result = rv_write_borrowed(talk, lending.piece, take_back, &lending);
    if (lending.result < 0)
        return rv_problem(talk, 409, NULL) == RV_OK ? RV_OK : RV_PENDING;
    return rv_end(talk);
}

static void a_borrowed_piece_is_a_chunk_like_any_other(void **state)
{
    (void)state;
    memset(large, 'l', sizeof large);
    static const size_t sizes[] = {0, 1, 16384, 16385, sizeof large};
    route("GET /", lend, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lending = (struct lending){.piece = {large, sizes[i]}};
        get("/");
        expect_status(200);
        assert_int_equal(last_answer()->content.len, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(last_answer()->content.ptr, large, sizes[i]);
        assert_int_equal(lending.released, 1);
        assert_int_equal(lending.result, 0);
    }
}

static void a_borrowed_piece_is_released_when_it_is_sent(void **state)
{
    (void)state;
    char length[] = "100000";
    lending = (struct lending){.piece = {large, sizeof large}, .length = length};
    route("GET /", lend, NULL);
    rv_test_window(client(), 50000);
    get("/");
    assert_int_equal(lending.released, 0);
    rv_test_window(client(), 70000);
    assert_int_equal(lending.released, 1);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, sizeof large);
}

static void a_borrowed_piece_is_released_when_the_client_leaves(void **state)
{
    (void)state;
    lending = (struct lending){.piece = {large, sizeof large}};
    route("GET /", lend, NULL);
    rv_test_window(client(), 50000);
    get("/");
    assert_int_equal(lending.released, 0);
    rv_test_reset(client());
    assert_int_equal(lending.released, 1);
}

static void a_borrowed_piece_that_is_left_out_or_refused_is_released(void **state)
{
    (void)state;
    char length[] = "10";
    route("GET /", lend, NULL);
    lending = (struct lending){.piece = {large, sizeof large}};
    request("HEAD", "/", NULL);
    expect_head_status(200);
    assert_int_equal(lending.released, 1);
    lending = (struct lending){.piece = {large, sizeof large}, .early = true};
    get("/");
    expect_status(409);
    assert_int_equal(lending.result, RV_ESTATE);
    assert_int_equal(lending.released, 1);
    lending = (struct lending){.piece = {large, sizeof large}, .length = length};
    as(1);
    get("/");
    assert_int_equal(lending.result, RV_ELIMIT);
    assert_int_equal(lending.released, 1);
    lending = (struct lending){0};
    assert_int_equal(rv_write_borrowed(NULL, RV_LIT("x"), take_back, &lending), RV_EGONE);
    assert_int_equal(lending.released, 1);
}

/* ---- breaking ---------------------------------------------------------------------------------- */

static int gone;

static void count_gone(void *ctx)
{
    (void)ctx;
    gone++;
}

static int fail_after_the_head(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    rv_on_gone(talk, count_gone, NULL);
    if (length != NULL)
        rv_set_header(talk, "Content-Length", length);
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return RV_EIO;
}

static int fail_before_the_head(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_on_gone(talk, count_gone, NULL);
    rv_begin(talk, 200);
    return RV_EIO;
}

static void a_failure_behind_the_head_cuts_the_connection(void **state)
{
    (void)state;
    gone = 0;
    route("GET /", fail_after_the_head, NULL);
    route("GET /six", fail_after_the_head, (void *)(uintptr_t) "6");
    get("/");
    expect_content("3\r\nabc\r\n"); /* and no last chunk */
    expect_closed();
    as(1);
    get("/six");
    expect_content("abc");
    expect_closed();
    assert_int_equal(errors_told, 2);
    assert_int_equal(last_error, RV_EIO);
    assert_int_equal(gone, 2);
    assert_int_equal(COUNTER(handler_failures), 2);
}

static void a_failure_before_the_head_is_500(void **state)
{
    (void)state;
    gone = 0;
    route("GET /", fail_before_the_head, NULL);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    expect_field("Transfer-Encoding", NULL);
    expect_open();
    assert_int_equal(errors_told, 1);
    assert_int_equal(gone, 1);
}

static int fail_drained(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_EIO;
}

static int write_and_fail_later(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    rv_on_drain(talk, fail_drained, NULL);
    return RV_PENDING;
}

static void a_drain_that_fails_cuts_the_connection(void **state)
{
    (void)state;
    route("GET /", write_and_fail_later, NULL);
    get("/");
    expect_content("3\r\nabc\r\n");
    expect_closed();
    assert_int_equal(errors_told, 1);
}

static int write_and_wait(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_on_gone(talk, count_gone, NULL);
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return RV_PENDING;
}

static void a_client_that_leaves_in_the_middle_is_gone(void **state)
{
    (void)state;
    gone = 0;
    route("GET /", write_and_wait, NULL);
    get("/");
    expect_content("3\r\nabc\r\n");
    assert_int_equal(gone, 0);
    rv_test_reset(client());
    assert_int_equal(gone, 1);
    assert_int_equal(errors_told, 0);
    assert_int_equal(COUNTER(clients_gone), 1);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_writer_is_told_when_the_queue_is_full),
        FACT(a_drain_comes_under_the_low_water_mark),
        FACT(a_trickle_arrives_whole_and_in_order),
        FACT(a_drain_that_is_due_already_is_told_once),
        FACT(a_drain_is_not_told_when_the_client_has_left),
        FACT(a_borrowed_piece_is_a_chunk_like_any_other),
        FACT(a_borrowed_piece_is_released_when_it_is_sent),
        FACT(a_borrowed_piece_is_released_when_the_client_leaves),
        FACT(a_borrowed_piece_that_is_left_out_or_refused_is_released),
        FACT(a_failure_behind_the_head_cuts_the_connection),
        FACT(a_failure_before_the_head_is_500),
        FACT(a_drain_that_fails_cuts_the_connection),
        FACT(a_client_that_leaves_in_the_middle_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
