/*
 * The client's side of TLS (src/io/tls_client.c) on the sim back end, with OpenSSL as the server: whom a
 * client believes, what it asks for, which sessions it takes up again, and the words for what fails.
 */
#include "io/sim.h"
#include "io/stream.h"
#include "io/tls.h"
#include "support/tls_peer.h"

#include <openssl/err.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLIENTS_MAX 4

/* A client, and the server that it talks to. */
struct pair {
    struct rv_stream stream; /* first */
    struct rv_tls *tls;
    struct rv_buffer data;
    bool connected, ended, lost, closed;
    rv_error error;
    struct rv_tls_failure failure;
    struct rv_sim_peer *peer;
    SSL *server;
    struct rv_buffer read;
};

static struct rv_loop loop;
static SSL_CTX *servers; /* what a server's end is made from, to be changed before it is */
static struct pair pairs[CLIENTS_MAX];
static unsigned count;

/* ---- the stream's owner ----------------------------------------------------------------------------- */

static struct pair *pair_of(struct rv_stream *stream)
{
    return (struct pair *)stream;
}

static void on_connected(struct rv_stream *stream)
{
    pair_of(stream)->connected = true;
}

static void on_data(struct rv_stream *stream, char *octets, size_t length)
{
    assert_true(pair_of(stream)->connected);
    assert_int_equal(rv_buffer_append(&pair_of(stream)->data, rv_slice(octets, length)), 0);
}

static void on_end(struct rv_stream *stream)
{
    pair_of(stream)->ended = true;
}

static void on_lost(struct rv_stream *stream, rv_error error)
{
    struct pair *pair = pair_of(stream);
    pair->lost = true;
    pair->error = error;
    rv_tls_failure(stream, &pair->failure);
}

static void on_closed(struct rv_stream *stream)
{
    pair_of(stream)->closed = true;
}

static void on_nothing(struct rv_stream *stream)
{
    (void)stream;
}

static const struct rv_stream_events events = {
    .on_connected = on_connected,
    .on_data = on_data,
    .on_end = on_end,
    .on_lost = on_lost,
    .on_drain = on_nothing,
    .on_again = on_nothing,
    .on_timer = on_nothing,
    .on_closed = on_closed,
    .tls_at = offsetof(struct pair, tls),
};

/* ---- the ground -------------------------------------------------------------------------------------- */

/* A server for localhost that "ca" vouches for. */
static int set_up(void **state)
{
    (void)state;
    make_certificate("ca", (struct wanted_certificate){.name = "Somebody", .is_ca = true});
    make_certificate("good", (struct wanted_certificate){.from = "ca"});
    servers = SSL_CTX_new(TLS_server_method());
    assert_int_equal(rv_loop_open(&loop, &rv_backend_sim, NULL), 0);
    memset(pairs, 0, sizeof pairs);
    count = 0;
    return 0;
}

static void show(const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "%s.crt", name);
    assert_int_equal(SSL_CTX_use_certificate_file(servers, made(file), SSL_FILETYPE_PEM), 1);
    snprintf(file, sizeof file, "%s.key", name);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(servers, made(file), SSL_FILETYPE_PEM), 1);
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        rv_loop_turn(&loop, 0);
}

static void drop_last(void)
{
    struct pair *pair = &pairs[--count];
    rv_stream_close(&pair->stream);
    turn();
    assert_true(pair->closed);
    rv_sim_peer_free(pair->peer);
    SSL_free(pair->server);
    rv_buffer_free(&pair->data);
    rv_buffer_free(&pair->read);
    *pair = (struct pair){0};
}

static int tear_down(void **state)
{
    (void)state;
    while (count > 0)
        drop_last();
    if (loop.tls != NULL)
        rv_tls_context_close(&loop);
    rv_loop_close(&loop);
    SSL_CTX_free(servers);
    forget_certificates();
    return 0;
}

