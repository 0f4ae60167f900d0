/*
 * Facts about what the library tells programs of statuses, types and dates (step 3 of rivulet.h).
 */
#include <rivulet.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_status_has_its_phrase(void **state)
{
    (void)state;
    assert_string_equal(rv_status_text(200), "OK");
    assert_string_equal(rv_status_text(404), "Not Found");
    assert_string_equal(rv_status_text(426), "Upgrade Required");
    assert_string_equal(rv_status_text(299), "Unknown");
    assert_string_equal(rv_status_text(-1), "Unknown");
}

static void every_status_of_rfc_9110_has_one(void **state)
{
    static const int ranges[][2] = {{100, 101}, {200, 206}, {300, 305}, {307, 308},
                                    {400, 417}, {421, 422}, {426, 426}, {500, 505}};
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int status = ranges[i][0]; status <= ranges[i][1]; status++)
            if (strcmp(rv_status_text(status), "Unknown") == 0)
                fail_msg("%d has no phrase", status);
}

static void a_file_has_a_type(void **state)
{
    (void)state;
    assert_string_equal(rv_media_type("a/b.CSS"), "text/css; charset=UTF-8");
    assert_string_equal(rv_media_type("README"), "application/octet-stream");
    assert_string_equal(rv_media_type(""), "application/octet-stream");
    assert_string_equal(rv_media_type(NULL), "application/octet-stream");
}

/* What sites are made of, and what they offer for download. */
static void the_usual_types_are_known(void **state)
{
    static const char *const names[] = {
        "html", "htm", "txt",  "xml",  "png", "jpeg", "jpg", "gif",  "js",   "json", "css", "ico",
        "pdf",  "zip", "svg",  "webp", "mp3", "mp4",  "ogg", "webm", "wav",  "gz",   "tar", "csv",
        "md",   "rtf", "woff", "ttf",  "otf", "wasm", "7z",  "jar",  "avif", "bmp",  "tif", "doc",
        "xls",  "ppt", "odt",  "epub", "bz2", "xz",   "avi", "mpeg", "mid",  "ps",   "sh",  "rss"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[16] = "/f.";
        strcat(path, names[i]);
        if (strcmp(rv_media_type(path), "application/octet-stream") == 0)
            fail_msg("%s has no type", path);
    }
}

static void a_date_is_as_fields_have_it(void **state)
{
    char text[RV_HTTP_DATE_SIZE];
    (void)state;
    assert_ptr_equal(rv_http_date(784111777, text), text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(rv_http_date(0, text), "Thu, 01 Jan 1970 00:00:00 GMT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_has_its_phrase),
        cmocka_unit_test(every_status_of_rfc_9110_has_one),
        cmocka_unit_test(a_file_has_a_type),
        cmocka_unit_test(the_usual_types_are_known),
        cmocka_unit_test(a_date_is_as_fields_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
