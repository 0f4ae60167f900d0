/*
 * Facts about apps (step 4 of rivulet.h): which of several answers, what they add to a response, and how
 * their errors look.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int say_name(rv_talk *talk, void *ctx)
{
    return rv_text(talk, 200, ctx);
}

/* An app whose routes answer with its name. */
static rv_app *app_with(const char *name, const rv_app_options *options, const char *pattern)
{
    rv_app *app = rv_app_new(tested, options);
    assert_non_null(app);
    if (pattern != NULL)
        assert_int_equal(rv_route(app, pattern, say_name, (void *)(uintptr_t)name), 0);
    return app;
}

static void ask_host(const char *path, const char *host)
{
    char text[256];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    say(text);
}

/* ---- which app answers ------------------------------------------------------------------------- */

static void the_default_app_answers_what_the_others_leave(void **state)
{
    (void)state;
    app_with("other", NULL, "GET /other");
    route("GET /mine", say_name, "default");
    route("GET /other", say_name, "default");
    get("/mine");
    expect_answer(200, "default");
    get("/other");
    expect_answer(200, "other");
    get("/nothing");
    expect_status(404);
}

static void of_equals_the_first_that_was_made_answers(void **state)
{
    (void)state;
    app_with("first", NULL, "GET /{any}");
    app_with("second", NULL, "GET /exact");
    get("/exact");
    expect_answer(200, "first");
}

static void the_longest_mount_is_asked_first(void **state)
{
    (void)state;
    app_with("short", &(rv_app_options){.mount = "/a"}, "GET /{rest...}");
    app_with("long", &(rv_app_options){.mount = "/a/b"}, "GET /c");
    get("/a/b/c");
    expect_answer(200, "long");
    get("/a/b/d");
    expect_answer(200, "short");
}

static void a_mount_covers_whole_segments(void **state)
{
    (void)state;
    app_with("api", &(rv_app_options){.mount = "/api/"}, "GET /x");
    get("/api/x");
    expect_answer(200, "api");
    get("/%61pi/x");
    expect_answer(200, "api");
    get("/apis/x");
    expect_status(404);
    get("/x");
    expect_status(404);
    get("/api%2Fx");
    expect_status(404);
}

static void a_mount_itself_is_the_root_of_its_app(void **state)
{
    (void)state;
    app_with("api", &(rv_app_options){.mount = "/api"}, "GET /");
    get("/api");
    expect_answer(200, "api");
    get("/api/");
    expect_answer(200, "api");
    get("/%61pi");
    expect_answer(200, "api");
}

static int show(rv_talk *talk, void *ctx)
{
    char text[200];
    rv_bytes id = rv_param(talk, "id"), mount = rv_mount(talk), path = rv_path(talk);
    (void)ctx;
    snprintf(text, sizeof text, "%.*s at %.*s of %.*s", (int)id.len, id.ptr, (int)mount.len,
             mount.ptr, (int)path.len, path.ptr);
    return rv_text(talk, 200, text);
}

static void parameters_are_found_below_a_mount(void **state)
{
    (void)state;
    rv_app *app = rv_app_new(tested, &(rv_app_options){.mount = "/a b"});
    assert_int_equal(rv_route(app, "GET /users/{id}", show, NULL), 0);
    get("/a%20b/users/x%2Fy");
    expect_answer(200, "x/y at /a b of /a b/users/x/y");
}

static void hosts_are_matched_in_any_case_and_without_port(void **state)
{
    (void)state;
    app_with("org", &(rv_app_options){.hosts = "Example.ORG [::1] 127.0.0.1"}, "GET /");
    static const char *const good[] = {"example.org", "EXAMPLE.org:8080", "example.org.",
                                       "[::1]",       "[::1]:80",         "127.0.0.1:1"};
    static const char *const bad[] = {"www.example.org", "example.orgs", "xample.org", "[::2]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ask_host("/", good[i]);
        expect_answer(200, "org");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ask_host("/", bad[i]);
        expect_status(404);
    }
    as(1);
    say("GET / HTTP/1.0\r\n\r\n");
    expect_status(404);
}

