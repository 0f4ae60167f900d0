/*
 * Request bodies: from runs of content, which the protocols deliver, to a whole body or to pieces, with
 * limits and 100 Continue. Worker thread only.
 */
#ifndef RV_SERVER_BODY_H
#define RV_SERVER_BODY_H

#include "server/talk.h"

/* Decides about the body of a request that has just been routed. 0, or the status of a refusal (411,
   413). */
int rv_body_prepare(struct rv_talk *talk);

static inline bool rv_body_is_whole(const struct rv_talk *talk)
{
    return talk->route == NULL || talk->route->options.body == RV_BODY_WHOLE ||
           talk->route->options.run == RV_ON_POOL;
}

/* There is a coding on it: as a form it cannot be read, and as a file nobody could know of it. */
bool rv_body_is_coded(const struct rv_talk *talk);
#define RV_BODY_CODED "A body with a Content-Encoding cannot be taken."

/* A run of content; `last`: of the body. To the handler, or behind what is there of a whole body, whose
   handler runs when it is complete. Dropped when the talk is answered. */
void rv_body_take(struct rv_talk *talk, rv_bytes run, bool last);

/* What a pause has left over of a run comes first when the body goes on: before rv_body_take. */
bool rv_body_holds(const struct rv_talk *talk);
void rv_body_take_held(struct rv_talk *talk);

/* The body cannot be taken to its end: the talk is answered in the handler's stead, or cut. */
void rv_body_refuse(struct rv_talk *talk, int status, const char *reason);
void rv_body_too_large(struct rv_talk *talk);

/* True when the body's progress is below the minimum rate; begins a new window when one has passed. */
bool rv_body_is_too_slow(struct rv_talk *talk, uint64_t now_ms);

#endif
