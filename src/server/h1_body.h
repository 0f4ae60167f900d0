/*
 * Request bodies in HTTP/1: from the octets behind a head to runs of content (body.h), with trailers.
 * Worker thread only.
 */
#ifndef RV_SERVER_H1_BODY_H
#define RV_SERVER_H1_BODY_H

#include "server/talk.h"

/* What a request's body that nobody wants may have left before closing is cheaper than reading on. */
#define RV_H1_DRAIN_BYTES_MAX (256 * 1024)

/* Feeds octets that follow the head, as many as are wanted now; returns how many were used. Runs the
   handler of a whole body when it is complete. Sets conn->starved when only more octets help. Octets
   of a talk that is answered are dropped. */
size_t rv_h1_body_feed(struct rv_talk *talk, char *octets, size_t length);

/* True when answering now means that the connection must close: what is left of the body is too much
   to be read, or the client waits for a 100 that will not come. `whole`: the answer is. */
bool rv_h1_body_forces_close(const struct rv_talk *talk, bool whole);

#endif
