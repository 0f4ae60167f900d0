/*
 * Processes by the socket that they hold (server_process.h). /proc/PID/fd names each socket by its inode;
 * forked workers and their master hold the same one. CPU time comes from the process's own clock, which
 * is exact and may be read by anybody; how it divides into user and system time is only in
 * /proc/PID/stat, in ticks of 10 ms.
 */
#include "load/server_process.h"
#include "load/proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one process ---------------------------------------------------------------------------------------- */

/* The fields of /proc/PID/stat behind the name, which may hold anything, even a parenthesis. */
struct stat_fields {
    unsigned long long user_ticks, system_ticks, start_ticks;
    unsigned threads;
};

static bool read_stat(int pid, struct stat_fields *fields)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!rv_proc_read(path, text, sizeof text))
        return false;
    const char *behind = strrchr(text, ')');
    return behind != NULL && sscanf(behind,
                                    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d "
                                    "%*d %*d %*d %u %*d %llu",
                                    &fields->user_ticks, &fields->system_ticks, &fields->threads,
                                    &fields->start_ticks) == 4;
}

static void look_at_cpu(struct rv_server_process *process)
{
    struct timespec used;
    struct stat_fields fields;
    if (clock_gettime(process->clock, &used) == 0)
        process->cpu_us = (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
    if (read_stat(process->pid, &fields)) {
        process->user_ticks = fields.user_ticks;
        process->system_ticks = fields.system_ticks;
        process->threads = fields.threads;
    }
}

/* Since Linux 6.2 the size of /proc/PID/fd is the number of entries; before, it is 0 and they have to be
   counted. */
static uint32_t count_descriptors(int pid)
{
    char path[64];
    struct stat directory;
    uint32_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    if (stat(path, &directory) == 0 && directory.st_size > 0)
        return (uint32_t)directory.st_size;
    DIR *entries = opendir(path);
    if (entries == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

/* "Max open files            20000                20000                files" */
static uint64_t read_descriptor_limit(int pid)
{
    char path[64], text[4096];
    unsigned long long limit;
    snprintf(path, sizeof path, "/proc/%d/limits", pid);
    rv_proc_read(path, text, sizeof text);
    const char *line = strstr(text, "Max open files");
    return line != NULL && sscanf(line, "Max open files %llu", &limit) == 1 ? limit : 0;
}

static void read_name(int pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    rv_proc_read(path, name, size);
    name[strcspn(name, "\n")] = '\0';
}

/* ---- finding them ------------------------------------------------------------------------------------------ */

static bool holds(int pid, const uint32_t *inodes, uint32_t count)
{
    char path[64], link[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *entries = opendir(path);
    if (entries == NULL)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(entries)) != NULL;) {
        unsigned inode;
        ssize_t length = readlinkat(dirfd(entries), entry->d_name, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        if (sscanf(link, "socket:[%u]", &inode) != 1)
            continue;
        for (uint32_t i = 0; i < count; i++)
            found = found || inodes[i] == inode;
    }
    closedir(entries);
    return found;
}

static bool is_known(const struct rv_server_processes *processes, int pid)
{
    for (uint32_t i = 0; i < processes->count; i++)
        if (processes->list[i].pid == pid)
            return true;
    return false;
}

static bool make_room(struct rv_server_processes *processes)
{
    if (processes->count < processes->room)
        return true;
    uint32_t room = processes->room == 0 ? 8 : processes->room * 2;
    struct rv_server_process *list = realloc(processes->list, room * sizeof *list);
    if (list == NULL)
        return false;
    processes->list = list;
    processes->room = room;
    return true;
}

/* What a process has used before it was seen counts only when it started under our eyes: a worker that the
   server has forked since. */
static void add(struct rv_server_processes *processes, int pid, bool run_began)
{
    struct rv_server_process process = {.pid = pid};
    struct stat_fields fields;
    uint32_t place = processes->count;
    if (!make_room(processes) || !read_stat(pid, &fields) ||
        clock_getcpuclockid(pid, &process.clock) != 0)
        return;
    look_at_cpu(&process);
    if (!run_began || fields.start_ticks < processes->since_ticks) {
        process.cpu_us_before = process.cpu_us;
        process.user_ticks_before = process.user_ticks;
        process.system_ticks_before = process.system_ticks;
        rv_threads_watch(&process.threads_before, pid);
    }
    process.descriptors = count_descriptors(pid);
    process.descriptor_limit = read_descriptor_limit(pid);
    read_name(pid, process.name, sizeof process.name);
    while (place > 0 && processes->list[place - 1].pid > pid) {
        processes->list[place] = processes->list[place - 1];
        place--;
    }
    processes->list[place] = process;
    processes->count++;
}

void rv_processes_find(struct rv_server_processes *processes, const uint32_t *inodes,
                       uint32_t count, bool run_began)
{
    DIR *entries = count == 0 ? NULL : opendir("/proc");
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid > 0 && !is_known(processes, pid) && holds(pid, inodes, count))
            add(processes, pid, run_began);
    }
    closedir(entries);
}

void rv_processes_watch(struct rv_server_processes *processes)
{
    struct timespec now;
    long per_second = sysconf(_SC_CLK_TCK);
    memset(processes, 0, sizeof *processes);
    clock_gettime(CLOCK_BOOTTIME, &now);
    if (per_second > 0)
        processes->since_ticks = (uint64_t)now.tv_sec * (uint64_t)per_second +
                                 (uint64_t)now.tv_nsec / (1000000000u / (uint64_t)per_second);
}

/* ---- looking at them ----------------------------------------------------------------------------------------- */

void rv_processes_look_at_cpu(struct rv_server_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++)
        look_at_cpu(&processes->list[i]);
}

