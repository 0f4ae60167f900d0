/*
 * The options of `rivulet bench` (bench_options.h). One row of a table says all about an option: its
 * names, what it takes and where that goes, and what the help says; getopt's tables and the help are
 * made from it.
 */
#include "cli/bench_options.h"

#include "cli/units.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define FIRST_VALUE 256 /* what getopt returns for the first row */
#define YEAR_US (UINT64_C(365) * 24 * 3600 * 1000000)
#define HELP_COLUMN 34

enum kind { FLAG, COUNT, DURATION, RATE, TEXT, TEXTS, ARRIVALS, FORMAT, CPUS };

struct row {
    const char *flag;  /* as it is shown: "-c", "--quota" */
    const char *name;  /* the long one */
    const char *value; /* what it takes, for the help; NULL: nothing */
    const char *help;
    const char *heading; /* that the help puts before it; NULL: none */
    enum kind kind;
    size_t at;         /* of its place in the struct */
    uint64_t min, max; /* of COUNT and DURATION (microseconds) */
};

#define AT(member) offsetof(struct rv_bench_options, member)

static const struct row rows[RV_BENCH_OPTION_COUNT] = {
    [RV_BENCH_CLIENTS_OPTION] = {"-c", "clients", "N",
                                 "clients, each with a connection; default 50", "how much", COUNT,
                                 AT(clients), 1, RV_LOAD_CLIENTS_MAX},
    [RV_BENCH_REQUESTS] = {"-n", "requests", "N", "requests, of all clients together", NULL, COUNT,
                           AT(requests), 1, INT64_MAX},
    [RV_BENCH_QUOTA] = {"--quota", "quota", "N",
                        "requests of each client: the run ends when every\n"
                        "client has had its own",
                        NULL, COUNT, AT(quota), 1, INT64_MAX},
    [RV_BENCH_TIME] = {"-t", "time", "TIME",
                       "how long: 10s, 500ms, 5m; default 10s when neither\n"
                       "-n nor --quota is given. The first limit ends the run",
                       NULL, DURATION, AT(duration_us), 1, YEAR_US},
    [RV_BENCH_THINK] = {"--think", "think", "TIME",
                        "between an answer and the next request of a client", NULL, DURATION,
                        AT(think_us), 0, YEAR_US},
    [RV_BENCH_PIPELINE] = {"--pipeline", "pipeline", "N",
                           "requests in flight on each connection; default 1", NULL, COUNT,
                           AT(pipeline), 1, RV_LOAD_PIPELINE_MAX},
    [RV_BENCH_RATE] = {"-R", "rate", "RATE",
                       "a schedule in place of waiting clients: 20k, 600/m.\n"
                       "Latency then counts from when a request was due",
                       "by a schedule", RATE, AT(rate_per_s), 0, 0},
    [RV_BENCH_ARRIVALS] = {"--arrivals", "arrivals", "HOW", "even (default) or poisson", NULL,
                           ARRIVALS, AT(arrivals), 0, 0},
    [RV_BENCH_SEED] = {"--seed", "seed", "N", "of the Poisson arrivals; default 1", NULL, COUNT,
                       AT(seed), 0, UINT64_MAX},
    [RV_BENCH_MAX_CLIENTS] = {"--max-clients", "max-clients", "N",
                              "connections at most; default 1000", NULL, COUNT, AT(max_clients), 1,
                              RV_LOAD_CLIENTS_MAX},
    [RV_BENCH_NO_KEEPALIVE] = {"--no-keepalive", "no-keepalive", NULL,
                               "a new connection for each request", "connections", FLAG,
                               AT(no_keepalive), 0, 0},
    [RV_BENCH_REQUESTS_PER_CONNECTION] = {"--requests-per-connection", "requests-per-connection",
                                          "N", "then the client opens another one", NULL, COUNT,
                                          AT(requests_per_connection), 1, INT64_MAX},
    [RV_BENCH_CONNECT_RATE] = {"--connect-rate", "connect-rate", "RATE",
                               "how many are opened; default: all at once", NULL, RATE,
                               AT(connect_rate_per_s), 0, 0},
    [RV_BENCH_TIMEOUT] = {"--timeout", "timeout", "TIME",
                          "of a request, from when it was due; default 30s; 0: none", NULL,
                          DURATION, AT(timeout_us), 0, YEAR_US},
    [RV_BENCH_CONNECT_TIMEOUT] = {"--connect-timeout", "connect-timeout", "TIME",
                                  "of opening a connection; default: as --timeout", NULL, DURATION,
                                  AT(connect_timeout_us), 1, YEAR_US},
    [RV_BENCH_METHOD] = {"-X", "method", "METHOD", "default GET; POST with -d or --json",
                         "requests", TEXT, AT(method), 0, 0},
    [RV_BENCH_HEAD] = {"-I", "head", NULL, "HEAD requests", NULL, FLAG, AT(head), 0, 0},
    [RV_BENCH_FIELD] = {"-H", "header", "FIELD",
                        "\"Name: value\"; may be repeated. \"Name;\" sends it empty,\n"
                        "\"Name:\" leaves out one of ours",
                        NULL, TEXTS, AT(fields), 0, 0},
    [RV_BENCH_DATA] = {"-d", "data", "DATA",
                       "a body, as a form sends it; @FILE: the octets of a file,\n"
                       "@-: of stdin. Several are joined with &",
                       NULL, TEXTS, AT(data), 0, 0},
    [RV_BENCH_JSON] = {"--json", "json", "DATA",
                       "the same as application/json; several are joined\n"
                       "as they are",
                       NULL, TEXTS, AT(json), 0, 0},
    [RV_BENCH_USER] = {"-u", "user", "USER:PASS", "Basic credentials", NULL, TEXT, AT(credentials),
                       0, 0},
    [RV_BENCH_HTTP_1_0] = {"--http1.0", "http1.0", NULL, "HTTP/1.0, with Connection: keep-alive",
                           NULL, FLAG, AT(http_1_0), 0, 0},
    [RV_BENCH_URLS] = {"--urls", "urls", "FILE",
                       "URLs, one in a line, that each client takes in turn;\n"
                       "-: stdin. Empty lines and those with # are passed over",
                       "where to", TEXT, AT(urls_file), 0, 0},
    [RV_BENCH_UNIX_SOCKET] = {"--unix-socket", "unix-socket", "PATH",
                              "connect to it; @NAME is an abstract one", NULL, TEXT, AT(unix_path),
                              0, 0},
    [RV_BENCH_RESOLVE] = {"--resolve", "resolve", "HOST:PORT:ADDR",
                          "the address of a name; several with commas; * is any host", NULL, TEXTS,
                          AT(resolve), 0, 0},
    [RV_BENCH_SOURCE] = {"--source", "source", "RANGE",
                         "addresses to connect from, in turn: 127.0.0.5,\n"
                         "127.0.0.0/8, 127.0.0.2-127.0.0.9",
                         NULL, TEXT, AT(source), 0, 0},
    [RV_BENCH_PROXY] = {"-x", "proxy", "PROXY",
                        "HOST:PORT or http://USER:PASS@HOST:PORT; default\n"
                        "port 1080",
                        NULL, TEXT, AT(proxy), 0, 0},
    [RV_BENCH_THREADS] = {"--threads", "threads", "N",
                          "that make load; default: one for each CPU that the\n"
                          "server does not own",
                          "this machine", COUNT, AT(threads), 1, RV_LOAD_THREADS_MAX},
    [RV_BENCH_CPUS] = {"--cpus", "cpus", "LIST", "that the threads run on: 0,2-3", NULL, CPUS,
                       AT(cpus), 0, 0},
    [RV_BENCH_FORMAT] = {"--format", "format", "FORM",
                         "of the report: text (default), json, csv, ab, cherrypy", "the report",
                         FORMAT, AT(format), 0, 0},
    [RV_BENCH_OUTPUT] = {"-o", "output", "FILE", "save the result there, too, as JSON", NULL, TEXT,
                         AT(output), 0, 0},
    [RV_BENCH_QUIET] = {"-q", "quiet", NULL, "no notes and no progress on stderr", NULL, FLAG,
                        AT(quiet), 0, 0},
    [RV_BENCH_HELP] = {"-h", "help", NULL, "this text", NULL, FLAG, AT(help), 0, 0},
};

