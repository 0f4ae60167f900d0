/*
 * A load thread that speaks HTTP/2 on a network in memory: how many requests it sends at once, what it
 * makes of answers, resets and GOAWAY, and what it sends again. The test is the server, and moves the clock.
 * Every test ends with the laws of measurement.
 */
#include "http/h2.h"
#include "io/sim.h"
#include "load/h2_request.h"
#include "load/thread.h"
#include "random.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEERS_MAX 16
#define SEEN_MAX 64

/* A request as the server has it. */
struct seen {
    uint32_t id;
    char fields[512]; /* "name: value\n" each */
    size_t content;
    uint32_t closed_with;
    bool ended, closed;
    size_t answer_left; /* octets of content to give, all "k" */
    size_t answer_now;  /* of them, those that may be given already */
};

struct peer {
    struct rv_sim_peer *sim;
    struct rv_h2 *h2; /* NULL: it speaks something else */
    struct seen seen[SEEN_MAX];
    unsigned count;
    unsigned goaways;
};

static struct rv_endpoint address;
static struct rv_load_request requests[2];
static struct rv_load_plan plan;
static struct rv_load_shared shared;
static struct rv_load_thread thread;
static struct peer peers[PEERS_MAX]; /* in the order in which they were accepted */
static unsigned peer_count;
static uint32_t streams_max;
static uint64_t start_us;
static bool running, finished;

/* ---- the world ---------------------------------------------------------------------------------------- */

static void build(struct rv_load_request *request, const char *method, const char *path,
                  const char *body)
{
    char why[256];
    static const struct rv_request_field fields[] = {{"Keep-Alive", "timeout=5"}, {"X-Own", "Yes"}};
    const struct rv_request_parts parts = {
        .method = method,
        .target = rv_str(path),
        .authority = "a:81",
        .user_agent = "test",
        .says_close = true,
        .http2 = true,
        .fields = fields,
        .field_count = 2,
        .has_body = body != NULL,
        .body = body == NULL ? (rv_bytes){0} : rv_str(body),
    };
    assert_int_equal(rv_request_build(&parts, request, why), 0);
    assert_int_equal(rv_h2_request_make(request, false), 0);
}

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(&address, 0, sizeof address);
    memset(peers, 0, sizeof peers);
    address.sockaddr.ss_family = AF_INET;
    address.length = sizeof(struct sockaddr_in);
    build(&requests[0], "GET", "/ok", NULL);
    build(&requests[1], "POST", "/form", "a=1&b=2");
    plan.target.addresses = &address;
    plan.target.address_count = 1;
    plan.requests = requests;
    plan.request_count = 1;
    plan.clients = 1;
    plan.timeout_us = 1000000;
    plan.http2 = true;
    plan.streams = 1;
    streams_max = 100;
    peer_count = 0;
    running = finished = false;
    return 0;
}

