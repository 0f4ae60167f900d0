/*
 * The context of a loop (tls.h): a library context of OpenSSL, a server context for each certificate,
 * the choice between them by the name that a client asks for (RFC 6066 section 3), and the choice of
 * the protocol (ALPN, RFC 7301).
 */
#include "io/backend.h"
#include "io/tls_inner.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

/* Forward secrecy and authenticated encryption, nothing else. */
#define CIPHERS_DEFAULT "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS_DEFAULT "X25519:P-256:P-384"

/* ---- choices during a handshake -------------------------------------------------------------------------- */

static bool is_for(SSL_CTX *server, const char *name)
{
    X509 *certificate = SSL_CTX_get0_certificate(server);
    return X509_check_host(certificate, name, strlen(name), 0, NULL) == 1 ||
           X509_check_ip_asc(certificate, name, 0) == 1;
}

/* A name that no certificate is for gets the first one: the client will judge. */
static int on_server_name(SSL *ssl, int *alert, void *argument)
{
    struct rv_tls_context *context = argument;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    if (name == NULL)
        return SSL_TLSEXT_ERR_NOACK;
    for (size_t i = 0; i < context->server_count; i++) {
        if (!is_for(context->servers[i], name))
            continue;
        if (SSL_get_SSL_CTX(ssl) != context->servers[i])
            SSL_set_SSL_CTX(ssl, context->servers[i]);
        break;
    }
    ERR_clear_error();
    return SSL_TLSEXT_ERR_OK;
}

