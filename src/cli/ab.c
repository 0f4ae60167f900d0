/*
 * `rivulet ab`, which is also the command when it is called as `ab`: ApacheBench's options become a plan,
 * the plan is run on one thread, and the result is told in ApacheBench's words and exit codes: 0 when the
 * run came to its end, however the requests fared; the number of the error that ended it; 22 for a wrong
 * command line.
 */
#include "base/buffer.h"
#include "cli/ab_options.h"
#include "cli/ab_request.h"
#include "cli/ab_words.h"
#include "cli/file.h"
#include "cli/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_WRONG 1
#define EXIT_WRONG_USAGE EINVAL
#define EXIT_NAME 50 /* no such host: what is left of APR's number for it in an exit code */
#define TICK_MS 100

/* The files beside the report, opened before the run: a wrong path costs no run. */
struct files {
    FILE *gnuplot, *csv; /* NULL: not asked for */
};

static int out_of_memory(void)
{
    fputs("ab: out of memory\n", stderr);
    return EXIT_WRONG;
}

/* ---- files ------------------------------------------------------------------------------------------------- */

static bool open_file(const char *path, const char *kind, FILE **file)
{
    if (path == NULL)
        return true;
    *file = fopen(path, "we");
    if (*file == NULL)
        fprintf(stderr, "Cannot open %s output file: %s: %s\n", kind, path, strerror(errno));
    return *file != NULL;
}

static bool open_files(const struct rv_ab_command *command, struct files *files)
{
    return open_file(command->csv_path, "CSV", &files->csv) &&
           open_file(command->gnuplot_path, "gnuplot", &files->gnuplot);
}

static void close_files(struct files *files)
{
    if (files->gnuplot != NULL)
        fclose(files->gnuplot);
    if (files->csv != NULL)
        fclose(files->csv);
}

typedef rv_error file_writer(const struct rv_load_result *result, FILE *file);

static bool write_file(const struct rv_load_result *result, FILE **file, const char *path,
                       file_writer *write)
{
    if (*file == NULL)
        return true;
    rv_error error = write(result, *file);
    if (fclose(*file) != 0 && error == 0)
        error = RV_EIO;
    *file = NULL;
    if (error != 0)
        fprintf(stderr, "ab: cannot write %s: %s\n", path, rv_strerror(error));
    return error == 0;
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

static char *proxy_of(const struct rv_url *url)
{
    char *proxy;
    const char *format = url->host_is_ipv6 ? "[%.*s]:%u" : "%.*s:%u";
    int length = asprintf(&proxy, format, (int)url->host.len, url->host.ptr, (unsigned)url->port);
    return length < 0 ? NULL : proxy;
}

static rv_error set_target(const struct rv_ab_command *command, struct rv_load_target *target)
{
    target->source = command->source;
    target->tls = command->tls;
    if (command->proxy != NULL) {
        target->proxy = proxy_of(&command->proxy_url);
        if (target->proxy == NULL)
            return RV_ENOMEM;
    }
    return rv_target_set_url(target, command->url_text, &command->url);
}

static void set_limits(const struct rv_ab_command *command, struct rv_load_plan *plan)
{
    plan->requests_max = command->requests;
    plan->duration_us = command->time_s * 1000000;
    plan->timeout_us = command->timeout_s * 1000000;
    plan->clients = command->concurrency;
    plan->close_each = !command->keep_alive;
    plan->buffer_bytes = command->buffer_bytes;
    plan->first_length_counts = !command->report.variable_length;
    plan->connect_failures_max = command->goes_on ? 0 : RV_AB_CONNECT_FAILURES_MAX;
    plan->receive_failures_max = command->goes_on ? 0 : 1;
    plan->give_up_unreached = true;
    plan->threads = 1;
    plan->keep_samples = command->gnuplot_path != NULL || command->verbosity >= 2;
}

/* ---- the run ----------------------------------------------------------------------------------------------- */

static void on_progress(const struct rv_load_progress *progress, void *ctx)
{
    rv_ab_say_progress(ctx, progress->answered + progress->failed);
}

static int say_violated_laws(const struct rv_load_result *result)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result, laws);
    int code = RV_EXIT_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (!laws[i].holds) {
            fprintf(stderr, "ab: these figures contradict each other: %s (%s)\n", laws[i].name,
                    laws[i].numbers);
            code = RV_EXIT_LAW;
        }
    }
    return code;
}

/* The result knows the target that was sent; ApacheBench shows the path even when a proxy was told all of
   the URL. An empty body is a body. */
static rv_error set_shown(const struct rv_ab_command *command, const char *line,
                          struct rv_load_result *result)
{
    const rv_bytes target = command->url.target;
    char *document;
    if (asprintf(&document, "%s%.*s", target.ptr[0] == '/' ? "" : "/", (int)target.len,
                 target.ptr) < 0)
        return RV_ENOMEM;
    free(result->document);
    result->document = document;
    result->has_body = command->body_path != NULL;
    result->command = strdup(line);
    return result->command == NULL ? RV_ENOMEM : 0;
}

static bool save(const struct rv_ab_command *command, const struct rv_load_result *result)
{
    char why[RV_REPORT_WHY_MAX];
    if (command->save_path == NULL || rv_result_save(command->save_path, result, why) == 0)
        return true;
    fprintf(stderr, "ab: --save: %s\n", why);
    return false;
}

