/*
 * ApacheBench's command line: from argv to what is asked for, with its words about what is wrong. Nothing
 * is opened, resolved or printed here.
 */
#ifndef RV_CLI_AB_OPTIONS_H
#define RV_CLI_AB_OPTIONS_H

#include "load/target.h"
#include "report/report.h"

#define RV_AB_FIELDS_MAX 256
#define RV_AB_WHY_MAX (RV_TARGET_WHY_MAX + 64)

/* Requests when only a time is given. */
#define RV_AB_TIMED_REQUESTS 50000

/* Failures to connect that end a run without -r. */
#define RV_AB_CONNECT_FAILURES_MAX 10

enum rv_ab_asked {
    RV_AB_RUN,
    RV_AB_VERSION,     /* -V */
    RV_AB_USAGE,       /* -h: usage on stderr, as for a wrong command line */
    RV_AB_HELP,        /* --help: the same on stdout, which is no error */
    RV_AB_WRONG,       /* `why` says what; ApacheBench ends with 1 */
    RV_AB_WRONG_USAGE, /* the same, followed by its usage; it ends with 22 */
};

/* All strings are argv's. */
struct rv_ab_command {
    enum rv_ab_asked asked;
    char why[RV_AB_WHY_MAX];

    /* ---- how much ---- */
    uint64_t requests;    /* -n */
    uint32_t concurrency; /* -c */
    uint64_t time_s;      /* -t; 0: no limit */
    uint64_t timeout_s;   /* -s; 0: no limit */

    /* ---- what ---- */
    const char *url_text;
    struct rv_url url;
    const char *method;
    bool method_is_given;
    const char *body_path; /* -p, -u; NULL: no body */
    const char *content_type;
    const char *cookies[RV_AB_FIELDS_MAX]; /* -C */
    size_t cookie_count;
    const char *fields[RV_AB_FIELDS_MAX]; /* -H: whole lines */
    size_t field_count;
    const char *credentials;       /* -A; NULL: none */
    const char *proxy_credentials; /* -P; NULL: none */

    /* ---- how ---- */
    const char *proxy; /* -X; NULL: none */
    struct rv_url proxy_url;
    struct rv_source_range source; /* -B */
    int buffer_bytes;              /* -b */
    bool keep_alive;               /* -k */
    bool goes_on;                  /* -r: a receive error does not end the run */

    /* ---- what is said ---- */
    struct rv_ab_options report;
    bool quiet; /* -q */
    int verbosity;
    const char *gnuplot_path, *csv_path; /* NULL: none */
    const char *save_path;               /* --save, which ApacheBench has not; NULL: none */

    struct rv_tls_client_settings tls; /* -Z -f -E -I; nothing is ever verified */
    char tls_option;                   /* the first of -Z, -f and -E; '\0': none */
};

/* `asked` then says what to do. */
void rv_ab_parse(struct rv_ab_command *command, int argc, char **argv);

#endif
