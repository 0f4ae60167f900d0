/*
 * Facts about the fields of a response: setting, adding, what is refused, what the library keeps to
 * itself, and Set-Cookie.
 */
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A handler that carries out steps, notes what each returned, and answers "done". */
struct step {
    rv_error (*verb)(rv_talk *talk, const char *name, const char *value);
    const char *name, *value;
    rv_error result;
};

#define STEPS_MAX 8

struct script {
    struct step steps[STEPS_MAX];
};

static struct script *current;

static int carry_out(rv_talk *talk, void *ctx)
{
    struct script *script = current;
    (void)ctx;
    for (int i = 0; i < STEPS_MAX && script->steps[i].verb != NULL; i++) {
        struct step *step = &script->steps[i];
        step->result = step->verb(talk, step->name, step->value);
    }
    return rv_text(talk, 200, "done");
}

#define SET(name, value)                                                                           \
    {                                                                                              \
        rv_set_header, (name), (value), 1                                                          \
    }
#define ADD(name, value)                                                                           \
    {                                                                                              \
        rv_add_header, (name), (value), 1                                                          \
    }

/* Runs the script for a GET and takes the answer. */
static void run(struct script *script)
{
    current = script;
    get("/");
    expect_answer(200, "done");
}

static void expect_results(const struct script *script, rv_error error)
{
    for (int i = 0; i < STEPS_MAX && script->steps[i].verb != NULL; i++)
        assert_int_equal(script->steps[i].result, error);
}

/* ---- setting and adding ------------------------------------------------------------------------ */

static void a_field_that_is_set_replaces_those_of_its_name(void **state)
{
    (void)state;
    struct script script = {{SET("X-A", "1"), ADD("x-a", "2"), SET("X-B", "3"), SET("X-a", "4")}};
    run(&script);
    expect_results(&script, 0);
    expect_field("X-A", "4");
    expect_field("X-B", "3");
    assert_int_equal(answer_field_count(last_answer(), "X-A"), 1);
}

static void fields_that_are_added_stand_in_order(void **state)
{
    (void)state;
    struct script script = {
        {ADD("X-A", "1"), ADD("X-B", "2"), ADD("X-A", "3"), ADD("x-a", "4"), SET("X-C", "5")}};
    run(&script);
    expect_results(&script, 0);
    assert_non_null(
        strstr(last_answer()->head, "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\nx-a: 4\r\nX-C: 5\r\n"));
}

static void a_set_that_replaces_the_last_field_leaves_the_list_whole(void **state)
{
    (void)state;
    struct script script = {
        {ADD("X-A", "1"), ADD("X-B", "2"), SET("X-B", "3"), ADD("X-C", "4"), SET("X-A", "5")}};
    run(&script);
    expect_results(&script, 0);
    assert_non_null(strstr(last_answer()->head, "X-B: 3\r\nX-C: 4\r\nX-A: 5\r\n"));
    assert_int_equal(answer_field_count(last_answer(), "X-A"), 1);
}

static void a_value_is_sent_without_the_blanks_around_it(void **state)
{
    (void)state;
    struct script script = {{SET("X-A", " \t one two\t "), SET("X-B", ""), SET("X-C", "  ")}};
    run(&script);
    expect_results(&script, 0);
    expect_field("X-A", "one two");
    assert_non_null(strstr(last_answer()->head, "X-B: \r\nX-C: \r\n"));
}

static void a_value_may_have_tabs_and_octets_above_ascii(void **state)
{
    (void)state;
    struct script script = {{SET("X-A", "a\tb"), SET("X-B", "gr\xc3\xbc\xc3\x9f"
                                                            "e\xff")}};
    run(&script);
    expect_results(&script, 0);
    expect_field("X-A", "a\tb");
    expect_field("X-B", "gr\xc3\xbc\xc3\x9f"
                        "e\xff");
}

static int set_from_the_stack(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char name[] = "X-Own", value[] = "value";
    rv_set_header(talk, name, value);
    memset(name, '#', sizeof name);
    memset(value, '#', sizeof value);
    return rv_text(talk, 200, "done");
}

static void name_and_value_are_copied(void **state)
{
    (void)state;
    route("GET /copied", set_from_the_stack, NULL);
    get("/copied");
    expect_answer(200, "done");
    expect_field("X-Own", "value");
}

static int set_large_fields(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char *value = rv_alloc(talk, 100001);
    memset(value, 'v', 100000);
    value[100000] = '\0';
    rv_set_header(talk, "X-Large", value);
    return rv_text(talk, 200, "done");
}

