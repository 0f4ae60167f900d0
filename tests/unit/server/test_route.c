/*
 * Facts about the route table: which patterns it takes, and which route answers a method and a path.
 * Each route's ctx is its own pattern, so that a test can say by name what it expects to be found.
 */
#include "server/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int unused(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_OK;
}

/* The pattern must outlive the table: it is the route's ctx. */
static rv_error add(struct rv_route_table *table, const char *pattern, const char **why)
{
    return rv_route_add(table, pattern, unused, (void *)(uintptr_t)pattern, NULL, why);
}

/* A table of the patterns up to the first NULL. */
static struct rv_route_table table_of(const char *const *patterns)
{
    struct rv_route_table table = {0};
    for (int i = 0; patterns[i] != NULL; i++) {
        const char *why;
        assert_int_equal(add(&table, patterns[i], &why), 0);
    }
    return table;
}

#define TABLE(...) table_of((const char *const[]){__VA_ARGS__, NULL})

static struct rv_route_match find(const struct rv_route_table *table, const char *method,
                                  const char *path)
{
    struct rv_route_match match;
    rv_bytes text = rv_str(method), raw = rv_str(path);
    bool plain = strchr(path, '%') == NULL;
    struct rv_route_request request = {
        .method = rv_method_of(text), .method_text = text, .path = raw, .plain = plain};
    rv_route_find(table, &request, &match);
    const struct rv_route *exact = rv_route_find_exact(table, rv_method_of(text), text, raw);
    /* The quick way may find nothing, but never something else. */
    if (plain && exact != NULL)
        assert_ptr_equal(exact, match.route);
    return match;
}

/* The pattern that answers; "404" or "405" when none does. */
static const char *answers(const struct rv_route_table *table, const char *method, const char *path)
{
    struct rv_route_match match = find(table, method, path);
    if (match.route != NULL)
        return match.route->ctx;
    return match.path_matched ? "405" : "404";
}

static void expect_param(const struct rv_route_match *match, unsigned index, const char *name,
                         const char *value)
{
    assert_true(index < match->route->param_count);
    assert_true(rv_equals(match->route->param_names[index], name));
    assert_true(rv_equals(match->params[index], value));
}

static void expect_allow(const struct rv_route_table *table, const char *method, const char *path,
                         const char *list)
{
    struct rv_route_match match = find(table, method, path);
    char allow[RV_ALLOW_BYTES_MAX + 1] = "";
    assert_null(match.route);
    memcpy(allow, match.allow, match.allow_length);
    allow[match.allow_length] = '\0';
    assert_string_equal(allow, list);
}

/* ---- patterns ---------------------------------------------------------------------------------- */

static void a_pattern_is_a_method_and_a_path(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "GET /",
        "GET /a/b",
        "PURGE /a",
        "* /a",
        "get /a",
        "M-SEARCH /a",
        "GET /a/",
        "GET /a//b",
        "GET //",
        "GET /{id}",
        "GET /a/{id}/b",
        "GET /{all...}",
        "GET /a/{rest...}",
        "GET /{a}/{b}/{c...}",
        "GET /%7Bplain%7D",
    };
    struct rv_route_table table = {0};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const char *why;
        assert_int_equal(add(&table, patterns[i], &why), 0);
    }
    rv_route_table_free(&table);
}

static void expect_refusal(const char *pattern, const char *reason)
{
    struct rv_route_table table = {0};
    const char *why = NULL;
    assert_int_equal(add(&table, pattern, &why), RV_EINVAL);
    assert_string_equal(why, reason);
    rv_route_table_free(&table);
}

static void a_pattern_without_a_method_or_a_rooted_path_is_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {"",        " ",        "GET",    "/a",
                                           "GET ",    "GET a",    " /a",    "GET  /a",
                                           "GET /a ", "GET /a b", "G(T /a", "GET,PUT /a"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        expect_refusal(patterns[i], "a pattern is \"METHOD /path\"");
}

static void a_pattern_with_path_parameters_or_a_fragment_is_refused(void **state)
{
    (void)state;
    expect_refusal("GET /a;b=c", "a pattern has no fragment or path parameters: none of # ;");
    expect_refusal("GET /a#b", "a pattern has no fragment or path parameters: none of # ;");
    expect_refusal("GET /a?b#c", "a pattern has no fragment or path parameters: none of # ;");
}

