/*
 * Facts about rv_file: the file, its validators, conditions and ranges, and what is no file.
 * The rules themselves have their own tests: test_conditional.c, test_range.c.
 */
#include "support/tested.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The file was last modified at 2025-06-01T12:00:00Z. */
#define MODIFIED_S 1748779200
#define MODIFIED "Sun, 01 Jun 2025 12:00:00 GMT"
#define BEFORE "Sun, 01 Jun 2025 11:59:59 GMT"
#define AFTER "Sun, 01 Jun 2025 12:00:01 GMT"

static char directory[] = "/tmp/rivulet-test-XXXXXX";
static char path[64]; /* "<directory>/file.txt" */

static void write_file(const char *contents, size_t size, int64_t modified_s)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, contents, size), (ssize_t)size);
    struct timespec times[2] = {{.tv_sec = modified_s}, {.tv_sec = modified_s}};
    assert_int_equal(futimens(file, times), 0);
    close(file);
}

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file.txt", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

struct serving {
    const char *path;
    const rv_file_options *options;
    int result;
};

static struct serving serving;

static int serve(rv_talk *talk, void *ctx)
{
    (void)ctx;
    serving.result = rv_file(talk, serving.path, serving.options);
    return serving.result == RV_OK ? RV_OK : rv_text(talk, 200, "no file");
}

static int set_up(void **state)
{
    tested_set_up(state);
    route("* /", serve, NULL);
    serving = (struct serving){.path = path};
    write_file("0123456789", 10, MODIFIED_S);
    return 0;
}

static int tear_down(void **state)
{
    unlink(path);
    return tested_tear_down(state);
}

/* The entity tag that the library makes for the file. */
static const char *etag(void)
{
    static char tag[128];
    get("/");
    expect_status(200);
    const char *field = answer_field(last_answer(), "ETag");
    assert_non_null(field);
    snprintf(tag, sizeof tag, "%s", field);
    return tag;
}

static void get_with(const char *field, const char *value)
{
    char line[256];
    snprintf(line, sizeof line, "%s: %s\r\n", field, value);
    request("GET", "/", line);
}

/* ---- the file ---------------------------------------------------------------------------------- */

static void a_file_comes_with_its_validators(void **state)
{
    (void)state;
    get("/");
    expect_answer(200, "0123456789");
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    expect_field("Last-Modified", MODIFIED);
    expect_field("Accept-Ranges", "bytes");
    const char *tag = answer_field(last_answer(), "ETag");
    assert_non_null(tag);
    assert_true(strlen(tag) > 2 && tag[0] == '"' && tag[strlen(tag) - 1] == '"');
}

static void a_head_is_the_same_without_content(void **state)
{
    (void)state;
    char head[8192];
    get("/");
    expect_status(200);
    strcpy(head, last_answer()->head);
    request("HEAD", "/", NULL);
    expect_head_status(200);
    assert_string_equal(last_answer()->head, head);
    expect_silence();
}

static void an_empty_file_is_answered(void **state)
{
    (void)state;
    write_file("", 0, MODIFIED_S);
    get("/");
    expect_answer(200, "");
    expect_field("Content-Length", "0");
}

static void a_file_of_any_size_arrives_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 16384, 16385, 65536, 200000, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *contents = malloc(sizes[i]);
        for (size_t at = 0; at < sizes[i]; at++)
            contents[at] = (char)(at % 251);
        write_file(contents, sizes[i], MODIFIED_S);
        get("/");
        expect_status(200);
        assert_int_equal(last_answer()->content.len, sizes[i]);
        assert_memory_equal(last_answer()->content.ptr, contents, sizes[i]);
        free(contents);
    }
}

static void a_slow_client_gets_the_whole_file(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    char *contents = malloc(SIZE);
    for (size_t at = 0; at < SIZE; at++)
        contents[at] = (char)(at % 251);
    write_file(contents, SIZE, MODIFIED_S);
    rv_test_window(client(), 0);
    get("/");
    for (int i = 0; i < 100; i++)
        rv_test_window(client(), 5000);
    expect_status(200);
    assert_int_equal(last_answer()->content.len, SIZE);
    assert_memory_equal(last_answer()->content.ptr, contents, SIZE);
    free(contents);
}

