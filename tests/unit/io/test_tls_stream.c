/*
 * What TLS does to a connection (src/io/tls_layer.h): handshakes, octets however they are cut, back-
 * pressure, the ends, and peers that speak something else. A whole server in memory, with OpenSSL as its
 * client.
 */
#include "support/tested.h"
#include "support/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define GET_AND_CLOSE(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
#define BIG (3 * 1024 * 1024)

static char big[BIG];

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static int tell_scheme(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_scheme(talk));
}

static int big_borrowed(rv_talk *talk, void *ctx)
{
    return rv_reply_borrowed(talk, 200, "text/plain", (rv_bytes){big, BIG}, NULL, ctx);
}

static int big_file(rv_talk *talk, void *ctx)
{
    return rv_file(talk, ctx, NULL);
}

static char *file_path(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s", made("file"));
    return path;
}

static int count_body(rv_talk *talk, void *ctx)
{
    char text[32];
    (void)ctx;
    snprintf(text, sizeof text, "%zu", rv_body(talk).len);
    return rv_text(talk, 200, text);
}

static int hold_on(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_PENDING;
}

static void configure(void)
{
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:0"), 0);
    assert_int_equal(rv_tls_self_signed(tested, NULL), 0);
    route("GET /ok", ok, NULL);
    route("GET /scheme", tell_scheme, NULL);
    route("GET /big", big_borrowed, NULL);
    route("GET /hold", hold_on, NULL);
    route_with("POST /count", count_body, NULL, (rv_route_options){.body_bytes_max = 2 * BIG});
}

static int set_up(void **state)
{
    tested_set_up(state);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)('a' + i % 23);
    configure();
    return 0;
}

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

static void expect_big(void)
{
    tls_expect_answer(200, NULL);
    assert_int_equal(tls_last_answer()->content.len, BIG);
    assert_memory_equal(tls_last_answer()->content.ptr, big, BIG);
}

/* ---- octets ------------------------------------------------------------------------------------------- */

static void a_request_is_answered(void **state)
{
    (void)state;
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
    tls_say(GET("/scheme"));
    tls_expect_answer(200, "https");
    assert_int_equal(COUNTER(tls_handshakes), 1);
    assert_int_equal(COUNTER(requests), 2);
}

static void octets_may_come_one_by_one(void **state)
{
    (void)state;
    tls_client()->step = 1;
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
}

static void records_and_segments_need_not_agree(void **state)
{
    (void)state;
    for (size_t step = 2; step < 700; step = step * 3 / 2 + 1) {
        tls_as(0);
        tls_client()->step = step;
        tls_say(GET("/ok") GET("/scheme"));
        tls_expect_answer(200, "Ok");
        tls_expect_answer(200, "https");
    }
}

static void several_records_in_a_segment_are_several_requests(void **state)
{
    (void)state;
    char octets[4096];
    size_t length = 0;
    for (int i = 0; i < 3; i++) {
        rv_bytes cipher = tls_cipher(GET("/ok"));
        memcpy(octets + length, cipher.ptr, cipher.len);
        length += cipher.len;
    }
    say_octets((rv_bytes){octets, length});
    for (int i = 0; i < 3; i++)
        tls_expect_answer(200, "Ok");
}

static void a_long_body_arrives_whole(void **state)
{
    (void)state;
    char head[128];
    snprintf(head, sizeof head, "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
             BIG);
    tls_say(head);
    for (size_t at = 0; at < BIG; at += 65536)
        tls_say_octets((rv_bytes){big + at, at + 65536 < BIG ? 65536 : BIG - at});
    char text[16];
    snprintf(text, sizeof text, "%d", BIG);
    tls_expect_answer(200, text);
}

/* Takes a piece and pauses; the body goes on a while later, when more of it lies there. */
static int resume_body(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_body_resume(talk);
    return error == 0 ? RV_PENDING : error;
}

