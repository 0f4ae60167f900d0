/*
 * A load thread on a network in memory: what it sends, how it judges what comes back, and when. The test is
 * the server, and moves the clock. Every test ends with the laws of measurement.
 */
#include "io/sim.h"
#include "load/thread.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEERS_MAX 64
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOk"
#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"

static struct rv_endpoint addresses[2];
static struct rv_load_request requests[2];
static struct rv_load_plan plan;
static struct rv_load_shared shared;
static struct rv_load_thread thread;
static struct rv_sim_peer *peers[PEERS_MAX]; /* connections as the server sees them, in order */
static unsigned peer_count;
static uint64_t start_us;
static bool running;
static bool finished;

/* ---- the world ---------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(addresses, 0, sizeof addresses);
    for (unsigned i = 0; i < 2; i++) {
        addresses[i].sockaddr.ss_family = AF_INET;
        addresses[i].length = sizeof(struct sockaddr_in);
    }
    requests[0] = (struct rv_load_request){.octets = (char *)GET,
                                           .length = strlen(GET),
                                           .head_length = strlen(GET),
                                           .is_idempotent = true,
                                           .content_expected = RV_LENGTH_ANY};
    requests[1] = requests[0];
    plan.target.addresses = addresses;
    plan.target.address_count = 1;
    plan.requests = requests;
    plan.request_count = 1;
    plan.clients = 1;
    plan.timeout_us = 1000000;
    peer_count = 0;
    running = finished = false;
    return 0;
}

/* Opens the thread with the plan as it is now. */
static void begin(void)
{
    shared =
        (struct rv_load_shared){.plan = &plan, .threads = 1, .requests_left = plan.requests_max};
    assert_int_equal(rv_load_thread_open(&thread, &shared, &rv_backend_sim, 0, plan.clients), 0);
    start_us = rv_load_now_us(&thread);
    rv_load_thread_begin(&thread, start_us, 1700000000000000);
    running = true;
}

static void turn(void)
{
    if (running)
        running = rv_load_thread_turn(&thread);
}

/* Turns until nothing happens at this time any more. */
static void settle(void)
{
    for (unsigned i = 0; i < 8; i++)
        turn();
}

static void after_us(uint64_t us)
{
    rv_sim_advance_us(&thread.loop, us);
    settle();
}

static struct rv_load_result *result(void)
{
    return &thread.recorder.result;
}

static void finish(void)
{
    if (finished)
        return;
    finished = true;
    rv_load_thread_finish(&thread);
    result()->clients = plan.clients;
    result()->pipeline = plan.pipeline;
    result()->open_model = plan.model == RV_LOAD_OPEN;
    result()->elapsed_us = thread.end_us - start_us;
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result(), laws);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            fail_msg("violated: %s: %s", laws[i].name, laws[i].numbers);
}

