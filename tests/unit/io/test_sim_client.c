/*
 * Facts about clients on the sim back end, whose driver plays the server: it decides about attempts to
 * connect, and the streams then skip, are lost and ring alarms as they do on real sockets.
 */
#include "io/sim.h"
#include "support/stream_owner.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rv_loop loop;
static struct stream_owner owners[3];
static unsigned opened;
static struct rv_sim_peer *server; /* of the first owner, once it is taken */
static struct rv_stream *const stream = &owners[0].stream;
static unsigned rings;

static void ring(struct rv_loop *of)
{
    (void)of;
    rings++;
}

static int set_up(void **state)
{
    (void)state;
    memset(owners, 0, sizeof owners);
    opened = rings = 0;
    server = NULL;
    assert_int_equal(rv_loop_open(&loop, &rv_backend_sim, NULL), 0);
    loop.on_alarm = ring;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < opened; i++)
        stream_owner_end(&owners[i]);
    rv_sim_peer_free(server);
    assert_int_equal(rv_sim_attempts(&loop), 0);
    assert_int_equal(loop.segments.taken, 0);
    rv_loop_close(&loop);
    return 0;
}

static int begin(void)
{
    static const struct sockaddr anywhere = {.sa_family = AF_INET};
    struct rv_connect_to to = {.peer = &anywhere, .peer_length = sizeof anywhere};
    int error_number = stream_owner_connect(&owners[opened], &loop, &to);
    if (error_number == 0)
        opened++;
    return error_number;
}

static void begin_and_take(void)
{
    assert_int_equal(begin(), 0);
    server = rv_sim_take(&loop);
    assert_non_null(server);
}

static void connect_stream(void)
{
    begin_and_take();
    rv_sim_accept(server);
}

static void turn(void)
{
    rv_loop_turn(&loop, 0);
}

static void expect_calls(const char *calls)
{
    assert_string_equal(owners[0].calls, calls);
}

static void server_sends(const char *text)
{
    assert_int_equal(rv_sim_send(server, rv_str(text)), 0);
}

static void expect_at_server(const char *text)
{
    struct rv_buffer *received = rv_sim_received(server);
    assert_int_equal(received->len, strlen(text));
    if (received->len > 0)
        assert_memory_equal(received->ptr, text, received->len);
    rv_buffer_consume(received, received->len);
}

static void expect_data(const char *text)
{
    assert_int_equal(owners[0].data.len, strlen(text));
    if (owners[0].data.len > 0)
        assert_memory_equal(owners[0].data.ptr, text, strlen(text));
}

/* ---- attempts -------------------------------------------------------------------------------------- */

static void an_accepted_attempt_is_a_connection(void **state)
{
    (void)state;
    assert_int_equal(begin(), 0);
    turn();
    expect_calls("");
    assert_int_equal(rv_sim_attempts(&loop), 1);
    server = rv_sim_take(&loop);
    assert_int_equal(rv_sim_attempts(&loop), 0);
    rv_sim_accept(server);
    expect_calls("O");
    assert_int_equal(rv_stream_write(stream, RV_LIT("ping")), 0);
    turn();
    expect_at_server("ping");
    server_sends("pong");
    rv_sim_half_close(server);
    expect_calls("ODE");
    expect_data("pong");
    rv_stream_close(stream);
    assert_true(rv_sim_is_closed(server));
}

static void a_refused_attempt_is_told_its_errno(void **state)
{
    (void)state;
    begin_and_take();
    rv_sim_refuse(server, ETIMEDOUT);
    turn();
    expect_calls("LC");
    assert_int_equal(owners[0].error_number, ETIMEDOUT);
    assert_true(rv_sim_is_closed(server));
}

static void a_reset_refuses_an_attempt(void **state)
{
    (void)state;
    begin_and_take();
    rv_sim_reset(server);
    turn();
    expect_calls("LC");
    assert_int_equal(owners[0].error_number, ECONNREFUSED);
}

static void an_attempt_is_decided_once(void **state)
{
    (void)state;
    connect_stream();
    rv_sim_accept(server);
    rv_sim_refuse(server, ECONNREFUSED);
    expect_calls("O");
}

static void attempts_are_taken_in_order_and_may_be_left_hanging(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin(), 0);
    assert_int_equal(rv_sim_attempts(&loop), 3);
    server = rv_sim_take(&loop); /* hangs */
    struct rv_sim_peer *second = rv_sim_take(&loop), *third = rv_sim_take(&loop);
    assert_null(rv_sim_take(&loop));
    rv_sim_accept(third);
    rv_sim_refuse(second, ECONNREFUSED);
    turn();
    expect_calls("");
    assert_string_equal(owners[1].calls, "LC");
    assert_string_equal(owners[2].calls, "O");
    rv_sim_peer_free(second);
    rv_sim_peer_free(third);
    turn();
    assert_string_equal(owners[2].calls, "OLC");
    rv_stream_set_timer(stream, loop.now_ms + 100);
    rv_sim_advance(&loop, 100);
    turn();
    expect_calls("T");
}

static void an_attempt_that_is_given_up_leaves_the_queue(void **state)
{
    (void)state;
    assert_int_equal(begin(), 0);
    assert_int_equal(begin(), 0);
    rv_stream_close(stream);
    assert_int_equal(rv_sim_attempts(&loop), 1);
    turn();
    expect_calls("C");
}

static void one_that_was_taken_is_seen_to_be_given_up(void **state)
{
    (void)state;
    begin_and_take();
    assert_int_equal(rv_sim_send(server, RV_LIT("too early")), RV_EGONE);
    rv_sim_half_close(server);
    rv_stream_close(stream);
    assert_true(rv_sim_is_closed(server));
    rv_sim_accept(server);
    turn();
    expect_calls("C");
}

