/*
 * Facts about files and assets in an app that compresses: ranges and validators are of the file as it is,
 * siblings that are compressed already go first, the rest is compressed as any answer is.
 */
#include "support/compressed.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE_BYTES 20000
#define BIG_BYTES 700000

static char *page, *big;
static char folder[] = "/tmp/rivulet-test-XXXXXX";

static void put_file(const char *name, const char *octets, size_t length)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(octets, 1, length, file), length);
    fclose(file);
}

static const char *const names[] = {"page.html", "big.txt",   "photo.png",
                                    "small.txt", "coded.css", "coded.css.br"};
#define NAMES (sizeof names / sizeof *names)

static int make_files(void **state)
{
    (void)state;
    page = compressible_text(PAGE_BYTES);
    big = compressible_text(BIG_BYTES);
    if (mkdtemp(folder) == NULL)
        return -1;
    put_file("page.html", page, PAGE_BYTES);
    put_file("big.txt", big, BIG_BYTES);
    put_file("photo.png", page, PAGE_BYTES);
    put_file("small.txt", "small", 5);
    put_file("coded.css", page, PAGE_BYTES);
    put_file("coded.css.br", "not really", 10);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    free(page);
    free(big);
    return rmdir(folder);
}

static int answer_with_file(rv_talk *talk, void *ctx)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, (const char *)ctx);
    return rv_file(talk, path, NULL);
}

static int set_up(void **state)
{
    static const rv_compress_options compress = {0};
    static char page_name[] = "page.html", big_name[] = "big.txt";
    int result = tested_set_up(state);
    rv_app_options options = {.compress = &compress};
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
    assert_int_equal(rv_files(rv_default_app(tested), "/files", folder, NULL), 0);
    route("GET /file", answer_with_file, page_name);
    route_with("GET /pool", answer_with_file, page_name, (rv_route_options){.run = RV_ON_POOL});
    route_with("GET /big", answer_with_file, big_name, (rv_route_options){.run = RV_ON_POOL});
    return result;
}

static void files_are_compressed(void **state)
{
    static const char *const paths[] = {"/files/page.html", "/files/page.html", "/file", "/pool"};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        accepts("GET", paths[i], "gzip");
        expect_status(200);
        expect_decoded("gzip", page);
        expect_varies();
        expect_field("Accept-Ranges", NULL);
        assert_non_null(answer_field(last_answer(), "Last-Modified"));
        assert_memory_equal(answer_field(last_answer(), "ETag"), "W/\"", 3);
        get(paths[i]);
        expect_answer(200, page);
        expect_varies();
        assert_memory_equal(answer_field(last_answer(), "ETag"), "\"", 1);
        accepts("HEAD", paths[i], "gzip");
        expect_head_status(200);
        expect_field("Content-Encoding", "gzip");
        expect_field("Content-Length", NULL);
    }
}

static void large_files_are_compressed_as_they_are_taken(void **state)
{
    static const char *const paths[] = {"/files/big.txt", "/big"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        accepts("GET", paths[i], "zstd");
        expect_status(200);
        expect_decoded("zstd", big);
        assert_true(last_answer()->chunked);
        expect_field("Content-Type", "text/plain; charset=UTF-8");
    }
}

static void what_cannot_gain_stays_as_it_is(void **state)
{
    (void)state;
    accepts("GET", "/files/photo.png", "gzip");
    expect_answer(200, page);
    expect_field("Vary", NULL);
    accepts("GET", "/files/small.txt", "gzip");
    expect_answer(200, "small");
    expect_field("Vary", NULL);
}

static void a_sibling_goes_first(void **state)
{
    (void)state;
    accepts("GET", "/files/coded.css", "br, gzip");
    expect_answer(200, "not really");
    expect_field("Content-Encoding", "br");
    expect_varies();
    accepts("GET", "/files/coded.css", "gzip");
    expect_status(200);
    expect_decoded("gzip", page);
    expect_varies();
}

static void ranges_are_of_the_file_as_it_is(void **state)
{
    (void)state;
    request("GET", "/files/page.html", "Accept-Encoding: gzip\r\nRange: bytes=0-9\r\n");
    expect_status(206);
    assert_int_equal(last_answer()->content.len, 10);
    assert_memory_equal(last_answer()->content.ptr, page, 10);
    expect_field("Content-Encoding", NULL);
    expect_field("Content-Range", "bytes 0-9/20000");
    assert_memory_equal(answer_field(last_answer(), "ETag"), "\"", 1);
    expect_varies();
    request("GET", "/files/page.html", "Accept-Encoding: gzip\r\nRange: bytes=0-9,20-29\r\n");
    expect_status(206);
    expect_field("Content-Encoding", NULL);
    expect_varies();
}

/* The tag of a compressed answer comes back. */
static void a_304_has_the_fields_and_no_content(void **state)
{
    char etag[128], fields[256];
    (void)state;
    accepts("GET", "/files/page.html", "gzip");
    expect_status(200);
    snprintf(etag, sizeof etag, "%s", answer_field(last_answer(), "ETag"));
    snprintf(fields, sizeof fields, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", etag);
    request("GET", "/files/page.html", fields);
    expect_answer(304, "");
    expect_field("ETag", etag);
    expect_varies();
    expect_field("Content-Encoding", NULL);
    expect_silence();
    /* A range of what was compressed is none of the file: all of it is sent. */
    snprintf(fields, sizeof fields, "Accept-Encoding: gzip\r\nRange: bytes=0-9\r\nIf-Range: %s\r\n",
             etag);
    request("GET", "/files/page.html", fields);
    expect_status(200);
    expect_decoded("gzip", page);
    /* Of what is not compressed it is as ever. */
    get("/files/small.txt");
    expect_status(200);
    snprintf(fields, sizeof fields, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n",
             answer_field(last_answer(), "ETag"));
    request("GET", "/files/small.txt", fields);
    expect_answer(304, "");
    assert_memory_equal(answer_field(last_answer(), "ETag"), "\"", 1);
    expect_field("Vary", NULL);
}

static void a_file_that_shrinks_meanwhile_cuts_the_connection(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/big.txt", folder);
    rv_test_window(client(), 1000);
    accepts("GET", "/files/big.txt", "gzip");
    assert_int_equal(truncate(path, 1000), 0);
    rv_test_window(client(), RV_NO_LIMIT);
    rv_test_settle(client());
    expect_closed();
    put_file("big.txt", big, BIG_BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_compressed),
        TEST(large_files_are_compressed_as_they_are_taken),
        TEST(what_cannot_gain_stays_as_it_is),
        TEST(a_sibling_goes_first),
        TEST(ranges_are_of_the_file_as_it_is),
        TEST(a_304_has_the_fields_and_no_content),
        TEST(a_file_that_shrinks_meanwhile_cuts_the_connection),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
