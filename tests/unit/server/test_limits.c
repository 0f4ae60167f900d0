/*
 * Facts about the limits of a server (step 12 of rivulet.h): each at its border and one beyond, with its
 * counter, and each switched off. Times are exact: the clock is the test's.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int say_ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

/* A server with these limits, that answers everything with "Ok". */
static void with_limits(rv_limits limits)
{
    tested_with(&(rv_server_options){.limits = limits});
    route("* /{all...}", say_ok, NULL);
}

#define LIMITS(...) with_limits((rv_limits){__VA_ARGS__})

static void say_x(size_t count)
{
    char *octets = malloc(count + 1);
    memset(octets, 'x', count);
    say_octets((rv_bytes){octets, count});
    free(octets);
}

/* Both sides are closed: nothing more is taken. `expect_closed` is about the server's side alone. */
static void expect_gone(void)
{
    assert_int_equal(rv_test_send(client(), RV_LIT("x")), RV_EGONE);
}

/* ---- heads ------------------------------------------------------------------------------------- */

/* A GET whose target has that many octets. */
static void get_target_of(size_t length)
{
    char target[9000];
    memset(target, 'a', length);
    target[0] = '/';
    target[length] = '\0';
    get(target);
}

static void a_target_beyond_its_limit_is_414(void **state)
{
    (void)state;
    LIMITS(.target_bytes_max = 50);
    get_target_of(50);
    expect_answer(200, "Ok");
    get_target_of(51);
    expect_status(414);
    expect_closed();
    assert_int_equal(COUNTER(target_too_long), 1);
}

static void a_target_beyond_its_limit_is_refused_before_its_end(void **state)
{
    (void)state;
    LIMITS(.target_bytes_max = 50);
    say("GET /");
    say_x(60);
    expect_status(414);
    assert_int_equal(COUNTER(target_too_long), 1);
}

static void a_target_has_8_kib_by_default(void **state)
{
    (void)state;
    LIMITS(0);
    get_target_of(8192);
    expect_answer(200, "Ok");
    get_target_of(8193);
    expect_status(414);
}

/* A GET whose head has that many octets in all. */
static void get_head_of(size_t length)
{
    static const char start[] = "GET / HTTP/1.1\r\nHost: test\r\nX-Long: ";
    say(start);
    say_x(length - strlen(start) - 4);
    say("\r\n\r\n");
}

static void a_head_beyond_its_limit_is_431(void **state)
{
    (void)state;
    LIMITS(.head_bytes_max = 500);
    get_head_of(500);
    expect_answer(200, "Ok");
    get_head_of(501);
    expect_status(431);
    expect_closed();
    assert_int_equal(COUNTER(head_too_large), 1);
    assert_int_equal(COUNTER(head_fields_too_many), 0);
}

static void a_head_has_32_kib_by_default(void **state)
{
    (void)state;
    LIMITS(0);
    get_head_of(32768);
    expect_answer(200, "Ok");
    get_head_of(32769);
    expect_status(431);
}

/* A GET with that many fields. */
static void get_fields(unsigned count)
{
    char head[80000];
    size_t used = (size_t)snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: test\r\n");
    for (unsigned i = 1; i < count; i++)
        used += (size_t)snprintf(head + used, sizeof head - used, "X-%u: y\r\n", i);
    strcpy(head + used, "\r\n");
    say(head);
}

static void more_fields_than_the_limit_are_431(void **state)
{
    (void)state;
    LIMITS(.head_fields_max = 5);
    get_fields(5);
    expect_answer(200, "Ok");
    get_fields(6);
    expect_status(431);
    expect_closed();
    assert_int_equal(COUNTER(head_fields_too_many), 1);
    assert_int_equal(COUNTER(head_too_large), 0);
}

static void a_head_has_100_fields_by_default(void **state)
{
    (void)state;
    LIMITS(0);
    get_fields(100);
    expect_answer(200, "Ok");
    get_fields(101);
    expect_status(431);
}

