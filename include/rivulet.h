/*
 * rivulet.h - an embeddable HTTP application server.
 *
 * The header is a staircase: the first step serves a page, each further step adds one idea.
 *
 *    1 hello                     7 where a handler runs
 *    2 what was asked            8 sessions
 *    3 whole answers             9 files and assets
 *    4 apps and routes          11 TLS
 *    5 bodies in                12 limits, counters, hooks
 *    6 bodies out, streamed     14 testing handlers without a port
 *
 * Rules that hold everywhere:
 *  - One handle: the talk, one request and its response. Nouns read the request (`rv_header`),
 *    verbs write the response (`rv_set_header`).
 *  - Slices (`rv_bytes`) that a noun returns live until the handler returns, or until the talk is
 *    answered, whichever comes first. A handler that answers later asks again, or copies.
 *  - A talk belongs to its worker thread. Code on any other thread holds an `rv_handle` and
 *    reaches the talk through `rv_resume`. The functions marked "any thread" are the only ones
 *    that may be called from elsewhere.
 *  - Functions that can fail return an `rv_error`: 0 is success, failures are negative.
 *  - An option that is zero means the documented default.
 *  - The library never exits, prints or raises SIGPIPE.
 */
#ifndef RIVULET_H
#define RIVULET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RV_API __attribute__((visibility("default")))

/* ---- values ---------------------------------------------------------------------------------- */

/* A view of octets that somebody else owns. `ptr` NULL: absent. `len` 0 with `ptr` set: empty. */
typedef struct rv_bytes {
    const char *ptr;
    size_t len;
} rv_bytes;

/* A view of a string literal. */
#define RV_LIT(text) ((rv_bytes){"" text, sizeof(text) - 1})

/* A view of a C string, without its terminator. NULL gives the absent view. */
RV_API rv_bytes rv_str(const char *text);

/* True when the view holds exactly the octets of the C string `text`; the absent view only equals NULL. */
RV_API bool rv_equals(rv_bytes bytes, const char *text);

/* Outcomes that are no failures. */
enum {
    RV_OK = 0,      /* done; of a handler: the talk is answered */
    RV_PENDING = 1, /* of a handler: the talk will be answered later */
    RV_FULL = 2     /* taken, but wait for the drain before giving more */
};

/* Every failure: name, value, text. The enumeration and rv_strerror come from this one list. */
#define RV_ERRORS(X)                                                                               \
    X(RV_ENOMEM, -1, "out of memory")                                                              \
    X(RV_EINVAL, -2, "invalid argument")                                                           \
    X(RV_EGONE, -3, "the client has gone")                                                         \
    X(RV_ESTATE, -4, "not allowed in this state")                                                  \
    X(RV_ELIMIT, -5, "over a limit")                                                               \
    X(RV_ETIMEOUT, -6, "timed out")                                                                \
    X(RV_EADDR, -7, "bad address")                                                                 \
    X(RV_EADDRINUSE, -8, "address already in use")                                                 \
    X(RV_EPERM, -9, "permission denied")                                                           \
    X(RV_EFILES, -10, "no file descriptors left")                                                  \
    X(RV_EIO, -11, "input or output failed")                                                       \
    X(RV_EBUSY, -12, "busy")                                                                       \
    X(RV_ENOTFOUND, -13, "not found")                                                              \
    X(RV_EPROTO, -14, "the peer broke the protocol")                                               \
    X(RV_ENOLENGTH, -15, "a Content-Length is needed")

typedef int rv_error;
enum {
#define RV_ERROR_ENUM(name, value, text) name = (value),
    RV_ERRORS(RV_ERROR_ENUM)
#undef RV_ERROR_ENUM
};

/* The text of an error; never NULL, static. Any thread. */
RV_API const char *rv_strerror(rv_error error);

/* The version of the library, such as "0.1.0"; static. Any thread. */
RV_API const char *rv_version(void);

typedef struct rv_server rv_server; /* listeners, workers, apps */
typedef struct rv_app rv_app;       /* routes, and what they have in common */
typedef struct rv_talk rv_talk;     /* one request and its response */

/*
 * Answers a talk. Returns RV_OK when it has answered (a streamed response that was begun and not
 * ended is ended), RV_PENDING when the talk will be answered later, or a negative rv_error: then
 * the client gets a 500 if nothing was sent yet, a cut connection otherwise, and the on_error hook
 * is told - but RV_EBUSY, which is nobody's fault, and RV_EFILES are a 503. Runs on the talk's worker
 * thread and must not block, unless its route says RV_ON_POOL.
 */
typedef int (*rv_handler)(rv_talk *talk, void *ctx);

/* ---- 12 limits and hooks (up here because the server's options hold them) --------------------- */

#define RV_NO_LIMIT UINT64_MAX

/*
 * Every limit: name, default. Zero in the options means the default, RV_NO_LIMIT switches a limit
 * off. What happens when one strikes, and which counter tells:
 *
 *  target_bytes_max            longest request target; beyond: 414 (target_too_long)
 *  head_bytes_max              request line and fields together; beyond: 431 (head_too_large)
 *  head_fields_max             number of fields; beyond: 431 (head_fields_too_many); at most 4096
 *  body_bytes_max              a whole body, and a streamed one whose route sets a limit;
 *                              beyond: 413 (body_too_large)
 *  head_timeout_ms             from the first octet of a head to its end, overall, and from the connect
 *                              to that first octet; beyond: 408 (head_timeouts). While more connections
 *                              keep coming in, a silent one has until idle_timeout_ms: load generators
 *                              connect first and send later
 *  body_rate_min               octets per second that a request body must progress at ...
 *  body_grace_ms               ... measured over windows of this length; below: 408 (body_too_slow)
 *  tls_handshake_timeout_ms    from the connect to the end of a TLS handshake; beyond: closed
 *                              (tls_handshake_timeouts)
 *  write_stall_ms              longest time without progress of a response; beyond: the connection
 *                              is cut (write_stalls)
 *  idle_timeout_ms             longest silence between two requests; beyond: closed (idle_timeouts)
 *  requests_per_connection_max then `Connection: close`; 0: unlimited (requests_per_connection_hits)
 *  connections_max             of the whole server; 0: what the process may open, less a reserve;
 *                              beyond: idle ones are recycled, new ones wait (connections_full)
 *  pool_queue_max              talks waiting for a pool thread; beyond: 503 (pool_queue_full)
 *  form_fields_max             pairs of a form; beyond: it cannot be used, 413 (form_fields_too_many)
 *  output_high_bytes           queued output of a talk from which rv_write answers RV_FULL
 *  output_low_bytes            queued output under which on_drain is called
 *  linger_ms                   how long a connection that was refused early is read and discarded, so
 *                              that the answer reaches a client that is still sending; 5 s of silence
 *                              end it as well
 *  h2_streams_max              HTTP/2: requests under way on one connection; beyond: REFUSED_STREAM
 *  h2_stream_window_bytes      HTTP/2: content that a client may send ahead, on one stream ...
 *  h2_connection_window_bytes  ... and on one connection; bodies that are held whole are beside it
 *
 * Frames of HTTP/2 that cost a client nothing have budgets as well, which are not settable: whoever
 * uses one up is cut with ENHANCE_YOUR_CALM, and a counter h2_..._floods tells.
 */
#define RV_LIMITS(X)                                                                               \
    X(target_bytes_max, 8192)                                                                      \
    X(head_bytes_max, 32768)                                                                       \
    X(head_fields_max, 100)                                                                        \
    X(body_bytes_max, 1048576)                                                                     \
    X(head_timeout_ms, 10000)                                                                      \
    X(body_rate_min, 1024)                                                                         \
    X(body_grace_ms, 5000)                                                                         \
    X(tls_handshake_timeout_ms, 10000)                                                             \
    X(write_stall_ms, 20000)                                                                       \
    X(idle_timeout_ms, 20000)                                                                      \
    X(requests_per_connection_max, 0)                                                              \
    X(connections_max, 0)                                                                          \
    X(pool_queue_max, 1024)                                                                        \
    X(form_fields_max, 1000)                                                                       \
    X(output_high_bytes, 262144)                                                                   \
    X(output_low_bytes, 65536)                                                                     \
    X(linger_ms, 30000)                                                                            \
    X(h2_streams_max, 128)                                                                         \
    X(h2_stream_window_bytes, 262144)                                                              \
    X(h2_connection_window_bytes, 1048576)

typedef struct rv_limits {
#define RV_LIMIT_FIELD(name, value) uint64_t name;
    RV_LIMITS(RV_LIMIT_FIELD)
#undef RV_LIMIT_FIELD
} rv_limits;

