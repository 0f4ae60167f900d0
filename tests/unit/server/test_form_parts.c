/*
 * Facts about whole bodies of multipart/form-data (rv_param and rv_form_part_at of rivulet.h).
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PART(fields) "--xy\r\nContent-Disposition: form-data; " fields "\r\n\r\n"

static int show(rv_talk *talk, void *ctx)
{
    char text[512];
    rv_bytes who = rv_param(talk, "who"), file = rv_param(talk, "file");
    rv_form_part part;
    (void)ctx;
    rv_error error = rv_form_check(talk);
    int length = snprintf(text, sizeof text, "%d %.*s %s:", error, (int)who.len,
                          who.ptr == NULL ? "" : who.ptr, file.ptr == NULL ? "none" : "some");
    for (size_t i = 0; rv_form_part_at(talk, i, &part); i++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %.*s(%.*s)=%.*s",
                           (int)part.name.len, part.name.ptr, (int)part.filename.len,
                           part.filename.ptr == NULL ? "" : part.filename.ptr,
                           (int)part.content.len, part.content.ptr);
    return rv_text(talk, 200, text);
}

static int set_up(void **state)
{
    tested_set_up(state);
    route("POST /", show, NULL);
    route_with("POST /pool", show, NULL, (rv_route_options){.run = RV_ON_POOL});
    return 0;
}

static void post(const char *path, const char *body, size_t first)
{
    char fields[160];
    snprintf(fields, sizeof fields,
             "Content-Type: Multipart/form-data; boundary=xy\r\nContent-Length: %zu\r\n",
             strlen(body));
    request("POST", path, fields);
    if (first > 0)
        say_octets((rv_bytes){body, first});
    say(body + first);
}

static const char form[] = PART("name=who") "A+%41\r\n" PART(
    "name=file; filename=\"f.txt\"") "\r\n--x\r\n\r\n" PART("name=who") "\r\n--xy--\r\n";

static void fields_are_parameters_and_files_are_parts(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof form - 1; cut++) {
        post("/", form, cut);
        expect_answer(200, "0 A+%41 none: who()=A+%41 file(f.txt)=\r\n--x\r\n who()=");
    }
    post("/pool", form, 10);
    expect_answer(200, "0 A+%41 none: who()=A+%41 file(f.txt)=\r\n--x\r\n who()=");
}

static void the_query_comes_before_the_form(void **state)
{
    (void)state;
    post("/?who=Eve&file=1", form, 0);
    expect_answer(200, "0 Eve some: who()=A+%41 file(f.txt)=\r\n--x\r\n who()=");
}

static void a_form_under_a_coding_has_no_parts(void **state)
{
    (void)state;
    request("POST", "/",
            "Content-Type: multipart/form-data; boundary=xy\r\nContent-Encoding: br\r\n"
            "Content-Length: 6\r\n");
    say("--xy--");
    expect_answer(200, "-14  none:");
}

static void a_form_that_is_cut_short_has_no_parts(void **state)
{
    (void)state;
    post("/", PART("name=who") "Ada", 0);
    expect_answer(200, "-14  none:");
}

static void a_form_with_too_many_parts_has_none(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits = {.form_fields_max = 2}});
    route("POST /", show, NULL);
    post("/", form, 0);
    expect_answer(200, "-5  none:");
}

static void what_is_no_form_has_no_parts(void **state)
{
    (void)state;
    request("POST", "/", "Content-Type: text/plain\r\nContent-Length: 3\r\n");
    say("abc");
    expect_answer(200, "0  none:");
    request("POST", "/", "Content-Length: 0\r\n");
    expect_answer(200, "0  none:");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(fields_are_parameters_and_files_are_parts),
        FACT(the_query_comes_before_the_form),
        FACT(a_form_under_a_coding_has_no_parts),
        FACT(a_form_that_is_cut_short_has_no_parts),
        FACT(a_form_with_too_many_parts_has_none),
        FACT(what_is_no_form_has_no_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
