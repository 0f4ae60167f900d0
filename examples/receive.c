/*
 * Takes forms with files of any size: they go to a directory while they arrive; /progress tells how far.
 *     examples/receive [ADDRESS [DIRECTORY]]   then: curl -F file=@FILE http://127.0.0.1:8080/receive
 */
#include <inttypes.h>
#include <rivulet.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic uint64_t arrived; /* octets of the form that is under way */

static void note(rv_talk *talk, uint64_t octets, void *ctx)
{
    (void)talk, (void)ctx;
    arrived = octets;
}

static int progress(rv_talk *talk, void *ctx)
{
    char text[40];
    (void)ctx;
    snprintf(text, sizeof text, "%" PRIu64 " octets\n", arrived);
    return rv_text(talk, 200, text);
}

static int done(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx)
{
    char text[200];
    (void)ctx;
    rv_set_header(talk, "Content-Type", "text/plain; charset=UTF-8");
    rv_begin(talk, 200);
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(text, sizeof text, "%.60s %" PRIu64 " octets\n",
                              parts[i].file ? parts[i].file : "no file:", parts[i].bytes);
        rv_write(talk, (rv_bytes){text, (size_t)length});
    }
    return rv_end(talk);
}

static int receive(rv_talk *talk, void *ctx)
{
    return rv_upload(talk, &(rv_upload_options){.directory = ctx, .progress = note, .done = done},
                     NULL);
}

int main(int argc, char **argv)
{
    rv_server *server =
        rv_server_new(&(rv_server_options){.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
    rv_app *app = rv_default_app(server);
    rv_route_with(app, "POST /receive", receive, argc > 2 ? argv[2] : ".",
                  &(rv_route_options){.body = RV_BODY_STREAMED, .body_bytes_max = 1ull << 40});
    rv_route(app, "GET /progress", progress, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
