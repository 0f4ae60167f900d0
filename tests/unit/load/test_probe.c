/*
 * Facts about the probe, with real listening sockets and processes: what it finds, what it counts, and that
 * it finds nothing where there is nothing.
 */
#include "load/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- sockets ------------------------------------------------------------------------------------------- */

static struct rv_endpoint endpoint_of(const char *ip, uint16_t port)
{
    struct rv_endpoint endpoint = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&endpoint.sockaddr;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&endpoint.sockaddr;
    if (strchr(ip, ':') == NULL) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        assert_int_equal(inet_pton(AF_INET, ip, &four->sin_addr), 1);
        endpoint.length = sizeof *four;
    } else {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        assert_int_equal(inet_pton(AF_INET6, ip, &six->sin6_addr), 1);
        endpoint.length = sizeof *six;
    }
    return endpoint;
}

static struct rv_endpoint unix_endpoint(const char *path)
{
    struct rv_endpoint endpoint = {0};
    struct sockaddr_un *name = (struct sockaddr_un *)&endpoint.sockaddr;
    name->sun_family = AF_UNIX;
    snprintf(name->sun_path, sizeof name->sun_path, "%s", path);
    endpoint.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) +
                                  (path[0] == '@' ? 0 : 1));
    if (path[0] == '@')
        name->sun_path[0] = '\0';
    return endpoint;
}

struct listening {
    bool reuse_port;
    bool ipv6_only;
};

