/*
 * Facts about what a handler sees of a request (step 2 of rivulet.h), and about the requests that never
 * reach one.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Nouns are looked at by a handler and compared by the test: text of "-" stands for absent. */
struct seen {
    char text[512];
};

static struct seen text_of(rv_bytes bytes)
{
    struct seen seen;
    if (bytes.ptr == NULL)
        snprintf(seen.text, sizeof seen.text, "-");
    else
        snprintf(seen.text, sizeof seen.text, "%.*s", (int)bytes.len, bytes.ptr);
    return seen;
}

static int show(rv_talk *talk, rv_bytes bytes)
{
    return rv_text(talk, 200, text_of(bytes).text);
}

typedef rv_bytes (*noun)(const rv_talk *talk);

static int show_noun(rv_talk *talk, void *ctx)
{
    return show(talk, (*(const noun *)ctx)(talk));
}

/* Routes every path to what the noun says. */
static void watch(const noun *which)
{
    route("* /{all...}", show_noun, (void *)(uintptr_t)which);
}

static const noun method = rv_method, target = rv_target, path = rv_path, query = rv_query,
                  host = rv_host, scheme = rv_scheme, peer = rv_peer,
                  path_extension = rv_path_extension, content_type = rv_content_type,
                  charset = rv_charset;

/* ---- the request line -------------------------------------------------------------------------- */

static void the_method_is_as_it_was_sent(void **state)
{
    (void)state;
    watch(&method);
    request("DELETE", "/", NULL);
    expect_answer(200, "DELETE");
    request("Mkcol", "/", NULL);
    expect_answer(200, "Mkcol");
}

static void the_target_is_as_it_was_sent(void **state)
{
    (void)state;
    watch(&target);
    get("/a/./b/%7Ec?x=%20&y");
    expect_answer(200, "/a/./b/%7Ec?x=%20&y");
    get("http://other/a?b");
    expect_answer(200, "http://other/a?b");
}

static void the_path_is_decoded_and_has_no_dot_segments(void **state)
{
    (void)state;
    static const char *const paths[][2] = {
        {"/", "/"},           {"/a/b", "/a/b"},     {"/a%20b", "/a b"},
        {"/a/./b", "/a/b"},   {"/a/../b", "/b"},    {"/a/b/..", "/a/"},
        {"/%61%2Fb", "/a/b"}, {"/a%2520", "/a%20"}, {"/a//b", "/a//b"},
        {"/a?b=/../c", "/a"}, {"/a+b", "/a+b"},     {"http://other/a/../b?c", "/b"}};
    watch(&path);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        get(paths[i][0]);
        expect_answer(200, paths[i][1]);
    }
}

static void path_parameters_are_behind_the_path(void **state)
{
    (void)state;
    static const char *const targets[][3] = {
        {"/a", "/a", "-"},           {"/a;", "/a", ""},
        {"/a;sid=1", "/a", "sid=1"}, {"/a;x=1/b;y;z?q;r", "/a/b", "y;z"},
        {"/a;x/b", "/a/b", "-"},     {"/a%3Bx", "/a;x", "-"},
        {"/;x", "/", "x"},           {"/a/..;x/b", "/b", "-"},
        {"/a/;x", "/a/", "x"}};
    watch(&path);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        get(targets[i][0]);
        expect_answer(200, targets[i][1]);
    }
    tested_with(NULL);
    watch(&path_extension);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        get(targets[i][0]);
        expect_answer(200, targets[i][2]);
    }
    get("/..;x");
    expect_status(400);
}

static int show_extension_param(rv_talk *talk, void *ctx)
{
    return show(talk, rv_path_extension_param(talk, ctx));
}

static void path_parameters_have_names(void **state)
{
    (void)state;
    route("GET /a", show_extension_param, "sid");
    static const char *const targets[][2] = {{"/a", "-"},
                                             {"/a;sid", ""},
                                             {"/a;sid=", ""},
                                             {"/a;sid=7;sid=8", "7"},
                                             {"/a;x=1;s%69d=a%20b+c", "a b+c"},
                                             {"/a;sidx=1;si=2", "-"}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        get(targets[i][0]);
        expect_answer(200, targets[i][1]);
    }
}

static int show_port(rv_talk *talk, void *ctx)
{
    char text[540];
    rv_bytes name = rv_host_name(talk);
    (void)ctx;
    snprintf(text, sizeof text, "%s %d", text_of(name).text, rv_port(talk));
    return rv_text(talk, 200, text);
}