/* What the library tells the program. Each is called on the thread where it happened. */
typedef struct rv_hooks {
    /* Something failed. `doing` says what the server was doing, such as "while reading the request
       body"; `peer` is the client's address or "" ; `detail` may be empty. */
    void (*on_error)(rv_server *server, rv_error error, const char *doing, const char *peer,
                     const char *detail, void *ctx);
    /*
     * What a client has sent is wrong, or came too slowly: malformed heads, paths, forms, boundaries and
     * frames, and whatever is over a limit. It is nobody's failure here, and nothing needs to be done.
     * `status` is what it was answered with; 0: it got no answer for that, since its connection or stream
     * was ended, or since what is wrong was passed over, as with cookies and ranges. `doing` and `peer` are
     * as of on_error; `detail` is a sentence, with nothing of the client's own in it. Not called for what is
     * well-formed and not there: 404, 405. A client can cause any number of calls.
     */
    void (*on_bad_input)(rv_server *server, int status, const char *doing, const char *peer,
                         const char *detail, void *ctx);
    /* All listeners are open and the workers run. */
    void (*on_start)(rv_server *server, void *ctx);
    /* The workers have ended and the listeners are closed. */
    void (*on_stop)(rv_server *server, void *ctx);
    /* A line for the program's log, such as "accepting paused: no file descriptors left". */
    void (*on_log)(rv_server *server, const char *line, void *ctx);
    void *ctx;
} rv_hooks;

/* ---- 1 hello ---------------------------------------------------------------------------------- */

/* A field that responses have unless their handlers set another of that name. */
typedef struct rv_default_header {
    const char *name;
    const char *value;
} rv_default_header;

typedef struct rv_server_options {
    /* Where to listen; NULL: nowhere yet (see rv_listen, and rv_test_new). The forms are
       "127.0.0.1:8080", "[::1]:8080", "localhost:8080", ":8080" or "*:8080" (every address, IPv4
       and IPv6), "8080" (the same as "127.0.0.1:8080"), "unix:/path", "unix:@abstract", "fd:3" (an
       open listening socket) and "inherited" (all that LISTEN_FDS passes on). Port 0 lets the
       kernel choose; rv_server_address tells. */
    const char *listen;
    unsigned workers;      /* worker threads; 0: one for each CPU that the process may use */
    unsigned backlog;      /* length asked for of each accept queue; 0: 4096 */
    unsigned pool_threads; /* threads for handlers that block (RV_ON_POOL); 0: 8 */
    unsigned stop_port; /* rv_stop_at and `rivulet stop` reach the server on 127.0.0.1; 0: none */
    uint64_t stop_grace_ms;  /* how long running talks may take after a stop; 0: 5000 */
    const char *server_name; /* the Server field; NULL: "rivulet"; "": no such field */
    /* Fields of every response, refusals and errors too; the last of the table has no name. Not those
       that the library sets, or that each answer says for itself, such as Content-Type. */
    const rv_default_header *default_headers;
    bool keep_signals; /* true: rv_server_run leaves SIGTERM and SIGINT alone */
    /* true: TCP connections are always accepted when they are made. By default, while most of them
       carry a single request, the kernel holds one back until its first octets are there, for about a
       second at most (tcp(7), TCP_DEFER_ACCEPT): that spares a wake-up for each connection. */
    bool accept_silent;
    /* true: HTTP/1 only. By default HTTP/2 is spoken as well, on the same ports: with TLS to clients
       that ask for it (ALPN), in clear text to those that begin with it (prior knowledge). */
    bool no_http2;
    rv_limits limits;
    rv_hooks hooks;
} rv_server_options;

/*
 * A server that is not running yet. Copies the options. NULL only when memory is short; an option
 * that is out of range makes rv_server_run fail with a text that names it.
 */
RV_API rv_server *rv_server_new(const rv_server_options *options);

/* Adds an address to listen on; the forms are those of rv_server_options.listen. Before the start. */
RV_API rv_error rv_listen(rv_server *server, const char *address);

/* The app that every server has. Owned by the server. */
RV_API rv_app *rv_default_app(rv_server *server);

/*
 * Adds a route: "METHOD /path". A pattern that does not parse, or that is there already, is
 * RV_EINVAL, named in rv_server_error_text, and makes rv_server_run fail too. Before the start.
 * See step 4 for patterns.
 */
RV_API rv_error rv_route(rv_app *app, const char *pattern, rv_handler handler, void *ctx);

/*
 * Opens the listeners, starts the workers and blocks until rv_server_stop, SIGTERM or SIGINT (these
 * two only where the program has not set a handler of its own). A second signal ends at once.
 * 0 after a stop; a negative rv_error when it could not start: rv_server_error_text then names the
 * address and the reason. May be called again after it has returned.
 */
RV_API rv_error rv_server_run(rv_server *server);

/*
 * Asks a running server to stop: it accepts no more, finishes running talks within stop_grace_ms,
 * answers with `Connection: close`, then closes. A second call ends at once; but a handler that runs on
 * a pool thread is always waited for, since a thread cannot be interrupted. Returns immediately.
 * Any thread; also from a signal handler. Without effect when the server does not run.
 */
RV_API void rv_server_stop(rv_server *server);

/*
 * Stops a server that somebody else runs, through its stop_port: sends the four octets "stop" and waits
 * until they are taken, two seconds at most. `host` NULL: 127.0.0.1. RV_ENOTFOUND: nobody listens there;
 * RV_EPROTO: somebody who is no stop port; RV_EADDR: no such host; RV_ETIMEOUT, RV_EIO. Any thread;
 * blocks.
 */
RV_API rv_error rv_stop_at(const char *host, unsigned port);

/* Frees a server that does not run, with its apps and routes. NULL is allowed. */
RV_API void rv_server_free(rv_server *server);

/* What the last failed call was about, in a sentence; "" when none failed. Lives until the next. */
RV_API const char *rv_server_error_text(const rv_server *server);

/*
 * The addresses that a running server listens on, with the real port: "127.0.0.1:40123". NULL
 * behind the last one. Lives until the server stops. From on_start on; any thread.
 */
RV_API const char *rv_server_address(const rv_server *server, size_t index);

/* The accept queue length in force: the smaller of the backlog and net.core.somaxconn. */
RV_API unsigned rv_server_backlog(const rv_server *server);

/* Worker threads, and pool threads, of a running server. */
RV_API unsigned rv_server_workers(const rv_server *server);
RV_API unsigned rv_server_pool_threads(const rv_server *server);

/* Answers with `text` as text/plain; charset=UTF-8. Copies. */
RV_API int rv_text(rv_talk *talk, int status, const char *text);

/* ---- 2 what was asked -------------------------------------------------------------------------- */

RV_API rv_bytes rv_method(const rv_talk *talk); /* "GET"; case as sent (RFC 9110 section 9.1) */
RV_API rv_bytes rv_target(const rv_talk *talk); /* the request target as sent */
RV_API rv_bytes rv_path(const rv_talk *talk); /* decoded, dot segments removed; "*" for OPTIONS * */
/* What follows the first ";" of the path's last segment, as sent; absent without one. Neither rv_path
   nor routes see these (RFC 3986 section 3.3); a ";" in a name is written %3B. */
RV_API rv_bytes rv_path_extension(const rv_talk *talk);
/* The value in it of "name=value", decoded: of ";sid=7;x" "sid" has "7" and "x" is empty. */
RV_API rv_bytes rv_path_extension_param(rv_talk *talk, const char *name);
RV_API rv_bytes rv_query(const rv_talk *talk); /* behind the "?", not decoded; absent without one */
RV_API rv_bytes rv_host(const rv_talk *talk);  /* the target's authority if it has one, else Host */
RV_API rv_bytes rv_host_name(const rv_talk *talk); /* rv_host without its port */
RV_API int rv_port(const rv_talk *talk); /* the port of rv_host; without one that of the scheme */
RV_API rv_bytes rv_scheme(const rv_talk *talk); /* "http", or "https" over TLS */
RV_API rv_bytes rv_peer(const rv_talk *talk);   /* "127.0.0.1:50512", "[::1]:50512", or "unix:" */
RV_API int rv_http_major(const rv_talk *talk);  /* 1, or 2 for HTTP/2 */
RV_API int rv_http_minor(const rv_talk *talk);  /* 0 for HTTP/1.0, 1 for HTTP/1.1; 0 for HTTP/2 */

/* The first value of a field, name in any case; absent when the request has no such field. */
RV_API rv_bytes rv_header(const rv_talk *talk, const char *name);

/* The field at `index`, in order of arrival; false behind the last one. */
RV_API bool rv_header_at(const rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value);

/* Like rv_header, of the trailer section of a chunked body that has been read to its end. */
RV_API rv_bytes rv_trailer(const rv_talk *talk, const char *name);

/* Content-Length of the request; -1 when it has none (no body, or a chunked one). */
RV_API int64_t rv_content_length(const rv_talk *talk);

/* The media type of the request's content, as sent and without parameters; and its charset. Absent when
   there is none. */
RV_API rv_bytes rv_content_type(const rv_talk *talk);
RV_API rv_bytes rv_charset(const rv_talk *talk);

