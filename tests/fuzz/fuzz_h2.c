/*
 * Whole connections of HTTP/2: clients whose frames come from a grammar, or are raw octets, against the
 * handlers of app.h. The input is a script of operations, each a letter and what it needs; other octets
 * are passed over, so that a text can be read as well:
 *
 *     H S T F   HEADERS on stream S: a request for target T of the list below. Bits of F: END_STREAM,
 *               END_HEADERS left out, POST, HEAD, Content-Length, Expect, a field of its own, a bad one
 *     F S T F   the same for a target that takes forms    B S F N   DATA: piece N of a form
 *     D S F N   DATA of N octets, by magnitude           T S F     trailers; F: flags
 *     R S C     RST_STREAM with code C                   W S N     WINDOW_UPDATE by N, by magnitude
 *     S I N     SETTINGS: identifier I, value N          p F       PING with flags F
 *     P S O     PRIORITY that depends on O               g C       GOAWAY with code C
 *     C S F     CONTINUATION with a field                y F N …   a frame of type F with N raw octets
 *     x N …     N raw octets, no frame at all
 *     k         forgets the end of the last frame        !         sends what was gathered so far
 *     b N       sends it in pieces of N octets           c N       goes on as client N
 *     n         replaces this client by a new one        t N       lets time pass, by magnitude
 *     w N       the client takes so many octets (255: all)
 *     h  r      half-closes; resets                      a N       answers a suspended talk
 *     m N       N/2 allocations succeed in what is sent next, and then one fails; N odd: all
 *     Z         stops the server                         q         ends the script at once
 *
 * Streams are numbered S = 0, 1, … for 1, 3, …; S = 255 is stream 0, others above 31 are even. After each
 * operation everything of at_rest.h must hold; the server's octets must be frames, in an order and of
 * sizes that the standard allows, and never more content than the client has given windows for. At the
 * end time alone must end each connection, and nothing may be left.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/support/app.h"
#include "fuzz/support/at_rest.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "http/h2.h"
#include "io/sim.h"
#include "server/worker.h"

enum { CLIENTS = 2, GATHERED_MAX = 64 * 1024, STREAMS = 32, FRAME_MAX = 16384 };

/* As in fuzz_conn.c. */
#define CLOCK_PERIOD_MS (64 * 64 * 64)

static const char *const targets[] = {
    "/whole?n=20",
    "/whole?n=70000",
    "/borrowed?n=70000",
    "/file",
    "/big-file",
    "/shrink?n=30000",
    "/no-file",
    "/stream?n=60000&k=3000",
    "/stream?n=60000&k=9000&borrow=1&trailer=1",
    "/stream?n=50&fail=20",
    "/stream?length=90",
    "/stream?trailer=1&n=0",
    "/ticks?n=50&k=10&ms=50",
    "/body",
    "/sized",
    "/trailer",
    "/echo",
    "/unread",
    "/pause",
    "/early?n=30000",
    "/broken?n=3",
    "/broken?n=3&answer=1",
    "/later?ms=100",
    "/suspend",
    "/suspend/name",
    "/suspend-body",
    "/wake",
    "/wake?way=2",
    "/verbs?do=bwwdwe",
    "/verbs-body?do=bpwrwe",
    "/fields?n=30",
    "/nothing",
    "/twice",
    "/begin",
    "/begin-fail",
    "/param/a/b%20c",
    "/cookies?a",
    "/problem?status=304",
    "/problem?status=204",
    "/redirect?to=/x",
    "/none",
    "*",
    "/%zz",
    "/whole?status=503",
};
#define TARGETS (sizeof targets / sizeof *targets)

static const char *const form_targets[] = {
    "/form",           "/parts",        "/parts?do=p.ppp",
    "/parts?do=ss.s",  "/parts?do=.S",  "/parts?do=a",
    "/parts?do=..A",   "/parts?do=..b", "/parts?do=w.w.w.wp",
    "/parts?do=.i",    "/parts?do=..e", "/parts?do=l",
    "/parts?do=w.x",   "/parts?do=pxo", "/to-disk",
    "/to-disk?max=20", "/to-file/it",   "/to-file/it?max=20",
    "/to-file/a%2fb",  "/param/a/b",    "/verbs-body?do=B.u.r",
    "/echo",
};
#define FORM_TARGETS (sizeof form_targets / sizeof *form_targets)

