/*
 * Step 14: a server on the sim back end, driven by the program that tests it. The one worker runs in
 * the caller's thread, inside these functions.
 */
#include "base/clock.h"
#include "io/sim.h"
#include "io/tls_layer.h"
#include "server/conn.h"

#include <stdlib.h>
#include <string.h>

/* Pool handlers run in real time: how long one may take before the test goes on without it. */
#define POOL_WAIT_MS 10000

struct rv_test {
    rv_server *server;
    struct rv_sim_peer *peer;
    struct rv_buffer taken; /* what rv_test_received has given out */
};

static struct rv_worker *worker_of(const rv_server *server)
{
    return server->workers[0];
}

static bool has_work(const struct rv_worker *worker)
{
    const struct rv_loop *loop = &worker->loop;
    return loop->again != NULL || loop->dead != NULL || loop->page_owner != NULL ||
           (RV_TLS_BUILT && loop->tls != NULL && rv_tls_hands_wait(loop)) ||
           atomic_load(&loop->inbox.newest) != NULL || rv_wheel_wait_ms(&loop->wheel) == 0;
}

static void settle(rv_server *server)
{
    struct rv_worker *worker = worker_of(server);
    do {
        do
            rv_worker_turn(worker, 0);
        while (has_work(worker));
    } while (worker->pool_talks > 0 && rv_sim_wait_for_post(&worker->loop, POOL_WAIT_MS));
}

static rv_error begin(rv_server *server)
{
    if (atomic_load(&server->phase) == RV_SERVER_TESTED)
        return 0;
    if (atomic_load(&server->phase) != RV_SERVER_IDLE)
        return rv_server_fail(server, RV_ESTATE, "the server is running");
    if (server->first_error != 0)
        return server->first_error;
    if (server->worker_count > 0)
        return rv_server_fail(server, RV_ESTATE, "the server has been run: it cannot be tested");
    rv_error error = rv_server_check_tls(server);
    if (error == 0)
        error = rv_server_make_workers(server, 1, &rv_backend_sim);
    if (error == 0)
        error = rv_server_begin(server);
    if (error == 0)
        atomic_store(&server->phase, RV_SERVER_TESTED);
    return error;
}

void rv_server_end_test(rv_server *server)
{
    if (atomic_load(&server->phase) != RV_SERVER_TESTED)
        return;
    struct rv_worker *worker = worker_of(server);
    rv_worker_cut_all(worker);
    while (worker->conn_count > 0 || worker->pool_talks > 0) {
        settle(server);
        rv_worker_cut_all(worker);
    }
    atomic_store(&server->phase, RV_SERVER_CHANGING);
    rv_server_end(server);
    atomic_store(&server->phase, RV_SERVER_IDLE);
}

rv_test *rv_test_new(rv_server *server)
{
    if (begin(server) != 0)
        return NULL;
    rv_test *test = calloc(1, sizeof *test);
    if (test == NULL)
        return NULL;
    test->server = server;
    test->peer = rv_sim_connect(&worker_of(server)->loop);
    if (test->peer == NULL) {
        rv_server_fail(server, RV_EBUSY, "the server accepts no connection now");
        free(test);
        return NULL;
    }
    settle(server);
    return test;
}

void rv_test_free(rv_test *test)
{
    if (test == NULL)
        return;
    rv_sim_reset(test->peer);
    settle(test->server);
    rv_sim_peer_free(test->peer);
    rv_buffer_free(&test->taken);
    free(test);
}

rv_error rv_test_send(rv_test *test, rv_bytes octets)
{
    rv_error error = rv_sim_send(test->peer, octets);
    settle(test->server);
    return error;
}

rv_bytes rv_test_received(rv_test *test)
{
    struct rv_buffer *received = rv_sim_received(test->peer);
    rv_buffer_consume(&test->taken, test->taken.len);
    rv_error error = rv_buffer_append(&test->taken, rv_slice(received->ptr, received->len));
    rv_buffer_consume(received, received->len);
    return error == 0 && test->taken.ptr != NULL ? rv_slice(test->taken.ptr, test->taken.len)
                                                 : rv_slice("", 0);
}

bool rv_test_closed(const rv_test *test)
{
    return rv_sim_is_ended(test->peer);
}

rv_error rv_test_half_close(rv_test *test)
{
    if (rv_sim_is_closed(test->peer))
        return RV_EGONE;
    rv_sim_half_close(test->peer);
    settle(test->server);
    return 0;
}

rv_error rv_test_reset(rv_test *test)
{
    if (rv_sim_is_closed(test->peer))
        return RV_EGONE;
    rv_sim_reset(test->peer);
    settle(test->server);
    return 0;
}

void rv_test_window(rv_test *test, uint64_t octets)
{
    rv_sim_set_window(test->peer, octets);
    settle(test->server);
}

void rv_test_advance_ms(rv_test *test, uint64_t ms)
{
    struct rv_loop *loop = &worker_of(test->server)->loop;
    while (ms > 0) {
        uint64_t step = rv_wheel_wait_ms(&loop->wheel);
        step = step == 0 ? 1 : step < ms ? step : ms;
        rv_sim_advance(loop, step);
        ms -= step;
        settle(test->server);
    }
}

void rv_test_settle(rv_test *test)
{
    settle(test->server);
}
