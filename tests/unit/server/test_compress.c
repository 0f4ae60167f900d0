/*
 * Facts about compressed responses (step 4 of rivulet.h): what is compressed, and what its head says.
 * What is streamed: test_compress_stream.c; files: test_compress_files.c; HTTP/2: test_h2_compress.c.
 */
#include "support/compressed.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 20000

static char *page;

static const rv_compress_options compress_all = {0};

static int make_pages(void **state)
{
    (void)state;
    page = compressible_text(PAGE_BYTES);
    return 0;
}

static int free_pages(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static void app_with(rv_framing framing, const rv_compress_options *compress)
{
    rv_app_options options = {.framing = framing, .compress = compress};
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
}

static int set_up(void **state)
{
    int result = tested_set_up(state);
    app_with(RV_FRAMING_AUTO, &compress_all);
    return result;
}

/* ---- whole answers ------------------------------------------------------------------------------------- */

static int answer_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_html(talk, 200, page);
}

static void a_whole_answer_is_compressed_and_has_its_own_length(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    route("GET /", answer_page, NULL);
    for (size_t i = 0; i < 3; i++) {
        char length[24];
        accepts("GET", "/", names[i]);
        expect_status(200);
        expect_decoded(names[i], page);
        expect_varies();
        assert_true(last_answer()->content.len < PAGE_BYTES / 3);
        snprintf(length, sizeof length, "%zu", last_answer()->content.len);
        expect_field("Content-Length", length);
        expect_field("Content-Type", "text/html; charset=UTF-8");
        expect_open();
    }
}

/* Row 18 of what is known about servers: who accepts what. */
static void the_weights_of_accept_encoding_decide(void **state)
{
    static const struct {
        const char *accepted, *coding;
    } cases[] = {{"identity", "identity"},
                 {"gzip", "gzip"},
                 {"gzip;q=0", "identity"},
                 {"*;q=0", "identity"},
                 {"gzip;q=0.5, br;q=1", "br"},
                 {"GZIP", "gzip"},
                 {"", "identity"},
                 {"gzip;q=x, ;;", "identity"},
                 {"x-gzip", "gzip"},
                 {"*", "zstd"},
                 {"gzip, deflate, br, zstd", "zstd"},
                 {"gzip, deflate, br", "br"},
                 {"zstd;q=0, *;q=0.1", "br"},
                 {"identity;q=0.5, gzip;q=0.1", "identity"}};
    (void)state;
    route("GET /", answer_page, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        accepts("GET", "/", cases[i].accepted);
        expect_status(200);
        expect_decoded(cases[i].coding, page);
        expect_varies();
    }
    get("/");
    expect_answer(200, page);
    expect_varies();
    request("GET", "/", "Accept-Encoding: gzip;q=0.5\r\nAccept-Encoding: br\r\n");
    expect_status(200);
    expect_decoded("br", page);
}

static void a_head_says_the_same_but_the_length(void **state)
{
    (void)state;
    route("GET /", answer_page, NULL);
    accepts("HEAD", "/", "gzip");
    expect_head_status(200);
    expect_field("Content-Encoding", "gzip");
    expect_field("Content-Type", "text/html; charset=UTF-8");
    expect_field("Content-Length", NULL);
    expect_field("Transfer-Encoding", NULL);
    expect_varies();
    expect_silence();
    expect_open();
    request("HEAD", "/", NULL);
    expect_head_status(200);
    expect_field("Content-Length", "20000");
    expect_field("Content-Encoding", NULL);
    expect_varies();
}

static void http_1_0_is_compressed_for_too(void **state)
{
    (void)state;
    route("GET /", answer_page, NULL);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\nAccept-Encoding: gzip\r\n\r\n");
    expect_status(200);
    expect_decoded("gzip", page);
    assert_non_null(answer_field(last_answer(), "Content-Length"));
    expect_field("Connection", "keep-alive");
    expect_open();
}

/* ---- what is left alone ---------------------------------------------------------------------------------- */

struct said {
    int status;
    const char *type, *name, *value, *content;
};

static int say_so(rv_talk *talk, void *ctx)
{
    const struct said *said = ctx;
    if (said->name != NULL)
        rv_set_header(talk, said->name, said->value);
    return rv_reply(talk, said->status, said->type, rv_str(said->content));
}

static void expect_untouched(struct said said)
{
    tested_with(NULL);
    app_with(RV_FRAMING_AUTO, &compress_all);
    route("GET /", say_so, &said);
    accepts("GET", "/", "gzip, br, zstd");
    expect_answer(said.status, said.content);
    if (said.name == NULL || strcmp(said.name, "Content-Encoding") != 0)
        expect_field("Content-Encoding", NULL);
    expect_field("Vary", NULL);
}

static void what_cannot_gain_stays_as_it_is(void **state)
{
    (void)state;
    expect_untouched((struct said){200, "image/png", NULL, NULL, page});
    expect_untouched((struct said){200, NULL, NULL, NULL, page});
    expect_untouched((struct said){200, "text/event-stream", NULL, NULL, page});
    expect_untouched((struct said){200, "text/plain", NULL, NULL, "short"});
    expect_untouched(
        (struct said){206, "text/plain", "Content-Range", "bytes 0-19999/30000", page});
    expect_untouched((struct said){200, "text/plain", "Content-Encoding", "x-own", page});
    expect_untouched(
        (struct said){200, "text/plain", "Cache-Control", "private, No-Transform", page});
    expect_untouched((struct said){200, "text/plain", "Content-Digest", "sha-256=:AA==:", page});
}