static int take_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    size_t *count = ctx;
    char text[32];
    assert_memory_equal(piece.ptr, big + *count, piece.len);
    *count += piece.len;
    if (!last) {
        rv_error error = rv_after_ms(talk, 1, resume_body, NULL);
        return error == 0 ? RV_FULL : error;
    }
    snprintf(text, sizeof text, "%zu", *count);
    return rv_text(talk, 200, text);
}

static int take_body(rv_talk *talk, void *ctx)
{
    *(size_t *)ctx = 0;
    rv_error error = rv_on_body(talk, take_piece, ctx);
    return error == 0 ? RV_PENDING : error;
}

static void a_paused_body_keeps_its_records(void **state)
{
    (void)state;
    static size_t count;
    route_with("POST /slowly", take_body, &count, (rv_route_options){.body = RV_BODY_STREAMED});
    tls_say("POST /slowly HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    tls_say_octets((rv_bytes){big, 200000});
    assert_true(count < 200000);
    tls_say(GET("/ok"));
    advance_ms(1000);
    tls_expect_answer(200, "200000");
    tls_expect_answer(200, "Ok");
}

static void a_paused_body_outlives_the_clients_goodbye(void **state)
{
    (void)state;
    static size_t count;
    route_with("POST /slowly", take_body, &count, (rv_route_options){.body = RV_BODY_STREAMED});
    tls_say("POST /slowly HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    tls_say_octets((rv_bytes){big, 200000});
    SSL_shutdown(tls_client()->ssl);
    tls_carry();
    rv_test_half_close(client());
    assert_true(count < 200000);
    advance_ms(1000);
    tls_expect_answer(200, "200000");
    assert_true(tls_heard_goodbye());
}

static void a_handler_on_the_pool_knows_of_tls(void **state)
{
    (void)state;
    route_with("GET /pool", tell_scheme, NULL, (rv_route_options){.run = RV_ON_POOL});
    tls_say(GET("/pool"));
    rv_test_settle(client());
    tls_expect_answer(200, "https");
}

static void a_long_answer_arrives_whole(void **state)
{
    (void)state;
    tls_say(GET("/big"));
    expect_big();
    assert_true(COUNTER(octets_sent) > BIG); /* records cost more than what they carry */
}

static void a_file_arrives_whole(void **state)
{
    (void)state;
    FILE *file = fopen(made("file"), "w");
    assert_int_equal(fwrite(big, 1, BIG, file), BIG);
    fclose(file);
    route("GET /file", big_file, file_path());
    tls_say(GET("/file"));
    expect_big();
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
}

/* ---- back-pressure ------------------------------------------------------------------------------------ */

/* Lets the client take so much at a time that records are cut everywhere. */
static void trickle(const char *path)
{
    char request[128];
    assert_true(tls_shake());
    rv_test_window(client(), 0);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    tls_say(request);
    assert_int_equal(tls_client()->plain.len, 0);
    for (unsigned i = 1; tls_client()->plain.len < BIG && i < 100000; i++) {
        rv_test_window(client(), 1 + i * 997 % 50021);
        tls_carry();
    }
    rv_test_window(client(), RV_NO_LIMIT);
    expect_big();
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
}

static void a_client_may_take_an_answer_in_any_portions(void **state)
{
    (void)state;
    trickle("/big");
}

static void a_client_may_take_a_file_in_any_portions(void **state)
{
    (void)state;
    FILE *file = fopen(made("file"), "w");
    assert_int_equal(fwrite(big, 1, BIG, file), BIG);
    fclose(file);
    route("GET /file", big_file, file_path());
    trickle("/file");
}

static void a_handshake_goes_on_when_the_client_takes_more(void **state)
{
    (void)state;
    rv_test_window(client(), 100);
    assert_false(tls_shake());
    rv_test_window(client(), 100);
    assert_false(tls_shake());
    rv_test_window(client(), RV_NO_LIMIT);
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
}

static void a_client_that_takes_nothing_is_cut(void **state)
{
    (void)state;
    assert_true(tls_shake());
    rv_test_window(client(), 1000);
    tls_say(GET("/big"));
    advance_ms(60000);
    assert_int_equal(COUNTER(write_stalls), 1);
    expect_closed();
    assert_false(tls_heard_goodbye());
}

/* ---- ends --------------------------------------------------------------------------------------------- */

static void the_server_says_goodbye_before_it_closes(void **state)
{
    (void)state;
    tls_say(GET_AND_CLOSE("/ok"));
    tls_expect_answer(200, "Ok");
    assert_true(tls_heard_goodbye());
    expect_closed();
}

static void goodbye_waits_for_a_client_that_takes_no_more(void **state)
{
    (void)state;
    assert_true(tls_shake());
    rv_test_window(client(), 0);
    tls_say(GET_AND_CLOSE("/big"));
    expect_open();
    rv_test_window(client(), RV_NO_LIMIT);
    expect_big();
    assert_true(tls_heard_goodbye());
    expect_closed();
}

static void an_idle_client_is_told_goodbye(void **state)
{
    (void)state;
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
    advance_ms(20000);
    assert_int_equal(COUNTER(idle_timeouts), 1);
    assert_true(tls_heard_goodbye());
    expect_closed();
}

static void a_client_that_makes_room_for_another_is_told_goodbye(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.connections_max = 2});
    configure();
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
    advance_ms(1500);
    tls_as(1);
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
    tls_as(0);
    assert_int_equal(COUNTER(connections_recycled), 1);
    assert_true(tls_heard_goodbye());
    expect_closed();
}

