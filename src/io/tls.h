/*
 * TLS for streams, with OpenSSL: what an owner of streams configures, and what it may ask. Settings
 * are made once and shared, read-only, by every loop; each loop has a context of its own, with its own
 * library context of OpenSSL, so that threads meet in no lock. The octets that pass are the business of
 * io/tls_layer.h. Nothing here knows HTTP.
 *
 * A build without TLS has RV_TLS_BUILT 0 and none of these functions: callers ask the constant first.
 */
#ifndef RV_IO_TLS_H
#define RV_IO_TLS_H

#include "base/bytes.h"

#ifdef RV_WITH_TLS
#define RV_TLS_BUILT 1
#else
#define RV_TLS_BUILT 0
#endif

#define RV_TLS_WHY_MAX 400 /* the longest sentence about a setting, with terminator */

struct rv_loop;
struct rv_stream;
struct rv_tls_identity; /* a certificate with its chain and key */
struct rv_tls_tickets;  /* the keys of session tickets */
struct rv_tls_context;  /* of one loop */

/* Everything that the contexts are made from. Whoever embeds it zeroes it first; then all is default. */
struct rv_tls_settings {
    struct rv_tls_identity **identities; /* owned; the first serves names that none is for */
    size_t identity_count;
    struct rv_tls_tickets *tickets; /* owned; NULL: no tickets */
    unsigned version_min;           /* 0x0303 (TLS 1.2, also for 0) or 0x0304 */
    unsigned version_max;           /* 0: the newest */
    char *ciphers;                  /* owned, as the next three; of TLS 1.2; NULL: the default */
    char *cipher_suites;            /* of TLS 1.3 */
    char *groups;                   /* of the key exchange */
    struct rv_buffer *client_ca;    /* PEM: who may vouch for clients ... */
    unsigned client_depth_max;      /* ... and how far above them; 0: OpenSSL's limit */
    const char
        *protocols;  /* spoken here (ALPN, RFC 7301), the best first, each behind its length in an
                              octet; static */
    bool ask_client; /* for a certificate */
    bool require_client; /* to have one */
};

/* Adds a certificate. The files are PEM: the certificate first, then its chain; the key may be in the
   same file. `ocsp` is an OCSP response in DER, for clients that ask for one; it and `password` may be
   NULL. Checks that all is readable, fits together and is valid now; on
   failure `why` (RV_TLS_WHY_MAX) is a sentence that names the file. */
rv_error rv_tls_add_certificate_files(struct rv_tls_settings *settings, const char *certificate,
                                      const char *key, const char *ocsp,
                                      int (*password)(char *text, size_t size, void *ctx),
                                      void *password_ctx, char *why);

/*
 * Reads the files of every certificate again, into an array of `identity_count` identities that is the
 * caller's; those without files are in it as they are. On failure `*fresh` is NULL, and nothing else has
 * changed.
 */
rv_error rv_tls_read_again(const struct rv_tls_settings *settings, struct rv_tls_identity ***fresh,
                           char *why);

/* Identities are counted: several loops may be about to use one. Any thread. */
struct rv_tls_identity *rv_tls_identity_keep(struct rv_tls_identity *identity);
void rv_tls_identity_drop(struct rv_tls_identity *identity);

/* Makes a certificate for `name` (a host name or an IP address), localhost, 127.0.0.1 and ::1, that
   nobody vouches for. */
rv_error rv_tls_add_self_made(struct rv_tls_settings *settings, const char *name, char *why);

/* Reads the file of those who may vouch for clients. */
rv_error rv_tls_read_client_ca(struct rv_tls_settings *settings, const char *file, char *why);

/* Makes ticket keys that change every `period_ms` and are taken for one period more. NULL: no memory. */
struct rv_tls_tickets *rv_tls_tickets_new(uint64_t period_ms);
void rv_tls_tickets_free(struct rv_tls_tickets *tickets);

/* Frees what the settings own. No context may be left. */
void rv_tls_settings_free(struct rv_tls_settings *settings);

