/*
 * Sessions: what an application remembers of a client from one request to the next. A session is a live
 * object that several talks may hold at once, on several threads: it is counted, and every access takes
 * its lock. Where it is kept between requests is a store's business; what makes a request belong to it,
 * session_track.c's.
 */
#ifndef RV_SERVER_SESSION_H
#define RV_SERVER_SESSION_H

#include "base/bytes.h"

#include <pthread.h>
#include <stdatomic.h>

/* 160 random bits, five of them to a character. */
#define RV_SESSION_ID_BYTES 32

enum rv_session_kind {
    RV_SESSION_STRING,
    RV_SESSION_INT,
    RV_SESSION_DOUBLE,
    RV_SESSION_BOOL,
    RV_SESSION_TIME,
    RV_SESSION_POINTER
};

/* One value. */
struct rv_session_value {
    struct rv_session_value *next;
    union {
        int64_t integer; /* also of BOOL, and of TIME: seconds since 1970 */
        double number;
        uint64_t length; /* of STRING; its octets lie behind the key */
        struct {
            void *pointer;
            void (*destroy)(void *pointer);
        };
    };
    uint8_t kind; /* enum rv_session_kind */
    char key[];   /* terminated */
};

struct rv_session {
    struct rv_session *next;          /* store: in its bucket */
    struct rv_session *older, *newer; /* store: in the order in which they were last used */
    struct rv_session_value *values;  /* owned */
    uint64_t used_ms;                 /* store: when */
    pthread_mutex_t mutex;    /* guards `values` and `id`; recursive; taken before a store's */
    _Atomic uint32_t holders; /* the store is one; the last one frees it */
    _Atomic bool ended;       /* no store has it any more */
    _Atomic bool changed;     /* since it was last saved */
    char id[RV_SESSION_ID_BYTES];
};

/* A new session with one holder; NULL: no memory, or no random numbers. */
struct rv_session *rv_session_new(void);

struct rv_session *rv_session_hold(struct rv_session *session);
void rv_session_drop(struct rv_session *session);

/* A new name, not terminated. False: no random numbers. */
bool rv_session_make_name(char name[static RV_SESSION_ID_BYTES]);

/* Could this be the name of a session? */
bool rv_session_is_name(rv_bytes id);

#endif
