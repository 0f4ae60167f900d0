/*
 * From argv to what was asked (bench_options.h), by the table of bench_table.c.
 */
#include "cli/bench_table.h"

#include "cli/units.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define FIRST_VALUE 256 /* what getopt returns for the first row */

rv_error rv_texts_add(struct rv_texts *texts, const char *text)
{
    const char **grown = realloc(texts->items, (texts->count + 1) * sizeof *grown);
    if (grown == NULL)
        return RV_ENOMEM;
    texts->items = grown;
    grown[texts->count++] = text;
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static rv_error bad(char *why, const struct rv_bench_row *row, const char *takes, const char *text)
{
    snprintf(why, RV_BENCH_WHY_MAX, "%s takes %s, not \"%.200s\"", row->flag, takes, text);
    return RV_EINVAL;
}

static rv_error take_count(const struct rv_bench_row *row, const char *text, uint64_t *count,
                           char *why)
{
    char takes[120];
    if (rv_units_count(text, count) && *count >= row->min && *count <= row->max)
        return 0;
    if (row->max < INT64_MAX)
        snprintf(takes, sizeof takes, "a whole number from %" PRIu64 " to %" PRIu64, row->min,
                 row->max);
    else
        snprintf(takes, sizeof takes, "a whole number from %" PRIu64 ", such as 1000 or 10k",
                 row->min);
    return bad(why, row, takes, text);
}

static rv_error take_duration(const struct rv_bench_row *row, const char *text, uint64_t *us,
                              char *why)
{
    if (rv_units_duration_us(text, us) && *us >= row->min && *us <= row->max)
        return 0;
    return bad(why, row,
               row->min == 0 ? "a time from 0 to 8760h, such as 10s or 250ms"
                             : "a time from 1us to 8760h, such as 10s or 250ms",
               text);
}

static rv_error take_rate(const struct rv_bench_row *row, const char *text, double *rate, char *why)
{
    if (rv_units_rate(text, rate) && *rate > 0 && *rate <= 1e9)
        return 0;
    return bad(why, row, "a rate above 0, up to 1G, such as 500, 20k or 600/m", text);
}

static rv_error take_arrivals(const struct rv_bench_row *row, const char *text,
                              enum rv_arrivals *arrivals, char *why)
{
    *arrivals = strcmp(text, "poisson") == 0 ? RV_ARRIVALS_POISSON : RV_ARRIVALS_EVEN;
    if (*arrivals == RV_ARRIVALS_POISSON || strcmp(text, "even") == 0)
        return 0;
    return bad(why, row, "even or poisson", text);
}

static rv_error take_tls_version(const struct rv_bench_row *row, const char *text,
                                 unsigned *version, char *why)
{
    *version = strcmp(text, "1.2") == 0 ? 0x0303 : strcmp(text, "1.3") == 0 ? 0x0304 : 0;
    return *version != 0 ? 0 : bad(why, row, "1.2 or 1.3", text);
}

/* "2" or "2-3", into the set. */
static bool take_cpus_item(const char *item, void *ctx)
{
    uint64_t first;
    uint64_t last;
    size_t length = strcspn(item, "-");
    cpu_set_t *cpus = ctx;
    if (!rv_bytes_to_u64(rv_slice(item, length), &first))
        return false;
    last = first;
    if (item[length] == '-' && !rv_bytes_to_u64(rv_str(item + length + 1), &last))
        return false;
    if (last < first || last >= (uint64_t)get_nprocs_conf() || last >= CPU_SETSIZE)
        return false;
    for (; first <= last; first++)
        CPU_SET((size_t)first, cpus);
    return true;
}

static rv_error take_cpus(const struct rv_bench_row *row, const char *text, cpu_set_t *cpus,
                          char *why)
{
    char takes[120];
    CPU_ZERO(cpus);
    if (rv_units_list(text, take_cpus_item, cpus))
        return 0;
    snprintf(takes, sizeof takes, "a list such as 0,2-3 of CPUs from 0 to %d",
             get_nprocs_conf() - 1);
    return bad(why, row, takes, text);
}

static rv_error take(const struct rv_bench_row *row, const char *text,
                     struct rv_bench_options *options, char *why)
{
    void *place = (char *)options + row->at;
    switch (row->kind) {
    case RV_TAKES_NOTHING:
        *(bool *)place = true;
        return 0;
    case RV_TAKES_COUNT:
        return take_count(row, text, place, why);
    case RV_TAKES_DURATION:
        return take_duration(row, text, place, why);
    case RV_TAKES_RATE:
        return take_rate(row, text, place, why);
    case RV_TAKES_TEXT:
        *(const char **)place = text;
        return *text != '\0' ? 0 : bad(why, row, row->value, text);
    case RV_TAKES_TEXTS:
        return rv_texts_add(place, text);
    case RV_TAKES_ARRIVALS:
        return take_arrivals(row, text, place, why);
    case RV_TAKES_FORMAT:
        if (rv_report_format_parse(text, place))
            return 0;
        return bad(why, row, "text, json, csv, ab or cherrypy", text);
    case RV_TAKES_TLS:
        return take_tls_version(row, text, place, why);
    case RV_TAKES_CPUS:
        return take_cpus(row, text, place, why);
    }
    return RV_EINVAL;
}

/* ---- getopt ---------------------------------------------------------------------------------- */

struct tables {
    char letters[2 + 2 * RV_BENCH_OPTION_COUNT];
    struct option options[RV_BENCH_OPTION_COUNT + 1];
};

static void make_tables(struct tables *tables)
{
    char *letter = tables->letters;
    memset(tables, 0, sizeof *tables);
    *letter++ = ':'; /* a missing value is told from an unknown option */
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++) {
        tables->options[i] = (struct option){
            rv_bench_rows[i].name, rv_bench_rows[i].value != NULL ? required_argument : no_argument,
            NULL, FIRST_VALUE + i};
        if (!rv_bench_has_letter(&rv_bench_rows[i]))
            continue;
        *letter++ = rv_bench_rows[i].flag[1];
        if (rv_bench_rows[i].value != NULL)
            *letter++ = ':';
    }
}

