/*
 * The life of a server: made, configured, run, stopped, freed (server.h). The thread that calls
 * rv_server_run only waits: the workers do the work.
 */
#include "server/server.h"

#include "io/backend.h"
#include "server/https.h"
#include "server/pool.h"
#include "server/stop_port.h"
#include "server/room.h"
#include "server/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- telling ------------------------------------------------------------------------------------------ */

rv_error rv_server_fail(rv_server *server, rv_error error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(server->error_text, sizeof server->error_text, format, arguments);
    va_end(arguments);
    return error;
}

rv_error rv_server_misconfigured(rv_server *server, rv_error error, const char *format, ...)
{
    if (server->first_error != 0)
        return error; /* the text stays that of the first */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(server->error_text, sizeof server->error_text, format, arguments);
    va_end(arguments);
    server->first_error = error;
    return error;
}

const char *rv_server_error_text(const rv_server *server)
{
    return server->error_text;
}

void rv_server_report(rv_server *server, rv_error error, const char *doing, const char *peer,
                      const char *detail)
{
    const rv_hooks *hooks = &server->options.hooks;
    if (hooks->on_error != NULL)
        hooks->on_error(server, error, doing, peer, detail, hooks->ctx);
}

void rv_server_log(rv_server *server, const char *format, ...)
{
    const rv_hooks *hooks = &server->options.hooks;
    char line[256];
    if (hooks->on_log == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    hooks->on_log(server, line, hooks->ctx);
}

/* ---- making ------------------------------------------------------------------------------------------- */

rv_server *rv_server_new(const rv_server_options *options)
{
    rv_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return NULL;
    server->stop_event = -1;
    server->app.server = server;
    pthread_mutex_init(&server->mutex, NULL);
    rv_server_set_options(server, options);
    if (options != NULL && options->listen != NULL)
        rv_listen(server, options->listen);
    server->options.listen = NULL; /* the caller's memory: it has been copied */
    return server;
}

rv_app *rv_default_app(rv_server *server)
{
    return &server->app;
}

/* ---- workers ------------------------------------------------------------------------------------------ */

static void free_workers(rv_server *server)
{
    pthread_mutex_lock(&server->mutex);
    unsigned count = server->worker_count;
    server->worker_count = 0;
    pthread_mutex_unlock(&server->mutex);
    for (unsigned i = 0; i < count; i++) {
        rv_worker_close(server->workers[i]);
        free(server->workers[i]);
    }
    free(server->workers);
    server->workers = NULL;
}

static rv_error make_worker(rv_server *server, unsigned index, const struct rv_backend *backend)
{
    /* Cache lines of its own: workers share none. */
    struct rv_worker *worker = aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);
    if (worker == NULL)
        return RV_ENOMEM;
    memset(worker, 0, sizeof *worker);
    rv_error error = rv_worker_open(worker, server, index, backend);
    if (error != 0) {
        free(worker);
        return error;
    }
    pthread_mutex_lock(&server->mutex);
    server->workers[server->worker_count++] = worker;
    pthread_mutex_unlock(&server->mutex);
    return 0;
}

rv_error rv_server_make_workers(rv_server *server, unsigned count, const struct rv_backend *backend)
{
    rv_error error = 0;
    if (server->worker_count > 0)
        return 0;
    server->workers = calloc(count, sizeof *server->workers);
    if (server->workers == NULL)
        error = RV_ENOMEM;
    for (unsigned i = 0; i < count && error == 0; i++)
        error = make_worker(server, i, backend);
    if (error != 0) {
        rv_server_fail(server, error, "cannot make the workers: %s", rv_strerror(error));
        free_workers(server);
    }
    return error;
}

rv_error rv_server_begin(rv_server *server)
{
    rv_error error = 0;
    server->connections_max = rv_server_connections_max(server);
    rv_https_find_port(server);
    for (unsigned i = 0; i < server->worker_count && error == 0; i++)
        error = rv_worker_begin(server->workers[i]);
    if (error == 0)
        server->pool = rv_pool_start(server, server->options.pool_threads);
    if (error == 0 && server->pool == NULL)
        error = RV_ENOMEM;
    if (error != 0) {
        rv_server_fail(server, error, "cannot start the workers: %s", rv_strerror(error));
        rv_server_end(server);
    }
    return error;
}

void rv_server_end(rv_server *server)
{
    rv_pool_stop(server->pool); /* before the workers: its threads post to them to the last */
    server->pool = NULL;
    for (unsigned i = 0; i < server->worker_count; i++)
        rv_worker_end(server->workers[i]);
}

/* ---- running ------------------------------------------------------------------------------------------ */

void rv_server_notify(rv_server *server)
{
    uint64_t one = 1;
    ssize_t ignored = write(server->stop_event, &one, sizeof one);
    (void)ignored; /* async-signal-safe; can only fail when a wake-up is pending anyway */
}

void rv_server_stop(rv_server *server)
{
    int phase = atomic_load(&server->phase);
    if (phase != RV_SERVER_RUNNING && phase != RV_SERVER_STOPPING)
        return;
    int error_number = errno;
    atomic_fetch_add(&server->stop_calls, 1);
    rv_server_notify(server);
    errno = error_number;
}

