/*
 * The options of ApacheBench 2.4 (ab_options.h), in its order of doing things: -t sets the number of
 * requests where it stands, so that an -n before it is lost and one behind it holds; a body or HEAD after
 * any other method is refused. A number must be one: ApacheBench reads "1e6" as 1.
 */
#include "cli/ab_options.h"

#include "http/scan.h"
#include "load/plan.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT_S 30
#define SECONDS_MAX (INT64_MAX / 1000000)
#define SHORT_OPTIONS ":n:c:t:s:b:T:p:u:v:lrkVhwiIx:y:z:C:H:P:A:g:X:de:SqB:m:Z:f:E:"

/* ---- saying what is wrong ------------------------------------------------------------------------------ */

static bool wrong(struct rv_ab_command *command, enum rv_ab_asked kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool wrong(struct rv_ab_command *command, enum rv_ab_asked kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command->why, sizeof command->why, format, arguments);
    va_end(arguments);
    command->asked = kind;
    return false;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static bool number_of(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    while (*end == ' ')
        end++;
    if (end == text || *end != '\0' || errno != 0)
        return false;
    *number = value;
    return true;
}

static bool set_requests(struct rv_ab_command *command, const char *text)
{
    int64_t number;
    if (!number_of(text, &number) || number <= 0)
        return wrong(command, RV_AB_WRONG, "Invalid number of requests");
    command->requests = (uint64_t)number;
    return true;
}

static bool set_concurrency(struct rv_ab_command *command, const char *text)
{
    int64_t number;
    if (!number_of(text, &number) || number < 1 || number > RV_LOAD_CLIENTS_MAX)
        return wrong(command, RV_AB_WRONG_USAGE, "Invalid Concurrency [Range 1..%d]",
                     RV_LOAD_CLIENTS_MAX);
    command->concurrency = (uint32_t)number;
    return true;
}

static bool set_seconds(struct rv_ab_command *command, char option, const char *text,
                        uint64_t *seconds)
{
    int64_t number;
    if (!number_of(text, &number) || number > SECONDS_MAX)
        return wrong(command, RV_AB_WRONG_USAGE,
                     "-%c must be a whole number of seconds, not \"%s\"", option, text);
    *seconds = number > 0 ? (uint64_t)number : 0;
    return true;
}

static bool set_int(struct rv_ab_command *command, char option, const char *text, int *value)
{
    int64_t number;
    if (!number_of(text, &number) || number < 0 || number > INT_MAX)
        return wrong(command, RV_AB_WRONG_USAGE, "-%c must be a whole number, not \"%s\"", option,
                     text);
    *value = (int)number;
    return true;
}

/* No octet that would end the line, or that no field can have (RFC 9110 section 5.5). */
static bool is_field_text(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if ((*at < ' ' && *at != '\t') || *at == 0x7f)
            return false;
    return true;
}

/* How many octets of it are a token; the length of all of it when it is one. */
static size_t token_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0' && rv_scan_token_scalar(text + length, 1) == 1)
        length++;
    return length;
}

static bool add_field(struct rv_ab_command *command, const char *line)
{
    size_t name = token_length(line);
    if (name == 0 || line[name] != ':' || !is_field_text(line))
        return wrong(command, RV_AB_WRONG_USAGE,
                     "-H needs a header line such as \"Accept-Encoding: gzip\", not \"%s\"", line);
    if (command->field_count == RV_AB_FIELDS_MAX)
        return wrong(command, RV_AB_WRONG_USAGE, "-H can be given %d times", RV_AB_FIELDS_MAX);
    command->fields[command->field_count++] = line;
    return true;
}

static bool add_cookie(struct rv_ab_command *command, const char *cookie)
{
    if (*cookie == '\0' || !is_field_text(cookie))
        return wrong(command, RV_AB_WRONG_USAGE, "-C needs a cookie such as \"name=1234\"");
    if (command->cookie_count == RV_AB_FIELDS_MAX)
        return wrong(command, RV_AB_WRONG_USAGE, "-C can be given %d times", RV_AB_FIELDS_MAX);
    command->cookies[command->cookie_count++] = cookie;
    return true;
}

static bool set_content_type(struct rv_ab_command *command, const char *type)
{
    if (!is_field_text(type))
        return wrong(command, RV_AB_WRONG_USAGE, "-T needs a media type such as \"text/plain\"");
    command->content_type = type;
    return true;
}