rv_error rv_texts_add(struct rv_texts *texts, const char *text)
{
    const char **grown = realloc(texts->items, (texts->count + 1) * sizeof *grown);
    if (grown == NULL)
        return RV_ENOMEM;
    texts->items = grown;
    grown[texts->count++] = text;
    return 0;
}

const char *rv_bench_option_name(enum rv_bench_option option)
{
    return rows[option].flag;
}

static bool has_letter(const struct row *row)
{
    return row->flag[1] != '-';
}

/* ---- values ---------------------------------------------------------------------------------------------- */

static rv_error bad(char *why, const struct row *row, const char *takes, const char *text)
{
    snprintf(why, RV_BENCH_WHY_MAX, "%s takes %s, not \"%.200s\"", row->flag, takes, text);
    return RV_EINVAL;
}

static rv_error take_count(const struct row *row, const char *text, uint64_t *count, char *why)
{
    char takes[120];
    if (rv_units_count(text, count) && *count >= row->min && *count <= row->max)
        return 0;
    if (row->max < INT64_MAX)
        snprintf(takes, sizeof takes, "a whole number from %" PRIu64 " to %" PRIu64, row->min,
                 row->max);
    else
        snprintf(takes, sizeof takes, "a whole number from %" PRIu64 ", such as 1000 or 10k",
                 row->min);
    return bad(why, row, takes, text);
}

