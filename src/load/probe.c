/*
 * The evidence around a run (probe.h): finds the sockets that answer at the target's address, keeps an eye
 * on their accept queues, and takes the differences of what the kernel and the server's processes count.
 * What is read from where is in kernel_counters.c, sock_diag.c and server_process.c.
 *
 * Which socket answers: the kernel prefers one that is bound to the very address over one that is bound to
 * all of them, and an IPv4 one over an IPv6 one that takes IPv4 connections, too. Those of the same rank
 * share the connections (SO_REUSEPORT).
 */
#include "load/probe.h"

#include "base/clock.h"
#include "io/address.h"
#include "load/kernel_counters.h"
#include "load/server_process.h"
#include "load/sock_diag.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS_MAX 1024 /* at one address; more are not looked at */
#define SELDOM_MS 100    /* between two looks at what changes slowly */

struct watched {
    struct rv_listener listener; /* as it was last seen */
    uint32_t drops_before;
};

struct rv_probe {
    int diag;                      /* -1: there is no sock_diag */
    struct rv_endpoint *addresses; /* owned */
    uint32_t address_count;
    bool local; /* one of them is this machine's: a server may appear there */

    struct watched *sockets; /* owned: room for SOCKETS_MAX */
    uint32_t socket_count;
    int rank; /* of `sockets`, while they are gathered */
    bool is_unix;
    bool is_gone;          /* the last look has found none of them */
    uint64_t lost_drops;   /* at sockets that are gone */
    uint64_t seldom_at_ms; /* when the next one is due */

    struct rv_server_processes processes;
    struct rv_kernel_state before;
    uint64_t own_cpu_us_before; /* of this process */
    struct rv_server_evidence server;
};

/* ---- who answers at an address --------------------------------------------------------------------------- */

enum rank { RANK_NONE, RANK_BOTH_FAMILIES, RANK_ANY, RANK_EXACT };

/* An IPv4 address in IPv6's notation is an IPv4 address, and "any" as a destination means this machine. */
static struct rv_endpoint plain(const struct rv_endpoint *endpoint)
{
    struct rv_endpoint result = *endpoint;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&endpoint->sockaddr;
    struct sockaddr_in *four = (struct sockaddr_in *)&result.sockaddr;
    if (six->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memset(&result, 0, sizeof result);
        four->sin_family = AF_INET;
        four->sin_port = six->sin6_port;
        memcpy(&four->sin_addr, &six->sin6_addr.s6_addr[12], sizeof four->sin_addr);
        result.length = sizeof *four;
    }
    if (four->sin_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY))
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (six->sin6_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
        ((struct sockaddr_in6 *)&result.sockaddr)->sin6_addr = in6addr_loopback;
    return result;
}

/* Only a machine's own address can be bound to. */
static bool is_here(const struct rv_endpoint *endpoint)
{
    struct sockaddr_storage name = endpoint->sockaddr;
    if (name.ss_family == AF_UNIX)
        return true;
    if (name.ss_family == AF_INET)
        ((struct sockaddr_in *)&name)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&name)->sin6_port = 0;
    int trial = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (trial < 0)
        return false;
    bool here = bind(trial, (struct sockaddr *)&name, endpoint->length) == 0;
    close(trial);
    return here;
}

static enum rank rank_four(const struct sockaddr_in *target, const struct rv_listener *listener)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)&listener->address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&listener->address;
    if (four->sin_family == AF_INET) {
        if (four->sin_addr.s_addr == target->sin_addr.s_addr)
            return RANK_EXACT;
        return four->sin_addr.s_addr == htonl(INADDR_ANY) ? RANK_ANY : RANK_NONE;
    }
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
        memcmp(&six->sin6_addr.s6_addr[12], &target->sin_addr, sizeof target->sin_addr) == 0)
        return RANK_EXACT;
    return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) && !listener->ipv6_only ? RANK_BOTH_FAMILIES
                                                                            : RANK_NONE;
}

static enum rank rank_six(const struct sockaddr_in6 *target, const struct rv_listener *listener)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&listener->address;
    if (six->sin6_family != AF_INET6)
        return RANK_NONE;
    if (IN6_ARE_ADDR_EQUAL(&six->sin6_addr, &target->sin6_addr))
        return RANK_EXACT;
    return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ? RANK_ANY : RANK_NONE;
}

/* By its name; or by its file, which may be reached by other paths than the one it was bound to. The kernel
   shows a device as it keeps it: twenty bits for the minor number. */
static enum rank rank_unix(const struct rv_endpoint *target, const struct rv_listener *listener)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&target->sockaddr;
    const struct sockaddr_un *shown = (const struct sockaddr_un *)&listener->address;
    struct stat file;
    if (name->sun_path[0] == '\0')
        return listener->length == target->length && memcmp(name, shown, listener->length) == 0
                   ? RANK_EXACT
                   : RANK_NONE;
    if (strncmp(name->sun_path, shown->sun_path, sizeof name->sun_path) == 0)
        return RANK_EXACT;
    if (listener->file_device == 0 || stat(name->sun_path, &file) != 0)
        return RANK_NONE;
    uint64_t device = (uint64_t)major(file.st_dev) << 20 | minor(file.st_dev);
    return listener->file_device == device && listener->file_inode == (uint32_t)file.st_ino
               ? RANK_EXACT
               : RANK_NONE;
}