/* A method that comes with an option of its own, and only when there is none yet. */
static bool set_method(struct rv_ab_command *command, const char *method)
{
    if (command->method_is_given)
        return wrong(command, RV_AB_WRONG, "Cannot mix %s with other methods", method);
    command->method = method;
    command->method_is_given = true;
    return true;
}

/* Any method takes the place of the one before, whose body it keeps. */
static bool name_method(struct rv_ab_command *command, const char *method)
{
    if (*method == '\0' || method[token_length(method)] != '\0')
        return wrong(command, RV_AB_WRONG_USAGE, "-m needs a method such as PATCH, not \"%s\"",
                     method);
    command->method = method;
    command->method_is_given = true;
    return true;
}

static bool set_body(struct rv_ab_command *command, const char *method, const char *path)
{
    if (!set_method(command, method))
        return false;
    command->body_path = path;
    return true;
}

/* ApacheBench connects to port 0 when there is none. */
static bool set_proxy(struct rv_ab_command *command, const char *text)
{
    char why[RV_TARGET_WHY_MAX];
    if (strncasecmp(text, "https://", 8) == 0)
        return wrong(command, RV_AB_WRONG_USAGE, "-X takes a proxy of plain HTTP, not \"%s\"",
                     text);
    if (rv_url_parse(text, &command->proxy_url, why) != 0)
        return wrong(command, RV_AB_WRONG_USAGE, "-X needs a proxy and its port: %s", why);
    command->proxy = text;
    return true;
}

static bool set_source(struct rv_ab_command *command, const char *text)
{
    char why[RV_TARGET_WHY_MAX];
    if (rv_source_parse(text, &command->source, why) != 0)
        return wrong(command, RV_AB_WRONG_USAGE, "-B: %s", why);
    return true;
}

/* ---- options ------------------------------------------------------------------------------------------- */

static bool set_amount(struct rv_ab_command *command, int option, const char *value)
{
    switch (option) {
    case 'n':
        return set_requests(command, value);
    case 'c':
        return set_concurrency(command, value);
    case 't':
        command->requests = RV_AB_TIMED_REQUESTS;
        return set_seconds(command, 't', value, &command->time_s);
    case 's':
        return set_seconds(command, 's', value, &command->timeout_s);
    case 'b':
        return set_int(command, 'b', value, &command->buffer_bytes);
    default:
        return set_int(command, 'v', value, &command->verbosity);
    }
}

static bool set_request(struct rv_ab_command *command, int option, const char *value)
{
    switch (option) {
    case 'p':
        return set_body(command, "POST", value);
    case 'u':
        return set_body(command, "PUT", value);
    case 'i':
        return set_method(command, "HEAD");
    case 'm':
        return name_method(command, value);
    case 'T':
        return set_content_type(command, value);
    case 'C':
        return add_cookie(command, value);
    case 'H':
        return add_field(command, value);
    case 'X':
        return set_proxy(command, value);
    case 'B':
        return set_source(command, value);
    case 'A':
        command->credentials = value;
        return true;
    default:
        command->proxy_credentials = value;
        return true;
    }
}

/* Those that cannot be wrong. */
/* ApacheBench's names; SSL 2 and 3 are spoken by no OpenSSL of today. */
static bool set_tls_version(struct rv_ab_command *command, const char *name)
{
    static const struct {
        const char *name;
        unsigned min, max;
    } versions[] = {{"ALL", 0, 0},
                    {"TLS1", 0x0301, 0x0301},
                    {"TLS1.0", 0x0301, 0x0301},
                    {"TLS1.1", 0x0302, 0x0302},
                    {"TLS1.2", 0x0303, 0x0303},
                    {"TLS1.3", 0x0304, 0x0304}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (strcasecmp(name, versions[i].name) != 0)
            continue;
        command->tls.version_min = versions[i].min;
        command->tls.version_max = versions[i].max;
        return true;
    }
    return wrong(command, RV_AB_WRONG_USAGE,
                 "-f takes ALL, TLS1, TLS1.1, TLS1.2 or TLS1.3, not \"%s\"", name);
}

static bool set_tls(struct rv_ab_command *command, int option, const char *value)
{
    if (command->tls_option == '\0')
        command->tls_option = (char)option;
    if (option == 'f')
        return set_tls_version(command, value);
    if (option == 'Z')
        command->tls.ciphers = value;
    else
        command->tls.certificate = value;
    return true;
}

