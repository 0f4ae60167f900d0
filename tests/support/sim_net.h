/*
 * A loop on the sim back end with streams in it, each with its owner and its peer: the ground that the
 * tests of streams stand on. There is one at a time, made and checked by the fixtures.
 */
#ifndef RV_TESTS_SIM_NET_H
#define RV_TESTS_SIM_NET_H

#include "io/listener.h"
#include "io/sim.h"
#include "support/stream_owner.h"

#define SIM_NET_STREAMS_MAX 4

struct sim_net {
    struct rv_loop loop; /* its low-water mark is 100 octets */
    struct rv_listener listener;
    struct stream_owner owners[SIM_NET_STREAMS_MAX];
    struct rv_sim_peer *peers[SIM_NET_STREAMS_MAX];
    unsigned count;
};

extern struct sim_net net;

/* Fixtures: a net with one stream; and its end, where nothing may be left over. */
int sim_net_set_up(void **state);
int sim_net_tear_down(void **state);

/* One more stream. */
struct stream_owner *sim_net_connect(void);

/* One turn of the loop. */
void turn(void);

/* What the owner was told, all in all. */
void expect_calls(const struct stream_owner *owner, const char *calls);

/* What the peer has received since the last time. */
void expect_received(struct rv_sim_peer *peer, const char *text);

void write_text(struct rv_stream *stream, const char *text);

/* A `release`: counts its calls in the int that `ctx` is. */
void count_release(void *ctx);

/* An open file with those contents. */
int file_of(rv_bytes contents);
bool is_open(int file);

#endif
