/*
 * `rivulet bench`: one run of load, from the command line to the report and the exit code.
 */
#include "cli/bench_plan.h"
#include "cli/file.h"
#include "cli/progress.h"
#include "cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "rivulet bench"

/* The report to stdout, the result to the file that -o names. */
static int report(const struct rv_bench_options *options, const struct rv_load_result *result)
{
    char why[RV_REPORT_WHY_MAX];
    int code = rv_cli_exit_of(result);
    if (options->output != NULL && rv_result_save(options->output, result, why) != 0) {
        fprintf(stderr, NAME ": -o: %s\n", why);
        code = RV_EXIT_NO_START;
    }
    rv_error error = rv_report_write(result, options->format, stdout);
    if (error == 0 && fflush(stdout) != 0)
        error = RV_EIO;
    if (error != 0) {
        fprintf(stderr, NAME ": the report could not be written: %s\n",
                error == RV_EIO ? strerror(errno) : rv_strerror(error));
        code = RV_EXIT_NO_START;
    }
    return code;
}

static int run(const struct rv_bench_options *options, const struct rv_bench_plan *plan,
               const char *command)
{
    struct rv_load_result result;
    struct rv_progress progress = {0};
    if (!options->quiet)
        rv_progress_start(&progress, stderr);
    if (!options->quiet && plan->note[0] != '\0')
        fprintf(stderr, NAME ": note: %s\n", plan->note);
    const struct rv_cli_run how = {.name = NAME,
                                   .hushed = options->quiet,
                                   .tick_ms = progress.file != NULL ? RV_PROGRESS_TICK_MS : 0,
                                   .on_progress = rv_progress_show,
                                   .ctx = &progress};
    int code = rv_cli_run(&plan->load, &how, &result);
    rv_progress_end(&progress);
    if (code != 0)
        return code;
    result.command = strdup(command);
    if (result.command == NULL) {
        fprintf(stderr, NAME ": out of memory\n");
        code = RV_EXIT_NO_START;
    } else {
        code = report(options, &result);
    }
    rv_load_result_free(&result);
    return code;
}

static int failed(int code, const char *why)
{
    if (code == RV_EXIT_USAGE)
        return rv_cli_usage_error(NAME, "%s", why);
    fprintf(stderr, NAME ": %s\n", why);
    return code;
}

static int plan_and_run(const struct rv_bench_options *options, const char *command)
{
    struct rv_bench_plan plan;
    char why[RV_BENCH_WHY_MAX] = "";
    int code = rv_bench_plan_make(options, &plan, why);
    if (code == 0 && options->output != NULL && rv_file_may_write(options->output, why) != 0)
        code = RV_EXIT_NO_START;
    code = code != 0 ? failed(code, why) : run(options, &plan, command);
    rv_bench_plan_free(&plan);
    return code;
}

int rv_cli_bench(int argc, char **argv)
{
    struct rv_bench_options options;
    char why[RV_BENCH_WHY_MAX] = "";
    char *command = rv_cli_command_line("rivulet", argc, argv); /* before getopt reorders it */
    if (command == NULL)
        return failed(RV_EXIT_NO_START, "out of memory");
    rv_error error = rv_bench_options_parse(argc, argv, &options, why);
    int code = RV_EXIT_OK;
    if (error != 0)
        code = failed(error == RV_ENOMEM ? RV_EXIT_NO_START : RV_EXIT_USAGE, why);
    else if (options.help)
        rv_bench_print_help(stdout);
    else
        code = plan_and_run(&options, command);
    rv_bench_options_free(&options);
    free(command);
    return code;
}
