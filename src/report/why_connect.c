/*
 * What happens on the way to a server (why_rules.h): no listener, no port, no descriptor, queues that
 * overflow. A queue that overflows shows itself three times: in the kernel's counters, in the queue's own
 * length, and in connects that take whole seconds.
 *
 * The grid of seconds: a SYN that gets no answer is sent again after 1 s, and then after 3, 7, 15 ... s from
 * the start. Since Linux 6.5 (tcp_syn_linear_timeouts, 4 by default) the first of these are a second apart:
 * after 1, 2, 3, 4, 5, then 7, 11 ... s. A connect that took one of these times plus a little was lost as
 * often as there are times before it.
 */
#include "report/why_rules.h"

#include "report/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GRID_EARLY_US 20000 /* clocks and histogram places are not exact */
#define GRID_LATE_US 400000 /* the answer's own time, and the client's to look at it */

static const uint32_t syn_grid_s[] = {1, 2, 3, 4, 5, 7, 11, 15, 19, 31, 35, 63, 67};

/* ---- nobody there ------------------------------------------------------------------------------------------ */

static uint64_t with_errno(const struct rv_load_result *result, enum rv_load_failure failure,
                           int error_number)
{
    for (uint32_t i = 0; i < result->errno_count && i < RV_LOAD_ERRNOS_MAX; i++)
        if (result->errnos[i].failure == failure && result->errnos[i].error_number == error_number)
            return result->errnos[i].count;
    return 0;
}

bool rv_why_refused(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t refused = result->failures[RV_FAILURE_CONNECT_REFUSED];
    const char *host = result->host == NULL ? "the server" : result->host;
    if (refused == 0)
        return false;
    if (with_errno(result, RV_FAILURE_CONNECT_REFUSED, ENOENT) == refused) {
        rv_finding_says(finding,
                        "No listener: %" PRIu64 " connects found no unix socket at the path.",
                        refused);
        return rv_finding_advises(finding, "Start the server, or check the path.");
    }
    if (result->connects == 0) {
        rv_finding_says(finding,
                        "No listener: all %" PRIu64
                        " connects to %s port %u were refused, nobody listens there.",
                        refused, host, result->port);
        if (result->end == RV_END_UNREACHED)
            rv_finding_adds(finding, " So the run was given up.");
        return rv_finding_advises(finding, "Start the server, or check host and port.");
    }
    rv_finding_says(finding,
                    "The listener was gone for a while: %" PRIu64
                    " connects to %s port %u were refused, %" PRIu64 " others were taken.",
                    refused, host, result->port, result->connects);
    return rv_finding_advises(finding, "See whether the server ended or was started again.");
}

bool rv_why_unreachable(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_UNREACHABLE];
    if (failed == 0)
        return false;
    rv_finding_says(finding, "No way to the host: %" PRIu64 " connects found it unreachable.",
                    failed);
    return rv_finding_advises(finding, "Check the address, the route and the firewall.");
}

/* ---- scarce here ------------------------------------------------------------------------------------------- */

bool rv_why_ports(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_evidence *evidence = &result->evidence;
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_PORTS];
    if (failed == 0)
        return false;
    if (result->connects == 0) {
        rv_finding_says(finding,
                        "No source address: all %" PRIu64
                        " connects found it was not to be had here (EADDRNOTAVAIL).",
                        failed);
        return rv_finding_advises(finding,
                                  "Give --source an address of this machine (`ip address`).");
    }
    rv_finding_says(finding,
                    "Source ports used up on this machine: %" PRIu64
                    " connects found none free (EADDRNOTAVAIL), with %" PRIu64
                    " connections open at the most",
                    failed, result->open_peak);
    if (evidence->port_last > 0)
        rv_finding_adds(finding,
                        "; net.ipv4.ip_local_port_range %" PRIu32 "-%" PRIu32 " gives %" PRIu32
                        " for each source address",
                        evidence->port_first, evidence->port_last,
                        evidence->port_last - evidence->port_first + 1);
    if (evidence->time_wait_after > 0)
        rv_finding_adds(finding, ", and %" PRIu32 " sockets were in TIME-WAIT at the end",
                        evidence->time_wait_after);
    rv_finding_adds(finding, ".");
    return rv_finding_advises(finding,
                              "Use more source addresses (--source 127.0.0.0/8 to this machine), "
                              "keep connections alive, or widen net.ipv4.ip_local_port_range.");
}

bool rv_why_descriptors_here(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_DESCRIPTORS];
    if (failed == 0)
        return false;
    rv_finding_says(finding,
                    "Descriptors used up in this process: %" PRIu64
                    " connects got none, with %" PRIu64
                    " connections open at the most and a limit of %" PRIu64 ".",
                    failed, result->open_peak, result->evidence.descriptor_limit);
    return rv_finding_advises(finding,
                              "Raise the limit (`ulimit -n`) or ask for fewer clients (-c).");
}

