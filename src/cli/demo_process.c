/*
 * Starting and stopping the demo server (demo_process.h).
 *
 * Three things keep it from being left behind. It is told to stop and waited for; a parent that dies
 * without doing so takes it along (PR_SET_PDEATHSIG); and it has a process group of its own, so that a
 * Ctrl-C at the terminal reaches the parent alone, which then ends its run before it stops the server.
 */
#include "cli/demo_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TIMEOUT_MS 30000
#define STOP_TIMEOUT_MS 10000
#define ARGUMENTS_MAX 16
#define NUMBER_MAX 12
#define SAYS_MAX 512 /* what it prints when it starts */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- in the child ------------------------------------------------------------------------------------ */

static void become_server(const struct rv_demo_settings *settings, int output, pid_t parent)
{
    char backlog[NUMBER_MAX], pool[NUMBER_MAX];
    const char *arguments[ARGUMENTS_MAX] = {"rivulet", "serve", "--demo", "--listen",
                                            "127.0.0.1:0"};
    size_t count = 5;
    if (settings->backlog != 0) {
        snprintf(backlog, sizeof backlog, "%u", settings->backlog);
        arguments[count++] = "--backlog";
        arguments[count++] = backlog;
    }
    if (settings->pool != 0) {
        snprintf(pool, sizeof pool, "%u", settings->pool);
        arguments[count++] = "--pool";
        arguments[count++] = pool;
    }
    /* A parent that died before the kernel knew of our wish is no longer our parent. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    setpgid(0, 0);
    if (CPU_COUNT(&settings->cpus) > 0)
        sched_setaffinity(0, sizeof settings->cpus, &settings->cpus);
    dup2(output, STDOUT_FILENO);
    execv("/proc/self/exe", (char *const *)(const void *)arguments);
    fprintf(stderr, "cannot run /proc/self/exe: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

/* ---- in the parent ----------------------------------------------------------------------------------- */

/* Reads until the line of its numbers has come; false: it ended, or said nothing in time. */
static bool read_start(int output, char says[SAYS_MAX])
{
    size_t length = 0;
    double deadline_s = now_s() + START_TIMEOUT_MS / 1000.0;
    says[0] = '\0';
    while (length < SAYS_MAX - 1 && strstr(says, "backlog ") == NULL) {
        double left_ms = (deadline_s - now_s()) * 1000;
        struct pollfd readable = {.fd = output, .events = POLLIN};
        int ready = left_ms <= 0 ? 0 : poll(&readable, 1, (int)left_ms + 1);
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready <= 0 ? 0 : read(output, says + length, SAYS_MAX - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        length += (size_t)got;
        says[length] = '\0';
    }
    return true;
}

static bool understand(const char *says, struct rv_demo_process *process)
{
    return sscanf(says,
                  "listening on http://%63s\n"
                  "%u workers, %u pool threads, backlog %u",
                  process->address, &process->workers, &process->pool_threads,
                  &process->backlog) == 4;
}

static pid_t start(const struct rv_demo_settings *settings, int *output)
{
    int pipe_ends[2];
    pid_t parent = getpid();
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL); /* or the child might print it a second time */
    pid_t pid = fork();
    if (pid == 0)
        become_server(settings, pipe_ends[1], parent);
    close(pipe_ends[1]);
    if (pid < 0)
        close(pipe_ends[0]);
    *output = pipe_ends[0];
    return pid;
}

bool rv_demo_start(const struct rv_demo_settings *settings, const char *name,
                   struct rv_demo_process *process)
{
    char says[SAYS_MAX];
    double began_s = now_s();
    int output = -1;
    pid_t pid = start(settings, &output);
    *process = (struct rv_demo_process){.pid = pid, .output = output};
    if (pid < 0) {
        fprintf(stderr, "%s: cannot start the demo server: %s\n", name, strerror(errno));
        return false;
    }
    bool listens = read_start(output, says);
    process->started_s = now_s() - began_s;
    if (listens && understand(says, process))
        return true;
    fprintf(stderr, "%s: the demo server did not start%s%s\n", name,
            says[0] == '\0' ? "" : "; it said: ", says);
    rv_demo_stop(process);
    return false;
}

/* Waits for the end of its output, which is its own end. */
static bool has_ended(int output, int timeout_ms)
{
    char ignored[SAYS_MAX];
    double deadline_s = now_s() + timeout_ms / 1000.0;
    for (;;) {
        double left_ms = (deadline_s - now_s()) * 1000;
        struct pollfd readable = {.fd = output, .events = POLLIN};
        int ready = left_ms <= 0 ? 0 : poll(&readable, 1, (int)left_ms + 1);
        if (ready == 0)
            return false;
        if (ready > 0 && read(output, ignored, sizeof ignored) == 0)
            return true;
    }
}

bool rv_demo_stop(struct rv_demo_process *process)
{
    int status = 0;
    kill(process->pid, SIGTERM);
    if (!has_ended(process->output, STOP_TIMEOUT_MS))
        kill(process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(process->output);
    process->pid = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
