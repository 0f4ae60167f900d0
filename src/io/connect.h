/*
 * The socket of a connection that is made from here: created, set up, bound when it is to leave from a
 * certain address, and on its way to the peer. Whoever asked owns it then. What becomes of the attempt
 * is heard by whoever watches the descriptor.
 */
#ifndef RV_IO_CONNECT_H
#define RV_IO_CONNECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rv_connect_to {
    const struct sockaddr *peer; /* IPv4, IPv6 or unix (a path, or an abstract name) */
    socklen_t peer_length;
    const struct sockaddr *source; /* to connect from; NULL: the kernel chooses. Port 0: the kernel
                                      chooses the port, so late that only the pair of addresses needs
                                      to be new: one address then serves for more connections than it
                                      has ports */
    socklen_t source_length;
    /* The source port is one of these; 0: the kernel chooses from all of ip_local_port_range. It tries one
       after the other, half of them in vain once half are taken: thousands of connections to one
       address are made quickly only from narrow ranges. They must lie within ip_local_port_range. */
    uint16_t port_first, port_last;
    uint16_t port_start; /* of them, where a kernel before Linux 6.3 begins to try */
    bool secure;         /* the stream speaks TLS with the loop's client context (io/tls.h) */
    int buffer_bytes;    /* SO_SNDBUF and SO_RCVBUF, which the kernel doubles; 0: the kernel's */
};

/* A non-blocking, close-on-exec socket (TCP_NODELAY on TCP) that is connected or connecting: 0, or the
   errno of what failed at once. Then there is no socket. */
int rv_connect_socket(const struct rv_connect_to *to, int *descriptor);

/* What is done where the kernel knows no ranges (before Linux 6.3): binds the socket to the first port of the
   range, from `port_start` on and around, that nobody else has. 0 or errno. Ports that are shared with a
   socket of ours fail when connecting, with EADDRNOTAVAIL. */
int rv_connect_bind_port(int descriptor, const struct rv_connect_to *to);

#endif
