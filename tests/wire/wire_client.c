/*
 * Clients in memory (wire_client.h).
 */
#include "wire/wire_client.h"

#include "base/buffer.h"

#include <stdlib.h>

struct wire_client {
    rv_test *test;
    struct rv_buffer plain;
    size_t given; /* octets of it that wire_client_received has given out */
    void *tls;    /* an SSL *; NULL: in the clear */
};

#ifdef RV_WITH_TLS

#include <openssl/err.h>
#include <openssl/ssl.h>

/* Takes what has come, says what the protocol has to say, and decrypts, until nobody says any more. */
static void carry(struct wire_client *client)
{
    SSL *ssl = client->tls;
    char octets[16384];
    for (bool moved = true; moved;) {
        rv_bytes came = rv_test_received(client->test);
        int count = came.len == 0 ? 0 : BIO_write(SSL_get_rbio(ssl), came.ptr, (int)came.len);
        moved = count > 0;
        while ((count = SSL_read(ssl, octets, sizeof octets)) > 0)
            rv_buffer_append(&client->plain, (rv_bytes){octets, (size_t)count});
        ERR_clear_error();
        while ((count = BIO_read(SSL_get_wbio(ssl), octets, sizeof octets)) > 0) {
            rv_test_send(client->test, (rv_bytes){octets, (size_t)count});
            moved = true;
        }
    }
}

static bool shake(struct wire_client *client)
{
    static SSL_CTX *context; /* for the life of the process */
    if (context == NULL)
        context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = client->tls = SSL_new(context);
    if (ssl == NULL)
        return false;
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl);
    carry(client);
    return SSL_is_init_finished(ssl) == 1;
}

static void send_secretly(struct wire_client *client, rv_bytes octets)
{
    for (size_t sent; octets.len > 0; octets = (rv_bytes){octets.ptr + sent, octets.len - sent})
        if (SSL_write_ex(client->tls, octets.ptr, octets.len, &sent) != 1)
            break;
    ERR_clear_error();
    carry(client);
}

static void say_goodbye(struct wire_client *client)
{
    SSL_shutdown(client->tls);
    ERR_clear_error();
    carry(client);
}

static void end_tls(struct wire_client *client)
{
    SSL_free(client->tls);
}

#else

static void carry(struct wire_client *client)
{
    (void)client;
}

static bool shake(struct wire_client *client)
{
    (void)client;
    return false;
}

static void send_secretly(struct wire_client *client, rv_bytes octets)
{
    (void)client;
    (void)octets;
}

static void say_goodbye(struct wire_client *client)
{
    (void)client;
}

static void end_tls(struct wire_client *client)
{
    (void)client;
}

#endif

struct wire_client *wire_client_new(rv_server *server, bool over_tls)
{
    struct wire_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return NULL;
    client->test = rv_test_new(server);
    if (client->test != NULL && (!over_tls || shake(client)))
        return client;
    wire_client_free(client);
    return NULL;
}

void wire_client_free(struct wire_client *client)
{
    if (client->tls != NULL)
        end_tls(client);
    rv_test_free(client->test);
    rv_buffer_free(&client->plain);
    free(client);
}

void wire_client_send(struct wire_client *client, rv_bytes octets)
{
    if (client->tls != NULL)
        send_secretly(client, octets);
    else
        rv_test_send(client->test, octets);
}

void wire_client_half_close(struct wire_client *client)
{
    if (client->tls != NULL)
        say_goodbye(client);
    rv_test_half_close(client->test);
}

void wire_client_advance_ms(struct wire_client *client, uint64_t ms)
{
    rv_test_advance_ms(client->test, ms);
}

rv_bytes wire_client_received(struct wire_client *client)
{
    if (client->tls == NULL)
        return rv_test_received(client->test);
    rv_buffer_consume(&client->plain, client->given);
    carry(client);
    client->given = client->plain.len;
    return (rv_bytes){client->plain.ptr, client->plain.len};
}

bool wire_client_closed(const struct wire_client *client)
{
    return rv_test_closed(client->test);
}
