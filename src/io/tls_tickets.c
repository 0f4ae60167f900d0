/*
 * Session tickets (RFC 5077, RFC 8446 section 4.6.1): the keys that seal them. All workers share them,
 * so that a client may come back to any of them, and they outlive a reload. A key seals for one period
 * and opens for another; a ticket sealed with the older one is renewed. Keys never leave the process.
 */
#include "base/clock.h"
#include "io/tls_inner.h"

#include <openssl/core_names.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define NAME_BYTES 16
#define KEY_BYTES 32
#define IV_BYTES 16

struct ticket_key {
    unsigned char name[NAME_BYTES];
    unsigned char cipher[KEY_BYTES];
    unsigned char mac[KEY_BYTES];
    uint64_t made_ms;
    bool set;
};

struct rv_tls_tickets {
    pthread_mutex_t mutex;
    uint64_t period_ms;
    struct ticket_key current, former;
};

static uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct rv_tls_tickets *rv_tls_tickets_new(uint64_t period_ms)
{
    struct rv_tls_tickets *tickets = calloc(1, sizeof *tickets);
    if (tickets == NULL)
        return NULL;
    pthread_mutex_init(&tickets->mutex, NULL);
    tickets->period_ms = period_ms;
    return tickets;
}

void rv_tls_tickets_free(struct rv_tls_tickets *tickets)
{
    if (tickets == NULL)
        return;
    pthread_mutex_destroy(&tickets->mutex);
    OPENSSL_cleanse(tickets, sizeof *tickets);
    free(tickets);
}

static bool make_key(struct ticket_key *key, uint64_t now_ms)
{
    key->made_ms = now_ms;
    key->set = RAND_bytes(key->name, NAME_BYTES) == 1 &&
               RAND_priv_bytes(key->cipher, KEY_BYTES) == 1 &&
               RAND_priv_bytes(key->mac, KEY_BYTES) == 1;
    return key->set;
}

/* A period without a ticket makes both keys too old. */
static bool rotate(struct rv_tls_tickets *tickets, uint64_t now_ms)
{
    struct ticket_key *current = &tickets->current, *former = &tickets->former;
    if (former->set && now_ms - former->made_ms >= 2 * tickets->period_ms)
        former->set = false;
    if (current->set && now_ms - current->made_ms < tickets->period_ms)
        return true;
    former->set = false;
    if (current->set && now_ms - current->made_ms < 2 * tickets->period_ms)
        *former = *current;
    return make_key(current, now_ms);
}

/* The key to seal with, or the one of that name: 1 current, 2 former, 0 none, -1 failure. */
static int find_key(struct rv_tls_tickets *tickets, const unsigned char *name,
                    struct ticket_key *key)
{
    int result = -1;
    pthread_mutex_lock(&tickets->mutex);
    if (rotate(tickets, clock_ms())) {
        result = 0;
        if (name == NULL || memcmp(tickets->current.name, name, NAME_BYTES) == 0) {
            *key = tickets->current;
            result = 1;
        } else if (tickets->former.set && memcmp(tickets->former.name, name, NAME_BYTES) == 0) {
            *key = tickets->former;
            result = 2;
        }
    }
    pthread_mutex_unlock(&tickets->mutex);
    return result;
}

static bool set_mac(EVP_MAC_CTX *mac, struct ticket_key *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, KEY_BYTES),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

int rv_tls_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int encrypt)
{
    const struct rv_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct ticket_key key;
    int result = find_key(context->settings->tickets, encrypt ? NULL : name, &key);
    if (result <= 0)
        return result;
    bool good = true;
    if (encrypt) {
        memcpy(name, key.name, NAME_BYTES);
        good = RAND_bytes_ex(context->library, iv, IV_BYTES, 0) == 1;
    }
    good = good && set_mac(mac, &key) &&
           EVP_CipherInit_ex2(cipher, context->ticket_cipher, key.cipher, iv, encrypt, NULL) == 1;
    OPENSSL_cleanse(&key, sizeof key);
    if (!good)
        return -1;
    /* A client of TLS 1.3 uses a ticket once (RFC 8446 appendix C.4): it needs another one each time. */
    return !encrypt && SSL_version(ssl) == TLS1_3_VERSION ? 2 : result;
}