static void without_a_limit_a_head_may_be_very_large(void **state)
{
    (void)state;
    LIMITS(.head_bytes_max = RV_NO_LIMIT, .target_bytes_max = RV_NO_LIMIT,
           .head_fields_max = RV_NO_LIMIT);
    get_head_of(1000000);
    expect_answer(200, "Ok");
    get_fields(4096);
    expect_answer(200, "Ok");
    say("GET /");
    say_x(1000000);
    say(" HTTP/1.1\r\nHost: test\r\n\r\n");
    expect_answer(200, "Ok");
}

/* ---- the time of a head ------------------------------------------------------------------------ */

static void a_fresh_client_that_is_silent_is_told_408(void **state)
{
    (void)state;
    LIMITS(0);
    client();
    advance_ms(9999);
    expect_silence();
    expect_open();
    advance_ms(1);
    expect_status(408);
    expect_field("Connection", "close");
    expect_closed();
    assert_int_equal(COUNTER(head_timeouts), 1);
    assert_int_equal(COUNTER(idle_timeouts), 0);
    assert_int_equal(COUNTER(requests), 0);
}

static void a_silent_client_has_longer_while_others_connect(void **state)
{
    (void)state;
    LIMITS(0);
    client();
    for (unsigned i = 1; i < 4; i++) {
        advance_ms(6000);
        as(i);
        client();
        as(0);
        expect_open();
    }
    advance_ms(1999); /* but no longer than an idle one: 20 s */
    expect_open();
    advance_ms(1);
    expect_status(408);
}

static void the_time_of_a_head_is_that_of_all_its_octets(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nX: yyyyyyyyyyyyy";
    LIMITS(.head_timeout_ms = 1000);
    for (int i = 0; i < 10; i++) {
        say_octets((rv_bytes){text + i, 1});
        expect_silence();
        advance_ms(99);
    }
    advance_ms(9);
    expect_silence();
    advance_ms(1); /* 1000 ms after the first octet, 100 after the last */
    expect_status(408);
    expect_closed();
    assert_int_equal(COUNTER(head_timeouts), 1);
}