static void begin(void)
{
    shared =
        (struct rv_load_shared){.plan = &plan, .threads = 1, .requests_left = plan.requests_max};
    assert_int_equal(rv_load_thread_open(&thread, &shared, &rv_backend_sim, 0, plan.clients), 0);
    start_us = rv_load_now_us(&thread);
    rv_load_thread_begin(&thread, start_us, 1700000000000000);
    running = true;
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
    result()->http2 = true;
    result()->streams = plan.streams;
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
    for (unsigned i = 0; i < peer_count; i++) {
        rv_h2_free(peers[i].h2);
        rv_sim_peer_free(peers[i].sim);
    }
    rv_load_thread_close(&thread);
    rv_request_free(&requests[0]);
    rv_request_free(&requests[1]);
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------------------ */

static void *on_open(void *owner, uint32_t id)
{
    struct peer *peer = owner;
    assert_true(peer->count < SEEN_MAX);
    struct seen *seen = &peer->seen[peer->count++];
    seen->id = id;
    return seen;
}

static uint32_t on_field(void *owner, void *stream, rv_bytes name, rv_bytes value)
{
    struct seen *seen = stream;
    size_t used = strlen(seen->fields);
    (void)owner;
    snprintf(seen->fields + used, sizeof seen->fields - used, "%.*s: %.*s\n", (int)name.len,
             name.ptr, (int)value.len, value.ptr);
    return 0;
}

static void on_fields_end(void *owner, void *stream, bool last)
{
    (void)owner;
    ((struct seen *)stream)->ended = last;
}

static void on_data(void *owner, void *stream, rv_bytes octets)
{
    (void)owner;
    ((struct seen *)stream)->content += octets.len;
}

static void on_end(void *owner, void *stream)
{
    (void)owner;
    ((struct seen *)stream)->ended = true;
}

static enum rv_h2_pull on_pull(void *owner, void *stream, size_t room, size_t *octets)
{
    struct seen *seen = stream;
    (void)owner;
    if (seen->answer_now == 0 && seen->answer_left > 0)
        return RV_H2_PULL_WAIT;
    *octets = seen->answer_now < room ? seen->answer_now : room;
    return *octets == seen->answer_left ? RV_H2_PULL_LAST : RV_H2_PULL_MORE;
}

static bool on_send(void *owner, void *stream, rv_bytes frame_head, size_t octets)
{
    struct peer *peer = owner;
    struct seen *seen = stream;
    rv_sim_send(peer->sim, frame_head); /* which may be closed by now */
    for (size_t i = 0; i < octets; i++)
        rv_sim_send(peer->sim, RV_LIT("k"));
    seen->answer_now -= octets;
    seen->answer_left -= octets;
    return true;
}

static void on_closed(void *owner, void *stream, uint32_t code)
{
    struct seen *seen = stream;
    (void)owner;
    seen->closed = true;
    seen->closed_with = code;
}

static void on_goaway(void *owner, uint32_t last_id, uint32_t code, rv_bytes debug)
{
    (void)last_id, (void)code, (void)debug;
    ((struct peer *)owner)->goaways++;
}

static const struct rv_h2_events server_events = {
    .on_open = on_open,
    .on_field = on_field,
    .on_fields_end = on_fields_end,
    .on_data = on_data,
    .on_end = on_end,
    .on_pull = on_pull,
    .on_send = on_send,
    .on_closed = on_closed,
    .on_goaway = on_goaway,
};

static void turns(void)
{
    for (unsigned i = 0; i < 8; i++)
        if (running)
            running = rv_load_thread_turn(&thread);
}

/* What has arrived is read, and what there is to say is said. */
static void pump(struct peer *peer)
{
    turns();
    struct rv_buffer *received = rv_sim_received(peer->sim);
    rv_bytes octets = {received->ptr, received->len};
    if (peer->h2 == NULL)
        return;
    rv_h2_receive(peer->h2, octets);
    rv_buffer_consume(received, octets.len);
    for (int output; (output = rv_h2_output(peer->h2, &octets)) > RV_H2_OUTPUT_NONE &&
                     !rv_sim_is_closed(peer->sim);)
        if (output == RV_H2_OUTPUT_OCTETS)
            assert_int_equal(rv_sim_send(peer->sim, octets), 0);
    turns();
}

/* Until nothing happens at this time any more. */
static void settle(void)
{
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < peer_count; i++)
            pump(&peers[i]);
    turns();
}

static void after_us(uint64_t us)
{
    rv_sim_advance_us(&thread.loop, us);
    settle();
}

/* A connection whose server says nothing yet. */
static struct peer *accept_silent(void)
{
    turns();
    assert_true(peer_count < PEERS_MAX);
    struct peer *peer = &peers[peer_count];
    peer->sim = rv_sim_take(&thread.loop);
    assert_non_null(peer->sim);
    peer_count++;
    rv_sim_accept(peer->sim);
    turns();
    return peer;
}

static struct peer *accept_one(void)
{
    struct peer *peer = accept_silent();
    const struct rv_h2_settings settings = {
        .streams_max = streams_max,
        .stream_window_bytes = 1 << 20,
        .connection_window_bytes = 1 << 20,
        .head_bytes_max = 1 << 16,
        .grows_windows = true,
        .events = &server_events,
    };
    peer->h2 = rv_h2_new(&settings, peer);
    assert_non_null(peer->h2);
    settle();
    return peer;
}

static void no_attempt(void)
{
    settle();
    assert_int_equal(rv_sim_attempts(&thread.loop), 0);
}

static void respond(struct peer *peer, unsigned which, const char *status, size_t content,
                    size_t now)
{
    const struct rv_h2_field fields[] = {{RV_LIT(":status"), rv_str(status)},
                                         {RV_LIT("server"), RV_LIT("test/1")}};
    struct seen *seen = &peer->seen[which];
    seen->answer_left = content;
    seen->answer_now = now;
    assert_int_equal(rv_h2_respond(peer->h2, seen->id, fields, 2, content > 0), 0);
    settle();
}

