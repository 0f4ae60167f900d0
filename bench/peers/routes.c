/*
 * What a route costs among others: rivulet as a library, with as many routes as it is told.
 *
 *     routes PORT COUNT
 *
 * GET /ok is `Ok`; the others, half of them in front of it, are those of a large program: a resource with a
 * list, an entry, what belongs to the entry, and a file of that. One worker, on 127.0.0.1, until SIGTERM.
 */
#include <rivulet.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const shapes[] = {"GET /things-%lu", "GET /things-%lu/{id:int}",
                                     "POST /things-%lu/{id:int}/notes",
                                     "GET /things-%lu/{id:int}/{name}.{ext}"};
#define SHAPES (sizeof shapes / sizeof *shapes)

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static int other(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "another");
}

static rv_error add(rv_app *app, unsigned long count)
{
    rv_error error = 0;
    for (unsigned long i = 0; i < count && error == 0; i++) {
        char pattern[80];
        if (i == count / 2) {
            error = rv_route(app, "GET /ok", ok, NULL);
            continue;
        }
        snprintf(pattern, sizeof pattern, shapes[i % SHAPES], i / SHAPES);
        error = rv_route(app, pattern, other, NULL);
    }
    return error;
}

int main(int argc, char **argv)
{
    char address[64];
    if (argc != 3) {
        fprintf(stderr, "usage: routes PORT COUNT\n");
        return 1;
    }
    snprintf(address, sizeof address, "127.0.0.1:%s", argv[1]);
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = address, .workers = 1, .limits.idle_timeout_ms = RV_NO_LIMIT});
    if (server == NULL)
        return 1;
    rv_error error = add(rv_default_app(server), strtoul(argv[2], NULL, 10));
    if (error == 0)
        error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
