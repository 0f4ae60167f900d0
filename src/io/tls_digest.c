/*
 * SHA-256 (tls_digest.h).
 */
#include "io/tls_digest.h"

#include <openssl/evp.h>

/* Both are an EVP_MD_CTX: nothing has to be kept beside it. */
static EVP_MD_CTX *context_of(struct rv_digest *digest)
{
    return (EVP_MD_CTX *)digest;
}

struct rv_digest *rv_digest_new(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
        return (struct rv_digest *)context;
    EVP_MD_CTX_free(context);
    return NULL;
}

bool rv_digest_add(struct rv_digest *digest, rv_bytes octets)
{
    return EVP_DigestUpdate(context_of(digest), octets.ptr, octets.len) == 1;
}

bool rv_digest_finish(struct rv_digest *digest, char text[RV_SHA256_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char octets[EVP_MAX_MD_SIZE];
    unsigned length;
    EVP_MD_CTX *context = context_of(digest);
    if (EVP_DigestFinal_ex(context, octets, &length) != 1 || length != 32)
        return false;
    for (unsigned i = 0; i < length; i++) {
        text[2 * i] = digits[octets[i] >> 4];
        text[2 * i + 1] = digits[octets[i] & 15];
    }
    text[64] = '\0';
    return EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
}

void rv_digest_free(struct rv_digest *digest)
{
    EVP_MD_CTX_free(context_of(digest));
}