static void type_and_entity_tag_may_be_the_programs(void **state)
{
    (void)state;
    static const rv_file_options options = {.content_type = "application/x-own", .etag = "\"own\""};
    serving.options = &options;
    get("/");
    expect_answer(200, "0123456789");
    expect_field("Content-Type", "application/x-own");
    expect_field("ETag", "\"own\"");
    get_with("If-None-Match", "\"own\"");
    expect_answer(304, "");
}

static void the_entity_tag_changes_with_size_and_time(void **state)
{
    (void)state;
    char first[128];
    strcpy(first, etag());
    assert_string_equal(etag(), first);
    write_file("0123456789", 10, MODIFIED_S + 1);
    assert_string_not_equal(etag(), first);
    write_file("01234567890", 11, MODIFIED_S);
    assert_string_not_equal(etag(), first);
}

static void a_file_from_the_future_was_modified_now(void **state)
{
    (void)state;
    write_file("0123456789", 10, INT64_C(4102444800));
    get("/");
    expect_status(200);
    expect_field("Last-Modified", "Thu, 01 Jan 2026 00:00:01 GMT");
    expect_field("Date", "Thu, 01 Jan 2026 00:00:01 GMT");
}

/* ---- conditions -------------------------------------------------------------------------------- */

static void a_copy_that_is_fresh_is_304_with_its_tag(void **state)
{
    (void)state;
    char tag[128];
    strcpy(tag, etag());
    get_with("If-None-Match", tag);
    expect_answer(304, "");
    expect_field("ETag", tag);
    expect_field("Last-Modified", NULL); /* the tag is enough */
    expect_field("Content-Length", NULL);
    expect_field("Content-Type", NULL);
    get_with("If-None-Match", "*");
    expect_answer(304, "");
    get_with("If-Modified-Since", MODIFIED);
    expect_answer(304, "");
    get_with("If-Modified-Since", AFTER);
    expect_answer(304, "");
    request("HEAD", "/", "If-Modified-Since: " MODIFIED "\r\n");
    expect_head_status(304);
}

static void a_copy_that_is_stale_is_replaced(void **state)
{
    (void)state;
    get_with("If-None-Match", "\"other\"");
    expect_answer(200, "0123456789");
    get_with("If-Modified-Since", BEFORE);
    expect_answer(200, "0123456789");
    get_with("If-Modified-Since", "no date");
    expect_answer(200, "0123456789");
}

static void tags_on_several_lines_are_one_list(void **state)
{
    (void)state;
    char lines[256];
    snprintf(lines, sizeof lines, "If-None-Match: \"a\"\r\nIf-None-Match: \"b\", %s\r\n", etag());
    request("GET", "/", lines);
    expect_answer(304, "");
    request("GET", "/", "If-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\n");
    expect_answer(200, "0123456789");
}

static void a_condition_that_does_not_hold_is_412(void **state)
{
    (void)state;
    get_with("If-Match", "\"other\"");
    expect_answer(412, "412 Precondition Failed\n");
    get_with("If-Unmodified-Since", BEFORE);
    expect_answer(412, "412 Precondition Failed\n");
    get_with("If-Match", etag());
    expect_answer(200, "0123456789");
    get_with("If-Unmodified-Since", MODIFIED);
    expect_answer(200, "0123456789");
}

static void a_fresh_copy_fails_a_method_that_changes(void **state)
{
    (void)state;
    request("PUT", "/", "If-None-Match: *\r\n");
    expect_answer(412, "412 Precondition Failed\n");
}

static void conditions_can_be_left_out(void **state)
{
    (void)state;
    static const rv_file_options options = {.no_conditions = true};
    serving.options = &options;
    get_with("If-None-Match", "*");
    expect_answer(200, "0123456789");
    get_with("If-Match", "\"other\"");
    expect_answer(200, "0123456789");
    get_with("Range", "bytes=0-1");
    expect_answer(200, "0123456789");
    expect_field("Accept-Ranges", NULL);
}

/* ---- ranges ------------------------------------------------------------------------------------ */

static void a_range_is_answered_with_206(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"bytes=2-4", "234", "bytes 2-4/10"}, {"bytes=0-0", "0", "bytes 0-0/10"},
        {"bytes=7-", "789", "bytes 7-9/10"},  {"bytes=7-99", "789", "bytes 7-9/10"},
        {"bytes=-2", "89", "bytes 8-9/10"},   {"bytes=-99", "0123456789", "bytes 0-9/10"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        get_with("Range", cases[i][0]);
        expect_answer(206, cases[i][1]);
        expect_field("Content-Range", cases[i][2]);
        expect_field("Last-Modified", MODIFIED);
        assert_non_null(answer_field(last_answer(), "ETag"));
    }
}

