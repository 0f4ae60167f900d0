/*
 * The epoll back end: edge-triggered, each descriptor registered once. In steady state a request costs
 * one recv and one send, and one epoll_wait serves all that is ready.
 *
 * Facts it stands on:
 *  - a recv that returns fewer octets than it had room for has emptied the socket, so no second recv
 *    is needed; with EPOLLRDHUP in the event the FIN lies behind those octets;
 *  - most connections that are just accepted have their request there already: reading before
 *    registering saves the epoll_ctl and one wake-up for a connection that is closed after one answer;
 *  - a timeout of epoll_wait starts and cancels a timer of the kernel's in each wait that sleeps; a
 *    timerfd is set once for a deadline, and the deadlines of keep-alive connections hardly move;
 *  - the event of a socket that connects tells all there is to know: EPOLLOUT without EPOLLERR means
 *    that it is connected, and what the peer was quick to send may be in the same event;
 *  - EPOLLOUT is only asked for from the first time that a socket was full, and kept then: in
 *    edge-triggered mode it costs nothing while the socket never fills.
 */
#include "base/buffer.h"
#include "base/clock.h"
#include "io/backend.h"
#include "io/listener.h"
#include "io/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 512
#define RECEIVE_ROUNDS 4                  /* recvs for one stream before others get their turn */
#define SKIP_BYTES_MAX (64 * 1024 * 1024) /* in one recv: more than a socket ever holds */

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define WAIT_MS_MAX (UINT64_C(1) << 42) /* no limit: 139 years */

/* What an event belongs to: the low bits of a pointer that is 8-aligned. */
enum { TAG_STREAM = 0, TAG_LISTENER = 1, TAG_WAKE = 2, TAG_TIMER = 3, TAG_MASK = 7 };

struct epoll_state {
    int epoll;
    int wake;
    int timer;
    uint64_t timer_ns; /* what the timer is set to; 0: it is not */
    struct epoll_event events[EVENTS_MAX];
};

static struct epoll_state *state_of(const struct rv_loop *loop)
{
    return loop->backend_state;
}

static void epoll_close(struct rv_loop *loop)
{
    struct epoll_state *state = state_of(loop);
    if (state->wake >= 0)
        close(state->wake);
    if (state->timer >= 0)
        close(state->timer);
    if (state->epoll >= 0)
        close(state->epoll);
    free(state);
    loop->backend_state = NULL;
}

static rv_error error_of(int error_number)
{
    switch (error_number) {
    case EMFILE:
    case ENFILE:
        return RV_EFILES;
    case ENOMEM:
    case ENOSPC:
        return RV_ENOMEM;
    default:
        return RV_EIO;
    }
}

static bool watch(const struct epoll_state *state, int descriptor, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = tag};
    return descriptor >= 0 && epoll_ctl(state->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static rv_error epoll_open(struct rv_loop *loop)
{
    struct epoll_state *state = malloc(sizeof *state);
    if (state == NULL)
        return RV_ENOMEM;
    state->epoll = epoll_create1(EPOLL_CLOEXEC);
    state->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    state->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    state->timer_ns = 0;
    loop->backend_state = state;
    if (state->epoll < 0 || !watch(state, state->wake, TAG_WAKE) ||
        !watch(state, state->timer, TAG_TIMER)) {
        rv_error error = error_of(errno);
        epoll_close(loop);
        return error;
    }
    return 0;
}

static void epoll_read_clock(struct rv_loop *loop)
{
    loop->now_ms = rv_clock_monotonic_ms();
    loop->wall_s = rv_clock_wall_s();
}

static uint64_t epoll_clock_ns(struct rv_loop *loop)
{
    (void)loop;
    return rv_clock_monotonic_ns();
}

static void epoll_wake(struct rv_loop *loop)
{
    uint64_t one = 1;
    /* It can only fail when the counter is full, and then the loop is awake anyway. */
    ssize_t ignored = write(state_of(loop)->wake, &one, sizeof one);
    (void)ignored;
}

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
    if (stream->skipping)
        return skip_some(stream, room);
    *room = RV_RECEIVE_BYTES;
    return recv(stream->descriptor, stream->loop->receive_buffer, RV_RECEIVE_BYTES, 0);
}

/* Reads until the socket is empty, the stream is paused or closed, or others must have their turn. */
static void epoll_receive(struct rv_stream *stream)
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
            return;
        }
        if (count == 0) {
            rv_stream_peer_ended(stream);
            return;
        }
        rv_stream_received(stream, stream->loop->receive_buffer, (size_t)count);
        if (stream->closed)
            return;
        if ((size_t)count < room && !stream->end_ahead)
            return;
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

static void epoll_attach(struct rv_stream *stream)
{
    epoll_receive(stream);
    if (stream->closed)
        return;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = stream};
    if (stream->write_watch)
        event.events |= EPOLLOUT;
    stream->attached = true;
    if (epoll_ctl(state_of(stream->loop)->epoll, EPOLL_CTL_ADD, stream->descriptor, &event) != 0)
        rv_stream_lost(stream, error_of(errno), errno);
}

static int epoll_connect(struct rv_stream *stream, const struct rv_connect_to *to)
{
    int error_number = rv_connect_socket(to, &stream->descriptor);
    if (error_number != 0)
        return error_number;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = stream};
    stream->write_watch = true;
    stream->attached = true;
    int epoll = state_of(stream->loop)->epoll;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, stream->descriptor, &event) == 0)
        return 0;
    error_number = errno;
    close(stream->descriptor);
    stream->descriptor = -1;
    return error_number;
}

