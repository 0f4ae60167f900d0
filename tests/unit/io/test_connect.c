/*
 * Facts about streams that connect, on the epoll back end and real sockets: how attempts succeed and
 * fail, where they leave from, what may be written and received early, and how errors are told.
 */
#include "io/address.h"
#include "io/backend.h"
#include "support/sockets.h"
#include "support/stream_owner.h"

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

static struct rv_loop loop;
static struct rv_address address; /* of the listening socket */
static int listening;
static struct stream_owner owner;
static bool owner_opened;
static int peer; /* the accepted end; -1: none */

static int set_up(void **state)
{
    (void)state;
    memset(&owner, 0, sizeof owner);
    owner_opened = false;
    peer = listening = -1;
    assert_int_equal(rv_loop_open(&loop, &rv_backend_epoll, NULL), 0);
    loop.output_low_bytes = 100;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (owner_opened)
        stream_owner_end(&owner);
    if (peer >= 0)
        close(peer);
    if (listening >= 0)
        rv_address_close(&address, listening);
    assert_int_equal(loop.segments.taken, 0);
    rv_loop_close(&loop);
    return 0;
}

static void listen_at(const char *text)
{
    static const struct rv_listen_options options = {.backlog = 16};
    char why[RV_WHY_MAX];
    assert_int_equal(rv_address_parse(text, &address, why), 0);
    assert_int_equal(rv_address_listen(&address, &options, &listening, why), 0);
    fcntl(listening, F_SETFL, 0); /* accept waits */
}

static struct rv_connect_to there(void)
{
    return (struct rv_connect_to){.peer = (struct sockaddr *)&address.sockaddr,
                                  .peer_length = address.length};
}

static int begin(const struct rv_connect_to *to)
{
    int error_number = stream_owner_connect(&owner, &loop, to);
    owner_opened = error_number == 0;
    return error_number;
}

static void begin_and_accept(void)
{
    struct rv_connect_to to = there();
    assert_int_equal(begin(&to), 0);
    peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    assert_true(peer >= 0);
}

/* A few turns in which whatever is going to happen happens. */
static void settle(void)
{
    for (int i = 0; i < 5; i++)
        rv_loop_turn(&loop, 10);
}

/* Turns the loop until the owner was told `calls`, in a second or so. */
static void expect_calls(const char *calls)
{
    for (int i = 0; i < 100 && strcmp(owner.calls, calls) != 0; i++)
        rv_loop_turn(&loop, 10);
    assert_string_equal(owner.calls, calls);
}

static void expect_data(const char *text)
{
    assert_int_equal(owner.data.len, strlen(text));
    assert_memory_equal(owner.data.ptr, text, strlen(text));
}

static void expect_at_peer(const char *text)
{
    char octets[64];
    assert_int_equal(recv(peer, octets, sizeof octets, 0), (ssize_t)strlen(text));
    assert_memory_equal(octets, text, strlen(text));
}

/* ---- attempts that succeed ------------------------------------------------------------------------- */

static void expect_a_talk_with(const char *listen)
{
    listen_at(listen);
    begin_and_accept();
    expect_calls("O");
    assert_int_equal(rv_stream_write(&owner.stream, RV_LIT("ping")), 0);
    rv_stream_flush(&owner.stream);
    expect_at_peer("ping");
    assert_true(send_text(peer, "pong"));
    expect_calls("OD");
    expect_data("pong");
    close(peer);
    peer = -1;
    expect_calls("ODE");
    assert_int_equal(owner.stream.error_number, 0);
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
    assert_int_equal(getsockopt(owner.stream.descriptor, level, option, &value, &length), 0);
    return value;
}

static void the_socket_is_set_up_as_promised(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    struct rv_connect_to to = there();
    to.buffer_bytes = 20000;
    assert_int_equal(begin(&to), 0);
    expect_calls("O");
    assert_int_not_equal(fcntl(owner.stream.descriptor, F_GETFL) & O_NONBLOCK, 0);
    assert_int_not_equal(fcntl(owner.stream.descriptor, F_GETFD) & FD_CLOEXEC, 0);
    assert_int_equal(option_of(IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(SOL_SOCKET, SO_SNDBUF), 40000);
    assert_int_equal(option_of(SOL_SOCKET, SO_RCVBUF), 40000);
}

static void it_leaves_from_the_address_that_is_asked_for(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    struct sockaddr_in source = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 6)};
    struct rv_connect_to to = there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    assert_int_equal(begin(&to), 0);
    struct sockaddr_in seen;
    socklen_t length = sizeof seen;
    peer = accept4(listening, (struct sockaddr *)&seen, &length, SOCK_CLOEXEC);
    assert_true(peer >= 0);
    assert_int_equal(seen.sin_addr.s_addr, source.sin_addr.s_addr);
    assert_int_not_equal(seen.sin_port, 0);
    assert_int_equal(option_of(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), 1);
    expect_calls("O");
}

static void it_leaves_from_an_ipv6_address_and_port(void **state)
{
    (void)state;
    listen_at("[::1]:0");
    int free_one = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 source = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof source;
    assert_int_equal(bind(free_one, (struct sockaddr *)&source, length), 0);
    assert_int_equal(getsockname(free_one, (struct sockaddr *)&source, &length), 0);
    close(free_one);
    struct rv_connect_to to = there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    assert_int_equal(begin(&to), 0);
    struct sockaddr_in6 seen;
    length = sizeof seen;
    peer = accept4(listening, (struct sockaddr *)&seen, &length, SOCK_CLOEXEC);
    assert_int_equal(seen.sin6_port, source.sin6_port);
    expect_calls("O");
}

