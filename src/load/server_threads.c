/*
 * Threads by /proc/PID/task/TID/schedstat (server_threads.h): the time on a CPU and the time in the run
 * queue, both exact, in nanoseconds.
 */
#include "load/server_threads.h"
#include "load/proc_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_thread(int pid, int tid, struct rv_server_thread *thread)
{
    char path[96], text[128];
    unsigned long long ran_ns, waited_ns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
    if (!rv_proc_read(path, text, sizeof text) ||
        sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
        return false;
    *thread = (struct rv_server_thread){tid, ran_ns / 1000, waited_ns / 1000};
    return true;
}

static void each_thread(int pid, void (*each)(const struct rv_server_thread *thread, void *ctx),
                        void *ctx)
{
    char path[64];
    struct rv_server_thread thread;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *entries = opendir(path);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        int tid = atoi(entry->d_name);
        if (tid > 0 && read_thread(pid, tid, &thread))
            each(&thread, ctx);
    }
    closedir(entries);
}

static void append(const struct rv_server_thread *thread, void *ctx)
{
    struct rv_server_threads *threads = ctx;
    bool is_full = (threads->count & (threads->count - 1)) == 0; /* 0, 1, 2, 4, 8 ... */
    if (is_full) {
        uint32_t room = threads->count == 0 ? 1 : threads->count * 2;
        struct rv_server_thread *list = realloc(threads->list, room * sizeof *list);
        if (list == NULL)
            return;
        threads->list = list;
    }
    threads->list[threads->count++] = *thread;
}

void rv_threads_watch(struct rv_server_threads *threads, int pid)
{
    each_thread(pid, append, threads);
}

struct sum {
    const struct rv_server_threads *before;
    uint64_t busiest_us, waited_us;
};

static void add_difference(const struct rv_server_thread *now, void *ctx)
{
    struct sum *sum = ctx;
    uint64_t ran_us = now->ran_us, waited_us = now->waited_us;
    for (uint32_t i = 0; i < sum->before->count; i++) {
        if (sum->before->list[i].tid == now->tid) {
            ran_us -= sum->before->list[i].ran_us;
            waited_us -= sum->before->list[i].waited_us;
            break;
        }
    }
    sum->busiest_us = ran_us > sum->busiest_us ? ran_us : sum->busiest_us;
    sum->waited_us += waited_us;
}

void rv_threads_since(const struct rv_server_threads *threads, int pid, uint64_t *busiest_us,
                      uint64_t *waited_us)
{
    struct sum sum = {.before = threads};
    each_thread(pid, add_difference, &sum);
    *busiest_us = sum.busiest_us;
    *waited_us = sum.waited_us;
}

void rv_threads_free(struct rv_server_threads *threads)
{
    free(threads->list);
    *threads = (struct rv_server_threads){0};
}
