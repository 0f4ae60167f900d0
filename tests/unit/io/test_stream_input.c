/*
 * Facts about the input of streams and about their ends, on the sim back end: pauses, discarding, the
 * timer, half-closes, finishing, closing, losing the peer. Output: test_stream.c.
 */
#include "io/stream.h"
#include "support/sim_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Most of the facts are about one stream. */
static struct stream_owner *const owner = &net.owners[0];
static struct rv_stream *const stream = &net.owners[0].stream;

static struct rv_sim_peer *peer(void)
{
    return net.peers[0];
}

/* ---- input ------------------------------------------------------------------------------------- */

static void expect_data(const struct stream_owner *of, const char *text)
{
    assert_int_equal(of->data.len, strlen(text));
    if (of->data.len > 0)
        assert_memory_equal(of->data.ptr, text, of->data.len);
}

static void what_arrives_is_told_at_once(void **state)
{
    (void)state;
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    expect_data(owner, "abc");
    assert_int_equal(rv_sim_send(peer(), RV_LIT("def")), 0);
    expect_data(owner, "abcdef");
    assert_int_equal(net.loop.octets_received, 6);
}

static void a_paused_stream_is_told_nothing_until_it_is_resumed(void **state)
{
    (void)state;
    rv_stream_pause(stream);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("def")), 0);
    turn();
    expect_calls(owner, "");
    rv_stream_resume(stream);
    expect_calls(owner, ""); /* from the loop, not from inside the call */
    turn();
    expect_data(owner, "abcdef");
    assert_int_equal(rv_sim_send(peer(), RV_LIT("ghi")), 0);
    expect_data(owner, "abcdefghi");
}

static void pause_on_data(struct stream_owner *to, char call)
{
    if (call == OWNER_DATA)
        rv_stream_pause(&to->stream);
}

static void a_pause_in_on_data_holds_the_rest_back(void **state)
{
    (void)state;
    size_t size = 2 * RV_RECEIVE_BYTES + 1;
    char *octets = malloc(size);
    for (size_t i = 0; i < size; i++)
        octets[i] = (char)(i % 251);
    owner->then = pause_on_data;
    assert_int_equal(rv_sim_send(peer(), rv_slice(octets, size)), 0);
    turn();
    assert_int_equal(owner->data.len, RV_RECEIVE_BYTES);
    rv_stream_resume(stream);
    turn();
    assert_int_equal(owner->data.len, 2 * RV_RECEIVE_BYTES);
    rv_stream_resume(stream);
    turn();
    assert_int_equal(owner->data.len, size);
    assert_memory_equal(owner->data.ptr, octets, size);
    free(octets);
}

static void a_resume_without_a_pause_changes_nothing(void **state)
{
    (void)state;
    rv_stream_resume(stream);
    turn();
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    expect_data(owner, "abc");
    expect_calls(owner, "D");
}

static void a_discarding_stream_drops_what_arrives(void **state)
{
    (void)state;
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    rv_stream_discard(stream);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("def")), 0);
    turn();
    expect_data(owner, "abc");
    assert_int_equal(net.loop.octets_received, 6);
    rv_sim_half_close(peer());
    expect_calls(owner, "DE");
}

static void discarding_ends_a_pause(void **state)
{
    (void)state;
    rv_stream_pause(stream);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    rv_sim_half_close(peer());
    rv_stream_discard(stream);
    turn();
    expect_calls(owner, "E");
}

static void another_go_is_given_once_in_the_next_turn(void **state)
{
    (void)state;
    rv_stream_again(stream);
    rv_stream_again(stream);
    expect_calls(owner, "");
    turn();
    expect_calls(owner, "A");
    turn();
    expect_calls(owner, "A");
}

static void ask_again(struct stream_owner *to, char call)
{
    if (call == OWNER_AGAIN)
        rv_stream_again(&to->stream);
}

static void another_go_asked_for_in_one_comes_a_turn_later(void **state)
{
    (void)state;
    owner->then = ask_again;
    rv_stream_again(stream);
    turn();
    expect_calls(owner, "A");
    turn();
    expect_calls(owner, "AA");
}

static void the_timer_fires_once_when_it_is_due(void **state)
{
    (void)state;
    rv_stream_set_timer(stream, net.loop.now_ms + 50);
    rv_sim_advance(&net.loop, 49);
    turn();
    expect_calls(owner, "");
    rv_sim_advance(&net.loop, 1);
    turn();
    expect_calls(owner, "T");
    rv_sim_advance(&net.loop, 1000);
    turn();
    expect_calls(owner, "T");
}