static void the_host_has_a_name_and_a_port(void **state)
{
    (void)state;
    static const char *const hosts[][2] = {{"example.org", "example.org 80"},
                                           {"example.org:8080", "example.org 8080"},
                                           {"example.org:", "example.org 80"},
                                           {"10.0.0.1", "10.0.0.1 80"},
                                           {"[::1]", "[::1] 80"},
                                           {"[::1]:65535", "[::1] 65535"}};
    route("GET /", show_port, NULL);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char text[100];
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i][0]);
        say(text);
        expect_answer(200, hosts[i][1]);
    }
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(200, "- 80");
}

static void content_has_a_type_and_a_charset(void **state)
{
    (void)state;
    static const char *const fields[][3] = {
        {NULL, "-", "-"},
        {"Content-Type: text/plain\r\n", "text/plain", "-"},
        {"Content-Type: Text/HTML ; charset=\"UTF-8\"\r\n", "Text/HTML", "UTF-8"},
        {"Content-Type: text/plain; a=b; Charset=latin1\r\n", "text/plain", "latin1"}};
    watch(&content_type);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        request("GET", "/", fields[i][0]);
        expect_answer(200, fields[i][1]);
    }
    tested_with(NULL);
    watch(&charset);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        request("GET", "/", fields[i][0]);
        expect_answer(200, fields[i][2]);
    }
}

static void a_target_without_a_path_is_the_root(void **state)
{
    (void)state;
    watch(&path);
    get("http://other");
    expect_answer(200, "/");
    get("http://other?a=b");
    expect_answer(200, "/");
}

static void the_query_is_what_follows_the_question_mark(void **state)
{
    (void)state;
    watch(&query);
    get("/a?b=%20&c?d");
    expect_answer(200, "b=%20&c?d");
    get("/a?");
    expect_answer(200, "");
    get("/a");
    expect_answer(200, "-");
    get("http://other?a=b");
    expect_answer(200, "a=b");
}

static void the_host_is_the_targets_or_the_fields(void **state)
{
    (void)state;
    watch(&host);
    get("/");
    expect_answer(200, "test");
    get("http://other:81/");
    expect_answer(200, "other:81");
    say("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
    expect_answer(200, "[::1]:8080");
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(200, "-");
}

static void the_scheme_is_http(void **state)
{
    (void)state;
    watch(&scheme);
    get("/");
    expect_answer(200, "http");
}

static void the_peer_of_a_client_without_an_address_is_empty(void **state)
{
    (void)state;
    watch(&peer);
    get("/");
    expect_answer(200, "");
}

static int show_minor(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, rv_http_minor(talk) == 0 ? "0" : "1");
}

static void the_version_is_told(void **state)
{
    (void)state;
    route("GET /", show_minor, NULL);
    get("/");
    expect_answer(200, "1");
    say("GET / HTTP/1.2\r\nHost: test\r\n\r\n");
    expect_answer(200, "1");
    say("GET / HTTP/1.0\r\n\r\n");
    expect_answer(200, "0");
}

/* ---- fields ------------------------------------------------------------------------------------ */

static int show_field(rv_talk *talk, void *ctx)
{
    return show(talk, rv_header(talk, ctx));
}

static char field_name[] = "X-Shown";

static void a_field_is_found_whatever_the_case_of_its_name(void **state)
{
    (void)state;
    route("GET /", show_field, field_name);
    request("GET", "/", "x-sHOWN: value\r\n");
    expect_answer(200, "value");
}

static void the_first_of_several_fields_is_found(void **state)
{
    (void)state;
    route("GET /", show_field, field_name);
    request("GET", "/", "X-Show: short\r\nX-Shown: one\r\nX-Shown: two\r\nX-Shown2: long\r\n");
    expect_answer(200, "one");
}

static void an_empty_field_is_not_an_absent_one(void **state)
{
    (void)state;
    route("GET /", show_field, field_name);
    request("GET", "/", "X-Shown:\r\n");
    expect_answer(200, "");
    request("GET", "/", "X-Shown: \t \r\n");
    expect_answer(200, "");
    get("/");
    expect_answer(200, "-");
}

static int show_all_fields(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[512] = "";
    size_t used = 0;
    rv_bytes name, value;
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s;", (int)name.len,
                                 name.ptr, (int)value.len, value.ptr);
    return rv_text(talk, 200, text);
}

