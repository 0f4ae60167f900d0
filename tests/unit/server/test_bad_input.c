/*
 * Facts about what clients get wrong: each kind has its status, is told to the program once and in words,
 * and costs nobody else anything.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "while reading a request head"
#define ROUTING "while routing a request"
#define BODY "while reading the request body"
#define FORM "while reading a form"
#define RANGE "while reading a Range field"

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "hello");
}

static int need_form(rv_talk *talk, void *ctx)
{
    rv_error error = rv_form_check(talk);
    (void)ctx;
    if (error == 0)
        error = rv_form_check(talk);
    return error != 0 ? error : rv_text(talk, 200, "form");
}

static int open_part(rv_talk *talk, const rv_part *part, void *ctx)
{
    (void)talk, (void)part, (void)ctx;
    return RV_OK;
}

static int take_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    (void)talk, (void)octets, (void)ctx;
    return RV_OK;
}

static int parts_done(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "parts");
}

static int take_parts(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_on_parts(
        talk, &(rv_parts){.open = open_part, .data = take_data, .done = parts_done, .parts_max = 2},
        NULL);
}

static int show_cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_bytes value = rv_cookie(talk, "b");
    rv_cookie(talk, "none");
    return rv_reply(talk, 200, "text/plain", value.ptr == NULL ? RV_LIT("none") : value);
}

static const rv_asset asset[] = {{"a", "0123456789", 10, "text/plain", "\"a\"", 0}};

static int set_up(void **state)
{
    tested_set_up(state);
    tested_with(&(rv_server_options){.workers = 1,
                                     .limits = {.body_bytes_max = 1000,
                                                .target_bytes_max = 200,
                                                .head_bytes_max = 1000,
                                                .head_fields_max = 10,
                                                .form_fields_max = 3,
                                                .head_timeout_ms = 1000,
                                                .body_grace_ms = 1000,
                                                .idle_timeout_ms = 100000}});
    route("GET /", hello, NULL);
    route("POST /", hello, NULL);
    route("POST /form", need_form, NULL);
    route_with("POST /parts", take_parts, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route_with("POST /length", hello, NULL, (rv_route_options){.length_required = true});
    route("GET /cookies", show_cookies, NULL);
    assert_int_equal(rv_assets(rv_default_app(tested), "/assets", asset, 1), 0);
    return 0;
}

/* Another client is served whatever this one does. */
static void expect_no_harm(void)
{
    as(7);
    get("/");
    expect_answer(200, "hello");
    assert_int_equal(bad_inputs_told, 0);
    assert_int_equal(errors_told, 0);
}

/* ---- what cannot be read ------------------------------------------------------------------------- */

struct bad {
    const char *octets;
    int status;
    const char *doing, *detail;
};

/* Each from a client of its own. */
static void expect_all(const struct bad *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        as((unsigned)(i % 7));
        say(bad[i].octets);
        expect_status(bad[i].status);
        expect_bad_input(bad[i].status, bad[i].doing, bad[i].detail);
    }
    expect_no_harm();
}

static void heads_that_are_malformed(void **state)
{
    (void)state;
    char long_target[300] = "GET /", long_field[1200] = "GET / HTTP/1.1\r\nHost: t\r\nX: ",
         many[400] = "GET / HTTP/1.1\r\nHost: t\r\n";
    memset(long_target + 5, 'x', 220);
    strcat(long_target, " HTTP/1.1\r\n\r\n");
    memset(long_field + strlen(long_field), 'x', 1000);
    strcat(long_field, "\r\n\r\n");
    for (int i = 0; i < 20; i++)
        strcat(many, "X: y\r\n");
    const struct {
        const char *octets;
        int status;
    } bad[] = {{"GET / HTTP/1.1\r\n\r\n", 400},
               {"G(T / HTTP/1.1\r\nHost: t\r\n\r\n", 400},
               {"GET / HTTP/1.1\r\nHost: t\r\nNo colon\r\n\r\n", 400},
               {"GET / HTTP/3.0\r\nHost: t\r\n\r\n", 505},
               {long_target, 414},
               {long_field, 431},
               {many, 431}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        as((unsigned)i);
        say(bad[i].octets);
        expect_status(bad[i].status);
        assert_int_equal(bad_inputs_told, 1);
        assert_int_equal(last_bad_status, bad[i].status);
        assert_string_equal(last_bad_doing, HEAD);
        assert_true(strlen(last_bad_detail) > 10);
        bad_inputs_told = 0;
        expect_closed();
    }
    expect_no_harm();
}

