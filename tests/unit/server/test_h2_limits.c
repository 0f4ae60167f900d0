/*
 * Facts about limits of HTTP/2, on a clock that only the test moves: what takes too long, what a client
 * does too often, and that its neighbours do not notice. Each flood stays within its budget first.
 */
#include "server/h2_calm.h"
#include "server/worker.h"
#include "support/h2_client.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct h2_client peer, neighbour;

static int set_up(void **state)
{
    memset(&peer, 0, sizeof peer);
    memset(&neighbour, 0, sizeof neighbour);
    return tested_set_up(state);
}

static int tear_down(void **state)
{
    h2_client_close(&peer);
    h2_client_close(&neighbour);
    return tested_tear_down(state);
}

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "hello");
}

static int suspend(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    return RV_PENDING;
}

static void open_both(void)
{
    h2_client_open(&peer, tested, 0, 0);
    h2_client_open(&neighbour, tested, 0, 0);
}

/* The flooder is told why and cut; others are served. */
static void expect_told(void)
{
    h2_client_pump(&peer);
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_code, RV_H2_ENHANCE_YOUR_CALM);
    assert_true(rv_test_closed(peer.test));
    if (neighbour.test != NULL)
        h2_expect(h2_get(&neighbour, "/"), 200, "hello");
}

/* The same where the client's own side knows nothing of the frames that were sent. */
static void expect_cut(void)
{
    rv_bytes octets = rv_test_received(peer.test);
    assert_non_null(memmem(octets.ptr, octets.len, "\0\0\0\13", 4)); /* ENHANCE_YOUR_CALM */
    assert_true(rv_test_closed(peer.test));
    h2_expect(h2_get(&neighbour, "/"), 200, "hello");
}

/* ---- floods ----------------------------------------------------------------------------------------- */

/* What a client sends for one step of a flood, on streams that it opens itself. */
static void send_one(enum rv_h2_calm_kind kind, unsigned turn)
{
    uint32_t stream = 1 + 2 * turn;
    switch (kind) {
    case RV_H2_CALM_reset:
        h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, stream,
               RV_LIT("\202\206\204\001\001t"));
        h2_raw(&peer, RV_H2_RST_STREAM, 0, stream, RV_LIT("\0\0\0\10"));
        break;
    case RV_H2_CALM_settings:
        h2_raw(&peer, RV_H2_SETTINGS, 0, 0, rv_slice("", 0));
        break;
    case RV_H2_CALM_ping:
        h2_raw(&peer, RV_H2_PING, 0, 0, RV_LIT("12345678"));
        break;
    case RV_H2_CALM_priority:
        h2_raw(&peer, RV_H2_PRIORITY, 0, 1, RV_LIT("\0\0\0\0\20"));
        break;
    case RV_H2_CALM_window_update:
        h2_raw(&peer, RV_H2_WINDOW_UPDATE, 0, 0, RV_LIT("\0\0\0\1"));
        break;
    case RV_H2_CALM_empty_data:
        if (turn == 0)
            h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, 1,
                   RV_LIT("\203\206\204\001\001t"));
        h2_raw(&peer, RV_H2_DATA, 0, 1, rv_slice("", 0));
        break;
    default:
        h2_raw(&peer, 0xfa, 0, 0, rv_slice("", 0));
        break;
    }
}

static uint64_t counted(enum rv_h2_calm_kind kind)
{
    rv_counter_values values = tested_counters();
    switch (kind) {
#define COUNTED(kind, burst, per_s)                                                                \
    case RV_H2_CALM_##kind:                                                                        \
        return values.h2_##kind##_floods;
        RV_H2_CALM_KINDS(COUNTED)
#undef COUNTED
    default:
        return 0;
    }
}

/* Opening the neighbour, and the handshake of this client, cost a few of some budgets. */
#define HANDSHAKE_SLACK 5

