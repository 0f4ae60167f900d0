/*
 * Sends a request's body back while it arrives: streamed both ways, in bounded memory.
 *
 *     examples/echo [ADDRESS]      then: curl -T FILE http://127.0.0.1:8080/echo
 */
#include <rivulet.h>
#include <stdio.h>

/* The client has read enough: it may send again. */
static int go_on(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_body_resume(talk);
    return error == 0 ? RV_PENDING : error;
}

static int piece(rv_talk *talk, rv_bytes octets, bool last, void *ctx)
{
    (void)ctx;
    int result = rv_write(talk, octets);
    if (result < 0)
        return result;
    if (last)
        return rv_end(talk);
    if (result != RV_FULL)
        return RV_OK;
    rv_error error = rv_on_drain(talk, go_on, NULL);
    return error == 0 ? RV_FULL : error; /* it sends faster than it reads: pause */
}

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Type", "application/octet-stream");
    rv_error error = rv_begin(talk, 200);
    if (error == 0)
        error = rv_on_body(talk, piece, NULL);
    return error == 0 ? RV_PENDING : error;
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_route_with(rv_default_app(server), "* /echo", echo, NULL,
                  &(rv_route_options){.body = RV_BODY_STREAMED});
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
