/*
 * What compression costs: rivulet as a library, with a handler that answers with a page of HTML.
 *
 *     page PORT FILE
 *
 * GET /page.html is what FILE holds, read once and copied into each answer, with gzip at level 1 for those
 * who accept it; GET /ok is `Ok`. One worker, on 127.0.0.1, until SIGTERM.
 */
#include <rivulet.h>

#include <stdio.h>
#include <stdlib.h>

#define PAGE_BYTES_MAX 100000

static char page[PAGE_BYTES_MAX];
static size_t page_length;

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "Ok");
}

static int answer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/html", (rv_bytes){page, page_length});
}

static bool read_page(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    page_length = fread(page, 1, sizeof page, file);
    fclose(file);
    return page_length > 0;
}

int main(int argc, char **argv)
{
    char address[64];
    if (argc < 3 || !read_page(argv[2])) {
        fprintf(stderr, "usage: page PORT FILE\n");
        return 1;
    }
    snprintf(address, sizeof address, "127.0.0.1:%s", argv[1]);
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = address, .workers = 1, .limits.idle_timeout_ms = RV_NO_LIMIT});
    if (server == NULL)
        return 1;
    rv_app *app = rv_default_app(server);
    rv_app_set(app, &(rv_app_options){.compress = &(rv_compress_options){.gzip_level = 1}});
    rv_route(app, "GET /ok", ok, NULL);
    rv_route(app, "GET /page.html", answer, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
