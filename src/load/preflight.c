/*
 * The check before a run (preflight.h). Two things make a run impossible: too few descriptors and too few
 * source ports. The rest is said and the run goes on: a full accept queue may be just what is looked for.
 */
#include "load/preflight_inner.h"

#include "load/proc_file.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS_OF_A_THREAD 3 /* its loop: epoll, wake-up, timer */
#define DESCRIPTORS_SPARE 8       /* the probe's, and files that are open for a moment */
#define TIME_WAIT_S 60            /* TCP_TIMEWAIT_LEN */
#define REUSE_AFTER_S 1           /* a port in TIME-WAIT, where tcp_tw_reuse lets it */

/* ---- notes ------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void note(struct rv_preflight *preflight,
                                                       const char *format, ...)
{
    va_list arguments;
    if (preflight->note_count == RV_NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(preflight->notes[preflight->note_count++], RV_NOTE_MAX, format, arguments);
    va_end(arguments);
}

/* ---- descriptors -------------------------------------------------------------------------------------------- */

/* No more are opened at a time than there are requests. */
static uint32_t connections_of(const struct rv_load_plan *plan)
{
    bool few = plan->requests_max > 0 && plan->requests_max < plan->clients;
    return few ? (uint32_t)plan->requests_max : plan->clients;
}

static void judge_descriptors(const struct rv_load_plan *plan, const struct rv_machine *machine,
                              struct rv_preflight *preflight)
{
    uint64_t beside = machine->descriptors_open + DESCRIPTORS_SPARE +
                      (uint64_t)plan->threads * DESCRIPTORS_OF_A_THREAD;
    uint32_t clients = connections_of(plan);
    uint64_t needed = clients + beside, limit = machine->descriptor_limit;
    if (limit == 0 || needed <= limit)
        return;
    preflight->refused = true;
    if (limit > beside)
        note(preflight,
             "%" PRIu32 " client%s: needs %" PRIu64 " descriptors, the limit is %" PRIu64
             ": run with -c %" PRIu64 ", or raise it with `ulimit -n %" PRIu64 "`",
             clients, clients == 1 ? "" : "s", needed, limit, limit - beside, needed);
    else
        note(preflight,
             "%" PRIu32 " client%s: needs %" PRIu64 " descriptors, the limit is %" PRIu64
             ": raise it with `ulimit -n %" PRIu64 "`",
             clients, clients == 1 ? "" : "s", needed, limit, needed);
}

/* ---- source ports --------------------------------------------------------------------------------------------- */

static bool is_tcp(const struct rv_load_plan *plan)
{
    return plan->target.address_count > 0 &&
           plan->target.addresses[0].sockaddr.ss_family != AF_UNIX;
}

static bool is_loopback(const struct rv_endpoint *endpoint)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)&endpoint->sockaddr;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&endpoint->sockaddr;
    if (four->sin_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return four->sin_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static uint64_t source_addresses(const struct rv_load_plan *plan)
{
    return plan->target.source.first.length == 0 || plan->target.source.count == 0
               ? 1
               : plan->target.source.count;
}

static const char *address_text(const struct rv_endpoint *endpoint, char *text, socklen_t size)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)&endpoint->sockaddr;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&endpoint->sockaddr;
    const void *address =
        four->sin_family == AF_INET ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr;
    return inet_ntop(four->sin_family, address, text, size) == NULL ? "?" : text;
}

static bool any_address_of_family(const struct rv_load_plan *plan, int family)
{
    for (uint32_t i = 0; i < plan->target.address_count; i++)
        if (plan->target.addresses[i].sockaddr.ss_family == family)
            return true;
    return false;
}

static void judge_source(const struct rv_load_plan *plan, const struct rv_machine *machine,
                         struct rv_preflight *preflight)
{
    const struct rv_source_range *source = &plan->target.source;
    char text[INET6_ADDRSTRLEN];
    if (source->first.length == 0)
        return;
    address_text(&source->first, text, sizeof text);
    int family = source->first.sockaddr.ss_family;
    if (!any_address_of_family(plan, family)) {
        preflight->refused = true;
        note(preflight, "source address %s is IPv%d, the server's is not: give one of its kind",
             text, family == AF_INET ? 4 : 6);
    } else if (machine->source_is_elsewhere) {
        preflight->refused = true;
        note(preflight,
             source->count > 1
                 ? "source addresses from %s on are not all this machine's: `ip address` lists "
                   "those that are"
                 : "source address %s is not this machine's: `ip address` lists those that are",
             text);
    }
}

