/*
 * The log of `rivulet serve` (serve_log.h). One line for each thing; workers and pool threads write them.
 */
#include "cli/serve_log.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>

#define LINES_PER_S 10

void rv_serve_on_log(rv_server *server, const char *line, void *ctx)
{
    (void)server;
    (void)ctx;
    fprintf(stderr, "rivulet: %s\n", line);
}

/* What happened, to whom, and more about it. */
static void say(const char *what, const char *doing, const char *peer, const char *detail)
{
    fprintf(stderr, "rivulet: %s %s%s%s%s%s\n", what, doing, *peer != '\0' ? ", client " : "", peer,
            *detail != '\0' ? ": " : "", detail);
}

void rv_serve_on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                       const char *detail, void *ctx)
{
    (void)server;
    (void)ctx;
    say(rv_strerror(error), doing, peer, detail);
}

/* May another line be said in this second? */
static bool has_room(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
    static uint64_t second;
    static unsigned said, unsaid;
    uint64_t now = rv_clock_monotonic_ms() / 1000;
    pthread_mutex_lock(&mutex);
    if (now != second) {
        if (unsaid > 0)
            fprintf(stderr, "rivulet: bad input %u more times\n", unsaid);
        second = now;
        said = unsaid = 0;
    }
    bool room = said < LINES_PER_S;
    if (room)
        said++;
    else
        unsaid++;
    pthread_mutex_unlock(&mutex);
    return room;
}

void rv_serve_on_bad_input(rv_server *server, int status, const char *doing, const char *peer,
                           const char *detail, void *ctx)
{
    char what[32] = "bad input";
    (void)server;
    (void)ctx;
    if (!has_room())
        return;
    if (status != 0)
        snprintf(what, sizeof what, "bad input (%d)", status);
    say(what, doing, peer, detail);
}
