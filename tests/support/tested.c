/*
 * A server in memory and its clients (tested.h).
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLIENTS_MAX 8

struct visitor {
    rv_test *test;             /* NULL: not connected yet */
    struct rv_buffer received; /* and not taken yet */
    struct answer answer;
};

rv_server *tested;
unsigned errors_told;
rv_error last_error;
char last_error_doing[128];
unsigned bad_inputs_told;
int last_bad_status;
char last_bad_doing[128], last_bad_detail[128];

static struct visitor visitors[CLIENTS_MAX];
static struct visitor *me = visitors;

/* ---- the server -------------------------------------------------------------------------------- */

static void on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                     const char *detail, void *ctx)
{
    (void)server;
    (void)peer;
    (void)detail;
    (void)ctx;
    errors_told++;
    last_error = error;
    snprintf(last_error_doing, sizeof last_error_doing, "%s", doing);
}

static void on_bad_input(rv_server *server, int status, const char *doing, const char *peer,
                         const char *detail, void *ctx)
{
    (void)server;
    (void)peer;
    (void)ctx;
    bad_inputs_told++;
    last_bad_status = status;
    snprintf(last_bad_doing, sizeof last_bad_doing, "%s", doing);
    snprintf(last_bad_detail, sizeof last_bad_detail, "%s", detail);
}

void expect_bad_input(int status, const char *doing, const char *detail)
{
    assert_int_equal(bad_inputs_told, 1);
    assert_int_equal(last_bad_status, status);
    assert_string_equal(last_bad_doing, doing);
    assert_string_equal(last_bad_detail, detail);
    bad_inputs_told = 0;
}

static void free_all(void)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        rv_test_free(visitors[i].test);
        rv_buffer_free(&visitors[i].received);
        answer_free(&visitors[i].answer);
        visitors[i].test = NULL;
    }
    me = visitors;
    rv_server_free(tested);
    tested = NULL;
}

void tested_with(const rv_server_options *options)
{
    rv_server_options with_hook = options == NULL ? (rv_server_options){0} : *options;
    if (with_hook.hooks.on_error == NULL)
        with_hook.hooks.on_error = on_error;
    if (with_hook.hooks.on_bad_input == NULL)
        with_hook.hooks.on_bad_input = on_bad_input;
    free_all();
    tested = rv_server_new(&with_hook);
    assert_non_null(tested);
}

int tested_set_up(void **state)
{
    (void)state;
    errors_told = bad_inputs_told = 0;
    last_error = 0;
    last_error_doing[0] = '\0';
    tested_with(NULL);
    return 0;
}

int tested_tear_down(void **state)
{
    (void)state;
    free_all();
    return 0;
}

void route_with(const char *pattern, rv_handler handler, void *ctx, rv_route_options options)
{
    assert_int_equal(rv_route_with(rv_default_app(tested), pattern, handler, ctx, &options), 0);
}

void route(const char *pattern, rv_handler handler, void *ctx)
{
    route_with(pattern, handler, ctx, (rv_route_options){0});
}

rv_counter_values tested_counters(void)
{
    rv_counter_values values;
    rv_counters(tested, &values);
    return values;
}

/* ---- clients ----------------------------------------------------------------------------------- */

void as(unsigned number)
{
    assert_true(number < CLIENTS_MAX);
    me = &visitors[number];
}

rv_test *client(void)
{
    if (me->test == NULL)
        me->test = rv_test_new(tested);
    assert_non_null(me->test);
    return me->test;
}

static void collect(void)
{
    assert_int_equal(rv_buffer_append(&me->received, rv_test_received(client())), 0);
}

void say_octets(rv_bytes octets)
{
    assert_int_equal(rv_test_send(client(), octets), 0);
}

void say(const char *text)
{
    say_octets(rv_str(text));
}

void request(const char *method, const char *path, const char *fields)
{
    char head[16384];
    int length = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: test\r\n%s\r\n", method, path,
                          fields == NULL ? "" : fields);
    assert_true(length > 0 && (size_t)length < sizeof head);
    say(head);
}

void get(const char *path)
{
    request("GET", path, NULL);
}

void advance_ms(uint64_t ms)
{
    rv_test_advance_ms(client(), ms);
}

/* ---- expectations ------------------------------------------------------------------------------ */

struct answer *last_answer(void)
{
    return &me->answer;
}

static void take(bool to_head)
{
    collect();
    rv_bytes octets = {me->received.ptr, me->received.len};
    assert_int_equal(answer_take(&me->answer, &octets, to_head, rv_test_closed(client())),
                     ANSWER_WHOLE);
    rv_buffer_consume(&me->received, me->received.len - octets.len);
}

void expect_status(int status)
{
    take(false);
    assert_int_equal(me->answer.status, status);
}

void expect_answer(int status, const char *content)
{
    expect_status(status);
    assert_string_equal(me->answer.content.ptr, content);
    assert_int_equal(me->answer.content.len, strlen(content));
}

void expect_head_status(int status)
{
    take(true);
    assert_int_equal(me->answer.status, status);
}

void expect_field(const char *name, const char *value)
{
    const char *found = answer_field(&me->answer, name);
    if (value == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, value);
    }
}

void expect_silence(void)
{
    collect();
    assert_int_equal(me->received.len, 0);
}

void expect_octets(const char *text)
{
    collect();
    assert_int_equal(me->received.len, strlen(text));
    assert_memory_equal(me->received.ptr, text, me->received.len);
    rv_buffer_consume(&me->received, me->received.len);
}

void expect_closed(void)
{
    assert_true(rv_test_closed(client()));
}

void expect_open(void)
{
    assert_false(rv_test_closed(client()));
}
