/*
 * The output of streams (stream.h): the order of what is written, the loop's page, the queue behind it
 * and back-pressure. It owns the queues. Nothing here calls an owner, except for `release`: what must be
 * told (drained, lost) is told from the loop, so that a verb never runs its caller's handlers.
 */
#include "io/backend.h"
#include "io/segment.h"
#include "io/stream.h"
#include "io/tls_layer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define GATHER_MAX 16

/* ---- sending ------------------------------------------------------------------------------------ */

static void taken(struct rv_stream *stream, size_t count)
{
    stream->sent += count;
    if (!stream->secure) /* else it is the layer that sends, and counts */
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

/* Encrypting takes time: a turn's share of it, at most, before it is seen whether others wait. */
static size_t trim(struct iovec *pieces, int *count, size_t total)
{
    if (total <= RV_TURN_SEND_BYTES)
        return total;
    size_t left = RV_TURN_SEND_BYTES;
    for (int i = 0; i < *count; i++) {
        if (pieces[i].iov_len >= left) {
            pieces[i].iov_len = left;
            *count = i + 1;
        }
        left -= pieces[i].iov_len;
    }
    return RV_TURN_SEND_BYTES;
}

static ssize_t send_pieces(struct rv_stream *stream, const struct iovec *pieces, int count,
                           bool more)
{
    if (RV_TLS_BUILT && stream->secure)
        return rv_tls_send(stream, pieces, count, more);
    return stream->loop->backend->send(stream, pieces, count, more);
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
    if (stream->secure)
        total = trim(pieces, &count, total);
    bool more = stream->output != NULL && stream->output->octets > total - page;
    ssize_t result = send_pieces(stream, pieces, count, more);
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

static ssize_t send_piece_of_file(struct rv_stream *stream, const struct rv_segment *segment)
{
    if (RV_TLS_BUILT && stream->secure)
        return rv_tls_send_file(stream, segment->file, segment->start, segment->length);
    return stream->loop->backend->send_file(stream, segment->file, segment->start, segment->length);
}

/* Sends from the file at the front of the queue. False: no more can be sent. */
static bool send_file(struct rv_stream *stream)
{
    struct rv_segment *segment = stream->output->first;
    ssize_t result = send_piece_of_file(stream, segment);
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
    bool ends = stream->close_when_sent || stream->finishing;
    if (ends && RV_TLS_BUILT && stream->secure && !rv_tls_say_goodbye(stream))
        return; /* its octets wait, and this is called again */
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
    if (RV_TLS_BUILT && stream->secure && !rv_tls_may_send(stream))
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
    uint64_t sent = RV_TLS_BUILT && stream->secure ? rv_tls_octets_taken(stream) : stream->sent;
    uint64_t left = stream->loop->backend->unacknowledged(stream);
    return left < sent ? sent - left : 0;
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

rv_error rv_stream_write_lent_file(struct rv_stream *stream, int file, uint64_t offset,
                                   uint64_t length, void (*release)(void *ctx), void *ctx)
{
    rv_error error = prepare_to_append(stream);
    if (error == 0)
        error = rv_output_append_lent_file(stream->loop, stream->output, file, offset, length,
                                           release, ctx);
    if (error != 0) {
        release(ctx);
        return error;
    }
    rv_stream_flush(stream);
    return 0;
}

/* ---- the end of output --------------------------------------------------------------------------- */

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
