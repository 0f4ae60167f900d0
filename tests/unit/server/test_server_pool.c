/*
 * Facts about the pool of a server that runs: its threads and its queue, writers that wait for slow
 * clients, clients that leave in the middle, stopping. Real sockets and threads; what can be seen in
 * memory is in test_talk_pool.c.
 */
#include "support/served.h"
#include "support/sockets.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct served served;

/* ---- handlers ---------------------------------------------------------------------------------- */

/* Handlers that wait at a gate, which the test opens for one at a time. */
static struct {
    atomic_uint inside; /* that have come to the gate */
    atomic_uint passed;
    sem_t open;
} gate;

static void wait_at_the_gate(void)
{
    atomic_fetch_add(&gate.inside, 1);
    sem_wait(&gate.open);
    atomic_fetch_add(&gate.passed, 1);
}

static void open_the_gate(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        sem_post(&gate.open);
}

static int reply_behind_the_gate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    wait_at_the_gate();
    return rv_text(talk, 200, "passed");
}

#define PIECE_BYTES 10000
#define PIECES 4000

static char piece[PIECE_BYTES];

/* A long response, and how far it has come. */
static struct {
    atomic_uint written;  /* pieces */
    atomic_uint released; /* borrowed pieces */
    atomic_int result;    /* of the write that did not succeed, or of the end */
    atomic_bool done;
} flow;

static void count_release(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&flow.released, 1);
}

static int write_much(rv_talk *talk, void *ctx)
{
    bool borrowed = ctx != NULL;
    int result = rv_begin(talk, 200);
    for (unsigned i = 0; i < PIECES && result == RV_OK; i++) {
        rv_bytes octets = {piece, PIECE_BYTES};
        result = borrowed ? rv_write_borrowed(talk, octets, count_release, NULL)
                          : rv_write(talk, octets);
        atomic_fetch_add(&flow.written, 1);
    }
    if (result == RV_OK)
        result = rv_end(talk);
    atomic_store(&flow.result, result);
    atomic_store(&flow.done, true);
    return result;
}

static int lend_behind_the_gate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    wait_at_the_gate();
    return rv_reply_borrowed(talk, 200, NULL, (rv_bytes){piece, PIECE_BYTES}, count_release, NULL);
}

static int promise_too_much(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "10");
    rv_begin(talk, 200);
    for (int i = 0; i < 5; i++)
        rv_write(talk, RV_LIT("x"));
    return rv_end(talk);
}

static int send_file(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_file(talk, "/proc/self/exe", NULL);
}

static int reply_to_resume(rv_talk *talk, void *value)
{
    (void)value;
    return rv_text(talk, 200, "resumed");
}

static void *resume_now(void *argument)
{
    rv_handle handle = {(uint64_t)(uintptr_t)argument};
    rv_resume(served.server, handle, reply_to_resume, NULL);
    return NULL;
}

static atomic_int resumed_with, resumed_without; /* a talk */

static int count_resumption(rv_talk *talk, void *value)
{
    (void)value;
    atomic_fetch_add(talk == NULL ? &resumed_without : &resumed_with, 1);
    return rv_text(talk, 200, "resumed");
}

static int resume_behind_the_gate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_resume(served.server, rv_suspend(talk), count_resumption, NULL);
    wait_at_the_gate();
    return error != 0 ? error : RV_PENDING;
}

#define RESUMERS 100

static pthread_t resumers[RESUMERS];
static atomic_uint resumer_count;

/* Another thread resumes the talk before, while, or after this handler returns. */
static int suspend_there(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_handle handle = rv_suspend(talk);
    unsigned turn = atomic_load(&resumer_count);
    if (pthread_create(&resumers[turn], NULL, resume_now, (void *)(uintptr_t)handle.id) != 0)
        return RV_ENOMEM;
    atomic_store(&resumer_count, turn + 1);
    if (turn % 2 == 0)
        nap_ms(1);
    return RV_PENDING;
}

/* ---- fixtures ---------------------------------------------------------------------------------- */

