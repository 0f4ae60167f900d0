/*
 * Step 7: talks that are answered later. Handles that never dangle, the way back to a talk's worker from any
 * thread, delays, and being told that the client has gone.
 */
#include "server/talk.h"

#include "server/pool.h"
#include "server/server.h"

#include <stdlib.h>

struct resume {
    struct rv_message message; /* first */
    rv_handle handle;
    rv_handler then;
    void *value;
};

static rv_handle handle_of(const struct rv_talk *talk)
{
    return (rv_handle){(uint64_t)talk->worker->index << 56 |
                       (uint64_t)(talk->slot & 0xffffff) << 32 | talk->generation};
}

struct rv_talk *rv_talk_find(struct rv_worker *worker, rv_handle handle)
{
    uint32_t slot = (uint32_t)(handle.id >> 32) & 0xffffff;
    if (slot >= worker->talk_count)
        return NULL;
    struct rv_talk *talk = worker->talks[slot];
    return talk->in_use && talk->generation == (uint32_t)handle.id ? talk : NULL;
}

rv_handle rv_suspend(rv_talk *talk)
{
    return talk == NULL ? (rv_handle){0} : handle_of(talk);
}

static void run_resume(struct rv_message *message, void *owner)
{
    struct resume *resume = (struct resume *)message;
    struct rv_talk *talk = rv_talk_find(owner, resume->handle);
    if (talk != NULL && talk->on_pool) {
        /* The handler that suspended it has not returned yet. */
        message->next = talk->early;
        talk->early = message;
        return;
    }
    if (talk == NULL || talk->conn == NULL || talk->response == RV_RESPONSE_ENDED) {
        resume->then(NULL, resume->value);
    } else {
        rv_talk_run(talk, resume->then, resume->value);
        rv_talk_advance(talk);
    }
    free(resume);
}

/* In the order they came. The talk may be void already: then each gets NULL. */
void rv_talk_run_early_resumes(struct rv_talk *talk)
{
    struct rv_message *newest = talk->early, *oldest = NULL;
    talk->early = NULL;
    while (newest != NULL) {
        struct rv_message *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        struct rv_message *next = oldest->next;
        run_resume(oldest, talk->worker);
        oldest = next;
    }
}

rv_error rv_resume(rv_server *server, rv_handle handle, rv_handler then, void *value)
{
    unsigned index = (unsigned)(handle.id >> 56);
    int phase = atomic_load(&server->phase);
    if (then == NULL)
        return RV_EINVAL;
    if (handle.id == 0 || phase == RV_SERVER_IDLE || phase == RV_SERVER_CHANGING ||
        index >= server->worker_count)
        return RV_EGONE;
    struct resume *resume = malloc(sizeof *resume);
    if (resume == NULL)
        return RV_ENOMEM;
    *resume = (struct resume){{NULL, run_resume}, handle, then, value};
    rv_loop_post(&server->workers[index]->loop, &resume->message);
    return 0;
}

rv_error rv_after_ms(rv_talk *talk, uint64_t delay_ms, rv_handler then, void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || talk->timer_then != NULL || talk->response == RV_RESPONSE_ENDED)
        return RV_ESTATE;
    if (then == NULL || delay_ms > UINT32_MAX)
        return RV_EINVAL;
    talk->timer_then = then;
    talk->timer_ctx = ctx;
    /* One more: the clock was read at the beginning of this turn, in whole milliseconds. */
    rv_timer_set(&talk->worker->loop.wheel, &talk->timer, talk->worker->loop.now_ms + delay_ms + 1);
    return 0;
}

rv_error rv_on_gone(rv_talk *talk, void (*gone)(void *ctx), void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || talk->response == RV_RESPONSE_ENDED)
        return RV_ESTATE;
    talk->on_gone = gone;
    talk->on_gone_ctx = ctx;
    return 0;
}

rv_server *rv_server_of(const rv_talk *talk)
{
    return talk == NULL ? NULL : talk->worker->server;
}
