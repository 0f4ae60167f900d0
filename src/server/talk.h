/*
 * A talk: one request and its response. Taken from the worker's free list when a head is complete, given
 * back when the exchange is over. Memory that a handler needs comes from its arena.
 *
 * Who may touch what:
 *  - the request and the "verb side" of the response belong to whoever runs the handler: the worker,
 *    or while `on_pool` the pool thread;
 *  - `conn` and the "wire side" belong to the worker, always. A pool thread reaches them by messages.
 *
 * The head's octets lie in the receive buffer while the handler runs for the first time; a talk that
 * outlives that call gets a copy (rv_talk_keep).
 */
#ifndef RV_SERVER_TALK_H
#define RV_SERVER_TALK_H

#include "base/arena.h"
#include "base/buffer.h"
#include "http/chunked.h"
#include "http/h1_parse.h"
#include "server/conn.h"
#include "server/params.h"
#include "server/route.h"

/* Work for the pool's threads. */
struct rv_pool_job {
    struct rv_pool_job *next;
    void (*run)(void *argument);
    void *argument;
};

struct rv_h2_stream;
struct rv_parts_reader;
struct rv_shaper;
struct rv_form_parts;
struct rv_wire;

#define RV_LENGTH_UNKNOWN UINT64_MAX

enum rv_body_phase {
    RV_BODY_NONE,    /* no body, or all of it was read */
    RV_BODY_UNASKED, /* streamed; the handler has not called rv_on_body */
    RV_BODY_READING,
    RV_BODY_PAUSED,
};

enum rv_response_phase {
    RV_RESPONSE_NONE,
    RV_RESPONSE_BEGUN,   /* rv_begin; the head has not left */
    RV_RESPONSE_LEAVING, /* after-handlers run, whose last word it is */
    RV_RESPONSE_OPEN,    /* the head has left (verb side: its piece was handed on) */
    RV_RESPONSE_ENDED,
};

struct rv_response_field {
    rv_bytes name;
    rv_bytes value;
    struct rv_response_field *next;
};

enum rv_content_kind { RV_CONTENT_COPIED, RV_CONTENT_BORROWED, RV_CONTENT_FILE };

/* A run of a content's octets or file, and what goes before it. */
struct rv_content_part {
    rv_bytes head;   /* in the talk's arena */
    uint64_t offset; /* in the octets, or the file */
    uint64_t length; /* 0: only the head */
};

/* The content of a whole answer. */
struct rv_content {
    enum rv_content_kind kind;
    rv_bytes octets;
    void (*release)(void *ctx);
    void *ctx;
    int file; /* owned until it is handed to the stream; with a release, lent */
    uint64_t offset;
    uint64_t length; /* of any kind; with parts that of all of them, heads too */
    const struct rv_content_part *parts; /* in the talk's arena; NULL: the content is one run */
    size_t part_count;
};

struct rv_talk {
    /* ---- for life ---- */
    struct rv_worker *worker;
    struct rv_talk *next_free;
    uint32_t slot;
    uint32_t generation;
    struct rv_h1_head head;       /* its `fields` are the array at the end */
    struct rv_timer timer;        /* rv_after_ms */
    struct rv_buffer body_buffer; /* of a whole body that arrived in pieces */
    struct rv_arena arena;
    rv_bytes params[RV_ROUTE_PARAMS_MAX]; /* percent-encoded; as many as the route has are set */

    /* ---- of one exchange: zeroed when it is taken ---- */
    struct rv_conn *conn;       /* NULL: the client has gone */
    const struct rv_wire *wire; /* how its connection speaks (wire.h) */
    struct rv_h2_stream *h2;    /* HTTP/2: its stream, as long as `conn` is there */
    const struct rv_app *app;
    const struct rv_route *route;
    size_t
        befores_run; /* how many of the app's before-handlers are behind it, or do not concern it */
    bool before_handler; /* ... and its own handler is still to come */
    char *octets;        /* of the head */
    bool in_use;
    bool kept;    /* `octets` is a copy in the arena */
    bool running; /* a handler of it is on the stack, or at the pool */
    bool on_pool;
    bool head_only;          /* HEAD: the content is left out */
    bool continue_due;       /* 100 Continue is expected and not sent */
    bool cut;                /* it failed after the head had left: the connection is to be closed */
    bool in_problem;         /* its app's on_problem is on the stack */
    rv_bytes path;           /* decoded; absent: it is the plain path of the target */
    rv_bytes path_extension; /* path parameters of the last segment, as sent */
    rv_bytes peer;           /* formatted on demand */
    struct rv_param_table *param_table;     /* made when it is asked for */
    const struct rv_form_parts *form_parts; /* likewise */
    bool form_told, cookies_told;           /* the program has been told what is wrong with them */
    bool is_tls;
    rv_tls_info *tls_info; /* likewise */
    uint64_t arrived_ms;   /* when the head was complete, on the loop's clock */
    rv_session *session;   /* held; NULL: none, or none yet */
    bool session_sought;   /* the request's own was looked for */
    bool session_is_new;   /* this talk has begun it */
    bool session_is_kept;  /* a change to it has been saved */
    bool sessions_full;    /* it would have begun one */
    int64_t wall_s;        /* when the head was complete; seconds since 1970 */

