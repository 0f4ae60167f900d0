/*
 * Facts about handlers that run on the pool (step 7 of rivulet.h), in memory: answers of every kind,
 * what is refused there, suspending from there. What needs a client that is slow or many of them is in
 * test_server_pool.c.
 */
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static rv_error results[8]; /* of what a handler has tried */

static void pool_route(const char *pattern, rv_handler handler, void *ctx)
{
    route_with(pattern, handler, ctx, (rv_route_options){.run = RV_ON_POOL});
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- whole answers ----------------------------------------------------------------------------- */

static int answer_from_the_stack(rv_talk *talk, void *ctx)
{
    char text[] = "content", type[] = "application/x-own", name[] = "X-Own";
    *(pthread_t *)ctx = pthread_self();
    rv_set_header(talk, name, text);
    int result = rv_reply(talk, 201, type, rv_str(text));
    memset(text, '#', sizeof text);
    memset(type, '#', sizeof type);
    memset(name, '#', sizeof name);
    return result;
}

static void an_answer_is_copied_and_sent_by_the_worker(void **state)
{
    (void)state;
    pthread_t thread = pthread_self();
    pool_route("GET /", answer_from_the_stack, &thread);
    get("/");
    expect_answer(201, "content");
    expect_field("Content-Type", "application/x-own");
    expect_field("X-Own", "content");
    assert_false(pthread_equal(thread, pthread_self()));
    expect_open();
    request("HEAD", "/", NULL);
    expect_head_status(201);
    expect_field("Content-Length", "7");
    expect_silence();
}

static int answer_slowly(rv_talk *talk, void *ctx)
{
    (void)ctx;
    nap_ms(30);
    return rv_text(talk, 200, "slowly");
}

static void a_handler_may_block(void **state)
{
    (void)state;
    pool_route("GET /", answer_slowly, NULL);
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "slowly");
    expect_answer(200, "slowly");
    expect_silence();
}

static int answer_with_all(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[512];
    rv_bytes nouns[] = {rv_method(talk), rv_path(talk),        rv_query(talk),
                        rv_peer(talk),   rv_host(talk),        rv_param(talk, "id"),
                        rv_body(talk),   rv_trailer(talk, "X")};
    size_t used = 0;
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s|", (int)nouns[i].len,
                                 nouns[i].ptr == NULL ? "-" : nouns[i].ptr);
    return rv_text(talk, 200, text);
}

static void a_handler_sees_the_whole_request(void **state)
{
    (void)state;
    pool_route("POST /{id}", answer_with_all, NULL);
    say("POST /a%20b?q HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n");
    say("2\r\ndy\r\n0\r\nX: trailer\r\n\r\n");
    expect_answer(200, "POST|/a b|q||test|a b|body|trailer|");
    say("POST /plain HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody"
        "POST /behind HTTP/1.1\r\nHost: other\r\n\r\n");
    expect_answer(200, "POST|/plain|||test|plain|body||");
    expect_answer(200, "POST|/behind|||other|behind|||");
}

static void a_body_is_whole_whatever_the_route_says(void **state)
{
    (void)state;
    route_with("POST /{id}", answer_with_all, NULL,
               (rv_route_options){.run = RV_ON_POOL, .body = RV_BODY_STREAMED});
    request("POST", "/x", "Content-Length: 4\r\n");
    say("bo");
    expect_silence();
    say("dy");
    expect_answer(200, "POST|/x|||test|x|body||");
}

struct loan {
    rv_bytes octets;
    int released;
    pthread_t by;
};

static void take_back(void *ctx)
{
    struct loan *loan = ctx;
    loan->released++;
    loan->by = pthread_self();
}

static int lend(rv_talk *talk, void *ctx)
{
    struct loan *loan = ctx;
    return rv_reply_borrowed(talk, 200, NULL, loan->octets, take_back, loan);
}

static char large[300000];

static void borrowed_content_is_released_on_the_worker(void **state)
{
    (void)state;
    struct loan loan = {.octets = {large, sizeof large}};
    memset(large, 'l', sizeof large);
    pool_route("GET /", lend, &loan);
    get("/");
    expect_status(200);
    assert_int_equal(last_answer()->content.len, sizeof large);
    assert_int_equal(loan.released, 1);
    assert_true(pthread_equal(loan.by, pthread_self())); /* here the worker is this thread */
}