static void a_parameter_that_is_not_a_whole_segment_is_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {"GET /a{id}", "GET /{id}a", "GET /{a}{b}", "GET /{",
                                           "GET /}",     "GET /{}",    "GET /a}",     "GET /{...}",
                                           "GET /{a/b}", "GET /{a,b}", "GET /{{a}}"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        expect_refusal(patterns[i], "a parameter is a whole segment: {name}, {name:int}, "
                                    "{name:date}, {name}.{ext}, or {name...} at the end");
}

static void a_rest_that_is_not_the_last_segment_is_refused(void **state)
{
    (void)state;
    expect_refusal("GET /{rest...}/a",
                   "{name...} takes all that is left and must be the last segment");
    expect_refusal("GET /a/{rest...}/",
                   "{name...} takes all that is left and must be the last segment");
}

static void a_name_is_used_once_in_a_pattern(void **state)
{
    (void)state;
    expect_refusal("GET /{a}/{a}", "at most 16 parameters, each with a name of its own");
    expect_refusal("GET /{a}/b/{a...}", "at most 16 parameters, each with a name of its own");
}

/* "GET /{p0}/{p1}..." */
static void pattern_with_params(char *pattern, size_t size, int count)
{
    int used = snprintf(pattern, size, "GET ");
    for (int i = 0; i < count; i++)
        used += snprintf(pattern + used, size - (size_t)used, "/{p%d}", i);
}

static void sixteen_parameters_are_the_most(void **state)
{
    (void)state;
    char pattern[256];
    struct rv_route_table table = {0};
    const char *why;
    pattern_with_params(pattern, sizeof pattern, RV_ROUTE_PARAMS_MAX);
    assert_int_equal(add(&table, pattern, &why), 0);
    struct rv_route_match match = find(&table, "GET", "/0/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15");
    assert_non_null(match.route);
    expect_param(&match, 0, "p0", "0");
    expect_param(&match, 15, "p15", "15");
    rv_route_table_free(&table);

    pattern_with_params(pattern, sizeof pattern, RV_ROUTE_PARAMS_MAX + 1);
    expect_refusal(pattern, "at most 16 parameters, each with a name of its own");
}

static void the_same_method_and_path_twice_is_refused(void **state)
{
    (void)state;
    static const char *const twins[][2] = {{"GET /a", "GET /a"},
                                           {"* /a", "* /a"},
                                           {"PURGE /a", "PURGE /a"},
                                           {"GET /{a}", "GET /{b}"},
                                           {"GET /{a...}", "GET /{b...}"}};
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        struct rv_route_table table = TABLE(twins[i][0]);
        const char *why;
        assert_int_equal(add(&table, twins[i][1], &why), RV_EINVAL);
        assert_string_equal(why, "this method and path have a handler already");
        rv_route_table_free(&table);
    }
}

static void paths_that_only_look_alike_are_no_duplicates(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "GET /a/", "GET /A", "POST /a", "get /a", "* /a",
                                        "GET /{a}", "GET /{a...}");
    rv_route_table_free(&table);
}

static void a_refused_pattern_leaves_the_others_as_they_were(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a/b");
    char *pattern = strdup("GET /a/c/{x}{y}");
    const char *why;
    assert_int_equal(add(&table, pattern, &why), RV_EINVAL);
    free(pattern); /* the nodes that it made must not need it */
    assert_string_equal(answers(&table, "GET", "/a/b"), "GET /a/b");
    assert_string_equal(answers(&table, "GET", "/a/c"), "404");
    assert_string_equal(answers(&table, "GET", "/a/c/d"), "404");
    assert_string_equal(answers(&table, "GET", "/"), "404");
    assert_int_equal(add(&table, "GET /a/c", &why), 0);
    assert_string_equal(answers(&table, "GET", "/a/c"), "GET /a/c");
    rv_route_table_free(&table);
}

static void the_table_keeps_its_own_copy_of_a_pattern(void **state)
{
    (void)state;
    struct rv_route_table table = {0};
    const char *why;
    char pattern[] = "GET /users/{id}";
    assert_int_equal(add(&table, pattern, &why), 0);
    memset(pattern, 'x', sizeof pattern - 1);
    struct rv_route_match match = find(&table, "GET", "/users/7");
    assert_non_null(match.route);
    expect_param(&match, 0, "id", "7");
    rv_route_table_free(&table);
}

