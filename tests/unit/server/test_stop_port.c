/*
 * Facts about the stop port (stop_port of rivulet.h): it stops the server for whoever says "stop", and
 * survives everybody else.
 */
#include "support/served.h"
#include "support/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct served served;
static unsigned stop_port;
static char stop_address[32];

/* A port that nobody has, for a moment at least. */
static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    close(descriptor);
    return ntohs(address.sin_port);
}

static int set_up(void **state)
{
    (void)state;
    stop_port = free_port();
    snprintf(stop_address, sizeof stop_address, "127.0.0.1:%u", stop_port);
    serve_make(&served, (rv_server_options){.workers = 1, .stop_port = stop_port});
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_route(&served, "GET /hold", hold, NULL, (rv_route_options){0});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    serve_free(&served);
    return 0;
}

static int connected(void)
{
    int descriptor = dial(stop_address);
    assert_true(descriptor >= 0);
    return descriptor;
}

/* True when the server has closed, within ten seconds. */
static bool is_closed(int descriptor)
{
    return EVENTUALLY(({
        char octet;
        ssize_t count = recv(descriptor, &octet, 1, MSG_DONTWAIT);
        count == 0 || (count < 0 && errno != EAGAIN);
    }));
}

static void four_octets_stop_the_server(void **state)
{
    (void)state;
    serve_start(&served);
    expect_served(&served);
    assert_int_equal(rv_stop_at("127.0.0.1", stop_port), 0);
    serve_wait(&served);
    assert_true(is_refused((uint16_t)stop_port));
    assert_int_equal(rv_stop_at(NULL, stop_port), RV_ENOTFOUND);
}

static void it_is_there_again_when_the_server_runs_again(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        serve_start(&served);
        assert_int_equal(rv_stop_at("localhost", stop_port), 0);
        serve_wait(&served);
    }
}

static void the_word_may_come_in_pieces(void **state)
{
    (void)state;
    serve_start(&served);
    int descriptor = connected();
    for (const char *octet = "stop"; *octet != '\0'; octet++) {
        assert_true(send_octets(descriptor, (rv_bytes){octet, 1}));
        nap_ms(20);
    }
    serve_wait(&served);
    close(descriptor);
}

static void another_word_is_closed_and_stops_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"x", "STOP", "stoq", "sto\r\n", "GET / HTTP/1.1\r\n\r\n"};
    serve_start(&served);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int descriptor = connected();
        assert_true(send_text(descriptor, words[i]));
        assert_true(is_closed(descriptor));
        close(descriptor);
    }
    int half = connected();
    assert_true(send_text(half, "sto"));
    close(half);
    hang_up(connected());
    expect_served(&served);
    assert_int_equal(rv_stop_at(NULL, stop_port), 0);
    serve_wait(&served);
}

static void silent_clients_keep_nobody_out(void **state)
{
    (void)state;
    int silent[40];
    serve_start(&served);
    for (int i = 0; i < 40; i++)
        silent[i] = connected();
    expect_served(&served);
    int descriptor = connected();
    assert_true(send_text(descriptor, "stop"));
    serve_wait(&served);
    close(descriptor);
    for (int i = 0; i < 40; i++)
        close(silent[i]);
}

static void a_slow_client_is_closed(void **state)
{
    (void)state;
    serve_start(&served);
    int descriptor = connected();
    uint64_t began_ms = rv_clock_monotonic_ms();
    assert_true(send_text(descriptor, "st"));
    assert_true(is_closed(descriptor));
    assert_true(rv_clock_monotonic_ms() - began_ms >= 1900);
    close(descriptor);
    serve_stop(&served);
}

static void a_second_stop_ends_at_once(void **state)
{
    (void)state;
    struct caller caller = {.descriptor = -1};
    serve_start(&served);
    expect_held(&caller, &served);
    assert_int_equal(rv_stop_at(NULL, stop_port), 0);
    nap_ms(100);
    assert_false(served.returned);
    uint64_t began_ms = rv_clock_monotonic_ms();
    assert_int_equal(rv_stop_at(NULL, stop_port), 0);
    serve_wait(&served);
    assert_true(rv_clock_monotonic_ms() - began_ms < 4000); /* the grace is 5 s */
    caller_close(&caller);
}

static void a_stop_port_in_use_is_named(void **state)
{
    (void)state;
    struct served other;
    serve_start(&served);
    serve_make(&other, (rv_server_options){.workers = 1, .stop_port = stop_port});
    assert_int_equal(serve_try(&other), RV_EADDRINUSE);
    char text[100];
    snprintf(text, sizeof text, "cannot listen on the stop port 127.0.0.1:%u: %s", stop_port,
             rv_strerror(RV_EADDRINUSE));
    assert_string_equal(rv_server_error_text(other.server), text);
    serve_free(&other);
    serve_stop(&served);
}

static void who_is_no_stop_port_is_told_apart(void **state)
{
    (void)state;
    serve_start(&served);
    assert_int_equal(rv_stop_at(NULL, served.port), RV_ETIMEOUT); /* waits for a request's rest */
    assert_int_equal(rv_stop_at("no such host", stop_port), RV_EADDR);
    assert_int_equal(rv_stop_at("fd", stop_port), RV_EADDR);
    assert_int_equal(rv_stop_at("", stop_port), RV_EADDR);
    assert_int_equal(rv_stop_at(NULL, 0), RV_EINVAL);
    assert_int_equal(rv_stop_at(NULL, 65536), RV_EINVAL);
    serve_stop(&served);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(four_octets_stop_the_server),       FACT(it_is_there_again_when_the_server_runs_again),
        FACT(the_word_may_come_in_pieces),       FACT(another_word_is_closed_and_stops_nothing),
        FACT(silent_clients_keep_nobody_out),    FACT(a_slow_client_is_closed),
        FACT(a_second_stop_ends_at_once),        FACT(a_stop_port_in_use_is_named),
        FACT(who_is_no_stop_port_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