/* ---- the client's side ---------------------------------------------------------------------------- */

/* What the client context of a loop is made from. All texts are somebody else's. */
struct rv_tls_client_settings {
    const char *host;        /* that the certificate must be for: a name, or an IP address */
    bool hide_name;          /* do not ask for it; an address is never asked for (RFC 6066) */
    const char *ca_file;     /* PEM: who may vouch for servers; NULL: whom the system trusts */
    const char *certificate; /* PEM: the client's own, with its chain; NULL: none */
    const char *key;         /* of it; NULL: in the same file */
    const char *ciphers;     /* OpenSSL's names, with colons; those of TLS 1.3 begin with "TLS_" */
    unsigned version_min;    /* 0x0303: TLS 1.2; 0: as the next */
    unsigned version_max;    /* 0: the newest */
    bool insecure;           /* any certificate is taken */
    const char *protocols;   /* to offer (ALPN), the best first, each behind its length in an octet;
                              NULL: http/1.1 */
    bool resume; /* the newest session is taken up again; else all handshakes are full */
};

/* The client context of a loop, which owns it from then on: streams can be connected with it
   (rv_connect_to.secure). On failure `why` (RV_TLS_WHY_MAX) says what cannot be used. */
rv_error rv_tls_client_open(struct rv_loop *loop, const struct rv_tls_client_settings *settings,
                            char *why);

/* Whether that would succeed, without a loop. */
rv_error rv_tls_client_check(const struct rv_tls_client_settings *settings, char *why);

/* Why TLS failed, in OpenSSL's words; for on_lost. */
struct rv_tls_failure {
    bool begun;         /* the TCP connection was there */
    bool certificate;   /* the server's was not accepted */
    bool protocol;      /* the server speaks none of the protocols that were offered */
    bool told;          /* TLS itself failed: else the connection broke */
    const char *reason; /* static; NULL: not known */
};
void rv_tls_failure(const struct rv_stream *stream, struct rv_tls_failure *failure);

/* ---- the server's side ---------------------------------------------------------------------------- */

/* The context of a loop, which owns it from then on: streams of this loop can be opened with it. */
rv_error rv_tls_context_open(struct rv_loop *loop, const struct rv_tls_settings *settings,
                             char *why);
void rv_tls_context_close(struct rv_loop *loop);

/* New handshakes of this loop use these certificates, as many as before; connections that are there stay
   as they are. On failure nothing changes. */
rv_error rv_tls_context_renew(struct rv_loop *loop, struct rv_tls_identity *const *identities,
                              char *why);

/* What was agreed on with the peer of a stream whose handshake is done. The texts live as long as the
   stream is open. */
struct rv_tls_facts {
    const char *version;     /* "TLSv1.3" */
    const char *cipher;      /* "TLS_AES_256_GCM_SHA384" */
    const char *server_name; /* that the client asked for; NULL: none */
    const char *protocol;    /* ALPN, not terminated; NULL: none */
    size_t protocol_length;
    bool resumed;
    unsigned cipher_bits;      /* of its key */
    unsigned certificate_bits; /* client: of the server's public key */
    uint64_t begun_ns;         /* client: when the connection was there and the handshake began */
};
void rv_tls_facts(const struct rv_stream *stream, struct rv_tls_facts *facts);

/* "X25519 253 bits": the server's half of the key exchange, as far as OpenSSL tells; "": it does not. */
void rv_tls_describe_key(const struct rv_stream *stream, char *text, size_t size);

/* The subject of the client's certificate, as RFC 2253 writes it, on the heap; NULL: it gave none, or
   there is no memory. */
char *rv_tls_client_subject(const struct rv_stream *stream);

/* True when the stream was lost because its client went on shaking hands behind the handshake. */
bool rv_tls_has_flooded(const struct rv_stream *stream);

/* True from the first octets of a handshake to its end. */
bool rv_tls_is_shaking(const struct rv_stream *stream);

/* True until the handshake is done. */
bool rv_tls_is_new(const struct rv_stream *stream);

#endif