static int answer_with_file(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_file(talk, "/proc/self/exe", NULL);
}

static void a_file_is_sent_from_the_pool(void **state)
{
    (void)state;
    pool_route("GET /", answer_with_file, NULL);
    request("HEAD", "/", NULL);
    expect_head_status(200);
    get("/");
    expect_status(200);
    assert_true(last_answer()->content.len > 10000);
    assert_memory_equal(last_answer()->content.ptr,
                        "\x7f"
                        "ELF",
                        4);
    assert_non_null(answer_field(last_answer(), "ETag"));
}

static int do_nothing(rv_talk *talk, void *ctx)
{
    (void)talk;
    return *(int *)ctx;
}

static void a_handler_that_fails_is_500(void **state)
{
    (void)state;
    int io = RV_EIO, ok = RV_OK, egone = RV_EGONE;
    pool_route("GET /io", do_nothing, &io);
    pool_route("GET /ok", do_nothing, &ok);
    pool_route("GET /gone", do_nothing, &egone);
    get("/io");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(last_error, RV_EIO);
    get("/ok");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(last_error, RV_ESTATE);
    assert_int_equal(errors_told, 2);
    get("/gone");
    expect_silence();
    expect_closed();
    assert_int_equal(errors_told, 2);
}

static int answer_twice(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_text(talk, 200, "first");
    results[1] = rv_text(talk, 200, "second");
    results[2] = rv_set_header(talk, "X", "y");
    return RV_OK;
}

static void a_talk_is_answered_once(void **state)
{
    (void)state;
    pool_route("GET /", answer_twice, NULL);
    get("/");
    expect_answer(200, "first");
    assert_int_equal(results[0], RV_OK);
    assert_int_equal(results[1], RV_ESTATE);
    assert_int_equal(results[2], RV_ESTATE);
}

static int unused_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)talk;
    (void)piece;
    (void)last;
    (void)ctx;
    return RV_OK;
}

static void unused_gone(void *ctx)
{
    (void)ctx;
}

static int try_what_belongs_to_the_worker(rv_talk *talk, void *ctx)
{
    (void)ctx;
    results[0] = rv_on_body(talk, unused_piece, NULL);
    results[1] = rv_body_resume(talk);
    results[2] = rv_after_ms(talk, 1, answer_slowly, NULL);
    results[3] = rv_on_gone(talk, unused_gone, NULL);
    rv_begin(talk, 200);
    results[4] = rv_on_drain(talk, answer_slowly, NULL);
    return rv_end(talk);
}

static void what_belongs_to_the_worker_is_refused(void **state)
{
    (void)state;
    pool_route("GET /", try_what_belongs_to_the_worker, NULL);
    get("/");
    expect_answer(200, "");
    for (int i = 0; i < 5; i++)
        assert_int_equal(results[i], RV_ESTATE);
}

/* ---- streamed answers -------------------------------------------------------------------------- */

static int write_abc_def(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    if (length != NULL)
        rv_set_header(talk, "Content-Length", length);
    rv_begin(talk, 201);
    rv_set_trailer(talk, "X-Sum", "6");
    results[0] = rv_write(talk, RV_LIT("abc"));
    results[1] = rv_set_header(talk, "X-Late", "value");
    nap_ms(5); /* the worker has sent the first piece when the second comes */
    results[2] = rv_write(talk, RV_LIT("def"));
    results[3] = rv_end(talk);
    results[4] = rv_write(talk, RV_LIT("x")); /* whatever the end was: it is too late */
    return results[3];
}

static char six[] = "6", seven[] = "7", five[] = "5";

static void pieces_are_chunks_and_trailers_follow(void **state)
{
    (void)state;
    pool_route("GET /", write_abc_def, NULL);
    get("/");
    expect_answer(201, "abcdef");
    assert_true(last_answer()->chunked);
    assert_string_equal(last_answer()->trailers, "X-Sum: 6\r\n");
    expect_open();
    static const rv_error expected[] = {0, RV_ESTATE, 0, 0, RV_ESTATE};
    for (int i = 0; i < 5; i++)
        assert_int_equal(results[i], expected[i]);
}