static const char part_with_file[] =
    "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n"
    "Content-Type: a/b\r\n\r\n";
static const char last_part[] =
    "\r\n--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nb\r\n--x--";
static const char whole_form[] =
    "--x\r\nContent-Disposition: form-data; name=\"b\"; filename=\"\"\r\n\r\n\r\n--x--\r\n";

static const char *const form_pieces[] = {
    "",
    "--x\r\n",
    "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n",
    part_with_file,
    "content",
    "\r\n",
    "\r",
    "\n",
    "--x",
    "--",
    "--x--",
    "--x--\r\nepilogue",
    last_part,
    whole_form,
    "--x\r\nContent-Disposition: form",
    "-data; name=\"c\"\r\n",
    "X-Other: 1\r\n\r\n",
};
#define FORM_PIECES (sizeof form_pieces / sizeof *form_pieces)

/* What the client knows of a stream, from what it has sent and seen. */
struct seen_stream {
    uint64_t granted; /* by WINDOW_UPDATE */
    uint64_t content;
    bool ended; /* END_STREAM or RST_STREAM was seen */
};

struct client {
    rv_test *test; /* NULL: not connected */
    struct rv_buffer received;
    bool settings_seen, is_ended;
    uint64_t granted;     /* on the connection */
    uint64_t content;     /* of all streams */
    uint64_t initial_max; /* the largest initial window it has ever announced */
    bool windows_unknown; /* raw octets were sent: they may have been anything */
    uint32_t goaway_last;
    bool goaway_seen;
    struct seen_stream streams[STREAMS];
};

static rv_server *server;
static struct client clients[CLIENTS];
static struct client *current;
static rv_bytes script;
static char gathered[GATHERED_MAX];
static size_t gathered_length, last_frame_at;
static bool has_stopped, memory_runs_out, memory_fails_for_all;
static unsigned memory_left;

static uint8_t next_octet(void)
{
    if (script.len == 0)
        return 0;
    uint8_t octet = (uint8_t)script.ptr[0];
    script = rv_slice(script.ptr + 1, script.len - 1);
    return octet;
}

static uint32_t magnitude(uint8_t octet)
{
    return (uint32_t)(octet & 15) << (octet >> 4);
}

/* ---- what the server has sent ---------------------------------------------------------------- */

static void check_data(struct client *client, uint32_t id, uint32_t length)
{
    client->content += length;
    REQUIRE(client->windows_unknown || client->content <= 65535 + client->granted);
    if (id / 2 >= STREAMS || client->windows_unknown)
        return;
    struct seen_stream *stream = &client->streams[id / 2];
    stream->content += length;
    REQUIRE(stream->content <= client->initial_max + stream->granted);
}

static void check_frame(struct client *client, const struct rv_h2_frame *frame,
                        const uint8_t *payload)
{
    struct seen_stream *stream = frame->stream % 2 == 1 && frame->stream / 2 < STREAMS
                                     ? &client->streams[frame->stream / 2]
                                     : NULL;
    bool ends = (frame->flags & RV_H2_FLAG_END_STREAM) != 0;
    REQUIRE(client->settings_seen || frame->type == RV_H2_SETTINGS);
    client->settings_seen = true;
    REQUIRE(frame->stream == 0 || frame->stream % 2 == 1);
    switch (frame->type) {
    case RV_H2_DATA:
    case RV_H2_HEADERS:
        REQUIRE(frame->stream != 0 && (stream == NULL || !stream->ended));
        if (stream != NULL)
            stream->ended = ends;
        if (frame->type == RV_H2_DATA)
            check_data(client, frame->stream, frame->length);
        break;
    case RV_H2_CONTINUATION:
        REQUIRE(frame->stream != 0);
        break;
    case RV_H2_RST_STREAM:
        REQUIRE(frame->stream != 0 && frame->length == 4);
        if (stream != NULL)
            stream->ended = true;
        break;
    case RV_H2_SETTINGS:
    case RV_H2_PING:
        REQUIRE(frame->stream == 0);
        break;
    case RV_H2_GOAWAY: {
        REQUIRE(frame->stream == 0 && frame->length >= 8);
        uint32_t last = (uint32_t)(payload[0] & 0x7f) << 24 | (uint32_t)payload[1] << 16 |
                        (uint32_t)payload[2] << 8 | payload[3];
        REQUIRE(!client->goaway_seen || last <= client->goaway_last);
        client->goaway_seen = true;
        client->goaway_last = last;
        break;
    }
    default:
        REQUIRE(frame->type == RV_H2_WINDOW_UPDATE && frame->length == 4);
    }
}

