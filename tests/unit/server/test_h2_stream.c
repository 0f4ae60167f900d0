/*
 * Facts about exchanges of HTTP/2: requests in, responses out, and what becomes of both when one side
 * ends early. Limits and floods: test_h2_limits.c. Connections: test_h2_conn.c.
 */
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

static char big[300000];

static void fill_big(void)
{
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + i % 23);
}

static rv_bytes big_bytes(size_t length)
{
    fill_big();
    return rv_slice(big, length);
}

static void expect_big(const struct h2_exchange *exchange, size_t length)
{
    fill_big();
    assert_int_equal(exchange->content.len, length);
    assert_memory_equal(exchange->content.ptr, big, length);
    assert_true(exchange->ended);
}

/* ---- handlers ----------------------------------------------------------------------------------- */

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "hello");
}

static int echo_whole(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_body(talk));
}

static unsigned pieces_given;

static int fail_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)talk, (void)piece, (void)last, (void)ctx;
    pieces_given++;
    return RV_EIO;
}

static int begin_then_fail(rv_talk *talk, void *ctx)
{
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("x"));
    rv_on_body(talk, fail_piece, ctx);
    return RV_PENDING;
}

static int never_ask(rv_talk *talk, void *ctx)
{
    *(rv_handle *)ctx = rv_suspend(talk);
    return RV_PENDING;
}

static unsigned gone;

static void note_gone(void *ctx)
{
    (void)ctx;
    gone++;
}

/* ---- bodies in ------------------------------------------------------------------------------------ */

static void a_body_handler_that_has_failed_is_not_called_again(void **state)
{
    (void)state;
    pieces_given = 0;
    route_with("POST /", begin_then_fail, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_client_pump(&peer);
    /* Two DATA frames in one segment. */
    char frames[] = "\0\0\1\0\0\0\0\0\1a\0\0\1\0\0\0\0\0\1b";
    rv_test_send(peer.test, rv_slice(frames, sizeof frames - 1));
    h2_client_pump(&peer);
    assert_int_equal(pieces_given, 1);
    assert_true(exchange->closed);
    assert_int_equal(exchange->code, RV_H2_INTERNAL_ERROR);
}

/* As much as the connection's window, again and again: each time it must come back. */
static void content_of_a_reset_stream_gives_its_window_back(void **state)
{
    (void)state;
    rv_handle handle;
    route_with("POST /", never_ask, &handle, (rv_route_options){.body = RV_BODY_STREAMED});
    route("POST /echo", echo_whole, NULL);
    open_peer();
    for (int i = 0; i < 40; i++) {
        struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
        h2_put(exchange, big_bytes(100000), false);
        h2_client_pump(&peer);
        assert_int_equal(exchange->upload.len, 0);
        h2_reset(exchange, RV_H2_CANCEL);
        h2_client_pump(&peer);
    }
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/echo", NULL, true);
    h2_put(exchange, big_bytes(200000), true);
    h2_client_pump(&peer);
    expect_big(exchange, 200000);
}

static int reply_length(rv_talk *talk, void *ctx)
{
    char text[32];
    rv_bytes body = rv_body(talk);
    (void)ctx;
    snprintf(text, sizeof text, "%s %zu", body.ptr == NULL ? "none" : "some", body.len);
    return rv_text(talk, 200, text);
}

static void an_empty_body_is_empty_and_not_absent(void **state)
{
    (void)state;
    route("POST /", reply_length, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_client_pump(&peer);
    h2_put(exchange, rv_slice("", 0), true);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "some 0");
}

static int trailer_of(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_trailer(talk, "x-sum"));
}

/* ":method: POST", ":scheme: http", ":path: /", ":authority: t"; then literals without indexing. */
#define HEAD_OF_POST "\203\206\204\001\001t"

static void trailers_of_a_request_are_told(void **state)
{
    (void)state;
    route("POST /", trailer_of, NULL);
    open_peer();
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, 1, RV_LIT(HEAD_OF_POST));
    h2_raw(&peer, RV_H2_DATA, 0, 1, RV_LIT("abc"));
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, 1,
           RV_LIT("\000\005x-sum\00242"));
    rv_bytes octets = rv_test_received(peer.test);
    assert_non_null(memmem(octets.ptr, octets.len, "42", 2));
}

