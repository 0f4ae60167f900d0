/*
 * The report for people. Line by line: what ran and how, whether to believe it, how fast it was, what was
 * answered, what failed, how long things took, what it cost server and client, and why it went as it did.
 * What was not measured has no line.
 */
#include "report/report.h"

#include "report/figures.h"
#include "report/text_inner.h"
#include "report/verdict.h"
#include "report/why.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE_MAX_OCTETS 100 /* where long sentences are broken */

/* ---- sentences ------------------------------------------------------------------------------------------- */

/* Puts out words, breaking lines; further lines begin with `indent` spaces. `column`: where one stands. */
static void write_words(FILE *file, const char *text, size_t indent, size_t column)
{
    bool first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > LINE_MAX_OCTETS) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
        first = false;
    }
    fputc('\n', file);
}

/* ---- what ran, and whether to believe it ------------------------------------------------------------------- */

static void write_how_much(const struct rv_load_result *result, FILE *file)
{
    char text[RV_FIGURE_MAX];
    if (result->requests_max > 0)
        fprintf(file, ", %" PRIu64 " request%s", result->requests_max,
                result->requests_max == 1 ? "" : "s");
    if (result->quota > 0)
        fprintf(file, ", %" PRIu64 " request%s each", result->quota, result->quota == 1 ? "" : "s");
    if (result->duration_us > 0) {
        rv_write_us(result->duration_us, text);
        fprintf(file, ", for %s", text);
    }
    if (result->think_us > 0) {
        rv_write_us(result->think_us, text);
        fprintf(file, ", %s between them", text);
    }
    if (result->connect_rate_per_s > 0) {
        rv_write_number(result->connect_rate_per_s, text);
        fprintf(file, ", %s connects/s", text);
    }
}

static void write_heading(const struct rv_load_result *result, FILE *file)
{
    char rate[RV_FIGURE_MAX];
    rv_write_number(result->rate_per_s, rate);
    fprintf(file, "rivulet %s  %s", rv_version(), result->url == NULL ? "" : result->url);
    if (result->request_kinds > 1)
        fprintf(file, " and %" PRIu32 " more", result->request_kinds - 1);
    fprintf(file, "  ");
    if (result->open_model)
        fprintf(file, "open loop, %s/s %s, at most %" PRIu32 " client%s", rate,
                result->poisson ? "Poisson" : "evenly", result->clients,
                result->clients == 1 ? "" : "s");
    else
        fprintf(file, "closed loop, %" PRIu32 " client%s", result->clients,
                result->clients == 1 ? "" : "s");
    if (result->close_each)
        fprintf(file, ", a connection for each request");
    else if (result->requests_per_connection > 0)
        fprintf(file, ", %" PRIu64 " requests per connection", result->requests_per_connection);
    else
        fprintf(file, ", keep-alive");
    if (result->keep_alive_1_0)
        fprintf(file, " (HTTP/1.0)");
    if (result->pipeline > 1)
        fprintf(file, ", pipelined by %" PRIu32, result->pipeline);
    if (result->http2)
        fprintf(file, ", HTTP/2 with %" PRIu32 " stream%s each", result->streams,
                result->streams == 1 ? "" : "s");
    write_how_much(result, file);
    fprintf(file, ", %" PRIu32 " thread%s", result->threads, result->threads == 1 ? "" : "s");
    if (result->evidence.kernel[0] != '\0')
        fprintf(file, "  (%s, %" PRIu32 " CPU%s)", result->evidence.kernel,
                result->evidence.cpus_online, result->evidence.cpus_online == 1 ? "" : "s");
    fputc('\n', file);
}

static void write_verdict(const struct rv_load_result *result, FILE *file)
{
    struct rv_verdict verdict;
    rv_verdict_of(result, &verdict);
    fprintf(file, "%s", rv_verdict_grade_name(verdict.grade));
    for (uint32_t i = 0; i < verdict.reason_count; i++)
        fprintf(file, "%s%s", i == 0 ? ": " : "; ", verdict.reasons[i]);
    fprintf(file, "\n\n");
}

/* ---- what came of it ----------------------------------------------------------------------------------------- */

static void write_rate(const struct rv_load_result *result, FILE *file)
{
    char rate[RV_FIGURE_MAX], time[RV_FIGURE_MAX], octets[RV_FIGURE_MAX], all[RV_FIGURE_MAX];
    rv_write_number(rv_answers_per_s(result), rate);
    rv_write_us(result->elapsed_us, time);
    rv_write_octets(result->elapsed_us == 0
                        ? 0
                        : (double)result->received_octets * 1e6 / (double)result->elapsed_us,
                    octets);
    rv_write_octets((double)result->received_octets, all);
    fprintf(file, "Rate         %s answers/s in %s, %s/s received (%s)\n", rate, time, octets, all);
}

