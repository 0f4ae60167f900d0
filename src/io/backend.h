/*
 * What a back end does for a loop: it moves octets and says when. The interface is shaped by
 * completions - octets arrive through rv_stream_received, room for output through
 * rv_stream_writable, connections through the listener's on_accept - because a readiness system
 * (epoll) can imitate completions and not the other way round. Only io/ calls these; server/ and load/
 * see streams and listeners.
 *
 * Ownership: octets handed to `send` are taken, as many as it returns, before it returns: a back end
 * that sends later copies them or takes the loop's page and gives it a fresh one. Octets handed to
 * rv_stream_received live until that returns.
 */
#ifndef RV_IO_BACKEND_H
#define RV_IO_BACKEND_H

#include <rivulet.h>
#include <sys/types.h>
#include <sys/uio.h>

struct rv_connect_to;
struct rv_loop;
struct rv_stream;
struct rv_listener;

struct rv_backend {
    const char *name;

    rv_error (*open)(struct rv_loop *loop);
    void (*close)(struct rv_loop *loop);

    /* Sets loop->now_ms and loop->wall_s. */
    void (*read_clock)(struct rv_loop *loop);

    /* The monotonic clock as of now. */
    uint64_t (*clock_ns)(struct rv_loop *loop);

    /* Waits at most `wait_ms` for completions (UINT64_MAX: until one comes), and not beyond
       loop->alarm_ns, reads the clock and dispatches them. */
    void (*wait)(struct rv_loop *loop, uint64_t wait_ms);

    /* Ends a wait. The one function that any thread may call. */
    void (*wake)(struct rv_loop *loop);

    /* Starts receiving from stream->descriptor, which is the stream's from now on. Octets may be
       delivered before it returns. A failure is reported by rv_stream_lost. */
    void (*attach)(struct rv_stream *stream);

    /* Begins to connect and returns 0: rv_stream_connected or rv_stream_lost follows, and receiving
       begins by itself behind the former; or returns the errno of what failed at once. */
    int (*connect)(struct rv_stream *stream, const struct rv_connect_to *to);

    /* Closes the descriptor; nothing is reported any more. */
    void (*detach)(struct rv_stream *stream);

    /* Closes a connected descriptor that no stream has taken. */
    void (*drop)(struct rv_loop *loop, int descriptor);

    /* Receives again after a pause, as long as the stream is not paused. Here and everywhere, a stream
       that skips is told of no more octets at once than it has left to skip; those need not be read. */
    void (*receive)(struct rv_stream *stream);

    /* Takes octets: how many, or -errno. When it takes fewer than all, or none (-EAGAIN), it calls
       rv_stream_writable once there is room again. `more`: further octets follow at once. */
    ssize_t (*send)(struct rv_stream *stream, const struct iovec *pieces, int count, bool more);

    /* The same from a file; 0: the file ends before `length`. */
    ssize_t (*send_file)(struct rv_stream *stream, int file, uint64_t offset, uint64_t length);

    /* TLS below the streams, or NULL, as the next two: whether there is any; records are made of what
       this stream sends from now on, with these keys (io/ktls.h), or false; and one record of another
       type than data: 0, or an errno, where behind EAGAIN rv_stream_writable follows. */
    bool (*may_encrypt)(void);
    bool (*encrypt)(struct rv_stream *stream, const void *keys);
    int (*send_record)(struct rv_stream *stream, unsigned char type, const char *octets,
                       size_t length);

    /* FIN behind what was sent. */
    void (*shut_down)(struct rv_stream *stream);

    /* Octets that were taken and that the peer has not acknowledged; or more: a FIN may count as one,
       and a unix socket reports the size of its buffers. */
    uint64_t (*unacknowledged)(struct rv_stream *stream);

    /* Starts and stops accepting. */
    rv_error (*accept_start)(struct rv_listener *listener);
    void (*accept_stop)(struct rv_listener *listener);
};

extern const struct rv_backend rv_backend_epoll;

#endif