static void flood(enum rv_h2_calm_kind kind, unsigned burst, unsigned per_s)
{
    unsigned turn = 0;
    route("* /", hello, NULL);
    route("POST /", suspend, NULL);
    open_both();
    for (; turn < burst - HANDSHAKE_SLACK; turn++)
        send_one(kind, turn);
    assert_int_equal(counted(kind), 0);
    assert_false(rv_test_closed(peer.test));
    rv_test_advance_ms(peer.test, 3000); /* some of it comes back */
    for (unsigned i = 0; i < 2 * per_s; i++)
        send_one(kind, turn++);
    assert_int_equal(counted(kind), 0);
    for (unsigned i = 0; i < per_s * 2 + HANDSHAKE_SLACK + 1; i++)
        send_one(kind, turn++);
    assert_int_equal(counted(kind), 1);
    expect_cut();
}

#define FLOOD(kind, burst, per_s)                                                                  \
    static void a_flood_of_##kind##_is_cut(void **state)                                           \
    {                                                                                              \
        (void)state;                                                                               \
        flood(RV_H2_CALM_##kind, burst, per_s);                                                    \
    }
FLOOD(reset, 200, 20)
FLOOD(settings, 50, 5)
FLOOD(ping, 200, 20)
FLOOD(priority, 1000, 100)
FLOOD(window_update, 2000, 200)
FLOOD(empty_data, 100, 10)
FLOOD(unknown, 100, 10)

static void send_padding(unsigned flags)
{
    h2_raw(&peer, RV_H2_DATA, (uint8_t)(RV_H2_FLAG_PADDED | flags), 1, RV_LIT("\3\0\0\0"));
}

static void padding_is_no_content(void **state)
{
    (void)state;
    route("* /", hello, NULL);
    route("POST /", suspend, NULL);
    open_both();
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, 1, RV_LIT("\203\206\204\001\001t"));
    for (unsigned i = 0; i < 200; i++) /* with content they are DATA like any other */
        h2_raw(&peer, RV_H2_DATA, RV_H2_FLAG_PADDED, 1, RV_LIT("\2a\0\0"));
    for (unsigned i = 0; i < 100; i++)
        send_padding(0);
    assert_int_equal(COUNTER(h2_empty_data_floods), 0);
    send_padding(0);
    assert_int_equal(COUNTER(h2_empty_data_floods), 1);
    expect_cut();
}

static void padding_that_ends_a_body_costs_nothing(void **state)
{
    (void)state;
    route("* /", hello, NULL);
    open_both();
    for (uint32_t id = 1; id < 401; id += 2) {
        h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, id, RV_LIT("\203\206\204\001\001t"));
        h2_raw(&peer, RV_H2_DATA, RV_H2_FLAG_PADDED | RV_H2_FLAG_END_STREAM, id, RV_LIT("\1\0"));
    }
    assert_int_equal(COUNTER(h2_empty_data_floods), 0);
    assert_false(rv_test_closed(peer.test));
}

static int reply_much(rv_talk *talk, void *ctx)
{
    static char much[100000];
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_slice(much, sizeof much));
}

/* A window of one octet, again and again. */
static void a_client_that_asks_for_single_octets_is_cut(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    route("GET /much", reply_much, NULL);
    open_both();
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/much", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    h2_raw(&peer, RV_H2_WINDOW_UPDATE, 0, 0, RV_LIT("\0\1\0\0"));
    for (int i = 0; i < 1100 && COUNTER(h2_small_data_floods) == 0; i++)
        h2_raw(&peer, RV_H2_WINDOW_UPDATE, 0, exchange->id, RV_LIT("\0\0\0\1"));
    assert_int_equal(COUNTER(h2_small_data_floods), 1);
    expect_cut();
}

static void continuations_without_end_are_cut(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_both();
    h2_raw(&peer, RV_H2_HEADERS, 0, 1, RV_LIT("\202\206\204\001\001t"));
    for (int i = 0; i < RV_H2_CONTINUATIONS_MAX; i++)
        h2_raw(&peer, RV_H2_CONTINUATION, 0, 1, RV_LIT("\000\001a\001b"));
    assert_int_equal(COUNTER(h2_continuation_floods), 0);
    h2_raw(&peer, RV_H2_CONTINUATION, 0, 1, RV_LIT("\000\001a\001b"));
    assert_int_equal(COUNTER(h2_continuation_floods), 1);
    expect_told();
}

