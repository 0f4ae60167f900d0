/*
 * The options of `rivulet sweep` (sweep_options.h): read, checked against one another, completed.
 */
#include "cli/sweep_options.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "load/plan.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define REQUESTS_MAX UINT64_C(1000000000)
#define DEMO_SIZE_MAX UINT64_C(10737418240) /* of /sizer */
#define QUICK_ROW_BYTES UINT64_C(1000000000)

static void print_help(void)
{
    puts(
        "usage: rivulet sweep [OPTION]... [URL]\n"
        "\n"
        "CherryPy's benchmark: how rate and time of a request change with the number of clients "
        "and\n"
        "with the size of the answer. Without a URL it starts the demo server on a free port, "
        "runs\n"
        "a report on a dynamic page, one on a file and one on sizes against it, and stops it.\n"
        "A URL is measured with each number of clients; one that contains {size}, with each size.\n"
        "\n"
        "  -n, --requests N    requests of a row; default 1000\n"
        "  --clients LIST      clients of the thread reports; default 10,20,30,40,50\n"
        "  --sizes LIST        of the size report; default 10,100,1k,10k,100k,100M\n"
        "  --size-clients N    clients of the size report; default 50\n"
        "  --backlog LIST      repeats everything with the demo server's listen queue at each of "
        "these\n"
        "                      lengths, then shows them side by side. Unless told otherwise each\n"
        "                      client then finishes its own share of the requests, each on a new\n"
        "                      connection: only that shows what a short queue costs\n"
        "  --pool N            threads that run the demo server's handlers; default 10;\n"
        "                      0: they run on its workers\n"
        "  --quota             every client must finish its own share of the requests\n"
        "  --shared            the clients share the requests; the default without --backlog\n"
        "  --no-keepalive      a new connection for each request\n"
        "  --keepalive         connections are kept; the default without --backlog\n"
        "  --timeout TIME      of a request; default 2m\n"
        "  -k, --insecure      take any certificate of the server\n"
        "  --cacert FILE       PEM: who may vouch for the server; default: whom the system trusts\n"
        "  --quick             a row moves at most 1 GB, or one answer to each client\n"
        "  --repeat N          runs each row N times and shows medians and their spread\n"
        "  --ab PATH           lets that ApacheBench make the load\n"
        "  -o, --output FILE   saves everything as JSON, too\n"
        "  --format FORM       text (default), json or csv: what is printed\n"
        "  -h, --help          this text\n"
        "\n"
        "Half of the CPUs are the demo server's, the others the load's.\n"
        "exit status: 0 ok, 1 usage, 2 could not start or nothing was answered, 3 some requests\n"
        "failed, 70 a law of measurement was violated, 130 interrupted");
}

/* ---- values ------------------------------------------------------------------------------------------- */

static bool add_clients(const char *item, void *ctx)
{
    struct rv_sweep_options *options = ctx;
    uint64_t count;
    if (options->client_count == RV_SWEEP_LIST_MAX || !rv_units_count(item, &count) || count == 0 ||
        count > RV_LOAD_CLIENTS_MAX)
        return false;
    for (size_t i = 0; i < options->client_count; i++)
        if (options->clients[i] == count)
            return false;
    options->clients[options->client_count++] = (uint32_t)count;
    return true;
}

static bool add_size(const char *item, void *ctx)
{
    struct rv_sweep_options *options = ctx;
    uint64_t bytes;
    if (options->size_count == RV_SWEEP_LIST_MAX || !rv_units_bytes(item, &bytes) ||
        bytes > INT64_MAX)
        return false;
    for (size_t i = 0; i < options->size_count; i++)
        if (options->sizes[i] == bytes)
            return false;
    options->sizes[options->size_count++] = bytes;
    return true;
}

static bool add_backlog(const char *item, void *ctx)
{
    struct rv_sweep_options *options = ctx;
    unsigned length;
    if (options->backlog_count == RV_SWEEP_BACKLOGS_MAX || !rv_cli_number(item, 1, 65535, &length))
        return false;
    for (size_t i = 0; i < options->backlog_count; i++)
        if (options->backlogs[i] == length)
            return false;
    options->backlogs[options->backlog_count++] = length;
    return true;
}

