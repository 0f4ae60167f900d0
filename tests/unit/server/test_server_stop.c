/*
 * Facts about what a stop finds in the middle of something, and about peers of every family. Real
 * sockets and threads; the plain stops are in test_server.c.
 */
#include "support/served.h"
#include "support/sockets.h"

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct served served;

/* ---- handlers ---------------------------------------------------------------------------------- */

static int stop_own_server(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_server_stop(rv_server_of(talk));
    return rv_text(talk, 200, "stopping");
}

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, NULL, rv_body(talk));
}

/* Writes a piece each 50 milliseconds, ten in all. */
static int write_on(rv_talk *talk, void *ctx)
{
    int *left = ctx;
    int result = rv_write(talk, RV_LIT("piece,"));
    if (result < 0 || --*left == 0)
        return result < 0 ? result : rv_end(talk);
    rv_error error = rv_after_ms(talk, 50, write_on, left);
    return error != 0 ? error : RV_PENDING;
}

static int write_slowly(rv_talk *talk, void *ctx)
{
    int *left = rv_alloc(talk, sizeof *left);
    (void)ctx;
    *left = 10;
    rv_begin(talk, 200);
    return write_on(talk, left);
}

static int show_peer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, NULL, rv_peer(talk));
}

/* ---- fixtures ---------------------------------------------------------------------------------- */

static void make(rv_server_options options)
{
    const rv_route_options plain = {0};
    options.pool_threads = 1;
    serve_make(&served, options);
    serve_route(&served, "GET /number/{number}", reply_number, NULL, plain);
    serve_route(&served, "GET /stop", stop_own_server, NULL, plain);
    serve_route(&served, "POST /echo", echo, NULL, plain);
    serve_route(&served, "GET /slowly", write_slowly, NULL, plain);
    serve_route(&served, "GET /peer", show_peer, NULL, plain);
}

static void start(rv_server_options options)
{
    options.workers = 1;
    make(options);
    serve_start(&served);
}

static int tear_down(void **state)
{
    (void)state;
    serve_free(&served);
    return 0;
}

static void call(struct caller *caller)
{
    assert_true(caller_connect(caller, served.port));
}

static rv_counter_values counters(void)
{
    rv_counter_values values;
    rv_counters(served.server, &values);
    return values;
}

/* ---- stopping ---------------------------------------------------------------------------------- */

static void a_handler_may_stop_its_server(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){0});
    call(&caller);
    assert_int_equal(caller_get(&caller, "/stop"), 200);
    assert_true(answer_content_is(&caller.answer, "stopping"));
    assert_true(caller_sees_the_end(&caller));
    serve_wait(&served);
    caller_close(&caller);
}

static void a_body_that_has_begun_may_arrive(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){0});
    call(&caller);
    assert_true(caller_send(&caller, "POST /echo HTTP/1.1\r\nHost: test\r\n"
                                     "Content-Length: 6\r\n\r\none"));
    assert_true(EVENTUALLY(counters().requests == 1));
    rv_server_stop(served.server);
    assert_true(EVENTUALLY(is_refused(served.port)));
    assert_true(caller_send(&caller, "two"));
    assert_int_equal(caller_take(&caller), 200);
    assert_true(answer_content_is(&caller.answer, "onetwo"));
    assert_string_equal(answer_field(&caller.answer, "Connection"), "close");
    assert_true(caller_sees_the_end(&caller));
    serve_wait(&served);
    caller_close(&caller);
}

static void a_head_that_has_begun_may_arrive(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){0});
    call(&caller);
    assert_int_equal(caller_get(&caller, "/number/1"), 200);
    assert_true(caller_send(&caller, "GET /number/2 HTTP"));
    assert_true(EVENTUALLY(counters().octets_received > 50));
    rv_server_stop(served.server);
    assert_true(EVENTUALLY(is_refused(served.port)));
    assert_true(caller_send(&caller, "/1.1\r\nHost: test\r\n\r\n"));
    assert_int_equal(caller_take(&caller), 200);
    assert_true(answer_content_is(&caller.answer, "2"));
    assert_string_equal(answer_field(&caller.answer, "Connection"), "close");
    serve_wait(&served);
    caller_close(&caller);
}