static void a_star_stands_for_labels_in_front(void **state)
{
    (void)state;
    app_with("below", &(rv_app_options){.hosts = "*.example.org"}, "GET /");
    ask_host("/", "a.example.org:81");
    expect_answer(200, "below");
    ask_host("/", "a.b.EXAMPLE.org");
    expect_answer(200, "below");
    ask_host("/", "example.org");
    expect_status(404);
    ask_host("/", ".example.org");
    expect_status(404);
    ask_host("/", "aexample.org");
    expect_status(404);
}

static void an_app_with_hosts_goes_before_a_longer_mount(void **state)
{
    (void)state;
    app_with("mounted", &(rv_app_options){.mount = "/a"}, "GET /b");
    app_with("hosted", &(rv_app_options){.hosts = "example.org"}, "GET /a/b");
    ask_host("/a/b", "example.org");
    expect_answer(200, "hosted");
    ask_host("/a/b", "example.com");
    expect_answer(200, "mounted");
}

static void methods_of_all_apps_are_allowed(void **state)
{
    (void)state;
    app_with("one", NULL, "GET /x");
    app_with("two", NULL, "PUT /x");
    route("POST /x", say_name, "default");
    request("DELETE", "/x", NULL);
    expect_status(405);
    expect_field("Allow", "GET, HEAD, PUT, POST, OPTIONS");
    request("OPTIONS", "/x", NULL);
    expect_status(204);
    expect_field("Allow", "GET, HEAD, PUT, POST, OPTIONS");
    request("POST", "/x", "Content-Length: 0\r\n");
    expect_answer(200, "default");
}

/* ---- resolve ------------------------------------------------------------------------------------- */

static int say_all(rv_talk *talk, void *ctx)
{
    char text[200];
    rv_bytes body = rv_body(talk);
    snprintf(text, sizeof text, "%s %.*s", (const char *)ctx, (int)body.len, body.ptr);
    return rv_text(talk, 200, text);
}

static bool by_query(rv_talk *talk, rv_resolution *found, void *ctx)
{
    assert_string_equal(ctx, "mine");
    if (!rv_equals(rv_param(talk, "who"), "re solve"))
        return false;
    found->handler = say_all;
    found->ctx = "resolved";
    found->options.body_bytes_max = 5;
    return true;
}

static void a_callback_decides_before_the_routes(void **state)
{
    (void)state;
    app_with("routed", &(rv_app_options){.resolve = by_query, .ctx = "mine"}, "* /x");
    get("/x");
    expect_answer(200, "routed");
    get("/x?who=re+solve");
    expect_answer(200, "resolved ");
    get("/anything?who=re%20solve");
    expect_answer(200, "resolved ");
    request("POST", "/?who=re+solve", "Content-Length: 5\r\n");
    say("12345");
    expect_answer(200, "resolved 12345");
    request("POST", "/?who=re+solve", "Content-Length: 6\r\n");
    expect_status(413);
}

static void the_default_app_has_a_callback_as_well(void **state)
{
    (void)state;
    route("GET /x", say_name, "routed");
    assert_int_equal(
        rv_app_set(rv_default_app(tested), &(rv_app_options){.resolve = by_query, .ctx = "mine"}),
        0);
    get("/x?who=re+solve");
    expect_answer(200, "resolved ");
    get("/x");
    expect_answer(200, "routed");
}

static bool yes_without_a_handler(rv_talk *talk, rv_resolution *found, void *ctx)
{
    (void)talk, (void)found, (void)ctx;
    return true;
}

static void a_callback_without_a_handler_has_found_nothing(void **state)
{
    (void)state;
    app_with("x", &(rv_app_options){.resolve = yes_without_a_handler}, "GET /x");
    get("/x");
    expect_answer(200, "x");
    get("/y");
    expect_status(404);
}

/* ---- what apps add -------------------------------------------------------------------------------- */

#define HEADERS(...) ((const rv_default_header[]){__VA_ARGS__, {NULL, NULL}})

static int with_own(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "x-frame-options", "SAMEORIGIN");
    return rv_text(talk, 200, "own");
}

