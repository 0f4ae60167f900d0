/*
 * Runs of source ports: all of the range is used before any is used twice, and threads begin apart.
 */
#include "load/ports.h"

#include <setjmp.h>
#include <stdarg.h>
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
    for (uint32_t i = 0; i < ports.runs; i++) {
        uint16_t first, last;
        rv_ports_next(&ports, &first, &last);
        assert_int_equal(last - first, RV_PORTS_RUN - 1);
        assert_in_range(first, lowest, highest);
        assert_in_range(last, lowest, highest);
        for (unsigned port = first; port <= last; port++) {
            assert_false(seen[port]);
            seen[port] = true;
        }
    }
    uint16_t first, last;
    rv_ports_next(&ports, &first, &last);
    assert_true(seen[first]); /* and from the beginning */
}

static void threads_begin_in_different_runs(void **state)
{
    (void)state;
    struct rv_ports one, other;
    uint16_t first, last, other_first;
    rv_ports_open(&one, 0, 2);
    rv_ports_open(&other, 1, 2);
    rv_ports_next(&one, &first, &last);
    rv_ports_next(&other, &other_first, &last);
    assert_int_equal(other_first - first, one.runs / 2 * RV_PORTS_RUN);
}

static void a_range_that_is_not_known_is_not_divided(void **state)
{
    (void)state;
    struct rv_ports none = {0};
    uint16_t first = 1, last = 1;
    rv_ports_next(&none, &first, &last);
    assert_int_equal(first, 0);
    assert_int_equal(last, 0);
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