static int list_error(const char *option, const char *what, int most, const char *text)
{
    return rv_cli_usage_error(
        RV_SWEEP_NAME, "--%s must be up to %d different %s, with commas between them, not \"%s\"",
        option, most, what, text);
}

static bool parse_format(const char *text, enum rv_sweep_format *format)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *format = (enum rv_sweep_format)i;
            return true;
        }
    }
    return false;
}

/* ---- one option ------------------------------------------------------------------------------------------ */

enum {
    CLIENTS = 256,
    SIZES,
    SIZE_CLIENTS,
    BACKLOG,
    POOL,
    QUOTA,
    SHARED,
    KEEPALIVE,
    NO_KEEPALIVE,
    TIMEOUT,
    QUICK,
    REPEAT,
    AB,
    CACERT,
    FORMAT
};

static const struct option long_options[] = {
    {"requests", required_argument, NULL, 'n'},
    {"clients", required_argument, NULL, CLIENTS},
    {"sizes", required_argument, NULL, SIZES},
    {"size-clients", required_argument, NULL, SIZE_CLIENTS},
    {"backlog", required_argument, NULL, BACKLOG},
    {"pool", required_argument, NULL, POOL},
    {"quota", no_argument, NULL, QUOTA},
    {"shared", no_argument, NULL, SHARED},
    {"keepalive", no_argument, NULL, KEEPALIVE},
    {"no-keepalive", no_argument, NULL, NO_KEEPALIVE},
    {"timeout", required_argument, NULL, TIMEOUT},
    {"insecure", no_argument, NULL, 'k'},
    {"cacert", required_argument, NULL, CACERT},
    {"quick", no_argument, NULL, QUICK},
    {"repeat", required_argument, NULL, REPEAT},
    {"ab", required_argument, NULL, AB},
    {"output", required_argument, NULL, 'o'},
    {"format", required_argument, NULL, FORMAT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What was given, where "not given" has a meaning of its own. */
struct given {
    bool pool, quota, shared, keep_alive, no_keep_alive;
};

/* Lists and numbers; 0: taken. */
static int take_value(int option, const char *text, struct rv_sweep_options *options)
{
    uint64_t count;
    switch (option) {
    case 'n':
        if (!rv_units_count(text, &options->requests) || options->requests == 0 ||
            options->requests > REQUESTS_MAX)
            return rv_cli_usage_error(RV_SWEEP_NAME, "-n must be from 1 to 1G, not \"%s\"", text);
        break;
    case CLIENTS:
        options->client_count = 0;
        if (!rv_units_list(text, add_clients, options))
            return list_error("clients", "numbers from 1 to 1M", RV_SWEEP_LIST_MAX, text);
        break;
    case SIZES:
        options->size_count = 0;
        if (!rv_units_list(text, add_size, options))
            return list_error("sizes", "sizes such as 10, 1k or 100M", RV_SWEEP_LIST_MAX, text);
        break;
    case SIZE_CLIENTS:
        if (!rv_units_count(text, &count) || count == 0 || count > RV_LOAD_CLIENTS_MAX)
            return rv_cli_usage_error(RV_SWEEP_NAME,
                                      "--size-clients must be from 1 to 1M, not \"%s\"", text);
        options->size_clients = (uint32_t)count;
        break;
    case BACKLOG:
        options->backlog_count = 0;
        if (!rv_units_list(text, add_backlog, options))
            return list_error("backlog", "lengths from 1 to 65535", RV_SWEEP_BACKLOGS_MAX, text);
        break;
    case POOL:
        if (!rv_cli_number(text, 0, 1024, &options->pool))
            return rv_cli_usage_error(RV_SWEEP_NAME, "--pool must be from 0 to 1024, not \"%s\"",
                                      text);
        break;
    case REPEAT:
        if (!rv_cli_number(text, 1, RV_SWEEP_REPEATS_MAX, &options->repeat))
            return rv_cli_usage_error(RV_SWEEP_NAME, "--repeat must be from 1 to %d, not \"%s\"",
                                      RV_SWEEP_REPEATS_MAX, text);
        break;
    case TIMEOUT:
        if (!rv_units_duration_us(text, &options->timeout_us) || options->timeout_us == 0)
            return rv_cli_usage_error(
                RV_SWEEP_NAME, "--timeout must be a time such as 500ms or 10s, not \"%s\"", text);
        break;
    case FORMAT:
        if (!parse_format(text, &options->format))
            return rv_cli_usage_error(RV_SWEEP_NAME,
                                      "--format must be text, json or csv, not \"%s\"", text);
        break;
    default:
        break;
    }
    return 0;
}

static int take_option(int option, struct rv_sweep_options *options, struct given *given)
{
    switch (option) {
    case QUOTA:
        given->quota = true;
        break;
    case SHARED:
        given->shared = true;
        break;
    case KEEPALIVE:
        given->keep_alive = true;
        break;
    case NO_KEEPALIVE:
        given->no_keep_alive = true;
        break;
    case QUICK:
        options->quick = true;
        break;
    case AB:
        options->ab = optarg;
        break;
    case 'k':
        options->insecure = true;
        break;
    case CACERT:
        options->ca_file = optarg;
        break;
    case 'o':
        options->output = optarg;
        break;
    default:
        given->pool = given->pool || option == POOL;
        return take_value(option, optarg, options);
    }
    return 0;
}

/* ---- all of them together ---------------------------------------------------------------------------------- */

static int check_url(const struct rv_sweep_options *options, const struct given *given)
{
    if (options->url == NULL) {
        for (size_t i = 0; i < options->size_count; i++)
            if (options->sizes[i] > DEMO_SIZE_MAX)
                return rv_cli_usage_error(
                    RV_SWEEP_NAME, "the demo server's bodies end at 10 GiB; --sizes has %" PRIu64,
                    options->sizes[i]);
        return 0;
    }
    if (options->backlog_count > 0)
        return rv_cli_usage_error(
            RV_SWEEP_NAME, "--backlog sets the demo server's listen queue; that of %s is its own",
            options->url);
    if (given->pool)
        return rv_cli_usage_error(RV_SWEEP_NAME,
                                  "--pool sets the demo server's threads; those of %s are its own",
                                  options->url);
    if (options->size_count > 0 && !options->has_size)
        return rv_cli_usage_error(RV_SWEEP_NAME,
                                  "--sizes needs a URL that says where the size goes: "
                                  "'http://127.0.0.1:8080/sizer?size={size}'");
    if (options->client_count > 0 && options->has_size)
        return rv_cli_usage_error(RV_SWEEP_NAME, "a URL with {size} is measured with sizes: say "
                                                 "--size-clients for their clients");
    return 0;
}

static int check_mode(const struct rv_sweep_options *options, const struct given *given)
{
    if (given->quota && given->shared)
        return rv_cli_usage_error(RV_SWEEP_NAME, "--quota and --shared exclude each other");
    if (options->output != NULL && strcmp(options->output, "-") == 0)
        return rv_cli_usage_error(RV_SWEEP_NAME, "-o takes a file, not \"-\": --format json prints "
                                                 "the results instead of the tables");
    if (given->keep_alive && given->no_keep_alive)
        return rv_cli_usage_error(RV_SWEEP_NAME,
                                  "--keepalive and --no-keepalive exclude each other");
    if (given->quota && options->ab != NULL)
        return rv_cli_usage_error(RV_SWEEP_NAME,
                                  "ab has no quota for each client: leave out --quota "
                                  "or --ab");
    return 0;
}

/* What is asked of TLS means nothing without it, and would be believed to be done. */
static int check_tls(const struct rv_sweep_options *options)
{
    const char *option = options->insecure ? "--insecure" : "--cacert";
    if (!options->insecure && options->ca_file == NULL)
        return 0;
    if (options->url == NULL || strncasecmp(options->url, "https:", 6) != 0)
        return rv_cli_usage_error(RV_SWEEP_NAME, "%s is for https URLs, and %s", option,
                                  options->url == NULL ? "the demo server speaks no TLS"
                                                       : "this is none");
    if (options->ab != NULL && options->ca_file != NULL)
        return rv_cli_usage_error(RV_SWEEP_NAME, "ab checks no certificate: leave out --cacert or "
                                                 "--ab");
    return 0;
}

/* ab makes no fewer requests than it has clients. */
static int check_ab(const struct rv_sweep_options *options)
{
    for (size_t i = 0; options->ab != NULL && i < options->client_count; i++)
        if (options->clients[i] > options->requests)
            return rv_cli_usage_error(
                RV_SWEEP_NAME, "ab refuses more clients (%" PRIu32 ") than requests (%" PRIu64 ")",
                options->clients[i], options->requests);
    if (options->ab != NULL && options->size_count > 0 && options->size_clients > options->requests)
        return rv_cli_usage_error(
            RV_SWEEP_NAME, "ab refuses more clients (%" PRIu32 ") than requests (%" PRIu64 ")",
            options->size_clients, options->requests);
    return 0;
}

static void complete(struct rv_sweep_options *options, const struct given *given)
{
    bool strict = options->backlog_count > 0;
    options->quota = options->ab == NULL && (given->quota || (strict && !given->shared));
    options->keep_alive = given->keep_alive || (!strict && !given->no_keep_alive);
    if (options->client_count == 0 && !options->has_size)
        rv_units_list("10,20,30,40,50", add_clients, options);
    if (options->size_count == 0 && (options->url == NULL || options->has_size))
        rv_units_list("10,100,1k,10k,100k,100M", add_size, options);
}

int rv_sweep_options_parse(int argc, char **argv, struct rv_sweep_options *options)
{
    struct given given = {0};
    *options = (struct rv_sweep_options){
        .requests = 1000, .size_clients = 50, .pool = 10, .repeat = 1, .timeout_us = 120000000};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":n:o:kh", long_options, NULL)) != -1;) {
        if (option == 'h') {
            print_help();
            return RV_EXIT_OK;
        }
        if (option == ':')
            return rv_cli_usage_error(RV_SWEEP_NAME, "%s needs a value", argv[optind - 1]);
        if (option == '?')
            return rv_cli_usage_error(RV_SWEEP_NAME, "there is no option %s", argv[optind - 1]);
        int status = take_option(option, options, &given);
        if (status != 0)
            return status;
    }
    if (optind < argc)
        options->url = argv[optind++];
    if (optind < argc)
        return rv_cli_usage_error(RV_SWEEP_NAME, "one URL is enough: \"%s\" is one more",
                                  argv[optind]);
    options->has_size = options->url != NULL && strstr(options->url, RV_SWEEP_SIZE_MARK) != NULL;
    int status = check_url(options, &given);
    if (status == 0)
        status = check_mode(options, &given);
    if (status == 0)
        status = check_tls(options);
    if (status != 0)
        return status;
    complete(options, &given);
    status = check_ab(options);
    return status == 0 ? -1 : status;
}

/* ---- how much a row does ------------------------------------------------------------------------------------- */

uint64_t rv_sweep_requests(const struct rv_sweep_options *options, uint32_t clients, uint64_t bytes,
                           bool *capped)
{
    uint64_t requests = options->requests;
    if (options->quick && bytes != UINT64_MAX && bytes > QUICK_ROW_BYTES / requests) {
        uint64_t fewer = QUICK_ROW_BYTES / bytes;
        fewer = fewer < clients ? clients : fewer;
        requests = fewer < requests ? fewer : requests;
    }
    *capped = requests < options->requests;
    if (options->quota)
        requests = (requests + clients - 1) / clients * clients;
    return requests;
}