static void answer(struct peer *peer, unsigned which)
{
    respond(peer, which, "200", 2, 2);
}

/* Octets of a frame that the server's library would not send. */
static void say_frame(struct peer *peer, uint8_t type, uint8_t flags, uint32_t id, rv_bytes payload)
{
    char head[RV_H2_FRAME_HEAD_BYTES] = {(char)(payload.len >> 16),
                                         (char)(payload.len >> 8),
                                         (char)payload.len,
                                         (char)type,
                                         (char)flags,
                                         (char)(id >> 24),
                                         (char)(id >> 16),
                                         (char)(id >> 8),
                                         (char)id};
    char frame[64];
    memcpy(frame, head, sizeof head);
    memcpy(frame + sizeof head, payload.ptr, payload.len);
    assert_int_equal(rv_sim_send(peer->sim, rv_slice(frame, sizeof head + payload.len)), 0);
    settle();
}

static void say_goaway(struct peer *peer, uint32_t last_id, uint8_t code)
{
    char payload[8] = {(char)(last_id >> 24),
                       (char)(last_id >> 16),
                       (char)(last_id >> 8),
                       (char)last_id,
                       0,
                       0,
                       0,
                       (char)code};
    say_frame(peer, RV_H2_GOAWAY, 0, 0, rv_slice(payload, sizeof payload));
}

static uint64_t codes_of(enum rv_load_failure failure, uint32_t code)
{
    for (uint32_t i = 0; i < result()->code_count; i++)
        if (result()->codes[i].failure == failure && result()->codes[i].code == code)
            return result()->codes[i].count;
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------------------- */

static void a_request_is_fields_and_none_of_the_connection(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct peer *peer = accept_one();
    assert_int_equal(peer->count, 1);
    assert_string_equal(peer->seen[0].fields, ":method: GET\n:scheme: http\n:path: /ok\n"
                                              ":authority: a:81\nuser-agent: test\nx-own: Yes\n");
    assert_true(peer->seen[0].ended);
    answer(peer, 0);
    assert_false(running);
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->statuses[200], 1);
    assert_int_equal(result()->content_octets, 2);
    assert_string_equal(result()->server_software, "test/1");
}

static void as_many_requests_as_streams_share_a_connection(void **state)
{
    (void)state;
    plan.requests_max = 6;
    plan.streams = 3;
    begin();
    struct peer *peer = accept_one();
    assert_int_equal(peer->count, 3);
    answer(peer, 1); /* in any order */
    assert_int_equal(peer->count, 4);
    for (unsigned i = 0; i < 6; i++)
        if (i != 1)
            answer(peer, i);
    assert_int_equal(result()->answered, 6);
    assert_int_equal(result()->connects, 1);
    assert_false(running);
}

static void every_phase_has_its_time(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    turns();
    rv_sim_advance_us(&thread.loop, 700);
    struct peer *peer = accept_one();
    after_us(2500);
    respond(peer, 0, "200", 4, 1);
    after_us(1300);
    peer->seen[0].answer_now = 3;
    rv_h2_resume(peer->h2, peer->seen[0].id);
    settle();
    assert_int_equal(result()->opening.sum, 700);
    assert_int_equal(result()->wait.sum, 2500);
    assert_int_equal(result()->transfer.sum, 1300);
    assert_int_equal(result()->total[2].sum, 4500);
}

static void an_interim_answer_is_none(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct peer *peer = accept_one();
    assert_int_equal(rv_h2_respond_interim(peer->h2, peer->seen[0].id, 103), 0);
    after_us(500);
    assert_int_equal(result()->interim, 1);
    assert_true(running);
    respond(peer, 0, "404", 0, 0);
    assert_int_equal(result()->statuses[404], 1);
    assert_int_equal(result()->wait.sum, 500);
}

static void a_body_is_sent_whole(void **state)
{
    (void)state;
    plan.requests = &requests[1];
    plan.requests_max = 1;
    begin();
    struct peer *peer = accept_one();
    assert_int_equal(peer->seen[0].content, 7);
    assert_true(peer->seen[0].ended);
    assert_non_null(strstr(peer->seen[0].fields, "content-length: 7\n"));
    answer(peer, 0);
    assert_int_equal(result()->answered, 1);
}