static void trailers_wait_for_no_pool_handler(void **state)
{
    (void)state;
    route_with("POST /", hello, NULL, (rv_route_options){.run = RV_ON_POOL});
    open_peer();
    /* No content is announced: the handler runs, and the trailers come while it does. */
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS, 1, RV_LIT(HEAD_OF_POST "\017\r\0010"));
    h2_raw(&peer, RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, 1,
           RV_LIT("\000\005x-sum\00242"));
    rv_bytes octets = rv_test_received(peer.test);
    assert_non_null(memmem(octets.ptr, octets.len, "hello", 5));
}

static rv_handle paused_handle;

static int pause_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    struct rv_buffer *got = ctx;
    rv_buffer_append(got, piece);
    if (!last)
        return RV_FULL;
    return rv_reply(talk, 200, "text/plain", rv_slice(got->ptr, got->len));
}

static int begin_pausing(rv_talk *talk, void *ctx)
{
    paused_handle = rv_suspend(talk);
    rv_on_body(talk, pause_piece, ctx);
    return RV_PENDING;
}

static int go_on_reading(rv_talk *talk, void *value)
{
    (void)value;
    rv_body_resume(talk);
    return RV_PENDING;
}

static void a_paused_body_stops_its_client_and_goes_on(void **state)
{
    (void)state;
    struct rv_buffer got = {0};
    route_with("POST /", begin_pausing, &got, (rv_route_options){.body = RV_BODY_STREAMED});
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    h2_put(exchange, big_bytes(sizeof big), true);
    h2_client_pump(&peer);
    assert_true(exchange->upload.len > 0); /* the window is full */
    for (int i = 0; i < 100 && !exchange->ended; i++) {
        assert_int_equal(rv_resume(tested, paused_handle, go_on_reading, NULL), 0);
        h2_client_pump(&peer);
    }
    expect_big(exchange, sizeof big);
    rv_buffer_free(&got);
}

static void a_client_that_expects_100_gets_it(void **state)
{
    (void)state;
    route("POST /", echo_whole, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", "expect: 100-continue\n", true);
    h2_client_pump(&peer);
    assert_int_equal(exchange->interims, 1);
    h2_put(exchange, RV_LIT("yes"), true);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "yes");
}

static void a_body_that_nobody_reads_is_told_to_stop(void **state)
{
    (void)state;
    route_with("POST /", hello, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "POST", "/", NULL, true);
    for (int i = 0; i < 4 && !exchange->closed; i++) {
        h2_put(exchange, big_bytes(200000), false);
        h2_client_pump(&peer);
    }
    h2_expect(exchange, 200, "hello");
    assert_true(exchange->closed);
    assert_int_equal(exchange->code, RV_H2_NO_ERROR);
}

/* ---- responses -------------------------------------------------------------------------------------- */

static int many_fields(rv_talk *talk, void *ctx)
{
    static char value[3001];
    (void)ctx;
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < 40; i++)
        rv_add_header(talk, "X-Long", value);
    return rv_text(talk, 200, "done");
}