static void a_stopped_timer_does_not_fire(void **state)
{
    (void)state;
    rv_stream_set_timer(stream, net.loop.now_ms + 50);
    rv_stream_stop_timer(stream);
    rv_sim_advance(&net.loop, 100);
    turn();
    expect_calls(owner, "");
}

/* ---- the ends ---------------------------------------------------------------------------------- */

static void the_peers_end_comes_once_behind_its_data(void **state)
{
    (void)state;
    rv_stream_pause(stream);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("last words")), 0);
    rv_sim_half_close(peer());
    turn();
    expect_calls(owner, "");
    rv_stream_resume(stream);
    turn();
    turn();
    expect_calls(owner, "DE");
    expect_data(owner, "last words");
    assert_true(stream->ended);
}

static void a_stream_whose_peer_has_ended_can_still_write(void **state)
{
    (void)state;
    rv_sim_half_close(peer());
    expect_calls(owner, "E");
    write_text(stream, "farewell");
    turn();
    expect_received(peer(), "farewell");
    expect_calls(owner, "E");
}

static void a_finish_goes_behind_what_was_written(void **state)
{
    (void)state;
    rv_sim_set_window(peer(), 2);
    write_text(stream, "abcd");
    rv_stream_finish(stream);
    turn();
    assert_false(rv_sim_is_ended(peer()));
    rv_sim_set_window(peer(), 1);
    assert_false(rv_sim_is_ended(peer()));
    rv_sim_set_window(peer(), 1);
    assert_true(rv_sim_is_ended(peer()));
    assert_false(rv_sim_is_closed(peer()));
    expect_received(peer(), "abcd");
}

static void a_finished_stream_still_receives(void **state)
{
    (void)state;
    rv_stream_finish(stream);
    assert_true(rv_sim_is_ended(peer()));
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    rv_sim_half_close(peer());
    expect_calls(owner, "DE");
    expect_data(owner, "abc");
}

static void a_stream_is_closed_when_everything_is_sent(void **state)
{
    (void)state;
    int released = 0;
    rv_sim_set_window(peer(), 2);
    write_text(stream, "ab");
    assert_int_equal(rv_stream_write_borrowed(stream, RV_LIT("cd"), count_release, &released), 0);
    rv_stream_close_when_sent(stream);
    turn();
    assert_false(rv_sim_is_closed(peer()));
    expect_calls(owner, "");
    rv_sim_set_window(peer(), 2);
    assert_true(rv_sim_is_closed(peer()));
    turn();
    expect_received(peer(), "abcd");
    expect_calls(owner, "C");
    assert_int_equal(released, 1);
}

static void a_stream_with_nothing_to_send_is_closed_at_once(void **state)
{
    (void)state;
    rv_stream_close_when_sent(stream);
    assert_true(rv_sim_is_closed(peer()));
    turn();
    expect_calls(owner, "C");
}

static void closing_drops_what_is_not_sent(void **state)
{
    (void)state;
    rv_sim_set_window(peer(), 2);
    write_text(stream, "abcd");
    rv_stream_flush(stream);
    write_text(stream, "efgh");
    assert_int_equal(rv_stream_queued(stream), 6);
    rv_stream_close(stream);
    assert_int_equal(rv_stream_queued(stream), 0);
    rv_sim_set_window(peer(), UINT64_MAX);
    turn();
    expect_received(peer(), "ab");
    assert_null(net.loop.page_owner);
}

static void closing_drops_what_is_in_the_page(void **state)
{
    (void)state;
    write_text(stream, "abcd");
    rv_stream_close(stream);
    turn();
    expect_received(peer(), "");
}

static void the_owner_hears_of_the_end_once_at_the_end_of_the_turn(void **state)
{
    (void)state;
    rv_stream_close(stream);
    rv_stream_close(stream);
    expect_calls(owner, "");
    turn();
    turn();
    expect_calls(owner, "C");
}

static void a_closed_stream_takes_no_output(void **state)
{
    (void)state;
    rv_stream_close(stream);
    assert_int_equal(rv_stream_write(stream, RV_LIT("x")), RV_EGONE);
    assert_null(rv_stream_reserve(stream, 1));
    assert_int_equal(rv_stream_queued(stream), 0);
}

