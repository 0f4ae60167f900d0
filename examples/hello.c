/*
 * Greets by name: a route with a parameter.
 *
 *     examples/hello [ADDRESS]     then: curl http://127.0.0.1:8080/hello/Ada
 */
#include <rivulet.h>
#include <stdio.h>

static int hello(rv_talk *talk, void *ctx)
{
    char text[128];
    rv_bytes name = rv_param(talk, "name");
    (void)ctx;
    snprintf(text, sizeof text, "Hello, %.*s!\n", name.len < 64 ? (int)name.len : 64, name.ptr);
    return rv_text(talk, 200, text);
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_route(rv_default_app(server), "GET /hello/{name}", hello, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
