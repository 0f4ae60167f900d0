/*
 * Records that are made below the streams (src/io/tls_bio.c): a back end that takes the keys, as a kernel
 * with TLS does, and one that refuses them. It is the sim back end with a sealer of TLS 1.3 records in
 * front; OpenSSL is the client, so what it can read is right.
 */
#include "io/backend.h"
#include "io/listener.h"
#include "io/sim.h"
#include "io/stream.h"
#include "io/tls.h"
#include "support/sim_net.h"

#include <errno.h>
#include <linux/tls.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TYPE_ALERT 21
#define TYPE_DATA 23
#define TAG_BYTES 16

/* ---- what a kernel does --------------------------------------------------------------------------------- */

static struct {
    bool refuses;
    int refusals_of_records; /* that are answered with EAGAIN, yet to come */
    bool has_keys;
    struct tls12_crypto_info_aes_gcm_256 keys;
    uint64_t sequence;
    unsigned data_records, other_records, files;
} below;

static bool may_encrypt(void)
{
    return true;
}

static bool take_keys(struct rv_stream *stream, const void *keys)
{
    (void)stream;
    if (below.refuses)
        return false;
    memcpy(&below.keys, keys, sizeof below.keys);
    assert_int_equal(below.keys.info.version, TLS_1_3_VERSION);
    assert_int_equal(below.keys.info.cipher_type, TLS_CIPHER_AES_GCM_256);
    below.sequence = 0;
    for (size_t i = 0; i < sizeof below.keys.rec_seq; i++)
        below.sequence = below.sequence << 8 | below.keys.rec_seq[i];
    below.has_keys = true;
    return true;
}

/* RFC 8446 section 5.2, into room for length + 22; returns the record's length. */
static size_t seal(unsigned char *record, unsigned char type, const char *octets, size_t length)
{
    unsigned char nonce[12];
    int count;
    size_t sealed = length + 1 + TAG_BYTES;
    unsigned char head[5] = {TYPE_DATA, 3, 3, (unsigned char)(sealed >> 8), (unsigned char)sealed};
    memcpy(nonce, below.keys.salt, 4);
    memcpy(nonce + 4, below.keys.iv, 8);
    for (int i = 0; i < 8; i++)
        nonce[11 - i] ^= (unsigned char)(below.sequence >> (8 * i));
    below.sequence++;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    assert_int_equal(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, below.keys.key, nonce), 1);
    assert_int_equal(EVP_EncryptUpdate(cipher, NULL, &count, head, sizeof head), 1);
    memcpy(record, head, sizeof head);
    assert_int_equal(
        EVP_EncryptUpdate(cipher, record + 5, &count, (const unsigned char *)octets, (int)length),
        1);
    assert_int_equal(EVP_EncryptUpdate(cipher, record + 5 + length, &count, &type, 1), 1);
    assert_int_equal(EVP_EncryptFinal_ex(cipher, record + 5 + length + 1, &count), 1);
    assert_int_equal(
        EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, record + 6 + length), 1);
    EVP_CIPHER_CTX_free(cipher);
    return sizeof head + sealed;
}

static ssize_t send_sealed(struct rv_stream *stream, unsigned char type, const char *octets,
                           size_t length)
{
    static unsigned char record[(1 << 14) + 64];
    assert_true(length <= 1 << 14);
    struct iovec piece = {record, seal(record, type, octets, length)};
    assert_int_equal(rv_backend_sim.send(stream, &piece, 1, false), piece.iov_len);
    return (ssize_t)length;
}

static ssize_t send_pieces(struct rv_stream *stream, const struct iovec *pieces, int count,
                           bool more)
{
    ssize_t total = 0;
    if (!below.has_keys)
        return rv_backend_sim.send(stream, pieces, count, more);
    for (int i = 0; i < count; i++, below.data_records++)
        total += send_sealed(stream, TYPE_DATA, pieces[i].iov_base, pieces[i].iov_len);
    return total;
}

static ssize_t send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
{
    char octets[1024];
    assert_true(below.has_keys);
    below.files++;
    ssize_t got =
        pread(file, octets, length < sizeof octets ? length : sizeof octets, (off_t)offset);
    return send_sealed(stream, TYPE_DATA, octets, (size_t)got);
}