static void a_route_carries_its_handler_ctx_and_options(void **state)
{
    (void)state;
    struct rv_route_table table = {0};
    rv_route_options options = {.body = RV_BODY_STREAMED, .body_bytes_max = 7};
    const char *why;
    int ctx;
    assert_int_equal(rv_route_add(&table, "PUT /a", unused, &ctx, &options, &why), 0);
    const struct rv_route *route = find(&table, "PUT", "/a").route;
    assert_ptr_equal(route->handler, unused);
    assert_ptr_equal(route->ctx, &ctx);
    assert_int_equal(route->options.body, RV_BODY_STREAMED);
    assert_int_equal(route->options.body_bytes_max, 7);
    rv_route_table_free(&table);
}

/* ---- which path -------------------------------------------------------------------------------- */

static void an_empty_table_finds_nothing(void **state)
{
    (void)state;
    struct rv_route_table table = {0};
    assert_string_equal(answers(&table, "GET", "/"), "404");
}

static void a_path_that_does_not_begin_with_a_slash_is_not_found(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /{rest...}");
    assert_string_equal(answers(&table, "GET", ""), "404");
    assert_string_equal(answers(&table, "GET", "*"), "404");
    assert_string_equal(answers(&table, "GET", "a"), "404");
    rv_route_table_free(&table);
}

static void a_literal_goes_before_a_parameter_before_a_rest(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /{rest...}", "GET /{id}", "GET /new");
    assert_string_equal(answers(&table, "GET", "/new"), "GET /new");
    assert_string_equal(answers(&table, "GET", "/other"), "GET /{id}");
    assert_string_equal(answers(&table, "GET", "/new/deeper"), "GET /{rest...}");
    assert_string_equal(answers(&table, "GET", "/"), "GET /{rest...}");
    rv_route_table_free(&table);
}

static void precedence_is_decided_from_the_left(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /{x}/b/c", "GET /a/{y}/{z}");
    assert_string_equal(answers(&table, "GET", "/a/b/c"), "GET /a/{y}/{z}");
    assert_string_equal(answers(&table, "GET", "/o/b/c"), "GET /{x}/b/c");
    rv_route_table_free(&table);
}

static void a_branch_that_leads_nowhere_is_left_for_the_next_best(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /a/b/c", "GET /a/{x}/d", "GET /{y}/b/e", "GET /a/{rest...}", "GET /{all...}");
    assert_string_equal(answers(&table, "GET", "/a/b/c"), "GET /a/b/c");
    assert_string_equal(answers(&table, "GET", "/a/b/d"), "GET /a/{x}/d");
    assert_string_equal(answers(&table, "GET", "/a/b/e"), "GET /a/{rest...}");
    assert_string_equal(answers(&table, "GET", "/z/b/e"), "GET /{y}/b/e");
    assert_string_equal(answers(&table, "GET", "/z/b/f"), "GET /{all...}");
    rv_route_table_free(&table);
}

static void parameters_of_a_branch_that_was_left_are_forgotten(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /{x}/{y}/end", "GET /{all...}");
    struct rv_route_match match = find(&table, "GET", "/1/2/3");
    assert_non_null(match.route);
    expect_param(&match, 0, "all", "1/2/3");
    rv_route_table_free(&table);
}

static void a_parameter_takes_one_whole_segment_that_is_not_empty(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /users/{id}", "GET /{a}/x/{b}");
    struct rv_route_match match = find(&table, "GET", "/users/7");
    assert_non_null(match.route);
    expect_param(&match, 0, "id", "7");
    assert_string_equal(answers(&table, "GET", "/users/"), "404");
    assert_string_equal(answers(&table, "GET", "/users"), "404");
    assert_string_equal(answers(&table, "GET", "/users/7/8"), "404");
    assert_string_equal(answers(&table, "GET", "/users/7/"), "404");
    match = find(&table, "GET", "/1/x/2");
    assert_non_null(match.route);
    expect_param(&match, 0, "a", "1");
    expect_param(&match, 1, "b", "2");
    rv_route_table_free(&table);
}

