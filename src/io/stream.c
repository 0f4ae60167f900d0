/*
 * Streams (stream.h): the order of output, back-pressure, and the calls that owners hear. It owns the
 * output queues. No function here calls back into an owner from inside a write: what must be told
 * (drained, lost) is told from the loop, so that a verb never runs its caller's handlers.
 */
#include "io/stream.h"

#include "io/backend.h"
#include "io/segment.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define GATHER_MAX 16

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

int rv_stream_connect(struct rv_stream *stream, struct rv_loop *loop,
                      const struct rv_stream_events *events, const struct rv_connect_to *to)
{
    begin(stream, loop, events, to->peer->sa_family != AF_UNIX);
    stream->descriptor = -1;
    stream->client = true;
    stream->connecting = true;
    stream->blocked = true; /* what is written waits in the queue */
    return loop->backend->connect(stream, to);
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
    loop->backend->detach(stream);
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

/* ---- sending ------------------------------------------------------------------------------------ */

static void taken(struct rv_stream *stream, size_t count)
{
    stream->sent += count;
    stream->loop->octets_sent += count;
    stream->loop->turn_sent += count;
}

static bool ensure_output(struct rv_stream *stream)
{
    if (stream->output == NULL)
        stream->output = rv_output_new();
    return stream->output != NULL;
}

/* The page is free again; what the back end did not take of it moves to the front of the queue. */
static void leave_page(struct rv_stream *stream, size_t sent)
{
    struct rv_loop *loop = stream->loop;
    size_t rest = loop->page_used - sent;
    loop->page_owner = NULL;
    loop->page_used = 0;
    if (rest == 0)
        return;
    if (!ensure_output(stream) ||
        rv_output_prepend(loop, stream->output, rv_slice(loop->page + sent, rest)) != 0)
        rv_stream_broke(stream, ENOMEM);
}

/* Sends the page, if it is this stream's, and the queue up to a file. False: no more can be sent. */
static bool send_memory(struct rv_stream *stream)
{
    struct rv_loop *loop = stream->loop;
    struct iovec pieces[GATHER_MAX];
    int count = 0;
    size_t page = 0;
    if (loop->page_owner == stream) {
        page = loop->page_used;
        pieces[count++] = (struct iovec){loop->page, page};
    }
    if (stream->output != NULL)
        count += rv_output_gather(stream->output, pieces + count, GATHER_MAX - count);
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].iov_len;
    if (total == 0)
        return true;
    bool more = stream->output != NULL && stream->output->octets > total - page;
    ssize_t result = loop->backend->send(stream, pieces, count, more);
    size_t sent = result < 0 ? 0 : (size_t)result;
    taken(stream, sent);
    size_t from_page = sent < page ? sent : page;
    if (page > 0)
        leave_page(stream, from_page);
    if (sent > from_page)
        rv_output_consume(loop, stream->output, sent - from_page);
    if (result < 0 && result != -EAGAIN) {
        rv_stream_broke(stream, (int)-result);
        return false;
    }
    stream->blocked = sent < total;
    return !stream->blocked;
}

/* Sends from the file at the front of the queue. False: no more can be sent. */
static bool send_file(struct rv_stream *stream)
{
    struct rv_segment *segment = stream->output->first;
    ssize_t result =
        stream->loop->backend->send_file(stream, segment->file, segment->start, segment->length);
    if (result == -EAGAIN) {
        stream->blocked = true;
        return false;
    }
    if (result <= 0) { /* 0: the file has become shorter than promised */
        rv_stream_broke(stream, result < 0 ? (int)-result : EIO);
        return false;
    }
    /* Fewer octets than asked for do not tell that the peer is full: only EAGAIN does. */
    taken(stream, (size_t)result);
    rv_output_consume(stream->loop, stream->output, (uint64_t)result);
    return true;
}

static void all_sent(struct rv_stream *stream)
{
    if (stream->output != NULL) {
        rv_output_free(stream->loop, stream->output);
        stream->output = NULL;
    }
    if (stream->close_when_sent) {
        rv_stream_close(stream);
    } else if (stream->finishing) {
        stream->finishing = false;
        stream->loop->backend->shut_down(stream);
    }
}

void rv_stream_flush(struct rv_stream *stream)
{
    struct rv_loop *loop = stream->loop;
    if (stream->closed || stream->broken || stream->blocked)
        return;
    for (;;) {
        if (!send_memory(stream))
            return;
        if (stream->output == NULL || stream->output->octets == 0)
            break;
        if (loop->turn_sent >= RV_TURN_SEND_BYTES) {
            rv_stream_schedule(stream);
            return;
        }
        if (stream->output->first->kind == RV_SEGMENT_FILE && !send_file(stream))
            return;
    }
    all_sent(stream);
}

