/*
 * TLS clients of a server in memory (tested.h), and certificates for it. OpenSSL is the client: it reads
 * and writes octets that are carried to and from an rv_test. As with tested.h, client 0 is meant until
 * tls_as() says otherwise; the fixtures of tested.h stand around it, and tls_tear_down() before theirs.
 */
#ifndef RV_TESTS_TLS_PEER_H
#define RV_TESTS_TLS_PEER_H

#include "support/answer.h"

#include <openssl/ssl.h>

/* ---- certificates --------------------------------------------------------------------------------- */

/* What a certificate is to say; zero is a good one for localhost, by itself. */
struct wanted_certificate {
    const char *name;     /* CN, and subjectAltName; NULL: "localhost" */
    const char *from;     /* of the one that signs: the `file` of an earlier one; NULL: itself */
    long begins_s;        /* from now; 0: an hour ago */
    long ends_s;          /* from now; 0: in an hour */
    const char *password; /* of the key's file; NULL: not encrypted */
    bool is_ca;
    bool is_weak; /* RSA of 1024 bits, which OpenSSL thinks too small */
};

/* Writes DIRECTORY/FILE.crt and .key, where DIRECTORY is this process' own; until the tear-down. */
void make_certificate(const char *file, struct wanted_certificate wanted);

/* "DIRECTORY/NAME"; lives until the 16th call after this. */
const char *made(const char *name);

/* Writes the files' contents one after another. */
void concatenate(const char *to, const char *first, const char *second);

/* Removes them all. */
void forget_certificates(void);

/* ---- clients ------------------------------------------------------------------------------------------ */

struct tls_peer {
    SSL_CTX *context; /* owned; as tls_client() made it, to be changed before the handshake */
    SSL *ssl;         /* owned; NULL: not begun */
    struct rv_buffer plain;
    struct answer answer;
    size_t step; /* octets that are handed to the server at once; 0: all */
};

/* The client that is meant. */
struct tls_peer *tls_client(void);
void tls_as(unsigned number);

/* Makes the client's `ssl`, to be changed before the handshake. */
void tls_begin(void);

/* Begins, if need be, and carries octets until nobody has anything to say. True: hands were shaken. */
bool tls_shake(void);

/* Carries octets until nobody has anything to say. */
void tls_carry(void);

/* Sends plain octets, as one record at a time. */
void tls_say(const char *text);
void tls_say_octets(rv_bytes octets);

/* The same, but as ciphertext for the caller. */
rv_bytes tls_cipher(const char *text);

void tls_expect_answer(int status, const char *content);
struct answer *tls_last_answer(void);

/* True when the server has said good-bye (close_notify). */
bool tls_heard_goodbye(void);

/* The reason of the alert that ended it, in OpenSSL's words; "" : there was none. */
const char *tls_failure(void);

/* Frees every client, and removes the certificates. */
int tls_tear_down(void);

#endif
