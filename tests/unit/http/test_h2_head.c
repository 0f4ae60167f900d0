/*
 * Facts about h2_head.c: fields of HTTP/2 become the head that HTTP/1 would have given, within limits,
 * and what only shows in the whole is found.
 */
#include "http/h2.h"
#include "http/h2_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rv_h2_head head;
static struct rv_field room[8];
static struct rv_h1_head request;
static uint32_t code;
static const char *reason;

static void begin(uint32_t target_max, uint32_t bytes_max, uint32_t fields_max)
{
    struct rv_h1_limits limits = {target_max, bytes_max, fields_max};
    rv_h2_head_begin(&head, &limits, room);
    reason = NULL;
    code = 99;
}

static int set_up(void **state)
{
    (void)state;
    begin(100, 1000, 8);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rv_h2_head_free(&head);
    return 0;
}

static void add(const char *name, const char *value)
{
    assert_int_equal(rv_h2_head_add(&head, rv_str(name), rv_str(value)), 0);
}

static void add_request(const char *method, const char *path)
{
    add(":method", method);
    add(":scheme", "https");
    add(":authority", "test:8443");
    if (path != NULL)
        add(":path", path);
}

static int finish(bool last)
{
    request.fields = room;
    return rv_h2_head_finish(&head, last, &request, &code, &reason);
}

static void expect(struct rv_span span, const char *text)
{
    rv_bytes found = rv_span_bytes(head.octets.ptr, span);
    assert_int_equal(found.len, strlen(text));
    assert_memory_equal(found.ptr, text, found.len);
}

static void expect_field(const char *name, const char *value)
{
    const struct rv_field *field = rv_h1_find(head.octets.ptr, &request, rv_str(name));
    assert_non_null(field);
    assert_int_equal(field->value_length, strlen(value));
    assert_memory_equal(head.octets.ptr + field->value, value, field->value_length);
}

static void a_request_is_what_http1_would_have_given(void **state)
{
    (void)state;
    add_request("GET", "/a/b?c=d");
    add("accept", "*/*");
    assert_int_equal(finish(true), 0);
    assert_int_equal(code, 0);
    expect(request.method, "GET");
    expect(request.target, "/a/b?c=d");
    expect(request.path, "/a/b");
    expect(request.query, "c=d");
    expect(request.authority, "test:8443");
    assert_int_equal(request.method_id, RV_METHOD_GET);
    assert_int_equal(request.form, RV_TARGET_ORIGIN);
    assert_true(request.has_query && request.path_is_plain);
    assert_false(request.chunked || request.has_content_length);
    expect_field("accept", "*/*");
}

static void applications_find_host(void **state)
{
    (void)state;
    add_request("GET", "/");
    assert_int_equal(finish(true), 0);
    assert_int_equal(request.field_count, 1);
    expect_field("Host", "test:8443");
}

static void host_stands_in_for_authority(void **state)
{
    (void)state;
    add(":method", "GET");
    add(":path", "/");
    add("host", "test");
    assert_int_equal(finish(true), 0);
    assert_int_equal(code, 0);
    expect(request.authority, "test");
    assert_int_equal(request.field_count, 1);
}

static void a_host_that_contradicts_is_malformed(void **state)
{
    (void)state;
    add_request("GET", "/");
    add("host", "other");
    finish(true);
    assert_int_equal(code, RV_H2_PROTOCOL_ERROR);
}

static void a_request_without_authority_is_malformed(void **state)
{
    (void)state;
    add(":method", "GET");
    add(":path", "/");
    finish(true);
    assert_int_equal(code, RV_H2_PROTOCOL_ERROR);
}

static void paths_that_are_none_are_malformed(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "a", "*", "/a b", "/#x", "/\x7f", "http://test/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        begin(100, 1000, 8);
        add_request("GET", paths[i]);
        assert_int_equal(finish(true), 0);
        assert_int_equal(code, RV_H2_PROTOCOL_ERROR);
    }
}

