/*
 * Facts about routes that demand something of the query: which patterns there are, which route answers,
 * what becomes a parameter; and the whole table against an oracle that asks every route in turn.
 */
#include "base/random.h"
#include "http/uri.h"
#include "server/route.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

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

/* "METHOD /path?query", as it is sent. */
static struct rv_route_match find(const struct rv_route_table *table, const char *request)
{
    struct rv_route_match match;
    rv_bytes rest = rv_str(request), method = rv_bytes_take_until(&rest, ' ');
    bool has_query = memchr(rest.ptr, '?', rest.len) != NULL;
    rv_bytes path = rv_bytes_take_until(&rest, '?');
    struct rv_route_request asked = {.method = rv_method_of(method),
                                     .method_text = method,
                                     .path = path,
                                     .plain = memchr(path.ptr, '%', path.len) == NULL,
                                     .query = has_query ? rest : (rv_bytes){0}};
    rv_route_find(table, &asked, &match);
    const struct rv_route *exact =
        rv_route_find_exact(table, asked.method, method, path); /* nothing, or the same */
    if (asked.plain && exact != NULL)
        assert_ptr_equal(exact, match.route);
    return match;
}

static const char *answers(const struct rv_route_table *table, const char *request)
{
    struct rv_route_match match = find(table, request);
    if (match.route != NULL)
        return match.route->ctx;
    return match.path_matched ? "405" : "404";
}

static void expect_all(const struct rv_route_table *table, const char *const cases[][2],
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(answers(table, cases[i][0]), cases[i][1]);
}

/* ---- patterns ---------------------------------------------------------------------------------- */

static void expect_refusal(const char *pattern, const char *reason)
{
    struct rv_route_table table = {0};
    const char *why = NULL;
    assert_int_equal(add(&table, pattern, &why), RV_EINVAL);
    assert_string_equal(why, reason);
    rv_route_table_free(&table);
}

static void a_malformed_query_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "GET /a?",        "GET /a?&",         "GET /a?b&",       "GET /a?&b",     "GET /a?b&&c",
        "GET /a?=",       "GET /a?=1",        "GET /a?{b}",      "GET /a?b={",    "GET /a?b=}",
        "GET /a?b={}",    "GET /a?b={c",      "GET /a?b=x{c}",   "GET /a?b={c}x", "GET /a?b={c...}",
        "GET /a?b={c:x}", "GET /a?b={c}.{d}", "GET /a?b={:int}", "GET /a?b=%",    "GET /a?%1=b",
        "GET /a?b=%zz",   "GET /a?{b}=c",     "GET /a?b={c}{d}", "GET /a?b={c,d}"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        expect_refusal(wrong[i],
                       "a query is name, name=value, name={parameter}, {parameter:int} or "
                       "{parameter:date}, several joined by &");
}

static void names_of_the_query_and_of_parameters_are_there_once(void **state)
{
    (void)state;
    expect_refusal("GET /a?b&b=1", "each name of the query once");
    expect_refusal("GET /a?b&%62", "each name of the query once");
    expect_refusal("GET /{b}?b={b}", "at most 16 parameters, each with a name of its own");
    expect_refusal("GET /{x}?b={x}", "at most 16 parameters, each with a name of its own");
    expect_refusal("GET /?b={b}&c={b}", "at most 16 parameters, each with a name of its own");
    expect_refusal("GET /?c={b}&b={b}", "at most 16 parameters, each with a name of its own");
    expect_refusal("GET /?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", "at most 16 names of the query");
    struct rv_route_table table = TABLE("GET /?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p");
    rv_route_table_free(&table);
}

static void sixteen_parameters_are_the_most_with_those_of_the_query(void **state)
{
    (void)state;
    const char *path = "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}";
    char fits[128], does_not[128];
    const char *why;
    struct rv_route_table table = {0};
    snprintf(fits, sizeof fits, "GET %s?x={p}", path);
    snprintf(does_not, sizeof does_not, "GET %s?x={p}&y={q}", path);
    assert_int_equal(add(&table, fits, &why), 0);
    assert_string_equal(answers(&table, "GET /1/2/3/4/5/6/7/8/9/10/11/12/13/14/15?x=y"), fits);
    rv_route_table_free(&table);
    expect_refusal(does_not, "at most 16 parameters, each with a name of its own");
}

