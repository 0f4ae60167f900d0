/*
 * Facts about uploads to the disk of a server that runs: a disk that is slow, clients that go and a stop
 * while it is, many at once. Real sockets and threads; what can be seen in memory is in test_upload.c and
 * test_upload_body.c.
 */
#include "support/served.h"
#include "support/sockets.h"
#include "support/upload_folder.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GATHERED = 256 * 1024, RECEIVED = 64 * 1024, LENGTH = 16 * 1024 * 1024 };

static struct served served;
static const char *folder;
static char body[LENGTH];

static atomic_uint done_count, done_without_talk, abort_count;
static _Atomic uint64_t arrived;

/* ---- handlers: a pool thread that a handler holds is a disk that does nothing --------------------------- */

static sem_t gate;
static atomic_uint at_gate;

static int wait_at_the_gate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&at_gate, 1);
    sem_wait(&gate);
    return rv_text(talk, 200, "passed");
}

static void progress(rv_talk *talk, uint64_t octets, void *ctx)
{
    (void)talk, (void)ctx;
    atomic_store(&arrived, octets);
}

static int done(rv_talk *talk, const rv_uploaded *file, size_t count, void *ctx)
{
    (void)count, (void)ctx;
    done_without_talk += talk == NULL;
    atomic_fetch_add(&done_count, 1);
    return rv_text(talk, file->replaced ? 200 : 201, file->file);
}

static void aborted(rv_error reason, void *ctx)
{
    (void)reason, (void)ctx;
    atomic_fetch_add(&abort_count, 1);
}

static int put(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_upload_body(talk, rv_param(talk, "name"),
                          &(rv_upload_options){.directory = folder,
                                               .progress = progress,
                                               .done = done,
                                               .abort = aborted,
                                               .replace = true},
                          NULL);
}

