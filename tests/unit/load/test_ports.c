/*
 * Runs of source ports: all of the range is used before any is used twice, and threads begin apart.
 */
#include "load/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool seen[65536];

static void runs_lie_side_by_side_in_the_range(void **state)
{
    (void)state;
    unsigned lowest = 0, highest = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u %u", &lowest, &highest), 2);
    fclose(file);
    struct rv_ports ports;
    rv_ports_open(&ports, 0, 1);
    assert_int_equal(ports.runs, (highest - lowest + 1) / RV_PORTS_RUN);
    memset(seen, 0, sizeof seen);
    struct rv_connect_to to;
    for (uint32_t i = 0; i < ports.runs; i++) {
        rv_ports_next(&ports, &to);
        assert_int_equal(to.port_last - to.port_first, RV_PORTS_RUN - 1);
        assert_int_equal(to.port_start, to.port_first);
        assert_in_range(to.port_first, lowest, highest);
        assert_in_range(to.port_last, lowest, highest);
        for (unsigned port = to.port_first; port <= to.port_last; port++) {
            assert_false(seen[port]);
            seen[port] = true;
        }
    }
    rv_ports_next(&ports, &to); /* and from the beginning, but not with the same port */
    assert_int_equal(to.port_first, lowest);
    assert_int_equal(to.port_start, lowest + 1);
}

static void threads_begin_in_different_runs(void **state)
{
    (void)state;
    struct rv_ports ports[2];
    struct rv_connect_to to[2];
    for (unsigned i = 0; i < 2; i++) {
        rv_ports_open(&ports[i], i, 2);
        rv_ports_next(&ports[i], &to[i]);
    }
    assert_int_equal(to[1].port_first - to[0].port_first, ports[0].runs / 2 * RV_PORTS_RUN);
}

static void a_range_that_is_not_known_is_not_divided(void **state)
{
    (void)state;
    struct rv_ports none = {0};
    struct rv_connect_to to = {.port_first = 1, .port_last = 1, .port_start = 1};
    rv_ports_next(&none, &to);
    assert_int_equal(to.port_first, 0);
    assert_int_equal(to.port_last, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_lie_side_by_side_in_the_range),
        cmocka_unit_test(threads_begin_in_different_runs),
        cmocka_unit_test(a_range_that_is_not_known_is_not_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
