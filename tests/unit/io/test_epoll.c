/*
 * Facts about the epoll back end, with streams on real sockets: receiving, pausing, short writes to a
 * peer with small buffers, FIN and reset, and waking a loop.
 */
#include "base/clock.h"
#include "io/address.h"
#include "io/backend.h"
#include "support/sockets.h"
#include "support/stream_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LINKS_MAX 200

static struct rv_loop loop;
static int listening;
static struct rv_address address;
static char address_text[RV_ADDRESS_TEXT_MAX];

/* A stream and its peer's end. */
static struct link {
    struct stream_owner owner;
    int peer;
} links[LINKS_MAX];
static unsigned link_count;

static int set_up(void **state)
{
    (void)state;
    static const struct rv_listen_options options = {.backlog = LINKS_MAX};
    char why[RV_WHY_MAX];
    link_count = 0;
    memset(links, 0, sizeof links);
    assert_int_equal(rv_loop_open(&loop, &rv_backend_epoll, NULL), 0);
    loop.output_low_bytes = 100;
    assert_int_equal(rv_address_parse("127.0.0.1:0", &address, why), 0);
    assert_int_equal(rv_address_listen(&address, &options, &listening, why), 0);
    rv_address_format((struct sockaddr *)&address.sockaddr, address.length, address_text,
                      sizeof address_text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < link_count; i++) {
        stream_owner_end(&links[i].owner);
        if (links[i].peer >= 0)
            close(links[i].peer);
    }
    assert_int_equal(loop.segments.taken, 0);
    rv_loop_close(&loop);
    close(listening);
    return 0;
}

/* The two ends are connected; the stream is not open yet. */
static int connect_peer(struct link *link, bool narrow)
{
    link->peer = narrow ? dial_narrow(address_text) : dial(address_text);
    assert_true(link->peer >= 0);
    fcntl(listening, F_SETFL, 0);
    int descriptor = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(descriptor >= 0);
    int small = 1; /* becomes the least that the kernel allows */
    if (narrow)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    return descriptor;
}

static struct link *connect_link(bool narrow)
{
    struct link *link = &links[link_count++];
    stream_owner_open(&link->owner, &loop, connect_peer(link, narrow), true);
    return link;
}

/* Turns the loop until the owner was told `calls`, in a second or so. */
static void expect_calls(const struct stream_owner *owner, const char *calls)
{
    for (int i = 0; i < 100 && strcmp(owner->calls, calls) != 0; i++)
        rv_loop_turn(&loop, 10);
    assert_string_equal(owner->calls, calls);
}

static void expect_data(const struct stream_owner *owner, const char *text)
{
    for (int i = 0; i < 100 && owner->data.len < strlen(text); i++)
        rv_loop_turn(&loop, 10);
    assert_int_equal(owner->data.len, strlen(text));
    assert_memory_equal(owner->data.ptr, text, strlen(text));
}

/* A few turns in which whatever is going to happen happens. */
static void settle(void)
{
    for (int i = 0; i < 5; i++)
        rv_loop_turn(&loop, 10);
}

/* `size` octets that no mix-up leaves as they are. */
static char *pattern_of(size_t size)
{
    char *octets = malloc(size);
    assert_non_null(octets);
    for (size_t i = 0; i < size; i++)
        octets[i] = (char)(i % 251);
    return octets;
}

/* ---- receiving --------------------------------------------------------------------------------- */

static void what_is_there_already_is_delivered_at_once(void **state)
{
    (void)state;
    struct link *link = &links[link_count++];
    int descriptor = connect_peer(link, false);
    assert_true(send_text(link->peer, "early"));
    usleep(10000);
    stream_owner_open(&link->owner, &loop, descriptor, true);
    assert_string_equal(link->owner.calls, "D");
    expect_data(&link->owner, "early");
}

static void what_comes_later_wakes_the_loop(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    settle();
    assert_string_equal(link->owner.calls, "");
    assert_true(send_text(link->peer, "one "));
    expect_data(&link->owner, "one ");
    assert_true(send_text(link->peer, "two"));
    expect_data(&link->owner, "one two");
    assert_int_equal(loop.octets_received, 7);
}

struct sending {
    int socket;
    char *octets;
    size_t size;
};

static void *send_all(void *argument)
{
    struct sending *sending = argument;
    return send_octets(sending->socket, rv_slice(sending->octets, sending->size)) ? argument : NULL;
}

