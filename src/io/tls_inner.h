/*
 * What the files of the TLS layer share (tls_layer.h): the record of a connection, the context of a
 * loop, and the little functions between them.
 */
#ifndef RV_IO_TLS_INNER_H
#define RV_IO_TLS_INNER_H

#include "base/buffer.h"
#include "io/tls_layer.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <sys/queue.h>

#define RV_TLS_RECORD_BYTES (16 * 1024) /* the most octets that a record carries */
#define RV_TLS_BATCH_BYTES (64 * 1024)  /* encrypted before they are sent with one system call */

struct rv_tls {
    SSL *ssl;
    struct rv_stream *stream;
    TAILQ_ENTRY(rv_tls) waiting; /* in the context's queue, while `waits` */
    struct rv_buffer kept;       /* ciphertext received and not decrypted */
    struct rv_buffer rest;       /* ciphertext that the back end has not taken ... */
    size_t rest_sent;            /* ... but for so many octets at its front */
    size_t owed;                 /* octets of the stream's queue that `rest` carries */
    uint64_t taken;              /* ciphertext that the back end has taken */
    bool waits;
    bool heard;            /* an octet of the peer's has been seen */
    bool established;      /* the handshake is done */
    bool below;            /* records are made below: `rest` and `owed` are of no use any more */
    bool notified;         /* close_notify is on its way, or withheld */
    bool ended;            /* the peer's close_notify was read */
    bool end_held;         /* its FIN lies behind what is kept */
    bool distrusts;        /* client: the certificate was not accepted */
    bool refused_protocol; /* client: the server takes none of those offered */
    bool failed;           /* TLS itself ... */
    const char *reason;    /* ... and why; static */
    uint64_t begun_ns;     /* client: when the handshake began */
    uint64_t messages_since_ms; /* messages of a handshake behind the handshake: since then ... */
    uint32_t messages;          /* ... so many */
    bool floods;                /* too many */
};

/* The certificate of an identity and its key, as DER: every loop parses its own. */
struct rv_tls_der {
    unsigned char *octets;
    int length;
};

struct rv_tls_identity {
    _Atomic unsigned users;
    char *certificate_file; /* owned, as the next; where it was read from; NULL: it was made */
    char *key_file;
    char *ocsp_file;
    int (*password)(char *text, size_t size, void *ctx);
    void *password_ctx;
    struct rv_tls_der *certificates; /* the leaf first */
    size_t certificate_count;
    struct rv_tls_der key;
    struct rv_tls_der staple; /* an OCSP response; its octets NULL: none */
};

struct rv_tls_context {
    OSSL_LIB_CTX *library;
    const struct rv_tls_settings *settings;
    SSL_CTX **servers; /* owned; one for each identity */
    size_t server_count;
    bool may_encrypt_below; /* the back end may be able to (io/ktls.h) */
    SSL_CTX *client;        /* owned, as the next; NULL: no stream of this loop is a client's */
    size_t client_count;    /* streams that use it */
    SSL_SESSION *session;   /* the newest that can be taken up again; NULL: none */
    bool resumes;           /* sessions are kept */
    char *asks_for;         /* owned; the server's name; NULL: it is not said */
    EVP_CIPHER *ticket_cipher;
    BIO_METHOD *method;
    BIO *bio; /* through which every connection of the loop reads and writes */
    TAILQ_HEAD(, rv_tls) waiting;
    const char *in; /* ciphertext that may be read now ... */
    size_t in_left;
    struct rv_buffer out;      /* ... and that was written and not yet given to the back end ... */
    struct rv_tls *current;    /* ... by the connection that OpenSSL was called for last; or NULL */
    unsigned char record_type; /* that OpenSSL writes next, where records are made below */
    char *plain;               /* RV_TLS_RECORD_BYTES, and padding: what was decrypted */
    char *gathered;            /* RV_TLS_BATCH_BYTES: octets that lie in pieces, or in a file */
};

static inline struct rv_tls *rv_tls_of(const struct rv_stream *stream)
{
    return *(struct rv_tls **)((uintptr_t)stream + stream->events->tls_at);
}

/* What SSL_get_error needs: that nobody's errors lie there. Looking is cheaper than clearing. */
static inline void rv_tls_forget_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* Before each call of OpenSSL for a connection: `out` is this connection's from now on, and what another
   one had in it is sent. */
void rv_tls_enter(struct rv_tls *tls);

/* Gives `out` to the back end; what that does not take is left in `rest`, and the stream blocked. 0, or
   an errno. */
int rv_tls_send_out(struct rv_tls *tls, bool more);

/* The same, if there is something in it, for a connection that it may not belong to any more. False: that
   failed, and the stream is broken. */
bool rv_tls_send_held(struct rv_tls *tls);

/* The callback of session tickets (SSL_CTX_set_tlsext_ticket_key_evp_cb). */
int rv_tls_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int encrypt);

/* Watches what clients send behind their handshakes: `floods` is set for one that has overdone it. */
void rv_tls_stay_calm(SSL_CTX *server, struct rv_tls_context *context);

/* An identity's certificate and key into a context. */
rv_error rv_tls_use_identity(SSL_CTX *server, OSSL_LIB_CTX *library,
                             struct rv_tls_identity *identity);
/* An identity of a chain, the leaf first, and its key. NULL: no memory. */
struct rv_tls_identity *rv_tls_identity_new(STACK_OF(X509) * chain, EVP_PKEY *key);

/* Adds it, or drops it; NULL is RV_ENOMEM. */
rv_error rv_tls_identity_add(struct rv_tls_settings *settings, struct rv_tls_identity *identity,
                             char *why);

/* Why an OCSP response cannot be used for this certificate; NULL: it can. */
const char *rv_tls_staple_fault(rv_bytes der, const X509 *leaf);

/* Makes a context give the identity's response to clients who ask, if there is one. False: no memory. */
bool rv_tls_use_staple(SSL_CTX *server, struct rv_tls_identity *identity);

/* A context of a loop with nothing but its library and buffers. NULL: no memory. */
struct rv_tls_context *rv_tls_context_new(void);
void rv_tls_context_free(struct rv_tls_context *context);

/* What a connection's SSL becomes on the client's side. False: no memory. */
bool rv_tls_begin_as_client(struct rv_tls_context *context, SSL *ssl);

/* Of the peer's public key; 0: there is no certificate. */
unsigned rv_tls_certificate_bits(SSL *ssl);

/* Notes why TLS has failed, from OpenSSL's queue of errors. */
void rv_tls_note_failure(struct rv_tls *tls);

rv_error rv_tls_bio_open(struct rv_tls_context *context);

#endif
