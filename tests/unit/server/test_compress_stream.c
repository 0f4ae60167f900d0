/*
 * Facts about compressed responses that are streamed, or too large to be compressed at once: that what was
 * written can be read, and when, what a slow or a vanishing client does to it, and how it goes together
 * with the framing of the app. What is compressed at all: test_compress.c.
 */
#include "random.h"
#include "support/compressed.h"
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 20000
#define BIG_BYTES 1500000

static char *page, *big;

static const rv_compress_options compress_all = {0};

static int make_pages(void **state)
{
    (void)state;
    page = compressible_text(PAGE_BYTES);
    big = compressible_text(BIG_BYTES);
    return 0;
}

static int free_pages(void **state)
{
    (void)state;
    free(page);
    free(big);
    return 0;
}

static void app_with(rv_framing framing, const rv_compress_options *compress)
{
    rv_app_options options = {.framing = framing, .compress = compress};
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
}

static int set_up(void **state)
{
    int result = tested_set_up(state);
    app_with(RV_FRAMING_AUTO, &compress_all);
    return result;
}

/* ---- streamed ---------------------------------------------------------------------------------------------- */

static pthread_t writer; /* the thread that has streamed the page */

/* The page in pieces of this size. */
static int stream_page(rv_talk *talk, void *ctx)
{
    writer = pthread_self();
    size_t step = ctx == NULL ? 1000 : *(const size_t *)ctx;
    rv_set_header(talk, "Content-Type", "text/html");
    rv_begin(talk, 200);
    for (size_t at = 0; at < PAGE_BYTES; at += step)
        rv_write(talk, rv_slice(page + at, at + step < PAGE_BYTES ? step : PAGE_BYTES - at));
    return rv_end(talk);
}

static void a_streamed_response_is_compressed_in_chunks(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    route("GET /", stream_page, NULL);
    route_with("GET /pool", stream_page, NULL, (rv_route_options){.run = RV_ON_POOL});
    for (size_t i = 0; i < 6; i++) {
        accepts("GET", i < 3 ? "/" : "/pool", names[i % 3]);
        expect_status(200);
        expect_decoded(names[i % 3], page);
        expect_varies();
        assert_true(last_answer()->chunked);
        assert_int_equal(pthread_equal(writer, pthread_self()) != 0, i < 3);
        expect_field("Content-Length", NULL);
        expect_open();
    }
    accepts("HEAD", "/", "gzip");
    expect_head_status(200);
    expect_field("Content-Encoding", "gzip");
    expect_field("Content-Length", NULL);
    expect_silence();
    say("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    expect_status(200);
    expect_decoded("gzip", page);
    assert_false(last_answer()->chunked);
    expect_closed();
}

static int answer_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_html(talk, 200, page);
}

static rv_handle waiting;

static int write_and_wait(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/plain");
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("first, "));
    rv_write(talk, RV_LIT("and "));
    waiting = rv_suspend(talk);
    return RV_PENDING;
}

static int write_last(rv_talk *talk, void *value)
{
    (void)value;
    rv_write(talk, RV_LIT("last"));
    return rv_end(talk);
}

/* The content of one chunked answer whose end is not there yet. */
static void expect_readable(rv_bytes octets, enum rv_coding coding, const char *content)
{
    static char run[65536];
    size_t length = 0;
    const char *at = memmem(octets.ptr, octets.len, "\r\n\r\n", 4);
    assert_non_null(at);
    for (at += 4; at < octets.ptr + octets.len;) {
        char *behind;
        size_t count = strtoul(at, &behind, 16);
        memcpy(run + length, behind + 2, count);
        length += count;
        at = behind + 2 + count + 2;
    }
    assert_decodes(coding, rv_slice(run, length), rv_str(content), false);
}