static enum rank rank_of(const struct rv_endpoint *target, const struct rv_listener *listener)
{
    if (target->sockaddr.ss_family == AF_INET)
        return rank_four((const struct sockaddr_in *)&target->sockaddr, listener);
    if (target->sockaddr.ss_family == AF_INET6)
        return rank_six((const struct sockaddr_in6 *)&target->sockaddr, listener);
    return rank_unix(target, listener);
}

/* ---- finding them ------------------------------------------------------------------------------------------ */

struct search {
    struct rv_probe *probe;
    const struct rv_endpoint *target;
};

static void consider(const struct rv_listener *listener, void *ctx)
{
    struct search *search = ctx;
    struct rv_probe *probe = search->probe;
    int rank = (int)rank_of(search->target, listener);
    if (rank == RANK_NONE || rank < probe->rank)
        return;
    if (rank > probe->rank)
        probe->socket_count = 0;
    probe->rank = rank;
    if (probe->socket_count < SOCKETS_MAX)
        probe->sockets[probe->socket_count++] = (struct watched){.listener = *listener};
}

static void search_at(struct rv_probe *probe, const struct rv_endpoint *target)
{
    struct search search = {probe, target};
    int family = target->sockaddr.ss_family;
    probe->rank = RANK_NONE;
    probe->socket_count = 0;
    if (family == AF_UNIX) {
        rv_diag_each_unix(probe->diag, consider, &search);
        return;
    }
    uint16_t port =
        ntohs(family == AF_INET ? ((const struct sockaddr_in *)&target->sockaddr)->sin_port
                                : ((const struct sockaddr_in6 *)&target->sockaddr)->sin6_port);
    if (family == AF_INET)
        rv_diag_each_tcp(probe->diag, AF_INET, port, consider, &search);
    rv_diag_each_tcp(probe->diag, AF_INET6, port, consider, &search);
}

static void describe(struct rv_probe *probe)
{
    struct rv_server_evidence *server = &probe->server;
    const struct rv_listener *first = &probe->sockets[0].listener;
    char text[RV_ADDRESS_TEXT_MAX];
    rv_address_format((const struct sockaddr *)&first->address, first->length, text, sizeof text);
    text[sizeof server->address - 1] = '\0';
    memcpy(server->address, text, sizeof server->address);
    probe->is_unix = first->address.ss_family == AF_UNIX;
    server->found = true;
    server->sockets = probe->socket_count;
    server->backlog = 0;
    for (uint32_t i = 0; i < probe->socket_count; i++)
        if (probe->sockets[i].listener.backlog > server->backlog)
            server->backlog = probe->sockets[i].listener.backlog;
}

static void find_processes(struct rv_probe *probe, bool run_began)
{
    uint32_t inodes[SOCKETS_MAX];
    for (uint32_t i = 0; i < probe->socket_count; i++)
        inodes[i] = probe->sockets[i].listener.inode;
    rv_processes_find(&probe->processes, inodes, probe->socket_count, run_began);
    rv_processes_tell(&probe->processes, &probe->server);
}

static uint64_t drops_of(const struct rv_probe *probe)
{
    uint64_t drops = probe->lost_drops;
    for (uint32_t i = 0; i < probe->socket_count; i++)
        drops += probe->sockets[i].listener.drops - probe->sockets[i].drops_before;
    return drops;
}

/* Sockets that were opened while the run went on have dropped nothing before it. */
static void discover(struct rv_probe *probe, bool run_began)
{
    probe->lost_drops = drops_of(probe);
    probe->socket_count = 0;
    for (uint32_t i = 0; i < probe->address_count && probe->socket_count == 0; i++) {
        struct rv_endpoint target = plain(&probe->addresses[i]);
        if (!is_here(&target))
            continue;
        probe->local = true;
        search_at(probe, &target);
    }
    probe->is_gone = probe->socket_count == 0;
    if (probe->is_gone)
        return;
    for (uint32_t i = 0; i < probe->socket_count && !run_began; i++)
        probe->sockets[i].drops_before = probe->sockets[i].listener.drops;
    describe(probe);
    find_processes(probe, run_began);
}

static uint64_t own_cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

struct rv_probe *rv_probe_new(const struct rv_load_target *target)
{
    struct rv_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL)
        return NULL;
    probe->diag = -1;
    probe->sockets = calloc(SOCKETS_MAX, sizeof *probe->sockets);
    probe->addresses = calloc(target->address_count + 1, sizeof *probe->addresses);
    if (probe->sockets == NULL || probe->addresses == NULL) {
        rv_probe_free(probe);
        return NULL;
    }
    probe->address_count = target->address_count;
    for (uint32_t i = 0; i < target->address_count; i++)
        probe->addresses[i] = target->addresses[i];
    probe->diag = rv_diag_open();
    rv_processes_watch(&probe->processes);
    if (probe->diag >= 0)
        discover(probe, false);
    rv_kernel_read(&probe->before);
    probe->own_cpu_us_before = own_cpu_us();
    probe->seldom_at_ms = rv_clock_monotonic_ms() + SELDOM_MS;
    return probe;
}

