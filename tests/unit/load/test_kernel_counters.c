/*
 * Facts about the kernel's counters: how its tables are read, and what a difference says.
 */
#include "load/kernel_counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char tables[] = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\n"
                             "TcpExt: 7 1740 9000000000\n"
                             "Tcp: RetransSegs Max\n"
                             "Tcp: 12 -1\n"
                             "IpExt: ListenDrops\n";

static void a_counter_is_found_by_its_table_and_name(void **state)
{
    (void)state;
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "SyncookiesSent"), 7);
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "ListenOverflows"), 1740);
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "ListenDrops"), 9000000000);
    assert_int_equal(rv_kernel_find(tables, "Tcp", "RetransSegs"), 12);
}

static void what_a_kernel_does_not_count_is_minus_one(void **state)
{
    (void)state;
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "RetransSegs"), -1);
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "Listen"), -1);
    assert_int_equal(rv_kernel_find(tables, "TcpExt", "ListenDropsAll"), -1);
    assert_int_equal(rv_kernel_find(tables, "Udp", "ListenDrops"), -1);
    assert_int_equal(rv_kernel_find(tables, "IpExt", "ListenDrops"), -1);
    assert_int_equal(rv_kernel_find("", "Tcp", "RetransSegs"), -1);
    assert_int_equal(rv_kernel_find("Tcp: RetransSegs", "Tcp", "RetransSegs"), -1);
    assert_int_equal(rv_kernel_find("Tcp: A RetransSegs\nTcp: 1\n", "Tcp", "RetransSegs"), -1);
}

static void this_kernel_counts_overflows_and_retransmissions(void **state)
{
    (void)state;
    struct rv_kernel_state now;
    rv_kernel_read(&now);
    assert_true(now.has_counters);
    assert_true(now.counters[RV_KERNEL_LISTEN_OVERFLOWS] >= 0);
    assert_true(now.counters[RV_KERNEL_SYN_RETRANS] >= 0);
    assert_true(now.counters[RV_KERNEL_RETRANS_SEGMENTS] >= 0);
}

static void a_difference_is_after_minus_before(void **state)
{
    (void)state;
    struct rv_kernel_state before = {.has_counters = true, .time_wait = 3, .steal_us = 100};
    struct rv_kernel_state after = {.has_counters = true, .time_wait = 9, .steal_us = 350};
    struct rv_evidence evidence = {.descriptor_limit = 17};
    before.counters[RV_KERNEL_LISTEN_DROPS] = 40;
    after.counters[RV_KERNEL_LISTEN_DROPS] = 47;
    before.counters[RV_KERNEL_TIMEOUTS] = after.counters[RV_KERNEL_TIMEOUTS] = -1;
    rv_kernel_difference(&before, &after, &evidence);
    assert_true(evidence.has_counters);
    assert_int_equal(evidence.counters[RV_KERNEL_LISTEN_DROPS], 7);
    assert_int_equal(evidence.counters[RV_KERNEL_LISTEN_OVERFLOWS], 0);
    assert_int_equal(evidence.counters[RV_KERNEL_TIMEOUTS], -1);
    assert_int_equal(evidence.time_wait_before, 3);
    assert_int_equal(evidence.time_wait_after, 9);
    assert_int_equal(evidence.steal_us, 250);
    assert_int_equal(evidence.descriptor_limit, 17);
}

static void the_limits_of_this_machine_are_known(void **state)
{
    (void)state;
    struct rv_evidence evidence = {0};
    rv_kernel_limits(&evidence);
    assert_true(evidence.descriptor_limit > 0);
    assert_true(evidence.somaxconn > 0);
    assert_true(evidence.syn_backlog_max > 0);
    assert_true(evidence.port_first > 0 && evidence.port_first < evidence.port_last);
    assert_memory_equal(evidence.kernel, "Linux ", 6);
}

static void counters_have_the_names_that_the_kernel_gives_them(void **state)
{
    (void)state;
    assert_string_equal(rv_kernel_counter_name(RV_KERNEL_LISTEN_OVERFLOWS), "ListenOverflows");
    assert_string_equal(rv_kernel_counter_name(RV_KERNEL_OUT_RESETS), "OutRsts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_is_found_by_its_table_and_name),
        cmocka_unit_test(what_a_kernel_does_not_count_is_minus_one),
        cmocka_unit_test(this_kernel_counts_overflows_and_retransmissions),
        cmocka_unit_test(a_difference_is_after_minus_before),
        cmocka_unit_test(the_limits_of_this_machine_are_known),
        cmocka_unit_test(counters_have_the_names_that_the_kernel_gives_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
