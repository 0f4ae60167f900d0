/*
 * Facts about files and assets over HTTP/2: conditions, ranges, heads, listings and siblings are those of
 * HTTP/1, and what a file is sent with is given back when its stream ends early.
 */
#include "support/h2_client.h"
#include "support/tested.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 300000 };

static const char *const names[] = {"a.txt", "large", "app.js", "app.js.gz", "sub/x&y.txt"};
static char top[] = "/tmp/rivulet-test-XXXXXX";
static char large[LARGE + 1];
static struct h2_client peer;

static void put(const char *name, const char *contents)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", top, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(contents, 1, strlen(contents), file), strlen(contents));
    fclose(file);
}

static int make_tree(void **state)
{
    char path[64];
    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)('a' + i % 23);
    if (mkdtemp(top) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/sub", top);
    if (mkdir(path, 0755) != 0)
        return -1;
    const char *const contents[] = {"0123456789", large, "plain script", "gz script", "below"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(names[i], contents[i]);
    return 0;
}

static int remove_tree(void **state)
{
    char path[64];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", top, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/sub", top);
    return rmdir(path) == 0 && rmdir(top) == 0 ? 0 : -1;
}

static const rv_asset assets[] = {{"index.html", "<p>asset", 8, NULL, NULL, 0},
                                  {"sub/large", large, LARGE, NULL, NULL, 0},
                                  {"site.css", "plain", 5, NULL, NULL, 0},
                                  {"site.css.br", "br", 2, NULL, NULL, 0}};

