/*
 * Facts about octets that are skipped, on TCP, where they are not copied, and on unix sockets, where they
 * have to be read: both do the same. On the sim back end: test_sim_client.c.
 */
#include "support/client_net.h"
#include "support/sockets.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct stream_owner *const owner = &client_net.owner;
static struct rv_stream *const stream = &client_net.owner.stream;

static int set_up_tcp(void **state)
{
    client_net_set_up(state);
    client_connect("127.0.0.1:0");
    return 0;
}

static int set_up_unix(void **state)
{
    char text[64];
    snprintf(text, sizeof text, "unix:@rv-test-skip-%d", (int)getpid());
    client_net_set_up(state);
    client_connect(text);
    return 0;
}

static void peer_sends(const char *text)
{
    assert_true(send_text(client_net.peer, text));
}

static void expect_left(uint64_t octets)
{
    assert_int_equal(rv_stream_skip_left(stream), octets);
}

/* ---- how much -------------------------------------------------------------------------------------- */

static void a_skip_ends_with_its_last_octet(void **state)
{
    (void)state;
    expect_left(0);
    rv_stream_skip(stream, 5);
    expect_left(5);
    peer_sends("hello");
    client_expect_calls("OS");
    expect_left(0);
    assert_int_equal(client_net.loop.octets_received, 5);
    client_settle();
    assert_string_equal(owner->calls, "OS"); /* once */
    peer_sends("world");
    client_expect_calls("OSD");
    client_expect_data("world");
}

static void what_follows_in_the_same_segment_is_delivered(void **state)
{
    (void)state;
    rv_stream_skip(stream, 5);
    peer_sends("hello, world");
    client_expect_calls("OSD");
    client_expect_data(", world");
    assert_int_equal(client_net.loop.octets_received, 12);
}

static void a_skip_of_more_than_has_arrived_goes_on(void **state)
{
    (void)state;
    rv_stream_skip(stream, 10);
    peer_sends("hello");
    client_settle();
    assert_string_equal(owner->calls, "O");
    expect_left(5);
    peer_sends("hello, world");
    client_expect_calls("OSD");
    client_expect_data(", world");
}

static void a_second_skip_takes_the_place_of_the_first(void **state)
{
    (void)state;
    rv_stream_skip(stream, 1000);
    rv_stream_skip(stream, 2);
    peer_sends("abcd");
    client_expect_calls("OSD");
    client_expect_data("cd");
}

static void a_skip_of_nothing_ends_one(void **state)
{
    (void)state;
    rv_stream_skip(stream, 1000);
    rv_stream_skip(stream, 0);
    expect_left(0);
    peer_sends("abcd");
    client_expect_calls("OD");
    client_expect_data("abcd");
}

static void a_skip_without_end_drops_all(void **state)
{
    (void)state;
    rv_stream_skip(stream, UINT64_MAX);
    peer_sends("hello");
    client_settle();
    expect_left(UINT64_MAX);
    peer_sends("world");
    client_peer_closes();
    client_expect_calls("OE");
    assert_int_equal(client_net.loop.octets_received, 10);
}

static void *send_all(void *argument)
{
    rv_bytes *octets = argument;
    return send_octets(client_net.peer, *octets) ? argument : NULL;
}

/* 3 000 000 octets, of which all but the last nine are skipped; `between` is called between turns. */
static void skip_a_flood(void (*between)(void))
{
    enum { SIZE = 3000000, TAIL = 9 };
    char *octets = malloc(SIZE);
    memset(octets, '.', SIZE);
    memcpy(octets + SIZE - TAIL, "the tail.", TAIL);
    rv_bytes all = rv_slice(octets, SIZE);
    pthread_t thread;
    void *sent = NULL;
    rv_stream_skip(stream, SIZE - TAIL);
    assert_int_equal(pthread_create(&thread, NULL, send_all, &all), 0);
    for (int i = 0; i < 100000 && owner->data.len < TAIL; i++) {
        rv_loop_turn(&client_net.loop, 10);
        if (between != NULL)
            between();
    }
    pthread_join(thread, &sent);
    assert_non_null(sent);
    assert_string_equal(owner->calls, "OSD");
    client_expect_data("the tail.");
    assert_int_equal(client_net.loop.octets_received, SIZE);
    free(octets);
}

static void a_flood_is_skipped(void **state)
{
    (void)state;
    skip_a_flood(NULL);
}

static void pause_for_a_turn(void)
{
    rv_stream_pause(stream);
    uint64_t before = client_net.loop.octets_received;
    rv_loop_turn(&client_net.loop, 1);
    assert_int_equal(client_net.loop.octets_received, before);
    rv_stream_resume(stream);
}

static void a_skip_goes_on_across_pauses(void **state)
{
    (void)state;
    skip_a_flood(pause_for_a_turn);
}

