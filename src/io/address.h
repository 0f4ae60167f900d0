/*
 * Addresses to listen on: text in, sockets out, text again. The forms are those of
 * rv_server_options.listen. What goes wrong is said in a sentence that names the address.
 */
#ifndef RV_IO_ADDRESS_H
#define RV_IO_ADDRESS_H

#include <rivulet.h>
#include <sys/socket.h>
#include <sys/un.h>

#define RV_ADDRESS_TEXT_MAX 160 /* the longest formatted address, with terminator */
#define RV_WHY_MAX 320          /* the longest sentence about an address, with terminator */

enum rv_address_kind {
    RV_ADDRESS_TCP,
    RV_ADDRESS_UNIX,      /* a path, or an abstract name */
    RV_ADDRESS_DESCRIPTOR /* an open listening socket */
};

struct rv_address {
    enum rv_address_kind kind;
    int descriptor; /* of RV_ADDRESS_DESCRIPTOR */
    bool dual_stack;
    struct sockaddr_storage sockaddr;
    socklen_t length;
};

/* Parses any form but "inherited". RV_EADDR, with `why` (RV_WHY_MAX octets), when it is none. */
rv_error rv_address_parse(const char *text, struct rv_address *address, char *why);

/* The number of descriptors passed in by LISTEN_FDS (they start at 3); 0 when there are none or they
   are meant for another process. */
int rv_address_inherited(void);

/* "127.0.0.1:80", "[::1]:80", "unix:/path", "unix:@name", "unix:" for an unnamed peer, "" for none. */
void rv_address_format(const struct sockaddr *sockaddr, socklen_t length, char *text, size_t size);

struct rv_listen_options {
    unsigned backlog;
    bool reuse_port; /* SO_REUSEPORT */
};

/*
 * Opens a listening socket: non-blocking, close-on-exec; TCP ones with SO_REUSEADDR, TCP_NODELAY
 * (which accepted sockets inherit) and what the options ask for. A descriptor is duplicated and
 * checked. The address then holds what the socket is really bound to (port 0 becomes the real port).
 * On failure RV_EADDRINUSE, RV_EPERM, RV_EADDR, RV_EFILES or RV_EIO, with `why`.
 */
rv_error rv_address_listen(struct rv_address *address, const struct rv_listen_options *options,
                           int *descriptor, char *why);

/* Closes a listening socket and removes the path of a unix one. */
void rv_address_close(const struct rv_address *address, int descriptor);

/* net.core.somaxconn: the longest accept queue that the kernel grants. */
unsigned rv_address_somaxconn(void);

#endif
