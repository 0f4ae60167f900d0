/*
 * What the two halves of the epoll back end share: epoll.c is the loop's side (waiting, the clock, the
 * timer, accepting), epoll_stream.c that of the streams. Nobody else includes this.
 */
#ifndef RV_IO_EPOLL_H
#define RV_IO_EPOLL_H

#include "io/backend.h"
#include "io/loop.h"

#include <sys/epoll.h>

#define RV_EPOLL_EVENTS_MAX 512

struct rv_epoll {
    int epoll;
    int wake;
    int timer;
    uint64_t timer_ns; /* what the timer is set to; 0: it is not */
    struct epoll_event events[RV_EPOLL_EVENTS_MAX];
};

static inline struct rv_epoll *rv_epoll_of(const struct rv_loop *loop)
{
    return loop->backend_state;
}

/* What an errno of making descriptors or watching them means. */
rv_error rv_epoll_error(int error_number);

/* An event of a stream's descriptor. */
void rv_epoll_stream_event(struct rv_stream *stream, uint32_t events);

/* The functions of struct rv_backend that are about streams. */
void rv_epoll_attach(struct rv_stream *stream);
int rv_epoll_connect(struct rv_stream *stream, const struct rv_connect_to *to);
void rv_epoll_detach(struct rv_stream *stream);
void rv_epoll_receive(struct rv_stream *stream);
ssize_t rv_epoll_send(struct rv_stream *stream, const struct iovec *pieces, int count, bool more);
ssize_t rv_epoll_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length);
bool rv_epoll_encrypt(struct rv_stream *stream, const void *keys);
int rv_epoll_send_record(struct rv_stream *stream, unsigned char type, const char *octets,
                         size_t length);
void rv_epoll_shut_down(struct rv_stream *stream);
uint64_t rv_epoll_unacknowledged(struct rv_stream *stream);

#endif
