/*
 * The route table (route.h). Segments are compared after percent-decoding, so that an encoded slash
 * never splits one; the pattern itself is taken literally.
 */
#include "server/route.h"

#include "http/scan.h"
#include "http/uri.h"

#include <stdlib.h>

struct rv_route_node {
    rv_bytes segment; /* literal; in the text of the route that made the node */
    struct rv_route_node *sibling;
    struct rv_route_node *literals; /* children */
    struct rv_route_node *param;    /* child */
    struct rv_route_node *rest;     /* child; a leaf */
    struct rv_route *routes;        /* of the path that ends here */
    rv_bytes exact_path;            /* set when no parameter leads here and there are routes */
};

/* ---- building --------------------------------------------------------------------------------------- */

static void route_free(struct rv_route *route)
{
    if (route != NULL)
        free(route->text);
    free(route);
}

static void node_free(struct rv_route_node *node)
{
    if (node == NULL)
        return;
    for (struct rv_route_node *child = node->literals, *next; child != NULL; child = next) {
        next = child->sibling;
        node_free(child);
    }
    node_free(node->param);
    node_free(node->rest);
    for (struct rv_route *route = node->routes, *next; route != NULL; route = next) {
        next = route->next;
        route_free(route);
    }
    free(node);
}

void rv_route_table_free(struct rv_route_table *table)
{
    node_free(table->root);
    free(table->exact);
    memset(table, 0, sizeof *table);
}

