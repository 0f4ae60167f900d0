/*
 * Facts about the output of streams, on the sim back end: its order, short windows, giving back,
 * back-pressure, and several streams in one loop. Input and ends: test_stream_input.c.
 */
#include "io/stream.h"
#include "random.h"
#include "support/sim_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Most of the facts are about one stream. */
static struct stream_owner *const owner = &net.owners[0];
static struct rv_stream *const stream = &net.owners[0].stream;

static struct rv_sim_peer *peer(void)
{
    return net.peers[0];
}

static void borrow(const char *text, int *released)
{
    assert_int_equal(rv_stream_write_borrowed(stream, rv_str(text), count_release, released), 0);
}

/* ---- output ------------------------------------------------------------------------------------ */

static void what_is_written_leaves_at_the_end_of_the_turn(void **state)
{
    (void)state;
    write_text(stream, "one ");
    write_text(stream, "two");
    expect_received(peer(), "");
    assert_false(rv_stream_is_sent(stream));
    turn();
    expect_received(peer(), "one two");
    assert_true(rv_stream_is_sent(stream));
    assert_int_equal(stream->sent, 7);
}

static void answer(struct stream_owner *to, char call)
{
    if (call == OWNER_DATA)
        write_text(&to->stream, "answer");
}

static void what_is_written_in_on_data_leaves_with_it(void **state)
{
    (void)state;
    owner->then = answer;
    assert_int_equal(rv_sim_send(peer(), RV_LIT("question")), 0);
    expect_received(peer(), "answer");
}

static void reserved_room_is_sent_as_far_as_it_is_committed(void **state)
{
    (void)state;
    char *room = rv_stream_reserve(stream, RV_PAGE_BYTES / 2);
    memcpy(room, "abc", 3);
    rv_stream_commit(stream, 3);
    room = rv_stream_reserve(stream, 10);
    memcpy(room, "def", 3);
    rv_stream_commit(stream, 3);
    turn();
    expect_received(peer(), "abcdef");
}

static void output_larger_than_the_page_arrives_whole(void **state)
{
    (void)state;
    size_t size = 3 * RV_PAGE_BYTES + 12345;
    char *octets = malloc(size);
    for (size_t i = 0; i < size; i++)
        octets[i] = (char)(i % 251);
    assert_int_equal(rv_stream_write(stream, rv_slice(octets, size)), 0);
    turn();
    assert_int_equal(rv_sim_received(peer())->len, size);
    assert_memory_equal(rv_sim_received(peer())->ptr, octets, size);
    free(octets);
}

static void an_idle_stream_holds_no_queue(void **state)
{
    (void)state;
    int released = 0;
    write_text(stream, "copied");
    borrow("borrowed", &released);
    turn();
    assert_null(stream->output);
    rv_sim_set_window(peer(), 0);
    write_text(stream, "copied");
    turn();
    assert_non_null(stream->output);
    rv_sim_set_window(peer(), UINT64_MAX);
    assert_null(stream->output);
    assert_null(net.loop.page_owner);
}

static void write_each_kind(int *released)
{
    write_text(stream, "copied,");
    borrow("borrowed,", released);
    write_text(stream, "copied again,");
    int file = file_of(RV_LIT("....file,...."));
    assert_int_equal(rv_stream_write_file(stream, file, 4, 5), 0);
    borrow("borrowed again,", released);
    file = file_of(RV_LIT("second file,"));
    assert_int_equal(rv_stream_write_file(stream, file, 0, 12), 0);
    write_text(stream, "end");
}

static const char each_kind[] = "copied,borrowed,copied again,file,borrowed again,second file,end";

static void copies_borrowed_octets_and_files_arrive_in_order(void **state)
{
    (void)state;
    int released = 0;
    write_each_kind(&released);
    turn();
    expect_received(peer(), each_kind);
    assert_int_equal(released, 2);
}

static void they_arrive_in_order_an_octet_at_a_time(void **state)
{
    (void)state;
    int released = 0;
    rv_sim_set_window(peer(), 0);
    write_each_kind(&released);
    turn();
    for (size_t i = 0; i < strlen(each_kind); i++) {
        expect_received(peer(), "");
        assert_int_equal(rv_stream_queued(stream), strlen(each_kind) - i);
        rv_sim_set_window(peer(), 1);
        expect_received(peer(), (char[]){each_kind[i], '\0'});
    }
    assert_int_equal(rv_stream_queued(stream), 0);
    assert_int_equal(released, 2);
}

static void they_arrive_in_order_whatever_the_window_was_when_they_were_written(void **state)
{
    (void)state;
    for (size_t window = 0; window <= strlen(each_kind); window++) {
        int released = 0;
        rv_sim_set_window(peer(), window);
        write_each_kind(&released);
        turn();
        rv_sim_set_window(peer(), UINT64_MAX);
        turn();
        expect_received(peer(), each_kind);
        assert_int_equal(released, 2);
    }
}

