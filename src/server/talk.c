/*
 * The life of talks (talk.h): taking, keeping, running handlers, failing, losing the client, giving
 * back. How they are answered later is in suspend.c. What is said in a response is reply.c's and streaming.c's business, how it is sent wire.c's.
 */
#include "server/talk.h"

#include "server/body.h"
#include "server/parts.h"
#include "server/pool.h"
#include "server/session_track.h"
#include "server/shaper.h"
#include "server/tell.h"
#include "server/wire.h"

#include <stdlib.h>

/* What is zeroed for each exchange. */
#define EXCHANGE_AT offsetof(struct rv_talk, conn)
#define EXCHANGE_BYTES (offsetof(struct rv_talk, first_block) - EXCHANGE_AT)

/* ---- taking and giving back ------------------------------------------------------------------------- */

static void timer_fired(struct rv_timer *timer)
{
    struct rv_talk *talk = (struct rv_talk *)((char *)timer - offsetof(struct rv_talk, timer));
    rv_handler then = talk->timer_then;
    talk->timer_then = NULL;
    rv_talk_run(talk, then, talk->timer_ctx);
    rv_talk_advance(talk);
}

static bool make_room(struct rv_worker *worker)
{
    if (worker->talk_count < worker->talk_room)
        return true;
    uint32_t room = worker->talk_room == 0 ? 64 : worker->talk_room * 2;
    struct rv_talk **talks = realloc(worker->talks, room * sizeof *talks);
    if (talks == NULL)
        return false;
    worker->talks = talks;
    worker->talk_room = room;
    return true;
}

static struct rv_talk *talk_new(struct rv_worker *worker)
{
    size_t fields_max = (size_t)worker->server->options.limits.head_fields_max;
    struct rv_talk *talk =
        make_room(worker) ? malloc(sizeof *talk + fields_max * sizeof(struct rv_field)) : NULL;
    if (talk == NULL)
        return NULL;
    memset(talk, 0, sizeof *talk);
    talk->worker = worker;
    talk->slot = worker->talk_count;
    talk->generation = 1; /* the handle 0 names none */
    talk->head.fields = talk->fields_room;
    rv_timer_init(&talk->timer, timer_fired);
    rv_arena_init(&talk->arena, talk->first_block, sizeof talk->first_block);
    worker->talks[worker->talk_count++] = talk;
    return talk;
}

struct rv_talk *rv_talk_take(struct rv_worker *worker)
{
    struct rv_talk *talk = worker->free_talks;
    if (talk != NULL)
        worker->free_talks = talk->next_free;
    else
        talk = talk_new(worker);
    if (talk == NULL)
        return NULL;
    memset((char *)talk + EXCHANGE_AT, 0, EXCHANGE_BYTES);
    talk->in_use = true;
    talk->fields_last = &talk->fields;
    return talk;
}

void rv_talk_give(struct rv_talk *talk)
{
    struct rv_worker *worker = talk->worker;
    talk->in_use = false;
    talk->generation++;
    if (talk->generation == 0)
        talk->generation = 1;
    if (talk->timer_then != NULL)
        rv_timer_stop(&worker->loop.wheel, &talk->timer);
    if (talk->early != NULL)
        rv_talk_run_early_resumes(talk);
    rv_parts_abandon(talk, RV_ESTATE);
    if (talk->session != NULL)
        rv_session_leave(talk);
    if (talk->sessions_full)
        RV_COUNT(worker, sessions_full);
    if (talk->shaper != NULL)
        rv_shape_drop(talk);
    if (talk->body_buffer.ptr != NULL)
        rv_buffer_free(&talk->body_buffer);
    rv_arena_reset(&talk->arena);
    talk->next_free = worker->free_talks;
    worker->free_talks = talk;
}

void rv_talks_free(struct rv_worker *worker)
{
    for (uint32_t i = 0; i < worker->talk_count; i++) {
        rv_arena_reset(&worker->talks[i]->arena);
        rv_buffer_free(&worker->talks[i]->body_buffer);
        free(worker->talks[i]);
    }
    free(worker->talks);
    worker->talks = NULL;
    worker->free_talks = NULL;
    worker->talk_count = worker->talk_room = 0;
}

/* ---- keeping ---------------------------------------------------------------------------------------- */

