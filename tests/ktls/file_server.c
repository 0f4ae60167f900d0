/*
 * What tests/ktls/prove asks inside the other kernel: two octets, and a file that is sent with sendfile
 * where the kernel encrypts.
 */
#include <rivulet.h>
#include <stdio.h>

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static int file(rv_talk *talk, void *ctx)
{
    return rv_file(talk, ctx, NULL);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: file_server ADDRESS FILE\n");
        return 1;
    }
    rv_server *server = rv_server_new(NULL);
    rv_error error = server == NULL ? RV_ENOMEM : rv_listen_tls(server, arguments[1]);
    if (error == 0)
        error = rv_tls_self_signed(server, NULL);
    if (error == 0)
        error = rv_route(rv_default_app(server), "GET /ok", ok, NULL);
    if (error == 0)
        error = rv_route(rv_default_app(server), "GET /file", file, arguments[2]);
    if (error == 0)
        error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "file_server: %s\n", rv_strerror(error));
    rv_server_free(server);
    return error != 0;
}
