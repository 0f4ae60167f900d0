/*
 * Which session a request belongs to: the name that its cookie or its path brings is looked up in the
 * app's store before the handler runs, by a before-handler of the library's own; a session that is begun
 * gets its name into the response. Names are never the client's choice: one that the store does not know
 * means nothing.
 */
#ifndef RV_SERVER_SESSION_TRACK_H
#define RV_SERVER_SESSION_TRACK_H

#include "server/session.h"
#include "server/talk.h"

struct rv_session_tracker;

void rv_session_tracker_free(struct rv_session_tracker *tracker);

/* The head of the response is about to leave, and a name with it: what has changed is saved in a store that
   is the program's, since the client's next request may come before the talk is over. */
void rv_session_keep(struct rv_talk *talk);

/* The talk is over: what it has changed is saved, and let go. */
void rv_session_leave(struct rv_talk *talk);

/* All stores' turn to let go what has expired. How long until the next, in milliseconds; UINT64_MAX: no app
   has sessions. */
uint64_t rv_sessions_sweep(rv_server *server, uint64_t now_ms);

#endif