/*
 * A parameter: of the path pattern, else of the query, else of the form in a whole body of type
 * application/x-www-form-urlencoded (percent-decoded, in the latter two "+" is a space), or of
 * multipart/form-data, whose files are no parameters (rv_form_part_at). The first of that name; absent when there is none.
 */
RV_API rv_bytes rv_param(rv_talk *talk, const char *name);

/* The parameter at `index`, in the same order: repeated names are all there. False behind the last one. */
RV_API bool rv_param_at(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value);

/*
 * 0: the request has no form, or one that can be used. A form with an escape that is none or under a
 * Content-Encoding (RV_EPROTO), or with more than form_fields_max pairs (RV_ELIMIT), has no parameters at all,
 * since a part of what its sender has filled in is not what he meant. A handler that returns this error
 * leaves it to the library: the client gets a 400, 415 or 413 that says why. RV_ENOMEM: memory is short.
 */
RV_API rv_error rv_form_check(rv_talk *talk);

/*
 * Parameters of a type. RV_ENOTFOUND: absent; or the error of rv_form_check, when it may have been in a
 * form that cannot be used. RV_EINVAL: not such a thing, or trailing octets. RV_ELIMIT: out of the
 * range min..max. `*value` is set only on success.
 */
RV_API rv_error rv_param_int(rv_talk *talk, const char *name, int64_t min, int64_t max,
                             int64_t *value); /* decimal */
RV_API rv_error rv_param_double(rv_talk *talk, const char *name, double min, double max,
                                double *value); /* "-1.5e3", in every locale */
RV_API rv_error rv_param_bool(rv_talk *talk, const char *name,
                              bool *value); /* 1 true yes on, 0 false no off; any case */
/* A date of RFC 3339 in seconds since 1970: "2026-12-01", its midnight in UTC, or with a time and an
   offset, "2026-12-01T10:15:30Z"; fractions are cut off. */
RV_API rv_error rv_param_date(rv_talk *talk, const char *name, int64_t *seconds);
/* One of `choices`, which ends with NULL: its index. */
RV_API rv_error rv_param_choice(rv_talk *talk, const char *name, const char *const *choices,
                                size_t *index);

/* The parameters of query and form as a query again, but those whose names are in `ignore`, which ends with
   NULL (NULL: none): "q=two+words&page=2", "" when there are none. For links to the same page with something
   changed; in HTML they need escaping. Lives as long as the talk; NULL: no memory. */
RV_API const char *rv_param_query(rv_talk *talk, const char *const *ignore);

/* A cookie of the request; absent when there is none (RFC 6265 section 4.2). */
RV_API rv_bytes rv_cookie(rv_talk *talk, const char *name);

/* The cookie at `index`, in order of arrival; false behind the last one. */
RV_API bool rv_cookie_at(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value);

/* Memory that lives as long as the talk; NULL when memory is short. Aligned for any type. */
RV_API void *rv_alloc(rv_talk *talk, size_t size);

/* A copy with a terminating NUL behind it, that lives as long as the talk; NULL when memory is short. */
RV_API char *rv_copy(rv_talk *talk, rv_bytes bytes);

/* ---- 3 whole answers --------------------------------------------------------------------------- */

/* Each answers the talk and returns RV_OK, RV_EGONE (the client has left), RV_ESTATE (answered already)
   or another error: then it is as unanswered as before. Content-Length, Date and Server are set by the
   library. For HEAD the body is left out. */
/* These copy. rv_html is text/html; charset=UTF-8, rv_json application/json. */
RV_API int rv_html(rv_talk *talk, int status, const char *html);
RV_API int rv_json(rv_talk *talk, int status, const char *json);
RV_API int rv_reply(rv_talk *talk, int status, const char *content_type, rv_bytes body);

/* Does not copy: `body` must stay as it is until `release(ctx)` is called, once, on the talk's worker:
   when the body is sent, or when the client has left. `release` may be NULL for static data. */
RV_API int rv_reply_borrowed(rv_talk *talk, int status, const char *content_type, rv_bytes body,
                             void (*release)(void *ctx), void *ctx);

typedef struct rv_file_options {
    const char *content_type; /* NULL: by the extension of the path */
    const char *etag;         /* an entity tag with its quotes; NULL: made of size and time */
    bool no_conditions;       /* true: If-None-Match and its kin, and Range, are ignored */
} rv_file_options;

/*
 * Answers with a file: Last-Modified, ETag, conditional requests (RFC 9110 section 13) and byte
 * ranges (section 14; several, up to 16, as multipart/byteranges), sent with sendfile. RV_ENOTFOUND, unanswered, when there is no such regular
 * file; RV_EPERM when it may not be read. The path is the program's own: nothing is checked against
 * a root.
 */
RV_API int rv_file(rv_talk *talk, const char *path, const rv_file_options *options);

/* Location and a short page that links it. `status` is 301, 302, 303, 307 or 308. */
RV_API int rv_redirect(rv_talk *talk, int status, const char *location);

/* An error in the style of the talk's app (step 4); by default a short plain text: the status, its reason,
   and `detail` (may be NULL). */
RV_API int rv_problem(rv_talk *talk, int status, const char *detail);

/*
 * Fields of the response. `set` replaces, `add` adds another of the same name. RV_EINVAL for a name
 * that is no token or a value with CR, LF or NUL; RV_ESTATE when the head has been sent. A streamed
 * response with its own Content-Length is sent with exactly that many octets; a whole answer of another
 * length is refused with RV_EINVAL, but for HEAD, whose answer may state the length alone.
 * Transfer-Encoding cannot be set, and of Connection only the options close and keep-alive.
 */
RV_API rv_error rv_set_header(rv_talk *talk, const char *name, const char *value);
RV_API rv_error rv_add_header(rv_talk *talk, const char *name, const char *value);

/* Takes all fields of that name off the response again; RV_ESTATE when the head has been sent. */
RV_API rv_error rv_remove_header(rv_talk *talk, const char *name);

/* Fields that the response has so far, in the order they were set, without those that the library adds
   when it is sent: the first of that name, and the one at `index` (false behind the last). */
RV_API rv_bytes rv_response_header(const rv_talk *talk, const char *name);
RV_API bool rv_response_header_at(const rv_talk *talk, size_t index, rv_bytes *name,
                                  rv_bytes *value);

/* The status that the response has, or will have when its head leaves; 0: there is none yet. */
RV_API int rv_response_status(const rv_talk *talk);

/* The reason phrase beside the status that the answer will have, at most 128 octets. Only HTTP/1 has one,
   and no client should care. RV_ESTATE when the head has been sent. */
RV_API rv_error rv_set_reason(rv_talk *talk, const char *reason);

/* The reason phrase of a status: "Not Found"; "Unknown" for one without. Static. Any thread. */
RV_API const char *rv_status_text(int status);

/* The media type of a file by its extension: "text/css; charset=UTF-8"; "application/octet-stream" for what is
   not known. Static. Any thread. */
RV_API const char *rv_media_type(const char *path);

#define RV_HTTP_DATE_SIZE 30

/* Writes a date as fields have it (RFC 9110 section 5.6.7), "Sun, 06 Nov 1994 08:49:37 GMT", with its
   terminator: RV_HTTP_DATE_SIZE octets. Returns `text`. Seconds since 1970, of years up to 9999. Any thread. */
RV_API const char *rv_http_date(int64_t seconds, char *text);

typedef struct rv_cookie_options {
    const char *path;      /* NULL: no Path attribute */
    const char *domain;    /* NULL: no Domain attribute */
    const char *same_site; /* "Strict", "Lax" or "None"; NULL: no such attribute */
    int64_t max_age_s;     /* 0: a session cookie; negative: expire now */
    bool http_only;
    bool secure;
    bool partitioned;  /* a jar of its own for each site that embeds this one */
    int64_t expires_s; /* seconds of the epoch, for clients older than Max-Age; 0: no Expires */
} rv_cookie_options;

/*
 * Adds a Set-Cookie field. RV_EINVAL, and no field: a name, value or attribute outside RFC 6265 section
 * 4.1.1 (nothing is escaped), or what every browser would drop: SameSite=None, Partitioned, __Secure-
 * or __Host- without Secure, __Host- with a domain or without the path "/", more than 4096 octets.
 */
RV_API rv_error rv_set_cookie(rv_talk *talk, const char *name, const char *value,
                              const rv_cookie_options *options);

/* ---- 4 apps and routes -------------------------------------------------------------------------- */