static int tear_down(void **state)
{
    (void)state;
    finish();
    for (unsigned i = 0; i < peer_count; i++)
        rv_sim_peer_free(peers[i]);
    rv_load_thread_close(&thread);
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------------------ */

static struct rv_sim_peer *take_attempt(void)
{
    settle();
    struct rv_sim_peer *peer = rv_sim_take(&thread.loop);
    assert_non_null(peer);
    assert_true(peer_count < PEERS_MAX);
    peers[peer_count++] = peer;
    return peer;
}

static struct rv_sim_peer *accept_one(void)
{
    struct rv_sim_peer *peer = take_attempt();
    rv_sim_accept(peer);
    settle();
    return peer;
}

static void no_attempt(void)
{
    settle();
    assert_int_equal(rv_sim_attempts(&thread.loop), 0);
}

static void expect_request(struct rv_sim_peer *peer, const char *octets)
{
    settle();
    struct rv_buffer *received = rv_sim_received(peer);
    if (received->len < strlen(octets) || memcmp(received->ptr, octets, strlen(octets)) != 0)
        fail_msg("received \"%.*s\", not \"%s\"", (int)received->len, received->ptr, octets);
    rv_buffer_consume(received, strlen(octets));
}

static void expect_silence(struct rv_sim_peer *peer)
{
    settle();
    assert_int_equal(rv_sim_received(peer)->len, 0);
}

static void say(struct rv_sim_peer *peer, const char *octets)
{
    assert_int_equal(rv_sim_send(peer, (rv_bytes){octets, strlen(octets)}), 0);
    settle();
}

static void answer(struct rv_sim_peer *peer)
{
    expect_request(peer, GET);
    say(peer, OK);
}

static void close_it(struct rv_sim_peer *peer)
{
    rv_sim_half_close(peer);
    settle();
}

static void reset_it(struct rv_sim_peer *peer)
{
    rv_sim_reset(peer);
    settle();
}

/* ---- the closed model ------------------------------------------------------------------------------------ */

static void a_client_sends_the_next_request_when_it_has_its_answer(void **state)
{
    (void)state;
    plan.requests_max = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    answer(peer);
    assert_true(running);
    answer(peer);
    assert_false(running);
    assert_int_equal(result()->answered, 3);
    assert_int_equal(result()->started, 3);
    assert_int_equal(result()->connects, 1);
    assert_int_equal(result()->content_octets, 6);
    assert_int_equal(result()->sent_octets, 3 * strlen(GET));
}

static void every_phase_has_its_time(void **state)
{
    (void)state;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = take_attempt();
    after_us(700);
    rv_sim_accept(peer);
    after_us(2500);
    say(peer, "HTTP/1.1 200 OK\r\nContent-Le");
    after_us(1300);
    say(peer, "ngth: 2\r\n\r\nO");
    after_us(40);
    say(peer, "k");
    after_us(900);
    say(peer, OK);
    assert_int_equal(result()->connect.max, 700);
    assert_int_equal(result()->opening.sum, 700);
    assert_int_equal(result()->opening.total, 1);
    assert_int_equal(result()->wait.max, 2500);
    assert_int_equal(result()->wait.min, 900);
    assert_int_equal(result()->transfer.max, 1340);
    assert_int_equal(result()->transfer.min, 0);
    assert_int_equal(result()->total[2].max, 700 + 2500 + 1340);
    assert_int_equal(result()->service.max, 2500 + 1340);
}

static void clients_share_the_requests(void **state)
{
    (void)state;
    plan.requests_max = 4;
    plan.clients = 3;
    begin();
    struct rv_sim_peer *first = accept_one(), *second = accept_one();
    accept_one();
    answer(first);
    answer(first);
    assert_int_equal(result()->started, 4);
    expect_silence(first);
    answer(second);
    assert_true(running); /* the third has not had its answer */
    assert_int_equal(result()->answered, 3);
}

/* More clients than begin in one turn: the first are answered before the last have begun. */
static void every_client_has_a_request_of_its_own(void **state)
{
    (void)state;
    plan.requests_max = 41;
    plan.clients = 40;
    begin();
    turn();
    for (unsigned i = 0; i < 8; i++) {
        struct rv_sim_peer *peer = rv_sim_take(&thread.loop);
        assert_non_null(peer);
        peers[peer_count++] = peer;
        rv_sim_accept(peer);
        assert_int_equal(rv_sim_send(peer, (rv_bytes){OK, strlen(OK)}), 0);
    }
    while (rv_sim_attempts(&thread.loop) > 0)
        answer(accept_one());
    assert_int_equal(result()->connects, 40);
    settle();
    for (unsigned i = 0; i < peer_count; i++)
        if (!rv_sim_is_closed(peers[i]) && rv_sim_received(peers[i])->len > 0)
            rv_sim_send(peers[i], (rv_bytes){OK, strlen(OK)});
    settle();
    assert_int_equal(result()->answered, 41);
    assert_false(running);
}

static void fewer_requests_than_clients_open_fewer_connections(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.clients = 5;
    begin();
    struct rv_sim_peer *first = accept_one(), *second = accept_one();
    no_attempt();
    answer(first);
    answer(second);
    assert_false(running);
}

static void with_a_quota_every_client_has_its_own_requests(void **state)
{
    (void)state;
    plan.quota = 2;
    plan.clients = 2;
    begin();
    struct rv_sim_peer *first = accept_one(), *second = accept_one();
    answer(first);
    answer(first);
    expect_silence(first);
    assert_true(rv_sim_is_closed(first)); /* it does not hold a place that others may need */
    answer(second);
    assert_true(running);
    answer(second);
    assert_false(running);
    assert_int_equal(result()->answered, 4);
}

static void the_time_ends_the_run_and_counts_what_is_in_flight(void **state)
{
    (void)state;
    plan.duration_us = 50000;
    plan.clients = 2;
    begin();
    struct rv_sim_peer *first = accept_one();
    accept_one();
    answer(first);
    after_us(49000);
    assert_true(running);
    after_us(1000);
    assert_false(running);
    finish();
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->in_flight, 2);
    assert_int_equal(result()->unfinished.max, 50000);
    assert_int_equal(result()->elapsed_us, 50000);
}

static void requests_are_sent_in_turn(void **state)
{
    (void)state;
    static const char other[] = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n";
    requests[1].octets = (char *)other;
    requests[1].length = requests[1].head_length = strlen(other);
    plan.request_count = 2;
    plan.requests_max = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    expect_request(peer, other);
    say(peer, OK);
    answer(peer);
    assert_false(running);
}