size_t rv_stream_queued(const struct rv_stream *stream)
{
    return stream->output == NULL ? 0 : (size_t)stream->output->octets;
}

bool rv_stream_is_sent(const struct rv_stream *stream)
{
    return stream->output == NULL && stream->loop->page_owner != stream;
}

uint64_t rv_stream_acknowledged(struct rv_stream *stream)
{
    if (stream->closed)
        return stream->sent;
    return stream->sent - stream->loop->backend->unacknowledged(stream);
}

/* ---- writing ------------------------------------------------------------------------------------ */

char *rv_stream_reserve(struct rv_stream *stream, size_t size)
{
    struct rv_loop *loop = stream->loop;
    assert(size <= RV_PAGE_BYTES / 2);
    if (stream->closed || stream->broken)
        return NULL;
    if (loop->page_owner != stream && stream->output == NULL && !stream->blocked) {
        rv_loop_flush(loop);
        loop->page_owner = stream;
        loop->page_used = 0;
    }
    if (loop->page_owner == stream) {
        if (RV_PAGE_BYTES - loop->page_used >= size)
            return loop->page + loop->page_used;
        rv_stream_flush(stream);
        if (stream->output == NULL && !stream->blocked && !stream->closed && !stream->broken) {
            loop->page_owner = stream;
            loop->page_used = 0;
            return loop->page;
        }
        if (stream->closed || stream->broken)
            return NULL;
    }
    if (!ensure_output(stream))
        return NULL;
    return rv_output_reserve(loop, stream->output, size);
}

void rv_stream_commit(struct rv_stream *stream, size_t used)
{
    struct rv_loop *loop = stream->loop;
    if (loop->page_owner == stream)
        loop->page_used += used;
    else
        rv_output_commit(stream->output, used);
}

rv_error rv_stream_write(struct rv_stream *stream, rv_bytes octets)
{
    while (octets.len > 0) {
        size_t run = octets.len < RV_SEGMENT_COPY_BYTES ? octets.len : RV_SEGMENT_COPY_BYTES;
        char *room = rv_stream_reserve(stream, run);
        if (room == NULL)
            return stream->closed || stream->broken ? RV_EGONE : RV_ENOMEM;
        memcpy(room, octets.ptr, run);
        rv_stream_commit(stream, run);
        octets = rv_slice(octets.ptr + run, octets.len - run);
    }
    return 0;
}

/* Makes the page's contents precede what is appended to the queue. */
static rv_error prepare_to_append(struct rv_stream *stream)
{
    if (stream->closed || stream->broken)
        return RV_EGONE;
    return ensure_output(stream) ? 0 : RV_ENOMEM;
}

rv_error rv_stream_write_borrowed(struct rv_stream *stream, rv_bytes octets,
                                  void (*release)(void *ctx), void *ctx)
{
    rv_error error = prepare_to_append(stream);
    if (error == 0)
        error = rv_output_append_borrowed(stream->loop, stream->output, octets, release, ctx);
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return error;
    }
    rv_stream_flush(stream);
    return 0;
}

rv_error rv_stream_write_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
{
    rv_error error = prepare_to_append(stream);
    if (error == 0)
        error = rv_output_append_file(stream->loop, stream->output, file, offset, length);
    if (error != 0) {
        close(file);
        return error;
    }
    rv_stream_flush(stream);
    return 0;
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

void rv_stream_resume(struct rv_stream *stream)
{
    stream->paused = false;
    if (stream->readable)
        rv_stream_schedule(stream);
}

void rv_stream_receive_now(struct rv_stream *stream)
{
    if (!stream->closed && !stream->connecting && !stream->paused)
        stream->loop->backend->receive(stream);
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

void rv_stream_finish(struct rv_stream *stream)
{
    stream->finishing = true;
    rv_stream_flush(stream);
}

void rv_stream_close_when_sent(struct rv_stream *stream)
{
    stream->close_when_sent = true;
    rv_stream_flush(stream);
}

/* ---- what back ends and the loop report ---------------------------------------------------------- */

void rv_stream_connected(struct rv_stream *stream, int error_number)
{
    stream->connecting = false;
    stream->blocked = error_number != 0; /* it is not even tried to send through a broken one */
    stream->loop->turn_sent = 0;
    stream->events->on_connected(stream);
    if (error_number == 0)
        rv_stream_flush(stream);
    else if (!stream->closed)
        rv_stream_broke(stream, error_number);
}

/* Back ends receive no more than is left of a skip, so what comes next is not in `length`. */
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
    struct rv_loop *loop = stream->loop;
    loop->octets_received += length;
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
    if (!stream->closed && stream->readable && !stream->paused)
        stream->loop->backend->receive(stream);
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
