/*
 * Making sockets that connect (connect.h).
 */
#include "io/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
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
    return to->peer->sa_family == AF_UNIX || set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

/* Without IP_BIND_ADDRESS_NO_PORT bind takes a port that no other socket of this address has, whatever
   it is connected to. The option is one of IPv4's, and counts for IPv6 sockets as well (ip(7)). */
static bool leave_from_address(int descriptor, const struct sockaddr *source, socklen_t length)
{
    if (source->sa_family != AF_UNIX && !set(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1))
        return false;
    return bind(descriptor, source, length) == 0;
}

static bool set_port_range(int descriptor, const struct rv_connect_to *to)
{
    uint32_t range = (uint32_t)to->port_last << 16 | to->port_first;
    return set(descriptor, IPPROTO_IP, IP_LOCAL_PORT_RANGE, (int)range);
}

int rv_connect_bind_port(int descriptor, const struct rv_connect_to *to)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } from = {.any.sa_family = to->peer->sa_family};
    socklen_t length = from.any.sa_family == AF_INET ? sizeof from.v4 : sizeof from.v6;
    uint16_t *port = from.any.sa_family == AF_INET ? &from.v4.sin_port : &from.v6.sin6_port;
    if (to->source != NULL)
        memcpy(&from, to->source, length);
    if (!set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1))
        return errno;
    unsigned count = to->port_last - to->port_first + 1u;
    for (unsigned i = 0; i < count; i++) {
        *port = htons((uint16_t)(to->port_first + (to->port_start - to->port_first + i) % count));
        if (bind(descriptor, &from.any, length) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return errno;
    }
    return EADDRNOTAVAIL;
}

/* Where the connection comes from, as far as anybody cares. */
static bool leave_from(int descriptor, const struct rv_connect_to *to)
{
    bool is_tcp = to->peer->sa_family != AF_UNIX;
    if (is_tcp && to->port_first != 0 && !set_port_range(descriptor, to)) {
        errno = rv_connect_bind_port(descriptor, to);
        return errno == 0;
    }
    return to->source == NULL || leave_from_address(descriptor, to->source, to->source_length);
}

int rv_connect_socket(const struct rv_connect_to *to, int *descriptor)
{
    int made = socket(to->peer->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0)
        return errno;
    if (set_up(made, to) && leave_from(made, to) &&
        (connect(made, to->peer, to->peer_length) == 0 || errno == EINPROGRESS)) {
        *descriptor = made;
        return 0;
    }
    int error_number = errno;
    close(made);
    return error_number;
}
