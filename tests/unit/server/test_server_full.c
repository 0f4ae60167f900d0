/*
 * Facts about a server that can take no more connections: its own limit, and the process's descriptors.
 */
#include "support/served.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct served served;

/* A child process, which alone runs out of descriptors. What it has to say, it says here. */
struct child {
    pid_t pid;
    atomic_uint port, holds, pauses;
};
static struct child *child;

/* ---- fixtures ---------------------------------------------------------------------------------- */

static void start(rv_limits limits)
{
    serve_make(&served, (rv_server_options){.workers = 1, .pool_threads = 1, .limits = limits});
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_route(&served, "GET /hold", hold, NULL, (rv_route_options){0});
    serve_start(&served);
}

static rv_counter_values counters(void)
{
    rv_counter_values values;
    rv_counters(served.server, &values);
    return values;
}

static void call(struct caller *caller)
{
    assert_true(caller_connect(caller, served.port));
}

static int set_up(void **state)
{
    (void)state;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    serve_free(&served);
    if (child != NULL && child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    if (child != NULL)
        munmap(child, sizeof *child);
    child = NULL;
    return 0;
}

/* ---- connections_max --------------------------------------------------------------------------- */

static void beyond_connections_max_the_next_waits_until_one_closes(void **state)
{
    (void)state;
    struct caller first, second, third;
    start((rv_limits){.connections_max = 2});
    expect_held(&first, &served);
    expect_held(&second, &served);
    assert_true(EVENTUALLY(counters().connections_full > 0));
    call(&third);
    assert_true(caller_send(&third, "GET /number/3 HTTP/1.1\r\nHost: test\r\n\r\n"));
    nap_ms(300); /* accepting is tried again every 50 ms */
    assert_true(caller_hears_nothing(&third));
    assert_int_equal(counters().connections_accepted, 2);
    caller_reset(&first);
    assert_int_equal(caller_take(&third), 200);
    assert_true(caller_hears_nothing(&second));
    caller_close(&second);
    caller_close(&third);
}

static void an_idle_connection_makes_room_for_the_next(void **state)
{
    (void)state;
    struct caller first, second, third;
    start((rv_limits){.connections_max = 2, .idle_timeout_ms = 2 * DEADLINE_MS});
    expect_held(&first, &served);
    call(&second);
    assert_int_equal(caller_get(&second, "/number/2"), 200);
    call(&third);
    assert_int_equal(caller_get(&third, "/number/3"), 200);
    assert_int_equal(counters().connections_recycled, 1);
    assert_true(caller_sees_the_end(&second));
    assert_true(caller_hears_nothing(&first));
    caller_close(&first);
    caller_close(&second);
    caller_close(&third);
}

/* ---- the process's descriptors ------------------------------------------------------------------ */

enum { ROOM = 4 };

/* From now on this process may open ROOM descriptors and no more. */
static void leave_little_room(void)
{
    int filled[32], count = 0;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    filled[count++] = dup(STDERR_FILENO);
    limit.rlim_cur = (rlim_t)filled[0] + 16;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (count < 32 && (filled[count] = dup(STDERR_FILENO)) >= 0)
        count++;
    for (unsigned i = 0; i < ROOM; i++)
        close(filled[--count]);
}

static void child_starts(rv_server *server, void *ctx)
{
    (void)ctx;
    const char *colon = strrchr(rv_server_address(server, 0), ':');
    leave_little_room();
    atomic_store(&child->port, (unsigned)atoi(colon + 1));
}

static void child_complains(rv_server *server, const char *line, void *ctx)
{
    rv_counter_values values;
    (void)ctx;
    if (strstr(line, "accepting paused") == NULL)
        return;
    rv_counters(server, &values);
    atomic_store(&child->pauses, (unsigned)values.accept_pauses);
}

static int child_holds(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_suspend(talk);
    atomic_fetch_add(&child->holds, 1);
    return RV_PENDING;
}

static rv_error child_runs(void)
{
    const rv_server_options options = {
        .listen = "127.0.0.1:0",
        .workers = 1,
        .pool_threads = 1,
        .stop_grace_ms = 1,
        .hooks = {.on_start = child_starts, .on_log = child_complains}};
    rv_server *server = rv_server_new(&options);
    rv_route(rv_default_app(server), "GET /hold", child_holds, NULL);
    rv_route(rv_default_app(server), "GET /number/{number}", reply_number, NULL);
    rv_error error = rv_server_run(server);
    rv_server_free(server);
    return error;
}

static void without_descriptors_accepting_pauses_and_goes_on_after_a_close(void **state)
{
    (void)state;
    struct caller holders[ROOM], next;
    void *shared =
        mmap(NULL, sizeof *child, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    child = shared;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_runs() == 0 ? 0 : 1);
    child->pid = pid;
    assert_true(EVENTUALLY(atomic_load(&child->port) != 0));
    uint16_t port = (uint16_t)atomic_load(&child->port);
    for (unsigned i = 0; i < ROOM; i++) {
        assert_true(caller_connect(&holders[i], port));
        assert_true(caller_send(&holders[i], "GET /hold HTTP/1.1\r\nHost: test\r\n\r\n"));
    }
    assert_true(EVENTUALLY(atomic_load(&child->holds) == ROOM));

    /* The kernel connects it; accept4 fails with EMFILE, and does so even for an empty queue. */
    assert_true(caller_connect(&next, port));
    assert_true(caller_send(&next, "GET /number/5 HTTP/1.1\r\nHost: test\r\n\r\n"));
    assert_true(EVENTUALLY(atomic_load(&child->pauses) > 0));
    assert_true(caller_hears_nothing(&next));
    caller_reset(&holders[0]);
    assert_int_equal(caller_take(&next), 200);
    assert_true(answer_content_is(&next.answer, "5"));

    int status = -1;
    kill(pid, SIGTERM);
    assert_true(EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid));
    child->pid = 0;
    assert_int_equal(status, 0);
    for (unsigned i = 1; i < ROOM; i++)
        caller_close(&holders[i]);
    caller_close(&next);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FACT(beyond_connections_max_the_next_waits_until_one_closes),
        FACT(an_idle_connection_makes_room_for_the_next),
        FACT(without_descriptors_accepting_pauses_and_goes_on_after_a_close),
    };
#undef FACT
    return cmocka_run_group_tests(tests, NULL, NULL);
}
