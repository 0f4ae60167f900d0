/*
 * After-handlers: what an app has to say about every response of it, at the last moment - the head is
 * made, and has not left. Both ways a response takes, whole and streamed, come by here, on the thread
 * that answers; so do those that the library gives in the app's stead.
 */
#ifndef RV_SERVER_AFTER_H
#define RV_SERVER_AFTER_H

#include "server/server.h"
#include "server/session_track.h"
#include "server/talk.h"

void rv_afters_run(struct rv_talk *talk);

/* The status is set, and the fields are what handlers have made of them: from here on it leaves, a session's
   name perhaps with it. */
static inline void rv_head_leaves(struct rv_talk *talk)
{
    if (talk->app != NULL && talk->app->afters.count > 0)
        rv_afters_run(talk);
    if (talk->session != NULL)
        rv_session_keep(talk);
}

#endif
