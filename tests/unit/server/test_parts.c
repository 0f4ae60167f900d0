/*
 * Facts about forms that are taken part by part (rv_on_parts of rivulet.h), over HTTP/1 and HTTP/2: the
 * order of what is told, pauses, refusals, limits, and that everything ends exactly once.
 */
#include "support/h2_client.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FORM_TYPE "multipart/form-data; boundary=\"x y\""

static const char form[] = "a preamble\r\n--x y\r\n"
                           "Content-Disposition: form-data; name=\"a\"\r\n\r\n"
                           "one\r\n--x \r\n-\r\n--x y \r\n"
                           "Content-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n"
                           "Content-Type: text/css\r\nX-Other: 1\r\n\r\n"
                           "\r\n--x y\r\n"
                           "Content-Disposition: form-data; name=\"f\"; filename=\"m\"\r\n\r\n"
                           "\r\nlast\r\n\r\n--x y--";

static const char form_told[] = "<a>one\r\n--x \r\n-</a>"
                                "<f n.txt text/css 1></f>"
                                "<f m>\r\nlast\r\n</f>.";

/* What the acceptor does, and what it was told. */
static struct acceptor {
    char told[1024];
    size_t length;
    char open_name[64]; /* of the part that is open; "": none */
    int ends;           /* done and abort */
    bool pause;         /* after each call */
    bool paused;        /* nothing may be told now */
    rv_error fail_open, fail_data, fail_close;
    bool answer_open, answer_data, answer_close; /* from these functions */
    bool inside;                                 /* one of them is running */
    rv_error reason;                             /* of the abort */
    bool aborted_open;
    rv_handle handle;
} seen;

static rv_parts acceptor; /* the functions and limits in use */

static void write_down(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void write_down(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(seen.told + seen.length, sizeof seen.told - seen.length, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < sizeof seen.told - seen.length);
    seen.length += (size_t)length;
}

static int go_on(rv_talk *talk, bool answer, rv_error error)
{
    assert_int_equal(seen.ends, 0);
    seen.inside = true;
    if (answer)
        assert_int_equal(rv_text(talk, 200, "early"), RV_OK);
    seen.inside = false;
    if (error != 0 || answer)
        return error;
    seen.paused = seen.pause;
    return seen.pause ? RV_FULL : RV_OK;
}

static int open_part(rv_talk *talk, const rv_part *part, void *ctx)
{
    rv_bytes name = rv_part_name(part), file = rv_part_filename(part);
    rv_bytes type = rv_part_content_type(part), other = rv_part_header(part, "x-oTHER");
    assert_ptr_equal(ctx, &seen);
    assert_false(seen.paused);
    assert_string_equal(seen.open_name, "");
    if (seen.fail_open != 0)
        return go_on(talk, seen.answer_open, seen.fail_open);
    snprintf(seen.open_name, sizeof seen.open_name, "%.*s", (int)name.len, name.ptr);
    write_down("<%s", seen.open_name);
    rv_bytes facts[] = {file, type, other};
    for (int i = 0; i < 3; i++)
        if (facts[i].ptr != NULL)
            write_down(" %.*s", (int)facts[i].len, facts[i].ptr);
    write_down(">");
    return go_on(talk, seen.answer_open, 0);
}

static int take_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    assert_ptr_equal(ctx, &seen);
    assert_false(seen.paused);
    assert_string_not_equal(seen.open_name, "");
    assert_true(octets.len > 0);
    write_down("%.*s", (int)octets.len, octets.ptr);
    return go_on(talk, seen.answer_data, seen.fail_data);
}

static int close_part(rv_talk *talk, void *ctx)
{
    assert_ptr_equal(ctx, &seen);
    assert_false(seen.paused);
    assert_string_not_equal(seen.open_name, "");
    write_down("</%s>", seen.open_name);
    seen.open_name[0] = '\0';
    return go_on(talk, seen.answer_close, seen.fail_close);
}

static int all_done(rv_talk *talk, void *ctx)
{
    assert_ptr_equal(ctx, &seen);
    assert_false(seen.paused);
    assert_string_equal(seen.open_name, "");
    write_down(".");
    seen.ends++;
    return rv_text(talk, 200, "done");
}

static void aborted(const rv_part *part, rv_error reason, void *ctx)
{
    assert_ptr_equal(ctx, &seen);
    assert_false(seen.inside);
    seen.ends++;
    seen.reason = reason;
    seen.aborted_open = part != NULL;
    /* Exactly the part that is open is aborted. */
    assert_true((part != NULL) == (seen.open_name[0] != '\0'));
    if (part != NULL)
        assert_true(rv_equals(rv_part_name(part), seen.open_name));
    seen.open_name[0] = '\0';
}