static void a_large_head_arrives(void **state)
{
    (void)state;
    route("GET /", many_fields, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_expect(exchange, 200, "done");
    assert_true(exchange->fields.len > 40 * 3000);
}

static void count_release(void *ctx)
{
    (*(unsigned *)ctx)++;
}

static int reply_borrowed(rv_talk *talk, void *ctx)
{
    return rv_reply_borrowed(talk, 200, "text/plain", big_bytes(sizeof big), count_release, ctx);
}

static void borrowed_content_is_released_once_when_it_is_sent(void **state)
{
    (void)state;
    unsigned released = 0;
    route("GET /", reply_borrowed, &released);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    expect_big(exchange, sizeof big);
    assert_int_equal(released, 1);
}

static void borrowed_content_is_released_once_when_the_client_resets(void **state)
{
    (void)state;
    unsigned released = 0;
    route("GET /", reply_borrowed, &released);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    assert_int_equal(released, 0);
    h2_reset(exchange, RV_H2_CANCEL);
    h2_client_pump(&peer);
    assert_int_equal(released, 1);
    assert_int_equal(COUNTER(clients_gone), 0); /* the answer was given */
}

static void borrowed_content_is_released_once_when_the_connection_breaks(void **state)
{
    (void)state;
    unsigned released = 0;
    route("GET /", reply_borrowed, &released);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", NULL, false);
    exchange->held = true;
    h2_client_pump(&peer);
    rv_test_reset(peer.test);
    assert_int_equal(released, 1);
}

static void content_of_a_head_request_is_released_at_once(void **state)
{
    (void)state;
    unsigned released = 0;
    route("GET /", reply_borrowed, &released);
    open_peer();
    struct h2_exchange *exchange = h2_ask(&peer, "HEAD", "/", NULL, false);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "");
    assert_string_equal(h2_field(&exchange->fields, "content-length"), "300000");
    assert_int_equal(released, 1);
}

static int no_content(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 204, NULL, rv_slice("", 0));
}

static void a_204_ends_with_its_head(void **state)
{
    (void)state;
    route("GET /", no_content, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_expect(exchange, 204, "");
    assert_null(h2_field(&exchange->fields, "content-length"));
}

static int with_trailers(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_trailer(talk, "X-Sum", "42");
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return rv_end(talk);
}

static void trailers_of_a_response_come_behind_its_content(void **state)
{
    (void)state;
    route("GET /", with_trailers, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_expect(exchange, 200, "abc");
    assert_string_equal(h2_field(&exchange->trailers, "x-sum"), "42");
}

static int only_trailers(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_trailer(talk, "X-Sum", "42");
    rv_begin(talk, 200);
    return rv_end(talk);
}

static void trailers_come_without_content_too(void **state)
{
    (void)state;
    route("GET /", only_trailers, NULL);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_expect(exchange, 200, "");
    assert_string_equal(h2_field(&exchange->trailers, "x-sum"), "42");
}

static int tick(rv_talk *talk, void *ctx)
{
    int *left = ctx;
    if ((*left)-- == 0)
        return rv_end(talk);
    rv_write(talk, RV_LIT("tick "));
    rv_after_ms(talk, 100, tick, ctx);
    return RV_PENDING;
}

static int ticks(rv_talk *talk, void *ctx)
{
    *(int *)ctx = 3;
    rv_on_gone(talk, note_gone, NULL);
    rv_begin(talk, 200);
    return tick(talk, ctx);
}

static void pieces_leave_as_they_are_written(void **state)
{
    (void)state;
    int left;
    gone = 0;
    route("GET /", ticks, &left);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    assert_int_equal(exchange->content.len, 5);
    rv_test_advance_ms(peer.test, 150);
    h2_client_pump(&peer);
    assert_int_equal(exchange->content.len, 10);
    rv_test_advance_ms(peer.test, 1000);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "tick tick tick ");
    assert_int_equal(gone, 0);
}

static void a_handler_learns_that_its_stream_was_reset(void **state)
{
    (void)state;
    int left;
    gone = 0;
    route("GET /", ticks, &left);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_reset(exchange, RV_H2_CANCEL);
    h2_client_pump(&peer);
    assert_int_equal(gone, 1);
    assert_int_equal(COUNTER(clients_gone), 1);
    rv_test_advance_ms(peer.test, 1000); /* nothing runs for it any more */
    assert_int_equal(left, 2);
}

static int fail_late(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("x"));
    return RV_EIO;
}

static void a_handler_that_fails_behind_its_head_resets_only_its_stream(void **state)
{
    (void)state;
    route("GET /bad", fail_late, NULL);
    route("GET /good", hello, NULL);
    open_peer();
    struct h2_exchange *bad = h2_get(&peer, "/bad");
    assert_true(bad->closed);
    assert_int_equal(bad->code, RV_H2_INTERNAL_ERROR);
    assert_int_equal(COUNTER(handler_failures), 1);
    assert_int_equal(COUNTER(clients_gone), 0); /* it was not the client's doing */
    h2_expect(h2_get(&peer, "/good"), 200, "hello");
}