static void what_was_written_can_be_read_when_the_handler_waits(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    route("GET /", write_and_wait, NULL);
    for (unsigned i = 0; i < 3; i++) {
        as(i);
        accepts("GET", "/", names[i]);
        expect_readable(rv_test_received(client()), coding_of_name(names[i]), "first, and ");
        assert_int_equal(rv_resume(tested, waiting, write_last, NULL), 0);
        rv_test_settle(client());
        expect_open();
        assert_true(rv_test_received(client()).len > 0);
    }
}

static unsigned released;

static void note_release(void *ctx)
{
    (void)ctx;
    released++;
}

static int stream_borrowed(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/plain");
    rv_set_header(talk, "Content-Length", "20000");
    rv_begin(talk, 200);
    rv_write_borrowed(talk, rv_slice(page, 5000), note_release, NULL);
    rv_write_borrowed(talk, rv_slice(page + 5000, 15000), note_release, NULL);
    return RV_OK;
}

static void borrowed_pieces_are_released_and_a_promised_length_is_dropped(void **state)
{
    (void)state;
    route("GET /", stream_borrowed, NULL);
    route_with("GET /pool", stream_borrowed, NULL, (rv_route_options){.run = RV_ON_POOL});
    for (unsigned i = 0; i < 2; i++) {
        released = 0;
        accepts("GET", i == 0 ? "/" : "/pool", "br");
        expect_status(200);
        expect_decoded("br", page);
        expect_field("Content-Length", NULL);
        assert_int_equal(released, 2);
        expect_open();
    }
}

static int stream_short(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/plain");
    rv_set_header(talk, "Content-Length", "20000");
    rv_begin(talk, 200);
    rv_write(talk, rv_slice(page, 5000));
    return RV_OK;
}

static void a_promise_that_is_not_kept_is_an_error_all_the_same(void **state)
{
    (void)state;
    route("GET /", stream_short, NULL);
    accepts("GET", "/", "br");
    expect_status(500); /* nothing had left */
    expect_open();
    assert_int_equal(last_error, RV_ESTATE);
    accepts("GET", "/", "gzip"); /* the first octets of gzip had */
    expect_closed();
    assert_int_equal(errors_told, 2);
}

static int stream_with_trailer(rv_talk *talk, void *ctx)
{
    rv_set_trailer(talk, "X-Sum", "42");
    return stream_page(talk, ctx);
}

static void trailers_follow_compressed_content(void **state)
{
    (void)state;
    route("GET /", stream_with_trailer, NULL);
    accepts("GET", "/", "gzip");
    expect_status(200);
    expect_decoded("gzip", page);
    assert_string_equal(last_answer()->trailers, "X-Sum: 42\r\n");
}

/* ---- large whole answers ------------------------------------------------------------------------------------ */

static int answer_big(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply_borrowed(talk, 200, "text/plain", rv_slice(big, BIG_BYTES), note_release, NULL);
}

static int answer_big_copied(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char *copy = malloc(BIG_BYTES);
    memcpy(copy, big, BIG_BYTES);
    int result = rv_reply(talk, 200, "text/plain", rv_slice(copy, BIG_BYTES));
    free(copy);
    return result;
}

static void a_large_answer_is_compressed_as_it_is_taken(void **state)
{
    (void)state;
    route("GET /", answer_big, NULL);
    route_with("GET /pool", answer_big, NULL, (rv_route_options){.run = RV_ON_POOL});
    route("GET /copied", answer_big_copied, NULL);
    route_with("GET /copied-pool", answer_big_copied, NULL, (rv_route_options){.run = RV_ON_POOL});
    static const char *const paths[] = {"/", "/pool", "/copied", "/copied-pool"};
    for (unsigned i = 0; i < 4; i++) {
        released = 0;
        accepts("GET", paths[i], "gzip");
        expect_status(200);
        expect_decoded("gzip", big);
        expect_varies();
        expect_field("Content-Type", "text/plain");
        assert_int_equal(released, i < 2 ? 1 : 0);
        expect_open();
        get(paths[i]);
        expect_answer(200, big);
        expect_field("Content-Length", "1500000");
    }
}

