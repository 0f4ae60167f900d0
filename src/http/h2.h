/*
 * One connection's HTTP/2 (RFC 9113), either side of it, sans I/O: octets that have arrived are fed in,
 * what happens comes back as calls of the owner's events, and octets that are to be sent are asked for.
 * Frames, HPACK (RFC 7541), stream states, windows and the rules for fields are libnghttp2's business,
 * and this is the only room that knows it. Limits beyond what the protocol itself says - floods, slow
 * peers - are the owner's: it sees every frame's head.
 *
 * Malformed messages are dealt with in here: the stream is reset, or the connection ends with GOAWAY.
 *
 * Events are called from inside rv_h2_receive and rv_h2_output; they may call everything but those two
 * and rv_h2_free. Octets and fields that an event is given live until it returns.
 *
 * A build without HTTP/2 has RV_H2_BUILT 0 and none of these functions: callers ask the constant first.
 */
#ifndef RV_HTTP_H2_H
#define RV_HTTP_H2_H

#include "base/bytes.h"

#ifdef RV_WITH_HTTP2
#define RV_H2_BUILT 1
#else
#define RV_H2_BUILT 0
#endif

/* What a client that knows of HTTP/2 sends first (RFC 9113 section 3.4). */
#define RV_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define RV_H2_PREFACE_BYTES 24

#define RV_H2_FRAME_HEAD_BYTES 9

/* RFC 9113 section 6. */
enum rv_h2_frame_type {
    RV_H2_DATA = 0,
    RV_H2_HEADERS = 1,
    RV_H2_PRIORITY = 2,
    RV_H2_RST_STREAM = 3,
    RV_H2_SETTINGS = 4,
    RV_H2_PUSH_PROMISE = 5,
    RV_H2_PING = 6,
    RV_H2_GOAWAY = 7,
    RV_H2_WINDOW_UPDATE = 8,
    RV_H2_CONTINUATION = 9,
    RV_H2_PRIORITY_UPDATE = 16 /* RFC 9218 section 7.1 */
};

#define RV_H2_FLAG_END_STREAM 0x01
#define RV_H2_FLAG_ACK 0x01
#define RV_H2_FLAG_END_HEADERS 0x04
#define RV_H2_FLAG_PADDED 0x08

/* RFC 9113 section 7: name, code. The enumeration and rv_h2_error_name come from this one list. */
#define RV_H2_ERRORS(X)                                                                            \
    X(NO_ERROR, 0x0)                                                                               \
    X(PROTOCOL_ERROR, 0x1)                                                                         \
    X(INTERNAL_ERROR, 0x2)                                                                         \
    X(FLOW_CONTROL_ERROR, 0x3)                                                                     \
    X(SETTINGS_TIMEOUT, 0x4)                                                                       \
    X(STREAM_CLOSED, 0x5)                                                                          \
    X(FRAME_SIZE_ERROR, 0x6)                                                                       \
    X(REFUSED_STREAM, 0x7)                                                                         \
    X(CANCEL, 0x8)                                                                                 \
    X(COMPRESSION_ERROR, 0x9)                                                                      \
    X(CONNECT_ERROR, 0xa)                                                                          \
    X(ENHANCE_YOUR_CALM, 0xb)                                                                      \
    X(INADEQUATE_SECURITY, 0xc)                                                                    \
    X(HTTP_1_1_REQUIRED, 0xd)

enum rv_h2_error {
#define RV_H2_ERROR_ENUM(name, code) RV_H2_##name = (code),
    RV_H2_ERRORS(RV_H2_ERROR_ENUM)
#undef RV_H2_ERROR_ENUM
};

/* "PROTOCOL_ERROR"; NULL: a code that RFC 9113 does not name. Static. */
const char *rv_h2_error_name(uint32_t code);

struct rv_h2;
struct rv_h2_memory; /* h2_memory.h */

struct rv_h2_frame {
    uint32_t length; /* of the payload */
    uint32_t stream; /* 0: the connection */
    uint8_t type;    /* enum rv_h2_frame_type, or one that nobody knows */
    uint8_t flags;
};

struct rv_h2_field {
    rv_bytes name; /* letters of any case: they are sent in lower case */
    rv_bytes value;
};