static void what_is_written_while_the_peer_is_full_goes_behind_what_is_queued(void **state)
{
    (void)state;
    rv_sim_set_window(peer(), 4);
    write_text(stream, "abcdefgh");
    turn();
    expect_received(peer(), "abcd");
    write_text(stream, "ijkl");
    turn();
    rv_sim_set_window(peer(), UINT64_MAX);
    expect_received(peer(), "efghijkl");
}

static void a_short_file_breaks_the_stream(void **state)
{
    (void)state;
    int file = file_of(RV_LIT("short"));
    assert_int_equal(rv_stream_write_file(stream, file, 0, 6), 0);
    expect_calls(owner, ""); /* not from inside the write */
    assert_int_equal(rv_stream_write(stream, RV_LIT("x")), RV_EGONE);
    turn();
    expect_calls(owner, "LC");
    assert_int_equal(owner->lost_error, RV_EIO);
    assert_true(rv_sim_is_closed(peer()));
    expect_received(peer(), "short");
    assert_false(is_open(file));
}

/* ---- giving back ------------------------------------------------------------------------------- */

static void borrowed_octets_are_released_when_they_are_sent(void **state)
{
    (void)state;
    int released = 0;
    rv_sim_set_window(peer(), 8);
    borrow("borrowed!", &released);
    assert_int_equal(released, 0);
    rv_sim_set_window(peer(), 1);
    assert_int_equal(released, 1);
    turn();
    assert_int_equal(released, 1);
}

static void borrowed_octets_are_released_when_the_stream_is_closed(void **state)
{
    (void)state;
    int released = 0, half_released = 0;
    rv_sim_set_window(peer(), 3);
    borrow("borrowed", &half_released);
    borrow("more", &released);
    rv_stream_close(stream);
    assert_int_equal(half_released, 1);
    assert_int_equal(released, 1);
    turn();
    assert_int_equal(half_released, 1);
    assert_int_equal(released, 1);
}

static void borrowed_octets_are_released_when_the_peer_is_lost(void **state)
{
    (void)state;
    int released = 0;
    rv_sim_set_window(peer(), 3);
    borrow("borrowed", &released);
    rv_sim_reset(peer());
    assert_int_equal(released, 1);
    turn();
    assert_int_equal(released, 1);
}

static void borrowed_octets_are_released_when_they_are_refused(void **state)
{
    (void)state;
    int released = 0;
    rv_stream_close(stream);
    assert_int_equal(rv_stream_write_borrowed(stream, RV_LIT("x"), count_release, &released),
                     RV_EGONE);
    assert_int_equal(released, 1);
}

static void no_borrowed_octets_are_released_at_once_or_behind_what_is_queued(void **state)
{
    (void)state;
    int released = 0;
    borrow("", &released);
    assert_int_equal(released, 1);
    rv_sim_set_window(peer(), 0);
    write_text(stream, "x");
    borrow("", &released);
    assert_int_equal(released, 1);
    rv_sim_set_window(peer(), 1);
    assert_int_equal(released, 2);
}

static void static_octets_need_no_release(void **state)
{
    (void)state;
    assert_int_equal(rv_stream_write_borrowed(stream, RV_LIT("static"), NULL, NULL), 0);
    expect_received(peer(), "static");
    rv_stream_close(stream);
    assert_int_equal(rv_stream_write_borrowed(stream, RV_LIT("static"), NULL, NULL), RV_EGONE);
}

static void a_file_is_closed_when_it_is_sent_dropped_or_refused(void **state)
{
    (void)state;
    int sent = file_of(RV_LIT("sent"));
    assert_int_equal(rv_stream_write_file(stream, sent, 0, 4), 0);
    assert_false(is_open(sent));

    rv_sim_set_window(peer(), 2);
    int dropped = file_of(RV_LIT("dropped"));
    assert_int_equal(rv_stream_write_file(stream, dropped, 0, 7), 0);
    assert_true(is_open(dropped));
    rv_stream_close(stream);
    assert_false(is_open(dropped));

    int refused = file_of(RV_LIT("refused"));
    assert_int_equal(rv_stream_write_file(stream, refused, 0, 7), RV_EGONE);
    assert_false(is_open(refused));
}

/* ---- back-pressure ----------------------------------------------------------------------------- */

static void queue_up(size_t size)
{
    char *octets = calloc(1, size);
    rv_sim_set_window(peer(), 0);
    assert_int_equal(rv_stream_write(stream, rv_slice(octets, size)), 0);
    turn();
    assert_int_equal(rv_stream_queued(stream), size);
    free(octets);
}