/* ---- from inside the calls ------------------------------------------------------------------------- */

static void skip_three(struct stream_owner *of, char call)
{
    if (call != *(const char *)of->ctx)
        return;
    of->then = NULL;
    rv_stream_skip(&of->stream, 3);
}

static void a_skip_in_on_data_is_of_what_comes_behind(void **state)
{
    (void)state;
    owner->then = skip_three;
    owner->ctx = (char[]){OWNER_DATA};
    peer_sends("head");
    client_expect_calls("OD");
    client_expect_data("head");
    expect_left(3);
    peer_sends("abcde");
    client_expect_calls("ODSD");
    client_expect_data("headde");
}

static void a_skip_may_follow_a_skip(void **state)
{
    (void)state;
    owner->then = skip_three;
    owner->ctx = (char[]){OWNER_SKIPPED};
    rv_stream_skip(stream, 2);
    peer_sends("ab123de");
    client_expect_calls("OSSD");
    client_expect_data("de");
}

static void pause_in_skipped(struct stream_owner *of, char call)
{
    if (call == OWNER_SKIPPED)
        rv_stream_pause(&of->stream);
}

static void a_pause_in_on_skipped_holds_the_rest_back(void **state)
{
    (void)state;
    owner->then = pause_in_skipped;
    rv_stream_skip(stream, 5);
    peer_sends("hello, world");
    client_peer_closes();
    client_expect_calls("OS");
    client_settle();
    assert_string_equal(owner->calls, "OS");
    rv_stream_resume(stream);
    client_expect_calls("OSDE");
    client_expect_data(", world");
}

static void close_in_skipped(struct stream_owner *of, char call)
{
    if (call == OWNER_SKIPPED)
        rv_stream_close(&of->stream);
}

static void a_stream_may_be_closed_in_on_skipped(void **state)
{
    (void)state;
    owner->then = close_in_skipped;
    rv_stream_skip(stream, 5);
    peer_sends("hello, world");
    client_expect_calls("OSC");
}

static void write_in_skipped(struct stream_owner *of, char call)
{
    if (call == OWNER_SKIPPED)
        assert_int_equal(rv_stream_write(&of->stream, RV_LIT("the next request")), 0);
}

static void what_on_skipped_writes_leaves(void **state)
{
    (void)state;
    owner->then = write_in_skipped;
    rv_stream_skip(stream, 5);
    peer_sends("hello");
    client_expect_calls("OS");
    client_expect_at_peer("the next request");
}

/* ---- ends ------------------------------------------------------------------------------------------ */

static void a_fin_in_a_skip_is_told_with_what_is_missing(void **state)
{
    (void)state;
    rv_stream_skip(stream, 10);
    peer_sends("hello");
    client_peer_closes();
    client_expect_calls("OE");
    expect_left(5);
}

static void a_fin_behind_a_skip_is_told_behind_it(void **state)
{
    (void)state;
    rv_stream_skip(stream, 5);
    peer_sends("hello");
    client_peer_closes();
    client_expect_calls("OSE");
    expect_left(0);
}

static void a_reset_in_a_skip_is_told_with_what_is_missing(void **state)
{
    (void)state;
    rv_stream_skip(stream, 10);
    assert_int_equal(rv_stream_write(stream, RV_LIT("unread")), 0);
    rv_stream_flush(stream);
    peer_sends("hello");
    client_peer_closes(); /* without having read: a reset */
    client_expect_calls("OLC");
    expect_left(5);
    assert_int_equal(owner->error_number, ECONNRESET);
}

#define ON(kind, name)                                                                             \
    {                                                                                              \
#name " (" #kind ")", name, set_up_##kind, client_net_tear_down, NULL                      \
    }
#define FACT(name) ON(tcp, name), ON(unix, name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_skip_ends_with_its_last_octet),
        FACT(what_follows_in_the_same_segment_is_delivered),
        FACT(a_skip_of_more_than_has_arrived_goes_on),
        FACT(a_second_skip_takes_the_place_of_the_first),
        FACT(a_skip_of_nothing_ends_one),
        FACT(a_skip_without_end_drops_all),
        FACT(a_flood_is_skipped),
        FACT(a_skip_goes_on_across_pauses),
        FACT(a_skip_in_on_data_is_of_what_comes_behind),
        FACT(a_skip_may_follow_a_skip),
        FACT(a_pause_in_on_skipped_holds_the_rest_back),
        FACT(a_stream_may_be_closed_in_on_skipped),
        FACT(what_on_skipped_writes_leaves),
        FACT(a_fin_in_a_skip_is_told_with_what_is_missing),
        FACT(a_fin_behind_a_skip_is_told_behind_it),
        FACT(a_reset_in_a_skip_is_told_with_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
