/*
 * Apps: sets of routes with what they have in common - where they are mounted, the hosts they answer
 * for, default fields, before- and after-handlers, an error page. Built before the server starts, then only read,
 * by all workers at once. The server owns them.
 */
#ifndef RV_SERVER_APP_H
#define RV_SERVER_APP_H

#include "server/route.h"

struct rv_session_tracker;
struct rv_shaping;
struct rv_talk;

/* Fields that responses have unless their handlers say otherwise. */
struct rv_default_fields {
    struct rv_default_field {
        rv_bytes name; /* both owned */
        rv_bytes value;
    } * fields; /* owned */
    size_t count;
};

/* Takes copies of a table of options. NULL, or what is wrong with it; RV_NO_MEMORY_TEXT. On failure
   `fields` holds nothing. */
#define RV_NO_MEMORY_TEXT "out of memory"
const char *rv_default_fields_copy(struct rv_default_fields *fields,
                                   const rv_default_header *headers);
void rv_default_fields_free(struct rv_default_fields *fields);

/* A before- or after-handler. */
struct rv_side_handler {
    char *prefix; /* owned; without a slash at its end: "" covers everything */
    rv_handler handler;
    void *ctx;
};

struct rv_side_handlers {
    struct rv_side_handler *list; /* owned */
    size_t count;
};

struct rv_app {
    rv_server *server;
    struct rv_route_table routes;
    char *mount; /* owned; without a slash at its end; NULL, as "": the root */
    char *hosts; /* owned; separated by spaces; NULL: every host */
    struct rv_default_fields defaults;
    rv_app_options options;              /* its callbacks and flags; pointers to text are void */
    struct rv_side_handlers befores;     /* in the order they run */
    struct rv_side_handlers afters;      /* the last one runs first */
    struct rv_shaping *shaping;          /* owned; NULL: content goes out as it is */
    struct rv_session_tracker *sessions; /* owned; NULL: its handlers have none */
};

/* Adds a before-handler of the library's own, in front of all. */
rv_error rv_app_add_first(struct rv_app *app, rv_handler handler, void *ctx);

/* Frees what an app holds, not the app itself. */
void rv_app_clear(struct rv_app *app);

/* Does the app answer for this host (with or without a port, may be absent)? */
bool rv_app_has_host(const struct rv_app *app, rv_bytes authority);

/* Is a path in the "raw" form of rv_path_normalise at or below the app's mount? Then `*below` is what
   is left of it: "/" at least. */
bool rv_app_covers(const struct rv_app *app, rv_bytes path, rv_bytes *below);

/* Is a decoded path at or below the prefix of a before- or after-handler? Empty segments do not count. */
bool rv_side_handler_covers(const struct rv_app *app, const struct rv_side_handler *handler,
                            rv_bytes path);

#endif