/* Waits until every worker has ended, and passes stops on to them. */
static void supervise(rv_server *server, unsigned started)
{
    bool stop_sent = false, cut_sent = false, open = true;
    while (atomic_load(&server->workers_ended) < started) {
        int calls = atomic_load(&server->stop_calls);
        if (calls > 0 && !stop_sent) {
            stop_sent = true;
            atomic_store(&server->phase, RV_SERVER_STOPPING);
            for (unsigned i = 0; i < started; i++)
                rv_worker_post_stop(server->workers[i]);
        }
        if (calls > 1 && !cut_sent) {
            cut_sent = true;
            for (unsigned i = 0; i < started; i++)
                rv_worker_post_cut(server->workers[i]);
        }
        if (open && atomic_load(&server->workers_deaf) >= started) {
            open = false;
            for (unsigned i = 0; i < started; i++)
                rv_loop_wake(&server->workers[i]->loop); /* each may end now */
            rv_server_close_endpoints(server); /* clients are refused now, not kept waiting */
        }
        rv_stop_port_wait(server);
    }
}

/* Threads of the library take no signals: those belong to the program's own. SIGPIPE, which sendfile
   would raise, is among what is blocked. */
static unsigned start_threads(rv_server *server)
{
    sigset_t all, before;
    unsigned started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < server->worker_count) {
        struct rv_worker *worker = server->workers[started];
        if (pthread_create(&worker->thread, NULL, rv_worker_run, worker) != 0)
            break;
        char name[16];
        snprintf(name, sizeof name, "rivulet-%u", started % 1000);
        pthread_setname_np(worker->thread, name);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static rv_error prepare(rv_server *server)
{
    if (server->first_error != 0)
        return server->first_error;
    if (server->stop_event < 0)
        server->stop_event = eventfd(0, EFD_CLOEXEC);
    if (server->stop_event < 0)
        return rv_server_fail(server, RV_EFILES, "no file descriptors left");
    rv_error error = rv_server_check_tls(server);
    if (error == 0)
        error = rv_server_open_endpoints(server);
    if (error != 0)
        return error;
    error = rv_server_make_workers(server, server->options.workers, &rv_backend_epoll);
    if (error == 0)
        error = rv_server_begin(server);
    if (error == 0 && (error = rv_stop_port_open(server)) != 0)
        rv_server_end(server);
    if (error != 0)
        rv_server_close_endpoints(server);
    return error;
}

static void forget_news(rv_server *server)
{
    atomic_store(&server->stop_calls, 0);
    atomic_store(&server->workers_deaf, 0);
    atomic_store(&server->workers_ended, 0);
}

rv_error rv_server_run(rv_server *server)
{
    int idle = RV_SERVER_IDLE;
    const rv_hooks *hooks = &server->options.hooks;
    if (!atomic_compare_exchange_strong(&server->phase, &idle, RV_SERVER_CHANGING))
        return rv_server_fail(server, RV_ESTATE,
                              idle == RV_SERVER_TESTED ? "the server is being tested"
                                                       : "the server is running already");
    forget_news(server);
    rv_error error = prepare(server);
    if (error != 0) {
        atomic_store(&server->phase, RV_SERVER_IDLE);
        return error;
    }
    atomic_store(&server->phase, RV_SERVER_RUNNING);
    rv_signals_attach(server);
    atomic_store(&server->workers_started, server->worker_count);
    unsigned started = start_threads(server);
    atomic_store(&server->workers_started, started);
    if (started < server->worker_count) {
        error = rv_server_fail(server, RV_ENOMEM, "cannot start the worker threads");
        rv_server_stop(server);
    } else if (hooks->on_start != NULL) {
        hooks->on_start(server, hooks->ctx);
    }
    supervise(server, started);
    rv_signals_detach(server);
    rv_stop_port_close(server);
    for (unsigned i = 0; i < started; i++)
        pthread_join(server->workers[i]->thread, NULL);
    rv_server_close_endpoints(server);
    atomic_store(&server->phase, RV_SERVER_CHANGING);
    rv_server_end(server);
    if (hooks->on_stop != NULL && error == 0)
        hooks->on_stop(server, hooks->ctx);
    atomic_store(&server->phase, RV_SERVER_IDLE);
    return error;
}

void rv_server_free(rv_server *server)
{
    if (server == NULL)
        return;
    rv_server_end_test(server);
    free_workers(server);
    rv_server_close_endpoints(server);
    for (size_t i = 0; i < server->endpoint_count; i++)
        free(server->endpoints[i].wanted);
    free(server->endpoints);
    rv_server_free_tls(server);
    free(server->https.policy);
    for (size_t i = 0; i < server->app_count; i++) {
        rv_app_clear(server->apps[i]);
        free(server->apps[i]);
    }
    free(server->apps);
    rv_app_clear(&server->app);
    rv_rooms_free(server);
    rv_default_fields_free(&server->defaults);
    free((char *)server->options.server_name);
    if (server->stop_event >= 0)
        close(server->stop_event);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

/* ---- what there is to know ------------------------------------------------------------------------------ */

unsigned rv_server_backlog(const rv_server *server)
{
    return server->backlog;
}

unsigned rv_server_workers(const rv_server *server)
{
    return server->worker_count;
}

unsigned rv_server_pool_threads(const rv_server *server)
{
    return rv_pool_threads(server->pool);
}
