/*
 * The channel of a talk at the pool: how pieces of a streamed response get from the pool thread to the
 * worker, and how the worker's back-pressure gets to the pool thread, which simply waits.
 *
 * Octets are "outstanding" from the write until the worker has passed them on - while the connection's
 * queue is over its high-water mark, until it has drained. The writer waits while output_high_bytes
 * are outstanding; it is woken when some are passed on or the client has gone.
 */
#include "server/pool.h"
#include "server/wire.h"

#include <stdlib.h>

struct rv_pool_channel {
    pthread_mutex_t mutex; /* guards `outstanding` and `gone` */
    pthread_cond_t changed;
    uint64_t outstanding;
    bool gone;
    uint64_t held; /* the worker's: outstanding octets that wait for the drain */
};

struct piece {
    struct rv_message message; /* first */
    struct rv_talk *talk;
    uint64_t length; /* of the whole response, or RV_LENGTH_UNKNOWN */
    rv_bytes octets;
    bool borrowed;
    void (*release)(void *ctx);
    void *ctx;
    char copy[];
};

void rv_channel_open(struct rv_talk *talk)
{
    struct rv_pool_channel *channel = rv_arena_alloc(&talk->arena, sizeof *channel);
    talk->channel = channel;
    if (channel == NULL)
        return;
    memset(channel, 0, sizeof *channel);
    pthread_mutex_init(&channel->mutex, NULL);
    pthread_cond_init(&channel->changed, NULL);
}

void rv_channel_close(struct rv_talk *talk)
{
    if (talk->channel == NULL)
        return;
    pthread_mutex_destroy(&talk->channel->mutex);
    pthread_cond_destroy(&talk->channel->changed);
    talk->channel = NULL;
    talk->drained = NULL;
}

/* ---- the worker's end ------------------------------------------------------------------------------- */

static void pass_on(struct rv_pool_channel *channel, uint64_t octets)
{
    pthread_mutex_lock(&channel->mutex);
    channel->outstanding -= octets;
    pthread_cond_signal(&channel->changed);
    pthread_mutex_unlock(&channel->mutex);
}

void rv_pool_tell_gone(struct rv_talk *talk)
{
    struct rv_pool_channel *channel = talk->channel;
    pthread_mutex_lock(&channel->mutex);
    channel->gone = true;
    pthread_cond_signal(&channel->changed);
    pthread_mutex_unlock(&channel->mutex);
}

static int channel_drained(rv_talk *talk, void *ctx)
{
    struct rv_pool_channel *channel = ctx;
    uint64_t held = channel->held;
    channel->held = 0;
    pass_on(channel, held);
    (void)talk;
    return RV_PENDING;
}

static void deliver(struct rv_message *message, void *owner)
{
    struct piece *piece = (struct piece *)message;
    struct rv_talk *talk = piece->talk;
    struct rv_pool_channel *channel = talk->channel;
    rv_error error =
        talk->conn == NULL || talk->cut ? RV_EGONE : talk->wire->begin(talk, piece->length);
    (void)owner;
    if (error != 0 && piece->release != NULL)
        piece->release(piece->ctx);
    else if (error == 0 && piece->borrowed)
        error = talk->wire->borrowed(talk, piece->octets, piece->release, piece->ctx);
    else if (error == 0)
        error = talk->wire->piece(talk, piece->octets);
    if (error != 0) {
        talk->cut = talk->conn != NULL;
        rv_pool_tell_gone(talk);
    } else if (talk->wire->queued(talk) >= talk->worker->server->options.limits.output_high_bytes) {
        channel->held += piece->octets.len;
        talk->drained = channel_drained;
        talk->drained_ctx = channel;
        talk->wire->want_drain(talk);
    } else {
        pass_on(channel, piece->octets.len);
    }
    free(piece);
    rv_talk_advance(talk);
}

/* ---- the pool thread's end -------------------------------------------------------------------------- */

/* Waits for room. False: the client has gone. */
static bool wait_for_room(struct rv_talk *talk, size_t octets)
{
    struct rv_pool_channel *channel = talk->channel;
    uint64_t high = talk->worker->server->options.limits.output_high_bytes;
    pthread_mutex_lock(&channel->mutex);
    while (channel->outstanding >= high && !channel->gone)
        pthread_cond_wait(&channel->changed, &channel->mutex);
    bool gone = channel->gone;
    if (!gone)
        channel->outstanding += octets;
    pthread_mutex_unlock(&channel->mutex);
    return !gone;
}

static int post(struct rv_talk *talk, struct piece *piece)
{
    piece->message.run = deliver;
    piece->talk = talk;
    rv_loop_post(&talk->worker->loop, &piece->message);
    return RV_OK;
}

int rv_pool_write(struct rv_talk *talk, uint64_t length, rv_bytes octets)
{
    if (!wait_for_room(talk, octets.len))
        return RV_EGONE;
    struct piece *piece = malloc(sizeof *piece + octets.len);
    if (piece == NULL) {
        pass_on(talk->channel, octets.len);
        talk->written -= octets.len;
        return RV_ENOMEM;
    }
    memset(piece, 0, sizeof *piece);
    piece->length = length;
    if (octets.len > 0)
        memcpy(piece->copy, octets.ptr, octets.len);
    piece->octets = rv_slice(piece->copy, octets.len);
    return post(talk, piece);
}

int rv_pool_write_borrowed(struct rv_talk *talk, uint64_t length, rv_bytes octets,
                           void (*release)(void *ctx), void *ctx)
{
    rv_error error = wait_for_room(talk, octets.len) ? 0 : RV_EGONE;
    struct piece *piece = error == 0 ? calloc(1, sizeof *piece) : NULL;
    if (piece == NULL && error == 0) {
        pass_on(talk->channel, octets.len);
        error = RV_ENOMEM;
    }
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return error;
    }
    piece->length = length;
    piece->octets = octets;
    piece->borrowed = true;
    piece->release = release;
    piece->ctx = ctx;
    return post(talk, piece);
}
