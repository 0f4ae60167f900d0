/*
 * The pool: threads that run handlers which block. A talk goes there with a copy of its head and comes
 * back by a message to its worker; while it is there, its request and verb side belong to the pool
 * thread, its connection to the worker. The queue is bounded: what does not fit is answered 503.
 *
 * A whole answer is left with the talk and sent when it comes back. Pieces of a streamed one travel
 * through the talk's channel, which makes the writer wait while too many octets are on their way.
 */
#ifndef RV_SERVER_POOL_H
#define RV_SERVER_POOL_H

#include "server/talk.h"

struct rv_pool;
struct rv_pool_channel;

/* Starts `threads` threads; NULL: it could not. */
struct rv_pool *rv_pool_start(rv_server *server, unsigned threads);

/* Lets the threads finish what they are running and ends them. Nothing may be queued any more. */
void rv_pool_stop(struct rv_pool *pool);

unsigned rv_pool_threads(const struct rv_pool *pool);

/* Worker: sends a talk to the pool, or to the executor of its route, or answers 503 when that takes no
   more. */
void rv_pool_run(struct rv_talk *talk, rv_handler handler, void *ctx);

/* Worker: something small that blocks, on behalf of a talk that was admitted already: always taken. Whoever
   asks counts it in pool_talks, and so has the worker wait for it. */
void rv_pool_do(struct rv_pool *pool, struct rv_pool_job *job);

/* Worker: the client of a talk at the pool has gone. */
void rv_pool_tell_gone(struct rv_talk *talk);

/* Pool thread: the verbs. */
rv_error rv_pool_leave_answer(struct rv_talk *talk, const char *content_type,
                              const struct rv_content *content);
int rv_pool_write(struct rv_talk *talk, uint64_t length, rv_bytes piece);
int rv_pool_write_borrowed(struct rv_talk *talk, uint64_t length, rv_bytes piece,
                           void (*release)(void *ctx), void *ctx);

/* channel.c */
void rv_channel_open(struct rv_talk *talk);
void rv_channel_close(struct rv_talk *talk);

/* talk.c: resumes that came while the talk was at the pool. */
void rv_talk_run_early_resumes(struct rv_talk *talk);

#endif
