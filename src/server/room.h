/*
 * A room: a tree of names that is served below a prefix, wherever its files are - in a folder (files.c)
 * or in the program (assets.c). What is common is here: from the target's path to a name, the redirect
 * to the slash, index files, precompressed siblings.
 */
#ifndef RV_SERVER_ROOM_H
#define RV_SERVER_ROOM_H

#include "server/file_cache.h"

struct rv_room;

/* What a room has under a name. */
struct rv_resource {
    enum rv_file_kind kind;
    const char *etag;         /* lives until the resource is dropped */
    const char *content_type; /* NULL: by the name */
    int64_t modified_s;
    const void *what; /* the room's */
};

struct rv_room_source {
    /* A plain path ("" is the root). A resource that is found is to be dropped. */
    rv_error (*find)(const struct rv_room *room, struct rv_talk *talk, const char *path,
                     struct rv_resource *resource);
    /* The content of a regular one: taken over by whoever gets it. */
    rv_error (*open)(const struct rv_resource *resource, struct rv_content *content);
    void (*drop)(const struct rv_resource *resource);
    /* Answers for a directory without an index; NULL: there are no listings. */
    int (*list)(const struct rv_room *room, struct rv_talk *talk, const char *path);
    void (*free)(struct rv_room *room);
};

struct rv_room {
    const struct rv_room_source *source;
    struct rv_room *next; /* of the server's */
    char **indexes;       /* owned, with their text; NULL behind the last one */
    char *cache_control;  /* owned; NULL: no such field */
    bool hidden;          /* names that begin with a dot are served, too */
    bool siblings;        /* "name.br" is the br coding of "name" */
};

/* Routes what is below the prefix to the room, which is the server's from now on, also when this fails.
   `what` names it in the error text. */
rv_error rv_room_add(rv_app *app, const char *prefix, struct rv_room *room, const char *what);

/* The names of a list that ends with NULL; NULL: "index.html". False: no memory. */
bool rv_room_set_indexes(struct rv_room *room, const char *const *names);

/* Frees what a room of any kind has. */
void rv_room_clear(struct rv_room *room);

/* Frees the rooms of a server. */
void rv_rooms_free(rv_server *server);

/* May this name be served? */
bool rv_room_shows(const struct rv_room *room, rv_bytes name);

#endif
