/*
 * A folder to browse: files, listings, and a command that stops the server.
 *
 *     examples/home [ADDRESS [FOLDER]]     then: http://127.0.0.1:8080/
 *     curl -X POST http://127.0.0.1:8080/-/stop
 */
#include <rivulet.h>
#include <stdio.h>

static int stop(rv_talk *talk, void *ctx)
{
    rv_server_stop(ctx); /* this talk is still answered */
    return rv_text(talk, 200, "stopping\n");
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    const char *folder = argc > 2 ? argv[2] : ".";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_app *app = rv_default_app(server);
    rv_files(app, "/", folder, &(rv_files_options){.listing = true});
    rv_route(app, "POST /-/stop", stop, server);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