/* From what getopt returns to the row; -1: it is none. */
static int row_of(int value)
{
    if (value >= FIRST_VALUE)
        return value - FIRST_VALUE;
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++)
        if (rv_bench_has_letter(&rv_bench_rows[i]) && rv_bench_rows[i].flag[1] == value)
            return i;
    return -1;
}

/* What getopt would not take: `word` is the one it stopped at. */
static rv_error no_option(const char *word, char *why)
{
    if (word[0] == '-' && word[1] != '-')
        snprintf(why, RV_BENCH_WHY_MAX, "there is no option -%c", optopt);
    else
        snprintf(why, RV_BENCH_WHY_MAX, "there is no option %.200s", word);
    return RV_EINVAL;
}

static rv_error parse_options(int argc, char **argv, struct rv_bench_options *options, char *why)
{
    struct tables tables;
    make_tables(&tables);
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    for (int value;
         (value = getopt_long(argc, argv, tables.letters, tables.options, NULL)) != -1;) {
        int row = row_of(value == ':' ? optopt : value);
        if (value == '?' || row < 0)
            return no_option(argv[optind - 1], why);
        if (value == ':') {
            snprintf(why, RV_BENCH_WHY_MAX, "%s needs a value: %s", rv_bench_rows[row].flag,
                     rv_bench_rows[row].value);
            return RV_EINVAL;
        }
        rv_error error = take(&rv_bench_rows[row], optarg, options, why);
        if (error != 0)
            return error;
        options->given |= UINT64_C(1) << row;
        if (row == RV_BENCH_HELP)
            return 0;
    }
    rv_error error = 0;
    for (int i = optind; i < argc && error == 0; i++)
        error = rv_texts_add(&options->urls, argv[i]);
    return error;
}

rv_error rv_bench_options_parse(int argc, char **argv, struct rv_bench_options *options, char *why)
{
    memset(options, 0, sizeof *options);
    options->timeout_us = RV_BENCH_TIMEOUT_US;
    options->seed = 1;
    rv_error error = parse_options(argc, argv, options, why);
    if (error == RV_ENOMEM)
        snprintf(why, RV_BENCH_WHY_MAX, "out of memory");
    if (error != 0 || options->help)
        return error;
    return rv_bench_options_check(options, why);
}

void rv_bench_options_free(struct rv_bench_options *options)
{
    free(options->fields.items);
    free(options->data.items);
    free(options->json.items);
    free(options->urls.items);
    free(options->resolve.items);
    memset(options, 0, sizeof *options);
}
