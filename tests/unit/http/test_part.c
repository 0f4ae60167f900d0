/*
 * Heads of parts: fields, names and file names in every way in which they are sent, and what is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "http/part.h"
#include "random.h"
#include "unit/http/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A part and the memory that it lies in. */
struct parsed {
    struct rv_part part;
    char *head;
    char *decoded;
    int status;
    const char *reason;
};

static struct parsed parse(rv_bytes fields)
{
    struct parsed parsed = {.head = malloc(fields.len + 2), .decoded = malloc(fields.len + 2)};
    assert_true(parsed.head != NULL && parsed.decoded != NULL);
    memcpy(parsed.head, fields.ptr, fields.len);
    memcpy(parsed.head + fields.len, "\r\n", 2);
    parsed.status =
        rv_part_parse(parsed.head, fields.len + 2, parsed.decoded, &parsed.part, &parsed.reason);
    if (parsed.status != 0)
        assert_non_null(parsed.reason);
    return parsed;
}

static void let_go(struct parsed *parsed)
{
    free(parsed->head);
    free(parsed->decoded);
}

/* Both texts of a Content-Disposition, NULL for absent. */
static void assert_names(const char *parameters, const char *name, const char *filename)
{
    char fields[512];
    snprintf(fields, sizeof fields, "Content-Disposition: form-data; %s\r\n", parameters);
    struct parsed parsed = parse(rv_str(fields));
    if (parsed.status != 0)
        fail_msg("%s: %s", parameters, parsed.reason);
    if (!rv_equals(parsed.part.name, name) || !rv_equals(parsed.part.filename, filename))
        fail_msg("%s gives \"%.*s\" and \"%.*s\"", parameters, (int)parsed.part.name.len,
                 parsed.part.name.ptr, (int)parsed.part.filename.len, parsed.part.filename.ptr);
    let_go(&parsed);
}

static void assert_refused(const char *fields, int status)
{
    struct parsed parsed = parse(rv_str(fields));
    if (parsed.status != status)
        fail_msg("\"%s\" gives %d", fields, parsed.status);
    let_go(&parsed);
}

static void names_are_read_with_and_without_quotes(void **state)
{
    (void)state;
    assert_names("name=a", "a", NULL);
    assert_names("name=\"a b\"", "a b", NULL);
    assert_names("name=\"\"", "", NULL);
    assert_names("name=\"a\"; filename=\"\"", "a", "");
    assert_names("filename=\"x;y=z\" ; NAME=\"a\"", "a", "x;y=z");
    assert_names("name=\"\xc3\xa4\"; filename=\"\xff\"", "\xc3\xa4", "\xff");
    assert_names("name=a; filename=dir/x.txt", "a", "dir/x.txt");
}

static void what_browsers_escape_is_unescaped_and_nothing_else(void **state)
{
    (void)state;
    assert_names("name=\"a%22b\"; filename=\"x%0D%0Ay%0d%0a\"", "a\"b", "x\r\ny\r\n");
    assert_names("name=\"100%25\"; filename=\"%41%2\"", "100%25", "%41%2");
    assert_names("name=\"a\\\"b\"; filename=\"x\\\\y\"", "a\"b", "x\\y");
    assert_names("name=\"C:\\dir\\a\"", "C:\\dir\\a", NULL);
}

static void an_extended_text_comes_before_a_plain_one(void **state)
{
    (void)state;
    assert_names("name=a; filename=x; filename*=UTF-8''%e2%82%ac%20rates", "a",
                 "\xe2\x82\xac rates");
    assert_names("name=a; filename*=utf-8'en'x.txt; filename=y", "a", "x.txt");
    assert_names("name=a; filename*=ISO-8859-1''%A3%FCx", "a", "\xc2\xa3\xc3\xbcx");
    assert_names("name=a; filename*=\"UTF-8''x%22\"", "a", "x\"");
    assert_names("name*=UTF-8''%C3%A4", "\xc3\xa4", NULL);
    assert_names("name=a; filename*=UTF-8''", "a", "");
}

static void an_extended_text_that_cannot_be_read_gives_way_to_a_plain_one(void **state)
{
    (void)state;
    static const char *const texts[] = {"UTF-8'x",        "x",           "UTF-8''%zz",     "''x",
                                        "UTF-7''x",       "UTF-8''a%00", "ISO-8859-1''%0", "UTF-8",
                                        "UTF-8''\xc3\xa4"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        char parameters[128];
        snprintf(parameters, sizeof parameters, "name=a; filename=plain; filename*=%s", texts[i]);
        assert_names(parameters, "a", "plain");
        snprintf(parameters, sizeof parameters,
                 "Content-Disposition: form-data; name=a; filename*=%s\r\n", texts[i]);
        assert_refused(parameters, 400);
    }
}