/* A listening socket at that address; port 0 is replaced by the real one. */
static int listen_at(struct rv_endpoint *endpoint, int backlog, struct listening how)
{
    const int yes = 1, only = how.ipv6_only;
    int listener = socket(endpoint->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    if (how.reuse_port)
        setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (endpoint->sockaddr.ss_family == AF_INET6)
        setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    assert_int_equal(bind(listener, (struct sockaddr *)&endpoint->sockaddr, endpoint->length), 0);
    assert_int_equal(listen(listener, backlog), 0);
    getsockname(listener, (struct sockaddr *)&endpoint->sockaddr, &endpoint->length);
    return listener;
}

static uint16_t port_of(const struct rv_endpoint *endpoint)
{
    return ntohs(((const struct sockaddr_in *)&endpoint->sockaddr)->sin_port);
}

/* Starts `count` connections, and does not wait for those that get no answer. */
static void connect_many(const struct rv_endpoint *endpoint, int *clients, int count)
{
    for (int i = 0; i < count; i++) {
        clients[i] = socket(endpoint->sockaddr.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(clients[i] >= 0);
        connect(clients[i], (const struct sockaddr *)&endpoint->sockaddr, endpoint->length);
    }
}

static void close_many(const int *descriptors, int count)
{
    for (int i = 0; i < count; i++)
        close(descriptors[i]);
}

/* ---- probes --------------------------------------------------------------------------------------------- */

static struct rv_probe *probe_at(const struct rv_endpoint *endpoint)
{
    struct rv_endpoint address = *endpoint;
    struct rv_load_target target = {.addresses = &address, .address_count = 1};
    struct rv_probe *probe = rv_probe_new(&target);
    assert_non_null(probe);
    return probe;
}

/* A sample that looks at what changes slowly, too. */
static void look_seldom(struct rv_probe *probe)
{
    usleep(101000);
    rv_probe_sample(probe);
}

static struct rv_evidence finished(struct rv_probe *probe)
{
    struct rv_evidence evidence = {0};
    rv_probe_finish(probe, &evidence);
    rv_probe_free(probe);
    return evidence;
}

static struct rv_server_evidence server_at(const struct rv_endpoint *endpoint)
{
    return finished(probe_at(endpoint)).server;
}

static void expect_nobody(const struct rv_server_evidence *server)
{
    const struct rv_server_evidence nobody = {0};
    assert_memory_equal(server, &nobody, sizeof nobody);
}

/* ---- the accept queue ------------------------------------------------------------------------------------ */

static void an_accept_queue_shows_its_peak_and_its_limit(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int clients[5], listener = listen_at(&here, 4, (struct listening){0});
    char address[64];
    struct rv_probe *probe = probe_at(&here);
    snprintf(address, sizeof address, "127.0.0.1:%u", port_of(&here));
    assert_true(rv_probe_server(probe)->found);
    assert_int_equal(rv_probe_server(probe)->backlog, 4);
    connect_many(&here, clients, 3);
    rv_probe_sample(probe);
    assert_int_equal(rv_probe_server(probe)->queue_peak, 3);
    connect_many(&here, clients + 3, 2);
    rv_probe_sample(probe);
    for (int i = 0; i < 5; i++)
        close(accept(listener, NULL, NULL));
    rv_probe_sample(probe);
    struct rv_server_evidence server = finished(probe).server;
    assert_int_equal(server.queue_peak, 5);
    assert_int_equal(server.backlog, 4);
    assert_int_equal(server.queue_samples, 3);
    assert_int_equal(server.queue_full_samples, 1);
    assert_int_equal(server.queue_drops, 0);
    assert_int_equal(server.sockets, 1);
    assert_string_equal(server.address, address);
    close_many(clients, 5);
    close(listener);
}

static void what_a_full_queue_drops_is_counted(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int clients[8], listener = listen_at(&here, 4, (struct listening){0});
    struct rv_probe *probe = probe_at(&here);
    connect_many(&here, clients, 8);
    rv_probe_sample(probe);
    struct rv_evidence evidence = finished(probe);
    assert_int_equal(evidence.server.queue_peak, 5);
    assert_in_range(evidence.server.queue_drops, 3, 9); /* after a second they are sent again */
    assert_true(evidence.has_counters);
    assert_true(evidence.counters[RV_KERNEL_LISTEN_OVERFLOWS] >= 3);
    assert_true(evidence.counters[RV_KERNEL_LISTEN_DROPS] >= 3);
    /* What was dropped before is not this run's. */
    assert_int_equal(server_at(&here).queue_drops, 0);
    close_many(clients, 8);
    close(listener);
}

static void an_overflow_at_another_socket_is_not_this_ones(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0), other = endpoint_of("127.0.0.1", 0);
    int listeners[2] = {listen_at(&here, 4, (struct listening){0}),
                        listen_at(&other, 1, (struct listening){0})};
    int clients[6];
    struct rv_probe *probe = probe_at(&here);
    connect_many(&other, clients, 6);
    rv_probe_sample(probe);
    struct rv_evidence evidence = finished(probe);
    assert_int_equal(evidence.server.queue_drops, 0);
    assert_int_equal(evidence.server.queue_peak, 0);
    assert_true(evidence.counters[RV_KERNEL_LISTEN_OVERFLOWS] >= 4);
    close_many(clients, 6);
    close_many(listeners, 2);
}

static void two_sockets_at_one_address_are_both_watched(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    const struct listening shared = {.reuse_port = true};
    int listeners[2], clients[12], queued[2] = {0};
    listeners[0] = listen_at(&here, 64, shared);
    listeners[1] = listen_at(&here, 64, shared);
    struct rv_probe *probe = probe_at(&here);
    connect_many(&here, clients, 12);
    rv_probe_sample(probe);
    struct rv_server_evidence server = finished(probe).server;
    for (int i = 0; i < 2; i++) {
        fcntl(listeners[i], F_SETFL, O_NONBLOCK);
        for (int taken; (taken = accept(listeners[i], NULL, NULL)) >= 0; queued[i]++)
            close(taken);
    }
    assert_int_equal(queued[0] + queued[1], 12);
    assert_int_equal(server.sockets, 2);
    assert_int_equal(server.backlog, 64);
    assert_int_equal(server.queue_peak, queued[0] > queued[1] ? queued[0] : queued[1]);
    assert_int_equal(server.queue_samples, 1);
    close_many(clients, 12);
    close_many(listeners, 2);
}

/* ---- which socket answers ------------------------------------------------------------------------------- */

static void nobody_is_found_at_a_free_port(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    close(listen_at(&here, 4, (struct listening){0}));
    struct rv_probe *probe = probe_at(&here);
    cpu_set_t cpus;
    look_seldom(probe);
    assert_false(rv_probe_server_cpus(probe, &cpus));
    sched_getaffinity(0, sizeof cpus, &cpus);
    assert_int_equal(rv_probe_cpus_shared(probe, &cpus), 0);
    struct rv_evidence evidence = finished(probe);
    expect_nobody(&evidence.server);
    assert_true(evidence.has_counters);
    assert_true(evidence.somaxconn > 0);
    assert_true(evidence.cpus_online > 0);
}

static void a_socket_at_all_addresses_serves_each_of_them(void **state)
{
    (void)state;
    struct rv_endpoint any = endpoint_of("0.0.0.0", 0);
    int listener = listen_at(&any, 9, (struct listening){0});
    struct rv_endpoint loopback = endpoint_of("127.0.0.1", port_of(&any));
    struct rv_endpoint other = endpoint_of("127.1.2.3", port_of(&any));
    assert_int_equal(server_at(&loopback).backlog, 9);
    assert_int_equal(server_at(&other).backlog, 9);
    assert_int_equal(server_at(&any).backlog, 9);
    assert_memory_equal(server_at(&other).address, "0.0.0.0:", 8);
    close(listener);
}

static void a_socket_at_all_addresses_is_not_another_machine(void **state)
{
    (void)state;
    struct rv_endpoint any = endpoint_of("0.0.0.0", 0);
    int listener = listen_at(&any, 9, (struct listening){0});
    struct rv_endpoint elsewhere = endpoint_of("192.0.2.1", port_of(&any));
    struct rv_server_evidence server = server_at(&elsewhere);
    expect_nobody(&server);
    close(listener);
}

static void the_socket_at_the_very_address_comes_first(void **state)
{
    (void)state;
    struct rv_endpoint any = endpoint_of("0.0.0.0", 0);
    const struct listening shared = {.reuse_port = true};
    int listeners[2] = {listen_at(&any, 9, shared), -1};
    struct rv_endpoint loopback = endpoint_of("127.0.0.1", port_of(&any));
    struct rv_endpoint other = endpoint_of("127.1.2.3", port_of(&any));
    listeners[1] = listen_at(&loopback, 5, shared);
    assert_int_equal(server_at(&loopback).backlog, 5);
    assert_int_equal(server_at(&loopback).sockets, 1);
    assert_int_equal(server_at(&other).backlog, 9);
    close_many(listeners, 2);
}

static void an_ipv6_socket_serves_ipv4_unless_it_says_otherwise(void **state)
{
    (void)state;
    for (int only = 0; only < 2; only++) {
        struct rv_endpoint any = endpoint_of("::", 0);
        int client, listener = listen_at(&any, 7, (struct listening){.ipv6_only = only == 1});
        struct rv_endpoint four = endpoint_of("127.0.0.1", port_of(&any));
        struct rv_endpoint six = endpoint_of("::1", port_of(&any));
        struct rv_endpoint mapped = endpoint_of("::ffff:127.0.0.1", port_of(&any));
        assert_int_equal(server_at(&four).found, only == 0);
        assert_int_equal(server_at(&mapped).found, only == 0);
        assert_int_equal(server_at(&six).backlog, 7);
        struct rv_probe *probe = probe_at(&six);
        connect_many(&six, &client, 1);
        rv_probe_sample(probe);
        assert_int_equal(finished(probe).server.queue_peak, 1);
        close(client);
        close(listener);
    }
}

static void an_ipv4_socket_does_not_serve_ipv6(void **state)
{
    (void)state;
    struct rv_endpoint four = endpoint_of("0.0.0.0", 0);
    int listener = listen_at(&four, 7, (struct listening){0});
    struct rv_endpoint six = endpoint_of("::1", port_of(&four));
    struct rv_server_evidence server = server_at(&six);
    expect_nobody(&server);
    close(listener);
}

static void a_connected_socket_is_no_listener(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int client, listener = listen_at(&here, 7, (struct listening){0});
    connect_many(&here, &client, 1);
    int accepted = accept(listener, NULL, NULL);
    close(listener);
    struct rv_server_evidence server = server_at(&here);
    expect_nobody(&server);
    close(accepted);
    close(client);
}

static void the_second_address_is_looked_at_when_the_first_has_nobody(void **state)
{
    (void)state;
    struct rv_endpoint four = endpoint_of("127.0.0.1", 0);
    int listener = listen_at(&four, 7, (struct listening){0});
    struct rv_endpoint addresses[2] = {endpoint_of("::1", port_of(&four)), four};
    struct rv_load_target target = {.addresses = addresses, .address_count = 2};
    struct rv_probe *probe = rv_probe_new(&target);
    assert_int_equal(finished(probe).server.backlog, 7);
    close(listener);
}

/* ---- unix sockets ---------------------------------------------------------------------------------------- */

static void a_unix_socket_is_found_by_path_file_and_abstract_name(void **state)
{
    (void)state;
    char folder[] = "/tmp/rivulet-probe-XXXXXX", path[64], alias[64], name[64], expected[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(alias, sizeof alias, "%s/alias", folder);
    snprintf(name, sizeof name, "@rivulet-probe-%d", (int)getpid());
    snprintf(expected, sizeof expected, "unix:%s", path);
    struct rv_endpoint at_path = unix_endpoint(path), at_alias = unix_endpoint(alias);
    struct rv_endpoint abstract = unix_endpoint(name), nowhere = unix_endpoint("@rivulet-nobody");
    int listeners[2] = {listen_at(&at_path, 3, (struct listening){0}),
                        listen_at(&abstract, 2, (struct listening){0})};
    int clients[4];
    assert_int_equal(symlink("socket", alias), 0);
    assert_int_equal(server_at(&at_alias).backlog, 3);
    assert_int_equal(server_at(&abstract).backlog, 2);
    assert_false(server_at(&nowhere).found);
    struct rv_probe *probe = probe_at(&at_path);
    connect_many(&at_path, clients, 4);
    rv_probe_sample(probe);
    struct rv_server_evidence server = finished(probe).server;
    assert_string_equal(server.address, expected);
    assert_int_equal(server.queue_peak, 4);
    assert_int_equal(server.queue_full_samples, 1);
    assert_int_equal(server.queue_drops, -1);
    assert_int_equal(server.pid, getpid());
    close_many(clients, 4);
    close_many(listeners, 2);
    unlink(alias);
    unlink(path);
    rmdir(folder);
}

/* ---- processes -------------------------------------------------------------------------------------------- */

static uint64_t own_cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

static void burn(uint64_t us)
{
    uint64_t until = own_cpu_us() + us;
    while (own_cpu_us() < until)
        continue;
}

/* A child that holds the listener and, each time it is told a number of milliseconds, uses that much CPU time
   and tells how much it was, in microseconds. */
struct child {
    pid_t pid;
    int talk;
};

static void serve_child(int talk)
{
    uint32_t ms;
    while (read(talk, &ms, sizeof ms) == sizeof ms) {
        uint64_t before = own_cpu_us();
        burn(ms * 1000ull);
        uint64_t used = own_cpu_us() - before;
        if (write(talk, &used, sizeof used) != sizeof used)
            break;
    }
    _exit(0);
}

static struct child fork_child(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct child child = {.pid = fork(), .talk = pair[0]};
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        close(pair[0]);
        serve_child(pair[1]);
    }
    close(pair[1]);
    return child;
}

static uint64_t let_burn(struct child child, uint32_t ms)
{
    uint64_t used = 0;
    assert_int_equal(write(child.talk, &ms, sizeof ms), sizeof ms);
    assert_int_equal(read(child.talk, &used, sizeof used), sizeof used);
    return used;
}

static void end_child(struct child child)
{
    shutdown(child.talk, SHUT_RDWR); /* later children hold it, too */
    close(child.talk);
    waitpid(child.pid, NULL, 0);
}

static void expect_near(uint64_t us, uint64_t expected_us, uint64_t within_us)
{
    if (us + within_us < expected_us || us > expected_us + within_us)
        fail_msg("%lu us, not %lu +- %lu", (unsigned long)us, (unsigned long)expected_us,
                 (unsigned long)within_us);
}

static void the_cpu_time_of_a_server_is_what_it_used_during_the_run(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int listener = listen_at(&here, 4, (struct listening){0});
    struct child child = fork_child();
    close(listener);
    let_burn(child, 100);
    struct rv_probe *probe = probe_at(&here);
    uint64_t used = let_burn(child, 200);
    struct rv_server_evidence server = finished(probe).server;
    assert_true(server.pid_known);
    assert_int_equal(server.pid, child.pid);
    assert_int_equal(server.processes, 1);
    assert_int_equal(server.threads, 1);
    assert_memory_equal(server.name, "test_probe", 10);
    expect_near(server.cpu_us, used, used / 10);
    expect_near(server.user_us + server.system_us, used, used / 10 + 20000);
    expect_near(server.thread_busiest_us, used, used / 10);
    assert_true(server.cpus > 0);
    end_child(child);
}

static void processes_that_share_a_socket_are_added_up(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int listener = listen_at(&here, 4, (struct listening){0});
    struct child first = fork_child(), second = fork_child();
    struct rv_probe *probe = probe_at(&here);
    uint64_t own = own_cpu_us();
    struct child late = fork_child();
    close(listener);
    uint64_t used = let_burn(first, 60) + let_burn(second, 60) + let_burn(late, 60);
    rv_probe_sample(probe);
    used += own_cpu_us() - own; /* this process had the socket, too, at first */
    struct rv_server_evidence server = finished(probe).server;
    assert_int_equal(server.processes, 4);
    assert_int_equal(server.sockets, 1);
    assert_int_equal(server.pid, getpid() < first.pid ? getpid() : first.pid);
    expect_near(server.cpu_us, used, used / 10);
    end_child(first);
    end_child(second);
    end_child(late);
}

static void what_others_do_is_neither_the_servers_nor_the_clients(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    struct child other = fork_child();
    int listener = listen_at(&here, 4, (struct listening){0});
    struct child server = fork_child();
    close(listener);
    struct rv_probe *probe = probe_at(&here);
    uint64_t used = let_burn(server, 200);
    let_burn(other, 300);
    struct rv_evidence evidence = finished(probe);
    expect_near(evidence.server.cpu_us, used, used / 10);
    assert_true(evidence.other_cpu_us >=
                250000); /* in ticks of 10 ms; and this machine is not ours alone */
    end_child(other);
    end_child(server);
}

static void a_server_that_ends_keeps_what_was_last_seen_of_it(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int listener = listen_at(&here, 4, (struct listening){0});
    struct child child = fork_child();
    close(listener);
    struct rv_probe *probe = probe_at(&here);
    uint64_t used = let_burn(child, 100);
    look_seldom(probe);
    end_child(child);
    struct rv_server_evidence server = finished(probe).server;
    assert_true(server.found);
    assert_int_equal(server.pid, child.pid);
    expect_near(server.cpu_us, used, used / 10);
}

static void a_server_that_comes_back_is_found_again(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int clients[3], listener = listen_at(&here, 9, (struct listening){0});
    struct rv_probe *probe = probe_at(&here);
    rv_probe_sample(probe);
    close(listener);
    rv_probe_sample(probe);
    assert_int_equal(rv_probe_server(probe)->queue_samples, 1);
    listener = listen_at(&here, 1, (struct listening){.reuse_port = false});
    look_seldom(probe);
    connect_many(&here, clients, 3);
    rv_probe_sample(probe);
    struct rv_server_evidence server = finished(probe).server;
    assert_int_equal(server.backlog, 1);
    assert_int_equal(server.queue_peak, 2);
    assert_in_range(server.queue_drops, 1, 3);
    close_many(clients, 3);
    close(listener);
}

static void the_most_descriptors_that_were_open_are_known_and_their_limit(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int more[20], listener = listen_at(&here, 4, (struct listening){0});
    struct rlimit limit;
    struct rv_probe *probe = probe_at(&here);
    uint32_t before = rv_probe_server(probe)->descriptors;
    for (int i = 0; i < 20; i++)
        more[i] = dup(listener);
    look_seldom(probe);
    close_many(more, 20);
    struct rv_server_evidence server = finished(probe).server;
    getrlimit(RLIMIT_NOFILE, &limit);
    assert_true(before >= 4);
    assert_in_range(server.descriptors, before + 19, before + 22);
    assert_int_equal(server.descriptor_limit, limit.rlim_cur);
    close(listener);
}

static void the_cpus_that_a_server_may_use_are_those_of_its_threads(void **state)
{
    (void)state;
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int listener = listen_at(&here, 4, (struct listening){0});
    size_t cpu = 0;
    cpu_set_t all, one, seen;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    struct child child = fork_child();
    sched_setaffinity(0, sizeof all, &all);
    close(listener);
    struct rv_probe *probe = probe_at(&here);
    assert_true(rv_probe_server_cpus(probe, &seen));
    assert_true(CPU_EQUAL(&seen, &one));
    assert_int_equal(rv_probe_cpus_shared(probe, &all), 1);
    CPU_CLR(cpu, &all);
    assert_int_equal(rv_probe_cpus_shared(probe, &all), 0);
    rv_probe_free(probe);
    end_child(child);
}

/* Only root can become somebody else. */
static void a_server_of_another_user_is_found_without_its_process(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct rv_endpoint here = endpoint_of("127.0.0.1", 0);
    int status = -1, listener = listen_at(&here, 4, (struct listening){0});
    pid_t other = fork();
    if (other == 0) {
        close(listener);
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        struct rv_load_target target = {.addresses = &here, .address_count = 1};
        struct rv_probe *probe = rv_probe_new(&target);
        struct rv_evidence evidence = {0};
        rv_probe_sample(probe);
        rv_probe_finish(probe, &evidence);
        rv_probe_free(probe);
        const struct rv_server_evidence *server = &evidence.server;
        bool seen = server->found && server->backlog == 4;
        bool unknown = !server->pid_known && server->pid == 0 && server->cpu_us == 0 &&
                       evidence.other_cpu_us == -1;
        _exit(!seen ? 2 : !unknown ? 3 : 0);
    }
    waitpid(other, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accept_queue_shows_its_peak_and_its_limit),
        cmocka_unit_test(what_a_full_queue_drops_is_counted),
        cmocka_unit_test(an_overflow_at_another_socket_is_not_this_ones),
        cmocka_unit_test(two_sockets_at_one_address_are_both_watched),
        cmocka_unit_test(nobody_is_found_at_a_free_port),
        cmocka_unit_test(a_socket_at_all_addresses_serves_each_of_them),
        cmocka_unit_test(a_socket_at_all_addresses_is_not_another_machine),
        cmocka_unit_test(the_socket_at_the_very_address_comes_first),
        cmocka_unit_test(an_ipv6_socket_serves_ipv4_unless_it_says_otherwise),
        cmocka_unit_test(an_ipv4_socket_does_not_serve_ipv6),
        cmocka_unit_test(a_connected_socket_is_no_listener),
        cmocka_unit_test(the_second_address_is_looked_at_when_the_first_has_nobody),
        cmocka_unit_test(a_unix_socket_is_found_by_path_file_and_abstract_name),
        cmocka_unit_test(the_cpu_time_of_a_server_is_what_it_used_during_the_run),
        cmocka_unit_test(processes_that_share_a_socket_are_added_up),
        cmocka_unit_test(what_others_do_is_neither_the_servers_nor_the_clients),
        cmocka_unit_test(a_server_that_ends_keeps_what_was_last_seen_of_it),
        cmocka_unit_test(a_server_that_comes_back_is_found_again),
        cmocka_unit_test(the_most_descriptors_that_were_open_are_known_and_their_limit),
        cmocka_unit_test(the_cpus_that_a_server_may_use_are_those_of_its_threads),
        cmocka_unit_test(a_server_of_another_user_is_found_without_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
