/*
 * Streams on the sim back end (sim_net.h).
 */
#include "support/sim_net.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct sim_net net;

static void on_accept(struct rv_listener *listener, int descriptor, const struct sockaddr *peer,
                      socklen_t peer_length)
{
    (void)peer;
    (void)peer_length;
    stream_owner_open(&net.owners[net.count], listener->loop, descriptor, false);
}

struct stream_owner *sim_net_connect(void)
{
    assert_true(net.count < SIM_NET_STREAMS_MAX);
    net.peers[net.count] = rv_sim_connect(&net.loop);
    assert_non_null(net.peers[net.count]);
    return &net.owners[net.count++];
}

int sim_net_set_up(void **state)
{
    (void)state;
    memset(&net, 0, sizeof net);
    assert_int_equal(rv_loop_open(&net.loop, &rv_backend_sim, &net), 0);
    net.loop.output_low_bytes = 100;
    net.listener = (struct rv_listener){.loop = &net.loop, .on_accept = on_accept};
    assert_int_equal(rv_listener_start(&net.listener), 0);
    sim_net_connect();
    return 0;
}

int sim_net_tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < net.count; i++) {
        stream_owner_end(&net.owners[i]);
        rv_sim_peer_free(net.peers[i]);
    }
    assert_int_equal(net.loop.segments.taken, 0);
    assert_true(rv_wheel_validate(&net.loop.wheel));
    assert_int_equal(net.loop.wheel.count, 0);
    rv_loop_close(&net.loop);
    return 0;
}

void turn(void)
{
    rv_loop_turn(&net.loop, 0);
}

void expect_calls(const struct stream_owner *owner, const char *calls)
{
    assert_string_equal(owner->calls, calls);
}

void expect_received(struct rv_sim_peer *peer, const char *text)
{
    struct rv_buffer *received = rv_sim_received(peer);
    assert_int_equal(received->len, strlen(text));
    if (received->len > 0)
        assert_memory_equal(received->ptr, text, received->len);
    rv_buffer_consume(received, received->len);
}

void write_text(struct rv_stream *stream, const char *text)
{
    assert_int_equal(rv_stream_write(stream, rv_str(text)), 0);
}

void count_release(void *ctx)
{
    ++*(int *)ctx;
}

int file_of(rv_bytes contents)
{
    int file = memfd_create("contents", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, contents.ptr, contents.len), (ssize_t)contents.len);
    return file;
}

bool is_open(int file)
{
    return fcntl(file, F_GETFD) >= 0;
}
