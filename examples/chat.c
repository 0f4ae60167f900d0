/*
 * A chat: talks that are suspended and resumed for as long as somebody listens.
 *
 *     examples/chat [ADDRESS]    then: curl -N http://127.0.0.1:8080/listen    (or /next: one line)
 *                                      curl -d hello http://127.0.0.1:8080/say
 */
#include <rivulet.h>
#include <stdlib.h>
#include <string.h>

static rv_handle listeners[1000]; /* there is one worker: nobody else touches them */
static size_t count;

static int hear(rv_talk *talk, void *line) /* the talk is NULL when the client has left */
{
    int result = rv_write(talk, rv_str(line)); /* a piece of what /listen has begun */
    if (result == RV_ESTATE)
        rv_text(talk, 200, line); /* or the answer to /next, which has begun nothing */
    free(line);
    return result == RV_OK ? RV_PENDING : RV_OK; /* ended, also for who is too slow (RV_FULL) */
}

static int join(rv_talk *talk, void *ctx)
{
    if (count == sizeof listeners / sizeof *listeners)
        return rv_problem(talk, 503, "The room is full.");
    if (ctx != NULL && rv_begin(talk, 200) == 0)
        rv_write(talk, rv_str(ctx));
    listeners[count++] = rv_suspend(talk);
    return RV_PENDING;
}

static int say(rv_talk *talk, void *ctx)
{
    size_t stay = 0;
    for (size_t i = 0; i < count; i++) {
        char *line = strndup(rv_body(talk).ptr, rv_body(talk).len);
        if (line != NULL && rv_resume(ctx, listeners[i], hear, line) == RV_OK)
            listeners[stay++] = listeners[i];
        else
            free(line); /* it has left, or was answered */
    }
    count = stay;
    return rv_text(talk, 200, "said\n");
}

int main(int argc, char **argv)
{
    rv_server *server = rv_server_new(
        &(rv_server_options){.listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .workers = 1});
    if (server == NULL)
        return 1;
    rv_route(rv_default_app(server), "GET /listen", join, "welcome\n");
    rv_route(rv_default_app(server), "GET /next", join, NULL);
    rv_route(rv_default_app(server), "POST /say", say, server);
    int status = rv_server_run(server) == 0 ? 0 : 1;
    rv_server_free(server);
    return status;
}