/* What may be taken of a message's content now. */
enum rv_h2_pull {
    RV_H2_PULL_WAIT,    /* none; rv_h2_resume says when to ask again */
    RV_H2_PULL_MORE,    /* some */
    RV_H2_PULL_LAST,    /* some or none, and it ends with that */
    RV_H2_PULL_TRAILERS /* the same, but trailers follow: rv_h2_trailers has been called */
};

/* `stream` is what the owner has given for it in on_open or rv_h2_request; events about streams without
   one are not told. Every event may be NULL but for those that a comment says. */
struct rv_h2_events {
    /* The head of a frame has arrived, of any type; its payload has not been looked at. */
    void (*on_frame)(void *owner, const struct rv_h2_frame *frame);
    /* The DATA frame whose head came last has no content, but padding. Server only. */
    void (*on_padding)(void *owner, const struct rv_h2_frame *frame);
    /* Server: a request begins. Returns the owner's record of it; NULL: it is refused (REFUSED_STREAM).
       Must be there on a server. */
    void *(*on_open)(void *owner, uint32_t id);
    /* A field, of the head or - behind a head - of the trailers. Pseudo-fields come first, their names
       with the colon. 0, or the error that the stream is reset with. Must be there. */
    uint32_t (*on_field)(void *owner, void *stream, rv_bytes name, rv_bytes value);
    /* The fields of a section are complete, and keep the rules. `last`: nothing follows on this stream. */
    void (*on_fields_end)(void *owner, void *stream, bool last);
    /* Content. The window is given back only by rv_h2_consume. */
    void (*on_data)(void *owner, void *stream, rv_bytes octets);
    /* END_STREAM on a DATA frame, behind its content. */
    void (*on_end)(void *owner, void *stream);
    /* How much content can be sent, `room` octets at most: sets `*octets`. on_send then takes them. */
    enum rv_h2_pull (*on_pull)(void *owner, void *stream, size_t room, size_t *octets);
    /* A DATA frame leaves: its head, and as many octets of content as the pull said. Behind what
       rv_h2_output has given before, in front of what it gives next. False: it cannot be done, and the
       stream is reset. */
    bool (*on_send)(void *owner, void *stream, rv_bytes frame_head, size_t octets);
    /* The peer has reset the stream; on_closed follows. */
    void (*on_reset)(void *owner, void *stream, uint32_t code);
    /* The stream is over, for whatever reason; this is its last event. `code` is 0 when it has ended by
       itself. Must be there. */
    void (*on_closed)(void *owner, void *stream, uint32_t code);
    /* RST_STREAM was sent, by this side's own doing or for a fault of the peer's. */
    void (*on_reset_sent)(void *owner, uint32_t id, uint32_t code);
    void (*on_goaway)(void *owner, uint32_t last_id, uint32_t code, rv_bytes debug);
    /* GOAWAY was sent, likewise. */
    void (*on_goaway_sent)(void *owner, uint32_t code);
    /* The answer to rv_h2_ping. */
    void (*on_pong)(void *owner);
    /* The peer's SETTINGS are in force. */
    void (*on_settings)(void *owner);
};

struct rv_h2_settings {
    bool client;
    uint32_t streams_max;             /* that the peer may have open */
    uint32_t stream_window_bytes;     /* of content on its way here, on one stream ... */
    uint32_t connection_window_bytes; /* ... and on all; at least 65535 */
    uint32_t head_bytes_max;          /* advertised only (RFC 9113 section 6.5.2) */
    uint32_t frame_bytes_max;         /* 16384 (also for 0) to 16777215 */
    bool grows_windows; /* the windows grow as content arrives: rv_h2_consume is not needed */
    bool keeps_fields;  /* fields of requests live as long as the connection, and their names are in
                           lower case: they are not copied */
    bool unchecked;     /* whether messages are well-formed is the owner's to see (h2_answer.h) */
    struct rv_h2_memory *memory; /* what the session takes its memory from; NULL: malloc */
    const struct rv_h2_events *events;
};

/* The record of a connection; NULL: no memory. The SETTINGS are the first that rv_h2_output gives. A
   server expects the client's preface. */
struct rv_h2 *rv_h2_new(const struct rv_h2_settings *settings, void *owner);

/* No event is called: the owner frees what it keeps of the streams itself. NULL is allowed. */
void rv_h2_free(struct rv_h2 *h2);