static void a_client_thinks(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.think_us = 2500;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    after_us(2400);
    expect_silence(peer);
    after_us(100);
    answer(peer);
    assert_false(running);
}

static void a_server_may_close_while_the_client_thinks(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.think_us = 2500;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    close_it(peer);
    no_attempt();
    after_us(2500);
    answer(accept_one());
    assert_int_equal(result()->reopened, 1);
    assert_int_equal(result()->failed, 0);
}

/* ---- connections ------------------------------------------------------------------------------------------ */

static void a_connection_for_each_request(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.close_each = true;
    begin();
    for (unsigned i = 0; i < 3; i++) {
        struct rv_sim_peer *peer = accept_one();
        answer(peer);
        assert_true(rv_sim_is_closed(peer));
    }
    assert_false(running);
    assert_int_equal(result()->connects, 3);
    assert_int_equal(result()->opening.total, 3);
    assert_int_equal(result()->reopened, 0);
}

static void so_many_requests_for_each_connection(void **state)
{
    (void)state;
    plan.requests_max = 5;
    plan.requests_per_connection = 2;
    begin();
    for (unsigned i = 0; i < 2; i++) {
        struct rv_sim_peer *peer = accept_one();
        answer(peer);
        answer(peer);
        assert_true(rv_sim_is_closed(peer));
    }
    answer(accept_one());
    assert_int_equal(result()->connects, 3);
    assert_int_equal(result()->answered, 5);
}

static void a_server_that_says_close_is_no_failure(void **state)
{
    (void)state;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    answer(accept_one());
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->failed, 0);
    assert_int_equal(result()->reopened, 1);
    assert_int_equal(result()->kept_alive, 1);
}

static void what_is_closed_behind_the_last_answer_is_not_opened_again(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert_false(running);
    assert_int_equal(result()->connects, 1);
    assert_int_equal(result()->reopened, 0);
}

/* Who may not connect yet does not wait for the server. */
static void a_request_is_due_when_its_client_may_connect(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.clients = 2;
    plan.connect_rate_per_s = 100;
    begin();
    answer(accept_one());
    no_attempt();
    after_us(10000);
    struct rv_sim_peer *second = accept_one();
    after_us(100);
    answer(second);
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->total[2].max, 100);
}

static void connections_are_opened_at_a_pace(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.clients = 3;
    plan.connect_rate_per_s = 1000;
    begin();
    accept_one();
    no_attempt();
    after_us(900);
    no_attempt();
    after_us(100);
    accept_one();
    no_attempt();
    after_us(1000);
    accept_one();
}

static void a_request_that_met_a_closing_connection_is_sent_again(void **state)
{
    (void)state;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    expect_request(peer, GET);
    after_us(100);
    close_it(peer);
    after_us(100);
    struct rv_sim_peer *second = accept_one();
    after_us(100);
    answer(second);
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->races, 1);
    assert_int_equal(result()->failed, 0);
    assert_int_equal(result()->total[2].max, 300); /* from when it was due */
}

static void a_reset_of_an_idle_connection_is_the_same_race(void **state)
{
    (void)state;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    reset_it(peer);
    answer(accept_one());
    assert_int_equal(result()->races, 1);
    assert_int_equal(result()->failed, 0);
}

static void a_request_is_sent_again_only_once(void **state)
{
    (void)state;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    close_it(peer);
    close_it(accept_one());
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_CLOSED], 1);
    assert_false(running);
}

static void a_request_that_changes_things_is_not_sent_again(void **state)
{
    (void)state;
    requests[0].octets = (char *)POST;
    requests[0].length = requests[0].head_length = strlen(POST);
    requests[0].is_idempotent = false;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, POST);
    say(peer, OK);
    expect_request(peer, POST);
    close_it(peer);
    assert_int_equal(result()->races, 0);
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_CLOSED], 1);
}

static void an_answer_to_nothing_is_a_close(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.think_us = 1000;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    say(peer, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    after_us(1000);
    answer(accept_one());
    assert_int_equal(result()->failed, 0);
    assert_int_equal(result()->statuses[408], 0);
    assert_int_equal(result()->answered, 2);
}

/* ---- forms of answers -------------------------------------------------------------------------------------- */

/* The same answer whole, and octet by octet; `closes`: its end is the end of the connection. */
static void expect_content(const char *octets, uint64_t content, bool closes)
{
    plan.requests_max = 2;
    plan.close_each = closes;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, octets);
    if (closes) {
        close_it(peer);
        peer = accept_one();
    }
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->content_octets, content);
    expect_request(peer, GET);
    for (const char *at = octets; *at != '\0'; at++)
        assert_int_equal(rv_sim_send(peer, (rv_bytes){at, 1}), 0), turn();
    if (closes)
        close_it(peer);
    settle();
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->content_octets, 2 * content);
    assert_int_equal(result()->failed, 0);
    assert_false(running);
}