static int take_form(rv_talk *talk, void *ctx)
{
    (void)ctx;
    seen.handle = rv_suspend(talk);
    return rv_on_parts(talk, &acceptor, &seen);
}

static void begin_again(void)
{
    memset(&seen, 0, sizeof seen);
}

static int set_up(void **state)
{
    begin_again();
    acceptor = (rv_parts){.open = open_part,
                          .data = take_data,
                          .close = close_part,
                          .done = all_done,
                          .abort = aborted};
    tested_set_up(state);
    route_with("POST /", take_form, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route_with("POST /limited", take_form, NULL,
               (rv_route_options){.body = RV_BODY_STREAMED, .body_bytes_max = 100});
    route("POST /whole", take_form, NULL);
    return 0;
}

static int resume(rv_talk *talk, void *value)
{
    (void)value;
    seen.paused = false;
    assert_int_equal(rv_body_resume(talk), 0);
    return RV_PENDING;
}

/* As often as it pauses. */
static void resume_until_it_ends(rv_test *test)
{
    for (int i = 0; seen.paused && i < 1000; i++) {
        assert_int_equal(rv_resume(tested, seen.handle, resume, NULL), 0);
        rv_test_settle(test);
    }
    assert_false(seen.paused);
}

static void post_head(const char *path, size_t length)
{
    char fields[200];
    snprintf(fields, sizeof fields, "Content-Type: " FORM_TYPE "\r\nContent-Length: %zu\r\n",
             length);
    request("POST", path, fields);
}

static void post(const char *path, const char *body)
{
    post_head(path, strlen(body));
    say(body);
}

static rv_bytes slice(const char *text, size_t from, size_t to)
{
    return (rv_bytes){text + from, to - from};
}

/* ---- what is told ------------------------------------------------------------------------------------ */

static void a_form_is_told_part_by_part_wherever_it_is_cut(void **state)
{
    (void)state;
    size_t length = strlen(form);
    for (size_t cut = 0; cut <= length; cut++) {
        begin_again();
        post_head("/", length);
        if (cut > 0)
            say_octets(slice(form, 0, cut));
        assert_int_equal(seen.ends, cut == length);
        if (cut < length)
            say_octets(slice(form, cut, length));
        expect_answer(200, "done");
        assert_string_equal(seen.told, form_told);
    }
    expect_open();
}

static void a_form_in_chunks_is_told_likewise(void **state)
{
    (void)state;
    request("POST", "/", "Content-Type: " FORM_TYPE "\r\nTransfer-Encoding: chunked\r\n");
    for (size_t i = 0; form[i] != '\0'; i++) {
        say("1\r\n");
        say_octets(slice(form, i, i + 1));
        say("\r\n");
    }
    say("0\r\n\r\n");
    expect_answer(200, "done");
    assert_string_equal(seen.told, form_told);
}

static void a_pause_holds_everything_up_wherever_it_comes(void **state)
{
    (void)state;
    size_t length = strlen(form);
    for (size_t cut = 1; cut <= length; cut++) {
        begin_again();
        seen.pause = true;
        post_head("/", length);
        say_octets(slice(form, 0, cut));
        if (cut < length)
            say_octets(slice(form, cut, length));
        resume_until_it_ends(client());
        expect_answer(200, "done");
        assert_string_equal(seen.told, form_told);
    }
    expect_open();
}

static void a_pause_in_chunks_outlives_the_end_of_the_body(void **state)
{
    char octets[1024];
    (void)state;
    seen.pause = true;
    request("POST", "/", "Content-Type: " FORM_TYPE "\r\nTransfer-Encoding: chunked\r\n");
    snprintf(octets, sizeof octets, "%zx\r\n%s\r\n0\r\n\r\n", strlen(form), form);
    say(octets);
    resume_until_it_ends(client());
    expect_answer(200, "done");
    assert_string_equal(seen.told, form_told);
    begin_again();
    post("/", form);
    expect_answer(200, "done");
}

#if RV_H2_BUILT
static void over_http2_it_is_the_same_wherever_it_is_cut_and_with_pauses(void **state)
{
    struct h2_client peer = {0};
    size_t length = strlen(form);
    (void)state;
    h2_client_open(&peer, tested, 0, 0);
    for (size_t cut = 1; cut < length; cut += 2) {
        begin_again();
        seen.pause = cut % 4 == 1;
        struct h2_exchange *exchange =
            h2_ask(&peer, "POST", "/", "content-type: " FORM_TYPE "\n", true);
        h2_put(exchange, slice(form, 0, cut), false);
        h2_client_pump(&peer);
        h2_put(exchange, slice(form, cut, length), true);
        h2_client_pump(&peer);
        for (int i = 0; seen.paused && i < 1000; i++) {
            resume_until_it_ends(peer.test);
            h2_client_pump(&peer);
        }
        h2_expect(exchange, 200, "done");
        assert_string_equal(seen.told, form_told);
    }
    h2_client_close(&peer);
}
#endif

/* ---- who goes ----------------------------------------------------------------------------------------- */

static void a_client_that_goes_at_any_octet_aborts_once(void **state)
{
    char head[256];
    size_t length = strlen(form);
    (void)state;
    snprintf(head, sizeof head,
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: " FORM_TYPE
             "\r\nContent-Length: %zu\r\n\r\n",
             length);
    for (size_t cut = 0; cut < length; cut++)
        for (int pause = 0; pause < 2; pause++) {
            begin_again();
            seen.pause = pause;
            rv_test *test = rv_test_new(tested);
            assert_int_equal(rv_test_send(test, rv_str(head)), 0);
            if (cut > 0)
                assert_int_equal(rv_test_send(test, slice(form, 0, cut)), 0);
            assert_int_equal(seen.ends, 0);
            rv_test_reset(test);
            assert_int_equal(seen.ends, 1);
            assert_int_equal(seen.reason, RV_EGONE);
            rv_test_free(test);
            assert_int_equal(seen.ends, 1);
        }
}

#if RV_H2_BUILT
static void a_reset_stream_of_http2_aborts_once(void **state)
{
    struct h2_client peer = {0};
    (void)state;
    h2_client_open(&peer, tested, 0, 0);
    for (size_t cut = 1; cut < strlen(form); cut += 3) {
        begin_again();
        struct h2_exchange *exchange =
            h2_ask(&peer, "POST", "/", "content-type: " FORM_TYPE "\n", true);
        h2_put(exchange, slice(form, 0, cut), false);
        h2_client_pump(&peer);
        assert_int_equal(seen.ends, 0);
        h2_reset(exchange, 8);
        h2_client_pump(&peer);
        assert_int_equal(seen.ends, 1);
        assert_int_equal(seen.reason, RV_EGONE);
    }
    h2_client_close(&peer);
}
#endif

static void a_form_that_ends_too_early_is_400(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < strlen(form) - 2; cut++) {
        char *part = strndup(form, cut);
        begin_again();
        post("/", part);
        free(part);
        expect_status(400);
        assert_int_equal(seen.ends, 1);
        assert_int_equal(seen.reason, RV_EPROTO);
    }
    assert_int_equal(COUNTER(requests_malformed), strlen(form) - 2);
}