static void a_flood_arrives_whole_and_in_order(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    struct sending sending = {link->peer, pattern_of(5000000), 5000000};
    pthread_t thread;
    void *sent = NULL;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sending), 0);
    for (int i = 0; i < 5000 && link->owner.data.len < sending.size; i++)
        rv_loop_turn(&loop, 100);
    pthread_join(thread, &sent);
    assert_non_null(sent);
    assert_int_equal(link->owner.data.len, sending.size);
    assert_memory_equal(link->owner.data.ptr, sending.octets, sending.size);
    free(sending.octets);
}

static void a_flood_lets_other_streams_have_their_turn(void **state)
{
    (void)state;
    struct link *flooded = connect_link(false), *other = connect_link(false);
    char *octets = pattern_of(4000000);
    fcntl(flooded->peer, F_SETFL, O_NONBLOCK);
    ssize_t sent, total = 0;
    while ((sent = send(flooded->peer, octets, 4000000, 0)) > 0)
        total += sent;
    assert_true(send_text(other->peer, "me too"));
    usleep(20000);
    size_t before = flooded->owner.data.len;
    rv_loop_turn(&loop, 100);
    assert_true(flooded->owner.data.len - before <= 4 * RV_RECEIVE_BYTES);
    assert_int_equal(other->owner.data.len, 6);
    for (int i = 0; i < 1000 && flooded->owner.data.len < (size_t)total; i++)
        rv_loop_turn(&loop, 100);
    assert_int_equal(flooded->owner.data.len, total);
    free(octets);
}

static void a_paused_stream_is_not_read(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    rv_stream_pause(&link->owner.stream);
    assert_true(send_text(link->peer, "one "));
    settle();
    assert_true(send_text(link->peer, "two"));
    settle();
    assert_string_equal(link->owner.calls, "");
    rv_stream_resume(&link->owner.stream);
    expect_data(&link->owner, "one two");
}

static void pause_once(struct stream_owner *owner, char call)
{
    if (call == OWNER_DATA)
        rv_stream_pause(&owner->stream);
}

static void a_pause_in_on_data_loses_nothing(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    struct sending sending = {link->peer, pattern_of(1000000), 1000000};
    pthread_t thread;
    link->owner.then = pause_once;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sending), 0);
    for (int i = 0; i < 5000 && link->owner.data.len < sending.size; i++) {
        rv_loop_turn(&loop, 10);
        rv_stream_resume(&link->owner.stream);
    }
    pthread_join(thread, NULL);
    assert_int_equal(link->owner.data.len, sending.size);
    assert_memory_equal(link->owner.data.ptr, sending.octets, sending.size);
    free(sending.octets);
}

static void a_discarding_stream_drops_what_comes(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    char *octets = pattern_of(300000);
    rv_stream_discard(&link->owner.stream);
    struct sending sending = {link->peer, octets, 300000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sending), 0);
    for (int i = 0; i < 1000 && loop.octets_received < 300000; i++)
        rv_loop_turn(&loop, 10);
    pthread_join(thread, NULL);
    assert_int_equal(loop.octets_received, 300000);
    shutdown(link->peer, SHUT_WR);
    expect_calls(&link->owner, "E");
    assert_int_equal(link->owner.data.len, 0);
    free(octets);
}

static void a_unix_socket_streams_the_same_way(void **state)
{
    (void)state;
    int ends[2];
    struct link *link = &links[link_count++];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    link->peer = ends[1];
    stream_owner_open(&link->owner, &loop, ends[0], false);
    assert_true(send_text(link->peer, "abc"));
    expect_data(&link->owner, "abc");
    rv_stream_discard(&link->owner.stream);
    assert_true(send_text(link->peer, "dropped"));
    settle();
    assert_int_equal(rv_stream_write(&link->owner.stream, RV_LIT("answer")), 0);
    settle();
    assert_int_equal(receive_for(link->peer, 0), 6);
    shutdown(link->peer, SHUT_WR);
    expect_calls(&link->owner, "DE");
    expect_data(&link->owner, "abc");
}

static void many_streams_get_each_their_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LINKS_MAX; i++)
        connect_link(false);
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "to %u", i);
        assert_true(send_text(links[i].peer, text));
    }
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "to %u", i);
        expect_data(&links[i].owner, text);
    }
}

/* ---- ends -------------------------------------------------------------------------------------- */