static int send_record(struct rv_stream *stream, unsigned char type, const char *octets,
                       size_t length)
{
    assert_true(below.has_keys);
    if (below.refusals_of_records-- > 0)
        return EAGAIN;
    below.other_records++;
    send_sealed(stream, type, octets, length);
    return 0;
}

/* ---- a server, and its client ----------------------------------------------------------------------------- */

static struct rv_backend backend;
static struct rv_loop loop;
static struct rv_listener listener;
static struct rv_tls_settings settings;
static struct rv_sim_peer *peer;
static SSL_CTX *client_context;
static SSL *client;

static struct {
    struct rv_stream stream;
    struct rv_tls *tls;
    bool open, secured, lost;
    char heard[64];
} owner;

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    (void)stream;
    assert_true(length < sizeof owner.heard);
    memcpy(owner.heard, octets, length);
    owner.heard[length] = '\0';
}

static void on_secured(struct rv_stream *stream)
{
    (void)stream;
    owner.secured = true;
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    (void)stream;
    (void)error;
    owner.lost = true;
}

static void on_closed(struct rv_stream *stream)
{
    (void)stream;
    owner.open = false;
}

static void on_end(struct rv_stream *stream)
{
    rv_stream_close(stream);
}

static const struct rv_stream_events events = {
    .on_data = on_data,
    .on_end = on_end,
    .on_secured = on_secured,
    .on_lost = on_lost,
    .on_closed = on_closed,
    .tls_at = offsetof(typeof(owner), tls),
};

static void on_accept(struct rv_listener *from, int descriptor, const struct sockaddr *address,
                      socklen_t length)
{
    (void)address;
    (void)length;
    owner.open = true;
    assert_int_equal(rv_stream_open_tls(&owner.stream, from->loop, &events, descriptor, true), 0);
}

static int set_up(void **state)
{
    char why[RV_TLS_WHY_MAX];
    (void)state;
    memset(&below, 0, sizeof below);
    memset(&owner, 0, sizeof owner);
    backend = rv_backend_sim;
    backend.may_encrypt = may_encrypt;
    backend.encrypt = take_keys;
    backend.send = send_pieces;
    backend.send_file = send_file;
    backend.send_record = send_record;
    settings = (struct rv_tls_settings){.tickets = rv_tls_tickets_new(1000000)};
    assert_int_equal(rv_tls_add_self_made(&settings, "localhost", why), 0);
    assert_int_equal(rv_loop_open(&loop, &backend, NULL), 0);
    assert_int_equal(rv_tls_context_open(&loop, &settings, why), 0);
    listener = (struct rv_listener){.loop = &loop, .on_accept = on_accept};
    assert_int_equal(rv_listener_start(&listener), 0);
    peer = rv_sim_connect(&loop);
    client_context = SSL_CTX_new(TLS_client_method());
    client = SSL_new(client_context);
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rv_stream_close(&owner.stream);
    rv_loop_turn(&loop, 0);
    assert_false(owner.open);
    rv_sim_peer_free(peer);
    rv_tls_context_close(&loop);
    rv_loop_close(&loop);
    rv_tls_settings_free(&settings);
    SSL_free(client);
    SSL_CTX_free(client_context);
    return 0;
}

/* What the client has read, carrying octets until nobody has anything to say. */
static const char *carry(void)
{
    static char heard[4096];
    size_t filled = 0;
    char octets[16384];
    for (int idle = 0; idle < 2; idle++) {
        int count = SSL_read(client, heard + filled, (int)(sizeof heard - 1 - filled));
        if (count > 0)
            filled += (size_t)count;
        if ((count = BIO_read(SSL_get_wbio(client), octets, sizeof octets)) > 0) {
            rv_sim_send(peer, rv_slice(octets, (size_t)count));
            idle = -1;
        }
        rv_loop_turn(&loop, 0);
        struct rv_buffer *received = rv_sim_received(peer);
        if (received->len > 0) {
            BIO_write(SSL_get_rbio(client), received->ptr, (int)received->len);
            rv_buffer_consume(received, received->len);
            idle = -1;
        }
    }
    heard[filled] = '\0';
    return heard;
}