static void an_answer_ahead_of_the_bodys_end_cancels_the_rest(void **state)
{
    (void)state;
    static char body[3 << 20];
    memset(body, 'x', sizeof body - 1);
    rv_request_free(&requests[1]);
    build(&requests[1], "POST", "/form", body);
    plan.requests = &requests[1];
    plan.requests_max = 1;
    plan.duration_us = 500000;
    begin();
    struct peer *peer = accept_silent();
    const struct rv_h2_settings settings = {.streams_max = 100,
                                            .stream_window_bytes = 1000,
                                            .connection_window_bytes = 65535,
                                            .events = &server_events};
    peer->h2 = rv_h2_new(&settings, peer);
    settle();
    assert_false(peer->seen[0].ended);
    respond(peer, 0, "413", 0, 0);
    assert_int_equal(result()->statuses[413], 1);
    assert_int_equal(result()->failed, 0);
}

/* ---- limits ---------------------------------------------------------------------------------------------- */

static void the_servers_limit_is_kept_and_told(void **state)
{
    (void)state;
    streams_max = 2;
    plan.requests_max = 20;
    plan.streams = 5;
    begin();
    struct peer *peer = accept_one();
    for (unsigned i = 0; i < SEEN_MAX && running; i++) {
        unsigned open = 0;
        for (unsigned k = 0; k < peer->count; k++)
            open += !peer->seen[k].closed;
        assert_true(i < 5 || open <= 2);
        if (i < peer->count && !peer->seen[i].closed)
            answer(peer, i);
    }
    assert_int_equal(result()->answered, 20);
    assert_int_equal(result()->failed, 0);
    assert_int_equal(result()->streams_limit, 2);
}

static void a_connection_takes_as_many_requests_as_it_may(void **state)
{
    (void)state;
    plan.requests_max = 5;
    plan.streams = 2;
    plan.requests_per_connection = 3;
    begin();
    struct peer *first = accept_one();
    answer(first, 0);
    answer(first, 1);
    assert_int_equal(first->count, 3);
    no_attempt(); /* the third is not answered */
    answer(first, 2);
    struct peer *second = accept_one();
    assert_true(rv_sim_is_closed(first->sim));
    assert_int_equal(second->count, 2);
    answer(second, 0);
    answer(second, 1);
    assert_int_equal(result()->answered, 5);
    assert_int_equal(result()->connects, 2);
}

static void a_schedule_fills_a_connection_before_it_opens_another(void **state)
{
    (void)state;
    plan.model = RV_LOAD_OPEN;
    plan.rate_per_s = 1000;
    plan.duration_us = 10000;
    plan.clients = 4;
    plan.streams = 3;
    begin();
    struct peer *first = accept_one();
    after_us(1000);
    after_us(1000);
    assert_int_equal(first->count, 3);
    no_attempt();
    after_us(1000);
    struct peer *second = accept_one();
    assert_int_equal(second->count, 1);
    answer(first, 0);
    after_us(1000);
    assert_int_equal(first->count + second->count, 5);
    after_us(6000);
    assert_false(running);
    finish();
    assert_int_equal(result()->due, 10);
    assert_int_equal(result()->answered, 1);
}

static void the_end_counts_what_is_in_flight(void **state)
{
    (void)state;
    plan.duration_us = 50000;
    plan.streams = 4;
    begin();
    struct peer *peer = accept_one();
    answer(peer, 2);
    after_us(50000);
    assert_false(running);
    finish();
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->in_flight, 4);
}

/* ---- RST_STREAM, GOAWAY ---------------------------------------------------------------------------------- */

static void a_stream_that_is_reset_has_failed_alone(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.streams = 3;
    begin();
    struct peer *peer = accept_one();
    rv_h2_reset(peer->h2, peer->seen[0].id, RV_H2_INTERNAL_ERROR);
    settle();
    respond(peer, 1, "200", 9, 1);
    rv_h2_reset(peer->h2, peer->seen[1].id, RV_H2_NO_ERROR);
    settle();
    answer(peer, 2);
    assert_int_equal(result()->answered, 1);
    assert_int_equal(result()->failures[RV_FAILURE_STREAM_RESET], 2);
    assert_int_equal(codes_of(RV_FAILURE_STREAM_RESET, RV_H2_INTERNAL_ERROR), 1);
    assert_int_equal(codes_of(RV_FAILURE_STREAM_RESET, RV_H2_NO_ERROR), 1);
    assert_int_equal(result()->connects, 1);
    assert_false(running);
}

