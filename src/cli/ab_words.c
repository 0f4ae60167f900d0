/*
 * The words of `rivulet ab` (ab_words.h). Labels and messages that programs look for are ApacheBench's.
 */
#include "cli/ab_words.h"

#include "report/why.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PLAIN_REQUESTS_MAX 150 /* more than these, and progress is told */

/* ---- who it is ----------------------------------------------------------------------------------------- */

void rv_ab_say_usage(FILE *file)
{
    fputs("Usage: ab [options] [http://]hostname[:port]/path\n"
          "Options are:\n"
          "    -n requests     how many requests in all; 1\n"
          "    -c concurrency  how many of them at a time; 1\n"
          "    -t seconds      end after this time; also sets -n 50000\n"
          "    -s seconds      time limit of each request; 30\n"
          "    -k              keep connections (HTTP/1.0 with Connection: Keep-Alive)\n"
          "    -r              go on after connections that broke off\n"
          "    -l              answers may differ in length\n"
          "    -m method       method\n"
          "    -i              HEAD in place of GET\n"
          "    -p file         POST what is in the file\n"
          "    -u file         PUT what is in the file\n"
          "    -T type         Content-Type of -p and -u; text/plain\n"
          "    -C name=value   a cookie; may be repeated\n"
          "    -H line         a header line; may be repeated\n"
          "    -A user:pass    credentials for the server (Basic)\n"
          "    -P user:pass    credentials for the proxy (Basic)\n"
          "    -X host[:port]  through this proxy; port 80\n"
          "    -B address      local address, or a range of them\n"
          "    -b bytes        buffers of the sockets\n"
          "    -v level        1 tells causes, 2 the request and the first answer, 3 every status\n"
          "    -q              no progress\n"
          "    -d              no table of percentages\n"
          "    -S              no deviation and median\n"
          "    -e file         percentages as CSV\n"
          "    -g file         every request as a line for gnuplot\n"
          "    -w              report in HTML tables\n"
          "    -x -y -z attr   attributes of their table, tr, and td or th; imply -w\n"
          "    -f protocol     of https: ALL, TLS1, TLS1.1, TLS1.2 or TLS1.3; ALL\n"
          "    -Z ciphers      of https, with colons, as OpenSSL names them\n"
          "    -E file         certificate and key (PEM) to show to an https server\n"
          "    -I              do not say the server's name in TLS\n"
          "    --save file     the whole result as JSON, for rivulet report\n"
          "    -V              version\n"
          "    -h              this text on stderr, with status 22; --help: on stdout\n",
          file);
}

/* As many lines as ApacheBench's: some programs cut them off. */
void rv_ab_say_banner(bool html)
{
    static const char *const lines[] = {
        "in the manner of ApacheBench, Version 2.3",
        "The report's form is ApacheBench's, the figures are its own: man rivulet-ab",
        "MIT License, the rivulet authors",
    };
    printf(html ? "<p>\n This is rivulet %s, %s<br>\n %s<br>\n %s<br>\n</p>\n<p>\n"
                : "This is rivulet %s, %s\n%s\n%s\n\n",
           rv_version(), lines[0], lines[1], lines[2]);
}

void rv_ab_say_wrong(const struct rv_ab_command *command)
{
    if (command->asked == RV_AB_WRONG) {
        fprintf(stderr, "%s\n\n", command->why);
    } else {
        fprintf(stderr, "ab: %s\n", command->why);
        rv_ab_say_usage(stderr);
    }
}

/* ---- how far it is --------------------------------------------------------------------------------------- */

struct rv_ab_milestones rv_ab_milestones_of(const struct rv_ab_command *command)
{
    uint64_t step = command->requests / 10 < 100 ? 100 : command->requests / 10;
    if (command->quiet || command->requests <= PLAIN_REQUESTS_MAX)
        step = 0;
    return (struct rv_ab_milestones){.step = step, .next = step};
}

void rv_ab_say_progress(struct rv_ab_milestones *milestones, uint64_t complete)
{
    for (; milestones->step > 0 && milestones->next <= complete;
         milestones->next += milestones->step)
        fprintf(stderr, "Completed %" PRIu64 " requests\n", milestones->next);
}

void rv_ab_say_begin(const struct rv_ab_command *command, const struct rv_load_target *target,
                     const struct rv_load_request *request)
{
    if (!command->report.html) {
        printf("Benchmarking %s ", target->host);
        if (target->proxy != NULL)
            printf("[through %s] ", target->proxy);
        printf("(be patient)%s", rv_ab_milestones_of(command).step > 0 ? "\n" : "...");
    }
    if (command->verbosity >= 2) {
        printf("INFO: %s header == \n---\n", command->method);
        fwrite(request->octets, 1, request->head_length, stdout);
        fputs("\n---\n", stdout);
    }
    fflush(stdout); /* what stderr says comes behind it */
}

