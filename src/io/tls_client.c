/*
 * The client's side of TLS (tls.h): the context of a loop whose streams connect, what a certificate has to
 * be, sessions that are taken up again, and the words for what went wrong.
 */
#include "io/stream.h"
#include "io/tls_inner.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

/* So many connections of a loop keep OpenSSL's buffers between two records, which spares them some per
   cent of a short exchange; what thousands of them hold is worth giving back. */
#define BUFFER_KEEPERS_MAX 256

/* ---- making ------------------------------------------------------------------------------------------- */

static rv_error say_reason(char *why, const char *what, const char *value, const char *reason)
{
    snprintf(why, RV_TLS_WHY_MAX, "%s \"%.200s\" cannot be used%s%s", what, value,
             reason == NULL ? "" : ": ", reason == NULL ? "" : reason);
    ERR_clear_error();
    return RV_EINVAL;
}

static rv_error say(char *why, const char *what, const char *value)
{
    unsigned long error = ERR_peek_error(); /* the first one is the cause */
    const char *reason = error == 0 ? NULL : ERR_reason_error_string(error);
    if (error != 0 && ERR_SYSTEM_ERROR(error))
        reason = strerror(ERR_GET_REASON(error));
    return say_reason(why, what, value, reason);
}

static bool is_address(const char *host)
{
    struct in6_addr octets;
    return inet_pton(AF_INET, host, &octets) == 1 || inet_pton(AF_INET6, host, &octets) == 1;
}

/* The suites of TLS 1.3 have a list of their own in OpenSSL; here they are told by their names. */
static bool add_name(char *list, size_t size, const char *name, size_t length)
{
    size_t used = strlen(list);
    int wrote =
        snprintf(list + used, size - used, "%s%.*s", used > 0 ? ":" : "", (int)length, name);
    return wrote >= 0 && (size_t)wrote < size - used;
}

static rv_error set_ciphers(SSL_CTX *client, const char *names, char *why)
{
    char suites[1024] = "", ciphers[1024] = "";
    bool fits = true;
    for (const char *at = names; *at != '\0';) {
        size_t length = strcspn(at, ":");
        bool is_suite = strncmp(at, "TLS_", 4) == 0;
        if (length > 0)
            fits = fits && add_name(is_suite ? suites : ciphers, sizeof suites, at, length);
        at += length + (at[length] == ':');
    }
    if (!fits || (*suites == '\0' && *ciphers == '\0') ||
        (*suites != '\0' && SSL_CTX_set_ciphersuites(client, suites) != 1) ||
        (*ciphers != '\0' && SSL_CTX_set_cipher_list(client, ciphers) != 1))
        return say(why, "the cipher list", names);
    return 0;
}

static rv_error set_versions(SSL_CTX *client, const struct rv_tls_client_settings *settings,
                             char *why)
{
    if (SSL_CTX_set_min_proto_version(client, (int)settings->version_min) != 1 ||
        SSL_CTX_set_max_proto_version(client, (int)settings->version_max) != 1)
        return say(why, "the version of TLS", "");
    return settings->ciphers == NULL ? 0 : set_ciphers(client, settings->ciphers, why);
}

/* Nobody is asked for a password in the middle of a run. */
static int no_password(char *text, int size, int encrypting, void *argument)
{
    bool *encrypted = argument;
    (void)text;
    (void)size;
    (void)encrypting;
    *encrypted = true;
    return -1;
}

/* OpenSSL's words for these two are "interrupted or cancelled" and "unsupported". */
static rv_error say_no_key(char *why, const char *file, bool encrypted)
{
    if (encrypted)
        return say_reason(why, "the key", file,
                          "it is encrypted (\"openssl pkey -in KEY -out FILE\" decrypts it)");
    if (ERR_GET_REASON(ERR_peek_error()) == ERR_R_UNSUPPORTED)
        return say_reason(why, "the key", file, "there is no private key in this file");
    return say(why, "the key", file);
}