static void a_response_that_has_begun_is_finished(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){0});
    call(&caller);
    assert_true(caller_send(&caller, "GET /slowly HTTP/1.1\r\nHost: test\r\n\r\n"));
    assert_true(EVENTUALLY(counters().octets_sent > 0));
    rv_server_stop(served.server);
    assert_int_equal(caller_take(&caller), 200);
    assert_int_equal(caller.answer.content.len, 10 * strlen("piece,"));
    assert_true(caller_sees_the_end(&caller)); /* though its head could not say so any more */
    serve_wait(&served);
    assert_int_equal(counters().stop_cuts, 0);
    caller_close(&caller);
}

static void a_half_head_does_not_hold_up_the_stop_beyond_its_grace(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.stop_grace_ms = 100});
    call(&caller);
    assert_true(caller_send(&caller, "GET /number/2 HTTP"));
    assert_true(EVENTUALLY(counters().octets_received > 0));
    uint64_t before = rv_clock_monotonic_ms();
    serve_stop(&served);
    uint64_t passed = rv_clock_monotonic_ms() - before;
    assert_true(passed >= 90 && passed < 4000);
    assert_true(caller_sees_the_end(&caller));
    assert_int_equal(counters().stop_cuts, 0); /* there was no talk to be cut */
    caller_close(&caller);
}

/* ---- peers ------------------------------------------------------------------------------------- */

/* What a client at that address is told about itself. */
static void expect_peer(const char *address, const char *peer)
{
    char octets[1024];
    int client = dial(address);
    assert_true(client >= 0);
    assert_true(send_text(client, "GET /peer HTTP/1.0\r\n\r\n"));
    size_t used = 0;
    ssize_t count;
    while ((count = recv(client, octets + used, sizeof octets - 1 - used, 0)) > 0)
        used += (size_t)count;
    octets[used] = '\0';
    char port[16] = "";
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(client, (struct sockaddr *)&own, &length), 0);
    if (own.ss_family == AF_INET)
        snprintf(port, sizeof port, "%u", ntohs(((struct sockaddr_in *)&own)->sin_port));
    if (own.ss_family == AF_INET6)
        snprintf(port, sizeof port, "%u", ntohs(((struct sockaddr_in6 *)&own)->sin6_port));
    char expected[64];
    snprintf(expected, sizeof expected, "\r\n\r\n%s%s", peer, port);
    assert_true(used > strlen(expected));
    assert_string_equal(octets + used - strlen(expected), expected);
    close(client);
}

static void a_peer_is_told_by_its_address(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "unix:@rivulet-peer-%ld", (long)getpid());
    make((rv_server_options){.workers = 2});
    assert_int_equal(rv_listen(served.server, name), 0);
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool ipv6 = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (probe >= 0)
        close(probe);
    if (ipv6) {
        assert_int_equal(rv_listen(served.server, "[::1]:0"), 0);
        assert_int_equal(rv_listen(served.server, ":0"), 0);
    }
    serve_start(&served);
    for (int i = 0; i < 4; i++) {
        expect_peer(rv_server_address(served.server, 0), "127.0.0.1:");
        expect_peer(rv_server_address(served.server, 1), "unix:");
        if (!ipv6)
            continue;
        expect_peer(rv_server_address(served.server, 2), "[::1]:");
        /* An IPv4 client of a socket for both is an IPv4 client. */
        char over_ipv4[64];
        snprintf(over_ipv4, sizeof over_ipv4, "127.0.0.1%s",
                 strrchr(rv_server_address(served.server, 3), ':'));
        expect_peer(over_ipv4, "127.0.0.1:");
    }
}

static void an_ipv4_client_of_a_socket_for_both_families_is_told_as_one(void **state)
{
    (void)state;
    char address[32];
    make((rv_server_options){.workers = 1});
    assert_int_equal(rv_listen(served.server, "*:0"), 0);
    serve_start(&served);
    snprintf(address, sizeof address, "127.0.0.1%s",
             strrchr(rv_server_address(served.server, 1), ':'));
    expect_peer(address, "127.0.0.1:");
}

#define FACT(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_handler_may_stop_its_server),
        FACT(a_body_that_has_begun_may_arrive),
        FACT(a_head_that_has_begun_may_arrive),
        FACT(a_response_that_has_begun_is_finished),
        FACT(a_half_head_does_not_hold_up_the_stop_beyond_its_grace),
        FACT(a_peer_is_told_by_its_address),
        FACT(an_ipv4_client_of_a_socket_for_both_families_is_told_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
