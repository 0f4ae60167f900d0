/*
 * Sessions in memory (session_memory.h). Names come from the kernel's random numbers, so that part of a
 * name is as good a hash of it as any: nobody can choose one that is in a table.
 */
#include "server/session_memory.h"

#include <stdlib.h>

#define SHARDS 64
#define BUCKETS_MIN 16

struct shard {
    pthread_mutex_t mutex;
    struct rv_session **buckets; /* a power of two of them */
    size_t bucket_count;
    size_t count;
    struct rv_session *oldest, *newest;
} __attribute__((aligned(64)));

struct rv_session_memory {
    uint64_t sessions_max;
    uint64_t timeout_ms;
    void (*ended)(struct rv_session *session, void *ctx);
    void *ctx;
    _Atomic uint64_t count;
    struct shard shards[SHARDS];
};

/* Five bits of each of twelve characters. */
static uint64_t hash_of(const char *id)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < 12; i++)
        hash = hash << 5 | (uint64_t)(id[i] & 0x1f);
    return hash;
}

static struct shard *shard_of(struct rv_session_memory *store, const char *id)
{
    return &store->shards[hash_of(id + 12) % SHARDS];
}

static struct rv_session **bucket_of(struct shard *shard, const char *id)
{
    return &shard->buckets[hash_of(id) & (shard->bucket_count - 1)];
}

struct rv_session_memory *
rv_session_memory_new(uint64_t sessions_max, uint64_t timeout_ms,
                      void (*ended)(struct rv_session *session, void *ctx), void *ctx)
{
    struct rv_session_memory *store = aligned_alloc(64, sizeof *store);
    if (store == NULL)
        return NULL;
    memset(store, 0, sizeof *store);
    store->sessions_max = sessions_max;
    store->timeout_ms = timeout_ms;
    store->ended = ended;
    store->ctx = ctx;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&store->shards[i].mutex, NULL);
    return store;
}

/* ---- one shard, whose lock is held ---------------------------------------------------------------------- */

static struct rv_session **find(struct shard *shard, rv_bytes id)
{
    if (shard->bucket_count == 0)
        return NULL;
    struct rv_session **place = bucket_of(shard, id.ptr);
    while (*place != NULL && memcmp((*place)->id, id.ptr, RV_SESSION_ID_BYTES) != 0)
        place = &(*place)->next;
    return *place == NULL ? NULL : place;
}

static bool grow(struct shard *shard)
{
    size_t count = shard->bucket_count == 0 ? BUCKETS_MIN : shard->bucket_count * 2;
    struct rv_session **buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL)
        return false;
    free(shard->buckets);
    shard->buckets = buckets;
    shard->bucket_count = count;
    for (struct rv_session *session = shard->oldest; session != NULL; session = session->newer) {
        struct rv_session **place = bucket_of(shard, session->id);
        session->next = *place;
        *place = session;
    }
    return true;
}

static void unlink_by_use(struct shard *shard, struct rv_session *session)
{
    *(session->older == NULL ? &shard->oldest : &session->older->newer) = session->newer;
    *(session->newer == NULL ? &shard->newest : &session->newer->older) = session->older;
}

static void link_newest(struct shard *shard, struct rv_session *session, uint64_t now_ms)
{
    session->used_ms = now_ms;
    session->newer = NULL;
    session->older = shard->newest;
    *(shard->newest == NULL ? &shard->oldest : &shard->newest->newer) = session;
    shard->newest = session;
}

static void take_out(struct rv_session_memory *store, struct shard *shard,
                     struct rv_session **place)
{
    struct rv_session *session = *place;
    *place = session->next;
    unlink_by_use(shard, session);
    shard->count--;
    atomic_fetch_sub(&store->count, 1);
    session->ended = true;
}

static void put_in(struct shard *shard, struct rv_session *session, uint64_t now_ms)
{
    struct rv_session **place = bucket_of(shard, session->id);
    session->next = *place;
    *place = session;
    link_newest(shard, session, now_ms);
    shard->count++;
    session->ended = false;
}

static bool is_unused(const struct rv_session_memory *store, const struct rv_session *session,
                      uint64_t now_ms)
{
    return now_ms > session->used_ms && now_ms - session->used_ms >= store->timeout_ms;
}

/* A talk may hold it: then it is in use, however long the talk takes. */
static bool is_held(const struct rv_session *session)
{
    return session->holders > 1;
}

static bool has_expired(const struct rv_session_memory *store, const struct rv_session *session,
                        uint64_t now_ms)
{
    return is_unused(store, session, now_ms) && !is_held(session);
}

/* ---- the store ------------------------------------------------------------------------------------------- */

/* It has been taken out: what the store held is told, and let go. */
static void end(struct rv_session_memory *store, struct rv_session *session)
{
    if (store->ended != NULL)
        store->ended(session, store->ctx);
    rv_session_drop(session);
}

struct rv_session *rv_session_memory_load(struct rv_session_memory *store, rv_bytes id,
                                          uint64_t now_ms)
{
    struct rv_session *session = NULL, *expired = NULL;
    if (!rv_session_is_name(id))
        return NULL;
    struct shard *shard = shard_of(store, id.ptr);
    pthread_mutex_lock(&shard->mutex);
    struct rv_session **place = find(shard, id);
    if (place != NULL && has_expired(store, *place, now_ms)) {
        expired = *place;
        take_out(store, shard, place);
    } else if (place != NULL) {
        session = rv_session_hold(*place);
        unlink_by_use(shard, session);
        link_newest(shard, session, now_ms);
    }
    pthread_mutex_unlock(&shard->mutex);
    if (expired != NULL)
        end(store, expired);
    return session;
}