static void a_field_may_be_larger_than_the_output_page(void **state)
{
    (void)state;
    route("GET /large", set_large_fields, NULL);
    get("/large");
    rv_bytes octets = rv_test_received(client());
    const char *value = memmem(octets.ptr, octets.len, "\r\nX-Large: ", 11);
    assert_non_null(value);
    size_t length = 0;
    while (value[11 + length] == 'v')
        length++;
    assert_int_equal(length, 100000);
    assert_memory_equal(octets.ptr + octets.len - 8, "\r\n\r\ndone", 8);
}

static int add_many(rv_talk *talk, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 200; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        if (rv_add_header(talk, "X-Many", value) != 0)
            return RV_ENOMEM;
    }
    return rv_text(talk, 200, "done");
}

static void there_may_be_many_fields(void **state)
{
    (void)state;
    route("GET /many", add_many, NULL);
    get("/many");
    expect_answer(200, "done");
    assert_int_equal(answer_field_count(last_answer(), "X-Many"), 200);
}

static void fields_of_one_request_are_not_those_of_the_next(void **state)
{
    (void)state;
    struct script some = {{SET("X-A", "1"), SET("Content-Type", "application/x-own"),
                           SET("Connection", "keep-alive"), SET("Server", "other")}};
    struct script none = {0};
    run(&some);
    expect_field("X-A", "1");
    run(&none);
    expect_field("X-A", NULL);
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    expect_field("Server", "rivulet");
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void a_name_that_is_no_token_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"",     " X",   "X ",    "X Y",   "X:",        "X\r\nY",
                                        "X\ty", "X(y)", "\"X\"", "X\x01", "X\xc3\xbc", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct script script = {{SET(names[i], "value"), ADD(names[i], "value")}};
        run(&script);
        expect_results(&script, RV_EINVAL);
    }
}

static void a_value_with_a_control_character_is_refused(void **state)
{
    (void)state;
    static const char *const values[] = {"a\rb",       "a\nb",  "a\r\nX: y", "a\r\n", "\r\na",
                                         "a\r\n\r\nb", "a\x01", "a\x7f",     "\x0b",  NULL};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct script script = {{SET("X-A", values[i]), ADD("X-A", values[i])}};
        run(&script);
        expect_results(&script, RV_EINVAL);
        expect_field("X-A", NULL);
    }
}

static void a_refused_set_keeps_what_was_set_before(void **state)
{
    (void)state;
    struct script script = {{SET("X-A", "1"), SET("X-A", "2\n")}};
    run(&script);
    assert_int_equal(script.steps[1].result, RV_EINVAL);
    expect_field("X-A", "1");
}

static void transfer_encoding_is_the_librarys(void **state)
{
    (void)state;
    struct script script = {{SET("Transfer-Encoding", "chunked"), ADD("transfer-ENCODING", "gzip"),
                             SET("Transfer-Encoding", "identity")}};
    run(&script);
    expect_results(&script, RV_EINVAL);
    expect_field("Transfer-Encoding", NULL);
}

static void a_content_length_that_is_no_number_is_refused(void **state)
{
    (void)state;
    struct script script = {{SET("Content-Length", ""), SET("Content-Length", "-1"),
                             SET("Content-Length", "4x"), SET("Content-Length", "4, 4"),
                             ADD("Content-Length", "9223372036854775808"),
                             ADD("Content-Length", "99999999999999999999")}};
    run(&script);
    expect_results(&script, RV_EINVAL);
    expect_field("Content-Length", "4");
    assert_int_equal(answer_field_count(last_answer(), "Content-Length"), 1);
}

static void of_connection_only_close_and_keep_alive_may_be_said(void **state)
{
    (void)state;
    struct script script = {{SET("Connection", "upgrade"), SET("Connection", "X-A"),
                             ADD("Connection", "keep-alive, upgrade")}};
    run(&script);
    expect_results(&script, RV_EINVAL);
    expect_field("Connection", NULL);
    expect_open();
    struct script fine = {{SET("Connection", "keep-alive"), SET("Connection", "")}};
    run(&fine);
    expect_results(&fine, 0);
    expect_open();
}

static void an_application_may_end_the_connection(void **state)
{
    (void)state;
    struct script script = {{SET("Connection", "Close")}};
    run(&script);
    expect_results(&script, 0);
    expect_field("Connection", "close");
    assert_int_equal(answer_field_count(last_answer(), "Connection"), 1);
    expect_closed();
}

/* ---- fields of the library that an application may set ----------------------------------------- */