/* ---- attempts that fail ---------------------------------------------------------------------------- */

static void a_refused_attempt_is_told_in_a_later_turn(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    close(listening);
    listening = -1;
    struct rv_connect_to to = there();
    assert_int_equal(begin(&to), 0);
    expect_calls("LC");
    assert_int_equal(owner.error_number, ECONNREFUSED);
    assert_int_equal(owner.lost_error, RV_EGONE);
}

static void a_refused_unix_attempt_fails_at_once(void **state)
{
    (void)state;
    listen_at("unix:@rv-test-refused");
    close(listening);
    listening = -1;
    struct rv_connect_to to = there();
    assert_int_equal(begin(&to), ECONNREFUSED);
}

static void a_full_unix_queue_fails_at_once(void **state)
{
    (void)state;
    static struct stream_owner others[64];
    char text[64];
    size_t count = 0;
    snprintf(text, sizeof text, "unix:@rv-test-full-%d", (int)getpid());
    listen_at(text);
    struct rv_connect_to to = there();
    int error_number = 0;
    while (error_number == 0 && count < 64)
        error_number = stream_owner_connect(&others[count++], &loop, &to);
    assert_int_equal(error_number, EAGAIN);
    for (size_t i = 0; i + 1 < count; i++)
        stream_owner_end(&others[i]);
}

static void an_address_that_is_not_ours_fails_at_once(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    struct sockaddr_in source = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0xc0000201)}; /* 192.0.2.1: nobody's */
    struct rv_connect_to to = there();
    to.source = (struct sockaddr *)&source;
    to.source_length = sizeof source;
    int free_one = dup(0);
    close(free_one);
    assert_int_equal(begin(&to), EADDRNOTAVAIL);
    assert_int_equal(fcntl(free_one, F_GETFD), -1); /* the descriptor was given back */
}

static void without_descriptors_it_fails_at_once(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    struct rv_connect_to to = there();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error_number = begin(&to);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(error_number, EMFILE);
}

static void an_attempt_can_be_given_up(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    struct rv_connect_to to = there();
    assert_int_equal(begin(&to), 0);
    rv_stream_close(&owner.stream);
    settle();
    assert_string_equal(owner.calls, "C");
}

/* ---- early output ---------------------------------------------------------------------------------- */

static void what_is_written_before_it_is_connected_leaves_then(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    begin_and_accept();
    assert_int_equal(rv_stream_write(&owner.stream, RV_LIT("early ")), 0);
    assert_int_equal(rv_stream_write(&owner.stream, RV_LIT("bird")), 0);
    rv_stream_flush(&owner.stream);
    assert_int_equal(rv_stream_queued(&owner.stream), 10);
    rv_stream_finish(&owner.stream);
    expect_calls("O");
    expect_at_peer("early bird");
    assert_int_equal(recv(peer, (char[1]){0}, 1, 0), 0); /* the FIN behind it */
    assert_true(rv_stream_is_sent(&owner.stream));
}

static void write_when_connected(struct stream_owner *of, char call)
{
    if (call == OWNER_CONNECTED)
        assert_int_equal(rv_stream_write(&of->stream, RV_LIT(" and late")), 0);
}

static void what_is_written_in_on_connected_follows_what_was_early(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    owner.then = write_when_connected;
    begin_and_accept();
    assert_int_equal(rv_stream_write(&owner.stream, RV_LIT("early")), 0);
    expect_calls("O");
    expect_at_peer("early and late");
}

static void close_when_connected(struct stream_owner *of, char call)
{
    if (call == OWNER_CONNECTED)
        rv_stream_close(&of->stream);
}

static void it_may_be_closed_in_on_connected(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    owner.then = close_when_connected;
    begin_and_accept();
    assert_true(send_text(peer, "too late"));
    expect_calls("OC");
}

/* ---- early input ----------------------------------------------------------------------------------- */

static void an_early_answer_comes_behind_on_connected(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    begin_and_accept();
    assert_true(send_text(peer, "220 hello"));
    close(peer);
    peer = -1;
    expect_calls("ODE"); /* data and FIN were in the first event */
    expect_data("220 hello");
}

static void receiving_now_is_not_possible_before_it_is_connected(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    begin_and_accept();
    assert_true(send_text(peer, "220 hello"));
    usleep(10000);
    rv_stream_receive_now(&owner.stream);
    assert_string_equal(owner.calls, "");
    expect_calls("OD");
}

static void a_reset_right_behind_the_answer_still_delivers_it(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    begin_and_accept();
    assert_true(send_text(peer, "503"));
    hang_up(peer);
    peer = -1;
    expect_calls("ODLC"); /* a reset is no end */
    expect_data("503");
    assert_int_equal(owner.error_number, ECONNRESET);
}

static void a_pause_before_it_is_connected_holds_data_back(void **state)
{
    (void)state;
    listen_at("127.0.0.1:0");
    begin_and_accept();
    rv_stream_pause(&owner.stream);
    assert_true(send_text(peer, "220 hello"));
    close(peer);
    peer = -1;
    settle();
    assert_string_equal(owner.calls, "O");
    rv_stream_resume(&owner.stream);
    expect_calls("ODE");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_stream_connects_to_ipv4),
        FACT(a_stream_connects_to_ipv6),
        FACT(a_stream_connects_to_a_unix_path),
        FACT(a_stream_connects_to_an_abstract_name),
        FACT(the_socket_is_set_up_as_promised),
        FACT(it_leaves_from_the_address_that_is_asked_for),
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
