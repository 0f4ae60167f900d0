/*
 * Facts about listeners, with real sockets on the loopback: what is accepted, how many at once, and what
 * happens when there are no descriptors left.
 */
#include "io/listener.h"
#include "base/clock.h"
#include "io/address.h"
#include "io/backend.h"
#include "support/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CALLS_MAX 400

/* A listener and what it was told. */
static struct rv_loop loop;
static struct rv_listener listener;
static struct rv_address address;
static char address_text[RV_ADDRESS_TEXT_MAX];
static int accepted[CALLS_MAX];
static unsigned accepted_count;
static char last_peer[RV_ADDRESS_TEXT_MAX];
static int exhausted_by; /* errno */
static unsigned exhausted_count;
static int callers[CALLS_MAX];
static unsigned caller_count;

static void on_accept(struct rv_listener *by, int descriptor, const struct sockaddr *peer,
                      socklen_t peer_length)
{
    assert_ptr_equal(by, &listener);
    accepted[accepted_count++] = descriptor;
    rv_address_format(peer, peer_length, last_peer, sizeof last_peer);
}

static void on_exhausted(struct rv_listener *by, int error_number)
{
    assert_ptr_equal(by, &listener);
    exhausted_by = error_number;
    exhausted_count++;
}

static void listen_on(const char *text)
{
    static const struct rv_listen_options options = {.backlog = CALLS_MAX};
    char why[RV_WHY_MAX] = "";
    int descriptor;
    assert_int_equal(rv_address_parse(text, &address, why), 0);
    assert_int_equal(rv_address_listen(&address, &options, &descriptor, why), 0);
    rv_address_format((struct sockaddr *)&address.sockaddr, address.length, address_text,
                      sizeof address_text);
    listener = (struct rv_listener){.loop = &loop,
                                    .descriptor = descriptor,
                                    .is_tcp = address.kind == RV_ADDRESS_TCP,
                                    .on_accept = on_accept,
                                    .on_exhausted = on_exhausted};
}

static int set_up(void **state)
{
    (void)state;
    accepted_count = caller_count = exhausted_count = 0;
    exhausted_by = 0;
    assert_int_equal(rv_loop_open(&loop, &rv_backend_epoll, NULL), 0);
    listen_on("127.0.0.1:0");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rv_listener_stop(&listener);
    rv_address_close(&address, listener.descriptor);
    rv_loop_close(&loop);
    while (accepted_count > 0)
        close(accepted[--accepted_count]);
    while (caller_count > 0)
        close(callers[--caller_count]);
    return 0;
}

static void call(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        callers[caller_count] = dial(address_text);
        assert_true(callers[caller_count++] >= 0);
    }
}

static void turn(void)
{
    rv_loop_turn(&loop, 20);
}

/* ---- accepting --------------------------------------------------------------------------------- */

