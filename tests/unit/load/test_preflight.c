/*
 * Facts about the check before a run: what it refuses and with which remedy, what it only notes, and that it
 * is silent where all is well.
 */
#include "load/preflight_inner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A plan and a machine with room for it; each test makes one thing scarce. */
static struct rv_endpoint address;
static struct rv_load_plan plan;
static struct rv_machine machine;
static struct rv_server_evidence server;
static struct rv_preflight said;

static void aim_at(const char *ip)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&address.sockaddr;
    memset(&address, 0, sizeof address);
    four->sin_family = AF_INET;
    four->sin_port = htons(8910);
    inet_pton(AF_INET, ip, &four->sin_addr);
    address.length = sizeof *four;
}

static int start(void **state)
{
    (void)state;
    aim_at("127.0.0.1");
    plan = (struct rv_load_plan){.clients = 64, .threads = 1, .requests_max = 1000000};
    plan.target.addresses = &address;
    plan.target.address_count = 1;
    machine = (struct rv_machine){.descriptor_limit = 20000,
                                  .descriptors_open = 3,
                                  .port_first = 32768,
                                  .port_last = 60999,
                                  .time_wait_reuse = 2,
                                  .somaxconn = 4096,
                                  .cpus = 2};
    server = (struct rv_server_evidence){.found = true,
                                         .pid_known = true,
                                         .pid = 4711,
                                         .processes = 1,
                                         .name = "xserver",
                                         .address = "127.0.0.1:8910",
                                         .sockets = 1,
                                         .backlog = 128,
                                         .descriptors = 9,
                                         .descriptor_limit = 20000};
    return 0;
}

static void judge(void)
{
    rv_preflight_judge(&plan, &machine, &server, &said);
}

static void expect_silence(void)
{
    judge();
    if (said.note_count > 0)
        fail_msg("it says: %s", said.notes[0]);
    assert_false(said.refused);
}

static void expect_only(bool refused, const char *text)
{
    judge();
    assert_int_equal(said.note_count, 1);
    assert_string_equal(said.notes[0], text);
    assert_int_equal(said.refused, refused);
}

static void nothing_is_said_when_there_is_enough_of_everything(void **state)
{
    (void)state;
    expect_silence();
    rv_preflight_judge(&plan, &machine, NULL, &said);
    assert_int_equal(said.note_count, 0);
}

/* ---- descriptors --------------------------------------------------------------------------------------- */

static void too_few_descriptors_are_refused_with_both_remedies(void **state)
{
    (void)state;
    server.found = false;
    plan.clients = 19987;
    expect_only(true, "19987 clients: needs 20001 descriptors, the limit is 20000: run with -c "
                      "19986, or raise it with `ulimit -n 20001`");
    plan.clients = 19986;
    expect_silence();
}

static void a_limit_below_what_the_process_itself_needs_can_only_be_raised(void **state)
{
    (void)state;
    plan.clients = 1;
    machine.descriptor_limit = 14;
    expect_only(true,
                "1 client: needs 15 descriptors, the limit is 14: raise it with `ulimit -n 15`");
}

static void threads_need_descriptors_too(void **state)
{
    (void)state;
    server.found = false;
    plan.clients = 19986;
    plan.threads = 2;
    judge();
    assert_true(said.refused);
}

static void the_soft_limit_is_raised_to_the_hard_one(void **state)
{
    (void)state;
    struct rlimit before, lowered, after;
    getrlimit(RLIMIT_NOFILE, &before);
    lowered = before;
    lowered.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lowered), 0);
    rv_preflight_check(&plan, NULL, &said);
    getrlimit(RLIMIT_NOFILE, &after);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(after.rlim_cur, before.rlim_max);
    assert_false(said.refused);
}