static void the_time_of_a_head_begins_with_its_first_octet(void **state)
{
    (void)state;
    LIMITS(.head_timeout_ms = 1000);
    client();
    advance_ms(900);
    say("G");
    advance_ms(999);
    expect_open();
    say("ET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "Ok");
}

static void a_later_head_has_its_time_from_its_first_octet(void **state)
{
    (void)state;
    LIMITS(.head_timeout_ms = 1000);
    get("/");
    expect_answer(200, "Ok");
    advance_ms(5000); /* idle, which is another limit's business */
    say("GET / HTTP/1.1\r\n");
    advance_ms(999);
    expect_silence();
    advance_ms(1);
    expect_status(408);
    assert_int_equal(COUNTER(head_timeouts), 1);
}

static void a_head_that_follows_in_the_same_segment_has_its_time_too(void **state)
{
    (void)state;
    LIMITS(.head_timeout_ms = 1000);
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT");
    expect_answer(200, "Ok");
    advance_ms(999);
    expect_silence();
    advance_ms(1);
    expect_status(408);
}

static void without_a_limit_a_head_has_all_the_time(void **state)
{
    (void)state;
    LIMITS(.head_timeout_ms = RV_NO_LIMIT, .idle_timeout_ms = RV_NO_LIMIT);
    client();
    advance_ms(10000000);
    say("GET / HT");
    advance_ms(10000000);
    expect_silence();
    expect_open();
    say("TP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "Ok");
}

/* ---- idle connections -------------------------------------------------------------------------- */

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    (void)state;
    LIMITS(0);
    get("/");
    expect_answer(200, "Ok");
    advance_ms(19999);
    expect_open();
    advance_ms(1);
    expect_closed();
    expect_silence();
    expect_gone();
    assert_int_equal(COUNTER(idle_timeouts), 1);
    assert_int_equal(COUNTER(head_timeouts), 0);
    assert_int_equal(COUNTER(responses_4xx), 0);
    assert_int_equal(COUNTER(connections_open), 0);
}

static void a_connection_is_idle_from_its_last_answer_on(void **state)
{
    (void)state;
    LIMITS(.idle_timeout_ms = 1000);
    for (int i = 0; i < 5; i++) {
        get("/");
        expect_answer(200, "Ok");
        advance_ms(999);
        expect_open();
    }
    advance_ms(1);
    expect_closed();
}

static void without_a_limit_a_connection_may_be_idle_for_ever(void **state)
{
    (void)state;
    LIMITS(.idle_timeout_ms = RV_NO_LIMIT);
    get("/");
    expect_answer(200, "Ok");
    advance_ms(10000000);
    expect_open();
    get("/");
    expect_answer(200, "Ok");
}

/* ---- the rate of a body ------------------------------------------------------------------------ */

static void post(const char *length)
{
    char field[64];
    snprintf(field, sizeof field, "Content-Length: %s\r\n", length);
    request("POST", "/", field);
}

static void a_body_that_stands_still_is_408(void **state)
{
    (void)state;
    LIMITS(0);
    post("100000");
    advance_ms(4999);
    expect_silence();
    advance_ms(1);
    expect_status(408);
    expect_field("Connection", "close");
    expect_closed();
    assert_int_equal(COUNTER(body_too_slow), 1);
    assert_int_equal(COUNTER(head_timeouts), 0);
}

/* Sends `octets` each half second, so often. */
static void trickle(size_t octets, int times)
{
    for (int i = 0; i < times && !rv_test_closed(client()); i++) {
        say_x(octets);
        advance_ms(500);
    }
}

static void a_body_at_the_minimum_rate_is_taken(void **state)
{
    (void)state;
    LIMITS(0);
    post("51200");
    trickle(512, 100); /* 50 seconds */
    expect_answer(200, "Ok");
    assert_int_equal(COUNTER(body_too_slow), 0);
}

static void a_body_below_the_minimum_rate_is_cut(void **state)
{
    (void)state;
    LIMITS(0);
    post("51200");
    trickle(511, 9);
    expect_open();
    trickle(511, 1);
    expect_status(408);
    assert_int_equal(COUNTER(body_too_slow), 1);
}

static void each_window_of_the_rate_is_judged_alone(void **state)
{
    (void)state;
    LIMITS(0);
    post("1000000");
    say_x(500000); /* what came fast does not pay for a pause later */
    advance_ms(5000);
    expect_open();
    advance_ms(4999);
    expect_open();
    advance_ms(1);
    expect_status(408);
}

static void a_body_that_ends_within_its_grace_may_be_slow(void **state)
{
    (void)state;
    LIMITS(0);
    post("3");
    say("a");
    advance_ms(2400);
    say("b");
    advance_ms(2400);
    say("c");
    expect_answer(200, "Ok");
}

static void rate_and_grace_may_be_others(void **state)
{
    (void)state;
    LIMITS(.body_rate_min = 10, .body_grace_ms = 1000);
    post("1000");
    for (int i = 0; i < 5; i++) {
        say_x(10);
        advance_ms(1000);
        expect_open();
    }
    say_x(9);
    advance_ms(1000);
    expect_status(408);
}

static void a_body_that_is_dropped_has_the_same_rate(void **state)
{
    (void)state;
    tested_with(NULL);
    request("POST", "/nowhere", "Content-Length: 100000\r\n");
    expect_status(404);
    expect_open();
    advance_ms(4999);
    expect_open();
    advance_ms(1);
    expect_closed();
    expect_silence();
    assert_int_equal(COUNTER(body_too_slow), 1);
}

static int pause_body(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)piece;
    (void)ctx;
    return last ? rv_text(talk, 200, "Ok") : RV_FULL;
}

static int resume_body(rv_talk *talk, void *value)
{
    (void)value;
    rv_error error = rv_body_resume(talk);
    return error != 0 ? error : RV_PENDING;
}

static int take_in_pauses(rv_talk *talk, void *ctx)
{
    *(rv_handle *)ctx = rv_suspend(talk);
    rv_error error = rv_on_body(talk, pause_body, NULL);
    return error != 0 ? error : RV_PENDING;
}

