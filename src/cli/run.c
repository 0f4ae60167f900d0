/*
 * Runs plans for the subcommands (run.h): where threads go, the check before, Ctrl-C, the exit code.
 */
#include "cli/run.h"

#include "load/preflight.h"
#include "report/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads and CPUs ----------------------------------------------------------------------------------- */

void rv_cli_place_threads(struct rv_load_plan *plan, const struct rv_probe *probe)
{
    cpu_set_t ours;
    cpu_set_t servers;
    cpu_set_t shared;
    CPU_ZERO(&ours);
    if (CPU_COUNT(&plan->cpus) > 0)
        ours = plan->cpus;
    else
        sched_getaffinity(0, sizeof ours, &ours);
    unsigned count = (unsigned)CPU_COUNT(&ours);
    if (CPU_COUNT(&plan->cpus) == 0 && probe != NULL && rv_probe_server_cpus(probe, &servers)) {
        CPU_AND(&shared, &ours, &servers);
        count -= (unsigned)CPU_COUNT(&shared);
        CPU_XOR(&ours, &ours, &shared);
        if (count > 0 && CPU_COUNT(&shared) > 0)
            plan->cpus = ours;
    }
    if (plan->threads > 0)
        return;
    plan->threads = count == 0 ? 1 : count;
    if (plan->threads > RV_LOAD_THREADS_MAX)
        plan->threads = RV_LOAD_THREADS_MAX;
    if (plan->threads > plan->clients)
        plan->threads = plan->clients;
}

/* ---- Ctrl-C ---------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    (void)number;
    stop_asked = 1;
}

struct handlers {
    struct sigaction interrupt, terminate;
};

/* The second signal finds the default action again. A signal that was ignored stays so (nohup, &). */
static void take_signal(int number, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(number, NULL, before);
    if (before->sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

static void take_signals(struct handlers *before)
{
    stop_asked = 0;
    take_signal(SIGINT, &before->interrupt);
    take_signal(SIGTERM, &before->terminate);
}

static void give_signals_back(const struct handlers *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGTERM, &before->terminate, NULL);
}

/* ---- a run ------------------------------------------------------------------------------------------------ */

/* False: the machine will not let it be. */
static bool check(const struct rv_load_plan *plan, const struct rv_probe *probe,
                  const struct rv_cli_run *run)
{
    struct rv_preflight *preflight = calloc(1, sizeof *preflight);
    if (preflight == NULL)
        return true; /* the run itself will say that there is no memory */
    rv_preflight_check(plan, probe, preflight);
    bool refused = preflight->refused;
    if (refused)
        fprintf(stderr, "%s: %s\n", run->name, preflight->notes[0]);
    for (uint32_t i = 0; i < preflight->note_count && !refused && !run->hushed; i++)
        fprintf(stderr, "%s: note: %s\n", run->name, preflight->notes[i]);
    free(preflight);
    return !refused;
}

static int run_checked(const struct rv_load_plan *plan, struct rv_probe *probe,
                       const struct rv_cli_run *run, struct rv_load_result *result)
{
    char why[RV_TARGET_WHY_MAX] = "";
    struct handlers before;
    const struct rv_load_watch watch = {.stop = &stop_asked,
                                        .tick_ms = run->tick_ms,
                                        .on_progress = run->on_progress,
                                        .ctx = run->ctx};
    take_signals(&before);
    rv_error error = rv_load_run(plan, probe, &watch, result, why);
    give_signals_back(&before);
    if (error == 0)
        return 0;
    fprintf(stderr, "%s: the run did not begin: %s\n", run->name,
            why[0] != '\0' ? why : rv_strerror(error));
    return RV_EXIT_NO_START;
}

int rv_cli_run(const struct rv_load_plan *plan, const struct rv_cli_run *run,
               struct rv_load_result *result)
{
    struct rv_load_plan placed = *plan;
    struct rv_probe *probe = rv_probe_new(&plan->target);
    rv_cli_place_threads(&placed, probe);
    int code = RV_EXIT_NO_START;
    if (check(&placed, probe, run))
        code = run_checked(&placed, probe, run, result);
    rv_probe_free(probe);
    return code;
}

int rv_cli_exit_of(const struct rv_load_result *result)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    if (result->end == RV_END_INTERRUPTED)
        return RV_EXIT_INTERRUPTED;
    if (result->answered == 0)
        return RV_EXIT_NO_START;
    uint32_t count = rv_load_laws(result, laws);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            return RV_EXIT_LAW;
    struct rv_verdict verdict;
    rv_verdict_of(result, &verdict);
    return verdict.grade == RV_VERDICT_INVALID ? RV_EXIT_INVALID : RV_EXIT_OK;
}

/* ---- the command line -------------------------------------------------------------------------------------- */

/* Does a shell take the word as it stands? */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,=+@%^";
    return *word != '\0' && strspn(word, plain) == strlen(word);
}

static void put_word(const char *word, FILE *line)
{
    if (is_plain(word)) {
        fputs(word, line);
        return;
    }
    fputc('\'', line);
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            fputs("'\\''", line);
        else
            fputc(*word, line);
    }
    fputc('\'', line);
}

char *rv_cli_command_line(const char *program, int argc, char **argv)
{
    char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);
    if (line == NULL)
        return NULL;
    if (program != NULL)
        put_word(program, line);
    for (int i = 0; i < argc; i++) {
        if (i > 0 || program != NULL)
            fputc(' ', line);
        put_word(argv[i], line);
    }
    bool complete = ferror(line) == 0;
    if (fclose(line) != 0 || !complete) {
        free(text);
        return NULL;
    }
    return text;
}