static void octets_of_another_protocol(void **state)
{
    (void)state;
    say("USER guest host name\r\n");
    expect_bad_input(0, HEAD, "What has come is not HTTP: the connection is ended.");
    expect_no_harm();
}

static void a_head_that_comes_too_slowly(void **state)
{
    (void)state;
    say("GET / HT");
    advance_ms(1100);
    expect_status(408);
    expect_bad_input(408, HEAD, "The request head did not arrive in time.");
    expect_no_harm();
}

static void one_that_is_silent_has_done_nothing_wrong(void **state)
{
    (void)state;
    client();
    advance_ms(1100);
    expect_status(408);
    assert_int_equal(bad_inputs_told, 0);
    expect_no_harm();
}

/* ---- paths and what goes with them ----------------------------------------------------------------- */

static void paths_and_requests_that_make_no_sense(void **state)
{
    (void)state;
    static const struct bad bad[] = {
        {"GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n", 400, ROUTING,
         "The path has a % that no two hexadecimal digits follow."},
        {"GET /a%00b HTTP/1.1\r\nHost: t\r\n\r\n", 400, ROUTING, "The path has an encoded NUL."},
        {"GET /../a HTTP/1.1\r\nHost: t\r\n\r\n", 400, ROUTING, "The path leads above the root."},
        {"GET / HTTP/1.1\r\nHost: t\r\nExpect: miracles\r\n\r\n", 417, ROUTING,
         "The only expectation that this server knows is 100-continue."},
        {"CONNECT t:80 HTTP/1.1\r\nHost: t:80\r\n\r\n", 501, ROUTING, "This server is no tunnel."},
    };
    expect_all(bad, sizeof bad / sizeof *bad);
}

static void what_is_only_not_there_is_not_told(void **state)
{
    (void)state;
    get("/none");
    expect_status(404);
    request("DELETE", "/", NULL);
    expect_status(405);
    request("GET", "/assets/a", "If-None-Match: \"a\"\r\n");
    expect_status(304);
    request("GET", "/assets/a", "If-Match: \"b\"\r\n");
    expect_status(412);
    expect_no_harm();
}

/* ---- bodies ------------------------------------------------------------------------------------------ */

static void bodies_that_are_too_long_or_malformed(void **state)
{
    (void)state;
    static const struct bad bad[] = {
        {"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n", 413, ROUTING,
         "The request body is larger than the server accepts."},
        {"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", 413, BODY,
         "The request body is larger than the server accepts."},
        {"POST /length HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411,
         ROUTING, "This resource needs a Content-Length."},
    };
    expect_all(bad, sizeof bad / sizeof *bad);
    as(4);
    say("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    expect_status(400);
    assert_string_equal(last_bad_doing, BODY);
    assert_int_equal(last_bad_status, 400);
    assert_int_equal(bad_inputs_told, 1);
    bad_inputs_told = 0;
    expect_no_harm();
}

static void a_body_that_comes_too_slowly(void **state)
{
    (void)state;
    say("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 900\r\n\r\nx");
    advance_ms(2100);
    expect_status(408);
    expect_bad_input(408, BODY, "The request body arrives too slowly.");
    expect_no_harm();
}

/* ---- forms ------------------------------------------------------------------------------------------- */

static void post(const char *path, const char *type, const char *body)
{
    char fields[300];
    snprintf(fields, sizeof fields, "Content-Type: %s\r\nContent-Length: %zu\r\n", type,
             strlen(body));
    request("POST", path, fields);
    if (*body != '\0')
        say(body);
}

static void forms_that_cannot_be_used(void **state)
{
    (void)state;
    post("/form", "application/x-www-form-urlencoded", "a=%zz");
    expect_status(400);
    expect_bad_input(400, FORM, "A \"%\" in the form is not followed by two hexadecimal digits.");
    post("/form", "application/x-www-form-urlencoded", "a&b&c&d");
    expect_status(413);
    expect_bad_input(413, FORM, "The form has too many fields.");
    post("/form", "multipart/form-data; boundary=x", "no boundary at all");
    expect_status(400);
    assert_int_equal(bad_inputs_told, 1);
    assert_string_equal(last_bad_doing, FORM);
    bad_inputs_told = 0;
    post("/form", "application/x-www-form-urlencoded", "a=1");
    expect_answer(200, "form");
    expect_no_harm();
}

static void boundaries_and_parts_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body;
        int status;
    } bad[] = {{"text/plain", "x", 415},
               {"multipart/form-data", "x", 400},
               {"multipart/form-data; boundary=", "x", 400},
               {"multipart/form-data; boundary=\"x", "x", 400},
               {"multipart/form-data; boundary=x", "--x\r\nno colon\r\n\r\n\r\n--x--\r\n", 400},
               {"multipart/form-data; boundary=x", "--y--\r\n", 400}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        as((unsigned)i);
        post("/parts", bad[i].type, bad[i].body);
        expect_status(bad[i].status);
        assert_int_equal(bad_inputs_told, 1);
        assert_int_equal(last_bad_status, bad[i].status);
        assert_string_equal(last_bad_doing, FORM);
        assert_true(strlen(last_bad_detail) > 10);
        bad_inputs_told = 0;
    }
    expect_no_harm();
}

