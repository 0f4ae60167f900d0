/*
 * What the files of sessions share, and nobody else needs: session_track.c finds a request's session and
 * sends names along, session_call.c asks a store that answers later, session_setup.c is the part before the
 * start, and the sweeping.
 */
#ifndef RV_SERVER_SESSION_INNER_H
#define RV_SERVER_SESSION_INNER_H

#include "server/session_memory.h"
#include "server/session_track.h"

struct rv_session_tracker {
    rv_app *app;
    rv_session_options options;       /* its texts are owned */
    struct rv_session_memory *memory; /* owned; NULL: the store is the program's */
    pthread_mutex_t calls_mutex;
    struct rv_session_call *calls; /* open questions to the program's store; owned, with the lock */
};

static inline bool rv_session_by_cookie(const struct rv_session_tracker *tracker)
{
    return tracker->options.track == RV_SESSION_BY_COOKIE;
}

/* ---- session_track.c --------------------------------------------------------------------------------- */

/* A before-handler: the request's session, if it has one. Another: a new one if it has none. Their ctx is
   the tracker. */
int rv_session_find(rv_talk *talk, void *ctx);
int rv_session_ensure(rv_talk *talk, void *ctx);

/* Tells the application that a session is over. */
void rv_session_tell_ended(struct rv_session *session, void *tracker);

/* ---- session_call.c ---------------------------------------------------------------------------------- */

/* Asks the program's store for the session of that name, which becomes the talk's; returns as a
   before-handler does. */
int rv_session_ask(struct rv_talk *talk, struct rv_session_tracker *tracker, rv_bytes id);

/* The server is freed: nobody may answer any more. */
void rv_session_calls_free(struct rv_session_tracker *tracker);

#endif
