/*
 * What a run has shown: one plain struct that every report and comparison is a function of. It is filled
 * by the engine, or read back from a file (report/), and owns all it points to. Times are microseconds.
 *
 * One request has these moments, and no others:
 *
 *   due ------- taken ------- sent ------- first ------- last
 *    | lateness  |  opening    |   wait      |  transfer   |
 *    |                         |         service           |
 *    |                       total                         |
 *
 * due: when it should have begun (closed: its client is free; open: the schedule). taken: a client took
 * it up. sent: its octets began to go out; before that a connection may have had to be opened.
 * first, last: octets of the final answer. So lateness + opening + wait + transfer = total, exactly.
 */
#ifndef RV_LOAD_RESULT_H
#define RV_LOAD_RESULT_H

#include "base/hist.h"
#include "load/evidence.h"

/* ---- what can go wrong: id, name in files, what a person reads, where it belongs ----------------- */

#define RV_LOAD_FAILURES(X)                                                                        \
    X(CONNECT_REFUSED, "connect_refused", "connection refused")                                    \
    X(CONNECT_RESET, "connect_reset", "reset while connecting")                                    \
    X(CONNECT_TIMEOUT, "connect_timeout", "no connection within the time limit")                   \
    X(CONNECT_UNREACHABLE, "connect_unreachable", "host or network unreachable")                   \
    X(CONNECT_PORTS, "connect_ports", "no free source port here")                                  \
    X(CONNECT_DESCRIPTORS, "connect_descriptors", "no free descriptor here")                       \
    X(CONNECT_OTHER, "connect_other", "connecting failed")                                         \
    X(CONNECT_TLS, "tls_handshake", "TLS handshake failed")                                        \
    X(CONNECT_CERTIFICATE, "tls_certificate", "certificate not accepted")                          \
    X(CONNECT_PROTOCOL, "http2_refused", "HTTP/2 not spoken by the server")                        \
    X(SEND_RESET, "send_reset", "reset while sending the request")                                 \
    X(SEND_TIMEOUT, "send_timeout", "request not taken within the time limit")                     \
    X(WAIT_RESET, "wait_reset", "reset before the first byte")                                     \
    X(WAIT_CLOSED, "wait_closed", "closed before the first byte")                                  \
    X(WAIT_TIMEOUT, "wait_timeout", "no answer within the time limit")                             \
    X(HEAD_RESET, "head_reset", "reset in the head of the answer")                                 \
    X(HEAD_CLOSED, "head_closed", "closed in the head of the answer")                              \
    X(HEAD_TIMEOUT, "head_timeout", "head not complete within the time limit")                     \
    X(HEAD_MALFORMED, "head_malformed", "not an HTTP response")                                    \
    X(BODY_RESET, "body_reset", "reset in the body")                                               \
    X(BODY_SHORT, "body_short", "body ended short of its length")                                  \
    X(BODY_CUT, "body_cut", "body without a length cut off: no close_notify")                      \
    X(BODY_TIMEOUT, "body_timeout", "body not complete within the time limit")                     \
    X(BODY_MALFORMED, "body_malformed", "bad chunk")                                               \
    X(BODY_LONG, "body_long", "octets behind the end of the body")                                 \
    X(BODY_LENGTH, "body_length", "body not of the length asked for")                              \
    X(STREAM_RESET, "stream_reset", "stream reset by the server")                                  \
    X(GOAWAY, "goaway", "ended by the server with GOAWAY")                                         \
    X(HTTP2_ERROR, "http2_error", "the server broke a rule of HTTP/2")                             \
    X(MEMORY, "memory", "out of memory here")

/* The last of those that kept a connection from coming about. */
#define RV_FAILURE_CONNECT_LAST RV_FAILURE_CONNECT_PROTOCOL

enum rv_load_failure {
#define RV_FAILURE_ID(id, name, text) RV_FAILURE_##id,
    RV_LOAD_FAILURES(RV_FAILURE_ID)
#undef RV_FAILURE_ID
        RV_FAILURE_COUNT
};

