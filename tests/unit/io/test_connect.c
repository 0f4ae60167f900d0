/*
 * Facts about streams that connect, on the epoll back end and real sockets: how attempts succeed and
 * fail, where they leave from, what may be written and received early, and how errors are told.
 */
#include "support/client_net.h"
#include "support/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct stream_owner *const owner = &client_net.owner;
static struct rv_stream *const stream = &client_net.owner.stream;

/* ---- attempts that succeed ------------------------------------------------------------------------- */

static void expect_a_talk_with(const char *listen)
{
    client_listen(listen);
    client_begin_and_accept();
    client_expect_calls("O");
    assert_int_equal(rv_stream_write(stream, RV_LIT("ping")), 0);
    rv_stream_flush(stream);
    client_expect_at_peer("ping");
    assert_true(send_text(client_net.peer, "pong"));
    client_expect_calls("OD");
    client_expect_data("pong");
    client_peer_closes();
    client_expect_calls("ODE");
    assert_int_equal(stream->error_number, 0);
}

static void a_stream_connects_to_ipv4(void **state)
{
    (void)state;
    expect_a_talk_with("127.0.0.1:0");
}

static void a_stream_connects_to_ipv6(void **state)
{
    (void)state;
    expect_a_talk_with("[::1]:0");
}

static void a_stream_connects_to_a_unix_path(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "unix:/tmp/rv-test-connect-%d", (int)getpid());
    expect_a_talk_with(text);
}

static void a_stream_connects_to_an_abstract_name(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "unix:@rv-test-connect-%d", (int)getpid());
    expect_a_talk_with(text);
}

static int option_of(int level, int option)
{
    int value = -1;
    socklen_t length = sizeof value;
    assert_int_equal(getsockopt(stream->descriptor, level, option, &value, &length), 0);
    return value;
}

static void the_socket_is_set_up_as_promised(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct rv_connect_to to = client_there();
    to.buffer_bytes = 20000;
    assert_int_equal(client_begin(&to), 0);
    client_expect_calls("O");
    assert_int_not_equal(fcntl(stream->descriptor, F_GETFL) & O_NONBLOCK, 0);
    assert_int_not_equal(fcntl(stream->descriptor, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_equal(option_of(IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(SOL_SOCKET, SO_SNDBUF), 40000);
    assert_int_equal(option_of(SOL_SOCKET, SO_RCVBUF), 40000);
}

static void it_leaves_from_the_address_that_is_asked_for(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct sockaddr_in source = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 6)};
    struct rv_connect_to to = client_there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    assert_int_equal(client_begin(&to), 0);
    struct sockaddr_in seen;
    socklen_t length = sizeof seen;
    client_net.peer =
        accept4(client_net.listening, (struct sockaddr *)&seen, &length, SOCK_CLOEXEC);
    assert_true(client_net.peer >= 0);
    assert_int_equal(seen.sin_addr.s_addr, source.sin_addr.s_addr);
    assert_int_not_equal(seen.sin_port, 0);
    assert_int_equal(option_of(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), 1);
    client_expect_calls("O");
}

/* Linux 6.3 and later. */
static bool kernel_knows_port_ranges(void)
{
    int option = 51 /* IP_LOCAL_PORT_RANGE */, value = 0;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool knows = setsockopt(probe, IPPROTO_IP, option, &value, sizeof value) == 0;
    close(probe);
    return knows;
}

static uint16_t own_port(void)
{
    struct sockaddr_in6 own = {0}; /* the port is where IPv4's is */
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(stream->descriptor, (struct sockaddr *)&own, &length), 0);
    return ntohs(own.sin6_port);
}

/* The kernel minds only ranges within its own. */
static uint16_t lowest_local_port(void)
{
    unsigned lowest = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u", &lowest), 1);
    fclose(file);
    return (uint16_t)lowest;
}

static void expect_a_port_of_the_range(const char *listen)
{
    client_listen(listen);
    struct rv_connect_to to = client_there();
    to.port_first = to.port_start = (uint16_t)(lowest_local_port() + 128);
    to.port_last = (uint16_t)(to.port_first + 63);
    assert_int_equal(client_begin(&to), 0);
    client_expect_calls("O");
    if (kernel_knows_port_ranges())
        assert_in_range(own_port(), to.port_first, to.port_last);
}

static void its_port_comes_from_the_range_that_is_asked_for(void **state)
{
    (void)state;
    expect_a_port_of_the_range("127.0.0.1:0");
}

static void its_port_comes_from_the_range_with_ipv6_too(void **state)
{
    (void)state;
    expect_a_port_of_the_range("[::1]:0");
}

