/*
 * Facts about whole request bodies (step 5 of rivulet.h): how they arrive, their limits, trailers,
 * 100 Continue. Streamed ones have their own: test_talk_body_stream.c.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int handler_calls;

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    handler_calls++;
    rv_bytes body = rv_body(talk);
    if (body.ptr == NULL)
        return rv_text(talk, 500, "absent");
    return rv_reply(talk, 200, "application/octet-stream", body);
}

static int set_up(void **state)
{
    handler_calls = 0;
    tested_set_up(state);
    route("* /", echo, NULL);
    return 0;
}

/* The same for a server with other options. */
static void with_limit(uint64_t body_bytes_max)
{
    tested_with(&(rv_server_options){.limits.body_bytes_max = body_bytes_max});
    route("* /", echo, NULL);
}

static void post_length(const char *fields, uint64_t length)
{
    char lines[256];
    snprintf(lines, sizeof lines, "%sContent-Length: %llu\r\n", fields, (unsigned long long)length);
    request("POST", "/", lines);
}

static void post_chunked(const char *fields)
{
    char lines[256];
    snprintf(lines, sizeof lines, "%sTransfer-Encoding: chunked\r\n", fields);
    request("POST", "/", lines);
}

static void say_x(size_t count)
{
    char *octets = malloc(count + 1);
    memset(octets, 'x', count);
    say_octets((rv_bytes){octets, count});
    free(octets);
}

/* ---- arriving ---------------------------------------------------------------------------------- */

static void a_request_without_a_body_has_an_empty_one(void **state)
{
    (void)state;
    get("/");
    expect_answer(200, "");
    post_length("", 0);
    expect_answer(200, "");
    request("POST", "/", NULL);
    expect_answer(200, "");
}

static void a_body_may_come_with_its_head(void **state)
{
    (void)state;
    say("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody");
    expect_answer(200, "body");
    expect_silence();
}

static void the_handler_waits_for_the_whole_body(void **state)
{
    (void)state;
    post_length("", 6);
    say("bo");
    say("die");
    assert_int_equal(handler_calls, 0);
    expect_silence();
    say("s");
    expect_answer(200, "bodies");
    assert_int_equal(handler_calls, 1);
}

static void a_body_may_come_an_octet_at_a_time(void **state)
{
    (void)state;
    static const char length[] =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n\0\r\n\xff!";
    static const char chunked[] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "2;x=y\r\n\0\r\r\n3\r\n\n\xff!\r\n0\r\nX-T: u\r\n\r\n";
    const rv_bytes both[] = {{length, sizeof length - 1}, {chunked, sizeof chunked - 1}};
    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at < both[i].len; at++) {
            expect_silence();
            say_octets((rv_bytes){both[i].ptr + at, 1});
        }
        expect_status(200);
        assert_int_equal(last_answer()->content.len, 5);
        assert_memory_equal(last_answer()->content.ptr, "\0\r\n\xff!", 5);
    }
}

static void a_large_body_arrives_whole(void **state)
{
    (void)state;
    enum { SIZE = 1000000 };
    char *octets = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        octets[i] = (char)(i % 251);
    post_length("", SIZE);
    for (size_t at = 0; at < SIZE; at += 12345) {
        size_t run = SIZE - at < 12345 ? SIZE - at : 12345;
        say_octets((rv_bytes){octets + at, run});
    }
    expect_status(200);
    assert_int_equal(last_answer()->content.len, SIZE);
    assert_memory_equal(last_answer()->content.ptr, octets, SIZE);
    free(octets);
}

static void what_follows_a_body_is_the_next_request(void **state)
{
    (void)state;
    say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nonePOST / HTTP/1.1\r\nHost: a\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "one");
    expect_answer(200, "two");
    expect_answer(200, "");
    expect_silence();
}

static void any_method_may_have_a_body(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET", "DELETE", "OPTIONS", "PURGE", "PATCH"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        request(methods[i], "/", "Content-Length: 4\r\n");
        say("body");
        expect_answer(200, "body");
    }
}

/* ---- chunks ------------------------------------------------------------------------------------ */

static void chunks_are_joined(void **state)
{
    (void)state;
    post_chunked("");
    say("3\r\nabc\r\n00A;ext=\"v\"\r\n0123456789\r\n1\r\nz\r\n0\r\n\r\n");
    expect_answer(200, "abc0123456789z");
    expect_open();
}

static void a_malformed_chunk_is_400_and_the_end(void **state)
{
    (void)state;
    static const char *const bad[] = {"x\r\n",  "-1\r\n", "3\r\nabcd\r\n",
                                      "3 \r\n", "\r\n",   "3;\r\n"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        as(i);
        post_chunked("");
        say(bad[i]);
        expect_status(400);
        expect_field("Connection", "close");
        expect_closed();
    }
    assert_int_equal(handler_calls, 0);
    assert_int_equal(COUNTER(requests_malformed), sizeof bad / sizeof *bad);
}