static void an_own_length_is_kept(void **state)
{
    (void)state;
    pool_route("GET /", write_abc_def, six);
    get("/");
    expect_answer(201, "abcdef");
    expect_field("Content-Length", "6");
    expect_field("Transfer-Encoding", NULL);
    expect_open();
    request("HEAD", "/", NULL);
    expect_head_status(201);
    expect_silence();
}

static void a_piece_beyond_the_length_is_refused(void **state)
{
    (void)state;
    pool_route("GET /", write_abc_def, five);
    get("/");
    rv_bytes octets = rv_test_received(client());
    assert_memory_equal(octets.ptr + octets.len - 7, "\r\n\r\nabc", 7);
    assert_int_equal(results[2], RV_ELIMIT);
    assert_int_equal(results[3], RV_ESTATE);
    assert_true(results[4] < 0);
    expect_closed(); /* for now fewer came than were promised */
}

static void fewer_octets_than_the_length_cut_the_connection(void **state)
{
    (void)state;
    pool_route("GET /", write_abc_def, seven);
    get("/");
    rv_bytes octets = rv_test_received(client());
    assert_memory_equal(octets.ptr + octets.len - 10, "\r\n\r\nabcdef", 10);
    assert_int_equal(results[3], RV_ESTATE);
    assert_true(results[4] < 0);
    expect_closed();
}

static int promise_and_end(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "6");
    rv_begin(talk, 200);
    results[0] = rv_end(talk);
    return results[0];
}

static void a_length_of_which_nothing_was_sent_is_500(void **state)
{
    (void)state;
    pool_route("GET /", promise_and_end, NULL);
    get("/");
    expect_answer(500, "500 Internal Server Error\n");
    assert_int_equal(results[0], RV_ESTATE);
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
    pool_route("GET /", begin_and_end, NULL);
    get("/");
    expect_answer(200, "");
    expect_field("Content-Length", "0");
    expect_field("Transfer-Encoding", NULL);
    expect_open();
}

static void http_1_0_is_ended_by_closing(void **state)
{
    (void)state;
    pool_route("GET /", write_abc_def, NULL);
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(201, "abcdef");
    expect_closed();
}

static int write_and_return(rv_talk *talk, void *ctx)
{
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return *(int *)ctx;
}

static void a_response_is_ended_or_cut_by_what_its_handler_returns(void **state)
{
    (void)state;
    int ok = RV_OK, io = RV_EIO;
    pool_route("GET /ok", write_and_return, &ok);
    pool_route("GET /io", write_and_return, &io);
    get("/ok");
    expect_answer(200, "abc");
    expect_open();
    get("/io");
    rv_bytes octets = rv_test_received(client());
    assert_memory_equal(octets.ptr + octets.len - 8, "3\r\nabc\r\n", 8);
    expect_closed();
    assert_int_equal(errors_told, 1);
}

static int write_many(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char piece[3000];
    rv_begin(talk, 200);
    for (int i = 0; i < 500; i++) {
        memset(piece, 'a' + i % 26, sizeof piece);
        int result = rv_write(talk, (rv_bytes){piece, sizeof piece});
        if (result != RV_OK) /* never RV_FULL: here the call itself waits */
            return RV_EIO;
    }
    return rv_end(talk);
}

static void more_than_the_queue_holds_arrives_in_order(void **state)
{
    (void)state;
    pool_route("GET /", write_many, NULL);
    get("/");
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 1500000);
    for (int i = 0; i < 1500000; i++)
        if (last_answer()->content.ptr[i] != 'a' + i / 3000 % 26)
            fail();
    expect_open();
}

static int lend_pieces(rv_talk *talk, void *ctx)
{
    struct loan *loan = ctx;
    rv_begin(talk, 200);
    for (int i = 0; i < 4; i++) {
        int result = rv_write_borrowed(talk, loan->octets, take_back, loan);
        if (result != RV_OK)
            return RV_EIO;
    }
    return rv_end(talk);
}

