/*
 * ApacheBench's request, octet for octet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/ab_request.h"

#define REST "Host: h:81\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n"

static struct rv_load_request request;

/* Builds the request of words that end with a NULL, with that body. */
static void build(const char *body, const char *const *words)
{
    static struct rv_ab_command command;
    char *argv[64] = {(char *)"ab"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    rv_ab_parse(&command, argc, argv);
    assert_int_equal(command.asked, RV_AB_RUN);
    rv_bytes octets = {body, strlen(body)};
    assert_int_equal(rv_ab_request_build(&command, "h:81", octets, &request), 0);
}

#define EXPECT(expected, body, ...)                                                                \
    do {                                                                                           \
        build(body, (const char *const[]){__VA_ARGS__, NULL});                                     \
        assert_int_equal(request.length, sizeof(expected) - 1);                                    \
        assert_memory_equal(request.octets, expected, sizeof(expected) - 1);                       \
        rv_request_free(&request);                                                                 \
    } while (0)

static void a_plain_request_is_http_1_0(void **state)
{
    (void)state;
    EXPECT("GET /a?b HTTP/1.0\r\n" REST, "", "h:81/a?b");
    EXPECT("GET /a HTTP/1.0\r\n" REST, "", "http://h:81/a#c");
    EXPECT("GET / HTTP/1.0\r\n" REST, "", "h:81");
    EXPECT("GET /?b HTTP/1.0\r\n" REST, "", "h:81?b");
    EXPECT("HEAD /a HTTP/1.0\r\n" REST, "", "-i", "h:81/a");
}

static void fields_stand_in_apachebenchs_order(void **state)
{
    (void)state;
    EXPECT("POST /a HTTP/1.0\r\n"
           "Connection: Keep-Alive\r\n"
           "Cookie: a=1; b=2\r\n"
           "Authorization: Basic dTpw\r\n"
           "Proxy-Authorization: Basic eDp5\r\n"
           "Content-length: 6\r\n"
           "Content-type: a/b\r\n"
           "X-A: 1\r\n"
           "X-B:2\r\n" REST "hello\n",
           "hello\n", "-k", "-C", "a=1", "-A", "u:p", "-P", "x:y", "-p", "f", "-T", "a/b", "-H",
           "X-A: 1", "-H", "X-B:2", "-C", "b=2", "h:81/a");
}

static void the_users_own_lines_take_the_place_of_three(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.0\r\n"
           "host: other\r\n"
           "User-Agent: me\r\n"
           "ACCEPT: no\r\n"
           "Connection: x\r\n"
           "Accept-Encoding: gzip\r\n"
           "\r\n",
           "", "-H", "host: other", "-H", "User-Agent: me", "-H", "ACCEPT: no", "-H",
           "Connection: x", "-H", "Accept-Encoding: gzip", "h:81/");
}

static void an_empty_body_has_its_length(void **state)
{
    (void)state;
    EXPECT("PUT / HTTP/1.0\r\nContent-length: 0\r\nContent-type: text/plain\r\n" REST, "", "-u",
           "f", "h:81/");
}

static void a_proxy_is_told_the_whole_url(void **state)
{
    (void)state;
    EXPECT("GET http://h:81/a?b HTTP/1.0\r\n" REST, "", "-X", "p:1", "http://h:81/a?b");
    EXPECT("GET http://h:81/a HTTP/1.0\r\n" REST, "", "-X", "p:1", "h:81/a#c");
    EXPECT("GET http://h:81/ HTTP/1.0\r\n" REST, "", "-X", "p:1", "h:81");
    EXPECT("GET http://h:81/?x=http://y HTTP/1.0\r\n" REST, "", "-X", "p:1", "h:81?x=http://y");
    EXPECT("GET http://[::1]:81/ HTTP/1.0\r\n" REST, "", "-X", "p:1", "http://[::1]:81/");
}

static void only_what_may_be_repeated_is_sent_again(void **state)
{
    (void)state;
    build("", (const char *const[]){"-k", "h/", NULL});
    assert_true(request.is_idempotent && !request.is_head && !request.asks_close);
    rv_request_free(&request);
    build("x", (const char *const[]){"-p", "f", "h/", NULL});
    assert_true(!request.is_idempotent && request.asks_close);
    assert_int_equal(request.length - request.head_length, 1);
    rv_request_free(&request);
    build("", (const char *const[]){"-m", "HEAD", "h/", NULL});
    assert_true(request.is_idempotent && request.is_head);
    rv_request_free(&request);
    build("", (const char *const[]){"-m", "PATCH", "h/", NULL});
    assert_false(request.is_idempotent);
    rv_request_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_request_is_http_1_0),
        cmocka_unit_test(fields_stand_in_apachebenchs_order),
        cmocka_unit_test(the_users_own_lines_take_the_place_of_three),
        cmocka_unit_test(an_empty_body_has_its_length),
        cmocka_unit_test(a_proxy_is_told_the_whole_url),
        cmocka_unit_test(only_what_may_be_repeated_is_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
