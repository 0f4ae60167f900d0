/*
 * When the limit was on this side (why_rules.h): then the figures speak of the client.
 */
#include "report/why_rules.h"

#include "report/figures.h"

#include <inttypes.h>
#include <stdio.h>

#define THREAD_AT_LIMIT 0.9
#define SHORT_US 100000

bool rv_why_client_limited(const struct rv_load_result *result, struct rv_finding *finding)
{
    double busiest = rv_client_busiest(result), cpus = rv_server_cpus(result);
    const struct rv_evidence *evidence = &result->evidence;
    char server[RV_FIGURE_MAX];
    if (busiest < THREAD_AT_LIMIT || result->elapsed_us < SHORT_US)
        return false;
    rv_finding_says(finding,
                    "The client was at its limit: its busiest of %" PRIu32
                    " load thread%s was on a CPU %.0f %% of the time",
                    evidence->thread_count, rv_plural(evidence->thread_count), 100 * busiest);
    if (cpus >= 0) {
        rv_write_number(cpus, server);
        rv_finding_adds(finding,
                        ", while the server used %s of the %" PRIu32 " CPU%s that it may run on",
                        server, evidence->server.cpus, rv_plural(evidence->server.cpus));
    }
    rv_finding_adds(finding, ". The server may be faster than this.");
    return rv_finding_advises(finding, "%s",
                              evidence->thread_count < evidence->cpus_online
                                  ? "Use more threads (--threads), or another machine for the load."
                                  : "Use another machine for the load, or several.");
}

bool rv_why_few_clients(const struct rv_load_result *result, struct rv_finding *finding)
{
    char late[RV_FIGURE_MAX], rate[RV_FIGURE_MAX];
    if (!result->open_model || result->queued + result->not_started == 0)
        return false;
    rv_write_us(rv_hist_percentile(&result->lateness, 99), late);
    rv_write_number(result->rate_per_s, rate);
    rv_finding_says(finding,
                    "%s requests a second were more than %" PRIu32 " client%s could carry: %" PRIu64
                    " of %" PRIu64
                    " were due while all were busy and began late (p99 %s), and %" PRIu64
                    " never began.",
                    rate, result->clients, rv_plural(result->clients), result->queued, result->due,
                    late, result->not_started);
    return rv_finding_advises(finding, "Allow more clients; when that only makes the answers "
                                       "slower, the server does not reach this rate.");
}

bool rv_why_shared_cpus(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_evidence *evidence = &result->evidence;
    double client =
        result->elapsed_us == 0 ? 0 : (double)evidence->client_cpu_us / (double)result->elapsed_us;
    double server = rv_server_cpus(result);
    char used[2][RV_FIGURE_MAX];
    if (evidence->cpus_shared == 0 || server < 0 || result->elapsed_us < SHORT_US ||
        client + server < THREAD_AT_LIMIT * evidence->cpus_shared)
        return false;
    rv_write_number(client, used[0]);
    rv_write_number(server, used[1]);
    rv_finding_says(finding,
                    "Client and server took CPU time from each other: on the %" PRIu32
                    " CPU%s that they share, the client used %s and the server %s.",
                    evidence->cpus_shared, rv_plural(evidence->cpus_shared), used[0], used[1]);
    return rv_finding_advises(finding, "Give each its own: --cpus here, `taskset` there.");
}

bool rv_why_memory(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_MEMORY];
    uint64_t aborted = rv_counted(result, RV_KERNEL_ABORT_ON_MEMORY);
    if (failed + aborted == 0)
        return false;
    rv_finding_says(finding,
                    "Memory ran out on this machine: %" PRIu64
                    " requests failed for want of it, and the kernel cut %" PRIu64
                    " connections (TCPAbortOnMemory).",
                    failed, aborted);
    return rv_finding_advises(finding, "Ask for fewer clients, or raise net.ipv4.tcp_mem.");
}
