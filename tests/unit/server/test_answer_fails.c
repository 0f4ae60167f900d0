/*
 * Facts about answers that the library has no means for: a descriptor is missing while parts of a file are
 * put together. What was taken of such an answer must go before no other, and the program is told.
 */
#include "support/h2_client.h"
#include "support/tested.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* Two runs of the file, each of which needs a descriptor of its own. */
#define RANGES "range: bytes=0-1,4-5"

static char path[] = "/tmp/rivulet-test-XXXXXX";
static struct h2_client peer;

static struct {
    int result; /* of rv_file */
    unsigned gone;
    bool swallows; /* the handler makes nothing of the error */
    bool consoles; /* it gives another answer instead */
} seen;

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    if (file < 0)
        return -1;
    bool written = write(file, "0123456789", 10) == 10;
    close(file);
    return written ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int set_up(void **state)
{
    memset(&peer, 0, sizeof peer);
    memset(&seen, 0, sizeof seen);
    return tested_set_up(state);
}

static int tear_down(void **state)
{
    h2_client_close(&peer);
    return tested_tear_down(state);
}

/* The file can be opened, and that is all. */
static int file_without_room(rv_talk *talk)
{
    struct rlimit before, low;
    getrlimit(RLIMIT_NOFILE, &before);
    int next = dup(STDERR_FILENO);
    close(next);
    low = before;
    low.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int result = rv_file(talk, path, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return result;
}

static void note_gone(void *ctx)
{
    (void)ctx;
    seen.gone++;
}

static int answer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    seen.result = file_without_room(talk);
    if (seen.consoles)
        return rv_text(talk, 200, "instead");
    return seen.swallows ? RV_OK : seen.result;
}

static int whole(rv_talk *talk, void *ctx)
{
    rv_on_gone(talk, note_gone, NULL);
    return answer(talk, ctx);
}

static int answer_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)piece;
    return last ? answer(talk, ctx) : RV_OK;
}

static int streamed(rv_talk *talk, void *ctx)
{
    rv_on_gone(talk, note_gone, NULL);
    rv_on_body(talk, answer_piece, ctx);
    return RV_PENDING;
}

static struct h2_exchange *ask_for_ranges(void)
{
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "GET", "/", RANGES "\n", false);
    h2_client_pump(&peer);
    return exchange;
}

static void expect_503(const struct h2_exchange *exchange)
{
    assert_int_equal(seen.result, RV_EFILES);
    h2_expect(exchange, 503, "503 Service Unavailable\n");
    assert_int_equal(seen.gone, 1); /* it is not the program's answer that was given */
}

/* ---- facts ------------------------------------------------------------------------------------- */

static void nothing_of_it_goes_before_the_503(void **state)
{
    (void)state;
    route("GET /", whole, NULL);
    expect_503(ask_for_ranges());
}

static void a_body_handler_whose_answer_fails_is_told_that_it_is_over(void **state)
{
    (void)state;
    route_with("GET /", streamed, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    expect_503(ask_for_ranges());
}

static void a_handler_that_overlooks_the_error_is_found_out(void **state)
{
    (void)state;
    seen.swallows = true;
    route("GET /", whole, NULL);
    h2_expect(ask_for_ranges(), 500, "500 Internal Server Error\n");
    assert_int_equal(seen.gone, 1);
}

static void another_answer_can_be_given_instead(void **state)
{
    (void)state;
    seen.consoles = true;
    route("GET /", whole, NULL);
    struct h2_exchange *exchange = ask_for_ranges();
    assert_int_equal(seen.result, RV_EFILES);
    h2_expect(exchange, 200, "instead");
    assert_int_equal(seen.gone, 0);
}

/* In HTTP/1 the head has left when the parts are put together. */
static void a_connection_whose_head_has_left_is_cut(void **state)
{
    (void)state;
    route("GET /", whole, NULL);
    request("GET", "/", RANGES "\r\n");
    assert_int_equal(seen.result, RV_EFILES);
    expect_closed();
    assert_int_equal(seen.gone, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(nothing_of_it_goes_before_the_503),
        FACT(a_body_handler_whose_answer_fails_is_told_that_it_is_over),
        FACT(a_handler_that_overlooks_the_error_is_found_out),
        FACT(another_answer_can_be_given_instead),
        FACT(a_connection_whose_head_has_left_is_cut),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