static void what_goaway_leaves_out_goes_again_and_the_rest_is_finished(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.streams = 3;
    begin();
    struct peer *first = accept_one();
    say_goaway(first, first->seen[0].id, RV_H2_NO_ERROR);
    no_attempt(); /* the first request is still under way */
    answer(first, 0);
    struct peer *second = accept_one();
    assert_true(rv_sim_is_closed(first->sim));
    assert_int_equal(second->count, 2);
    answer(second, 0);
    answer(second, 1);
    assert_int_equal(result()->answered, 3);
    assert_int_equal(result()->failed, 0);
    assert_int_equal(result()->sent_again, 2);
    assert_int_equal(result()->goaways, 1);
    assert_int_equal(result()->reopened, 1);
    assert_false(running);
}

static void a_request_that_two_connections_leave_out_has_failed(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    say_goaway(accept_one(), 0, RV_H2_ENHANCE_YOUR_CALM);
    say_goaway(accept_one(), 0, RV_H2_ENHANCE_YOUR_CALM);
    assert_int_equal(result()->failures[RV_FAILURE_GOAWAY], 1);
    assert_int_equal(codes_of(RV_FAILURE_GOAWAY, RV_H2_ENHANCE_YOUR_CALM), 1);
    assert_int_equal(result()->goaways, 2);
    assert_false(running);
}

static void what_is_not_answered_behind_goaway_fails_by_it(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.streams = 2;
    begin();
    struct peer *peer = accept_one();
    say_goaway(peer, peer->seen[1].id, RV_H2_INTERNAL_ERROR);
    rv_sim_half_close(peer->sim);
    settle();
    assert_int_equal(codes_of(RV_FAILURE_GOAWAY, RV_H2_INTERNAL_ERROR), 2);
    assert_false(running);
}

/* ---- connections that end -------------------------------------------------------------------------------- */

static void all_on_a_connection_fail_with_it_where_they_stand(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.streams = 3;
    begin();
    struct peer *peer = accept_one();
    respond(peer, 1, "200", 5, 1);
    rv_sim_reset(peer->sim);
    settle();
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_RESET], 2);
    assert_int_equal(result()->failures[RV_FAILURE_BODY_RESET], 1);
    assert_false(running);
}

static void a_request_that_meets_a_close_is_sent_again_once(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.think_us = 1000;
    begin();
    struct peer *first = accept_one();
    answer(first, 0);
    rv_sim_advance_us(&thread.loop, 1000);
    turns(); /* the second request is on its way */
    rv_sim_half_close(first->sim);
    turns();
    assert_int_equal(result()->races, 1);
    struct peer *second = accept_one();
    answer(second, 0);
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->failed, 0);
    assert_false(running);
}

static void a_connection_that_ends_idle_is_opened_again(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.think_us = 5000;
    begin();
    struct peer *first = accept_one();
    answer(first, 0);
    rv_sim_half_close(first->sim);
    settle();
    after_us(5000);
    answer(accept_one(), 0);
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->reopened, 1);
    assert_int_equal(result()->races, 0);
}

/* ---- time limits ----------------------------------------------------------------------------------------- */

static void one_whose_time_is_up_is_cancelled_alone(void **state)
{
    (void)state;
    plan.requests_max = 3;
    plan.streams = 2;
    begin();
    struct peer *peer = accept_one();
    after_us(900000);
    answer(peer, 0);
    assert_int_equal(peer->count, 3);
    after_us(102000);
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_TIMEOUT], 1);
    assert_true(peer->seen[1].closed);
    assert_int_equal(peer->seen[1].closed_with, RV_H2_CANCEL);
    assert_true(running);
    answer(peer, 2);
    assert_int_equal(result()->answered, 2);
    assert_int_equal(result()->connects, 1);
    assert_false(running);
}

static void a_connection_that_has_gone_silent_is_given_up(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.streams = 2;
    begin();
    struct peer *peer = accept_one();
    after_us(1); /* its SETTINGS were all that came, and before ... */
    answer(peer, 0);
    assert_int_equal(result()->answered, 1);
    plan.requests_max = 2;
    after_us(1002000);
    assert_int_equal(result()->failures[RV_FAILURE_WAIT_TIMEOUT], 1);
    assert_false(running);
}

