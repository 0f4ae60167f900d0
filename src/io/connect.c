/*
 * Making sockets that connect (connect.h).
 */
#include "io/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <unistd.h>

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51 /* newer than Debian 12's headers */
#endif

static bool set(int descriptor, int level, int option, int value)
{
    return setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

static bool set_up(int descriptor, const struct rv_connect_to *to)
{
    /* Before the handshake: it announces how far the window can be scaled. */
    if (to->buffer_bytes > 0 && (!set(descriptor, SOL_SOCKET, SO_SNDBUF, to->buffer_bytes) ||
                                 !set(descriptor, SOL_SOCKET, SO_RCVBUF, to->buffer_bytes)))
        return false;
    if (to->peer->sa_family == AF_UNIX)
        return true;
    if (to->port_first != 0) /* an older kernel refuses, and does without */
        set(descriptor, IPPROTO_IP, IP_LOCAL_PORT_RANGE, to->port_last << 16 | to->port_first);
    return set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

/* Without IP_BIND_ADDRESS_NO_PORT bind takes a port that no other socket of this address has, whatever
   it is connected to. The option is one of IPv4's, and counts for IPv6 sockets as well (ip(7)). */
static bool leave_from(int descriptor, const struct sockaddr *source, socklen_t length)
{
    if (source->sa_family != AF_UNIX && !set(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1))
        return false;
    return bind(descriptor, source, length) == 0;
}

int rv_connect_socket(const struct rv_connect_to *to, int *descriptor)
{
    int made = socket(to->peer->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0)
        return errno;
    if (set_up(made, to) &&
        (to->source == NULL || leave_from(made, to->source, to->source_length)) &&
        (connect(made, to->peer, to->peer_length) == 0 || errno == EINPROGRESS)) {
        *descriptor = made;
        return 0;
    }
    int error_number = errno;
    close(made);
    return error_number;
}