static void a_client_that_says_goodbye_still_gets_its_answer(void **state)
{
    (void)state;
    char octets[1024];
    rv_bytes cipher = tls_cipher(GET("/ok"));
    memcpy(octets, cipher.ptr, cipher.len);
    assert_int_equal(SSL_shutdown(tls_client()->ssl), 0);
    int more = BIO_read(SSL_get_wbio(tls_client()->ssl), octets + cipher.len, 512);
    assert_true(more > 0);
    say_octets((rv_bytes){octets, cipher.len + (size_t)more});
    tls_expect_answer(200, "Ok");
    assert_true(tls_heard_goodbye());
    expect_closed();
}

static void an_end_without_goodbye_is_a_loss(void **state)
{
    (void)state;
    tls_say(GET("/hold"));
    rv_test_half_close(client());
    expect_closed();
    assert_int_equal(COUNTER(clients_gone), 1);
    assert_false(tls_heard_goodbye());
}

static void a_truncated_record_is_a_loss(void **state)
{
    (void)state;
    rv_bytes cipher = tls_cipher(GET("/ok"));
    say_octets((rv_bytes){cipher.ptr, cipher.len - 1});
    rv_test_half_close(client());
    expect_closed();
    assert_int_equal(COUNTER(requests), 0);
}

static void a_changed_octet_ends_the_connection(void **state)
{
    (void)state;
    char octets[1024];
    rv_bytes cipher = tls_cipher(GET("/ok"));
    memcpy(octets, cipher.ptr, cipher.len);
    octets[cipher.len / 2] ^= 1;
    say_octets((rv_bytes){octets, cipher.len});
    expect_closed();
    tls_carry();
    assert_non_null(strstr(tls_failure(), "bad record mac"));
    assert_int_equal(COUNTER(requests), 0);
}

static int fail_half_way(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("half of it"));
    return RV_EIO;
}

/* HTTP/1.0 has nothing but the end of the connection to end an answer. */
static void an_answer_that_failed_is_not_followed_by_goodbye(void **state)
{
    (void)state;
    route("GET /half", fail_half_way, NULL);
    tls_say("GET /half HTTP/1.0\r\n\r\n");
    expect_closed();
    assert_true(tls_client()->plain.len > 10);
    assert_false(tls_heard_goodbye());
}

/* ---- what the protocol says by itself ------------------------------------------------------------------ */

