/*
 * Certificates and keys (tls.h): read from PEM once, checked, and kept as DER, from which the context of
 * every loop makes its own. What is wrong is said in a sentence that names the file.
 */
#include "io/tls_inner.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES_MAX (1024 * 1024)

/* What an identity is read from. */
struct files {
    const char *certificate, *key;
    const char *ocsp; /* NULL: none */
};

/* ---- reading ------------------------------------------------------------------------------------------- */

static rv_error say(char *why, rv_error error, const char *format, const char *file,
                    const char *reason)
{
    ERR_clear_error();
    snprintf(why, RV_TLS_WHY_MAX, format, file, reason);
    return error;
}

static rv_error read_file(const char *path, struct rv_buffer *content, char *why)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return say(why, errno == EACCES ? RV_EPERM : RV_EIO, "cannot read %s: %s", path,
                   strerror(errno));
    rv_error error = rv_buffer_reserve(content, FILE_BYTES_MAX);
    if (error == 0)
        content->len = fread(content->ptr, 1, FILE_BYTES_MAX, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (error != 0)
        return say(why, error, "cannot read %s: %s", path, "out of memory");
    if (failed) /* a directory opens, and cannot be read */
        return say(why, RV_EIO, "cannot read %s: %s", path, strerror(errno));
    if (content->len == FILE_BYTES_MAX)
        return say(why, RV_EINVAL, "cannot read %s: %s", path, "it has more than a megabyte");
    return 0;
}

static void free_secret(struct rv_buffer *content)
{
    if (content->ptr != NULL)
        OPENSSL_cleanse(content->ptr, content->len);
    rv_buffer_free(content);
}

struct password {
    int (*ask)(char *text, size_t size, void *ctx);
    void *ctx;
    bool needed;
};

static int on_password(char *text, int size, int encrypting, void *argument)
{
    struct password *password = argument;
    (void)encrypting;
    password->needed = true;
    return password->ask == NULL ? -1 : password->ask(text, (size_t)size, password->ctx);
}

static rv_error read_key(const char *path, struct password *password, EVP_PKEY **key, char *why)
{
    struct rv_buffer content = {0};
    rv_error error = read_file(path, &content, why);
    if (error == 0) {
        BIO *memory = BIO_new_mem_buf(content.ptr, (int)content.len);
        *key = memory == NULL ? NULL : PEM_read_bio_PrivateKey(memory, NULL, on_password, password);
        BIO_free(memory);
        if (*key == NULL && password->needed)
            error = say(why, RV_EINVAL, "the key in %s is encrypted, and %s", path,
                        password->ask == NULL ? "there is no callback to ask for its password "
                                                "(\"openssl pkey -in KEY -out FILE\" decrypts it)"
                                              : "the password does not open it");
        else if (*key == NULL)
            error = say(why, RV_EINVAL, "there is no private key in %s: %s", path,
                        "it must be PEM, \"-----BEGIN PRIVATE KEY-----\" or its kin");
    }
    free_secret(&content);
    return error;
}