static void start(rv_server_options options)
{
    const rv_route_options on_pool = {.run = RV_ON_POOL};
    static int lend;
    options.workers = 1;
    serve_make(&served, options);
    serve_route(&served, "GET /number/{number}", reply_number, NULL, on_pool);
    serve_route(&served, "GET /gate", reply_behind_the_gate, NULL, on_pool);
    serve_route(&served, "GET /loop", reply_to_resume, NULL, (rv_route_options){0});
    serve_route(&served, "GET /much", write_much, NULL, on_pool);
    serve_route(&served, "GET /lend", write_much, &lend, on_pool);
    serve_route(&served, "GET /lend-whole", lend_behind_the_gate, NULL, on_pool);
    serve_route(&served, "GET /short", promise_too_much, NULL, on_pool);
    serve_route(&served, "GET /file", send_file, NULL, on_pool);
    serve_route(&served, "GET /suspend", suspend_there, NULL, on_pool);
    serve_route(&served, "GET /resume", resume_behind_the_gate, NULL, on_pool);
    serve_start(&served);
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&gate.inside, 0);
    atomic_store(&gate.passed, 0);
    sem_init(&gate.open, 0, 0);
    atomic_store(&flow.written, 0);
    atomic_store(&flow.released, 0);
    atomic_store(&flow.result, 1);
    atomic_store(&flow.done, false);
    memset(piece, 'p', sizeof piece);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    open_the_gate(100);
    serve_free(&served);
    sem_destroy(&gate.open);
    return 0;
}

static rv_counter_values counters(void)
{
    rv_counter_values values;
    rv_counters(served.server, &values);
    return values;
}

/* A new client whose request the server has taken. */
static void ask(struct caller *caller, const char *path)
{
    char text[64];
    uint64_t before = counters().requests;
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path);
    assert_true(caller_connect(caller, served.port));
    assert_true(caller_send(caller, text));
    assert_true(EVENTUALLY(counters().requests > before));
}

static void expect_passed(struct caller *caller)
{
    assert_int_equal(caller_take(caller), 200);
    assert_true(answer_content_is(&caller->answer, "passed"));
    caller_close(caller);
}

/* ---- threads and queue ------------------------------------------------------------------------- */

static void as_many_handlers_run_at_once_as_there_are_threads(void **state)
{
    (void)state;
    struct caller callers[4];
    start((rv_server_options){.pool_threads = 3});
    for (int i = 0; i < 4; i++)
        ask(&callers[i], "/gate");
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 3));
    nap_ms(20);
    assert_int_equal(atomic_load(&gate.inside), 3);
    open_the_gate(1);
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 4));
    open_the_gate(3);
    for (int i = 0; i < 4; i++)
        expect_passed(&callers[i]);
}

static void handlers_on_the_pool_do_not_hold_up_the_loop(void **state)
{
    (void)state;
    struct caller blocked, other;
    start((rv_server_options){.pool_threads = 1});
    ask(&blocked, "/gate");
    assert_true(caller_connect(&other, served.port));
    assert_int_equal(caller_get(&other, "/loop"), 200);
    caller_close(&other);
    open_the_gate(1);
    expect_passed(&blocked);
}

static void beyond_the_queue_a_request_is_503_with_retry_after(void **state)
{
    (void)state;
    struct caller running, queued, refused;
    start((rv_server_options){.pool_threads = 1, .limits.pool_queue_max = 1});
    ask(&running, "/gate");
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 1));
    ask(&queued, "/gate");
    ask(&refused, "/gate");
    assert_int_equal(caller_take(&refused), 503);
    assert_string_equal(answer_field(&refused.answer, "Retry-After"), "1");
    assert_null(answer_field(&refused.answer, "Connection"));
    assert_int_equal(counters().pool_queue_full, 1);
    open_the_gate(2);
    expect_passed(&running);
    expect_passed(&queued);
    assert_int_equal(caller_get(&refused, "/number/7"), 200); /* the connection goes on */
    caller_close(&refused);
    assert_int_equal(counters().pool_queue_full, 1);
}

static void without_a_limit_the_queue_takes_everything(void **state)
{
    (void)state;
    enum { CALLERS = 30 };
    struct caller *callers = calloc(CALLERS, sizeof *callers);
    start((rv_server_options){.pool_threads = 1, .limits.pool_queue_max = RV_NO_LIMIT});
    for (int i = 0; i < CALLERS; i++)
        ask(&callers[i], "/gate");
    open_the_gate(CALLERS);
    for (int i = 0; i < CALLERS; i++)
        expect_passed(&callers[i]);
    assert_int_equal(counters().pool_queue_full, 0);
    free(callers);
}

/* ---- writers and slow clients ------------------------------------------------------------------ */