/* A view into the octets that have moved follows them. */
static void follow(rv_bytes *view, const char *from, size_t length, const char *to)
{
    uintptr_t at = (uintptr_t)view->ptr, start = (uintptr_t)from;
    if (view->ptr != NULL && at >= start && at <= start + length)
        view->ptr = to + (at - start);
}

static bool keep_body(struct rv_talk *talk)
{
    bool in_place = talk->body.len > 0 && talk->body.ptr != talk->body_buffer.ptr;
    if (!in_place)
        return true;
    if (rv_buffer_append(&talk->body_buffer, talk->body) != 0)
        return false;
    talk->body = rv_slice(talk->body_buffer.ptr, talk->body_buffer.len);
    talk->param_table = NULL;
    return true;
}

bool rv_talk_keep(struct rv_talk *talk)
{
    if (!keep_body(talk))
        return false;
    if (talk->kept)
        return true;
    char *copy = rv_arena_copy(&talk->arena, rv_slice(talk->octets, talk->head.length));
    if (copy == NULL)
        return false;
    follow(&talk->path, talk->octets, talk->head.length, copy);
    follow(&talk->path_extension, talk->octets, talk->head.length, copy);
    for (unsigned i = 0; talk->route != NULL && i < talk->route->param_count; i++)
        follow(&talk->params[i], talk->octets, talk->head.length, copy);
    talk->octets = copy;
    talk->param_table = NULL; /* it points to where the octets were */
    talk->kept = true;
    return true;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* The next before-handler that concerns this talk; NULL: its own handler is next. */
static const struct rv_side_handler *next_before(struct rv_talk *talk)
{
    const struct rv_app *app = talk->app;
    while (talk->befores_run < app->befores.count) {
        const struct rv_side_handler *before = &app->befores.list[talk->befores_run++];
        if (rv_side_handler_covers(app, before, rv_path(talk)))
            return before;
    }
    return NULL;
}

static int run_befores(rv_talk *talk, void *ctx)
{
    const struct rv_side_handler *before;
    (void)ctx;
    while ((before = next_before(talk)) != NULL) {
        int result = before->handler(talk, before->ctx);
        if (result != RV_OK || talk->response != RV_RESPONSE_NONE)
            return result;
    }
    talk->before_handler = false;
    return talk->route->handler(talk, talk->route->ctx);
}

void rv_talk_start(struct rv_talk *talk)
{
    const struct rv_route *route = talk->route;
    rv_handler handler = route->handler;
    void *ctx = route->ctx;
    talk->param_table = NULL; /* made before the body was there */
    if (talk->app->befores.count > 0) {
        talk->before_handler = true;
        handler = run_befores;
    }
    if (route->options.run == RV_ON_POOL)
        rv_pool_run(talk, handler, ctx);
    else
        rv_talk_run(talk, handler, ctx);
}

int rv_delegate(rv_talk *talk, rv_handler handler, void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_NONE)
        return RV_ESTATE;
    return handler == NULL ? RV_EINVAL : handler(talk, ctx);
}

void rv_talk_run(struct rv_talk *talk, rv_handler handler, void *ctx)
{
    talk->running = true;
    int result = handler(talk, ctx);
    talk->running = false;
    rv_talk_settle(talk, result);
}

void rv_talk_flush(struct rv_talk *talk)
{
    rv_error error =
        talk->shaper == NULL || talk->response != RV_RESPONSE_OPEN ? 0 : rv_shape_flush(talk);
    if (error != 0)
        rv_talk_fail(talk, error, "while compressing a response");
}

void rv_talk_settle(struct rv_talk *talk, int result)
{
    if (talk->cut)
        return;
    if (result < 0) {
        rv_talk_fail(talk, result, "in a handler");
    } else if (result == RV_PENDING) {
        if (talk->response != RV_RESPONSE_ENDED && !rv_talk_keep(talk))
            rv_talk_fail(talk, RV_ENOMEM, "while keeping a request");
        else
            rv_talk_flush(talk);
    } else if (talk->response == RV_RESPONSE_NONE && talk->before_handler) {
        rv_talk_start(talk); /* a before-handler that was suspended lets it go on */
    } else if (talk->response == RV_RESPONSE_NONE) {
        rv_talk_fail(talk, RV_ESTATE, "in a handler that returned without an answer");
    } else if (talk->response != RV_RESPONSE_ENDED) {
        rv_error error = rv_end(talk);
        if (error != 0)
            rv_talk_fail(talk, error, "while ending a response");
    }
}