/* Shakes hands, but keeps the client's last message: it goes with what the client says next. */
static void shake_up_to_the_last_message(void)
{
    SSL *ssl;
    tls_begin();
    ssl = tls_client()->ssl;
    for (int i = 0; SSL_do_handshake(ssl) != 1; i++) {
        char octets[4096];
        int count = BIO_read(SSL_get_wbio(ssl), octets, sizeof octets);
        assert_true(count > 0 && i < 3);
        say_octets((rv_bytes){octets, (size_t)count});
        rv_bytes reply = rv_test_received(client());
        assert_int_equal(BIO_write(SSL_get_rbio(ssl), reply.ptr, (int)reply.len), reply.len);
    }
}

/* In one segment with that message. */
static void say_with_the_last_message(const char *text)
{
    assert_int_equal(SSL_write(tls_client()->ssl, text, (int)strlen(text)), strlen(text));
    tls_carry();
}

static bool has_ticket(void)
{
    return SSL_SESSION_is_resumable(SSL_get0_session(tls_client()->ssl)) == 1;
}

static void a_request_may_come_with_the_end_of_the_handshake(void **state)
{
    (void)state;
    shake_up_to_the_last_message();
    say_with_the_last_message(GET("/ok") GET("/scheme"));
    tls_expect_answer(200, "Ok");
    tls_expect_answer(200, "https");
    assert_true(has_ticket());
}

static void a_ticket_waits_for_no_request(void **state)
{
    (void)state;
    assert_true(tls_shake());
    assert_true(has_ticket());
    tls_as(1);
    shake_up_to_the_last_message();
    say_with_the_last_message(GET("/hold"));
    assert_true(has_ticket());
}

static void a_ticket_and_an_answer_may_be_taken_in_any_portions(void **state)
{
    for (uint64_t window = 0; window < 600; window += 23) {
        shake_up_to_the_last_message();
        rv_test_window(client(), window);
        say_with_the_last_message(GET_AND_CLOSE("/ok"));
        rv_test_window(client(), RV_NO_LIMIT);
        tls_expect_answer(200, "Ok");
        assert_true(has_ticket());
        assert_true(tls_heard_goodbye());
        expect_closed();
        tear_down(state);
        set_up(state);
    }
}

static rv_talk *held;

static int hold_for_another(rv_talk *talk, void *ctx)
{
    (void)ctx;
    held = talk;
    return RV_PENDING;
}

static int answer_both(rv_talk *talk, void *ctx)
{
    (void)ctx;
    assert_int_equal(rv_text(held, 200, "from another"), 0);
    return rv_text(talk, 200, "Ok");
}

static void a_ticket_goes_to_nobody_else(void **state)
{
    (void)state;
    route("GET /for-another", hold_for_another, NULL);
    route("GET /both", answer_both, NULL);
    tls_say(GET("/for-another"));
    tls_as(1);
    shake_up_to_the_last_message();
    say_with_the_last_message(GET("/both"));
    tls_expect_answer(200, "Ok");
    assert_true(has_ticket());
    tls_as(0);
    tls_expect_answer(200, "from another");
    tls_say(GET("/ok"));
    tls_expect_answer(200, "Ok");
}

/* ---- handshakes that come to nothing ------------------------------------------------------------------ */

static void plain_http_is_told_in_the_clear_that_this_is_tls(void **state)
{
    (void)state;
    get("/ok");
    expect_status(400);
    expect_field("Connection", "close");
    assert_non_null(strstr((char *)last_answer()->content.ptr, "https://"));
    expect_closed();
    assert_int_equal(COUNTER(tls_plain_requests), 1);
    assert_int_equal(COUNTER(tls_handshakes_failed), 0);
}

static void one_that_does_not_take_the_answer_is_cut(void **state)
{
    (void)state;
    client();
    rv_test_window(client(), 16);
    get("/ok");
    advance_ms(19999);
    expect_open();
    assert_int_equal(COUNTER(write_stalls), 0);
    advance_ms(5002);
    assert_int_equal(COUNTER(write_stalls), 1);
    expect_closed();
}

