/*
 * ApacheBench's report as HTML tables (-w): its rows and attributes. What comes from the server or the
 * command line is escaped where it is text; the attributes are the user's own, and stand as they were
 * given. "Processing" is the time of processing, where ApacheBench subtracts the extremes of the other
 * rows from one another.
 */
#include "report/ab_inner.h"

#include <inttypes.h>
#include <stdarg.h>

/* What each cell looks like. */
struct html {
    FILE *file;
    const char *row, *cell; /* attributes */
};

static void write_escaped(const char *text, FILE *file)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            fputc(*text, file);
        }
    }
}

/* A label, NULL for none, and what it is. */
static void write_row(const struct html *html, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_row(const struct html *html, const char *label, const char *format, ...)
{
    if (label != NULL)
        fprintf(html->file, "<tr %s><th colspan=2 %s>%s:</th>", html->row, html->cell, label);
    else
        fprintf(html->file, "<tr %s><td colspan=2 %s>&nbsp;</td>", html->row, html->cell);
    fprintf(html->file, "<td colspan=2 %s>", html->cell);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(html->file, format, arguments);
    va_end(arguments);
    fputs("</td></tr>\n", html->file);
}

static void write_text_row(const struct html *html, const char *label, const char *text)
{
    fprintf(html->file, "<tr %s><th colspan=2 %s>%s:</th><td colspan=2 %s>", html->row, html->cell,
            label, html->cell);
    write_escaped(text, html->file);
    fputs("</td></tr>\n", html->file);
}

static void write_head(const struct html *html, const struct rv_load_result *result,
                       const struct rv_ab_options *options, const struct rv_ab_summary *summary)
{
    write_text_row(html, "Server Software", summary->server);
    write_text_row(html, "Server Hostname", result->host);
    write_row(html, "Server Port", "%u", (unsigned)result->port);
    write_text_row(html, "Document Path", result->document);
    if (options->variable_length)
        write_row(html, "Document Length", "Variable");
    else
        write_row(html, "Document Length", "%" PRIu64 " bytes", result->first_content);
    write_row(html, "Concurrency Level", "%" PRIu32, result->clients);
}

static void write_counts(const struct html *html, const struct rv_load_result *result,
                         const struct rv_ab_options *options, const struct rv_ab_summary *summary)
{
    const struct rv_ab_failures *failures = &summary->failures;
    write_row(html, "Time taken for tests", "%.3f seconds", summary->seconds);
    write_row(html, "Complete requests", "%" PRIu64, summary->complete);
    write_row(html, "Failed requests", "%" PRIu64, summary->failed);
    if (summary->failed > 0)
        fprintf(html->file,
                "<tr %s><td colspan=4 %s >   (Connect: %" PRIu64 ", Receive: %" PRIu64
                ", Length: %" PRIu64 ", Exceptions: %" PRIu64 ")</td></tr>\n",
                html->row, html->cell, failures->connect, failures->receive, failures->length,
                failures->exceptions);
    if (failures->write > 0)
        write_row(html, "Write errors", "%" PRIu64, failures->write);
    if (summary->not_2xx > 0)
        write_row(html, "Non-2xx responses", "%" PRIu64, summary->not_2xx);
    if (options->keep_alive)
        write_row(html, "Keep-Alive requests", "%" PRIu64, result->kept_alive);
    write_row(html, "Total transferred", "%" PRIu64 " bytes", result->received_octets);
    if (result->has_body)
        write_row(html, "Total body sent", "%" PRIu64, result->sent_octets);
    write_row(html, "HTML transferred", "%" PRIu64 " bytes", result->content_octets);
}

static void write_rates(const struct html *html, const struct rv_load_result *result,
                        const struct rv_ab_summary *summary)
{
    write_row(html, "Requests per second", "%.2f", summary->requests_per_s);
    write_row(html, "Transfer rate", "%.2f kb/s received", summary->received_kib_per_s);
    if (result->has_body) {
        write_row(html, NULL, "%.2f kb/s sent", summary->sent_kib_per_s);
        write_row(html, NULL, "%.2f kb/s total",
                  summary->received_kib_per_s + summary->sent_kib_per_s);
    }
}

static void write_times(const struct html *html, const struct rv_ab_summary *summary)
{
    const char *cell = html->cell;
    fprintf(html->file, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", html->row,
            cell);
    fprintf(html->file,
            "<tr %s><th %s>&nbsp;</th> <th %s>min</th>   <th %s>avg</th>   <th %s>max</th></tr>\n",
            html->row, cell, cell, cell, cell);
    for (enum rv_ab_row row = 0; row < RV_AB_ROWS; row++) {
        const struct rv_ab_times *times = &summary->times[row];
        if (row == RV_AB_WAITING)
            continue;
        fprintf(html->file,
                "<tr %s><th %s>%s:</th><td %s>%5" PRIu64 "</td><td %s>%5" PRIu64
                "</td><td %s>%5" PRIu64 "</td></tr>\n",
                html->row, cell, rv_ab_row_name(row), cell, rv_ab_whole_ms(times->min), cell,
                rv_ab_whole_ms(times->mean), cell, rv_ab_whole_ms(times->max));
    }
}

void rv_ab_html(const struct rv_load_result *result, const struct rv_ab_options *options,
                const struct rv_ab_summary *summary, FILE *file)
{
    struct html html = {
        .file = file,
        .row = options->html_row != NULL ? options->html_row : "",
        .cell = options->html_cell != NULL ? options->html_cell : "bgcolor=white",
    };
    fprintf(file, "<table %s>\n", options->html_table != NULL ? options->html_table : "");
    write_head(&html, result, options, summary);
    write_counts(&html, result, options, summary);
    if (summary->complete > 0)
        write_rates(&html, result, summary);
    if (result->answered > 0)
        write_times(&html, summary);
    fputs("</table>\n", file);
}
