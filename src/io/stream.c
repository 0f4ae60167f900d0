/*
 * Streams (stream.h): how they begin and end, what they receive and skip, and the calls that owners
 * hear. What they send is in stream_output.c.
 */
#include "io/stream.h"

#include "io/backend.h"
#include "io/segment.h"
#include "io/tls_layer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct rv_stream) <= 88, "connections are laid out by it");
static_assert(EHWPOISON <= UINT8_MAX, "the largest errno there is");

static struct rv_stream *stream_of_timer(struct rv_timer *timer)
{
    return (struct rv_stream *)((char *)timer - offsetof(struct rv_stream, timer));
}

static void timer_fired(struct rv_timer *timer)
{
    struct rv_stream *stream = stream_of_timer(timer);
    stream->events->on_timer(stream);
}

static void begin(struct rv_stream *stream, struct rv_loop *loop,
                  const struct rv_stream_events *events, bool is_tcp)
{
    memset(stream, 0, sizeof *stream);
    stream->events = events;
    stream->loop = loop;
    stream->is_tcp = is_tcp;
    rv_timer_init(&stream->timer, timer_fired);
}

void rv_stream_open(struct rv_stream *stream, struct rv_loop *loop,
                    const struct rv_stream_events *events, int descriptor, bool is_tcp)
{
    begin(stream, loop, events, is_tcp);
    stream->descriptor = descriptor;
    loop->backend->attach(stream);
}

static bool begin_tls(struct rv_stream *stream)
{
    assert(stream->events->tls_at >= sizeof *stream);
    struct rv_tls *tls = RV_TLS_BUILT ? rv_tls_new(stream) : NULL;
    if (tls == NULL)
        return false;
    *(struct rv_tls **)((uintptr_t)stream + stream->events->tls_at) = tls;
    stream->secure = true;
    return true;
}

rv_error rv_stream_open_tls(struct rv_stream *stream, struct rv_loop *loop,
                            const struct rv_stream_events *events, int descriptor, bool is_tcp)
{
    if (!RV_TLS_BUILT)
        return RV_EINVAL;
    begin(stream, loop, events, is_tcp);
    if (!begin_tls(stream))
        return RV_ENOMEM;
    stream->descriptor = descriptor;
    loop->backend->attach(stream);
    return 0;
}

int rv_stream_connect(struct rv_stream *stream, struct rv_loop *loop,
                      const struct rv_stream_events *events, const struct rv_connect_to *to)
{
    begin(stream, loop, events, to->peer->sa_family != AF_UNIX);
    stream->descriptor = -1;
    stream->client = true;
    stream->connecting = true;
    stream->blocked = true; /* what is written waits in the queue */
    if (RV_TLS_BUILT && to->secure && !begin_tls(stream))
        return ENOMEM;
    int error_number = loop->backend->connect(stream, to);
    if (RV_TLS_BUILT && error_number != 0 && stream->secure)
        rv_tls_free(stream);
    return error_number;
}

void rv_stream_refuse(struct rv_loop *loop, int descriptor)
{
    loop->backend->drop(loop, descriptor);
}

void rv_stream_stop_timer(struct rv_stream *stream)
{
    rv_timer_stop(&stream->loop->wheel, &stream->timer);
}

/* ---- another go, and the end -------------------------------------------------------------------- */

void rv_stream_schedule(struct rv_stream *stream)
{
    if (stream->in_again || stream->closed)
        return;
    stream->in_again = true;
    stream->next = stream->loop->again;
    stream->loop->again = stream;
}

void rv_stream_again(struct rv_stream *stream)
{
    stream->again_asked = true;
    rv_stream_schedule(stream);
}

static void add_to_dead(struct rv_stream *stream)
{
    stream->next = stream->loop->dead;
    stream->loop->dead = stream;
}

