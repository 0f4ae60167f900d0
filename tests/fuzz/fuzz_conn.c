/*
 * A whole server against clients that do anything. The input is a script: octets that are sent as
 * they are, and between them operations, each an octet 0xff and a letter, some with one more octet:
 *
 *     s    sends what came before as one segment; so does every other operation
 *     d    ... octet by octet            x N  ... N times over, in one segment
 *     c N  goes on as client N           n    replaces this client by a new one
 *     t N  lets time pass                w N  lets the client take so many octets (255: all)
 *     h    half-closes                   r    resets
 *     a N  answers a suspended talk      S    stops the server
 *     m N  lets N/2 allocations succeed in the next operation, and then one fail; N odd: all
 *     q    ends the script at once: connections are reset as they are
 *
 * 0xff 0xff sends an 0xff. So a file of requests is a script, and any script can be read.
 *
 * After each operation everything of conversation.h and at_rest.h must hold, and what the server
 * has counted must be what the clients have seen. At the end, when every client takes all and every
 * suspended talk has been answered, time alone must end each connection, and nothing may be left.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/support/app.h"
#include "fuzz/support/at_rest.h"
#include "fuzz/support/conversation.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "io/sim.h"
#include "server/worker.h"

enum { CLIENTS = 4, SEGMENT_MAX = 64 * 1024, DRIP_MAX = 512 };

/* Each run begins at a multiple of this, so that timers sit in the wheel as they did in the run
   that found something. */
#define CLOCK_PERIOD_MS (64 * 64 * 64)

struct client {
    rv_test *test; /* NULL: not connected */
    bool has_half_closed;
    bool has_reset;
    struct fuzz_conversation conversation;
};

static rv_server *server;
static struct client clients[CLIENTS];
static struct client *current;
static struct rv_bytes script;
static char segment[SEGMENT_MAX];
static size_t segment_length;
static bool time_has_passed;
static bool has_stopped;
static bool memory_runs_out; /* in the next operation */
static bool memory_fails_for_all;
static unsigned memory_left;
static uint64_t received;     /* by all clients of this run */
static uint64_t sent;         /* to the server, in this run */
static rv_counter_values was; /* the counters when it began */

/* ---- what must hold -------------------------------------------------------------------------- */

/* The server closes only when it has said so, or has been forced to. */
static void check_fate(const struct client *client)
{
    const struct fuzz_conversation *conversation = &client->conversation;
    bool is_lost = conversation->requests.phase == FUZZ_LOST;
    bool is_forced = client->has_half_closed || client->has_reset || time_has_passed ||
                     has_stopped || fuzz_app_has_failed() || fuzz_memory_has_failed();
    REQUIRE((conversation->is_over && !conversation->was_cut) || is_lost || is_forced);
}

static void take(struct client *client)
{
    struct fuzz_conversation *conversation = &client->conversation;
    fuzz_memory_is_back();
    rv_bytes octets = rv_test_received(client->test);
    received += octets.len;
    fuzz_conversation_received(conversation, octets);
    if (rv_test_closed(client->test) && !conversation->is_closed) {
        fuzz_conversation_closed(conversation);
        check_fate(client);
    }
    REQUIRE(!conversation->is_over || conversation->has_no_end || conversation->is_closed);
}

static void check(void)
{
    rv_counter_values now;
    fuzz_memory_is_back();
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL)
            take(&clients[i]);
    fuzz_require_at_rest(server, fuzz_app_is_suspended);
    fuzz_scribble(server);
    rv_counters(server, &now);
    REQUIRE(now.octets_sent - was.octets_sent == received || fuzz_memory_has_failed());
    REQUIRE(now.octets_received - was.octets_received <= sent);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void disconnect(struct client *client)
{
    if (client->test != NULL)
        rv_test_free(client->test);
    client->test = NULL;
}

/* A full server accepts nobody for a while. */
static void connect_to(struct client *client)
{
    if (client->test != NULL)
        return;
    client->test = rv_test_new(server);
    client->has_half_closed = client->has_reset = false;
    fuzz_conversation_begin(&client->conversation, &fuzz_app_limits, NULL);
}

static void send_piece(struct client *client, rv_bytes octets)
{
    size_t room = fuzz_requests_room(&client->conversation.requests);
    octets.len = octets.len < room ? octets.len : room;
    if (client->test == NULL || octets.len == 0)
        return;
    if (rv_test_send(client->test, octets) != RV_OK)
        return;
    fuzz_conversation_sent(&client->conversation, octets);
    sent += octets.len;
    take(client);
}