/* ---- refusals ------------------------------------------------------------------------------------------- */

static void what_a_function_returns_decides_about_the_status(void **state)
{
    static const struct {
        rv_error error;
        int status;
        unsigned told;
    } cases[] = {{RV_EINVAL, 400, 0},
                 {RV_EPROTO, 400, 0},
                 {RV_EPERM, 403, 0},
                 {RV_ELIMIT, 413, 0},
                 {RV_EIO, 500, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int where = 0; where < 3; where++) {
            begin_again();
            *(rv_error *[]){&seen.fail_open, &seen.fail_data, &seen.fail_close}[where] =
                cases[i].error;
            unsigned told_before = errors_told;
            as((unsigned)where);
            post("/", form);
            expect_status(cases[i].status);
            assert_int_equal(seen.ends, 1);
            assert_int_equal(seen.reason, cases[i].error);
            assert_int_equal(seen.aborted_open, where == 1);
            assert_int_equal(errors_told - told_before, cases[i].told);
        }
}

static void an_answer_in_the_middle_ends_the_form(void **state)
{
    (void)state;
    seen.answer_data = true;
    post("/", form);
    expect_answer(200, "early");
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.reason, RV_ESTATE);
    assert_string_equal(seen.told, "<a>one\r\n--x \r\n-");
    begin_again();
    post("/", form);
    expect_answer(200, "done");
}

static int answer_from_elsewhere(rv_talk *talk, void *value)
{
    (void)value;
    return rv_text(talk, 200, "elsewhere");
}

/* It is told when the function that has answered returns: only then is known whether the part was refused. */
static void whichever_function_answers_the_part_that_is_open_is_aborted(void **state)
{
    bool *const functions[] = {&seen.answer_open, &seen.answer_data, &seen.answer_close};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin_again();
        *functions[i] = true;
        as(i);
        post("/", form);
        expect_answer(200, "early");
        assert_int_equal(seen.ends, 1);
        assert_int_equal(seen.reason, RV_ESTATE);
        assert_int_equal(seen.aborted_open, i < 2);
    }
}

static void a_part_that_is_answered_and_refused_was_never_open(void **state)
{
    (void)state;
    seen.answer_open = true;
    seen.fail_open = RV_EINVAL;
    post("/", form);
    expect_answer(200, "early");
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.reason, RV_EINVAL);
    assert_false(seen.aborted_open);
}