static void fields_are_listed_as_they_arrived(void **state)
{
    (void)state;
    route("GET /", show_all_fields, NULL);
    request("GET", "/", "B: 2\r\na:  1 \r\nB: 3, 4\r\nEmpty:\r\n");
    expect_answer(200, "Host=test;B=2;a=1;B=3, 4;Empty=;");
}

static int show_content_length(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)rv_content_length(talk));
    return rv_text(talk, 200, text);
}

static void the_content_length_is_a_number_or_none(void **state)
{
    (void)state;
    route("POST /", show_content_length, NULL);
    say("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc");
    expect_answer(200, "3");
    say("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    expect_answer(200, "0");
    say("POST / HTTP/1.1\r\nHost: test\r\n\r\n");
    expect_answer(200, "-1");
    say("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n");
    expect_answer(200, "-1");
}

/* ---- parameters -------------------------------------------------------------------------------- */

static int show_param(rv_talk *talk, void *ctx)
{
    return show(talk, rv_param(talk, ctx));
}

static char param_name[] = "id";

static void a_parameter_of_the_path_is_decoded(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"/users/7", "7"},       {"/users/a%20b", "a b"},
                                           {"/users/a%2Fb", "a/b"}, {"/users/a+b", "a+b"},
                                           {"/users/%2541", "%41"}, {"/x/../users/7", "7"},
                                           {"/users/7?id=8", "7"}};
    route("GET /users/{id}", show_param, param_name);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        get(paths[i][0]);
        expect_answer(200, paths[i][1]);
    }
}

static void a_rest_is_decoded_with_its_slashes(void **state)
{
    (void)state;
    route("GET /files/{id...}", show_param, param_name);
    get("/files/a/b%20c/d%2Fe");
    expect_answer(200, "a/b c/d/e");
    get("/files/");
    expect_answer(200, "");
}

static void a_parameter_of_the_query_is_decoded(void **state)
{
    (void)state;
    static const char *const queries[][2] = {{"/?id=7", "7"},
                                             {"/?a=1&id=7&b=2", "7"},
                                             {"/?id=7&id=8", "7"},
                                             {"/?id=a+b%2Bc", "a b+c"},
                                             {"/?%69d=7", "7"},
                                             {"/?id=a=b", "a=b"},
                                             {"/?id=", ""},
                                             {"/?id", ""},
                                             {"/?id=%zz", "%zz"},
                                             {"/?&&id=7&", "7"},
                                             {"/?ids=7", "-"},
                                             {"/?i=7", "-"},
                                             {"/?ID=7", "-"},
                                             {"/?", "-"},
                                             {"/", "-"}};
    route("GET /", show_param, param_name);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        get(queries[i][0]);
        expect_answer(200, queries[i][1]);
    }
}

struct bounds {
    int64_t min, max;
};

/* Answers with the error and the value, which is 42 when it was left alone. */
static int show_int(rv_talk *talk, void *ctx)
{
    const struct bounds *bounds = ctx;
    int64_t value = 42;
    rv_error error = rv_param_int(talk, "n", bounds->min, bounds->max, &value);
    char text[64];
    snprintf(text, sizeof text, "%d %lld", error, (long long)value);
    return rv_text(talk, 200, text);
}

static void expect_int(const char *text, rv_error error, const char *value)
{
    char asked[128], expected[64];
    snprintf(asked, sizeof asked, "/?n=%s", text);
    snprintf(expected, sizeof expected, "%d %s", error, value);
    get(asked);
    expect_answer(200, expected);
}

static void a_number_within_its_bounds_is_taken(void **state)
{
    (void)state;
    struct bounds bounds = {-10, 1000};
    route("GET /", show_int, &bounds);
    expect_int("0", 0, "0");
    expect_int("-10", 0, "-10");
    expect_int("1000", 0, "1000");
    expect_int("0007", 0, "7");
    expect_int("-0", 0, "0");
}

static void a_number_outside_its_bounds_is_over_a_limit(void **state)
{
    (void)state;
    struct bounds bounds = {-10, 1000};
    route("GET /", show_int, &bounds);
    expect_int("1001", RV_ELIMIT, "42");
    expect_int("-11", RV_ELIMIT, "42");
    expect_int("9223372036854775808", RV_ELIMIT, "42");
    expect_int("99999999999999999999999999", RV_ELIMIT, "42");
    expect_int("-99999999999999999999999999", RV_ELIMIT, "42");
}

