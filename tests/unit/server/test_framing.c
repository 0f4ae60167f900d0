/*
 * Facts about the framing that an app asks for (step 4 of rivulet.h): collected, chunked and raw responses,
 * for each version of HTTP/1, on the loop and on the pool. With compression: test_compress.c.
 */
#include "base/bytes.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rv_error results[4];

static void app_with(rv_app_options options)
{
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
}

static void framing(rv_framing framing)
{
    app_with((rv_app_options){.framing = framing});
}

static void everywhere(rv_handler handler, void *ctx)
{
    route("GET /", handler, ctx);
    route_with("GET /pool", handler, ctx, (rv_route_options){.run = RV_ON_POOL});
}

static const char *const places[] = {"/", "/pool"};

static int write_abc_def(rv_talk *talk, void *ctx)
{
    const char *length = ctx;
    if (length != NULL)
        rv_set_header(talk, "Content-Length", length);
    rv_begin(talk, 201);
    results[0] = rv_write(talk, RV_LIT("abc"));
    results[1] = rv_set_header(talk, "X-Late", "still there");
    results[2] = rv_write(talk, RV_LIT("def"));
    results[3] = rv_end(talk);
    return results[0] < 0 ? results[0] : RV_OK;
}

static int write_and_return(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("abc"));
    return RV_OK;
}

static int begin_only(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    return rv_end(talk);
}

static int answer_text(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "text");
}

/* ---- buffered ------------------------------------------------------------------------------------------ */

static void what_is_collected_has_a_length(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_abc_def, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(201, "abcdef");
        expect_field("Content-Length", "6");
        expect_field("Transfer-Encoding", NULL);
        expect_field("X-Late", "still there");
        for (unsigned j = 0; j < 4; j++)
            assert_int_equal(results[j], 0);
        request("HEAD", places[i], NULL);
        expect_head_status(201);
        expect_field("Content-Length", "6");
        expect_silence();
    }
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(201, "abcdef");
    expect_field("Content-Length", "6");
    expect_open();
}

static void the_end_may_be_left_to_the_library(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_and_return, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(200, "abc");
        expect_field("Content-Length", "3");
    }
}

static void nothing_written_is_nothing_long(void **state)
{
    (void)state;
    everywhere(begin_only, NULL);
    for (int mode = RV_FRAMING_AUTO; mode <= RV_FRAMING_RAW; mode++) {
        framing((rv_framing)mode);
        if (mode == RV_FRAMING_CHUNKED)
            continue;
        for (unsigned i = 0; i < 2; i++) {
            get(places[i]);
            expect_answer(200, "");
            expect_field("Content-Length", "0");
        }
        tested_with(NULL);
        everywhere(begin_only, NULL);
    }
}

#define LONG_BYTES 5000

static int write_long(rv_talk *talk, void *ctx)
{
    char piece[100];
    (void)ctx;
    memset(piece, 'x', sizeof piece);
    rv_begin(talk, 200);
    for (unsigned i = 0; i < LONG_BYTES / sizeof piece; i++)
        if (rv_write(talk, rv_slice(piece, sizeof piece)) < 0)
            return RV_EIO;
    results[0] = rv_set_header(talk, "X-Late", "too late");
    return RV_OK;
}

static void beyond_the_bound_it_goes_on_in_chunks(void **state)
{
    char content[LONG_BYTES + 1] = "";
    memset(content, 'x', LONG_BYTES);
    (void)state;
    everywhere(write_long, NULL);
    for (unsigned bound = 0; bound < 4; bound++) {
        static const uint64_t bounds[] = {0, 4999, 5000, 1};
        app_with(
            (rv_app_options){.framing = RV_FRAMING_BUFFERED, .buffered_bytes_max = bounds[bound]});
        bool whole = bounds[bound] == 0 || bounds[bound] == LONG_BYTES;
        for (unsigned i = 0; i < 2; i++) {
            get(places[i]);
            expect_answer(200, content);
            expect_field("Content-Length", whole ? "5000" : NULL);
            assert_true(last_answer()->chunked == !whole);
            assert_int_equal(results[0], whole ? 0 : RV_ESTATE);
            expect_open();
        }
        tested_with(NULL);
        everywhere(write_long, NULL);
    }
}