static void a_fin_is_told_once_behind_the_data(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    assert_true(send_text(link->peer, "last words"));
    shutdown(link->peer, SHUT_WR);
    expect_calls(&link->owner, "DE");
    expect_data(&link->owner, "last words");
    settle();
    assert_string_equal(link->owner.calls, "DE");
    assert_int_equal(rv_stream_write(&link->owner.stream, RV_LIT("farewell")), 0);
    settle();
    assert_int_equal(receive_for(link->peer, 0), 8);
}

static void a_fin_that_is_there_already_is_told_at_once(void **state)
{
    (void)state;
    struct link *link = &links[link_count++];
    int descriptor = connect_peer(link, false);
    assert_true(send_text(link->peer, "all"));
    shutdown(link->peer, SHUT_WR);
    usleep(10000);
    stream_owner_open(&link->owner, &loop, descriptor, true);
    expect_calls(&link->owner, "DE");
}

static void a_fin_during_a_pause_waits(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    rv_stream_pause(&link->owner.stream);
    assert_true(send_text(link->peer, "abc"));
    shutdown(link->peer, SHUT_WR);
    settle();
    assert_string_equal(link->owner.calls, "");
    rv_stream_resume(&link->owner.stream);
    expect_calls(&link->owner, "DE");
}

static void a_fin_behind_much_that_is_unread_is_told(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    struct sending sending = {link->peer, pattern_of(1000000), 1000000};
    pthread_t thread;
    link->owner.then = pause_once;
    assert_int_equal(pthread_create(&thread, NULL, send_all, &sending), 0);
    for (int i = 0; i < 5000 && link->owner.data.len < 500000; i++) {
        rv_loop_turn(&loop, 10);
        rv_stream_resume(&link->owner.stream);
    }
    pthread_join(thread, NULL);
    shutdown(link->peer, SHUT_WR);
    for (int i = 0; i < 1000 && !link->owner.stream.ended; i++) {
        rv_loop_turn(&loop, 10);
        rv_stream_resume(&link->owner.stream);
    }
    assert_string_equal(link->owner.calls, "DE");
    assert_int_equal(link->owner.data.len, sending.size);
    free(sending.octets);
}

static void a_reset_loses_the_peer(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    settle();
    hang_up(link->peer);
    link->peer = -1;
    expect_calls(&link->owner, "LC");
    assert_int_equal(link->owner.lost_error, RV_EGONE);
}

static void a_reset_during_a_pause_loses_the_peer(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    rv_stream_pause(&link->owner.stream);
    assert_true(send_text(link->peer, "abc"));
    settle();
    hang_up(link->peer);
    link->peer = -1;
    expect_calls(&link->owner, "LC");
}

/* Writes until it is noticed that nobody is there. */
static void expect_lost_by_writing(struct link *link)
{
    for (int i = 0; i < 100 && !stream_owner_is_closed(&link->owner); i++) {
        rv_stream_write(&link->owner.stream, RV_LIT("anybody there?"));
        rv_loop_turn(&loop, 10);
    }
    assert_true(stream_owner_is_closed(&link->owner));
    assert_non_null(strchr(link->owner.calls, OWNER_LOST));
}

static void writing_to_a_peer_that_has_closed_loses_it_without_a_signal(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    close(link->peer); /* a FIN; what is written now is answered with a reset */
    link->peer = -1;
    expect_lost_by_writing(link);
}

static void sending_a_file_to_a_peer_that_has_closed_loses_it(void **state)
{
    (void)state;
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before); /* as in a worker */
    struct link *link = connect_link(false);
    int file = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, 50000000), 0);
    close(link->peer);
    link->peer = -1;
    assert_int_equal(rv_stream_write_file(&link->owner.stream, file, 0, 50000000), 0);
    for (int i = 0; i < 200 && !stream_owner_is_closed(&link->owner); i++)
        rv_loop_turn(&loop, 10);
    assert_non_null(strchr(link->owner.calls, OWNER_LOST));
    assert_int_equal(fcntl(file, F_GETFD), -1);
    sigtimedwait(&pipe, NULL, &(struct timespec){0}); /* takes the one that is pending, if any */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void a_finished_stream_shows_the_peer_its_end(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    char octets[8];
    assert_int_equal(rv_stream_write(&link->owner.stream, RV_LIT("end")), 0);
    rv_stream_finish(&link->owner.stream);
    settle();
    assert_int_equal(recv(link->peer, octets, sizeof octets, 0), 3);
    assert_int_equal(recv(link->peer, octets, sizeof octets, 0), 0);
    assert_true(send_text(link->peer, "still here"));
    expect_data(&link->owner, "still here");
}