/* The settings of the loop's clients: they believe "ca", unless `ca_file` says otherwise. */
static void clients(struct rv_tls_client_settings settings)
{
    char why[RV_TLS_WHY_MAX];
    if (settings.host == NULL)
        settings.host = "localhost";
    if (settings.ca_file == NULL)
        settings.ca_file = made("ca.crt");
    if (rv_tls_client_open(&loop, &settings, why) != 0)
        fail_msg("%s", why);
}

static struct pair *begin(void)
{
    static const struct sockaddr anywhere = {.sa_family = AF_INET};
    struct pair *pair = &pairs[count++];
    struct rv_connect_to to = {.peer = &anywhere, .peer_length = sizeof anywhere, .secure = true};
    assert_int_equal(rv_stream_connect(&pair->stream, &loop, &events, &to), 0);
    pair->peer = rv_sim_take(&loop);
    assert_non_null(pair->peer);
    pair->server = SSL_new(servers);
    SSL_set_bio(pair->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(pair->server);
    rv_sim_accept(pair->peer);
    return pair;
}

/* Carries octets both ways until nobody has anything to say. */
static void carry(struct pair *pair)
{
    for (int i = 0; i < 20; i++) {
        char octets[4096];
        int length;
        turn();
        struct rv_buffer *received = rv_sim_received(pair->peer);
        BIO_write(SSL_get_rbio(pair->server), received->ptr, (int)received->len);
        rv_buffer_consume(received, received->len);
        while ((length = SSL_read(pair->server, octets, sizeof octets)) > 0)
            assert_int_equal(rv_buffer_append(&pair->read, rv_slice(octets, (size_t)length)), 0);
        ERR_clear_error();
        while ((length = BIO_read(SSL_get_wbio(pair->server), octets, sizeof octets)) > 0)
            rv_sim_send(pair->peer, rv_slice(octets, (size_t)length)); /* it may be closed */
    }
}

static struct pair *connect_to_server(void)
{
    struct pair *pair = begin();
    carry(pair);
    return pair;
}

static void expect_connected(const struct pair *pair)
{
    if (pair->lost)
        fail_msg("lost: %s", pair->failure.reason == NULL ? "?" : pair->failure.reason);
    assert_true(pair->connected);
}

static void expect_failure(const struct pair *pair, bool certificate, const char *reason)
{
    assert_false(pair->connected);
    assert_true(pair->lost && pair->closed);
    assert_int_equal(pair->error, RV_EPROTO);
    assert_true(pair->failure.begun && pair->failure.told);
    assert_int_equal(pair->failure.certificate, certificate);
    assert_non_null(pair->failure.reason);
    if (strstr(pair->failure.reason, reason) == NULL)
        fail_msg("\"%s\" is not \"%s\"", pair->failure.reason, reason);
}

/* ---- whom it believes ---------------------------------------------------------------------------------- */

static void a_server_that_somebody_vouches_for_is_believed(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    expect_connected(connect_to_server());
}

static void one_that_nobody_vouches_for_is_not(void **state)
{
    (void)state;
    make_certificate("alone", (struct wanted_certificate){0});
    show("alone");
    clients((struct rv_tls_client_settings){0});
    expect_failure(connect_to_server(), true, "self-signed certificate");
}

static void one_that_somebody_else_vouches_for_is_not(void **state)
{
    (void)state;
    make_certificate("other-ca", (struct wanted_certificate){.name = "Other", .is_ca = true});
    show("good");
    clients((struct rv_tls_client_settings){.ca_file = made("other-ca.crt")});
    expect_failure(connect_to_server(), true, "issuer certificate");
}

static void one_for_another_name_is_not(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){.host = "elsewhere.example"});
    expect_failure(connect_to_server(), true, "ostname mismatch");
}