static int write_then_fail(rv_talk *talk, void *ctx)
{
    write_and_return(talk, ctx);
    return RV_EIO;
}

static void a_failure_after_writes_is_still_a_500(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_then_fail, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_status(500);
        assert_null(strstr(last_answer()->content.ptr, "abc"));
        expect_open();
    }
}

/* A page in pieces, with a length. */
static int stream_problem(rv_talk *talk, int status, const char *detail, void *ctx)
{
    (void)detail;
    (void)ctx;
    rv_set_header(talk, "Content-Length", "5");
    rv_begin(talk, status);
    results[0] = rv_write(talk, RV_LIT("oh "));
    results[1] = rv_write(talk, RV_LIT("no"));
    return rv_end(talk);
}

static void the_500_may_be_written_as_well(void **state)
{
    (void)state;
    everywhere(write_then_fail, NULL);
    app_with((rv_app_options){.framing = RV_FRAMING_BUFFERED, .on_problem = stream_problem});
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(500, "oh no");
        expect_field("Content-Length", "5");
        assert_int_equal(results[0], 0);
        assert_int_equal(results[1], 0);
    }
}

static int write_short(rv_talk *talk, void *ctx)
{
    static char seven[] = "7";
    (void)ctx;
    int result = write_abc_def(talk, seven);
    return results[3] < 0 ? results[3] : result;
}

static void a_promise_that_is_not_kept_is_a_500_too(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_short, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_status(500);
        assert_int_equal(results[3], RV_ESTATE);
    }
}

static int write_with_trailer(rv_talk *talk, void *ctx)
{
    rv_set_trailer(talk, "X-Sum", "42");
    return write_abc_def(talk, ctx);
}

static void trailers_make_it_chunked(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_with_trailer, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(201, "abcdef");
        assert_true(last_answer()->chunked);
        assert_string_equal(last_answer()->trailers, "X-Sum: 42\r\n");
    }
}

static unsigned released;

static void note_release(void *ctx)
{
    (void)ctx;
    released++;
}

static int write_borrowed(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write_borrowed(talk, RV_LIT("abc"), note_release, NULL);
    return rv_write_borrowed(talk, RV_LIT("def"), note_release, NULL);
}

static void borrowed_octets_are_copied_and_released(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    everywhere(write_borrowed, NULL);
    for (unsigned i = 0; i < 2; i++) {
        released = 0;
        get(places[i]);
        expect_answer(200, "abcdef");
        assert_int_equal(released, 2);
    }
}

static rv_handle waiting;

static int write_and_wait(rv_talk *talk, void *ctx)
{
    write_and_return(talk, ctx);
    waiting = rv_suspend(talk);
    return RV_PENDING;
}

static void a_client_that_leaves_costs_nothing(void **state)
{
    (void)state;
    framing(RV_FRAMING_BUFFERED);
    route("GET /", write_and_wait, NULL);
    get("/");
    expect_silence();
    rv_test_reset(client());
    assert_int_equal(errors_told, 0);
}

/* ---- chunked ------------------------------------------------------------------------------------------- */

static void whole_answers_are_chunked_as_well(void **state)
{
    (void)state;
    framing(RV_FRAMING_CHUNKED);
    everywhere(answer_text, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(200, "text");
        assert_true(last_answer()->chunked);
        expect_field("Content-Length", NULL);
        expect_field("Content-Type", "text/plain; charset=UTF-8");
        assert_int_equal(answer_field_count(last_answer(), "Content-Type"), 1);
        request("HEAD", places[i], NULL);
        expect_head_status(200);
        expect_field("Content-Length", NULL);
        expect_field("Content-Type", "text/plain; charset=UTF-8");
        expect_silence();
        expect_open();
    }
    get("/nowhere");
    expect_status(404);
    assert_true(last_answer()->chunked);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(200, "text");
    expect_field("Content-Length", "4");
    expect_open();
}