static rv_error read_certificates(const char *path, STACK_OF(X509) * chain, char *why)
{
    struct rv_buffer content = {0};
    X509 *certificate;
    rv_error error = read_file(path, &content, why);
    if (error == 0) {
        BIO *memory = BIO_new_mem_buf(content.ptr, (int)content.len);
        while (memory != NULL &&
               (certificate = PEM_read_bio_X509(memory, NULL, NULL, NULL)) != NULL)
            if (sk_X509_push(chain, certificate) == 0)
                X509_free(certificate);
        unsigned long last = ERR_peek_last_error();
        BIO_free(memory);
        if (ERR_GET_REASON(last) != PEM_R_NO_START_LINE)
            error = say(why, RV_EINVAL, "a certificate in %s is %s", path, "damaged");
        else if (sk_X509_num(chain) <= 0)
            error = say(why, RV_EINVAL, "there is no certificate in %s: %s", path,
                        "it must be PEM, \"-----BEGIN CERTIFICATE-----\"");
        ERR_clear_error();
    }
    rv_buffer_free(&content);
    return error;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

static void format_time(const ASN1_TIME *time, char *text, size_t size)
{
    struct tm parts;
    if (ASN1_TIME_to_tm(time, &parts) != 1 ||
        strftime(text, size, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        snprintf(text, size, "a time that cannot be read");
}

static rv_error check_times(const char *path, STACK_OF(X509) * chain, char *why)
{
    char text[64], reason[128];
    for (int i = 0; i < sk_X509_num(chain); i++) {
        const X509 *certificate = sk_X509_value(chain, i);
        const char *which =
            i == 0 ? "the certificate in %s %s" : "a certificate of the chain in %s %s";
        if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
            format_time(X509_get0_notAfter(certificate), text, sizeof text);
            snprintf(reason, sizeof reason, "has expired: it was valid until %s", text);
            return say(why, RV_EINVAL, which, path, reason);
        }
        if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
            format_time(X509_get0_notBefore(certificate), text, sizeof text);
            snprintf(reason, sizeof reason, "is not valid yet: it will be from %s on", text);
            return say(why, RV_EINVAL, which, path, reason);
        }
    }
    return 0;
}

/* Each must have been issued by the next: a chain in the wrong order fails at the clients. */
static rv_error check_chain(const char *path, STACK_OF(X509) * chain, char *why)
{
    for (int i = 0; i + 1 < sk_X509_num(chain); i++)
        if (X509_check_issued(sk_X509_value(chain, i + 1), sk_X509_value(chain, i)) != X509_V_OK)
            return say(why, RV_EINVAL, "the certificates in %s are no chain: %s", path,
                       "each must be followed by the one that issued it");
    return 0;
}

/* ---- keeping ------------------------------------------------------------------------------------------- */

static bool keep_certificates(struct rv_tls_identity *identity, STACK_OF(X509) * chain)
{
    int count = sk_X509_num(chain);
    identity->certificates = calloc((size_t)count, sizeof *identity->certificates);
    if (identity->certificates == NULL)
        return false;
    for (int i = 0; i < count; i++) {
        struct rv_tls_der *der = &identity->certificates[i];
        der->length = i2d_X509(sk_X509_value(chain, i), &der->octets);
        if (der->length <= 0)
            return false;
        identity->certificate_count++;
    }
    return true;
}

struct rv_tls_identity *rv_tls_identity_keep(struct rv_tls_identity *identity)
{
    atomic_fetch_add(&identity->users, 1);
    return identity;
}

void rv_tls_identity_drop(struct rv_tls_identity *identity)
{
    if (identity == NULL || atomic_fetch_sub(&identity->users, 1) > 1)
        return;
    free(identity->certificate_file);
    free(identity->key_file);
    free(identity->ocsp_file);
    OPENSSL_free(identity->staple.octets);
    for (size_t i = 0; i < identity->certificate_count; i++)
        OPENSSL_free(identity->certificates[i].octets);
    free(identity->certificates);
    if (identity->key.octets != NULL)
        OPENSSL_clear_free(identity->key.octets, (size_t)identity->key.length);
    free(identity);
}

static bool add(struct rv_tls_settings *settings, struct rv_tls_identity *identity)
{
    struct rv_tls_identity **all =
        realloc(settings->identities, (settings->identity_count + 1) * sizeof(void *));
    if (all == NULL)
        return false;
    settings->identities = all;
    all[settings->identity_count++] = identity;
    return true;
}

struct rv_tls_identity *rv_tls_identity_new(STACK_OF(X509) * chain, EVP_PKEY *key)
{
    struct rv_tls_identity *identity = calloc(1, sizeof *identity);
    if (identity == NULL)
        return NULL;
    atomic_init(&identity->users, 1);
    if (keep_certificates(identity, chain)) {
        identity->key.length = i2d_PrivateKey(key, &identity->key.octets);
        if (identity->key.length > 0)
            return identity;
    }
    rv_tls_identity_drop(identity);
    return NULL;
}

rv_error rv_tls_identity_add(struct rv_tls_settings *settings, struct rv_tls_identity *identity,
                             char *why)
{
    if (identity != NULL && add(settings, identity))
        return 0;
    rv_tls_identity_drop(identity);
    return say(why, RV_ENOMEM, "cannot keep the certificate%s: %s", "", "out of memory");
}

static bool remember_files(struct rv_tls_identity *identity, const struct files *files,
                           const struct password *password)
{
    identity->certificate_file = strdup(files->certificate);
    identity->key_file = strdup(files->key);
    identity->ocsp_file = files->ocsp == NULL ? NULL : strdup(files->ocsp);
    identity->password = password->ask;
    identity->password_ctx = password->ctx;
    return identity->certificate_file != NULL && identity->key_file != NULL &&
           (identity->ocsp_file != NULL || files->ocsp == NULL);
}

static rv_error read_staple(const char *path, const X509 *leaf, struct rv_tls_der *staple,
                            char *why)
{
    struct rv_buffer content = {0};
    rv_error error = read_file(path, &content, why);
    if (error == 0) {
        const char *fault = rv_tls_staple_fault(rv_slice(content.ptr, content.len), leaf);
        if (fault == NULL) {
            staple->octets = OPENSSL_memdup(content.ptr, content.len);
            staple->length = (int)content.len;
        }
        if (fault != NULL)
            error = say(why, RV_EINVAL, "the OCSP response in %s cannot be used: %s", path, fault);
        else if (staple->octets == NULL)
            error = say(why, RV_ENOMEM, "cannot read %s: %s", path, "out of memory");
    }
    rv_buffer_free(&content);
    return error;
}

static rv_error read_identity(const struct files *files, struct password *password,
                              struct rv_tls_identity **identity, char *why)
{
    const char *certificate = files->certificate, *key = files->key;
    STACK_OF(X509) *chain = sk_X509_new_null();
    EVP_PKEY *private_key = NULL;
    *identity = NULL;
    rv_error error = chain == NULL
                         ? say(why, RV_ENOMEM, "cannot read %s: %s", certificate, "out of memory")
                         : read_certificates(certificate, chain, why);
    if (error == 0)
        error = read_key(key, password, &private_key, why);
    if (error == 0 && X509_check_private_key(sk_X509_value(chain, 0), private_key) != 1)
        error = say(why, RV_EINVAL, "the key in %s does not match the certificate in %s", key,
                    certificate);
    if (error == 0)
        error = check_times(certificate, chain, why);
    if (error == 0)
        error = check_chain(certificate, chain, why);
    if (error == 0) {
        *identity = rv_tls_identity_new(chain, private_key);
        if (*identity == NULL || !remember_files(*identity, files, password))
            error = say(why, RV_ENOMEM, "cannot read %s: %s", certificate, "out of memory");
        else if (files->ocsp != NULL)
            error = read_staple(files->ocsp, sk_X509_value(chain, 0), &(*identity)->staple, why);
    }
    if (error != 0) {
        rv_tls_identity_drop(*identity);
        *identity = NULL;
    }
    EVP_PKEY_free(private_key);
    sk_X509_pop_free(chain, X509_free);
    return error;
}

rv_error rv_tls_add_certificate_files(struct rv_tls_settings *settings, const char *certificate,
                                      const char *key, const char *ocsp,
                                      int (*password)(char *text, size_t size, void *ctx),
                                      void *password_ctx, char *why)
{
    struct password asked = {password, password_ctx, false};
    struct files files = {certificate, key, ocsp};
    struct rv_tls_identity *identity;
    rv_error error = read_identity(&files, &asked, &identity, why);
    return error == 0 ? rv_tls_identity_add(settings, identity, why) : error;
}

rv_error rv_tls_read_again(const struct rv_tls_settings *settings, struct rv_tls_identity ***fresh,
                           char *why)
{
    size_t count = settings->identity_count, done = 0;
    rv_error error = 0;
    struct rv_tls_identity **all = calloc(count, sizeof(void *));
    if (all == NULL)
        error = say(why, RV_ENOMEM, "cannot read the certificates%s: %s", "", "out of memory");
    for (; done < count && error == 0; done++) {
        struct rv_tls_identity *old = settings->identities[done];
        struct password asked = {old->password, old->password_ctx, false};
        struct files files = {old->certificate_file, old->key_file, old->ocsp_file};
        if (old->certificate_file == NULL)
            all[done] = rv_tls_identity_keep(old);
        else
            error = read_identity(&files, &asked, &all[done], why);
    }
    *fresh = error == 0 ? all : NULL;
    if (error == 0)
        return 0;
    for (size_t i = 0; i < done; i++)
        rv_tls_identity_drop(all[i]);
    free(all);
    return error;
}

rv_error rv_tls_read_client_ca(struct rv_tls_settings *settings, const char *file, char *why)
{
    STACK_OF(X509) *chain = sk_X509_new_null();
    struct rv_buffer *content = calloc(1, sizeof *content);
    rv_error error = chain == NULL || content == NULL
                         ? say(why, RV_ENOMEM, "cannot read %s: %s", file, "out of memory")
                         : read_certificates(file, chain, why);
    if (error == 0)
        error = read_file(file, content, why);
    sk_X509_pop_free(chain, X509_free);
    if (error != 0) {
        if (content != NULL)
            rv_buffer_free(content);
        free(content);
        return error;
    }
    settings->client_ca = content;
    return 0;
}

/* ---- using --------------------------------------------------------------------------------------------- */

static X509 *parse(OSSL_LIB_CTX *library, const struct rv_tls_der *der)
{
    const unsigned char *octets = der->octets;
    X509 *certificate = X509_new_ex(library, NULL);
    if (certificate != NULL && d2i_X509(&certificate, &octets, der->length) == NULL)
        certificate = NULL; /* it has been freed */
    return certificate;
}

static bool use_certificate(SSL_CTX *server, OSSL_LIB_CTX *library, const struct rv_tls_der *der,
                            bool is_leaf)
{
    X509 *certificate = parse(library, der);
    if (certificate == NULL)
        return false;
    bool good = is_leaf ? SSL_CTX_use_certificate(server, certificate) == 1
                        : SSL_CTX_add1_chain_cert(server, certificate) == 1;
    X509_free(certificate);
    return good;
}

rv_error rv_tls_use_identity(SSL_CTX *server, OSSL_LIB_CTX *library,
                             struct rv_tls_identity *identity)
{
    for (size_t i = 0; i < identity->certificate_count; i++)
        if (!use_certificate(server, library, &identity->certificates[i], i == 0))
            return RV_EINVAL;
    const unsigned char *octets = identity->key.octets;
    EVP_PKEY *key = d2i_AutoPrivateKey_ex(NULL, &octets, identity->key.length, library, NULL);
    bool good = key != NULL && SSL_CTX_use_PrivateKey(server, key) == 1 &&
                rv_tls_use_staple(server, identity);
    EVP_PKEY_free(key);
    return good ? 0 : RV_EINVAL;
}
