/*
 * The command line of `rivulet bench`, from argv to a struct of what was asked. It reads no file
 * and resolves no name: that is bench_plan.h's.
 */
#ifndef RV_CLI_BENCH_OPTIONS_H
#define RV_CLI_BENCH_OPTIONS_H

#include "load/plan.h"
#include "report/report.h"

#include <assert.h>

#define RV_BENCH_WHY_MAX 1024

#define RV_BENCH_CLIENTS 50 /* of the closed loop, when nobody says */
#define RV_BENCH_CLIENTS_OPEN 1000
#define RV_BENCH_DURATION_US 10000000
#define RV_BENCH_TIMEOUT_US 30000000

/* Each option, in the order of the help. */
enum rv_bench_option {
    RV_BENCH_CLIENTS_OPTION,
    RV_BENCH_REQUESTS,
    RV_BENCH_QUOTA,
    RV_BENCH_TIME,
    RV_BENCH_THINK,
    RV_BENCH_PIPELINE,
    RV_BENCH_HTTP2,
    RV_BENCH_STREAMS,
    RV_BENCH_RATE,
    RV_BENCH_ARRIVALS,
    RV_BENCH_SEED,
    RV_BENCH_MAX_CLIENTS,
    RV_BENCH_NO_KEEPALIVE,
    RV_BENCH_REQUESTS_PER_CONNECTION,
    RV_BENCH_CONNECT_RATE,
    RV_BENCH_TIMEOUT,
    RV_BENCH_CONNECT_TIMEOUT,
    RV_BENCH_METHOD,
    RV_BENCH_HEAD,
    RV_BENCH_FIELD,
    RV_BENCH_CLIENT_FIELDS,
    RV_BENCH_DATA,
    RV_BENCH_JSON,
    RV_BENCH_USER,
    RV_BENCH_HTTP_1_0,
    RV_BENCH_URLS,
    RV_BENCH_UNIX_SOCKET,
    RV_BENCH_RESOLVE,
    RV_BENCH_SOURCE,
    RV_BENCH_PROXY,
    RV_BENCH_INSECURE,
    RV_BENCH_CACERT,
    RV_BENCH_CERT,
    RV_BENCH_KEY,
    RV_BENCH_TLS_VERSION,
    RV_BENCH_CIPHERS,
    RV_BENCH_TLS_RESUME,
    RV_BENCH_THREADS,
    RV_BENCH_CPUS,
    RV_BENCH_FORMAT,
    RV_BENCH_OUTPUT,
    RV_BENCH_QUIET,
    RV_BENCH_HELP,
    RV_BENCH_OPTION_COUNT
};
static_assert(RV_BENCH_OPTION_COUNT <= 64, "`given` has a bit for each");

/* Texts in their order. */
struct rv_texts {
    const char **items; /* owned; what they point to is not */
    size_t count;
};

/* RV_ENOMEM. */
rv_error rv_texts_add(struct rv_texts *texts, const char *text);

/* Numbers are 0, and texts NULL, when nobody said. */
struct rv_bench_options {
    uint64_t given; /* a bit for each enum rv_bench_option */
    bool help;

    uint64_t requests, quota, duration_us;
    uint64_t clients, max_clients, pipeline, streams;
    uint64_t think_us;
    double rate_per_s;
    enum rv_arrivals arrivals;
    uint64_t seed;

    bool no_keepalive;
    uint64_t requests_per_connection;
    double connect_rate_per_s;
    uint64_t timeout_us, connect_timeout_us;

    const char *method;
    bool head, http_1_0, http2;
    struct rv_texts fields, data, json;
    const char *client_fields; /* a file with a field for each client */
    const char *credentials;

    struct rv_texts urls;
    const char *urls_file;
    const char *unix_path;
    struct rv_texts resolve;
    const char *source;
    const char *proxy;

    struct rv_tls_client_settings tls;
    unsigned tls_version; /* as OpenSSL numbers them; 0: any */

    uint64_t threads;
    cpu_set_t cpus;
    enum rv_report_format format;
    const char *output;
    bool quiet;
};

static inline bool rv_bench_is_given(const struct rv_bench_options *options,
                                     enum rv_bench_option option)
{
    return (options->given >> option & 1) != 0;
}

/* Reads argv (argv[0] is "bench"), and reorders it as getopt does. RV_EINVAL with a sentence in
   `why` (RV_BENCH_WHY_MAX octets) that names the option; RV_ENOMEM. `options` is to be freed
   whatever comes. */
rv_error rv_bench_options_parse(int argc, char **argv, struct rv_bench_options *options, char *why);
void rv_bench_options_free(struct rv_bench_options *options);

/* Do they go together? RV_EINVAL with `why`. rv_bench_options_parse asks this at its end. */
rv_error rv_bench_options_check(const struct rv_bench_options *options, char *why);

/* "-c", or "--quota" for one without a letter. */
const char *rv_bench_option_name(enum rv_bench_option option);

void rv_bench_print_help(FILE *file);

#endif
