/*
 * The options of `rivulet bench` (bench_table.h), and the help that they make.
 */
#include "cli/bench_table.h"

#include <stdio.h>
#include <string.h>

#define YEAR_US (UINT64_C(365) * 24 * 3600 * 1000000)
#define HELP_COLUMN 34

#define AT(member) offsetof(struct rv_bench_options, member)

const struct rv_bench_row rv_bench_rows[RV_BENCH_OPTION_COUNT] = {
    [RV_BENCH_CLIENTS_OPTION] = {"-c", "clients", "N",
                                 "clients, each with a connection; default 50", "how much",
                                 RV_TAKES_COUNT, AT(clients), 1, RV_LOAD_CLIENTS_MAX},
    [RV_BENCH_REQUESTS] = {"-n", "requests", "N", "requests, of all clients together", NULL,
                           RV_TAKES_COUNT, AT(requests), 1, INT64_MAX},
    [RV_BENCH_QUOTA] = {"--quota", "quota", "N",
                        "requests of each client: the run ends when every\n"
                        "client has had its own",
                        NULL, RV_TAKES_COUNT, AT(quota), 1, INT64_MAX},
    [RV_BENCH_TIME] = {"-t", "time", "TIME",
                       "how long: 10s, 500ms, 5m; default 10s when neither\n"
                       "-n nor --quota is given. The first limit ends the run",
                       NULL, RV_TAKES_DURATION, AT(duration_us), 1, YEAR_US},
    [RV_BENCH_THINK] = {"--think", "think", "TIME",
                        "between an answer and the next request of a client", NULL,
                        RV_TAKES_DURATION, AT(think_us), 0, YEAR_US},
    [RV_BENCH_PIPELINE] = {"--pipeline", "pipeline", "N",
                           "requests in flight on each connection; default 1", NULL, RV_TAKES_COUNT,
                           AT(pipeline), 1, RV_LOAD_PIPELINE_MAX},
    [RV_BENCH_HTTP2] = {"--http2", "http2", NULL,
                        "HTTP/2: by ALPN on https, without asking on http", NULL, RV_TAKES_NOTHING,
                        AT(http2), 0, 0},
    [RV_BENCH_STREAMS] = {"--streams", "streams", "N",
                          "HTTP/2: requests at once on each connection; default 1", NULL,
                          RV_TAKES_COUNT, AT(streams), 1, RV_LOAD_STREAMS_MAX},
    [RV_BENCH_RATE] = {"-R", "rate", "RATE",
                       "a schedule in place of waiting clients: 20k, 600/m.\n"
                       "Latency then counts from when a request was due",
                       "by a schedule", RV_TAKES_RATE, AT(rate_per_s), 0, 0},
    [RV_BENCH_ARRIVALS] = {"--arrivals", "arrivals", "HOW", "even (default) or poisson", NULL,
                           RV_TAKES_ARRIVALS, AT(arrivals), 0, 0},
    [RV_BENCH_SEED] = {"--seed", "seed", "N", "of the Poisson arrivals; default 1", NULL,
                       RV_TAKES_COUNT, AT(seed), 0, UINT64_MAX},
    [RV_BENCH_MAX_CLIENTS] = {"--max-clients", "max-clients", "N",
                              "connections at most; default 1000", NULL, RV_TAKES_COUNT,
                              AT(max_clients), 1, RV_LOAD_CLIENTS_MAX},
    [RV_BENCH_NO_KEEPALIVE] = {"--no-keepalive", "no-keepalive", NULL,
                               "a new connection for each request", "connections", RV_TAKES_NOTHING,
                               AT(no_keepalive), 0, 0},
    [RV_BENCH_REQUESTS_PER_CONNECTION] = {"--requests-per-connection", "requests-per-connection",
                                          "N", "then the client opens another one", NULL,
                                          RV_TAKES_COUNT, AT(requests_per_connection), 1,
                                          INT64_MAX},
    [RV_BENCH_CONNECT_RATE] = {"--connect-rate", "connect-rate", "RATE",
                               "how many are opened; default: all at once", NULL, RV_TAKES_RATE,
                               AT(connect_rate_per_s), 0, 0},
    [RV_BENCH_TIMEOUT] = {"--timeout", "timeout", "TIME",
                          "of a request, from when it was due; default 30s; 0: none", NULL,
                          RV_TAKES_DURATION, AT(timeout_us), 0, YEAR_US},
    [RV_BENCH_CONNECT_TIMEOUT] = {"--connect-timeout", "connect-timeout", "TIME",
                                  "of opening a connection; default: as --timeout", NULL,
                                  RV_TAKES_DURATION, AT(connect_timeout_us), 1, YEAR_US},
    [RV_BENCH_METHOD] = {"-X", "method", "METHOD", "default GET; POST with -d or --json",
                         "requests", RV_TAKES_TEXT, AT(method), 0, 0},
    [RV_BENCH_HEAD] = {"-I", "head", NULL, "HEAD requests", NULL, RV_TAKES_NOTHING, AT(head), 0, 0},
    [RV_BENCH_FIELD] = {"-H", "header", "FIELD",
                        "\"Name: value\"; may be repeated. \"Name;\" sends it empty,\n"
                        "\"Name:\" leaves out one of ours",
                        NULL, RV_TAKES_TEXTS, AT(fields), 0, 0},
    [RV_BENCH_CLIENT_FIELDS] = {"--client-headers", "client-headers", "FILE",
                                "a field for each client, one in a line, in turn; an empty\n"
                                "line: none; -: stdin",
                                NULL, RV_TAKES_TEXT, AT(client_fields), 0, 0},
    [RV_BENCH_DATA] = {"-d", "data", "DATA",
                       "a body, as a form sends it; @FILE: the octets of a file,\n"
                       "@-: of stdin. Several are joined with &",
                       NULL, RV_TAKES_TEXTS, AT(data), 0, 0},
    [RV_BENCH_JSON] = {"--json", "json", "DATA",
                       "the same as application/json; several are joined\n"
                       "as they are",
                       NULL, RV_TAKES_TEXTS, AT(json), 0, 0},
    [RV_BENCH_USER] = {"-u", "user", "USER:PASS", "Basic credentials", NULL, RV_TAKES_TEXT,
                       AT(credentials), 0, 0},
    [RV_BENCH_HTTP_1_0] = {"--http1.0", "http1.0", NULL, "HTTP/1.0, with Connection: keep-alive",
                           NULL, RV_TAKES_NOTHING, AT(http_1_0), 0, 0},
    [RV_BENCH_URLS] = {"--urls", "urls", "FILE",
                       "URLs, one in a line, that each client takes in turn;\n"
                       "-: stdin. Empty lines and those with # are passed over",
                       "where to", RV_TAKES_TEXT, AT(urls_file), 0, 0},
    [RV_BENCH_UNIX_SOCKET] = {"--unix-socket", "unix-socket", "PATH",
                              "connect to it; @NAME is an abstract one", NULL, RV_TAKES_TEXT,
                              AT(unix_path), 0, 0},
    [RV_BENCH_RESOLVE] = {"--resolve", "resolve", "HOST:PORT:ADDR",
                          "the address of a name; several with commas; * is any host", NULL,
                          RV_TAKES_TEXTS, AT(resolve), 0, 0},
    [RV_BENCH_SOURCE] = {"--source", "source", "RANGE",
                         "addresses to connect from, in turn: 127.0.0.5,\n"
                         "127.0.0.0/8, 127.0.0.2-127.0.0.9",
                         NULL, RV_TAKES_TEXT, AT(source), 0, 0},
    [RV_BENCH_PROXY] = {"-x", "proxy", "PROXY",
                        "HOST:PORT or http://USER:PASS@HOST:PORT; default\n"
                        "port 1080",
                        NULL, RV_TAKES_TEXT, AT(proxy), 0, 0},
    [RV_BENCH_INSECURE] = {"-k", "insecure", NULL, "take any certificate of the server",
                           "TLS, for https URLs", RV_TAKES_NOTHING, AT(tls.insecure), 0, 0},
    [RV_BENCH_CACERT] = {"--cacert", "cacert", "FILE",
                         "PEM: who may vouch for the server; default: whom the\n"
                         "system trusts",
                         NULL, RV_TAKES_TEXT, AT(tls.ca_file), 0, 0},
    [RV_BENCH_CERT] = {"--cert", "cert", "FILE", "PEM: a certificate to show, with its chain", NULL,
                       RV_TAKES_TEXT, AT(tls.certificate), 0, 0},
    [RV_BENCH_KEY] = {"--key", "key", "FILE", "PEM: its key; default: in the same file", NULL,
                      RV_TAKES_TEXT, AT(tls.key), 0, 0},
    [RV_BENCH_TLS_VERSION] = {"--tls-version", "tls-version", "VERSION",
                              "1.2 or 1.3; default: the newest of both sides", NULL, RV_TAKES_TLS,
                              AT(tls_version), 0, 0},
    [RV_BENCH_CIPHERS] = {"--ciphers", "ciphers", "LIST",
                          "OpenSSL's names with colons; those of TLS 1.3 are\n"
                          "TLS_AES_256_GCM_SHA384 and its kin",
                          NULL, RV_TAKES_TEXT, AT(tls.ciphers), 0, 0},
    [RV_BENCH_TLS_RESUME] = {"--tls-resume", "tls-resume", NULL,
                             "take sessions up again; default: full handshakes", NULL,
                             RV_TAKES_NOTHING, AT(tls.resume), 0, 0},
    [RV_BENCH_THREADS] = {"--threads", "threads", "N",
                          "that make load; default: one for each CPU that the\n"
                          "server does not own",
                          "this machine", RV_TAKES_COUNT, AT(threads), 1, RV_LOAD_THREADS_MAX},
    [RV_BENCH_CPUS] = {"--cpus", "cpus", "LIST", "that the threads run on: 0,2-3", NULL,
                       RV_TAKES_CPUS, AT(cpus), 0, 0},
    [RV_BENCH_FORMAT] = {"--format", "format", "FORM",
                         "of the report: text (default), json, csv, ab, cherrypy", "the report",
                         RV_TAKES_FORMAT, AT(format), 0, 0},
    [RV_BENCH_OUTPUT] = {"-o", "output", "FILE", "save the result there, too, as JSON", NULL,
                         RV_TAKES_TEXT, AT(output), 0, 0},
    [RV_BENCH_QUIET] = {"-q", "quiet", NULL, "no notes and no progress on stderr", NULL,
                        RV_TAKES_NOTHING, AT(quiet), 0, 0},
    [RV_BENCH_HELP] = {"-h", "help", NULL, "this text", NULL, RV_TAKES_NOTHING, AT(help), 0, 0},
};

