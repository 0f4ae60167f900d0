/*
 * A server that speaks TLS, and OpenSSL as its client, whose records the input carries, or does worse to.
 * The first octet of the input chooses the client (its bits: TLS 1.2, no ALPN, no tickets), the others are
 * operations, each an octet and what is named behind it:
 *
 *     c    the client's next record goes to the server          C    ... all of them
 *     p N  ... the first N octets of what it has to send        d    ... the next record, octet by octet
 *     x    the next record is dropped          2    it is sent, and stays to be sent again
 *     o    the next two change places          f N M  octet N of the next record is XORed with M
 *     l N  the length of the next record is changed by N
 *     i N … N octets of the input are sent between the records
 *     g    a request: GET                      P N  ... POST with N * 64 octets
 *     k    the client renews its keys, or wants to shake hands again
 *     b    the client says good-bye            h    half-closes         r    resets
 *     n    a new connection, with the session of this one if there is one
 *     t N  time passes                         w N  the server may send N * 16 octets (255: all)
 *     m N  N/2 allocations of ours succeed while the next octets are sent, and then one fails; N odd: all
 *
 * Requests are numbered, and the handlers insist that they come in order, each once and with its content:
 * whatever is done to records, TLS must not let it through. A client to which nothing was done gets all
 * its answers. In the end time alone must end every connection, and nothing may be left.
 *
 * Random numbers are the input's own sequence, as far as OpenSSL asks for them here; that leaves the
 * moment of the first run in the certificate.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* a random method is the way to make random numbers repeat */
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "fuzz/support/at_rest.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "io/sim.h"
#include "server/worker.h"

enum { RECORD_HEAD = 5, REQUESTS_MAX = 64, ANSWER_BYTES = 40000 };

#define CLOCK_PERIOD_MS (64 * 64 * 64)

static rv_server *server;
static SSL_CTX *context;
static rv_bytes script;

/* The client, and what it has to send that the input has not carried yet. */
static rv_test *test;
static SSL *ssl;
static SSL_SESSION *session;
static struct rv_buffer records;
static struct rv_buffer plain; /* what it has read */
static unsigned asked;         /* requests on this connection */
static unsigned heard;         /* of them, those that a handler has seen */
static bool untouched;         /* all records went, whole and in order, and nothing else */
static bool memory_runs_out;   /* when octets are sent next */
static bool memory_fails_for_all;
static unsigned memory_left;
static uint8_t choices;

/* ---- random numbers -------------------------------------------------------------------------------- */

static uint64_t sequence;

static int random_octets(unsigned char *octets, int count)
{
    for (int i = 0; i < count; i++) {
        sequence ^= sequence << 13;
        sequence ^= sequence >> 7;
        sequence ^= sequence << 17;
        octets[i] = (unsigned char)(sequence >> 32);
    }
    return 1;
}

static int random_is_there(void)
{
    return 1;
}

static const RAND_METHOD repeatable = {
    .bytes = random_octets, .pseudorand = random_octets, .status = random_is_there};

/* ---- the server ---------------------------------------------------------------------------------------- */

static char pattern[64 * 256];
static char answer[ANSWER_BYTES];

static int handle(rv_talk *talk, void *ctx)
{
    int64_t number, length;
    (void)ctx;
    if (fuzz_memory_has_failed()) /* even reading the path may fail now */
        return rv_problem(talk, 503, NULL);
    REQUIRE(rv_param_int(talk, "number", 0, REQUESTS_MAX, &number) == RV_OK);
    REQUIRE(rv_param_int(talk, "length", 0, sizeof pattern, &length) == RV_OK);
    REQUIRE((unsigned)number == heard && heard < asked);
    heard++;
    rv_bytes body = rv_body(talk);
    REQUIRE(body.len == (size_t)length && memcmp(body.ptr, pattern, body.len) == 0);
    REQUIRE(rv_tls(talk) != NULL);
    return rv_reply_borrowed(talk, 200, "text/plain", rv_slice(answer, ANSWER_BYTES), NULL, NULL);
}

static bool is_suspended(rv_handle handle_of_talk)
{
    (void)handle_of_talk;
    return false;
}

static void make_server(void)
{
    server = rv_server_new(&(rv_server_options){.workers = 1, .pool_threads = 1});
    REQUIRE(server != NULL);
    REQUIRE(rv_listen_tls(server, "127.0.0.1:0") == 0);
    REQUIRE(rv_tls_self_signed(server, NULL) == 0);
    REQUIRE(rv_route(rv_default_app(server), "* /{number}/{length}", handle, NULL) == 0);
    rv_test *first = rv_test_new(server); /* makes the worker */
    REQUIRE(first != NULL);
    rv_test_free(first);
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)('a' + i % 23);
    memset(answer, 'x', sizeof answer);
}

