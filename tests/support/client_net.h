/*
 * A stream that connects, on the epoll back end and real sockets, and the server's end of it, which the
 * test plays by hand: the ground that the tests of client streams stand on. There is one at a time, made
 * and checked by the fixtures.
 */
#ifndef RV_TESTS_CLIENT_NET_H
#define RV_TESTS_CLIENT_NET_H

#include "io/address.h"
#include "support/stream_owner.h"

struct client_net {
    struct rv_loop loop;       /* its low-water mark is 100 octets */
    struct rv_address address; /* of the listening socket */
    int listening;
    int peer; /* the accepted end; -1: none */
    struct stream_owner owner;
    bool opened; /* the owner's stream is to be ended */
};

extern struct client_net client_net;

/* Fixtures: a loop and nothing in it; and its end, where nothing may be left over. */
int client_net_set_up(void **state);
int client_net_tear_down(void **state);

void client_listen(const char *text);
void client_stop_listening(void);

/* Where it listens, or did. */
struct rv_connect_to client_there(void);

/* Connects the owner's stream; what rv_stream_connect said. */
int client_begin(const struct rv_connect_to *to);

/* The same to where it listens, and accepts: the stream does not know yet that it is connected. */
void client_begin_and_accept(void);

/* Listens, connects, accepts, and lets the stream know. */
void client_connect(const char *listen);

/* Closes the peer's end: by a FIN, unless there is something that it has not read; by a reset. */
void client_peer_closes(void);
void client_peer_resets(void);

/* A few turns in which whatever is going to happen happens. */
void client_settle(void);

/* Turns the loop until the owner was told `calls`, in a second or so. */
void client_expect_calls(const char *calls);

/* What the owner has received, all in all. */
void client_expect_data(const char *text);

/* What the peer receives next. */
void client_expect_at_peer(const char *text);

#endif