static void an_answer_during_a_pause_ends_the_form(void **state)
{
    (void)state;
    seen.pause = true;
    post("/", form);
    assert_int_equal(rv_resume(tested, seen.handle, answer_from_elsewhere, NULL), 0);
    rv_test_settle(client());
    expect_answer(200, "elsewhere");
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.reason, RV_ESTATE);
    begin_again();
    post("/", form);
    expect_answer(200, "done");
}

static void what_is_no_form_is_answered_at_once(void **state)
{
    (void)state;
    request("POST", "/", "Content-Type: text/plain\r\nContent-Length: 0\r\n");
    expect_status(415);
    request("POST", "/", "Content-Type: multipart/form-data\r\nContent-Length: 0\r\n");
    expect_status(400);
    assert_int_equal(seen.ends, 0);
    assert_int_equal(COUNTER(requests_malformed), 1);
    assert_int_equal(errors_told, 0);
}

/* RFC 9110 section 15.5.16. */
static void a_form_that_is_coded_is_415_and_told_what_could_be_read(void **state)
{
    (void)state;
    request("POST", "/",
            "Content-Type: " FORM_TYPE "\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n");
    expect_status(415);
    expect_field("Accept-Encoding", "identity");
    assert_int_equal(seen.ends, 0);
}

static void a_route_with_whole_bodies_has_no_parts(void **state)
{
    (void)state;
    post("/whole", form);
    expect_status(500);
    assert_int_equal(last_error, RV_ESTATE);
    assert_int_equal(seen.ends, 0);
}

/* ---- limits ----------------------------------------------------------------------------------------------- */

static void expect_413_once(void)
{
    expect_status(413);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.reason, RV_ELIMIT);
    assert_int_equal(COUNTER(body_too_large), 1);
    assert_int_equal(errors_told, 0);
}

static void too_many_parts_are_413(void **state)
{
    (void)state;
    acceptor.parts_max = 2;
    post("/", form);
    expect_413_once();
    assert_false(seen.aborted_open);
}

static void a_part_head_that_is_too_long_is_413(void **state)
{
    (void)state;
    acceptor.part_head_bytes_max = 50;
    post("/", form);
    expect_413_once();
}

static void a_part_that_is_too_large_is_413(void **state)
{
    (void)state;
    acceptor.part_bytes_max = 11; /* the first has one octet more */
    post("/", form);
    expect_413_once();
    assert_true(seen.aborted_open);
}

static void a_part_of_exactly_the_limit_is_taken(void **state)
{
    (void)state;
    acceptor.part_bytes_max = 12;
    post("/", form);
    expect_answer(200, "done");
}

static void a_form_beyond_the_limit_of_its_route_is_413(void **state)
{
    char chunk[1024];
    (void)state;
    request("POST", "/limited", "Content-Type: " FORM_TYPE "\r\nTransfer-Encoding: chunked\r\n");
    snprintf(chunk, sizeof chunk, "60\r\n%.96s\r\n", form);
    say(chunk);
    assert_int_equal(seen.ends, 0);
    say("10\r\n");
    expect_413_once();
}

static void a_form_that_comes_too_slowly_is_408(void **state)
{
    (void)state;
    post_head("/", strlen(form));
    say_octets(slice(form, 0, 80));
    advance_ms(6000);
    expect_status(408);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.reason, RV_ETIMEOUT);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_form_is_told_part_by_part_wherever_it_is_cut),
        FACT(a_form_in_chunks_is_told_likewise),
        FACT(a_pause_holds_everything_up_wherever_it_comes),
        FACT(a_pause_in_chunks_outlives_the_end_of_the_body),
#if RV_H2_BUILT
        FACT(over_http2_it_is_the_same_wherever_it_is_cut_and_with_pauses),
#endif
        FACT(a_client_that_goes_at_any_octet_aborts_once),
#if RV_H2_BUILT
        FACT(a_reset_stream_of_http2_aborts_once),
#endif
        FACT(a_form_that_ends_too_early_is_400),
        FACT(what_a_function_returns_decides_about_the_status),
        FACT(an_answer_in_the_middle_ends_the_form),
        FACT(whichever_function_answers_the_part_that_is_open_is_aborted),
        FACT(a_part_that_is_answered_and_refused_was_never_open),
        FACT(an_answer_during_a_pause_ends_the_form),
        FACT(what_is_no_form_is_answered_at_once),
        FACT(a_form_that_is_coded_is_415_and_told_what_could_be_read),
        FACT(a_route_with_whole_bodies_has_no_parts),
        FACT(too_many_parts_are_413),
        FACT(a_part_head_that_is_too_long_is_413),
        FACT(a_part_that_is_too_large_is_413),
        FACT(a_part_of_exactly_the_limit_is_taken),
        FACT(a_form_beyond_the_limit_of_its_route_is_413),
        FACT(a_form_that_comes_too_slowly_is_408),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