static int fails(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    return RV_EIO;
}

static void default_fields_are_on_every_response(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){
        .default_headers = HEADERS({"X-Frame-Options", "DENY"}, {"X-Of", " server "})});
    rv_app *app = app_with(
        "app", &(rv_app_options){.mount = "/app", .default_headers = HEADERS({"x-of", "app"})},
        "GET /x");
    assert_int_equal(rv_route(app, "GET /own", with_own, NULL), 0);
    assert_int_equal(rv_route(app, "GET /fails", fails, NULL), 0);
    route("GET /x", say_name, "default");
    static const char *const paths[][3] = {
        {"/x", "server", "DENY"},      {"/app/x", "app", "DENY"},
        {"/app/none", "app", "DENY"},  {"/none", "server", "DENY"},
        {"/app/fails", "app", "DENY"}, {"/app/own", "app", "SAMEORIGIN"},
        {"/%zz", "server", "DENY"}};
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            get(paths[i][0]);
            expect_status(i < 2 || i == 5 ? 200 : i == 4 ? 500 : i == 6 ? 400 : 404);
            expect_field("X-Of", paths[i][1]);
            expect_field("X-Frame-Options", paths[i][2]);
        }
    say("GET  / HTTP/1.1\r\n\r\n");
    expect_status(400);
    expect_field("X-Frame-Options", "DENY");
}

static void an_app_may_close_its_connections(void **state)
{
    (void)state;
    app_with("app", &(rv_app_options){.mount = "/app", .no_keep_alive = true}, "GET /x");
    route("GET /x", say_name, "default");
    get("/x");
    expect_answer(200, "default");
    expect_field("Connection", NULL);
    get("/app/x");
    expect_answer(200, "app");
    expect_field("Connection", "close");
    expect_closed();
}

/* ---- errors in an app's style ---------------------------------------------------------------------- */

static int in_json(rv_talk *talk, int status, const char *detail, void *ctx)
{
    char text[200];
    (void)ctx;
    snprintf(text, sizeof text, "{\"error\":%d,\"detail\":\"%s\"}", status,
             detail == NULL ? "" : detail);
    return rv_json(talk, status, text);
}

static int refuse(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_problem(talk, 422, "no");
}

static void errors_come_in_the_style_of_their_app(void **state)
{
    (void)state;
    rv_app *app =
        app_with("app", &(rv_app_options){.mount = "/api", .on_problem = in_json}, "GET /x");
    assert_int_equal(rv_route(app, "GET /refuse", refuse, NULL), 0);
    assert_int_equal(rv_route(app, "GET /fails", fails, NULL), 0);
    assert_int_equal(
        rv_route_with(app, "GET /pool", refuse, NULL, &(rv_route_options){.run = RV_ON_POOL}), 0);
    assert_int_equal(
        rv_route_with(app, "POST /x", say_all, "x", &(rv_route_options){.body_bytes_max = 1}), 0);
    get("/api/none");
    expect_answer(404, "{\"error\":404,\"detail\":\"\"}");
    expect_field("Content-Type", "application/json");
    get("/api/refuse");
    expect_answer(422, "{\"error\":422,\"detail\":\"no\"}");
    get("/api/pool");
    expect_answer(422, "{\"error\":422,\"detail\":\"no\"}");
    get("/api/fails");
    expect_answer(500, "{\"error\":500,\"detail\":\"\"}");
    request("PUT", "/api/x", "Content-Length: 0\r\n");
    expect_answer(405, "{\"error\":405,\"detail\":\"\"}");
    expect_field("Allow", "GET, HEAD, POST, OPTIONS");
    get("/none");
    expect_answer(404, "404 Not Found\n");
    request("POST", "/api/x", "Content-Length: 2\r\n");
    expect_status(413);
    expect_field("Content-Type", "application/json");
}

static int only_for_404(rv_talk *talk, int status, const char *detail, void *ctx)
{
    (void)ctx;
    if (status == 500)
        return rv_problem(talk, status, "plain");
    if (status == 422)
        return RV_EIO;
    assert_null(detail);
    rv_begin(talk, status);
    rv_write(talk, RV_LIT("streamed"));
    return RV_OK;
}

