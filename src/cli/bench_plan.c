/*
 * Plans (bench_plan.h): limits and defaults, the proxy, the source, then requests and addresses.
 */
#include "cli/bench_plan.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how much and how ------------------------------------------------------------------------ */

static void set_model(const struct rv_bench_options *options, struct rv_load_plan *plan)
{
    bool open = rv_bench_is_given(options, RV_BENCH_RATE);
    uint64_t clients = open ? options->max_clients : options->clients;
    plan->model = open ? RV_LOAD_OPEN : RV_LOAD_CLOSED;
    if (clients == 0)
        clients = open ? RV_BENCH_CLIENTS_OPEN : RV_BENCH_CLIENTS;
    plan->clients = (uint32_t)clients;
    plan->rate_per_s = options->rate_per_s;
    plan->arrivals = options->arrivals;
    plan->seed = options->seed;
    plan->think_us = options->think_us;
    plan->pipeline = (uint32_t)options->pipeline;
    plan->http2 = options->http2;
    plan->streams = (uint32_t)options->streams;
}

static void set_limits(const struct rv_bench_options *options, struct rv_load_plan *plan)
{
    plan->requests_max = options->requests;
    plan->quota = options->quota;
    plan->duration_us = options->duration_us;
    if (options->requests == 0 && options->quota == 0 && options->duration_us == 0)
        plan->duration_us = RV_BENCH_DURATION_US;
}

static void set_connections(const struct rv_bench_options *options, struct rv_load_plan *plan)
{
    plan->close_each = options->no_keepalive;
    plan->requests_per_connection = options->requests_per_connection;
    plan->connect_rate_per_s = options->connect_rate_per_s;
    plan->timeout_us = options->timeout_us;
    plan->connect_timeout_us = options->connect_timeout_us;
    plan->threads = (unsigned)options->threads;
    plan->cpus = options->cpus;
    plan->give_up_unreached = true;
}

/* A client without a request would only be a connection. */
static void drop_idle_clients(const struct rv_bench_options *options, struct rv_bench_plan *plan)
{
    struct rv_load_plan *load = &plan->load;
    if (load->requests_max == 0 || load->requests_max >= load->clients)
        return;
    if (options->clients > 0 || options->max_clients > 0)
        snprintf(plan->note, sizeof plan->note,
                 "%" PRIu64 " requests need no more than %" PRIu64 " of the %" PRIu32 " clients",
                 load->requests_max, load->requests_max, load->clients);
    load->clients = (uint32_t)load->requests_max;
    if (load->threads > load->clients)
        load->threads = load->clients;
}

/* ---- where to -------------------------------------------------------------------------------- */

/* An error of load/ is one of the command line, unless memory or the resolver say otherwise. */
static int code_of(rv_error error)
{
    return error == 0                                ? 0
           : error == RV_ENOMEM || error == RV_EADDR ? RV_EXIT_NO_START
                                                     : RV_EXIT_USAGE;
}

static int about(const char *option, const char *sentence, char *why)
{
    snprintf(why, RV_BENCH_WHY_MAX, "%s %.*s", option, RV_TARGET_WHY_MAX, sentence);
    return RV_EXIT_USAGE;
}

/* "http://user:pass@host:port" to where connections go and what the proxy is told. */
static int set_proxy(const char *text, struct rv_load_target *target, char **credentials, char *why)
{
    struct rv_url url;
    char sentence[RV_TARGET_WHY_MAX];
    if (rv_url_parse(text, &url, sentence) != 0)
        return about("-x", sentence, why);
    if (url.is_tls)
        return about("-x", "takes a proxy that is spoken to in plain HTTP", why);
    int code = rv_bench_url_credentials(&url, credentials, why);
    if (code != 0)
        return code;
    const char *open = url.host_is_ipv6 ? "[" : "";
    const char *close = url.host_is_ipv6 ? "]" : "";
    int host = (int)url.host.len;
    int length = url.has_port
                     ? asprintf(&target->proxy, "%s%.*s%s:%u", open, host, url.host.ptr, close,
                                (unsigned)url.port)
                     : asprintf(&target->proxy, "%s%.*s%s", open, host, url.host.ptr, close);
    if (length < 0)
        target->proxy = NULL;
    return length < 0 ? rv_bench_no_memory(why) : 0;
}