/*
 * Patterns: "METHOD /literal/{name}/{rest...}". METHOD is any token, or "*" for every method that
 * has no route of its own on that path. "{name}" matches one whole segment, "{name:int}" one that is a
 * decimal integer of 64 bits, "{name:date}" one that is a date (rv_param_date), "{name}.{ext}" one with a
 * dot (the last one parts it), "{rest...}", only at
 * the end, all that is left, be it empty. Segments are compared after percent-decoding, so %2F never
 * splits one, and without path parameters (";sid=7"). Precedence is decided segment by segment from the
 * left: a literal before an integer before a date before a dotted name before a parameter before a rest;
 * when that path leads nowhere the next best is tried.
 * A path that matches without the method is 405 with Allow, a path that matches nothing 404. HEAD is
 * served by the GET route unless it has its own; OPTIONS by a 204 with Allow unless it has its own.
 *
 * A pattern may demand a query: "GET /search?q" that there is a q, "?mode=full" that it says exactly this
 * ("+" and "%26" are decoded), "?q={text}" that it says something, "?page={page:int}" and
 * "?since={day:date}" something of that type, whose value is a parameter of the route; several are joined
 * by "&". Their order does not matter, the query may hold more, and of a repeated name the first counts.
 * Of the routes of one path and method those with more demands go first, then those with more exact
 * values, then with more types, then with more values, then those added first. Where a query does not meet
 * them, a route is not there: the next best is tried, and without one the answer is 404.
 */

typedef enum rv_body_mode {
    RV_BODY_WHOLE = 0, /* the handler starts when the body is there: rv_body */
    RV_BODY_STREAMED   /* the handler starts with the head and asks for the body: rv_on_body */
} rv_body_mode;

typedef enum rv_run_mode {
    RV_ON_LOOP = 0, /* on the worker; must not block */
    RV_ON_POOL      /* on a pool thread; may block; the body is always whole */
} rv_run_mode;

/*
 * Where handlers run that shall not share the pool: threads of the program's own. `submit` is called on
 * a worker and must not block; it has `run(arg)` called once, later, on some other thread, and returns
 * RV_OK, or an error when it takes no more: then the client gets a 503. The rules are those of the pool.
 * The server waits for what was submitted before it stops; the program ends its threads before
 * rv_server_free.
 */
typedef struct rv_executor {
    rv_error (*submit)(void (*run)(void *arg), void *arg, void *ctx);
    void *ctx;
} rv_executor;

typedef struct rv_route_options {
    rv_body_mode body;
    rv_run_mode run;
    rv_executor executor;    /* used in the pool's stead when it has a `submit` */
    uint64_t body_bytes_max; /* 0: for whole bodies the server's limit, for streamed ones none */
    bool length_required;    /* true: a body without Content-Length is 411 */
    bool no_compress;        /* true: responses are never compressed, whatever the app says */
} rv_route_options;

RV_API rv_error rv_route_with(rv_app *app, const char *pattern, rv_handler handler, void *ctx,
                              const rv_route_options *options);

/* An entry of a table of routes. */
typedef struct rv_route_entry {
    const char *pattern; /* "GET /list"; NULL behind the last entry */
    rv_handler handler;
    void *ctx;
    const rv_route_options *options; /* NULL: none */
    /* A further table for what is below this path; then the pattern may be the path alone. */
    const struct rv_route_entry *below;
} rv_route_entry;

/*
 * Adds the routes of a table, and of those in it, 16 deep at most: the paths below `prefix` (NULL:
 * the root). The path "/" below a prefix is the prefix itself. The first error; the others of the
 * table are added all the same. Nothing is kept of the table, but the ctx of its entries.
 */
RV_API rv_error rv_routes(rv_app *app, const char *prefix, const rv_route_entry *table);

/* A handler for each verb; NULL where the resource has none. */
typedef struct rv_verbs {
    rv_handler get, head, post, put, patch, delete_, options;
} rv_verbs;

/* Adds the routes of one resource: "/users/{id:int}". */
RV_API rv_error rv_resource(rv_app *app, const char *path, const rv_verbs *verbs, void *ctx);

/*
 * Apps. Every server has its default app; a larger program has one for each of its parts. Those that
 * answer for the request's host and cover its path are asked in this order until one has a handler:
 * apps that name their hosts before apps for every host; then those with the longer mount; then in the
 * order they were made; the default app last. When none has a handler, 404 and 405 are given in the
 * style of the first of them - for 405 the first that has the path - and Allow has the methods of all.
 */

/* What a resolve callback has found: what a route would say. */
typedef struct rv_resolution {
    rv_handler handler;
    void *ctx;
    rv_route_options options;
} rv_resolution;

/* How a response says where it ends. Whole answers have a Content-Length and streamed ones that of the
   application, where nothing else is said here. */
typedef enum rv_framing {
    /* Streamed responses without a Content-Length are chunked; for HTTP/1.0 they end with the connection. */
    RV_FRAMING_AUTO = 0,
    /* Streamed responses are collected, and have a Content-Length, as long as they are no longer than
       buffered_bytes_max; longer ones go on as AUTO has it. The head waits, and fields may be set until
       it leaves. */
    RV_FRAMING_BUFFERED,
    /* Everything is chunked, whole answers too, but for files; with HTTP/2 there is no Content-Length.
       For HTTP/1.0 as AUTO has it. */
    RV_FRAMING_CHUNKED,
    /* Streamed responses need a Content-Length of the application: the first write without one fails with
       RV_ENOLENGTH, before the head is sent. They are never compressed. */
    RV_FRAMING_RAW
} rv_framing;

#define RV_COMPRESS_OFF (-1)

/*
 * Compression of the content of responses: gzip, br and zstd, as the library was built. The client's
 * Accept-Encoding decides, by its weights; between equals zstd goes before br before gzip. When it is
 * decided, at the answer or the first write, the response
 *  - has a content and is no 206; a 304 says what its 200 would;
 *  - has a Content-Type among `types`, and `bytes_min` octets, if it is known how many;
 *  - has no Content-Encoding, Content-Range or digest, and no Cache-Control with no-transform.
 * Every response for which this holds has `Vary: Accept-Encoding`, compressed or not. One that is
 * compressed has a weak ETag (a strong one gets "W/" in front of it, as a later If-None-Match has, too), no
 * Accept-Ranges, and its own Content-Length, or none: large and streamed ones are chunked, and HEAD is not
 * told. A Content-Length that the application sets is that of the content before it is compressed.
 *
 * What is written reaches the client without waiting for the end: on the worker when the handler returns,
 * all writes of one call together; on a pool thread with each write, so that larger ones compress better.
 *
 * Pages that repeat what a client has sent beside a secret give the secret away by their size (the BREACH
 * attack): give the routes of such pages no_compress.
 */
typedef struct rv_compress_options {
    /* Media types, separated by spaces, such as "text/html application/json"; "text/" with a star behind
       it for all of a kind, "*+json" for all with that end. NULL: text, scripts, JSON, XML, fonts and their
       like, but no text/event-stream. */
    const char *types;
    uint64_t bytes_min; /* 0: 1024. Of whole answers, and streamed ones with a Content-Length */
    /* 0: a level that costs little (gzip 4, br 4, zstd 3); at most 9, 11 and 19. RV_COMPRESS_OFF: this
       coding is not offered. */
    int gzip_level;
    int brotli_level;
    int zstd_level;
} rv_compress_options;

typedef struct rv_app_options {
    /* The app is for this path and those below it, on whole segments: "/api" covers "/api/x", not
       "/apis". Its routes are written without it; "/api" itself is the route "/". NULL: every path. */
    const char *mount;
    /* The hosts that the app answers for, without ports, any case, separated by spaces: "example.org
       *.example.org", where "*." stands for one or more labels. NULL: every host. */
    const char *hosts;
    /* As of the server's options, in whose stead they are where both have a name. */
    const rv_default_header *default_headers;
    bool no_keep_alive; /* true: HTTP/1 connections are closed after each answer of this app */
    rv_framing framing;
    uint64_t buffered_bytes_max;         /* of RV_FRAMING_BUFFERED; 0: output_high_bytes */
    const rv_compress_options *compress; /* NULL: nothing is compressed */
    /*
     * Asked before the app's routes, with the head of the request: every noun but rv_body. Fills in `found` and
     * returns true, or returns false to leave it to the routes. Decides, and does not answer. On the
     * worker; must not block. NULL: the routes alone decide.
     */
    bool (*resolve)(rv_talk *talk, rv_resolution *found, void *ctx);
    /*
     * Answers whatever rv_problem is called for, by the app or by the library (404, 405, 413, 500 ...),
     * in the app's style: sets fields, and gives a whole answer, usually with that status. `detail` may
     * be NULL. Where it does not answer, and when it calls rv_problem itself, the plain text is used. Runs
     * where rv_problem is called, and must not block. What is refused before there is a request
     * that can be read has no app.
     */
    int (*on_problem)(rv_talk *talk, int status, const char *detail, void *ctx);
    void *ctx; /* of both callbacks */
} rv_app_options;

/* Makes an app; the server owns it. Copies the options. Before the start. NULL: no memory, or the server
   runs. Options that are wrong are named in rv_server_error_text, and make rv_server_run fail. */
RV_API rv_app *rv_app_new(rv_server *server, const rv_app_options *options);

/* Sets the options of an app anew, those of the default app for instance, which takes no mount and no hosts:
   it is for whatever the others leave. Before the start. RV_EINVAL: as of rv_app_new. */