static void a_body_that_the_program_has_paused_is_not_slow(void **state)
{
    (void)state;
    rv_handle handle = {0};
    tested_with(NULL);
    route_with("POST /", take_in_pauses, &handle, (rv_route_options){.body = RV_BODY_STREAMED});
    post("10000");
    say_x(100);
    advance_ms(60000);
    expect_open();
    rv_resume(tested, handle, resume_body, NULL);
    advance_ms(4900); /* a window of its own, from the resume on */
    expect_open();
    say_x(9900);
    expect_answer(200, "Ok");
    assert_int_equal(COUNTER(body_too_slow), 0);
}

static void without_a_limit_a_body_has_all_the_time(void **state)
{
    (void)state;
    LIMITS(.body_rate_min = RV_NO_LIMIT);
    post("2");
    say("a");
    advance_ms(1000000);
    expect_silence();
    expect_open();
    say("b");
    expect_answer(200, "Ok");
    LIMITS(.body_grace_ms = RV_NO_LIMIT);
    post("2");
    advance_ms(1000000);
    expect_open();
    say("ab");
    expect_answer(200, "Ok");
}

/* ---- output that stands still ------------------------------------------------------------------ */

static char large[100000];

static int send_large(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, NULL, (rv_bytes){large, sizeof large});
}

static void with_large(uint64_t write_stall_ms)
{
    tested_with(&(rv_server_options){.limits.write_stall_ms = write_stall_ms});
    route("GET /", send_large, NULL);
}

/* Asks for the large answer and takes some of it. */
static void take_some_of_large(void)
{
    rv_test_window(client(), 1000);
    get("/");
}

static void a_client_that_stops_reading_is_cut(void **state)
{
    (void)state;
    with_large(0);
    take_some_of_large();
    advance_ms(19999);
    expect_open();
    advance_ms(6000); /* it is looked for four times in the time of a stall */
    expect_closed();
    expect_gone();
    assert_int_equal(COUNTER(write_stalls), 1);
}

static void a_client_that_reads_slowly_is_not_cut(void **state)
{
    (void)state;
    with_large(0);
    take_some_of_large();
    for (int i = 0; i < 20; i++) {
        advance_ms(14000);
        expect_open();
        rv_test_window(client(), 1);
    }
    rv_test_window(client(), RV_NO_LIMIT);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, sizeof large);
    assert_int_equal(COUNTER(write_stalls), 0);
}

static void a_client_that_stops_after_it_was_slow_is_cut(void **state)
{
    (void)state;
    with_large(1000);
    take_some_of_large();
    for (int i = 0; i < 10; i++) {
        advance_ms(700);
        rv_test_window(client(), 1);
    }
    expect_open();
    advance_ms(999);
    expect_open();
    advance_ms(600);
    expect_closed();
    assert_int_equal(COUNTER(write_stalls), 1);
}

static void a_client_that_stops_in_its_last_answer_is_cut_too(void **state)
{
    (void)state;
    with_large(1000);
    rv_test_window(client(), 1000);
    request("GET", "/", "Connection: close\r\n");
    advance_ms(2000);
    expect_gone();
    assert_int_equal(COUNTER(write_stalls), 1);
    assert_int_equal(COUNTER(connections_open), 0);
}

static int hold(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("some"));
    return RV_PENDING;
}

static void a_response_that_has_nothing_to_send_does_not_stall(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.write_stall_ms = 1000});
    route("GET /", hold, NULL);
    get("/");
    advance_ms(100000);
    expect_open();
    assert_int_equal(COUNTER(write_stalls), 0);
}

static void without_a_limit_output_may_stand_still(void **state)
{
    (void)state;
    with_large(RV_NO_LIMIT);
    take_some_of_large();
    advance_ms(10000000);
    rv_test_window(client(), RV_NO_LIMIT);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, sizeof large);
}

/* ---- lingering --------------------------------------------------------------------------------- */

/* A refused request, whose client sends on. */
static void be_refused(void)
{
    say("no request\r\n\r\n");
    expect_status(400);
    expect_closed(); /* its side: FIN */
}

static void a_refused_client_that_sends_on_is_read_for_a_while(void **state)
{
    (void)state;
    LIMITS(.linger_ms = 3000);
    be_refused();
    for (int i = 0; i < 29; i++) {
        say_x(1000);
        advance_ms(100);
    }
    say_x(1000);
    advance_ms(99);
    say_x(1000);
    advance_ms(1);
    expect_gone();
    assert_int_equal(COUNTER(connections_open), 0);
    assert_int_equal(COUNTER(responses_4xx), 1);
}

