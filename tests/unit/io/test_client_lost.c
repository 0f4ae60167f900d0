/*
 * Facts about how client streams end in an error: which errno the owner is told, and that what the server
 * had sent before is delivered first.
 */
#include "support/client_net.h"
#include "support/sockets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct stream_owner *const owner = &client_net.owner;
static struct rv_stream *const stream = &client_net.owner.stream;

static void send_now(const char *text)
{
    assert_int_equal(rv_stream_write(stream, rv_str(text)), 0);
    rv_stream_flush(stream);
}

static void connect_to_unix(void)
{
    char text[64];
    snprintf(text, sizeof text, "unix:@rv-test-client-lost-%d", (int)getpid());
    client_connect(text);
}

static void a_reset_is_told_by_its_errno(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    client_peer_resets();
    client_expect_calls("OLC");
    assert_int_equal(owner->error_number, ECONNRESET);
    assert_int_equal(stream->error_number, ECONNRESET);
}

static void a_reset_in_a_pause_is_told_by_its_errno(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    rv_stream_pause(stream);
    client_peer_resets();
    client_expect_calls("OLC");
    assert_int_equal(owner->error_number, ECONNRESET);
}

static void a_server_that_ends_in_a_pause_is_not_lost(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    rv_stream_pause(stream);
    rv_stream_finish(stream); /* with the server's FIN both directions are over: EPOLLHUP */
    assert_true(send_text(client_net.peer, "farewell"));
    client_peer_closes();
    client_settle();
    assert_string_equal(owner->calls, "O");
    rv_stream_resume(stream);
    client_expect_calls("ODE");
    client_expect_data("farewell");
}

static void an_answer_before_a_failed_send_is_delivered(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    send_now("a request");
    assert_true(send_text(client_net.peer, "413"));
    client_peer_closes(); /* without having read the request: a reset */
    usleep(10000);
    send_now("its body");
    assert_true(stream->broken);
    assert_int_equal(stream->error_number, ECONNRESET);
    assert_string_equal(owner->calls, "O"); /* not from inside the write */
    client_expect_calls("ODLC");
    client_expect_data("413");
    assert_int_equal(owner->error_number, ECONNRESET);
}

static void an_answer_whose_reset_comes_in_the_same_event_is_delivered(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    send_now("a request");
    assert_true(send_text(client_net.peer, "413"));
    client_peer_closes();
    client_expect_calls("ODLC");
    client_expect_data("413");
    assert_int_equal(owner->error_number, ECONNRESET);
}

static void an_answer_that_ended_before_a_failed_send_has_an_end(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    send_now("a request");
    assert_true(send_text(client_net.peer, "400 in full"));
    shutdown(client_net.peer, SHUT_WR);
    usleep(5000);
    client_peer_closes(); /* unread octets: a reset behind the FIN */
    usleep(5000);
    send_now("its body");
    assert_int_equal(stream->error_number, EPIPE);
    client_expect_calls("ODELC");
    client_expect_data("400 in full");
    assert_int_equal(owner->error_number, EPIPE);
}

static void who_is_paused_when_a_send_fails_gets_no_more_data(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    send_now("a request");
    rv_stream_pause(stream);
    assert_true(send_text(client_net.peer, "413"));
    client_peer_closes();
    usleep(10000);
    send_now("its body");
    client_expect_calls("OLC");
    assert_int_equal(owner->error_number, ECONNRESET);
}

static void close_in_data(struct stream_owner *of, char call)
{
    if (call == OWNER_DATA)
        rv_stream_close(&of->stream);
}

static void who_closes_on_the_answer_hears_of_no_loss(void **state)
{
    (void)state;
    owner->then = close_in_data;
    client_connect("127.0.0.1:0");
    send_now("a request");
    assert_true(send_text(client_net.peer, "413"));
    client_peer_closes();
    usleep(10000);
    send_now("its body");
    client_expect_calls("ODC");
}

static void on_a_unix_socket_the_answer_is_delivered_too(void **state)
{
    (void)state;
    connect_to_unix();
    send_now("a request");
    assert_true(send_text(client_net.peer, "413"));
    client_peer_closes();
    send_now("its body");
    assert_int_equal(stream->error_number, EPIPE);
    client_expect_calls("ODELC");
    client_expect_data("413");
}

/* More than is received for one stream in a turn. */
static void a_long_answer_before_a_failed_send_is_delivered_whole(void **state)
{
    (void)state;
    connect_to_unix();
    int much = 1 << 20;
    setsockopt(client_net.peer, SOL_SOCKET, SO_SNDBUF, &much, sizeof much);
    char *answer = calloc(1, (size_t)much);
    ssize_t sent = send(client_net.peer, answer, (size_t)much, MSG_DONTWAIT);
    free(answer);
    if (sent <= 4 * RV_RECEIVE_BYTES)
        skip(); /* a kernel that does not let sockets hold so much */
    client_peer_closes();
    send_now("a request");
    client_expect_calls("ODELC");
    assert_int_equal(owner->data.len, sent);
}

static void a_file_that_is_too_short_is_an_io_error(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    int file = memfd_create("short", MFD_CLOEXEC);
    assert_int_equal(write(file, "abc", 3), 3);
    assert_int_equal(rv_stream_write_file(stream, file, 0, 10), 0);
    client_expect_calls("OLC");
    assert_int_equal(owner->error_number, EIO);
    assert_int_equal(owner->lost_error, RV_EIO);
}

static void a_server_stream_tells_its_errno_too(void **state)
{
    (void)state;
    client_connect("127.0.0.1:0");
    int ends[2];
    struct stream_owner served = {.then = NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    stream_owner_open(&served, &client_net.loop, ends[0], false);
    close(ends[1]);
    assert_int_equal(rv_stream_write(&served.stream, RV_LIT("anybody there?")), 0);
    client_settle();
    assert_int_equal(served.error_number, EPIPE);
    stream_owner_end(&served);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, client_net_set_up, client_net_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_reset_is_told_by_its_errno),
        FACT(a_reset_in_a_pause_is_told_by_its_errno),
        FACT(a_server_that_ends_in_a_pause_is_not_lost),
        FACT(an_answer_before_a_failed_send_is_delivered),
        FACT(an_answer_whose_reset_comes_in_the_same_event_is_delivered),
        FACT(an_answer_that_ended_before_a_failed_send_has_an_end),
        FACT(who_is_paused_when_a_send_fails_gets_no_more_data),
        FACT(who_closes_on_the_answer_hears_of_no_loss),
        FACT(on_a_unix_socket_the_answer_is_delivered_too),
        FACT(a_long_answer_before_a_failed_send_is_delivered_whole),
        FACT(a_file_that_is_too_short_is_an_io_error),
        FACT(a_server_stream_tells_its_errno_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