static void all_fields_are_kept(void **state)
{
    (void)state;
    struct parsed parsed =
        parse(RV_LIT("X-One:  1 \r\ncontent-type: text/plain;\r\n\tcharset=\"utf-8\"\r\n"
                     "CONTENT-DISPOSITION: form-data;\r\n name=a\r\nX-One: 2\r\nX-Empty:\r\n"));
    const struct rv_part *part = &parsed.part;
    assert_int_equal(parsed.status, 0);
    assert_int_equal(part->field_count, 5);
    assert_true(rv_equals(part->fields[0].name, "X-One") && rv_equals(part->fields[0].value, "1"));
    assert_true(rv_equals(part->fields[3].value, "2"));
    assert_true(rv_equals(rv_part_field(part, RV_LIT("x-one")), "1"));
    assert_true(rv_equals(rv_part_field(part, RV_LIT("X-Empty")), ""));
    assert_null(rv_part_field(part, RV_LIT("X-Two")).ptr);
    assert_true(rv_equals(part->content_type, "text/plain;  \tcharset=\"utf-8\""));
    assert_true(rv_equals(part->charset, "utf-8"));
    assert_true(rv_equals(part->name, "a"));
    let_go(&parsed);
}

#define GOOD "Content-Disposition: form-data; name=a\r\n"

static void a_head_that_names_no_field_of_the_form_is_refused(void **state)
{
    (void)state;
    assert_refused("", 400);
    assert_refused("Content-Type: text/plain\r\n", 400);
    assert_refused("Content-Disposition: form-data\r\n", 400);
    assert_refused("Content-Disposition: form-data; filename=x\r\n", 400);
    assert_refused("Content-Disposition: attachment; name=a\r\n", 400);
    assert_refused("Content-Disposition: form-data; name=\"a\r\n", 400);
    assert_refused("Content-Disposition: form-data; name=a; filename=\"x\\\"\r\n", 400);
}

static void a_head_that_says_two_things_is_refused(void **state)
{
    (void)state;
    assert_refused(GOOD GOOD, 400);
    assert_refused(GOOD "Content-Type: a/b\r\ncontent-type: c/d\r\n", 400);
    assert_refused("Content-Disposition: form-data; name=a; name=b\r\n", 400);
    assert_refused("Content-Disposition: form-data; name=a; filename=x; FILENAME=y\r\n", 400);
}

static void a_line_that_is_no_field_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"x",       ":",       ": x",     "a b: c",
                                        "a : c",   "a\t: c",  "\x01: x", "a: \x01",
                                        "a: \x7f", "a: b\rc", "a",       "--b"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        char fields[128];
        snprintf(fields, sizeof fields, GOOD "%s\r\n", lines[i]);
        assert_refused(fields, 400);
        snprintf(fields, sizeof fields, "%s\r\n" GOOD, lines[i]);
        assert_refused(fields, 400);
    }
    assert_refused(" folded: first\r\n" GOOD, 400);
}

static void more_fields_than_there_is_room_for_are_refused_with_413(void **state)
{
    (void)state;
    char fields[1024] = GOOD;
    for (int i = 1; i < RV_PART_FIELDS_MAX; i++)
        strcat(fields, "X: y\r\n");
    assert_refused(fields, 0);
    strcat(fields, "X: y\r\n");
    assert_refused(fields, 413);
}

/* As browsers write it; what they leave ambiguous is not generated. */
static void any_file_name_that_a_browser_sends_is_read_back(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (int round = 0; round < 5000; round++) {
        char fields[512] = "Content-Disposition: form-data; name=a; filename=\"", plain[41];
        size_t at = strlen(fields), length = random_below(&random, 40);
        for (size_t i = 0; i < length; i++) {
            char c = (char)(random_below(&random, 3) != 0 ? 0x20 + random_below(&random, 0xe0) : 0);
            c = c == 0 || c == 0x7f || c == '%' || c == '\\' ? "\"\r\n "[random_below(&random, 4)]
                                                             : c;
            plain[i] = c;
            if (c == '"' || c == '\r' || c == '\n')
                at += (size_t)sprintf(fields + at, "%%%02X", (unsigned)c);
            else
                fields[at++] = c;
        }
        plain[length] = '\0';
        memcpy(fields + at, "\"\r\n", 3);
        struct parsed parsed = parse(rv_slice(fields, at + 3));
        assert_int_equal(parsed.status, 0);
        assert_true(rv_equals(parsed.part.filename, plain));
        let_go(&parsed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_with_and_without_quotes),
        cmocka_unit_test(what_browsers_escape_is_unescaped_and_nothing_else),
        cmocka_unit_test(an_extended_text_comes_before_a_plain_one),
        cmocka_unit_test(an_extended_text_that_cannot_be_read_gives_way_to_a_plain_one),
        cmocka_unit_test(all_fields_are_kept),
        cmocka_unit_test(a_head_that_names_no_field_of_the_form_is_refused),
        cmocka_unit_test(a_head_that_says_two_things_is_refused),
        cmocka_unit_test(a_line_that_is_no_field_is_refused),
        cmocka_unit_test(more_fields_than_there_is_room_for_are_refused_with_413),
        cmocka_unit_test(any_file_name_that_a_browser_sends_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
