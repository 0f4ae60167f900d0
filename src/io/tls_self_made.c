/*
 * A certificate made in memory, that nobody vouches for (tls.h): ECDSA on P-256, valid for thirty days.
 */
#include "io/tls_inner.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#define SELF_MADE_S (30L * 24 * 3600)
#define SERIAL_BYTES 16

static rv_error say(char *why, rv_error error, const char *name, const char *reason)
{
    ERR_clear_error();
    snprintf(why, RV_TLS_WHY_MAX, "cannot make a certificate for \"%.80s\": %s", name, reason);
    return error;
}

static bool add_extension(X509 *certificate, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    bool good = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

/* Random, positive and never 0 (RFC 5280 section 4.1.2.2). */
static bool number(X509 *certificate)
{
    unsigned char octets[SERIAL_BYTES];
    if (RAND_bytes(octets, sizeof octets) != 1)
        return false;
    octets[0] = (unsigned char)((octets[0] & 0x7f) | 0x40);
    BIGNUM *serial = BN_bin2bn(octets, sizeof octets, NULL);
    bool good =
        serial != NULL && BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate)) != NULL;
    BN_free(serial);
    return good;
}

/* The name, and those of this machine, in the extension's little language. */
static void list_names(const char *name, char *names, size_t size)
{
    unsigned char address[sizeof(struct in6_addr)];
    bool is_ip = inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
    snprintf(names, size, "DNS:localhost,IP:127.0.0.1,IP:::1");
    if (strcmp(name, "localhost") != 0)
        snprintf(names, size, "%s:%s,DNS:localhost,IP:127.0.0.1,IP:::1", is_ip ? "IP" : "DNS",
                 name);
}

static bool fill_in(X509 *certificate, EVP_PKEY *key, const char *name)
{
    char names[400];
    X509_NAME *subject = X509_get_subject_name(certificate);
    list_names(name, names, sizeof names);
    return number(certificate) && X509_set_version(certificate, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), SELF_MADE_S) != NULL &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1,
                                      -1, 0) == 1 &&
           X509_set_issuer_name(certificate, subject) == 1 &&
           X509_set_pubkey(certificate, key) == 1 &&
           add_extension(certificate, NID_subject_alt_name, names) &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
           add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* What goes into the extensions' little language must not be able to say more than a name. */
static bool is_name(const char *name)
{
    size_t length =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:*");
    return length > 0 && length <= 64 && name[length] == '\0';
}

rv_error rv_tls_add_self_made(struct rv_tls_settings *settings, const char *name, char *why)
{
    if (!is_name(name))
        return say(why, RV_EINVAL, name,
                   "it must be a host name or an address of at most 64 characters");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    STACK_OF(X509) *chain = sk_X509_new_null();
    rv_error error = 0;
    if (key == NULL || certificate == NULL || chain == NULL || !fill_in(certificate, key, name) ||
        sk_X509_push(chain, certificate) == 0)
        error = say(why, RV_ENOMEM, name, "out of memory");
    else
        error = rv_tls_identity_add(settings, rv_tls_identity_new(chain, key), why);
    sk_X509_free(chain);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return error;
}