/* ---- the client ------------------------------------------------------------------------------------------ */

static int take_session(SSL *of, SSL_SESSION *fresh)
{
    (void)of;
    SSL_SESSION_free(session);
    session = fresh;
    return 1;
}

static void make_context(void)
{
    context = SSL_CTX_new(TLS_client_method());
    REQUIRE(context != NULL);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, take_session);
}

static void begin_connection(void)
{
    static const unsigned char protocol[] = "\x08http/1.1";
    test = rv_test_new(server);
    REQUIRE(test != NULL);
    ssl = SSL_new(context);
    REQUIRE(ssl != NULL);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl);
    if (choices & 1)
        SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
    if (!(choices & 2))
        SSL_set_alpn_protos(ssl, protocol, sizeof protocol - 1);
    if (choices & 4)
        SSL_set_options(ssl, SSL_OP_NO_TICKET);
    if (session != NULL)
        SSL_set_session(ssl, session);
    asked = heard = 0;
    untouched = !fuzz_memory_has_failed();
}

static void end_connection(void)
{
    rv_test_free(test);
    if (untouched)
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    rv_buffer_free(&records);
    rv_buffer_free(&plain);
}

static void take_from_client(void)
{
    char octets[4096];
    int count;
    while ((count = BIO_read(SSL_get_wbio(ssl), octets, sizeof octets)) > 0)
        REQUIRE(rv_buffer_append(&records, rv_slice(octets, (size_t)count)) == 0);
}

/* Takes what the server has sent, and lets the client do what that makes it do. */
static void digest(void)
{
    char octets[16384];
    int count;
    rv_bytes sent = rv_test_received(test);
    if (sent.len > 0)
        REQUIRE(BIO_write(SSL_get_rbio(ssl), sent.ptr, (int)sent.len) == (int)sent.len);
    while ((count = SSL_read(ssl, octets, sizeof octets)) > 0)
        REQUIRE(rv_buffer_append(&plain, rv_slice(octets, (size_t)count)) == 0);
    int error = SSL_get_error(ssl, count);
    REQUIRE(!untouched || error != SSL_ERROR_SSL);
    ERR_clear_error();
    take_from_client();
}