static void nothing_is_told_behind_the_end(void **state)
{
    (void)state;
    rv_stream_want_drain(stream);
    rv_stream_again(stream);
    rv_stream_set_timer(stream, net.loop.now_ms + 5);
    rv_stream_pause(stream);
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    rv_sim_half_close(peer());
    rv_stream_resume(stream);
    rv_stream_close(stream);
    rv_sim_advance(&net.loop, 100);
    turn();
    turn();
    expect_calls(owner, "C");
    assert_int_equal(rv_sim_send(peer(), RV_LIT("def")), RV_EGONE);
}

static void a_peer_that_resets_is_lost(void **state)
{
    (void)state;
    assert_int_equal(rv_sim_send(peer(), RV_LIT("abc")), 0);
    rv_sim_reset(peer());
    turn();
    expect_calls(owner, "DLC");
    assert_int_equal(owner->lost_error, RV_EGONE);
}

static void a_lost_stream_whose_peer_had_ended_is_told_both(void **state)
{
    (void)state;
    rv_sim_half_close(peer());
    rv_sim_reset(peer());
    turn();
    expect_calls(owner, "ELC");
}

/* `ctx` points to the call in which to close. */
static void close_in(struct stream_owner *to, char call)
{
    if (call == *(const char *)to->ctx)
        rv_stream_close(&to->stream);
}

static void a_stream_may_be_closed_in_any_of_its_calls(void **state)
{
    (void)state;
    static const char calls[] = {OWNER_DATA,  OWNER_END,  OWNER_DRAIN, OWNER_AGAIN,
                                 OWNER_TIMER, OWNER_LOST, OWNER_CLOSED};
    static const char *const expected[] = {"DC", "EC", "RC", "AC", "TC", "LC", "C"};
    for (size_t i = 0; i < sizeof calls; i++) {
        sim_net_tear_down(state);
        sim_net_set_up(state);
        owner->then = close_in;
        owner->ctx = (void *)(uintptr_t)&calls[i];
        rv_stream_set_timer(stream, net.loop.now_ms + 5);
        if (calls[i] == OWNER_DATA)
            rv_sim_send(peer(), RV_LIT("abc"));
        if (calls[i] == OWNER_END)
            rv_sim_half_close(peer());
        if (calls[i] == OWNER_DRAIN)
            rv_stream_want_drain(stream);
        if (calls[i] == OWNER_AGAIN)
            rv_stream_again(stream);
        if (calls[i] == OWNER_TIMER)
            rv_sim_advance(&net.loop, 10);
        if (calls[i] == OWNER_LOST)
            rv_sim_reset(peer());
        if (calls[i] == OWNER_CLOSED)
            rv_stream_close(stream);
        turn();
        turn();
        expect_calls(owner, expected[i]);
    }
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, sim_net_set_up, sim_net_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(what_arrives_is_told_at_once),
        FACT(a_paused_stream_is_told_nothing_until_it_is_resumed),
        FACT(a_pause_in_on_data_holds_the_rest_back),
        FACT(a_resume_without_a_pause_changes_nothing),
        FACT(a_discarding_stream_drops_what_arrives),
        FACT(discarding_ends_a_pause),
        FACT(another_go_is_given_once_in_the_next_turn),
        FACT(another_go_asked_for_in_one_comes_a_turn_later),
        FACT(the_timer_fires_once_when_it_is_due),
        FACT(a_stopped_timer_does_not_fire),
        FACT(the_peers_end_comes_once_behind_its_data),
        FACT(a_stream_whose_peer_has_ended_can_still_write),
        FACT(a_finish_goes_behind_what_was_written),
        FACT(a_finished_stream_still_receives),
        FACT(a_stream_is_closed_when_everything_is_sent),
        FACT(a_stream_with_nothing_to_send_is_closed_at_once),
        FACT(closing_drops_what_is_not_sent),
        FACT(closing_drops_what_is_in_the_page),
        FACT(the_owner_hears_of_the_end_once_at_the_end_of_the_turn),
        FACT(a_closed_stream_takes_no_output),
        FACT(nothing_is_told_behind_the_end),
        FACT(a_peer_that_resets_is_lost),
        FACT(a_lost_stream_whose_peer_had_ended_is_told_both),
        FACT(a_stream_may_be_closed_in_any_of_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
