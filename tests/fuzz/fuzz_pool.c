/*
 * Handlers on pool threads against clients that do anything. The input is a script as fuzz_conn.c
 * has it, of fewer operations, each an 0xff and a letter:
 *
 *     s    sends what came before       g N  opens a gate of a handler that waits (pool_app.h)
 *     c N  goes on as client N          w N  lets the client take so many octets (255: all)
 *     h    half-closes                  r    resets
 *     n    replaces this client         t N  lets time pass
 *
 * The worker's loop is turned here, and only when the handlers wait: so a client can leave, be slow
 * or be timed out while its handler is at any place of its program. Two threads are never asked to
 * be anywhere at once; a finding may still need a few runs to come back.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/support/at_rest.h"
#include "fuzz/support/conversation.h"
#include "fuzz/support/pool_app.h"
#include "fuzz/support/require.h"
#include "io/sim.h"
#include "server/worker.h"

enum { CLIENTS = 5, SEGMENT_MAX = 4096, TRIES = 1000 };

static const struct rv_h1_limits limits = {
    .target_bytes_max = 256, .head_bytes_max = 2048, .head_fields_max = 16};

struct client {
    struct rv_sim_peer *peer; /* NULL: not connected */
    struct fuzz_conversation conversation;
};

static rv_server *server;
static struct rv_worker *worker;
static struct client clients[CLIENTS];
static struct client *current;
static rv_bytes script;
static char segment[SEGMENT_MAX];
static size_t segment_length;

/* ---- turning --------------------------------------------------------------------------------- */

static bool has_work(void)
{
    const struct rv_loop *loop = &worker->loop;
    return loop->again != NULL || loop->dead != NULL || loop->page_owner != NULL ||
           atomic_load(&loop->inbox.newest) != NULL || rv_wheel_wait_ms(&loop->wheel) == 0;
}

static void turn(void)
{
    do
        rv_worker_turn(worker, 0);
    while (has_work());
}

/* Turns until the worker has nothing to do and every handler waits. Talks that are at the pool and
   not in a handler are on their way there or back. */
static void settle(void)
{
    bool is_at_rest = false;
    for (int i = 0; i < TRIES && !is_at_rest; i++) {
        turn();
        size_t at_pool = worker->pool_talks;
        size_t expected = at_pool < FUZZ_POOL_THREADS ? at_pool : FUZZ_POOL_THREADS;
        is_at_rest = fuzz_pool_is_quiet(expected) && !has_work();
        if (!is_at_rest)
            rv_sim_wait_for_post(&worker->loop, 1);
    }
    REQUIRE(is_at_rest);
}

static void take(struct client *client)
{
    if (client->peer == NULL)
        return;
    struct rv_buffer *octets = rv_sim_received(client->peer);
    if (octets->len > 0)
        fuzz_conversation_received(&client->conversation, rv_slice(octets->ptr, octets->len));
    rv_buffer_consume(octets, octets->len);
    if (rv_sim_is_ended(client->peer))
        fuzz_conversation_closed(&client->conversation);
}

static void check(void)
{
    settle();
    for (size_t i = 0; i < CLIENTS; i++)
        take(&clients[i]);
    REQUIRE(rv_wheel_validate(&worker->loop.wheel));
    fuzz_scribble(server);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void connect_to(struct client *client)
{
    if (client->peer == NULL)
        client->peer = rv_sim_connect(&worker->loop);
    else
        return;
    REQUIRE(client->peer != NULL);
    fuzz_conversation_begin(&client->conversation, &limits, NULL);
}

static void disconnect(struct client *client)
{
    rv_sim_peer_free(client->peer);
    client->peer = NULL;
}

static void send_segment(void)
{
    rv_bytes octets = rv_slice(segment, segment_length);
    size_t room = fuzz_requests_room(&current->conversation.requests);
    segment_length = 0;
    connect_to(current);
    if (octets.len > 0 && octets.len <= room && rv_sim_send(current->peer, octets) == RV_OK)
        fuzz_conversation_sent(&current->conversation, octets);
    check();
}

static uint64_t magnitude(uint8_t octet)
{
    return (uint64_t)(octet & 15) << (octet >> 4);
}

/* In steps of the next timer, as rv_test_advance_ms does. */
static void advance(uint64_t ms)
{
    while (ms > 0) {
        uint64_t step = rv_wheel_wait_ms(&worker->loop.wheel);
        step = step == 0 ? 1 : step < ms ? step : ms;
        rv_sim_advance(&worker->loop, step);
        ms -= step;
        turn();
    }
}

static uint8_t next_octet(void)
{
    if (script.len == 0)
        return 0;
    uint8_t octet = (uint8_t)script.ptr[0];
    script = rv_slice(script.ptr + 1, script.len - 1);
    return octet;
}

static void operate(uint8_t letter)
{
    uint8_t octet = 0;
    switch (letter) {
    case 'c':
        current = &clients[next_octet() % CLIENTS];
        connect_to(current);
        break;
    case 'g':
        fuzz_pool_open(next_octet());
        break;
    case 'h':
        current->conversation.is_ending = true;
        rv_sim_half_close(current->peer);
        break;
    case 'n':
        disconnect(current);
        connect_to(current);
        break;
    case 'r':
        rv_sim_reset(current->peer);
        break;
    case 't':
        advance(magnitude(next_octet()) + 1);
        break;
    case 'w':
        octet = next_octet();
        rv_sim_set_window(current->peer, octet == 255 ? UINT64_MAX : magnitude(octet));
        break;
    default:
        break;
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void run_script(void)
{
    connect_to(current);
    while (script.len > 0) {
        uint8_t octet = next_octet();
        if (octet != 0xff) {
            if (segment_length < SEGMENT_MAX)
                segment[segment_length++] = (char)octet;
            continue;
        }
        uint8_t letter = next_octet();
        send_segment();
        operate(letter);
        check();
    }
    send_segment();
}

static bool is_anyone_open(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].peer != NULL && !rv_sim_is_ended(clients[i].peer))
            return true;
    return false;
}

/* With all gates open and all octets taken every handler returns, and time ends the connections. */
static void run_out(void)
{
    fuzz_pool_open_all();
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].peer != NULL)
            rv_sim_set_window(clients[i].peer, UINT64_MAX);
    for (int i = 0; i < TRIES && worker->pool_talks > 0; i++) {
        turn();
        rv_sim_wait_for_post(&worker->loop, 10);
    }
    check();
    REQUIRE(worker->pool_talks == 0);
    for (int i = 0; i < 20 && is_anyone_open(); i++) {
        advance(10000);
        check();
    }
    REQUIRE(!is_anyone_open());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (server == NULL) {
        server = fuzz_pool_server();
        rv_test_free(rv_test_new(server)); /* makes the worker */
        worker = server->workers[0];
    }
    fuzz_pool_begin();
    script = rv_slice((const char *)data, size);
    current = clients;
    segment_length = 0;
    run_script();
    run_out();
    for (size_t i = 0; i < CLIENTS; i++)
        disconnect(&clients[i]);
    turn();
    fuzz_require_empty(server);
    fuzz_pool_end();
    return 0;
}