static void take(struct client *client)
{
    fuzz_memory_is_back();
    rv_bytes octets = rv_test_received(client->test);
    REQUIRE(octets.len == 0 || rv_buffer_append(&client->received, octets) == RV_OK);
    while (client->received.len >= RV_H2_FRAME_HEAD_BYTES) {
        const uint8_t *at = (const uint8_t *)client->received.ptr;
        if (!client->settings_seen && memcmp(at, "HTTP/1.1 ", 9) == 0) {
            client->received.len = 0; /* its first octets were no preface */
            return;
        }
        struct rv_h2_frame frame = {.length = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2],
                                    .type = at[3],
                                    .flags = at[4],
                                    .stream = (uint32_t)at[5] << 24 | (uint32_t)at[6] << 16 |
                                              (uint32_t)at[7] << 8 | at[8]};
        REQUIRE(frame.length <= FRAME_MAX || client->windows_unknown);
        if (client->received.len < RV_H2_FRAME_HEAD_BYTES + frame.length)
            break;
        check_frame(client, &frame, at + RV_H2_FRAME_HEAD_BYTES);
        rv_buffer_consume(&client->received, RV_H2_FRAME_HEAD_BYTES + frame.length);
    }
}

static void check(void)
{
    fuzz_memory_is_back();
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL)
            take(&clients[i]);
    fuzz_require_at_rest(server, fuzz_app_is_suspended);
    fuzz_scribble(server);
}

/* ---- what the clients send ------------------------------------------------------------------- */

static void disconnect(struct client *client)
{
    rv_test_free(client->test);
    rv_buffer_free(&client->received);
    memset(client, 0, sizeof *client);
}

