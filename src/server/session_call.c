/*
 * Questions to a store that is the program's, which answers when it can, on whatever thread. Two come to a
 * question's end, the talk that has asked and the answer, in either order: whoever comes second lets the talk
 * go on, so that a store that answers at once costs no turn of the loop, and none waits for another. A
 * client that leaves takes its talk with it; the answer then finds a handle that names nobody. Questions that
 * are never answered go with the server.
 */
#include "server/session_inner.h"

#include <stdlib.h>

enum call_state { CALL_ASKED, CALL_ANSWERED, CALL_WAITED_FOR };

struct rv_session_call {
    struct rv_session_call *next, *previous; /* the tracker's, with its lock */
    struct rv_session_tracker *tracker;
    rv_server *server;
    rv_handle handle;
    rv_session *session; /* held */
    rv_error error;
    _Atomic int state; /* enum call_state */
};

static void add(struct rv_session_tracker *tracker, struct rv_session_call *call)
{
    call->tracker = tracker;
    pthread_mutex_lock(&tracker->calls_mutex);
    call->next = tracker->calls;
    if (call->next != NULL)
        call->next->previous = call;
    tracker->calls = call;
    pthread_mutex_unlock(&tracker->calls_mutex);
}

static void call_free(struct rv_session_call *call)
{
    struct rv_session_tracker *tracker = call->tracker;
    pthread_mutex_lock(&tracker->calls_mutex);
    *(call->previous == NULL ? &tracker->calls : &call->previous->next) = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    pthread_mutex_unlock(&tracker->calls_mutex);
    free(call);
}

void rv_session_calls_free(struct rv_session_tracker *tracker)
{
    while (tracker->calls != NULL)
        call_free(tracker->calls);
}

/* The session that the store has found is the talk's. */
static int take_answer(struct rv_talk *talk, struct rv_session_call *call)
{
    rv_error error = call->error;
    if (talk == NULL || talk->session != NULL)
        rv_session_drop(call->session);
    else
        talk->session = call->session;
    call_free(call);
    return error == RV_ENOTFOUND ? RV_OK : error;
}

static int go_on(rv_talk *talk, void *value)
{
    return take_answer(talk, value);
}

void rv_session_answer(rv_session_call *call, rv_error error, rv_session *session)
{
    call->error = error;
    if (error == 0)
        call->session = session;
    else
        rv_session_drop(session);
    if (call->session != NULL)
        session->changed = false; /* it is as the store has it */
    if (atomic_exchange(&call->state, CALL_ANSWERED) == CALL_WAITED_FOR &&
        rv_resume(call->server, call->handle, go_on, call) != 0)
        take_answer(NULL, call);
}

int rv_session_ask(struct rv_talk *talk, struct rv_session_tracker *tracker, rv_bytes id)
{
    const rv_session_store *store = tracker->options.store;
    struct rv_session_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return RV_ENOMEM;
    add(tracker, call);
    call->server = rv_server_of(talk);
    call->handle = rv_suspend(talk);
    store->load(store->ctx, id, call);
    if (atomic_exchange(&call->state, CALL_WAITED_FOR) == CALL_ANSWERED)
        return take_answer(talk, call);
    return RV_PENDING;
}
