/*
 * Facts about the heap in steady state: a server that has served a few requests serves the next ten
 * thousand without one call of the allocator. This program stands in for malloc and its kin and counts
 * the calls of those threads that ask for it: the worker, by a handler that runs on it.
 */
#include "support/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the allocator ----------------------------------------------------------------------------- */

static atomic_uint_fast64_t heap_calls;
static _Thread_local bool counted; /* the calls of this thread count */

/* The sanitizers bring an allocator of their own; elsewhere than in glibc there is none to pass on to. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_HEAP_CALLS true

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static void count_call(void)
{
    if (counted)
        atomic_fetch_add_explicit(&heap_calls, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
    count_call();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_call();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    count_call();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count_call();
    return __libc_memalign(alignment, size);
}

void free(void *block)
{
    if (block != NULL)
        count_call();
    __libc_free(block);
}
#else
#define COUNTS_HEAP_CALLS false
#endif

/* ---- the server -------------------------------------------------------------------------------- */

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Cache-Control", "no-store");
    return rv_text(talk, 200, "hello");
}

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_body(talk));
}

static int start_counting(rv_talk *talk, void *ctx)
{
    (void)ctx;
    counted = true;
    return rv_text(talk, 200, "counting");
}

/* What the count is to find: one block, taken and given back for each request. */
static int spend(rv_talk *talk, void *ctx)
{
    (void)ctx;
    void *volatile block = malloc(100);
    free(block);
    return rv_text(talk, 200, "spent");
}

static const struct {
    const char *pattern;
    rv_handler handler;
} routes[] = {
    {"GET /hello/{name}", hello},
    {"POST /echo", echo},
    {"GET /count", start_counting},
    {"GET /spend", spend},
};

#define HELLO "GET /hello/world?a=b HTTP/1.1\r\nHost: test\r\nAccept: */*\r\n\r\n"
#define ECHO "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nhello there"
#define MISSING "GET /missing HTTP/1.1\r\nHost: test\r\n\r\n"
#define SPEND "GET /spend HTTP/1.1\r\nHost: test\r\n\r\n"
#define COUNT "GET /count HTTP/1.1\r\nHost: test\r\n\r\n"
#define FOUR_TIMES(text) text text text text

enum { WARM_UP = 200, REQUESTS = 10000 };

/* One kind of request, and how it is sent: so many at once. */
struct load {
    const char *octets;
    unsigned at_once;
    int status;
    const char *content; /* NULL: whatever */
};

static const struct load hellos = {HELLO, 1, 200, "hello"};
static const struct load pipelined = {FOUR_TIMES(FOUR_TIMES(HELLO)), 16, 200, "hello"};
static const struct load echoes = {ECHO, 1, 200, "hello there"};
static const struct load missing = {MISSING, 1, 404, NULL};
static const struct load spending = {SPEND, 1, 200, "spent"};

static uint64_t calls_so_far(void)
{
    return atomic_load(&heap_calls);
}

static void skip_where_nothing_counts(void)
{
    if (!COUNTS_HEAP_CALLS)
        skip();
}

static bool is_right(const struct answer *answer, const struct load *load)
{
    return answer->status == load->status &&
           (load->content == NULL || answer_content_is(answer, load->content));
}

/* ---- in memory --------------------------------------------------------------------------------- */

static rv_server *tested;
static rv_test *test;
static struct answer answer;

static int make_tested(void **state)
{
    (void)state;
    tested = rv_server_new(&(rv_server_options){.pool_threads = 1});
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        rv_route(rv_default_app(tested), routes[i].pattern, routes[i].handler, NULL);
    test = rv_test_new(tested);
    return test == NULL;
}

static int free_tested(void **state)
{
    (void)state;
    counted = false;
    rv_test_free(test);
    rv_server_free(tested);
    answer_free(&answer);
    return 0;
}

/* The calls while the server works off `requests` of them; reading the answers is not counted. */
static uint64_t calls_in_memory(const struct load *load, unsigned requests)
{
    uint64_t before = calls_so_far();
    for (unsigned sent = 0; sent < requests; sent += load->at_once) {
        counted = true;
        rv_error error = rv_test_send(test, rv_str(load->octets));
        counted = false;
        assert_int_equal(error, 0);
        rv_bytes received = rv_test_received(test);
        for (unsigned i = 0; i < load->at_once; i++) {
            assert_int_equal(answer_take(&answer, &received, false, false), ANSWER_WHOLE);
            assert_true(is_right(&answer, load));
        }
        assert_int_equal(received.len, 0);
    }
    return calls_so_far() - before;
}