void rv_stream_close(struct rv_stream *stream)
{
    struct rv_loop *loop = stream->loop;
    if (stream->closed)
        return;
    stream->closed = true;
    if (loop->page_owner == stream) {
        loop->page_owner = NULL;
        loop->page_used = 0;
    }
    rv_stream_stop_timer(stream);
    if (RV_TLS_BUILT && stream->secure && stream->client && !stream->broken)
        rv_tls_say_goodbye(stream);
    loop->backend->detach(stream);
    if (RV_TLS_BUILT && stream->secure)
        rv_tls_free(stream);
    if (stream->output != NULL) {
        struct rv_output *output = stream->output;
        stream->output = NULL;
        rv_output_free(loop, output);
    }
    if (!stream->in_again) /* else rv_stream_run_again moves it over: there is only one link */
        add_to_dead(stream);
}

void rv_stream_bury(struct rv_loop *loop)
{
    while (loop->dead != NULL) {
        struct rv_stream *stream = loop->dead;
        loop->dead = stream->next;
        stream->events->on_closed(stream);
    }
}

/* The first error is the cause, those that follow are its consequences. */
static void note_error(struct rv_stream *stream, int error_number)
{
    stream->broken = true;
    if (stream->error_number == 0)
        stream->error_number = (uint8_t)error_number;
}

void rv_stream_lost(struct rv_stream *stream, rv_error error, int error_number)
{
    if (stream->closed)
        return;
    note_error(stream, error_number);
    stream->events->on_lost(stream, error);
    rv_stream_close(stream);
}

/* When output has failed the owner hears of it in the next turn, never from inside its own write. */
void rv_stream_broke(struct rv_stream *stream, int error_number)
{
    note_error(stream, error_number);
    rv_stream_schedule(stream);
}

/* ---- the owner's wishes ------------------------------------------------------------------------- */

void rv_stream_want_drain(struct rv_stream *stream)
{
    stream->want_drain = true;
    if (rv_stream_queued(stream) < stream->loop->output_low_bytes)
        rv_stream_schedule(stream);
}

void rv_stream_pause(struct rv_stream *stream)
{
    stream->paused = true;
}

/* Octets may be had without waiting. */
static bool has_more(const struct rv_stream *stream)
{
    return stream->readable || (RV_TLS_BUILT && stream->secure && rv_tls_holds_input(stream));
}

static void receive(struct rv_stream *stream)
{
    if (!RV_TLS_BUILT || !stream->secure || rv_tls_receive_held(stream))
        stream->loop->backend->receive(stream);
}

void rv_stream_resume(struct rv_stream *stream)
{
    stream->paused = false;
    if (has_more(stream))
        rv_stream_schedule(stream);
}

void rv_stream_receive_now(struct rv_stream *stream)
{
    if (!stream->closed && !stream->connecting && !stream->paused)
        receive(stream);
}

static uint64_t *skip_left(const struct rv_stream *stream)
{
    assert(stream->events->skip_left_at >= sizeof *stream);
    return (uint64_t *)((uintptr_t)stream + stream->events->skip_left_at);
}

void rv_stream_skip(struct rv_stream *stream, uint64_t octets)
{
    stream->skipping = octets > 0;
    stream->endless = octets == UINT64_MAX;
    if (stream->skipping && !stream->endless)
        *skip_left(stream) = octets;
}

uint64_t rv_stream_skip_left(const struct rv_stream *stream)
{
    if (!stream->skipping)
        return 0;
    return stream->endless ? UINT64_MAX : *skip_left(stream);
}

void rv_stream_discard(struct rv_stream *stream)
{
    rv_stream_skip(stream, UINT64_MAX);
    rv_stream_resume(stream);
}

/* ---- what back ends and the loop report ---------------------------------------------------------- */

void rv_stream_connected(struct rv_stream *stream, int error_number)
{
    stream->connecting = false;
    stream->blocked = error_number != 0; /* it is not even tried to send through a broken one */
    stream->loop->turn_sent = 0;
    if (RV_TLS_BUILT && stream->secure)
        rv_tls_begin(stream);
    else
        stream->events->on_connected(stream);
    if (error_number == 0)
        rv_stream_flush(stream);
    else if (!stream->closed)
        rv_stream_broke(stream, error_number);
}

