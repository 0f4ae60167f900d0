/*
 * Facts about connections of HTTP/2: how they begin, how they end, and that what one stream does leaves
 * the others alone. Exchanges: test_h2_stream.c. Limits and floods: test_h2_limits.c.
 */
#include "server/h2_conn.h"
#include "server/worker.h"
#include "support/h2_client.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct h2_client peer;

static int set_up(void **state)
{
    memset(&peer, 0, sizeof peer);
    return tested_set_up(state);
}

static int tear_down(void **state)
{
    h2_client_close(&peer);
    return tested_tear_down(state);
}

static void open_peer(void)
{
    h2_client_open(&peer, tested, 0, 0);
}

static void stop(void)
{
    rv_worker_post_stop(tested->workers[0]);
}

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "hello");
}

static int suspend(rv_talk *talk, void *ctx)
{
    *(rv_handle *)ctx = rv_suspend(talk);
    return RV_PENDING;
}

static int resumed(rv_talk *talk, void *value)
{
    return talk == NULL ? 0 : rv_text(talk, 200, value);
}

static void answer_late(rv_handle handle)
{
    static char text[] = "late";
    assert_int_equal(rv_resume(tested, handle, resumed, text), 0);
    h2_client_pump(&peer);
}

/* ":method: POST", ":scheme: http", ":path: /", ":authority: t". */
#define HEAD_OF_POST "\203\206\204\001\001t"

static void post(uint32_t stream)
{
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, stream, RV_LIT(HEAD_OF_POST));
    h2_raw(&peer, RV_H2_DATA, RV_H2_FLAG_END_STREAM, stream, RV_LIT("content"));
}

/* ---- the beginning ------------------------------------------------------------------------------ */

static void a_preface_that_comes_octet_by_octet_begins_it(void **state)
{
    (void)state;
    rv_test *test = rv_test_new(tested);
    for (size_t i = 0; i < RV_H2_PREFACE_BYTES; i++) {
        assert_int_equal(rv_test_received(test).len, 0);
        assert_int_equal(rv_test_send(test, rv_slice(&RV_H2_PREFACE[i], 1)), 0);
    }
    rv_bytes octets = rv_test_received(test);
    assert_true(octets.len > RV_H2_FRAME_HEAD_BYTES);
    assert_int_equal(octets.ptr[3], RV_H2_SETTINGS);
    assert_int_equal(COUNTER(h2_connections), 1);
    rv_test_free(test);
}

static void a_server_without_http2_takes_the_preface_for_a_request(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.no_http2 = true});
    rv_test *test = rv_test_new(tested);
    rv_test_send(test, rv_slice(RV_H2_PREFACE, RV_H2_PREFACE_BYTES));
    assert_true(rv_test_closed(test));
    assert_int_equal(COUNTER(h2_connections), 0);
    rv_test_free(test);
}