static void a_rest_takes_all_that_is_left_be_it_nothing(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"/files/a", "a"},
                                           {"/files/a/b/c", "a/b/c"},
                                           {"/files/a//", "a//"},
                                           {"/files//", "/"},
                                           {"/files/", ""}};
    struct rv_route_table table = TABLE("GET /files/{path...}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rv_route_match match = find(&table, "GET", cases[i][0]);
        assert_non_null(match.route);
        expect_param(&match, 0, "path", cases[i][1]);
    }
    assert_string_equal(answers(&table, "GET", "/files"), "404");
    rv_route_table_free(&table);
}

static void an_empty_segment_is_a_segment(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "GET /a/", "GET /a//b", "GET /a/b", "GET //");
    assert_string_equal(answers(&table, "GET", "/a"), "GET /a");
    assert_string_equal(answers(&table, "GET", "/a/"), "GET /a/");
    assert_string_equal(answers(&table, "GET", "/a//"), "404");
    assert_string_equal(answers(&table, "GET", "/a/b"), "GET /a/b");
    assert_string_equal(answers(&table, "GET", "/a//b"), "GET /a//b");
    assert_string_equal(answers(&table, "GET", "//"), "GET //");
    assert_string_equal(answers(&table, "GET", "/"), "404");
    rv_route_table_free(&table);
}

static void segments_are_compared_after_decoding(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "GET /{x}/y");
    assert_string_equal(answers(&table, "GET", "/%61"), "GET /a");
    assert_string_equal(answers(&table, "GET", "/q/%79"), "GET /{x}/y");
    rv_route_table_free(&table);
}

static void a_pattern_is_taken_literally(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a%20b");
    assert_string_equal(answers(&table, "GET", "/a%2520b"), "GET /a%20b");
    assert_string_equal(answers(&table, "GET", "/a%20b"), "404");
    rv_route_table_free(&table);
}

static void an_encoded_slash_never_splits_a_segment(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a/b", "GET /{one}", "GET /{one}/{two}");
    struct rv_route_match match = find(&table, "GET", "/a%2Fb");
    assert_non_null(match.route);
    assert_string_equal(match.route->ctx, "GET /{one}");
    expect_param(&match, 0, "one", "a%2Fb");
    match = find(&table, "GET", "/a%2Fb/c");
    assert_non_null(match.route);
    assert_string_equal(match.route->ctx, "GET /{one}/{two}");
    expect_param(&match, 0, "one", "a%2Fb");
    expect_param(&match, 1, "two", "c");
    rv_route_table_free(&table);
}

/* ---- which method ------------------------------------------------------------------------------ */

static void each_method_has_its_own_route(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "POST /a", "DELETE /a", "PURGE /a", "BAN /a");
    assert_string_equal(answers(&table, "GET", "/a"), "GET /a");
    assert_string_equal(answers(&table, "POST", "/a"), "POST /a");
    assert_string_equal(answers(&table, "DELETE", "/a"), "DELETE /a");
    assert_string_equal(answers(&table, "PURGE", "/a"), "PURGE /a");
    assert_string_equal(answers(&table, "BAN", "/a"), "BAN /a");
    assert_string_equal(answers(&table, "PUT", "/a"), "405");
    assert_string_equal(answers(&table, "PURG", "/a"), "405");
    rv_route_table_free(&table);
}

static void methods_are_case_sensitive(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "purge /a");
    assert_string_equal(answers(&table, "get", "/a"), "405");
    assert_string_equal(answers(&table, "PURGE", "/a"), "405");
    assert_string_equal(answers(&table, "purge", "/a"), "purge /a");
    rv_route_table_free(&table);
}

static void a_head_is_served_by_the_get_route(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "POST /b", "GET /{id}/c");
    assert_string_equal(answers(&table, "HEAD", "/a"), "GET /a");
    assert_string_equal(answers(&table, "HEAD", "/1/c"), "GET /{id}/c");
    assert_string_equal(answers(&table, "HEAD", "/b"), "405");
    rv_route_table_free(&table);
}

static void a_head_route_of_its_own_goes_before_get(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "HEAD /a", "HEAD /b", "GET /b");
    assert_string_equal(answers(&table, "HEAD", "/a"), "HEAD /a");
    assert_string_equal(answers(&table, "HEAD", "/b"), "HEAD /b");
    assert_string_equal(answers(&table, "GET", "/b"), "GET /b");
    rv_route_table_free(&table);
}