static bool write_files(const struct rv_ab_command *command, struct files *files,
                        const struct rv_load_result *result)
{
    return write_file(result, &files->csv, command->csv_path, rv_report_ab_csv) &&
           write_file(result, &files->gnuplot, command->gnuplot_path, rv_report_ab_gnuplot);
}

static bool write_report(const struct rv_ab_command *command, const struct rv_load_result *result)
{
    fputs("\n\n", stdout);
    rv_error error = rv_report_ab(result, &command->report, stdout);
    if (fflush(stdout) == 0 && error == 0)
        return true;
    fprintf(stderr, "ab: cannot write the report: %s\n",
            error == RV_ENOMEM ? rv_strerror(error) : strerror(errno));
    return false;
}

static int report(const struct rv_ab_command *command, struct rv_ab_milestones *milestones,
                  struct files *files, struct rv_load_result *result)
{
    bool saved = save(command, result);
    if (result->end == RV_END_UNREACHED || result->end == RV_END_FAILURES)
        return rv_ab_say_given_up(result);
    rv_ab_say_end(command, milestones, result);
    if (!write_report(command, result))
        return EXIT_WRONG;
    bool written = write_files(command, files, result);
    rv_ab_say_causes(command, result);
    int code = say_violated_laws(result);
    if (code != RV_EXIT_OK)
        return code;
    bool interrupted = result->end == RV_END_INTERRUPTED;
    return interrupted || !written || !saved ? EXIT_WRONG : RV_EXIT_OK;
}

static int run_plan(const struct rv_ab_command *command, const char *line,
                    const struct rv_load_plan *plan, struct files *files)
{
    struct rv_ab_milestones milestones = rv_ab_milestones_of(command);
    struct rv_cli_run run = {
        .name = "ab",
        .hushed = true,
        .tick_ms = milestones.step > 0 ? TICK_MS : 0,
        .on_progress = on_progress,
        .ctx = &milestones,
    };
    struct rv_load_result result;
    int code = rv_cli_run(plan, &run, &result);
    if (code != 0)
        return code;
    code = set_shown(command, line, &result) == 0 ? report(command, &milestones, files, &result)
                                                  : out_of_memory();
    rv_load_result_free(&result);
    return code;
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

/* The body is read, the host is looked up, and all is run. */
static int run_target(const struct rv_ab_command *command, const char *line,
                      struct rv_load_plan *plan, rv_bytes body, struct files *files)
{
    char why[RV_TARGET_WHY_MAX];
    struct rv_load_target *target = &plan->target;
    if (set_target(command, target) != 0 ||
        rv_ab_request_build(command, target->authority, body, &plan->requests[0]) != 0)
        return out_of_memory();
    if (rv_target_check_tls(target, why) != 0) {
        fprintf(stderr, "ab: %s\n", why);
        return EXIT_WRONG;
    }
    rv_ab_say_banner(command->report.html);
    rv_ab_say_begin(command, target, &plan->requests[0]);
    if (rv_target_resolve(target, NULL, 0, why) != 0) {
        fprintf(stderr, "apr_sockaddr_info_get() for %s: %s\n",
                target->proxy != NULL ? target->proxy : target->host, why);
        return EXIT_NAME;
    }
    return run_plan(command, line, plan, files);
}

static int run_command(const struct rv_ab_command *command, const char *line)
{
    char why[RV_FILE_WHY_MAX];
    struct rv_buffer body = {.ptr = NULL};
    struct files files = {NULL, NULL};
    struct rv_load_request request = {.octets = NULL};
    struct rv_load_plan plan = {.requests = &request, .request_count = 1};
    int code = EXIT_WRONG;
    set_limits(command, &plan);
    if (command->body_path != NULL && rv_file_read(command->body_path, &body, why) != 0)
        fprintf(stderr, "ab: %s\n", why);
    else if (command->save_path != NULL && rv_file_may_write(command->save_path, why) != 0)
        fprintf(stderr, "ab: --save: %s\n", why);
    else if (open_files(command, &files))
        code = run_target(command, line, &plan, rv_slice(body.ptr, body.len), &files);
    close_files(&files);
    rv_buffer_free(&body);
    rv_request_free(&request);
    rv_target_free(&plan.target);
    return code;
}

int rv_cli_ab(int argc, char **argv)
{
    static char name[] = "ab";
    argv[0] = name;                                          /* by whatever path it was called */
    char *line = rv_cli_command_line("rivulet", argc, argv); /* before getopt reorders it */
    struct rv_ab_command *command = malloc(sizeof *command);
    int code = RV_EXIT_OK;
    if (command == NULL || line == NULL) {
        free(command);
        free(line);
        return out_of_memory();
    }
    rv_ab_parse(command, argc, argv);
    switch (command->asked) {
    case RV_AB_RUN:
        code = run_command(command, line);
        break;
    case RV_AB_VERSION:
        rv_ab_say_banner(false);
        break;
    case RV_AB_HELP:
        rv_ab_say_usage(stdout);
        break;
    case RV_AB_USAGE:
        rv_ab_say_usage(stderr);
        code = EXIT_WRONG_USAGE;
        break;
    case RV_AB_WRONG:
    case RV_AB_WRONG_USAGE:
        rv_ab_say_wrong(command);
        code = command->asked == RV_AB_WRONG ? EXIT_WRONG : EXIT_WRONG_USAGE;
        break;
    }
    free(command);
    free(line);
    return code;
}