void rv_processes_look_at_threads(struct rv_server_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++) {
        struct rv_server_process *process = &processes->list[i];
        rv_threads_since(&process->threads_before, process->pid, &process->thread_busiest_us,
                         &process->cpu_wait_us);
    }
}

void rv_processes_look_at_descriptors(struct rv_server_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++) {
        struct rv_server_process *process = &processes->list[i];
        uint32_t now = count_descriptors(process->pid);
        if (now > process->descriptors)
            process->descriptors = now;
    }
}

/* Threads may be bound to CPUs of their own, each. */
void rv_processes_cpus(const struct rv_server_processes *processes, cpu_set_t *cpus)
{
    for (uint32_t i = 0; i < processes->count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", processes->list[i].pid);
        DIR *entries = opendir(path);
        if (entries == NULL)
            continue;
        for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
            cpu_set_t allowed;
            int thread = atoi(entry->d_name);
            if (thread > 0 && sched_getaffinity(thread, sizeof allowed, &allowed) == 0)
                CPU_OR(cpus, cpus, &allowed);
        }
        closedir(entries);
    }
}

void rv_processes_tell(const struct rv_server_processes *processes,
                       struct rv_server_evidence *server)
{
    long per_second = sysconf(_SC_CLK_TCK);
    uint64_t user = 0, system = 0, tick_us = per_second <= 0 ? 0 : 1000000 / (uint64_t)per_second;
    server->processes = (int)processes->count;
    server->pid_known = processes->count > 0;
    server->cpu_us = server->thread_busiest_us = server->cpu_wait_us = 0;
    server->threads = 0;
    for (uint32_t i = 0; i < processes->count; i++) {
        const struct rv_server_process *process = &processes->list[i];
        server->cpu_us += process->cpu_us - process->cpu_us_before;
        user += process->user_ticks - process->user_ticks_before;
        system += process->system_ticks - process->system_ticks_before;
        server->threads += process->threads;
        server->cpu_wait_us += process->cpu_wait_us;
        if (process->thread_busiest_us > server->thread_busiest_us)
            server->thread_busiest_us = process->thread_busiest_us;
        if (i == 0 || process->descriptors > server->descriptors) {
            server->descriptors = process->descriptors;
            server->descriptor_limit = process->descriptor_limit;
        }
    }
    server->user_us = user * tick_us;
    server->system_us = system * tick_us;

    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    rv_processes_cpus(processes, &cpus);
    if (CPU_COUNT(&cpus) > 0)
        server->cpus = (uint32_t)CPU_COUNT(&cpus);
    if (processes->count > 0) {
        server->pid = processes->list[0].pid;
        memcpy(server->name, processes->list[0].name, sizeof server->name);
    }
}

void rv_processes_free(struct rv_server_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++)
        rv_threads_free(&processes->list[i].threads_before);
    free(processes->list);
    memset(processes, 0, sizeof *processes);
}
