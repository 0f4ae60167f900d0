/*
 * Request bodies: from the octets behind a head to a whole body or to pieces, with limits, trailers
 * and 100 Continue. Worker thread only.
 */
#ifndef RV_SERVER_BODY_H
#define RV_SERVER_BODY_H

#include "server/talk.h"

/* What a request's body that nobody wants may have left before closing is cheaper than reading on. */
#define RV_DRAIN_BYTES_MAX (256 * 1024)

/* Decides about the body of a request that has just been routed. 0, or the status of a refusal (411,
   413). */
int rv_body_prepare(struct rv_talk *talk);

static inline bool rv_body_is_whole(const struct rv_talk *talk)
{
    return talk->route == NULL || talk->route->options.body == RV_BODY_WHOLE ||
           talk->route->options.run == RV_ON_POOL;
}

/* Feeds octets that follow the head, as many as are wanted now; returns how many were used. Runs the
   handler of a whole body when it is complete. Sets conn->starved when only more octets help. Octets
   of a talk that is answered are dropped. */
size_t rv_body_feed(struct rv_talk *talk, char *octets, size_t length);

/* True when answering now means that the connection must close: what is left of the body is too much
   to be read, or the client waits for a 100 that will not come. */
bool rv_body_forces_close(const struct rv_talk *talk, bool whole);

/* True when the body's progress is below the minimum rate; begins a new window when one has passed. */
bool rv_body_is_too_slow(struct rv_talk *talk, uint64_t now_ms);

#endif