static void a_star_serves_every_method_without_a_route_of_its_own(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("* /a", "POST /a");
    assert_string_equal(answers(&table, "POST", "/a"), "POST /a");
    assert_string_equal(answers(&table, "GET", "/a"), "* /a");
    assert_string_equal(answers(&table, "HEAD", "/a"), "* /a");
    assert_string_equal(answers(&table, "OPTIONS", "/a"), "* /a");
    assert_string_equal(answers(&table, "PURGE", "/a"), "* /a");
    rv_route_table_free(&table);
}

static void a_head_goes_to_get_before_a_star(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("* /a", "GET /a");
    assert_string_equal(answers(&table, "HEAD", "/a"), "GET /a");
    rv_route_table_free(&table);
}

static void a_path_without_the_method_gives_way_to_the_next_best_with_it(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /users/new", "POST /users/{id}", "PUT /{rest...}");
    assert_string_equal(answers(&table, "POST", "/users/new"), "POST /users/{id}");
    assert_string_equal(answers(&table, "PUT", "/users/new"), "PUT /{rest...}");
    rv_route_table_free(&table);
}

/* ---- what is allowed --------------------------------------------------------------------------- */

static void allow_lists_the_methods_of_the_path(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("POST /a", "PURGE /a", "GET /other", "DELETE /a/b");
    expect_allow(&table, "PUT", "/a", "POST, PURGE, OPTIONS");
    expect_allow(&table, "PUT", "/a/b", "DELETE, OPTIONS");
    rv_route_table_free(&table);
}

static void allow_names_head_where_get_is_allowed(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "HEAD /b", "GET /b");
    expect_allow(&table, "PUT", "/a", "GET, HEAD, OPTIONS");
    expect_allow(&table, "PUT", "/b", "HEAD, GET, OPTIONS");
    rv_route_table_free(&table);
}

static void allow_joins_all_routes_that_match_the_path_without_repeating(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /a/b", "GET /a/{x}", "POST /a/{x}", "PUT /{y}/b", "POST /{rest...}");
    expect_allow(&table, "DELETE", "/a/b", "GET, HEAD, POST, PUT, OPTIONS");
    expect_allow(&table, "DELETE", "/a/c", "GET, HEAD, POST, OPTIONS");
    rv_route_table_free(&table);
}

static void allow_names_options_once(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("OPTIONS /a", "POST /a");
    expect_allow(&table, "GET", "/a", "OPTIONS, POST");
    rv_route_table_free(&table);
}

static void allow_is_empty_for_a_path_that_matches_nothing(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a");
    expect_allow(&table, "GET", "/b", "");
    assert_false(find(&table, "GET", "/b").path_matched);
    rv_route_table_free(&table);
}

static void an_allow_list_that_would_be_too_long_ends_with_a_whole_method(void **state)
{
    (void)state;
    struct rv_route_table table = {0};
    char patterns[40][24];
    for (int i = 0; i < 40; i++) {
        const char *why;
        snprintf(patterns[i], sizeof patterns[i], "METHOD-%03d /a", i);
        assert_int_equal(add(&table, patterns[i], &why), 0);
    }
    struct rv_route_match match = find(&table, "GET", "/a");
    assert_null(match.route);
    assert_true(match.allow_length <= RV_ALLOW_BYTES_MAX);
    rv_bytes list = rv_slice(match.allow, match.allow_length), method;
    int count = 0;
    while (rv_bytes_next_element(&list, &method))
        count += method.len == strlen("METHOD-000") ? 1 : 0;
    assert_int_equal(count, (RV_ALLOW_BYTES_MAX + 2) / (int)strlen("METHOD-000, "));
    rv_route_table_free(&table);
}

/* ---- many -------------------------------------------------------------------------------------- */