static int show_trailer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_bytes trailer = rv_trailer(talk, "x-SUM");
    return trailer.ptr == NULL ? rv_text(talk, 200, "-") : rv_reply(talk, 200, NULL, trailer);
}

static void trailers_are_found_behind_the_body(void **state)
{
    (void)state;
    route("POST /trailer", show_trailer, NULL);
    static const char *const sections[][2] = {
        {"\r\n", "-"},
        {"X-Sum: 42\r\n\r\n", "42"},
        {"X-Other: 1\r\nX-Sum:  42 \r\nX-Sum: 43\r\n\r\n", "42"},
        {"X-Sum:\r\n\r\n", ""},
        {"X-Other: 1\r\n\r\n", "-"}};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        request("POST", "/trailer", "X-Sum: head\r\nTransfer-Encoding: chunked\r\n");
        say("1\r\na\r\n0\r\n");
        say(sections[i][0]);
        expect_answer(200, sections[i][1]);
    }
}

static void trailers_have_the_limits_of_a_head(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.head_bytes_max = 200});
    route("POST /", echo, NULL);
    post_chunked("");
    say("1\r\na\r\n0\r\nX-Long: ");
    say_x(300);
    expect_status(431);
    expect_closed();
    assert_int_equal(handler_calls, 0);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void a_body_at_the_limit_is_taken(void **state)
{
    (void)state;
    with_limit(10);
    post_length("", 10);
    say_x(10);
    expect_answer(200, "xxxxxxxxxx");
    post_chunked("");
    say("6\r\nxxxxxx\r\n4\r\nxxxx\r\n0\r\n\r\n");
    expect_answer(200, "xxxxxxxxxx");
    assert_int_equal(COUNTER(body_too_large), 0);
}

static void a_body_that_announces_more_is_413_at_once(void **state)
{
    (void)state;
    with_limit(10);
    post_length("", 11);
    expect_answer(413, "413 Content Too Large\n"
                       "The request body is larger than the server accepts.\n");
    expect_field("Connection", "close");
    expect_closed();
    assert_int_equal(handler_calls, 0);
    assert_int_equal(COUNTER(body_too_large), 1);
}

static void a_chunk_that_announces_too_much_is_413_at_once(void **state)
{
    (void)state;
    with_limit(10);
    post_chunked("");
    say("B\r\n");
    expect_status(413);
    expect_closed();
    as(1);
    post_chunked("");
    say("8\r\nxxxxxxxx\r\n");
    expect_silence();
    say("3\r\n");
    expect_status(413);
    expect_closed();
    as(2);
    post_chunked("");
    say("ffffffffffffffff0\r\n"); /* more than 64 bits hold */
    expect_status(413);
    expect_closed();
    assert_int_equal(handler_calls, 0);
    assert_int_equal(COUNTER(body_too_large), 3);
}

static void a_length_that_no_machine_holds_is_413(void **state)
{
    (void)state;
    with_limit(RV_NO_LIMIT);
    request("POST", "/", "Content-Length: 99999999999999999999\r\n");
    expect_status(413);
    expect_closed();
    assert_int_equal(COUNTER(body_too_large), 1);
    assert_int_equal(COUNTER(requests_malformed), 0);
}

static void the_limit_is_a_megabyte_by_default(void **state)
{
    (void)state;
    post_length("", 1048576);
    say_x(1048576);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 1048576);
    post_length("", 1048577);
    expect_status(413);
}

static void a_route_may_have_a_limit_of_its_own(void **state)
{
    (void)state;
    with_limit(10);
    route_with("POST /more", echo, NULL, (rv_route_options){.body_bytes_max = 20});
    route_with("POST /less", echo, NULL, (rv_route_options){.body_bytes_max = 5});
    request("POST", "/more", "Content-Length: 20\r\n");
    say_x(20);
    expect_status(200);
    request("POST", "/less", "Content-Length: 5\r\n");
    say_x(5);
    expect_status(200);
    request("POST", "/less", "Content-Length: 6\r\n");
    expect_status(413);
    as(1);
    request("POST", "/more", "Content-Length: 21\r\n");
    expect_status(413);
}

static void there_may_be_no_limit(void **state)
{
    (void)state;
    with_limit(RV_NO_LIMIT);
    post_length("", 3000000);
    say_x(3000000);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 3000000);
    post_chunked("");
    say("2DC6C0\r\n");
    say_x(3000000);
    say("\r\n0\r\n\r\n");
    expect_status(200);
    assert_int_equal(last_answer()->content.len, 3000000);
}

static void a_client_that_sends_on_is_still_told(void **state)
{
    (void)state;
    with_limit(10);
    post_length("", 100000);
    for (int i = 0; i < 10; i++)
        say_x(10000); /* dropped, so that no reset destroys the answer on its way */
    expect_status(413);
}