/* A client that offers only what is not spoken here is told so (RFC 7301 section 3.2). */
static int on_protocols(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_length,
                        const unsigned char *offered, unsigned offered_length, void *argument)
{
    const unsigned char *spoken = argument;
    (void)ssl;
    int result = SSL_select_next_proto((unsigned char **)chosen, chosen_length, spoken,
                                       (unsigned)strlen(argument), offered, offered_length);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* ---- making ------------------------------------------------------------------------------------------------ */

static rv_error say(char *why, const char *what, const char *value)
{
    char reason[160] = "";
    unsigned long error = ERR_peek_last_error();
    if (error != 0)
        ERR_error_string_n(error, reason, sizeof reason);
    ERR_clear_error();
    snprintf(why, RV_TLS_WHY_MAX, "%s \"%.120s\" cannot be used%s%s", what, value,
             *reason == '\0' ? "" : ": ", reason);
    return RV_EINVAL;
}

static rv_error set_choices(SSL_CTX *server, const struct rv_tls_settings *settings, char *why)
{
    const char *ciphers = settings->ciphers == NULL ? CIPHERS_DEFAULT : settings->ciphers;
    const char *groups = settings->groups == NULL ? GROUPS_DEFAULT : settings->groups;
    unsigned min = settings->version_min == 0 ? TLS1_2_VERSION : settings->version_min;
    if (SSL_CTX_set_min_proto_version(server, min) != 1 ||
        SSL_CTX_set_max_proto_version(server, settings->version_max) != 1)
        return say(why, "the versions of TLS", "");
    if (SSL_CTX_set_cipher_list(server, ciphers) != 1)
        return say(why, "the cipher list", ciphers);
    if (settings->cipher_suites != NULL &&
        SSL_CTX_set_ciphersuites(server, settings->cipher_suites) != 1)
        return say(why, "the list of cipher suites", settings->cipher_suites);
    if (SSL_CTX_set1_groups_list(server, groups) != 1)
        return say(why, "the list of groups", groups);
    return 0;
}

static void set_manners(SSL_CTX *server, const struct rv_tls_settings *settings)
{
    SSL_CTX_set_options(server, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(server, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(server, (const unsigned char *)"rivulet", 7);
    if (settings->protocols != NULL)
        SSL_CTX_set_alpn_select_cb(server, on_protocols, (void *)settings->protocols);
    if (settings->tickets == NULL) {
        SSL_CTX_set_options(server, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(server, 0);
    } else {
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server, rv_tls_ticket_key);
        SSL_CTX_set_num_tickets(server, 1);
    }
}

/* The certificates that may vouch for clients, and their names for the clients to choose by. */
static rv_error set_clients(SSL_CTX *server, const struct rv_tls_settings *settings, char *why)
{
    if (!settings->ask_client)
        return 0;
    int mode = SSL_VERIFY_PEER | (settings->require_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    SSL_CTX_set_verify(server, mode, NULL);
    if (settings->client_depth_max > 0) /* OpenSSL counts what lies between */
        SSL_CTX_set_verify_depth(server, (int)settings->client_depth_max - 1);
    BIO *memory = BIO_new_mem_buf(settings->client_ca->ptr, (int)settings->client_ca->len);
    X509_STORE *store = SSL_CTX_get_cert_store(server);
    X509 *certificate;
    bool good = memory != NULL;
    while (good && (certificate = PEM_read_bio_X509(memory, NULL, NULL, NULL)) != NULL) {
        good = X509_STORE_add_cert(store, certificate) == 1 &&
               SSL_CTX_add_client_CA(server, certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(memory);
    ERR_clear_error();
    return good ? 0 : say(why, "the certificates for clients", "");
}

static rv_error open_server(struct rv_tls_context *context, struct rv_tls_identity *identity,
                            char *why)
{
    const struct rv_tls_settings *settings = context->settings;
    SSL_CTX *server = SSL_CTX_new_ex(context->library, NULL, TLS_server_method());
    if (server == NULL)
        return say(why, "OpenSSL", "");
    context->servers[context->server_count++] = server;
    SSL_CTX_set_app_data(server, context);
    if (context->may_encrypt_below)
        SSL_CTX_set_options(server, SSL_OP_ENABLE_KTLS);
    SSL_CTX_set_tlsext_servername_callback(server, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(server, context);
    set_manners(server, settings);
    rv_tls_stay_calm(server, context);
    rv_error error = set_choices(server, settings, why);
    if (error == 0)
        error = set_clients(server, settings, why);
    if (error == 0 && rv_tls_use_identity(server, context->library, identity) != 0)
        error =
            say(why, "the certificate",
                identity->certificate_file == NULL ? "made in memory" : identity->certificate_file);
    return error;
}

struct rv_tls_context *rv_tls_context_new(void)
{
    struct rv_tls_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return NULL;
    TAILQ_INIT(&context->waiting);
    context->library = OSSL_LIB_CTX_new();
    context->plain = malloc(RV_TLS_RECORD_BYTES + RV_SCAN_PADDING);
    context->gathered = malloc(RV_TLS_BATCH_BYTES);
    if (context->library == NULL || context->plain == NULL || context->gathered == NULL ||
        rv_tls_bio_open(context) != 0) {
        rv_tls_context_free(context);
        return NULL;
    }
    memset(context->plain, 0, RV_TLS_RECORD_BYTES + RV_SCAN_PADDING);
    return context;
}

static rv_error make_room(struct rv_tls_context *context)
{
    context->ticket_cipher = EVP_CIPHER_fetch(context->library, "AES-256-CBC", NULL);
    context->servers = calloc(context->settings->identity_count, sizeof(void *));
    return context->ticket_cipher == NULL || context->servers == NULL ? RV_ENOMEM : 0;
}

rv_error rv_tls_context_open(struct rv_loop *loop, const struct rv_tls_settings *settings,
                             char *why)
{
    struct rv_tls_context *context = rv_tls_context_new();
    snprintf(why, RV_TLS_WHY_MAX, "out of memory");
    if (context == NULL)
        return RV_ENOMEM;
    loop->tls = context;
    context->settings = settings;
    context->may_encrypt_below =
        loop->backend != NULL && loop->backend->may_encrypt != NULL && loop->backend->may_encrypt();
    rv_error error = make_room(context);
    for (size_t i = 0; i < settings->identity_count && error == 0; i++)
        error = open_server(context, settings->identities[i], why);
    if (error != 0)
        rv_tls_context_close(loop);
    return error;
}

static void free_servers(SSL_CTX **servers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        SSL_CTX_free(servers[i]);
    free(servers);
}

rv_error rv_tls_context_renew(struct rv_loop *loop, struct rv_tls_identity *const *identities,
                              char *why)
{
    struct rv_tls_context *context = loop->tls;
    SSL_CTX **before = context->servers;
    size_t count = context->server_count;
    rv_error error = 0;
    snprintf(why, RV_TLS_WHY_MAX, "out of memory");
    SSL_CTX **servers = calloc(count, sizeof(void *));
    if (servers == NULL)
        return RV_ENOMEM;
    context->servers = servers;
    context->server_count = 0;
    for (size_t i = 0; i < count && error == 0; i++)
        error = open_server(context, identities[i], why);
    if (error == 0) {
        free_servers(before, count);
        return 0;
    }
    free_servers(servers, context->server_count);
    context->servers = before;
    context->server_count = count;
    return error;
}

void rv_tls_context_free(struct rv_tls_context *context)
{
    free_servers(context->servers, context->server_count);
    SSL_SESSION_free(context->session);
    SSL_CTX_free(context->client);
    EVP_CIPHER_free(context->ticket_cipher);
    BIO_free(context->bio);
    BIO_meth_free(context->method);
    OSSL_LIB_CTX_free(context->library);
    rv_buffer_free(&context->out);
    free(context->asks_for);
    free(context->plain);
    free(context->gathered);
    free(context);
}

void rv_tls_context_close(struct rv_loop *loop)
{
    rv_tls_context_free(loop->tls);
    loop->tls = NULL;
}

void rv_tls_settings_free(struct rv_tls_settings *settings)
{
    for (size_t i = 0; i < settings->identity_count; i++)
        rv_tls_identity_drop(settings->identities[i]);
    free(settings->identities);
    rv_tls_tickets_free(settings->tickets);
    free(settings->ciphers);
    free(settings->cipher_suites);
    free(settings->groups);
    if (settings->client_ca != NULL)
        rv_buffer_free(settings->client_ca);
    free(settings->client_ca);
    *settings = (struct rv_tls_settings){0};
}
