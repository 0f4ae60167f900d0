/*
 * Facts about responses for which memory runs out while they are collected or compressed: whichever of the
 * allocations fails, the client gets what was meant, compressed or not, or an error, or a connection that
 * is cut; nothing is leaked, and the next client is none the worse. The linker sends the library's
 * allocations here (cmake/rivulet_tests.cmake); those of the coding libraries are their own.
 */
#include "support/compressed.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 20000
#define BIG_BYTES 600000

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_int until_failure = -1; /* negative: none is to come */
static atomic_bool has_failed;

static bool fails(void)
{
    if (atomic_load(&until_failure) < 0 || atomic_fetch_sub(&until_failure, 1) != 0)
        return false;
    atomic_store(&has_failed, true);
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static char *page, *big;

static int make_pages(void **state)
{
    (void)state;
    page = compressible_text(PAGE_BYTES);
    big = compressible_text(BIG_BYTES);
    return 0;
}

static int free_pages(void **state)
{
    (void)state;
    free(page);
    free(big);
    return 0;
}

static int answer_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_html(talk, 200, page);
}

static int answer_big(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_slice(big, BIG_BYTES));
}

static int stream_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int result = rv_set_header(talk, "Content-Type", "text/plain");
    if (result == 0)
        result = rv_begin(talk, 200);
    for (size_t at = 0; result >= 0 && at < PAGE_BYTES; at += 1000)
        result = rv_write(talk, rv_slice(page + at, 1000));
    return result < 0 ? result : rv_end(talk);
}

static atomic_uint lent;

static void take_back(void *ctx)
{
    (void)ctx;
    lent--;
}

static int answer_lent(rv_talk *talk, void *ctx)
{
    (void)ctx;
    lent++;
    return rv_reply_borrowed(talk, 200, "text/plain", rv_slice(big, BIG_BYTES), take_back, NULL);
}

static int stream_lent(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int result = rv_set_header(talk, "Content-Type", "text/plain");
    if (result == 0)
        result = rv_begin(talk, 200);
    for (size_t at = 0; result >= 0 && at < PAGE_BYTES; at += 10000) {
        lent++;
        result = rv_write_borrowed(talk, rv_slice(page + at, 10000), take_back, NULL);
    }
    return result < 0 ? result : rv_end(talk);
}

static const struct {
    rv_handler handler;
    char *const *content;
} handlers[] = {{answer_page, &page},
                {answer_big, &big},
                {stream_page, &page},
                {answer_lent, &big},
                {stream_lent, &page}};

static void begin(rv_framing framing, rv_run_mode run, rv_handler handler)
{
    static const rv_compress_options compress = {0};
    rv_app_options options = {.framing = framing, .compress = &compress};
    tested_with(&(rv_server_options){.pool_threads = 1});
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
    route_with("GET /", handler, NULL, (rv_route_options){.run = run});
    as(0);
    client();
}

/* What came is an answer of which nothing is missing, or is cut off. */
static void check(rv_bytes octets, const char *content)
{
    static struct answer answer;
    enum answer_result result = answer_take(&answer, &octets, false, rv_test_closed(client()));
    if (result == ANSWER_WHOLE && answer.status == 200) {
        const char *coding = answer_field(&answer, "Content-Encoding");
        assert_decodes(coding_of_name(coding), rv_slice(answer.content.ptr, answer.content.len),
                       rv_str(content), true);
        assert_int_equal(octets.len, 0);
    } else if (result == ANSWER_WHOLE) {
        assert_true(answer.status == 500 || answer.status == 503);
    } else {
        assert_true(rv_test_closed(client()));
    }
}

/* With the n-th allocation failing. False: there were not so many. */
static bool try_once(int n, const char *coding, const char *content)
{
    char request[128] = "GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: ";
    strcat(strcat(request, coding), "\r\n\r\n");
    rv_test *test = client();
    atomic_store(&has_failed, false);
    atomic_store(&until_failure, n);
    rv_error error = rv_test_send(test, rv_str(request));
    atomic_store(&until_failure, -1);
    if (error == 0) /* else it was the client who had none */
        check(rv_test_received(test), content);
    assert_int_equal(atomic_load(&lent), 0);
    as(1);
    accepts("GET", "/", coding);
    expect_status(200);
    expect_decoded(coding, content);
    as(0);
    return atomic_load(&has_failed);
}

static void try_all(rv_run_mode run)
{
    static const char *const codings[] = {"gzip", "zstd", "br"};
    for (unsigned i = 0; i < sizeof handlers / sizeof *handlers; i++)
        for (int framing = RV_FRAMING_AUTO; framing <= RV_FRAMING_CHUNKED; framing++) {
            const char *coding = codings[(i + (unsigned)framing) % 3];
            int n = 0;
            do
                begin((rv_framing)framing, run, handlers[i].handler);
            while (try_once(n++, coding, *handlers[i].content) && n < 200);
            assert_in_range(n, 2, 199);
        }
}

static void any_allocation_may_fail_on_the_loop(void **state)
{
    (void)state;
    try_all(RV_ON_LOOP);
}

static void any_allocation_may_fail_on_the_pool(void **state)
{
    (void)state;
    try_all(RV_ON_POOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_allocation_may_fail_on_the_loop),
        TEST(any_allocation_may_fail_on_the_pool),
    };
    return cmocka_run_group_tests(tests, make_pages, free_pages);
}