static void a_range_of_a_large_file_is_sent_from_its_place(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    char *contents = malloc(SIZE);
    for (size_t at = 0; at < SIZE; at++)
        contents[at] = (char)(at % 251);
    write_file(contents, SIZE, MODIFIED_S);
    get_with("Range", "bytes=1000-200999");
    expect_status(206);
    assert_int_equal(last_answer()->content.len, 200000);
    assert_memory_equal(last_answer()->content.ptr, contents + 1000, 200000);
    free(contents);
}

static void a_range_beyond_the_end_is_416_with_the_size(void **state)
{
    (void)state;
    get_with("Range", "bytes=10-");
    expect_answer(416, "416 Range Not Satisfiable\n");
    expect_field("Content-Range", "bytes */10");
    get_with("Range", "bytes=-0");
    expect_status(416);
}

static void what_is_no_range_is_answered_whole(void **state)
{
    (void)state;
    static const char *const ranges[] = {
        "bytes=4-2",   "bytes=x-",
        "lines=0-1",   "bytes",
        "bytes=0-1,x", "bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,0-0,1-1,2-2,3-3,4-4,5-5,6-6"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        get_with("Range", ranges[i]);
        expect_answer(200, "0123456789");
        expect_field("Content-Range", NULL);
    }
}

/* The boundary that the last answer names. */
static const char *boundary(void)
{
    static const char start[] = "multipart/byteranges; boundary=";
    const char *type = answer_field(last_answer(), "Content-Type");
    assert_non_null(type);
    assert_memory_equal(type, start, strlen(start));
    return type + strlen(start);
}

static void several_ranges_are_one_multipart_answer(void **state)
{
    (void)state;
    char expected[512];
    get_with("Range", "bytes=7-,0-1,99-");
    expect_status(206);
    expect_field("Content-Range", NULL);
    snprintf(
        expected, sizeof expected,
        "--%s\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Range: bytes 7-9/10\r\n\r\n"
        "789\r\n--%s\r\nContent-Type: text/plain; charset=UTF-8\r\n"
        "Content-Range: bytes 0-1/10\r\n\r\n01\r\n--%s--\r\n",
        boundary(), boundary(), boundary());
    assert_int_equal(last_answer()->content.len, strlen(expected));
    assert_memory_equal(last_answer()->content.ptr, expected, strlen(expected));
}

static void ranges_that_overlap_are_one(void **state)
{
    (void)state;
    get_with("Range", "bytes=0-4,3-6");
    expect_answer(206, "0123456");
    expect_field("Content-Range", "bytes 0-6/10");
}

static void ranges_of_a_large_file_come_from_their_places(void **state)
{
    (void)state;
    enum { SIZE = 300000, RUN = 100000 };
    static char contents[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        contents[i] = (char)('a' + i % 23);
    write_file(contents, SIZE, MODIFIED_S);
    get_with("Range", "bytes=200000-299999,5-100004");
    expect_status(206);
    rv_bytes all = {last_answer()->content.ptr, last_answer()->content.len};
    const char *first = memmem(all.ptr, all.len, "\r\n\r\n", 4) + 4;
    assert_memory_equal(first, contents + 200000, RUN);
    size_t behind = all.len - (size_t)(first + RUN - all.ptr);
    const char *second = memmem(first + RUN, behind, "\r\n\r\n", 4) + 4;
    assert_memory_equal(second, contents + 5, RUN);
    const char *end = second + RUN;
    assert_int_equal(all.ptr + all.len - end, strlen("\r\n----\r\n") + strlen(boundary()));
    get("/");
    expect_status(200); /* the connection goes on */
}

static void only_a_get_of_http_1_1_has_ranges(void **state)
{
    (void)state;
    request("HEAD", "/", "Range: bytes=0-1\r\n");
    expect_head_status(200);
    expect_field("Content-Length", "10");
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\nRange: bytes=0-1\r\n\r\n");
    expect_answer(200, "0123456789");
}

static void a_range_of_what_has_changed_is_answered_whole(void **state)
{
    (void)state;
    char lines[256];
    snprintf(lines, sizeof lines, "Range: bytes=0-1\r\nIf-Range: %s\r\n", etag());
    request("GET", "/", lines);
    expect_answer(206, "01");
    request("GET", "/", "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n");
    expect_answer(200, "0123456789");
    request("GET", "/", "Range: bytes=0-1\r\nIf-Range: " MODIFIED "\r\n");
    expect_answer(206, "01");
    request("GET", "/", "Range: bytes=0-1\r\nIf-Range: " BEFORE "\r\n");
    expect_answer(200, "0123456789");
}

static void a_fresh_copy_goes_before_a_range(void **state)
{
    (void)state;
    request("GET", "/", "Range: bytes=0-1\r\nIf-None-Match: *\r\n");
    expect_answer(304, "");
}

/* ---- what is no file --------------------------------------------------------------------------- */

static void expect_no_file(rv_error error)
{
    get("/");
    expect_answer(200, "no file"); /* the talk is still unanswered, and has no fields of a file */
    assert_int_equal(serving.result, error);
    expect_field("ETag", NULL);
    expect_field("Last-Modified", NULL);
}

static void a_path_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    serving.path = "/no/such/file";
    expect_no_file(RV_ENOTFOUND);
}

