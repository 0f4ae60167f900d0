/*
 * Request bodies in HTTP/1 (h1_body.h): their two framings, RFC 9112 section 6.
 */
#include "server/h1_body.h"

#include "server/body.h"

static struct rv_h1_limits trailer_limits(const struct rv_talk *talk)
{
    const rv_limits *limits = &talk->worker->server->options.limits;
    return (struct rv_h1_limits){.target_bytes_max = 0,
                                 .head_bytes_max = (uint32_t)limits->head_bytes_max,
                                 .head_fields_max = (uint32_t)limits->head_fields_max};
}

bool rv_h1_body_forces_close(const struct rv_talk *talk, bool whole)
{
    if (talk->body_phase == RV_BODY_NONE)
        return false;
    if (talk->continue_due)
        return true;
    if (!whole && talk->body_phase != RV_BODY_UNASKED)
        return false; /* the handler goes on reading while it answers */
    return !talk->body_chunked && talk->body_left > RV_H1_DRAIN_BYTES_MAX;
}

static void malformed(struct rv_talk *talk, int status, const char *reason)
{
    RV_COUNT(talk->worker, requests_malformed);
    rv_body_refuse(talk, status, reason);
}

static size_t feed_length(struct rv_talk *talk, char *octets, size_t length)
{
    size_t run = talk->body_left < length ? (size_t)talk->body_left : length;
    talk->body_left -= run;
    rv_body_take(talk, rv_slice(octets, run), talk->body_left == 0);
    return run;
}

/* RFC 9112 section 7.1.2. Kept in the arena for rv_trailer; what they say has no effect on framing. */
static size_t feed_trailers(struct rv_talk *talk, char *octets, size_t length)
{
    struct rv_h1_limits limits = trailer_limits(talk);
    if (talk->trailers == NULL)
        talk->trailers =
            rv_arena_alloc(&talk->arena, limits.head_fields_max * sizeof(struct rv_field));
    struct rv_h1_head section = {.fields = talk->trailers};
    const char *reason = "The server is out of memory.";
    int result = section.fields == NULL
                     ? 500
                     : rv_h1_parse_trailers(octets, length, &limits, &section, &reason);
    if (result == RV_H1_INCOMPLETE) {
        talk->conn->searched = (uint32_t)length;
        talk->conn->starved = true;
        return 0;
    }
    talk->conn->searched = 0;
    if (result != RV_H1_COMPLETE) {
        malformed(talk, result, reason);
        return 0;
    }
    talk->trailer_octets = rv_arena_copy(&talk->arena, rv_slice(octets, section.length));
    talk->trailer_count = talk->trailer_octets == NULL ? 0 : section.field_count;
    rv_body_take(talk, rv_slice(octets, 0), true);
    return section.length;
}

/* Trailers are only parsed again when a line has ended since: an octet at a time stays linear. */
static bool trailers_may_have_grown(const struct rv_talk *talk, const char *octets, size_t length)
{
    uint32_t searched = talk->conn->searched;
    return length <= searched || searched == 0 ||
           length > talk->worker->server->options.limits.head_bytes_max ||
           memchr(octets + searched, '\n', length - searched) != NULL;
}

/* The size of a chunk tells before its data that the body will be too large. */
static bool announces_too_much(const struct rv_talk *talk, size_t run)
{
    uint64_t room = talk->body_max - talk->body_read;
    return run > room || talk->chunked.left > room - run;
}

static size_t feed_chunked(struct rv_talk *talk, char *octets, size_t length)
{
    if (talk->body_in_trailers) {
        if (length == 0 || !trailers_may_have_grown(talk, octets, length)) {
            talk->conn->starved = true;
            return 0;
        }
        return feed_trailers(talk, octets, length);
    }
    rv_bytes rest = rv_slice(octets, length), data;
    const char *reason = NULL;
    enum rv_chunked_result result = rv_chunked_next(&talk->chunked, &rest, &data, &reason);
    if (!talk->body_discarded &&
        announces_too_much(talk, result == RV_CHUNKED_DATA ? data.len : 0)) {
        rv_body_too_large(talk);
        return length - rest.len;
    }
    switch (result) {
    case RV_CHUNKED_DATA:
        rv_body_take(talk, data, false);
        break;
    case RV_CHUNKED_LAST:
        talk->body_in_trailers = true;
        break;
    case RV_CHUNKED_INCOMPLETE:
        break;
    case RV_CHUNKED_ERROR:
        malformed(talk, 400, reason);
        break;
    }
    return length - rest.len;
}

size_t rv_h1_body_feed(struct rv_talk *talk, char *octets, size_t length)
{
    size_t used = 0;
    talk->conn->starved = false;
    while (talk->body_phase == RV_BODY_READING ||
           (talk->body_discarded && talk->body_phase != RV_BODY_NONE)) {
        if (rv_body_holds(talk)) {
            rv_body_take_held(talk);
            if (talk->wire_ended || talk->cut)
                break;
            continue;
        }
        bool empty = !talk->body_chunked && talk->body_left == 0;
        if (used == length && !empty) {
            talk->conn->starved = true;
            break;
        }
        size_t count = talk->body_chunked ? feed_chunked(talk, octets + used, length - used)
                                          : feed_length(talk, octets + used, length - used);
        used += count;
        if ((count == 0 && !empty) || talk->wire_ended || talk->cut)
            break;
    }
    return used;
}
