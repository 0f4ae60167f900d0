/*
 * The TLS layer between a stream and its back end, as stream.c and stream_output.c see it. Everything
 * that the owner of a stream sees is plain: on_data's octets, what is queued, what a skip counts. The
 * record of a connection is struct rv_tls; what all connections of a loop share - buffers for one call,
 * the queue of handshakes - is struct rv_tls_context.
 *
 * Input: octets that arrive are decrypted record by record into the context's buffer and delivered from
 * there. Ciphertext is kept only when the owner pauses between two records, or while a handshake waits
 * for its turn: handshakes are done after everything else in a turn, for a millisecond at most, so that
 * a storm of them costs established connections no more than that.
 *
 * Output: octets are encrypted only when they are about to be sent. What the back end does not take of
 * the records stays here, and their octets stay in the stream's queue (`owed`) until it has: so the
 * queue, its drain, is_sent and the watch over stalls mean what they mean without TLS.
 */
#ifndef RV_IO_TLS_LAYER_H
#define RV_IO_TLS_LAYER_H

#include "io/stream.h"
#include "io/tls.h"

#include <sys/types.h>
#include <sys/uio.h>

/* The record of a stream that speaks TLS, for rv_stream_open_tls; NULL: no memory. */
struct rv_tls *rv_tls_new(struct rv_stream *stream);
void rv_tls_free(struct rv_stream *stream);

/* The connection of a client is there: its handshake begins. */
void rv_tls_begin(struct rv_stream *stream);

/* ---- input: called with what the back end reports ------------------------------------------------- */

void rv_tls_received(struct rv_stream *stream, char *octets, size_t length);

/* Decrypted octets, or ciphertext, wait for a pause to end. */
bool rv_tls_holds_input(const struct rv_stream *stream);

/* Delivers them. False: the stream is closed or paused again. */
bool rv_tls_receive_held(struct rv_stream *stream);

/* A FIN. True: the peer had said good-bye before; false: it is dealt with. */
bool rv_tls_peer_ended(struct rv_stream *stream);

/* The handshakes whose turn it is. */
void rv_tls_shake_hands(struct rv_loop *loop);
bool rv_tls_hands_wait(const struct rv_loop *loop);

/* ---- output: the back end's calls, encrypting ------------------------------------------------------- */

/* Sends what is left of records. False: octets cannot be sent now. */
bool rv_tls_may_send(struct rv_stream *stream);

ssize_t rv_tls_send(struct rv_stream *stream, const struct iovec *pieces, int count, bool more);
ssize_t rv_tls_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length);

/* close_notify, once. False: it has not been taken yet. */
bool rv_tls_say_goodbye(struct rv_stream *stream);

/* The end of this stream must not look like the end of what it was to say: no close_notify. */
void rv_tls_withhold_goodbye(struct rv_stream *stream);

uint64_t rv_tls_octets_taken(const struct rv_stream *stream);

#endif
