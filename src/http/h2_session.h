/*
 * What the files around libnghttp2's session share (h2.h): h2_open.c makes it, h2_events.c is called by it,
 * h2.c feeds it and h2_message.c gives it messages to send. Nobody else sees this, or the library's header.
 */
#ifndef RV_HTTP_H2_SESSION_H
#define RV_HTTP_H2_SESSION_H

#include "http/h2.h"
#include "http/h2_watch.h"

#include <nghttp2/nghttp2.h>

struct rv_h2 {
    nghttp2_session *session;
    const struct rv_h2_events *events;
    void *owner;
    bool is_client;
    bool grows_windows;
    uint8_t field_flags; /* of requests */
    bool failed;         /* GOAWAY ends it: what still arrives is dropped */
    bool content_left;   /* on_send was called by the current rv_h2_output */
    int32_t near_id;     /* the stream that the last event was about; 0: none */
    void *near;          /* the owner's record of it */
    struct rv_h2_watch watch;
};

/* An error of the library's, or a count, in our terms. */
rv_error rv_h2_translate(int result);

/* What the session calls, of either side; NULL: no memory. The caller gives it back to the library. */
nghttp2_session_callbacks *rv_h2_callbacks_new(bool client);

/* A message's content: the owner's on_pull. */
ssize_t rv_h2_read_content(nghttp2_session *session, int32_t id, uint8_t *room, size_t length,
                           uint32_t *flags, nghttp2_data_source *source, void *context);

static inline rv_bytes rv_h2_octets_of(const uint8_t *octets, size_t length)
{
    return rv_slice((const char *)octets, length);
}

/* Several events in a row are about the same stream: the library need not look it up for each. */
static inline void *rv_h2_stream_of(struct rv_h2 *h2, int32_t id)
{
    if (h2->near_id == id)
        return h2->near;
    void *stream = nghttp2_session_get_stream_user_data(h2->session, id);
    if (stream != NULL) {
        h2->near_id = id;
        h2->near = stream;
    }
    return stream;
}

#endif
