/*
 * Which options of `rivulet bench` go together (bench_options.h). Two tables: what excludes what,
 * and what is of no use without another; each row says what to do instead.
 */
#include "cli/bench_options.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum rv_bench_option one, other;
    const char *because;
} exclusions[] = {
    {RV_BENCH_RATE, RV_BENCH_CLIENTS_OPTION,
     "a schedule waits for no client; limit its connections with --max-clients"},
    {RV_BENCH_RATE, RV_BENCH_QUOTA, "a schedule knows no clients of its own; use -n or -t"},
    {RV_BENCH_RATE, RV_BENCH_THINK, "the schedule says when the next request is due"},
    {RV_BENCH_REQUESTS, RV_BENCH_QUOTA,
     "-n counts the requests of all clients, --quota those of each one"},
    {RV_BENCH_PIPELINE, RV_BENCH_NO_KEEPALIVE,
     "requests in flight together share a connection that is kept"},
    {RV_BENCH_PIPELINE, RV_BENCH_HTTP_1_0, "only HTTP/1.1 has pipelining"},
    {RV_BENCH_PIPELINE, RV_BENCH_THINK, "a client that thinks waits for its answer first"},
    {RV_BENCH_HTTP2, RV_BENCH_PIPELINE, "HTTP/2 has streams in place of it: --streams"},
    {RV_BENCH_HTTP2, RV_BENCH_HTTP_1_0, "a connection speaks one of them"},
    {RV_BENCH_HTTP2, RV_BENCH_PROXY, "a proxy is spoken to in HTTP/1"},
    {RV_BENCH_STREAMS, RV_BENCH_NO_KEEPALIVE,
     "requests that run together share a connection that is kept"},
    {RV_BENCH_STREAMS, RV_BENCH_THINK, "a client that thinks waits for its answer first"},
    {RV_BENCH_REQUESTS_PER_CONNECTION, RV_BENCH_NO_KEEPALIVE,
     "without keep-alive every connection has one request"},
    {RV_BENCH_HEAD, RV_BENCH_METHOD, "-I is -X HEAD"},
    {RV_BENCH_HEAD, RV_BENCH_DATA, "a HEAD request has no body"},
    {RV_BENCH_HEAD, RV_BENCH_JSON, "a HEAD request has no body"},
    {RV_BENCH_DATA, RV_BENCH_JSON, "a body has one type"},
    {RV_BENCH_INSECURE, RV_BENCH_CACERT, "a certificate is checked or it is not"},
    {RV_BENCH_UNIX_SOCKET, RV_BENCH_PROXY, "a connection goes to one of them"},
    {RV_BENCH_UNIX_SOCKET, RV_BENCH_RESOLVE, "no name is resolved for a unix socket"},
    {RV_BENCH_UNIX_SOCKET, RV_BENCH_SOURCE, "a unix socket has no source address"},
};

static const struct {
    enum rv_bench_option one, needed;
} needs[] = {
    {RV_BENCH_ARRIVALS, RV_BENCH_RATE},    {RV_BENCH_SEED, RV_BENCH_RATE},
    {RV_BENCH_MAX_CLIENTS, RV_BENCH_RATE}, {RV_BENCH_KEY, RV_BENCH_CERT},
    {RV_BENCH_STREAMS, RV_BENCH_HTTP2},
};

static rv_error check_tables(const struct rv_bench_options *options, char *why)
{
    for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++) {
        if (!rv_bench_is_given(options, exclusions[i].one) ||
            !rv_bench_is_given(options, exclusions[i].other))
            continue;
        snprintf(why, RV_BENCH_WHY_MAX, "%s and %s exclude each other: %s",
                 rv_bench_option_name(exclusions[i].one), rv_bench_option_name(exclusions[i].other),
                 exclusions[i].because);
        return RV_EINVAL;
    }
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (!rv_bench_is_given(options, needs[i].one) ||
            rv_bench_is_given(options, needs[i].needed))
            continue;
        snprintf(why, RV_BENCH_WHY_MAX, "%s is of no use without %s",
                 rv_bench_option_name(needs[i].one), rv_bench_option_name(needs[i].needed));
        return RV_EINVAL;
    }
    return 0;
}

static rv_error check_urls(const struct rv_bench_options *options, char *why)
{
    if (options->urls.count > 0 && options->urls_file != NULL) {
        snprintf(why, RV_BENCH_WHY_MAX, "the URL \"%.200s\" and --urls: give one or the other",
                 options->urls.items[0]);
        return RV_EINVAL;
    }
    if (options->urls.count == 0 && options->urls_file == NULL) {
        snprintf(why, RV_BENCH_WHY_MAX, "a URL is needed, such as 127.0.0.1:8080/");
        return RV_EINVAL;
    }
    return 0;
}

static uint64_t clients_at_most(const struct rv_bench_options *options)
{
    if (rv_bench_is_given(options, RV_BENCH_RATE))
        return options->max_clients > 0 ? options->max_clients : RV_BENCH_CLIENTS_OPEN;
    return options->clients > 0 ? options->clients : RV_BENCH_CLIENTS;
}

static rv_error check_threads(const struct rv_bench_options *options, char *why)
{
    uint64_t clients = clients_at_most(options);
    if (options->threads <= clients)
        return 0;
    snprintf(why, RV_BENCH_WHY_MAX, "--threads %llu is more than there are clients: %llu at most",
             (unsigned long long)options->threads, (unsigned long long)clients);
    return RV_EINVAL;
}

static rv_error check_credentials(const struct rv_bench_options *options, char *why)
{
    if (options->credentials == NULL || strchr(options->credentials, ':') != NULL)
        return 0;
    snprintf(why, RV_BENCH_WHY_MAX, "-u takes USER:PASS, not \"%.200s\"", options->credentials);
    return RV_EINVAL;
}

/* Two reports in one stream can be read by nobody. */
static rv_error check_output(const struct rv_bench_options *options, char *why)
{
    if (options->output == NULL || strcmp(options->output, "-") != 0)
        return 0;
    snprintf(why, RV_BENCH_WHY_MAX,
             "-o takes a file, not \"-\": --format json prints the result instead of the report");
    return RV_EINVAL;
}

static rv_error check_http2(const struct rv_bench_options *options, char *why)
{
    if (!options->http2 || RV_H2_BUILT)
        return 0;
    snprintf(why, RV_BENCH_WHY_MAX, "--http2: this rivulet was built without HTTP/2");
    return RV_EINVAL;
}

rv_error rv_bench_options_check(const struct rv_bench_options *options, char *why)
{
    rv_error error = check_tables(options, why);
    if (error == 0)
        error = check_http2(options, why);
    if (error == 0)
        error = check_urls(options, why);
    if (error == 0)
        error = check_threads(options, why);
    if (error == 0)
        error = check_credentials(options, why);
    if (error == 0)
        error = check_output(options, why);
    return error;
}