const char *rv_load_failure_name(enum rv_load_failure failure);
const char *rv_load_failure_text(enum rv_load_failure failure);

/* Has it an error code of HTTP/2 (RFC 9113 section 7) in place of an errno? */
bool rv_load_failure_has_code(enum rv_load_failure failure);

/* "REFUSED_STREAM", or in decimal one that has no name: in `room`. */
#define RV_LOAD_CODE_ROOM 24
const char *rv_load_code_name(uint32_t code, char room[RV_LOAD_CODE_ROOM]);

/* Those of HTTP/2 that were seen with a failure. */
#define RV_LOAD_CODES_MAX 32
struct rv_load_code {
    enum rv_load_failure failure;
    uint32_t code;
    uint64_t count;
};

/* The errno values seen with a failure, for those that come from the kernel. */
#define RV_LOAD_ERRNOS_MAX 32
struct rv_load_errno {
    enum rv_load_failure failure;
    int error_number;
    uint64_t count;
};

/* ---- one period of the run ------------------------------------------------------------------------ */

/* A second each, as long as there are not more of them than RV_LOAD_SERIES_MAX; then two are made one
   and each is twice as long, and so on: a longer run needs no more memory. */
#define RV_LOAD_SERIES_MAX 512
struct rv_load_period {
    uint64_t answered;
    uint64_t failed;
    uint64_t octets; /* received */
    uint64_t connects;
    uint64_t p50_us; /* of `total`, within 3 % */
    uint64_t p99_us;
    uint64_t max_us;
};

/* ---- one request, when the plan asks for samples ---------------------------------------------------- */

struct rv_load_sample {
    uint64_t start_us;   /* `taken`, since 1970 */
    uint32_t opening_us; /* 0 on a connection that was open */
    uint32_t wait_us;    /* UINT32_MAX stands for more */
    uint32_t service_us;
    uint32_t status;
};

/* ---- the whole --------------------------------------------------------------------------------------- */

enum rv_load_end {
    RV_END_DONE,        /* every request, every quota, or the time was up */
    RV_END_INTERRUPTED, /* the caller asked to stop */
    RV_END_UNREACHED,   /* nothing was ever answered, and every client was refused */
    RV_END_FAILURES     /* as many failures as the plan allows */
};

struct rv_load_result {
    /* ---- what was asked (a copy of what reports need of the plan) ---- */
    char *command; /* the command line */
    char *url;
    char *host;
    char *document; /* path and query of the first request */
    uint16_t port;
    bool open_model, poisson, close_each, keep_alive_1_0, http2;
    uint32_t streams; /* HTTP/2: exchanges at once on a connection; 0 and 1: one after the other */
    uint32_t clients, threads, pipeline, request_kinds;
    uint64_t requests_max, quota, duration_us, requests_per_connection, think_us, timeout_us;
    double rate_per_s, connect_rate_per_s;
    uint64_t seed;
    uint64_t content_expected; /* of the first request; RV_LENGTH_ANY */
    size_t request_bytes;      /* of the first request, with its body */
    bool has_body;

    /* ---- when ---- */
    uint64_t started_us; /* since 1970 */
    uint64_t
        elapsed_us; /* from the start of the threads to the last answer, or to the end of the time */
    enum rv_load_end end;

    /* ---- what became of the requests ---- */
    uint64_t due;         /* open model: that the schedule asked for; closed: `started` */
    uint64_t started;     /* taken up by a client */
    uint64_t answered;    /* a whole, well-formed answer of whatever status */
    uint64_t failed;      /* the sum of `failures` */
    uint64_t in_flight;   /* at the end */
    uint64_t not_started; /* due, but no client was free until the end */
    uint64_t queued;      /* open model: due while every client was busy */
    uint64_t failures[RV_FAILURE_COUNT];
    struct rv_load_errno errnos[RV_LOAD_ERRNOS_MAX];
    struct rv_load_code codes[RV_LOAD_CODES_MAX];
    uint32_t errno_count, code_count;
    uint64_t statuses[1000]; /* answers by their status code */
    uint64_t interim;        /* 1xx heads, which are no answers */
    uint64_t other_length; /* answered, but with content not as long as the first answer's; counted
                                when the plan asks for it */
    uint64_t kept_alive; /* answers after which the server left the connection open, by its word */