static void what_is_no_number_is_invalid(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "-",   "a",   "1a", "a1",   "1.0",  "1e3",
                                        "%2B1", "0x1", "--1", "+1", "1%20", "%201", "1%00"};
    struct bounds bounds = {-10, 1000};
    route("GET /", show_int, &bounds);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_int(texts[i], RV_EINVAL, "42");
}

static void a_number_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct bounds bounds = {-10, 1000};
    route("GET /", show_int, &bounds);
    get("/?m=1");
    char expected[64];
    snprintf(expected, sizeof expected, "%d 42", RV_ENOTFOUND);
    expect_answer(200, expected);
}

static void the_whole_range_of_64_bits_is_open(void **state)
{
    (void)state;
    struct bounds bounds = {INT64_MIN, INT64_MAX};
    route("GET /", show_int, &bounds);
    expect_int("9223372036854775807", 0, "9223372036854775807");
    expect_int("-9223372036854775807", 0, "-9223372036854775807");
    expect_int("-9223372036854775808", 0, "-9223372036854775808");
    expect_int("9223372036854775808", RV_ELIMIT, "42");
    expect_int("-9223372036854775809", RV_ELIMIT, "42");
    expect_int("18446744073709551617", RV_ELIMIT, "42");
}

/* ---- cookies ----------------------------------------------------------------------------------- */

static int show_cookie(rv_talk *talk, void *ctx)
{
    return show(talk, rv_cookie(talk, ctx));
}

static char cookie_name[] = "id";

static void a_cookie_is_found_by_its_name(void **state)
{
    (void)state;
    static const char *const fields[][2] = {{"Cookie: id=7\r\n", "7"},
                                            {"Cookie: a=1; id=7; b=2\r\n", "7"},
                                            {"cookie: a=1;id=7\r\n", "7"},
                                            {"Cookie: a=1\r\nCookie: id=7\r\n", "7"},
                                            {"Cookie: id=7; id=8\r\n", "7"},
                                            {"Cookie: id=\"7\"\r\n", "\"7\""},
                                            {"Cookie: id=a=b\r\n", "a=b"},
                                            {"Cookie: id=%37\r\n", "%37"},
                                            {"Cookie: id=\r\n", ""},
                                            {"Cookie: ID=7\r\n", "-"},
                                            {"Cookie: ids=7; xid=8\r\n", "-"},
                                            {"X-Cookie: id=7\r\n", "-"},
                                            {NULL, "-"}};
    route("GET /", show_cookie, cookie_name);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        request("GET", "/", fields[i][0]);
        expect_answer(200, fields[i][1]);
    }
}

static int show_all_cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[512] = "";
    size_t used = 0;
    rv_bytes name, value;
    for (size_t i = 0; rv_cookie_at(talk, i, &name, &value); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s|", (int)name.len,
                                 name.ptr, (int)value.len, value.ptr);
    return rv_text(talk, 200, text);
}

static void cookies_are_listed_as_they_arrived(void **state)
{
    (void)state;
    route("GET /", show_all_cookies, NULL);
    request("GET", "/", "Cookie: b=2; a=1; b=3\r\nOther: c=4\r\nCookie: d=5\r\n");
    expect_answer(200, "b=2|a=1|b=3|d=5|");
    get("/");
    expect_answer(200, "");
}

/* ---- memory ------------------------------------------------------------------------------------ */

