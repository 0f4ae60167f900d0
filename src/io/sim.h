/*
 * The sim back end: a network of peers in memory on a clock that only its driver moves. The same
 * streams, listeners and timers run on it as on epoll, so a whole server can be driven octet by octet,
 * without a port and without waiting: by tests, by fuzzers, and by programs that test their handlers.
 *
 * The driver plays the other side. To a server it is the clients: it connects, sends segments, limits
 * what a client takes, half-closes and resets. To a client it is the server: each attempt to connect
 * waits in a queue until the driver has taken it, and goes on waiting until it is accepted or refused.
 * Everything happens inside the driver's calls and the turns of the loop; only
 * rv_sim_wait_for_post ever blocks, for messages from pool threads.
 */
#ifndef RV_IO_SIM_H
#define RV_IO_SIM_H

#include "base/buffer.h"
#include "io/backend.h"
#include "io/loop.h"

extern const struct rv_backend rv_backend_sim;

/* The driver's end of a connection, or of an attempt to make one. Owned by the driver; lives until rv_sim_peer_free, which resets
   the connection if it is still there. */
struct rv_sim_peer;

/* Connects to what the loop listens on; NULL: no memory, or nobody accepts at the moment. */
struct rv_sim_peer *rv_sim_connect(struct rv_loop *loop);
void rv_sim_peer_free(struct rv_sim_peer *peer);

/* How many streams are connecting and were not taken by the driver. */
size_t rv_sim_attempts(const struct rv_loop *loop);

/* Takes the oldest of them; NULL: there is none. It is the driver's now, who accepts it, refuses it, or
   leaves it hanging; when it is freed undecided it is refused. The stream may give it up meanwhile
   (rv_sim_is_closed). One that is given up before it is taken is gone. */
struct rv_sim_peer *rv_sim_take(struct rv_loop *loop);

/* Decides: on_connected and what was written, or on_lost with ECONNREFUSED, ETIMEDOUT and the like, are
   told before these return. */
void rv_sim_accept(struct rv_sim_peer *peer);
void rv_sim_refuse(struct rv_sim_peer *peer, int error_number);

/* Attempts fail at once from now on, with this errno, and leave no trace here; 0: no longer. */
void rv_sim_fail_attempts(struct rv_loop *loop, int error_number);

/* One segment. RV_EGONE when the stream is closed, or not connected yet. */
rv_error rv_sim_send(struct rv_sim_peer *peer, rv_bytes octets);

/* FIN, RST (which refuses an attempt). */
void rv_sim_half_close(struct rv_sim_peer *peer);
void rv_sim_reset(struct rv_sim_peer *peer);

/* How many more octets the peer takes; UINT64_MAX: any number. */
void rv_sim_set_window(struct rv_sim_peer *peer, uint64_t octets);

/* What was received and not consumed yet; the driver empties it with rv_buffer_consume. */
struct rv_buffer *rv_sim_received(struct rv_sim_peer *peer);

/* The other side, the stream: FIN seen, or closed altogether. */
bool rv_sim_is_ended(const struct rv_sim_peer *peer);
bool rv_sim_is_closed(const struct rv_sim_peer *peer);

/* Moves the clock. Timers and the alarm are for the next turn. */
void rv_sim_advance(struct rv_loop *loop, uint64_t ms);
void rv_sim_advance_us(struct rv_loop *loop, uint64_t us);

/* Blocks until another thread has posted to the loop, for `ms` real milliseconds at most; true: there
   is something in the inbox. */
bool rv_sim_wait_for_post(struct rv_loop *loop, unsigned ms);

#endif