static void an_undecided_attempt_that_is_freed_is_refused(void **state)
{
    (void)state;
    begin_and_take();
    rv_sim_peer_free(server);
    server = NULL;
    turn();
    expect_calls("LC");
    assert_int_equal(owners[0].error_number, ECONNREFUSED);
}

static void attempts_can_be_made_to_fail_at_once(void **state)
{
    (void)state;
    rv_sim_fail_attempts(&loop, EMFILE);
    assert_int_equal(begin(), EMFILE);
    assert_int_equal(rv_sim_attempts(&loop), 0);
    rv_sim_fail_attempts(&loop, 0);
    assert_int_equal(begin(), 0);
}

static void what_is_written_while_it_hangs_leaves_when_accepted(void **state)
{
    (void)state;
    begin_and_take();
    assert_int_equal(rv_stream_write(stream, RV_LIT("early")), 0);
    rv_stream_finish(stream);
    turn();
    expect_at_server("");
    rv_sim_accept(server);
    expect_at_server("early");
    assert_true(rv_sim_is_ended(server));
}

static void a_lost_connection_tells_its_errno(void **state)
{
    (void)state;
    connect_stream();
    rv_sim_reset(server);
    turn();
    expect_calls("OLC");
    assert_int_equal(owners[0].error_number, ECONNRESET);
}

/* ---- skipping -------------------------------------------------------------------------------------- */

static void a_skip_ends_inside_a_segment(void **state)
{
    (void)state;
    connect_stream();
    rv_stream_skip(stream, 7);
    server_sends("hello");
    assert_int_equal(rv_stream_skip_left(stream), 2);
    server_sends(", world");
    expect_calls("OSD");
    expect_data("world");
    assert_int_equal(loop.octets_received, 12);
}

static void a_long_skip_goes_on_across_a_pause(void **state)
{
    (void)state;
    size_t size = 3 * RV_RECEIVE_BYTES;
    char *octets = calloc(1, size);
    connect_stream();
    rv_stream_skip(stream, size - 1);
    rv_stream_pause(stream);
    assert_int_equal(rv_sim_send(server, rv_slice(octets, size)), 0);
    turn();
    assert_int_equal(rv_stream_skip_left(stream), size - 1);
    rv_stream_resume(stream);
    turn();
    expect_calls("OSD");
    assert_int_equal(owners[0].data.len, 1);
    free(octets);
}

static void skip_again(struct stream_owner *of, char call)
{
    if (call == OWNER_DATA || call == OWNER_SKIPPED) {
        of->then = call == OWNER_DATA ? skip_again : NULL;
        rv_stream_skip(&of->stream, 2);
    }
}

static void skips_may_begin_in_on_data_and_in_on_skipped(void **state)
{
    (void)state;
    connect_stream();
    owners[0].then = skip_again;
    server_sends("head");
    server_sends("aabbtail");
    expect_calls("ODSSD");
    expect_data("headtail");
}

static void a_fin_in_a_skip_leaves_what_is_missing(void **state)
{
    (void)state;
    connect_stream();
    rv_stream_skip(stream, 7);
    server_sends("hello");
    rv_sim_half_close(server);
    expect_calls("OE");
    assert_int_equal(rv_stream_skip_left(stream), 2);
}

/* ---- the clock ------------------------------------------------------------------------------------- */

static void the_clock_moves_by_microseconds(void **state)
{
    (void)state;
    uint64_t start_ns = rv_loop_clock_ns(&loop);
    uint64_t start_ms = loop.now_ms;
    assert_int_equal(start_ns / 1000000, start_ms);
    rv_sim_advance_us(&loop, 1999);
    turn();
    assert_int_equal(rv_loop_clock_ns(&loop), start_ns + 1999000);
    assert_int_equal(loop.now_ms, start_ms + 1);
    rv_sim_advance(&loop, 3);
    assert_int_equal(rv_loop_clock_ns(&loop), start_ns + 4999000);
}

static void an_alarm_rings_at_its_nanosecond(void **state)
{
    (void)state;
    loop.alarm_ns = rv_loop_clock_ns(&loop) + 250000;
    rv_sim_advance_us(&loop, 249);
    turn();
    assert_int_equal(rings, 0);
    rv_sim_advance_us(&loop, 1);
    turn();
    turn();
    assert_int_equal(rings, 1);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(an_accepted_attempt_is_a_connection),
        FACT(a_refused_attempt_is_told_its_errno),
        FACT(a_reset_refuses_an_attempt),
        FACT(an_attempt_is_decided_once),
        FACT(attempts_are_taken_in_order_and_may_be_left_hanging),
        FACT(an_attempt_that_is_given_up_leaves_the_queue),
        FACT(one_that_was_taken_is_seen_to_be_given_up),
        FACT(an_undecided_attempt_that_is_freed_is_refused),
        FACT(attempts_can_be_made_to_fail_at_once),
        FACT(what_is_written_while_it_hangs_leaves_when_accepted),
        FACT(a_lost_connection_tells_its_errno),
        FACT(a_skip_ends_inside_a_segment),
        FACT(a_long_skip_goes_on_across_a_pause),
        FACT(skips_may_begin_in_on_data_and_in_on_skipped),
        FACT(a_fin_in_a_skip_leaves_what_is_missing),
        FACT(the_clock_moves_by_microseconds),
        FACT(an_alarm_rings_at_its_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
