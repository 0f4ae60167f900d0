/*
 * Requests as they go out: octet for octet, with the user's fields in the place of ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "load/request.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rv_request_parts get_parts(void)
{
    return (struct rv_request_parts){
        .method = "GET", .target = RV_LIT("/ok"), .authority = "h:81", .accept = "*/*"};
}

static struct rv_load_request built(const struct rv_request_parts *parts)
{
    struct rv_load_request request;
    char why[256] = "";
    if (rv_request_build(parts, &request, why) != 0)
        fail_msg("refused: %s", why);
    return request;
}

static void check_octets(const struct rv_request_parts *parts, const char *expected)
{
    struct rv_load_request request = built(parts);
    char *text = strndup(request.octets, request.length);
    assert_string_equal(text, expected);
    free(text);
    rv_request_free(&request);
}

static void with_fields(const struct rv_request_field *fields, size_t count, const char *expected)
{
    struct rv_request_parts parts = get_parts();
    parts.fields = fields;
    parts.field_count = count;
    check_octets(&parts, expected);
}

static void our_fields_stand_in_their_order(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    check_octets(&parts, "GET /ok HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\n\r\n");
    parts.user_agent = "u";
    parts.says_close = true;
    parts.http_1_0 = true;
    check_octets(&parts, "GET /ok HTTP/1.0\r\nHost: h:81\r\nUser-Agent: u\r\nAccept: */*\r\n"
                         "Connection: close\r\n\r\n");
}

static void the_head_ends_where_the_body_begins(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    parts.method = "POST";
    parts.has_body = true;
    parts.body = rv_slice("a\0b", 3);
    parts.content_type = "text/plain";
    struct rv_load_request request = built(&parts);
    const char head[] = "POST /ok HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\n"
                        "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\n";
    assert_int_equal(request.head_length, sizeof head - 1);
    assert_int_equal(request.length, sizeof head - 1 + 3);
    assert_memory_equal(request.octets, head, sizeof head - 1);
    assert_memory_equal(request.octets + request.head_length, "a\0b", 3);
    assert_int_equal(request.content_expected, RV_LENGTH_ANY);
    rv_request_free(&request);
}

static void an_empty_body_has_a_length(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    parts.method = "PUT";
    parts.has_body = true;
    check_octets(&parts,
                 "PUT /ok HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n");
}

static void a_query_without_a_path_gets_its_slash(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    parts.target = RV_LIT("?x=1");
    parts.accept = NULL;
    check_octets(&parts, "GET /?x=1 HTTP/1.1\r\nHost: h:81\r\n\r\n");
}

static void credentials_are_basic(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    parts.accept = NULL;
    parts.credentials = "Aladdin:open sesame";
    parts.proxy_credentials = "u:p";
    check_octets(&parts, "GET /ok HTTP/1.1\r\nHost: h:81\r\n"
                         "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
                         "Proxy-Authorization: Basic dTpw\r\n\r\n");
}

/* ---- the user's fields ----------------------------------------------------------------------- */

static void the_users_fields_follow_ours_in_their_order(void **state)
{
    (void)state;
    const struct rv_request_field fields[] = {{"X-B", "2"}, {"X-A", "1"}, {"X-B", "3"}};
    with_fields(
        fields, COUNT(fields),
        "GET /ok HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\nX-B: 2\r\nX-A: 1\r\nX-B: 3\r\n\r\n");
}

static void a_users_field_takes_the_place_of_ours(void **state)
{
    (void)state;
    const struct rv_request_field fields[] = {
        {"X-A", "1"}, {"host", "o"}, {"ACCEPT", "a"}, {"accept", "b"}};
    with_fields(fields, COUNT(fields),
                "GET /ok HTTP/1.1\r\nhost: o\r\nACCEPT: a\r\naccept: b\r\nX-A: 1\r\n\r\n");
}

static void each_of_ours_can_be_replaced(void **state)
{
    (void)state;
    static const char *const names[] = {"Host",          "User-Agent",         "Accept",
                                        "Connection",    "Content-Type",       "Content-Length",
                                        "Authorization", "Proxy-Authorization"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct rv_request_parts parts = get_parts();
        struct rv_request_field field = {names[i], "mine"};
        parts.user_agent = "u";
        parts.says_keep_alive = true;
        parts.has_body = true;
        parts.content_type = "t";
        parts.credentials = "u:p";
        parts.proxy_credentials = "u:p";
        parts.fields = &field;
        parts.field_count = 1;
        struct rv_load_request request = built(&parts);
        char *text = strndup(request.octets, request.length);
        const char *first = strstr(text, names[i]);
        assert_non_null(first);
        assert_memory_equal(first + strlen(names[i]), ": mine\r\n", 8);
        char line[64] = "\r\n";
        strcat(line, names[i]);
        strcat(line, ":");
        assert_null(strstr(first, line));
        free(text);
        rv_request_free(&request);
    }
}

static void a_field_can_be_sent_empty_or_left_out(void **state)
{
    (void)state;
    const struct rv_request_field fields[] = {{"X-Empty", ""}, {"Accept", NULL}, {"X-Out", NULL}};
    with_fields(fields, COUNT(fields), "GET /ok HTTP/1.1\r\nHost: h:81\r\nX-Empty:\r\n\r\n");
}