RV_API rv_error rv_app_set(rv_app *app, const rv_app_options *options);

/* The app that a talk has come to, and its mount ("" for the root): what links begin with. */
RV_API rv_app *rv_app_of(const rv_talk *talk);
RV_API rv_bytes rv_mount(const rv_talk *talk);

/*
 * Adds a before-handler for `prefix` (below the app's mount) and the paths below it; NULL or "/": all of
 * them. Before-handlers run in the order they were added, where and when the route's handler would, and
 * see what it sees. One that answers, or fails, ends the matter. One that returns RV_OK without an
 * answer lets the talk go on to the next. One that returns RV_PENDING holds the talk: what it has left behind
 * for later (rv_resume, rv_after_ms) answers, or returns RV_OK without an answer, and the talk goes on
 * where it was. It should leave a streamed body alone. Requests that no handler is found for have none.
 * The prefix is compared with the decoded path, in which "//" counts as "/". Before the start.
 */
RV_API rv_error rv_before(rv_app *app, const char *prefix, rv_handler handler, void *ctx);

/*
 * Adds an after-handler, for a prefix as rv_before has it. After-handlers run when a response has its
 * status and its fields and the head is about to leave: of a whole answer, when it is given; of a streamed
 * one, at its first write, or at its end without one. They may read rv_response_status, and set, add and
 * remove fields (not Content-Length: RV_ESTATE) and cookies; what answers or writes is RV_ESTATE to them.
 * They return RV_OK; anything else is told to on_error, and the response leaves all the same.
 *
 * All responses of the app have them, those of before-handlers and of the library too: 404, 405, 413, 500,
 * redirects, 304. What is answered before an app is found (a target that is none, 417) is the default
 * app's, and what cannot be read has none. They run in the reverse of the order they were added, so that
 * the first is around all others, on the thread where the answer is given: a pool thread, or the worker,
 * also for routes of the pool, so that none may block. When an answer cannot be given after all, and a 500
 * is, they run for that as well. Before the start.
 */
RV_API rv_error rv_after(rv_app *app, const char *prefix, rv_handler handler, void *ctx);

/* Leaves the talk to another handler: what that returns is to be returned. RV_ESTATE: it is answered
   already, or its response has begun; RV_EINVAL: no handler. */
RV_API int rv_delegate(rv_talk *talk, rv_handler handler, void *ctx);

/* ---- 5 bodies in ------------------------------------------------------------------------------- */

/* The whole body of a RV_BODY_WHOLE route; empty when the request has none. */
RV_API rv_bytes rv_body(const rv_talk *talk);

/* A part of a whole body of type multipart/form-data. */
typedef struct rv_form_part {
    rv_bytes name;
    rv_bytes filename;     /* what the client calls the file; absent: it is none. Never a path */
    rv_bytes content_type; /* absent: not said */
    rv_bytes content;
} rv_form_part;

/* The part at `index`, in order: files and fields. False behind the last one, and when there is no such form,
   or one that rv_form_check refuses. For what is too large to be held: rv_on_parts. */
RV_API bool rv_form_part_at(rv_talk *talk, size_t index, rv_form_part *part);

/*
 * A piece of a streamed body, valid during the call. `last` is true exactly once, with the last
 * piece, which may be empty. Returns RV_OK: go on; RV_FULL: the piece is taken, then pause until
 * rv_body_resume; a negative rv_error: as of a handler. With the last piece the result is that of a
 * handler: RV_OK for an answered talk, RV_PENDING for one that is answered later. May answer the talk
 * at any time; what is left of the body is then dropped.
 */
typedef int (*rv_body_fn)(rv_talk *talk, rv_bytes piece, bool last, void *ctx);

/* Starts the streamed body (and sends 100 Continue if it was expected). The handler then returns
   RV_PENDING. RV_ESTATE: not a streamed route, started already, or answered. */
RV_API rv_error rv_on_body(rv_talk *talk, rv_body_fn piece, void *ctx);

/* Lets a body go on that a piece function has paused with RV_FULL. */
RV_API rv_error rv_body_resume(rv_talk *talk);

/* A part of a multipart/form-data body (RFC 7578). Its views live until the part is closed or aborted. */
typedef struct rv_part rv_part;

RV_API rv_bytes rv_part_name(const rv_part *part); /* of the form's field; perhaps empty */
/* What the client calls the file, decoded; absent: it is no file. Never a path to trust. */
RV_API rv_bytes rv_part_filename(const rv_part *part);
RV_API rv_bytes rv_part_content_type(const rv_part *part); /* absent: not said: text/plain */

/* A field of the part's head, name in any case; and all of them in order, false behind the last. */
RV_API rv_bytes rv_part_header(const rv_part *part, const char *name);
RV_API bool rv_part_header_at(const rv_part *part, size_t index, rv_bytes *name, rv_bytes *value);

/*
 * What takes a form part by part, in any amount of data and bounded memory. `open`, `data` and `close`
 * return RV_OK to go on, RV_FULL to pause until rv_body_resume (nothing more is told before), or a
 * negative rv_error to refuse the whole request, which is then answered, unless the function has: 400 for
 * RV_EINVAL and RV_EPROTO, 403 for RV_EPERM, 413 for RV_ELIMIT; any other is a failure, as of a handler.
 * Each may answer the talk, which ends the form.
 *
 * Whatever happens, each part that `open` did not refuse is closed or aborted, and the form is done or
 * aborted, exactly once; there is one part at a time.
 */
typedef struct rv_parts {
    int (*open)(rv_talk *talk, const rv_part *part, void *ctx);
    int (*data)(rv_talk *talk, rv_bytes octets, void *ctx); /* never empty; valid during the call */
    int (*close)(rv_talk *talk, void *ctx);                 /* may be NULL */
    /* All parts were there: returns as a handler does. */
    int (*done)(rv_talk *talk, void *ctx);
    /* There will be no more; may be NULL. `part` is the one that was open; NULL: none was. `reason`:
       RV_EGONE: the client has left; RV_EPROTO: the form is malformed, or ends too early; RV_ELIMIT: a
       limit; RV_ETIMEOUT: it came too slowly; RV_ESTATE: the talk was answered before the end; otherwise
       what a function has returned. The talk cannot be answered from here. */
    void (*abort)(const rv_part *part, rv_error reason, void *ctx);
    uint32_t parts_max;           /* 0: 1000; beyond: 413 (body_too_large) */
    uint32_t part_head_bytes_max; /* fields of one part; 0: 4096; beyond: 413 (body_too_large) */
    uint64_t part_bytes_max; /* content of one part; 0: no limit; beyond: 413 (body_too_large) */
} rv_parts;

/*
 * Takes the streamed body as a form; what returns from here is what the handler returns. Copies
 * `acceptor`. RV_PENDING: the functions will be called. RV_OK: the body is no form, and the talk is
 * answered: 415, also when it has a Content-Encoding, or 400 when its boundary is missing or malformed
 * (requests_malformed); no function is called. Otherwise an error, as of rv_on_body; RV_EINVAL: `open`, `data` or `done` is missing. The whole
 * form is bounded by the route's body_bytes_max.
 */
RV_API int rv_on_parts(rv_talk *talk, const rv_parts *acceptor, void *ctx);

/* A part that rv_upload has taken, or the body that rv_upload_body has. The views live during the call of
   `done`. */
typedef struct rv_uploaded {
    rv_bytes name;         /* of the form's field; absent: it is no form */
    rv_bytes filename;     /* what the client calls the file; absent: it is none */
    rv_bytes content_type; /* absent: not said */
    rv_bytes value;        /* of a part that is no file; absent for files */
    const char *file;      /* its name in the directory; NULL: it is no file */
    bool replaced;         /* true: a file had that name before */
    uint64_t bytes;
    char sha256[65]; /* in hexadecimal; "" when it was not asked for */
    char etag[64];   /* of a file: what rv_files and rv_file will say of it; else "" */
} rv_uploaded;

typedef struct rv_upload_options {
    const char *directory; /* that files go to; it must exist */
    /* Decides what a file is called in the directory: writes one name, no path, of at most `size` octets
       with its NUL, to `name`. A negative error refuses the request, as of rv_parts; what is no name is
       RV_EINVAL. NULL: random names. Never hand on what the client says without a check. */
    int (*name)(rv_talk *talk, const rv_part *part, char *name, size_t size, void *ctx);
    /* More has come: so many octets of content in all. What is expected is rv_content_length, of forms
       with all that is around the parts. May be NULL; may not answer. */
    void (*progress)(rv_talk *talk, uint64_t octets, void *ctx);
    /* Everything is there, all files under their names: returns as a handler does. `talk` is NULL when the
       client has left after its last octet. */
    int (*done)(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx);
    /* It was not done, and no file of it is left. `reason` is as of rv_parts, or RV_EIO: the disk.
       May be NULL. Either this or `done` is called, once. */
    void (*abort)(rv_error reason, void *ctx);
    uint64_t file_bytes_max; /* of one part; 0: no limit; beyond: 413 (body_too_large) */
    uint32_t parts_max;      /* 0: 100; beyond: 413 (body_too_large) */
    /* True: a file of the same name is replaced, at once, by a new file; by default the answer is 409. */
    bool replace;
    bool
        sha256; /* true: a digest of each file, taken while it is written; needs a library with TLS */
    bool sync; /* true: files are on the disk, as far as fsync(2) knows, before `done` */
} rv_upload_options;

