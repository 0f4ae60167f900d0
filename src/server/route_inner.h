/*
 * What the two halves of the route table share: its nodes, the look into the exact table, and how a path
 * is taken apart. For route.c and route_find.c alone.
 */
#ifndef RV_SERVER_ROUTE_INNER_H
#define RV_SERVER_ROUTE_INNER_H

#include "base/bytes.h"
#include "server/route.h"

struct rv_route_node {
    rv_bytes segment; /* literal; in the text of the route that made the node */
    struct rv_route_node *sibling;
    struct rv_route_node *literals; /* children */
    struct rv_route_node *integer;  /* child */
    struct rv_route_node *date;     /* child */
    struct rv_route_node *dotted;   /* child; takes two parameters */
    struct rv_route_node *param;    /* child */
    struct rv_route_node *rest;     /* child; a leaf */
    struct rv_route *routes;        /* of the path that ends here; those with more demands first */
    bool is_demanding;              /* some of them demand a query */
    rv_bytes exact_path;            /* set when no parameter leads here and there are routes */
};

/* FNV-1a: the keys are the program's own paths, so nobody can choose them to collide. */
static inline size_t rv_route_hash(rv_bytes path)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.ptr[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

static inline struct rv_route_node **rv_route_exact_slot(const struct rv_route_table *table,
                                                         rv_bytes path)
{
    size_t mask = table->exact_size - 1;
    size_t at = rv_route_hash(path) & mask;
    while (table->exact[at] != NULL && !rv_bytes_equal(table->exact[at]->exact_path, path))
        at = (at + 1) & mask;
    return &table->exact[at];
}

/* Takes the segment up to the next slash (or all) off the front of `*rest`; false: it was the last. */
static inline bool rv_route_next_segment(rv_bytes *rest, rv_bytes *segment)
{
    const char *slash = memchr(rest->ptr, '/', rest->len);
    if (slash == NULL) {
        *segment = *rest;
        *rest = rv_slice(rest->ptr + rest->len, 0);
        return false;
    }
    *segment = rv_slice(rest->ptr, (size_t)(slash - rest->ptr));
    *rest = rv_slice(slash + 1, rest->len - segment->len - 1);
    return true;
}

#endif