static void a_length_of_the_application_is_kept_to_and_not_told(void **state)
{
    static char six[] = "6", seven[] = "7";
    (void)state;
    framing(RV_FRAMING_CHUNKED);
    route("GET /six", write_abc_def, six);
    route("GET /seven", write_abc_def, seven);
    get("/six");
    expect_answer(201, "abcdef");
    assert_true(last_answer()->chunked);
    expect_field("Content-Length", NULL);
    say("GET /six HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_answer(201, "abcdef");
    expect_field("Content-Length", "6");
    get("/seven");
    expect_closed();
    assert_int_equal(results[3], RV_ESTATE);
}

static int answer_204(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 204, NULL, rv_str(""));
}

static void what_has_no_content_is_not_chunked(void **state)
{
    (void)state;
    framing(RV_FRAMING_CHUNKED);
    everywhere(answer_204, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(204, "");
        expect_field("Transfer-Encoding", NULL);
        expect_field("Content-Length", NULL);
        expect_silence();
    }
}

/* ---- raw ----------------------------------------------------------------------------------------------- */

static void raw_streams_need_a_length(void **state)
{
    (void)state;
    framing(RV_FRAMING_RAW);
    everywhere(write_abc_def, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_status(500);
        assert_int_equal(results[0], RV_ENOLENGTH);
        assert_int_equal(last_error, RV_ENOLENGTH);
        expect_open();
    }
    assert_string_equal(rv_strerror(RV_ENOLENGTH), "a Content-Length is needed");
}

static int write_and_look_away(rv_talk *talk, void *ctx)
{
    write_abc_def(talk, ctx);
    return RV_OK;
}

static void a_program_that_ignores_that_gets_a_500_all_the_same(void **state)
{
    (void)state;
    framing(RV_FRAMING_RAW);
    everywhere(write_and_look_away, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_status(500);
        assert_int_equal(last_error, RV_ENOLENGTH);
        expect_open();
    }
}

static void raw_streams_with_a_length_are_sent_as_they_are(void **state)
{
    static char six[] = "6";
    (void)state;
    framing(RV_FRAMING_RAW);
    everywhere(write_abc_def, six);
    route("GET /text", answer_text, NULL);
    for (unsigned i = 0; i < 2; i++) {
        get(places[i]);
        expect_answer(201, "abcdef");
        expect_field("Content-Length", "6");
        request("HEAD", places[i], NULL);
        expect_head_status(201);
        expect_field("Content-Length", "6");
    }
    get("/text");
    expect_answer(200, "text");
    expect_field("Content-Length", "4");
}

static int close_asked(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Connection", "close");
    return write_abc_def(talk, ctx);
}

static void a_forced_close_is_honoured_in_every_framing(void **state)
{
    static char six[] = "6";
    (void)state;
    for (int mode = RV_FRAMING_AUTO; mode <= RV_FRAMING_RAW; mode++) {
        tested_with(NULL);
        framing((rv_framing)mode);
        route("GET /", close_asked, six);
        get("/");
        expect_answer(201, "abcdef");
        expect_field("Connection", "close");
        expect_closed();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_collected_has_a_length),
        TEST(the_end_may_be_left_to_the_library),
        TEST(nothing_written_is_nothing_long),
        TEST(beyond_the_bound_it_goes_on_in_chunks),
        TEST(a_failure_after_writes_is_still_a_500),
        TEST(the_500_may_be_written_as_well),
        TEST(a_promise_that_is_not_kept_is_a_500_too),
        TEST(trailers_make_it_chunked),
        TEST(borrowed_octets_are_copied_and_released),
        TEST(a_client_that_leaves_costs_nothing),
        TEST(whole_answers_are_chunked_as_well),
        TEST(a_length_of_the_application_is_kept_to_and_not_told),
        TEST(what_has_no_content_is_not_chunked),
        TEST(raw_streams_need_a_length),
        TEST(a_program_that_ignores_that_gets_a_500_all_the_same),
        TEST(raw_streams_with_a_length_are_sent_as_they_are),
        TEST(a_forced_close_is_honoured_in_every_framing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
