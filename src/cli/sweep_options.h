/*
 * The command line of `rivulet sweep`.
 */
#ifndef RV_CLI_SWEEP_OPTIONS_H
#define RV_CLI_SWEEP_OPTIONS_H

#include "report/sweep.h"

#define RV_SWEEP_NAME "rivulet sweep"
#define RV_SWEEP_LIST_MAX 64 /* rows of a report */

enum rv_sweep_format { RV_SWEEP_TEXT, RV_SWEEP_JSON, RV_SWEEP_CSV };

struct rv_sweep_options {
    const char *url; /* NULL: the demo server */
    bool has_size;   /* "{size}" is in the URL */
    uint64_t requests;
    uint32_t clients[RV_SWEEP_LIST_MAX]; /* of the thread reports */
    size_t client_count;
    uint64_t sizes[RV_SWEEP_LIST_MAX];
    size_t size_count;
    uint32_t size_clients;
    uint32_t backlogs[RV_SWEEP_BACKLOGS_MAX]; /* none: the server's default */
    size_t backlog_count;
    unsigned pool;   /* threads; 0: the handlers run on the loop */
    unsigned repeat; /* runs of each row, at least 1 */
    bool quota;      /* each client finishes its own share of the requests */
    bool keep_alive; /* a client keeps its connection */
    bool quick;      /* caps the octets of a row */
    uint64_t timeout_us;
    bool insecure;       /* any certificate is taken */
    const char *ca_file; /* who may vouch for the server; NULL: whom the system trusts */
    const char *ab;      /* the program that makes the load; NULL: we do */
    const char *output;  /* the file that gets the JSON; NULL: none */
    enum rv_sweep_format format;
};

/* Where the octets of the body go in a URL. */
#define RV_SWEEP_SIZE_MARK "{size}"

/* The exit code when there is nothing to run: help was asked for, or what was wrong is on stderr; -1: the
   options are filled. */
int rv_sweep_options_parse(int argc, char **argv, struct rv_sweep_options *options);

/* How many requests a row makes: all, or with --quick no more than make its octets, but one for each client;
   with --quota a whole number for each client. `bytes` is UINT64_MAX when it is not known. */
uint64_t rv_sweep_requests(const struct rv_sweep_options *options, uint32_t clients, uint64_t bytes,
                           bool *capped);

#endif