static void options_may_ask_about_the_server_as_a_whole(void **state)
{
    (void)state;
    add_request("OPTIONS", "*");
    assert_int_equal(finish(true), 0);
    assert_int_equal(code, 0);
    assert_int_equal(request.form, RV_TARGET_ASTERISK);
}

static void connect_has_an_authority_for_a_target(void **state)
{
    (void)state;
    add_request("CONNECT", NULL);
    assert_int_equal(finish(false), 0);
    assert_int_equal(code, 0);
    assert_int_equal(request.form, RV_TARGET_AUTHORITY);
    expect(request.target, "test:8443");
}

static void crumbs_of_cookies_are_one_field(void **state)
{
    (void)state;
    add_request("GET", "/");
    add("cookie", "a=1");
    add("accept", "*/*");
    add("cookie", "b=2");
    add("cookie", "c=3");
    assert_int_equal(finish(true), 0);
    expect_field("cookie", "a=1; b=2; c=3");
}

static void content_is_expected_unless_the_stream_has_ended(void **state)
{
    (void)state;
    add_request("POST", "/");
    assert_int_equal(finish(false), 0);
    assert_true(request.chunked);
    begin(100, 1000, 8);
    add_request("POST", "/");
    add("content-length", "7");
    assert_int_equal(finish(false), 0);
    assert_false(request.chunked);
    assert_int_equal(request.content_length, 7);
}

static void expectations_are_read(void **state)
{
    (void)state;
    add_request("POST", "/");
    add("expect", "100-continue");
    assert_int_equal(finish(false), 0);
    assert_true(request.expect_continue && !request.expect_unknown);
    begin(100, 1000, 8);
    add_request("POST", "/");
    add("expect", "more");
    assert_int_equal(finish(false), 0);
    assert_true(request.expect_unknown && !request.expect_continue);
}

static void a_target_too_long_is_414(void **state)
{
    (void)state;
    char path[102];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/', path[sizeof path - 1] = '\0';
    add_request("GET", path);
    assert_int_equal(finish(true), 414);
    path[100] = '\0';
    begin(100, 1000, 8);
    add_request("GET", path);
    assert_int_equal(finish(true), 0);
}

static void too_many_fields_are_431(void **state)
{
    (void)state;
    begin(100, 10000, 3);
    add_request("GET", "/");
    for (int i = 0; i < 4; i++)
        add("a", "b");
    assert_int_equal(finish(true), 431);
    assert_non_null(reason);
}

/* What a small frame names again and again is counted and dropped. */
static void a_bomb_costs_no_memory(void **state)
{
    (void)state;
    char value[401];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    add_request("GET", "/");
    for (int i = 0; i < 10000; i++) {
        add("x", value);
        add("cookie", value);
    }
    assert_true(head.octets.len <= 1000 && head.cookies.len <= 1000);
    assert_int_equal(finish(true), 431);
}

static void a_second_head_begins_empty(void **state)
{
    (void)state;
    add_request("POST", "/first?q");
    add("content-length", "7");
    add("expect", "100-continue");
    add("cookie", "a=1");
    finish(false);
    begin(100, 1000, 8);
    add_request("GET", "/");
    assert_int_equal(finish(true), 0);
    assert_false(request.has_content_length || request.expect_continue || request.has_query);
    assert_int_equal(request.field_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(a_request_is_what_http1_would_have_given),
        FACT(applications_find_host),
        FACT(host_stands_in_for_authority),
        FACT(a_host_that_contradicts_is_malformed),
        FACT(a_request_without_authority_is_malformed),
        FACT(paths_that_are_none_are_malformed),
        FACT(options_may_ask_about_the_server_as_a_whole),
        FACT(connect_has_an_authority_for_a_target),
        FACT(crumbs_of_cookies_are_one_field),
        FACT(content_is_expected_unless_the_stream_has_ended),
        FACT(expectations_are_read),
        FACT(a_target_too_long_is_414),
        FACT(too_many_fields_are_431),
        FACT(a_bomb_costs_no_memory),
        FACT(a_second_head_begins_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
