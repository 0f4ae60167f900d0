/*
 * Running an external ab (ab_process.h) and reading what it says.
 */
#include "cli/ab_process.h"
#include "cli/sweep_options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER_MAX 24
#define ARGUMENTS_MAX 12
#define NOT_FOUND 127 /* the status of a shell that finds no such program */

/* ---- reading ----------------------------------------------------------------------------------------- */

/* The number behind `label` in the first line that begins with it and ends with `ending`. */
static bool number_in(const char *report, const char *label, const char *ending, double *number)
{
    size_t label_length = strlen(label), ending_length = strlen(ending);
    for (const char *line = report; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length >= label_length + ending_length && strncmp(line, label, label_length) == 0 &&
            strncmp(line + length - ending_length, ending, ending_length) == 0) {
            const char *value = line + label_length;
            value += strspn(value, " \t");
            size_t digits = strspn(value, "0123456789.");
            if (digits > 0) {
                *number = strtod(value, NULL);
                return true;
            }
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

/* "(Connect: 0, Receive: 0, Length: 8, Exceptions: 0)", which stands there when something failed. */
static void read_causes(const char *report, char causes[RV_SWEEP_CAUSES_MAX])
{
    const char *line = strstr(report, "\n   (Connect: ");
    causes[0] = '\0';
    if (line != NULL)
        snprintf(causes, RV_SWEEP_CAUSES_MAX, "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
}

bool rv_ab_read(const char *report, struct rv_sweep_row *row)
{
    struct rv_cherrypy_row *figures = &row->figures;
    double completed = 0, failed = 0;
    if (!number_in(report, "  50%", "", &row->p50_ms))
        row->p50_ms = NAN;
    if (!number_in(report, "  99%", "", &row->p99_ms))
        row->p99_ms = NAN;
    if (!number_in(report, " 100%", "", &row->max_ms))
        row->max_ms = NAN;
    bool all =
        number_in(report, "Complete requests:", "", &completed) &&
        number_in(report, "Failed requests:", "", &failed) &&
        number_in(report, "Requests per second:", "", &figures->requests_per_s) &&
        number_in(report, "Time per request:", "concurrent requests)", &figures->ms_per_request) &&
        number_in(report, "Transfer rate:", "", &figures->kib_per_s);
    read_causes(report, row->causes);
    figures->completed = (uint64_t)completed;
    figures->failed = (uint64_t)failed;
    return all;
}

/* ---- running ----------------------------------------------------------------------------------------- */

static void become_ab(const struct rv_ab_run *run, int output, pid_t parent)
{
    char requests[NUMBER_MAX], clients[NUMBER_MAX], timeout[NUMBER_MAX];
    const char *arguments[ARGUMENTS_MAX] = {run->program};
    size_t count = 1;
    snprintf(requests, sizeof requests, "%" PRIu64, run->requests);
    snprintf(clients, sizeof clients, "%" PRIu32, run->clients);
    snprintf(timeout, sizeof timeout, "%" PRIu64, (run->timeout_us + 999999) / 1000000);
    if (run->keep_alive)
        arguments[count++] = "-k";
    const char *const rest[] = {"-n", requests, "-c", clients, "-s", timeout, run->url};
    memcpy(arguments + count, rest, sizeof rest);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    if (CPU_COUNT(run->cpus) > 0)
        sched_setaffinity(0, sizeof *run->cpus, run->cpus);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(run->program, (char *const *)(const void *)arguments);
    fprintf(stderr, "%s\n", strerror(errno));
    _exit(NOT_FOUND);
}

/* All of a pipe until its end, or until the run is stopped; NULL: no memory. */
static char *read_all(int input, const volatile sig_atomic_t *stop)
{
    char *text = NULL;
    size_t length = 0;
    FILE *copy = open_memstream(&text, &length);
    char piece[4096];
    while (copy != NULL && *stop == 0) {
        ssize_t got = read(input, piece, sizeof piece);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        if (got > 0)
            fwrite(piece, 1, (size_t)got, copy);
    }
    if (copy != NULL)
        fclose(copy);
    return text;
}

enum rv_ab_end rv_ab_run(const struct rv_ab_run *run, struct rv_sweep_row *row, char **output)
{
    int pipe_ends[2], status = 0;
    pid_t parent = getpid();
    *output = NULL;
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        fprintf(stderr, RV_SWEEP_NAME ": cannot run %s: %s\n", run->program, strerror(errno));
        return RV_AB_NOT_RUN;
    }
    fflush(NULL); /* or the child might print it a second time */
    pid_t pid = fork();
    if (pid == 0)
        become_ab(run, pipe_ends[1], parent);
    close(pipe_ends[1]);
    *output = pid < 0 ? NULL : read_all(pipe_ends[0], run->stop);
    close(pipe_ends[0]);
    if (pid > 0 && *run->stop != 0)
        kill(pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (*run->stop != 0)
        return RV_AB_STOPPED;
    const char *says = *output == NULL ? strerror(errno) : *output;
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)) {
        fprintf(stderr, RV_SWEEP_NAME ": cannot run \"%s\": %.*s; --ab needs the path of ab\n",
                run->program, (int)strcspn(says, "\n"), says);
        return RV_AB_NOT_RUN;
    }
    return rv_ab_read(says, row) ? RV_AB_DONE : RV_AB_UNREADABLE;
}