    /* request body */
    enum rv_body_phase body_phase;
    bool body_chunked;
    bool body_in_trailers;
    bool body_discarded; /* what comes is dropped: the talk is answered */
    rv_bytes body;       /* whole */
    uint64_t body_left;  /* of a Content-Length: octets to come */
    uint64_t body_read;
    uint64_t body_max;
    uint64_t window_ms;   /* start of the current window of the minimum rate ... */
    uint64_t window_read; /* ... and body_read at that time */
    struct rv_chunked chunked;
    rv_body_fn on_body;
    void *on_body_ctx;
    struct rv_parts_reader *parts; /* rv_on_parts; in the arena */
    char *trailer_octets;          /* in the arena */
    struct rv_field *trailers;
    uint32_t trailer_count;

    /* response, verb side */
    enum rv_response_phase response;
    bool afters_run; /* of a streamed response: the after-handlers are through */
    int status;
    bool length_set;                     /* by a Content-Length field of the application */
    bool close_asked;                    /* by a Connection field of the application */
    bool date_set, server_set, type_set; /* by fields of the application */
    rv_bytes reason;                     /* in the arena; absent: that of the status */
    uint64_t length;                     /* what was promised */
    uint64_t written;                    /* of it */
    struct rv_shaper *shaper;            /* NULL: content goes out as it is (shaper.h) */
    bool in_pieces;                      /* a whole answer that is sent as if it were streamed */
    bool length_withheld; /* the head does not tell it: the content is coded, or to be chunked */
    bool coding_settled;  /* its coding, or that it has none, is not for the app to choose */
    struct rv_response_field *fields, **fields_last;
    struct rv_response_field *trailer_fields;

    /* response, wire side */
    bool head_sent;
    bool wire_chunked;
    bool wire_closes; /* the end of the response is the end of the connection */
    bool wire_ended;  /* the whole response has been written */

    /* what is called when */
    rv_handler drained;
    void *drained_ctx;
    void (*on_gone)(void *ctx);
    void *on_gone_ctx;
    rv_handler timer_then;
    void *timer_ctx;

    /* pool (pool.c, channel.c) */
    struct rv_pool_channel *channel;
    struct rv_pool_job queued;
    rv_handler job;
    void *job_ctx;
    int job_result;
    struct rv_content *content; /* a whole answer given on the pool, in the arena */
    const char *content_type;
    struct rv_message finished;
    struct rv_message *early; /* resumes that came while it was at the pool, newest first */

    char first_block[1024]; /* of the arena */
    struct rv_field fields_room[];
};

/* Takes a talk; NULL: no memory. */
struct rv_talk *rv_talk_take(struct rv_worker *worker);

/* Percent-decodes into the arena where decoding is needed; absent: no memory. */
rv_bytes rv_decoded(struct rv_talk *talk, rv_bytes text, bool plus);

/* Puts the fields on a response that it has unless a handler says otherwise: of the server (fields.c),
   and Strict-Transport-Security. */
void rv_talk_add_policies(struct rv_talk *talk);
void rv_fields_add_defaults(struct rv_talk *talk, const struct rv_default_fields *defaults);

/* Takes a cookie off the response again. */
void rv_fields_remove_cookie(struct rv_talk *talk, const char *name);

/* Gives it back, with its memory; its handle is void from now on. */
void rv_talk_give(struct rv_talk *talk);

/* Frees every talk of a worker. */
void rv_talks_free(struct rv_worker *worker);

/* The talk that a handle names; NULL: it is no more. */
struct rv_talk *rv_talk_find(struct rv_worker *worker, rv_handle handle);

/* Copies the head (and a whole body in place) to memory of the talk's own. False: no memory. */
bool rv_talk_keep(struct rv_talk *talk);

/* Runs a handler on this thread and deals with its result, up to the 500. */
void rv_talk_run(struct rv_talk *talk, rv_handler handler, void *ctx);

/* A handler has returned, and the response goes on: what it has written so far is to reach the client. */
void rv_talk_flush(struct rv_talk *talk);

/* Deals with what a handler has returned. */
void rv_talk_settle(struct rv_talk *talk, int result);

/* The handler failed: a 500 if the head has not left, a cut connection otherwise. */
void rv_talk_fail(struct rv_talk *talk, rv_error error, const char *doing);

/* The library answers in the handler's stead, with an error, or cuts when the head has left; on_gone is
   told. */
void rv_talk_refuse(struct rv_talk *talk, int status, const char *detail);

/* The program's part is over: no timer, drain or gone will be told any more. */
void rv_talk_forget_callbacks(struct rv_talk *talk);

/* There is room for output again: calls the drain function, once. */
void rv_talk_tell_drained(struct rv_talk *talk);

/* The client has gone: tells on_gone and gives the talk back, now or when the pool is done with it. */
void rv_talk_lose(struct rv_talk *talk);

/* After rv_talk_run and its kin outside of the connection's own calls. */
void rv_talk_advance(struct rv_talk *talk);

static inline rv_bytes rv_talk_span(const struct rv_talk *talk, struct rv_span span)
{
    return rv_span_bytes(talk->octets, span);
}

/* Runs what the route leads to, here or on the pool: the app's before-handlers, then the handler. Goes on
   where it was when one of them has returned without an answer. */
void rv_talk_start(struct rv_talk *talk);

#endif
