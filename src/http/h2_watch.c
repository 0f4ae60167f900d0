/*
 * Looking at frames by their heads (h2_watch.h).
 */
#include "http/h2_watch.h"

#define PRIORITY_BYTES 5 /* RFC 9113 section 6.3 */
#define ID_BYTES 4

static uint32_t number(const uint8_t *octets, unsigned count)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | octets[i];
    return value;
}

/* RFC 9113 section 4.1. */
static void read_head(struct rv_h2_watch *watch)
{
    watch->frame = (struct rv_h2_frame){.length = number(watch->head, 3),
                                        .type = watch->head[3],
                                        .flags = watch->head[4],
                                        .stream = number(watch->head + 5, 4) & 0x7fffffff};
    watch->head_got = 0;
    watch->payload_left = watch->frame.length;
    watch->payload_got = watch->payload_id = 0;
}

/* Does the payload begin with the number of a stream that is to be looked at? */
static bool names_stream(const struct rv_h2_frame *frame)
{
    return (frame->type == RV_H2_PRIORITY && frame->length == PRIORITY_BYTES) ||
           (frame->type == RV_H2_PRIORITY_UPDATE && frame->length >= ID_BYTES);
}

/* The first octet of padded DATA says how long the padding is (RFC 9113 section 6.1). */
static bool is_padding_alone(struct rv_h2_watch *watch, uint8_t first)
{
    const struct rv_h2_frame *frame = &watch->frame;
    bool begins = watch->payload_got++ == 0 && frame->type == RV_H2_DATA &&
                  (frame->flags & RV_H2_FLAG_PADDED) != 0;
    return begins && first + 1u == frame->length;
}

/* Does the payload, so far, name the stream of the frame itself? In PRIORITY that is a stream that depends
   on itself (RFC 7540 section 5.3.1), in PRIORITY_UPDATE no stream at all (RFC 9218 section 7.1). */
static bool names_itself(struct rv_h2_watch *watch, const uint8_t *octets, size_t count)
{
    for (size_t i = 0; i < count && watch->payload_got < ID_BYTES; i++) {
        watch->payload_id = watch->payload_id << 8 | octets[i];
        watch->payload_got++;
    }
    return watch->payload_got == ID_BYTES &&
           (watch->payload_id & 0x7fffffff) == watch->frame.stream;
}

/* Octets of the payload; there is at least one. */
static enum rv_h2_seen pass_payload(struct rv_h2_watch *watch, const uint8_t *octets, size_t count)
{
    watch->payload_left -= (uint32_t)count;
    if (watch->payload_got >= ID_BYTES)
        return RV_H2_SEEN_NOTHING;
    if (names_stream(&watch->frame))
        return names_itself(watch, octets, count) ? RV_H2_SEEN_LOOP : RV_H2_SEEN_NOTHING;
    return is_padding_alone(watch, octets[0]) ? RV_H2_SEEN_PADDING : RV_H2_SEEN_NOTHING;
}

enum rv_h2_seen rv_h2_watch_next(struct rv_h2_watch *watch, rv_bytes octets, size_t *used)
{
    const uint8_t *at = (const uint8_t *)octets.ptr, *end = at + octets.len;
    enum rv_h2_seen seen = RV_H2_SEEN_NOTHING;
    while (at < end && seen == RV_H2_SEEN_NOTHING) {
        size_t room = (size_t)(end - at);
        if (watch->preface_left > 0) {
            size_t count = room < watch->preface_left ? room : watch->preface_left;
            watch->preface_left -= (uint32_t)count;
            at += count;
        } else if (watch->payload_left > 0) {
            size_t count = room < watch->payload_left ? room : watch->payload_left;
            seen = pass_payload(watch, at, count);
            at += count;
        } else {
            watch->head[watch->head_got++] = *at++;
            if (watch->head_got == RV_H2_FRAME_HEAD_BYTES) {
                read_head(watch);
                seen = RV_H2_SEEN_FRAME;
            }
        }
    }
    *used = octets.len - (size_t)(end - at);
    return seen;
}

void rv_h2_watch_reset(struct rv_h2_watch *watch, uint32_t id)
{
    watch->reset[watch->reset_count++ % RV_H2_RESET_MAX] = id;
}

/* A stream whose number is lower than that of an earlier one was closed by that, unused. */
static bool was_skipped(const struct rv_h2_watch *watch, uint32_t id)
{
    for (unsigned i = 0; i < RV_H2_SKIPPED_MAX; i++)
        if (id >= watch->skipped[i].first && id <= watch->skipped[i].last)
            return true;
    return false;
}

static bool was_reset(const struct rv_h2_watch *watch, uint32_t id)
{
    for (unsigned i = 0; i < RV_H2_RESET_MAX; i++)
        if (watch->reset[i] == id)
            return true;
    return false;
}

static void note_opened(struct rv_h2_watch *watch, uint32_t id)
{
    uint32_t expected = watch->last_opened == 0 ? 1 : watch->last_opened + 2;
    if (id > expected) {
        uint32_t at = watch->skipped_count++ % RV_H2_SKIPPED_MAX;
        watch->skipped[at].first = expected;
        watch->skipped[at].last = id - 2;
    }
    watch->last_opened = id;
}

uint32_t rv_h2_watch_check(struct rv_h2_watch *watch, bool is_open)
{
    uint32_t id = watch->frame.stream;
    if (id % 2 == 0)
        return 0; /* the library knows what to do */
    if (id > watch->last_opened) {
        if (watch->frame.type == RV_H2_HEADERS)
            note_opened(watch, id);
        return 0;
    }
    if (is_open || was_reset(watch, id) || (watch->ended && id > watch->last_taken))
        return 0;
    return was_skipped(watch, id) ? RV_H2_PROTOCOL_ERROR : RV_H2_STREAM_CLOSED;
}