/* What older kernels get. */
static void expect_a_port_by_binding(sa_family_t family)
{
    struct sockaddr_in6 peer = {.sin6_family = family};
    struct rv_connect_to to = {.peer = (struct sockaddr *)&peer,
                               .peer_length = sizeof peer,
                               .port_first = 21000,
                               .port_last = 21003,
                               .port_start = 21002};
    int sockets[5];
    struct sockaddr_in6 own;
    socklen_t length = sizeof own;
    static const uint16_t expected[] = {21002, 21003, 21000, 21001};
    for (unsigned i = 0; i < 5; i++) {
        sockets[i] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(rv_connect_bind_port(sockets[i], &to), i < 4 ? 0 : EADDRNOTAVAIL);
        if (i == 4)
            break;
        assert_int_equal(getsockname(sockets[i], (struct sockaddr *)&own, &length), 0);
        assert_int_equal(ntohs(own.sin6_port), expected[i]);
        assert_int_equal(listen(sockets[i], 1), 0); /* so that nobody shares it */
    }
    for (unsigned i = 0; i < 5; i++)
        close(sockets[i]);
}

static void without_ranges_a_port_is_bound(void **state)
{
    (void)state;
    expect_a_port_by_binding(AF_INET);
    expect_a_port_by_binding(AF_INET6);
}

static void a_bound_port_connects(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct rv_connect_to to = client_there();
    int socket_of_ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.port_first = to.port_start = 21010;
    to.port_last = 21019;
    assert_int_equal(rv_connect_bind_port(socket_of_ours, &to), 0);
    assert_int_equal(connect(socket_of_ours, to.peer, to.peer_length), 0);
    close(socket_of_ours);
}

static void it_leaves_from_an_ipv6_address_and_port(void **state)
{
    (void)state;
    client_listen("[::1]:0");
    int free_one = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 source = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof source;
    assert_int_equal(bind(free_one, (struct sockaddr *)&source, length), 0);
    assert_int_equal(getsockname(free_one, (struct sockaddr *)&source, &length), 0);
    close(free_one);
    struct rv_connect_to to = client_there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    assert_int_equal(client_begin(&to), 0);
    struct sockaddr_in6 seen;
    length = sizeof seen;
    client_net.peer =
        accept4(client_net.listening, (struct sockaddr *)&seen, &length, SOCK_CLOEXEC);
    assert_int_equal(seen.sin6_port, source.sin6_port);
    client_expect_calls("O");
}

/* ---- attempts that fail ---------------------------------------------------------------------------- */

static void a_refused_attempt_is_told_in_a_later_turn(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_stop_listening();
    struct rv_connect_to to = client_there();
    assert_int_equal(client_begin(&to), 0);
    client_expect_calls("LC");
    assert_int_equal(owner->error_number, ECONNREFUSED);
    assert_int_equal(owner->lost_error, RV_EGONE);
}

static void a_refused_unix_attempt_fails_at_once(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "unix:@rv-test-refused-%d", (int)getpid());
    client_listen(text);
    client_stop_listening();
    struct rv_connect_to to = client_there();
    assert_int_equal(client_begin(&to), ECONNREFUSED);
}

static void a_full_unix_queue_fails_at_once(void **state)
{
    (void)state;
    static struct stream_owner others[64];
    char text[64];
    size_t count = 0;
    snprintf(text, sizeof text, "unix:@rv-test-full-%d", (int)getpid());
    client_listen(text);
    struct rv_connect_to to = client_there();
    int error_number = 0;
    while (error_number == 0 && count < 64)
        error_number = stream_owner_connect(&others[count++], &client_net.loop, &to);
    assert_int_equal(error_number, EAGAIN);
    for (size_t i = 0; i + 1 < count; i++)
        stream_owner_end(&others[i]);
}

static void an_address_that_is_not_ours_fails_at_once(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct sockaddr_in source = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0xc0000201)}; /* 192.0.2.1: nobody's */
    struct rv_connect_to to = client_there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    int free_one = dup(0);
    close(free_one);
    assert_int_equal(client_begin(&to), EADDRNOTAVAIL);
    assert_int_equal(fcntl(free_one, F_GETFD), -1); /* the descriptor was given back */
}

static void without_descriptors_it_fails_at_once(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    struct rv_connect_to to = client_there();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error_number = client_begin(&to);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(error_number, EMFILE);
}

static void an_attempt_can_be_given_up(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    struct rv_connect_to to = client_there();
    assert_int_equal(client_begin(&to), 0);
    rv_stream_close(stream);
    client_settle();
    assert_string_equal(owner->calls, "C");
}

