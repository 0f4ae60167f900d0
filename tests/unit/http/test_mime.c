/*
 * Media types by extension: the list itself, and how an extension is found in a path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "http/mime.h"
#include "http/mime_types.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UNKNOWN "application/octet-stream"

static const struct {
    const char *extension;
    const char *type;
} listed[] = {
#define LISTED(extension, type) {extension, type},
    RV_MIME_TYPES(LISTED)
#undef LISTED
};

static void assert_type(const char *path, const char *expected)
{
    const char *type = rv_mime_of(rv_str(path));
    if (strcmp(type, expected) != 0)
        fail_msg("%s is %s, not %s", path, type, expected);
}

static void the_list_is_sorted_and_names_nothing_twice(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT(listed); i++)
        if (strcmp(listed[i - 1].extension, listed[i].extension) >= 0)
            fail_msg("%s stands before %s", listed[i - 1].extension, listed[i].extension);
}

static void the_list_holds_extensions_in_lower_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(listed); i++) {
        assert_true(strlen(listed[i].extension) > 0);
        for (const char *at = listed[i].extension; *at != '\0'; at++)
            assert_true((*at >= 'a' && *at <= 'z') || rv_is_digit(*at));
    }
}

static void everything_listed_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(listed); i++) {
        char path[64];
        snprintf(path, sizeof path, "/dir.d/name.%s", listed[i].extension);
        assert_type(path, listed[i].type);
    }
}

static void text_types_say_utf_8_and_no_other_type_does(void **state)
{
    (void)state;
    static const char suffix[] = "; charset=UTF-8";
    for (size_t i = 0; i < COUNT(listed); i++) {
        const char *parameters = strchr(listed[i].type, ';');
        if (strncmp(listed[i].type, "text/", 5) == 0) {
            assert_non_null(parameters);
            assert_string_equal(parameters, suffix);
        } else {
            assert_null(parameters);
        }
    }
}

static void the_types_of_a_web_page_are_as_registered(void **state)
{
    (void)state;
    assert_type("/index.html", "text/html; charset=UTF-8");
    assert_type("/style.css", "text/css; charset=UTF-8");
    assert_type("/app.js", "text/javascript; charset=UTF-8"); /* RFC 9239 */
    assert_type("/app.mjs", "text/javascript; charset=UTF-8");
    assert_type("/data.json", "application/json"); /* RFC 8259: no charset parameter */
    assert_type("/notes.txt", "text/plain; charset=UTF-8");
    assert_type("/logo.svg", "image/svg+xml");
    assert_type("/photo.jpg", "image/jpeg");
    assert_type("/module.wasm", "application/wasm"); /* browsers compile no other type */
    assert_type("/font.woff2", "font/woff2");        /* RFC 8081 */
    assert_type("/favicon.ico", "image/vnd.microsoft.icon");
}

static void an_extension_is_known_in_any_case(void **state)
{
    (void)state;
    assert_type("/INDEX.HTML", "text/html; charset=UTF-8");
    assert_type("/Photo.JpG", "image/jpeg");
}

static void the_last_dot_of_the_last_segment_decides(void **state)
{
    (void)state;
    assert_type("/a.html/b", UNKNOWN);
    assert_type("/a.html/b.png", "image/png");
    assert_type("/site.tar.gz", "application/gzip");
    assert_type("page.html", "text/html; charset=UTF-8");
    assert_type("../x/page.html", "text/html; charset=UTF-8");
    assert_type("/.html", "text/html; charset=UTF-8");
}

static void what_is_not_listed_is_octets(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",         "/",        "/README", "/a.",   "/a.b/",           "/a.unlisted", "/a.htmlx",
        "/a.htm l", "/a.html ", "/a.7",    "/a.zz", "/a.webmanifests", "/a.\xc3\xa4", "."};
    for (size_t i = 0; i < COUNT(paths); i++)
        assert_type(paths[i], UNKNOWN);
    assert_string_equal(rv_mime_of((rv_bytes){0}), UNKNOWN);
    assert_string_equal(rv_mime_of(RV_LIT("/a.html\0.x")), UNKNOWN);
    assert_string_equal(rv_mime_of(RV_LIT("/a.html\0")), UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_sorted_and_names_nothing_twice),
        cmocka_unit_test(the_list_holds_extensions_in_lower_case),
        cmocka_unit_test(everything_listed_is_found),
        cmocka_unit_test(text_types_say_utf_8_and_no_other_type_does),
        cmocka_unit_test(the_types_of_a_web_page_are_as_registered),
        cmocka_unit_test(an_extension_is_known_in_any_case),
        cmocka_unit_test(the_last_dot_of_the_last_segment_decides),
        cmocka_unit_test(what_is_not_listed_is_octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