/* The stop finds the beginning of a connection unread, and reads it: it is HTTP/2's from then on. */
static void a_stop_that_finds_a_preface_serves_it(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_peer();
    h2_client_close(&peer);
    rv_test *test = rv_test_new(tested);
    struct rv_conn *conn = tested->workers[0]->conns;
    conn->stream.paused = true; /* as if the loop had not come to it */
    rv_test_send(test, RV_LIT(RV_H2_PREFACE "\0\0\0\4\0\0\0\0\0"
                                            "\0\0\6\1\5\0\0\0\1\202\206\204\001\001t"));
    conn->stream.paused = false;
    stop();
    rv_test_settle(test);
    rv_bytes octets = rv_test_received(test);
    assert_non_null(memmem(octets.ptr, octets.len, "hello", 5));
    rv_test_free(test);
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void a_stop_tells_the_last_stream_when_the_client_knows(void **state)
{
    (void)state;
    rv_handle handle;
    route("GET /", suspend, &handle);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    stop();
    h2_client_pump(&peer);
    assert_int_equal(peer.goaways, 2);
    assert_int_equal(peer.goaway_last, exchange->id);
    assert_int_equal(peer.goaway_code, RV_H2_NO_ERROR);
    assert_false(rv_test_closed(peer.test));
    answer_late(handle);
    h2_expect(exchange, 200, "late");
    assert_true(rv_test_closed(peer.test));
}

static void a_client_that_answers_no_ping_has_a_second(void **state)
{
    (void)state;
    open_peer();
    peer.mute = true;
    stop();
    h2_client_pump(&peer);
    assert_int_equal(peer.goaways, 1);
    rv_test_advance_ms(peer.test, 900);
    assert_false(rv_test_closed(peer.test));
    rv_test_advance_ms(peer.test, 1200);
    assert_true(rv_test_closed(peer.test));
}

/* It may still be sending, and a reset would cost it what it has not read. */
static void a_client_that_answers_no_ping_is_not_reset(void **state)
{
    (void)state;
    open_peer();
    rv_test_advance_ms(peer.test, 100);
    peer.mute = true;
    stop();
    rv_test_settle(peer.test);
    rv_test_advance_ms(peer.test, 2100);
    assert_true(rv_test_closed(peer.test));
    assert_int_equal(COUNTER(connections_open), 1); /* it lingers */
    rv_test_advance_ms(peer.test, 10000);
    assert_int_equal(COUNTER(connections_open), 0);
}

/* RFC 9113 section 6.8: they are not answered, and they are no error. */
static void streams_behind_the_last_one_are_passed_over(void **state)
{
    (void)state;
    rv_handle handle;
    route("GET /", suspend, &handle);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    stop();
    h2_client_pump(&peer);
    assert_int_equal(peer.goaways, 2);
    post(exchange->id + 2);
    post(exchange->id + 4);
    h2_client_pump(&peer);
    answer_late(handle);
    h2_expect(exchange, 200, "late");
    assert_int_equal(peer.goaway_code, RV_H2_NO_ERROR);
}

static void a_request_on_its_way_when_the_end_is_announced_is_answered(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", NULL, false);
    stop();
    h2_client_pump(&peer); /* GOAWAY is sent before the request has come */
    h2_expect(exchange, 200, "hello");
    assert_true(rv_test_closed(peer.test));
}

/* Else it would be refused behind its handler's back, and might be asked again. */
static void a_request_right_behind_the_pong_is_answered(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_peer();
    peer.mute = true;
    stop();
    rv_test_settle(peer.test);
    rv_bytes octets = rv_test_received(peer.test);
    const char *ping = memmem(octets.ptr, octets.len, "\0\0\10\6\0\0\0\0\0", 9);
    assert_non_null(ping);
    char frames[] = "\0\0\10\6\1\0\0\0\0........\0\0\6\1\5\0\0\0\1\202\206\204\001\001t";
    memcpy(frames + 9, ping + 9, 8);
    rv_test_send(peer.test, rv_slice(frames, sizeof frames - 1));
    octets = rv_test_received(peer.test);
    assert_non_null(memmem(octets.ptr, octets.len, "hello", 5));
    assert_non_null(memmem(octets.ptr, octets.len, "\0\0\10\7\0\0\0\0\0\0\0\0\1\0\0\0\0", 17));
}

static void a_client_that_has_half_closed_gets_its_answers(void **state)
{
    (void)state;
    rv_handle handle;
    route("GET /", suspend, &handle);
    route("POST /", hello, NULL);
    open_peer();
    struct h2_exchange *whole = h2_get(&peer, "/");
    struct h2_exchange *part = h2_ask(&peer, "POST", "/", NULL, true);
    h2_client_pump(&peer);
    rv_test_half_close(peer.test);
    h2_client_pump(&peer);
    assert_true(part->closed); /* its content will never be complete */
    assert_false(whole->closed);
    answer_late(handle);
    h2_expect(whole, 200, "late");
    assert_true(rv_test_closed(peer.test));
}

static void a_goaway_of_the_client_ends_it_behind_the_last_answer(void **state)
{
    (void)state;
    rv_handle handle;
    route("GET /", suspend, &handle);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    rv_h2_go_away(peer.session, RV_H2_NO_ERROR);
    h2_client_pump(&peer);
    assert_false(rv_test_closed(peer.test));
    answer_late(handle);
    h2_expect(exchange, 200, "late");
    assert_true(rv_test_closed(peer.test));
}

static void an_idle_connection_ends_with_goaway(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_peer();
    h2_expect(h2_get(&peer, "/"), 200, "hello");
    rv_test_advance_ms(peer.test, 19000);
    assert_false(rv_test_closed(peer.test));
    rv_test_advance_ms(peer.test, 2000);
    h2_client_pump(&peer);
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_last, 1);
    assert_true(rv_test_closed(peer.test));
    assert_int_equal(COUNTER(idle_timeouts), 1);
}

