/*
 * wire_target: the handlers of the wire cases behind real sockets.
 *
 *   wire_target FOLDER [--root folder|assets|file] [--listen ADDRESS]... [--tls-listen ADDRESS]...
 *                      [--workers N] [--pool N] [--backlog N] [--grace-ms N] [--LIMIT N]...
 *
 * FOLDER is served at "/", by default with rv_files (wire_root.h). TLS has a certificate of the moment. Each limit of rv_limits is an option,
 * with dashes in its name, such as --head-timeout-ms: tests of time are quick that way. The addresses
 * are printed once it listens.
 */
#include "wire/wire_app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wire_root root = WIRE_FOLDER;

static const char *scheme_of(const rv_server *server, size_t index, const char *address)
{
    if (strncmp(address, "unix:", 5) == 0)
        return "";
    return rv_server_address_is_tls(server, index) ? "https://" : "http://";
}

static void print_addresses(rv_server *server, void *ctx)
{
    (void)ctx;
    const char *address;
    for (size_t i = 0; (address = rv_server_address(server, i)) != NULL; i++)
        printf("listening on %s%s\n", scheme_of(server, i, address), address);
    fflush(stdout);
}

static void print_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                        const char *detail, void *ctx)
{
    (void)server, (void)ctx;
    fprintf(stderr, "error: %s: %s %s %s\n", rv_strerror(error), doing, peer, detail);
}

static void print_bad_input(rv_server *server, int status, const char *doing, const char *peer,
                            const char *detail, void *ctx)
{
    (void)server, (void)ctx;
    fprintf(stderr, "bad input: %d %s, client %s: %s\n", status, doing, peer, detail);
}

static void print_log(rv_server *server, const char *line, void *ctx)
{
    (void)server, (void)ctx;
    fprintf(stderr, "log: %s\n", line);
}

/* True when `option` is `name` with dashes for underscores. */
static bool is_option(const char *option, const char *name)
{
    if (strncmp(option, "--", 2) != 0)
        return false;
    for (option += 2; *name != '\0' && (*option == *name || (*option == '-' && *name == '_'));)
        option++, name++;
    return *option == '\0' && *name == '\0';
}

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    *number = value;
    return true;
}

/* Sets the option that takes a number; false when there is none of that name, or it is no number. */
static bool set_number(rv_server_options *options, const char *option, const char *text)
{
    uint64_t number;
    if (!read_number(text, &number))
        return false;
    if (strcmp(option, "--workers") == 0)
        options->workers = (unsigned)number;
    else if (strcmp(option, "--pool") == 0)
        options->pool_threads = (unsigned)number;
    else if (strcmp(option, "--backlog") == 0)
        options->backlog = (unsigned)number;
    else if (strcmp(option, "--grace-ms") == 0)
        options->stop_grace_ms = number;
#define SET_LIMIT(name, value) else if (is_option(option, #name)) options->limits.name = number;
    RV_LIMITS(SET_LIMIT)
#undef SET_LIMIT
    else return false;
    return true;
}

static bool is_listen(const char *option)
{
    return strcmp(option, "--listen") == 0 || strcmp(option, "--tls-listen") == 0;
}

static bool set_root(const char *option, const char *name)
{
    return strcmp(option, "--root") == 0 && wire_root_read(name, &root);
}

static rv_error listen_where_told(rv_server *server, int argc, char **argv)
{
    rv_error error = RV_OK;
    bool tls = false;
    for (int i = 2; error == RV_OK && i < argc; i += 2) {
        if (strcmp(argv[i], "--listen") == 0)
            error = rv_listen(server, argv[i + 1]);
        else if (strcmp(argv[i], "--tls-listen") == 0)
            error = rv_listen_tls(server, argv[i + 1]);
        tls = tls || strcmp(argv[i], "--tls-listen") == 0;
    }
    return error == RV_OK && tls ? rv_tls_self_signed(server, NULL) : error;
}

static int run(rv_server *server, int argc, char **argv)
{
    rv_error error = wire_app_add_routes(server, root, argv[1]);
    if (error == RV_OK)
        error = listen_where_told(server, argc, argv);
    if (error == RV_OK)
        error = rv_server_run(server);
    if (error)
        fprintf(stderr, "wire_target: %s\n", rv_server_error_text(server));
    return error ? 2 : 0;
}

int main(int argc, char **argv)
{
    rv_server_options options = {.hooks = {.on_start = print_addresses,
                                           .on_error = print_error,
                                           .on_bad_input = print_bad_input,
                                           .on_log = print_log}};
    if (argc < 2 || argc % 2 != 0) {
        fprintf(stderr, "usage: wire_target FOLDER [--OPTION VALUE]...\n");
        return 1;
    }
    for (int i = 2; i < argc; i += 2) {
        if (!is_listen(argv[i]) && !set_root(argv[i], argv[i + 1]) &&
            !set_number(&options, argv[i], argv[i + 1])) {
            fprintf(stderr, "wire_target: %s %s: no such option\n", argv[i], argv[i + 1]);
            return 1;
        }
    }
    rv_server *server = rv_server_new(&options);
    if (server == NULL)
        return 2;
    int status = run(server, argc, argv);
    wire_app_join();
    rv_server_free(server);
    return status;
}
