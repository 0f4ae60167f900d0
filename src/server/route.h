/*
 * Routes: which handler answers a method and a path. Built before the server starts, then only read,
 * by all workers at once.
 *
 * A tree of path segments, and beside it a hash table of the paths without parameters, which is all
 * that most requests ever touch. Owns the nodes and the routes. Routes of one path may demand something
 * of the query (route_query.h).
 */
#ifndef RV_SERVER_ROUTE_H
#define RV_SERVER_ROUTE_H

#include "http/method.h"
#include "server/route_query.h"

#define RV_ALLOW_BYTES_MAX 256

struct rv_route {
    struct rv_route *next; /* at the same node; it demands no more */
    enum rv_method method;
    bool any_method;      /* "*" */
    rv_bytes method_text; /* owned */
    rv_handler handler;
    void *ctx;
    rv_route_options options;
    struct rv_demands demands; /* on the query */
    unsigned param_count;
    unsigned path_param_count;                 /* the first of them; the others are of the query */
    rv_bytes param_names[RV_ROUTE_PARAMS_MAX]; /* in `text` */
    char *text;                                /* owned copy of the pattern */
};

struct rv_route_node;

struct rv_route_table {
    struct rv_route_node *root;
    struct rv_route_node **exact; /* open addressing, a power of two */
    size_t exact_size;
    size_t exact_count;
};

void rv_route_table_free(struct rv_route_table *table);

/* Adds a pattern. RV_EINVAL with a static `*why`, or RV_ENOMEM. `options` may be NULL. */
rv_error rv_route_add(struct rv_route_table *table, const char *pattern, rv_handler handler,
                      void *ctx, const rv_route_options *options, const char **why);

struct rv_route_match {
    const struct rv_route *route;         /* NULL: none */
    bool path_matched;                    /* some route has this path, with another method */
    rv_bytes params[RV_ROUTE_PARAMS_MAX]; /* still percent-encoded, parts of path and query */
    char allow[RV_ALLOW_BYTES_MAX]; /* the methods of that path, only when there is no route */
    size_t allow_length;
};

/* What a route is looked for by. */
struct rv_route_request {
    enum rv_method method;
    rv_bytes method_text;
    rv_bytes path;  /* in the "raw" form of rv_path_normalise */
    bool plain;     /* it has no percent-encoding */
    rv_bytes query; /* as sent; absent: there is none */
};

/* Finds the route of a request. HEAD falls back to GET. */
void rv_route_find(const struct rv_route_table *table, const struct rv_route_request *request,
                   struct rv_route_match *match);

/* The same of several tables, one after the other: only adds to `match`, which begins with
   rv_route_match_begin. When none of them has a route, rv_route_match_end completes `allow`. */
void rv_route_match_begin(struct rv_route_match *match);
void rv_route_search(const struct rv_route_table *table, const struct rv_route_request *request,
                     struct rv_route_match *match);
void rv_route_match_end(struct rv_route_match *match);

/* The quick answer for a plain path without parameters and demands; NULL: ask rv_route_find. */
const struct rv_route *rv_route_find_exact(const struct rv_route_table *table,
                                           enum rv_method method, rv_bytes method_text,
                                           rv_bytes path);

#endif