static void content_with_a_length(void **state)
{
    (void)state;
    expect_content(OK, 2, false);
}

static void chunked_content_with_trailers(void **state)
{
    (void)state;
    expect_content("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "4;x=y\r\nabcd\r\n1\r\ne\r\n0\r\nA: b\r\n\r\n",
                   5, false);
}

static void content_until_the_close(void **state)
{
    (void)state;
    expect_content("HTTP/1.1 200 OK\r\n\r\nabcdef", 6, true);
}

static void an_answer_of_http_1_0_with_keep_alive(void **state)
{
    (void)state;
    expect_content("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 1,
                   false);
}

static void interim_answers_are_passed_over(void **state)
{
    (void)state;
    expect_content("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" OK,
                   2, false);
    assert_int_equal(result()->interim, 4);
    assert_int_equal(result()->statuses[200], 2);
}

static void the_first_octet_is_that_of_the_final_answer(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct rv_sim_peer *peer = accept_one();
    after_us(100);
    say(peer, "HTTP/1.1 103 Early Hints\r\n\r\n");
    after_us(5000);
    answer(peer);
    assert_int_equal(result()->wait.max, 5100);
    assert_int_equal(result()->transfer.max, 0);
}

static void an_answer_without_content(void **state)
{
    (void)state;
    expect_content("HTTP/1.1 204 No Content\r\n\r\n", 0, false);
}

static void not_modified_has_no_content_whatever_it_says(void **state)
{
    (void)state;
    expect_content("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", 0, false);
}

static void an_answer_to_head_has_no_content(void **state)
{
    (void)state;
    requests[0].is_head = true;
    expect_content("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", 0, false);
}

static void a_large_body_is_dropped_and_counted(void **state)
{
    (void)state;
    static char block[100000];
    memset(block, 'x', sizeof block);
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc");
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(rv_sim_send(peer, (rv_bytes){block, sizeof block}), 0), settle();
    assert_int_equal(rv_sim_send(peer, (rv_bytes){block, sizeof block - 3}), 0);
    settle();
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->content_octets, 1000000);
    answer(peer); /* the connection is where it should be */
    assert_int_equal(result()->answered, 2);
}

static void an_end_in_a_large_body_is_a_short_body(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\nabc");
    say(peer, "def");
    close_it(peer);
    assert_int_equal(result()->failures[RV_FAILURE_BODY_SHORT], 1);
}

static void a_large_body_until_the_close_is_counted(void **state)
{
    (void)state;
    static char block[100000];
    plan.requests_max = 1;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\n\r\nabc");
    assert_int_equal(rv_sim_send(peer, (rv_bytes){block, sizeof block}), 0);
    settle();
    assert_int_equal(result()->answered, 0);
    close_it(peer);
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->content_octets, 100003);
}

static void a_changed_head_is_not_taken_for_the_last_one(void **state)
{
    (void)state;
    plan.requests_max = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 404 Nix\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(result()->content_octets, 5);
    assert_int_equal(result()->statuses[404], 1);
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

/* The server says this in answer to the first request, and then `end`s; the second request is answered. */
static void expect_failure(enum rv_load_failure failure, const char *octets,
                           void (*end)(struct rv_sim_peer *peer))
{
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    if (*octets != '\0')
        say(peer, octets);
    if (end != NULL)
        end(peer);
    settle();
    if (result()->failures[failure] != 1)
        for (unsigned i = 0; i < RV_FAILURE_COUNT; i++)
            if (result()->failures[i] > 0)
                print_message("%s: %u\n", rv_load_failure_name(i), (unsigned)result()->failures[i]);
    assert_int_equal(result()->failures[failure], 1);
    assert_int_equal(result()->failed, 1);
    assert_true(rv_sim_is_closed(peer));
    answer(accept_one());
    assert_int_equal(result()->answered, 1);
    assert_false(running);
}

static void a_close_before_the_first_octet(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_WAIT_CLOSED, "", close_it);
}

static void a_reset_before_the_first_octet(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_WAIT_RESET, "", reset_it);
    assert_int_equal(result()->errno_count, 1);
    assert_int_equal(result()->errnos[0].error_number, ECONNRESET);
}