static void other_octets_end_the_connection(void **state)
{
    (void)state;
    rv_test_send(client(), RV_LIT("\x01\x02\x03\x04\x05\x06\x07\x08"));
    expect_closed();
    assert_int_equal(COUNTER(tls_handshakes_failed), 1);
    assert_int_equal(errors_told, 0);
}

static void a_silent_client_is_closed(void **state)
{
    (void)state;
    client();
    advance_ms(9999);
    expect_open();
    advance_ms(1);
    expect_silence();
    expect_closed();
    assert_int_equal(COUNTER(tls_handshake_timeouts), 1);
    assert_int_equal(COUNTER(head_timeouts), 0);
}

static void a_handshake_has_its_time(void **state)
{
    (void)state;
    rv_test_send(client(), RV_LIT("\x16\x03\x01"));
    advance_ms(9999);
    expect_open();
    advance_ms(1);
    expect_closed();
    assert_int_equal(COUNTER(tls_handshake_timeouts), 1);
}

static void the_time_for_a_head_begins_behind_the_handshake(void **state)
{
    (void)state;
    client();
    advance_ms(8000);
    assert_true(tls_shake());
    advance_ms(9000);
    expect_open();
    advance_ms(1000);
    tls_expect_answer(408, NULL);
    assert_true(tls_heard_goodbye());
    assert_int_equal(COUNTER(head_timeouts), 1);
    assert_int_equal(COUNTER(tls_handshake_timeouts), 0);
}

static void a_client_that_leaves_during_the_handshake_leaves_nothing(void **state)
{
    (void)state;
    rv_test_send(client(), RV_LIT("\x16\x03\x01"));
    rv_test_half_close(client());
    expect_closed();
    as(1);
    rv_test_send(client(), RV_LIT("\x16\x03\x01"));
    rv_test_reset(client());
    rv_test_settle(client());
    assert_int_equal(COUNTER(connections_closed), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_answered),
        TEST(octets_may_come_one_by_one),
        TEST(records_and_segments_need_not_agree),
        TEST(several_records_in_a_segment_are_several_requests),
        TEST(a_long_body_arrives_whole),
        TEST(a_paused_body_keeps_its_records),
        TEST(a_paused_body_outlives_the_clients_goodbye),
        TEST(a_handler_on_the_pool_knows_of_tls),
        TEST(a_long_answer_arrives_whole),
        TEST(a_file_arrives_whole),
        TEST(a_client_may_take_an_answer_in_any_portions),
        TEST(a_client_may_take_a_file_in_any_portions),
        TEST(a_handshake_goes_on_when_the_client_takes_more),
        TEST(a_client_that_takes_nothing_is_cut),
        TEST(the_server_says_goodbye_before_it_closes),
        TEST(goodbye_waits_for_a_client_that_takes_no_more),
        TEST(an_idle_client_is_told_goodbye),
        TEST(a_client_that_says_goodbye_still_gets_its_answer),
        TEST(an_end_without_goodbye_is_a_loss),
        TEST(a_client_that_makes_room_for_another_is_told_goodbye),
        TEST(a_truncated_record_is_a_loss),
        TEST(a_changed_octet_ends_the_connection),
        TEST(an_answer_that_failed_is_not_followed_by_goodbye),
        TEST(a_request_may_come_with_the_end_of_the_handshake),
        TEST(a_ticket_waits_for_no_request),
        TEST(a_ticket_and_an_answer_may_be_taken_in_any_portions),
        TEST(a_ticket_goes_to_nobody_else),
        TEST(plain_http_is_told_in_the_clear_that_this_is_tls),
        TEST(one_that_does_not_take_the_answer_is_cut),
        TEST(other_octets_end_the_connection),
        TEST(a_silent_client_is_closed),
        TEST(a_handshake_has_its_time),
        TEST(the_time_for_a_head_begins_behind_the_handshake),
        TEST(a_client_that_leaves_during_the_handshake_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
