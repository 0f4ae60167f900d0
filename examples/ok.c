/*
 * The smallest useful server: every request for /ok is answered with "Ok".
 *
 *     examples/ok [ADDRESS]        then: curl http://127.0.0.1:8910/ok
 */
#include <rivulet.h>
#include <stdio.h>

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8910";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_route(rv_default_app(server), "GET /ok", ok, NULL);
    rv_error error = rv_server_run(server); /* until SIGTERM, SIGINT or rv_server_stop() */
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
