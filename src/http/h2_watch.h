/*
 * Frames of HTTP/2 as they arrive, seen by their heads alone: for rules that hold across frames and that
 * libnghttp2 leaves unchecked, and so that an owner learns of every frame, also of those that the library
 * passes over in silence (h2.h). A piece of h2.c, with nothing of the library in it.
 */
#ifndef RV_HTTP_H2_WATCH_H
#define RV_HTTP_H2_WATCH_H

#include "http/h2.h"

/* What is remembered of a client's streams that are no more: the newest runs of numbers that it has passed
   over, and the newest streams that were reset by this side. */
#define RV_H2_SKIPPED_MAX 8
#define RV_H2_RESET_MAX 128

struct rv_h2_watch {
    uint32_t preface_left; /* octets to come before the first frame */
    uint32_t head_got;     /* of the current frame */
    uint8_t head[RV_H2_FRAME_HEAD_BYTES];
    uint32_t payload_left; /* likewise */
    uint32_t payload_got;  /* of what it begins with, the number of a stream, where that matters */
    uint32_t payload_id;
    struct rv_h2_frame frame; /* the current one, when its head is complete */

    uint32_t last_opened; /* stream, by the client */
    struct {
        uint32_t first, last;
    } skipped[RV_H2_SKIPPED_MAX]; /* a ring */
    uint32_t skipped_count;
    uint32_t reset[RV_H2_RESET_MAX]; /* a ring */
    uint32_t reset_count;
    bool ended;          /* GOAWAY has named ... */
    uint32_t last_taken; /* ... the last stream: what comes on later ones is passed over */
};

enum rv_h2_seen {
    RV_H2_SEEN_NOTHING, /* all octets were looked at */
    RV_H2_SEEN_FRAME,   /* `watch->frame` has begun */
    RV_H2_SEEN_PADDING, /* `watch->frame` is DATA, and padding is all that it has */
    RV_H2_SEEN_LOOP /* `watch->frame` gives a stream a priority that depends on itself, or is of none */
};

/* Looks at octets up to the next thing to tell; `*used` is how many that were. */
enum rv_h2_seen rv_h2_watch_next(struct rv_h2_watch *watch, rv_bytes octets, size_t *used);

/* RST_STREAM was sent, or is going to be: what still comes on this stream was under way. */
void rv_h2_watch_reset(struct rv_h2_watch *watch, uint32_t id);

/* The current frame is HEADERS or DATA of a client: may it be? `is_open`: the stream is there. 0, or the
   error of the connection (RFC 9113 sections 5.1 and 5.1.1). */
uint32_t rv_h2_watch_check(struct rv_h2_watch *watch, bool is_open);

/* Whether that depends on `is_open`, so that what came before must have been dealt with. */
static inline bool rv_h2_watch_needs_state(const struct rv_h2_watch *watch)
{
    return watch->frame.type == RV_H2_DATA ||
           (watch->frame.type == RV_H2_HEADERS && watch->frame.stream <= watch->last_opened);
}

#endif
