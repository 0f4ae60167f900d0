/*
 * Counts how often each visitor came: a session, found again by a cookie.
 *
 *     examples/session [ADDRESS]      then: curl -c jar -b jar http://127.0.0.1:8080/ (more than once)
 */
#include <rivulet.h>
#include <stdio.h>

static int count(rv_talk *talk, void *ctx)
{
    rv_session *session;
    int64_t visits;
    char text[64];
    (void)ctx;
    rv_error error = rv_session_of(talk, &session); /* begun at the first visit */
    if (error == 0)
        error = rv_session_add_int(session, "visits", 1, &visits);
    if (error != 0)
        return error;
    snprintf(text, sizeof text, "visit %d\n", (int)visits);
    return rv_text(talk, 200, text);
}

static int forget(rv_talk *talk, void *ctx)
{
    (void)ctx;
    if (rv_session_found(talk) != NULL)
        rv_session_end(talk);
    return rv_text(talk, 200, "who are you?\n");
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_app *app = rv_default_app(server);
    rv_sessions(app, &(rv_session_options){.timeout_ms = 60 * 60 * 1000});
    rv_route(app, "GET /", count, NULL);
    rv_route(app, "GET /forget", forget, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