static void the_last_request_of_a_connection_is_announced(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.requests_per_connection_max = 2}});
    route("GET /", hello, NULL);
    open_peer();
    h2_expect(h2_get(&peer, "/"), 200, "hello");
    assert_int_equal(peer.goaways, 0);
    h2_expect(h2_get(&peer, "/"), 200, "hello");
    assert_int_equal(peer.goaways, 1);
    rv_test_advance_ms(peer.test, 2100);
    assert_true(rv_test_closed(peer.test));
}

static void a_cut_tells_the_handlers(void **state)
{
    (void)state;
    rv_handle handle;
    route("GET /", suspend, &handle);
    open_peer();
    h2_get(&peer, "/");
    h2_get(&peer, "/");
    rv_worker_cut_all(tested->workers[0]);
    rv_test_settle(peer.test);
    assert_int_equal(COUNTER(connections_open), 0);
    assert_int_equal(COUNTER(stop_cuts), 1);
}

/* ---- one and the others ------------------------------------------------------------------------- */

/* Streams that were refused before the client knew how many it may open, with their content behind. */
static void content_of_a_refused_stream_is_no_error(void **state)
{
    (void)state;
    rv_handle handle;
    tested_with(&(rv_server_options){.limits = {.h2_streams_max = 2}});
    route("POST /", suspend, &handle);
    rv_test *test = rv_test_new(tested);
    struct rv_buffer octets = {0};
    rv_buffer_append(&octets, RV_LIT(RV_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
    for (char id = 1; id <= 9; id = (char)(id + 2)) {
        char frames[] = "\0\0\6\1\4\0\0\0?\203\206\204\001\001t\0\0\1\0\1\0\0\0?x";
        frames[8] = frames[9 + 6 + 8] = id;
        rv_buffer_append(&octets, rv_slice(frames, sizeof frames - 1));
    }
    rv_test_send(test, rv_slice(octets.ptr, octets.len));
    rv_buffer_free(&octets);
    assert_false(rv_test_closed(test));
    rv_bytes answers = rv_test_received(test);
    unsigned refused = 0;
    for (size_t at = 0; at + 13 <= answers.len;
         at += RV_H2_FRAME_HEAD_BYTES + (uint8_t)answers.ptr[at + 2]) {
        assert_int_not_equal(answers.ptr[at + 3], RV_H2_GOAWAY);
        refused +=
            answers.ptr[at + 3] == RV_H2_RST_STREAM && answers.ptr[at + 12] == RV_H2_REFUSED_STREAM;
    }
    assert_int_equal(refused, 3);
    rv_test_free(test);
}

static void an_idle_connection_keeps_no_head(void **state)
{
    (void)state;
    route("GET /", hello, NULL);
    open_peer();
    h2_expect(h2_get(&peer, "/"), 200, "hello");
    const struct rv_conn *conn = tested->workers[0]->conns;
    assert_null(conn->input);
    assert_null(conn->h2->head.octets.ptr);
    assert_int_equal(tested->workers[0]->h2_streams.taken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(a_preface_that_comes_octet_by_octet_begins_it),
        FACT(a_server_without_http2_takes_the_preface_for_a_request),
        FACT(a_stop_that_finds_a_preface_serves_it),
        FACT(a_stop_tells_the_last_stream_when_the_client_knows),
        FACT(a_client_that_answers_no_ping_has_a_second),
        FACT(a_client_that_answers_no_ping_is_not_reset),
        FACT(streams_behind_the_last_one_are_passed_over),
        FACT(a_request_on_its_way_when_the_end_is_announced_is_answered),
        FACT(a_request_right_behind_the_pong_is_answered),
        FACT(a_client_that_has_half_closed_gets_its_answers),
        FACT(a_goaway_of_the_client_ends_it_behind_the_last_answer),
        FACT(an_idle_connection_ends_with_goaway),
        FACT(the_last_request_of_a_connection_is_announced),
        FACT(a_cut_tells_the_handlers),
        FACT(content_of_a_refused_stream_is_no_error),
        FACT(an_idle_connection_keeps_no_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
