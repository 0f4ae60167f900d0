/*
 * TLS clients in memory (tls_peer.h).
 */
#include "support/tls_peer.h"

#include "base/bytes.h"
#include "support/tested.h"

#include <openssl/err.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEERS_MAX 8

static struct tls_peer peers[PEERS_MAX];
static unsigned mine;
static char failure[256];

struct tls_peer *tls_client(void)
{
    struct tls_peer *peer = &peers[mine];
    if (peer->context == NULL)
        peer->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(peer->context);
    return peer;
}

void tls_as(unsigned number)
{
    assert_true(number < PEERS_MAX);
    mine = number;
    as(number);
}

void tls_begin(void)
{
    struct tls_peer *peer = tls_client();
    if (peer->ssl != NULL)
        return;
    failure[0] = '\0';
    peer->ssl = SSL_new(peer->context);
    assert_non_null(peer->ssl);
    SSL_set_bio(peer->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(peer->ssl);
}

/* ---- carrying ----------------------------------------------------------------------------------------- */

static bool carry_to_server(struct tls_peer *peer)
{
    char octets[16384];
    size_t most = peer->step == 0 ? sizeof octets : peer->step;
    int count = BIO_read(SSL_get_wbio(peer->ssl), octets, (int)most);
    if (count <= 0)
        return false;
    rv_test_send(client(), rv_slice(octets, (size_t)count)); /* it may be closed already */
    return true;
}

static bool carry_from_server(struct tls_peer *peer)
{
    rv_bytes octets = rv_test_received(client());
    if (octets.len == 0)
        return false;
    assert_int_equal(BIO_write(SSL_get_rbio(peer->ssl), octets.ptr, (int)octets.len), octets.len);
    return true;
}

static void note_failure(struct tls_peer *peer, int result)
{
    if (SSL_get_error(peer->ssl, result) == SSL_ERROR_SSL)
        snprintf(failure, sizeof failure, "%s", ERR_reason_error_string(ERR_peek_last_error()));
    ERR_clear_error();
}

static void digest(struct tls_peer *peer)
{
    char octets[16384];
    ERR_clear_error();
    if (!SSL_is_init_finished(peer->ssl)) {
        int result = SSL_do_handshake(peer->ssl);
        if (result != 1)
            note_failure(peer, result);
        if (result != 1)
            return;
    }
    int count;
    while ((count = SSL_read(peer->ssl, octets, sizeof octets)) > 0)
        assert_int_equal(rv_buffer_append(&peer->plain, rv_slice(octets, (size_t)count)), 0);
    note_failure(peer, count);
}

void tls_carry(void)
{
    struct tls_peer *peer = tls_client();
    tls_begin();
    bool moved;
    do {
        digest(peer);
        moved = carry_to_server(peer);
        moved = carry_from_server(peer) || moved;
    } while (moved);
    digest(peer);
}

bool tls_shake(void)
{
    tls_carry();
    return SSL_is_init_finished(tls_client()->ssl) == 1 && failure[0] == '\0';
}

void tls_say_octets(rv_bytes octets)
{
    assert_true(tls_shake());
    assert_int_equal(SSL_write(tls_client()->ssl, octets.ptr, (int)octets.len), octets.len);
    tls_carry();
}

void tls_say(const char *text)
{
    tls_say_octets(rv_str(text));
}

rv_bytes tls_cipher(const char *text)
{
    static char octets[65536];
    struct tls_peer *peer = tls_client();
    assert_true(tls_shake());
    assert_int_equal(SSL_write(peer->ssl, text, (int)strlen(text)), strlen(text));
    int count = BIO_read(SSL_get_wbio(peer->ssl), octets, sizeof octets);
    assert_true(count > 0);
    return rv_slice(octets, (size_t)count);
}

/* ---- expecting ---------------------------------------------------------------------------------------- */

struct answer *tls_last_answer(void)
{
    return &peers[mine].answer;
}

void tls_expect_answer(int status, const char *content)
{
    struct tls_peer *peer = tls_client();
    tls_carry();
    rv_bytes octets = rv_slice(peer->plain.ptr, peer->plain.len);
    assert_int_equal(answer_take(&peer->answer, &octets, false, tls_heard_goodbye()), ANSWER_WHOLE);
    rv_buffer_consume(&peer->plain, peer->plain.len - octets.len);
    assert_int_equal(peer->answer.status, status);
    if (content != NULL)
        assert_true(answer_content_is(&peer->answer, content));
}

bool tls_heard_goodbye(void)
{
    tls_carry();
    return (SSL_get_shutdown(tls_client()->ssl) & SSL_RECEIVED_SHUTDOWN) != 0 && failure[0] == '\0';
}

const char *tls_failure(void)
{
    return failure;
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void forget(struct tls_peer *peer)
{
    SSL_free(peer->ssl);
    peer->ssl = NULL;
    rv_buffer_free(&peer->plain);
    answer_free(&peer->answer);
    peer->step = 0;
}

int tls_tear_down(void)
{
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        forget(&peers[i]);
        SSL_CTX_free(peers[i].context);
        peers[i].context = NULL;
    }
    mine = 0;
    forget_certificates();
    return 0;
}
