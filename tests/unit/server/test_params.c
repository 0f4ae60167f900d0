/*
 * Facts about parameters (step 2 of rivulet.h): path, query and form as one list, and their types.
 */
#include "support/tested.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int list(rv_talk *talk, void *ctx)
{
    char text[1000] = "";
    size_t length = 0;
    rv_bytes name, value;
    (void)ctx;
    for (size_t i = 0; rv_param_at(talk, i, &name, &value); i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%.*s=%.*s\n",
                                   (int)name.len, name.ptr, (int)value.len, value.ptr);
    return rv_text(talk, 200, text);
}

static int first(rv_talk *talk, void *ctx)
{
    rv_bytes value = rv_param(talk, ctx);
    return rv_reply(talk, value.ptr == NULL ? 404 : 200, "text/plain", value);
}

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static void post(const char *path, const char *type, const char *body)
{
    char text[8000];
    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n\r\n%s",
             path, type, strlen(body), body);
    say(text);
}

static int query(rv_talk *talk, void *ctx)
{
    return rv_text(talk, 200, rv_param_query(talk, ctx));
}

/* ---- the list ---------------------------------------------------------------------------------- */

static void path_query_and_form_are_one_list(void **state)
{
    (void)state;
    route("POST /{a}/{b...}", list, NULL);
    post("/x%20y/z/+?q=1+2&a=q&&e&%61=%62", FORM, "a=f%2B&q=+&last=");
    expect_answer(200, "a=x y\nb=z/+\nq=1 2\na=q\ne=\na=b\na=f+\nq= \nlast=\n");
}

static void query_and_form_are_a_query_again(void **state)
{
    static const char *const pages[] = {"page", "x", NULL};
    (void)state;
    route("POST /{a}", query, NULL);
    route("GET /list", query, (void *)pages);
    post("/path?q=two%20words&e", FORM, "a=1%2B1%3D2&%C3%A4=%26*-._~");
    expect_answer(200, "q=two+words&e=&a=1%2B1%3D2&%C3%A4=%26*-._%7E");
    get("/list?q=a&page=2&q=b&x=&pages=3");
    expect_answer(200, "q=a&q=b&pages=3");
    get("/list?page=2");
    expect_answer(200, "");
    get("/list");
    expect_answer(200, "");
}

static void the_first_of_a_name_is_the_paths_then_the_querys(void **state)
{
    (void)state;
    route("POST /{a}", first, "a");
    route("POST /", first, "a");
    post("/path?a=query", FORM, "a=form");
    expect_answer(200, "path");
    post("/?a=query", FORM, "a=form");
    expect_answer(200, "query");
    post("/?b=query", FORM, "a=form&a=again");
    expect_answer(200, "form");
    post("/?b=query", FORM, "b=form");
    expect_status(404);
}

static void only_a_form_is_read_as_one(void **state)
{
    (void)state;
    route("POST /", first, "a");
    post("/", "Content-Type: text/plain\r\n", "a=1");
    expect_status(404);
    post("/", "", "a=1");
    expect_status(404);
    post("/", "content-type: Application/X-WWW-Form-Urlencoded ; charset=utf-8\r\n", "a=1");
    expect_answer(200, "1");
}

static void a_form_that_comes_in_pieces_is_whole(void **state)
{
    (void)state;
    route("POST /", list, NULL);
    say("POST / HTTP/1.1\r\nHost: a\r\n" FORM "Transfer-Encoding: chunked\r\n\r\n3\r\na=%\r\n");
    say("4\r\n41&b\r\n");
    say("0\r\n\r\n");
    expect_answer(200, "a=A\nb=\n");
}

static rv_handle held;

static int list_later(rv_talk *talk, void *ctx)
{
    (void)ctx;
    assert_true(rv_equals(rv_param(talk, "q"), "1 2"));
    assert_true(rv_equals(rv_param(talk, "f"), "3 4"));
    held = rv_suspend(talk);
    return RV_PENDING;
}

static void they_are_there_for_a_talk_that_was_kept(void **state)
{
    (void)state;
    route("POST /", list_later, NULL);
    post("/?q=1+2", FORM, "f=3+4");
    say("GET /other HTTP/1.1\r\nHost: overwrites.the.buffer\r\n\r\n");
    assert_int_equal(rv_resume(tested, held, list, NULL), 0);
    rv_test_settle(client());
    expect_answer(200, "q=1 2\nf=3 4\n");
    expect_status(404);
}

static bool by_param(rv_talk *talk, rv_resolution *found, void *ctx)
{
    (void)ctx;
    assert_int_equal(rv_param(talk, "f").len, 0);
    found->handler = list;
    return rv_equals(rv_param(talk, "q"), "1");
}