static void errors_are_compressed_as_well(void **state)
{
    struct said said = {404, "text/plain", NULL, NULL, page};
    (void)state;
    route("GET /", say_so, &said);
    accepts("GET", "/", "gzip");
    expect_status(404);
    expect_decoded("gzip", page);
}

static void a_route_may_refuse(void **state)
{
    (void)state;
    route_with("GET /", answer_page, NULL, (rv_route_options){.no_compress = true});
    accepts("GET", "/", "gzip");
    expect_answer(200, page);
    expect_field("Vary", NULL);
}

static void types_levels_and_the_least_size_are_options(void **state)
{
    rv_compress_options options = {.types = "image/png *+json",
                                   .bytes_min = 10,
                                   .zstd_level = RV_COMPRESS_OFF,
                                   .brotli_level = RV_COMPRESS_OFF,
                                   .gzip_level = 9};
    struct said png = {200, "image/png", NULL, NULL, "eleven octets, or some more"};
    struct said text = {200, "text/plain", NULL, NULL, page};
    (void)state;
    app_with(RV_FRAMING_AUTO, &options);
    route("GET /png", say_so, &png);
    route("GET /text", say_so, &text);
    accepts("GET", "/png", "br, zstd, gzip;q=0.1");
    expect_status(200);
    expect_decoded("gzip", png.content);
    accepts("GET", "/text", "gzip");
    expect_answer(200, page);
}

static void expect_wrong(const rv_app_options *options, const char *why)
{
    tested_with(NULL);
    assert_int_equal(rv_app_set(rv_default_app(tested), options), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested), why);
}

static void options_that_are_wrong_are_named(void **state)
{
    (void)state;
    rv_compress_options types = {.types = "text"}, level = {.gzip_level = 10},
                        below = {.brotli_level = -2},
                        none = {
                            .types = NULL, .gzip_level = -1, .brotli_level = -1, .zstd_level = -1};
    expect_wrong(&(rv_app_options){.framing = (rv_framing)7},
                 "app option framing: is none that there is");
    expect_wrong(&(rv_app_options){.compress = &types},
                 "app option compress->types: must be media types such as \"text/html\", "
                 "\"text/*\" or \"*+json\", separated by spaces");
    expect_wrong(&(rv_app_options){.compress = &level},
                 "app option compress->gzip_level: more than the coding has");
    expect_wrong(&(rv_app_options){.compress = &below},
                 "app option compress->brotli_level: must be a level, 0 for the default or "
                 "RV_COMPRESS_OFF");
    expect_wrong(&(rv_app_options){.compress = &none}, "app option compress: no coding is left");
}

/* ---- fields ------------------------------------------------------------------------------------------------ */

static int answer_with_fields(rv_talk *talk, void *ctx)
{
    const int *status = ctx;
    rv_set_header(talk, "ETag", "\"tag\"");
    rv_set_header(talk, "Accept-Ranges", "bytes");
    rv_set_header(talk, "Vary", "Cookie");
    rv_set_header(talk, "X-Own", "value");
    return *status == 304 ? rv_reply(talk, 304, NULL, rv_str(""))
                          : rv_reply(talk, *status, "text/plain", rv_str(page));
}

static void the_fields_of_the_application_follow(void **state)
{
    int status = 200;
    (void)state;
    route("GET /", answer_with_fields, &status);
    accepts("GET", "/", "gzip");
    expect_status(200);
    expect_field("ETag", "W/\"tag\"");
    expect_field("Accept-Ranges", NULL);
    expect_field("Vary", "Cookie, Accept-Encoding");
    expect_field("X-Own", "value");
    get("/");
    expect_answer(200, page);
    expect_field("ETag", "\"tag\"");
    expect_field("Accept-Ranges", "bytes");
    expect_field("Vary", "Cookie, Accept-Encoding");
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
}

static void a_304_says_what_its_200_would(void **state)
{
    int status = 304;
    (void)state;
    route("GET /", answer_with_fields, &status);
    accepts("GET", "/", "gzip");
    expect_answer(304, "");
    expect_field("ETag", "W/\"tag\"");
    expect_field("Vary", "Cookie, Accept-Encoding");
    expect_field("Content-Encoding", NULL);
    expect_silence();
    get("/");
    expect_answer(304, "");
    expect_field("ETag", "\"tag\"");
}

static int vary_all(rv_talk *talk, void *ctx)
{
    const char *vary = ctx;
    rv_set_header(talk, "Vary", vary);
    return rv_html(talk, 200, page);
}

static void vary_is_not_doubled(void **state)
{
    static char star[] = "*", there[] = "Cookie, accept-encoding";
    (void)state;
    route("GET /star", vary_all, star);
    route("GET /there", vary_all, there);
    accepts("GET", "/star", "gzip");
    expect_status(200);
    expect_field("Vary", "*");
    accepts("GET", "/there", "gzip");
    expect_status(200);
    expect_field("Vary", there);
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_answer_is_compressed_and_has_its_own_length),
        TEST(the_weights_of_accept_encoding_decide),
        TEST(a_head_says_the_same_but_the_length),
        TEST(http_1_0_is_compressed_for_too),
        TEST(what_cannot_gain_stays_as_it_is),
        TEST(errors_are_compressed_as_well),
        TEST(a_route_may_refuse),
        TEST(types_levels_and_the_least_size_are_options),
        TEST(options_that_are_wrong_are_named),
        TEST(the_fields_of_the_application_follow),
        TEST(a_304_says_what_its_200_would),
        TEST(vary_is_not_doubled),
    };
    return cmocka_run_group_tests(tests, make_pages, free_pages);
}