static void a_refused_client_that_is_silent_is_not_waited_for_as_long(void **state)
{
    (void)state;
    LIMITS(0);
    be_refused();
    say_x(1000);
    advance_ms(3000);
    assert_int_equal(COUNTER(connections_open), 1);
    advance_ms(12000); /* half of what it would have if it sent on */
    assert_int_equal(COUNTER(connections_open), 0);
    expect_gone();
}

static void a_refused_client_that_closes_is_gone_at_once(void **state)
{
    (void)state;
    LIMITS(0);
    be_refused();
    rv_test_half_close(client());
    expect_gone();
    assert_int_equal(COUNTER(connections_open), 0);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static void a_connection_ends_with_its_last_request(void **state)
{
    (void)state;
    LIMITS(.requests_per_connection_max = 3);
    for (int i = 0; i < 2; i++) {
        get("/");
        expect_answer(200, "Ok");
        expect_field("Connection", NULL);
    }
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "Ok");
    expect_field("Connection", "close");
    expect_silence();
    expect_closed();
    assert_int_equal(COUNTER(requests_per_connection_hits), 1);
    assert_int_equal(COUNTER(requests), 3);
}

static void requests_are_not_counted_by_default(void **state)
{
    (void)state;
    LIMITS(0);
    for (int i = 0; i < 1000; i++) {
        get("/");
        expect_answer(200, "Ok");
    }
    expect_open();
    assert_int_equal(COUNTER(requests_per_connection_hits), 0);
}

static void a_connection_beyond_the_limit_waits_for_room(void **state)
{
    (void)state;
    LIMITS(.connections_max = 2);
    client();
    as(1);
    client();
    assert_int_equal(COUNTER(connections_full), 1);
    assert_null(rv_test_new(tested));
    advance_ms(1000); /* however often it is looked for room */
    assert_null(rv_test_new(tested));
    assert_int_equal(COUNTER(connections_open), 2);
    rv_test_reset(client());
    as(2);
    get("/");
    expect_answer(200, "Ok");
    assert_int_equal(COUNTER(connections_open), 2);
    assert_int_equal(COUNTER(connections_accepted), 3);
}

static void an_idle_connection_makes_room_for_a_new_one(void **state)
{
    (void)state;
    LIMITS(.connections_max = 2);
    get("/");
    expect_answer(200, "Ok");
    advance_ms(1500);
    as(1);
    get("/"); /* full: the other has been idle long enough to be recycled */
    expect_answer(200, "Ok");
    as(0);
    expect_closed();
    assert_int_equal(COUNTER(connections_recycled), 1);
    as(2);
    get("/");
    expect_answer(200, "Ok");
}

static void a_connection_that_is_at_work_is_not_recycled(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.connections_max = 2});
    route("GET /", hold, NULL);
    get("/");
    as(1);
    get("/");
    advance_ms(5000);
    as(0);
    expect_open();
    as(1);
    expect_open();
    assert_null(rv_test_new(tested));
    assert_int_equal(COUNTER(connections_recycled), 0);
}

/* ---- options that are out of range ------------------------------------------------------------- */

static void expect_refused_option(rv_server_options options, const char *text)
{
    rv_server *server = rv_server_new(&options);
    assert_non_null(server);
    assert_null(rv_test_new(server));
    assert_string_equal(rv_server_error_text(server), text);
    assert_int_equal(rv_server_run(server), RV_EINVAL);
    assert_string_equal(rv_server_error_text(server), text);
    rv_server_free(server);
}