/* One more, if there may be. */
static bool take_place(struct rv_session_memory *store)
{
    uint64_t count = store->count;
    while (count < store->sessions_max)
        if (atomic_compare_exchange_weak(&store->count, &count, count + 1))
            return true;
    return false;
}

static rv_error save(struct rv_session_memory *store, struct rv_session *session, uint64_t now_ms)
{
    struct shard *shard = shard_of(store, session->id);
    pthread_mutex_lock(&shard->mutex);
    bool room = shard->count < shard->bucket_count || grow(shard) || shard->bucket_count > 0;
    if (room)
        put_in(shard, session, now_ms);
    pthread_mutex_unlock(&shard->mutex);
    return room ? 0 : RV_ENOMEM;
}

rv_error rv_session_memory_save(struct rv_session_memory *store, struct rv_session *session,
                                uint64_t now_ms)
{
    if (!take_place(store))
        return RV_EBUSY;
    rv_error error = save(store, rv_session_hold(session), now_ms);
    if (error != 0) {
        atomic_fetch_sub(&store->count, 1);
        rv_session_drop(session);
    }
    return error;
}

/* Puts a session back, or into another shard: there is a place for it. */
static rv_error put_under(struct rv_session_memory *store, struct rv_session *session,
                          const char *name, uint64_t now_ms)
{
    memcpy(session->id, name, RV_SESSION_ID_BYTES);
    rv_error error = save(store, session, now_ms);
    if (error == 0)
        atomic_fetch_add(&store->count, 1);
    return error;
}

/* A request with the old name that comes in between finds nothing: that is what the name was changed for. */
rv_error rv_session_memory_rename(struct rv_session_memory *store, struct rv_session *session,
                                  const char *name)
{
    char old[RV_SESSION_ID_BYTES];
    memcpy(old, session->id, sizeof old);
    struct shard *shard = shard_of(store, old);
    pthread_mutex_lock(&shard->mutex);
    struct rv_session **place = find(shard, rv_slice(old, sizeof old));
    bool there = place != NULL && *place == session;
    uint64_t used_ms = session->used_ms;
    if (there)
        take_out(store, shard, place);
    pthread_mutex_unlock(&shard->mutex);
    if (!there)
        return RV_ENOTFOUND;
    rv_error error = put_under(store, session, name, used_ms);
    if (error != 0)
        put_under(store, session, old, used_ms); /* its shard has a table: this does not fail */
    return error;
}

rv_error rv_session_memory_touch(struct rv_session_memory *store, rv_bytes id, uint64_t now_ms)
{
    struct rv_session *session = rv_session_memory_load(store, id, now_ms);
    rv_session_drop(session);
    return session == NULL ? RV_ENOTFOUND : 0;
}

rv_error rv_session_memory_remove(struct rv_session_memory *store, rv_bytes id)
{
    if (!rv_session_is_name(id))
        return RV_ENOTFOUND;
    struct shard *shard = shard_of(store, id.ptr);
    pthread_mutex_lock(&shard->mutex);
    struct rv_session **place = find(shard, id), *session = place == NULL ? NULL : *place;
    if (session != NULL)
        take_out(store, shard, place);
    pthread_mutex_unlock(&shard->mutex);
    if (session == NULL)
        return RV_ENOTFOUND;
    rv_session_drop(session);
    return 0;
}

/* The oldest of a shard that has expired (or `all`), taken out; NULL: none has. Those that a talk holds make
   way for the ones behind them. */
static struct rv_session *take_oldest(struct rv_session_memory *store, struct shard *shard,
                                      uint64_t now_ms, bool all)
{
    struct rv_session *session;
    pthread_mutex_lock(&shard->mutex);
    while ((session = shard->oldest) != NULL && !all && is_unused(store, session, now_ms) &&
           is_held(session)) {
        unlink_by_use(shard, session);
        link_newest(shard, session, now_ms);
    }
    if (session != NULL && (all || has_expired(store, session, now_ms)))
        take_out(store, shard, find(shard, rv_slice(session->id, RV_SESSION_ID_BYTES)));
    else
        session = NULL;
    pthread_mutex_unlock(&shard->mutex);
    return session;
}

static void end_oldest(struct rv_session_memory *store, uint64_t now_ms, bool all)
{
    struct rv_session *session;
    for (size_t i = 0; i < SHARDS; i++)
        while ((session = take_oldest(store, &store->shards[i], now_ms, all)) != NULL)
            end(store, session);
}

void rv_session_memory_sweep(struct rv_session_memory *store, uint64_t now_ms)
{
    end_oldest(store, now_ms, false);
}

void rv_session_memory_free(struct rv_session_memory *store)
{
    if (store == NULL)
        return;
    end_oldest(store, 0, true);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_destroy(&store->shards[i].mutex);
        free(store->shards[i].buckets);
    }
    free(store);
}

uint64_t rv_session_memory_count(const struct rv_session_memory *store)
{
    return store->count;
}