static rv_error set_own(SSL_CTX *client, const struct rv_tls_client_settings *settings, char *why)
{
    const char *key = settings->key != NULL ? settings->key : settings->certificate;
    bool encrypted = false;
    if (settings->certificate == NULL)
        return 0;
    SSL_CTX_set_default_passwd_cb(client, no_password);
    SSL_CTX_set_default_passwd_cb_userdata(client, &encrypted);
    if (SSL_CTX_use_certificate_chain_file(client, settings->certificate) != 1)
        return say(why, "the certificate", settings->certificate);
    bool good = SSL_CTX_use_PrivateKey_file(client, key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(client, NULL); /* nothing is read behind this */
    return good ? 0 : say_no_key(why, key, encrypted);
}

static rv_error set_trust(SSL_CTX *client, const struct rv_tls_client_settings *settings, char *why)
{
    X509_VERIFY_PARAM *wanted = SSL_CTX_get0_param(client);
    if (settings->insecure)
        return 0;
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    if (settings->ca_file == NULL) {
        if (SSL_CTX_set_default_verify_paths(client) != 1)
            return say(why, "the certificates of", "the system");
    } else if (SSL_CTX_load_verify_file(client, settings->ca_file) != 1) {
        return say(why, "the certificates in", settings->ca_file);
    }
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    bool good = is_address(settings->host)
                    ? X509_VERIFY_PARAM_set1_ip_asc(wanted, settings->host) == 1
                    : X509_VERIFY_PARAM_set1_host(wanted, settings->host, 0) == 1;
    return good ? 0 : say(why, "the name", settings->host);
}

/* Called when the server has given a session: the newest is kept, in place of the one before. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct rv_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    SSL_SESSION_free(context->session);
    context->session = session;
    return 1;
}

static void set_manners(SSL_CTX *client, struct rv_tls_context *context, const char *protocols)
{
    SSL_CTX_set_app_data(client, context);
    SSL_CTX_set_mode(client, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(client, (const unsigned char *)protocols, (unsigned)strlen(protocols));
    SSL_CTX_set_session_cache_mode(client, context->resumes
                                               ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
                                               : SSL_SESS_CACHE_OFF);
    if (context->resumes)
        SSL_CTX_sess_set_new_cb(client, on_session);
}

static rv_error open_client(const struct rv_tls_client_settings *settings,
                            struct rv_tls_context **result, char *why)
{
    struct rv_tls_context *context = rv_tls_context_new();
    snprintf(why, RV_TLS_WHY_MAX, "out of memory");
    rv_error error = context == NULL ? RV_ENOMEM : 0;
    if (error == 0) {
        context->client = SSL_CTX_new_ex(context->library, NULL, TLS_client_method());
        if (!settings->hide_name && !is_address(settings->host))
            context->asks_for = strdup(settings->host);
        context->resumes = settings->resume;
        if (context->client == NULL)
            error = RV_ENOMEM;
    }
    if (error == 0) {
        set_manners(context->client, context,
                    settings->protocols != NULL ? settings->protocols : "\x08http/1.1");
        error = set_versions(context->client, settings, why);
    }
    if (error == 0)
        error = set_own(context->client, settings, why);
    if (error == 0)
        error = set_trust(context->client, settings, why);
    if (error != 0 && context != NULL)
        rv_tls_context_free(context);
    *result = error == 0 ? context : NULL;
    return error;
}

rv_error rv_tls_client_open(struct rv_loop *loop, const struct rv_tls_client_settings *settings,
                            char *why)
{
    return open_client(settings, &loop->tls, why);
}

rv_error rv_tls_client_check(const struct rv_tls_client_settings *settings, char *why)
{
    struct rv_tls_context *context;
    rv_error error = open_client(settings, &context, why);
    if (error == 0)
        rv_tls_context_free(context);
    return error;
}

bool rv_tls_begin_as_client(struct rv_tls_context *context, SSL *ssl)
{
    SSL_set_connect_state(ssl);
    if (context->client_count < BUFFER_KEEPERS_MAX)
        SSL_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    if (context->asks_for != NULL && SSL_set_tlsext_host_name(ssl, context->asks_for) != 1)
        return false;
    /* A copy: OpenSSL would have a session of TLS 1.3 be taken up only once. */
    SSL_SESSION *session = context->session == NULL ? NULL : SSL_SESSION_dup(context->session);
    if (session != NULL)
        SSL_set_session(ssl, session);
    SSL_SESSION_free(session);
    ERR_clear_error();
    return true;
}

/* ---- what went wrong ------------------------------------------------------------------------------------ */

static bool answered_plainly(const struct rv_tls *tls)
{
    return tls->stream->client && !tls->established && tls->kept.len >= 5 &&
           memcmp(tls->kept.ptr, "HTTP/", 5) == 0;
}

void rv_tls_note_failure(struct rv_tls *tls)
{
    unsigned long error = ERR_peek_error();
    long verdict = SSL_get_verify_result(tls->ssl);
    tls->failed = true;
    if (answered_plainly(tls)) {
        tls->reason = "the server answered in plain HTTP";
    } else if (ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        tls->distrusts = true;
        tls->reason = X509_verify_cert_error_string(verdict);
    } else if (error != 0) {
        tls->refused_protocol = ERR_GET_REASON(error) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL;
        tls->reason = ERR_reason_error_string(error);
    }
    ERR_clear_error();
}

void rv_tls_failure(const struct rv_stream *stream, struct rv_tls_failure *failure)
{
    const struct rv_tls *tls = rv_tls_of(stream);
    *failure = (struct rv_tls_failure){.begun = tls->begun_ns != 0,
                                       .certificate = tls->distrusts,
                                       .protocol = tls->refused_protocol,
                                       .told = tls->failed,
                                       .reason = tls->reason};
}

unsigned rv_tls_certificate_bits(SSL *ssl)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    EVP_PKEY *key = certificate == NULL ? NULL : X509_get0_pubkey(certificate);
    return key == NULL ? 0 : (unsigned)EVP_PKEY_get_bits(key);
}

void rv_tls_describe_key(const struct rv_stream *stream, char *text, size_t size)
{
    EVP_PKEY *key = NULL;
    char group[64] = "";
    *text = '\0';
    if (SSL_get_peer_tmp_key(rv_tls_of(stream)->ssl, &key) == 1 && key != NULL) {
        size_t length;
        if (EVP_PKEY_get_group_name(key, group, sizeof group, &length) != 1)
            group[0] = '\0';
        const char *type = EVP_PKEY_get0_type_name(key);
        if (*group != '\0' && type != NULL && strcmp(type, "EC") == 0)
            snprintf(text, size, "ECDH %s %d bits", group, EVP_PKEY_get_bits(key));
        else
            snprintf(text, size, "%s %d bits", type == NULL ? "?" : type, EVP_PKEY_get_bits(key));
    }
    EVP_PKEY_free(key);
    ERR_clear_error();
}