static void an_own_type_server_or_date_stands_alone(void **state)
{
    (void)state;
    struct script script = {{SET("content-type", "application/x-own"), SET("server", "own"),
                             SET("date", "Mon, 01 Jan 2001 00:00:00 GMT")}};
    run(&script);
    expect_field("Content-Type", "application/x-own");
    expect_field("Server", "own");
    expect_field("Date", "Mon, 01 Jan 2001 00:00:00 GMT");
    assert_int_equal(answer_field_count(last_answer(), "Content-Type"), 1);
    assert_int_equal(answer_field_count(last_answer(), "Server"), 1);
    assert_int_equal(answer_field_count(last_answer(), "Date"), 1);
}

static void an_own_date_leaves_the_librarys_server_and_the_reverse(void **state)
{
    (void)state;
    struct script date = {{SET("Date", "Mon, 01 Jan 2001 00:00:00 GMT")}};
    struct script server = {{SET("Server", "own")}};
    run(&date);
    expect_field("Server", "rivulet");
    expect_field("Date", "Mon, 01 Jan 2001 00:00:00 GMT");
    run(&server);
    expect_field("Server", "own");
    expect_field("Date", "Thu, 01 Jan 2026 00:00:01 GMT");
}

static void a_field_that_a_response_has_once_is_not_added_twice(void **state)
{
    (void)state;
    static const char *const names[] = {"Content-Type", "Location",      "ETag",
                                        "Date",         "Last-Modified", "Server"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct script script = {{ADD(names[i], "first"), ADD(names[i], "second")}};
        run(&script);
        expect_field(names[i], "second");
        assert_int_equal(answer_field_count(last_answer(), names[i]), 1);
    }
}

/* ---- an own Content-Length of a whole answer ---------------------------------------------------- */

static int answer_with_length(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    rv_error error = rv_set_header(talk, "Content-Length", length);
    if (error == 0)
        error = rv_text(talk, 200, "four");
    return error;
}

static char four[] = "4", five[] = "5", thousand[] = "1000";

static void an_own_length_that_is_right_is_no_matter(void **state)
{
    (void)state;
    route("GET /own", answer_with_length, four);
    get("/own");
    expect_answer(200, "four");
    expect_field("Content-Length", "4");
    assert_int_equal(answer_field_count(last_answer(), "Content-Length"), 1);
}

static void an_own_length_that_is_wrong_is_refused(void **state)
{
    (void)state;
    route("GET /own", answer_with_length, five);
    get("/own");
    expect_status(500);
    assert_int_equal(last_error, RV_EINVAL);
}

static int released;

static void count_release(void *ctx)
{
    (void)ctx;
    released++;
}

static int lend_with_length(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Content-Length", ctx);
    return rv_reply_borrowed(talk, 200, NULL, RV_LIT("four"), count_release, NULL);
}

static void borrowed_content_of_another_length_is_refused_and_released(void **state)
{
    (void)state;
    released = 0;
    route("GET /own", lend_with_length, five);
    get("/own");
    expect_status(500);
    assert_int_equal(last_error, RV_EINVAL);
    assert_int_equal(released, 1);
}

static int answer_head_with_length(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Content-Length", ctx);
    return rv_reply(talk, 200, "text/plain", RV_LIT(""));
}

static void an_answer_to_head_may_state_the_length_alone(void **state)
{
    (void)state;
    route("HEAD /own", answer_head_with_length, thousand);
    request("HEAD", "/own", NULL);
    expect_head_status(200);
    expect_field("Content-Length", "1000");
    expect_silence();
    expect_open();
}

/* ---- cookies ----------------------------------------------------------------------------------- */

struct cookie {
    const char *name, *value;
    const rv_cookie_options *options;
    rv_error result;
};

static int give_cookie(rv_talk *talk, void *ctx)
{
    struct cookie *cookie = ctx;
    cookie->result = rv_set_cookie(talk, cookie->name, cookie->value, cookie->options);
    return rv_text(talk, 200, "done");
}

static struct cookie given;

static void expect_cookie(struct cookie cookie, const char *field)
{
    given = cookie;
    get("/cookie");
    expect_answer(200, "done");
    assert_int_equal(given.result, field == NULL ? RV_EINVAL : 0);
    expect_field("Set-Cookie", field);
}