static void send_segment(size_t times, bool drip)
{
    size_t once = segment_length;
    connect_to(current);
    if (memory_runs_out)
        fuzz_memory_runs_out(memory_left, memory_fails_for_all);
    memory_runs_out = false;
    for (; times > 1 && once > 0 && once <= SEGMENT_MAX - segment_length; times--) {
        memcpy(segment + segment_length, segment, once);
        segment_length += once;
    }
    size_t at = 0;
    for (; drip && at < segment_length && at < DRIP_MAX; at++)
        send_piece(current, rv_slice(segment + at, 1));
    send_piece(current, rv_slice(segment + at, segment_length - at));
    segment_length = 0;
}

/* The smaller the number, the more exact. */
static uint64_t magnitude(uint8_t octet)
{
    return (uint64_t)(octet & 15) << (octet >> 4);
}

static void half_close(struct client *client)
{
    if (client->test == NULL || rv_test_half_close(client->test) != RV_OK)
        return;
    client->has_half_closed = true;
    client->conversation.is_ending = true;
}

static void stop(void)
{
    if (!has_stopped)
        rv_worker_post_stop(server->workers[0]);
    has_stopped = true;
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i].conversation.is_ending = true;
}

static void answer(uint8_t octet)
{
    fuzz_app_answer(server, octet >> 3, octet & 7);
}

static void settle(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL) {
            rv_test_settle(clients[i].test);
            return;
        }
    rv_worker_turn(server->workers[0], 0);
}

static void advance(uint64_t ms)
{
    time_has_passed = true;
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL) {
            rv_test_advance_ms(clients[i].test, ms);
            return;
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

/* False: the script ends at once. */
static bool operate(uint8_t letter)
{
    switch (letter) {
    case 'a':
        answer(next_octet());
        break;
    case 'c':
        current = &clients[next_octet() % CLIENTS];
        connect_to(current);
        break;
    case 'h':
        half_close(current);
        break;
    case 'm': {
        uint8_t octet = next_octet();
        memory_runs_out = true;
        memory_left = octet / 2;
        memory_fails_for_all = octet % 2 == 1;
        break;
    }
    case 'n':
        disconnect(current);
        connect_to(current);
        break;
    case 'q':
        return false;
    case 'r':
        current->has_reset = true;
        if (current->test != NULL)
            rv_test_reset(current->test);
        break;
    case 'S':
        stop();
        break;
    case 't':
        advance(magnitude(next_octet()) + 1);
        break;
    case 'w': {
        uint8_t octet = next_octet();
        if (current->test != NULL)
            rv_test_window(current->test, octet == 255 ? RV_NO_LIMIT : magnitude(octet));
        break;
    }
    default:
        break;
    }
    settle();
    return true;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* False: it has ended before its end. */
static bool run_script(void)
{
    bool goes_on = true;
    connect_to(current);
    while (goes_on && script.len > 0) {
        uint8_t octet = next_octet();
        bool is_operation = octet == 0xff && script.len > 0 && (uint8_t)script.ptr[0] != 0xff;
        if (!is_operation) {
            if (octet == 0xff)
                next_octet();
            if (segment_length < SEGMENT_MAX)
                segment[segment_length++] = (char)octet;
            continue;
        }
        uint8_t letter = next_octet();
        send_segment(letter == 'x' ? next_octet() : 1, letter == 'd');
        goes_on = operate(letter);
        check();
    }
    if (goes_on)
        send_segment(1, false);
    check();
    return goes_on;
}

static bool is_anyone_open(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL && !rv_test_closed(clients[i].test))
            return true;
    return false;
}

/* No timeout of the server is longer than 30 s; its delayed answers take a second each at most, and
   a connection has a hundred requests. */
static void run_out_of_time(void)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL)
            rv_test_window(clients[i].test, RV_NO_LIMIT);
    for (int i = 0; i < 60 && is_anyone_open(); i++) {
        while (fuzz_app_suspended() > 0) {
            fuzz_app_answer(server, 0, 0);
            settle();
        }
        advance(i < 5 ? 1000 : 20000);
        check();
    }
    REQUIRE(!is_anyone_open());
}

static void begin(void)
{
    if (server == NULL) {
        server = fuzz_app_server(true);
        rv_test_free(rv_test_new(server)); /* makes the worker */
    }
    struct rv_loop *loop = &server->workers[0]->loop;
    rv_sim_advance(loop, CLOCK_PERIOD_MS - loop->now_ms % CLOCK_PERIOD_MS);
    for (int i = 0; i < 2; i++)
        rv_worker_turn(server->workers[0], 0);
    fuzz_app_begin();
    fuzz_memory_begin();
    rv_counters(server, &was);
    current = clients;
    segment_length = 0;
    received = sent = 0;
    time_has_passed = has_stopped = memory_runs_out = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script = rv_slice((const char *)data, size);
    begin();
    if (run_script())
        run_out_of_time();
    for (size_t i = 0; i < CLIENTS; i++)
        disconnect(&clients[i]);
    fuzz_require_empty(server);
    fuzz_app_end();
    if (has_stopped) {
        rv_server_free(server);
        server = NULL;
    }
    return 0;
}