static void a_close_in_the_head(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_HEAD_CLOSED, "HTTP/1.1 200 OK\r\nCon", close_it);
}

static void a_reset_in_the_head(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_HEAD_RESET, "HTTP/1.1 200 OK\r\nCon", reset_it);
}

static void garbage(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_HEAD_MALFORMED, "SSH-2.0-OpenSSH_9.2\r\n\r\n", NULL);
}

static void a_close_in_the_body(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_BODY_SHORT, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
                   close_it);
}

static void a_close_in_a_chunk(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_BODY_SHORT,
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", close_it);
}

static void a_reset_in_the_body(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_BODY_RESET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
                   reset_it);
}

static void a_bad_chunk(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_BODY_MALFORMED,
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", NULL);
}

static void octets_behind_the_body(void **state)
{
    (void)state;
    expect_failure(RV_FAILURE_BODY_LONG, OK "y", NULL);
}

static void content_of_the_wrong_length(void **state)
{
    (void)state;
    requests[0].content_expected = 3;
    plan.requests_max = 2;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    expect_request(peer, GET); /* the connection is fine */
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    assert_int_equal(result()->failures[RV_FAILURE_BODY_LENGTH], 1);
    assert_int_equal(result()->answered, 1);
}

static void another_length_than_the_first_is_counted_apart(void **state)
{
    (void)state;
    plan.first_length_counts = true;
    plan.requests_max = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    answer(peer);
    expect_request(peer, GET);
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    assert_int_equal(result()->answered, 3);
    assert_int_equal(result()->other_length, 1);
    assert_int_equal(result()->first_content, 2);
}

static void a_head_without_end(void **state)
{
    (void)state;
    plan.head_bytes_max = 64;
    expect_failure(RV_FAILURE_HEAD_MALFORMED,
                   "HTTP/1.1 200 OK\r\nA: "
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                   NULL);
}

/* ---- time limits ------------------------------------------------------------------------------------------- */

static void expect_timeout(enum rv_load_failure failure, const char *octets)
{
    plan.requests_max = 1;
    plan.timeout_us = 50000;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    after_us(40000);
    if (*octets != '\0')
        say(peer, octets);
    after_us(9000);
    assert_int_equal(result()->failed, 0);
    after_us(3000);
    assert_int_equal(result()->failures[failure], 1);
    assert_true(rv_sim_is_closed(peer));
    assert_false(running);
}

static void no_answer_in_time(void **state)
{
    (void)state;
    expect_timeout(RV_FAILURE_WAIT_TIMEOUT, "");
}

static void half_a_head_in_time(void **state)
{
    (void)state;
    expect_timeout(RV_FAILURE_HEAD_TIMEOUT, "HTTP/1.1 200 OK\r\n");
}

static void half_a_body_in_time(void **state)
{
    (void)state;
    expect_timeout(RV_FAILURE_BODY_TIMEOUT, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
}

static void a_request_that_is_not_taken_in_time(void **state)
{
    (void)state;
    plan.requests_max = 1;
    plan.timeout_us = 50000;
    begin();
    struct rv_sim_peer *peer = take_attempt();
    rv_sim_set_window(peer, 4);
    rv_sim_accept(peer);
    settle();
    after_us(52000);
    assert_int_equal(result()->failures[RV_FAILURE_SEND_TIMEOUT], 1);
}

static void no_connection_in_time(void **state)
{
    (void)state;
    plan.requests_max = 1;
    plan.connect_timeout_us = 20000;
    begin();
    take_attempt();
    after_us(19000);
    assert_int_equal(result()->failed, 0);
    after_us(3000);
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_TIMEOUT], 1);
    after_us(2000);
    assert_false(running);
}

static void a_steady_connection_never_times_out(void **state)
{
    (void)state;
    plan.requests_max = 100;
    plan.timeout_us = 50000;
    begin();
    struct rv_sim_peer *peer = accept_one();
    for (unsigned i = 0; i < 100; i++) {
        after_us(20000);
        answer(peer);
    }
    assert_int_equal(result()->answered, 100);
    assert_int_equal(result()->failed, 0);
}

static void a_time_limit_of_connecting_ends_with_the_connection(void **state)
{
    (void)state;
    plan.requests_max = 1;
    plan.timeout_us = 0;
    plan.connect_timeout_us = 20000;
    begin();
    struct rv_sim_peer *peer = accept_one();
    after_us(100000);
    answer(peer);
    assert_int_equal(result()->answered, 1);
}

/* ---- failing to connect ------------------------------------------------------------------------------------- */

