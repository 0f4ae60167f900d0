/*
 * Facts about compressed responses over HTTP/2 (test_compress.c has those over HTTP/1): the same codings and
 * fields, however the response is made.
 */
#include "support/compressed.h"
#include "support/h2_client.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 20000
#define BIG_BYTES 1500000

static char *page, *big;
static struct h2_client peer;

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

static int tear_down(void **state)
{
    h2_client_close(&peer);
    return tested_tear_down(state);
}

static void app_with(rv_framing framing)
{
    static const rv_compress_options compress = {0};
    rv_app_options options = {.framing = framing, .compress = &compress};
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
}

static int answer_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_html(talk, 200, page);
}

static int stream_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/html");
    rv_set_trailer(talk, "x-sum", "42");
    rv_begin(talk, 200);
    for (size_t at = 0; at < PAGE_BYTES; at += 1000)
        rv_write(talk, rv_slice(page + at, 1000));
    return rv_end(talk);
}

static int answer_big(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply_borrowed(talk, 200, "text/plain", rv_slice(big, BIG_BYTES), NULL, NULL);
}

/* The same on the loop and on the pool. */
static void everywhere(const char *loop, const char *pool, rv_handler handler)
{
    route(loop, handler, NULL);
    route_with(pool, handler, NULL, (rv_route_options){.run = RV_ON_POOL});
}

static void expect_coded(const struct h2_exchange *exchange, const char *coding,
                         const char *content)
{
    assert_true(exchange->ended);
    assert_int_equal(exchange->status, 200);
    assert_string_equal(h2_field(&exchange->fields, "content-encoding"), coding);
    assert_string_equal(h2_field(&exchange->fields, "vary"), "Accept-Encoding");
    assert_decodes(coding_of_name(coding), rv_slice(exchange->content.ptr, exchange->content.len),
                   rv_str(content), true);
}

static const char *const paths[] = {"/", "/pool", "/stream", "/stream-pool", "/big", "/big-pool"};
#define PATHS (sizeof paths / sizeof *paths)

static void responses_of_every_kind_are_compressed(void **state)
{
    (void)state;
    for (int framing = RV_FRAMING_AUTO; framing <= RV_FRAMING_CHUNKED; framing++) {
        tested_with(NULL);
        app_with((rv_framing)framing);
        everywhere("GET /", "GET /pool", answer_page);
        everywhere("GET /stream", "GET /stream-pool", stream_page);
        everywhere("GET /big", "GET /big-pool", answer_big);
        h2_client_open(&peer, tested, 0, 0);
        for (size_t i = 0; i < PATHS; i++) {
            struct h2_exchange *exchange =
                h2_ask(&peer, "GET", paths[i], "accept-encoding: gzip, br\n", false);
            h2_client_pump(&peer);
            expect_coded(exchange, "br", i < 4 ? page : big);
            bool has_length = h2_field(&exchange->fields, "content-length") != NULL;
            assert_int_equal(has_length, i < 2 && framing != RV_FRAMING_CHUNKED);
            if (i == 2 || i == 3)
                assert_string_equal(h2_field(&exchange->trailers, "x-sum"), "42");
        }
        h2_client_close(&peer);
    }
}

static void a_head_says_the_same_but_the_length(void **state)
{
    (void)state;
    app_with(RV_FRAMING_AUTO);
    everywhere("GET /", "GET /pool", answer_page);
    everywhere("GET /stream", "GET /stream-pool", stream_page);
    everywhere("GET /big", "GET /big-pool", answer_big);
    h2_client_open(&peer, tested, 0, 0);
    for (size_t i = 0; i < PATHS; i++) {
        struct h2_exchange *exchange =
            h2_ask(&peer, "HEAD", paths[i], "accept-encoding: zstd\n", false);
        h2_client_pump(&peer);
        assert_true(exchange->ended);
        assert_int_equal(exchange->content.len, 0);
        assert_string_equal(h2_field(&exchange->fields, "content-encoding"), "zstd");
        assert_string_equal(h2_field(&exchange->fields, "vary"), "Accept-Encoding");
        assert_null(h2_field(&exchange->fields, "content-length"));
    }
}

static void a_stream_that_is_reset_leaves_nothing_behind(void **state)
{
    (void)state;
    app_with(RV_FRAMING_AUTO);
    everywhere("GET /big", "GET /big-pool", answer_big);
    for (unsigned i = 0; i < 2; i++) {
        h2_client_open(&peer, tested, 1000, 0);
        struct h2_exchange *exchange =
            h2_ask(&peer, "GET", i == 0 ? "/big" : "/big-pool", "accept-encoding: gzip\n", false);
        exchange->held = true;
        h2_client_pump(&peer);
        assert_false(exchange->ended);
        h2_reset(exchange, 8);
        h2_client_pump(&peer);
        h2_client_close(&peer);
    }
    assert_int_equal(errors_told, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(responses_of_every_kind_are_compressed),
        TEST(a_head_says_the_same_but_the_length),
        TEST(a_stream_that_is_reset_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_pages, free_pages);
}