static void a_style_may_leave_errors_to_the_library(void **state)
{
    (void)state;
    route("GET /fails", fails, NULL);
    route("GET /refuse", refuse, NULL);
    assert_int_equal(
        rv_app_set(rv_default_app(tested), &(rv_app_options){.on_problem = only_for_404}), 0);
    get("/fails");
    expect_answer(500, "500 Internal Server Error\nplain\n");
    get("/refuse");
    expect_answer(422, "422 Unprocessable Content\nno\n");
    get("/none");
    expect_answer(404, "streamed");
    get("/none");
    expect_answer(404, "streamed");
}

/* ---- what is refused --------------------------------------------------------------------------------- */

static void wrong_options_are_named(void **state)
{
    (void)state;
    const struct {
        rv_app_options options;
        const char *text;
    } wrong[] = {
        {{.mount = "api"}, "app option mount: must be like \"/api\", without any of ; ? # % { }"},
        {{.mount = "/a//b"}, "app option mount: must be like \"/api\", without any of ; ? # % { }"},
        {{.mount = "/{x}"}, "app option mount: must be like \"/api\", without any of ; ? # % { }"},
        {{.hosts = "a:80"}, "app option hosts: must be names without a port, separated by spaces"},
        {{.hosts = "b a.*.c"},
         "app option hosts: must be names without a port, separated by spaces"},
        {{.default_headers = HEADERS({"A B", "c"})},
         "app option default_headers: a name that is no token"},
        {{.default_headers = HEADERS({"A", "b"}, {"A", "\n"})},
         "app option default_headers: a value that cannot stand in a field"},
        {{.default_headers = HEADERS({"content-length", "1"})},
         "app option default_headers: a field that the library or each answer sets"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tested_with(NULL);
        rv_app_new(tested, &wrong[i].options);
        assert_string_equal(rv_server_error_text(tested), wrong[i].text);
        assert_null(rv_test_new(tested));
    }
    tested_with(&(rv_server_options){.default_headers = HEADERS({"Date", "now"})});
    assert_string_equal(rv_server_error_text(tested),
                        "option default_headers: a field that the library or each answer sets");
    tested_with(NULL);
    assert_int_equal(rv_app_set(rv_default_app(tested), &(rv_app_options){.mount = "/a"}),
                     RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested),
                        "app option mount: the default app is for every path and host");
}

static void nothing_is_added_after_the_start(void **state)
{
    (void)state;
    rv_app *app = app_with("app", NULL, "GET /x");
    client();
    assert_null(rv_app_new(tested, NULL));
    assert_string_equal(rv_server_error_text(tested), "apps are made before the start");
    assert_int_equal(rv_app_set(app, NULL), RV_ESTATE);
    assert_int_equal(rv_before(app, NULL, refuse, NULL), RV_ESTATE);
    assert_int_equal(rv_route(app, "GET /y", refuse, NULL), RV_ESTATE);
    get("/x");
    expect_answer(200, "app");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(the_default_app_answers_what_the_others_leave),
        FACT(of_equals_the_first_that_was_made_answers),
        FACT(the_longest_mount_is_asked_first),
        FACT(a_mount_covers_whole_segments),
        FACT(a_mount_itself_is_the_root_of_its_app),
        FACT(parameters_are_found_below_a_mount),
        FACT(hosts_are_matched_in_any_case_and_without_port),
        FACT(a_star_stands_for_labels_in_front),
        FACT(an_app_with_hosts_goes_before_a_longer_mount),
        FACT(methods_of_all_apps_are_allowed),
        FACT(a_callback_decides_before_the_routes),
        FACT(the_default_app_has_a_callback_as_well),
        FACT(a_callback_without_a_handler_has_found_nothing),
        FACT(default_fields_are_on_every_response),
        FACT(an_app_may_close_its_connections),
        FACT(errors_come_in_the_style_of_their_app),
        FACT(a_style_may_leave_errors_to_the_library),
        FACT(wrong_options_are_named),
        FACT(nothing_is_added_after_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
