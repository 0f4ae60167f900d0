/*
 * Facts about rv_files: which file a target names, and that it is never one outside of the folder;
 * indexes, the slash, precompressed siblings, listings, and what is noticed when files change.
 */
#include "support/tested.h"

#include "base/random.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/rivulet-test-XXXXXX";
static char pub[64]; /* "<top>/pub": what is served */

static void put(const char *name, const char *contents)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, name);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, contents, strlen(contents)), (ssize_t)strlen(contents));
    close(file);
}

static void make(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void join(const char *target, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, name);
    assert_int_equal(symlink(target, path), 0);
}

static int make_tree(void **state)
{
    (void)state;
    if (mkdtemp(top) == NULL)
        return -1;
    snprintf(pub, sizeof pub, "%s/pub", top);
    make("pub");
    make("pub/sub");
    make("pub/empty");
    make("pub/.git");
    make("pub/.well-known");
    make("pub-secret");
    put("pub/index.html", "index");
    put("pub/a.txt", "0123456789");
    put("pub/a b.txt", "space");
    put("pub/\xc3\xa9.txt", "accent");
    put("pub/semi;colon.txt", "semicolon");
    put("pub/<b>&'\".txt", "marked");
    put("pub/sub/x.txt", "below");
    put("pub/.hidden", "secret");
    put("pub/.git/config", "secret");
    put("pub/.well-known/token", "token");
    put("pub/app.js", "plain script");
    put("pub/app.js.br", "br script");
    put("pub/app.js.gz", "gz script");
    put("secret.txt", "secret");
    put("pub-secret/s.txt", "secret");
    join("../../secret.txt", "pub/sub/out.txt");
    join("..", "pub/up");
    join("../a.txt", "pub/sub/in.txt");
    join("/etc", "pub/etc");
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int remove_tree(void **state)
{
    (void)state;
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void serve_with(const char *prefix, const rv_files_options *options)
{
    assert_int_equal(rv_files(rv_default_app(tested), prefix, pub, options), 0);
}

static bool page_has(const char *text)
{
    return strstr(last_answer()->content.ptr, text) != NULL;
}

/* ---- which file ---------------------------------------------------------------------------------- */

static void a_path_names_a_file(void **state)
{
    (void)state;
    serve_with("/", NULL);
    get("/a.txt");
    expect_answer(200, "0123456789");
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    expect_field("Accept-Ranges", "bytes");
    expect_field("Vary", NULL);
    static const char *const cases[][2] = {
        {"/sub/x.txt", "below"},           {"/a%20b.txt", "space"},
        {"/%C3%A9.txt", "accent"},         {"/%61.txt", "0123456789"},
        {"/./sub/../a.txt", "0123456789"}, {"/semi%3Bcolon.txt", "semicolon"},
        {"/a.txt;sid=1", "0123456789"},    {"/a.txt?query", "0123456789"},
        {"/sub/in.txt", "0123456789"},     {"/.well-known/token", "token"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        get(cases[i][0]);
        expect_answer(200, cases[i][1]);
    }
}

static void what_is_not_there_is_404(void **state)
{
    (void)state;
    serve_with("/", NULL);
    static const char *const paths[] = {"/none",
                                        "/a.txt/",
                                        "/a.txt/x",
                                        "/sub/none",
                                        "//a.txt",
                                        "/sub//x.txt",
                                        "/sub%2Fx.txt",
                                        "/..%5ca.txt",
                                        "/%252e%252e/x",
                                        "/.hidden",
                                        "/.git/config",
                                        "/empty/",
                                        "/sub/.well-known/token"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        get(paths[i]);
        expect_status(404);
    }
    char longest[3000];
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    get(longest);
    expect_status(404);
}

static void only_get_and_head_are_allowed(void **state)
{
    (void)state;
    serve_with("/", NULL);
    request("POST", "/a.txt", "Content-Length: 0\r\n");
    expect_status(405);
    expect_field("Allow", "GET, HEAD, OPTIONS");
    request("HEAD", "/a.txt", NULL);
    expect_head_status(200);
    expect_field("Content-Length", "10");
}

static void conditions_and_ranges_are_those_of_files(void **state)
{
    (void)state;
    char line[128];
    serve_with("/", &(rv_files_options){.cache_control = "max-age=60"});
    get("/a.txt");
    expect_status(200);
    expect_field("Cache-Control", "max-age=60");
    snprintf(line, sizeof line, "If-None-Match: %s\r\n", answer_field(last_answer(), "ETag"));
    request("GET", "/a.txt", line);
    expect_status(304);
    expect_field("Cache-Control", "max-age=60");
    request("GET", "/a.txt", "If-Match: \"other\"\r\n");
    expect_status(412);
    request("GET", "/a.txt", "Range: bytes=2-3\r\n");
    expect_answer(206, "23");
    request("GET", "/a.txt", "Range: bytes=-2,0-0\r\n");
    expect_status(206);
    assert_true(page_has("Content-Range: bytes 8-9/10\r\n\r\n89\r\n"));
    assert_true(page_has("Content-Range: bytes 0-0/10\r\n\r\n0\r\n"));
    request("GET", "/a.txt", "Range: bytes=10-\r\n");
    expect_status(416);
    expect_field("Content-Range", "bytes */10");
}

/* ---- directories ------------------------------------------------------------------------------------ */

static unsigned descriptors(void)
{
    unsigned count = 0;
    for (int file = 0; file < 256; file++)
        count += fcntl(file, F_GETFD) >= 0;
    return count;
}

static void answers_on_their_way_share_one_descriptor(void **state)
{
    (void)state;
    static char large[50000];
    memset(large, 'l', sizeof large - 1);
    put("pub/large.txt", large);
    serve_with("/", NULL);
    get("/large.txt");
    expect_answer(200, large);
    unsigned before = descriptors();
    for (unsigned i = 0; i < 6; i++) {
        as(i);
        rv_test_window(client(), 100);
        get("/large.txt");
    }
    assert_int_equal(descriptors(), before);
    char path[128];
    snprintf(path, sizeof path, "%s/large.txt", pub);
    unlink(path);
    put("pub/large.txt", "other");
    /* The old one is out of the cache, and not closed under anybody. */
    advance_ms(5000);
    for (unsigned i = 0; i < 6; i++) {
        as(i);
        rv_test_window(client(), 1000000);
        expect_status(200);
        assert_int_equal(last_answer()->content.len, sizeof large - 1);
    }
    get("/large.txt");
    expect_answer(200, "other");
}

static void a_directory_is_its_index(void **state)
{
    (void)state;
    serve_with("/", NULL);
    get("/");
    expect_answer(200, "index");
    expect_field("Content-Type", "text/html; charset=UTF-8");
    static const char *const names[] = {"none", "x.txt", NULL};
    tested_with(NULL);
    serve_with("/", &(rv_files_options){.indexes = names});
    get("/sub/");
    expect_answer(200, "below");
}

static void a_directory_without_its_slash_is_redirected_to_it(void **state)
{
    (void)state;
    serve_with("/f", NULL);
    static const char *const cases[][2] = {{"/f", "/f/"},
                                           {"/f?a=b", "/f/?a=b"},
                                           {"/f/sub", "/f/sub/"},
                                           {"/f/sub?a=b&c", "/f/sub/?a=b&c"},
                                           {"/f/sub;sid=1?q", "/f/sub/;sid=1?q"},
                                           {"/f/%73ub", "/f/sub/"},
                                           {"/f/x/../sub", "/f/sub/"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        get(cases[i][0]);
        expect_status(301);
        expect_field("Location", cases[i][1]);
    }
    get("//f/sub"); /* no way to another host */
    expect_status(404);
}

static void a_listing_is_sorted_and_escaped(void **state)
{
    (void)state;
    serve_with("/", &(rv_files_options){.listing = true, .indexes = (const char *[]){NULL}});
    get("/");
    expect_status(200);
    expect_field("Content-Type", "text/html; charset=UTF-8");
    const char *page = last_answer()->content.ptr;
    const char *directory = strstr(page, "<a href=\"sub/\">sub/</a>");
    const char *file =
        strstr(page, "<a href=\"a.txt\">a.txt</a></td><td class=\"number\">10 B</td>");
    assert_non_null(directory);
    assert_non_null(file);
    assert_true(directory < file);
    assert_true(page_has("<a href=\"a%20b.txt\">a b.txt</a>"));
    assert_true(page_has("<a href=\"semi%3Bcolon.txt\">"));
    assert_true(page_has(">&lt;b&gt;&amp;&#39;&quot;.txt</a>"));
    assert_false(page_has("<b>"));
    assert_false(page_has(".hidden"));
    assert_false(page_has(".git"));
    assert_false(page_has(">etc"));
    assert_false(page_has(">up"));
    get("/sub/;sid=1\"x");
    expect_status(200);
    assert_true(page_has("<a href=\"x.txt;sid=1&quot;x\">x.txt</a>"));
    assert_true(page_has("<a href=\"./../;sid=1&quot;x\">/</a>"));
    assert_true(page_has("in.txt"));
    assert_false(page_has("out.txt"));
    request("HEAD", "/sub/", NULL);
    expect_head_status(200);
}

static void a_listing_tells_sizes_and_times(void **state)
{
    char path[320];
    (void)state;
    make("pub/sizes");
    make("pub/sizes/deep");
    put("pub/sizes/one", "1");
    put("pub/sizes/deep/two", "22");
    snprintf(path, sizeof path, "%s/pub/sizes/one", top);
    const struct timespec times[] = {{784111777, 0}, {784111777, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    serve_with("/", &(rv_files_options){.listing = true});
    get("/sizes/");
    expect_status(200);
    assert_true(page_has("<td class=\"number\">1 B</td>"));
    assert_true(page_has("1994-11-06 08:49"));
    get("/sizes/deep/;sid=7");
    expect_status(200);
    assert_true(page_has("<a href=\"./../../;sid=7\">"));
    assert_true(page_has("<a href=\"./../;sid=7\">sizes"));
    assert_true(page_has("<a href=\"two;sid=7\">two</a>"));
}

static void a_large_directory_is_listed_in_turns(void **state)
{
    (void)state;
    char name[64], path[320];
    make("pub/many");
    for (int i = 0; i < 700; i++) {
        snprintf(name, sizeof name, "pub/many/%03d", i);
        put(name, "");
    }
    serve_with("/", &(rv_files_options){.listing = true});
    get("/many/");
    advance_ms(10);
    expect_status(200);
    assert_true(page_has(">000<") && page_has(">699<"));
    as(1);
    get("/many/"); /* and one who leaves meanwhile */
    assert_int_equal(rv_test_reset(client()), 0);
    advance_ms(10);
    snprintf(path, sizeof path, "%s/pub/many", top);
    assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- codings ------------------------------------------------------------------------------------------ */

static void a_sibling_answers_for_who_accepts_it(void **state)
{
    (void)state;
    char plain[64], line[128];
    serve_with("/", NULL);
    get("/app.js");
    expect_answer(200, "plain script");
    expect_field("Vary", "Accept-Encoding");
    expect_field("Content-Encoding", NULL);
    snprintf(plain, sizeof plain, "%s", answer_field(last_answer(), "ETag"));
    request("GET", "/app.js", "Accept-Encoding: gzip, br\r\n");
    expect_answer(200, "br script");
    expect_field("Content-Encoding", "br");
    expect_field("Vary", "Accept-Encoding");
    expect_field("Content-Type", "text/javascript; charset=UTF-8");
    assert_string_not_equal(answer_field(last_answer(), "ETag"), plain);
    snprintf(line, sizeof line, "Accept-Encoding: br\r\nIf-None-Match: %s\r\n",
             answer_field(last_answer(), "ETag"));
    request("GET", "/app.js", line);
    expect_status(304);
    expect_field("Vary", "Accept-Encoding");
    request("GET", "/app.js", "Accept-Encoding: gzip\r\n");
    expect_answer(200, "gz script");
    request("GET", "/app.js", "Accept-Encoding: br;q=0, zstd\r\n");
    expect_answer(200, "plain script");
    request("GET", "/app.js", "Accept-Encoding: br\r\nRange: bytes=0-1\r\n");
    expect_answer(206, "br");
}

static void siblings_may_be_files_like_others(void **state)
{
    (void)state;
    serve_with("/", &(rv_files_options){.no_precompressed = true});
    request("GET", "/app.js", "Accept-Encoding: br\r\n");
    expect_answer(200, "plain script");
    expect_field("Vary", NULL);
}

/* ---- nothing outside ------------------------------------------------------------------------------------ */

static void links_that_lead_out_are_not_followed(void **state)
{
    (void)state;
    serve_with("/", NULL);
    get("/sub/out.txt");
    expect_status(404);
    get("/etc/passwd");
    expect_status(404);
    get("/up/secret.txt");
    expect_status(404);
    tested_with(NULL);
    serve_with("/", &(rv_files_options){.links_out = true});
    get("/sub/out.txt");
    expect_answer(200, "secret");
}

static void no_spelling_leads_out(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "..",    ".",         "/",       "%2e", "%2E%2e",  ".%2e",   "%252e%252e", "%2f",
        "%5c",   "\\",        "//",      "sub", "up",      "pub",    "secret.txt", "pub-secret",
        "s.txt", "..;",       ";a=b",    "%00", "etc",     "passwd", "a.txt",      "%c0%ae%c0%ae",
        "..%2f", "%2e%2e%2f", "-secret", "?x",  "out.txt", "...",    "index.html"};
    serve_with("/p", &(rv_files_options){.listing = true});
    struct rv_random random = {7};
    for (int round = 0; round < 20000; round++) {
        char path[512] = "/p/";
        for (uint64_t left = 1 + rv_random_next(&random) % 8; left > 0; left--) {
            uint64_t choice = rv_random_next(&random);
            strcat(path, pieces[choice % (sizeof pieces / sizeof *pieces)]);
            if ((choice >> 32) % 3 != 0)
                strcat(path, "/");
        }
        get(path);
        rv_bytes octets = rv_test_received(client());
        if (octets.len > 0 && memmem(octets.ptr, octets.len, "secret", 6) != NULL &&
            memmem(octets.ptr, octets.len, " 200 ", 5) != NULL)
            fail_msg("%s leads out", path);
        if (octets.len > 0)
            assert_null(memmem(octets.ptr, octets.len, "root:", 5));
        expect_open();
    }
}

/* ---- changes --------------------------------------------------------------------------------------------- */

static void a_file_that_changes_is_served_anew(void **state)
{
    (void)state;
    serve_with("/", NULL);
    put("pub/new.txt", "first");
    get("/new.txt");
    expect_answer(200, "first");
    get("/new.txt");
    expect_answer(200, "first");
    assert_true(COUNTER(file_cache_hits) > 0);
    put("other", "second");
    char from[128], to[128];
    snprintf(from, sizeof from, "%s/other", top);
    snprintf(to, sizeof to, "%s/pub/new.txt", top);
    assert_int_equal(rename(from, to), 0);
    advance_ms(101);
    get("/new.txt");
    expect_answer(200, "second");
    assert_int_equal(unlink(to), 0);
    advance_ms(101);
    get("/new.txt");
    expect_status(404);
    put("pub/new.txt", "third");
    advance_ms(101);
    get("/new.txt");
    expect_answer(200, "third");
    assert_int_equal(unlink(to), 0);
}

static void a_directory_that_is_replaced_is_noticed(void **state)
{
    (void)state;
    char link[128];
    make("one");
    put("one/a.txt", "one");
    make("two");
    put("two/a.txt", "two");
    join("one", "current");
    snprintf(link, sizeof link, "%s/current", top);
    assert_int_equal(rv_files(rv_default_app(tested), "/", link, NULL), 0);
    get("/a.txt");
    expect_answer(200, "one");
    assert_int_equal(unlink(link), 0);
    join("two", "current");
    advance_ms(101);
    get("/a.txt");
    expect_answer(200, "two");
}

static void many_files_are_no_more_than_the_cache_holds(void **state)
{
    (void)state;
    char path[64];
    serve_with("/", NULL);
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof path, "/none-%d", i);
        get(path);
        expect_status(404);
    }
    get("/a.txt");
    expect_answer(200, "0123456789");
}

/* ---- what cannot be served ---------------------------------------------------------------------------------- */

static void a_wrong_argument_is_named(void **state)
{
    (void)state;
    rv_app *app = rv_default_app(tested);
    assert_int_equal(rv_files(app, "/", "/none/such", NULL), RV_ENOTFOUND);
    assert_non_null(strstr(rv_server_error_text(tested), "/none/such"));
    tested_with(NULL);
    app = rv_default_app(tested);
    assert_int_equal(rv_files(app, "static", pub, NULL), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "\"static\""));
    assert_int_equal(rv_files(app, "/{x}", pub, NULL), RV_EINVAL);
    assert_int_equal(rv_files(app, "/", NULL, NULL), RV_EINVAL);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_path_names_a_file),
        FACT(what_is_not_there_is_404),
        FACT(only_get_and_head_are_allowed),
        FACT(conditions_and_ranges_are_those_of_files),
        FACT(answers_on_their_way_share_one_descriptor),
        FACT(a_directory_is_its_index),
        FACT(a_directory_without_its_slash_is_redirected_to_it),
        FACT(a_listing_is_sorted_and_escaped),
        FACT(a_listing_tells_sizes_and_times),
        FACT(a_large_directory_is_listed_in_turns),
        FACT(a_sibling_answers_for_who_accepts_it),
        FACT(siblings_may_be_files_like_others),
        FACT(links_that_lead_out_are_not_followed),
        FACT(no_spelling_leads_out),
        FACT(a_file_that_changes_is_served_anew),
        FACT(a_directory_that_is_replaced_is_noticed),
        FACT(many_files_are_no_more_than_the_cache_holds),
        FACT(a_wrong_argument_is_named),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
