/*
 * Step 11: TLS. What the program configures is checked here, as far as it can be, and kept for the
 * contexts of the workers' loops, which do the work (io/tls.h).
 */
#include "io/tls.h"

#include "io/loop.h"
#include "http/h2.h"
#include "server/conn.h"
#include "server/https.h"
#include "server/talk.h"

#include <stdio.h>
#include <stdlib.h>

#if RV_TLS_BUILT

#define TICKET_KEY_MS_DEFAULT 3600000
#define CLIENT_DEPTH_MAX 100 /* as OpenSSL has it */

/* ---- configuring --------------------------------------------------------------------------------------- */

/* The settings, made at the first call of this step; NULL: it fails, with `*error`. */
static struct rv_tls_settings *settings_of(rv_server *server, rv_error *error)
{
    *error = 0;
    if (atomic_load(&server->phase) != RV_SERVER_IDLE) {
        *error = rv_server_fail(server, RV_ESTATE, "TLS is configured before the start");
        return NULL;
    }
    if (server->tls != NULL)
        return server->tls;
    server->tls = calloc(1, sizeof *server->tls);
    if (server->tls != NULL)
        server->tls->tickets = rv_tls_tickets_new(TICKET_KEY_MS_DEFAULT);
    if (server->tls == NULL || server->tls->tickets == NULL)
        *error = rv_server_misconfigured(server, RV_ENOMEM, "out of memory");
    return *error == 0 ? server->tls : NULL;
}

rv_error rv_listen_tls(rv_server *server, const char *address)
{
    return rv_server_add_endpoint(server, address, true);
}

rv_error rv_tls_certificate(rv_server *server, const char *certificate_file, const char *key_file,
                            const rv_tls_certificate_options *options)
{
    static const rv_tls_certificate_options none;
    char why[RV_TLS_WHY_MAX];
    rv_error error;
    struct rv_tls_settings *settings = settings_of(server, &error);
    if (options == NULL)
        options = &none;
    if (settings == NULL)
        return error;
    if (certificate_file == NULL || key_file == NULL)
        return rv_server_misconfigured(server, RV_EINVAL,
                                       "a certificate is a file and the file of its key");
    error = rv_tls_add_certificate_files(settings, certificate_file, key_file, options->ocsp_file,
                                         options->password, options->ctx, why);
    return error == 0 ? 0 : rv_server_misconfigured(server, error, "%s", why);
}

rv_error rv_tls_self_signed(rv_server *server, const char *name)
{
    char why[RV_TLS_WHY_MAX];
    rv_error error;
    struct rv_tls_settings *settings = settings_of(server, &error);
    if (settings == NULL)
        return error;
    error = rv_tls_add_self_made(settings, name == NULL ? "localhost" : name, why);
    return error == 0 ? 0 : rv_server_misconfigured(server, error, "%s", why);
}

static bool replace(char **text, const char *with)
{
    free(*text);
    *text = with == NULL ? NULL : strdup(with);
    return with == NULL || *text != NULL;
}

static bool is_version(rv_tls_version version)
{
    return version == RV_TLS_DEFAULT || version == RV_TLS_1_2 || version == RV_TLS_1_3;
}

static const char *fault_of(const rv_tls_options *options)
{
    if (!is_version(options->version_min) || !is_version(options->version_max))
        return "version_min and version_max must be RV_TLS_1_2, RV_TLS_1_3 or RV_TLS_DEFAULT";
    if (options->version_max != RV_TLS_DEFAULT && options->version_min > options->version_max)
        return "version_min is above version_max";
    if (options->client > RV_TLS_CLIENT_REQUIRED)
        return "client must be RV_TLS_CLIENT_ANY, RV_TLS_CLIENT_OPTIONAL or RV_TLS_CLIENT_REQUIRED";
    if (options->client != RV_TLS_CLIENT_ANY && options->client_ca_file == NULL)
        return "clients are asked for certificates, and client_ca_file does not say who may vouch "
               "for them";
    if (options->client_depth_max > CLIENT_DEPTH_MAX)
        return "client_depth_max is above 100";
    return options->hsts == NULL ? NULL : rv_https_policy_fault(options->hsts);
}

static rv_error set_tickets(struct rv_tls_settings *settings, uint64_t period_ms)
{
    rv_tls_tickets_free(settings->tickets);
    settings->tickets = NULL;
    if (period_ms == RV_NO_LIMIT)
        return 0;
    settings->tickets = rv_tls_tickets_new(period_ms == 0 ? TICKET_KEY_MS_DEFAULT : period_ms);
    return settings->tickets == NULL ? RV_ENOMEM : 0;
}