static int set_up(void **state)
{
    memset(&peer, 0, sizeof peer);
    tested_set_up(state);
    assert_int_equal(
        rv_files(rv_default_app(tested), "/", top, &(rv_files_options){.listing = true}), 0);
    assert_int_equal(
        rv_assets(rv_default_app(tested), "/assets", assets, sizeof assets / sizeof *assets), 0);
    h2_client_open(&peer, tested, 0, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    h2_client_close(&peer);
    return tested_tear_down(state);
}

static struct h2_exchange *ask(const char *method, const char *path, const char *fields)
{
    struct h2_exchange *exchange = h2_ask(&peer, method, path, fields, false);
    h2_client_pump(&peer);
    return exchange;
}

static struct h2_exchange *get_with(const char *path, const char *fields)
{
    return ask("GET", path, fields);
}

static void expect_its_field(const struct h2_exchange *exchange, const char *name,
                             const char *value)
{
    const char *found = h2_field(&exchange->fields, name);
    if (value == NULL)
        assert_null(found);
    else
        assert_string_equal(found == NULL ? "(none)" : found, value);
}

static void expect_large(const struct h2_exchange *exchange)
{
    assert_int_equal(exchange->status, 200);
    assert_int_equal(exchange->content.len, LARGE);
    assert_memory_equal(exchange->content.ptr, large, LARGE);
    assert_true(exchange->ended);
}

static bool has(const struct h2_exchange *exchange, const char *text)
{
    return memmem(exchange->content.ptr, exchange->content.len, text, strlen(text)) != NULL;
}

/* ---- one file ------------------------------------------------------------------------------------------ */

static void a_file_comes_with_its_fields(void **state)
{
    (void)state;
    struct h2_exchange *exchange = h2_get(&peer, "/a.txt");
    h2_expect(exchange, 200, "0123456789");
    expect_its_field(exchange, "content-type", "text/plain; charset=UTF-8");
    expect_its_field(exchange, "content-length", "10");
    expect_its_field(exchange, "accept-ranges", "bytes");
    expect_its_field(exchange, "connection", NULL);
}

static void a_head_request_gets_the_fields_alone(void **state)
{
    static const char *const paths[] = {"/a.txt", "/large", "/assets/sub/large", "/"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char length[32];
        struct h2_exchange *whole = h2_get(&peer, paths[i]);
        struct h2_exchange *head = ask("HEAD", paths[i], NULL);
        h2_expect(head, 200, "");
        snprintf(length, sizeof length, "%zu", whole->content.len);
        expect_its_field(head, "content-length", length);
    }
}

static void conditions_are_asked(void **state)
{
    static const char *const paths[] = {"/a.txt", "/large", "/assets/sub/large"};
    char field[200];
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct h2_exchange *whole = h2_get(&peer, paths[i]);
        const char *tag = h2_field(&whole->fields, "etag");
        assert_non_null(tag);
        snprintf(field, sizeof field, "if-none-match: \"x\", %.100s\n", tag);
        struct h2_exchange *same = get_with(paths[i], field);
        h2_expect(same, 304, "");
        expect_its_field(same, "content-length", NULL);
        h2_expect(ask("HEAD", paths[i], field), 304, "");
        assert_int_equal(get_with(paths[i], "if-match: \"x\"\n")->status, 412);
    }
    struct h2_exchange *old =
        get_with("/a.txt", "if-unmodified-since: Sun, 06 Nov 1994 08:49:37 GMT\n");
    assert_int_equal(old->status, 412);
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

static void a_range_is_sent_alone(void **state)
{
    (void)state;
    struct h2_exchange *exchange = get_with("/a.txt", "range: bytes=2-4\n");
    h2_expect(exchange, 206, "234");
    expect_its_field(exchange, "content-range", "bytes 2-4/10");
    expect_its_field(exchange, "content-length", "3");
    struct h2_exchange *most = get_with("/large", "range: bytes=1-\n");
    assert_int_equal(most->status, 206);
    assert_int_equal(most->content.len, LARGE - 1);
    assert_memory_equal(most->content.ptr, large + 1, LARGE - 1);
    struct h2_exchange *none = get_with("/a.txt", "range: bytes=10-\n");
    assert_int_equal(none->status, 416);
    expect_its_field(none, "content-range", "bytes */10");
}

static void several_ranges_are_parts(void **state)
{
    char length[32];
    (void)state;
    struct h2_exchange *exchange = get_with("/a.txt", "range: bytes=-2,0-0\n");
    assert_int_equal(exchange->status, 206);
    assert_true(has(exchange, "Content-Range: bytes 8-9/10\r\n\r\n89\r\n"));
    assert_true(has(exchange, "Content-Range: bytes 0-0/10\r\n\r\n0\r\n"));
    snprintf(length, sizeof length, "%zu", exchange->content.len);
    expect_its_field(exchange, "content-length", length);
    static const char *const paths[] = {"/large", "/assets/sub/large"};
    for (int i = 0; i < 2; i++) {
        exchange = get_with(paths[i], "range: bytes=0-99999,200000-\n");
        assert_int_equal(exchange->status, 206);
        const char *first = memmem(exchange->content.ptr, exchange->content.len, "\r\n\r\n", 4);
        assert_non_null(first);
        assert_memory_equal(first + 4, large, 100000);
        const char *second = strstr(first + 4 + 100000, "\r\n\r\n");
        assert_memory_equal(second + 4, large + 200000, 100000);
    }
}

static void a_range_of_another_version_is_all_of_it(void **state)
{
    char field[200];
    (void)state;
    struct h2_exchange *whole = h2_get(&peer, "/a.txt");
    snprintf(field, sizeof field, "range: bytes=0-1\nif-range: %.100s\n",
             h2_field(&whole->fields, "etag"));
    h2_expect(get_with("/a.txt", field), 206, "01");
    h2_expect(get_with("/a.txt", "range: bytes=0-1\nif-range: \"x\"\n"), 200, "0123456789");
}

/* ---- folders and siblings ------------------------------------------------------------------------------ */

static void a_folder_is_listed_and_redirected_to(void **state)
{
    (void)state;
    struct h2_exchange *exchange = h2_get(&peer, "/sub?q=1");
    assert_int_equal(exchange->status, 301);
    expect_its_field(exchange, "location", "/sub/?q=1");
    exchange = h2_get(&peer, "/sub/");
    assert_int_equal(exchange->status, 200);
    expect_its_field(exchange, "content-type", "text/html; charset=UTF-8");
    assert_true(has(exchange, "x&amp;y.txt"));
    exchange = h2_get(&peer, "/assets");
    assert_int_equal(exchange->status, 301);
    expect_its_field(exchange, "location", "/assets/");
    h2_expect(h2_get(&peer, "/assets/"), 200, "<p>asset");
}

static void a_sibling_answers_for_who_accepts_it(void **state)
{
    (void)state;
    struct h2_exchange *exchange = get_with("/app.js", "accept-encoding: br, gzip\n");
    h2_expect(exchange, 200, "gz script");
    expect_its_field(exchange, "content-encoding", "gzip");
    expect_its_field(exchange, "vary", "Accept-Encoding");
    h2_expect(h2_get(&peer, "/app.js"), 200, "plain script");
    exchange = get_with("/assets/site.css", "accept-encoding: br, gzip\n");
    h2_expect(exchange, 200, "br");
    expect_its_field(exchange, "content-encoding", "br");
}

static void nothing_outside_of_the_folder_is_served(void **state)
{
    static const char *const paths[] = {"/..%2fetc/passwd", "/sub/..%2f..%2fx", "/a.txt%00",
                                        "/sub%5c..",        "/.hidden",         "/assets/none"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int status = h2_get(&peer, paths[i])->status;
        assert_true(status == 404 || status == 400);
    }
    assert_int_equal(ask("POST", "/a.txt", NULL)->status, 405);
}

/* ---- several at once ------------------------------------------------------------------------------------ */

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int file = 0; file < 256; file++)
        count += fcntl(file, F_GETFD) != -1;
    return count;
}

