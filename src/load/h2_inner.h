/*
 * What the two files of a client that speaks HTTP/2 share (h2_client.h).
 */
#ifndef RV_LOAD_H2_INNER_H
#define RV_LOAD_H2_INNER_H

#include "http/h2_answer.h"
#include "load/client_inner.h"
#include "load/h2_client.h"

/* Has the final answer begun? */
#define RV_H2_HAS_BEGUN(stream) ((stream)->answer.part >= RV_H2_ANSWER_CONTENT)

/* An exchange on its way. */
struct rv_h2_stream {
    struct rv_exchange exchange;
    struct rv_h2_stream *older,
        *newer;     /* as they were sent; of those that are free, `older` alone */
    uint64_t heard; /* the connection's, when it was sent */
    uint64_t first_us;
    struct rv_h2_answer answer;
    size_t body_left; /* of the request's, not sent yet */
    uint32_t id;
    bool before_settings; /* it was sent before the server's limits were known */
    bool ended;           /* the answer is whole */
    bool reset;           /* by the server */
};

struct rv_h2_client {
    struct rv_h2 *session;       /* owned; NULL: no connection */
    struct rv_h2_stream *oldest; /* on their way: client->streams of them */
    struct rv_h2_stream *newest;
    struct rv_h2_stream *free;
    uint64_t now_us;   /* when the octets arrived that are worked on, or the request was taken up */
    uint64_t heard;    /* how often octets have arrived on this connection */
    uint64_t answered; /* exchanges on this connection */
    uint32_t goaway_last, goaway_code;
    uint32_t fault; /* the code that this side has ended the connection with; 0: it has not */
    bool
        goaway; /* the server ends the connection, or its numbers are used up: nothing more is sent */
    bool settled;    /* the server's SETTINGS are known */
    bool is_working; /* octets are being worked on: what is to be sent leaves behind that */
    struct rv_h2_stream streams[]; /* thread->pipeline of them */
};

/* ---- h2_stream.c ------------------------------------------------------------------------------------- */

/* Sends the oldest exchange of the ring. False: the connection takes no more, and it stays there. */
bool rv_h2_stream_send(struct rv_client *client, uint64_t now_us);

/* Takes a stream off the list of those on their way; its exchange is the caller's. */
struct rv_exchange rv_h2_stream_take(struct rv_client *client, struct rv_h2_stream *stream);

/* The exchange has failed: nothing but this is told. */
void rv_h2_stream_fail(struct rv_client *client, struct rv_h2_stream *stream,
                       enum rv_load_failure failure, int number);

/* The exchange is to be sent again: it goes back to the ring. */
void rv_h2_stream_again(struct rv_client *client, struct rv_h2_stream *stream);

/* The events of streams, whose owner is the client. */
uint32_t rv_h2_on_field(void *owner, void *stream, rv_bytes name, rv_bytes value);
void rv_h2_on_fields_end(void *owner, void *stream, bool last);
void rv_h2_on_data(void *owner, void *stream, rv_bytes octets);
void rv_h2_on_end(void *owner, void *stream);
enum rv_h2_pull rv_h2_on_pull(void *owner, void *stream, size_t room, size_t *octets);
bool rv_h2_on_send(void *owner, void *stream, rv_bytes frame_head, size_t octets);
void rv_h2_on_reset(void *owner, void *stream, uint32_t code);
void rv_h2_on_closed(void *owner, void *stream, uint32_t code);

#endif