const char *rv_bench_option_name(enum rv_bench_option option)
{
    return rv_bench_rows[option].flag;
}

/* ---- help ------------------------------------------------------------------------------------ */

/* A help of several lines stands in its column. */
static void print_row(const struct rv_bench_row *row, FILE *file)
{
    char names[80];
    const char *value = row->value == NULL ? "" : row->value;
    const char *space = row->value == NULL ? "" : " ";
    if (rv_bench_has_letter(row))
        snprintf(names, sizeof names, "  %s, --%s%s%s", row->flag, row->name, space, value);
    else
        snprintf(names, sizeof names, "      --%s%s%s", row->name, space, value);
    if (strlen(names) >= HELP_COLUMN)
        fprintf(file, "%s\n%*s", names, HELP_COLUMN, "");
    else
        fprintf(file, "%-*s", HELP_COLUMN, names);
    for (const char *line = row->help; line != NULL;) {
        int length = (int)strcspn(line, "\n");
        fprintf(file, "%.*s\n", length, line);
        line = line[length] == '\0' ? NULL : line + length + 1;
        if (line != NULL)
            fprintf(file, "%*s", HELP_COLUMN, "");
    }
}

void rv_bench_print_help(FILE *file)
{
    fputs("usage: rivulet bench [OPTION]... URL...\n"
          "\n"
          "Puts load on an HTTP server and says how it went, and why. Without options: 50\n"
          "clients for 10 seconds, each with one connection that it keeps. Several URLs of\n"
          "one server are asked for in turn. The http:// may be left out; https:// is TLS.\n",
          file);
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++) {
        if (rv_bench_rows[i].heading != NULL)
            fprintf(file, "\n%s:\n", rv_bench_rows[i].heading);
        print_row(&rv_bench_rows[i], file);
    }
    fputs("\n"
          "exit status: 0 ok, 1 usage, 2 could not start or nothing was answered, 3 invalid, 70 a\n"
          "law of measurement was violated, 130 interrupted (the report is printed)\n",
          file);
}
