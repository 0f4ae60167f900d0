/*
 * `rivulet serve`: options to a server, and what it says while it runs.
 */
#include "cli/cli.h"
#include "cli/demo.h"
#include "cli/serve_log.h"
#include "cli/serve_reload.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define NAME "rivulet serve"
#define LISTEN_DEFAULT "127.0.0.1:8080"
#define LISTEN_MAX 32
#define CERT_MAX 32

struct settings {
    bool demo;
    const char *directory; /* that is served; NULL: the demo is */
    bool no_listing;
    bool hidden;
    bool follow_links;
    const char *listen[LISTEN_MAX];
    size_t listen_count;
    const char *tls_listen[LISTEN_MAX];
    size_t tls_listen_count;
    const char *tls_cert[CERT_MAX]; /* each with the key at the same place */
    const char *tls_key[CERT_MAX];
    size_t tls_cert_count;
    size_t tls_key_count;
    bool tls_self_signed;
    bool redirect_to_tls;
    bool no_http2;
    bool compress;
    char hsts[160]; /* the value of Strict-Transport-Security; "": none */
    unsigned workers;
    unsigned backlog;
    unsigned pool;
    unsigned stop_port;
};

static void print_help(void)
{
    puts("usage: rivulet serve [OPTION]... [DIR]\n"
         "       rivulet serve --demo [OPTION]...\n"
         "\n"
         "Serves a folder, by default the one it is started in, or the demo application, until "
         "SIGTERM\n"
         "or SIGINT; a second signal ends at once.\n"
         "\n"
         "  --no-listing    a folder without index.html is 404, not a page that lists it\n"
         "  --hidden        serve and list names that begin with a dot, too\n"
         "  --follow-links  follow symbolic links that lead out of DIR\n"
         "  --demo          the demo application: / links its pages\n"
         "  --listen ADDR   where to listen; may be repeated; default 127.0.0.1:8080\n"
         "                  127.0.0.1:8080  [::1]:8080  :8080 (every address)  unix:/path\n"
         "                  unix:@abstract  fd:3  inherited (all that LISTEN_FDS passes on)\n"
         "  --tls-listen ADDR   where to speak TLS; may be repeated; without --listen nothing else "
         "is\n"
         "                  listened on\n"
         "  --tls-cert FILE     a certificate with its chain, PEM; may be repeated: the name that "
         "a\n"
         "                  client asks for decides, else it gets the first\n"
         "  --tls-key FILE      the key of the certificate, PEM; one for each --tls-cert\n"
         "  --tls-self-signed   a certificate made in memory, for development\n"
         "  --redirect-to-tls   what --listen listens on only sends clients on to https\n"
         "  --hsts SECONDS      tell browsers to come over TLS only, for so long; or the whole\n"
         "                      value: \"max-age=31536000; includeSubDomains\"\n"
         "  --compress      compress text, scripts, JSON and their like for clients that accept "
         "gzip,\n"
         "                  br or zstd; files that have a .gz, .br or .zst beside them always are\n"
         "  --no-http2      speak HTTP/1 only, with TLS and in the clear\n"
         "  --workers N     worker threads; default: one for each CPU\n"
         "  --backlog N     length of the accept queues; default 4096, at most net.core.somaxconn\n"
         "  --pool N        threads for blocking handlers; default 8\n"
         "  --stop-port N   let `rivulet stop --port N` end it; on 127.0.0.1; default: no such "
         "port\n"
         "  --help          this text");
}

static const char *scheme_of(const rv_server *server, size_t index, const char *address)
{
    if (strncmp(address, "unix:", 5) == 0)
        return "";
    return rv_server_address_is_tls(server, index) ? "https://" : "http://";
}

static void on_start(rv_server *server, void *ctx)
{
    const char *address;
    (void)ctx;
    for (size_t i = 0; (address = rv_server_address(server, i)) != NULL; i++)
        printf("listening on %s%s\n", scheme_of(server, i, address), address);
    printf("%u workers, %u pool threads, backlog %u\n", rv_server_workers(server),
           rv_server_pool_threads(server), rv_server_backlog(server));
    fflush(stdout);
}

/* The command, unlike the library, may raise the soft limit to what the user is allowed. */
static void raise_descriptor_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* What is wrong here makes the start fail. */
static void listen_tls(rv_server *server, const struct settings *settings)
{
    for (size_t i = 0; i < settings->tls_listen_count; i++)
        rv_listen_tls(server, settings->tls_listen[i]);
    for (size_t i = 0; i < settings->tls_cert_count; i++)
        rv_tls_certificate(server, settings->tls_cert[i], settings->tls_key[i], NULL);
    if (settings->tls_self_signed)
        rv_tls_self_signed(server, NULL);
    if (settings->redirect_to_tls || *settings->hsts != '\0')
        rv_tls_set(server, &(rv_tls_options){
                               .redirect = settings->redirect_to_tls,
                               .hsts = *settings->hsts == '\0' ? NULL : settings->hsts,
                           });
}

