/*
 * From a path to a handler: which app, which route. Knows the order of apps; what an app is asked for is
 * app.h's business, what a table of routes says route.h's.
 */
#ifndef RV_SERVER_FIND_H
#define RV_SERVER_FIND_H

#include "server/talk.h"

/* The general way: dot segments, percent-encoding, path parameters, several apps. Sets talk->app and
   talk->route (and what goes with it); false: the talk has been answered. */
bool rv_find_handler(struct rv_talk *talk, rv_bytes path);

/* The app is known: its default fields, and whether it lets the connection be. Most have nothing to say. */
void rv_enter_demanding_app(struct rv_talk *talk);

static inline void rv_enter_app(struct rv_talk *talk)
{
    if (talk->app->defaults.count > 0 || talk->app->options.no_keep_alive)
        rv_enter_demanding_app(talk);
}

#endif