/* ---- early output ---------------------------------------------------------------------------------- */

static void what_is_written_before_it_is_connected_leaves_then(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_begin_and_accept();
    assert_int_equal(rv_stream_write(stream, RV_LIT("early ")), 0);
    assert_int_equal(rv_stream_write(stream, RV_LIT("bird")), 0);
    rv_stream_flush(stream);
    assert_int_equal(rv_stream_queued(stream), 10);
    rv_stream_finish(stream);
    client_expect_calls("O");
    client_expect_at_peer("early bird");
    assert_int_equal(recv(client_net.peer, (char[1]){0}, 1, 0), 0); /* the FIN behind it */
    assert_true(rv_stream_is_sent(stream));
}

static void write_when_connected(struct stream_owner *of, char call)
{
    if (call == OWNER_CONNECTED)
        assert_int_equal(rv_stream_write(&of->stream, RV_LIT(" and late")), 0);
}

static void what_is_written_in_on_connected_follows_what_was_early(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    owner->then = write_when_connected;
    client_begin_and_accept();
    assert_int_equal(rv_stream_write(stream, RV_LIT("early")), 0);
    client_expect_calls("O");
    client_expect_at_peer("early and late");
}

static void close_when_connected(struct stream_owner *of, char call)
{
    if (call == OWNER_CONNECTED)
        rv_stream_close(&of->stream);
}

static void it_may_be_closed_in_on_connected(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    owner->then = close_when_connected;
    client_begin_and_accept();
    assert_true(send_text(client_net.peer, "too late"));
    client_expect_calls("OC");
}

/* ---- early input ----------------------------------------------------------------------------------- */

static void an_early_answer_comes_behind_on_connected(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_begin_and_accept();
    assert_true(send_text(client_net.peer, "220 hello"));
    client_peer_closes();
    client_expect_calls("ODE"); /* data and FIN were in the first event */
    client_expect_data("220 hello");
}

static void receiving_now_is_not_possible_before_it_is_connected(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_begin_and_accept();
    assert_true(send_text(client_net.peer, "220 hello"));
    usleep(10000);
    rv_stream_receive_now(stream);
    assert_string_equal(owner->calls, "");
    client_expect_calls("OD");
}

static void a_reset_right_behind_the_answer_still_delivers_it(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_begin_and_accept();
    assert_true(send_text(client_net.peer, "503"));
    client_peer_resets();
    client_expect_calls("ODLC"); /* a reset is no end */
    client_expect_data("503");
    assert_int_equal(owner->error_number, ECONNRESET);
}

static void a_pause_before_it_is_connected_holds_data_back(void **state)
{
    (void)state;
    client_listen("127.0.0.1:0");
    client_begin_and_accept();
    rv_stream_pause(stream);
    assert_true(send_text(client_net.peer, "220 hello"));
    client_peer_closes();
    client_settle();
    assert_string_equal(owner->calls, "O");
    rv_stream_resume(stream);
    client_expect_calls("ODE");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, client_net_set_up, client_net_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_stream_connects_to_ipv4),
        FACT(a_stream_connects_to_ipv6),
        FACT(a_stream_connects_to_a_unix_path),
        FACT(a_stream_connects_to_an_abstract_name),
        FACT(the_socket_is_set_up_as_promised),
        FACT(it_leaves_from_the_address_that_is_asked_for),
        FACT(its_port_comes_from_the_range_that_is_asked_for),
        FACT(its_port_comes_from_the_range_with_ipv6_too),
        FACT(without_ranges_a_port_is_bound),
        FACT(a_bound_port_connects),
        FACT(it_leaves_from_an_ipv6_address_and_port),
        FACT(a_refused_attempt_is_told_in_a_later_turn),
        FACT(a_refused_unix_attempt_fails_at_once),
        FACT(a_full_unix_queue_fails_at_once),
        FACT(an_address_that_is_not_ours_fails_at_once),
        FACT(without_descriptors_it_fails_at_once),
        FACT(an_attempt_can_be_given_up),
        FACT(what_is_written_before_it_is_connected_leaves_then),
        FACT(what_is_written_in_on_connected_follows_what_was_early),
        FACT(it_may_be_closed_in_on_connected),
        FACT(an_early_answer_comes_behind_on_connected),
        FACT(receiving_now_is_not_possible_before_it_is_connected),
        FACT(a_reset_right_behind_the_answer_still_delivers_it),
        FACT(a_pause_before_it_is_connected_holds_data_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
