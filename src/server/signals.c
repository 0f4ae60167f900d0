/*
 * SIGTERM and SIGINT while a server runs. The one piece of process-wide state in the library, and a
 * guest: a handler is only installed where the program has none, and removed when the last server has
 * ended. SIGINT that is ignored (a job in the background) stays ignored.
 */
#include "server/server.h"

#include <signal.h>
#include <stdlib.h>

#define SERVERS_MAX 64

static _Atomic(rv_server *) running[SERVERS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static unsigned attached;
static struct sigaction before_term, before_int;
static bool installed_term, installed_int;

static void on_signal(int number)
{
    (void)number;
    for (int i = 0; i < SERVERS_MAX; i++) {
        rv_server *server = atomic_load(&running[i]);
        if (server != NULL)
            rv_server_stop(server);
    }
}

static bool install(int number, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, before) != 0 || (before->sa_flags & SA_SIGINFO) != 0 ||
        before->sa_handler != SIG_DFL)
        return false;
    return sigaction(number, &action, NULL) == 0;
}

void rv_signals_attach(rv_server *server)
{
    if (server->options.keep_signals)
        return;
    pthread_mutex_lock(&mutex);
    if (attached++ == 0) {
        installed_term = install(SIGTERM, &before_term);
        installed_int = install(SIGINT, &before_int);
    }
    for (int i = 0; i < SERVERS_MAX; i++) {
        rv_server *none = NULL;
        if (atomic_compare_exchange_strong(&running[i], &none, server))
            break;
    }
    pthread_mutex_unlock(&mutex);
}

void rv_signals_detach(rv_server *server)
{
    if (server->options.keep_signals)
        return;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < SERVERS_MAX; i++) {
        rv_server *mine = server;
        atomic_compare_exchange_strong(&running[i], &mine, NULL);
    }
    if (--attached == 0) {
        if (installed_term)
            sigaction(SIGTERM, &before_term, NULL);
        if (installed_int)
            sigaction(SIGINT, &before_int, NULL);
    }
    pthread_mutex_unlock(&mutex);
}
