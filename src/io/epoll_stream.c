/*
 * The streams' side of the epoll back end (epoll.h): receiving, connecting, sending, and what an event
 * means for a stream. It stands on the facts that epoll.c begins with.
 */
#include "io/epoll.h"
#include "io/ktls.h"
#include "io/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define RECEIVE_ROUNDS 4                  /* recvs for one stream before others get their turn */
#define SKIP_BYTES_MAX (64 * 1024 * 1024) /* in one recv: more than a socket ever holds */

/* A client that skips is woken for so many octets at once, not for every segment: on a fast link that is
   half of the CPU time of a long body. */
#define SKIP_WAKE_BYTES_MIN (32 * 1024)
#define SKIP_WAKE_BYTES_MAX (1024 * 1024)

/* ---- receiving -------------------------------------------------------------------------------------- */

/* Drops octets without copying them (tcp(7), MSG_TRUNC): then it costs next to nothing to take all that
   has arrived at once. Unix sockets have to be read. */
static ssize_t skip_some(struct rv_stream *stream, size_t *room)
{
    uint64_t left = rv_stream_skip_left(stream);
    size_t most = stream->is_tcp ? SKIP_BYTES_MAX : RV_RECEIVE_BYTES;
    *room = left < most ? (size_t)left : most;
    return stream->is_tcp ? recv(stream->descriptor, NULL, *room, MSG_TRUNC)
                          : recv(stream->descriptor, stream->loop->receive_buffer, *room, 0);
}

static ssize_t receive_some(struct rv_stream *stream, size_t *room)
{
    if (rv_stream_drops(stream))
        return skip_some(stream, room);
    *room = stream->loop->receive_bytes;
    return recv(stream->descriptor, stream->loop->receive_buffer, *room, 0);
}

/* How many octets must be there before a stream with so many left to skip is woken. */
static int wake_bytes(uint64_t left)
{
    if (left < SKIP_WAKE_BYTES_MIN || left == UINT64_MAX)
        return 1;
    return left < SKIP_WAKE_BYTES_MAX ? (int)left : SKIP_WAKE_BYTES_MAX;
}

static void set_wake_bytes(struct rv_stream *stream)
{
    int wanted = wake_bytes(rv_stream_skip_left(stream));
    setsockopt(stream->descriptor, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted);
    stream->wakes_late = wanted > 1;
}

/* The socket is empty, and a client waits for the rest of a skip. */
static void wait_for_the_rest(struct rv_stream *stream)
{
    if (stream->client && stream->is_tcp && !stream->secure && !stream->wakes_late &&
        wake_bytes(rv_stream_skip_left(stream)) > 1)
        set_wake_bytes(stream);
}

/* What is left has become less than what the stream is woken for. */
static bool wakes_too_late(const struct rv_stream *stream)
{
    return stream->wakes_late && rv_stream_skip_left(stream) < SKIP_WAKE_BYTES_MAX;
}

/* Reads until the socket is empty, the stream is paused or closed, or others must have their turn. */
void rv_epoll_receive(struct rv_stream *stream)
{
    stream->readable = false;
    for (int round = 0; round < RECEIVE_ROUNDS; round++) {
        size_t room;
        ssize_t count = receive_some(stream, &room);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                rv_stream_lost(stream, RV_EGONE, errno);
            else
                wait_for_the_rest(stream);
            return;
        }
        if (count == 0) {
            rv_stream_peer_ended(stream);
            return;
        }
        rv_stream_received(stream, stream->loop->receive_buffer, (size_t)count);
        if (stream->closed)
            return;
        if (wakes_too_late(stream))
            set_wake_bytes(stream);
        if ((size_t)count < room && !stream->end_ahead) {
            wait_for_the_rest(stream);
            return;
        }
        if (stream->paused) {
            stream->readable = true;
            return;
        }
        if ((size_t)count < room) {
            rv_stream_peer_ended(stream);
            return;
        }
    }
    stream->readable = true;
    rv_stream_schedule(stream);
}

void rv_epoll_attach(struct rv_stream *stream)
{
    rv_epoll_receive(stream);
    if (stream->closed)
        return;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = stream};
    if (stream->write_watch)
        event.events |= EPOLLOUT;
    stream->attached = true;
    if (epoll_ctl(rv_epoll_of(stream->loop)->epoll, EPOLL_CTL_ADD, stream->descriptor, &event) != 0)
        rv_stream_lost(stream, rv_epoll_error(errno), errno);
}

int rv_epoll_connect(struct rv_stream *stream, const struct rv_connect_to *to)
{
    int error_number = rv_connect_socket(to, &stream->descriptor);
    if (error_number != 0)
        return error_number;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = stream};
    stream->write_watch = true;
    stream->attached = true;
    int epoll = rv_epoll_of(stream->loop)->epoll;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, stream->descriptor, &event) == 0)
        return 0;
    error_number = errno;
    close(stream->descriptor);
    stream->descriptor = -1;
    return error_number;
}