/* ---- looking -------------------------------------------------------------------------------------------------- */

static void see_again(const struct rv_listener *listener, void *ctx)
{
    struct rv_probe *probe = ctx;
    for (uint32_t i = 0; i < probe->socket_count; i++) {
        if (probe->sockets[i].listener.inode == listener->inode) {
            probe->sockets[i].listener = *listener;
            probe->is_gone = false;
            return;
        }
    }
}

static void look(struct rv_probe *probe)
{
    struct rv_listener *first = &probe->sockets[0].listener;
    probe->is_gone = true;
    for (uint32_t i = 0; i < probe->socket_count; i++)
        probe->sockets[i].listener.queue = 0; /* of one that is gone */
    if (probe->socket_count == 1 && rv_diag_again(probe->diag, first))
        probe->is_gone = false;
    else if (first->address.ss_family == AF_UNIX)
        rv_diag_each_unix(probe->diag, see_again, probe);
    else
        rv_diag_each_tcp(probe->diag, first->address.ss_family,
                         ntohs(((const struct sockaddr_in *)&first->address)->sin_port), see_again,
                         probe);
}

static void note_queues(struct rv_probe *probe)
{
    bool full = false;
    for (uint32_t i = 0; i < probe->socket_count; i++) {
        const struct rv_listener *listener = &probe->sockets[i].listener;
        full = full || listener->queue > listener->backlog;
        if (listener->queue > probe->server.queue_peak)
            probe->server.queue_peak = listener->queue;
    }
    probe->server.queue_samples++;
    probe->server.queue_full_samples += full;
}

void rv_probe_sample(struct rv_probe *probe)
{
    if (probe->diag < 0)
        return;
    if (probe->socket_count > 0)
        look(probe);
    if (probe->socket_count > 0 && !probe->is_gone)
        note_queues(probe);
    uint64_t now_ms = rv_clock_monotonic_ms();
    if (now_ms < probe->seldom_at_ms)
        return;
    probe->seldom_at_ms = now_ms + SELDOM_MS;
    if (probe->is_gone && probe->local)
        discover(probe, true);
    rv_processes_look_at_descriptors(&probe->processes);
    rv_processes_look_at_cpu(&probe->processes);
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

bool rv_probe_server_cpus(const struct rv_probe *probe, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    rv_processes_cpus(&probe->processes, cpus);
    return CPU_COUNT(cpus) > 0;
}

uint32_t rv_probe_cpus_shared(const struct rv_probe *probe, const cpu_set_t *cpus)
{
    cpu_set_t server, shared;
    if (!rv_probe_server_cpus(probe, &server))
        return 0;
    CPU_AND(&shared, &server, cpus);
    return (uint32_t)CPU_COUNT(&shared);
}

const struct rv_server_evidence *rv_probe_server(const struct rv_probe *probe)
{
    return &probe->server;
}

/* What the rest of the machine did. A server that is here but cannot be looked at cannot be taken off. */
static int64_t other_cpu_us(const struct rv_probe *probe, const struct rv_kernel_state *after,
                            uint64_t own_us)
{
    const struct rv_server_evidence *server = &probe->server;
    if (after->busy_us == 0 || (server->found && !server->pid_known))
        return -1;
    int64_t other = (int64_t)(after->busy_us - probe->before.busy_us) - (int64_t)own_us -
                    (int64_t)server->cpu_us;
    return other < 0 ? 0 : other;
}

/* First what goes on counting while one looks: CPU time, then the kernel's counters. */
void rv_probe_finish(struct rv_probe *probe, struct rv_evidence *evidence)
{
    struct rv_kernel_state after;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    rv_processes_look_at_cpu(&probe->processes);
    uint64_t own_us = own_cpu_us() - probe->own_cpu_us_before;
    rv_kernel_read(&after);
    if (probe->socket_count > 0)
        look(probe);
    if (probe->server.found) {
        rv_processes_look_at_descriptors(&probe->processes);
        rv_processes_look_at_threads(&probe->processes);
        find_processes(probe, true);
        probe->server.queue_drops = probe->is_unix ? -1 : (int64_t)drops_of(probe);
    }
    rv_kernel_difference(&probe->before, &after, evidence);
    rv_kernel_limits(evidence);
    evidence->server = probe->server;
    evidence->other_cpu_us = other_cpu_us(probe, &after, own_us);
    evidence->cpus_online = online > 0 ? (uint32_t)online : 1;
}

void rv_probe_free(struct rv_probe *probe)
{
    if (probe == NULL)
        return;
    if (probe->diag >= 0)
        close(probe->diag);
    rv_processes_free(&probe->processes);
    free(probe->addresses);
    free(probe->sockets);
    free(probe);
}