static void a_connection_is_handed_over_ready_for_a_loop(void **state)
{
    (void)state;
    assert_int_equal(rv_listener_start(&listener), 0);
    call(1);
    turn();
    assert_int_equal(accepted_count, 1);
    assert_true((fcntl(accepted[0], F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(accepted[0], F_GETFD) & FD_CLOEXEC) != 0);
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    char expected[RV_ADDRESS_TEXT_MAX];
    assert_int_equal(getsockname(callers[0], (struct sockaddr *)&own, &length), 0);
    rv_address_format((struct sockaddr *)&own, length, expected, sizeof expected);
    assert_string_equal(last_peer, expected);
}

static void a_unix_peer_has_no_name(void **state)
{
    (void)state;
    char text[64];
    rv_address_close(&address, listener.descriptor);
    snprintf(text, sizeof text, "unix:@rivulet-listener-%ld", (long)getpid());
    listen_on(text);
    assert_int_equal(rv_listener_start(&listener), 0);
    call(1);
    turn();
    assert_int_equal(accepted_count, 1);
    assert_string_equal(last_peer, "unix:");
}

static void nothing_is_accepted_before_the_start_or_after_the_stop(void **state)
{
    (void)state;
    call(1);
    turn();
    assert_int_equal(accepted_count, 0);
    assert_int_equal(rv_listener_start(&listener), 0);
    turn();
    assert_int_equal(accepted_count, 1);
    rv_listener_stop(&listener);
    call(1);
    turn();
    assert_int_equal(accepted_count, 1);
    assert_int_equal(rv_listener_start(&listener), 0); /* it has waited in the kernel's queue */
    turn();
    assert_int_equal(accepted_count, 2);
}

static void starting_and_stopping_twice_is_no_matter(void **state)
{
    (void)state;
    rv_listener_stop(&listener);
    assert_int_equal(rv_listener_start(&listener), 0);
    assert_int_equal(rv_listener_start(&listener), 0);
    call(1);
    turn();
    assert_int_equal(accepted_count, 1);
    rv_listener_stop(&listener);
    rv_listener_stop(&listener);
    assert_int_equal(rv_listener_take(&listener, 1), 0);
}

static void all_that_wait_are_accepted_in_a_few_turns(void **state)
{
    (void)state;
    assert_int_equal(rv_listener_start(&listener), 0);
    call(100);
    for (int turns = 0; turns < 10; turns++)
        turn();
    assert_int_equal(accepted_count, 100);
}

static void no_more_are_taken_at_once_than_asked_for(void **state)
{
    (void)state;
    assert_int_equal(rv_listener_start(&listener), 0);
    call(5);
    assert_int_equal(rv_listener_take(&listener, 3), 3);
    assert_int_equal(accepted_count, 3);
    assert_int_equal(rv_listener_take(&listener, 100), 2);
    assert_int_equal(rv_listener_take(&listener, 100), 0);
}

static void the_batch_grows_while_it_is_filled_and_shrinks_when_it_is_not(void **state)
{
    (void)state;
    static const unsigned grows[] = {1, 3, 7};
    assert_int_equal(rv_listener_start(&listener), 0);
    call(11);
    for (size_t i = 0; i < sizeof grows / sizeof *grows; i++) {
        rv_listener_ready(&listener);
        assert_int_equal(accepted_count, grows[i]);
    }
    rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 11); /* four were left: so many are expected next time */
    call(6);
    rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 15);
    rv_listener_ready(&listener);
    rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 17); /* none was left: then one is expected */
    call(3);
    rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 18);
}

static void a_storm_is_taken_whole(void **state)
{
    (void)state;
    assert_int_equal(rv_listener_start(&listener), 0);
    call(200);
    for (unsigned i = 0; i < 4; i++)
        rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 15);
    rv_listener_ready(&listener);
    assert_int_equal(accepted_count, 200);
    call(100);
    rv_listener_ready(&listener); /* and so is the next */
    assert_int_equal(accepted_count, 300);
}

static void stop_while_accepting(struct rv_listener *by, int descriptor,
                                 const struct sockaddr *peer, socklen_t peer_length)
{
    on_accept(by, descriptor, peer, peer_length);
    rv_listener_stop(by);
}

static void a_stop_in_the_middle_of_a_batch_ends_it(void **state)
{
    (void)state;
    listener.on_accept = stop_while_accepting;
    assert_int_equal(rv_listener_start(&listener), 0);
    call(5);
    assert_int_equal(rv_listener_take(&listener, 5), 1);
    assert_int_equal(accepted_count, 1);
}

static void a_caller_that_has_left_already_is_no_obstacle(void **state)
{
    (void)state;
    assert_int_equal(rv_listener_start(&listener), 0);
    hang_up(dial(address_text));
    call(1);
    for (int turns = 0; turns < 3; turns++)
        turn();
    assert_true(accepted_count >= 1); /* the kernel may hand out the one that is reset, too */
    assert_int_equal(exhausted_count, 0);
}

