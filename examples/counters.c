/*
 * Limits that are tighter than the defaults, hooks that tell what happens, and the counters.
 *
 *     examples/counters [ADDRESS]  then: curl http://127.0.0.1:8080/counters/requests
 */
#include <inttypes.h>
#include <rivulet.h>
#include <stdio.h>

static void on_log(rv_server *server, const char *line, void *ctx)
{
    (void)server;
    fprintf(ctx, "%s\n", line);
}

static void on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                     const char *detail, void *ctx)
{
    (void)server;
    fprintf(ctx, "%s: %s %s %s\n", peer, rv_strerror(error), doing, detail);
}

static int counter(rv_talk *talk, void *ctx)
{
    char text[32];
    rv_counter_values now;
    rv_bytes name = rv_param(talk, "name");
    (void)ctx;
    rv_counters(rv_server_of(talk), &now);
#define ANSWER_IF_IT_IS(field)                                                                     \
    if (rv_equals(name, #field)) {                                                                 \
        snprintf(text, sizeof text, "%" PRIu64 "\n", now.field);                                   \
        return rv_text(talk, 200, text);                                                           \
    }
    RV_COUNTERS(ANSWER_IF_IT_IS)
    return rv_problem(talk, 404, "There is no counter of that name.");
}

int main(int argc, char **argv)
{
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = argc > 1 ? argv[1] : "127.0.0.1:8080",
        .limits = {.body_bytes_max = 64 * 1024, .head_timeout_ms = 3000, .idle_timeout_ms = 5000},
        .hooks = {.on_error = on_error, .on_log = on_log, .ctx = stderr},
    });
    if (server == NULL)
        return 1;
    rv_route(rv_default_app(server), "GET /counters/{name}", counter, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
