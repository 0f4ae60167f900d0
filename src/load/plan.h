/*
 * What a run is to do: one plain struct, filled by a command (cli/) before the run and only read while
 * it runs, by all its threads. Whoever fills it owns what it points to, and frees it after the run.
 * Zero means "not limited" or "the default" wherever a field does not say otherwise.
 */
#ifndef RV_LOAD_PLAN_H
#define RV_LOAD_PLAN_H

#include "load/request.h"
#include "load/target.h"

#include <sched.h>

/* Who decides when the next request is due. */
enum rv_load_model {
    RV_LOAD_CLOSED, /* a client that has its answer sends the next one */
    RV_LOAD_OPEN    /* a schedule, whatever has been answered */
};

enum rv_arrivals { RV_ARRIVALS_EVEN, RV_ARRIVALS_POISSON };

#define RV_LOAD_CLIENTS_MAX 1000000
#define RV_LOAD_PIPELINE_MAX 1024
#define RV_LOAD_STREAMS_MAX 10000
#define RV_LOAD_THREADS_MAX 256

struct rv_load_plan {
    /* ---- where to, and what ---- */
    struct rv_load_target target;
    struct rv_load_request
        *requests;          /* each client sends those of its set in turn, and begins again */
    uint32_t request_count; /* in a set; at least 1 */
    uint32_t set_count;     /* sets one after another, for the clients in turn; 0: one */

    /* ---- how much: the first limit that is reached ends the run ---- */
    uint64_t requests_max; /* of all clients together */
    uint64_t quota;        /* of each client: the run ends when every one has had its own */
    uint64_t duration_us;

    /* ---- how ---- */
    enum rv_load_model model;
    uint32_t clients;  /* connections at most; at least 1 */
    double rate_per_s; /* of the open model */
    enum rv_arrivals arrivals;
    uint64_t seed;     /* of the Poisson arrivals */
    uint64_t think_us; /* between an answer and the next request of the same client */
    uint32_t pipeline; /* requests in flight on a connection; 0 and 1: one after the other */
    bool http2;        /* in a build that speaks it (RV_H2_BUILT); then requests have fields */
    uint32_t streams;  /* HTTP/2: exchanges at once on a connection; 0 and 1: one after the other */

    /* ---- connections ---- */
    bool close_each;                  /* a new connection for each request */
    uint64_t requests_per_connection; /* then the client closes it and opens another */
    double connect_rate_per_s;        /* how many are opened; 0: all at once */
    uint64_t connect_timeout_us;      /* 0: as long as timeout_us */
    uint64_t timeout_us;              /* of a request, from when it was due; 0: none */
    int buffer_bytes;                 /* SO_SNDBUF and SO_RCVBUF */

    /* ---- what is held against an answer ---- */
    uint32_t head_bytes_max;  /* 0: 64 KiB */
    bool first_length_counts; /* answers not as long as the first one are counted (ab) */

    /* ---- when to give up: that many failures of a kind end the run ---- */
    uint64_t connect_failures_max;
    uint64_t receive_failures_max; /* broken off before or in the answer */
    bool give_up_unreached;        /* when every client was refused and nothing was ever answered */

    /* ---- this machine ---- */
    unsigned threads;  /* at least 1 */
    cpu_set_t cpus;    /* thread i runs on the i-th of them, in turn; empty: anywhere */
    bool keep_samples; /* one record for each request (result.h): memory grows with their number */
};

#endif