static void deferring_is_switched_on_and_off(void **state)
{
    (void)state;
    int value = -1;
    socklen_t size = sizeof value;
    for (int on = 1; on >= 0; on--) {
        rv_listener_defer(&listener, on == 1);
        assert_int_equal(
            getsockopt(listener.descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &value, &size), 0);
        assert_int_equal(value != 0, on);
    }
}

static void a_deferred_connection_comes_with_its_first_octets(void **state)
{
    (void)state;
    rv_listener_defer(&listener, true);
    assert_int_equal(rv_listener_start(&listener), 0);
    uint64_t start = rv_clock_monotonic_ms();
    call(1);
    turn();
    if (rv_clock_monotonic_ms() - start < 500) /* after a second the kernel gives in */
        assert_int_equal(accepted_count, 0);
    assert_true(send_text(callers[0], "hello"));
    turn();
    assert_int_equal(accepted_count, 1);
}

static void two_loops_may_share_a_socket(void **state)
{
    (void)state;
    struct rv_loop second;
    struct rv_listener other = listener;
    assert_int_equal(rv_loop_open(&second, &rv_backend_epoll, NULL), 0);
    other.loop = &second;
    other.shared = listener.shared = true;
    assert_int_equal(rv_listener_start(&listener), 0);
    assert_int_equal(rv_listener_start(&other), 0);
    rv_listener_stop(&other);
    call(2); /* what one loop does not take, the other does */
    turn();
    turn();
    assert_int_equal(accepted_count, 2);
    rv_loop_close(&second);
}

/* ---- no descriptors left ----------------------------------------------------------------------- */

/* In a process of its own, which has no descriptor to spare for a while. 0: all is as it should be;
   otherwise the number of what is not. */
static int run_out_of_descriptors(void)
{
    struct rlimit files;
    if (rv_listener_start(&listener) != 0)
        return 1;
    getrlimit(RLIMIT_NOFILE, &files);
    rlim_t before = files.rlim_cur;
    int lowest = dup(callers[0]); /* the one place that is left open: there may be gaps */
    close(lowest);
    files.rlim_cur = (rlim_t)lowest + 1;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        return 2;
    for (int turns = 0; turns < 5; turns++)
        turn();
    if (accepted_count != 1)
        return 3;
    if (exhausted_count != 1 || exhausted_by != EMFILE || listener.accepting)
        return 4;
    rv_listener_start(&listener); /* too early */
    turn();
    if (accepted_count != 1 || exhausted_count != 2 || listener.accepting)
        return 5;
    files.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &files);
    rv_listener_start(&listener);
    for (int turns = 0; turns < 5; turns++)
        turn();
    return accepted_count == 3 && exhausted_count == 2 ? 0 : 6;
}

static void accepting_stops_without_descriptors_and_goes_on_when_told(void **state)
{
    (void)state;
    call(3);
    pid_t child = fork();
    if (child == 0)
        _exit(run_out_of_descriptors());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_connection_is_handed_over_ready_for_a_loop),
        FACT(a_unix_peer_has_no_name),
        FACT(nothing_is_accepted_before_the_start_or_after_the_stop),
        FACT(starting_and_stopping_twice_is_no_matter),
        FACT(all_that_wait_are_accepted_in_a_few_turns),
        FACT(no_more_are_taken_at_once_than_asked_for),
        FACT(the_batch_grows_while_it_is_filled_and_shrinks_when_it_is_not),
        FACT(a_storm_is_taken_whole),
        FACT(a_stop_in_the_middle_of_a_batch_ends_it),
        FACT(a_caller_that_has_left_already_is_no_obstacle),
        FACT(deferring_is_switched_on_and_off),
        FACT(a_deferred_connection_comes_with_its_first_octets),
        FACT(two_loops_may_share_a_socket),
        FACT(accepting_stops_without_descriptors_and_goes_on_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