/* FNV-1a: the keys are the program's own paths, so nobody can choose them to collide. */
static size_t hash_path(rv_bytes path)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.ptr[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

static struct rv_route_node **exact_slot(const struct rv_route_table *table, rv_bytes path)
{
    size_t mask = table->exact_size - 1;
    size_t at = hash_path(path) & mask;
    while (table->exact[at] != NULL && !rv_bytes_equal(table->exact[at]->exact_path, path))
        at = (at + 1) & mask;
    return &table->exact[at];
}

static rv_error exact_grow(struct rv_route_table *table)
{
    struct rv_route_table grown = *table;
    grown.exact_size = table->exact_size == 0 ? 16 : table->exact_size * 2;
    grown.exact = calloc(grown.exact_size, sizeof(void *));
    if (grown.exact == NULL)
        return RV_ENOMEM;
    for (size_t i = 0; i < table->exact_size; i++)
        if (table->exact[i] != NULL)
            *exact_slot(&grown, table->exact[i]->exact_path) = table->exact[i];
    free(table->exact);
    *table = grown;
    return 0;
}

static rv_error exact_add(struct rv_route_table *table, struct rv_route_node *node, rv_bytes path)
{
    if (node->exact_path.ptr != NULL)
        return 0;
    if ((table->exact_count + 1) * 2 > table->exact_size && exact_grow(table) != 0)
        return RV_ENOMEM;
    node->exact_path = path;
    *exact_slot(table, path) = node;
    table->exact_count++;
    return 0;
}

static struct rv_route_node *child_of(struct rv_route_node **place)
{
    if (*place == NULL)
        *place = calloc(1, sizeof **place);
    return *place;
}

static struct rv_route_node *literal_child(struct rv_route_node *node, rv_bytes segment)
{
    struct rv_route_node **place = &node->literals;
    while (*place != NULL && !rv_bytes_equal((*place)->segment, segment))
        place = &(*place)->sibling;
    struct rv_route_node *child = child_of(place);
    if (child != NULL)
        child->segment = segment;
    return child;
}

/* Takes the segment up to the next slash (or all) off the front of `*rest`; false: it was the last. */
static bool next_segment(rv_bytes *rest, rv_bytes *segment)
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

static bool ends_with(rv_bytes text, rv_bytes ending)
{
    return text.len >= ending.len &&
           memcmp(text.ptr + text.len - ending.len, ending.ptr, ending.len) == 0;
}

/* "{name}" or "{name...}": 1 or 2; 0: a literal; -1: malformed. */
static int segment_kind(rv_bytes segment, rv_bytes *name)
{
    bool opens = memchr(segment.ptr, '{', segment.len) != NULL;
    bool closes = memchr(segment.ptr, '}', segment.len) != NULL;
    if (!opens && !closes)
        return 0;
    if (segment.len < 3 || segment.ptr[0] != '{' || segment.ptr[segment.len - 1] != '}')
        return -1;
    *name = rv_slice(segment.ptr + 1, segment.len - 2);
    bool rest = ends_with(*name, RV_LIT("..."));
    if (rest)
        name->len -= 3;
    return rv_is_token(*name) ? (rest ? 2 : 1) : -1;
}

static bool has_param(const struct rv_route *route, rv_bytes name)
{
    for (unsigned i = 0; i < route->param_count; i++)
        if (rv_bytes_equal(route->param_names[i], name))
            return true;
    return false;
}

/* Walks (and makes) the nodes of a path. NULL with `*why`, or with NULL `*why` for lack of memory. */
static struct rv_route_node *walk(struct rv_route_node *node, rv_bytes path, struct rv_route *route,
                                  const char **why)
{
    rv_bytes rest = rv_slice(path.ptr + 1, path.len - 1);
    bool more = true;
    while (more && node != NULL) {
        rv_bytes segment, name;
        more = next_segment(&rest, &segment);
        int kind = segment_kind(segment, &name);
        if (kind < 0) {
            *why = "a parameter is a whole segment: {name}, or {name...} at the end";
            return NULL;
        }
        if (kind == 2 && more) {
            *why = "{name...} takes all that is left and must be the last segment";
            return NULL;
        }
        if (kind > 0 && (route->param_count == RV_ROUTE_PARAMS_MAX || has_param(route, name))) {
            *why = "at most 16 parameters, each with a name of its own";
            return NULL;
        }
        if (kind > 0)
            route->param_names[route->param_count++] = name;
        node = kind == 0   ? literal_child(node, segment)
               : kind == 1 ? child_of(&node->param)
                           : child_of(&node->rest);
    }
    return node;
}

static bool is_twin(const struct rv_route *a, const struct rv_route *b)
{
    return a->any_method == b->any_method && rv_bytes_equal(a->method_text, b->method_text);
}

static rv_error add(struct rv_route_table *table, struct rv_route *route, const char **why)
{
    rv_bytes text = rv_str(route->text);
    const char *space = memchr(text.ptr, ' ', text.len);
    *why = "a pattern is \"METHOD /path\"";
    if (space == NULL || space[1] != '/' || strchr(space + 1, ' ') != NULL)
        return RV_EINVAL;
    rv_bytes path = rv_slice(space + 1, text.len - (size_t)(space + 1 - text.ptr));
    route->method_text = rv_slice(text.ptr, (size_t)(space - text.ptr));
    if (!rv_is_token(route->method_text))
        return RV_EINVAL;
    *why = "a pattern has no query or fragment";
    if (memchr(path.ptr, '?', path.len) != NULL || memchr(path.ptr, '#', path.len) != NULL)
        return RV_EINVAL;
    route->any_method = rv_equals(route->method_text, "*");
    route->method = rv_method_of(route->method_text);
    *why = NULL;
    struct rv_route_node *node = child_of(&table->root);
    if (node != NULL)
        node = walk(node, path, route, why);
    if (node == NULL)
        return *why == NULL ? RV_ENOMEM : RV_EINVAL;
    for (struct rv_route *other = node->routes; other != NULL; other = other->next)
        if (is_twin(other, route)) {
            *why = "this method and path have a handler already";
            return RV_EINVAL;
        }
    if (route->param_count == 0 && exact_add(table, node, path) != 0)
        return RV_ENOMEM;
    struct rv_route **last = &node->routes;
    while (*last != NULL)
        last = &(*last)->next;
    *last = route;
    return 0;
}

/* A refused route may have made nodes whose segments lie in its text: the text must stay, so that it
   is kept as a route without handler at the root. */
static void keep_refused(struct rv_route_table *table, struct rv_route *route)
{
    if (table->root == NULL) {
        route_free(route);
        return;
    }
    route->handler = NULL;
    struct rv_route **last = &table->root->routes;
    while (*last != NULL)
        last = &(*last)->next;
    *last = route;
}

rv_error rv_route_add(struct rv_route_table *table, const char *pattern, rv_handler handler,
                      void *ctx, const rv_route_options *options, const char **why)
{
    struct rv_route *route = calloc(1, sizeof *route);
    if (route != NULL)
        route->text = strdup(pattern);
    if (route == NULL || route->text == NULL) {
        route_free(route);
        *why = "out of memory";
        return RV_ENOMEM;
    }
    route->handler = handler;
    route->ctx = ctx;
    if (options != NULL)
        route->options = *options;
    if (route->options.executor.submit != NULL)
        route->options.run = RV_ON_POOL;
    rv_error error = add(table, route, why);
    if (error != 0)
        keep_refused(table, route);
    if (error == RV_ENOMEM)
        *why = "out of memory";
    return error;
}

/* ---- finding ---------------------------------------------------------------------------------------- */

static bool method_matches(const struct rv_route *route, enum rv_method method, rv_bytes text)
{
    if (route->any_method || route->handler == NULL || route->method != method)
        return false;
    return method != RV_METHOD_EXTENSION || rv_bytes_equal(route->method_text, text);
}

/* The route of a method among those of one path: its own, GET's for HEAD, "*". */
static const struct rv_route *route_at(const struct rv_route_node *node, enum rv_method method,
                                       rv_bytes text)
{
    const struct rv_route *get = NULL, *any = NULL;
    for (const struct rv_route *route = node->routes; route != NULL; route = route->next) {
        if (method_matches(route, method, text))
            return route;
        if (route->any_method)
            any = route;
        else if (route->method == RV_METHOD_GET && route->handler != NULL)
            get = route;
    }
    return method == RV_METHOD_HEAD && get != NULL ? get : any;
}

const struct rv_route *rv_route_find_exact(const struct rv_route_table *table,
                                           enum rv_method method, rv_bytes method_text,
                                           rv_bytes path)
{
    if (table->exact_size == 0)
        return NULL;
    const struct rv_route_node *node = *exact_slot(table, path);
    return node == NULL ? NULL : route_at(node, method, method_text);
}

static void allow(struct rv_route_match *match, rv_bytes method)
{
    rv_bytes list = rv_slice(match->allow, match->allow_length), one;
    while (rv_bytes_next_element(&list, &one))
        if (rv_bytes_equal(one, method))
            return;
    size_t separator = match->allow_length > 0 ? 2 : 0;
    if (match->allow_length + separator + method.len > RV_ALLOW_BYTES_MAX)
        return;
    memcpy(match->allow + match->allow_length, ", ", separator);
    memcpy(match->allow + match->allow_length + separator, method.ptr, method.len);
    match->allow_length += separator + method.len;
}

static void allow_all_of(struct rv_route_match *match, const struct rv_route_node *node)
{
    for (const struct rv_route *route = node->routes; route != NULL; route = route->next) {
        if (route->handler == NULL)
            continue;
        match->path_matched = true;
        allow(match, route->method_text);
        if (route->method == RV_METHOD_GET)
            allow(match, RV_LIT("HEAD"));
    }
}

struct search {
    enum rv_method method;
    rv_bytes method_text;
    bool plain;
    unsigned param_count;
    struct rv_route_match *match;
};

static bool at_node(struct search *search, const struct rv_route_node *node)
{
    search->match->route = route_at(node, search->method, search->method_text);
    if (search->match->route == NULL)
        allow_all_of(search->match, node);
    return search->match->route != NULL;
}

static bool segment_is(const struct search *search, rv_bytes segment, rv_bytes literal)
{
    return search->plain ? rv_bytes_equal(segment, literal) : rv_percent_equal(segment, literal);
}

static bool find(struct search *search, const struct rv_route_node *node, rv_bytes rest);

/* The segment has been matched by `node`. */
static bool find_below(struct search *search, const struct rv_route_node *node, bool more,
                       rv_bytes rest)
{
    return more ? find(search, node, rest) : at_node(search, node);
}

/* Literal before parameter before rest; a branch that leads nowhere is left again. The depth is bounded
   by that of the tree. */
static bool find(struct search *search, const struct rv_route_node *node, rv_bytes rest)
{
    rv_bytes all = rest, segment;
    bool more = next_segment(&rest, &segment);
    for (const struct rv_route_node *child = node->literals; child != NULL; child = child->sibling)
        if (segment_is(search, segment, child->segment) && find_below(search, child, more, rest))
            return true;
    if (node->param != NULL && segment.len > 0) {
        search->match->params[search->param_count++] = segment;
        if (find_below(search, node->param, more, rest))
            return true;
        search->param_count--;
    }
    if (node->rest != NULL) {
        search->match->params[search->param_count] = all;
        return at_node(search, node->rest);
    }
    return false;
}

void rv_route_match_begin(struct rv_route_match *match)
{
    match->route = NULL;
    match->path_matched = false;
    match->allow_length = 0;
}

void rv_route_search(const struct rv_route_table *table, enum rv_method method,
                     rv_bytes method_text, rv_bytes path, bool plain, struct rv_route_match *match)
{
    if (table->root == NULL || path.len == 0 || path.ptr[0] != '/')
        return;
    struct search search = {method, method_text, plain, 0, match};
    find(&search, table->root, rv_slice(path.ptr + 1, path.len - 1));
}

void rv_route_match_end(struct rv_route_match *match)
{
    if (match->route == NULL && match->path_matched)
        allow(match, RV_LIT("OPTIONS"));
}

void rv_route_find(const struct rv_route_table *table, enum rv_method method, rv_bytes method_text,
                   rv_bytes path, bool plain, struct rv_route_match *match)
{
    rv_route_match_begin(match);
    rv_route_search(table, method, method_text, path, plain, match);
    rv_route_match_end(match);
}
