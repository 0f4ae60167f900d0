/*
 * Building the route table (route.h): patterns become paths through the tree, and those without
 * parameters an entry of the exact table. The pattern itself is taken literally.
 */
#include "server/route_inner.h"

#include "http/scan.h"
#include "server/route_segment.h"

#include <stdlib.h>

#define PARAMS_FAULT "at most 16 parameters, each with a name of its own"

/* ---- building --------------------------------------------------------------------------------------- */

static void route_free(struct rv_route *route)
{
    if (route != NULL) {
        free(route->demands.list);
        free(route->text);
    }
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
    node_free(node->integer);
    node_free(node->date);
    node_free(node->dotted);
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

static rv_error exact_grow(struct rv_route_table *table)
{
    struct rv_route_table grown = *table;
    grown.exact_size = table->exact_size == 0 ? 16 : table->exact_size * 2;
    grown.exact = calloc(grown.exact_size, sizeof(void *));
    if (grown.exact == NULL)
        return RV_ENOMEM;
    for (size_t i = 0; i < table->exact_size; i++)
        if (table->exact[i] != NULL)
            *rv_route_exact_slot(&grown, table->exact[i]->exact_path) = table->exact[i];
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
    *rv_route_exact_slot(table, path) = node;
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

static bool has_param(const struct rv_route *route, rv_bytes name)
{
    for (unsigned i = 0; i < route->param_count; i++)
        if (rv_bytes_equal(route->param_names[i], name))
            return true;
    return false;
}

/* The node that a segment leads to. NULL: no memory. */
static struct rv_route_node *child_for(struct rv_route_node *node, enum rv_segment_kind kind,
                                       rv_bytes segment)
{
    switch (kind) {
    case RV_SEGMENT_INT:
        return child_of(&node->integer);
    case RV_SEGMENT_DATE:
        return child_of(&node->date);
    case RV_SEGMENT_DOTTED:
        return child_of(&node->dotted);
    case RV_SEGMENT_PARAM:
        return child_of(&node->param);
    case RV_SEGMENT_REST:
        return child_of(&node->rest);
    default:
        return literal_child(node, segment);
    }
}

static const char *add_names(struct rv_route *route, const rv_bytes *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (route->param_count == RV_ROUTE_PARAMS_MAX || has_param(route, names[i]))
            return PARAMS_FAULT;
        route->param_names[route->param_count++] = names[i];
    }
    return NULL;
}

/* Walks (and makes) the nodes of a path. NULL with `*why`, or with NULL `*why` for lack of memory. */
static struct rv_route_node *walk(struct rv_route_node *node, rv_bytes path, struct rv_route *route,
                                  const char **why)
{
    rv_bytes rest = rv_slice(path.ptr + 1, path.len - 1);
    bool more = true;
    while (more && node != NULL) {
        rv_bytes segment, names[RV_SEGMENT_NAMES_MAX];
        unsigned count;
        more = rv_route_next_segment(&rest, &segment);
        enum rv_segment_kind kind = rv_segment_parse(segment, names, &count);
        if (kind == RV_SEGMENT_MALFORMED)
            *why = "a parameter is a whole segment: {name}, {name:int}, {name:date}, {name}.{ext}, "
                   "or {name...} at the end";
        else if (kind == RV_SEGMENT_REST && more)
            *why = "{name...} takes all that is left and must be the last segment";
        else
            *why = add_names(route, names, count);
        if (*why != NULL)
            return NULL;
        node = child_for(node, kind, segment);
    }
    return node;
}

/* The values of a query that are parameters under another name. One of the same name needs no place: it
   is a parameter anyway. */
static const char *add_query_names(struct rv_route *route)
{
    const struct rv_demands *demands = &route->demands;
    for (unsigned i = 0; i < demands->count; i++) {
        rv_bytes name = demands->list[i].param;
        if (name.ptr == NULL)
            continue;
        bool is_taken = has_param(route, name);
        for (unsigned j = 0; j < i && !is_taken; j++)
            is_taken = rv_bytes_equal(demands->list[j].param, name);
        if (is_taken || route->param_count == RV_ROUTE_PARAMS_MAX)
            return PARAMS_FAULT;
        if (rv_demand_is_captured(&demands->list[i]))
            route->param_names[route->param_count++] = name;
    }
    return NULL;
}

static const char *twin_fault(const struct rv_route_node *node, const struct rv_route *route)
{
    for (const struct rv_route *other = node->routes; other != NULL; other = other->next)
        if (other->handler != NULL && other->any_method == route->any_method &&
            rv_bytes_equal(other->method_text, route->method_text) &&
            rv_demands_equal(&other->demands, &route->demands))
            return route->demands.count == 0 ? "this method and path have a handler already"
                                             : "this method, path and query have a handler already";
    return NULL;
}

/* Behind all that demand as much or more. */
static void insert(struct rv_route_node *node, struct rv_route *route)
{
    struct rv_route **place = &node->routes;
    while (*place != NULL && (*place)->demands.rank >= route->demands.rank)
        place = &(*place)->next;
    route->next = *place;
    *place = route;
    node->is_demanding = node->is_demanding || route->demands.count > 0;
}

/* Method, path and query of the pattern; `*path` and `*query` are parts of the route's text. */
static const char *take_apart(struct rv_route *route, rv_bytes *path, char **query)
{
    char *space = strchr(route->text, ' ');
    if (space == NULL || space[1] != '/' || strchr(space + 1, ' ') != NULL)
        return "a pattern is \"METHOD /path\"";
    route->method_text = rv_slice(route->text, (size_t)(space - route->text));
    if (!rv_is_token(route->method_text))
        return "a pattern is \"METHOD /path\"";
    *path = rv_str(space + 1);
    char *mark = strchr(space + 1, '?');
    *query = mark == NULL ? NULL : mark + 1;
    if (mark != NULL)
        path->len = (size_t)(mark - path->ptr);
    if (memchr(path->ptr, ';', path->len) != NULL || strchr(path->ptr, '#') != NULL)
        return "a pattern has no fragment or path parameters: none of # ;";
    return NULL;
}

static rv_error add(struct rv_route_table *table, struct rv_route *route, const char **why)
{
    rv_bytes path;
    char *query;
    *why = take_apart(route, &path, &query);
    if (*why != NULL)
        return RV_EINVAL;
    route->any_method = rv_equals(route->method_text, "*");
    route->method = rv_method_of(route->method_text);
    if (query != NULL && rv_demands_parse(&route->demands, query, why) != 0)
        return *why == NULL ? RV_ENOMEM : RV_EINVAL;
    struct rv_route_node *node = child_of(&table->root);
    if (node != NULL)
        node = walk(node, path, route, why);
    if (node == NULL)
        return *why == NULL ? RV_ENOMEM : RV_EINVAL;
    route->path_param_count = route->param_count;
    *why = add_query_names(route);
    if (*why == NULL)
        *why = twin_fault(node, route);
    if (*why != NULL)
        return RV_EINVAL;
    if (route->path_param_count == 0 && exact_add(table, node, path) != 0)
        return RV_ENOMEM;
    insert(node, route);
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
    route->demands.rank = 0;
    insert(table->root, route);
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