static int set_places(const struct rv_bench_options *options, struct rv_load_target *target,
                      char **proxy_credentials, char *why)
{
    char sentence[RV_TARGET_WHY_MAX];
    if (options->proxy != NULL) {
        int code = set_proxy(options->proxy, target, proxy_credentials, why);
        if (code != 0)
            return code;
    }
    if (options->unix_path != NULL && (target->unix_path = strdup(options->unix_path)) == NULL)
        return rv_bench_no_memory(why);
    if (options->source != NULL && rv_source_parse(options->source, &target->source, sentence) != 0)
        return about("--source", sentence, why);
    return 0;
}

static int resolve(const struct rv_bench_options *options, struct rv_load_target *target, char *why)
{
    char sentence[RV_TARGET_WHY_MAX];
    rv_error error =
        rv_target_resolve(target, options->resolve.items, options->resolve.count, sentence);
    if (error == RV_EINVAL)
        return about(options->unix_path != NULL ? "--unix-socket:" : "--resolve", sentence, why);
    if (error != 0)
        snprintf(why, RV_BENCH_WHY_MAX, "%s", sentence);
    return code_of(error);
}

/* What is asked of TLS means nothing without it, and would be believed to be done. */
static int set_tls(const struct rv_bench_options *options, struct rv_load_target *target, char *why)
{
    char sentence[RV_TARGET_WHY_MAX];
    for (enum rv_bench_option i = RV_BENCH_INSECURE; i <= RV_BENCH_TLS_RESUME; i++) {
        if (target->is_tls || !rv_bench_is_given(options, i))
            continue;
        snprintf(why, RV_BENCH_WHY_MAX, "%s is for https URLs, and \"%.200s\" is none",
                 rv_bench_option_name(i), target->url);
        return RV_EXIT_USAGE;
    }
    if (target->is_tls && target->proxy != NULL) {
        snprintf(why, RV_BENCH_WHY_MAX,
                 "-x and an https URL: tunnels through a proxy are not made");
        return RV_EXIT_USAGE;
    }
    target->tls = options->tls;
    target->tls.protocols = options->http2 ? "\x02h2" : NULL;
    target->tls.version_min = target->tls.version_max = options->tls_version;
    rv_error error = rv_target_check_tls(target, sentence);
    if (error == RV_ENOMEM)
        return rv_bench_no_memory(why);
    if (error != 0)
        snprintf(why, RV_BENCH_WHY_MAX, "%s", sentence);
    return error == 0 ? 0 : RV_EXIT_NO_START;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int make_from(const struct rv_bench_options *options, const struct rv_bench_urls *urls,
                     struct rv_bench_plan *plan, char *why)
{
    struct rv_load_plan *load = &plan->load;
    char *proxy_credentials = NULL;
    if (rv_target_set_url(&load->target, urls->texts.items[0], &urls->urls[0]) != 0)
        return rv_bench_no_memory(why);
    int code = set_places(options, &load->target, &proxy_credentials, why);
    if (code == 0)
        code = set_tls(options, &load->target, why);
    if (code == 0)
        code = rv_bench_requests_make(options, urls, proxy_credentials, load, why);
    free(proxy_credentials);
    if (code != 0)
        return code;
    /* A user's own Connection field counts as much as --no-keepalive. */
    load->close_each = load->close_each || load->requests[0].asks_close;
    return resolve(options, &load->target, why);
}

int rv_bench_plan_make(const struct rv_bench_options *options, struct rv_bench_plan *plan,
                       char *why)
{
    struct rv_bench_urls urls;
    memset(plan, 0, sizeof *plan);
    set_model(options, &plan->load);
    set_limits(options, &plan->load);
    set_connections(options, &plan->load);
    drop_idle_clients(options, plan);
    int code = rv_bench_urls_make(options, &urls, why);
    if (code == 0)
        code = make_from(options, &urls, plan, why);
    rv_bench_urls_free(&urls);
    return code;
}

void rv_bench_plan_free(struct rv_bench_plan *plan)
{
    uint64_t requests = (uint64_t)plan->load.request_count * plan->load.set_count;
    for (uint64_t i = 0; i < requests; i++)
        rv_request_free(&plan->load.requests[i]);
    free(plan->load.requests);
    rv_target_free(&plan->load.target);
    memset(plan, 0, sizeof *plan);
}
