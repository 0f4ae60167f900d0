/*
 * The server: what is configured before the start and shared, read-only, by the workers while it
 * runs; its listeners; and the workers themselves. It owns all of them. Requests never come here.
 */
#ifndef RV_SERVER_SERVER_H
#define RV_SERVER_SERVER_H

#include "io/address.h"
#include "server/app.h"

#include <pthread.h>
#include <stdatomic.h>

#define RV_ERROR_TEXT_MAX 512
#define RV_HTTPS_POLICY_MAX 128
#define RV_WORKERS_MAX 255 /* a handle has eight bits for the worker */

struct rv_loop;
struct rv_worker;
struct rv_pool;
struct rv_tls_settings;
struct rv_stop_port;
struct rv_room;

/* An address that was asked for, and while the server runs its sockets: one for each worker, or a
   single one that they share. */
struct rv_endpoint {
    char *wanted; /* owned */
    struct rv_address address;
    char text[RV_ADDRESS_TEXT_MAX]; /* what it is really bound to */
    int *descriptors;               /* owned; one, or one for each worker */
    unsigned descriptor_count;
    bool is_tls;
};

/* How clients are brought to TLS (https.h). */
struct rv_https {
    bool redirect;
    unsigned port; /* that redirects lead to */
    char *policy;  /* owned; the value of Strict-Transport-Security; NULL: none */
};

enum rv_server_phase {
    RV_SERVER_IDLE,
    RV_SERVER_CHANGING, /* starting or ending: no resume is taken */
    RV_SERVER_RUNNING,
    RV_SERVER_STOPPING,
    RV_SERVER_TESTED
};

struct rv_server {
    rv_server_options options; /* with the defaults filled in; server_name is owned */
    struct rv_app app;         /* the default app: asked last */
    struct rv_app **apps;      /* owned; the others, in the order in which they are asked */
    size_t app_count;
    bool asks_others; /* more has to be asked than the default app's routes */
    struct rv_default_fields defaults;
    struct rv_room *rooms;         /* owned */
    struct rv_endpoint *endpoints; /* those asked for, then those inherited */
    size_t endpoint_count;
    size_t endpoints_wanted;    /* without the inherited ones */
    bool inherit;               /* "inherited" was asked for ... */
    bool inherit_tls;           /* ... and speaks TLS */
    struct rv_worker **workers; /* made at the first start, and kept: a late rv_resume finds them */
    unsigned worker_count;
    struct rv_pool *pool;        /* during a run */
    struct rv_tls_settings *tls; /* owned; NULL: nothing about TLS was configured */
    struct rv_https https;
    unsigned backlog; /* in force */
    uint64_t connections_max;
    rv_error first_error; /* of configuring: the start fails with it */
    char error_text[RV_ERROR_TEXT_MAX];
    _Atomic int phase;
    _Atomic int stop_calls;
    _Atomic unsigned workers_started; /* threads */
    _Atomic unsigned workers_deaf;    /* that accept no more */
    _Atomic unsigned workers_ended;   /* whose loops turn no more */
    struct rv_stop_port *stop_port;   /* during a run, when there is one */
    int stop_event;                   /* eventfd that rv_server_stop writes to; -1: never run */
    pthread_mutex_t mutex;            /* guards `workers` and `worker_count` against rv_counters */
};

/* Records what went wrong in `server->error_text`, printf-like; returns `error`. */
rv_error rv_server_fail(rv_server *server, rv_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, of configuring: the start will fail with the first of these. */
rv_error rv_server_misconfigured(rv_server *server, rv_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies the options, fills in the defaults and checks the ranges. */
void rv_server_set_options(rv_server *server, const rv_server_options *options);

/* What the process may open, less what it has open and a reserve; or the option, if that is less. */
uint64_t rv_server_connections_max(const rv_server *server);

/* Opens every listener, `worker_count` sockets where each worker gets its own. On failure none stays
   open, and the error text names the address. */
rv_error rv_server_open_endpoints(rv_server *server);
void rv_server_close_endpoints(rv_server *server);

/* TLS (tls.c): whether what was configured fits together; a loop's context, if some address speaks TLS;
   and the end of the settings. */
rv_error rv_server_check_tls(rv_server *server);
rv_error rv_server_open_tls(rv_server *server, struct rv_loop *loop);
void rv_server_close_tls(struct rv_loop *loop);
void rv_server_free_tls(rv_server *server);

/* Adds an address to listen on. */
rv_error rv_server_add_endpoint(rv_server *server, const char *address, bool is_tls);

/* Makes the workers, without threads, unless they are there. */
struct rv_backend;
rv_error rv_server_make_workers(rv_server *server, unsigned count,
                                const struct rv_backend *backend);

/* The beginning and the end of a run, as far as threads of workers are not concerned: the workers'
   listeners, the pool. */
rv_error rv_server_begin(rv_server *server);
void rv_server_end(rv_server *server);

/* Installs and removes the handlers of SIGTERM and SIGINT (signals.c). */
void rv_signals_attach(rv_server *server);
void rv_signals_detach(rv_server *server);

/* A worker has something to tell the thread that runs the server. */
void rv_server_notify(rv_server *server);

/* Frees what a test of the server has made (test.c's half of rv_server_free). */
void rv_server_end_test(rv_server *server);

/* Tells the hooks. */
void rv_server_report(rv_server *server, rv_error error, const char *doing, const char *peer,
                      const char *detail);
void rv_server_log(rv_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