static rv_error take_duration(const struct row *row, const char *text, uint64_t *us, char *why)
{
    if (rv_units_duration_us(text, us) && *us >= row->min && *us <= row->max)
        return 0;
    return bad(why, row,
               row->min == 0 ? "a time from 0 to 8760h, such as 10s or 250ms"
                             : "a time from 1us to 8760h, such as 10s or 250ms",
               text);
}

static rv_error take_rate(const struct row *row, const char *text, double *rate, char *why)
{
    if (rv_units_rate(text, rate) && *rate > 0 && *rate <= 1e9)
        return 0;
    return bad(why, row, "a rate above 0, such as 500, 20k or 600/m", text);
}

static rv_error take_arrivals(const struct row *row, const char *text, enum rv_arrivals *arrivals,
                              char *why)
{
    *arrivals = strcmp(text, "poisson") == 0 ? RV_ARRIVALS_POISSON : RV_ARRIVALS_EVEN;
    if (*arrivals == RV_ARRIVALS_POISSON || strcmp(text, "even") == 0)
        return 0;
    return bad(why, row, "even or poisson", text);
}

/* "2" or "2-3", into the set. */
static bool take_cpus_item(const char *item, void *ctx)
{
    uint64_t first;
    uint64_t last;
    size_t length = strcspn(item, "-");
    cpu_set_t *cpus = ctx;
    if (!rv_bytes_to_u64(rv_slice(item, length), &first))
        return false;
    last = first;
    if (item[length] == '-' && !rv_bytes_to_u64(rv_str(item + length + 1), &last))
        return false;
    if (last < first || last >= (uint64_t)get_nprocs_conf() || last >= CPU_SETSIZE)
        return false;
    for (; first <= last; first++)
        CPU_SET((size_t)first, cpus);
    return true;
}

static rv_error take_cpus(const struct row *row, const char *text, cpu_set_t *cpus, char *why)
{
    char takes[120];
    CPU_ZERO(cpus);
    if (rv_units_list(text, take_cpus_item, cpus))
        return 0;
    snprintf(takes, sizeof takes, "a list such as 0,2-3 of CPUs from 0 to %d",
             get_nprocs_conf() - 1);
    return bad(why, row, takes, text);
}

static rv_error take(const struct row *row, const char *text, struct rv_bench_options *options,
                     char *why)
{
    void *place = (char *)options + row->at;
    switch (row->kind) {
    case FLAG:
        *(bool *)place = true;
        return 0;
    case COUNT:
        return take_count(row, text, place, why);
    case DURATION:
        return take_duration(row, text, place, why);
    case RATE:
        return take_rate(row, text, place, why);
    case TEXT:
        *(const char **)place = text;
        return *text != '\0' ? 0 : bad(why, row, row->value, text);
    case TEXTS:
        return rv_texts_add(place, text);
    case ARRIVALS:
        return take_arrivals(row, text, place, why);
    case FORMAT:
        if (rv_report_format_parse(text, place))
            return 0;
        return bad(why, row, "text, json, csv, ab or cherrypy", text);
    case CPUS:
        return take_cpus(row, text, place, why);
    }
    return RV_EINVAL;
}

