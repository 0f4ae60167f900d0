/*
 * A listening socket in a loop: it accepts, and hands each connected descriptor to its owner. When the
 * process has no descriptor left it stops accepting instead of spinning, and leaves it to the owner
 * when to go on. It does not own the descriptor: several loops may share one.
 */
#ifndef RV_IO_LISTENER_H
#define RV_IO_LISTENER_H

#include "io/loop.h"

#include <sys/socket.h>

/* How many connections a wake-up takes is guessed from the one before, up to a storm: when so many were
   there, all are taken that are, for a client in the queue waits as long as one that is connected already,
   and with thousands of those a wake-up is rare. Others get their turn after so many at most. */
#define RV_ACCEPT_STORM 16
#define RV_ACCEPT_MOST 2048

struct rv_listener {
    struct rv_loop *loop;
    int descriptor;
    bool shared; /* with other loops: only one of them is to be woken */
    bool is_tcp;
    bool is_tls; /* for the owner: what is spoken on the connections */
    bool accepting;
    unsigned batch; /* how many the next wake-up takes */
    /* A connected, non-blocking, close-on-exec descriptor; it is the callee's. */
    void (*on_accept)(struct rv_listener *listener, int descriptor, const struct sockaddr *peer,
                      socklen_t peer_length);
    /* Accepting failed with this errno (EMFILE, ENFILE, ENOMEM, ENOBUFS) and is stopped. */
    void (*on_exhausted)(struct rv_listener *listener, int error_number);
};

rv_error rv_listener_start(struct rv_listener *listener);
void rv_listener_stop(struct rv_listener *listener);

/* Asks the kernel to hold back connections until their first octets are there, for about a second at
   most (tcp(7), TCP_DEFER_ACCEPT), or not to. Without effect on other than TCP sockets. */
void rv_listener_defer(struct rv_listener *listener, bool defer);

/* ---- what back ends report -------------------------------------------------------------------------- */

/* Connections are waiting: takes some. To find that there are no more costs a system call that is saved
   by guessing from the last time; what was left over wakes the loop again. */
void rv_listener_ready(struct rv_listener *listener);

/* Takes up to `most` connections, until there are no more; returns how many there were. */
unsigned rv_listener_take(struct rv_listener *listener, unsigned most);

#endif
