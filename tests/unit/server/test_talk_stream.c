/*
 * Facts about streamed responses (step 6 of rivulet.h): framing, the order of calls, lengths, trailers.
 * Back-pressure, borrowed pieces and breaking: test_talk_flow.c.
 */
#include "random.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rv_error results[12]; /* of what a handler has tried */

static int set_up(void **state)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        results[i] = 1;
    return tested_set_up(state);
}

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

/* ---- framing ----------------------------------------------------------------------------------- */

static int write_abc_def(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    if (length != NULL)
        rv_set_header(talk, "Content-Length", length);
    rv_set_header(talk, "X-Own", "value");
    rv_begin(talk, 201);
    results[0] = rv_write(talk, RV_LIT("abc"));
    results[1] = rv_write(talk, RV_LIT("def"));
    results[2] = rv_end(talk);
    return RV_OK;
}

static char six[] = "6", seven[] = "7", five[] = "5", zero[] = "0";

static void pieces_are_chunks_for_http_1_1(void **state)
{
    (void)state;
    route("GET /", write_abc_def, NULL);
    get("/");
    expect_answer(201, "abcdef");
    assert_true(last_answer()->chunked);
    expect_field("Content-Length", NULL);
    expect_field("X-Own", "value");
    expect_field("Connection", NULL);
    expect_open();
    for (int i = 0; i < 3; i++)
        assert_int_equal(results[i], 0);
    get("/");
    expect_content("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
}

static void an_own_length_is_kept_and_nothing_is_chunked(void **state)
{
    (void)state;
    route("GET /", write_abc_def, six);
    get("/");
    expect_answer(201, "abcdef");
    expect_field("Content-Length", "6");
    expect_field("Transfer-Encoding", NULL);
    assert_int_equal(answer_field_count(last_answer(), "Content-Length"), 1);
    expect_open();
    get("/");
    expect_content("abcdef");
}

static void http_1_0_is_ended_by_closing(void **state)
{
    (void)state;
    route("GET /", write_abc_def, NULL);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(201, "abcdef");
    expect_field("Transfer-Encoding", NULL);
    expect_field("Content-Length", NULL);
    expect_field("Connection", "close");
    expect_closed();
}

static void http_1_0_may_go_on_behind_an_own_length(void **state)
{
    (void)state;
    route("GET /", write_abc_def, six);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(201, "abcdef");
    expect_field("Connection", "keep-alive");
    expect_open();
}

static void a_head_leaves_the_pieces_out(void **state)
{
    (void)state;
    route("GET /", write_abc_def, NULL);
    route("GET /six", write_abc_def, six);
    request("HEAD", "/", NULL);
    expect_head_status(201);
    expect_silence();
    for (int i = 0; i < 3; i++)
        assert_int_equal(results[i], 0);
    request("HEAD", "/six", NULL);
    expect_head_status(201);
    expect_field("Content-Length", "6");
    expect_silence();
    expect_open();
}

static int begin_204(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 204);
    rv_write(talk, RV_LIT("abc"));
    return rv_end(talk);
}

static void a_status_without_content_has_none(void **state)
{
    (void)state;
    route("GET /", begin_204, NULL);
    get("/");
    expect_answer(204, "");
    expect_field("Transfer-Encoding", NULL);
    expect_field("Content-Length", NULL);
    expect_silence();
    expect_open();
}

static int begin_and_end(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    return rv_end(talk);
}

static void a_response_without_pieces_has_a_length_of_0(void **state)
{
    (void)state;
    route("GET /", begin_and_end, NULL);
    get("/");
    expect_answer(200, "");
    expect_field("Content-Length", "0");
    expect_field("Transfer-Encoding", NULL);
    expect_open();
}

static int write_empty_pieces(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    results[0] = rv_write(talk, RV_LIT(""));
    rv_write(talk, RV_LIT("abc"));
    results[1] = rv_write(talk, RV_LIT(""));
    return rv_end(talk);
}

static void an_empty_piece_is_no_end(void **state)
{
    (void)state;
    route("GET /", write_empty_pieces, NULL);
    get("/");
    expect_content("3\r\nabc\r\n0\r\n\r\n");
    assert_int_equal(results[0], 0);
    assert_int_equal(results[1], 0);
}