static void more_parts_than_are_taken(void **state)
{
    (void)state;
    post("/parts", "multipart/form-data; boundary=x",
         "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n"
         "--x\r\nContent-Disposition: form-data; name=b\r\n\r\n2\r\n"
         "--x\r\nContent-Disposition: form-data; name=c\r\n\r\n3\r\n--x--\r\n");
    expect_status(413);
    assert_int_equal(bad_inputs_told, 1);
    assert_int_equal(last_bad_status, 413);
    bad_inputs_told = 0;
    expect_no_harm();
}

/* ---- ranges and cookies ------------------------------------------------------------------------------ */

static void ranges(void **state)
{
    (void)state;
    static const char *const none[] = {"Range: bytes=x\r\n", "Range: bytes=5-2\r\n",
                                       "Range: bytes\r\n", "Range: bytes=\r\n"};
    request("GET", "/assets/a", "Range: bytes=10-\r\n");
    expect_status(416);
    expect_field("Content-Range", "bytes */10");
    expect_bad_input(416, RANGE, "There is no such range in what was asked for.");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        request("GET", "/assets/a", none[i]);
        expect_answer(200, "0123456789");
        expect_bad_input(0, RANGE, "A Range that is none, or too much, was passed over.");
    }
    request("GET", "/assets/a", "Range: bytes=1-2\r\n");
    expect_answer(206, "12");
    expect_no_harm();
}

static void cookies(void **state)
{
    (void)state;
    static const char *const bad[] = {"Cookie: a; b=2\r\n", "Cookie: =1; b=2\r\n",
                                      "Cookie: b=2; ;;x\r\n", "Cookie: b=2\r\nCookie: c\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        request("GET", "/cookies", bad[i]);
        expect_answer(200, "2"); /* the others are there */
        expect_bad_input(0, "while reading cookies", "What is no name=value was passed over.");
    }
    request("GET", "/cookies", "Cookie: a=1; b=2;\r\n");
    expect_answer(200, "2");
    get("/cookies");
    expect_answer(200, "none");
    expect_no_harm();
}

static void the_pool_tells_as_well(void **state)
{
    (void)state;
    tested_with(NULL);
    route("GET /", hello, NULL);
    route_with("GET /cookies", show_cookies, NULL, (rv_route_options){.run = RV_ON_POOL});
    request("GET", "/cookies", "Cookie: a; b=2\r\n");
    expect_answer(200, "2");
    expect_bad_input(0, "while reading cookies", "What is no name=value was passed over.");
    expect_no_harm();
}

/* ---- uploads ----------------------------------------------------------------------------------------- */

static int upload_done(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx)
{
    (void)parts, (void)count, (void)ctx;
    return rv_text(talk, 201, "");
}

static int put_file(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_upload_body(talk, rv_param(talk, "name"),
                          &(rv_upload_options){.directory = "/tmp", .done = upload_done}, NULL);
}

static void names_of_uploads(void **state)
{
    (void)state;
    tested_with(NULL);
    route("GET /", hello, NULL);
    route_with("PUT /{name}", put_file, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    request("PUT", "/a%2Fb", "Content-Length: 0\r\n");
    expect_status(400);
    assert_int_equal(bad_inputs_told, 1);
    assert_string_equal(last_bad_doing, "while beginning an upload");
    bad_inputs_told = 0;
    expect_no_harm();
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(heads_that_are_malformed),
        FACT(octets_of_another_protocol),
        FACT(a_head_that_comes_too_slowly),
        FACT(one_that_is_silent_has_done_nothing_wrong),
        FACT(paths_and_requests_that_make_no_sense),
        FACT(what_is_only_not_there_is_not_told),
        FACT(bodies_that_are_too_long_or_malformed),
        FACT(a_body_that_comes_too_slowly),
        FACT(forms_that_cannot_be_used),
        FACT(boundaries_and_parts_that_are_none),
        FACT(more_parts_than_are_taken),
        FACT(ranges),
        FACT(cookies),
        FACT(the_pool_tells_as_well),
        FACT(names_of_uploads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
