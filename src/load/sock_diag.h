/*
 * Listening sockets as the kernel shows them, through sock_diag(7): who listens where, how long its accept
 * queue is, how long it may be, how much was dropped at it. One netlink exchange per call.
 */
#ifndef RV_LOAD_SOCK_DIAG_H
#define RV_LOAD_SOCK_DIAG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rv_listener {
    struct sockaddr_storage address; /* that it is bound to; of a unix one its name */
    socklen_t length;
    uint32_t inode; /* as /proc/PID/fd shows it, too */
    bool ipv6_only;
    uint32_t queue;   /* connections that wait to be accepted */
    uint32_t backlog; /* the kernel lets one more wait than this */
    /* Packets dropped at it since it was opened, modulo 2^32: SYNs; last ACKs of handshakes, once for the queue
       and once for the packet. */
    uint32_t drops;
    uint64_t file_device; /* of a unix one with a path: the file's; 0: none */
    uint32_t file_inode;
};

/* The socket for the exchange; -1: there is no sock_diag here. */
int rv_diag_open(void);

/* Calls `each` for every listening TCP socket of the family at that port. Walks the kernel's table of
   listeners: 11 us where there are few of them (Linux 6.18). False: the kernel did not answer. */
bool rv_diag_each_tcp(int diag, int family, uint16_t port,
                      void (*each)(const struct rv_listener *listener, void *ctx), void *ctx);

/* The same of listening unix sockets, wherever they are. */
bool rv_diag_each_unix(int diag, void (*each)(const struct rv_listener *listener, void *ctx),
                       void *ctx);

/* Looks at a listener again: 1.1 us. False: it is gone, or (with SO_REUSEPORT) another one of the same address
   was found in its place. */
bool rv_diag_again(int diag, struct rv_listener *listener);

#endif