static int write_from_the_stack(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char piece[] = "piece";
    rv_begin(talk, 200);
    rv_write(talk, rv_str(piece));
    memset(piece, '#', sizeof piece);
    return rv_end(talk);
}

static void a_piece_is_copied(void **state)
{
    (void)state;
    route("GET /", write_from_the_stack, NULL);
    rv_test_window(client(), 0);
    get("/");
    rv_test_window(client(), RV_NO_LIMIT);
    expect_answer(200, "piece");
}

static int begin_and_wait(rv_talk *talk, void *ctx)
{
    *(rv_handle *)ctx = rv_suspend(talk);
    results[0] = rv_begin(talk, 200);
    results[1] = rv_set_header(talk, "X-Late", "value");
    return RV_PENDING;
}

static int write_one(rv_talk *talk, void *value)
{
    results[2] = rv_write(talk, rv_str(value));
    results[3] = rv_set_header(talk, "X-Later", "value");
    return RV_PENDING;
}

static int end_it(rv_talk *talk, void *value)
{
    (void)value;
    return rv_end(talk);
}

static void with_talk(rv_handle handle, rv_handler what, void *value)
{
    assert_int_equal(rv_resume(tested, handle, what, value), 0);
    rv_test_settle(client());
}

static char one[] = "one", two[] = "two";

static void the_head_leaves_with_the_first_piece(void **state)
{
    (void)state;
    rv_handle handle = {0};
    route("GET /", begin_and_wait, &handle);
    get("/");
    expect_silence();
    assert_int_equal(results[1], 0); /* there is still time for a field */
    with_talk(handle, write_one, one);
    assert_int_equal(results[2], 0);
    assert_int_equal(results[3], RV_ESTATE);
    rv_bytes octets = rv_test_received(client());
    assert_non_null(memmem(octets.ptr, octets.len, "X-Late: value\r\n", 15));
    assert_non_null(memmem(octets.ptr, octets.len, "\r\n\r\n3\r\none\r\n", 12));
    with_talk(handle, write_one, two);
    expect_octets("3\r\ntwo\r\n");
    with_talk(handle, end_it, NULL);
    expect_octets("0\r\n\r\n");
    expect_open();
}

static void the_next_request_waits_for_the_end(void **state)
{
    (void)state;
    rv_handle handle = {0};
    route("GET /", begin_and_wait, &handle);
    get("/");
    get("/nowhere");
    with_talk(handle, write_one, one);
    expect_content("3\r\none\r\n");
    with_talk(handle, end_it, NULL);
    rv_bytes octets = rv_test_received(client());
    assert_memory_equal(octets.ptr, "0\r\n\r\nHTTP/1.1 404", 17);
}

static int write_and_return(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return RV_OK;
}

static int begin_and_return(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_begin(talk, 200);
}

static void a_handler_that_returns_ok_has_ended_its_response(void **state)
{
    (void)state;
    route("GET /written", write_and_return, NULL);
    route("GET /begun", begin_and_return, NULL);
    get("/written");
    expect_answer(200, "abc");
    get("/begun");
    expect_answer(200, "");
    expect_open();
    assert_int_equal(errors_told, 0);
}

static int write_random_pieces(rv_talk *talk, void *ctx)
{
    uint64_t *random = ctx;
    static char octets[50000];
    rv_begin(talk, 200);
    for (int i = 0; i < 40; i++) {
        size_t size = random_below(random, random_below(random, 5) == 0 ? sizeof octets : 200);
        memset(octets, 'a' + i % 26, size);
        int result = rv_write(talk, (rv_bytes){octets, size});
        if (result < 0)
            return result;
    }
    return rv_end(talk);
}

static void pieces_of_any_size_arrive_in_order(void **state)
{
    (void)state;
    uint64_t random = 3;
    route("GET /", write_random_pieces, &random);
    for (int round = 0; round < 5; round++) {
        uint64_t replay = random;
        if (round % 2 == 1)
            rv_test_window(client(), 1000);
        get("/");
        rv_test_window(client(), RV_NO_LIMIT);
        expect_status(200);
        const char *at = last_answer()->content.ptr;
        for (int i = 0; i < 40; i++) {
            size_t size = random_below(&replay, random_below(&replay, 5) == 0 ? 50000 : 200);
            for (size_t k = 0; k < size; k++)
                if (*at++ != 'a' + i % 26)
                    fail();
        }
        assert_ptr_equal(at, last_answer()->content.ptr + last_answer()->content.len);
    }
}

