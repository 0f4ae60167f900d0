/*
 * The store of sessions in memory. Sessions are spread by their names over shards, each with a lock of its
 * own, so that threads rarely meet; a shard is a hash table and a list in the order of last use, at whose
 * end sessions expire. Any thread.
 */
#ifndef RV_SERVER_SESSION_MEMORY_H
#define RV_SERVER_SESSION_MEMORY_H

#include "server/session.h"

struct rv_session_memory;

/* A store of at most `sessions_max` sessions that each last `timeout_ms` from their last use. `ended` is
   told of each that expires, outside of every lock, and of those that are left at the end; may be NULL.
   NULL: no memory. */
struct rv_session_memory *
rv_session_memory_new(uint64_t sessions_max, uint64_t timeout_ms,
                      void (*ended)(struct rv_session *session, void *ctx), void *ctx);
void rv_session_memory_free(struct rv_session_memory *store);

/* The session of that name, which is used now: held for the caller; NULL: there is none (any more). */
struct rv_session *rv_session_memory_load(struct rv_session_memory *store, rv_bytes id,
                                          uint64_t now_ms);

/* Takes a session up; holds it. RV_EBUSY: there are as many as there may be; RV_ENOMEM. */
rv_error rv_session_memory_save(struct rv_session_memory *store, struct rv_session *session,
                                uint64_t now_ms);

/* Used now. RV_ENOTFOUND. */
rv_error rv_session_memory_touch(struct rv_session_memory *store, rv_bytes id, uint64_t now_ms);

/* Lets a session go. RV_ENOTFOUND. `ended` is not told. */
rv_error rv_session_memory_remove(struct rv_session_memory *store, rv_bytes id);

/* Gives a session of this store another name, with the session's lock held. RV_ENOTFOUND: it is not in the
   store any more; RV_ENOMEM, and it keeps the name that it has. */
rv_error rv_session_memory_rename(struct rv_session_memory *store, struct rv_session *session,
                                  const char *name);

/* Lets those go that have expired. */
void rv_session_memory_sweep(struct rv_session_memory *store, uint64_t now_ms);

uint64_t rv_session_memory_count(const struct rv_session_memory *store);

#endif