void rv_epoll_detach(struct rv_stream *stream)
{
    close(stream->descriptor); /* takes it out of the epoll set: it is never duplicated */
    stream->descriptor = -1;
}

/* ---- sending ---------------------------------------------------------------------------------------- */

static void watch_for_room(struct rv_stream *stream)
{
    if (stream->write_watch)
        return;
    stream->write_watch = true;
    if (!stream->attached)
        return; /* epoll_attach will ask for it */
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = stream};
    epoll_ctl(rv_epoll_of(stream->loop)->epoll, EPOLL_CTL_MOD, stream->descriptor, &event);
}

ssize_t rv_epoll_send(struct rv_stream *stream, const struct iovec *pieces, int count, bool more)
{
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].iov_len;
    ssize_t sent;
    do {
        if (count == 1) {
            sent = send(stream->descriptor, pieces[0].iov_base, pieces[0].iov_len, flags);
        } else {
            struct msghdr message = {.msg_iov = (struct iovec *)pieces,
                                     .msg_iovlen = (size_t)count};
            sent = sendmsg(stream->descriptor, &message, flags);
        }
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN)
        return -errno;
    if (sent < 0 || (size_t)sent < total)
        watch_for_room(stream);
    return sent < 0 ? -EAGAIN : sent;
}

ssize_t rv_epoll_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
{
    off_t at = (off_t)offset;
    size_t run = length < RV_TURN_SEND_BYTES ? (size_t)length : RV_TURN_SEND_BYTES;
    ssize_t sent;
    do
        sent = sendfile(stream->descriptor, file, &at, run); /* SIGPIPE is blocked in workers */
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno == EAGAIN)
            watch_for_room(stream);
        return -errno;
    }
    return sent;
}

bool rv_epoll_encrypt(struct rv_stream *stream, const void *keys)
{
    return stream->is_tcp && rv_ktls_begin(stream->descriptor, keys);
}

int rv_epoll_send_record(struct rv_stream *stream, unsigned char type, const char *octets,
                         size_t length)
{
    int error_number = rv_ktls_send_record(stream->descriptor, type, octets, length);
    if (error_number == EAGAIN)
        watch_for_room(stream);
    return error_number;
}

void rv_epoll_shut_down(struct rv_stream *stream)
{
    shutdown(stream->descriptor, SHUT_WR);
}

uint64_t rv_epoll_unacknowledged(struct rv_stream *stream)
{
    int octets = 0;
    if (ioctl(stream->descriptor, SIOCOUTQ, &octets) != 0 || octets < 0)
        return 0;
    return (uint64_t)octets;
}

/* ---- events ----------------------------------------------------------------------------------------- */

/* The error that a socket is in, which is told only once; 0: none. */
static int take_error(const struct rv_stream *stream)
{
    int error_number = 0;
    socklen_t length = sizeof error_number;
    getsockopt(stream->descriptor, SOL_SOCKET, SO_ERROR, &error_number, &length);
    return error_number;
}

/* The first event of a stream that connects. A connection that was reset had been made before: an
   attempt that the peer rejects fails with ECONNREFUSED. */
static void conclude_connecting(struct rv_stream *stream, uint32_t events)
{
    int error_number = (events & EPOLLERR) == 0 ? 0 : take_error(stream);
    if (error_number == 0 || error_number == ECONNRESET || error_number == EPIPE)
        rv_stream_connected(stream, error_number);
    else
        rv_stream_lost(stream, RV_EGONE, error_number);
}

/* An error, or the end of both directions. True: there is nothing more to be done about the event. */
static bool is_hurt(struct rv_stream *stream, uint32_t events)
{
    if (stream->client) {
        int error_number = (events & EPOLLERR) == 0 ? 0 : take_error(stream);
        if (error_number != 0)
            rv_stream_broke(stream, error_number);
        return error_number != 0;
    }
    if (!stream->paused)
        return false; /* recv will tell */
    rv_stream_lost(stream, RV_EGONE, take_error(stream));
    return true;
}

void rv_epoll_stream_event(struct rv_stream *stream, uint32_t events)
{
    if (stream->closed || stream->connecting) {
        if (stream->closed)
            return;
        conclude_connecting(stream, events);
        if (stream->closed || stream->broken)
            return;
        events &= ~(uint32_t)EPOLLOUT;
    }
    if ((events & (EPOLLERR | EPOLLHUP)) != 0 && is_hurt(stream, events))
        return;
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) {
        if ((events & EPOLLRDHUP) != 0 && (events & EPOLLERR) == 0)
            stream->end_ahead = true; /* said once: it must outlive pauses and turns */
        if (stream->paused)
            stream->readable = true;
        else
            rv_epoll_receive(stream);
        /* Behind the octets in front of a reset lies an error, not a FIN: the next recv tells. */
        if ((events & EPOLLERR) != 0 && !stream->closed && !stream->paused)
            rv_epoll_receive(stream);
    }
    if ((events & EPOLLOUT) != 0 && !stream->closed && stream->blocked)
        rv_stream_writable(stream);
}
