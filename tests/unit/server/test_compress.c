/*
 * Facts about compressed responses (step 4 of rivulet.h): what is compressed, what its head says, and that
 * whatever is written is what a client decodes. Framing without compression: test_framing.c.
 */
#include "support/decode.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_BYTES 20000
#define BIG_BYTES 1500000
#define DECODED_MAX (4 * 1024 * 1024)

static char page[PAGE_BYTES + 1], big[BIG_BYTES + 1];
static char *decoded_room;

static const rv_compress_options compress_all = {0};

static void fill(char *text, size_t length)
{
    size_t at = 0;
    for (unsigned line = 0; at < length; line++) {
        char words[64];
        int count = snprintf(words, sizeof words, "<p>line %u of %u, and so on</p>\n", line,
                             line * 2654435761u % 1000);
        size_t take = (size_t)count < length - at ? (size_t)count : length - at;
        memcpy(text + at, words, take);
        at += take;
    }
    text[length] = '\0';
}

static int make_pages(void **state)
{
    (void)state;
    fill(page, PAGE_BYTES);
    fill(big, BIG_BYTES);
    decoded_room = malloc(DECODED_MAX);
    return decoded_room == NULL ? -1 : 0;
}

static int free_pages(void **state)
{
    (void)state;
    free(decoded_room);
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

/* ---- what a client sees -------------------------------------------------------------------------------- */

static void accepts(const char *method, const char *path, const char *codings)
{
    char fields[128];
    snprintf(fields, sizeof fields, "Accept-Encoding: %s\r\n", codings);
    request(method, path, fields);
}

/* The last answer has this coding ("identity": none), and its content is that. */
static void expect_decoded(const char *coding, const char *content)
{
    const char *said = answer_field(last_answer(), "Content-Encoding");
    assert_string_equal(said == NULL ? "identity" : said, coding);
    struct decoded decoded = decode(
        coding_of_name(coding), rv_slice(last_answer()->content.ptr, last_answer()->content.len),
        decoded_room, DECODED_MAX);
    assert_false(decoded.bad);
    assert_true(decoded.whole);
    assert_int_equal(decoded.length, strlen(content));
    assert_memory_equal(decoded_room, content, decoded.length);
}

static void expect_varies(void)
{
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
    expect_field("Vary", "Accept-Encoding");
}

/* ---- whole answers ------------------------------------------------------------------------------------- */

static int answer_page(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_html(talk, 200, page);
}

static void a_whole_answer_is_compressed_and_has_its_own_length(void **state)
{
    static const char *const names[] = {"gzip", "br", "zstd"};
    (void)state;
    route("GET /", answer_page, NULL);
    for (size_t i = 0; i < 3; i++) {
        char length[24];
        accepts("GET", "/", names[i]);
        expect_status(200);
        expect_decoded(names[i], page);
        expect_varies();
        assert_true(last_answer()->content.len < PAGE_BYTES / 3);
        snprintf(length, sizeof length, "%zu", last_answer()->content.len);
        expect_field("Content-Length", length);
        expect_field("Content-Type", "text/html; charset=UTF-8");
        expect_open();
    }
}

/* Row 18 of what is known about servers: who accepts what. */
static void the_weights_of_accept_encoding_decide(void **state)
{
    static const struct {
        const char *accepted, *coding;
    } cases[] = {{"identity", "identity"},
                 {"gzip", "gzip"},
                 {"gzip;q=0", "identity"},
                 {"*;q=0", "identity"},
                 {"gzip;q=0.5, br;q=1", "br"},
                 {"GZIP", "gzip"},
                 {"", "identity"},
                 {"gzip;q=x, ;;", "identity"},
                 {"x-gzip", "gzip"},
                 {"*", "zstd"},
                 {"gzip, deflate, br, zstd", "zstd"},
                 {"gzip, deflate, br", "br"},
                 {"zstd;q=0, *;q=0.1", "br"},
                 {"identity;q=0.5, gzip;q=0.1", "identity"}};
    (void)state;
    route("GET /", answer_page, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        accepts("GET", "/", cases[i].accepted);
        expect_status(200);
        expect_decoded(cases[i].coding, page);
        expect_varies();
    }
    get("/");
    expect_answer(200, page);
    expect_varies();
    request("GET", "/", "Accept-Encoding: gzip;q=0.5\r\nAccept-Encoding: br\r\n");
    expect_status(200);
    expect_decoded("br", page);
}

static void a_head_says_the_same_but_the_length(void **state)
{
    (void)state;
    route("GET /", answer_page, NULL);
    accepts("HEAD", "/", "gzip");
    expect_head_status(200);
    expect_field("Content-Encoding", "gzip");
    expect_field("Content-Type", "text/html; charset=UTF-8");
    expect_field("Content-Length", NULL);
    expect_field("Transfer-Encoding", NULL);
    expect_varies();
    expect_silence();
    expect_open();
    request("HEAD", "/", NULL);
    expect_head_status(200);
    expect_field("Content-Length", "20000");
    expect_field("Content-Encoding", NULL);
    expect_varies();
}

static void http_1_0_is_compressed_for_too(void **state)
{
    (void)state;
    route("GET /", answer_page, NULL);
    say("GET / HTTP/1.0\r\nConnection: keep-alive\r\nAccept-Encoding: gzip\r\n\r\n");
    expect_status(200);
    expect_decoded("gzip", page);
    assert_non_null(answer_field(last_answer(), "Content-Length"));
    expect_field("Connection", "keep-alive");
    expect_open();
}

/* ---- what is left alone ---------------------------------------------------------------------------------- */

struct said {
    int status;
    const char *type, *name, *value, *content;
};

static int say_so(rv_talk *talk, void *ctx)
{
    const struct said *said = ctx;
    if (said->name != NULL)
        rv_set_header(talk, said->name, said->value);
    return rv_reply(talk, said->status, said->type, rv_str(said->content));
}

static void expect_untouched(struct said said)
{
    tested_with(NULL);
    app_with(RV_FRAMING_AUTO, &compress_all);
    route("GET /", say_so, &said);
    accepts("GET", "/", "gzip, br, zstd");
    expect_answer(said.status, said.content);
    if (said.name == NULL || strcmp(said.name, "Content-Encoding") != 0)
        expect_field("Content-Encoding", NULL);
    expect_field("Vary", NULL);
}

static void what_cannot_gain_stays_as_it_is(void **state)
{
    (void)state;
    expect_untouched((struct said){200, "image/png", NULL, NULL, page});
    expect_untouched((struct said){200, NULL, NULL, NULL, page});
    expect_untouched((struct said){200, "text/event-stream", NULL, NULL, page});
    expect_untouched((struct said){200, "text/plain", NULL, NULL, "short"});
    expect_untouched(
        (struct said){206, "text/plain", "Content-Range", "bytes 0-19999/30000", page});
    expect_untouched((struct said){200, "text/plain", "Content-Encoding", "x-own", page});
    expect_untouched(
        (struct said){200, "text/plain", "Cache-Control", "private, No-Transform", page});
    expect_untouched((struct said){200, "text/plain", "Content-Digest", "sha-256=:AA==:", page});
}

static void errors_are_compressed_as_well(void **state)
{
    struct said said = {404, "text/plain", NULL, NULL, page};
    (void)state;
    route("GET /", say_so, &said);
    accepts("GET", "/", "gzip");
    expect_status(404);
    expect_decoded("gzip", page);
}

static void a_route_may_refuse(void **state)
{
    (void)state;
    route_with("GET /", answer_page, NULL, (rv_route_options){.no_compress = true});
    accepts("GET", "/", "gzip");
    expect_answer(200, page);
    expect_field("Vary", NULL);
}

static void types_levels_and_the_least_size_are_options(void **state)
{
    rv_compress_options options = {.types = "image/png *+json",
                                   .bytes_min = 10,
                                   .zstd_level = RV_COMPRESS_OFF,
                                   .brotli_level = RV_COMPRESS_OFF,
                                   .gzip_level = 9};
    struct said png = {200, "image/png", NULL, NULL, "eleven octets, or some more"};
    struct said text = {200, "text/plain", NULL, NULL, page};
    (void)state;
    app_with(RV_FRAMING_AUTO, &options);
    route("GET /png", say_so, &png);
    route("GET /text", say_so, &text);
    accepts("GET", "/png", "br, zstd, gzip;q=0.1");
    expect_status(200);
    expect_decoded("gzip", png.content);
    accepts("GET", "/text", "gzip");
    expect_answer(200, page);
}

static void expect_wrong(const rv_app_options *options, const char *why)
{
    tested_with(NULL);
    assert_int_equal(rv_app_set(rv_default_app(tested), options), RV_EINVAL);
    assert_string_equal(rv_server_error_text(tested), why);
}

static void options_that_are_wrong_are_named(void **state)
{
    (void)state;
    rv_compress_options types = {.types = "text"}, level = {.gzip_level = 10},
                        below = {.brotli_level = -2},
                        none = {
                            .types = NULL, .gzip_level = -1, .brotli_level = -1, .zstd_level = -1};
    expect_wrong(&(rv_app_options){.framing = (rv_framing)7},
                 "app option framing: is none that there is");
    expect_wrong(&(rv_app_options){.compress = &types},
                 "app option compress->types: must be media types such as \"text/html\", "
                 "\"text/*\" or \"*+json\", separated by spaces");
    expect_wrong(&(rv_app_options){.compress = &level},
                 "app option compress->gzip_level: more than the coding has");
    expect_wrong(&(rv_app_options){.compress = &below},
                 "app option compress->brotli_level: must be a level, 0 for the default or "
                 "RV_COMPRESS_OFF");
    expect_wrong(&(rv_app_options){.compress = &none}, "app option compress: no coding is left");
}

/* ---- fields ------------------------------------------------------------------------------------------------ */

static int answer_with_fields(rv_talk *talk, void *ctx)
{
    const int *status = ctx;
    rv_set_header(talk, "ETag", "\"tag\"");
    rv_set_header(talk, "Accept-Ranges", "bytes");
    rv_set_header(talk, "Vary", "Cookie");
    rv_set_header(talk, "X-Own", "value");
    return *status == 304 ? rv_reply(talk, 304, NULL, rv_str(""))
                          : rv_reply(talk, *status, "text/plain", rv_str(page));
}

static void the_fields_of_the_application_follow(void **state)
{
    int status = 200;
    (void)state;
    route("GET /", answer_with_fields, &status);
    accepts("GET", "/", "gzip");
    expect_status(200);
    expect_field("ETag", "W/\"tag\"");
    expect_field("Accept-Ranges", NULL);
    expect_field("Vary", "Cookie, Accept-Encoding");
    expect_field("X-Own", "value");
    get("/");
    expect_answer(200, page);
    expect_field("ETag", "\"tag\"");
    expect_field("Accept-Ranges", "bytes");
    expect_field("Vary", "Cookie, Accept-Encoding");
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
}

static void a_304_says_what_its_200_would(void **state)
{
    int status = 304;
    (void)state;
    route("GET /", answer_with_fields, &status);
    accepts("GET", "/", "gzip");
    expect_answer(304, "");
    expect_field("ETag", "W/\"tag\"");
    expect_field("Vary", "Cookie, Accept-Encoding");
    expect_field("Content-Encoding", NULL);
    expect_silence();
    get("/");
    expect_answer(304, "");
    expect_field("ETag", "\"tag\"");
}

static int vary_all(rv_talk *talk, void *ctx)
{
    const char *vary = ctx;
    rv_set_header(talk, "Vary", vary);
    return rv_html(talk, 200, page);
}

static void vary_is_not_doubled(void **state)
{
    static char star[] = "*", there[] = "Cookie, accept-encoding";
    (void)state;
    route("GET /star", vary_all, star);
    route("GET /there", vary_all, there);
    accepts("GET", "/star", "gzip");
    expect_status(200);
    expect_field("Vary", "*");
    accepts("GET", "/there", "gzip");
    expect_status(200);
    expect_field("Vary", there);
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
}

/* ---- streamed ---------------------------------------------------------------------------------------------- */

/* The page in pieces of this size. */
static int stream_page(rv_talk *talk, void *ctx)
{
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
    struct decoded decoded = decode(coding, rv_slice(run, length), decoded_room, DECODED_MAX);
    assert_false(decoded.bad);
    assert_int_equal(decoded.length, strlen(content));
    assert_memory_equal(decoded_room, content, decoded.length);
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
    accepts("GET", "/", "gzip");
    expect_closed();
    assert_int_equal(last_error, RV_ESTATE);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_answer_is_compressed_and_has_its_own_length),
        TEST(the_weights_of_accept_encoding_decide),
        TEST(a_head_says_the_same_but_the_length),
        TEST(http_1_0_is_compressed_for_too),
        TEST(what_cannot_gain_stays_as_it_is),
        TEST(errors_are_compressed_as_well),
        TEST(a_route_may_refuse),
        TEST(types_levels_and_the_least_size_are_options),
        TEST(options_that_are_wrong_are_named),
        TEST(the_fields_of_the_application_follow),
        TEST(a_304_says_what_its_200_would),
        TEST(vary_is_not_doubled),
        TEST(a_streamed_response_is_compressed_in_chunks),
        TEST(what_was_written_can_be_read_when_the_handler_waits),
        TEST(borrowed_pieces_are_released_and_a_promised_length_is_dropped),
        TEST(a_promise_that_is_not_kept_is_an_error_all_the_same),
        TEST(trailers_follow_compressed_content),
        TEST(a_large_answer_is_compressed_as_it_is_taken),
        TEST(a_client_that_leaves_a_large_answer_costs_nothing),
    };
    return cmocka_run_group_tests(tests, make_pages, free_pages);
}