static void a_client_that_leaves_a_large_answer_costs_nothing(void **state)
{
    (void)state;
    released = 0;
    route("GET /", answer_big, NULL);
    rv_test_window(client(), 1000);
    accepts("GET", "/", "gzip");
    assert_int_equal(released, 0);
    rv_test_reset(client());
    assert_int_equal(released, 1);
    assert_int_equal(errors_told, 0);
}

/* ---- together with the rest ---------------------------------------------------------------------------------- */

static int forbid(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_set_header(talk, "Cache-Control", "no-transform");
}

static void after_handlers_have_the_last_word(void **state)
{
    (void)state;
    route("GET /", answer_page, NULL);
    route("GET /stream", stream_page, NULL);
    assert_int_equal(rv_after(rv_default_app(tested), NULL, forbid, NULL), 0);
    accepts("GET", "/", "gzip");
    expect_answer(200, page);
    expect_field("Vary", NULL);
    accepts("GET", "/stream", "gzip");
    expect_answer(200, page);
}

/* Pieces of any size, now and then handed on at a drain, or borrowed. */
struct dice {
    uint64_t seed;
    size_t written;
};

static int write_any(rv_talk *talk, void *ctx)
{
    struct dice *dice = ctx;
    if (dice->written == 0) {
        rv_set_header(talk, "Content-Type", "text/plain");
        rv_begin(talk, 200);
    }
    while (dice->written < PAGE_BYTES) {
        size_t most = random_below(&dice->seed, 4) == 0 ? 6000 : 40;
        size_t length = random_below(&dice->seed, most);
        if (length > PAGE_BYTES - dice->written)
            length = PAGE_BYTES - dice->written;
        rv_bytes piece = rv_slice(page + dice->written, length);
        int result = random_below(&dice->seed, 3) == 0
                         ? rv_write_borrowed(talk, piece, note_release, NULL)
                         : rv_write(talk, piece);
        if (result < 0)
            return result;
        dice->written += length;
        if (random_below(&dice->seed, 5) == 0 && rv_on_drain(talk, write_any, ctx) == 0)
            return RV_PENDING;
    }
    return rv_end(talk);
}

static void whatever_is_written_is_what_is_read(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd", "identity"};
    struct dice dice;
    (void)state;
    for (unsigned round = 0; round < 120; round++) {
        if (round % 40 == 0) {
            tested_with(NULL);
            app_with(round == 40   ? RV_FRAMING_BUFFERED
                     : round == 80 ? RV_FRAMING_CHUNKED
                                   : RV_FRAMING_AUTO,
                     &compress_all);
            route("GET /", write_any, &dice);
            route_with("GET /pool", write_any, &dice, (rv_route_options){.run = RV_ON_POOL});
        }
        dice = (struct dice){.seed = round};
        accepts("GET", round % 8 < 4 ? "/" : "/pool", names[round % 4]);
        expect_status(200);
        expect_decoded(names[round % 4], page);
        expect_varies();
        assert_true(last_answer()->chunked == (round < 40 || round >= 80));
        expect_open();
    }
}

#define NOISE_PIECES 4000

/* 40 MB that do not compress, as fast as it is allowed to. */
struct flood {
    uint64_t seed, pieces, fulls;
};

static int write_flood(rv_talk *talk, void *ctx)
{
    struct flood *flood = ctx;
    if (flood->pieces == 0) {
        rv_set_header(talk, "Content-Type", "text/plain");
        rv_begin(talk, 200);
    }
    for (; flood->pieces < NOISE_PIECES; flood->pieces++) {
        char piece[10000];
        for (size_t i = 0; i < sizeof piece; i++)
            piece[i] = (char)random_next(&flood->seed);
        int result = rv_write(talk, rv_slice(piece, sizeof piece));
        if (result < 0)
            return result;
        if (result == RV_FULL) {
            flood->fulls++;
            flood->pieces++;
            rv_on_drain(talk, write_flood, ctx);
            return RV_PENDING;
        }
    }
    return rv_end(talk);
}