static void ask(size_t length)
{
    char head[160];
    if (asked == REQUESTS_MAX || SSL_is_init_finished(ssl) != 1)
        return;
    int size =
        snprintf(head, sizeof head, "%s /%u/%zu HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 length == 0 ? "GET" : "POST", asked, length, length);
    if (SSL_write(ssl, head, size) == size) {
        asked++;
        if (length > 0)
            SSL_write(ssl, pattern, (int)length);
    }
    ERR_clear_error();
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static uint8_t next_octet(void)
{
    if (script.len == 0)
        return 0;
    uint8_t octet = (uint8_t)script.ptr[0];
    script = rv_slice(script.ptr + 1, script.len - 1);
    return octet;
}

/* Of the record at `from`, with its head; as far as it is there. */
static size_t record_length(size_t from)
{
    size_t left = records.len - from;
    const unsigned char *head = (const unsigned char *)records.ptr + from;
    if (left < RECORD_HEAD)
        return left;
    size_t length = RECORD_HEAD + (size_t)(head[3] << 8 | head[4]);
    return length < left ? length : left;
}

static void send_octets(const char *octets, size_t length)
{
    if (length == 0)
        return;
    if (memory_runs_out)
        fuzz_memory_runs_out(memory_left, memory_fails_for_all);
    memory_runs_out = false;
    rv_test_send(test, rv_slice(octets, length)); /* it may be closed */
    fuzz_memory_is_back();
    untouched = untouched && !fuzz_memory_has_failed();
}

static void send_front(size_t length)
{
    length = length < records.len ? length : records.len;
    send_octets(records.ptr, length);
    rv_buffer_consume(&records, length);
}

static void change_places(void)
{
    char first[20000];
    size_t one = record_length(0), two = record_length(one);
    if (one == 0 || two == 0 || one > sizeof first)
        return;
    memcpy(first, records.ptr, one);
    memmove(records.ptr, records.ptr + one, two);
    memcpy(records.ptr + two, first, one);
    untouched = false;
}

static void change_octet(size_t at, uint8_t mask)
{
    if (at >= record_length(0) || mask == 0)
        return;
    records.ptr[at] = (char)((uint8_t)records.ptr[at] ^ mask);
    untouched = false;
}

static void send_of_script(size_t length)
{
    length = length < script.len ? length : script.len;
    send_octets(script.ptr, length);
    script = rv_slice(script.ptr + length, script.len - length);
    untouched = untouched && length == 0;
}

static void drip(void)
{
    size_t length = record_length(0);
    for (size_t i = 0; i < length && i < 512; i++)
        send_front(1);
    send_front(length > 512 ? length - 512 : 0);
}

static void renew(void)
{
    if (SSL_version(ssl) == TLS1_3_VERSION)
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
    else if (SSL_renegotiate(ssl) == 1)
        untouched = false; /* it is refused, and the client may well end for that */
    ERR_clear_error();
}

static void operate(uint8_t letter)
{
    switch (letter) {
    case 'c':
        send_front(record_length(0));
        break;
    case 'C':
        send_front(records.len);
        break;
    case 'p':
        send_front(next_octet());
        break;
    case 'd':
        drip();
        break;
    case 'x':
        untouched = untouched && records.len == 0;
        rv_buffer_consume(&records, record_length(0));
        break;
    case '2':
        untouched = untouched && records.len == 0;
        send_octets(records.ptr, record_length(0));
        break;
    case 'o':
        change_places();
        break;
    case 'f': {
        uint8_t at = next_octet();
        change_octet(at, next_octet());
        break;
    }
    case 'l':
        change_octet(4, next_octet());
        break;
    case 'i':
        send_of_script(next_octet());
        break;
    case 'g':
        ask(0);
        break;
    case 'P':
        ask((size_t)next_octet() * 64);
        break;
    case 'k':
        if (SSL_is_init_finished(ssl) == 1)
            renew();
        break;
    case 'b':
        untouched = untouched && asked == heard;
        SSL_shutdown(ssl);
        ERR_clear_error();
        break;
    case 'h':
        untouched = false;
        rv_test_half_close(test);
        break;
    case 'r':
        untouched = false;
        rv_test_reset(test);
        break;
    case 'n':
        end_connection();
        begin_connection();
        break;
    case 't':
        untouched = false;
        rv_test_advance_ms(test, (uint64_t)next_octet() * 128 + 1);
        break;
    case 'w': {
        uint8_t octet = next_octet();
        rv_test_window(test, octet == 255 ? RV_NO_LIMIT : (uint64_t)octet * 16);
        break;
    }
    case 'm': {
        uint8_t octet = next_octet();
        memory_runs_out = true;
        memory_left = octet / 2;
        memory_fails_for_all = octet % 2 == 1;
        break;
    }
    default:
        break;
    }
}

/* ---- a run ---------------------------------------------------------------------------------------------------- */

static void check(void)
{
    digest();
    fuzz_require_at_rest(server, is_suspended);
    fuzz_scribble(server);
}

/* Nothing was done to this client: it can shake hands, and gets every answer. */
static void expect_answers(void)
{
    for (int i = 0; i < 20; i++) {
        send_front(records.len);
        check();
    }
    REQUIRE(SSL_is_init_finished(ssl) == 1);
    REQUIRE(heard == asked);
    unsigned answers = 0;
    rv_bytes rest = rv_slice(plain.ptr == NULL ? "" : plain.ptr, plain.len);
    const char *at;
    while ((at = memmem(rest.ptr, rest.len, "HTTP/1.1 200 OK\r\n", 17)) != NULL) {
        rest = rv_slice(at + 1, (size_t)(rest.ptr + rest.len - at - 1));
        answers++;
    }
    REQUIRE(answers == asked && plain.len >= (size_t)asked * ANSWER_BYTES);
}

static void run_out_of_time(void)
{
    rv_test_window(test, RV_NO_LIMIT);
    for (int i = 0; i < 10 && !rv_test_closed(test); i++) {
        rv_test_advance_ms(test, 20000);
        check();
    }
    REQUIRE(rv_test_closed(test));
}

static void begin(void)
{
    sequence = 88172645463325252;
    if (server == NULL) {
        RAND_set_rand_method(&repeatable);
        make_server();
        make_context();
    }
    struct rv_loop *loop = &server->workers[0]->loop;
    rv_sim_advance(loop, CLOCK_PERIOD_MS - loop->now_ms % CLOCK_PERIOD_MS);
    for (int i = 0; i < 2; i++)
        rv_worker_turn(server->workers[0], 0);
    fuzz_memory_begin();
    memory_runs_out = false;
    choices = next_octet();
    begin_connection();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script = rv_slice((const char *)data, size);
    begin();
    check();
    while (script.len > 0) {
        operate(next_octet());
        check();
    }
    memory_runs_out = false;
    rv_test_window(test, RV_NO_LIMIT);
    check();
    if (untouched && !(SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN))
        expect_answers();
    run_out_of_time();
    end_connection();
    SSL_SESSION_free(session);
    session = NULL;
    fuzz_require_empty(server);
    return 0;
}