/*
 * Takes the streamed body as a form whose files are written to a directory; what returns from here is what
 * the handler returns. Copies the options. Pool threads write, a few hundred KiB at a time, while the next
 * are gathered; a client that sends faster than the disk takes is paused. Until the form is complete, files
 * have temporary names (".upload-..."); if it does not get that far they are removed. Parts that are no files
 * may hold 64 KiB together; beyond: 413. A full disk is answered with 507, other failures of it with 500.
 * Errors are those of rv_on_parts; RV_EINVAL also: no `directory`, no `done`, or `sha256` without TLS.
 */
RV_API int rv_upload(rv_talk *talk, const rv_upload_options *options, void *ctx);

/*
 * The same for a body that is itself the file, of any type: what PUT sends. `name` is what it is called in
 * the directory, copied; absent: a random name. `done` has it as its one part, with the Content-Type of the
 * request; 201 is the right answer when nothing was `replaced`, 200 or 204 when something was. A body of no
 * octets is an empty file. RV_OK also when the talk is answered from the head alone: 400 when `name` is none
 * (a path, "..", more than 255 octets) or there is a Content-Range, since a part cannot be put in its
 * place; 412 when the file of that name is not what If-Match, If-None-Match or If-Unmodified-Since expect (or,
 * later, is not any more); 413 when it will be too long; 415 when it has a Content-Encoding, which would
 * be lost.
 */
RV_API int rv_upload_body(rv_talk *talk, rv_bytes name, const rv_upload_options *options,
                          void *ctx);

/* ---- 6 bodies out, streamed --------------------------------------------------------------------- */

/*
 * Begins a streamed response; the head leaves with the first write. With a Content-Length field of
 * its own the body is sent as it is and must have that length; otherwise it is chunked for HTTP/1.1
 * and ended by closing for HTTP/1.0. The app may have it otherwise: collected, chunked in any case,
 * compressed (rv_framing, rv_compress_options).
 */
RV_API rv_error rv_begin(rv_talk *talk, int status);

/*
 * Writes a piece; copies what the kernel does not take at once. RV_OK; RV_FULL: taken, but
 * output_high_bytes are queued: wait for on_drain (on a pool thread rv_write itself waits instead);
 * RV_EGONE: the client has left; RV_ELIMIT: more than the Content-Length, nothing taken.
 */
RV_API int rv_write(rv_talk *talk, rv_bytes piece);

/* The same without a copy: `piece` stays as it is until `release(ctx)`, once, on the worker. */
RV_API int rv_write_borrowed(rv_talk *talk, rv_bytes piece, void (*release)(void *ctx), void *ctx);

/* Calls `drained(talk, ctx)`, once, when the queued output is under output_low_bytes. It may write,
   end, or ask again, and returns as a handler does. The handler returns RV_PENDING. */
RV_API rv_error rv_on_drain(rv_talk *talk, rv_handler drained, void *ctx);

/* A field of the trailer section of a chunked response; ignored for other framings. */
RV_API rv_error rv_set_trailer(rv_talk *talk, const char *name, const char *value);

/* Ends the response. Fewer octets than the Content-Length cut the connection (RV_ESTATE). */
RV_API rv_error rv_end(rv_talk *talk);

/* Calls `gone(ctx)`, once, on the worker, when the talk ends without the program's doing: the client has
   left, or its body was refused. The talk is then no more. Not called when the program has answered.
   A client that has only half-closed (a FIN and nothing else) still waits for its answer: that it has
   left altogether shows when something is written, or at its reset. */
RV_API rv_error rv_on_gone(rv_talk *talk, void (*gone)(void *ctx), void *ctx);

/* ---- 7 where a handler runs --------------------------------------------------------------------- */

/* Names a talk from anywhere, for any time: never dangles. The value 0 names none. */
typedef struct rv_handle {
    uint64_t id;
} rv_handle;

/* The name of this talk, for rv_resume. The handler then returns RV_PENDING. */
RV_API rv_handle rv_suspend(rv_talk *talk);

/*
 * Runs `then(talk, value)` on the talk's worker. Any thread. RV_OK: `then` will be called exactly
 * once - with talk NULL when the client leaves before that, so that it can free `value` (every verb
 * returns RV_EGONE for a NULL talk). RV_EGONE: the talk is no more, `then` will not be called and
 * `value` is still the caller's. The server must exist as long as somebody may call this.
 */
RV_API rv_error rv_resume(rv_server *server, rv_handle handle, rv_handler then, void *value);

/* Runs `then(talk, ctx)` on the worker after `delay_ms`; one at a time for each talk. Not called when
   the client leaves before. The handler then returns RV_PENDING. */
RV_API rv_error rv_after_ms(rv_talk *talk, uint64_t delay_ms, rv_handler then, void *ctx);

/* The server that a talk belongs to. */
RV_API rv_server *rv_server_of(const rv_talk *talk);

/* ---- 8 sessions --------------------------------------------------------------------------------- */

/*
 * What an application remembers of a client from one request to the next: values of one type each, by
 * key. A session may be held by several talks at once, on several threads: every call below is safe on any
 * thread and sees and leaves one whole value. What must be read and written in one go - more than
 * rv_session_add_int does - goes between rv_session_lock and rv_session_unlock; a handler on a worker
 * keeps that short.
 */
typedef struct rv_session rv_session;

typedef enum rv_session_tracking {
    RV_SESSION_BY_COOKIE = 0,
    RV_SESSION_BY_URI /* path parameters: links are to carry rv_session_phrase */
} rv_session_tracking;

/*
 * Where sessions are kept between requests, if not in memory. Every function begins what its name says and
 * returns; it runs on the thread of the talk, and must not block. `load` answers with rv_session_answer, once,
 * at once or later, on any thread; the others are not waited for. What has changed is saved before the head of
 * the response leaves, and what has changed since when the talk is over. Names are 32 letters and digits.
 */
typedef struct rv_session_call rv_session_call;
typedef struct rv_session_store {
    void (*load)(void *ctx, rv_bytes id, rv_session_call *call);
    void (*save)(void *ctx, rv_session *session); /* a new one, or its values have changed */
    void (*remove)(void *ctx, rv_bytes id);
    void (*touch)(void *ctx, rv_bytes id); /* used, and not changed: it lasts longer */
    void (*sweep)(void *ctx); /* now and then, from a worker: what has expired may go */
    void *ctx;
} rv_session_store;

/* The answer to `load`. 0 and the session, which is rivulet's from then on, made by rv_session_restore and
   filled in; RV_ENOTFOUND: there is none of that name; another error fails the request, as of a handler. Any
   thread; also when the client has left, but before rv_server_free. */
RV_API void rv_session_answer(rv_session_call *call, rv_error error, rv_session *session);

/* An empty session of that name; NULL: no memory, or no such name can be. */
RV_API rv_session *rv_session_restore(rv_bytes id);

typedef struct rv_session_options {
    rv_session_tracking track;
    const char *name;    /* of the cookie, or of the path parameter; NULL: "sid" */
    uint64_t timeout_ms; /* from the last request (its beginning or its end); 0: 15 minutes */
    /* So many are kept in memory; 0: 100 000. Beyond, requests that would begin one get a 503
       (sessions_full). */
    uint64_t sessions_max;
    bool always; /* true: every request has a session; else those whose handler asks for one */
    /* Attributes of the cookie: zero is Path= the app's mount, SameSite=Lax, for as long as the browser runs,
       and Secure over TLS. HttpOnly is set unless scripts may read it. A max_age_s counts from when the
       session was begun or renewed. */
    rv_cookie_options cookie;
    bool cookie_for_scripts;
    /* Told when a session has expired, was ended, or the server is freed: its values are still there. Not
       of sessions in a store of the program's. Any thread. */
    void (*on_end)(rv_app *app, rv_session *session, void *ctx);
    void *ctx;
    const rv_session_store *store; /* NULL: in memory. Must outlive the server */
} rv_session_options;

/* Lets the handlers of an app have sessions; NULL: all options zero. Each app has its own. Before the start.
   RV_ESTATE: it has them already, or the server runs; RV_EINVAL: an option, named in the error text. */
RV_API rv_error rv_sessions(rv_app *app, const rv_session_options *options);

/*
 * The talk's session; one is begun if the request has none, and its name sent along: that must be before the
 * head leaves. Lives until the talk is answered. RV_ESTATE: the app has no sessions, or the head has left;
 * RV_EBUSY: there are sessions_max of them already; a handler that returns this lets the client get a 503. An
 * app's callbacks - resolve, on_problem - may ask as well; but of a store of the program's, which may have to be
 * waited for, they get RV_ESTATE.
 */
