/*
 * The application (application.h): who has which pages, and the command line.
 *
 *     browser_application FOLDER UPLOADS ADDRESS [TLS-ADDRESS]
 *
 * FOLDER can be browsed, UPLOADS is where uploads go. TLS has a certificate of the moment. The addresses are
 * printed once it listens.
 */
#include "application.h"

#include "site_assets.h"

#include <stdio.h>

static void print_addresses(rv_server *server, void *ctx)
{
    const char *address;
    (void)ctx;
    for (size_t i = 0; (address = rv_server_address(server, i)) != NULL; i++)
        printf("listening on %s://%s\n", rv_server_address_is_tls(server, i) ? "https" : "http",
               address);
    fflush(stdout);
}

static void print_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                        const char *detail, void *ctx)
{
    (void)server, (void)ctx;
    fprintf(stderr, "%s: %s %s %s\n", peer, rv_strerror(error), doing, detail);
}

static rv_error add_pages(rv_app *app, rv_session_tracking track, char **folders)
{
    rv_error error = rv_sessions(app, &(rv_session_options){.track = track});
    if (error == 0)
        error = visitors_add(app);
    if (error == 0)
        error = upload_add(app, folders[1]);
    if (error == 0)
        error = chat_add(app);
    return error == 0 ? rv_files(app, "/files", folders[0], &(rv_files_options){.listing = true})
                      : error;
}

static rv_error run(rv_server *server, char **folders, const char *tls_address)
{
    rv_app *app = rv_default_app(server);
    rv_app *linked = rv_app_new(server, &(rv_app_options){.mount = "/linked"});
    rv_error error = linked == NULL ? RV_ENOMEM : add_pages(app, RV_SESSION_BY_COOKIE, folders);
    if (error == 0)
        error = add_pages(linked, RV_SESSION_BY_URI, folders);
    if (error == 0)
        error = rv_assets(app, "/site", site_assets, site_assets_count);
    if (error == 0 && tls_address != NULL)
        error = rv_listen_tls(server, tls_address);
    if (error == 0 && tls_address != NULL)
        error = rv_tls_self_signed(server, NULL);
    return error == 0 ? rv_server_run(server) : error;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: browser_application FOLDER UPLOADS ADDRESS [TLS-ADDRESS]\n");
        return 1;
    }
    rv_server *server = rv_server_new(&(rv_server_options){
        .listen = argv[3],
        .workers = 2,
        .hooks = {.on_start = print_addresses, .on_error = print_error},
    });
    if (server == NULL)
        return 2;
    rv_error error = run(server, argv + 1, argv[4]);
    if (error != 0)
        fprintf(stderr, "browser_application: %s\n", rv_server_error_text(server));
    rv_server_free(server);
    chat_forget();
    return error == 0 ? 0 : 2;
}