static int resumed(rv_talk *talk, void *value)
{
    return talk == NULL ? 0 : rv_text(talk, 200, value);
}

static int version(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[16];
    snprintf(text, sizeof text, "%d.%d", rv_http_major(talk), rv_http_minor(talk));
    return rv_text(talk, 200, text);
}

static void the_version_is_2_0(void **state)
{
    (void)state;
    route("GET /", version, NULL);
    open_peer();
    h2_expect(h2_get(&peer, "/"), 200, "2.0");
    get("/");
    expect_answer(200, "1.1");
}

static void a_suspended_talk_is_answered_later(void **state)
{
    (void)state;
    static char text[] = "late";
    rv_handle handle;
    route("GET /", never_ask, &handle);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    assert_int_equal(exchange->status, 0);
    assert_int_equal(rv_resume(tested, handle, resumed, text), 0);
    h2_client_pump(&peer);
    h2_expect(exchange, 200, "late");
}

static void a_resume_after_a_reset_finds_nobody(void **state)
{
    (void)state;
    static char text[] = "late";
    rv_handle handle;
    route("GET /", never_ask, &handle);
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_reset(exchange, RV_H2_CANCEL);
    h2_client_pump(&peer);
    assert_int_equal(rv_resume(tested, handle, resumed, text), 0);
    h2_client_pump(&peer);
    assert_int_equal(exchange->status, 0);
}

static int say_status(rv_talk *talk, void *ctx)
{
    char text[16];
    (void)ctx;
    snprintf(text, sizeof text, "%d", rv_response_status(talk));
    return rv_set_header(talk, "x-status", text);
}

static int stream_two(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 203);
    rv_write(talk, RV_LIT("to"));
    return rv_write(talk, RV_LIT("gether"));
}

static void after_handlers_have_the_last_word_on_the_head(void **state)
{
    (void)state;
    assert_int_equal(rv_after(rv_default_app(tested), NULL, say_status, NULL), 0);
    route("GET /whole", hello, NULL);
    route("GET /streamed", stream_two, NULL);
    route_with("GET /pool", stream_two, NULL, (rv_route_options){.run = RV_ON_POOL});
    open_peer();
    static const struct {
        const char *path, *status;
    } cases[] = {{"/whole", "200"}, {"/streamed", "203"}, {"/pool", "203"}, {"/none", "404"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct h2_exchange *exchange = h2_get(&peer, cases[i].path);
        h2_client_pump(&peer);
        assert_true(exchange->ended);
        assert_string_equal(h2_field(&exchange->fields, "x-status"), cases[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(a_body_handler_that_has_failed_is_not_called_again),
        FACT(content_of_a_reset_stream_gives_its_window_back),
        FACT(an_empty_body_is_empty_and_not_absent),
        FACT(trailers_of_a_request_are_told),
        FACT(trailers_wait_for_no_pool_handler),
        FACT(a_paused_body_stops_its_client_and_goes_on),
        FACT(a_client_that_expects_100_gets_it),
        FACT(a_body_that_nobody_reads_is_told_to_stop),
        FACT(a_large_head_arrives),
        FACT(borrowed_content_is_released_once_when_it_is_sent),
        FACT(borrowed_content_is_released_once_when_the_client_resets),
        FACT(borrowed_content_is_released_once_when_the_connection_breaks),
        FACT(content_of_a_head_request_is_released_at_once),
        FACT(a_204_ends_with_its_head),
        FACT(trailers_of_a_response_come_behind_its_content),
        FACT(trailers_come_without_content_too),
        FACT(pieces_leave_as_they_are_written),
        FACT(a_handler_learns_that_its_stream_was_reset),
        FACT(a_handler_that_fails_behind_its_head_resets_only_its_stream),
        FACT(the_version_is_2_0),
        FACT(a_suspended_talk_is_answered_later),
        FACT(a_resume_after_a_reset_finds_nobody),
        FACT(after_handlers_have_the_last_word_on_the_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