RV_API rv_error rv_session_of(rv_talk *talk, rv_session **session);

/* The same, if the request has one; else NULL, and none is begun. */
RV_API rv_session *rv_session_found(rv_talk *talk);

RV_API bool rv_session_is_new(const rv_talk *talk); /* it was begun by this talk */

/* Its name; lives as long as the session. While another thread might renew that, only between rv_session_lock
   and rv_session_unlock. */
RV_API rv_bytes rv_session_id(const rv_session *session);

/* ";sid=..." for links, with RV_SESSION_BY_URI and a session; else "". Lives as long as the talk. */
RV_API const char *rv_session_phrase(rv_talk *talk);

/*
 * A link or the target of a redirect as rv_session_phrase makes it: "/cart?x=1" becomes "/cart;sid=...?x=1".
 * References to other hosts, which are not to learn the name, and those without a path of their own ("?x=1")
 * stay as they are, and so do all when there is no phrase. Lives as long as the talk (and `reference`); NULL:
 * no memory.
 */
RV_API const char *rv_session_link(rv_talk *talk, const char *reference);

/* Gives the session another name, as is to be done when a user logs in: a name that somebody else might have
   planted is worth nothing then. Before the head leaves. */
RV_API rv_error rv_session_renew(rv_talk *talk);

/* Ends the session of a talk: it is forgotten, and the cookie as well if the head has not left. */
RV_API rv_error rv_session_end(rv_talk *talk);

/* Sets a value, whatever was there before. Copies key and octets. RV_EINVAL: no session, an empty key. */
RV_API rv_error rv_session_set_string(rv_session *session, const char *key, rv_bytes string);
RV_API rv_error rv_session_set_int(rv_session *session, const char *key, int64_t value);
RV_API rv_error rv_session_set_double(rv_session *session, const char *key, double value);
RV_API rv_error rv_session_set_bool(rv_session *session, const char *key, bool value);
/* Seconds since 1970. */
RV_API rv_error rv_session_set_time(rv_session *session, const char *key, int64_t seconds);
/* Anything: `destroy(pointer)` is called once, when the value is replaced or removed or the session is no
   more, on whatever thread that is; may be NULL. Not for stores outside of the process. On failure it is
   not called. */
RV_API rv_error rv_session_set_pointer(rv_session *session, const char *key, void *pointer,
                                       void (*destroy)(void *pointer));

/* The value, of exactly that type. RV_ENOTFOUND: there is none; RV_EINVAL: it has another type. `*value`
   is set only on success. */
RV_API rv_error rv_session_get_int(rv_session *session, const char *key, int64_t *value);
RV_API rv_error rv_session_get_double(rv_session *session, const char *key, double *value);
RV_API rv_error rv_session_get_bool(rv_session *session, const char *key, bool *value);
RV_API rv_error rv_session_get_time(rv_session *session, const char *key, int64_t *seconds);
RV_API rv_error rv_session_get_pointer(rv_session *session, const char *key, void **pointer);
/* A copy that lives as long as the talk, terminated. */
RV_API rv_error rv_session_get_string(rv_talk *talk, rv_session *session, const char *key,
                                      rv_bytes *string);

/* Adds to an integer, which is 0 when it is not there, in one go. `*sum`, which may be NULL, is what comes
   of it. RV_ELIMIT: it would overflow. */
RV_API rv_error rv_session_add_int(rv_session *session, const char *key, int64_t delta,
                                   int64_t *sum);

RV_API rv_error rv_session_remove(rv_session *session, const char *key); /* or RV_ENOTFOUND */

/* Removes all values but those of `keep`, keys up to a NULL; NULL: all. */
RV_API void rv_session_clear(rv_session *session, const char *const *keep);

/* How many values there are; and each key, in no order, until `visit` says false. It must not change the
   session. */
RV_API size_t rv_session_count(rv_session *session);
RV_API void rv_session_each(rv_session *session, bool (*visit)(const char *key, void *ctx),
                            void *ctx);

RV_API void rv_session_lock(rv_session *session);
RV_API void rv_session_unlock(rv_session *session);

/* ---- 9 files and assets ------------------------------------------------------------------------ */

typedef struct rv_files_options {
    /* Names that answer for a directory, in this order; NULL behind the last one. NULL: "index.html". */
    const char *const *indexes;
    bool
        listing; /* true: a directory without an index gets a page that lists it; else it is a 404 */
    bool hidden; /* true: names that begin with a dot are served and listed, too; else only
                       "/.well-known/" (RFC 8615) is */
    bool
        links_out; /* true: symbolic links are followed wherever they lead; else only those that stay
                       below the directory */
    bool no_precompressed;     /* true: "name.br", "name.zst" and "name.gz" are files like others */
    uint64_t revalidate_ms;    /* how long a file that was found is not looked at again; 0: 100 */
    const char *cache_control; /* the Cache-Control field of files; NULL: none */
} rv_files_options;

/*
 * Serves the files below `directory` to GET and HEAD, at the paths below `prefix` ("/" or "/static"), as
 * rv_file does: validators, conditions, ranges, sendfile. The target is decoded once, and what it names
 * is never outside of the directory. A directory is answered by its index, and redirected to (301) when
 * its slash is missing. Where a file has precompressed siblings, Accept-Encoding chooses (br before zstd
 * before gzip), and each has an entity tag of its own.
 *
 * Each worker keeps what it has opened (file_cache_hits, file_cache_misses) and looks again after
 * `revalidate_ms`. Replace files by renaming new ones over them: then every client gets one or the
 * other, whole. The directory itself may be replaced, too, or be a link that is turned.
 *
 * Copies the options. Before the start. RV_ENOTFOUND, RV_EPERM: the directory is not there, or cannot be
 * opened; RV_EINVAL: the prefix is no path; each makes rv_server_run fail, too.
 */
RV_API rv_error rv_files(rv_app *app, const char *prefix, const char *directory,
                         const rv_files_options *options);

/* A file that is part of the program. CMake's rivulet_embed(target folder) makes tables of them. */
typedef struct rv_asset {
    const char *path; /* below the prefix, without a slash at its beginning: "css/site.css" */
    const void *octets;
    size_t length;
    const char *content_type; /* NULL: by the extension of the path */
    const char *etag;         /* an entity tag with its quotes; NULL: made of the octets */
    int64_t modified_s;       /* seconds since 1970; 0: not known, no Last-Modified */
} rv_asset;

/*
 * Serves a table of assets below `prefix` as rv_files serves a folder: index.html, the redirect to the
 * slash, conditions, ranges, precompressed siblings ("site.css.br"). Does not copy: table and octets
 * must live, unchanged, as long as the server. Before the start. RV_EINVAL: the prefix, or the path of
 * an asset, is none, or two assets have the same; makes rv_server_run fail, too.
 */
RV_API rv_error rv_assets(rv_app *app, const char *prefix, const rv_asset *table, size_t count);

/* ---- 11 TLS ------------------------------------------------------------------------------------- */

/*
 * TLS 1.2 and 1.3. A server needs a certificate, and an address that speaks TLS; the rest has defaults:
 * forward secrecy and authenticated encryption only, session tickets, HTTP/2 for clients that ask for it
 * ("h2" of ALPN; see no_http2) and HTTP/1.1 for all others.
 * Renegotiation and compression are refused. A client that speaks HTTP in the clear on such an address
 * gets a 400 that says so (tls_plain_requests). Handshakes that fail are counted
 * (tls_handshakes_failed). A library that was built without TLS refuses all of this with RV_EINVAL.
 *
 * What configures is called before the start, and what is wrong makes rv_server_run fail, too.
 */

/* Adds an address that speaks TLS; the forms are those of rv_server_options.listen. "inherited" sockets
   speak TLS all or none. */
RV_API rv_error rv_listen_tls(rv_server *server, const char *address);

/* True when the address at `index` of rv_server_address speaks TLS. Any thread. */
RV_API bool rv_server_address_is_tls(const rv_server *server, size_t index);

typedef struct rv_tls_certificate_options {
    /* Asked for the password of an encrypted key, during the call (and rv_tls_reload): writes it to `text`, at most `size`
       octets, and returns its length; negative: there is none. NULL: encrypted keys are refused. */
    int (*password)(char *text, size_t size, void *ctx);
    void *ctx;
    /* An OCSP response about the certificate, in DER (RFC 6960), that clients who ask get with the
       handshake; NULL: none. It must be about this certificate, say that it is good, and be of today;
       keeping it so takes rv_tls_reload. */
    const char *ocsp_file;
} rv_tls_certificate_options;