static void connect_to(struct client *client)
{
    if (client->test != NULL)
        return;
    client->test = rv_test_new(server);
    if (client->initial_max <
        65535) /* SETTINGS may have been gathered before there was a connection */
        client->initial_max = 65535;
    if (client->test != NULL)
        rv_test_send(client->test, RV_LIT(RV_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
}

static void send_gathered(size_t piece)
{
    connect_to(current);
    if (memory_runs_out)
        fuzz_memory_runs_out(memory_left, memory_fails_for_all);
    memory_runs_out = false;
    for (size_t at = 0; at < gathered_length && current->test != NULL;) {
        size_t run = gathered_length - at < piece ? gathered_length - at : piece;
        if (rv_test_send(current->test, rv_slice(gathered + at, run)) != RV_OK)
            break;
        at += run;
    }
    gathered_length = last_frame_at = 0;
}

static void gather(const void *octets, size_t length)
{
    if (length > GATHERED_MAX - gathered_length)
        return;
    memcpy(gathered + gathered_length, octets, length);
    gathered_length += length;
}

static uint32_t stream_id(uint8_t octet)
{
    if (octet == 255)
        return 0;
    return octet < STREAMS ? octet * 2u + 1 : octet * 2u;
}

static void gather_frame(uint8_t type, uint8_t flags, uint32_t stream, rv_bytes payload)
{
    uint8_t head[RV_H2_FRAME_HEAD_BYTES] = {(uint8_t)(payload.len >> 16),
                                            (uint8_t)(payload.len >> 8),
                                            (uint8_t)payload.len,
                                            type,
                                            flags,
                                            (uint8_t)(stream >> 24),
                                            (uint8_t)(stream >> 16),
                                            (uint8_t)(stream >> 8),
                                            (uint8_t)stream};
    if (payload.len + sizeof head > GATHERED_MAX - gathered_length)
        return;
    last_frame_at = gathered_length;
    gather(head, sizeof head);
    if (payload.len > 0)
        gather(payload.ptr, payload.len);
}

/* A literal field without indexing (RFC 7541 section 6.2.2). */
static size_t put_field(char *out, const char *name, const char *value)
{
    size_t at = 0, names = strlen(name), values = strlen(value);
    REQUIRE(names < 127 && values < 127);
    out[at++] = 0;
    out[at++] = (char)names;
    memcpy(out + at, name, names);
    at += names;
    out[at++] = (char)values;
    memcpy(out + at, value, values);
    return at + values;
}

static void gather_request(bool is_form)
{
    char block[1024];
    size_t at = 0;
    uint32_t stream = stream_id(next_octet());
    uint8_t which = next_octet(), bits = next_octet();
    const char *target = is_form ? form_targets[which % FORM_TARGETS] : targets[which % TARGETS];
    bool has_content = (bits & 1) == 0;
    at += put_field(block + at, ":method", bits & 8 ? "HEAD" : bits & 4 ? "POST" : "GET");
    at += put_field(block + at, ":scheme", "http");
    at += put_field(block + at, ":path", target);
    at += put_field(block + at, ":authority", "x");
    if (is_form)
        at += put_field(block + at, "content-type", "multipart/form-data; boundary=x");
    if ((bits & 16) != 0)
        at += put_field(block + at, "content-length", has_content ? "100" : "0");
    if ((bits & 32) != 0)
        at += put_field(block + at, "expect", "100-continue");
    if ((bits & 64) != 0)
        at += put_field(block + at, "range", "bytes=5-9");
    if ((bits & 128) != 0)
        at += put_field(block + at, "Upper", "case");
    gather_frame(RV_H2_HEADERS,
                 (uint8_t)((has_content ? 0 : RV_H2_FLAG_END_STREAM) |
                           ((bits & 2) != 0 ? 0 : RV_H2_FLAG_END_HEADERS)),
                 stream, rv_slice(block, at));
}

static void gather_data(void)
{
    static char content[FRAME_MAX + 1];
    uint32_t stream = stream_id(next_octet());
    uint8_t flags = next_octet();
    size_t length = magnitude(next_octet());
    gather_frame(RV_H2_DATA, flags & 9, stream,
                 rv_slice(content, length < sizeof content ? length : sizeof content));
}

static void gather_form_piece(void)
{
    uint32_t stream = stream_id(next_octet());
    uint8_t flags = next_octet();
    gather_frame(RV_H2_DATA, flags & 1, stream, rv_str(form_pieces[next_octet() % FORM_PIECES]));
}

static void gather_fields(uint8_t type)
{
    char block[64];
    uint32_t stream = stream_id(next_octet());
    uint8_t flags = next_octet();
    size_t length = put_field(block, "x-t", "value");
    gather_frame(type, flags & 5, stream, rv_slice(block, length));
}

static void gather_number(uint8_t type, uint8_t flags, uint32_t stream, uint32_t number)
{
    uint8_t octets[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                         (uint8_t)number};
    gather_frame(type, flags, stream, rv_slice((const char *)octets, 4));
}

static void gather_window(void)
{
    uint32_t stream = stream_id(next_octet()), by = magnitude(next_octet());
    if (stream == 0)
        current->granted += by;
    else if (stream % 2 == 1 && stream / 2 < STREAMS)
        current->streams[stream / 2].granted += by;
    gather_number(RV_H2_WINDOW_UPDATE, 0, stream, by);
}

static void gather_settings(void)
{
    uint8_t id = next_octet() % 10;
    uint32_t value = magnitude(next_octet());
    uint8_t octets[6] = {0,
                         id,
                         (uint8_t)(value >> 24),
                         (uint8_t)(value >> 16),
                         (uint8_t)(value >> 8),
                         (uint8_t)value};
    if (id == 4 && value > current->initial_max)
        current->initial_max = value;
    gather_frame(RV_H2_SETTINGS, 0, 0, rv_slice((const char *)octets, 6));
}

static void gather_goaway(void)
{
    char payload[8] = {0, 0, 0, 0, 0, 0, 0, (char)next_octet()};
    gather_frame(RV_H2_GOAWAY, 0, 0, rv_slice(payload, sizeof payload));
}

static void gather_raw(bool framed)
{
    uint8_t type = framed ? next_octet() : 0;
    size_t length = next_octet();
    length = length < script.len ? length : script.len;
    current->windows_unknown = true;
    if (framed)
        gather_frame(type, next_octet(), stream_id(next_octet()),
                     rv_slice(script.ptr, length < script.len ? length : script.len));
    else
        gather(script.ptr, length);
    length = length < script.len ? length : script.len;
    script = rv_slice(script.ptr + length, script.len - length);
}

/* True: that was a frame, or a part of one. */
static bool gather_one(uint8_t letter)
{
    switch (letter) {
    case 'H':
        gather_request(false);
        return true;
    case 'F':
        gather_request(true);
        return true;
    case 'B':
        gather_form_piece();
        return true;
    case 'D':
        gather_data();
        return true;
    case 'T':
        gather_fields(RV_H2_HEADERS);
        return true;
    case 'C':
        gather_fields(RV_H2_CONTINUATION);
        return true;
    case 'R': {
        uint32_t stream = stream_id(next_octet());
        gather_number(RV_H2_RST_STREAM, 0, stream, next_octet());
        return true;
    }
    case 'W':
        gather_window();
        return true;
    case 'S':
        gather_settings();
        return true;
    case 'p':
        gather_frame(RV_H2_PING, next_octet() & 1, 0, RV_LIT("12345678"));
        return true;
    case 'P': {
        uint32_t stream = stream_id(next_octet()), other = stream_id(next_octet());
        char payload[5] = {0, 0, 0, (char)other, 7};
        gather_frame(RV_H2_PRIORITY, 0, stream, rv_slice(payload, sizeof payload));
        return true;
    }
    case 'g':
        gather_goaway();
        return true;
    case 'x':
    case 'y':
        gather_raw(letter == 'y');
        return true;
    case 'k':
        if (gathered_length > last_frame_at + 3) {
            gathered_length -= 3;
            current->windows_unknown = true;
        }
        return true;
    default:
        return false;
    }
}

/* ---- other operations ------------------------------------------------------------------------ */

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
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].test != NULL) {
            rv_test_advance_ms(clients[i].test, ms);
            return;
        }
}