/* ---- order of calls ---------------------------------------------------------------------------- */

static int in_any_order(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_write(talk, RV_LIT("x"));
    results[1] = rv_end(talk);
    results[2] = rv_on_drain(talk, end_it, NULL);
    results[3] = rv_begin(talk, 99);
    results[4] = rv_begin(talk, 1000);
    rv_begin(talk, 200);
    results[5] = rv_begin(talk, 200);
    results[6] = rv_text(talk, 200, "x");
    results[7] = rv_on_drain(talk, NULL, NULL);
    rv_write(talk, RV_LIT("abc"));
    rv_end(talk);
    results[8] = rv_write(talk, RV_LIT("x"));
    results[9] = rv_end(talk);
    results[10] = rv_on_drain(talk, end_it, NULL);
    results[11] = rv_set_trailer(talk, "X", "y");
    return RV_OK;
}

static void what_comes_in_the_wrong_order_is_refused(void **state)
{
    (void)state;
    static const rv_error expected[] = {RV_ESTATE, RV_ESTATE, RV_ESTATE, RV_EINVAL,
                                        RV_EINVAL, RV_ESTATE, RV_ESTATE, RV_EINVAL,
                                        RV_ESTATE, RV_ESTATE, RV_ESTATE, RV_ESTATE};
    route("GET /", in_any_order, NULL);
    get("/");
    expect_answer(200, "abc");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(results[i], expected[i]);
}

static int begin_with(rv_talk *talk, void *ctx)
{
    results[0] = rv_begin(talk, *(int *)ctx);
    return results[0] == 0 ? RV_OK : rv_text(talk, 200, "refused");
}

static void a_final_status_of_three_digits_may_begin(void **state)
{
    (void)state;
    static const int good[] = {200, 404, 999}, bad[] = {-1, 0, 100, 199, 1000};
    int status;
    route("GET /", begin_with, &status);
    for (int i = 0; i < 3; i++) {
        status = good[i];
        get("/");
        expect_answer(status, "");
    }
    for (int i = 0; i < 5; i++) {
        status = bad[i];
        get("/");
        expect_answer(200, "refused");
        assert_int_equal(results[0], RV_EINVAL);
    }
}

/* ---- lengths ----------------------------------------------------------------------------------- */

static int write_too_much(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "5");
    rv_begin(talk, 200);
    results[0] = rv_write(talk, RV_LIT("abc"));
    results[1] = rv_write(talk, RV_LIT("def"));
    results[2] = rv_write(talk, RV_LIT("de"));
    results[3] = rv_write(talk, RV_LIT("f"));
    results[4] = rv_write(talk, RV_LIT(""));
    return rv_end(talk);
}

static void a_piece_beyond_the_length_is_refused_whole(void **state)
{
    (void)state;
    route("GET /", write_too_much, NULL);
    get("/");
    expect_answer(200, "abcde");
    expect_open();
    static const rv_error expected[] = {0, RV_ELIMIT, 0, RV_ELIMIT, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(results[i], expected[i]);
}

static void fewer_octets_than_the_length_cut_the_connection(void **state)
{
    (void)state;
    route("GET /", write_abc_def, seven);
    get("/");
    expect_content("abcdef");
    assert_int_equal(results[2], RV_ESTATE);
    expect_closed();
}

static int promise_and_return(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "7");
    rv_begin(talk, 200);
    results[0] = rv_end(talk);
    return RV_OK;
}

static void a_length_of_which_nothing_was_sent_is_500(void **state)
{
    (void)state;
    route("GET /", promise_and_return, NULL);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(results[0], RV_ESTATE);
    expect_open();
    assert_int_equal(COUNTER(handler_failures), 1);
}

