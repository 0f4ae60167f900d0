/*
 * A server with real sockets, run by a thread of its own, and clients who call it over TCP. What the
 * hooks tell is written down. Every wait has a deadline, far behind what a loaded machine needs, so
 * that a fault is a failed test and never one that hangs. The serve_ and expect_ functions assert;
 * the others may be used by any thread.
 */
#ifndef RV_TESTS_SERVED_H
#define RV_TESTS_SERVED_H

#include "base/clock.h"
#include "support/answer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DEADLINE_MS 60000

/* Waits until the condition holds; false when it does not within the deadline. */
#define EVENTUALLY(condition)                                                                      \
    ({                                                                                             \
        uint64_t give_up_ms = rv_clock_monotonic_ms() + DEADLINE_MS;                               \
        bool holds;                                                                                \
        while (!(holds = (condition)) && rv_clock_monotonic_ms() < give_up_ms)                     \
            nap_ms(1);                                                                             \
        holds;                                                                                     \
    })

void nap_ms(unsigned ms);

/* ---- the server -------------------------------------------------------------------------------- */

struct served {
    rv_server *server; /* owned */
    pthread_t thread;
    bool started;          /* and not ended: there is a thread to be joined */
    uint16_t port;         /* of the first address, from the start on */
    atomic_uint starts;    /* how often the hooks were called */
    atomic_uint stops;     /* … */
    atomic_uint errors;    /* … */
    atomic_bool returned;  /* the last rv_server_run has */
    rv_error result;       /* of it, when it has */
    rv_error error;        /* what on_error was told last */
    char error_doing[128]; /* … */
    char error_peer[64];   /* … */
};

/* Makes the server; it listens on 127.0.0.1:0 unless the options say otherwise. The hooks are ours. */
void serve_make(struct served *served, rv_server_options options);

void serve_route(struct served *served, const char *pattern, rv_handler handler, void *ctx,
                 rv_route_options options);

/* Runs it; returns when on_start has been called. */
void serve_start(struct served *served);

/* Runs it where it should fail, and returns the error; one that starts is stopped again, 0. */
rv_error serve_try(struct served *served);

/* Waits until rv_server_run has returned; expects 0. Stops nothing. */
void serve_wait(struct served *served);

/* Stops it and waits. */
void serve_stop(struct served *served);

/* Ends and frees whatever there is; nothing is expected. */
void serve_free(struct served *served);

/* ---- handlers ---------------------------------------------------------------------------------- */

/* Answers with the parameter "number". */
int reply_number(rv_talk *talk, void *ctx);

/* Holds the talk until the test resumes it, or for ever. */
int hold(rv_talk *talk, void *ctx);

/* The talks that hold() holds or has held, in all servers of the process. */
struct held {
    pthread_mutex_t mutex;
    rv_handle handle; /* of the last one */
    atomic_uint count;
    atomic_uint gone; /* whose on_gone was called */
};
extern struct held held;
rv_handle held_handle(void);

/* ---- clients ----------------------------------------------------------------------------------- */

struct caller {
    int descriptor; /* -1: not connected */
    uint16_t own_port;
    bool ended; /* the server has closed its side */
    struct rv_buffer received;
    struct answer answer; /* the last one */
};

/* False: refused. */
bool caller_connect(struct caller *caller, uint16_t port);

bool caller_send(struct caller *caller, const char *octets);

/* Waits for the next answer, and returns its status; 0: the server has closed, or nothing came. */
int caller_take(struct caller *caller);

/* GET, and the answer's status. */
int caller_get(struct caller *caller, const char *path);

/* True when the server closes, or has closed, and has sent nothing (more) before. */
bool caller_sees_the_end(struct caller *caller);

/* True when nothing is there to be read now. */
bool caller_hears_nothing(const struct caller *caller);

void caller_close(struct caller *caller);
void caller_reset(struct caller *caller); /* the server notices, whatever it is doing */

/* Expects that a new client gets its answer; of a server with GET /number/{number} → reply_number. */
void expect_served(const struct served *served);

/* A new client whose request for GET /hold → hold is held; asserts, too. */
void expect_held(struct caller *caller, const struct served *served);

/* True when nobody listens on the port. */
bool is_refused(uint16_t port);

#endif
