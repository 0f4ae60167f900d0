/*
 * Deadlines of the wire, exactly: the server runs in memory on a clock that only these tests move, so
 * "not before" and "not later than a tenth behind" can both be asserted. Every test names the limit it
 * is about and also sees to it that the counter of that limit tells.
 */
#include "wire/wire_app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REQUEST "GET /method HTTP/1.1\r\nHost: x\r\n\r\n"

static rv_server *server;
static rv_test *client;

/* A server with these limits and one client. */
static void start(rv_limits limits)
{
    server = rv_server_new(&(rv_server_options){.workers = 1, .pool_threads = 1, .limits = limits});
    assert_non_null(server);
    assert_int_equal(wire_app_add_routes(server, WIRE_FOLDER, "."), RV_OK);
    client = rv_test_new(server);
    assert_non_null(client);
}

static int finish(void **state)
{
    (void)state;
    rv_test_free(client);
    rv_server_free(server);
    client = NULL;
    server = NULL;
    return 0;
}

static void send_text(const char *text)
{
    rv_test_send(client, rv_str(text));
}

static void send_octets(char octet, size_t count)
{
    char *octets = malloc(count);
    assert_non_null(octets);
    memset(octets, octet, count);
    rv_test_send(client, (rv_bytes){octets, count});
    free(octets);
}

static uint64_t after(uint64_t ms)
{
    rv_test_advance_ms(client, ms);
    return ms;
}

static bool received_status(const char *status)
{
    rv_bytes got = rv_test_received(client);
    return got.len > 12 && memcmp(got.ptr, "HTTP/1.1 ", 9) == 0 &&
           memcmp(got.ptr + 9, status, 3) == 0;
}

static void ask(void)
{
    send_text(REQUEST);
    assert_true(received_status("200"));
}

static rv_counter_values counters(void)
{
    rv_counter_values values;
    rv_counters(server, &values);
    return values;
}

/* ---- idle_timeout_ms --------------------------------------------------------------------------- */

static void an_idle_connection_is_closed_at_its_time(void **state)
{
    (void)state;
    start((rv_limits){.idle_timeout_ms = 1000});
    ask();
    after(900);
    assert_false(rv_test_closed(client));
    after(200);
    assert_true(rv_test_closed(client));
    assert_int_equal(rv_test_received(client).len, 0);
    assert_int_equal(counters().idle_timeouts, 1);
    assert_int_equal(counters().connections_open, 0);
}

static void each_response_starts_the_idle_time_anew(void **state)
{
    (void)state;
    start((rv_limits){.idle_timeout_ms = 1000});
    for (int i = 0; i < 10; i++) {
        ask();
        after(900);
        assert_false(rv_test_closed(client));
    }
    after(200);
    assert_true(rv_test_closed(client));
}

static void idle_time_does_not_run_during_a_request(void **state)
{
    (void)state;
    start((rv_limits){.idle_timeout_ms = 1000});
    send_text("GET /slow?ms=5000 HTTP/1.1\r\nHost: x\r\n\r\n");
    after(4900);
    assert_false(rv_test_closed(client));
    after(200);
    assert_true(received_status("200"));
    after(900 - 100);
    assert_false(rv_test_closed(client));
    after(300);
    assert_true(rv_test_closed(client));
}

static void idle_time_can_be_without_a_limit(void **state)
{
    (void)state;
    start((rv_limits){.idle_timeout_ms = RV_NO_LIMIT});
    ask();
    after(86400 * UINT64_C(1000));
    assert_false(rv_test_closed(client));
    ask();
}

static void the_default_idle_time_is_twenty_seconds(void **state)
{
    (void)state;
    start((rv_limits){0});
    ask();
    after(18000);
    assert_false(rv_test_closed(client));
    after(4000);
    assert_true(rv_test_closed(client));
}

/* ---- head_timeout_ms --------------------------------------------------------------------------- */

static void half_a_head_gets_408_at_its_deadline(void **state)
{
    (void)state;
    start((rv_limits){.head_timeout_ms = 1000});
    send_text("GET / HT");
    after(900);
    assert_false(rv_test_closed(client));
    assert_int_equal(rv_test_received(client).len, 0);
    after(200);
    assert_true(received_status("408"));
    assert_true(rv_test_closed(client));
    assert_int_equal(counters().head_timeouts, 1);
}

