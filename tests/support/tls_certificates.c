/*
 * Certificates for tests (tls_peer.h), in a directory of the process' own.
 */
#include "support/tls_peer.h"

#include <dirent.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

const char *made(const char *name)
{
    static char paths[16][128];
    static unsigned next;
    if (directory[0] == '\0') {
        snprintf(directory, sizeof directory, "/tmp/rivulet-tls-XXXXXX");
        assert_non_null(mkdtemp(directory));
    }
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static const char *made_as(const char *file, const char *extension)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", file, extension);
    return made(name);
}

void forget_certificates(void)
{
    if (directory[0] == '\0')
        return;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.')
            unlink(made(entry->d_name));
    closedir(entries);
    rmdir(directory);
    directory[0] = '\0';
}

static FILE *open_made(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    return file;
}

static void extend(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static void write_files(const char *file, X509 *certificate, EVP_PKEY *key, const char *password)
{
    FILE *out = open_made(made_as(file, "crt"), "w");
    assert_int_equal(PEM_write_X509(out, certificate), 1);
    fclose(out);
    out = open_made(made_as(file, "key"), "w");
    const EVP_CIPHER *cipher = password == NULL ? NULL : EVP_aes_256_cbc();
    assert_int_equal(PEM_write_PKCS8PrivateKey(out, key, cipher, password,
                                               password == NULL ? 0 : (int)strlen(password), NULL,
                                               NULL),
                     1);
    fclose(out);
}

void make_certificate(const char *file, struct wanted_certificate wanted)
{
    static int64_t serial = 1;
    const char *name = wanted.name == NULL ? "localhost" : wanted.name;
    char alternative[128];
    EVP_PKEY *key = wanted.is_weak ? EVP_RSA_gen(1024) : EVP_EC_gen("P-256"), *signs = key;
    X509 *certificate = X509_new(), *issuer = certificate;
    if (wanted.from != NULL) {
        FILE *in = open_made(made_as(wanted.from, "crt"), "r");
        issuer = PEM_read_X509(in, NULL, NULL, NULL);
        fclose(in);
        in = open_made(made_as(wanted.from, "key"), "r");
        signs = PEM_read_PrivateKey(in, NULL, NULL, NULL);
        fclose(in);
    }
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate),
                    wanted.begins_s == 0 ? -3600 : wanted.begins_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), wanted.ends_s == 0 ? 3600 : wanted.ends_s);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    X509_set_pubkey(certificate, key);
    snprintf(alternative, sizeof alternative, "DNS:%s", name);
    if (wanted.is_ca)
        extend(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE");
    else if (strchr(name, ',') == NULL) /* else it is no host's */
        extend(certificate, issuer, NID_subject_alt_name, alternative);
    assert_true(X509_sign(certificate, signs, EVP_sha256()) > 0);
    write_files(file, certificate, key, wanted.password);
    if (wanted.from != NULL) {
        X509_free(issuer);
        EVP_PKEY_free(signs);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void concatenate(const char *to, const char *first, const char *second)
{
    const char *from[] = {first, second};
    FILE *out = open_made(made(to), "w");
    for (size_t i = 0; i < 2; i++) {
        FILE *in = open_made(made(from[i]), "r");
        char octets[8192];
        size_t count = fread(octets, 1, sizeof octets, in);
        assert_int_equal(fwrite(octets, 1, count, out), count);
        fclose(in);
    }
    fclose(out);
}