static void a_form_is_there_when_a_callback_has_looked_before(void **state)
{
    (void)state;
    rv_app_set(rv_default_app(tested), &(rv_app_options){.resolve = by_param});
    post("/?q=1", FORM, "f=2");
    expect_answer(200, "q=1\nf=2\n");
}

/* ---- forms that cannot be used -------------------------------------------------------------------- */

static int need_form(rv_talk *talk, void *ctx)
{
    rv_error error = rv_form_check(talk);
    return error != 0 ? error : list(talk, ctx);
}

static void a_malformed_form_is_a_400_when_it_is_left_to_the_library(void **state)
{
    (void)state;
    route("POST /", need_form, NULL);
    post("/?q=1", FORM, "a=1&b=%4");
    expect_status(400);
    expect_bad_input(400, "while reading a form",
                     "A \"%\" in the form is not followed by two hexadecimal digits.");
    assert_int_equal(errors_told, 0);
    assert_int_equal(COUNTER(requests_malformed), 1);
    assert_int_equal(COUNTER(handler_failures), 0);
    post("/?q=1", FORM, "a=1");
    expect_answer(200, "q=1\na=1\n");
}

static void a_form_under_a_coding_is_a_415(void **state)
{
    (void)state;
    route("POST /", need_form, NULL);
    post("/?q=1", FORM "Content-Encoding: gzip\r\n", "a=1");
    expect_status(415);
    expect_bad_input(415, "while reading a form",
                     "A body with a Content-Encoding cannot be taken.");
    post("/?q=1", FORM "Content-Encoding: Identity\r\n", "a=1");
    expect_answer(200, "q=1\na=1\n");
}

static void a_malformed_form_has_no_parameters(void **state)
{
    (void)state;
    route("POST /", list, NULL);
    post("/?q=1", FORM, "a=1&b=%4");
    expect_answer(200, "q=1\n");
}

static void a_form_of_too_many_fields_is_a_413(void **state)
{
    (void)state;
    tested_with(&(rv_server_options){.limits.form_fields_max = 3});
    route("POST /", need_form, NULL);
    post("/", FORM, "a&b&c");
    expect_answer(200, "a=\nb=\nc=\n");
    post("/?not&counted", FORM, "a&b&c&d");
    expect_status(413);
    assert_int_equal(COUNTER(form_fields_too_many), 1);
    expect_bad_input(413, "while reading a form", "The form has too many fields.");
}

static int fails_alike(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    return RV_EPROTO;
}

static void another_failure_is_still_a_500(void **state)
{
    (void)state;
    route("POST /", fails_alike, NULL);
    post("/", FORM, "b=%4");
    expect_status(500);
}

/* ---- types ------------------------------------------------------------------------------------------ */

static rv_error result;
static char seen[64];

static int read_int(rv_talk *talk, void *ctx)
{
    int64_t value = 7;
    (void)ctx;
    result = rv_param_int(talk, "v", -10, 10, &value);
    snprintf(seen, sizeof seen, "%d", (int)value);
    return rv_text(talk, 200, "");
}

static int read_double(rv_talk *talk, void *ctx)
{
    double value = 7;
    (void)ctx;
    result = rv_param_double(talk, "v", -1000, 1e300, &value);
    snprintf(seen, sizeof seen, "%.17g", value);
    return rv_text(talk, 200, "");
}

static int read_bool(rv_talk *talk, void *ctx)
{
    bool value = false, other = true;
    (void)ctx;
    result = rv_param_bool(talk, "v", &value);
    assert_int_equal(rv_param_bool(talk, "v", &other), result);
    snprintf(seen, sizeof seen, "%s", value != other ? "unset" : value ? "true" : "false");
    return rv_text(talk, 200, "");
}

static int read_choice(rv_talk *talk, void *ctx)
{
    static const char *const choices[] = {"red", "green", "", NULL};
    size_t index = 7;
    (void)ctx;
    result = rv_param_choice(talk, "v", choices, &index);
    snprintf(seen, sizeof seen, "%zu", index);
    return rv_text(talk, 200, "");
}

struct reading {
    const char *text;
    rv_error result;
    const char *seen;
};

static void expect_readings(rv_handler handler, const struct reading *readings, size_t count)
{
    route("POST /", handler, NULL);
    for (size_t i = 0; i < count; i++) {
        char path[100];
        snprintf(path, sizeof path, "/?%s", readings[i].text);
        post(path, FORM, readings[i].text); /* what the query has, the form need not */
        expect_status(200);
        assert_int_equal(result, readings[i].result);
        assert_string_equal(seen, readings[i].seen);
        post("/", FORM, readings[i].text);
        expect_status(200);
        assert_int_equal(result, readings[i].result);
        assert_string_equal(seen, readings[i].seen);
    }
}

#define READINGS(handler, ...)                                                                     \
    expect_readings(handler, (const struct reading[]){__VA_ARGS__},                                \
                    sizeof((const struct reading[]){__VA_ARGS__}) / sizeof(struct reading))