static void a_chunked_body_has_no_length(void **state)
{
    (void)state;
    const struct rv_request_field chunked = {"transfer-encoding", "Chunked"};
    struct rv_request_parts parts = {.method = "PUT",
                                     .target = RV_LIT("/"),
                                     .authority = "h",
                                     .has_body = true,
                                     .body = RV_LIT("0123456789abcdefg"),
                                     .fields = &chunked,
                                     .field_count = 1};
    check_octets(&parts, "PUT / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n"
                         "11\r\n0123456789abcdefg\r\n0\r\n\r\n");
    parts.body = RV_LIT("");
    check_octets(&parts, "PUT / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n"
                         "0\r\n\r\n");
    parts.has_body = false; /* then the field is the user's alone */
    check_octets(&parts, "PUT / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n");
}

/* ---- what the engine reads off --------------------------------------------------------------- */

static void a_request_knows_whether_it_may_be_sent_again(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        bool idempotent, head;
    } cases[] = {{"GET", true, false},    {"HEAD", true, true},     {"PUT", true, false},
                 {"DELETE", true, false}, {"OPTIONS", true, false}, {"TRACE", true, false},
                 {"POST", false, false},  {"PATCH", false, false},  {"BREW", false, false},
                 {"get", false, false},   {"head", false, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_request_parts parts = get_parts();
        parts.method = cases[i].method;
        struct rv_load_request request = built(&parts);
        assert_int_equal(request.is_idempotent, cases[i].idempotent);
        assert_int_equal(request.is_head, cases[i].head);
        rv_request_free(&request);
    }
}

static void a_request_knows_whether_it_ends_its_connection(void **state)
{
    (void)state;
    static const struct {
        bool http_1_0, says_keep_alive, says_close;
        const char *connection; /* of the user; "-": none */
        bool asks_close;
    } cases[] = {
        {false, false, false, "-", false}, {false, false, true, "-", true},
        {true, false, false, "-", true},   {true, true, false, "-", false},
        {true, false, true, "-", true},    {false, false, false, "x, Close", true},
        {false, false, true, "x", false},  {true, true, false, "close", true},
        {true, true, false, NULL, true},   {true, false, false, "Keep-Alive", false},
        {false, false, true, NULL, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_request_parts parts = get_parts();
        struct rv_request_field field = {"connection", cases[i].connection};
        parts.http_1_0 = cases[i].http_1_0;
        parts.says_keep_alive = cases[i].says_keep_alive;
        parts.says_close = cases[i].says_close;
        parts.fields = &field;
        parts.field_count =
            cases[i].connection != NULL && strcmp(cases[i].connection, "-") == 0 ? 0 : 1;
        struct rv_load_request request = built(&parts);
        if (request.asks_close != cases[i].asks_close)
            fail_msg("case %zu", i);
        rv_request_free(&request);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void check_refused(const struct rv_request_parts *parts, const char *says)
{
    struct rv_load_request request;
    char why[256] = "";
    assert_int_equal(rv_request_build(parts, &request, why), RV_EINVAL);
    assert_non_null(strstr(why, says));
}

static void a_method_that_is_no_token_is_refused(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    parts.method = "GE T";
    check_refused(&parts, "the method \"GE T\" is no token");
    parts.method = "";
    check_refused(&parts, "is no token");
}

static void what_would_break_the_head_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct rv_request_field field;
        const char *says;
    } cases[] = {{{"X\r\nY", "1"}, "the field name \"X??Y\" is no token"},
                 {{"", "1"}, "is no token"},
                 {{"X Y", "1"}, "is no token"},
                 {{"X", "1\r\nY: 2"}, "the field \"X\" has a control octet"},
                 {{"X", "\x1b[31m"}, "has a control octet"},
                 {{"Host", "a\nb"}, "has a control octet"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_request_parts parts = get_parts();
        parts.fields = &cases[i].field;
        parts.field_count = 1;
        check_refused(&parts, cases[i].says);
    }
    struct rv_request_parts parts = get_parts();
    parts.target = RV_LIT("/a b");
    check_refused(&parts, "the request target");
    parts.target = rv_slice("", 0);
    check_refused(&parts, "the request target");
    parts = get_parts();
    parts.user_agent = "a\nb";
    check_refused(&parts, "the field \"User-Agent\" has a control octet");
}

static void a_long_name_does_not_overrun_the_sentence(void **state)
{
    (void)state;
    struct rv_request_parts parts = get_parts();
    char method[2000];
    memset(method, ' ', sizeof method - 1);
    method[sizeof method - 1] = '\0';
    parts.method = method;
    check_refused(&parts, "is no token");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_fields_stand_in_their_order),
        cmocka_unit_test(the_head_ends_where_the_body_begins),
        cmocka_unit_test(an_empty_body_has_a_length),
        cmocka_unit_test(a_query_without_a_path_gets_its_slash),
        cmocka_unit_test(credentials_are_basic),
        cmocka_unit_test(the_users_fields_follow_ours_in_their_order),
        cmocka_unit_test(a_users_field_takes_the_place_of_ours),
        cmocka_unit_test(each_of_ours_can_be_replaced),
        cmocka_unit_test(a_field_can_be_sent_empty_or_left_out),
        cmocka_unit_test(a_chunked_body_has_no_length),
        cmocka_unit_test(a_request_knows_whether_it_may_be_sent_again),
        cmocka_unit_test(a_request_knows_whether_it_ends_its_connection),
        cmocka_unit_test(a_method_that_is_no_token_is_refused),
        cmocka_unit_test(what_would_break_the_head_is_refused),
        cmocka_unit_test(a_long_name_does_not_overrun_the_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
