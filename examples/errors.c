/*
 * Errors: an app that answers them in a style of its own, and a log of what failed.
 *
 *     examples/errors [ADDRESS]    then: curl http://127.0.0.1:8080/api/users/0
 */
#include <rivulet.h>
#include <stdio.h>

/* Whoever the error comes from: a handler, or the library. */
static int as_json(rv_talk *talk, int status, const char *detail, void *ctx)
{
    char text[200];
    (void)ctx;
    snprintf(text, sizeof text, "{\"status\":%d,\"detail\":\"%s\"}\n", status,
             detail == NULL ? "" : detail);
    return rv_json(talk, status, text);
}

static int need_token(rv_talk *talk, void *ctx)
{
    if (rv_equals(rv_param(talk, "token"), ctx))
        return RV_OK; /* unanswered: on to the handler */
    return rv_problem(talk, 401, "A token is needed.");
}

static int show(rv_talk *talk, void *ctx)
{
    int64_t id;
    (void)ctx;
    if (rv_param_int(talk, "id", 1, 1000, &id) != 0)
        return rv_problem(talk, 404, "There is no such user.");
    return id == 13 ? RV_EIO : rv_json(talk, 200, "{\"name\":\"Ada\"}\n"); /* EIO: a 500 */
}

static void on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                     const char *detail, void *ctx)
{
    (void)server, (void)ctx;
    fprintf(stderr, "%s %s, client %s %s\n", rv_strerror(error), doing, peer, detail);
}

int main(int argc, char **argv)
{
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = argc > 1 ? argv[1] : "127.0.0.1:8080", .hooks.on_error = on_error});
    rv_app *api =
        server == NULL
            ? NULL
            : rv_app_new(server, &(rv_app_options){.mount = "/api", .on_problem = as_json});
    if (api == NULL)
        return 1;
    rv_route(api, "GET /users/{id:int}", show, NULL);
    rv_route(api, "GET /secret/{id:int}", show, NULL);
    rv_before(api, "/secret", need_token, "sesame");
    rv_error error = rv_server_run(server);
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