static void files_come_on_many_streams_at_once(void **state)
{
    struct h2_exchange *exchanges[12];
    static const char *const paths[] = {"/large", "/assets/sub/large", "/a.txt"};
    (void)state;
    for (size_t i = 0; i < 12; i++)
        exchanges[i] = h2_ask(&peer, "GET", paths[i % 3], NULL, false);
    h2_client_pump(&peer);
    for (size_t i = 0; i < 12; i++) {
        if (i % 3 == 2)
            h2_expect(exchanges[i], 200, "0123456789");
        else
            expect_large(exchanges[i]);
    }
}

static void a_stream_that_is_reset_gives_its_file_back(void **state)
{
    (void)state;
    expect_large(h2_get(&peer, "/large"));
    unsigned before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        struct h2_exchange *exchange =
            h2_ask(&peer, "GET", "/large", i % 2 == 0 ? NULL : "range: bytes=0-200000,5-\n", false);
        exchange->held = true; /* its window stays shut */
        h2_client_pump(&peer);
        assert_true(exchange->content.len > 0 && !exchange->ended);
        h2_expect(h2_get(&peer, "/a.txt"), 200, "0123456789");
        h2_reset(exchange, RV_H2_CANCEL);
        h2_release(exchange);
        h2_client_pump(&peer);
    }
    assert_int_equal(open_descriptors(), before);
    expect_large(h2_get(&peer, "/large"));
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_file_comes_with_its_fields),
        FACT(a_head_request_gets_the_fields_alone),
        FACT(conditions_are_asked),
        FACT(a_range_is_sent_alone),
        FACT(several_ranges_are_parts),
        FACT(a_range_of_another_version_is_all_of_it),
        FACT(a_folder_is_listed_and_redirected_to),
        FACT(a_sibling_answers_for_who_accepts_it),
        FACT(nothing_outside_of_the_folder_is_served),
        FACT(files_come_on_many_streams_at_once),
        FACT(a_stream_that_is_reset_gives_its_file_back),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
