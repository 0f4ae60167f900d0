/*
 * Results made by hand, which obey the laws: a test takes one and changes what it is about.
 */
#ifndef RV_TESTS_MADE_H
#define RV_TESTS_MADE_H

#include "load/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One for all tests of a file; fixtures below. */
static struct rv_load_result made;

/* That many answers with these times, on connections that were open. */
static inline void made_answers(int status, uint64_t count, uint64_t wait_us, uint64_t transfer_us)
{
    rv_hist_record_many(&made.wait, wait_us, count);
    rv_hist_record_many(&made.transfer, transfer_us, count);
    rv_hist_record_many(&made.service, wait_us + transfer_us, count);
    rv_hist_record_many(&made.total[status / 100 <= 5 ? status / 100 : 0], wait_us + transfer_us,
                        count);
    made.statuses[status] += count;
    made.answered += count;
    made.started += count;
    made.due += count;
}

/* Takes back those that were made so far. */
static inline void made_no_answers(void)
{
    rv_hist_reset(&made.wait);
    rv_hist_reset(&made.transfer);
    rv_hist_reset(&made.service);
    for (size_t i = 0; i < 6; i++)
        rv_hist_reset(&made.total[i]);
    memset(made.statuses, 0, sizeof made.statuses);
    made.started -= made.answered;
    made.due -= made.answered;
    made.answered = 0;
}

static inline void made_failures(enum rv_load_failure failure, uint64_t count, uint64_t after_us)
{
    rv_hist_record_many(&made.failing, after_us, count);
    made.failures[failure] += count;
    made.failed += count;
    made.started += count;
    made.due += count;
}

static inline void made_errno(enum rv_load_failure failure, int error_number, uint64_t count)
{
    made.errnos[made.errno_count++] = (struct rv_load_errno){failure, error_number, count};
}

/* Requests that had waited that long when the run ended. */
static inline void made_unfinished(uint64_t count, uint64_t age_us)
{
    rv_hist_record_many(&made.unfinished, age_us, count);
    made.in_flight += count;
    made.started += count;
    made.due += count;
}

/* A run of which there is nothing to say: 64 clients, 10 s, 1000000 answers after 600 us each from a server
   on this machine, everything with room to spare. */
static inline int made_good(void **state)
{
    (void)state;
    if (rv_load_result_init(&made) != 0)
        return -1;
    made.url = strdup("http://127.0.0.1:8910/ok");
    made.host = strdup("127.0.0.1");
    made.document = strdup("/ok");
    made.port = 8910;
    made.clients = 64;
    made.threads = 1;
    made.pipeline = 1;
    made.requests_max = 1000000;
    made.timeout_us = 5000000;
    made.elapsed_us = 10000000;
    made.content_octets = 2000000;
    made.received_octets = 134000000;
    made.sent_octets = 57000000;
    made.connects = made.connects_tried = made.open_peak = 64;
    rv_hist_record_many(&made.connect, 500, 64);
    made_answers(200, 1000000, 600, 0);

    struct rv_evidence *evidence = &made.evidence;
    evidence->has_counters = true;
    evidence->thread_count = 1;
    evidence->thread_cpu_us[0] = evidence->client_cpu_us = 5000000;
    evidence->cpus_client = 1;
    evidence->cpus_online = 2;
    evidence->descriptor_limit = 20000;
    evidence->somaxconn = 4096;
    evidence->syn_backlog_max = 2048;
    evidence->port_first = 32768;
    evidence->port_last = 60999;
    snprintf(evidence->kernel, sizeof evidence->kernel, "Linux 6.18.0");
    evidence->server = (struct rv_server_evidence){.found = true,
                                                   .pid_known = true,
                                                   .pid = 4711,
                                                   .processes = 1,
                                                   .name = "xserver",
                                                   .address = "127.0.0.1:8910",
                                                   .sockets = 1,
                                                   .backlog = 128,
                                                   .queue_peak = 60,
                                                   .queue_samples = 500,
                                                   .cpu_us = 6000000,
                                                   .user_us = 2000000,
                                                   .system_us = 4000000,
                                                   .thread_busiest_us = 6000000,
                                                   .cpus = 1,
                                                   .threads = 1,
                                                   .descriptors = 75,
                                                   .descriptor_limit = 20000};
    return 0;
}

static inline int made_free(void **state)
{
    (void)state;
    rv_load_result_free(&made);
    return 0;
}

#define made_test(test) cmocka_unit_test_setup_teardown(test, made_good, made_free)

#endif
