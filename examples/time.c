/*
 * A page that is made for each request, beside files that are part of the program.
 *
 *     examples/time [ADDRESS]     then: http://127.0.0.1:8080/
 *
 * In CMakeLists.txt: rivulet_embed(example_time examples/time)
 */
#include "time_assets.h"

#include <stdio.h>
#include <time.h>

static int page(rv_talk *talk, void *ctx)
{
    char text[256], now[64];
    time_t seconds = time(NULL);
    struct tm parts;
    (void)ctx;
    gmtime_r(&seconds, &parts);
    strftime(now, sizeof now, "%H:%M:%S", &parts);
    snprintf(text, sizeof text,
             "<!DOCTYPE html>\n<title>time</title>\n"
             "<link rel=\"stylesheet\" href=\"/files/time.css\">\n<h1>%s UTC</h1>\n",
             now);
    rv_set_header(talk, "Cache-Control", "no-store");
    return rv_html(talk, 200, text);
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_app *app = rv_default_app(server);
    rv_route(app, "GET /", page, NULL);
    rv_assets(app, "/files", time_assets, time_assets_count);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