/* The number of pieces at which the writer has come to a halt. */
static unsigned wait_for_halt(void)
{
    unsigned before = 0, now = atomic_load(&flow.written);
    while (now == 0 || now != before) {
        nap_ms(100);
        before = now;
        now = atomic_load(&flow.written);
    }
    return now;
}

static void a_writer_waits_while_its_client_does_not_read(void **state)
{
    (void)state;
    char address[32];
    start((rv_server_options){.pool_threads = 1});
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)served.port);
    int client = dial_narrow(address);
    assert_true(send_text(client, "GET /much HTTP/1.0\r\n\r\n"));
    /* What the kernel holds is a few megabytes; of the 40 the writer has most before it. */
    assert_true(wait_for_halt() < PIECES / 2);
    assert_false(atomic_load(&flow.done));
    size_t received = receive_for(client, 20000);
    assert_true(received > (size_t)PIECES * PIECE_BYTES);
    assert_true(received < (size_t)PIECES * PIECE_BYTES + 1000); /* and a head */
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_int_equal(atomic_load(&flow.result), RV_OK);
    close(client);
}

static void a_client_that_leaves_ends_the_writing(void **state)
{
    (void)state;
    char address[32];
    start((rv_server_options){.pool_threads = 1});
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)served.port);
    int client = dial_narrow(address);
    assert_true(send_text(client, "GET /much HTTP/1.1\r\nHost: test\r\n\r\n"));
    wait_for_halt();
    hang_up(client);
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_int_equal(atomic_load(&flow.result), RV_EGONE);
    assert_true(atomic_load(&flow.written) < PIECES);
    expect_served(&served); /* by the one thread of the pool */
    assert_int_equal(counters().clients_gone, 1);
    assert_int_equal(counters().handler_failures, 0);
}

static void a_client_that_leaves_early_ends_the_writing_too(void **state)
{
    (void)state;
    start((rv_server_options){.pool_threads = 2});
    for (int i = 0; i < 20; i++) {
        struct caller caller;
        atomic_store(&flow.done, false);
        ask(&caller, "/much");
        if (i % 2 == 0)
            nap_ms(1);
        caller_reset(&caller);
        assert_true(EVENTUALLY(atomic_load(&flow.done)));
        assert_int_equal(atomic_load(&flow.result), RV_EGONE);
    }
    expect_served(&served);
}

static void borrowed_pieces_are_released_though_the_client_has_left(void **state)
{
    (void)state;
    char address[32];
    start((rv_server_options){.pool_threads = 1});
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)served.port);
    int client = dial_narrow(address);
    assert_true(send_text(client, "GET /lend HTTP/1.1\r\nHost: test\r\n\r\n"));
    wait_for_halt();
    hang_up(client);
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_true(EVENTUALLY(atomic_load(&flow.released) == atomic_load(&flow.written)));
    serve_stop(&served);
    assert_int_equal(atomic_load(&flow.released), atomic_load(&flow.written));
}

static void an_answer_for_a_client_that_has_left_is_dropped(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.pool_threads = 1});
    ask(&caller, "/lend-whole");
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 1));
    caller_reset(&caller);
    assert_true(EVENTUALLY(counters().clients_gone == 1));
    assert_int_equal(atomic_load(&flow.released), 0);
    open_the_gate(1);
    assert_true(EVENTUALLY(atomic_load(&flow.released) == 1));
    expect_served(&served);
    assert_int_equal(atomic_load(&flow.released), 1);
}

static void a_resumption_for_a_client_that_has_left_gets_no_talk(void **state)
{
    (void)state;
    struct caller caller;
    atomic_store(&resumed_with, 0);
    atomic_store(&resumed_without, 0);
    start((rv_server_options){.pool_threads = 1});
    ask(&caller, "/resume");
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 1));
    caller_reset(&caller);
    assert_true(EVENTUALLY(counters().clients_gone == 1));
    open_the_gate(1);
    assert_true(EVENTUALLY(atomic_load(&resumed_without) == 1));
    expect_served(&served);
    assert_int_equal(atomic_load(&resumed_without), 1);
    assert_int_equal(atomic_load(&resumed_with), 0);
}

/* ---- whatever the threads do at the same time -------------------------------------------------- */