/* In a child: a hard limit cannot be raised again. */
static void a_hard_limit_that_is_too_low_is_refused(void **state)
{
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit low = {.rlim_cur = 40, .rlim_max = 40};
        if (setrlimit(RLIMIT_NOFILE, &low) != 0)
            _exit(2);
        rv_preflight_check(&plan, NULL, &said);
        bool right = said.refused && strstr(said.notes[0], "the limit is 40: run with -c ") != NULL;
        plan.clients = 10;
        rv_preflight_check(&plan, NULL, &said);
        _exit(right && !said.refused ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- source ports ---------------------------------------------------------------------------------------- */

static void too_few_source_ports_are_refused(void **state)
{
    (void)state;
    server.found = false;
    machine.descriptor_limit = 100000;
    plan.clients = 28233;
    expect_only(true, "28233 clients need as many source ports, there are 28232 (1 source address, "
                      "net.ipv4.ip_local_port_range 32768-60999): run with -c 28232, or with "
                      "--source 127.0.0.0/8 (of ab: -B)");
    plan.clients = 28232;
    expect_silence();
}

static void to_another_machine_the_remedy_is_more_addresses_of_this_one(void **state)
{
    (void)state;
    server.found = false;
    machine.descriptor_limit = 100000;
    plan.clients = 60000;
    aim_at("192.0.2.7");
    judge();
    assert_true(said.refused);
    assert_non_null(
        strstr(said.notes[0], "or with --source (of ab: -B) and 3 addresses of this machine"));
}

static void more_source_addresses_give_more_ports(void **state)
{
    (void)state;
    server.found = false;
    machine.descriptor_limit = 100000;
    plan.clients = 56464;
    plan.target.source.first = address;
    plan.target.source.count = 2;
    expect_silence();
    plan.clients++;
    judge();
    assert_true(said.refused);
    assert_non_null(strstr(said.notes[0], "there are 56464 (2 source addresses, "));
}

static void fewer_requests_than_clients_need_less(void **state)
{
    (void)state;
    plan.clients = 50000;
    plan.requests_max = 100;
    expect_silence();
}

static struct rv_endpoint ipv4(const char *ip)
{
    struct rv_endpoint before = address;
    aim_at(ip);
    struct rv_endpoint made = address;
    address = before;
    ((struct sockaddr_in *)&made.sockaddr)->sin_port = 0;
    return made;
}

static void a_source_address_of_another_machine_is_refused(void **state)
{
    (void)state;
    plan.target.source = (struct rv_source_range){.first = ipv4("192.0.2.1"), .count = 1};
    rv_preflight_check(&plan, NULL, &said);
    assert_true(said.refused);
    assert_string_equal(
        said.notes[0],
        "source address 192.0.2.1 is not this machine's: `ip address` lists those that are");
    plan.target.source.first = ipv4("127.255.255.250");
    plan.target.source.count = 20;
    rv_preflight_check(&plan, NULL, &said);
    assert_string_equal(said.notes[0], "source addresses from 127.255.255.250 on are not all this "
                                       "machine's: `ip address` lists those that are");
}

static void a_source_address_of_this_machine_is_fine(void **state)
{
    (void)state;
    plan.target.source = (struct rv_source_range){.first = ipv4("127.0.0.2"), .count = 200};
    rv_preflight_check(&plan, NULL, &said);
    assert_false(said.refused);
}

static void a_source_address_of_the_other_kind_is_refused(void **state)
{
    (void)state;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address.sockaddr;
    plan.target.source = (struct rv_source_range){.first = ipv4("127.0.0.2"), .count = 1};
    *six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    server.found = false;
    expect_only(true,
                "source address 127.0.0.2 is IPv4, the server's is not: give one of its kind");
}

static void a_unix_socket_needs_no_ports(void **state)
{
    (void)state;
    server.found = false;
    machine.descriptor_limit = 100000;
    plan.clients = 60000;
    address.sockaddr.ss_family = AF_UNIX;
    expect_silence();
}

/* ---- TIME-WAIT --------------------------------------------------------------------------------------------- */

static void a_rate_that_time_wait_does_not_allow_is_noted(void **state)
{
    (void)state;
    server.found = false;
    aim_at("192.0.2.7");
    plan.close_each = true;
    plan.model = RV_LOAD_OPEN;
    plan.rate_per_s = 500;
    expect_only(
        false,
        "500 connections a second, each in TIME-WAIT for 60 s when the client closes first, need "
        "30000 source ports; there are 28232: run with --rate 470, or more --source addresses");
    plan.rate_per_s = 470;
    expect_silence();
}

static void requests_that_share_a_connection_share_its_port(void **state)
{
    (void)state;
    server.found = false;
    aim_at("192.0.2.7");
    plan.model = RV_LOAD_OPEN;
    plan.rate_per_s = 5000;
    plan.requests_per_connection = 100;
    expect_silence();
    plan.requests_per_connection = 10;
    judge();
    assert_int_equal(said.note_count, 1);
}

static void without_a_rate_the_note_says_what_the_ports_allow(void **state)
{
    (void)state;
    server.found = false;
    aim_at("192.0.2.7");
    plan.close_each = true;
    plan.requests_max = 28233;
    expect_only(false, "a source port stays in TIME-WAIT for 60 s when the client closes first: "
                       "the 28232 ports here allow 470 connections a second in the long run (rate "
                       "x 60 s); more --source addresses allow more");
    plan.requests_max = 28232;
    expect_silence();
    plan.requests_max = 0;
    judge();
    assert_int_equal(said.note_count, 1);
}

static void the_loopback_gives_its_ports_back_after_a_second(void **state)
{
    (void)state;
    server.found = false;
    plan.close_each = true;
    plan.requests_max = 1000000;
    expect_silence();
    machine.time_wait_reuse = 0;
    judge();
    assert_int_equal(said.note_count, 1);
}

/* ---- the server ---------------------------------------------------------------------------------------------- */

static void more_clients_than_the_accept_queue_holds_are_noted(void **state)
{
    (void)state;
    plan.clients = 130;
    expect_only(false, "130 clients connect at once, the accept queue of 127.0.0.1:8910 holds 129 "
                       "(listen backlog 128): what it cannot take is dropped and tried again after "
                       "a second or more; --connect-rate spreads them");
    plan.clients = 129;
    expect_silence();
    plan.clients = 130;
    plan.connect_rate_per_s = 10;
    expect_silence();
    plan.connect_rate_per_s = 0;
    server.sockets = 2;
    expect_silence();
}

static void a_queue_that_the_kernel_has_cut_is_named_as_such(void **state)
{
    (void)state;
    plan.clients = 5000;
    server.backlog = 4096;
    judge();
    assert_non_null(strstr(said.notes[0], "(listen backlog 4096, which is net.core.somaxconn)"));
}

static void a_server_that_is_not_here_has_no_queue_to_speak_of(void **state)
{
    (void)state;
    plan.clients = 5000;
    server.found = false;
    expect_silence();
}

static void a_server_with_too_few_descriptors_is_noted(void **state)
{
    (void)state;
    server.descriptor_limit = 72;
    expect_only(false,
                "64 clients, but the server (xserver, pid 4711) may have only 72 descriptors open "
                "and has 9: raise its limit (`ulimit -n`) before it starts");
    server.descriptor_limit = 74;
    expect_silence();
    server.descriptor_limit = 50;
    server.processes = 2;
    expect_silence();
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------ */

static void shared_cpus_are_noted(void **state)
{
    (void)state;
    machine.cpus_shared = 1;
    expect_only(false, "the load threads share 1 of their 2 CPUs with the server: part them with "
                       "--cpus and `taskset`");
}

static void more_threads_than_cpus_are_noted(void **state)
{
    (void)state;
    plan.threads = 3;
    expect_only(false, "3 threads on 2 CPUs: they take turns; run with --threads 2");
    plan.threads = 2;
    expect_silence();
}

static void a_refusal_comes_before_the_notes(void **state)
{
    (void)state;
    plan.clients = 50000;
    plan.threads = 9;
    machine.cpus_shared = 2;
    judge();
    assert_true(said.refused);
    assert_int_equal(said.note_count, 6);
    assert_non_null(strstr(said.notes[0], "descriptors, the limit is 20000"));
    assert_non_null(strstr(said.notes[1], "source ports"));
}

/* ---- this machine ------------------------------------------------------------------------------------------------ */

static void this_machine_is_looked_at(void **state)
{
    (void)state;
    struct rv_machine here;
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    rv_machine_look(&plan, NULL, &here);
    uint64_t open = here.descriptors_open;
    int one_more = dup(0);
    assert_in_range(open, 3, 100);
    assert_in_range(here.port_first, 1, here.port_last);
    assert_true(here.somaxconn > 0);
    assert_int_equal(here.cpus, CPU_COUNT(&cpus));
    assert_int_equal(here.cpus_shared, 0);
    rv_machine_look(&plan, NULL, &here);
    close(one_more);
    assert_int_equal(here.descriptors_open, open + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_said_when_there_is_enough_of_everything, start),
        cmocka_unit_test_setup(too_few_descriptors_are_refused_with_both_remedies, start),
        cmocka_unit_test_setup(a_limit_below_what_the_process_itself_needs_can_only_be_raised,
                               start),
        cmocka_unit_test_setup(threads_need_descriptors_too, start),
        cmocka_unit_test_setup(the_soft_limit_is_raised_to_the_hard_one, start),
        cmocka_unit_test_setup(a_hard_limit_that_is_too_low_is_refused, start),
        cmocka_unit_test_setup(too_few_source_ports_are_refused, start),
        cmocka_unit_test_setup(to_another_machine_the_remedy_is_more_addresses_of_this_one, start),
        cmocka_unit_test_setup(more_source_addresses_give_more_ports, start),
        cmocka_unit_test_setup(fewer_requests_than_clients_need_less, start),
        cmocka_unit_test_setup(a_source_address_of_another_machine_is_refused, start),
        cmocka_unit_test_setup(a_source_address_of_this_machine_is_fine, start),
        cmocka_unit_test_setup(a_source_address_of_the_other_kind_is_refused, start),
        cmocka_unit_test_setup(a_unix_socket_needs_no_ports, start),
        cmocka_unit_test_setup(a_rate_that_time_wait_does_not_allow_is_noted, start),
        cmocka_unit_test_setup(requests_that_share_a_connection_share_its_port, start),
        cmocka_unit_test_setup(without_a_rate_the_note_says_what_the_ports_allow, start),
        cmocka_unit_test_setup(the_loopback_gives_its_ports_back_after_a_second, start),
        cmocka_unit_test_setup(more_clients_than_the_accept_queue_holds_are_noted, start),
        cmocka_unit_test_setup(a_queue_that_the_kernel_has_cut_is_named_as_such, start),
        cmocka_unit_test_setup(a_server_that_is_not_here_has_no_queue_to_speak_of, start),
        cmocka_unit_test_setup(a_server_with_too_few_descriptors_is_noted, start),
        cmocka_unit_test_setup(shared_cpus_are_noted, start),
        cmocka_unit_test_setup(more_threads_than_cpus_are_noted, start),
        cmocka_unit_test_setup(a_refusal_comes_before_the_notes, start),
        cmocka_unit_test_setup(this_machine_is_looked_at, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