static void borrowed_pieces_are_released_once_each_on_the_worker(void **state)
{
    (void)state;
    struct loan loan = {.octets = {large, sizeof large}}, small = {.octets = RV_LIT("small")};
    pool_route("GET /large", lend_pieces, &loan);
    pool_route("GET /small", lend_pieces, &small);
    get("/large");
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 4 * sizeof large);
    assert_int_equal(loan.released, 4);
    assert_true(pthread_equal(loan.by, pthread_self()));
    get("/small");
    expect_answer(200, "smallsmallsmallsmall");
    assert_int_equal(small.released, 4);
}

/* ---- suspending there -------------------------------------------------------------------------- */

struct later {
    atomic_int calls;
    pthread_t by;
    bool resume_at_once;
    rv_handle handle;
};

static int answer_later(rv_talk *talk, void *value)
{
    struct later *later = value;
    later->calls++;
    later->by = pthread_self();
    return rv_text(talk, 200, "later");
}

static int suspend_there(rv_talk *talk, void *ctx)
{
    struct later *later = ctx;
    later->handle = rv_suspend(talk);
    if (later->resume_at_once) {
        rv_resume(rv_server_of(talk), later->handle, answer_later, later);
        nap_ms(20); /* the worker finds the message while the handler still runs */
        if (later->calls != 0)
            return RV_EIO;
    }
    return RV_PENDING;
}

static void a_handler_may_suspend_its_talk(void **state)
{
    (void)state;
    struct later later = {0};
    pool_route("GET /", suspend_there, &later);
    get("/");
    expect_silence();
    assert_int_equal(rv_resume(tested, later.handle, answer_later, &later), 0);
    rv_test_settle(client());
    expect_answer(200, "later");
    assert_true(pthread_equal(later.by, pthread_self()));
}

static void a_resumption_waits_until_the_handler_has_returned(void **state)
{
    (void)state;
    struct later later = {.resume_at_once = true};
    pool_route("GET /", suspend_there, &later);
    get("/");
    expect_answer(200, "later");
    assert_int_equal(later.calls, 1);
    assert_int_equal(errors_told, 0);
    assert_true(pthread_equal(later.by, pthread_self()));
}

static int resume_and_answer(rv_talk *talk, void *ctx)
{
    struct later *later = ctx;
    rv_resume(rv_server_of(talk), rv_suspend(talk), answer_later, later);
    nap_ms(5);
    return rv_text(talk, 200, "at once");
}

static void a_resumption_of_a_talk_that_is_answered_meanwhile_gets_none(void **state)
{
    (void)state;
    struct later later = {0};
    pool_route("GET /", resume_and_answer, &later);
    get("/");
    expect_answer(200, "at once");
    expect_silence();
    assert_int_equal(later.calls, 1);
    get("/");
    expect_answer(200, "at once");
    assert_int_equal(later.calls, 2);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(an_answer_is_copied_and_sent_by_the_worker),
        FACT(a_handler_may_block),
        FACT(a_handler_sees_the_whole_request),
        FACT(a_body_is_whole_whatever_the_route_says),
        FACT(borrowed_content_is_released_on_the_worker),
        FACT(a_file_is_sent_from_the_pool),
        FACT(a_handler_that_fails_is_500),
        FACT(a_talk_is_answered_once),
        FACT(what_belongs_to_the_worker_is_refused),
        FACT(pieces_are_chunks_and_trailers_follow),
        FACT(an_own_length_is_kept),
        FACT(a_piece_beyond_the_length_is_refused),
        FACT(fewer_octets_than_the_length_cut_the_connection),
        FACT(a_length_of_which_nothing_was_sent_is_500),
        FACT(a_response_without_pieces_has_a_length_of_0),
        FACT(http_1_0_is_ended_by_closing),
        FACT(a_response_is_ended_or_cut_by_what_its_handler_returns),
        FACT(more_than_the_queue_holds_arrives_in_order),
        FACT(borrowed_pieces_are_released_once_each_on_the_worker),
        FACT(a_handler_may_suspend_its_talk),
        FACT(a_resumption_waits_until_the_handler_has_returned),
        FACT(a_resumption_of_a_talk_that_is_answered_meanwhile_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