static void octets_now_and_then_do_not_extend_the_head_deadline(void **state)
{
    (void)state;
    start((rv_limits){.head_timeout_ms = 1000});
    send_text("GET / HTTP/1.1\r\nX: ");
    for (uint64_t ms = 0; ms < 900; ms += after(100))
        send_text("y");
    assert_false(rv_test_closed(client));
    send_text("y");
    after(200);
    assert_true(received_status("408"));
}

static void a_connection_that_sends_nothing_has_the_same_deadline(void **state)
{
    (void)state;
    start((rv_limits){.head_timeout_ms = 1000, .idle_timeout_ms = 60000});
    after(900);
    assert_false(rv_test_closed(client));
    after(200);
    assert_true(rv_test_closed(client));
}

static void the_head_deadline_is_of_one_request(void **state)
{
    (void)state;
    start((rv_limits){.head_timeout_ms = 1000, .idle_timeout_ms = 60000});
    for (int i = 0; i < 5; i++) {
        send_text("GET /method HT");
        after(800);
        send_text("TP/1.1\r\nHost: x\r\n\r\n");
        assert_true(received_status("200"));
        after(800);
        assert_false(rv_test_closed(client));
    }
}

static void an_empty_line_before_a_request_has_a_deadline_too(void **state)
{
    (void)state;
    start((rv_limits){.head_timeout_ms = 1000, .idle_timeout_ms = 60000});
    ask();
    send_text("\r\n");
    after(1100);
    assert_true(rv_test_closed(client));
}

static void the_default_head_deadline_is_ten_seconds(void **state)
{
    (void)state;
    start((rv_limits){0});
    send_text("G");
    after(9000);
    assert_false(rv_test_closed(client));
    after(2000);
    assert_true(received_status("408"));
}

/* ---- body_rate_min, body_grace_ms -------------------------------------------------------------- */

