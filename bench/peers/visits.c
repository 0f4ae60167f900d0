/*
 * What sessions cost: rivulet as a library, which counts the visits of those clients that have a session.
 *
 *     visits PORT [--sessions]
 *
 * GET /ok is `Ok`, and one more in the session of whoever has one; none is begun. GET /begin begins one, GET
 * /count tells how many visits it has had, GET /others how many came without. Without --sessions everybody
 * comes without. One worker, on 127.0.0.1, until SIGTERM.
 */
#include <rivulet.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t others; /* of the one worker */

static int visit(rv_talk *talk, void *ctx)
{
    rv_session *session = rv_session_found(talk);
    rv_error error = 0;
    (void)ctx;
    if (session == NULL)
        others++;
    else
        error = rv_session_add_int(session, "visits", 1, NULL);
    return error != 0 ? error : rv_text(talk, 200, "Ok");
}

static int begin(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, "begun");
}

static int reply_number(rv_talk *talk, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    return rv_text(talk, 200, text);
}

static int count(rv_talk *talk, void *ctx)
{
    int64_t visits = 0;
    (void)ctx;
    if (rv_session_found(talk) == NULL)
        return rv_problem(talk, 404, "There is no session.");
    rv_session_get_int(rv_session_found(talk), "visits", &visits);
    return reply_number(talk, visits);
}

static int count_others(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return reply_number(talk, (int64_t)others);
}

int main(int argc, char **argv)
{
    char address[64];
    if (argc < 2) {
        fprintf(stderr, "usage: visits PORT [--sessions]\n");
        return 1;
    }
    snprintf(address, sizeof address, "127.0.0.1:%s", argv[1]);
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = address, .workers = 1, .limits.idle_timeout_ms = RV_NO_LIMIT});
    if (server == NULL)
        return 1;
    rv_app *app = rv_default_app(server);
    if (argc > 2 && strcmp(argv[2], "--sessions") == 0)
        rv_sessions(app, NULL);
    rv_route(app, "GET /ok", visit, NULL);
    rv_route(app, "GET /begin", begin, NULL);
    rv_route(app, "GET /count", count, NULL);
    rv_route(app, "GET /others", count_others, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