static bool heard_goodbye(void)
{
    carry();
    return (SSL_get_shutdown(client) & SSL_RECEIVED_SHUTDOWN) != 0;
}

static void write_text_here(const char *text)
{
    assert_int_equal(rv_stream_write(&owner.stream, rv_slice(text, strlen(text))), 0);
    rv_stream_flush(&owner.stream);
}

/* ---- facts ------------------------------------------------------------------------------------------------ */

static void what_is_sent_is_sealed_below(void **state)
{
    (void)state;
    carry();
    assert_true(owner.secured);
    assert_true(below.has_keys);
    write_text_here("one");
    assert_string_equal(carry(), "one");
    write_text_here("two");
    assert_string_equal(carry(), "two");
    assert_int_equal(below.data_records, 2);
}

static void a_ticket_is_a_record_of_its_type(void **state)
{
    (void)state;
    carry();
    assert_int_equal(below.other_records, 1);
    assert_int_equal(below.data_records, 0);
    assert_int_equal(SSL_SESSION_is_resumable(SSL_get0_session(client)), 1);
}

static void what_arrives_is_opened_above(void **state)
{
    (void)state;
    carry();
    assert_int_equal(SSL_write(client, "a question", 10), 10);
    carry();
    assert_string_equal(owner.heard, "a question");
}

static void a_file_is_handed_down(void **state)
{
    (void)state;
    carry();
    write_text_here("head ");
    assert_int_equal(
        rv_stream_write_file(&owner.stream, file_of(RV_LIT("of a file")), 0, strlen("of a file")),
        0);
    assert_string_equal(carry(), "head of a file");
    assert_int_equal(below.files, 1);
}

static void goodbye_is_an_alert(void **state)
{
    (void)state;
    carry();
    write_text_here("the last");
    rv_stream_close_when_sent(&owner.stream);
    assert_string_equal(carry(), "the last");
    assert_true(heard_goodbye());
    assert_false(owner.open);
}

static void goodbye_waits_for_room(void **state)
{
    (void)state;
    carry();
    below.refusals_of_records = 2;
    rv_stream_close_when_sent(&owner.stream);
    assert_false(heard_goodbye());
    assert_true(owner.open);
    rv_stream_writable(&owner.stream);
    assert_false(heard_goodbye());
    rv_stream_writable(&owner.stream);
    assert_true(heard_goodbye());
    assert_false(owner.open);
}

static void a_bad_record_is_answered_with_an_alert(void **state)
{
    (void)state;
    carry();
    rv_sim_send(peer, RV_LIT("\x17\x03\x03\x00\x14"
                             "aaaaaaaaaaaaaaaaaaaa"));
    carry();
    assert_true(owner.lost);
    assert_int_equal(below.other_records, 2);
}

static void keys_that_are_refused_stay_above(void **state)
{
    (void)state;
    below.refuses = true;
    carry();
    assert_true(owner.secured);
    write_text_here("as ever");
    rv_stream_close_when_sent(&owner.stream);
    assert_string_equal(carry(), "as ever");
    assert_true(heard_goodbye());
    assert_int_equal(below.data_records + below.other_records, 0);
}

/* The records of the handshake would come behind what is sealed below. */
static void keys_are_kept_while_older_records_wait(void **state)
{
    (void)state;
    rv_sim_set_window(peer, 100);
    carry();
    assert_false(below.has_keys);
    rv_sim_set_window(peer, UINT64_MAX);
    carry();
    assert_true(owner.secured);
    write_text_here("as ever");
    assert_string_equal(carry(), "as ever");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_sent_is_sealed_below),
        TEST(a_ticket_is_a_record_of_its_type),
        TEST(what_arrives_is_opened_above),
        TEST(a_file_is_handed_down),
        TEST(goodbye_is_an_alert),
        TEST(goodbye_waits_for_room),
        TEST(a_bad_record_is_answered_with_an_alert),
        TEST(keys_that_are_refused_stay_above),
        TEST(keys_are_kept_while_older_records_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