static void integers_have_a_range(void **state)
{
    (void)state;
    READINGS(read_int, {"v=10", 0, "10"}, {"v=-10", 0, "-10"}, {"v=11", RV_ELIMIT, "7"},
             {"v=-11", RV_ELIMIT, "7"}, {"v=99999999999999999999", RV_ELIMIT, "7"},
             {"v=", RV_EINVAL, "7"}, {"v=1x", RV_EINVAL, "7"}, {"v=%2B1", RV_EINVAL, "7"},
             {"v=-", RV_EINVAL, "7"}, {"w=1", RV_ENOTFOUND, "7"}, {"v=0009", 0, "9"});
}

static void doubles_have_a_range_and_one_spelling(void **state)
{
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where there is one: the point stays a point */
    READINGS(read_double, {"v=1.5", 0, "1.5"}, {"v=-1e3", 0, "-1000"}, {"v=.5", 0, "0.5"},
             {"v=5.", 0, "5"}, {"v=%2B2E-1", 0, "0.20000000000000001"},
             {"v=-1000.5", RV_ELIMIT, "7"}, {"v=1e301", RV_ELIMIT, "7"},
             {"v=1e999", RV_ELIMIT, "7"}, {"v=nan", RV_EINVAL, "7"}, {"v=inf", RV_EINVAL, "7"},
             {"v=0x10", RV_EINVAL, "7"}, {"v=1,5", RV_EINVAL, "7"}, {"v=.", RV_EINVAL, "7"},
             {"v=e5", RV_EINVAL, "7"}, {"v=1e", RV_EINVAL, "7"}, {"v=+1", RV_EINVAL, "7"},
             {"v=1%00", RV_EINVAL, "7"}, {"v=", RV_EINVAL, "7"}, {"x", RV_ENOTFOUND, "7"});
    setlocale(LC_ALL, "C");
}

static void booleans_have_eight_words(void **state)
{
    (void)state;
    READINGS(read_bool, {"v=1", 0, "true"}, {"v=0", 0, "false"}, {"v=TRUE", 0, "true"},
             {"v=False", 0, "false"}, {"v=yes", 0, "true"}, {"v=no", 0, "false"},
             {"v=on", 0, "true"}, {"v=off", 0, "false"}, {"v=2", RV_EINVAL, "unset"},
             {"v", RV_EINVAL, "unset"}, {"w", RV_ENOTFOUND, "unset"});
}

static void a_choice_is_one_of_those_offered(void **state)
{
    (void)state;
    READINGS(read_choice, {"v=red", 0, "0"}, {"v=green", 0, "1"}, {"v", 0, "2"},
             {"v=Red", RV_EINVAL, "7"}, {"v=redd", RV_EINVAL, "7"}, {"w=red", RV_ENOTFOUND, "7"});
}

static void types_tell_of_a_malformed_form(void **state)
{
    (void)state;
    route("POST /", read_int, NULL);
    post("/", FORM, "v=1&w=%");
    expect_status(200);
    assert_int_equal(result, RV_EPROTO);
    post("/?v=2", FORM, "v=1&w=%");
    expect_status(200);
    assert_int_equal(result, 0);
}

static void without_a_talk_there_is_nothing(void **state)
{
    (void)state;
    bool flag;
    double number;
    size_t index;
    rv_bytes name, value;
    assert_null(rv_param(NULL, "a").ptr);
    assert_false(rv_param_at(NULL, 0, &name, &value));
    assert_int_equal(rv_form_check(NULL), RV_EGONE);
    assert_int_equal(rv_param_bool(NULL, "a", &flag), RV_ENOTFOUND);
    assert_int_equal(rv_param_double(NULL, "a", 0, 1, &number), RV_ENOTFOUND);
    assert_int_equal(rv_param_choice(NULL, "a", NULL, &index), RV_ENOTFOUND);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(path_query_and_form_are_one_list),
        FACT(query_and_form_are_a_query_again),
        FACT(the_first_of_a_name_is_the_paths_then_the_querys),
        FACT(only_a_form_is_read_as_one),
        FACT(a_form_that_comes_in_pieces_is_whole),
        FACT(they_are_there_for_a_talk_that_was_kept),
        FACT(a_form_is_there_when_a_callback_has_looked_before),
        FACT(a_malformed_form_is_a_400_when_it_is_left_to_the_library),
        FACT(a_form_under_a_coding_is_a_415),
        FACT(a_malformed_form_has_no_parameters),
        FACT(a_form_of_too_many_fields_is_a_413),
        FACT(another_failure_is_still_a_500),
        FACT(integers_have_a_range),
        FACT(doubles_have_a_range_and_one_spelling),
        FACT(booleans_have_eight_words),
        FACT(a_choice_is_one_of_those_offered),
        FACT(types_tell_of_a_malformed_form),
        FACT(without_a_talk_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