/* RFC 6125 section 6.4.3: the star stands for a whole label, and for one. */
static void a_star_is_one_label(void **state)
{
    (void)state;
    make_certificate("star", (struct wanted_certificate){.name = "*.site.example", .from = "ca"});
    show("star");
    clients((struct rv_tls_client_settings){.host = "a.site.example"});
    expect_connected(connect_to_server());
    tear_down(NULL);
    set_up(NULL);
    make_certificate("star", (struct wanted_certificate){.name = "*.site.example", .from = "ca"});
    show("star");
    clients((struct rv_tls_client_settings){.host = "a.b.site.example"});
    expect_failure(connect_to_server(), true, "ostname mismatch");
}

static void a_name_is_no_address(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){.host = "127.0.0.1"});
    expect_failure(connect_to_server(), true, "IP address mismatch");
}

static void one_that_has_expired_is_not(void **state)
{
    (void)state;
    make_certificate("old",
                     (struct wanted_certificate){.from = "ca", .begins_s = -7200, .ends_s = -3600});
    show("old");
    clients((struct rv_tls_client_settings){0});
    expect_failure(connect_to_server(), true, "certificate has expired");
}

static void the_insecure_believe_anybody(void **state)
{
    (void)state;
    make_certificate("alone", (struct wanted_certificate){.name = "elsewhere.example"});
    show("alone");
    clients((struct rv_tls_client_settings){.insecure = true});
    expect_connected(connect_to_server());
}

/* ---- what it asks for ------------------------------------------------------------------------------------ */

static void the_name_is_said(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = connect_to_server();
    assert_string_equal(SSL_get_servername(pair->server, TLSEXT_NAMETYPE_host_name), "localhost");
}

static void the_name_can_be_hidden(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){.hide_name = true});
    struct pair *pair = connect_to_server();
    expect_connected(pair);
    assert_null(SSL_get_servername(pair->server, TLSEXT_NAMETYPE_host_name));
}

static void an_address_is_not_said(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){.host = "::1", .insecure = true});
    struct pair *pair = connect_to_server();
    expect_connected(pair);
    assert_null(SSL_get_servername(pair->server, TLSEXT_NAMETYPE_host_name));
}

static void versions_that_do_not_meet_are_a_failure(void **state)
{
    (void)state;
    show("good");
    SSL_CTX_set_max_proto_version(servers, TLS1_2_VERSION);
    clients((struct rv_tls_client_settings){.version_min = TLS1_3_VERSION});
    expect_failure(connect_to_server(), false, "protocol version");
}

