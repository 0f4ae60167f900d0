/*
 * What ApacheBench's report says in both its forms, text and HTML: the kinds of failure that it knows and
 * the rows of its table of times. Computed here once, from a result; ab.c and ab_html.c write it.
 */
#ifndef RV_REPORT_AB_INNER_H
#define RV_REPORT_AB_INNER_H

#include "report/report.h"

/* Its four kinds. Each failed request is of one of them (ApacheBench counts a reset twice). */
struct rv_ab_failures {
    uint64_t connect;    /* no connection */
    uint64_t receive;    /* no answer, or one that broke off: reset, closed, out of time */
    uint64_t length;     /* an answer, but not of the length that it has to have */
    uint64_t exceptions; /* what is no HTTP, what could not be sent, no memory here */
    uint64_t write;      /* of the exceptions, those in sending the request */
};

enum rv_ab_row { RV_AB_CONNECT, RV_AB_PROCESSING, RV_AB_WAITING, RV_AB_TOTAL, RV_AB_ROWS };

/* Milliseconds. */
struct rv_ab_times {
    double min, mean, deviation, median, max;
};

struct rv_ab_summary {
    char server[128];  /* the Server field up to its first space */
    uint64_t complete; /* requests that have come to an end, good or bad */
    uint64_t failed;   /* the sum of the four kinds */
    uint64_t not_2xx;
    struct rv_ab_failures failures;
    double seconds;
    double requests_per_s;
    double client_ms;  /* that a client needs for each request */
    double request_ms; /* that all clients together need for each request */
    double received_kib_per_s, sent_kib_per_s;
    struct rv_ab_times times[RV_AB_ROWS];
    struct rv_hist total; /* microseconds; owned */
};

/* RV_ENOMEM: nothing is left behind. */
rv_error rv_ab_summary_init(struct rv_ab_summary *summary, const struct rv_load_result *result,
                            const struct rv_ab_options *options);
void rv_ab_summary_free(struct rv_ab_summary *summary);

/* "Connect", "Processing", "Waiting", "Total". */
const char *rv_ab_row_name(enum rv_ab_row row);

/* A whole number of milliseconds, as its tables show them. */
uint64_t rv_ab_whole_ms(double ms);

/* ab_html.c */
void rv_ab_html(const struct rv_load_result *result, const struct rv_ab_options *options,
                const struct rv_ab_summary *summary, FILE *file);

#endif