static void a_drain_is_told_once_under_the_low_water_mark(void **state)
{
    (void)state;
    queue_up(1000);
    rv_stream_want_drain(stream);
    turn();
    rv_sim_set_window(peer(), 900);
    turn();
    assert_int_equal(rv_stream_queued(stream), 100);
    expect_calls(owner, "");
    rv_sim_set_window(peer(), 1);
    expect_calls(owner, "R");
    rv_sim_set_window(peer(), UINT64_MAX);
    turn();
    expect_calls(owner, "R");
}

static void a_drain_that_nobody_wants_is_not_told(void **state)
{
    (void)state;
    queue_up(1000);
    rv_sim_set_window(peer(), UINT64_MAX);
    turn();
    expect_calls(owner, "");
}

static void a_drain_that_is_due_already_is_told_in_the_next_turn(void **state)
{
    (void)state;
    rv_stream_want_drain(stream);
    expect_calls(owner, "");
    turn();
    expect_calls(owner, "R");
    turn();
    expect_calls(owner, "R");
}

static void fill_again(struct stream_owner *to, char call)
{
    int *left = to->ctx;
    if (call != OWNER_DRAIN || (*left)-- == 0)
        return;
    char octets[500] = "";
    assert_int_equal(rv_stream_write(&to->stream, rv_slice(octets, sizeof octets)), 0);
    rv_stream_want_drain(&to->stream);
}

static void a_drained_owner_may_fill_the_stream_again(void **state)
{
    (void)state;
    int left = 3;
    owner->then = fill_again;
    owner->ctx = &left;
    queue_up(500);
    rv_stream_want_drain(stream);
    for (int i = 0; i < 20; i++) {
        rv_sim_set_window(peer(), 200);
        turn();
    }
    expect_calls(owner, "RRRR");
    assert_int_equal(rv_sim_received(peer())->len, 2000);
}

static void what_is_acknowledged_is_what_the_peer_has_taken(void **state)
{
    (void)state;
    queue_up(1000);
    assert_int_equal(rv_stream_acknowledged(stream), 0);
    rv_sim_set_window(peer(), 10);
    assert_int_equal(rv_stream_acknowledged(stream), 10);
    rv_stream_close(stream);
    assert_int_equal(rv_stream_acknowledged(stream), 10);
}

/* ---- several streams --------------------------------------------------------------------------- */

static void streams_share_the_page(void **state)
{
    (void)state;
    struct stream_owner *other = sim_net_connect();
    write_text(stream, "mine");
    write_text(&other->stream, "theirs"); /* needs the page: what is in it leaves */
    expect_received(net.peers[0], "mine");
    expect_received(net.peers[1], "");
    write_text(stream, " too");
    expect_received(net.peers[1], "theirs");
    turn();
    expect_received(net.peers[0], " too");
    expect_received(net.peers[1], "");
}

static void what_a_peer_does_not_take_of_the_page_stays_with_its_stream(void **state)
{
    (void)state;
    struct stream_owner *other = sim_net_connect();
    rv_sim_set_window(net.peers[0], 1);
    write_text(stream, "mine");
    write_text(&other->stream, "theirs");
    write_text(stream, " too");
    turn();
    rv_sim_set_window(net.peers[0], UINT64_MAX);
    expect_received(net.peers[0], "mine too");
    expect_received(net.peers[1], "theirs");
}

static struct rv_stream *victim;

static void close_victim(struct stream_owner *to, char call)
{
    (void)to;
    if (call == OWNER_AGAIN)
        rv_stream_close(victim);
}

static void a_stream_may_close_another_one(void **state)
{
    (void)state;
    struct stream_owner *culprit = sim_net_connect();
    culprit->then = close_victim;

    victim = stream; /* not in the turn */
    rv_stream_again(&culprit->stream);
    turn();
    expect_calls(owner, "C");

    struct stream_owner *second = sim_net_connect();
    victim = &second->stream; /* behind the culprit */
    rv_stream_again(victim);
    rv_stream_again(&culprit->stream);
    turn();
    turn();
    expect_calls(second, "C");

    struct stream_owner *third = sim_net_connect();
    victim = &third->stream; /* before the culprit */
    rv_stream_again(&culprit->stream);
    rv_stream_again(victim);
    turn();
    expect_calls(third, "AC");
    expect_calls(culprit, "AAA");
}