static void a_route_may_require_a_length(void **state)
{
    (void)state;
    route_with("POST /length", echo, NULL, (rv_route_options){.length_required = true});
    request("POST", "/length", "Content-Length: 4\r\n");
    say("body");
    expect_answer(200, "body");
    request("POST", "/length", NULL);
    expect_answer(200, "");
    request("POST", "/length", "Transfer-Encoding: chunked\r\n");
    expect_status(411);
    assert_int_equal(handler_calls, 2);
}

/* ---- 100 Continue ------------------------------------------------------------------------------ */

static const char expect_continue[] = "Expect: 100-continue\r\n";

static void a_client_that_waits_is_told_to_continue(void **state)
{
    (void)state;
    post_length(expect_continue, 4);
    expect_octets("HTTP/1.1 100 Continue\r\n\r\n");
    say("body");
    expect_answer(200, "body");
    post_chunked(expect_continue);
    expect_octets("HTTP/1.1 100 Continue\r\n\r\n");
    say("4\r\nbody\r\n0\r\n\r\n");
    expect_answer(200, "body");
    assert_int_equal(COUNTER(responses_1xx), 2);
}

static void a_client_that_does_not_wait_is_not_told(void **state)
{
    (void)state;
    say("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nb");
    expect_silence();
    say("ody");
    expect_answer(200, "body");
    assert_int_equal(COUNTER(responses_1xx), 0);
}

static void a_request_without_a_body_is_not_told_to_continue(void **state)
{
    (void)state;
    post_length(expect_continue, 0);
    expect_answer(200, "");
    request("GET", "/", expect_continue);
    expect_answer(200, "");
}

static void an_http_1_0_client_is_not_told_to_continue(void **state)
{
    (void)state;
    say("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    expect_silence();
    say("body");
    expect_answer(200, "body");
}

static void a_client_that_waits_is_refused_before_its_body(void **state)
{
    (void)state;
    with_limit(10);
    post_length(expect_continue, 11);
    expect_status(413);
    expect_closed();
    as(1);
    request("POST", "/nowhere", "Expect: 100-continue\r\nContent-Length: 4\r\n");
    expect_status(404);
    expect_field("Connection", "close"); /* whether the body comes nobody knows */
    expect_closed();
}

/* ---- bodies that do not end ------------------------------------------------------------------- */

static void a_client_that_leaves_in_its_body_reaches_no_handler(void **state)
{
    (void)state;
    post_length("", 10);
    say("some");
    rv_test_reset(client());
    expect_silence();
    assert_int_equal(handler_calls, 0);
    assert_int_equal(COUNTER(clients_gone), 1);
}

static void a_client_that_ends_in_its_body_is_closed(void **state)
{
    (void)state;
    post_length("", 10);
    say("some");
    rv_test_half_close(client());
    expect_silence();
    expect_closed();
    assert_int_equal(handler_calls, 0);
    as(1);
    post_chunked("");
    say("4\r\nbody\r\n");
    rv_test_half_close(client());
    expect_silence();
    expect_closed();
    assert_int_equal(handler_calls, 0);
}

static void a_client_that_ends_behind_its_body_is_answered(void **state)
{
    (void)state;
    post_length("", 4);
    say("body");
    rv_test_half_close(client());
    expect_answer(200, "body");
    expect_closed();
}

static void a_body_that_no_route_wants_is_passed_over(void **state)
{
    (void)state;
    request("POST", "/nowhere", "Content-Length: 10\r\n");
    expect_status(404);
    expect_open();
    say("0123456789GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_request_without_a_body_has_an_empty_one),
        FACT(a_body_may_come_with_its_head),
        FACT(the_handler_waits_for_the_whole_body),
        FACT(a_body_may_come_an_octet_at_a_time),
        FACT(a_large_body_arrives_whole),
        FACT(what_follows_a_body_is_the_next_request),
        FACT(any_method_may_have_a_body),
        FACT(chunks_are_joined),
        FACT(a_malformed_chunk_is_400_and_the_end),
        FACT(trailers_are_found_behind_the_body),
        FACT(trailers_have_the_limits_of_a_head),
        FACT(a_body_at_the_limit_is_taken),
        FACT(a_body_that_announces_more_is_413_at_once),
        FACT(a_chunk_that_announces_too_much_is_413_at_once),
        FACT(a_length_that_no_machine_holds_is_413),
        FACT(the_limit_is_a_megabyte_by_default),
        FACT(a_route_may_have_a_limit_of_its_own),
        FACT(there_may_be_no_limit),
        FACT(a_client_that_sends_on_is_still_told),
        FACT(a_route_may_require_a_length),
        FACT(a_client_that_waits_is_told_to_continue),
        FACT(a_client_that_does_not_wait_is_not_told),
        FACT(a_request_without_a_body_is_not_told_to_continue),
        FACT(an_http_1_0_client_is_not_told_to_continue),
        FACT(a_client_that_waits_is_refused_before_its_body),
        FACT(a_client_that_leaves_in_its_body_reaches_no_handler),
        FACT(a_client_that_ends_in_its_body_is_closed),
        FACT(a_client_that_ends_behind_its_body_is_answered),
        FACT(a_body_that_no_route_wants_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
