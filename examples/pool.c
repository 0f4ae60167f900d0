/*
 * Work that blocks: the same kind of handler, run by a thread of the pool.
 *
 *     examples/pool [ADDRESS]      then: curl http://127.0.0.1:8080/slow/Ada
 */
#include <rivulet.h>
#include <stdio.h>
#include <time.h>

/* Stands for a database, a file system, a library that waits. */
static void ask_somebody_slow(void)
{
    struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static int slow(rv_talk *talk, void *ctx)
{
    char text[128];
    rv_bytes name = rv_param(talk, "name");
    (void)ctx;
    ask_somebody_slow();
    snprintf(text, sizeof text, "%.*s is in.\n", name.len < 64 ? (int)name.len : 64, name.ptr);
    return rv_text(talk, 200, text);
}

int main(int argc, char **argv)
{
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = argc > 1 ? argv[1] : "127.0.0.1:8080",
        .pool_threads = 16, /* so many at once; 100 more may wait; the next one gets a 503 */
        .limits.pool_queue_max = 100,
    });
    if (server == NULL)
        return 1;
    rv_route_with(rv_default_app(server), "GET /slow/{name}", slow, NULL,
                  &(rv_route_options){.run = RV_ON_POOL});
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