static void expect_no_calls_in_memory(const struct load *load)
{
    skip_where_nothing_counts();
    calls_in_memory(load, WARM_UP);
    assert_int_equal(calls_in_memory(load, REQUESTS), 0);
}

static void in_memory_the_count_sees_what_a_handler_allocates(void **state)
{
    (void)state;
    skip_where_nothing_counts();
    calls_in_memory(&spending, WARM_UP);
    assert_int_equal(calls_in_memory(&spending, 100), 200);
}

static void in_memory_a_request_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_in_memory(&hellos);
}

static void in_memory_a_pipelined_request_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_in_memory(&pipelined);
}

static void in_memory_a_request_with_a_small_body_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_in_memory(&echoes);
}

static void in_memory_a_request_for_nothing_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_in_memory(&missing);
}

/* ---- over sockets ------------------------------------------------------------------------------ */

static struct served served;
static struct caller caller;

/* From here on all calls are the worker's: it is the only thread that has asked for being counted. */
static int start_served(void **state)
{
    (void)state;
    serve_make(&served, (rv_server_options){.workers = 1, .pool_threads = 1});
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        serve_route(&served, routes[i].pattern, routes[i].handler, NULL, (rv_route_options){0});
    serve_start(&served);
    bool counting = caller_connect(&caller, served.port) && caller_send(&caller, COUNT) &&
                    caller_take(&caller) == 200;
    return !counting;
}

static int end_served(void **state)
{
    (void)state;
    caller_close(&caller);
    serve_free(&served);
    return 0;
}

static uint64_t calls_of_the_worker(const struct load *load, unsigned requests)
{
    uint64_t before = calls_so_far();
    for (unsigned sent = 0; sent < requests; sent += load->at_once) {
        assert_true(caller_send(&caller, load->octets));
        for (unsigned i = 0; i < load->at_once; i++) {
            assert_int_equal(caller_take(&caller), load->status);
            assert_true(is_right(&caller.answer, load));
        }
    }
    return calls_so_far() - before;
}

static void expect_no_calls_of_the_worker(const struct load *load)
{
    skip_where_nothing_counts();
    calls_of_the_worker(load, WARM_UP);
    assert_int_equal(calls_of_the_worker(load, REQUESTS), 0);
}

static void over_sockets_the_count_sees_what_a_handler_allocates(void **state)
{
    (void)state;
    skip_where_nothing_counts();
    calls_of_the_worker(&spending, WARM_UP);
    assert_int_equal(calls_of_the_worker(&spending, 100), 200);
}

static void over_sockets_a_request_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_of_the_worker(&hellos);
}

static void over_sockets_a_pipelined_request_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_of_the_worker(&pipelined);
}

static void over_sockets_a_request_with_a_small_body_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_of_the_worker(&echoes);
}

static void over_sockets_a_request_for_nothing_allocates_nothing(void **state)
{
    (void)state;
    expect_no_calls_of_the_worker(&missing);
}

/* A connection has a price, but none that its predecessor has not paid already. */
static void over_sockets_the_next_connection_allocates_nothing(void **state)
{
    (void)state;
    skip_where_nothing_counts();
    calls_of_the_worker(&hellos, WARM_UP);
    uint64_t before = calls_so_far();
    for (unsigned i = 0; i < 100; i++) {
        caller_close(&caller);
        assert_true(caller_connect(&caller, served.port));
        calls_of_the_worker(&hellos, 3);
    }
    assert_int_equal(calls_so_far() - before, 0);
}

int main(void)
{
#define IN_MEMORY(name) cmocka_unit_test_setup_teardown(in_memory_##name, make_tested, free_tested)
#define OVER_SOCKETS(name)                                                                         \
    cmocka_unit_test_setup_teardown(over_sockets_##name, start_served, end_served)
    const struct CMUnitTest tests[] = {
        IN_MEMORY(the_count_sees_what_a_handler_allocates),
        IN_MEMORY(a_request_allocates_nothing),
        IN_MEMORY(a_pipelined_request_allocates_nothing),
        IN_MEMORY(a_request_with_a_small_body_allocates_nothing),
        IN_MEMORY(a_request_for_nothing_allocates_nothing),
        OVER_SOCKETS(the_count_sees_what_a_handler_allocates),
        OVER_SOCKETS(a_request_allocates_nothing),
        OVER_SOCKETS(a_pipelined_request_allocates_nothing),
        OVER_SOCKETS(a_request_with_a_small_body_allocates_nothing),
        OVER_SOCKETS(a_request_for_nothing_allocates_nothing),
        OVER_SOCKETS(the_next_connection_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
