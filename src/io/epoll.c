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
#include "io/epoll.h"
#include "io/ktls.h"

#include "base/clock.h"
#include "io/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define WAIT_MS_MAX (UINT64_C(1) << 42) /* no limit: 139 years */

/* What an event belongs to: the low bits of a pointer that is 8-aligned. */
enum { TAG_STREAM = 0, TAG_LISTENER = 1, TAG_WAKE = 2, TAG_TIMER = 3, TAG_MASK = 7 };

static void epoll_close(struct rv_loop *loop)
{
    struct rv_epoll *state = rv_epoll_of(loop);
    if (state->wake >= 0)
        close(state->wake);
    if (state->timer >= 0)
        close(state->timer);
    if (state->epoll >= 0)
        close(state->epoll);
    free(state);
    loop->backend_state = NULL;
}

rv_error rv_epoll_error(int error_number)
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

static bool watch(const struct rv_epoll *state, int descriptor, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = tag};
    return descriptor >= 0 && epoll_ctl(state->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static rv_error epoll_open(struct rv_loop *loop)
{
    struct rv_epoll *state = malloc(sizeof *state);
    if (state == NULL)
        return RV_ENOMEM;
    state->epoll = epoll_create1(EPOLL_CLOEXEC);
    state->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    state->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    state->timer_ns = 0;
    loop->backend_state = state;
    if (state->epoll < 0 || !watch(state, state->wake, TAG_WAKE) ||
        !watch(state, state->timer, TAG_TIMER)) {
        rv_error error = rv_epoll_error(errno);
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
    ssize_t ignored = write(rv_epoll_of(loop)->wake, &one, sizeof one);
    (void)ignored;
}

static void epoll_drop(struct rv_loop *loop, int descriptor)
{
    (void)loop;
    close(descriptor);
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

/* With thousands of connections none is in the cache any more when its turn comes. */
static void fetch_ahead(const struct epoll_event *event)
{
    const char *object = (const char *)(uintptr_t)(event->data.u64 & ~(uint64_t)TAG_MASK);
    __builtin_prefetch(object);
    __builtin_prefetch(object + 64);
}

/* Sees to it that the loop is woken at `deadline_ns` at the latest. A timer that is set for an earlier
   time stays: the loop then finds nothing to do, and comes back. */
static void ensure_timer(struct rv_epoll *state, uint64_t now_ns, uint64_t deadline_ns)
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
        ensure_timer(rv_epoll_of(loop), now_ns, deadline_ns);
    return false;
}

static void epoll_wait_and_dispatch(struct rv_loop *loop, uint64_t wait_ms)
{
    struct rv_epoll *state = rv_epoll_of(loop);
    int timeout = wait_ms == 0 || limit_wait(loop, wait_ms) ? 0 : -1;
    int count = epoll_wait(state->epoll, state->events, RV_EPOLL_EVENTS_MAX, timeout);
    epoll_read_clock(loop);
    for (int i = 0; i < count; i++) {
        uint64_t data = state->events[i].data.u64;
        if (i + 2 < count)
            fetch_ahead(&state->events[i + 2]);
        void *object = (void *)(uintptr_t)(data & ~(uint64_t)TAG_MASK);
        switch (data & TAG_MASK) {
        case TAG_STREAM:
            rv_epoll_stream_event(object, state->events[i].events);
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
    int epoll = rv_epoll_of(listener->loop)->epoll;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, listener->descriptor, &event) == 0
               ? 0
               : rv_epoll_error(errno);
}

static void epoll_accept_stop(struct rv_listener *listener)
{
    epoll_ctl(rv_epoll_of(listener->loop)->epoll, EPOLL_CTL_DEL, listener->descriptor, NULL);
}

const struct rv_backend rv_backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .read_clock = epoll_read_clock,
    .clock_ns = epoll_clock_ns,
    .wait = epoll_wait_and_dispatch,
    .wake = epoll_wake,
    .attach = rv_epoll_attach,
    .connect = rv_epoll_connect,
    .detach = rv_epoll_detach,
    .drop = epoll_drop,
    .receive = rv_epoll_receive,
    .send = rv_epoll_send,
    .send_file = rv_epoll_send_file,
    .may_encrypt = rv_ktls_is_offered,
    .encrypt = rv_epoll_encrypt,
    .send_record = rv_epoll_send_record,
    .shut_down = rv_epoll_shut_down,
    .unacknowledged = rv_epoll_unacknowledged,
    .accept_start = epoll_accept_start,
    .accept_stop = epoll_accept_stop,
};