static void epoll_detach(struct rv_stream *stream)
{
    close(stream->descriptor); /* takes it out of the epoll set: it is never duplicated */
    stream->descriptor = -1;
}

static void epoll_drop(struct rv_loop *loop, int descriptor)
{
    (void)loop;
    close(descriptor);
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
    epoll_ctl(state_of(stream->loop)->epoll, EPOLL_CTL_MOD, stream->descriptor, &event);
}

static ssize_t epoll_send(struct rv_stream *stream, const struct iovec *pieces, int count,
                          bool more)
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

static ssize_t epoll_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
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

static void epoll_shut_down(struct rv_stream *stream)
{
    shutdown(stream->descriptor, SHUT_WR);
}

static uint64_t epoll_unacknowledged(struct rv_stream *stream)
{
    int octets = 0;
    if (ioctl(stream->descriptor, SIOCOUTQ, &octets) != 0 || octets < 0)
        return 0;
    /* The FIN counts as one octet, and a unix socket reports the size of its buffers. */
    return (uint64_t)octets > stream->sent ? stream->sent : (uint64_t)octets;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

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

static void stream_event(struct rv_stream *stream, uint32_t events)
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
        if ((events & EPOLLRDHUP) != 0)
            stream->end_ahead = true; /* said once: it must outlive pauses and turns */
        if (stream->paused)
            stream->readable = true;
        else
            epoll_receive(stream);
    }
    if ((events & EPOLLOUT) != 0 && !stream->closed && stream->blocked)
        rv_stream_writable(stream);
}

/* With thousands of connections none is in the cache any more when its turn comes. */
static void fetch_ahead(const struct epoll_event *event)
{
    const char *object = (const char *)(uintptr_t)(event->data.u64 & ~(uint64_t)TAG_MASK);
    __builtin_prefetch(object);
    __builtin_prefetch(object + 64);
}

/* Sees to it that the loop is woken at `deadline_ns` at the latest. A timer that is set for an earlier
   time stays: the loop then finds nothing to do, and comes back. */
static void ensure_timer(struct epoll_state *state, uint64_t now_ns, uint64_t deadline_ns)
{
    if (state->timer_ns > now_ns && state->timer_ns <= deadline_ns)
        return;
    struct itimerspec at = {
        .it_value = {(time_t)(deadline_ns / NS_PER_S), (long)(deadline_ns % NS_PER_S)}};
    timerfd_settime(state->timer, TFD_TIMER_ABSTIME, &at, NULL);
    state->timer_ns = deadline_ns;
}

/* Arranges for a wait to end in time; true: it is not to begin at all. */
static bool limit_wait(struct rv_loop *loop, uint64_t wait_ms)
{
    uint64_t now_ns = loop->now_ms * NS_PER_MS;
    uint64_t deadline_ns = UINT64_MAX;
    if (wait_ms < WAIT_MS_MAX)
        deadline_ns = now_ns + wait_ms * NS_PER_MS;
    if (loop->alarm_ns != UINT64_MAX) {
        now_ns = rv_clock_monotonic_ns();
        if (loop->alarm_ns <= now_ns)
            return true;
        if (loop->alarm_ns < deadline_ns)
            deadline_ns = loop->alarm_ns;
    }
    if (deadline_ns != UINT64_MAX)
        ensure_timer(state_of(loop), now_ns, deadline_ns);
    return false;
}

static void epoll_wait_and_dispatch(struct rv_loop *loop, uint64_t wait_ms)
{
    struct epoll_state *state = state_of(loop);
    int timeout = wait_ms == 0 || limit_wait(loop, wait_ms) ? 0 : -1;
    int count = epoll_wait(state->epoll, state->events, EVENTS_MAX, timeout);
    epoll_read_clock(loop);
    for (int i = 0; i < count; i++) {
        uint64_t data = state->events[i].data.u64;
        if (i + 2 < count)
            fetch_ahead(&state->events[i + 2]);
        void *object = (void *)(uintptr_t)(data & ~(uint64_t)TAG_MASK);
        switch (data & TAG_MASK) {
        case TAG_STREAM:
            stream_event(object, state->events[i].events);
            break;
        case TAG_LISTENER:
            rv_listener_ready(object);
            break;
        case TAG_TIMER:
            state->timer_ns = 0;
            break;
        default: /* a wake-up: edge-triggered, so the counter need not be read */
            break;
        }
    }
}

/* ---- accepting -------------------------------------------------------------------------------------- */

static rv_error epoll_accept_start(struct rv_listener *listener)
{
    struct epoll_event event = {.events = EPOLLIN | (listener->shared ? EPOLLEXCLUSIVE : 0),
                                .data.u64 = (uintptr_t)listener | TAG_LISTENER};
    int epoll = state_of(listener->loop)->epoll;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, listener->descriptor, &event) == 0 ? 0 : error_of(errno);
}

static void epoll_accept_stop(struct rv_listener *listener)
{
    epoll_ctl(state_of(listener->loop)->epoll, EPOLL_CTL_DEL, listener->descriptor, NULL);
}

const struct rv_backend rv_backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .read_clock = epoll_read_clock,
    .clock_ns = epoll_clock_ns,
    .wait = epoll_wait_and_dispatch,
    .wake = epoll_wake,
    .attach = epoll_attach,
    .connect = epoll_connect,
    .detach = epoll_detach,
    .drop = epoll_drop,
    .receive = epoll_receive,
    .send = epoll_send,
    .send_file = epoll_send_file,
    .shut_down = epoll_shut_down,
    .unacknowledged = epoll_unacknowledged,
    .accept_start = epoll_accept_start,
    .accept_stop = epoll_accept_stop,
};