static void a_large_file_lets_other_streams_have_their_turn(void **state)
{
    (void)state;
    enum { SIZE = 3 * RV_TURN_SEND_BYTES };
    struct stream_owner *other = sim_net_connect();
    for (int i = 0; i < 2; i++) {
        int file = memfd_create("large", MFD_CLOEXEC);
        assert_int_equal(ftruncate(file, SIZE), 0);
        assert_int_equal(rv_stream_write_file(i == 0 ? stream : &other->stream, file, 0, SIZE), 0);
    }
    size_t before[2] = {0, 0};
    for (int turns = 0; turns < 10; turns++) {
        for (int i = 0; i < 2; i++) {
            size_t got = rv_sim_received(net.peers[i])->len;
            assert_true(got - before[i] <= RV_TURN_SEND_BYTES + 65536);
            if (turns == 1 || turns == 2)
                assert_true(got - before[i] >= RV_TURN_SEND_BYTES / 2);
            before[i] = got;
        }
        turn();
    }
    assert_int_equal(before[0], SIZE);
    assert_int_equal(before[1], SIZE);
}

/* ---- any mixture ------------------------------------------------------------------------------- */

#define MIXTURE_BYTES 400000

static char mixture[MIXTURE_BYTES];

/* Writes the next octets of the mixture in a way of chance; returns how many. */
static size_t write_some(size_t at, uint64_t *random, int *borrowed, int *released)
{
    size_t size = random_below(random, random_below(random, 10) == 0 ? 60000 : 500);
    if (size > MIXTURE_BYTES - at)
        size = MIXTURE_BYTES - at;
    rv_bytes octets = rv_slice(mixture + at, size);
    switch (random_below(random, 4)) {
    case 0:
        ++*borrowed;
        assert_int_equal(rv_stream_write_borrowed(stream, octets, count_release, released), 0);
        break;
    case 1:
        assert_int_equal(rv_stream_write_file(stream, file_of(octets), 0, size), 0);
        break;
    default:
        assert_int_equal(rv_stream_write(stream, octets), 0);
    }
    return size;
}

static void any_mixture_through_any_window_arrives_in_order(void **state)
{
    (void)state;
    uint64_t random = 7;
    struct stream_owner *other = sim_net_connect();
    for (size_t i = 0; i < MIXTURE_BYTES; i++)
        mixture[i] = (char)(random_next(&random) & 0xff);
    for (int round = 0; round < 10; round++) {
        int borrowed = 0, released = 0;
        for (size_t at = 0; at < MIXTURE_BYTES;) {
            at += write_some(at, &random, &borrowed, &released);
            if (random_below(&random, 4) == 0)
                rv_sim_set_window(peer(), random_below(&random, 3000));
            if (random_below(&random, 4) == 0)
                write_text(&other->stream, "-");
            if (random_below(&random, 4) == 0)
                turn();
        }
        rv_sim_set_window(peer(), UINT64_MAX);
        turn();
        struct rv_buffer *received = rv_sim_received(peer());
        assert_int_equal(received->len, MIXTURE_BYTES);
        assert_memory_equal(received->ptr, mixture, MIXTURE_BYTES);
        rv_buffer_consume(received, received->len);
        assert_int_equal(released, borrowed);
    }
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, sim_net_set_up, sim_net_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(what_is_written_leaves_at_the_end_of_the_turn),
        FACT(what_is_written_in_on_data_leaves_with_it),
        FACT(reserved_room_is_sent_as_far_as_it_is_committed),
        FACT(output_larger_than_the_page_arrives_whole),
        FACT(an_idle_stream_holds_no_queue),
        FACT(copies_borrowed_octets_and_files_arrive_in_order),
        FACT(they_arrive_in_order_an_octet_at_a_time),
        FACT(they_arrive_in_order_whatever_the_window_was_when_they_were_written),
        FACT(what_is_written_while_the_peer_is_full_goes_behind_what_is_queued),
        FACT(a_short_file_breaks_the_stream),
        FACT(borrowed_octets_are_released_when_they_are_sent),
        FACT(borrowed_octets_are_released_when_the_stream_is_closed),
        FACT(borrowed_octets_are_released_when_the_peer_is_lost),
        FACT(borrowed_octets_are_released_when_they_are_refused),
        FACT(no_borrowed_octets_are_released_at_once_or_behind_what_is_queued),
        FACT(static_octets_need_no_release),
        FACT(a_file_is_closed_when_it_is_sent_dropped_or_refused),
        FACT(a_drain_is_told_once_under_the_low_water_mark),
        FACT(a_drain_that_nobody_wants_is_not_told),
        FACT(a_drain_that_is_due_already_is_told_in_the_next_turn),
        FACT(a_drained_owner_may_fill_the_stream_again),
        FACT(what_is_acknowledged_is_what_the_peer_has_taken),
        FACT(streams_share_the_page),
        FACT(what_a_peer_does_not_take_of_the_page_stays_with_its_stream),
        FACT(a_stream_may_close_another_one),
        FACT(a_large_file_lets_other_streams_have_their_turn),
        FACT(any_mixture_through_any_window_arrives_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