/*
 * Adds a certificate. The files are PEM, and read at once: the certificate followed by its chain, each
 * by the one that issued it, and the private key, which may be in the same file. `options` may be NULL.
 * A client gets the first certificate that is for the name it asks for (SNI, RFC 6066 section 3; one
 * for "*.example.org" is for every name one label below), and the very first when there is none.
 * RV_EIO, RV_EPERM: a file cannot be read; RV_EINVAL: it is no PEM, the key is encrypted or of another
 * certificate, a certificate has expired or is not valid yet, or the chain is none. The error text
 * names the file and the reason.
 */
RV_API rv_error rv_tls_certificate(rv_server *server, const char *certificate_file,
                                   const char *key_file, const rv_tls_certificate_options *options);

/*
 * Makes a certificate in memory, valid for 30 days, for `name` (a host name or an address; NULL:
 * "localhost") and for localhost, 127.0.0.1 and ::1. Nobody vouches for it: it is for development.
 */
RV_API rv_error rv_tls_self_signed(rv_server *server, const char *name);

typedef enum rv_tls_version {
    RV_TLS_DEFAULT = 0, /* TLS 1.2 as the least, 1.3 as the most */
    RV_TLS_1_2 = 0x0303,
    RV_TLS_1_3 = 0x0304
} rv_tls_version;

typedef enum rv_tls_client_mode {
    RV_TLS_CLIENT_ANY = 0,  /* clients are not asked for a certificate */
    RV_TLS_CLIENT_OPTIONAL, /* they are; a wrong one ends the handshake, none does not */
    RV_TLS_CLIENT_REQUIRED
} rv_tls_client_mode;

typedef struct rv_tls_options {
    rv_tls_version version_min;
    rv_tls_version version_max;
    const char *ciphers; /* of TLS 1.2, in OpenSSL's words; NULL: "ECDHE+AESGCM:ECDHE+CHACHA20" */
    const char *cipher_suites; /* of TLS 1.3; NULL: OpenSSL's */
    const char *groups;        /* of the key exchange; NULL: "X25519:P-256:P-384" */
    rv_tls_client_mode client;
    const char *client_ca_file; /* PEM: who may vouch for clients; needed when they are asked */
    /* How far above a client's certificate that may be: 1: it has signed it itself, 2: with one authority
       between them. 0: 100. */
    unsigned client_depth_max;
    /* How long a ticket key seals session tickets; it opens them for as long again. All workers share
       it, and it never leaves the process. 0: 3600000, an hour; RV_NO_LIMIT: no tickets. */
    uint64_t ticket_key_ms;
    /* true: addresses that do not speak TLS answer every request with a permanent redirect (308) to the
       same host and target at the port of the first address that does; 443 when that is no TCP address.
       A request without a host gets a 400. */
    bool redirect;
    /* The Strict-Transport-Security field (RFC 6797) of every answer over TLS whose handler does not set
       its own, such as "max-age=31536000; includeSubDomains"; NULL: none. */
    const char *hsts;
} rv_tls_options;

/* Sets how TLS is spoken, on all addresses. Copies the options; the second call replaces the first.
   RV_EINVAL: something is out of range, or the file of `client_ca_file` cannot be used. A list that
   OpenSSL does not understand makes rv_server_run fail, with a text that quotes it. */
RV_API rv_error rv_tls_set(rv_server *server, const rv_tls_options *options);

/*
 * Reads the files of every certificate again, with the same checks, while the server runs: handshakes
 * that begin from now on use them, connections that are there stay as they are, and tickets stay good.
 * When one cannot be used nothing changes: the error is as of rv_tls_certificate, and `why` (of
 * `why_size` octets, may be NULL) gets its text. The password callbacks are called again. Any thread, one
 * at a time; may block, since it reads files. RV_ESTATE: the server does not run, or has no TLS.
 */
RV_API rv_error rv_tls_reload(rv_server *server, char *why, size_t why_size);

/* What was agreed on with the client of a talk. The texts live as long as the talk. */
typedef struct rv_tls_info {
    const char *version;        /* "TLSv1.3" */
    const char *cipher;         /* "TLS_AES_256_GCM_SHA384" */
    const char *server_name;    /* that the client asked for; "": none */
    const char *client_subject; /* of its certificate, as RFC 2253 writes it; NULL: it has none */
    bool resumed;               /* by a session ticket */
} rv_tls_info;

/* NULL: the talk did not come over TLS (or memory is short). */
RV_API const rv_tls_info *rv_tls(const rv_talk *talk);

/* ---- 12 counters -------------------------------------------------------------------------------- */

/* Every counter since the server was made; connections_open is a gauge. */
#define RV_COUNTERS(X)                                                                             \
    X(connections_accepted)                                                                        \
    X(connections_closed)                                                                          \
    X(connections_open)                                                                            \
    X(connections_handed_over)                                                                     \
    X(connections_recycled)                                                                        \
    X(connections_full)                                                                            \
    X(accept_pauses)                                                                               \
    X(requests)                                                                                    \
    X(responses_1xx)                                                                               \
    X(responses_2xx)                                                                               \
    X(responses_3xx)                                                                               \
    X(responses_4xx)                                                                               \
    X(responses_5xx)                                                                               \
    X(octets_received)                                                                             \
    X(octets_sent)                                                                                 \
    X(requests_malformed)                                                                          \
    X(target_too_long)                                                                             \
    X(head_too_large)                                                                              \
    X(head_fields_too_many)                                                                        \
    X(head_timeouts)                                                                               \
    X(body_too_large)                                                                              \
    X(body_too_slow)                                                                               \
    X(write_stalls)                                                                                \
    X(tls_handshakes)                                                                              \
    X(tls_handshakes_resumed)                                                                      \
    X(tls_handshakes_failed)                                                                       \
    X(tls_handshake_timeouts)                                                                      \
    X(tls_plain_requests)                                                                          \
    X(tls_message_floods)                                                                          \
    X(idle_timeouts)                                                                               \
    X(requests_per_connection_hits)                                                                \
    X(form_fields_too_many)                                                                        \
    X(pool_queue_full)                                                                             \
    X(sessions_full)                                                                               \
    X(file_cache_hits)                                                                             \
    X(file_cache_misses)                                                                           \
    X(clients_gone)                                                                                \
    X(handler_failures)                                                                            \
    X(stop_cuts)                                                                                   \
    X(h2_connections)                                                                              \
    X(h2_reset_floods)                                                                             \
    X(h2_continuation_floods)                                                                      \
    X(h2_settings_floods)                                                                          \
    X(h2_ping_floods)                                                                              \
    X(h2_priority_floods)                                                                          \
    X(h2_window_update_floods)                                                                     \
    X(h2_empty_data_floods)                                                                        \
    X(h2_small_data_floods)                                                                        \
    X(h2_unknown_floods)                                                                           \
    X(h2_window_stalls)

typedef struct rv_counter_values {
#define RV_COUNTER_FIELD(name) uint64_t name;
    RV_COUNTERS(RV_COUNTER_FIELD)
#undef RV_COUNTER_FIELD
} rv_counter_values;

/* Sums the counters of all workers. Any thread, also while the server runs. */
RV_API void rv_counters(const rv_server *server, rv_counter_values *values);

/* The same of one worker, 0 .. rv_server_workers - 1: shows how the load is split. */
RV_API rv_error rv_worker_counters(const rv_server *server, unsigned worker,
                                   rv_counter_values *values);

/* ---- 14 testing handlers without a port ---------------------------------------------------------- */

/*
 * A client of a server that has no sockets: the whole server runs in the calling thread, in memory,
 * on a clock that only rv_test_advance_ms moves. Pool handlers do run on pool threads; each call
 * waits for them. Several clients of one server may exist. A server is either tested or run; a test
 * ends with rv_server_free, which its clients must not outlive.
 */
typedef struct rv_test rv_test;

/* A new client, connected. NULL: no memory, or rv_server_error_text tells. */
RV_API rv_test *rv_test_new(rv_server *server);
RV_API void rv_test_free(rv_test *test);

/* Sends octets as one segment and runs the server until it has nothing more to do.
   RV_EGONE: the server has closed the connection. */
RV_API rv_error rv_test_send(rv_test *test, rv_bytes octets);

/* What the server has sent since the last call; lives until the next call of any rv_test function. */
RV_API rv_bytes rv_test_received(rv_test *test);

/* True when the server has closed its side (FIN or reset). */
RV_API bool rv_test_closed(const rv_test *test);

/* Half-closes (FIN), or resets, the client's side. */
RV_API rv_error rv_test_half_close(rv_test *test);
RV_API rv_error rv_test_reset(rv_test *test);

/* The client takes at most `octets` more until told otherwise; RV_NO_LIMIT (the default): all. */
RV_API void rv_test_window(rv_test *test, uint64_t octets);

/* Moves the clock on, in steps of the next timer, and runs what is due. All clients. */
RV_API void rv_test_advance_ms(rv_test *test, uint64_t ms);

/* Runs the server until it has nothing to do, e.g. after rv_resume from another thread. */
RV_API void rv_test_settle(rv_test *test);

#ifdef __cplusplus
}
#endif
#endif