/* ---- too much ------------------------------------------------------------------------------------------ */

static void a_stream_too_many_is_refused(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.h2_streams_max = 2}});
    route("GET /", suspend, NULL);
    h2_client_open(&peer, tested, 0, 0);
    assert_int_equal(rv_h2_peer_streams_max(peer.session), 2);
    for (uint32_t id = 1; id <= 3; id += 2)
        h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, id,
               RV_LIT("\202\206\204\001\001t"));
    assert_false(rv_test_closed(peer.test));
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, 5,
           RV_LIT("\202\206\204\001\001t"));
    rv_bytes octets = rv_test_received(peer.test);
    assert_true(octets.len > 0);
    assert_int_equal(COUNTER(requests), 2);
}

static void a_head_too_large_is_431(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.head_bytes_max = 1000}});
    route("GET /", hello, NULL);
    h2_client_open(&peer, tested, 0, 0);
    char fields[1100];
    snprintf(fields, sizeof fields, "a: %01000d\n", 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", fields, false);
    h2_client_pump(&peer);
    assert_int_equal(exchange->status, 431);
    assert_int_equal(COUNTER(head_too_large), 1);
    h2_expect(h2_get(&peer, "/"), 200, "hello"); /* HPACK's tables are still in step */
}

static void a_field_too_many_is_431(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.head_fields_max = 3}});
    route("GET /", hello, NULL);
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", "a: 1\nb: 1\nc: 1\nd: 1\n", false);
    h2_client_pump(&peer);
    assert_int_equal(exchange->status, 431);
    assert_int_equal(COUNTER(head_fields_too_many), 1);
}

static void a_body_too_large_is_413_and_told_to_stop(void **state)
{
    (void)state;
    static char much[60000];
    tested_with(&(rv_server_options){.limits = {.body_bytes_max = 50000}});
    route("POST /", hello, NULL);
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    for (int i = 0; i < 8 && !exchange->closed; i++) {
        h2_put(exchange, rv_slice(much, sizeof much), false);
        h2_client_pump(&peer);
    }
    assert_int_equal(exchange->status, 413);
    assert_true(exchange->closed);
    assert_int_equal(exchange->code, RV_H2_NO_ERROR);
    assert_int_equal(COUNTER(body_too_large), 1);
}

/* ---- too long ------------------------------------------------------------------------------------------- */

static void a_head_that_does_not_end_is_cut(void **state)
{
    (void)state;
    h2_client_open(&peer, tested, 0, 0);
    h2_raw(&peer, RV_H2_HEADERS, 0, 1, RV_LIT("\202\206"));
    rv_test_advance_ms(peer.test, 9000);
    assert_int_equal(COUNTER(head_timeouts), 0);
    rv_test_advance_ms(peer.test, 2500);
    assert_int_equal(COUNTER(head_timeouts), 1);
    expect_told();
}

static void a_body_too_slow_is_408(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    route("POST /", hello, NULL);
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_put(exchange, RV_LIT("slow"), false);
    h2_client_pump(&peer);
    rv_test_advance_ms(peer.test, 7000);
    h2_client_pump(&peer);
    assert_int_equal(exchange->status, 408);
    assert_int_equal(COUNTER(body_too_slow), 1);
    h2_expect(h2_get(&peer, "/"), 200, "hello"); /* only that stream is over */
}

static void a_body_that_nobody_reads_and_nobody_sends_is_told_to_stop(void **state)
{
    (void)state;
    route_with("POST /", hello, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "hello");
    assert_false(exchange->closed);
    rv_test_advance_ms(peer.test, 7000);
    h2_client_pump(&peer);
    assert_true(exchange->closed);
    assert_int_equal(exchange->code, RV_H2_NO_ERROR);
}