static void stop(void)
{
    if (!has_stopped)
        rv_worker_post_stop(server->workers[0]);
    has_stopped = true;
}

static void run_out_of_memory(void)
{
    uint8_t octet = next_octet();
    memory_runs_out = true;
    memory_left = octet / 2;
    memory_fails_for_all = octet % 2 == 1;
}

/* False: the script ends at once. */
static bool operate(uint8_t letter)
{
    switch (letter) {
    case 'b':
        send_gathered((size_t)next_octet() + 1);
        break;
    case 'c':
        current = &clients[next_octet() % CLIENTS];
        break;
    case 'n':
        disconnect(current);
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
    case 'h':
        if (current->test != NULL)
            rv_test_half_close(current->test);
        break;
    case 'r':
        if (current->test != NULL)
            rv_test_reset(current->test);
        break;
    case 'a': {
        uint8_t octet = next_octet();
        fuzz_app_answer(server, octet >> 3, octet & 7);
        break;
    }
    case 'm':
        run_out_of_memory();
        break;
    case 'Z':
        stop();
        break;
    case 'q':
        return false;
    default:
        break;
    }
    settle();
    return true;
}

static bool is_operation(uint8_t letter)
{
    return letter != 0 && strchr("!bcntwhramZq", letter) != NULL;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool run_script(void)
{
    bool goes_on = true;
    connect_to(current);
    while (goes_on && script.len > 0) {
        uint8_t letter = next_octet();
        if (gather_one(letter) || !is_operation(letter))
            continue;
        if (letter != 'b' && letter != 'm')
            send_gathered(GATHERED_MAX);
        goes_on = operate(letter);
        check();
    }
    if (goes_on)
        send_gathered(GATHERED_MAX);
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
        server = fuzz_app_server_h2();
        rv_test_free(rv_test_new(server)); /* makes the worker */
    }
    struct rv_loop *loop = &server->workers[0]->loop;
    rv_sim_advance(loop, CLOCK_PERIOD_MS - loop->now_ms % CLOCK_PERIOD_MS);
    for (int i = 0; i < 2; i++)
        rv_worker_turn(server->workers[0], 0);
    fuzz_app_begin();
    fuzz_memory_begin();
    current = clients;
    gathered_length = last_frame_at = 0;
    has_stopped = memory_runs_out = false;
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
    REQUIRE(server->workers[0]->h2_streams.taken == 0);
    fuzz_app_end();
    if (has_stopped) {
        rv_server_free(server);
        server = NULL;
    }
    return 0;
}
