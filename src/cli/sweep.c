/*
 * `rivulet sweep`: CherryPy's benchmark. Servers are started and stopped here, rows are run by sweep_run.c
 * and shown by report/.
 */
#include "cli/cli.h"
#include "cli/demo_process.h"
#include "cli/file.h"
#include "cli/run.h"
#include "cli/sweep_options.h"
#include "cli/sweep_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_BYTES 14
#define SERVER_MAX 64

/* Set by SIGINT and SIGTERM between the runs, and while ab runs: rv_cli_run sees to its own. */
static volatile sig_atomic_t interrupted;

struct state {
    const struct rv_sweep_options *options;
    struct rv_sweep sweep;
    struct rv_sweep_run run;
    char server[SERVER_MAX]; /* for the titles */
    int status;              /* the worst so far */
};

static void note_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* One that is ignored stays so: that is how nohup(1) and scripts want it. */
static void watch(int number)
{
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &(struct sigaction){.sa_handler = note_signal}, NULL);
}

/* A row that is not as it should be is no reason to end; everything else is. */
static bool can_go_on(struct state *state, int status)
{
    if (interrupted)
        status = RV_EXIT_INTERRUPTED;
    bool goes_on = status == RV_EXIT_OK || status == RV_EXIT_INVALID || status == RV_EXIT_LAW;
    if (!goes_on || status > state->status)
        state->status = status;
    return goes_on;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* The threads of a server that is not ours are known when it is on this machine, after a run. */
static void name_server(struct state *state, const struct rv_sweep_row *row)
{
    if (state->options->url == NULL || row->server_threads == 0)
        return;
    snprintf(state->server, sizeof state->server, "%u server thread%s", row->server_threads,
             row->server_threads == 1 ? "" : "s");
    state->sweep.server = state->server;
}

static bool run_row(struct state *state, struct rv_sweep_row row)
{
    for (uint32_t repeat = 0; repeat < state->options->repeat; repeat++) {
        struct rv_sweep_row one = row;
        bool is_row;
        one.repeat = repeat;
        int status = rv_sweep_run(&state->run, &one, &is_row);
        name_server(state, &one);
        if (is_row && rv_sweep_add(&state->sweep, &one) != 0)
            status = RV_EXIT_NO_START;
        if (!can_go_on(state, status))
            return false;
    }
    return true;
}

static bool run_rows(struct state *state, enum rv_sweep_kind kind, uint32_t backlog)
{
    const struct rv_sweep_options *options = state->options;
    struct rv_sweep_row row = {.kind = kind, .backlog = backlog};
    if (kind == RV_SWEEP_SIZE) {
        row.clients = options->size_clients;
        for (size_t i = 0; i < options->size_count; i++) {
            row.bytes = options->sizes[i];
            if (!run_row(state, row))
                return false;
        }
        return true;
    }
    row.bytes = options->url == NULL ? HELLO_BYTES : UINT64_MAX;
    for (size_t i = 0; i < options->client_count; i++) {
        row.clients = options->clients[i];
        if (!run_row(state, row))
            return false;
    }
    return true;
}

static bool has_kind(const struct rv_sweep_options *options, enum rv_sweep_kind kind)
{
    if (options->url == NULL)
        return true;
    return kind == (options->has_size ? RV_SWEEP_SIZE : RV_SWEEP_DYNAMIC);
}

/* Also when a report was broken off, what there is of it is shown. */
static bool run_reports(struct state *state, uint32_t backlog)
{
    bool goes_on = true;
    for (enum rv_sweep_kind kind = 0; kind < RV_SWEEP_KIND_COUNT && goes_on; kind++) {
        size_t before = state->sweep.count;
        if (!has_kind(state->options, kind))
            continue;
        goes_on = run_rows(state, kind, backlog);
        if (state->options->format != RV_SWEEP_TEXT || state->sweep.count == before)
            continue;
        putchar('\n');
        if (rv_sweep_write_report(&state->sweep, kind, backlog, stdout) != 0)
            return can_go_on(state, RV_EXIT_NO_START);
        fflush(stdout);
    }
    return goes_on;
}

/* ---- the demo server ---------------------------------------------------------------------------------------- */

/* The first half of the CPUs that we may use is the server's, the rest the load's; with one CPU there is
   nothing to divide. */
static void divide_cpus(cpu_set_t *server, cpu_set_t *load)
{
    cpu_set_t ours;
    CPU_ZERO(server);
    CPU_ZERO(load);
    if (sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) < 2)
        return;
    size_t half = (size_t)CPU_COUNT(&ours) / 2;
    for (size_t cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &ours))
            CPU_SET(cpu, seen++ < half ? server : load);
}

static void describe_server(struct state *state, const struct rv_demo_process *server)
{
    unsigned pool = state->options->pool;
    unsigned count = pool == 0 ? server->workers : server->pool_threads;
    snprintf(state->server, sizeof state->server, "%u %s%s", count,
             pool == 0 ? "worker" : "server thread", count == 1 ? "" : "s");
    state->sweep.server = state->server;
}

static void announce(const struct state *state, const struct rv_demo_process *server,
                     uint32_t backlog)
{
    if (state->options->format != RV_SWEEP_TEXT)
        return;
    printf("Started in %.12g seconds: http://%s, listen queue %u\n", server->started_s,
           server->address, server->backlog);
    if (server->backlog < backlog)
        printf("The kernel grants a listen queue of %u, not %u: net.core.somaxconn is the limit.\n",
               server->backlog, backlog);
}