static void a_closed_stream_gives_its_descriptor_back(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    int descriptor = link->owner.stream.descriptor;
    char octet;
    rv_stream_close(&link->owner.stream);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1);
    assert_int_equal(recv(link->peer, &octet, 1, 0), 0);
    expect_calls(&link->owner, "C");
}

/* ---- short writes ------------------------------------------------------------------------------ */

static void count_release(void *ctx)
{
    ++*(int *)ctx;
}

/* Reads all that the stream has to send, a little at a time, while the loop turns. */
static void expect_to_receive(struct link *link, const char *octets, size_t size)
{
    char *received = malloc(size);
    size_t got = 0;
    for (int i = 0; i < 200000 && got < size; i++) {
        ssize_t count =
            recv(link->peer, received + got, size - got < 3000 ? size - got : 3000, MSG_DONTWAIT);
        if (count > 0)
            got += (size_t)count;
        else
            rv_loop_turn(&loop, 5);
    }
    assert_int_equal(got, size);
    assert_memory_equal(received, octets, size);
    assert_int_equal(recv(link->peer, received, 1, MSG_DONTWAIT), -1);
    free(received);
}

static void output_of_every_kind_reaches_a_narrow_peer_in_order(void **state)
{
    (void)state;
    enum { PART = 150000 };
    struct link *link = connect_link(true);
    struct rv_stream *stream = &link->owner.stream;
    char *octets = pattern_of(4 * PART);
    int released = 0;
    int file = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(pwrite(file, octets + 2 * PART, PART, 100), PART);
    assert_int_equal(rv_stream_write(stream, rv_slice(octets, PART)), 0);
    assert_int_equal(
        rv_stream_write_borrowed(stream, rv_slice(octets + PART, PART), count_release, &released),
        0);
    assert_int_equal(rv_stream_write_file(stream, file, 100, PART), 0);
    assert_int_equal(rv_stream_write(stream, rv_slice(octets + 3 * PART, PART)), 0);
    settle();
    assert_true(rv_stream_queued(stream) > 2 * PART);
    assert_int_equal(released, 0);
    expect_to_receive(link, octets, 4 * PART);
    assert_int_equal(released, 1);
    assert_null(stream->output);
    assert_int_equal(fcntl(file, F_GETFD), -1);
    free(octets);
}

static void a_full_peer_is_heard_of_when_it_has_room(void **state)
{
    (void)state;
    struct link *link = connect_link(true);
    char *octets = pattern_of(100000);
    assert_int_equal(rv_stream_write(&link->owner.stream, rv_slice(octets, 100000)), 0);
    rv_stream_want_drain(&link->owner.stream);
    settle();
    assert_string_equal(link->owner.calls, "");
    assert_true(rv_stream_queued(&link->owner.stream) > 0);
    expect_to_receive(link, octets, 100000);
    expect_calls(&link->owner, "R");
    free(octets);
}

static void what_was_written_when_it_is_closed_later_still_arrives(void **state)
{
    (void)state;
    struct link *link = connect_link(true);
    char *octets = pattern_of(100000);
    assert_int_equal(rv_stream_write(&link->owner.stream, rv_slice(octets, 100000)), 0);
    rv_stream_close_when_sent(&link->owner.stream);
    settle();
    assert_string_equal(link->owner.calls, "");
    size_t got = 0;
    for (int i = 0; i < 10000 && got < 100000; i++) {
        ssize_t count = recv(link->peer, octets, 3000, MSG_DONTWAIT);
        if (count > 0)
            got += (size_t)count;
        else
            rv_loop_turn(&loop, 5);
    }
    assert_int_equal(got, 100000);
    expect_calls(&link->owner, "C");
    assert_int_equal(recv(link->peer, octets, 1, 0), 0);
    free(octets);
}

