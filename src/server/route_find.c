/*
 * Finding routes (route.h). Segments are compared after percent-decoding, so that an encoded slash never
 * splits one. What is demanded of the query is looked at last, where path and method are right.
 */
#include "http/uri.h"
#include "server/route_inner.h"
#include "server/route_segment.h"

static bool method_matches(const struct rv_route *route, enum rv_method method, rv_bytes text)
{
    if (route->any_method || route->handler == NULL || route->method != method)
        return false;
    return method != RV_METHOD_EXTENSION || rv_bytes_equal(route->method_text, text);
}

/* The route of a method among those of one path: its own, GET's for HEAD, "*". Nothing is demanded. */
static const struct rv_route *route_at(const struct rv_route_node *node, enum rv_method method,
                                       rv_bytes text)
{
    const struct rv_route *get = NULL, *any = NULL;
    for (const struct rv_route *route = node->routes; route != NULL; route = route->next) {
        if (method_matches(route, method, text))
            return route;
        if (route->handler == NULL)
            continue; /* what is kept of a refused one */
        if (route->any_method)
            any = route;
        else if (route->method == RV_METHOD_GET)
            get = route;
    }
    return method == RV_METHOD_HEAD && get != NULL ? get : any;
}

/* Does the query have what the route demands? Its values go to `params`. */
static bool is_open(const struct rv_route *route, rv_bytes query, rv_bytes *params)
{
    return route->handler != NULL &&
           (route->demands.count == 0 || rv_demands_met(&route->demands, query, params));
}

/* The same where something is demanded: the first of each that is open is the best, since those that
   demand more come before. */
static const struct rv_route *open_route_at(const struct rv_route_node *node,
                                            const struct rv_route_request *request,
                                            rv_bytes *params)
{
    const struct rv_route *get = NULL, *any = NULL;
    rv_bytes query = request->query, unused[RV_DEMANDS_MAX];
    for (const struct rv_route *route = node->routes; route != NULL; route = route->next) {
        bool is_own = method_matches(route, request->method, request->method_text);
        if (is_own && is_open(route, query, params))
            return route;
        if (is_own || !is_open(route, query, unused))
            continue;
        if (any == NULL && route->any_method)
            any = route;
        else if (get == NULL && route->method == RV_METHOD_GET && !route->any_method)
            get = route;
    }
    const struct rv_route *route = request->method == RV_METHOD_HEAD && get != NULL ? get : any;
    if (route != NULL)
        rv_demands_met(&route->demands, query, params);
    return route;
}

const struct rv_route *rv_route_find_exact(const struct rv_route_table *table,
                                           enum rv_method method, rv_bytes method_text,
                                           rv_bytes path)
{
    if (table->exact_size == 0)
        return NULL;
    const struct rv_route_node *node = *rv_route_exact_slot(table, path);
    return node == NULL || node->is_demanding ? NULL : route_at(node, method, method_text);
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

/* A path whose query is not what its routes demand is another resource, and none of theirs. */
static void allow_all_of(struct rv_route_match *match, const struct rv_route_node *node,
                         rv_bytes query)
{
    rv_bytes unused[RV_DEMANDS_MAX];
    for (const struct rv_route *route = node->routes; route != NULL; route = route->next) {
        if (!is_open(route, query, unused))
            continue;
        match->path_matched = true;
        allow(match, route->method_text);
        if (route->method == RV_METHOD_GET)
            allow(match, RV_LIT("HEAD"));
    }
}

struct search {
    const struct rv_route_request *request;
    unsigned param_count;
    struct rv_route_match *match;
};

static bool at_node(struct search *search, const struct rv_route_node *node)
{
    struct rv_route_match *match = search->match;
    const struct rv_route_request *request = search->request;
    match->route = node->is_demanding
                       ? open_route_at(node, request, match->params + search->param_count)
                       : route_at(node, request->method, request->method_text);
    if (match->route == NULL)
        allow_all_of(match, node, request->query);
    return match->route != NULL;
}

static bool segment_is(const struct search *search, rv_bytes segment, rv_bytes literal)
{
    return search->request->plain ? rv_bytes_equal(segment, literal)
                                  : rv_percent_equal(segment, literal);
}

static bool find(struct search *search, const struct rv_route_node *node, rv_bytes rest);

/* The segment has been matched by `node`. */
static bool find_below(struct search *search, const struct rv_route_node *node, bool more,
                       rv_bytes rest)
{
    return more ? find(search, node, rest) : at_node(search, node);
}

/* One parameter that the child takes, or two. */
static bool find_with(struct search *search, const struct rv_route_node *child, rv_bytes value,
                      bool more, rv_bytes rest)
{
    search->match->params[search->param_count++] = value;
    if (find_below(search, child, more, rest))
        return true;
    search->param_count--;
    return false;
}

static bool find_dotted(struct search *search, const struct rv_route_node *child, rv_bytes segment,
                        bool more, rv_bytes rest)
{
    rv_bytes name, extension;
    if (!rv_segment_part(segment, &name, &extension))
        return false;
    search->match->params[search->param_count++] = name;
    if (find_with(search, child, extension, more, rest))
        return true;
    search->param_count--;
    return false;
}

/* In the order of rv_segment_kind; a branch that leads nowhere is left again. The depth is bounded
   by that of the tree. */
static bool find(struct search *search, const struct rv_route_node *node, rv_bytes rest)
{
    rv_bytes all = rest, segment;
    bool more = rv_route_next_segment(&rest, &segment);
    for (const struct rv_route_node *child = node->literals; child != NULL; child = child->sibling)
        if (segment_is(search, segment, child->segment) && find_below(search, child, more, rest))
            return true;
    if (node->integer != NULL && rv_segment_is_int(segment) &&
        find_with(search, node->integer, segment, more, rest))
        return true;
    if (node->date != NULL && rv_segment_is_date(segment, false) &&
        find_with(search, node->date, segment, more, rest))
        return true;
    if (node->dotted != NULL && find_dotted(search, node->dotted, segment, more, rest))
        return true;
    if (node->param != NULL && segment.len > 0 &&
        find_with(search, node->param, segment, more, rest))
        return true;
    if (node->rest != NULL) {
        search->match->params[search->param_count++] = all;
        if (at_node(search, node->rest))
            return true;
        search->param_count--;
    }
    return false;
}

void rv_route_match_begin(struct rv_route_match *match)
{
    match->route = NULL;
    match->path_matched = false;
    match->allow_length = 0;
}

/* One look, however many routes there are. */
static bool find_exactly(struct search *search, const struct rv_route_table *table)
{
    if (!search->request->plain || table->exact_size == 0)
        return false;
    const struct rv_route_node *node = *rv_route_exact_slot(table, search->request->path);
    return node != NULL && at_node(search, node);
}

void rv_route_search(const struct rv_route_table *table, const struct rv_route_request *request,
                     struct rv_route_match *match)
{
    rv_bytes path = request->path;
    if (table->root == NULL || path.len == 0 || path.ptr[0] != '/')
        return;
    struct search search = {request, 0, match};
    if (!find_exactly(&search, table))
        find(&search, table->root, rv_slice(path.ptr + 1, path.len - 1));
}

void rv_route_match_end(struct rv_route_match *match)
{
    if (match->route == NULL && match->path_matched)
        allow(match, RV_LIT("OPTIONS"));
}

void rv_route_find(const struct rv_route_table *table, const struct rv_route_request *request,
                   struct rv_route_match *match)
{
    rv_route_match_begin(match);
    rv_route_search(table, request, match);
    rv_route_match_end(match);
}