static void say_answers(int verbosity, const struct rv_load_result *result)
{
    if (verbosity >= 2 && result->first_head != NULL)
        printf("LOG: header received:\n%s\n", result->first_head);
    for (uint64_t i = 0; i < result->sample_count; i++) {
        uint32_t status = result->samples[i].status;
        if (verbosity >= 2 && (status < 200 || status > 299))
            printf("WARNING: Response code not 2xx (%" PRIu32 ")\n", status);
        else if (verbosity >= 3)
            printf("LOG: Response code = %" PRIu32 "\n", status);
    }
}

void rv_ab_say_end(const struct rv_ab_command *command, struct rv_ab_milestones *milestones,
                   const struct rv_load_result *result)
{
    uint64_t complete = result->answered + result->failed;
    rv_ab_say_progress(milestones, complete);
    say_answers(command->verbosity, result);
    if (result->end == RV_END_INTERRUPTED)
        return;
    if (milestones->step > 0)
        fprintf(stderr, "Finished %" PRIu64 " requests\n", complete);
    else
        puts("..done");
}

/* ---- what went wrong ---------------------------------------------------------------------------------------- */

static const char *call_of(enum rv_load_failure failure)
{
    if (failure <= RV_FAILURE_CONNECT_LAST)
        return "apr_socket_connect()";
    if (failure == RV_FAILURE_SEND_RESET || failure == RV_FAILURE_SEND_TIMEOUT)
        return "apr_socket_send";
    return "apr_socket_recv";
}

static void say_errno(const struct rv_load_errno *seen)
{
    fprintf(stderr, "%s: %s (%d)", call_of(seen->failure), strerror(seen->error_number),
            seen->error_number);
}

int rv_ab_say_given_up(const struct rv_load_result *result)
{
    if (result->answered > 0) {
        printf("Total of %" PRIu64 " requests completed\n", result->answered);
        fflush(stdout);
    }
    if (result->errno_count == 0 && result->tls_failure[0] != '\0') {
        fprintf(stderr, "SSL handshake failed: %s\n", result->tls_failure);
        return 1;
    }
    if (result->errno_count == 0) {
        fputs("ab: given up after too many failures\n", stderr);
        return 1;
    }
    /* the commonest one: with several clients there may be others */
    const struct rv_load_errno *worst = &result->errnos[0];
    for (uint32_t i = 1; i < result->errno_count; i++)
        if (result->errnos[i].count > worst->count)
            worst = &result->errnos[i];
    if (worst->failure <= RV_FAILURE_CONNECT_LAST && result->end == RV_END_FAILURES)
        fprintf(stderr, "\nTest aborted after %d failures\n\n", RV_AB_CONNECT_FAILURES_MAX);
    say_errno(worst);
    fputc('\n', stderr);
    if (worst->failure > RV_FAILURE_CONNECT_LAST)
        fputs("ab: with -r such requests are counted, and the run goes on\n", stderr);
    return worst->error_number & 255;
}

static uint64_t timeouts_of(const struct rv_load_result *result)
{
    return result->failures[RV_FAILURE_CONNECT_TIMEOUT] +
           result->failures[RV_FAILURE_SEND_TIMEOUT] + result->failures[RV_FAILURE_WAIT_TIMEOUT] +
           result->failures[RV_FAILURE_HEAD_TIMEOUT] + result->failures[RV_FAILURE_BODY_TIMEOUT];
}

static void say_findings(const struct rv_load_result *result)
{
    struct rv_finding findings[RV_FINDINGS_MAX];
    uint32_t count = rv_why(result, findings);
    for (uint32_t i = 0; i < count; i++)
        fprintf(stderr, "ab: %s%s%s\n", findings[i].text, findings[i].remedy[0] != '\0' ? " " : "",
                findings[i].remedy);
}

void rv_ab_say_causes(const struct rv_ab_command *command, const struct rv_load_result *result)
{
    uint64_t timeouts = timeouts_of(result);
    if (timeouts > 0)
        fprintf(stderr,
                "ab: %" PRIu64 " of the failed requests had no answer within %" PRIu64 " s (-s)\n",
                timeouts, command->timeout_s);
    if (command->verbosity < 1)
        return;
    for (uint32_t i = 0; i < result->errno_count; i++) {
        say_errno(&result->errnos[i]);
        fprintf(stderr, ", %" PRIu64 " times\n", result->errnos[i].count);
    }
    say_findings(result);
}