/* What is wrong here makes the start fail, too. */
static void serve_directory(rv_server *server, const struct settings *settings)
{
    rv_files(rv_default_app(server), "/", settings->directory,
             &(rv_files_options){.listing = !settings->no_listing,
                                 .hidden = settings->hidden,
                                 .links_out = settings->follow_links});
}

static int run(const struct settings *settings)
{
    rv_server *server = rv_server_new(&(rv_server_options){
        .workers = settings->workers,
        .backlog = settings->backlog,
        .pool_threads = settings->pool,
        .stop_port = settings->stop_port,
        .no_http2 = settings->no_http2,
        .hooks = {.on_start = on_start,
                  .on_log = rv_serve_on_log,
                  .on_error = rv_serve_on_error,
                  .on_bad_input = rv_serve_on_bad_input},
    });
    if (server == NULL) {
        fprintf(stderr, NAME ": out of memory\n");
        return RV_EXIT_NO_START;
    }
    for (size_t i = 0; i < settings->listen_count; i++)
        rv_listen(server, settings->listen[i]);
    if (settings->listen_count == 0 && settings->tls_listen_count == 0)
        rv_listen(server, LISTEN_DEFAULT);
    listen_tls(server, settings);
    if (settings->compress)
        rv_app_set(rv_default_app(server),
                   &(rv_app_options){.compress = &(rv_compress_options){0}});
    if (settings->demo && !rv_demo_add_routes(rv_default_app(server))) {
        fprintf(stderr, NAME ": cannot make the demo's file: %s\n", strerror(errno));
        rv_server_free(server);
        return RV_EXIT_NO_START;
    }
    if (!settings->demo)
        serve_directory(server, settings);
    bool reloads = settings->tls_cert_count > 0 && rv_serve_reload_start(server);
    rv_error error = rv_server_run(server);
    if (reloads)
        rv_serve_reload_stop();
    if (error != 0)
        fprintf(stderr, NAME ": %s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? RV_EXIT_OK : RV_EXIT_NO_START;
}

static int number_error(const char *option, const char *text, unsigned long min, unsigned long max)
{
    return rv_cli_usage_error(NAME, "--%s must be a whole number from %lu to %lu, not \"%s\"",
                              option, min, max, text);
}

/* Adds a value to an option that may be given several times. */
static bool add_value(const char **values, size_t *count, size_t max)
{
    if (*count == max)
        return false;
    values[(*count)++] = optarg;
    return true;
}

static int too_many(const char *option)
{
    return rv_cli_usage_error(NAME, "--%s may be given 32 times at most", option);
}

/* A number of seconds, or the value as it is. */
static bool set_hsts(struct settings *settings, const char *text)
{
    bool is_number = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    int length =
        snprintf(settings->hsts, sizeof settings->hsts, "%s%s", is_number ? "max-age=" : "", text);
    return length > 0 && (size_t)length < sizeof settings->hsts &&
           strstr(settings->hsts, "max-age=") != NULL;
}

/* What belongs together is there, or why not; 0: it is. */
static int check(const struct settings *settings)
{
    bool certified = settings->tls_cert_count > 0 || settings->tls_self_signed;
    bool of_folder = settings->no_listing || settings->hidden || settings->follow_links;
    if (settings->demo && settings->directory != NULL)
        return rv_cli_usage_error(NAME, "either --demo or the folder \"%s\", not both",
                                  settings->directory);
    if (settings->demo && of_folder)
        return rv_cli_usage_error(NAME, "--no-listing, --hidden and --follow-links are for a "
                                        "folder, not for --demo");
    if (settings->tls_cert_count != settings->tls_key_count)
        return rv_cli_usage_error(NAME,
                                  "each --tls-cert needs its --tls-key, and there are %zu and "
                                  "%zu of them",
                                  settings->tls_cert_count, settings->tls_key_count);
    if (settings->tls_listen_count > 0 && !certified)
        return rv_cli_usage_error(
            NAME, "--tls-listen needs --tls-cert and --tls-key, or --tls-self-signed");
    if (settings->tls_listen_count == 0 && certified)
        return rv_cli_usage_error(NAME, "a certificate serves nobody without --tls-listen");
    if (settings->redirect_to_tls &&
        (settings->listen_count == 0 || settings->tls_listen_count == 0))
        return rv_cli_usage_error(NAME, "--redirect-to-tls needs --listen, where clients come, and "
                                        "--tls-listen, where they are sent");
    if (*settings->hsts != '\0' && settings->tls_listen_count == 0)
        return rv_cli_usage_error(NAME, "--hsts needs --tls-listen: it is only said over TLS");
    return 0;
}

int rv_cli_serve(int argc, char **argv)
{
    enum {
        DEMO = 256,
        NO_LISTING,
        HIDDEN,
        FOLLOW_LINKS,
        LISTEN,
        TLS_LISTEN,
        TLS_CERT,
        TLS_KEY,
        TLS_SELF_SIGNED,
        REDIRECT_TO_TLS,
        HSTS,
        COMPRESS,
        NO_HTTP2,
        WORKERS,
        BACKLOG,
        POOL,
        STOP_PORT,
        HELP
    };
    static const struct option options[] = {{"demo", no_argument, NULL, DEMO},
                                            {"no-listing", no_argument, NULL, NO_LISTING},
                                            {"hidden", no_argument, NULL, HIDDEN},
                                            {"follow-links", no_argument, NULL, FOLLOW_LINKS},
                                            {"listen", required_argument, NULL, LISTEN},
                                            {"tls-listen", required_argument, NULL, TLS_LISTEN},
                                            {"tls-cert", required_argument, NULL, TLS_CERT},
                                            {"tls-key", required_argument, NULL, TLS_KEY},
                                            {"tls-self-signed", no_argument, NULL, TLS_SELF_SIGNED},
                                            {"redirect-to-tls", no_argument, NULL, REDIRECT_TO_TLS},
                                            {"hsts", required_argument, NULL, HSTS},
                                            {"compress", no_argument, NULL, COMPRESS},
                                            {"no-http2", no_argument, NULL, NO_HTTP2},
                                            {"workers", required_argument, NULL, WORKERS},
                                            {"backlog", required_argument, NULL, BACKLOG},
                                            {"pool", required_argument, NULL, POOL},
                                            {"stop-port", required_argument, NULL, STOP_PORT},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    struct settings settings = {0};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case DEMO:
            settings.demo = true;
            break;
        case NO_LISTING:
            settings.no_listing = true;
            break;
        case HIDDEN:
            settings.hidden = true;
            break;
        case FOLLOW_LINKS:
            settings.follow_links = true;
            break;
        case LISTEN:
            if (!add_value(settings.listen, &settings.listen_count, LISTEN_MAX))
                return too_many("listen");
            break;
        case TLS_LISTEN:
            if (!add_value(settings.tls_listen, &settings.tls_listen_count, LISTEN_MAX))
                return too_many("tls-listen");
            break;
        case TLS_CERT:
            if (!add_value(settings.tls_cert, &settings.tls_cert_count, CERT_MAX))
                return too_many("tls-cert");
            break;
        case TLS_KEY:
            if (!add_value(settings.tls_key, &settings.tls_key_count, CERT_MAX))
                return too_many("tls-key");
            break;
        case TLS_SELF_SIGNED:
            settings.tls_self_signed = true;
            break;
        case REDIRECT_TO_TLS:
            settings.redirect_to_tls = true;
            break;
        case HSTS:
            if (!set_hsts(&settings, optarg))
                return rv_cli_usage_error(NAME,
                                          "--hsts must be a number of seconds, or a value "
                                          "with a max-age, not \"%s\"",
                                          optarg);
            break;
        case COMPRESS:
            settings.compress = true;
            break;
        case NO_HTTP2:
            settings.no_http2 = true;
            break;
        case WORKERS:
            if (!rv_cli_number(optarg, 1, 255, &settings.workers))
                return number_error("workers", optarg, 1, 255);
            break;
        case BACKLOG:
            if (!rv_cli_number(optarg, 1, 65535, &settings.backlog))
                return number_error("backlog", optarg, 1, 65535);
            break;
        case POOL:
            if (!rv_cli_number(optarg, 1, 1024, &settings.pool))
                return number_error("pool", optarg, 1, 1024);
            break;
        case STOP_PORT:
            if (!rv_cli_number(optarg, 1, 65535, &settings.stop_port))
                return number_error("stop-port", optarg, 1, 65535);
            break;
        case HELP:
        case 'h':
            print_help();
            return RV_EXIT_OK;
        case ':':
            return rv_cli_usage_error(NAME, "%s needs a value", argv[optind - 1]);
        default:
            return rv_cli_usage_error(NAME, "there is no option %s", argv[optind - 1]);
        }
    }
    if (optind + 1 < argc)
        return rv_cli_usage_error(NAME, "one folder is served, and \"%s\" is another",
                                  argv[optind + 1]);
    if (optind < argc)
        settings.directory = argv[optind];
    int fault = check(&settings);
    if (fault != 0)
        return fault;
    if (!settings.demo && settings.directory == NULL)
        settings.directory = ".";
    raise_descriptor_limit();
    return run(&settings);
}
