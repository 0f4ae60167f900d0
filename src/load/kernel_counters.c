/*
 * The kernel's own count of a run (kernel_counters.h). The files are of two kinds: tables of two lines
 * each (netstat, snmp) and lines of names with their numbers (sockstat, stat). All are world-readable.
 */
#include "load/kernel_counters.h"
#include "load/proc_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TABLE_TEXT_MAX 32768 /* netstat has 5 KB on Linux 6.18 */

static const struct {
    const char *table;
    const char *name;
} counters[RV_KERNEL_COUNT] = {
#define RV_KERNEL_ROW(id, table, name) {table, name},
    RV_KERNEL_COUNTERS(RV_KERNEL_ROW)
#undef RV_KERNEL_ROW
};

/* ---- tables of two lines ---------------------------------------------------------------------------- */

/* The line that is headed by "TABLE:", or NULL. */
static const char *line_of(const char *text, const char *table)
{
    size_t length = strlen(table);
    while (text != NULL && *text != '\0') {
        if (strncmp(text, table, length) == 0 && text[length] == ':')
            return text;
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    return NULL;
}

/* Behind the word that `text` is in or before; NULL at the end of the line. */
static const char *past_word(const char *text)
{
    text += strspn(text, " ");
    size_t length = strcspn(text, " \n");
    return length == 0 ? NULL : text + length;
}

int64_t rv_kernel_find(const char *text, const char *table, const char *name)
{
    const char *names = line_of(text, table);
    const char *end = names == NULL ? NULL : strchr(names, '\n');
    const char *numbers = end == NULL ? NULL : line_of(end + 1, table);
    size_t length = strlen(name);
    if (numbers == NULL)
        return -1;
    while ((names = past_word(names)) != NULL && (numbers = past_word(numbers)) != NULL) {
        const char *word = names + strspn(names, " ");
        const char *number = numbers + strspn(numbers, " ");
        if (strcspn(word, " \n") == length && strncmp(word, name, length) == 0)
            return *number == '\n' || *number == '\0' ? -1 : strtoll(number, NULL, 10);
    }
    return -1;
}

static void read_counters(struct rv_kernel_state *state)
{
    char *text = malloc(TABLE_TEXT_MAX);
    static const char *const files[] = {"/proc/net/netstat", "/proc/net/snmp"};
    for (size_t i = 0; i < RV_KERNEL_COUNT; i++)
        state->counters[i] = -1;
    if (text == NULL)
        return;
    for (size_t file = 0; file < 2; file++) {
        if (!rv_proc_read(files[file], text, TABLE_TEXT_MAX))
            continue;
        for (size_t i = 0; i < RV_KERNEL_COUNT; i++) {
            int64_t number = rv_kernel_find(text, counters[i].table, counters[i].name);
            if (number >= 0)
                state->counters[i] = number;
            state->has_counters = state->has_counters || number >= 0;
        }
    }
    free(text);
}

/* ---- lines of names and numbers --------------------------------------------------------------------- */

/* "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 255" */
static uint32_t read_time_wait(void)
{
    char text[1024];
    unsigned number;
    rv_proc_read("/proc/net/sockstat", text, sizeof text);
    const char *line = line_of(text, "TCP");
    const char *word = line == NULL ? NULL : strstr(line, " tw ");
    return word != NULL && sscanf(word, " tw %u", &number) == 1 ? number : 0;
}

/* "cpu  user nice system idle iowait irq softirq steal ...", in clock ticks. */
static void read_cpu_times(struct rv_kernel_state *state)
{
    char text[512];
    unsigned long long user, nice, system, steal;
    long per_second = sysconf(_SC_CLK_TCK);
    rv_proc_read("/proc/stat", text, sizeof text);
    if (per_second <= 0 ||
        sscanf(text, "cpu %llu %llu %llu %*u %*u %*u %*u %llu", &user, &nice, &system, &steal) != 4)
        return;
    state->steal_us = steal * 1000000 / (uint64_t)per_second;
    state->busy_us = (user + nice + system) * 1000000 / (uint64_t)per_second;
}

void rv_kernel_read(struct rv_kernel_state *state)
{
    memset(state, 0, sizeof *state);
    read_counters(state);
    state->time_wait = read_time_wait();
    read_cpu_times(state);
}

/* ---- what a run makes of them ------------------------------------------------------------------------ */

void rv_kernel_difference(const struct rv_kernel_state *before, const struct rv_kernel_state *after,
                          struct rv_evidence *evidence)
{
    evidence->has_counters = before->has_counters && after->has_counters;
    for (size_t i = 0; i < RV_KERNEL_COUNT; i++) {
        bool known = before->counters[i] >= 0 && after->counters[i] >= before->counters[i];
        evidence->counters[i] = known ? after->counters[i] - before->counters[i] : -1;
    }
    evidence->time_wait_before = before->time_wait;
    evidence->time_wait_after = after->time_wait;
    evidence->steal_us =
        after->steal_us > before->steal_us ? after->steal_us - before->steal_us : 0;
}

void rv_kernel_limits(struct rv_evidence *evidence)
{
    struct rlimit descriptors;
    struct utsname system;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0)
        evidence->descriptor_limit = descriptors.rlim_cur;
    evidence->somaxconn = (uint32_t)rv_proc_number("/proc/sys/net/core/somaxconn", 0);
    evidence->syn_backlog_max =
        (uint32_t)rv_proc_number("/proc/sys/net/ipv4/tcp_max_syn_backlog", 0);
    rv_proc_port_range(&evidence->port_first, &evidence->port_last);
    if (uname(&system) == 0)
        snprintf(evidence->kernel, sizeof evidence->kernel, "%.16s %.40s", system.sysname,
                 system.release);
}