static int take_memory(rv_talk *talk, void *ctx)
{
    (void)ctx;
    static const size_t sizes[] = {1, 7, 16, 100, 5000, 100000, 3};
    char *pieces[sizeof sizes / sizeof *sizes];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pieces[i] = rv_alloc(talk, sizes[i]);
        if (pieces[i] == NULL || (uintptr_t)pieces[i] % _Alignof(max_align_t) != 0)
            return rv_text(talk, 500, "bad memory");
        memset(pieces[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            if (pieces[i][at] != (char)i)
                return rv_text(talk, 500, "memory that overlaps");
    return rv_text(talk, 200, "good memory");
}

static void memory_of_the_talk_is_aligned_and_apart(void **state)
{
    (void)state;
    route("GET /", take_memory, NULL);
    for (int i = 0; i < 3; i++) {
        get("/");
        expect_answer(200, "good memory");
    }
}

static int copy_query(rv_talk *talk, void *ctx)
{
    (void)ctx;
    const char *copy = rv_copy(talk, rv_query(talk));
    return rv_text(talk, 200, copy == NULL ? "NULL" : copy);
}

static void a_copy_is_a_string(void **state)
{
    (void)state;
    route("GET /", copy_query, NULL);
    get("/?abc");
    expect_answer(200, "abc");
    get("/?");
    expect_answer(200, "");
}

static int tell_server(rv_talk *talk, void *ctx)
{
    *(rv_server **)ctx = rv_server_of(talk);
    return rv_text(talk, 200, "");
}

static void a_talk_knows_its_server(void **state)
{
    (void)state;
    rv_server *seen = NULL;
    route("GET /", tell_server, &seen);
    get("/");
    expect_status(200);
    assert_ptr_equal(seen, tested);
}

static void no_talk_says_nothing(void **state)
{
    (void)state;
    static const noun nouns[] = {rv_method, rv_target, rv_path, rv_query,
                                 rv_host,   rv_scheme, rv_peer, rv_body};
    rv_bytes name, value;
    int64_t number;
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        assert_null(nouns[i](NULL).ptr);
    assert_null(rv_header(NULL, "Host").ptr);
    assert_null(rv_trailer(NULL, "Host").ptr);
    assert_null(rv_param(NULL, "id").ptr);
    assert_null(rv_cookie(NULL, "id").ptr);
    assert_false(rv_header_at(NULL, 0, &name, &value));
    assert_false(rv_cookie_at(NULL, 0, &name, &value));
    assert_int_equal(rv_content_length(NULL), -1);
    assert_int_equal(rv_param_int(NULL, "id", 0, 1, &number), RV_ENOTFOUND);
    assert_null(rv_alloc(NULL, 1));
    assert_null(rv_copy(NULL, RV_LIT("x")));
    assert_null(rv_server_of(NULL));
}

/* ---- requests that reach no handler ------------------------------------------------------------ */

static void a_path_without_a_route_is_404(void **state)
{
    (void)state;
    route("GET /a", show_minor, NULL);
    get("/b");
    expect_answer(404, "404 Not Found\n");
    expect_open();
    get("/a");
    expect_status(200);
}

static void a_method_without_a_route_is_405_with_allow(void **state)
{
    (void)state;
    route("GET /a", show_minor, NULL);
    route("POST /a", show_minor, NULL);
    request("DELETE", "/a", NULL);
    expect_answer(405, "405 Method Not Allowed\n");
    expect_field("Allow", "GET, HEAD, POST, OPTIONS");
    expect_open();
}

static void options_are_answered_with_allow(void **state)
{
    (void)state;
    route("GET /a", show_minor, NULL);
    request("OPTIONS", "/a", NULL);
    expect_answer(204, "");
    expect_field("Allow", "GET, HEAD, OPTIONS");
    expect_field("Content-Length", NULL);
    request("OPTIONS", "/b", NULL);
    expect_status(404);
}

static void an_options_route_goes_before_the_librarys_answer(void **state)
{
    (void)state;
    watch(&method);
    request("OPTIONS", "/a", NULL);
    expect_answer(200, "OPTIONS");
}

static void options_for_the_server_as_a_whole_need_no_route(void **state)
{
    (void)state;
    request("OPTIONS", "*", NULL);
    expect_answer(200, "");
    assert_non_null(answer_field(last_answer(), "Allow"));
}

static void a_tunnel_is_refused(void **state)
{
    (void)state;
    watch(&method);
    say("CONNECT test:443 HTTP/1.1\r\nHost: test:443\r\n\r\n");
    expect_status(501);
    expect_closed();
}

static void a_path_that_cannot_be_decoded_is_400(void **state)
{
    (void)state;
    static const char *const paths[][2] = {
        {"/%", "The path has a % that no two hexadecimal digits follow."},
        {"/%2", "The path has a % that no two hexadecimal digits follow."},
        {"/%zz", "The path has a % that no two hexadecimal digits follow."},
        {"/a%00b", "The path has an encoded NUL."},
        {"/..", "The path leads above the root."},
        {"/a/%2e%2E/../b", "The path leads above the root."}};
    watch(&path);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "400 Bad Request\n%s\n", paths[i][1]);
        get(paths[i][0]);
        expect_answer(400, expected);
        expect_open();
    }
}