static void write_requests(const struct rv_load_result *result, FILE *file)
{
    fprintf(file, "Requests     ");
    if (result->open_model)
        fprintf(file, "%" PRIu64 " due, ", result->due);
    fprintf(file,
            "%" PRIu64 " started, %" PRIu64 " answered, %" PRIu64 " failed, %" PRIu64
            " without an answer at the end",
            result->started, result->answered, result->failed, result->in_flight);
    if (result->open_model)
        fprintf(file, ", %" PRIu64 " never started", result->not_started);
    fputc('\n', file);
}

static void write_statuses(const struct rv_load_result *result, FILE *file)
{
    const char *start = "Answers      ";
    for (int status = 0; status < 1000; status++) {
        if (result->statuses[status] == 0)
            continue;
        fprintf(file, "%s%d: %" PRIu64, start, status, result->statuses[status]);
        start = ", ";
    }
    if (result->answered > 0)
        fputc('\n', file);
    if (result->interim > 0)
        fprintf(file, "             and %" PRIu64 " interim answers (1xx)\n", result->interim);
    if (result->other_length > 0)
        fprintf(file,
                "             %" PRIu64 " not as long as the first one (%" PRIu64 " octets)\n",
                result->other_length, result->first_content);
}

static void write_codes(const struct rv_load_result *result, enum rv_load_failure failure,
                        FILE *file)
{
    const char *start = "  (";
    char room[RV_LOAD_CODE_ROOM];
    for (uint32_t i = 0; i < result->code_count; i++) {
        if (result->codes[i].failure != failure)
            continue;
        fprintf(file, "%s%s %" PRIu64, start, rv_load_code_name(result->codes[i].code, room),
                result->codes[i].count);
        start = ", ";
    }
    fprintf(file, "%s\n", start[0] == ',' ? ")" : "");
}

static void write_errnos(const struct rv_load_result *result, enum rv_load_failure failure,
                         FILE *file)
{
    const char *start = "  (";
    for (uint32_t i = 0; i < result->errno_count && i < RV_LOAD_ERRNOS_MAX; i++) {
        const struct rv_load_errno *seen = &result->errnos[i];
        const char *name = strerrorname_np(seen->error_number);
        if (seen->failure != failure || seen->error_number == 0)
            continue;
        if (name != NULL)
            fprintf(file, "%s%s %" PRIu64, start, name, seen->count);
        else
            fprintf(file, "%serrno %d %" PRIu64, start, seen->error_number, seen->count);
        start = ", ";
    }
    fprintf(file, "%s\n", start[0] == ',' ? ")" : "");
}

static void write_failures(const struct rv_load_result *result, FILE *file)
{
    const char *label = "Failed";
    for (int i = 0; i < RV_FAILURE_COUNT; i++) {
        enum rv_load_failure failure = (enum rv_load_failure)i;
        if (result->failures[i] == 0)
            continue;
        fprintf(file, "%-12s %" PRIu64 " %s", label, result->failures[i],
                rv_load_failure_text(failure));
        if (rv_load_failure_has_code(failure))
            write_codes(result, failure, file);
        else
            write_errnos(result, failure, file);
        label = "";
    }
}

static void write_connections(const struct rv_load_result *result, FILE *file)
{
    fprintf(file,
            "Connections  %" PRIu64 " opened (%" PRIu64 " %s), peak %" PRIu64 ", %" PRIu64
            " opened again, %" PRIu64 " race%s\n",
            result->connects, result->connects_tried, result->connects_tried == 1 ? "try" : "tries",
            result->open_peak, result->reopened, result->races, result->races == 1 ? "" : "s");
}

static void write_tls(const struct rv_load_result *result, FILE *file)
{
    if (result->tls_version[0] != '\0')
        fprintf(file,
                "TLS          %s, %s%s%s, %" PRIu64 " full handshake%s, %" PRIu64 " resumed\n",
                result->tls_version, result->tls_cipher,
                result->tls_temp_key[0] == '\0' ? "" : ", ", result->tls_temp_key, result->tls_full,
                result->tls_full == 1 ? "" : "s", result->tls_resumed);
}

static void write_http2(const struct rv_load_result *result, FILE *file)
{
    const char *start = "HTTP/2       ";
    if (result->streams_limit > 0) {
        fprintf(
            file, "%sthe server allowed %" PRIu32 " stream%s at once on a connection, not %" PRIu32,
            start, result->streams_limit, result->streams_limit == 1 ? "" : "s", result->streams);
        start = "; ";
    }
    if (result->goaways > 0 || result->sent_again > 0) {
        fprintf(file,
                "%s%" PRIu64 " connection%s ended with GOAWAY, %" PRIu64
                " request%s sent again that the server had not looked at",
                start, result->goaways, result->goaways == 1 ? "" : "s", result->sent_again,
                result->sent_again == 1 ? "" : "s");
        start = "; ";
    }
    if (start[0] == ';')
        fputc('\n', file);
}

/* ---- what it cost ----------------------------------------------------------------------------------------------- */

static double us_per_answer(const struct rv_load_result *result, uint64_t us)
{
    return result->answered == 0 ? 0 : (double)us / (double)result->answered;
}