static void a_thousand_exact_paths_are_all_found(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct rv_route_table table = {0};
    char(*patterns)[40] = malloc(COUNT * sizeof *patterns);
    assert_non_null(patterns);
    for (int i = 0; i < COUNT; i++) {
        const char *why;
        snprintf(patterns[i], sizeof patterns[i], "GET /section-%d/page-%d", i % 7, i);
        assert_int_equal(add(&table, patterns[i], &why), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        const char *path = patterns[i] + strlen("GET ");
        assert_ptr_equal(find(&table, "GET", path).route->ctx, patterns[i]);
        const struct rv_route *exact =
            rv_route_find_exact(&table, RV_METHOD_GET, RV_LIT("GET"), rv_str(path));
        assert_non_null(exact);
        assert_ptr_equal(exact->ctx, patterns[i]);
    }
    assert_string_equal(answers(&table, "GET", "/section-0/page-1"), "404");
    assert_string_equal(answers(&table, "GET", "/section-0"), "404");
    rv_route_table_free(&table);
    free(patterns);
}

/* ---- through the public header ------------------------------------------------------------------ */

static void a_refused_route_is_named_and_keeps_the_server_from_starting(void **state)
{
    (void)state;
    rv_server *server = rv_server_new(&(rv_server_options){.listen = "127.0.0.1:0"});
    rv_app *app = rv_default_app(server);
    assert_int_equal(rv_route(app, "GET /a{b}", unused, NULL), RV_EINVAL);
    const char *text = "route \"GET /a{b}\": a parameter is a whole segment: {name}, {name:int}, "
                       "{name:date}, {name}.{ext}, or {name...} at the end";
    assert_string_equal(rv_server_error_text(server), text);
    assert_int_equal(rv_route(app, "GET /fine", unused, NULL), 0);
    assert_int_equal(rv_server_run(server), RV_EINVAL);
    assert_string_equal(rv_server_error_text(server), text);
    rv_server_free(server);
}

static void a_route_needs_a_pattern_and_a_handler(void **state)
{
    (void)state;
    rv_server *server = rv_server_new(NULL);
    rv_app *app = rv_default_app(server);
    assert_int_equal(rv_route(app, NULL, unused, NULL), RV_EINVAL);
    assert_int_equal(rv_route(app, "GET /", NULL, NULL), RV_EINVAL);
    assert_string_equal(rv_server_error_text(server),
                        "route \"\": a pattern and a handler are needed");
    rv_server_free(server);
}

/* ---- typed segments ------------------------------------------------------------------------------ */

static void an_integer_goes_before_any_other_parameter(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /u/{id:int}", "GET /u/{name}", "GET /u/{name}.{ext}", "GET /u/7", "GET /{r...}");
    static const char *const cases[][2] = {{"/u/7", "GET /u/7"},
                                           {"/u/8", "GET /u/{id:int}"},
                                           {"/u/-8", "GET /u/{id:int}"},
                                           {"/u/%38", "GET /u/{id:int}"},
                                           {"/u/9223372036854775807", "GET /u/{id:int}"},
                                           {"/u/9223372036854775808", "GET /u/{name}"},
                                           {"/u/-9223372036854775808", "GET /u/{id:int}"},
                                           {"/u/8x", "GET /u/{name}"},
                                           {"/u/-", "GET /u/{name}"},
                                           {"/u/+8", "GET /u/{name}"},
                                           {"/u/8.5", "GET /u/{name}.{ext}"},
                                           {"/u/.x", "GET /u/{name}"},
                                           {"/u/x.", "GET /u/{name}"},
                                           {"/u/", "GET /{r...}"},
                                           {"/u/8/9", "GET /{r...}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(answers(&table, "GET", cases[i][0]), cases[i][1]);
    rv_route_table_free(&table);
}

static void a_dotted_segment_is_parted_at_its_last_dot(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /{dir}/{name}.{ext}/{n:int}");
    struct rv_route_match match = find(&table, "GET", "/a.b/archive.tar.gz/5");
    assert_non_null(match.route);
    expect_param(&match, 0, "dir", "a.b");
    expect_param(&match, 1, "name", "archive.tar");
    expect_param(&match, 2, "ext", "gz");
    expect_param(&match, 3, "n", "5");
    assert_string_equal(answers(&table, "GET", "/a.b/archive/5"), "404");
    assert_string_equal(answers(&table, "PUT", "/a/b.c/5"), "405");
    rv_route_table_free(&table);
}

static void a_typed_segment_that_leads_nowhere_is_left_again(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /{id:int}/a", "GET /{name}.{ext}/b", "GET /{any}/c", "GET /{all...}");
    static const char *const cases[][2] = {{"/1/a", "GET /{id:int}/a"},
                                           {"/1/c", "GET /{any}/c"},
                                           {"/1.5/c", "GET /{any}/c"},
                                           {"/1.5/b", "GET /{name}.{ext}/b"},
                                           {"/1/d", "GET /{all...}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(answers(&table, "GET", cases[i][0]), cases[i][1]);
    struct rv_route_match match = find(&table, "GET", "/1.5/c");
    expect_param(&match, 0, "any", "1.5");
    rv_route_table_free(&table);
}

static void other_types_and_half_dotted_segments_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"GET /{a:float}",   "GET /{:int}", "GET /{a}.b",
                                        "GET /{a}.{b",      "GET /a.{b}",  "GET /{a}.{b}.{c}",
                                        "GET /{a}.{a:int}", "GET /{a}{b}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refusal(wrong[i], "a parameter is a whole segment: {name}, {name:int}, {name:date}, "
                                 "{name}.{ext}, or {name...} at the end");
    expect_refusal("GET /{a}.{a}", "at most 16 parameters, each with a name of its own");
}

/* ---- tables -------------------------------------------------------------------------------------- */

static int answer_nothing(rv_talk *talk, void *ctx)
{
    return rv_text(talk, 200, ctx);
}

static const char *found(rv_server *server, const char *method, const char *path)
{
    return answers(&rv_default_app(server)->routes, method, path);
}

static void a_table_may_hold_tables(void **state)
{
    (void)state;
    static const rv_route_entry roles[] = {{"GET /roles", answer_nothing, "roles", NULL, NULL},
                                           {"PUT /{role}", answer_nothing, "put role", NULL, NULL},
                                           {0}};
    static const rv_route_entry users[] = {{"GET /", answer_nothing, "list", NULL, NULL},
                                           {"GET /{id:int}", answer_nothing, "show", NULL, roles},
                                           {0}};
    static const rv_route_entry site[] = {
        {"GET /", answer_nothing, "home", NULL, NULL}, {"/users", NULL, NULL, NULL, users}, {0}};
    rv_server *server = rv_server_new(NULL);
    assert_int_equal(rv_routes(rv_default_app(server), NULL, site), 0);
    assert_int_equal(rv_routes(rv_default_app(server), "/v2", site), 0);
    assert_string_equal(found(server, "GET", "/"), "home");
    assert_string_equal(found(server, "GET", "/v2"), "home");
    assert_string_equal(found(server, "GET", "/users"), "list");
    assert_string_equal(found(server, "GET", "/v2/users/7"), "show");
    assert_string_equal(found(server, "GET", "/v2/users/7/roles"), "roles");
    assert_string_equal(found(server, "GET", "/users/7"), "show");
    assert_string_equal(found(server, "PUT", "/users/7/admin"), "put role");
    rv_server_free(server);
}

static void a_table_that_is_wrong_is_named(void **state)
{
    (void)state;
    static rv_route_entry endless[2] = {{"/a", NULL, NULL, NULL, NULL}, {0}};
    static const rv_route_entry empty[] = {{"GET /x", NULL, NULL, NULL, NULL}, {0}};
    endless[0].below = endless;
    rv_server *server = rv_server_new(NULL);
    assert_int_equal(rv_routes(rv_default_app(server), NULL, empty), RV_EINVAL);
    assert_string_equal(rv_server_error_text(server),
                        "route \"GET /x\": a handler or a table is needed");
    rv_server_free(server);
    server = rv_server_new(NULL);
    assert_int_equal(rv_routes(rv_default_app(server), NULL, endless), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(server), "at most 16 tables may be nested"));
    rv_server_free(server);
    server = rv_server_new(NULL);
    assert_int_equal(rv_routes(rv_default_app(server), "a", empty), RV_EINVAL);
    assert_string_equal(rv_server_error_text(server), "route \"a\": a prefix begins with a slash");
    rv_server_free(server);
}

static void a_resource_has_a_handler_for_each_verb(void **state)
{
    (void)state;
    rv_server *server = rv_server_new(NULL);
    rv_app *app = rv_default_app(server);
    const rv_verbs verbs = {.get = answer_nothing, .delete_ = answer_nothing};
    assert_int_equal(rv_resource(app, "/users/{id:int}", &verbs, "user"), 0);
    assert_int_equal(rv_resource(app, "/", &(rv_verbs){.patch = answer_nothing}, "root"), 0);
    assert_string_equal(found(server, "GET", "/users/7"), "user");
    assert_string_equal(found(server, "HEAD", "/users/7"), "user");
    assert_string_equal(found(server, "DELETE", "/users/7"), "user");
    assert_string_equal(found(server, "PUT", "/users/7"), "405");
    assert_string_equal(found(server, "PATCH", "/"), "root");
    assert_int_equal(rv_resource(app, "/users/{id:int}", &verbs, "user"), RV_EINVAL);
    rv_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_a_method_and_a_path),
        cmocka_unit_test(a_pattern_without_a_method_or_a_rooted_path_is_refused),
        cmocka_unit_test(a_pattern_with_path_parameters_or_a_fragment_is_refused),
        cmocka_unit_test(a_parameter_that_is_not_a_whole_segment_is_refused),
        cmocka_unit_test(a_rest_that_is_not_the_last_segment_is_refused),
        cmocka_unit_test(a_name_is_used_once_in_a_pattern),
        cmocka_unit_test(sixteen_parameters_are_the_most),
        cmocka_unit_test(the_same_method_and_path_twice_is_refused),
        cmocka_unit_test(paths_that_only_look_alike_are_no_duplicates),
        cmocka_unit_test(a_refused_pattern_leaves_the_others_as_they_were),
        cmocka_unit_test(the_table_keeps_its_own_copy_of_a_pattern),
        cmocka_unit_test(a_route_carries_its_handler_ctx_and_options),
        cmocka_unit_test(an_empty_table_finds_nothing),
        cmocka_unit_test(a_path_that_does_not_begin_with_a_slash_is_not_found),
        cmocka_unit_test(a_literal_goes_before_a_parameter_before_a_rest),
        cmocka_unit_test(precedence_is_decided_from_the_left),
        cmocka_unit_test(a_branch_that_leads_nowhere_is_left_for_the_next_best),
        cmocka_unit_test(parameters_of_a_branch_that_was_left_are_forgotten),
        cmocka_unit_test(a_parameter_takes_one_whole_segment_that_is_not_empty),
        cmocka_unit_test(a_rest_takes_all_that_is_left_be_it_nothing),
        cmocka_unit_test(an_empty_segment_is_a_segment),
        cmocka_unit_test(segments_are_compared_after_decoding),
        cmocka_unit_test(a_pattern_is_taken_literally),
        cmocka_unit_test(an_encoded_slash_never_splits_a_segment),
        cmocka_unit_test(each_method_has_its_own_route),
        cmocka_unit_test(methods_are_case_sensitive),
        cmocka_unit_test(a_head_is_served_by_the_get_route),
        cmocka_unit_test(a_head_route_of_its_own_goes_before_get),
        cmocka_unit_test(a_star_serves_every_method_without_a_route_of_its_own),
        cmocka_unit_test(a_head_goes_to_get_before_a_star),
        cmocka_unit_test(a_path_without_the_method_gives_way_to_the_next_best_with_it),
        cmocka_unit_test(allow_lists_the_methods_of_the_path),
        cmocka_unit_test(allow_names_head_where_get_is_allowed),
        cmocka_unit_test(allow_joins_all_routes_that_match_the_path_without_repeating),
        cmocka_unit_test(allow_names_options_once),
        cmocka_unit_test(allow_is_empty_for_a_path_that_matches_nothing),
        cmocka_unit_test(an_allow_list_that_would_be_too_long_ends_with_a_whole_method),
        cmocka_unit_test(a_thousand_exact_paths_are_all_found),
        cmocka_unit_test(a_refused_route_is_named_and_keeps_the_server_from_starting),
        cmocka_unit_test(a_route_needs_a_pattern_and_a_handler),
        cmocka_unit_test(an_integer_goes_before_any_other_parameter),
        cmocka_unit_test(a_dotted_segment_is_parted_at_its_last_dot),
        cmocka_unit_test(a_typed_segment_that_leads_nowhere_is_left_again),
        cmocka_unit_test(other_types_and_half_dotted_segments_are_refused),
        cmocka_unit_test(a_table_may_hold_tables),
        cmocka_unit_test(a_table_that_is_wrong_is_named),
        cmocka_unit_test(a_resource_has_a_handler_for_each_verb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
