/*
 * A client of HTTP/2 for a server under test in memory (tested.h), made with the other side of http/h2.h:
 * it keeps every rule, and does what a test says about windows and resets. Frames that break rules are
 * sent raw, around it. Streams have records that live until the client is closed.
 */
#ifndef RV_TESTS_H2_CLIENT_H
#define RV_TESTS_H2_CLIENT_H

#include "base/buffer.h"
#include "http/h2.h"

#define H2_EXCHANGES_MAX 256

struct h2_exchange {
    struct h2_client *client;
    uint32_t id;
    /* The request's content. */
    struct rv_buffer upload; /* not sent yet */
    bool upload_ends;
    bool upload_waits;
    /* The response. */
    int status; /* 0: none yet; the last one, when interim ones came before */
    unsigned interims;
    struct rv_buffer fields;   /* "name: value\n", of the last head */
    struct rv_buffer trailers; /* likewise */
    struct rv_buffer content;
    bool held;       /* its content is not given back to the window ... */
    size_t held_len; /* ... so many octets */
    bool in_trailers;
    bool ended;  /* END_STREAM has come */
    bool closed; /* the stream is no more ... */
    uint32_t code;
};

struct h2_client {
    rv_test *test;
    struct rv_h2 *session;
    struct h2_exchange *exchanges[H2_EXCHANGES_MAX];
    unsigned count;
    unsigned goaways;
    uint32_t goaway_code, goaway_last;
    unsigned pongs;
    bool deaf;   /* reads nothing of what the server sends */
    bool mute;   /* sends nothing by itself: no PONG, no window, no request */
    bool broken; /* the server's octets were wrong */
};

/* Connects to the server under test. Windows: of a stream, of the connection; 0: 65535. */
void h2_client_open(struct h2_client *client, rv_server *server, uint32_t stream_window,
                    uint32_t connection_window);
void h2_client_close(struct h2_client *client);

/* Sends what there is to send and reads what has come, until nothing changes. */
void h2_client_pump(struct h2_client *client);

/* A request. `fields` is "name: value\n…" or NULL; `content`: h2_put says what and when it ends. */
struct h2_exchange *h2_ask(struct h2_client *client, const char *method, const char *path,
                           const char *fields, bool content);
struct h2_exchange *h2_get(struct h2_client *client, const char *path);
void h2_put(struct h2_exchange *exchange, rv_bytes octets, bool last);

/* Gives back the window of what was held, and holds no more. */
void h2_release(struct h2_exchange *exchange);
void h2_reset(struct h2_exchange *exchange, uint32_t code);

/* A frame, as it is. */
void h2_raw(struct h2_client *client, uint8_t type, uint8_t flags, uint32_t stream,
            rv_bytes payload);

/* The response is complete, with this status and content. */
void h2_expect(const struct h2_exchange *exchange, int status, const char *content);

/* A field of the response or NULL; static until the next call. */
const char *h2_field(const struct rv_buffer *fields, const char *name);

#endif