static void an_unknown_expectation_is_417(void **state)
{
    (void)state;
    watch(&method);
    request("GET", "/", "Expect: the unexpected\r\n");
    expect_status(417);
    get("/");
    expect_answer(200, "GET");
}

static void a_head_that_cannot_be_read_is_refused_and_the_connection_closed(void **state)
{
    (void)state;
    watch(&method);
    say("GET / HTTP/1.1\r\nNo colon here\r\n\r\n");
    expect_status(400);
    expect_field("Connection", "close");
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    assert_non_null(answer_field(last_answer(), "Date"));
    static const char start[] = "400 Bad Request\n";
    rv_bytes content = {last_answer()->content.ptr, last_answer()->content.len};
    assert_memory_equal(content.ptr, start, strlen(start));
    assert_true(content.len > strlen(start) + 10); /* and what is wrong, in a sentence */
    assert_memory_equal(content.ptr + content.len - 2, ".\n", 2);
    expect_silence();
    expect_closed();
    assert_int_equal(COUNTER(requests_malformed), 1);
    assert_int_equal(COUNTER(requests), 0);
}

static void requests_sent_together_are_answered_in_order(void **state)
{
    (void)state;
    watch(&path);
    say("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /3 HTTP/1.1\r\nHost: a\r\n\r\nGET /");
    expect_answer(200, "/1");
    expect_answer(200, "/2");
    expect_answer(200, "/3");
    expect_silence();
    say("4 HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_answer(200, "/4");
}

static void a_request_may_come_an_octet_at_a_time(void **state)
{
    (void)state;
    static const char text[] = "GET /a%20b?c HTTP/1.1\r\nHost: test\r\nX: y\r\n\r\n";
    watch(&path);
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        expect_silence();
        say_octets((rv_bytes){text + i, 1});
    }
    expect_answer(200, "/a b");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(the_method_is_as_it_was_sent),
        FACT(the_target_is_as_it_was_sent),
        FACT(the_path_is_decoded_and_has_no_dot_segments),
        FACT(path_parameters_are_behind_the_path),
        FACT(path_parameters_have_names),
        FACT(the_host_has_a_name_and_a_port),
        FACT(content_has_a_type_and_a_charset),
        FACT(a_target_without_a_path_is_the_root),
        FACT(the_query_is_what_follows_the_question_mark),
        FACT(the_host_is_the_targets_or_the_fields),
        FACT(the_scheme_is_http),
        FACT(the_peer_of_a_client_without_an_address_is_empty),
        FACT(the_version_is_told),
        FACT(a_field_is_found_whatever_the_case_of_its_name),
        FACT(the_first_of_several_fields_is_found),
        FACT(an_empty_field_is_not_an_absent_one),
        FACT(fields_are_listed_as_they_arrived),
        FACT(the_content_length_is_a_number_or_none),
        FACT(a_parameter_of_the_path_is_decoded),
        FACT(a_rest_is_decoded_with_its_slashes),
        FACT(a_parameter_of_the_query_is_decoded),
        FACT(a_number_within_its_bounds_is_taken),
        FACT(a_number_outside_its_bounds_is_over_a_limit),
        FACT(what_is_no_number_is_invalid),
        FACT(a_number_that_is_not_there_is_not_found),
        FACT(the_whole_range_of_64_bits_is_open),
        FACT(a_cookie_is_found_by_its_name),
        FACT(cookies_are_listed_as_they_arrived),
        FACT(memory_of_the_talk_is_aligned_and_apart),
        FACT(a_copy_is_a_string),
        FACT(a_talk_knows_its_server),
        FACT(no_talk_says_nothing),
        FACT(a_path_without_a_route_is_404),
        FACT(a_method_without_a_route_is_405_with_allow),
        FACT(options_are_answered_with_allow),
        FACT(an_options_route_goes_before_the_librarys_answer),
        FACT(options_for_the_server_as_a_whole_need_no_route),
        FACT(a_tunnel_is_refused),
        FACT(a_path_that_cannot_be_decoded_is_400),
        FACT(an_unknown_expectation_is_417),
        FACT(a_head_that_cannot_be_read_is_refused_and_the_connection_closed),
        FACT(requests_sent_together_are_answered_in_order),
        FACT(a_request_may_come_an_octet_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