static void judge_ports(const struct rv_load_plan *plan, const struct rv_machine *machine,
                        struct rv_preflight *preflight)
{
    uint32_t clients = connections_of(plan);
    uint64_t each = machine->port_last - machine->port_first + 1;
    uint64_t addresses = source_addresses(plan), ports = each * addresses;
    uint64_t wanted = (clients + each - 1) / each;
    bool here = is_loopback(&plan->target.addresses[0]) &&
                plan->target.addresses[0].sockaddr.ss_family == AF_INET;
    char sources[96];
    if (clients <= ports)
        return;
    if (here)
        snprintf(sources, sizeof sources, "--source 127.0.0.0/8 (of ab: -B)");
    else
        snprintf(sources, sizeof sources,
                 "--source (of ab: -B) and %" PRIu64 " addresses of this machine", wanted);
    preflight->refused = true;
    note(preflight,
         "%" PRIu32 " clients need as many source ports, there are %" PRIu64 " (%" PRIu64
         " source address%s, net.ipv4.ip_local_port_range %" PRIu32 "-%" PRIu32
         "): run with -c %" PRIu64 ", or with %s",
         clients, ports, addresses, addresses == 1 ? "" : "es", machine->port_first,
         machine->port_last, ports, sources);
}

/* How many connections a run will open in a second, by its plan; 0: as many as it can. */
static double connects_per_s(const struct rv_load_plan *plan)
{
    double rate = plan->model == RV_LOAD_OPEN ? plan->rate_per_s : 0;
    if (rate > 0 && plan->requests_per_connection > 1 && !plan->close_each)
        rate /= (double)plan->requests_per_connection;
    if (plan->connect_rate_per_s > 0 && (rate == 0 || plan->connect_rate_per_s < rate))
        rate = plan->connect_rate_per_s;
    return rate;
}

/* The most connections that a run can open; UINT64_MAX: there is no end to it. */
static uint64_t connects_max(const struct rv_load_plan *plan)
{
    uint64_t each = plan->close_each ? 1 : plan->requests_per_connection;
    uint64_t requests = plan->requests_max;
    if (requests == 0 && plan->quota > 0)
        requests = plan->quota * plan->clients;
    return requests == 0 ? UINT64_MAX : requests / (each == 0 ? 1 : each);
}

/* A connection that the client closes first keeps its source port for a while. */
static void judge_time_wait(const struct rv_load_plan *plan, const struct rv_machine *machine,
                            struct rv_preflight *preflight)
{
    bool reused = machine->time_wait_reuse == 1 ||
                  (machine->time_wait_reuse == 2 && is_loopback(&plan->target.addresses[0]));
    uint64_t hold_s = reused ? REUSE_AFTER_S : TIME_WAIT_S;
    uint64_t ports = (machine->port_last - machine->port_first + 1) * source_addresses(plan);
    double rate = connects_per_s(plan);
    if (!plan->close_each && plan->requests_per_connection == 0)
        return;
    if (rate > 0 && rate * (double)hold_s > (double)ports)
        note(preflight,
             "%.0f connections a second, each in TIME-WAIT for %" PRIu64
             " s when the client closes first, need %.0f source ports; there are %" PRIu64
             ": run with %s %" PRIu64 ", or more --source addresses",
             rate, hold_s, rate * (double)hold_s, ports,
             plan->model == RV_LOAD_OPEN ? "--rate" : "--connect-rate", ports / hold_s);
    else if (rate == 0 && !reused && connects_max(plan) > ports)
        note(preflight,
             "a source port stays in TIME-WAIT for %" PRIu64
             " s when the client closes first: the %" PRIu64 " ports here allow %" PRIu64
             " connections a second in the long run (rate x %" PRIu64
             " s); more --source addresses allow more",
             hold_s, ports, ports / hold_s, hold_s);
}

/* ---- the server ------------------------------------------------------------------------------------------------- */

static void judge_queue(const struct rv_load_plan *plan, const struct rv_machine *machine,
                        const struct rv_server_evidence *server, struct rv_preflight *preflight)
{
    uint32_t clients = connections_of(plan);
    uint64_t room = ((uint64_t)server->backlog + 1) * server->sockets;
    bool at_once = plan->model == RV_LOAD_CLOSED && plan->connect_rate_per_s == 0;
    if (!at_once || clients <= room)
        return;
    note(preflight,
         "%" PRIu32 " clients connect at once, the accept queue of %s holds %" PRIu64
         " (listen backlog %" PRIu32 "%s): %s; --connect-rate spreads them",
         clients, server->address, room, server->backlog,
         server->backlog == machine->somaxconn ? ", which is net.core.somaxconn" : "",
         is_tcp(plan) ? "what it cannot take is dropped and tried again after a second or more"
                      : "what it cannot take is refused");
}