    /* ---- connections ---- */
    uint64_t connects;       /* that were opened */
    uint64_t connects_tried; /* attempts, at each address */
    uint64_t open_peak;
    uint64_t reopened;      /* opened because the server had closed one after an answer */
    uint64_t goaways;       /* HTTP/2: connections that the server has ended with GOAWAY */
    uint64_t sent_again;    /* HTTP/2: requests that the server had not looked at, by its word */
    uint32_t streams_limit; /* HTTP/2: at once on a connection, by the server's SETTINGS, where that
                               was less than `streams`; the lowest; 0: it was not */
    uint64_t races; /* requests that met a connection the server was closing, and were sent again */

    /* ---- TLS ---- */
    bool tls;              /* the URL is https */
    char tls_version[16];  /* of the first handshake that was done: "TLSv1.3"; "": none was */
    char tls_cipher[64];   /* "TLS_AES_256_GCM_SHA384" ... */
    uint32_t tls_key_bits; /* ... and the bits of its key */
    uint32_t tls_certificate_bits;  /* of the server's public key */
    char tls_temp_key[64];          /* "X25519 253 bits"; "": not known */
    char tls_name[256];             /* the name that was asked for; "": none */
    uint64_t tls_full, tls_resumed; /* handshakes that were done */
    char tls_failure[160];          /* why the first one failed that did; "": none did */

    /* ---- octets ---- */
    uint64_t sent_octets;
    uint64_t received_octets;  /* heads, chunk lines and all */
    uint64_t content_octets;   /* of content in whole answers */
    uint64_t first_content;    /* octets of content of the first answer */
    char server_software[128]; /* Server of the first answer; "" */
    char *first_head; /* of the first answer, as it came; owned; NULL: none, or not known */

    /* ---- times, of answered requests ---- */
    struct rv_hist
        connect; /* of each connection that was opened, from its first attempt; TCP alone */
    struct rv_hist handshake; /* TLS: of each connection that was opened, from behind `connect` */
    struct rv_hist opening;   /* of each answered request that had to open its connection */
    struct rv_hist wait;
    struct rv_hist transfer;
    struct rv_hist service;
    struct rv_hist total[6];   /* by the status' first digit, 1 to 5; [0]: every other */
    struct rv_hist lateness;   /* of each started request, in the open model only */
    struct rv_hist failing;    /* due to failure, of failed requests */
    struct rv_hist unfinished; /* due to the end, of those in flight */

    /* ---- the run in periods ---- */
    struct rv_load_period *series; /* owned */
    uint32_t series_count;
    uint32_t period_s;

    /* ---- samples ---- */
    struct rv_load_sample
        *samples; /* owned; in the order of their ends, thread by thread; or NULL */
    uint64_t sample_count;

    struct rv_evidence evidence;
};

/* RV_ENOMEM: nothing is left behind. */
rv_error rv_load_result_init(struct rv_load_result *result);
void rv_load_result_free(struct rv_load_result *result);

/* Every answered request's total, as one histogram that the caller frees. */
rv_error rv_load_result_total(const struct rv_load_result *result, struct rv_hist *total);

/* Requests that a connection may have at once: the pipeline's depth, or the streams. */
uint64_t rv_load_at_once(const struct rv_load_result *result);

uint64_t rv_load_answered_between(const struct rv_load_result *result, int first, int last);

/* ---- laws: what must be true of every run ------------------------------------------------------------- */

#define RV_LAWS_MAX 8
struct rv_load_law {
    const char *name; /* "started = answered + failed + in flight" */
    bool holds;
    char numbers[160]; /* the two sides */
};

/* Checks them all; returns how many there are. */
uint32_t rv_load_laws(const struct rv_load_result *result, struct rv_load_law laws[RV_LAWS_MAX]);

#endif