static void the_same_demands_in_another_order_are_a_twin(void **state)
{
    (void)state;
    static const char *const twins[][2] = {{"GET /a?b&c=1", "GET /a?c=1&b"},
                                           {"GET /a?b={x}", "GET /a?b={y}"},
                                           {"GET /a?b=%20", "GET /a?b=+"},
                                           {"* /{x}?b={n:int}", "* /{y}?b={n:int}"}};
    for (size_t i = 0; i < COUNT(twins); i++) {
        struct rv_route_table table = TABLE(twins[i][0]);
        const char *why;
        assert_int_equal(add(&table, twins[i][1], &why), RV_EINVAL);
        assert_string_equal(why, "this method, path and query have a handler already");
        rv_route_table_free(&table);
    }
    struct rv_route_table table =
        TABLE("GET /a", "GET /a?b", "GET /a?b=", "GET /a?b=1", "GET /a?b={x}", "GET /a?b={x:int}",
              "GET /a?b={x:date}", "POST /a?b");
    rv_route_table_free(&table);
}

/* ---- which route ------------------------------------------------------------------------------- */

static void a_name_must_be_there_a_value_must_be_that(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /s?q", "GET /s?mode=full", "GET /w?a=two+words%26&b=");
    static const char *const cases[][2] = {
        {"GET /s", "404"},
        {"GET /s?", "404"},
        {"GET /s?p=q", "404"},
        {"GET /s?Q", "404"},
        {"GET /s?q", "GET /s?q"},
        {"GET /s?q=", "GET /s?q"},
        {"GET /s?q=x", "GET /s?q"},
        {"GET /s?%71=x", "GET /s?q"},
        {"GET /s?x=1&q=x&y", "GET /s?q"},
        {"GET /s?&&q", "GET /s?q"},
        {"GET /s?mode=full", "GET /s?mode=full"},
        {"GET /s?mode=%66ull", "GET /s?mode=full"},
        {"GET /s?mode=Full", "404"},
        {"GET /s?mode=full2", "404"},
        {"GET /s?mode=brief&mode=full", "404"}, /* the first counts, as for rv_param */
        {"GET /s?mode=full&mode=brief", "GET /s?mode=full"},
        {"GET /w?b&a=two%20words%26", "GET /w?a=two+words%26&b="},
        {"GET /w?b=&a=two+words%26", "GET /w?a=two+words%26&b="},
        {"GET /w?b=x&a=two+words%26", "404"},
        {"GET /w?b=&a=two+words", "404"},
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

static void a_value_must_be_something_or_of_its_type(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /t?v={text}", "GET /n?v={number:int}", "GET /d?v={day:date}");
    static const char *const cases[][2] = {
        {"GET /t?v=x", "GET /t?v={text}"},
        {"GET /t?v=%", "GET /t?v={text}"},
        {"GET /t?v=", "404"},
        {"GET /t?v", "404"},
        {"GET /n?v=-12", "GET /n?v={number:int}"},
        {"GET /n?v=%31", "GET /n?v={number:int}"},
        {"GET /n?v=9223372036854775808", "404"},
        {"GET /n?v=1x", "404"},
        {"GET /n?v=", "404"},
        {"GET /n?v=+1", "404"},
        {"GET /d?v=2024-02-29", "GET /d?v={day:date}"},
        {"GET /d?v=2023-02-29", "404"},
        {"GET /d?v=2026-12-01T10:15:30%2B01:00", "GET /d?v={day:date}"},
        {"GET /d?v=2026-12-01T10:15:30+01:00", "404"}, /* "+" is a space */
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

static void more_demands_go_first_then_those_that_say_more(void **state)
{
    (void)state;
    /* Added from the least to the most. */
    struct rv_route_table table =
        TABLE("GET /s", "GET /s?a", "GET /s?a={t}", "GET /s?a={n:int}", "GET /s?a=7", "GET /s?b",
              "GET /s?a&b", "GET /s?a=7&b", "GET /s?a&b&c");
    static const char *const cases[][2] = {
        {"GET /s", "GET /s"},
        {"GET /s?c", "GET /s"},
        {"GET /s?a", "GET /s?a"},
        {"GET /s?a=x", "GET /s?a={t}"},
        {"GET /s?a=8", "GET /s?a={n:int}"},
        {"GET /s?a=7", "GET /s?a=7"},
        {"GET /s?b=1", "GET /s?b"},
        {"GET /s?b&a", "GET /s?a&b"},
        {"GET /s?b&a=7", "GET /s?a=7&b"},
        {"GET /s?c&b&a=7", "GET /s?a&b&c"},
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

static void what_is_equal_goes_in_the_order_of_adding(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /s?b", "GET /s?a", "GET /s?c");
    assert_string_equal(answers(&table, "GET /s?a&b&c"), "GET /s?b");
    assert_string_equal(answers(&table, "GET /s?c&a"), "GET /s?a");
    rv_route_table_free(&table);
}

static void where_the_query_is_not_right_the_next_best_path_is_tried(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /a/b?x", "GET /a/{id}?y", "GET /{rest...}?z", "GET /a/{rest...}");
    static const char *const cases[][2] = {
        {"GET /a/b?x&y&z", "GET /a/b?x"},   {"GET /a/b?y&z", "GET /a/{id}?y"},
        {"GET /a/b?z", "GET /a/{rest...}"}, {"GET /a/b", "GET /a/{rest...}"},
        {"GET /b?z", "GET /{rest...}?z"},   {"GET /b", "404"},
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

static void methods_go_before_demands(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("* /m?a&b", "GET /m", "GET /m?a", "HEAD /m?b", "* /n?a", "GET /n?b");
    static const char *const cases[][2] = {
        {"GET /m?a&b", "GET /m?a"}, {"HEAD /m?a", "GET /m?a"},  {"HEAD /m?a&b", "HEAD /m?b"},
        {"HEAD /m", "GET /m"},      {"PUT /m?a&b", "* /m?a&b"}, {"PUT /m?a", "405"},
        {"GET /n?a", "* /n?a"},     {"GET /n?a&b", "GET /n?b"}, {"HEAD /n?a&b", "GET /n?b"},
        {"PUT /n?b", "405"},        {"PUT /n", "404"},
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

static void allow_has_the_methods_of_what_is_there_with_that_query(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a", "PUT /a?x", "DELETE /a?y");
    struct rv_route_match match = find(&table, "POST /a?x");
    match.allow[match.allow_length] = '\0';
    assert_true(match.path_matched);
    assert_string_equal(match.allow, "PUT, GET, HEAD, OPTIONS");
    rv_route_table_free(&table);
}

static void a_refused_pattern_is_no_route(void **state)
{
    (void)state;
    struct rv_route_table table = TABLE("GET /a?x");
    const char *why;
    char *wrong = strdup("* /a/{b}?x={b}");
    assert_int_equal(add(&table, wrong, &why), RV_EINVAL);
    free(wrong);
    assert_string_equal(answers(&table, "GET /?x=1"), "404");
    assert_string_equal(answers(&table, "GET /a/1?x=1"), "404");
    assert_string_equal(answers(&table, "GET /a?x=1"), "GET /a?x");
    rv_route_table_free(&table);
}

static void a_date_is_a_segment_of_its_own_kind(void **state)
{
    (void)state;
    struct rv_route_table table =
        TABLE("GET /d/{name}", "GET /d/{n}.{e}", "GET /d/{n:int}", "GET /d/{day:date}");
    static const char *const cases[][2] = {
        {"GET /d/2026-12-01", "GET /d/{day:date}"},
        {"GET /d/2026%2D12-01", "GET /d/{day:date}"},
        {"GET /d/2026-12-01T10:15:30.123Z", "GET /d/{day:date}"},
        {"GET /d/2026-12-01T10:15:30.123+0100", "GET /d/{day:date}"},
        {"GET /d/2026-13-01", "GET /d/{name}"},
        {"GET /d/2026", "GET /d/{n:int}"},
        {"GET /d/2026-12-01.txt", "GET /d/{n}.{e}"},
    };
    expect_all(&table, cases, COUNT(cases));
    rv_route_table_free(&table);
}

/* ---- parameters -------------------------------------------------------------------------------- */

/* All of them: "name=value;" each. */
static int list_params(rv_talk *talk, void *ctx)
{
    char text[512] = "";
    rv_bytes name, value;
    size_t used = 0;
    (void)ctx;
    for (size_t i = 0; rv_param_at(talk, i, &name, &value); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s;", (int)name.len,
                                 name.ptr, (int)value.len, value.ptr);
    return rv_text(talk, 200, text);
}

static void a_value_is_a_parameter_under_the_name_of_the_pattern(void **state)
{
    (void)state;
    route("GET /s/{x}?q={text}&page={page:int}", list_params, NULL);
    get("/s/a+b?page=%37&q=a+b%2Bc&q=2");
    /* "+" is a space in a query, and not in a path; what has one name only is there once. */
    expect_answer(200, "x=a+b;text=a b+c;page=7;q=a b+c;q=2;");
    get("/s/a%2Fb?q=z&page=7");
    expect_answer(200, "x=a/b;text=z;q=z;page=7;");
    get("/s/a?q=z");
    expect_status(404);
}

static int reply_text_of(rv_talk *talk, void *ctx)
{
    rv_bytes value = rv_param(talk, ctx);
    return rv_reply(talk, 200, "text/plain", value.ptr == NULL ? RV_LIT("absent") : value);
}

static void a_star_or_head_route_gets_its_own_values(void **state)
{
    (void)state;
    route("* /p?a={v}&b", reply_text_of, "v");
    route("GET /p?b={v}&c", reply_text_of, "v");
    route("GET /exact?q={v}", reply_text_of, "v");
    get("/p?a=star&b=own&c");
    expect_answer(200, "own");
    get("/p?a=star&b=own");
    expect_answer(200, "star");
    get("/exact?q=1%20%2B+2");
    expect_answer(200, "1 + 2");
}

static int reply_later(rv_talk *talk, void *ctx)
{
    return rv_after_ms(talk, 10, reply_text_of, ctx) == 0 ? RV_PENDING : RV_ESTATE;
}

static void the_values_outlive_the_receive_buffer(void **state)
{
    (void)state;
    route("GET /later?q={v}", reply_later, "v");
    as(0);
    get("/later?q=first");
    as(1);
    get("/later?q=another");
    advance_ms(20);
    expect_answer(200, "another");
    as(0);
    expect_answer(200, "first");
}

static int reply_date(rv_talk *talk, void *ctx)
{
    int64_t seconds = 0;
    char text[64];
    (void)ctx;
    rv_error error = rv_param_date(talk, "day", &seconds);
    snprintf(text, sizeof text, "%d %lld", error, (long long)seconds);
    return rv_text(talk, 200, text);
}

static void a_date_is_read_in_seconds(void **state)
{
    (void)state;
    route("GET /days/{day:date}", reply_date, NULL);
    route("GET /days", reply_date, NULL);
    get("/days/1970-01-02");
    expect_answer(200, "0 86400");
    get("/days/2026-12-01T10:15:30%2B01:00");
    expect_answer(200, "0 1796116530");
    get("/days?day=1969-12-31T23:59:59Z");
    expect_answer(200, "0 -1");
    get("/days?day=tomorrow");
    expect_answer(200, "-2 0");
    get("/days");
    expect_answer(200, "-13 0");
}

/* ---- over a server ----------------------------------------------------------------------------- */

static void a_missing_query_is_a_404_and_another_method_a_405(void **state)
{
    (void)state;
    route("GET /s?q={text}", reply_text_of, "text");
    get("/s?q=found");
    expect_answer(200, "found");
    get("/s");
    expect_status(404);
    request("POST", "/s", "Content-Length: 0\r\n");
    expect_status(404);
    request("POST", "/s?q=1", "Content-Length: 0\r\n");
    expect_status(405);
    expect_field("Allow", "GET, HEAD, OPTIONS");
    request("OPTIONS", "/s?q=1", NULL);
    expect_status(204);
    get("/./s?q=%66ound");
    expect_answer(200, "found");
}

static void tables_and_resources_may_demand_a_query(void **state)
{
    (void)state;
    static const rv_route_entry below[] = {{"GET /x?a", reply_text_of, "a", NULL, NULL}, {0}};
    static const rv_route_entry table[] = {
        {"GET /?b", reply_text_of, "b", NULL, NULL}, {"/deep", NULL, NULL, NULL, below}, {0}};
    static const rv_route_entry wrong[] = {{"/deep?c", NULL, NULL, NULL, below}, {0}};
    rv_app *app = rv_default_app(tested);
    assert_int_equal(rv_routes(app, "/t", table), 0);
    assert_int_equal(rv_resource(app, "/r?kind={kind}", &(rv_verbs){.get = reply_text_of}, "kind"),
                     0);
    get("/t?b=1");
    expect_answer(200, "1");
    get("/t/deep/x?a=2");
    expect_answer(200, "2");
    get("/r?kind=user");
    expect_answer(200, "user");
    get("/r");
    expect_status(404);
    tested_with(NULL);
    app = rv_default_app(tested);
    assert_int_equal(rv_routes(app, "/t", wrong), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested),
                        "route \"/t/deep?c\": what has a table below it has no query");
    tested_with(NULL);
    app = rv_default_app(tested);
    assert_int_equal(rv_routes(app, "/t?c", table), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested), "route \"/t?c\": a prefix has no query");
    assert_int_equal(rv_files(app, "/f?c", "/", NULL), RV_EINVAL);
    tested_with(NULL);
    app = rv_default_app(tested);
    assert_int_equal(rv_route(app, "GET /a?", unused, NULL), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested),
                        "route \"GET /a?\": a query is name, name=value, name={parameter}, "
                        "{parameter:int} or {parameter:date}, several joined by &");
}

/* ---- against an oracle ------------------------------------------------------------------------- */

/* A pattern in parts: segments "a", "b", "7" or a kind of parameter, demands on "x", "y", "z". */
enum { ANY, INT, REST, LITERALS }; /* kinds; LITERALS + n is a literal */
static const char *const literals[] = {"a", "b", "7"};
static const char *const methods[] = {"GET", "PUT", "HEAD", "*"};
enum { NONE, PRESENT, TEXT, NUMBER, ONE, TWO }; /* demands */

struct made {
    unsigned method, segments, kinds[3], demands[3];
    char text[96];
};

static unsigned below(struct rv_random *random, unsigned count)
{
    return (unsigned)(rv_random_next(random) % count);
}

static void make_pattern(struct rv_random *random, struct made *made)
{
    static const char *const demands[] = {"", "%c", "%c={%c}", "%c={%c:int}", "%c=1", "%c=2"};
    made->method = below(random, COUNT(methods));
    made->segments = 1 + below(random, 2);
    int used = snprintf(made->text, sizeof made->text, "%s ", methods[made->method]);
    for (unsigned i = 0; i < made->segments; i++) {
        unsigned kind = below(random, LITERALS + COUNT(literals));
        if (kind == REST && i + 1 < made->segments)
            kind = ANY;
        static const char *const types[] = {[ANY] = "", [INT] = ":int", [REST] = "..."};
        size_t room = sizeof made->text - (size_t)used;
        made->kinds[i] = kind;
        if (kind >= LITERALS)
            used += snprintf(made->text + used, room, "/%s", literals[kind - LITERALS]);
        else
            used += snprintf(made->text + used, room, "/{s%u%s}", i, types[kind]);
    }
    char separator = '?';
    for (unsigned i = 0; i < 3; i++) {
        made->demands[i] = below(random, 3) == 0 ? 1 + below(random, TWO) : NONE;
        if (made->demands[i] == NONE)
            continue;
        char one[32];
        snprintf(one, sizeof one, demands[made->demands[i]], 'x' + (int)i, 'x' + (int)i);
        used +=
            snprintf(made->text + used, sizeof made->text - (size_t)used, "%c%s", separator, one);
        separator = '&';
    }
}

/* A request in parts: each name has no value (NULL), or one of these. */
static const char *const values[] = {NULL, "", "1", "2", "3", "w"};

struct asked {
    unsigned method, segments, literal[3], value[3];
    char text[96];
};

static void make_request(struct rv_random *random, struct asked *asked)
{
    static const char *const spellings[][2] = {{"x", "%78"}, {"y", "y"}, {"z", "%7a"}};
    asked->method = below(random, 3);
    asked->segments = 1 + below(random, 2);
    int used = snprintf(asked->text, sizeof asked->text, "%s ", methods[asked->method]);
    for (unsigned i = 0; i < asked->segments; i++) {
        asked->literal[i] = below(random, COUNT(literals));
        used += snprintf(asked->text + used, sizeof asked->text - (size_t)used, "/%s",
                         literals[asked->literal[i]]);
    }
    unsigned first = below(random, 3);
    char separator = '?';
    for (unsigned k = 0; k < 3; k++) {
        unsigned i = (first + k) % 3;
        asked->value[i] = below(random, COUNT(values));
        if (values[asked->value[i]] == NULL)
            continue;
        used += snprintf(asked->text + used, sizeof asked->text - (size_t)used, "%c%s=%s",
                         separator, spellings[i][below(random, 2)], values[asked->value[i]]);
        separator = '&';
    }
}

static bool path_fits(const struct made *made, const struct asked *asked)
{
    for (unsigned i = 0; i < made->segments; i++) {
        if (made->kinds[i] == REST)
            return asked->segments > i;
        if (i >= asked->segments)
            return false;
        if (made->kinds[i] == INT && asked->literal[i] != 2)
            return false;
        if (made->kinds[i] >= LITERALS && made->kinds[i] - LITERALS != asked->literal[i])
            return false;
    }
    return made->segments == asked->segments;
}

static bool query_fits(const struct made *made, const struct asked *asked)
{
    for (unsigned i = 0; i < 3; i++) {
        const char *value = values[asked->value[i]];
        switch (made->demands[i]) {
        case NONE:
            continue;
        case TEXT:
            if (value == NULL || *value == '\0')
                return false;
            continue;
        case NUMBER:
            if (value == NULL || *value < '1' || *value > '3')
                return false;
            continue;
        case ONE:
        case TWO:
            if (value == NULL || strcmp(value, made->demands[i] == ONE ? "1" : "2") != 0)
                return false;
            continue;
        default:
            if (value == NULL)
                return false;
        }
    }
    return true;
}

/* How well the method fits; 0: not at all. */
static unsigned method_fit(const struct made *made, const struct asked *asked)
{
    if (made->method == asked->method)
        return 3;
    if (methods[made->method][0] == '*')
        return 1;
    return asked->method == 2 && made->method == 0 ? 2 : 0;
}

/* More is better, segment by segment; 0 behind the last one. */
static unsigned worth_of_segment(const struct made *made, unsigned i)
{
    static const unsigned worth[] = {[ANY] = 2, [INT] = 3, [REST] = 1};
    if (i >= made->segments)
        return 0;
    return made->kinds[i] >= LITERALS ? 4 : worth[made->kinds[i]];
}

/* Positive: `a` is asked before `b`. */
static int compare(const struct made *a, const struct made *b, const struct asked *asked)
{
    int difference = 0;
    for (unsigned i = 0; i < 3 && difference == 0; i++)
        difference = (int)worth_of_segment(a, i) - (int)worth_of_segment(b, i);
    if (difference == 0)
        difference = (int)method_fit(a, asked) - (int)method_fit(b, asked);
    int ranks[2][4] = {{0}};
    const struct made *both[] = {a, b};
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 3; i++) {
            unsigned demand = both[k]->demands[i];
            ranks[k][0] += demand != NONE;
            ranks[k][1] += demand == ONE || demand == TWO;
            ranks[k][2] += demand == NUMBER;
            ranks[k][3] += demand == TEXT;
        }
    for (unsigned i = 0; i < 4 && difference == 0; i++)
        difference = ranks[0][i] - ranks[1][i];
    return difference;
}

static const char *oracle(const struct made *made, size_t count, const struct asked *asked)
{
    const struct made *best = NULL;
    bool path_there = false;
    for (size_t i = 0; i < count; i++) {
        if (!path_fits(&made[i], asked) || !query_fits(&made[i], asked))
            continue;
        path_there = true;
        if (method_fit(&made[i], asked) > 0 && (best == NULL || compare(&made[i], best, asked) > 0))
            best = &made[i];
    }
    return best != NULL ? best->text : path_there ? "405" : "404";
}

#define PATTERNS 24

static void every_table_answers_as_an_oracle_that_asks_all_routes(void **state)
{
    (void)state;
    struct rv_random random = {20261201};
    unsigned found_some = 0;
    for (int round = 0; round < 400; round++) {
        struct made made[PATTERNS];
        struct rv_route_table table = {0};
        size_t count = 0;
        while (count < PATTERNS) {
            const char *why;
            make_pattern(&random, &made[count]);
            rv_error error = add(&table, made[count].text, &why);
            if (error == 0)
                count++;
            else
                assert_non_null(strstr(why, "have a handler already"));
        }
        for (int i = 0; i < 100; i++) {
            struct asked asked;
            make_request(&random, &asked);
            const char *expected = oracle(made, count, &asked);
            const char *got = answers(&table, asked.text);
            if (strcmp(got, expected) != 0)
                fail_msg("%s: %s, and not %s", asked.text, got, expected);
            found_some += *got != '4';
        }
        rv_route_table_free(&table);
    }
    assert_true(found_some > 10000);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_query_is_refused),
        cmocka_unit_test(names_of_the_query_and_of_parameters_are_there_once),
        cmocka_unit_test(sixteen_parameters_are_the_most_with_those_of_the_query),
        cmocka_unit_test(the_same_demands_in_another_order_are_a_twin),
        cmocka_unit_test(a_name_must_be_there_a_value_must_be_that),
        cmocka_unit_test(a_value_must_be_something_or_of_its_type),
        cmocka_unit_test(more_demands_go_first_then_those_that_say_more),
        cmocka_unit_test(what_is_equal_goes_in_the_order_of_adding),
        cmocka_unit_test(where_the_query_is_not_right_the_next_best_path_is_tried),
        cmocka_unit_test(methods_go_before_demands),
        cmocka_unit_test(allow_has_the_methods_of_what_is_there_with_that_query),
        cmocka_unit_test(a_refused_pattern_is_no_route),
        cmocka_unit_test(a_date_is_a_segment_of_its_own_kind),
        SERVED(a_value_is_a_parameter_under_the_name_of_the_pattern),
        SERVED(a_star_or_head_route_gets_its_own_values),
        SERVED(the_values_outlive_the_receive_buffer),
        SERVED(a_date_is_read_in_seconds),
        SERVED(a_missing_query_is_a_404_and_another_method_a_405),
        SERVED(tables_and_resources_may_demand_a_query),
        cmocka_unit_test(every_table_answers_as_an_oracle_that_asks_all_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