static void judge_server_descriptors(const struct rv_load_plan *plan,
                                     const struct rv_server_evidence *server,
                                     struct rv_preflight *preflight)
{
    uint32_t clients = connections_of(plan);
    uint64_t limit = server->descriptor_limit * (uint64_t)server->processes;
    if (!server->pid_known || limit == 0 || clients + (uint64_t)server->descriptors <= limit)
        return;
    note(preflight,
         "%" PRIu32 " clients, but the server (%s, pid %d) may have only %" PRIu64
         " descriptors open and has %" PRIu32 ": raise its limit (`ulimit -n`) before it starts",
         clients, server->name, server->pid, limit, server->descriptors);
}

static void judge_cpus(const struct rv_load_plan *plan, const struct rv_machine *machine,
                       struct rv_preflight *preflight)
{
    if (machine->cpus_shared > 0)
        note(preflight,
             "the load threads share %" PRIu32 " of their %" PRIu32
             " CPUs with the server: part them with --cpus and `taskset`",
             machine->cpus_shared, machine->cpus);
    if (machine->cpus > 0 && plan->threads > machine->cpus)
        note(preflight,
             "%u threads on %" PRIu32 " CPUs: they take turns; run with --threads %" PRIu32,
             plan->threads, machine->cpus, machine->cpus);
}

void rv_preflight_judge(const struct rv_load_plan *plan, const struct rv_machine *machine,
                        const struct rv_server_evidence *server, struct rv_preflight *preflight)
{
    memset(preflight, 0, sizeof *preflight);
    bool ports_matter = is_tcp(plan) && machine->port_last > machine->port_first;
    judge_descriptors(plan, machine, preflight);
    if (is_tcp(plan))
        judge_source(plan, machine, preflight);
    if (ports_matter)
        judge_ports(plan, machine, preflight);
    if (ports_matter && !preflight->refused)
        judge_time_wait(plan, machine, preflight);
    if (server != NULL && server->found) {
        judge_queue(plan, machine, server, preflight);
        judge_server_descriptors(plan, server, preflight);
    }
    judge_cpus(plan, machine, preflight);
}

/* ---- this machine ------------------------------------------------------------------------------------------------- */

static uint64_t raised_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

static uint64_t count_open(void)
{
    uint64_t count = 0;
    DIR *entries = opendir("/proc/self/fd");
    if (entries == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count - 1; /* the one that was read from */
}

/* Only a machine's own address can be bound to. */
static bool is_elsewhere(const struct rv_endpoint *address)
{
    int trial = socket(address->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (trial < 0)
        return false;
    bool bound = bind(trial, (const struct sockaddr *)&address->sockaddr, address->length) == 0;
    bool elsewhere = !bound && errno == EADDRNOTAVAIL;
    close(trial);
    return elsewhere;
}

/* The first and the last one stand for all. */
static bool source_is_elsewhere(const struct rv_source_range *source)
{
    if (source->first.length == 0)
        return false;
    struct rv_endpoint last = rv_source_nth(source, source->count == 0 ? 0 : source->count - 1);
    return is_elsewhere(&source->first) || is_elsewhere(&last);
}

void rv_machine_look(const struct rv_load_plan *plan, const struct rv_probe *probe,
                     struct rv_machine *machine)
{
    cpu_set_t cpus = plan->cpus;
    memset(machine, 0, sizeof *machine);
    machine->descriptor_limit = raised_descriptor_limit();
    machine->descriptors_open = count_open();
    rv_proc_port_range(&machine->port_first, &machine->port_last);
    machine->source_is_elsewhere = source_is_elsewhere(&plan->target.source);
    machine->time_wait_reuse = (uint32_t)rv_proc_number("/proc/sys/net/ipv4/tcp_tw_reuse", 0);
    machine->somaxconn = (uint32_t)rv_proc_number("/proc/sys/net/core/somaxconn", 0);
    if (CPU_COUNT(&cpus) == 0 && sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return;
    machine->cpus = (uint32_t)CPU_COUNT(&cpus);
    machine->cpus_shared = probe == NULL ? 0 : rv_probe_cpus_shared(probe, &cpus);
}

void rv_preflight_check(const struct rv_load_plan *plan, const struct rv_probe *probe,
                        struct rv_preflight *preflight)
{
    struct rv_machine machine;
    rv_machine_look(plan, probe, &machine);
    rv_preflight_judge(plan, &machine, probe == NULL ? NULL : rv_probe_server(probe), preflight);
}
