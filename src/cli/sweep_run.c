/*
 * Running one row of a sweep (sweep_run.h).
 */
#include "cli/sweep_run.h"
#include "cli/ab_process.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USER_AGENT "rivulet/" RV_VERSION_TEXT
#define LABEL_MAX 48

/* ---- the URL of a row -------------------------------------------------------------------------------- */

/* The user's URL, with the size in place of each mark. */
static char *fill_in_size(const char *url, uint64_t bytes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL)
        return NULL;
    for (const char *mark; (mark = strstr(url, RV_SWEEP_SIZE_MARK)) != NULL;
         url = mark + strlen(RV_SWEEP_SIZE_MARK))
        fprintf(file, "%.*s%" PRIu64, (int)(mark - url), url, bytes);
    fputs(url, file);
    return fclose(file) == 0 ? text : NULL;
}

/* The caller frees it; NULL: no memory. */
static char *url_of(const struct rv_sweep_run *run, const struct rv_sweep_row *row)
{
    char *url = NULL;
    int length = 0;
    if (run->options->url != NULL)
        return fill_in_size(run->options->url, row->bytes);
    if (row->kind == RV_SWEEP_SIZE)
        length = asprintf(&url, "%s/sizer?size=%" PRIu64, run->base, row->bytes);
    else
        length = asprintf(&url, "%s%s", run->base,
                          row->kind == RV_SWEEP_STATIC ? "/static/index.html" : "/hello");
    return length < 0 ? NULL : url;
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

static int complain(const char *what)
{
    fprintf(stderr, RV_SWEEP_NAME ": %s\n", what);
    return RV_EXIT_NO_START;
}

static int aim(const struct rv_sweep_run *run, const char *text, struct rv_url *url,
               struct rv_load_target *target)
{
    char why[RV_TARGET_WHY_MAX];
    rv_error error = rv_url_parse(text, url, why);
    if (error != 0)
        return rv_cli_usage_error(RV_SWEEP_NAME, "%s", why);
    error = rv_target_set_url(target, text, url);
    if (error == 0)
        error = rv_target_resolve(target, NULL, 0, why);
    target->tls = (struct rv_tls_client_settings){.insecure = run->options->insecure,
                                                  .ca_file = run->options->ca_file};
    if (error == 0 && run->options->ab == NULL)
        error = rv_target_check_tls(target, why);
    if (error == RV_ENOMEM)
        return complain("out of memory");
    return error == 0 ? 0 : complain(why);
}

static int build_request(const struct rv_sweep_run *run, const struct rv_sweep_row *row,
                         const struct rv_url *url, const struct rv_load_target *target,
                         struct rv_load_request *request)
{
    char why[256];
    char *credentials = NULL;
    if (url->userinfo.ptr != NULL &&
        asprintf(&credentials, "%.*s", (int)url->userinfo.len, url->userinfo.ptr) < 0)
        return complain("out of memory");
    rv_error error =
        rv_request_build(&(struct rv_request_parts){.method = "GET",
                                                    .target = url->target,
                                                    .authority = target->authority,
                                                    .user_agent = USER_AGENT,
                                                    .accept = "*/*",
                                                    .says_close = !run->options->keep_alive,
                                                    .credentials = credentials},
                         request, why);
    free(credentials);
    request->content_expected = row->bytes;
    if (error == RV_ENOMEM)
        return complain("out of memory");
    return error == 0 ? 0 : rv_cli_usage_error(RV_SWEEP_NAME, "%s", why);
}

static struct rv_load_plan plan_of(const struct rv_sweep_run *run, const struct rv_sweep_row *row)
{
    const struct rv_sweep_options *options = run->options;
    return (struct rv_load_plan){
        .request_count = 1,
        .requests_max = options->quota ? 0 : row->requests,
        .quota = options->quota ? row->requests / row->clients : 0,
        .clients = row->clients,
        .close_each = !options->keep_alive,
        .timeout_us = options->timeout_us,
        .give_up_unreached = true,
        .cpus = run->cpus,
    };
}

/* ---- from a result to a row -------------------------------------------------------------------------------------- */

static void tell_laws(const struct rv_load_result *result, const struct rv_sweep_row *row)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result, laws);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            fprintf(stderr, RV_SWEEP_NAME ": %s, %" PRIu32 " clients: a law is violated: %s (%s)\n",
                    rv_sweep_kind_name(row->kind), row->clients, laws[i].name, laws[i].numbers);
}