static void ciphers_that_do_not_meet_are_a_failure(void **state)
{
    (void)state;
    show("good");
    SSL_CTX_set_max_proto_version(servers, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(servers, "ECDHE-ECDSA-AES256-GCM-SHA384");
    clients((struct rv_tls_client_settings){.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"});
    expect_failure(connect_to_server(), false, "handshake failure");
}

static void expect_useless(struct rv_tls_client_settings settings, const char *sentence)
{
    char why[RV_TLS_WHY_MAX];
    settings.host = "localhost";
    assert_int_equal(rv_tls_client_check(&settings, why), RV_EINVAL);
    if (strstr(why, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why, sentence);
}

static void settings_that_cannot_be_used_are_named(void **state)
{
    (void)state;
    make_certificate("own", (struct wanted_certificate){.password = "secret"});
    expect_useless((struct rv_tls_client_settings){.ca_file = "/absent"}, "/absent");
    expect_useless((struct rv_tls_client_settings){.ciphers = "nonsense"}, "nonsense");
    expect_useless(
        (struct rv_tls_client_settings){.certificate = made("good.crt"), .key = made("ca.key")},
        "ca.key");
    expect_useless(
        (struct rv_tls_client_settings){.certificate = made("own.crt"), .key = made("own.key")},
        "own.key\" cannot be used: it is encrypted");
    expect_useless((struct rv_tls_client_settings){.certificate = made("good.crt")},
                   "good.crt\" cannot be used: there is no private key in this file");
}

/* ---- sessions --------------------------------------------------------------------------------------------- */

static bool is_resumed(struct pair *pair)
{
    struct rv_tls_facts facts;
    expect_connected(pair);
    rv_tls_facts(&pair->stream, &facts);
    assert_int_equal(SSL_session_reused(pair->server), facts.resumed);
    return facts.resumed;
}

static void resume(unsigned version)
{
    show("good");
    clients((struct rv_tls_client_settings){
        .resume = true, .version_min = version, .version_max = version});
    assert_false(is_resumed(connect_to_server()));
    assert_true(is_resumed(connect_to_server()));
    /* Two at once take up the same one. */
    struct pair *one = begin(), *other = begin();
    carry(one);
    carry(other);
    assert_true(is_resumed(one));
    assert_true(is_resumed(other));
}

static void a_session_of_tls_1_2_is_taken_up_again(void **state)
{
    (void)state;
    resume(TLS1_2_VERSION);
}

static void a_session_of_tls_1_3_is_taken_up_again(void **state)
{
    (void)state;
    resume(TLS1_3_VERSION);
}

static void a_session_survives_an_end_without_goodbye(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){.resume = true});
    struct pair *pair = connect_to_server();
    rv_sim_half_close(pair->peer);
    turn();
    assert_true(pair->lost);
    assert_int_equal(pair->error, RV_EGONE);
    assert_true(is_resumed(connect_to_server()));
}

static void without_being_asked_all_handshakes_are_full(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    assert_false(is_resumed(connect_to_server()));
    assert_false(is_resumed(connect_to_server()));
}

static void a_server_that_forgets_gets_a_full_handshake(void **state)
{
    (void)state;
    unsigned char keys[80];
    show("good");
    clients((struct rv_tls_client_settings){.resume = true});
    assert_false(is_resumed(connect_to_server()));
    memset(keys, 7, sizeof keys);
    assert_int_equal(SSL_CTX_set_tlsext_ticket_keys(servers, keys, sizeof keys), 1);
    assert_false(is_resumed(connect_to_server()));
    assert_true(is_resumed(connect_to_server()));
}

/* ---- ends --------------------------------------------------------------------------------------------------- */

static void octets_wait_for_the_handshake(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = begin();
    assert_int_equal(rv_stream_write(&pair->stream, RV_LIT("ping")), 0);
    carry(pair);
    assert_int_equal(pair->read.len, 4);
    assert_memory_equal(pair->read.ptr, "ping", 4);
    assert_int_equal(SSL_write(pair->server, "pong", 4), 4);
    carry(pair);
    assert_int_equal(pair->data.len, 4);
}

static void records_may_come_octet_by_octet(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = connect_to_server();
    assert_int_equal(SSL_write(pair->server, "pong", 4), 4);
    char octet;
    while (BIO_read(SSL_get_wbio(pair->server), &octet, 1) == 1)
        assert_int_equal(rv_sim_send(pair->peer, rv_slice(&octet, 1)), 0);
    assert_int_equal(pair->data.len, 4);
    assert_false(pair->lost);
}

static void a_changed_record_is_a_failure_of_tls(void **state)
{
    (void)state;
    char octets[256];
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = connect_to_server();
    assert_int_equal(SSL_write(pair->server, "pong", 4), 4);
    int length = BIO_read(SSL_get_wbio(pair->server), octets, sizeof octets);
    octets[length - 1] ^= 1;
    rv_sim_send(pair->peer, rv_slice(octets, (size_t)length));
    turn();
    assert_true(pair->lost && pair->failure.told && pair->data.len == 0);
    assert_int_equal(pair->error, RV_EPROTO);
    assert_non_null(strstr(pair->failure.reason, "bad record mac"));
}

static void closing_says_goodbye(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = connect_to_server();
    rv_stream_close(&pair->stream);
    carry(pair);
    assert_int_equal(SSL_get_shutdown(pair->server), SSL_RECEIVED_SHUTDOWN);
}

static void the_servers_goodbye_is_an_end(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = connect_to_server();
    SSL_shutdown(pair->server);
    carry(pair);
    assert_true(pair->ended && !pair->lost);
}

static void a_server_that_closes_in_the_handshake_has_told_nothing(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = begin();
    turn();
    rv_sim_half_close(pair->peer);
    turn();
    assert_true(pair->lost && !pair->connected);
    assert_int_equal(pair->error, RV_EGONE);
    assert_true(pair->failure.begun && !pair->failure.told && !pair->failure.certificate);
}

/* What a server has to say to a client's first message. */
static int first_flight(struct pair *pair, char *octets, size_t size)
{
    turn();
    struct rv_buffer *hello = rv_sim_received(pair->peer);
    BIO_write(SSL_get_rbio(pair->server), hello->ptr, (int)hello->len);
    rv_buffer_consume(hello, hello->len);
    SSL_do_handshake(pair->server);
    ERR_clear_error();
    return BIO_read(SSL_get_wbio(pair->server), octets, (int)size);
}

static void its_messages_may_be_cut_off_anywhere(void **state)
{
    (void)state;
    char octets[4096];
    int length = 1;
    show("good");
    clients((struct rv_tls_client_settings){0});
    for (int cut = 0; cut < length; cut += 13) {
        struct pair *pair = begin();
        length = first_flight(pair, octets, sizeof octets);
        assert_in_range(length, 500, sizeof octets - 1);
        if (cut >= length) /* signatures differ in length by an octet or two */
            break;
        if (cut > 0)
            rv_sim_send(pair->peer, rv_slice(octets, (size_t)cut));
        turn();
        assert_false(pair->lost);
        rv_sim_half_close(pair->peer);
        turn();
        assert_true(pair->lost && !pair->connected);
        assert_int_equal(pair->error, RV_EGONE);
        assert_false(pair->failure.told);
        drop_last();
    }
}

static void a_server_that_speaks_plainly_is_told_from_others(void **state)
{
    (void)state;
    show("good");
    clients((struct rv_tls_client_settings){0});
    struct pair *pair = begin();
    turn();
    rv_sim_send(pair->peer, RV_LIT("HTTP/1.1 400 Bad Request\r\n\r\n"));
    turn();
    expect_failure(pair, false, "the server answered in plain HTTP");
    pair = begin();
    turn();
    rv_sim_send(pair->peer, RV_LIT("220 mail.example ready\r\n"));
    turn();
    expect_failure(pair, false, "wrong version number");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_server_that_somebody_vouches_for_is_believed),
        TEST(one_that_nobody_vouches_for_is_not),
        TEST(one_that_somebody_else_vouches_for_is_not),
        TEST(one_for_another_name_is_not),
        TEST(a_star_is_one_label),
        TEST(a_name_is_no_address),
        TEST(one_that_has_expired_is_not),
        TEST(the_insecure_believe_anybody),
        TEST(the_name_is_said),
        TEST(the_name_can_be_hidden),
        TEST(an_address_is_not_said),
        TEST(versions_that_do_not_meet_are_a_failure),
        TEST(ciphers_that_do_not_meet_are_a_failure),
        TEST(settings_that_cannot_be_used_are_named),
        TEST(a_session_of_tls_1_2_is_taken_up_again),
        TEST(a_session_of_tls_1_3_is_taken_up_again),
        TEST(a_session_survives_an_end_without_goodbye),
        TEST(without_being_asked_all_handshakes_are_full),
        TEST(a_server_that_forgets_gets_a_full_handshake),
        TEST(octets_wait_for_the_handshake),
        TEST(records_may_come_octet_by_octet),
        TEST(a_changed_record_is_a_failure_of_tls),
        TEST(closing_says_goodbye),
        TEST(the_servers_goodbye_is_an_end),
        TEST(a_server_that_closes_in_the_handshake_has_told_nothing),
        TEST(its_messages_may_be_cut_off_anywhere),
        TEST(a_server_that_speaks_plainly_is_told_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