/*
 * Takes all of the octets. RV_EPROTO: the peer's preface is wrong, or the connection cannot go on for
 * another reason than GOAWAY tells; RV_ENOMEM; RV_ELIMIT: the peer makes more work than it reads
 * answers. Then what rv_h2_output still gives should be sent, and the connection be closed. A connection
 * that ends with GOAWAY is 0 here, and rv_h2_is_over when that is sent.
 */
rv_error rv_h2_receive(struct rv_h2 *h2, rv_bytes octets);

/*
 * What is to be sent next. RV_H2_OUTPUT_OCTETS: these octets, which live until the next call.
 * RV_H2_OUTPUT_CONTENT: a DATA frame has left through on_send. RV_H2_OUTPUT_NONE: there is no more now. Or
 * a negative rv_error: the connection can only be closed. The owner calls it as long as it has room.
 */
enum rv_h2_output { RV_H2_OUTPUT_NONE, RV_H2_OUTPUT_OCTETS, RV_H2_OUTPUT_CONTENT };
int rv_h2_output(struct rv_h2 *h2, rv_bytes *octets);

/* Whether rv_h2_output would give anything, windows of the peer aside. */
bool rv_h2_wants_output(const struct rv_h2 *h2);

/* Nothing more is to be received or sent: GOAWAY has been, and all streams have ended. */
bool rv_h2_is_over(const struct rv_h2 *h2);

/* ---- messages ---------------------------------------------------------------------------------------- */

/* Server: a response's head. The first field is :status. `content`: more follows, by on_pull; else the
   head is the end. Copies. RV_ENOMEM, RV_EGONE: there is no such stream. */
rv_error rv_h2_respond(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                       size_t count, bool content);

/* Server: an interim response (RFC 9110 section 15.2), such as 100. */
rv_error rv_h2_respond_interim(struct rv_h2 *h2, uint32_t id, int status);

/* The end of a message as fields; from on_pull, with RV_H2_PULL_TRAILERS. */
rv_error rv_h2_trailers(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                        size_t count);

/* Client: a request, the pseudo-fields first. `*id` may be NULL. RV_EGONE: this connection takes no more
   (GOAWAY, or its numbers are used up). One more than the peer lets be open waits in here until it may
   leave. */
rv_error rv_h2_request(struct rv_h2 *h2, const struct rv_h2_field *fields, size_t count,
                       bool content, void *stream, uint32_t *id);

/* Content that an on_pull did not have is there. */
void rv_h2_resume(struct rv_h2 *h2, uint32_t id);

/* Resets a stream: RST_STREAM with the code. on_closed follows. RV_ENOMEM: it does not. */
rv_error rv_h2_reset(struct rv_h2 *h2, uint32_t id, uint32_t code);

/* What has been received needs no more room: the windows of the stream, if it is still there, and of the
   connection grow. */
void rv_h2_consume(struct rv_h2 *h2, uint32_t id, size_t octets);

/* The stream is nobody's any more: no further event is told of it. */
void rv_h2_forget(struct rv_h2 *h2, uint32_t id);

/* ---- windows of the peer: what may be sent ------------------------------------------------------------ */

int32_t rv_h2_stream_window(const struct rv_h2 *h2, uint32_t id);
int32_t rv_h2_connection_window(const struct rv_h2 *h2);

/* The other way: content that the peer may still send, on all streams together. */
int32_t rv_h2_receive_window(const struct rv_h2 *h2);

/* Streams that the peer lets this side open: SETTINGS_MAX_CONCURRENT_STREAMS. */
uint32_t rv_h2_peer_streams_max(const struct rv_h2 *h2);

/* ---- the connection ------------------------------------------------------------------------------------ */

void rv_h2_ping(struct rv_h2 *h2);

/* Server: announces the end (GOAWAY, 2^31-1): the client should open no more streams. */
void rv_h2_announce_end(struct rv_h2 *h2);

/* GOAWAY: streams that the peer has opened up to now go on, later ones are ignored. */
void rv_h2_go_away(struct rv_h2 *h2, uint32_t code);

/* GOAWAY, and all streams end now. */
void rv_h2_fail(struct rv_h2 *h2, uint32_t code);

#endif
