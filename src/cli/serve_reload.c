/*
 * The thread that waits for SIGHUP (serve_reload.h).
 */
#include "cli/serve_reload.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_t thread;
static atomic_bool over;

static void read_again(rv_server *server)
{
    char why[512];
    if (rv_tls_reload(server, why, sizeof why) == 0)
        fprintf(stderr, "rivulet: the certificates have been read again\n");
    else
        fprintf(stderr, "rivulet: the certificates stay as they were: %s\n", why);
}

static void *wait_for_signals(void *server)
{
    sigset_t hang_up;
    int signal_number;
    sigemptyset(&hang_up);
    sigaddset(&hang_up, SIGHUP);
    while (sigwait(&hang_up, &signal_number) == 0 && !atomic_load(&over))
        read_again(server);
    return NULL;
}

bool rv_serve_reload_start(rv_server *server)
{
    sigset_t hang_up, all, before;
    sigemptyset(&hang_up);
    sigaddset(&hang_up, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hang_up, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the other signals are for the main thread */
    bool good = pthread_create(&thread, NULL, wait_for_signals, server) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

void rv_serve_reload_stop(void)
{
    atomic_store(&over, true);
    pthread_kill(thread, SIGHUP);
    pthread_join(thread, NULL);
}