static void a_stream_whose_window_stays_shut_is_reset(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    route("GET /much", reply_much, NULL);
    h2_client_open(&peer, tested, 1000, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/much", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    rv_test_advance_ms(peer.test, 18000);
    assert_int_equal(COUNTER(h2_window_stalls), 0);
    rv_test_advance_ms(peer.test, 4000);
    h2_client_pump(&peer);
    assert_int_equal(COUNTER(h2_window_stalls), 1);
    assert_true(exchange->closed);
    assert_int_equal(exchange->code, RV_H2_ENHANCE_YOUR_CALM);
    h2_expect(h2_get(&peer, "/"), 200, "hello");
}

static void a_connection_whose_window_stays_shut_is_cut(void **state)
{
    (void)state;
    route("GET /much", reply_much, NULL);
    h2_client_open(&peer, tested, 200000, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/much", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    rv_test_advance_ms(peer.test, 22000);
    assert_int_equal(COUNTER(h2_window_stalls), 1);
    expect_told();
}

static int end_later(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_end(talk);
}

static int write_then_end_later(rv_talk *talk, void *ctx)
{
    static char window[65535];
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, rv_slice(window, sizeof window));
    rv_after_ms(talk, 10, end_later, NULL);
    return RV_PENDING;
}

/* All content has left, and with it the window: the end alone is waiting. */
static void an_end_that_no_window_lets_leave_is_a_stall(void **state)
{
    (void)state;
    route("GET /", write_then_end_later, NULL);
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    assert_int_equal(exchange->content.len, 65535);
    rv_test_advance_ms(peer.test, 25000);
    assert_int_equal(COUNTER(h2_window_stalls), 1);
    expect_told();
}

static void a_client_that_reads_nothing_at_all_is_cut(void **state)
{
    (void)state;
    route("GET /much", reply_much, NULL);
    h2_client_open(&peer, tested, 1000000, 1000000);
    peer.deaf = true;
    rv_test_window(peer.test, 1000);
    h2_get(&peer, "/much");
    rv_test_advance_ms(peer.test, 45000);
    assert_int_equal(COUNTER(write_stalls), 1);
    assert_int_equal(COUNTER(connections_open), 0);
}

/* Another stream's content, which its handler does not take, has used up the window of all. */
static void a_body_that_the_server_itself_holds_up_is_not_too_slow(void **state)
{
    (void)state;
    static char much[100000];
    tested_with(&(rv_server_options){
        .limits = {.h2_stream_window_bytes = 65535, .h2_connection_window_bytes = 65535}});
    route_with("POST /held", suspend, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route("POST /", hello, NULL);
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *held = h2_ask(&peer, "POST", "/held", NULL, true);
    h2_put(held, rv_slice(much, 65535), false);
    h2_client_pump(&peer);
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_put(exchange, RV_LIT("content"), true);
    h2_client_pump(&peer);
    rv_test_advance_ms(peer.test, 12000);
    h2_client_pump(&peer);
    assert_int_equal(exchange->status, 0);
    h2_reset(held, RV_H2_CANCEL);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "hello");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(a_flood_of_reset_is_cut),
        FACT(a_flood_of_settings_is_cut),
        FACT(a_flood_of_ping_is_cut),
        FACT(a_flood_of_priority_is_cut),
        FACT(a_flood_of_window_update_is_cut),
        FACT(a_flood_of_empty_data_is_cut),
        FACT(a_flood_of_unknown_is_cut),
        FACT(padding_is_no_content),
        FACT(padding_that_ends_a_body_costs_nothing),
        FACT(a_client_that_asks_for_single_octets_is_cut),
        FACT(continuations_without_end_are_cut),
        FACT(a_stream_too_many_is_refused),
        FACT(a_head_too_large_is_431),
        FACT(a_field_too_many_is_431),
        FACT(a_body_too_large_is_413_and_told_to_stop),
        FACT(a_head_that_does_not_end_is_cut),
        FACT(a_body_too_slow_is_408),
        FACT(a_body_that_nobody_reads_and_nobody_sends_is_told_to_stop),
        FACT(a_stream_whose_window_stays_shut_is_reset),
        FACT(a_connection_whose_window_stays_shut_is_cut),
        FACT(an_end_that_no_window_lets_leave_is_a_stall),
        FACT(a_client_that_reads_nothing_at_all_is_cut),
        FACT(a_body_that_the_server_itself_holds_up_is_not_too_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
