/*
 * A property of HTTP/2's server: whatever the order of streams, the sizes of windows and pieces, who
 * pauses and who resets, all content that is not reset arrives whole and in order, in both directions,
 * and nothing is left behind. Each seed is a script of its own; a failing one comes back.
 */
#include "server/worker.h"
#include "random.h"
#include "support/h2_client.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 300
#define STREAMS 40
#define CONTENT_MAX 200000
#define STEPS_MAX 20000

static char pattern[CONTENT_MAX + 256];
static uint64_t seed;
static struct h2_client peer;

static uint64_t below(uint64_t bound)
{
    return random_below(&seed, bound);
}

/* ---- handlers ----------------------------------------------------------------------------------- */

/* A body echoed piece by piece; now and then it pauses for a millisecond. */
struct echo {
    bool begun;
};

static int go_on_reading(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_body_resume(talk);
    return RV_PENDING;
}

static int echo_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    struct echo *echo = ctx;
    if (!echo->begun)
        rv_begin(talk, 200);
    echo->begun = true;
    int result = piece.len == 0 ? RV_OK : rv_write(talk, piece);
    if (result < 0)
        return result;
    if (last)
        return rv_end(talk);
    if (result == RV_FULL)
        rv_on_drain(talk, go_on_reading, NULL);
    else if (below(4) == 0 && rv_after_ms(talk, 1, go_on_reading, NULL) == 0)
        result = RV_FULL;
    return result;
}

static int echo(rv_talk *talk, void *ctx)
{
    struct echo *echo = rv_alloc(talk, sizeof *echo);
    (void)ctx;
    memset(echo, 0, sizeof *echo);
    rv_error error = rv_on_body(talk, echo_piece, echo);
    return error != 0 ? error : RV_PENDING;
}

static int echo_whole(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_body(talk));
}

static unsigned lent;

static void give_back(void *ctx)
{
    (void)ctx;
    lent--;
}

static int reply_borrowed(rv_talk *talk, void *ctx)
{
    int64_t length = 0;
    (void)ctx;
    rv_param_int(talk, "n", 0, CONTENT_MAX, &length);
    lent++;
    return rv_reply_borrowed(talk, 200, "text/plain", rv_slice(pattern, (size_t)length), give_back,
                             NULL);
}

/* Pieces of random sizes, copied or lent, waiting for room as it comes. */
struct flow {
    size_t at, length;
};

static int flow_on(rv_talk *talk, void *ctx)
{
    struct flow *flow = ctx;
    int result = RV_OK;
    while (flow->at < flow->length && result == RV_OK) {
        size_t run = (size_t)below(30000) + 1;
        run = run < flow->length - flow->at ? run : flow->length - flow->at;
        rv_bytes piece = rv_slice(pattern + flow->at, run);
        flow->at += run;
        if (below(2) == 0) {
            lent++;
            result = rv_write_borrowed(talk, piece, give_back, NULL);
        } else {
            result = rv_write(talk, piece);
        }
    }
    if (result < 0)
        return result;
    if (result == RV_OK)
        return rv_end(talk);
    rv_error error = below(2) == 0 ? rv_on_drain(talk, flow_on, flow)
                                   : rv_after_ms(talk, below(5), flow_on, flow);
    return error != 0 ? error : RV_PENDING;
}

static int stream(rv_talk *talk, void *ctx)
{
    int64_t length = 0;
    struct flow *flow = rv_alloc(talk, sizeof *flow);
    (void)ctx;
    rv_param_int(talk, "n", 0, CONTENT_MAX, &length);
    *flow = (struct flow){0, (size_t)length};
    rv_begin(talk, 200);
    return flow_on(talk, flow);
}

/* ---- a run --------------------------------------------------------------------------------------- */

struct job {
    struct h2_exchange *exchange;
    size_t length; /* of the content, whichever way it goes */
    size_t put;    /* of it, by the client */
    bool has_upload;
    bool was_reset;
};

static struct job jobs[STREAMS];
static unsigned job_count;

static void begin_job(void)
{
    struct job *job = &jobs[job_count++];
    unsigned kind = (unsigned)below(4);
    char path[64];
    *job = (struct job){.length = (size_t)random_of_any_size(&seed, 17)};
    job->has_upload = kind < 2;
    const char *name = kind == 0 ? "echo" : kind == 1 ? "whole" : kind == 2 ? "borrowed" : "stream";
    snprintf(path, sizeof path, "/%s?n=%zu", name, job->length);
    job->exchange = h2_ask(&peer, job->has_upload ? "POST" : "GET", path, NULL, job->has_upload);
    job->exchange->held = below(3) == 0;
}