static void a_slow_reader_holds_the_writer_up(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    struct flood flood;
    route("GET /", write_flood, &flood);
    for (unsigned i = 0; i < 3; i++) {
        flood = (struct flood){.seed = 7};
        as(i);
        rv_test_window(client(), 1000);
        accepts("GET", "/", names[i]);
        assert_int_equal(flood.fulls, 1);
        assert_in_range(flood.pieces, 20, 100); /* output_high_bytes, and what the encoder holds */
        rv_test_window(client(), 300000);
        rv_test_settle(client());
        assert_in_range(flood.pieces, 30, 200);
        rv_test_reset(client());
    }
}

static void framing_and_compression_go_together(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        tested_with(NULL);
        app_with(i < 2 ? RV_FRAMING_BUFFERED : RV_FRAMING_CHUNKED, &compress_all);
        rv_route_options options = {.run = i % 2 == 0 ? RV_ON_LOOP : RV_ON_POOL};
        route_with("GET /", answer_page, NULL, options);
        route_with("GET /stream", stream_page, NULL, options);
        route_with("GET /big", answer_big, NULL, options);
        for (unsigned j = 0; j < 2; j++) {
            accepts("GET", j == 0 ? "/" : "/stream", "gzip");
            expect_status(200);
            expect_decoded("gzip", page);
            expect_varies();
            assert_true(last_answer()->chunked == (i >= 2));
            assert_int_equal(answer_field_count(last_answer(), "Content-Length"), i < 2);
            assert_int_equal(answer_field_count(last_answer(), "Content-Type"), 1);
            accepts("HEAD", j == 0 ? "/" : "/stream", "gzip");
            expect_head_status(200);
            expect_field("Content-Encoding", "gzip");
            expect_field("Content-Length", NULL);
            expect_silence();
            say("GET / HTTP/1.0\r\nConnection: keep-alive\r\nAccept-Encoding: br\r\n\r\n");
            expect_status(200);
            expect_decoded("br", page);
            assert_false(last_answer()->chunked);
            expect_open();
        }
        accepts("GET", "/big", "gzip");
        expect_status(200);
        expect_decoded("gzip", big);
        get("/big");
        expect_answer(200, big);
    }
}

static void what_is_raw_is_not_compressed_while_it_is_written(void **state)
{
    (void)state;
    app_with(RV_FRAMING_RAW, &compress_all);
    route("GET /", answer_page, NULL);
    route("GET /big", answer_big, NULL);
    route("GET /stream", stream_borrowed, NULL);
    accepts("GET", "/", "gzip");
    expect_status(200);
    expect_decoded("gzip", page);
    accepts("GET", "/big", "gzip");
    expect_status(200);
    expect_decoded("gzip", big);
    assert_false(last_answer()->chunked);
    accepts("GET", "/stream", "gzip");
    expect_answer(200, page);
    expect_field("Content-Length", "20000");
    expect_field("Vary", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_streamed_response_is_compressed_in_chunks),
        TEST(what_was_written_can_be_read_when_the_handler_waits),
        TEST(borrowed_pieces_are_released_and_a_promised_length_is_dropped),
        TEST(a_promise_that_is_not_kept_is_an_error_all_the_same),
        TEST(trailers_follow_compressed_content),
        TEST(a_large_answer_is_compressed_as_it_is_taken),
        TEST(a_client_that_leaves_a_large_answer_costs_nothing),
        TEST(after_handlers_have_the_last_word),
        TEST(whatever_is_written_is_what_is_read),
        TEST(a_slow_reader_holds_the_writer_up),
        TEST(framing_and_compression_go_together),
        TEST(what_is_raw_is_not_compressed_while_it_is_written),
    };
    return cmocka_run_group_tests(tests, make_pages, free_pages);
}