static void an_option_out_of_range_is_named(void **state)
{
    (void)state;
    expect_refused_option((rv_server_options){.workers = 256},
                          "option workers must be at most 255");
    expect_refused_option((rv_server_options){.backlog = 65536},
                          "option backlog must be at most 65535");
    expect_refused_option((rv_server_options){.pool_threads = 1025},
                          "option pool_threads must be at most 1024");
    expect_refused_option((rv_server_options){.server_name = "a\r\nb"},
                          "option server_name must be a field value of at most 64 octets");
    expect_refused_option((rv_server_options){.limits.head_bytes_max = 127},
                          "option limits.head_bytes_max must be from 128 to 16777216");
    expect_refused_option((rv_server_options){.limits.head_bytes_max = 16777217},
                          "option limits.head_bytes_max must be from 128 to 16777216");
    expect_refused_option((rv_server_options){.limits.target_bytes_max = 16777217},
                          "option limits.target_bytes_max must be at most 16777216");
    expect_refused_option((rv_server_options){.limits.head_fields_max = 4097},
                          "option limits.head_fields_max must be at most 4096");
    expect_refused_option(
        (rv_server_options){.limits = {.output_high_bytes = 10, .output_low_bytes = 11}},
        "option limits.output_low_bytes must be at most limits.output_high_bytes");
}

static void options_at_the_end_of_their_range_are_taken(void **state)
{
    (void)state;
    static const rv_server_options largest = {
        .backlog = 65535,
        .pool_threads = 1,
        .server_name = "0123456789012345678901234567890123456789012345678901234567890123",
        .limits = {.head_bytes_max = 128,
                   .head_fields_max = 4096,
                   .output_high_bytes = 1,
                   .output_low_bytes = 1}};
    tested_with(&largest);
    route("GET /", say_ok, NULL);
    get("/");
    expect_answer(200, "Ok");
    expect_field("Server", largest.server_name);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_target_beyond_its_limit_is_414),
        FACT(a_target_beyond_its_limit_is_refused_before_its_end),
        FACT(a_target_has_8_kib_by_default),
        FACT(a_head_beyond_its_limit_is_431),
        FACT(a_head_has_32_kib_by_default),
        FACT(more_fields_than_the_limit_are_431),
        FACT(a_head_has_100_fields_by_default),
        FACT(without_a_limit_a_head_may_be_very_large),
        FACT(a_fresh_client_that_is_silent_is_told_408),
        FACT(a_silent_client_has_longer_while_others_connect),
        FACT(the_time_of_a_head_is_that_of_all_its_octets),
        FACT(the_time_of_a_head_begins_with_its_first_octet),
        FACT(a_later_head_has_its_time_from_its_first_octet),
        FACT(a_head_that_follows_in_the_same_segment_has_its_time_too),
        FACT(without_a_limit_a_head_has_all_the_time),
        FACT(an_idle_connection_is_closed_without_a_word),
        FACT(a_connection_is_idle_from_its_last_answer_on),
        FACT(without_a_limit_a_connection_may_be_idle_for_ever),
        FACT(a_body_that_stands_still_is_408),
        FACT(a_body_at_the_minimum_rate_is_taken),
        FACT(a_body_below_the_minimum_rate_is_cut),
        FACT(each_window_of_the_rate_is_judged_alone),
        FACT(a_body_that_ends_within_its_grace_may_be_slow),
        FACT(rate_and_grace_may_be_others),
        FACT(a_body_that_is_dropped_has_the_same_rate),
        FACT(a_body_that_the_program_has_paused_is_not_slow),
        FACT(without_a_limit_a_body_has_all_the_time),
        FACT(a_client_that_stops_reading_is_cut),
        FACT(a_client_that_reads_slowly_is_not_cut),
        FACT(a_client_that_stops_after_it_was_slow_is_cut),
        FACT(a_client_that_stops_in_its_last_answer_is_cut_too),
        FACT(a_response_that_has_nothing_to_send_does_not_stall),
        FACT(without_a_limit_output_may_stand_still),
        FACT(a_refused_client_that_sends_on_is_read_for_a_while),
        FACT(a_refused_client_that_is_silent_is_not_waited_for_as_long),
        FACT(a_refused_client_that_closes_is_gone_at_once),
        FACT(a_connection_ends_with_its_last_request),
        FACT(requests_are_not_counted_by_default),
        FACT(a_connection_beyond_the_limit_waits_for_room),
        FACT(an_idle_connection_makes_room_for_a_new_one),
        FACT(a_connection_that_is_at_work_is_not_recycled),
        FACT(an_option_out_of_range_is_named),
        FACT(options_at_the_end_of_their_range_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
