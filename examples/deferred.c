/*
 * Answers that come later, from another thread: clients wait for the next tick of a clock.
 *
 *     examples/deferred [ADDRESS]  then: curl http://127.0.0.1:8080/tick
 */
#include <pthread.h>
#include <rivulet.h>
#include <stdatomic.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static rv_handle waiting[1000];
static size_t waiting_count;
static atomic_bool over;

/* On the talk's worker. The talk is NULL when the client has left: rv_text then does nothing. */
static int answer(rv_talk *talk, void *value)
{
    (void)value;
    return rv_text(talk, 200, "tick\n");
}

/* A thread of the program's own. It never touches a talk: it holds handles. */
static void *tick(void *server)
{
    for (; !over; nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL)) {
        pthread_mutex_lock(&mutex);
        while (waiting_count > 0)
            rv_resume(server, waiting[--waiting_count], answer, NULL);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static int wait_for_tick(rv_talk *talk, void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&mutex);
    bool room = waiting_count < sizeof waiting / sizeof *waiting;
    if (room)
        waiting[waiting_count++] = rv_suspend(talk);
    pthread_mutex_unlock(&mutex);
    return room ? RV_PENDING : rv_problem(talk, 503, "Too many are waiting.");
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    pthread_t ticker;
    if (server == NULL || pthread_create(&ticker, NULL, tick, server) != 0)
        return 1;
    rv_route(rv_default_app(server), "GET /tick", wait_for_tick, NULL);
    rv_error error = rv_server_run(server);
    over = true;
    pthread_join(ticker, NULL); /* from here on nobody calls rv_resume */
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