static void a_refused_client_pauses_longer_and_longer(void **state)
{
    (void)state;
    plan.duration_us = 1000000;
    begin();
    for (unsigned pause_ms = 1; pause_ms <= 64; pause_ms *= 2) {
        rv_sim_refuse(take_attempt(), ECONNREFUSED);
        no_attempt();
        after_us((pause_ms - 1) * 1000);
        no_attempt();
        after_us(2000);
        assert_int_equal(rv_sim_attempts(&thread.loop), 1);
    }
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_REFUSED], 7);
    answer(accept_one()); /* and finds the server when it is back */
    assert_int_equal(result()->answered, 1);
    assert_int_equal(thread.recorder.view.clients_refused, 1);
}

static void what_fails_at_once_is_a_failure_like_others(void **state)
{
    (void)state;
    static const struct {
        int error_number;
        enum rv_load_failure failure;
    } cases[] = {{EADDRNOTAVAIL, RV_FAILURE_CONNECT_PORTS},
                 {EMFILE, RV_FAILURE_CONNECT_DESCRIPTORS},
                 {ENETUNREACH, RV_FAILURE_CONNECT_UNREACHABLE},
                 {ECONNREFUSED, RV_FAILURE_CONNECT_REFUSED}};
    plan.requests_max = 4;
    begin();
    for (unsigned i = 0; i < 4; i++) {
        rv_sim_fail_attempts(&thread.loop, cases[i].error_number);
        after_us(i == 0 ? 0 : (1000u << (i - 1)) + 100); /* the pause after the one before */
        assert_int_equal(result()->failures[cases[i].failure], 1);
        assert_int_equal(result()->errnos[i].error_number, cases[i].error_number);
    }
    after_us(9000);
    assert_false(running);
    rv_sim_fail_attempts(&thread.loop, 0);
}

/* A unix socket has no handshake in which a client could wait for room. */
static void a_full_accept_queue_of_a_unix_socket_is_waited_for(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    rv_sim_fail_attempts(&thread.loop, EAGAIN);
    no_attempt();
    after_us(2000);
    assert_int_equal(result()->failed, 0);
    rv_sim_fail_attempts(&thread.loop, 0);
    after_us(4000);
    answer(accept_one());
    assert_int_equal(result()->answered, 1);
}

static void the_second_address_is_tried_when_the_first_refuses(void **state)
{
    (void)state;
    plan.target.address_count = 2;
    plan.requests_max = 2;
    plan.close_each = true;
    begin();
    rv_sim_refuse(take_attempt(), ECONNREFUSED);
    struct rv_sim_peer *peer = accept_one();
    assert_int_equal(result()->connects_tried, 2);
    answer(peer);
    answer(accept_one()); /* from now on it comes first */
    assert_int_equal(result()->connects_tried, 3);
    assert_int_equal(result()->failed, 0);
}

static void a_request_fails_when_all_addresses_refuse(void **state)
{
    (void)state;
    plan.target.address_count = 2;
    plan.requests_max = 1;
    begin();
    rv_sim_refuse(take_attempt(), ECONNREFUSED);
    rv_sim_refuse(take_attempt(), EHOSTUNREACH);
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_UNREACHABLE], 1);
    no_attempt();
    after_us(2000);
    assert_false(running);
}

static void so_many_failures_end_the_run(void **state)
{
    (void)state;
    plan.duration_us = 1000000;
    plan.receive_failures_max = 1;
    begin();
    reset_it(accept_one());
    assert_false(running);
    assert_int_equal(result()->failed, 1);
}

/* ---- pipelining ------------------------------------------------------------------------------------------------ */

static void a_pipeline_is_kept_full(void **state)
{
    (void)state;
    plan.requests_max = 6;
    plan.pipeline = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET GET GET);
    say(peer, OK OK);
    expect_request(peer, GET GET);
    expect_silence(peer);
    say(peer, OK OK OK);
    expect_request(peer, GET);
    say(peer, OK);
    assert_int_equal(result()->answered, 6);
    assert_false(running);
}

static void what_a_closing_server_left_unanswered_is_sent_again(void **state)
{
    (void)state;
    plan.requests_max = 4;
    plan.pipeline = 4;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET GET GET GET);
    say(peer, OK "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    peer = accept_one();
    expect_request(peer, GET GET);
    say(peer, OK OK);
    assert_int_equal(result()->answered, 4);
    assert_int_equal(result()->failed, 0);
}

static void a_pipeline_stays_within_the_requests_of_a_connection(void **state)
{
    (void)state;
    plan.requests_max = 5;
    plan.pipeline = 4;
    plan.requests_per_connection = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET GET GET);
    expect_silence(peer);
    say(peer, OK OK OK);
    assert_true(rv_sim_is_closed(peer));
    peer = accept_one();
    expect_request(peer, GET GET);
    say(peer, OK OK);
    assert_int_equal(result()->answered, 5);
    assert_false(running);
}