/* ---- scarce there ------------------------------------------------------------------------------------------ */

/* accept() fails for want of a descriptor: connections stay in the queue. */
bool rv_why_descriptors_there(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    if (!server->pid_known || server->descriptor_limit == 0 ||
        server->descriptors + 1 < server->descriptor_limit || server->queue_peak == 0)
        return false;
    rv_finding_says(finding,
                    "The server is out of descriptors: %s (pid %d) had %" PRIu32 " of %" PRIu64
                    " open, and connections waited in its accept queue (peak %" PRIu32
                    ", limit %" PRIu32 ").",
                    server->name, server->pid, server->descriptors, server->descriptor_limit,
                    server->queue_peak, server->backlog);
    return rv_finding_advises(
        finding,
        "Raise its limit before it starts (`ulimit -n`, or LimitNOFILE= of its systemd unit).");
}

/* ---- the accept queue ---------------------------------------------------------------------------------------- */

/* "1480 connects took 1 s, 212 took 3 s" */
static uint64_t tell_grid(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof syn_grid_s / sizeof *syn_grid_s; i++) {
        uint64_t at_us = syn_grid_s[i] * 1000000ull;
        uint64_t count =
            rv_hist_count_between(&result->connect, at_us - GRID_EARLY_US, at_us + GRID_LATE_US);
        if (count == 0)
            continue;
        rv_finding_adds(finding,
                        all == 0 ? " %" PRIu64 " connect%s took %" PRIu32 " s"
                                 : ", %" PRIu64 "%s took %" PRIu32 " s",
                        count, all == 0 ? rv_plural(count) : "", syn_grid_s[i]);
        all += count;
    }
    if (all > 0)
        rv_finding_adds(finding, ": when a dropped SYN is sent again");
    return all;
}

/* A connect that was believed done, and a request that was sent into the void: its first copy that arrives is
   the second, third ..., after 0.2, 0.6, 1.4, 3.0 s. */
static void tell_lost_acks(const struct rv_load_result *result, struct rv_finding *finding)
{
    static const uint64_t at_ms[] = {200, 600, 1400, 3000};
    uint64_t count = 0;
    for (size_t i = 0; i < sizeof at_ms / sizeof *at_ms; i++)
        count += rv_hist_count_between(&result->wait, at_ms[i] * 1000, at_ms[i] * 1100);
    if (count > 0)
        rv_finding_adds(finding,
                        " No connect waited, but %" PRIu64
                        " answer%s began 0.2, 0.6, 1.4 or 3 s late: the last ACK of the handshake "
                        "was dropped, and the request was sent again.",
                        count, rv_plural(count));
}

/* What the listener dropped that cannot have been the last ACK of a handshake that was put off until its
   data came (TCP_DEFER_ACCEPT): at most one for each connection. */
static int64_t drops_at_least(const struct rv_load_result *result)
{
    uint64_t drops = (uint64_t)result->evidence.server.queue_drops;
    uint64_t put_off = rv_counted(result, RV_KERNEL_DEFER_ACCEPT_DROP);
    if (put_off > result->connects)
        put_off = result->connects;
    return drops > put_off ? (int64_t)(drops - put_off) : 0;
}

static bool queue_overflowed(const struct rv_load_result *result)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    bool counted = rv_counted(result, RV_KERNEL_LISTEN_OVERFLOWS) > 0;
    if (!server->found || strncmp(server->address, "unix:", 5) == 0)
        return false;
    if (server->queue_drops < 0)
        return counted && server->queue_peak > server->backlog;
    if (server->queue_peak > server->backlog)
        return server->queue_drops > 0;
    return counted && drops_at_least(result) > 0;
}

static void advise_queue(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_evidence *evidence = &result->evidence;
    uint32_t backlog = evidence->server.backlog, most = evidence->somaxconn;
    if (most > 0 && backlog >= most)
        rv_finding_advises(finding,
                           "The backlog is what net.core.somaxconn allows (%" PRIu32
                           "): raise both, accept faster, or connect more slowly (--connect-rate).",
                           most);
    else
        rv_finding_advises(finding,
                           "Raise the backlog of listen() (now %" PRIu32
                           "; net.core.somaxconn allows %" PRIu32 "), or accept faster.",
                           backlog, most);
}

