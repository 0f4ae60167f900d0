/*
 * SHA-256 of octets that come in runs, by OpenSSL's EVP: only in a library with TLS. Any thread, one at a
 * time.
 */
#ifndef RV_IO_TLS_DIGEST_H
#define RV_IO_TLS_DIGEST_H

#include "base/bytes.h"

#define RV_SHA256_TEXT_BYTES 65 /* in hexadecimal, with a NUL */

struct rv_digest;

/* NULL: no memory. */
struct rv_digest *rv_digest_new(void);
bool rv_digest_add(struct rv_digest *digest, rv_bytes octets);

/* Writes it down and is ready for the next. False: OpenSSL has failed. */
bool rv_digest_finish(struct rv_digest *digest, char text[RV_SHA256_TEXT_BYTES]);
void rv_digest_free(struct rv_digest *digest);

#endif