/* ---- getopt --------------------------------------------------------------------------------------------------- */

struct tables {
    char letters[2 + 2 * RV_BENCH_OPTION_COUNT];
    struct option options[RV_BENCH_OPTION_COUNT + 1];
};

static void make_tables(struct tables *tables)
{
    char *letter = tables->letters;
    memset(tables, 0, sizeof *tables);
    *letter++ = ':'; /* a missing value is told from an unknown option */
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++) {
        tables->options[i] =
            (struct option){rows[i].name, rows[i].value != NULL ? required_argument : no_argument,
                            NULL, FIRST_VALUE + i};
        if (!has_letter(&rows[i]))
            continue;
        *letter++ = rows[i].flag[1];
        if (rows[i].value != NULL)
            *letter++ = ':';
    }
}

/* From what getopt returns to the row; -1: it is none. */
static int row_of(int value)
{
    if (value >= FIRST_VALUE)
        return value - FIRST_VALUE;
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++)
        if (has_letter(&rows[i]) && rows[i].flag[1] == value)
            return i;
    return -1;
}

/* What getopt would not take: `word` is the one it stopped at. */
static rv_error no_option(const char *word, char *why)
{
    if (word[0] == '-' && word[1] != '-')
        snprintf(why, RV_BENCH_WHY_MAX, "there is no option -%c", optopt);
    else
        snprintf(why, RV_BENCH_WHY_MAX, "there is no option %.200s", word);
    return RV_EINVAL;
}

static rv_error parse_options(int argc, char **argv, struct rv_bench_options *options, char *why)
{
    struct tables tables;
    make_tables(&tables);
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    for (int value;
         (value = getopt_long(argc, argv, tables.letters, tables.options, NULL)) != -1;) {
        int row = row_of(value == ':' ? optopt : value);
        if (value == '?' || row < 0)
            return no_option(argv[optind - 1], why);
        if (value == ':') {
            snprintf(why, RV_BENCH_WHY_MAX, "%s needs a value: %s", rows[row].flag,
                     rows[row].value);
            return RV_EINVAL;
        }
        rv_error error = take(&rows[row], optarg, options, why);
        if (error != 0)
            return error;
        options->given |= UINT64_C(1) << row;
        if (row == RV_BENCH_HELP)
            return 0;
    }
    rv_error error = 0;
    for (int i = optind; i < argc && error == 0; i++)
        error = rv_texts_add(&options->urls, argv[i]);
    return error;
}

rv_error rv_bench_options_parse(int argc, char **argv, struct rv_bench_options *options, char *why)
{
    memset(options, 0, sizeof *options);
    options->timeout_us = RV_BENCH_TIMEOUT_US;
    options->seed = 1;
    rv_error error = parse_options(argc, argv, options, why);
    if (error == RV_ENOMEM)
        snprintf(why, RV_BENCH_WHY_MAX, "out of memory");
    if (error != 0 || options->help)
        return error;
    return rv_bench_options_check(options, why);
}

void rv_bench_options_free(struct rv_bench_options *options)
{
    free(options->fields.items);
    free(options->data.items);
    free(options->json.items);
    free(options->urls.items);
    free(options->resolve.items);
    memset(options, 0, sizeof *options);
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

/* A help of several lines stands in its column. */
static void print_row(const struct row *row, FILE *file)
{
    char names[80];
    const char *value = row->value == NULL ? "" : row->value;
    const char *space = row->value == NULL ? "" : " ";
    if (has_letter(row))
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
          "one server are asked for in turn. The http:// may be left out.\n",
          file);
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++) {
        if (rows[i].heading != NULL)
            fprintf(file, "\n%s:\n", rows[i].heading);
        print_row(&rows[i], file);
    }
    fputs("\n"
          "exit status: 0 ok, 1 usage, 2 could not start or nothing was answered, 70 a law of\n"
          "measurement was violated, 130 interrupted (the report is printed)\n",
          file);
}