bool rv_why_accept_queue(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    if (!queue_overflowed(result))
        return false;
    rv_finding_says(finding, "Accept queue overflow: listener %s has a backlog of %" PRIu32,
                    server->address, server->backlog);
    if (server->sockets > 1)
        rv_finding_adds(finding, " (each of its %" PRIu32 " sockets)", server->sockets);
    if (server->queue_samples > 0)
        rv_finding_adds(finding,
                        ", the longest queue seen was %" PRIu32 " (full in %" PRIu64 " of %" PRIu64
                        " looks)",
                        server->queue_peak, server->queue_full_samples, server->queue_samples);
    if (result->evidence.has_counters)
        rv_finding_adds(finding,
                        ", and the kernel dropped %" PRIu64
                        " SYNs or last ACKs of handshakes (ListenDrops; ListenOverflows +%" PRIu64
                        ", TCPSynRetrans +%" PRIu64 ")",
                        rv_counted(result, RV_KERNEL_LISTEN_DROPS),
                        rv_counted(result, RV_KERNEL_LISTEN_OVERFLOWS),
                        rv_counted(result, RV_KERNEL_SYN_RETRANS));
    if (server->queue_drops >= 0)
        rv_finding_adds(finding, "; the listener's own drop counter rose by %" PRId64,
                        server->queue_drops);
    rv_finding_adds(finding, ".");
    if (tell_grid(result, finding) > 0)
        rv_finding_adds(finding, ".");
    else
        tell_lost_acks(result, finding);
    if (result->failures[RV_FAILURE_CONNECT_TIMEOUT] > 0)
        rv_finding_adds(finding, " %" PRIu64 " gave up before.",
                        result->failures[RV_FAILURE_CONNECT_TIMEOUT]);
    advise_queue(result, finding);
    return true;
}

/* A full unix listener lets nobody wait: connect() fails. */
bool rv_why_unix_queue(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    uint64_t failed = with_errno(result, RV_FAILURE_CONNECT_OTHER, EAGAIN);
    if (failed == 0 || !server->found || strncmp(server->address, "unix:", 5) != 0)
        return false;
    rv_finding_says(finding,
                    "Accept queue full: listener %s has a backlog of %" PRIu32
                    ", the longest queue seen was %" PRIu32 ", and %" PRIu64
                    " connects were turned away (EAGAIN).",
                    server->address, server->backlog, server->queue_peak, failed);
    advise_queue(result, finding);
    return true;
}

/* Its counters are the machine's. They speak of this listener when this run opened more connections than its
   queue takes, and no more SYNs were answered with cookies than it sent; and of what was dropped, when this
   listener dropped something. */
bool rv_why_syn_queue(const struct rv_load_result *result, struct rv_finding *finding)
{
    const struct rv_evidence *evidence = &result->evidence;
    const struct rv_server_evidence *server = &evidence->server;
    uint64_t dropped = rv_counted(result, RV_KERNEL_REQ_QUEUE_FULL_DROP);
    uint64_t cookies = rv_counted(result, RV_KERNEL_REQ_QUEUE_FULL_COOKIES);
    uint64_t sent = result->connects_tried + rv_counted(result, RV_KERNEL_SYN_RETRANS);
    uint64_t room =
        server->backlog < evidence->syn_backlog_max ? server->backlog : evidence->syn_backlog_max;
    if (!server->found || result->connects_tried <= room * server->sockets)
        return false;
    if (server->queue_drops == 0)
        dropped = 0;
    if (cookies > sent)
        cookies = 0;
    if (dropped + cookies == 0)
        return false;
    rv_finding_says(finding,
                    "SYN queue overflow: %" PRIu64
                    " SYNs were dropped (TCPReqQFullDrop) and %" PRIu64
                    " answered with a cookie (TCPReqQFullDoCookies), because more handshakes were "
                    "under way than listener %s may have (the lower of its backlog %" PRIu32
                    " and net.ipv4.tcp_max_syn_backlog %" PRIu32 ").",
                    dropped, cookies, server->address, server->backlog, evidence->syn_backlog_max);
    return rv_finding_advises(finding,
                              "Raise the backlog of listen() and net.ipv4.tcp_max_syn_backlog.");
}

/* What no queue here explains. */
bool rv_why_connect_timeouts(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_TIMEOUT];
    if (failed == 0 || queue_overflowed(result))
        return false;
    rv_finding_says(finding,
                    "Connects without an answer: %" PRIu64 " gave up, %" PRIu64
                    " others were opened (TCPSynRetrans +%" PRIu64 " on this machine).",
                    failed, result->connects, rv_counted(result, RV_KERNEL_SYN_RETRANS));
    return rv_finding_advises(
        finding, "%s",
        result->connects == 0
            ? "Look for a firewall that drops silently, or a wrong address."
            : "Look at the accept queue and the firewall on the server's machine.");
}