static void only_the_oldest_of_a_pipeline_fails(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.pipeline = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    reset_it(peer);
    peer = accept_one();
    expect_request(peer, GET GET);
    say(peer, OK OK);
    assert_int_equal(result()->failures[RV_FAILURE_BODY_RESET], 1);
    assert_int_equal(result()->answered, 2);
}

static void what_changes_things_is_not_sent_twice_from_a_pipeline(void **state)
{
    (void)state;
    requests[0].octets = (char *)POST;
    requests[0].length = requests[0].head_length = strlen(POST);
    requests[0].is_idempotent = false;
    plan.requests_max = 5;
    plan.pipeline = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, POST POST POST);
    say(peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_CLOSED], 2);
    peer = accept_one();
    expect_request(peer, POST POST);
    expect_silence(peer);
    say(peer, OK OK);
    assert_int_equal(result()->answered, 3);
    assert_false(running);
}

/* ---- the open model --------------------------------------------------------------------------------------------- */

static void set_open(double rate_per_s, uint32_t clients)
{
    plan.model = RV_LOAD_OPEN;
    plan.rate_per_s = rate_per_s;
    plan.clients = clients;
}

static void requests_are_sent_when_they_are_due(void **state)
{
    (void)state;
    set_open(1000, 4);
    plan.duration_us = 10000;
    begin();
    struct rv_sim_peer *first = accept_one();
    after_us(1000);
    struct rv_sim_peer *second = accept_one();
    answer(first); /* not in time for the second one */
    after_us(900);
    expect_request(second, GET);
    expect_silence(second);
    say(second, OK);
    after_us(100);
    expect_request(second, GET); /* the last one used comes first */
    expect_silence(first);
    assert_int_equal(result()->started, 3);
    assert_int_equal(result()->lateness.max, 0);
    assert_int_equal(result()->queued, 0);
}

static void latency_counts_from_the_due_time(void **state)
{
    (void)state;
    set_open(1000, 1);
    plan.duration_us = 100000;
    begin();
    struct rv_sim_peer *peer = accept_one();
    expect_request(peer, GET);
    after_us(4500); /* at 1, 2, 3 and 4 ms others were due */
    say(peer, OK);
    expect_request(peer, GET);
    assert_int_equal(result()->lateness.max, 3500);
    after_us(100);
    say(peer, OK);
    assert_int_equal(result()->total[2].max, 4500);
    expect_request(peer, GET);
    after_us(100);
    say(peer, OK);
    assert_int_equal(result()->total[2].total, 3);
    assert_int_equal(result()->total[2].sum, 4500 + 3600 + 2700);
    assert_int_equal(result()->service.sum, 4500 + 100 + 100);
    assert_int_equal(result()->queued, 3);
}

static void what_was_due_and_never_sent_is_counted(void **state)
{
    (void)state;
    set_open(1000, 2);
    plan.duration_us = 10000;
    begin();
    accept_one();
    after_us(1000);
    accept_one();
    after_us(9000);
    assert_false(running);
    finish();
    assert_int_equal(result()->started, 2);
    assert_int_equal(result()->in_flight, 2);
    assert_int_equal(result()->not_started, 8);
    assert_int_equal(result()->due, 10);
}

static void so_many_requests_of_a_schedule(void **state)
{
    (void)state;
    set_open(1000, 2);
    plan.requests_max = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    for (unsigned i = 0; i < 3; i++) {
        answer(peer);
        after_us(1000);
    }
    assert_false(running);
    finish();
    assert_int_equal(result()->answered, 3);
    assert_int_equal(result()->not_started, 0);
}

static void a_failed_client_of_a_schedule_comes_back(void **state)
{
    (void)state;
    set_open(1000, 1);
    plan.duration_us = 100000;
    begin();
    rv_sim_refuse(take_attempt(), ECONNREFUSED);
    no_attempt();
    after_us(2000);
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_REFUSED], 1);
    assert_int_equal(result()->answered, 1);
    close_it(peer); /* with the next one, that was due meanwhile, under way */
    peer = accept_one();
    answer(peer);
    assert_int_equal(result()->races, 1);
    close_it(peer); /* idle */
    after_us(1000);
    answer(accept_one());
    assert_int_equal(result()->failed, 1);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