static int take_result(const struct rv_sweep_run *run, struct rv_load_result *result,
                       struct rv_sweep_row *row)
{
    rv_sweep_row_take(row, result);
    if (run->keeps_results) {
        result->command = strdup(run->command);
        row->result = rv_result_to_json(result);
        if (row->result == NULL)
            return complain("out of memory");
    }
    int status = rv_cli_exit_of(result);
    if (status == RV_EXIT_LAW)
        tell_laws(result, row);
    return status == RV_EXIT_OK && row->figures.failed > 0 ? RV_EXIT_INVALID : status;
}

/* ---- by ourselves -------------------------------------------------------------------------------------------------- */

static int run_plan(const struct rv_sweep_run *run, const struct rv_load_plan *plan,
                    struct rv_sweep_row *row, bool *is_row)
{
    char label[LABEL_MAX];
    struct rv_progress progress;
    struct rv_load_result result;
    snprintf(label, sizeof label, "%s %" PRIu64 ":", rv_sweep_kind_name(row->kind),
             row->kind == RV_SWEEP_SIZE ? row->bytes : row->clients);
    rv_progress_start(&progress, stderr);
    progress.label = label;
    int status = rv_cli_run(plan,
                            &(struct rv_cli_run){.name = RV_SWEEP_NAME,
                                                 .hushed = true,
                                                 .tick_ms = RV_PROGRESS_TICK_MS,
                                                 .on_progress = rv_progress_show,
                                                 .ctx = &progress},
                            &result);
    rv_progress_end(&progress);
    if (status != 0)
        return status;
    *is_row = true;
    status = take_result(run, &result, row);
    rv_load_result_free(&result);
    return status;
}

static int run_by_ourselves(const struct rv_sweep_run *run, const char *text,
                            struct rv_sweep_row *row, bool *is_row)
{
    struct rv_url url;
    struct rv_load_request request = {0};
    struct rv_load_plan plan = plan_of(run, row);
    int status = aim(run, text, &url, &plan.target);
    if (status == 0)
        status = build_request(run, row, &url, &plan.target, &request);
    if (status == 0) {
        plan.requests = &request;
        status = run_plan(run, &plan, row, is_row);
    }
    rv_request_free(&request);
    rv_target_free(&plan.target);
    return status;
}

/* ---- by ab ----------------------------------------------------------------------------------------------------------- */

/* ab takes neither a path that is missing nor a name that it should resolve itself: it gets what the user
   gave. The kernel's counts are read around it. */
static int run_by_ab(const struct rv_sweep_run *run, const char *text, struct rv_sweep_row *row,
                     bool *is_row)
{
    struct rv_url url;
    struct rv_load_target target = {0};
    struct rv_evidence evidence = {0};
    char *says = NULL;
    int status = aim(run, text, &url, &target);
    if (status != 0) {
        rv_target_free(&target);
        return status;
    }
    struct rv_probe *probe = rv_probe_new(&target);
    enum rv_ab_end end = rv_ab_run(&(struct rv_ab_run){.program = run->options->ab,
                                                       .url = text,
                                                       .requests = row->requests,
                                                       .clients = row->clients,
                                                       .keep_alive = run->options->keep_alive,
                                                       .timeout_us = run->options->timeout_us,
                                                       .cpus = &run->cpus,
                                                       .stop = run->stop},
                                   row, &says);
    if (probe != NULL) {
        rv_probe_finish(probe, &evidence);
        rv_sweep_row_take_counters(row, &evidence);
    }
    *is_row = end == RV_AB_DONE;
    if (end == RV_AB_UNREADABLE)
        printf("%s did not measure %s:\n%s\n", run->options->ab, text, says == NULL ? "" : says);
    free(says);
    rv_probe_free(probe);
    rv_target_free(&target);
    switch (end) {
    case RV_AB_DONE:
        return row->figures.failed > 0 ? RV_EXIT_INVALID : RV_EXIT_OK;
    case RV_AB_UNREADABLE:
        return RV_EXIT_INVALID;
    case RV_AB_STOPPED:
        return RV_EXIT_INTERRUPTED;
    default:
        return RV_EXIT_NO_START;
    }
}

int rv_sweep_run(const struct rv_sweep_run *run, struct rv_sweep_row *row, bool *is_row)
{
    *is_row = false;
    rv_sweep_row_forget(row);
    row->requests = rv_sweep_requests(run->options, row->clients, row->bytes, &row->capped);
    char *url = url_of(run, row);
    if (url == NULL)
        return complain("out of memory");
    int status = run->options->ab != NULL ? run_by_ab(run, url, row, is_row)
                                          : run_by_ourselves(run, url, row, is_row);
    free(url);
    return status;
}