static void start(unsigned workers, unsigned pool_threads)
{
    serve_make(&served, (rv_server_options){.workers = workers, .pool_threads = pool_threads});
    serve_route(&served, "PUT /{name}", put, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    serve_route(&served, "GET /gate", wait_at_the_gate, NULL,
                (rv_route_options){.run = RV_ON_POOL});
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_start(&served);
}

static int set_up(void **state)
{
    (void)state;
    folder = upload_folder_make();
    sem_init(&gate, 0, 0);
    at_gate = done_count = done_without_talk = abort_count = 0;
    arrived = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sem_post(&gate);
    serve_free(&served);
    return upload_folder_remove() == 0 ? 0 : -1;
}

static void ask_for_the_gate(struct caller *caller)
{
    assert_true(caller_connect(caller, served.port));
    assert_true(caller_send(caller, "GET /gate HTTP/1.1\r\nHost: x\r\n\r\n"));
}

/* A client whose handler holds the only pool thread. */
static void shut_the_disk(struct caller *caller)
{
    ask_for_the_gate(caller);
    assert_true(EVENTUALLY(atomic_load(&at_gate) == 1));
}

static uint64_t connections_open(void)
{
    rv_counter_values values;
    rv_counters(served.server, &values);
    return values.connections_open;
}

static void begin_put(struct caller *caller, size_t length)
{
    char head[128];
    snprintf(head, sizeof head, "PUT /it HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
             length);
    assert_true(caller_connect(caller, served.port));
    assert_true(caller_send(caller, head));
}

/* ---- facts ---------------------------------------------------------------------------------------------- */

static void *send_body(void *argument)
{
    const struct caller *caller = argument;
    return send_octets(caller->descriptor, (rv_bytes){body, LENGTH}) ? argument : NULL;
}

static void a_disk_that_does_nothing_pauses_its_client_alone(void **state)
{
    static char kept[LENGTH + 1];
    struct caller holder = {.descriptor = -1}, caller = {.descriptor = -1};
    pthread_t sender;
    void *sent;
    (void)state;
    start(1, 1);
    shut_the_disk(&holder);
    for (size_t i = 0; i < LENGTH; i++)
        body[i] = (char)(i * 2654435761u >> 13);
    begin_put(&caller, LENGTH);
    assert_int_equal(pthread_create(&sender, NULL, send_body, &caller), 0);
    assert_true(EVENTUALLY(atomic_load(&arrived) >= 2 * GATHERED));
    nap_ms(100);
    assert_true(atomic_load(&arrived) <= 2 * (GATHERED + RECEIVED));
    expect_served(&served);
    assert_int_equal(upload_folder_count(), 0);
    sem_post(&gate);
    assert_int_equal(caller_take(&holder), 200);
    pthread_join(sender, &sent);
    assert_ptr_equal(sent, &caller);
    assert_int_equal(caller_take(&caller), 201);
    assert_int_equal(upload_folder_read("it", kept, sizeof kept), LENGTH);
    assert_memory_equal(kept, body, LENGTH);
    caller_close(&holder);
    caller_close(&caller);
    serve_stop(&served);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_client_that_goes_while_the_disk_is_slow_leaves_nothing(void **state)
{
    struct caller holder = {.descriptor = -1}, caller = {.descriptor = -1};
    (void)state;
    start(1, 1);
    shut_the_disk(&holder);
    begin_put(&caller, LENGTH);
    assert_true(send_octets(caller.descriptor, (rv_bytes){body, GATHERED + RECEIVED}));
    assert_true(EVENTUALLY(atomic_load(&arrived) >= GATHERED));
    caller_reset(&caller);
    assert_true(EVENTUALLY(atomic_load(&abort_count) == 1));
    sem_post(&gate); /* now the step runs, and the file is there for a moment */
    assert_int_equal(caller_take(&holder), 200);
    caller_close(&holder);
    serve_stop(&served);
    assert_int_equal(done_count, 0);
    assert_int_equal(upload_folder_empty(), 0);
}

/* A second handler holds the thread between the last two steps: the file is closed, and has no name yet. */
static void a_client_that_goes_when_all_was_there_has_its_file_kept(void **state)
{
    struct caller holders[2] = {{.descriptor = -1}, {.descriptor = -1}};
    struct caller caller = {.descriptor = -1};
    (void)state;
    start(1, 1);
    shut_the_disk(&holders[0]);
    begin_put(&caller, 3);
    assert_true(send_octets(caller.descriptor, RV_LIT("abc")));
    assert_true(EVENTUALLY(atomic_load(&arrived) == 3));
    ask_for_the_gate(&holders[1]);
    expect_served(&served);
    sem_post(&gate);
    assert_true(EVENTUALLY(atomic_load(&at_gate) == 2));
    expect_served(&served); /* whatever the worker was told before is done */
    caller_reset(&caller);
    assert_true(EVENTUALLY(connections_open() == 2));
    sem_post(&gate);
    assert_true(EVENTUALLY(atomic_load(&done_count) == 1));
    assert_int_equal(done_without_talk, 1);
    caller_close(&holders[0]);
    caller_close(&holders[1]);
    serve_stop(&served);
    assert_int_equal(abort_count, 0);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_stop_waits_for_the_disk(void **state)
{
    struct caller holder = {.descriptor = -1}, caller = {.descriptor = -1};
    (void)state;
    start(1, 1);
    shut_the_disk(&holder);
    begin_put(&caller, 3);
    assert_true(send_octets(caller.descriptor, RV_LIT("abc")));
    assert_true(EVENTUALLY(atomic_load(&arrived) == 3));
    rv_server_stop(served.server);
    nap_ms(20);
    assert_false(served.returned);
    sem_post(&gate);
    assert_int_equal(caller_take(&caller), 201);
    serve_wait(&served);
    caller_close(&holder);
    caller_close(&caller);
    assert_int_equal(upload_folder_empty(), 1);
}

/* ---- many at once --------------------------------------------------------------------------------------- */

enum { CLIENTS = 6, ROUNDS = 30, OCTETS = 100000 };

/* Each client puts a file of its own letter and length; between them, whoever looks finds one of them, whole. */
static void *put_often(void *argument)
{
    size_t number = (size_t)argument, length = OCTETS + number;
    char *octets = malloc(length);
    struct caller caller = {.descriptor = -1};
    bool well = octets != NULL && caller_connect(&caller, served.port);
    if (octets != NULL)
        memset(octets, (int)('a' + number), length);
    for (int round = 0; well && round < ROUNDS; round++) {
        char head[128];
        snprintf(head, sizeof head, "PUT /it HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 length);
        well = caller_send(&caller, head) &&
               send_octets(caller.descriptor, (rv_bytes){octets, length});
        int status = well ? caller_take(&caller) : 0;
        well = status == 200 || status == 201;
    }
    caller_close(&caller);
    free(octets);
    return well ? (void *)(number + 1) : NULL;
}

static void expect_one_of_them(void)
{
    static char octets[OCTETS + CLIENTS + 1];
    size_t length = upload_folder_read("it", octets, sizeof octets);
    assert_in_range(length, OCTETS, OCTETS + CLIENTS - 1);
    for (size_t i = 0; i < length; i++)
        if (octets[i] != (char)('a' + length - OCTETS))
            fail_msg("octet %zu of a file of %zu is %c", i, length, octets[i]);
}

static void of_many_at_once_each_is_whole_at_any_time(void **state)
{
    pthread_t threads[CLIENTS];
    (void)state;
    start(2, 4);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_often, (void *)i), 0);
    assert_true(EVENTUALLY(atomic_load(&done_count) > 0));
    while (atomic_load(&done_count) < CLIENTS * ROUNDS && atomic_load(&abort_count) == 0)
        expect_one_of_them();
    for (size_t i = 0; i < CLIENTS; i++) {
        void *well;
        pthread_join(threads[i], &well);
        assert_ptr_equal(well, (void *)(i + 1));
    }
    assert_int_equal(done_count, CLIENTS * ROUNDS);
    serve_stop(&served);
    expect_one_of_them();
    assert_int_equal(upload_folder_empty(), 1);
}

/* They go whenever that is: before, between and in the middle of what pool threads do for them. */
static void clients_that_go_while_the_disk_works_leave_nothing(void **state)
{
    (void)state;
    start(2, 2);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct caller caller = {.descriptor = -1};
        begin_put(&caller, LENGTH);
        assert_true(send_octets(caller.descriptor, (rv_bytes){body, GATHERED + round * 8192}));
        assert_true(EVENTUALLY(atomic_load(&arrived) >= GATHERED));
        caller_reset(&caller);
        assert_true(EVENTUALLY(atomic_load(&abort_count) == round));
        atomic_store(&arrived, 0);
    }
    serve_stop(&served);
    assert_int_equal(done_count, 0);
    assert_int_equal(upload_folder_empty(), 0);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_disk_that_does_nothing_pauses_its_client_alone),
        FACT(a_client_that_goes_while_the_disk_is_slow_leaves_nothing),
        FACT(a_client_that_goes_when_all_was_there_has_its_file_kept),
        FACT(a_stop_waits_for_the_disk),
        FACT(of_many_at_once_each_is_whole_at_any_time),
        FACT(clients_that_go_while_the_disk_works_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