static void a_length_of_0_needs_no_pieces(void **state)
{
    (void)state;
    route("GET /", begin_and_end, NULL);
    route("GET /five", write_abc_def, five);
    route("GET /zero", write_abc_def, zero);
    get("/zero");
    expect_answer(201, "");
    assert_int_equal(results[0], RV_ELIMIT);
    assert_int_equal(results[2], 0);
    expect_open();
}

/* ---- trailers ---------------------------------------------------------------------------------- */

static int send_trailers(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    if (length != NULL)
        rv_set_header(talk, "Content-Length", length);
    results[0] = rv_set_trailer(talk, "X-First", "1");
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abcdef"));
    results[1] = rv_set_trailer(talk, "X-Second", " 2 ");
    results[2] = rv_set_trailer(talk, "X-Second", "3");
    return rv_end(talk);
}

static void trailers_follow_the_last_chunk_in_order(void **state)
{
    (void)state;
    route("GET /", send_trailers, NULL);
    get("/");
    expect_answer(200, "abcdef");
    assert_string_equal(last_answer()->trailers, "X-First: 1\r\nX-Second: 2\r\nX-Second: 3\r\n");
    for (int i = 0; i < 3; i++)
        assert_int_equal(results[i], 0);
    expect_open();
}

static void trailers_are_left_out_of_other_framings(void **state)
{
    (void)state;
    route("GET /", send_trailers, NULL);
    route("GET /six", send_trailers, six);
    get("/six");
    expect_answer(200, "abcdef");
    expect_silence();
    request("HEAD", "/", NULL);
    expect_head_status(200);
    expect_silence();
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(200, "abcdef");
    expect_silence();
}

static int only_trailers(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_set_trailer(talk, "X-Sum", "0");
    return rv_end(talk);
}

static void trailers_may_follow_no_content(void **state)
{
    (void)state;
    route("GET /", only_trailers, NULL);
    get("/");
    expect_content("0\r\nX-Sum: 0\r\n\r\n");
}

static int refuse_trailers(rv_talk *talk, void *ctx)
{
    (void)ctx;
    static const char *const names[] = {"Content-Length", "transfer-encoding", "Host", "Set-Cookie",
                                        "Content-Type",   "Trailer",           "X Y",  ""};
    rv_begin(talk, 200);
    for (int i = 0; i < 8; i++)
        results[i] = rv_set_trailer(talk, names[i], "1");
    results[8] = rv_set_trailer(talk, "X", "a\r\nb");
    results[9] = rv_set_trailer(talk, "X", NULL);
    rv_write(talk, RV_LIT("x"));
    return rv_end(talk);
}

static void fields_that_must_not_be_trailers_are_refused(void **state)
{
    (void)state;
    route("GET /", refuse_trailers, NULL);
    get("/");
    expect_content("1\r\nx\r\n0\r\n\r\n");
    for (int i = 0; i < 10; i++)
        assert_int_equal(results[i], RV_EINVAL);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(pieces_are_chunks_for_http_1_1),
        FACT(an_own_length_is_kept_and_nothing_is_chunked),
        FACT(http_1_0_is_ended_by_closing),
        FACT(http_1_0_may_go_on_behind_an_own_length),
        FACT(a_head_leaves_the_pieces_out),
        FACT(a_status_without_content_has_none),
        FACT(a_response_without_pieces_has_a_length_of_0),
        FACT(an_empty_piece_is_no_end),
        FACT(a_piece_is_copied),
        FACT(the_head_leaves_with_the_first_piece),
        FACT(the_next_request_waits_for_the_end),
        FACT(a_handler_that_returns_ok_has_ended_its_response),
        FACT(pieces_of_any_size_arrive_in_order),
        FACT(what_comes_in_the_wrong_order_is_refused),
        FACT(a_final_status_of_three_digits_may_begin),
        FACT(a_piece_beyond_the_length_is_refused_whole),
        FACT(fewer_octets_than_the_length_cut_the_connection),
        FACT(a_length_of_which_nothing_was_sent_is_500),
        FACT(a_length_of_0_needs_no_pieces),
        FACT(trailers_follow_the_last_chunk_in_order),
        FACT(trailers_are_left_out_of_other_framings),
        FACT(trailers_may_follow_no_content),
        FACT(fields_that_must_not_be_trailers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
