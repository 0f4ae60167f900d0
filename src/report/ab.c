/*
 * ApacheBench's report as text: its labels, their order, its columns, so that whatever reads one reads the
 * other. The numbers are ab_summary.c's.
 *
 * ApacheBench follows the table of times with a WARNING or an ERROR for each row whose median is further
 * from its mean than one or two standard deviations. No median is: the distance is at most one deviation
 * in whatever distribution. Its notes come from comparing times that were rounded to milliseconds with a
 * deviation that was not, so there is nothing to say here.
 */
#include "report/ab_inner.h"

#include <inttypes.h>

/* The bits are those of the server's key and of the cipher's. */
static void write_tls(const struct rv_load_result *result, FILE *file)
{
    if (result->tls_version[0] == '\0')
        return;
    fprintf(file, "SSL/TLS Protocol:       %s,%s,%" PRIu32 ",%" PRIu32 "\n", result->tls_version,
            result->tls_cipher, result->tls_certificate_bits, result->tls_key_bits);
    if (result->tls_temp_key[0] != '\0')
        fprintf(file, "Server Temp Key:        %s\n", result->tls_temp_key);
    if (result->tls_name[0] != '\0')
        fprintf(file, "TLS Server Name:        %s\n", result->tls_name);
}

static void write_head(const struct rv_load_result *result, const struct rv_ab_options *options,
                       const struct rv_ab_summary *summary, FILE *file)
{
    fprintf(file, "Server Software:        %s\n", summary->server);
    fprintf(file, "Server Hostname:        %s\n", result->host);
    fprintf(file, "Server Port:            %u\n", (unsigned)result->port);
    write_tls(result, file);
    fputc('\n', file);
    fprintf(file, "Document Path:          %s\n", result->document);
    if (options->variable_length)
        fputs("Document Length:        Variable\n\n", file);
    else
        fprintf(file, "Document Length:        %" PRIu64 " bytes\n\n", result->first_content);
    fprintf(file, "Concurrency Level:      %" PRIu32 "\n", result->clients);
}

static void write_counts(const struct rv_load_result *result, const struct rv_ab_options *options,
                         const struct rv_ab_summary *summary, FILE *file)
{
    const struct rv_ab_failures *failures = &summary->failures;
    fprintf(file, "Time taken for tests:   %.3f seconds\n", summary->seconds);
    fprintf(file, "Complete requests:      %" PRIu64 "\n", summary->complete);
    fprintf(file, "Failed requests:        %" PRIu64 "\n", summary->failed);
    if (summary->failed > 0)
        fprintf(file,
                "   (Connect: %" PRIu64 ", Receive: %" PRIu64 ", Length: %" PRIu64
                ", Exceptions: %" PRIu64 ")\n",
                failures->connect, failures->receive, failures->length, failures->exceptions);
    if (failures->write > 0)
        fprintf(file, "Write errors:           %" PRIu64 "\n", failures->write);
    if (summary->not_2xx > 0)
        fprintf(file, "Non-2xx responses:      %" PRIu64 "\n", summary->not_2xx);
    if (options->keep_alive)
        fprintf(file, "Keep-Alive requests:    %" PRIu64 "\n", result->kept_alive);
    fprintf(file, "Total transferred:      %" PRIu64 " bytes\n", result->received_octets);
    if (result->has_body)
        fprintf(file, "Total body sent:        %" PRIu64 "\n", result->sent_octets);
    fprintf(file, "HTML transferred:       %" PRIu64 " bytes\n", result->content_octets);
}

static void write_rates(const struct rv_load_result *result, const struct rv_ab_summary *summary,
                        FILE *file)
{
    fprintf(file, "Requests per second:    %.2f [#/sec] (mean)\n", summary->requests_per_s);
    fprintf(file, "Time per request:       %.3f [ms] (mean)\n", summary->client_ms);
    fprintf(file, "Time per request:       %.3f [ms] (mean, across all concurrent requests)\n",
            summary->request_ms);
    fprintf(file, "Transfer rate:          %.2f [Kbytes/sec] received\n",
            summary->received_kib_per_s);
    if (result->has_body) {
        fprintf(file, "                        %.2f kb/s sent\n", summary->sent_kib_per_s);
        fprintf(file, "                        %.2f kb/s total\n",
                summary->received_kib_per_s + summary->sent_kib_per_s);
    }
}

static void write_times(const struct rv_ab_options *options, const struct rv_ab_summary *summary,
                        FILE *file)
{
    fputs("\nConnection Times (ms)\n", file);
    fputs(options->no_statistics ? "              min   avg   max\n"
                                 : "              min  mean[+/-sd] median   max\n",
          file);
    for (enum rv_ab_row row = 0; row < RV_AB_ROWS; row++) {
        const struct rv_ab_times *times = &summary->times[row];
        int colon = fprintf(file, "%s:", rv_ab_row_name(row));
        fprintf(file, "%*s", 12 - colon, "");
        if (options->no_statistics)
            fprintf(file, "%5" PRIu64 " %5" PRIu64 "%5" PRIu64 "\n", rv_ab_whole_ms(times->min),
                    rv_ab_whole_ms(times->mean), rv_ab_whole_ms(times->max));
        else
            fprintf(file, "%5" PRIu64 " %4" PRIu64 " %5.1f %6" PRIu64 " %7" PRIu64 "\n",
                    rv_ab_whole_ms(times->min), rv_ab_whole_ms(times->mean), times->deviation,
                    rv_ab_whole_ms(times->median), rv_ab_whole_ms(times->max));
    }
}

static void write_percentages(const struct rv_ab_summary *summary, FILE *file)
{
    static const int percents[] = {50, 66, 75, 80, 90, 95, 98, 99};
    fputs("\nPercentage of the requests served within a certain time (ms)\n", file);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        uint64_t us = rv_hist_percentile(&summary->total, percents[i]);
        fprintf(file, "  %d%%  %5" PRIu64 "\n", percents[i], rv_ab_whole_ms((double)us / 1000));
    }
    fprintf(file, " 100%%  %5" PRIu64 " (longest request)\n",
            rv_ab_whole_ms(summary->times[RV_AB_TOTAL].max));
}

static void write_text(const struct rv_load_result *result, const struct rv_ab_options *options,
                       const struct rv_ab_summary *summary, FILE *file)
{
    write_head(result, options, summary, file);
    write_counts(result, options, summary, file);
    if (summary->complete == 0)
        return;
    write_rates(result, summary, file);
    if (result->answered == 0)
        return;
    write_times(options, summary, file);
    if (result->answered > 1 && !options->no_percentiles)
        write_percentages(summary, file);
}

rv_error rv_report_ab(const struct rv_load_result *result, const struct rv_ab_options *options,
                      FILE *file)
{
    struct rv_ab_summary summary;
    rv_error error = rv_ab_summary_init(&summary, result, options);
    if (error != 0)
        return error;
    if (options->html)
        rv_ab_html(result, options, &summary, file);
    else
        write_text(result, options, &summary, file);
    rv_ab_summary_free(&summary);
    return ferror(file) ? RV_EIO : 0;
}