/* No more is delivered than is left of a skip, so what comes next is not in `length`. */
static void skipped(struct rv_stream *stream, size_t length)
{
    stream->discarded = true;
    if (stream->endless)
        return;
    uint64_t *left = skip_left(stream);
    assert(length <= *left);
    *left -= length;
    if (*left > 0)
        return;
    stream->skipping = false;
    stream->loop->turn_sent = 0;
    stream->events->on_skipped(stream);
    if (stream->loop->page_owner == stream)
        rv_stream_flush(stream);
}

void rv_stream_received(struct rv_stream *stream, char *octets, size_t length)
{
    stream->loop->octets_received += length;
    if (RV_TLS_BUILT && stream->secure)
        rv_tls_received(stream, octets, length);
    else
        rv_stream_deliver(stream, octets, length);
}

void rv_stream_deliver(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_loop *loop = stream->loop;
    if (stream->skipping) {
        skipped(stream, length);
        return;
    }
    loop->turn_sent = 0;
    stream->events->on_data(stream, octets, length);
    if (loop->page_owner == stream)
        rv_stream_flush(stream);
}

/* Behind a reset the kernel reports an end, too. Only EPIPE tells that there was a FIN before it. */
static bool was_cut_off(const struct rv_stream *stream)
{
    return stream->client && stream->broken && stream->error_number != EPIPE;
}

void rv_stream_peer_ended(struct rv_stream *stream)
{
    if (stream->ended || stream->closed || was_cut_off(stream))
        return;
    if (!RV_TLS_BUILT || !stream->secure || rv_tls_peer_ended(stream))
        rv_stream_tell_end(stream);
}

void rv_stream_tell_end(struct rv_stream *stream)
{
    if (stream->ended)
        return;
    stream->ended = true;
    stream->readable = false;
    stream->events->on_end(stream);
    if (stream->loop->page_owner == stream)
        rv_stream_flush(stream);
}

static void tell_drained(struct rv_stream *stream)
{
    if (stream->closed || !stream->want_drain ||
        rv_stream_queued(stream) >= stream->loop->output_low_bytes)
        return;
    stream->want_drain = false;
    stream->events->on_drain(stream);
    if (stream->loop->page_owner == stream)
        rv_stream_flush(stream);
}

void rv_stream_writable(struct rv_stream *stream)
{
    if (stream->closed)
        return;
    stream->loop->turn_sent = 0;
    stream->blocked = false;
    rv_stream_flush(stream);
    tell_drained(stream);
}

/* A server may answer early and close: its answer lies behind a request that could not be sent. So a
   client first gets what has arrived, unless it wants nothing now. */
static void lose(struct rv_stream *stream)
{
    if (stream->client && !stream->paused) {
        stream->end_ahead = stream->error_number == EPIPE;
        stream->loop->backend->receive(stream);
        if (stream->readable && !stream->paused)
            return; /* there is more, and this is called again */
    }
    rv_stream_lost(stream, RV_EIO, 0);
}

static void run_again(struct rv_stream *stream)
{
    if (stream->broken) {
        lose(stream);
        return;
    }
    stream->loop->turn_sent = 0;
    rv_stream_flush(stream);
    tell_drained(stream);
    if (!stream->closed && stream->again_asked) {
        stream->again_asked = false;
        stream->events->on_again(stream);
        if (stream->loop->page_owner == stream)
            rv_stream_flush(stream);
    }
    if (!stream->closed && !stream->paused && has_more(stream))
        receive(stream);
}

void rv_stream_run_again(struct rv_loop *loop)
{
    struct rv_stream *list = loop->again;
    loop->again = NULL;
    while (list != NULL) {
        struct rv_stream *stream = list;
        list = stream->next;
        stream->in_again = false;
        if (stream->closed)
            add_to_dead(stream);
        else
            run_again(stream);
    }
}