static bool set_rest(struct rv_ab_command *command, int option, const char *value)
{
    struct rv_ab_options *report = &command->report;
    switch (option) {
    case 'k':
        command->keep_alive = report->keep_alive = true;
        return true;
    case 'r':
        command->goes_on = true;
        return true;
    case 'q':
        command->quiet = true;
        return true;
    case 'g':
        command->gnuplot_path = value;
        return true;
    case 'e':
        command->csv_path = value;
        return true;
    case 'l':
        report->variable_length = true;
        return true;
    case 'd':
        report->no_percentiles = true;
        return true;
    case 'S':
        report->no_statistics = true;
        return true;
    case 'w':
        report->html = true;
        return true;
    case 'x':
        report->html = true;
        report->html_table = value;
        return true;
    case 'y':
        report->html = true;
        report->html_row = value;
        return true;
    case 'z':
        report->html = true;
        report->html_cell = value;
        return true;
    case 'I':
        command->tls.hide_name = true;
        return true;
    default: /* -Z -f -E */
        return set_tls(command, option, value);
    }
}

static bool set_option(struct rv_ab_command *command, int option, const char *value)
{
    if (strchr("nctsbv", option) != NULL)
        return set_amount(command, option, value);
    if (strchr("puimTCHXBAP", option) != NULL)
        return set_request(command, option, value);
    return set_rest(command, option, value);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static bool set_url(struct rv_ab_command *command, const char *text)
{
    char why[RV_TARGET_WHY_MAX];
    command->url_text = text;
    if (rv_url_parse(text, &command->url, why) != 0)
        return wrong(command, RV_AB_WRONG_USAGE, "invalid URL: %s", why);
    if (command->url.userinfo.ptr != NULL)
        return wrong(command, RV_AB_WRONG_USAGE,
                     "invalid URL: a user's name and password are given with -A, not in \"%s\"",
                     text);
    if (command->url.is_tls && command->proxy != NULL)
        return wrong(command, RV_AB_WRONG_USAGE,
                     "-X and an https URL: tunnels through a proxy are not made");
    if (command->tls_option != '\0' && !command->url.is_tls)
        return wrong(command, RV_AB_WRONG_USAGE, "-%c is for https URLs, and \"%s\" is none",
                     command->tls_option, text);
    return true;
}

static bool check(struct rv_ab_command *command, int argc, char **argv)
{
    if (optind != argc - 1)
        return wrong(command, RV_AB_WRONG_USAGE, "wrong number of arguments");
    if (!set_url(command, argv[optind]))
        return false;
    if (command->concurrency > command->requests)
        return wrong(command, RV_AB_WRONG_USAGE,
                     "Cannot use concurrency level greater than total number of requests");
    return true;
}

void rv_ab_parse(struct rv_ab_command *command, int argc, char **argv)
{
    enum { HELP = 256, SAVE };
    static const struct option long_options[] = {{"help", no_argument, NULL, HELP},
                                                 {"save", required_argument, NULL, SAVE},
                                                 {NULL, 0, NULL, 0}};
    *command = (struct rv_ab_command){
        .requests = 1,
        .concurrency = 1,
        .timeout_s = TIMEOUT_DEFAULT_S,
        .method = "GET",
        .content_type = "text/plain",
        .tls = {.insecure = true},
    };
    opterr = 0;
    optind = 0; /* begins anew, however often it is called */
    for (int option; (option = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1;) {
        switch (option) {
        case 'V':
            command->asked = RV_AB_VERSION;
            return;
        case 'h':
            command->asked = RV_AB_USAGE;
            return;
        case HELP:
            command->asked = RV_AB_HELP;
            return;
        case SAVE:
            command->save_path = optarg;
            break;
        case ':':
            if (optopt == SAVE)
                wrong(command, RV_AB_WRONG_USAGE, "option requires an argument -- save");
            else
                wrong(command, RV_AB_WRONG_USAGE, "option requires an argument -- %c", optopt);
            return;
        case '?':
            wrong(command, RV_AB_WRONG_USAGE, "illegal option -- %s",
                  optopt != 0 ? (char[]){(char)optopt, '\0'} : argv[optind - 1]);
            return;
        default:
            if (!set_option(command, option, optarg))
                return;
        }
    }
    check(command, argc, argv);
}