static rv_error set_client(struct rv_tls_settings *settings, const rv_tls_options *options,
                           char *why)
{
    if (settings->client_ca != NULL)
        rv_buffer_free(settings->client_ca);
    free(settings->client_ca);
    settings->client_ca = NULL;
    settings->ask_client = options->client != RV_TLS_CLIENT_ANY;
    settings->require_client = options->client == RV_TLS_CLIENT_REQUIRED;
    settings->client_depth_max = options->client_depth_max;
    return settings->ask_client ? rv_tls_read_client_ca(settings, options->client_ca_file, why) : 0;
}

rv_error rv_tls_set(rv_server *server, const rv_tls_options *options)
{
    static const rv_tls_options defaults;
    char why[RV_TLS_WHY_MAX] = "out of memory";
    rv_error error;
    struct rv_tls_settings *settings = settings_of(server, &error);
    if (options == NULL)
        options = &defaults;
    if (settings == NULL)
        return error;
    const char *fault = fault_of(options);
    if (fault != NULL)
        return rv_server_misconfigured(server, RV_EINVAL, "TLS: %s", fault);
    settings->version_min = (unsigned)options->version_min;
    settings->version_max = (unsigned)options->version_max;
    bool copied = replace(&settings->ciphers, options->ciphers);
    copied = replace(&settings->cipher_suites, options->cipher_suites) && copied;
    copied = replace(&settings->groups, options->groups) && copied;
    copied = replace(&server->https.policy, options->hsts) && copied;
    server->https.redirect = options->redirect;
    error = copied ? set_tickets(settings, options->ticket_key_ms) : RV_ENOMEM;
    if (error == 0)
        error = set_client(settings, options, why);
    return error == 0 ? 0 : rv_server_misconfigured(server, error, "%s", why);
}

/* ---- starting ------------------------------------------------------------------------------------------ */

static bool speaks_tls(const rv_server *server)
{
    for (size_t i = 0; i < server->endpoint_count; i++)
        if (server->endpoints[i].is_tls)
            return true;
    return server->inherit && server->inherit_tls;
}

rv_error rv_server_check_tls(rv_server *server)
{
    char why[RV_TLS_WHY_MAX];
    struct rv_loop trial = {0};
    if (!speaks_tls(server) && server->https.redirect)
        return rv_server_fail(server, RV_EINVAL,
                              "clients are to be sent on to TLS, and no address speaks it: "
                              "rv_listen_tls is needed");
    if (!speaks_tls(server))
        return 0;
    if (server->tls == NULL || server->tls->identity_count == 0)
        return rv_server_fail(server, RV_EINVAL,
                              "an address speaks TLS, and there is no certificate: "
                              "rv_tls_certificate or rv_tls_self_signed is needed");
    rv_error error = rv_tls_context_open(&trial, server->tls, why);
    if (error != 0)
        return rv_server_fail(server, error, "TLS: %s", why);
    rv_tls_context_close(&trial);
    return 0;
}

rv_error rv_server_open_tls(rv_server *server, struct rv_loop *loop)
{
    char why[RV_TLS_WHY_MAX];
    if (!speaks_tls(server))
        return 0;
    bool http2 = RV_H2_BUILT && !server->options.no_http2;
    server->tls->protocols = http2 ? "\x02h2\x08http/1.1" : "\x08http/1.1";
    return rv_tls_context_open(loop, server->tls, why);
}

void rv_server_close_tls(struct rv_loop *loop)
{
    if (loop->tls != NULL)
        rv_tls_context_close(loop);
}

void rv_server_free_tls(rv_server *server)
{
    if (server->tls == NULL)
        return;
    rv_tls_settings_free(server->tls);
    free(server->tls);
    server->tls = NULL;
}

/* ---- while it runs -------------------------------------------------------------------------------------- */

/* New certificates on their way to a worker. */
struct renewal {
    struct rv_message message; /* first */
    size_t count;
    struct rv_tls_identity *identities[]; /* each kept */
};

static void free_renewal(struct renewal *renewal)
{
    for (size_t i = 0; i < renewal->count; i++)
        rv_tls_identity_drop(renewal->identities[i]);
    free(renewal);
}

static void renew(struct rv_message *message, void *owner)
{
    struct renewal *renewal = (struct renewal *)message;
    struct rv_worker *worker = owner;
    char why[RV_TLS_WHY_MAX];
    if (worker->loop.tls != NULL && !worker->ended &&
        rv_tls_context_renew(&worker->loop, renewal->identities, why) != 0)
        rv_server_log(worker->server, "certificates stay as they were: %s", why);
    free_renewal(renewal);
}

static struct renewal *make_renewal(struct rv_tls_identity *const *identities, size_t count)
{
    struct renewal *renewal = calloc(1, sizeof *renewal + count * sizeof(void *));
    if (renewal == NULL)
        return NULL;
    renewal->message.run = renew;
    renewal->count = count;
    for (size_t i = 0; i < count; i++)
        renewal->identities[i] = rv_tls_identity_keep(identities[i]);
    return renewal;
}

