/*
 * Facts about rv_assets: a table in the program is served like a folder.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ASSET(path, text)                                                                          \
    {                                                                                              \
        path, text, sizeof(text) - 1, NULL, NULL, 0                                                \
    }

static char large[100000];

static const rv_asset table[] = {
    ASSET("sub/x.txt", "below"),
    {"index.html", "index", 5, NULL, "\"mine\"", 1748779200},
    ASSET("app.js", "plain script"),
    ASSET("app.js.gz", "gz script"),
    ASSET("sub-way.txt", "beside"),
    {"noext", "<svg/>", 6, "image/svg+xml", NULL, 0},
    {"large.bin", large, sizeof large, NULL, NULL, 0},
    ASSET("empty.txt", ""),
};
#define COUNT (sizeof table / sizeof *table)

static void serve(const char *prefix)
{
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)('a' + i % 23);
    assert_int_equal(rv_assets(rv_default_app(tested), prefix, table, COUNT), 0);
}

static void an_asset_is_answered_with_its_validators(void **state)
{
    (void)state;
    serve("/");
    get("/");
    expect_answer(200, "index");
    expect_field("ETag", "\"mine\"");
    expect_field("Last-Modified", "Sun, 01 Jun 2025 12:00:00 GMT");
    expect_field("Content-Type", "text/html; charset=UTF-8");
    get("/noext");
    expect_answer(200, "<svg/>");
    expect_field("Content-Type", "image/svg+xml");
    expect_field("Last-Modified", NULL);
    assert_non_null(answer_field(last_answer(), "ETag"));
    get("/empty.txt");
    expect_answer(200, "");
    request("GET", "/", "If-None-Match: \"mine\"\r\n");
    expect_status(304);
    request("GET", "/sub/x.txt", "Range: bytes=1-2\r\n");
    expect_answer(206, "el");
    request("GET", "/large.bin", "Range: bytes=0-49999,60000-99999\r\n");
    expect_status(206);
    const char *content = last_answer()->content.ptr;
    const char *first = strstr(content, "\r\n\r\n") + 4;
    assert_memory_equal(first, large, 50000);
    assert_memory_equal(strstr(first + 50000, "\r\n\r\n") + 4, large + 60000, 40000);
}

static void tags_tell_contents_apart(void **state)
{
    (void)state;
    static const rv_asset other[] = {ASSET("a", "one"), ASSET("b", "two"), ASSET("c", "one")};
    char tags[3][64];
    assert_int_equal(rv_assets(rv_default_app(tested), "/", other, 3), 0);
    for (int i = 0; i < 3; i++) {
        get((const char *[]){"/a", "/b", "/c"}[i]);
        expect_status(200);
        snprintf(tags[i], sizeof tags[i], "%s", answer_field(last_answer(), "ETag"));
    }
    assert_string_equal(tags[0], tags[2]);
    assert_string_not_equal(tags[0], tags[1]);
}

static void paths_make_directories(void **state)
{
    (void)state;
    serve("/files/");
    get("/files");
    expect_status(301);
    expect_field("Location", "/files/");
    get("/files/sub");
    expect_status(301);
    expect_field("Location", "/files/sub/");
    static const char *const missing[] = {"/files/sub/", "/files/su",         "/files/sub/x",
                                          "/files/none", "/files/sub/x.txt/", "/files//sub/x.txt"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        get(missing[i]);
        expect_status(404);
    }
    get("/files/sub-way.txt");
    expect_answer(200, "beside");
}

static void a_sibling_answers_for_who_accepts_it(void **state)
{
    (void)state;
    serve("/");
    request("GET", "/app.js", "Accept-Encoding: gzip\r\n");
    expect_answer(200, "gz script");
    expect_field("Content-Encoding", "gzip");
    expect_field("Vary", "Accept-Encoding");
    get("/app.js");
    expect_answer(200, "plain script");
}

static void a_wrong_table_is_named(void **state)
{
    (void)state;
    static const rv_asset wrong[][2] = {{ASSET("/a", "x"), ASSET("b", "y")},
                                        {ASSET("a/", "x"), ASSET("b", "y")},
                                        {ASSET("a", "x"), ASSET("a", "y")},
                                        {{NULL, "x", 1, NULL, NULL, 0}, ASSET("a", "y")},
                                        {{"a", NULL, 1, NULL, NULL, 0}, ASSET("b", "y")}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tested_with(NULL);
        assert_int_equal(rv_assets(rv_default_app(tested), "/", wrong[i], 2), RV_EINVAL);
        assert_non_null(strstr(rv_server_error_text(tested), "assets: "));
    }
    tested_with(NULL);
    assert_int_equal(rv_assets(rv_default_app(tested), "/", NULL, 1), RV_EINVAL);
    tested_with(NULL);
    assert_int_equal(rv_assets(rv_default_app(tested), "", table, COUNT), RV_EINVAL);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(an_asset_is_answered_with_its_validators),
        FACT(tags_tell_contents_apart),
        FACT(paths_make_directories),
        FACT(a_sibling_answers_for_who_accepts_it),
        FACT(a_wrong_table_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