static const rv_limits body_limits = {.body_rate_min = 1000, .body_grace_ms = 1000};
static const char upload[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";

static void a_body_below_the_least_rate_gets_408(void **state)
{
    (void)state;
    start(body_limits);
    send_text(upload);
    uint64_t ms = 0;
    while (ms < 900) {
        send_octets('x', 10);
        ms += after(100);
    }
    assert_false(rv_test_closed(client));
    while (ms < 2200 && !rv_test_closed(client)) {
        send_octets('x', 10);
        ms += after(100);
    }
    assert_true(received_status("408"));
    assert_int_equal(counters().body_too_slow, 1);
}

static void a_body_at_the_least_rate_is_not_cut(void **state)
{
    (void)state;
    start(body_limits);
    send_text(upload);
    for (int i = 0; i < 100; i++) {
        send_octets('x', 1000);
        after(i < 99 ? 900 : 0);
    }
    assert_true(received_status("200"));
}

static void a_body_that_stops_after_a_quick_start_gets_408(void **state)
{
    (void)state;
    start(body_limits);
    send_text(upload);
    send_octets('x', 90000);
    after(500);
    assert_false(rv_test_closed(client));
    after(2600);
    assert_true(received_status("408"));
}

static void a_body_that_the_handler_does_not_want_has_a_least_rate_too(void **state)
{
    (void)state;
    start(body_limits);
    send_text("POST /noread HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx");
    assert_true(received_status("200"));
    after(40000);
    assert_true(rv_test_closed(client));
    assert_int_equal(counters().connections_open, 0);
}

static void the_rate_does_not_count_while_the_handler_works(void **state)
{
    (void)state;
    start(body_limits);
    send_text("GET /slow?ms=10000 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    after(9900);
    assert_false(rv_test_closed(client));
    after(200);
    assert_true(received_status("200"));
}

/* ---- write_stall_ms ---------------------------------------------------------------------------- */

static void a_client_that_takes_nothing_is_cut_at_the_stall_time(void **state)
{
    (void)state;
    start((rv_limits){.write_stall_ms = 1000});
    rv_test_window(client, 1000);
    send_text("GET /big?size=10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    after(900);
    assert_int_equal(counters().write_stalls, 0);
    after(300);
    assert_int_equal(counters().write_stalls, 1);
    assert_int_equal(counters().connections_open, 0);
}

static void a_client_that_takes_little_is_not_cut(void **state)
{
    (void)state;
    start((rv_limits){.write_stall_ms = 1000});
    rv_test_window(client, 1000);
    send_text("GET /big?size=10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 30; i++) {
        after(800);
        rv_test_window(client, 1000);
        assert_true(rv_test_received(client).len > 0);
    }
    rv_test_window(client, RV_NO_LIMIT);
    assert_int_equal(counters().write_stalls, 0);
    size_t received = 0;
    for (rv_bytes got; (got = rv_test_received(client)).len > 0; rv_test_settle(client))
        received += got.len;
    assert_true(received > 9900000);
}

/* ---- linger_ms --------------------------------------------------------------------------------- */

static void a_refused_client_that_goes_on_is_dropped_after_the_linger(void **state)
{
    (void)state;
    start((rv_limits){.linger_ms = 1000});
    send_text("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    assert_true(received_status("413"));
    assert_true(rv_test_closed(client));
    for (uint64_t ms = 0; ms < 900; ms += after(100))
        send_octets('x', 1000);
    assert_int_equal(counters().connections_open, 1);
    for (uint64_t ms = 0; ms < 300; ms += after(100))
        send_octets('x', 1000);
    assert_int_equal(counters().connections_open, 0);
}

static void a_refused_client_that_ends_is_gone_at_once(void **state)
{
    (void)state;
    start((rv_limits){.linger_ms = 60000});
    send_text("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    assert_true(received_status("413"));
    rv_test_half_close(client);
    rv_test_settle(client);
    assert_int_equal(counters().connections_open, 0);
}

/* ---- other limits of one connection ------------------------------------------------------------ */

static void the_last_of_the_requests_of_a_connection_says_close(void **state)
{
    (void)state;
    start((rv_limits){.requests_per_connection_max = 3});
    ask();
    ask();
    assert_false(rv_test_closed(client));
    ask();
    assert_true(rv_test_closed(client));
    assert_int_equal(counters().requests_per_connection_hits, 1);
}

static void a_client_that_resets_before_its_late_answer_is_forgotten(void **state)
{
    (void)state;
    start((rv_limits){0});
    send_text("GET /slow?ms=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
    rv_test_reset(client);
    after(2000);
    assert_int_equal(counters().connections_open, 0);
    assert_int_equal(counters().clients_gone, 1);
}

static void a_client_that_resets_in_a_large_answer_is_forgotten(void **state)
{
    (void)state;
    start((rv_limits){0});
    rv_test_window(client, 1000);
    send_text("GET /big?size=10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    rv_test_reset(client);
    rv_test_settle(client);
    assert_int_equal(counters().connections_open, 0);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_teardown(name, finish)
    const struct CMUnitTest facts[] = {
        FACT(an_idle_connection_is_closed_at_its_time),
        FACT(each_response_starts_the_idle_time_anew),
        FACT(idle_time_does_not_run_during_a_request),
        FACT(idle_time_can_be_without_a_limit),
        FACT(the_default_idle_time_is_twenty_seconds),
        FACT(half_a_head_gets_408_at_its_deadline),
        FACT(octets_now_and_then_do_not_extend_the_head_deadline),
        FACT(a_connection_that_sends_nothing_has_the_same_deadline),
        FACT(the_head_deadline_is_of_one_request),
        FACT(an_empty_line_before_a_request_has_a_deadline_too),
        FACT(the_default_head_deadline_is_ten_seconds),
        FACT(a_body_below_the_least_rate_gets_408),
        FACT(a_body_at_the_least_rate_is_not_cut),
        FACT(a_body_that_stops_after_a_quick_start_gets_408),
        FACT(a_body_that_the_handler_does_not_want_has_a_least_rate_too),
        FACT(the_rate_does_not_count_while_the_handler_works),
        FACT(a_client_that_takes_nothing_is_cut_at_the_stall_time),
        FACT(a_client_that_takes_little_is_not_cut),
        FACT(a_refused_client_that_goes_on_is_dropped_after_the_linger),
        FACT(a_refused_client_that_ends_is_gone_at_once),
        FACT(the_last_of_the_requests_of_a_connection_says_close),
        FACT(a_client_that_resets_before_its_late_answer_is_forgotten),
        FACT(a_client_that_resets_in_a_large_answer_is_forgotten),
    };
    return cmocka_run_group_tests(facts, NULL, NULL);
}