/* All workers, or none. */
static rv_error renew_workers(rv_server *server, struct rv_tls_identity *const *identities)
{
    struct renewal *renewals[RV_WORKERS_MAX];
    unsigned count = server->worker_count, made = 0;
    while (made < count) {
        renewals[made] = make_renewal(identities, server->tls->identity_count);
        if (renewals[made] == NULL)
            break;
        made++;
    }
    for (unsigned i = 0; i < made; i++)
        if (made == count)
            rv_loop_post(&server->workers[i]->loop, &renewals[i]->message);
        else
            free_renewal(renewals[i]);
    return made == count ? 0 : RV_ENOMEM;
}

/* Whichever of the two arrays is not the server's any more. */
static void free_identities(struct rv_tls_identity **identities, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rv_tls_identity_drop(identities[i]);
    free(identities);
}

static bool may_reload(const rv_server *server)
{
    int phase = atomic_load(&server->phase);
    return (phase == RV_SERVER_RUNNING || phase == RV_SERVER_TESTED) && server->tls != NULL &&
           server->tls->identity_count > 0;
}

rv_error rv_tls_reload(rv_server *server, char *why, size_t why_size)
{
    char text[RV_TLS_WHY_MAX] = "the server does not run, or does not speak TLS";
    struct rv_tls_identity **fresh = NULL;
    rv_error error = RV_ESTATE;
    if (may_reload(server))
        error = rv_tls_read_again(server->tls, &fresh, text);
    if (error == 0) {
        struct rv_tls_settings *settings = server->tls;
        error = renew_workers(server, fresh);
        snprintf(text, sizeof text, "%s", error == 0 ? "" : "out of memory");
        struct rv_tls_identity **old = error == 0 ? settings->identities : fresh;
        if (error == 0)
            settings->identities = fresh;
        free_identities(old, settings->identity_count);
    }
    if (why != NULL && why_size > 0)
        snprintf(why, why_size, "%s", error == 0 ? "" : text);
    return error;
}

/* ---- what was agreed on -------------------------------------------------------------------------------- */

static const char *copy(struct rv_arena *arena, const char *text)
{
    return text == NULL || *text == '\0' ? "" : rv_arena_copy(arena, rv_str(text));
}

const rv_tls_info *rv_tls(const rv_talk *talk)
{
    if (talk == NULL || !talk->is_tls || talk->tls_info != NULL || talk->conn == NULL)
        return talk == NULL ? NULL : talk->tls_info;
    rv_talk *mine = (rv_talk *)talk; /* a noun for its caller, a cache in here */
    rv_tls_info *info = rv_arena_alloc(&mine->arena, sizeof *info);
    struct rv_tls_facts facts;
    if (info == NULL)
        return NULL;
    rv_tls_facts(&talk->conn->stream, &facts);
    char *subject = rv_tls_client_subject(&talk->conn->stream);
    *info = (rv_tls_info){.version = facts.version,
                          .cipher = copy(&mine->arena, facts.cipher),
                          .server_name = copy(&mine->arena, facts.server_name),
                          .client_subject = subject == NULL ? NULL : copy(&mine->arena, subject),
                          .resumed = facts.resumed};
    bool complete = info->cipher != NULL && info->server_name != NULL &&
                    (subject == NULL || info->client_subject != NULL);
    free(subject);
    if (complete)
        mine->tls_info = info;
    return mine->tls_info;
}

#else

/* ---- a library without it: every call that asks for it is refused --------------------------------------- */

static rv_error refuse(rv_server *server)
{
    return rv_server_misconfigured(server, RV_EINVAL,
                                   "this library was built without TLS (CMake option RV_TLS)");
}

rv_error rv_listen_tls(rv_server *server, const char *address)
{
    (void)address;
    return refuse(server);
}

rv_error rv_tls_certificate(rv_server *server, const char *certificate_file, const char *key_file,
                            const rv_tls_certificate_options *options)
{
    (void)certificate_file;
    (void)key_file;
    (void)options;
    return refuse(server);
}

rv_error rv_tls_self_signed(rv_server *server, const char *name)
{
    (void)name;
    return refuse(server);
}

rv_error rv_tls_set(rv_server *server, const rv_tls_options *options)
{
    (void)options;
    return refuse(server);
}

rv_error rv_tls_reload(rv_server *server, char *why, size_t why_size)
{
    (void)server;
    if (why != NULL && why_size > 0)
        snprintf(why, why_size, "this library was built without TLS (CMake option RV_TLS)");
    return RV_ESTATE;
}

rv_error rv_server_check_tls(rv_server *server)
{
    (void)server;
    return 0;
}

rv_error rv_server_open_tls(rv_server *server, struct rv_loop *loop)
{
    (void)server;
    (void)loop;
    return 0;
}

void rv_server_close_tls(struct rv_loop *loop)
{
    (void)loop;
}

void rv_server_free_tls(rv_server *server)
{
    (void)server;
}

const rv_tls_info *rv_tls(const rv_talk *talk)
{
    (void)talk;
    return NULL;
}

#endif