static void a_cookie_carries_what_its_options_say(void **state)
{
    (void)state;
    static const struct {
        rv_cookie_options options;
        const char *field;
    } cases[] = {
        {{0}, "n=v"},
        {{.path = "/a"}, "n=v; Path=/a"},
        {{.domain = "example.org"}, "n=v; Domain=example.org"},
        {{.max_age_s = 60}, "n=v; Max-Age=60"},
        {{.max_age_s = -1}, "n=v; Max-Age=0"},
        {{.http_only = true}, "n=v; HttpOnly"},
        {{.secure = true}, "n=v; Secure"},
        {{.same_site = "Lax"}, "n=v; SameSite=Lax"},
        {{.expires_s = 784111777}, "n=v; Expires=Sun, 06 Nov 1994 08:49:37 GMT"},
        {{.partitioned = true, .secure = true}, "n=v; Secure; Partitioned"},
        {{"/a", "example.org", "None", 3600, true, true, false, 0},
         "n=v; Max-Age=3600; Path=/a; Domain=example.org; HttpOnly; Secure; SameSite=None"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_cookie((struct cookie){"n", "v", &cases[i].options, 1}, cases[i].field);
}

static void a_cookie_may_have_any_value_that_rfc_6265_allows(void **state)
{
    (void)state;
    expect_cookie((struct cookie){"n", "v", NULL, 1}, "n=v");
    expect_cookie((struct cookie){"n", "", NULL, 1}, "n=");
    expect_cookie((struct cookie){"n", "!#$%&'()*+-./:<=>?@[]^_`{|}~", NULL, 1},
                  "n=!#$%&'()*+-./:<=>?@[]^_`{|}~");
}

static void a_cookie_that_others_could_not_read_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", "a b", "a=b", "a;b", "a\r\n", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_cookie((struct cookie){names[i], "v", NULL, 1}, NULL);
    static const char *const values[] = {"a b",    "a;b",  "a,b",      "a\"b", "a\\b",
                                         "a\r\nb", "\x7f", "\xc3\xbc", NULL};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        expect_cookie((struct cookie){"n", values[i], NULL, 1}, NULL);
    static const rv_cookie_options bad[] = {
        {.path = "/a;b"},      {.path = "/a\r\nb"},   {.domain = "a;b"},
        {.domain = "a\nb"},    {.same_site = "Any"},  {.same_site = "lax"},
        {.same_site = "None"}, {.partitioned = true}, {.path = ""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_cookie((struct cookie){"n", "v", &bad[i], 1}, NULL);
}

static int give_two_cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_cookie(talk, "a", "1", NULL);
    rv_set_cookie(talk, "a", "2", NULL);
    return rv_text(talk, 200, "done");
}

static void each_cookie_is_a_field_of_its_own(void **state)
{
    (void)state;
    route("GET /two", give_two_cookies, NULL);
    get("/two");
    expect_answer(200, "done");
    assert_non_null(strstr(last_answer()->head, "Set-Cookie: a=1\r\nSet-Cookie: a=2\r\n"));
}

static int set_up(void **state)
{
    tested_set_up(state);
    route("* /", carry_out, NULL);
    route("GET /cookie", give_cookie, &given);
    return 0;
}

/* ---- removing, reading back, reasons ---------------------------------------------------------------- */

static int remove_some(rv_talk *talk, void *ctx)
{
    rv_bytes name, value;
    (void)ctx;
    rv_set_header(talk, "A", "1");
    rv_add_header(talk, "B", "2");
    rv_add_header(talk, "b", "3");
    assert_true(rv_equals(rv_response_header(talk, "B"), "2"));
    assert_true(rv_equals(rv_response_header(talk, "a"), "1"));
    assert_null(rv_response_header(talk, "C").ptr);
    assert_true(rv_response_header_at(talk, 2, &name, &value));
    assert_true(rv_equals(name, "b") && rv_equals(value, "3"));
    assert_false(rv_response_header_at(talk, 3, &name, &value));
    assert_int_equal(rv_remove_header(talk, "B"), 0);
    assert_int_equal(rv_remove_header(talk, "none"), 0);
    assert_int_equal(rv_remove_header(talk, "no token"), RV_EINVAL);
    assert_null(rv_response_header(talk, "b").ptr);
    rv_set_header(talk, "Date", "never");
    rv_set_header(talk, "Server", "none");
    rv_set_header(talk, "Content-Type", "a/b");
    rv_set_header(talk, "Content-Length", "99");
    rv_set_header(talk, "Connection", "close");
    static const char *const names[] = {"date", "server", "content-type", "content-length",
                                        "connection"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(rv_remove_header(talk, names[i]), 0);
    rv_add_header(talk, "D", "4");
    return rv_text(talk, 200, "done");
}

static void what_is_removed_is_as_if_it_was_never_set(void **state)
{
    (void)state;
    route("GET /", remove_some, NULL);
    get("/");
    expect_answer(200, "done");
    expect_field("A", "1");
    expect_field("B", NULL);
    expect_field("D", "4");
    expect_field("Server", "rivulet");
    expect_field("Content-Type", "text/plain; charset=UTF-8");
    expect_field("Connection", NULL);
    assert_null(rv_response_header(NULL, "A").ptr);
    assert_int_equal(rv_remove_header(NULL, "A"), RV_EGONE);
}

static int set_late(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    assert_int_equal(rv_set_header(talk, "Before", "the first write"), 0);
    rv_write(talk, RV_LIT("x"));
    assert_int_equal(rv_set_header(talk, "A", "1"), RV_ESTATE);
    assert_int_equal(rv_add_header(talk, "A", "1"), RV_ESTATE);
    assert_int_equal(rv_remove_header(talk, "Before"), RV_ESTATE);
    assert_int_equal(rv_set_reason(talk, "Late"), RV_ESTATE);
    assert_int_equal(rv_set_cookie(talk, "a", "b", NULL), RV_ESTATE);
    return RV_OK;
}

static void nothing_is_set_when_the_head_has_left(void **state)
{
    (void)state;
    route("GET /", set_late, NULL);
    get("/");
    expect_answer(200, "x");
    expect_field("Before", "the first write");
}

static int give_reason(rv_talk *talk, void *ctx)
{
    char long_one[130];
    memset(long_one, 'a', sizeof long_one);
    long_one[129] = '\0';
    assert_int_equal(rv_set_reason(talk, long_one), RV_EINVAL);
    assert_int_equal(rv_set_reason(talk, "a\r\nB: c"), RV_EINVAL);
    assert_int_equal(rv_set_reason(talk, NULL), RV_EINVAL);
    assert_int_equal(rv_set_reason(NULL, "a"), RV_EGONE);
    assert_int_equal(rv_set_reason(talk, ctx), 0);
    return rv_equals(rv_query(talk), "fail") ? RV_EIO : rv_reply(talk, 200, NULL, RV_LIT("Ok"));
}

static void a_reason_is_the_programs_own(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 200 listen to Jazz\r\n";
    route("GET /", give_reason, "listen to Jazz");
    get("/");
    rv_bytes got = rv_test_received(client());
    assert_true(got.len > sizeof text && memcmp(got.ptr, text, sizeof text - 1) == 0);
    assert_non_null(memmem(got.ptr, got.len, "\r\nServer: rivulet\r\nDate: ", 25));
}

static void a_failure_has_its_own_reason(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 500 Internal Server Error\r\n";
    route("GET /", give_reason, "listen to Jazz");
    get("/?fail");
    rv_bytes got = rv_test_received(client());
    assert_true(got.len > sizeof text && memcmp(got.ptr, text, sizeof text - 1) == 0);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_field_that_is_set_replaces_those_of_its_name),
        FACT(fields_that_are_added_stand_in_order),
        FACT(a_set_that_replaces_the_last_field_leaves_the_list_whole),
        FACT(a_value_is_sent_without_the_blanks_around_it),
        FACT(a_value_may_have_tabs_and_octets_above_ascii),
        FACT(name_and_value_are_copied),
        FACT(a_field_may_be_larger_than_the_output_page),
        FACT(there_may_be_many_fields),
        FACT(fields_of_one_request_are_not_those_of_the_next),
        FACT(a_name_that_is_no_token_is_refused),
        FACT(a_value_with_a_control_character_is_refused),
        FACT(a_refused_set_keeps_what_was_set_before),
        FACT(transfer_encoding_is_the_librarys),
        FACT(a_content_length_that_is_no_number_is_refused),
        FACT(of_connection_only_close_and_keep_alive_may_be_said),
        FACT(an_application_may_end_the_connection),
        FACT(an_own_type_server_or_date_stands_alone),
        FACT(an_own_date_leaves_the_librarys_server_and_the_reverse),
        FACT(a_field_that_a_response_has_once_is_not_added_twice),
        FACT(an_own_length_that_is_right_is_no_matter),
        FACT(an_own_length_that_is_wrong_is_refused),
        FACT(borrowed_content_of_another_length_is_refused_and_released),
        FACT(an_answer_to_head_may_state_the_length_alone),
        FACT(a_cookie_carries_what_its_options_say),
        FACT(a_cookie_may_have_any_value_that_rfc_6265_allows),
        FACT(a_cookie_that_others_could_not_read_is_refused),
        FACT(each_cookie_is_a_field_of_its_own),
        FACT(what_is_removed_is_as_if_it_was_never_set),
        FACT(nothing_is_set_when_the_head_has_left),
        FACT(a_reason_is_the_programs_own),
        FACT(a_failure_has_its_own_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