/* The whole against a demo server of its own. */
static bool run_demo(struct state *state, uint32_t backlog)
{
    struct rv_demo_settings settings = {.backlog = backlog, .pool = state->options->pool};
    struct rv_demo_process server;
    char base[96];
    divide_cpus(&settings.cpus, &state->run.cpus);
    if (state->options->format == RV_SWEEP_TEXT)
        puts("Starting rivulet app server...");
    if (!rv_demo_start(&settings, RV_SWEEP_NAME, &server))
        return can_go_on(state, RV_EXIT_NO_START);
    announce(state, &server, backlog);
    describe_server(state, &server);
    snprintf(base, sizeof base, "http://%s%s", server.address,
             state->options->pool == 0 ? "" : "/pool");
    state->run.base = base;
    bool goes_on = can_go_on(state, RV_EXIT_OK) && run_reports(state, backlog);
    state->run.base = NULL;
    if (!rv_demo_stop(&server)) {
        fprintf(stderr, RV_SWEEP_NAME ": the demo server ended with an error\n");
        return can_go_on(state, RV_EXIT_INVALID) && goes_on;
    }
    return goes_on;
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

static void run_all(struct state *state)
{
    const struct rv_sweep_options *options = state->options;
    if (options->url != NULL) {
        run_reports(state, 0);
        return;
    }
    if (options->backlog_count == 0) {
        run_demo(state, 0);
        return;
    }
    for (size_t i = 0; i < options->backlog_count; i++) {
        if (i > 0 && options->format == RV_SWEEP_TEXT)
            putchar('\n');
        if (!run_demo(state, options->backlogs[i]))
            return;
    }
}

static const char *mode_of(const struct rv_sweep_options *options)
{
    if (options->quota && !options->keep_alive)
        return "Each client finishes its own share of the requests, every one on a new connection.";
    if (options->quota)
        return "Each client finishes its own share of the requests.";
    if (!options->keep_alive)
        return "Every request on a new connection.";
    return NULL;
}

static int save(const struct state *state, json_t *json)
{
    if (json_dump_file(json, state->options->output, JSON_INDENT(2)) == 0)
        return RV_EXIT_OK;
    fprintf(stderr, RV_SWEEP_NAME ": cannot write %s: %s\n", state->options->output,
            strerror(errno));
    return RV_EXIT_NO_START;
}

/* An interrupted sweep may not have come to the last queue. */
static bool can_compare(const struct state *state)
{
    const struct rv_sweep *sweep = &state->sweep;
    size_t queues = state->options->backlog_count;
    return queues > 1 && sweep->count > 0 &&
           sweep->rows[sweep->count - 1].backlog == state->options->backlogs[queues - 1];
}

/* What is printed once all is done, and saved. */
static int finish(struct state *state)
{
    const struct rv_sweep_options *options = state->options;
    rv_error error = 0;
    int status = RV_EXIT_OK;
    json_t *json = state->run.keeps_results ? rv_sweep_to_json(&state->sweep) : NULL;
    if (options->format == RV_SWEEP_TEXT && can_compare(state)) {
        putchar('\n');
        error = rv_sweep_write_comparison(&state->sweep, stdout);
    } else if (options->format == RV_SWEEP_CSV) {
        error = rv_sweep_write_csv(&state->sweep, stdout);
    } else if (options->format == RV_SWEEP_JSON && json != NULL) {
        if (json_dumpf(json, stdout, JSON_INDENT(2)) != 0)
            error = RV_EIO;
        putchar('\n');
    }
    if (state->run.keeps_results && json == NULL)
        error = RV_ENOMEM;
    else if (options->output != NULL)
        status = save(state, json);
    json_decref(json);
    if (error != 0 || fflush(stdout) != 0) {
        fprintf(stderr, RV_SWEEP_NAME ": cannot write the report: %s\n",
                error == RV_ENOMEM ? "out of memory" : strerror(errno));
        return RV_EXIT_NO_START;
    }
    return status;
}

int rv_cli_sweep(int argc, char **argv)
{
    struct rv_sweep_options options;
    int status = rv_sweep_options_parse(argc, argv, &options);
    if (status >= 0)
        return status;
    char why[RV_FILE_WHY_MAX];
    if (options.output != NULL && rv_file_may_write(options.output, why) != 0) {
        fprintf(stderr, RV_SWEEP_NAME ": %s\n", why);
        return RV_EXIT_NO_START;
    }
    char *command = rv_cli_command_line("rivulet", argc, argv);
    struct state state = {
        .options = &options,
        .sweep = {.command = command,
                  .mode = mode_of(&options),
                  .requests = options.requests,
                  .size_clients = options.size_clients},
        .run = {.options = &options,
                .command = command == NULL ? "" : command,
                .keeps_results = options.output != NULL || options.format == RV_SWEEP_JSON,
                .stop = &interrupted},
    };
    watch(SIGINT);
    watch(SIGTERM);
    run_all(&state);
    status = finish(&state);
    rv_sweep_free(&state.sweep);
    free(command);
    return state.status != RV_EXIT_OK ? state.status : status;
}
