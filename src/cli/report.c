/*
 * `rivulet report`: a saved result, rendered again. What a run has measured is all in its file; nothing is
 * measured here.
 */
#include "cli/cli.h"
#include "report/report.h"
#include "report/sweep.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define NAME "rivulet report"

struct options {
    const char *input;
    const char *output; /* NULL: stdout */
    enum rv_report_format format;
    bool help;
};

static const struct option long_options[] = {
    {"format", required_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    puts("usage: rivulet report [OPTION]... FILE\n"
         "\n"
         "Renders a result again that rivulet bench -o, rivulet ab --save or rivulet sweep -o has\n"
         "saved. A FILE of - is read from standard input.\n"
         "\n"
         "      --format FORM    text (default), json, csv, ab or cherrypy; of a sweep, whose text "
         "is\n"
         "                       CherryPy's, text, json or csv\n"
         "  -o, --output FILE    write the report there, and not to standard output\n"
         "  -h, --help           this text\n"
         "\n"
         "exit status: 0 ok, 1 usage, 2 the file could not be read, or the report not be written");
}

/* What getopt would not take: `value` is its answer, `word` what it stopped at. */
static int refused(int value, const char *word)
{
    if (value == ':')
        return rv_cli_usage_error(NAME, "%s needs a value", optopt == 'f' ? "--format" : "-o");
    if (word[0] == '-' && word[1] != '-')
        return rv_cli_usage_error(NAME, "there is no option -%c", optopt);
    return rv_cli_usage_error(NAME, "there is no option %s", word);
}

static int parse(int argc, char **argv, struct options *options)
{
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1;) {
        if (value == 'h') {
            options->help = true;
            return RV_EXIT_OK;
        }
        if (value == 'o')
            options->output = optarg;
        else if (value != 'f')
            return refused(value, argv[optind - 1]);
        else if (!rv_report_format_parse(optarg, &options->format))
            return rv_cli_usage_error(
                NAME, "--format takes text, json, csv, ab or cherrypy, not \"%s\"", optarg);
    }
    if (optind == argc)
        return rv_cli_usage_error(NAME, "a file is needed: a saved result");
    if (argc - optind > 1)
        return rv_cli_usage_error(NAME, "one file at a time, and not \"%s\", too",
                                  argv[optind + 1]);
    options->input = argv[optind];
    return RV_EXIT_OK;
}

static int cannot_write(const char *path, rv_error error)
{
    fprintf(stderr, NAME ": cannot write %s: %s\n", path,
            error == RV_EIO ? strerror(errno) : rv_strerror(error));
    return RV_EXIT_NO_START;
}

/* What a file holds: a result, or a sweep of many. */
struct saved {
    bool is_sweep;
    struct rv_sweep sweep; /* strings are the document's */
    struct rv_load_result result;
};

static rv_error write_sweep(const struct rv_sweep *sweep, enum rv_report_format format, FILE *file)
{
    if (format == RV_REPORT_CSV)
        return rv_sweep_write_csv(sweep, file);
    if (format != RV_REPORT_JSON)
        return rv_sweep_write_text(sweep, file);
    json_t *object = rv_sweep_to_json(sweep);
    rv_error error = RV_ENOMEM;
    if (object != NULL)
        error = json_dumpf(object, file, JSON_INDENT(2)) == 0 ? 0 : RV_EIO;
    json_decref(object);
    fputc('\n', file);
    return error;
}

static int render(const struct options *options, const struct saved *saved)
{
    bool to_stdout = options->output == NULL || strcmp(options->output, "-") == 0;
    const char *path = to_stdout ? "to standard output" : options->output;
    FILE *file = to_stdout ? stdout : fopen(path, "we");
    if (file == NULL)
        return cannot_write(path, RV_EIO);
    rv_error error = saved->is_sweep ? write_sweep(&saved->sweep, options->format, file)
                                     : rv_report_write(&saved->result, options->format, file);
    if (error == 0 && fflush(file) != 0)
        error = RV_EIO;
    int code = error == 0 ? RV_EXIT_OK : cannot_write(path, error);
    if (!to_stdout && fclose(file) != 0 && code == RV_EXIT_OK)
        code = cannot_write(path, RV_EIO);
    return code;
}

static int cannot_read(const char *path, bool is_sweep, const char *why)
{
    if (is_sweep)
        fprintf(stderr, NAME ": %s is no sweep of rivulet: %s\n", path, why);
    else
        fprintf(stderr, NAME ": %s\n", why);
    return RV_EXIT_NO_START;
}

static int render_document(const struct options *options, const json_t *document)
{
    char why[RV_REPORT_WHY_MAX];
    struct saved saved = {.is_sweep = rv_sweep_is_json(document)};
    if (saved.is_sweep && options->format == RV_REPORT_AB)
        return rv_cli_usage_error(
            NAME, "%s is a sweep, which ab has no form for: text, json or csv", options->input);
    rv_error error = saved.is_sweep ? rv_sweep_from_json(document, &saved.sweep, why)
                                    : rv_result_of(document, options->input, &saved.result, why);
    if (error != 0)
        return cannot_read(options->input, saved.is_sweep, why);
    int code = render(options, &saved);
    if (saved.is_sweep)
        rv_sweep_free(&saved.sweep);
    else
        rv_load_result_free(&saved.result);
    return code;
}

int rv_cli_report(int argc, char **argv)
{
    struct options options = {.format = RV_REPORT_TEXT};
    int code = parse(argc, argv, &options);
    if (code != RV_EXIT_OK)
        return code;
    if (options.help) {
        print_help();
        return RV_EXIT_OK;
    }
    char why[RV_REPORT_WHY_MAX];
    json_t *document = NULL;
    if (rv_json_load(options.input, &document, why) != 0)
        return cannot_read(options.input, false, why);
    code = render_document(&options, document);
    json_decref(document);
    return code;
}
