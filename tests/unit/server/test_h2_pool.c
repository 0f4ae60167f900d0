/*
 * Facts about handlers on the pool whose clients speak HTTP/2: writers that wait for a client's window,
 * clients that reset a stream or vanish in the middle, a stop. Real sockets and threads; the client
 * writes its frames itself and reads the server's by their heads.
 */
#include "http/h2.h"
#include "support/served.h"
#include "support/sockets.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PIECE_BYTES 5000
#define PIECES 200

static struct served served;
static int peer = -1;

static struct {
    atomic_int result; /* of the write that did not succeed, or of the end */
    atomic_bool done;
} flow;
static sem_t gate;

static int write_much(rv_talk *talk, void *ctx)
{
    static char piece[PIECE_BYTES];
    (void)ctx;
    int result = rv_begin(talk, 200);
    for (unsigned i = 0; i < PIECES && result >= 0; i++)
        result = rv_write(talk, rv_slice(piece, sizeof piece));
    if (result >= 0)
        result = rv_end(talk);
    atomic_store(&flow.result, result);
    atomic_store(&flow.done, true);
    return result;
}

static int answer_behind_the_gate(rv_talk *talk, void *ctx)
{
    (void)ctx;
    sem_wait(&gate);
    return rv_text(talk, 200, "passed");
}

/* ---- a client ----------------------------------------------------------------------------------- */

struct frame {
    struct rv_h2_frame head;
    char payload[20000];
};

static bool read_all(void *room, size_t length)
{
    struct timeval limit = {.tv_sec = 20};
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return recv(peer, room, length, MSG_WAITALL) == (ssize_t)length;
}

/* False: the connection has ended. */
static bool next_frame(struct frame *frame)
{
    uint8_t head[RV_H2_FRAME_HEAD_BYTES];
    if (!read_all(head, sizeof head))
        return false;
    frame->head = (struct rv_h2_frame){
        .length = (uint32_t)(head[0] << 16 | head[1] << 8 | head[2]),
        .type = head[3],
        .flags = head[4],
        .stream = (uint32_t)(head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8])};
    assert_true(frame->head.length <= sizeof frame->payload);
    return frame->head.length == 0 || read_all(frame->payload, frame->head.length);
}

static void send_frame(uint8_t type, uint8_t flags, uint8_t stream, rv_bytes payload)
{
    char octets[256] = {0, 0, (char)payload.len, (char)type, (char)flags, 0, 0, 0, (char)stream};
    memcpy(octets + RV_H2_FRAME_HEAD_BYTES, payload.ptr, payload.len);
    send_octets(peer, rv_slice(octets, RV_H2_FRAME_HEAD_BYTES + payload.len));
}

static void open_window(uint8_t stream, uint32_t octets)
{
    char by[4] = {(char)(octets >> 24), (char)(octets >> 16), (char)(octets >> 8), (char)octets};
    send_frame(RV_H2_WINDOW_UPDATE, 0, stream, rv_slice(by, 4));
}

/* GET of a path of one letter, on stream 1. */
static void ask(const char *path)
{
    char block[] = "\202\206\001\001t\004\002/x"; /* :method, :scheme, :authority, :path */
    block[sizeof block - 2] = path[1];
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", served.port);
    peer = dial(address);
    assert_true(peer >= 0);
    send_octets(peer, rv_slice(RV_H2_PREFACE, RV_H2_PREFACE_BYTES));
    send_frame(RV_H2_SETTINGS, 0, 0, rv_slice("", 0));
    send_frame(RV_H2_HEADERS, RV_H2_FLAG_END_HEADERS | RV_H2_FLAG_END_STREAM, 1,
               rv_slice(block, sizeof block - 1));
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&flow.result, 1);
    atomic_store(&flow.done, false);
    sem_init(&gate, 0, 0);
    serve_make(&served,
               (rv_server_options){
                   .workers = 1, .limits = {.output_high_bytes = 20000, .output_low_bytes = 5000}});
    serve_route(&served, "GET /m", write_much, NULL, (rv_route_options){.run = RV_ON_POOL});
    serve_route(&served, "GET /g", answer_behind_the_gate, NULL,
                (rv_route_options){.run = RV_ON_POOL});
    serve_start(&served);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sem_post(&gate);
    serve_free(&served);
    sem_destroy(&gate);
    if (peer >= 0)
        close(peer);
    peer = -1;
    return 0;
}

/* ---- facts -------------------------------------------------------------------------------------- */

/* Windows are given back only when they are used up: the writer waits at each. */
static void a_writer_waits_for_the_window_and_goes_on(void **state)
{
    (void)state;
    static struct frame frame;
    size_t content = 0, room = 65535;
    ask("/m");
    while (next_frame(&frame)) {
        if (frame.head.type != RV_H2_DATA)
            continue;
        content += frame.head.length;
        room -= frame.head.length;
        if ((frame.head.flags & RV_H2_FLAG_END_STREAM) != 0)
            break;
        if (room == 0) {
            room = 65535;
            open_window(0, 65535);
            open_window(1, 65535);
        }
    }
    assert_int_equal(content, (size_t)PIECE_BYTES * PIECES);
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_int_equal(atomic_load(&flow.result), RV_OK);
}

static void read_a_window(void)
{
    static struct frame frame;
    size_t content = 0;
    while (content < 65535 && next_frame(&frame))
        content += frame.head.type == RV_H2_DATA ? frame.head.length : 0;
    assert_int_equal(content, 65535);
}

static void a_writer_learns_that_its_stream_was_reset(void **state)
{
    (void)state;
    ask("/m");
    read_a_window();
    send_frame(RV_H2_RST_STREAM, 0, 1, RV_LIT("\0\0\0\10"));
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_int_equal(atomic_load(&flow.result), RV_EGONE);
}

static void a_writer_learns_that_its_client_has_vanished(void **state)
{
    (void)state;
    ask("/m");
    read_a_window();
    hang_up(peer);
    peer = -1;
    assert_true(EVENTUALLY(atomic_load(&flow.done)));
    assert_int_equal(atomic_load(&flow.result), RV_EGONE);
}

/* GOAWAY twice - it is announced, and named behind the PONG - and the answer in between or behind. */
static void a_stop_waits_for_the_pool(void **state)
{
    (void)state;
    static struct frame frame;
    uint32_t last[2] = {0, 0};
    unsigned goaways = 0, answers = 0;
    ask("/g");
    while (next_frame(&frame) && frame.head.type != RV_H2_SETTINGS)
        ;
    nap_ms(50); /* the request is at the pool */
    rv_server_stop(served.server);
    while (next_frame(&frame)) {
        if (frame.head.type == RV_H2_PING)
            send_frame(RV_H2_PING, RV_H2_FLAG_ACK, 0, rv_slice(frame.payload, 8));
        answers += frame.head.type == RV_H2_DATA && frame.head.length == 6;
        if (frame.head.type != RV_H2_GOAWAY)
            continue;
        assert_true(goaways < 2);
        memcpy(&last[goaways++], frame.payload, 4);
        if (goaways == 2)
            sem_post(&gate);
    }
    assert_int_equal(goaways, 2);
    assert_memory_equal(&last[0], "\177\377\377\377", 4);
    assert_memory_equal(&last[1], "\0\0\0\1", 4);
    assert_int_equal(answers, 1);
    close(peer);
    peer = -1;
    serve_wait(&served);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        FACT(a_writer_waits_for_the_window_and_goes_on),
        FACT(a_writer_learns_that_its_stream_was_reset),
        FACT(a_writer_learns_that_its_client_has_vanished),
        FACT(a_stop_waits_for_the_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