static void go_on_with(struct job *job)
{
    if (job->exchange->closed || job->was_reset)
        return;
    switch (below(40)) {
    case 0:
        job->was_reset = true;
        h2_reset(job->exchange, RV_H2_CANCEL);
        return;
    case 1:
        job->exchange->held = true;
        return;
    case 2:
    case 3:
    case 4:
        h2_release(job->exchange);
        return;
    default:
        break;
    }
    if (!job->has_upload || job->put == job->length + 1)
        return;
    size_t run = (size_t)random_of_any_size(&seed, 16);
    run = run < job->length - job->put ? run : job->length - job->put;
    bool last = job->put + run == job->length;
    h2_put(job->exchange, rv_slice(pattern + job->put, run), last);
    job->put += last ? run + 1 : run;
}

static bool are_all_over(void)
{
    for (unsigned i = 0; i < job_count; i++)
        if (!jobs[i].exchange->closed)
            return false;
    return job_count == STREAMS;
}

static void step(void)
{
    if (job_count < STREAMS && below(4) == 0)
        begin_job();
    for (unsigned i = 0; i < job_count; i++)
        if (below(4) == 0)
            go_on_with(&jobs[i]);
    if (below(5) == 0)
        rv_test_advance_ms(peer.test, below(4));
    if (below(10) == 0)
        rv_test_window(peer.test, random_of_any_size(&seed, 18));
    if (below(3) == 0)
        rv_test_window(peer.test, RV_NO_LIMIT);
    if (below(8) == 0)
        peer.deaf = !peer.deaf;
    h2_client_pump(&peer);
}

/* Nobody holds anything back any more. */
static void finish_all(void)
{
    peer.deaf = false;
    rv_test_window(peer.test, RV_NO_LIMIT);
    for (int i = 0; i < STEPS_MAX && !are_all_over(); i++) {
        if (job_count < STREAMS)
            begin_job();
        for (unsigned k = 0; k < job_count; k++) {
            struct job *job = &jobs[k];
            if (job->exchange->held)
                h2_release(job->exchange);
            if (!job->exchange->closed && job->has_upload && job->put <= job->length) {
                h2_put(job->exchange, rv_slice(pattern + job->put, job->length - job->put), true);
                job->put = job->length + 1;
            }
        }
        rv_test_advance_ms(peer.test, 1);
        h2_client_pump(&peer);
    }
    assert_true(are_all_over());
}

static void check_all(void)
{
    for (unsigned i = 0; i < job_count; i++) {
        const struct h2_exchange *exchange = jobs[i].exchange;
        if (!jobs[i].was_reset) {
            assert_int_equal(exchange->code, RV_H2_NO_ERROR);
            assert_int_equal(exchange->status, 200);
            assert_true(exchange->ended);
            assert_int_equal(exchange->content.len, jobs[i].length);
        }
        if (exchange->content.len > 0)
            assert_memory_equal(exchange->content.ptr, pattern, exchange->content.len);
    }
}

static void run(uint64_t number)
{
    seed = number + 1;
    job_count = 0;
    lent = 0;
    tested_with(
        &(rv_server_options){.limits = {.output_high_bytes = UINT64_C(4096) << below(6),
                                        .output_low_bytes = 1024,
                                        .h2_stream_window_bytes = UINT64_C(1024) << below(8),
                                        .h2_connection_window_bytes = 65535 + below(100000),
                                        .h2_streams_max = 1 + below(50)}});
    route_with("POST /echo", echo, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route("POST /whole", echo_whole, NULL);
    route("GET /borrowed", reply_borrowed, NULL);
    route("GET /stream", stream, NULL);
    h2_client_open(&peer, tested, (uint32_t)(1024 + random_of_any_size(&seed, 18)),
                   (uint32_t)(65535 + below(200000)));
    for (int i = 0; i < 200; i++)
        step();
    finish_all();
    check_all();
    assert_false(peer.broken);
    assert_int_equal(peer.goaways, 0);
    assert_int_equal(lent, 0);
    assert_int_equal(tested->workers[0]->h2_streams.taken, 0);
    h2_client_close(&peer);
}

static void all_content_arrives_whole_whatever_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)('a' + i * 7 % 25 + i / 4096 % 2);
    for (uint64_t number = 0; number < SEEDS; number++)
        run(number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_content_arrives_whole_whatever_the_order, tested_set_up,
                                        tested_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