static void time_runs_while_a_server_allows_no_stream(void **state)
{
    (void)state;
    streams_max = 0;
    plan.requests_max = 1;
    begin();
    accept_one();
    after_us(1002000);
    after_us(1002000);
    assert_int_equal(result()->failed, 1);
    assert_false(running);
}

/* ---- servers that do not keep the rules ---------------------------------------------------------------- */

static void a_server_of_http_1_is_told(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.streams = 2;
    begin();
    struct peer *peer = accept_silent();
    rv_sim_send(peer->sim, RV_LIT("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
    turns();
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_PROTOCOL], 1);
    assert_int_equal(thread.recorder.view.clients_refused, 1);
    assert_true(rv_sim_is_closed(peer->sim));
    after_us(1000); /* a pause */
    peer = accept_silent();
    rv_sim_send(peer->sim, RV_LIT("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
    turns();
    assert_int_equal(result()->failures[RV_FAILURE_CONNECT_PROTOCOL], 2);
    after_us(3000);
    assert_false(running);
}

static void a_frame_against_the_rules_ends_the_connection_with_its_code(void **state)
{
    (void)state;
    plan.requests_max = 2;
    plan.streams = 2;
    begin();
    struct peer *peer = accept_one();
    say_frame(peer, RV_H2_PING, 0, 0, RV_LIT("short"));
    assert_int_equal(codes_of(RV_FAILURE_HTTP2_ERROR, RV_H2_FRAME_SIZE_ERROR), 2);
    assert_int_equal(peer->goaways, 1);
    assert_false(running);
}

static void content_of_another_length_than_announced_is_a_failure(void **state)
{
    (void)state;
    plan.requests_max = 1;
    begin();
    struct peer *peer = accept_one();
    const struct rv_h2_field fields[] = {{RV_LIT(":status"), RV_LIT("200")},
                                         {RV_LIT("content-length"), RV_LIT("7")}};
    peer->seen[0].answer_left = peer->seen[0].answer_now = 2;
    assert_int_equal(rv_h2_respond(peer->h2, peer->seen[0].id, fields, 2, true), 0);
    settle();
    assert_int_equal(codes_of(RV_FAILURE_HTTP2_ERROR, RV_H2_PROTOCOL_ERROR), 1);
    assert_int_equal(result()->answered, 0);
    assert_false(running);
}

static void content_in_answer_to_head_is_a_failure_and_its_length_is_none(void **state)
{
    (void)state;
    rv_request_free(&requests[0]);
    build(&requests[0], "HEAD", "/ok", NULL);
    plan.requests_max = 2;
    begin();
    struct peer *peer = accept_one();
    const struct rv_h2_field fields[] = {{RV_LIT(":status"), RV_LIT("200")},
                                         {RV_LIT("content-length"), RV_LIT("7")}};
    assert_int_equal(rv_h2_respond(peer->h2, peer->seen[0].id, fields, 2, false), 0);
    settle();
    assert_int_equal(result()->answered, 1);
    answer(peer, 1);
    assert_int_equal(result()->answered + result()->failed, 2);
}

/* ---- anything at all ------------------------------------------------------------------------------------- */

/* A frame that is likely to mean something where it arrives. */
static size_t any_frame(uint64_t *random, char *frame)
{
    static const uint8_t likely[] = {RV_H2_HEADERS, RV_H2_HEADERS,      RV_H2_HEADERS,
                                     RV_H2_HEADERS, RV_H2_DATA,         RV_H2_DATA,
                                     RV_H2_DATA,    RV_H2_RST_STREAM,   RV_H2_SETTINGS,
                                     RV_H2_GOAWAY,  RV_H2_WINDOW_UPDATE};
    bool nonsense = random_below(random, 25) == 0;
    char *payload = frame + RV_H2_FRAME_HEAD_BYTES;
    uint32_t id = 2 * (uint32_t)random_below(random, nonsense ? 20 : 4) + 1;
    uint8_t type =
        nonsense ? (uint8_t)random_below(random, 12) : likely[random_below(random, sizeof likely)];
    uint8_t flags = (uint8_t)random_below(random, 2);
    size_t length = random_below(random, 12);
    memset(payload, 0, 12);
    if (nonsense) {
        for (size_t i = 0; i < length; i++)
            payload[i] = (char)random_below(random, 256);
        flags = (uint8_t)random_below(random, 256);
    } else if (type == RV_H2_HEADERS) {
        payload[0] = '\x88'; /* ":status: 200" */
        length = 1;
        flags |= RV_H2_FLAG_END_HEADERS;
    } else if (type == RV_H2_SETTINGS) {
        payload[1] = 3; /* streams at once */
        payload[5] = (char)random_below(random, 6);
        length = 6;
    } else if (type == RV_H2_GOAWAY) {
        payload[3] = (char)random_below(random, 16);
        length = 8;
    } else if (type != RV_H2_DATA) {
        payload[3] = (char)(1 + random_below(random, 12)); /* a code, or a step of the window */
        length = 4;
    }
    if (type == RV_H2_SETTINGS || type == RV_H2_GOAWAY)
        id = flags = 0;
    const char head[RV_H2_FRAME_HEAD_BYTES] = {0, 0, (char)length, (char)type, (char)flags, 0,
                                               0, 0, (char)id};
    memcpy(frame, head, sizeof head);
    return sizeof head + length;
}

static void whatever_a_server_says_the_laws_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed;
        if (seed > 1)
            set_up(NULL);
        plan.requests_max = 30;
        plan.request_count = 2;
        plan.clients = 2;
        plan.streams = 1 + (uint32_t)random_below(&random, 5);
        plan.requests_per_connection = random_below(&random, 9);
        plan.model = seed % 3 == 0 ? RV_LOAD_OPEN : RV_LOAD_CLOSED;
        plan.rate_per_s = 5000;
        begin();
        for (unsigned step = 0; step < 120 && running; step++) {
            turns();
            if (rv_sim_attempts(&thread.loop) > 0 && peer_count < PEERS_MAX) {
                struct peer *peer = accept_silent();
                if (random_below(&random, 20) > 0)
                    rv_sim_send(peer->sim, RV_LIT("\0\0\0\4\0\0\0\0\0"));
            }
            if (peer_count == 0)
                continue;
            struct peer *peer = &peers[random_below(&random, peer_count)];
            char frame[64];
            size_t length = any_frame(&random, frame);
            if (random_below(&random, 60) == 0)
                rv_sim_half_close(peer->sim);
            else
                rv_sim_send(peer->sim, rv_slice(frame, length));
            if (random_below(&random, 10) == 0)
                rv_sim_advance_us(&thread.loop, random_below(&random, 300000));
            turns();
        }
        thread.stopping = running; /* as the engine ends a run */
        if (seed < 400)
            tear_down(NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_fields_and_none_of_the_connection),
        TEST(as_many_requests_as_streams_share_a_connection),
        TEST(every_phase_has_its_time),
        TEST(an_interim_answer_is_none),
        TEST(a_body_is_sent_whole),
        TEST(an_answer_ahead_of_the_bodys_end_cancels_the_rest),
        TEST(the_servers_limit_is_kept_and_told),
        TEST(a_connection_takes_as_many_requests_as_it_may),
        TEST(a_schedule_fills_a_connection_before_it_opens_another),
        TEST(the_end_counts_what_is_in_flight),
        TEST(a_stream_that_is_reset_has_failed_alone),
        TEST(what_goaway_leaves_out_goes_again_and_the_rest_is_finished),
        TEST(a_request_that_two_connections_leave_out_has_failed),
        TEST(what_is_not_answered_behind_goaway_fails_by_it),
        TEST(all_on_a_connection_fail_with_it_where_they_stand),
        TEST(a_request_that_meets_a_close_is_sent_again_once),
        TEST(a_connection_that_ends_idle_is_opened_again),
        TEST(one_whose_time_is_up_is_cancelled_alone),
        TEST(a_connection_that_has_gone_silent_is_given_up),
        TEST(time_runs_while_a_server_allows_no_stream),
        TEST(a_server_of_http_1_is_told),
        TEST(a_frame_against_the_rules_ends_the_connection_with_its_code),
        TEST(content_of_another_length_than_announced_is_a_failure),
        TEST(whatever_a_server_says_the_laws_hold),
        TEST(content_in_answer_to_head_is_a_failure_and_its_length_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