static void too_few_octets_cut_the_connection_and_nothing_else(void **state)
{
    (void)state;
    start((rv_server_options){.pool_threads = 2});
    for (int i = 0; i < 100; i++) {
        struct caller caller;
        ask(&caller, "/short");
        assert_int_equal(caller_take(&caller), 0); /* no whole answer */
        assert_true(caller.ended);
        caller_close(&caller);
    }
    expect_served(&served);
}

static void files_are_sent_from_the_pool(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.pool_threads = 2});
    assert_true(caller_connect(&caller, served.port));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(caller_get(&caller, "/file"), 200);
        assert_true(caller.answer.content.len > 10000);
    }
    caller_close(&caller);
}

static void a_talk_may_be_resumed_before_its_handler_has_returned(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.pool_threads = 2});
    assert_true(caller_connect(&caller, served.port));
    for (int i = 0; i < RESUMERS; i++) {
        assert_int_equal(caller_get(&caller, "/suspend"), 200);
        assert_true(answer_content_is(&caller.answer, "resumed"));
    }
    caller_close(&caller);
    assert_true(EVENTUALLY(atomic_load(&resumer_count) == RESUMERS));
    for (int i = 0; i < RESUMERS; i++)
        pthread_join(resumers[i], NULL);
}

/* ---- stopping ---------------------------------------------------------------------------------- */

static void a_stop_waits_for_handlers_and_their_answers(void **state)
{
    (void)state;
    struct caller running, queued;
    start((rv_server_options){.pool_threads = 1});
    ask(&running, "/gate");
    ask(&queued, "/gate");
    rv_server_stop(served.server);
    nap_ms(50);
    assert_false(atomic_load(&served.returned));
    open_the_gate(2);
    assert_int_equal(caller_take(&running), 200);
    assert_string_equal(answer_field(&running.answer, "Connection"), "close");
    assert_int_equal(caller_take(&queued), 200);
    assert_true(caller_sees_the_end(&queued));
    serve_wait(&served);
    caller_close(&running);
    caller_close(&queued);
    assert_int_equal(counters().stop_cuts, 0);
}

static void a_second_stop_cuts_the_client_and_waits_for_the_handler(void **state)
{
    (void)state;
    struct caller caller;
    start((rv_server_options){.pool_threads = 1});
    ask(&caller, "/gate");
    assert_true(EVENTUALLY(atomic_load(&gate.inside) == 1));
    rv_server_stop(served.server);
    rv_server_stop(served.server);
    assert_true(caller_sees_the_end(&caller));
    nap_ms(50);
    assert_false(atomic_load(&served.returned)); /* a thread cannot be interrupted */
    open_the_gate(1);
    serve_wait(&served);
    assert_int_equal(atomic_load(&gate.passed), 1);
    assert_int_equal(counters().stop_cuts, 1);
    caller_close(&caller);
}

static void a_writer_does_not_hold_up_a_second_stop(void **state)
{
    (void)state;
    char address[32];
    start((rv_server_options){.pool_threads = 1});
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)served.port);
    int client = dial_narrow(address);
    assert_true(send_text(client, "GET /much HTTP/1.1\r\nHost: test\r\n\r\n"));
    wait_for_halt();
    rv_server_stop(served.server);
    rv_server_stop(served.server);
    serve_wait(&served);
    assert_int_equal(atomic_load(&flow.result), RV_EGONE);
    close(client);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(as_many_handlers_run_at_once_as_there_are_threads),
        FACT(handlers_on_the_pool_do_not_hold_up_the_loop),
        FACT(beyond_the_queue_a_request_is_503_with_retry_after),
        FACT(without_a_limit_the_queue_takes_everything),
        FACT(a_writer_waits_while_its_client_does_not_read),
        FACT(a_client_that_leaves_ends_the_writing),
        FACT(a_client_that_leaves_early_ends_the_writing_too),
        FACT(borrowed_pieces_are_released_though_the_client_has_left),
        FACT(an_answer_for_a_client_that_has_left_is_dropped),
        FACT(a_resumption_for_a_client_that_has_left_gets_no_talk),
        FACT(too_few_octets_cut_the_connection_and_nothing_else),
        FACT(files_are_sent_from_the_pool),
        FACT(a_talk_may_be_resumed_before_its_handler_has_returned),
        FACT(a_stop_waits_for_handlers_and_their_answers),
        FACT(a_second_stop_cuts_the_client_and_waits_for_the_handler),
        FACT(a_writer_does_not_hold_up_a_second_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