static void what_the_peers_kernel_has_is_acknowledged(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    struct rv_stream *stream = &link->owner.stream;
    assert_int_equal(rv_stream_acknowledged(stream), 0);
    assert_int_equal(rv_stream_write(stream, RV_LIT("ten octets")), 0);
    for (int i = 0; i < 100 && rv_stream_acknowledged(stream) < 10; i++)
        rv_loop_turn(&loop, 10);
    assert_int_equal(rv_stream_acknowledged(stream), 10);

    struct link *narrow = connect_link(true);
    char *octets = pattern_of(500000);
    assert_int_equal(rv_stream_write(&narrow->owner.stream, rv_slice(octets, 500000)), 0);
    settle();
    uint64_t before = rv_stream_acknowledged(&narrow->owner.stream);
    assert_true(before < 500000);
    expect_to_receive(narrow, octets, 500000);
    for (int i = 0; i < 100 && rv_stream_acknowledged(&narrow->owner.stream) < 500000; i++)
        rv_loop_turn(&loop, 10);
    assert_int_equal(rv_stream_acknowledged(&narrow->owner.stream), 500000);
    free(octets);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static void note_run(struct rv_message *message, void *owner)
{
    (void)owner;
    message->run = NULL; /* it has run */
}

static void *post_later(void *argument)
{
    usleep(20000);
    rv_loop_post(&loop, argument);
    return NULL;
}

static void a_message_from_another_thread_wakes_the_loop(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct rv_message message = {.run = note_run};
        pthread_t thread;
        uint64_t before = rv_clock_monotonic_ms();
        assert_int_equal(pthread_create(&thread, NULL, post_later, &message), 0);
        while (message.run != NULL)
            rv_loop_turn(&loop, 5000);
        pthread_join(thread, NULL);
        assert_true(rv_clock_monotonic_ms() - before < 3000);
    }
}

static void a_timer_ends_the_wait(void **state)
{
    (void)state;
    struct link *link = connect_link(false);
    settle();
    uint64_t start = rv_clock_monotonic_ms();
    loop.backend->read_clock(&loop);
    rv_stream_set_timer(&link->owner.stream, loop.now_ms + 50);
    for (int i = 0; i < 50 && link->owner.call_count == 0; i++)
        rv_loop_turn(&loop, UINT64_MAX);
    assert_string_equal(link->owner.calls, "T");
    uint64_t passed = rv_clock_monotonic_ms() - start;
    assert_true(passed >= 50 && passed < 2000);
}

static void a_wait_without_events_ends_in_time(void **state)
{
    (void)state;
    uint64_t start = rv_clock_monotonic_ms();
    rv_loop_turn(&loop, 30);
    uint64_t passed = rv_clock_monotonic_ms() - start;
    assert_true(passed >= 29 && passed < 2000);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A loop that waited first would wait for an answer to what it has not sent. */
static void what_is_written_between_two_turns_leaves_before_the_wait(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    struct link *one = &links[link_count++], *other = &links[link_count++];
    one->peer = other->peer = -1;
    stream_owner_open(&one->owner, &loop, ends[0], false);
    stream_owner_open(&other->owner, &loop, ends[1], false);
    settle();
    assert_int_equal(rv_stream_write(&one->owner.stream, RV_LIT("hello")), 0);
    rv_loop_turn(&loop, 2000);
    assert_int_equal(other->owner.data.len, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(what_is_there_already_is_delivered_at_once),
        FACT(what_comes_later_wakes_the_loop),
        FACT(a_flood_arrives_whole_and_in_order),
        FACT(a_flood_lets_other_streams_have_their_turn),
        FACT(a_paused_stream_is_not_read),
        FACT(a_pause_in_on_data_loses_nothing),
        FACT(a_discarding_stream_drops_what_comes),
        FACT(a_unix_socket_streams_the_same_way),
        FACT(many_streams_get_each_their_own),
        FACT(what_is_written_between_two_turns_leaves_before_the_wait),
        FACT(a_fin_is_told_once_behind_the_data),
        FACT(a_fin_that_is_there_already_is_told_at_once),
        FACT(a_fin_during_a_pause_waits),
        FACT(a_fin_behind_much_that_is_unread_is_told),
        FACT(a_reset_loses_the_peer),
        FACT(a_reset_during_a_pause_loses_the_peer),
        FACT(writing_to_a_peer_that_has_closed_loses_it_without_a_signal),
        FACT(sending_a_file_to_a_peer_that_has_closed_loses_it),
        FACT(a_finished_stream_shows_the_peer_its_end),
        FACT(a_closed_stream_gives_its_descriptor_back),
        FACT(output_of_every_kind_reaches_a_narrow_peer_in_order),
        FACT(a_full_peer_is_heard_of_when_it_has_room),
        FACT(what_was_written_when_it_is_closed_later_still_arrives),
        FACT(what_the_peers_kernel_has_is_acknowledged),
        FACT(a_message_from_another_thread_wakes_the_loop),
        FACT(a_timer_ends_the_wait),
        FACT(a_wait_without_events_ends_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
