/*
 * An hour of recording costs no more memory than a minute: a recorder is led through an hour by the time
 * stamps alone, while the kernel says how much of this process is resident. With samples memory does
 * grow, which shows that growth would be seen.
 */
#include "load/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND_US UINT64_C(1000000)
#define ANSWERS_PER_SECOND 1000
#define MINUTE_S 60
#define HOUR_S 3600

/* The kernel's own pages and those of the C library: nothing that grows with the time. */
#define GROWTH_MAX_BYTES (64 * 1024)

/* As exact as the kernel can: it walks the page tables. */
static size_t resident_bytes(void)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        skip(); /* a kernel before 4.14 */
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Rss: %lu kB", &kilobytes) == 1)
            break;
    fclose(file);
    assert_true(kilobytes > 0);
    return kilobytes * 1024;
}

/* A latency for each answer: most are short, some are up to the whole minute, and a later second has not
   the same ones as an earlier one. */
static uint64_t latency_us(uint64_t number)
{
    uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
    return number % 100 == 0 ? mixed % (MINUTE_S * SECOND_US) : mixed % 1000;
}

/* What ANSWERS_PER_SECOND answers and some failures in each of these seconds leave behind. */
static void record(struct rv_recorder *recorder, uint64_t from_s, uint64_t to_s)
{
    for (uint64_t number = from_s * ANSWERS_PER_SECOND; number < to_s * ANSWERS_PER_SECOND;
         number++) {
        uint64_t now_us = recorder->start_us + number * (SECOND_US / ANSWERS_PER_SECOND);
        uint64_t took_us = latency_us(number);
        struct rv_exchange exchange = {.due_us = now_us - took_us,
                                       .taken_us = now_us - took_us,
                                       .sent_us = now_us - took_us,
                                       .opens = number % 10 == 0};
        struct rv_answer answer = {.status = 200 + (int)(number % 300),
                                   .first_us = now_us - took_us / 2,
                                   .last_us = now_us,
                                   .content = 2};
        rv_recorder_started(recorder, &exchange, true);
        rv_recorder_received(recorder, 100, now_us);
        if (number % 1000 == 7)
            rv_recorder_failed(recorder, &exchange, RV_FAILURE_WAIT_RESET, 104, now_us);
        else
            rv_recorder_answered(recorder, &exchange, &answer);
        if (number % 100 == 0)
            rv_recorder_connected(recorder, took_us, now_us);
    }
    rv_recorder_publish(recorder);
}

struct seen {
    size_t minute_bytes, hour_bytes;
    uint64_t answered;
};

static struct seen record_an_hour(bool keep_samples)
{
    struct rv_recorder recorder;
    struct seen seen;
    resident_bytes(); /* what reading it costs is there from now on */
    assert_int_equal(rv_recorder_init(&recorder, keep_samples), 0);
    rv_recorder_start(&recorder, HOUR_S * SECOND_US, 1700000000 * SECOND_US);
    record(&recorder, 0, MINUTE_S);
    seen.minute_bytes = resident_bytes();
    record(&recorder, MINUTE_S, HOUR_S);
    seen.hour_bytes = resident_bytes();
    seen.answered = recorder.result.answered;
    rv_recorder_free(&recorder);
    return seen;
}

static void an_hour_takes_no_more_memory_than_a_minute(void **state)
{
    (void)state;
    struct seen seen = record_an_hour(false);
    assert_int_equal(seen.answered, HOUR_S * (ANSWERS_PER_SECOND - 1));
    if (seen.hour_bytes > seen.minute_bytes + GROWTH_MAX_BYTES)
        fail_msg("%zu bytes after a minute, %zu after an hour", seen.minute_bytes, seen.hour_bytes);
}

static void samples_take_memory_with_their_number(void **state)
{
    (void)state;
    struct seen seen = record_an_hour(true);
    size_t samples_bytes = (HOUR_S - MINUTE_S) * ANSWERS_PER_SECOND * sizeof(struct rv_load_sample);
    assert_true(seen.hour_bytes - seen.minute_bytes > samples_bytes * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_takes_no_more_memory_than_a_minute),
        cmocka_unit_test(samples_take_memory_with_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
