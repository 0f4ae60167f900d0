/*
 * Histograms written and read by our code, in the words of hdr_tool.js, which does the same with
 * hdr-histogram-js:
 *
 *   hist_tool encode DIGITS HIGHEST   lines "VALUE COUNT" on stdin → the histogram as text
 *   hist_tool decode                  the text on stdin → what is in it, a line for each thing
 */
#include "report/hist_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX (UINT32_C(1) << 24)

static int encode(const char *digits, const char *highest)
{
    struct rv_hist hist;
    if (rv_hist_init(&hist, (unsigned)atoi(digits), strtoull(highest, NULL, 10)) != 0)
        return 1;
    uint64_t value, count;
    while (scanf("%" SCNu64 " %" SCNu64, &value, &count) == 2)
        rv_hist_record_many(&hist, value, count);
    char *text = rv_hist_encode(&hist);
    rv_hist_free(&hist);
    if (text == NULL)
        return 1;
    puts(text);
    free(text);
    return 0;
}

static void tell(const struct rv_hist *hist)
{
    static const double percents[] = {0, 1, 25, 50, 75, 90, 99, 99.9, 99.99, 100};
    printf("digits %u\nhighest %" PRIu64 "\ncount %" PRIu64 "\n", hist->digits, hist->highest,
           hist->total);
    printf("min %" PRIu64 "\nmax %" PRIu64 "\n", hist->total == 0 ? 0 : hist->min, hist->max);
    printf("mean %.6f\n", rv_hist_mean(hist));
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        printf("p%g %" PRIu64 "\n", percents[i], rv_hist_percentile(hist, percents[i]));
    for (uint32_t i = 0; i < hist->counts_length; i++)
        if (hist->counts[i] != 0)
            printf("at %" PRIu64 " %" PRIu64 "\n", rv_hist_lowest_at(hist, i), hist->counts[i]);
}

static int decode(void)
{
    char *text = malloc(TEXT_BYTES_MAX);
    if (text == NULL)
        return 1;
    size_t length = fread(text, 1, TEXT_BYTES_MAX - 1, stdin);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    struct rv_hist hist;
    const char *reason;
    rv_error error = rv_hist_decode(text, &hist, &reason);
    free(text);
    if (error != 0) {
        fprintf(stderr, "hist_tool: %s\n", reason);
        return 1;
    }
    tell(&hist);
    rv_hist_free(&hist);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "encode") == 0)
        return encode(argv[2], argv[3]);
    if (argc == 2 && strcmp(argv[1], "decode") == 0)
        return decode();
    fputs("usage: hist_tool encode DIGITS HIGHEST | decode\n", stderr);
    return 2;
}
