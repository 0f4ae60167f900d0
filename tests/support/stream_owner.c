/*
 * Owners of streams (stream_owner.h).
 */
#include "support/stream_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct stream_owner *owner_of(struct rv_stream *stream)
{
    return (struct stream_owner *)stream;
}

static void note(struct rv_stream *stream, char call)
{
    struct stream_owner *owner = owner_of(stream);
    size_t count = owner->call_count;
    assert_false(stream_owner_is_closed(owner)); /* nothing comes behind the last call */
    if (call != OWNER_DATA || count == 0 || owner->calls[count - 1] != OWNER_DATA) {
        assert_true(count + 1 < sizeof owner->calls);
        owner->calls[owner->call_count++] = call;
    }
    if (owner->then != NULL)
        owner->then(owner, call);
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    assert_false(stream->paused);
    assert_true(length > 0);
    assert_int_equal(rv_buffer_append(&owner_of(stream)->data, rv_slice(octets, length)), 0);
    memset(octets, '#', length); /* they may be changed, and must not be needed any more */
    note(stream, OWNER_DATA);
}

static void on_connected(struct rv_stream *stream)
{
    assert_false(stream->connecting);
    note(stream, OWNER_CONNECTED);
}

static void on_skipped(struct rv_stream *stream)
{
    assert_int_equal(rv_stream_skip_left(stream), 0);
    note(stream, OWNER_SKIPPED);
}

static void on_end(struct rv_stream *stream)
{
    note(stream, OWNER_END);
}

static void on_drain(struct rv_stream *stream)
{
    note(stream, OWNER_DRAIN);
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    owner_of(stream)->lost_error = error;
    owner_of(stream)->error_number = stream->error_number;
    note(stream, OWNER_LOST);
}

static void on_again(struct rv_stream *stream)
{
    note(stream, OWNER_AGAIN);
}

static void on_timer(struct rv_stream *stream)
{
    note(stream, OWNER_TIMER);
}

static void on_closed(struct rv_stream *stream)
{
    note(stream, OWNER_CLOSED);
}

static const struct rv_stream_events events = {
    .on_data = on_data,
    .on_end = on_end,
    .on_connected = on_connected,
    .on_skipped = on_skipped,
    .on_drain = on_drain,
    .on_lost = on_lost,
    .on_again = on_again,
    .on_timer = on_timer,
    .on_closed = on_closed,
    .skip_left_at = offsetof(struct stream_owner, skip_left),
};

/* Forgets all but what is to be done in the calls. */
static void begin(struct stream_owner *owner)
{
    void (*then)(struct stream_owner *, char) = owner->then;
    void *ctx = owner->ctx;
    memset(owner, 0, sizeof *owner);
    owner->then = then;
    owner->ctx = ctx;
    owner->error_number = -1;
}

void stream_owner_open(struct stream_owner *owner, struct rv_loop *loop, int descriptor,
                       bool is_tcp)
{
    begin(owner);
    rv_stream_open(&owner->stream, loop, &events, descriptor, is_tcp);
}

int stream_owner_connect(struct stream_owner *owner, struct rv_loop *loop,
                         const struct rv_connect_to *to)
{
    begin(owner);
    int error_number = rv_stream_connect(&owner->stream, loop, &events, to);
    assert_string_equal(owner->calls, ""); /* not from inside the call */
    return error_number;
}

void stream_owner_end(struct stream_owner *owner)
{
    owner->then = NULL;
    rv_stream_close(&owner->stream);
    for (int turn = 0; turn < 3 && !stream_owner_is_closed(owner); turn++)
        rv_loop_turn(owner->stream.loop, 0);
    assert_true(stream_owner_is_closed(owner));
    rv_buffer_free(&owner->data);
}

bool stream_owner_is_closed(const struct stream_owner *owner)
{
    return owner->call_count > 0 && owner->calls[owner->call_count - 1] == OWNER_CLOSED;
}
