/*
 * Finding routes (route.h). Segments are compared after percent-decoding, so that an encoded slash never
 * splits one.
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
    const struct rv_route_node *node = *rv_route_exact_slot(table, path);
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
    if (node->dotted != NULL && find_dotted(search, node->dotted, segment, more, rest))
        return true;
    if (node->param != NULL && segment.len > 0 &&
        find_with(search, node->param, segment, more, rest))
        return true;
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