static void a_run_that_is_stopped_counts_what_is_under_way(void **state)
{
    (void)state;
    plan.requests_max = 1000;
    plan.clients = 3;
    begin();
    struct rv_sim_peer *peer = accept_one();
    answer(peer);
    take_attempt();
    rv_loop_post(&thread.loop, &thread.stop);
    settle();
    assert_false(running);
    finish();
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->in_flight, 3);
}

static void the_end_finds_a_client_between_two_addresses(void **state)
{
    (void)state;
    plan.target.address_count = 2;
    plan.duration_us = 10000;
    begin();
    rv_sim_refuse(take_attempt(), ECONNREFUSED);
    rv_sim_advance_us(&thread.loop, 10000);
    settle();
    assert_false(running);
    finish();
    assert_int_equal(result()->in_flight, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_sends_the_next_request_when_it_has_its_answer),
        TEST(every_phase_has_its_time),
        TEST(clients_share_the_requests),
        TEST(every_client_has_a_request_of_its_own),
        TEST(fewer_requests_than_clients_open_fewer_connections),
        TEST(with_a_quota_every_client_has_its_own_requests),
        TEST(the_time_ends_the_run_and_counts_what_is_in_flight),
        TEST(requests_are_sent_in_turn),
        TEST(a_client_thinks),
        TEST(a_server_may_close_while_the_client_thinks),
        TEST(a_connection_for_each_request),
        TEST(so_many_requests_for_each_connection),
        TEST(a_server_that_says_close_is_no_failure),
        TEST(what_is_closed_behind_the_last_answer_is_not_opened_again),
        TEST(connections_are_opened_at_a_pace),
        TEST(a_request_is_due_when_its_client_may_connect),
        TEST(a_request_that_met_a_closing_connection_is_sent_again),
        TEST(a_reset_of_an_idle_connection_is_the_same_race),
        TEST(a_request_is_sent_again_only_once),
        TEST(a_request_that_changes_things_is_not_sent_again),
        TEST(an_answer_to_nothing_is_a_close),
        TEST(content_with_a_length),
        TEST(chunked_content_with_trailers),
        TEST(content_until_the_close),
        TEST(an_answer_of_http_1_0_with_keep_alive),
        TEST(interim_answers_are_passed_over),
        TEST(the_first_octet_is_that_of_the_final_answer),
        TEST(an_answer_without_content),
        TEST(not_modified_has_no_content_whatever_it_says),
        TEST(an_answer_to_head_has_no_content),
        TEST(a_large_body_is_dropped_and_counted),
        TEST(an_end_in_a_large_body_is_a_short_body),
        TEST(a_large_body_until_the_close_is_counted),
        TEST(a_changed_head_is_not_taken_for_the_last_one),
        TEST(a_close_before_the_first_octet),
        TEST(a_reset_before_the_first_octet),
        TEST(a_close_in_the_head),
        TEST(a_reset_in_the_head),
        TEST(garbage),
        TEST(a_close_in_the_body),
        TEST(a_close_in_a_chunk),
        TEST(a_reset_in_the_body),
        TEST(a_bad_chunk),
        TEST(octets_behind_the_body),
        TEST(content_of_the_wrong_length),
        TEST(another_length_than_the_first_is_counted_apart),
        TEST(a_head_without_end),
        TEST(no_answer_in_time),
        TEST(half_a_head_in_time),
        TEST(half_a_body_in_time),
        TEST(a_request_that_is_not_taken_in_time),
        TEST(no_connection_in_time),
        TEST(a_steady_connection_never_times_out),
        TEST(a_time_limit_of_connecting_ends_with_the_connection),
        TEST(a_refused_client_pauses_longer_and_longer),
        TEST(what_fails_at_once_is_a_failure_like_others),
        TEST(a_full_accept_queue_of_a_unix_socket_is_waited_for),
        TEST(the_second_address_is_tried_when_the_first_refuses),
        TEST(a_request_fails_when_all_addresses_refuse),
        TEST(so_many_failures_end_the_run),
        TEST(a_pipeline_is_kept_full),
        TEST(what_a_closing_server_left_unanswered_is_sent_again),
        TEST(a_pipeline_stays_within_the_requests_of_a_connection),
        TEST(only_the_oldest_of_a_pipeline_fails),
        TEST(what_changes_things_is_not_sent_twice_from_a_pipeline),
        TEST(requests_are_sent_when_they_are_due),
        TEST(latency_counts_from_the_due_time),
        TEST(what_was_due_and_never_sent_is_counted),
        TEST(so_many_requests_of_a_schedule),
        TEST(a_failed_client_of_a_schedule_comes_back),
        TEST(a_run_that_is_stopped_counts_what_is_under_way),
        TEST(the_end_finds_a_client_between_two_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