static void a_folder_is_not_found(void **state)
{
    (void)state;
    serving.path = directory;
    expect_no_file(RV_ENOTFOUND);
}

static void a_fifo_is_not_found_and_does_not_hang(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    expect_no_file(RV_ENOTFOUND);
}

static void a_device_is_not_found(void **state)
{
    (void)state;
    serving.path = "/dev/zero";
    expect_no_file(RV_ENOTFOUND);
}

static void a_file_that_may_not_be_read_is_not_permitted(void **state)
{
    (void)state;
    uid_t user = geteuid();
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(chmod(path, 0), 0);
    if (user == 0) /* root may read everything */
        assert_int_equal(seteuid(65534), 0);
    get("/");
    assert_int_equal(seteuid(user), 0);
    expect_answer(200, "no file");
    assert_int_equal(serving.result, RV_EPERM);
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    for (int i = 0; i < 3; i++) {
        get("/");
        expect_status(200);
        get_with("If-None-Match", "*");
        expect_status(304);
        get_with("If-Match", "\"other\"");
        expect_status(412);
        get_with("Range", "bytes=99-");
        expect_status(416);
        request("HEAD", "/", NULL);
        expect_head_status(200);
    }
    serving.path = directory;
    expect_no_file(RV_ENOTFOUND);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    assert_int_equal(after, before); /* the lowest free number is still the same */
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_file_comes_with_its_validators),
        FACT(a_head_is_the_same_without_content),
        FACT(an_empty_file_is_answered),
        FACT(a_file_of_any_size_arrives_whole),
        FACT(a_slow_client_gets_the_whole_file),
        FACT(type_and_entity_tag_may_be_the_programs),
        FACT(the_entity_tag_changes_with_size_and_time),
        FACT(a_file_from_the_future_was_modified_now),
        FACT(a_copy_that_is_fresh_is_304_with_its_tag),
        FACT(a_copy_that_is_stale_is_replaced),
        FACT(tags_on_several_lines_are_one_list),
        FACT(a_condition_that_does_not_hold_is_412),
        FACT(a_fresh_copy_fails_a_method_that_changes),
        FACT(conditions_can_be_left_out),
        FACT(a_range_is_answered_with_206),
        FACT(a_range_of_a_large_file_is_sent_from_its_place),
        FACT(a_range_beyond_the_end_is_416_with_the_size),
        FACT(what_is_no_range_is_answered_whole),
        FACT(several_ranges_are_one_multipart_answer),
        FACT(ranges_of_a_large_file_come_from_their_places),
        FACT(ranges_that_overlap_are_one),
        FACT(only_a_get_of_http_1_1_has_ranges),
        FACT(a_range_of_what_has_changed_is_answered_whole),
        FACT(a_fresh_copy_goes_before_a_range),
        FACT(a_path_that_is_not_there_is_not_found),
        FACT(a_folder_is_not_found),
        FACT(a_fifo_is_not_found_and_does_not_hang),
        FACT(a_device_is_not_found),
        FACT(a_file_that_may_not_be_read_is_not_permitted),
        FACT(no_descriptor_is_left_open),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