/* The handler has left a form that cannot be used to the library. */
static void refuse_form(struct rv_talk *talk, const struct rv_param_table *table)
{
    if (table->form_error == RV_ELIMIT)
        RV_COUNT(talk->worker, form_fields_too_many);
    else
        RV_COUNT(talk->worker, requests_malformed);
    rv_talk_refuse(talk, table->form_status, table->form_reason);
}

void rv_talk_fail(struct rv_talk *talk, rv_error error, const char *doing)
{
    if (error == RV_EGONE) { /* nobody is left to be told, and it is nobody's fault */
        talk->cut = true;
        return;
    }
    const struct rv_param_table *table = talk->param_table;
    if (table != NULL && table->form_status != 0 && error == table->form_error) {
        refuse_form(talk, table);
        return;
    }
    if (error == RV_EBUSY) { /* not for ever, and no failure of the program's */
        rv_talk_refuse(talk, 503, NULL);
        return;
    }
    RV_COUNT(talk->worker, handler_failures);
    rv_tell_failure(talk, error, doing, "");
    rv_talk_refuse(talk, error == RV_EFILES ? 503 : 500, NULL); /* descriptors come back */
}

/* The program's part in this talk is over, and not by its own doing. */
static void tell_gone(struct rv_talk *talk)
{
    void (*on_gone)(void *ctx) = talk->on_gone;
    talk->on_gone = NULL;
    if (on_gone != NULL)
        on_gone(talk->on_gone_ctx);
}

void rv_talk_forget_callbacks(struct rv_talk *talk)
{
    rv_parts_abandon(talk, RV_ESTATE);
    talk->drained = NULL;
    talk->on_gone = NULL;
    if (talk->timer_then != NULL)
        rv_timer_stop(&talk->worker->loop.wheel, &talk->timer);
    talk->timer_then = NULL;
}

static rv_error reason_of(int status)
{
    switch (status) {
    case 408:
        return RV_ETIMEOUT;
    case 413:
        return RV_ELIMIT;
    default:
        return status < 500 ? RV_EPROTO : RV_ESTATE;
    }
}

void rv_talk_refuse(struct rv_talk *talk, int status, const char *detail)
{
    bool answered = talk->response == RV_RESPONSE_ENDED && !talk->cut;
    rv_parts_abandon(talk, reason_of(status));
    if (talk->head_sent || talk->conn == NULL) {
        talk->cut = true;
    } else {
        talk->response = RV_RESPONSE_NONE;
        rv_shape_drop(talk);
        talk->fields = NULL;
        talk->reason = rv_slice(NULL, 0);
        talk->fields_last = &talk->fields;
        talk->length_set = talk->date_set = talk->server_set = talk->type_set = false;
        rv_talk_add_policies(talk);
        if (talk->app != NULL)
            rv_fields_add_defaults(talk, &talk->app->defaults);
        if (rv_problem(talk, status, detail) < 0)
            talk->cut = true;
    }
    if (!answered)
        tell_gone(talk);
    rv_talk_forget_callbacks(talk);
}

void rv_talk_advance(struct rv_talk *talk)
{
    if (talk->conn != NULL)
        talk->wire->advance(talk);
}

void rv_talk_tell_drained(struct rv_talk *talk)
{
    rv_handler drained = talk->drained;
    talk->drained = NULL;
    if (drained == NULL)
        return;
    if (talk->on_pool)
        drained(talk, talk->drained_ctx); /* the channel's own */
    else
        rv_talk_run(talk, drained, talk->drained_ctx);
}

/* ---- the client has gone ---------------------------------------------------------------------------- */

void rv_talk_lose(struct rv_talk *talk)
{
    talk->conn = NULL;
    rv_parts_abandon(talk, RV_EGONE);
    if (!talk->wire_ended)
        tell_gone(talk);
    if (talk->on_pool)
        rv_pool_tell_gone(talk); /* given back when the pool has finished with it */
    else
        rv_talk_give(talk);
}