/* User and system time are known to a tick of 10 ms: below ten ticks they say nothing. */
#define SPLIT_US 100000

static void write_server_cost(const struct rv_load_result *result, FILE *file)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    uint64_t split = server->user_us + server->system_us;
    char cpus[RV_FIGURE_MAX], each[RV_FIGURE_MAX];
    rv_write_number(rv_server_cpus(result), cpus);
    fprintf(file, "             %s CPUs", cpus);
    if (result->answered > 0) {
        rv_write_number(us_per_answer(result, server->cpu_us), each);
        fprintf(file, ", %s us CPU per answer", each);
    }
    if (split >= SPLIT_US)
        fprintf(file, " (%.0f %% user, %.0f %% system)",
                100 * (double)server->user_us / (double)split,
                100 * (double)server->system_us / (double)split);
    fputc('\n', file);
}

static void write_server(const struct rv_load_result *result, FILE *file)
{
    const struct rv_server_evidence *server = &result->evidence.server;
    if (!server->found)
        return;
    fprintf(file, "Server       %s", server->address);
    if (server->pid_known)
        fprintf(file, ", %s, pid %d, %d process%s, %" PRIu32 " thread%s\n", server->name,
                server->pid, server->processes, server->processes == 1 ? "" : "es", server->threads,
                server->threads == 1 ? "" : "s");
    else
        fprintf(file, ", a process of another user: its CPU time is not known\n");
    if (server->pid_known && result->elapsed_us > 0)
        write_server_cost(result, file);
    if (server->queue_samples == 0)
        return;
    fprintf(file, "             accept queue: peak %" PRIu32 ", limit %" PRIu32, server->queue_peak,
            server->backlog);
    if (server->sockets > 1)
        fprintf(file, ", %" PRIu32 " sockets", server->sockets);
    if (server->queue_drops >= 0)
        fprintf(file, ", drop counter +%" PRId64, server->queue_drops);
    if (server->queue_drops > 0 && rv_counted(result, RV_KERNEL_DEFER_ACCEPT_DROP) > 0)
        fprintf(file, " (deferred accepts, which lose nothing: +%" PRIu64 " on this machine)",
                rv_counted(result, RV_KERNEL_DEFER_ACCEPT_DROP));
    fputc('\n', file);
}

static void write_client(const struct rv_load_result *result, FILE *file)
{
    const struct rv_evidence *evidence = &result->evidence;
    char cpus[RV_FIGURE_MAX], each[RV_FIGURE_MAX];
    if (evidence->thread_count == 0 || result->elapsed_us == 0)
        return;
    rv_write_number((double)evidence->client_cpu_us / (double)result->elapsed_us, cpus);
    fprintf(file, "Client       %s CPUs", cpus);
    if (result->answered > 0) {
        rv_write_number(us_per_answer(result, evidence->client_cpu_us), each);
        fprintf(file, ", %s us CPU per answer", each);
    }
    fprintf(file, ", busiest thread %.0f %%\n", 100 * rv_client_busiest(result));
}

/* ---- why, and what must hold --------------------------------------------------------------------------------------- */

static void write_findings(const struct rv_load_result *result, FILE *file)
{
    struct rv_finding findings[RV_FINDINGS_MAX];
    uint32_t count = rv_why(result, findings);
    if (count > 0)
        fprintf(file, "\nWhy\n");
    for (uint32_t i = 0; i < count; i++) {
        fprintf(file, "%2" PRIu32 ". ", i + 1);
        write_words(file, findings[i].text, 4, 4);
        if (findings[i].remedy[0] == '\0')
            continue;
        fprintf(file, "    -> ");
        write_words(file, findings[i].remedy, 7, 7);
    }
}

static void write_laws(const struct rv_load_result *result, FILE *file)
{
    struct rv_load_law laws[RV_LAWS_MAX];
    uint32_t count = rv_load_laws(result, laws), held = 0;
    for (uint32_t i = 0; i < count; i++)
        held += laws[i].holds;
    fprintf(file, "\nChecks       %" PRIu32 " of %" PRIu32 " laws hold\n", held, count);
    for (uint32_t i = 0; i < count; i++)
        if (!laws[i].holds)
            fprintf(file, "             VIOLATED: %s: %s\n", laws[i].name, laws[i].numbers);
}

rv_error rv_report_text(const struct rv_load_result *result, FILE *file)
{
    write_heading(result, file);
    write_verdict(result, file);
    write_rate(result, file);
    write_requests(result, file);
    write_statuses(result, file);
    write_failures(result, file);
    write_connections(result, file);
    write_http2(result, file);
    write_tls(result, file);
    rv_error error = rv_text_times(result, file);
    if (error != 0)
        return error;
    if (result->evidence.server.found || result->evidence.thread_count > 0)
        fputc('\n', file);
    write_server(result, file);
    write_client(result, file);
    write_findings(result, file);
    write_laws(result, file);
    return ferror(file) ? RV_EIO : 0;
}
