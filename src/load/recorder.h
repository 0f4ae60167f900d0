/*
 * What one load thread has seen, in the form of a result: counted while the run goes on, added up with the
 * others' at its end. Never shared; the few numbers that the watching thread reads meanwhile are
 * published once a turn.
 */
#ifndef RV_LOAD_RECORDER_H
#define RV_LOAD_RECORDER_H

#include "load/result.h"

#include <stdatomic.h>

/* One request on its way; times in microseconds of the monotonic clock (result.h draws them). */
struct rv_exchange {
    uint64_t due_us;
    uint64_t taken_us;
    uint64_t sent_us;
    uint32_t request; /* index in the plan */
    bool opens;       /* it had to wait for its connection to be opened */
    bool retried;     /* it met a connection that was being closed, and was sent again */
};

/* What has come of an exchange. */
struct rv_answer {
    int status;
    bool kept_alive;
    uint64_t first_us, last_us;
    uint64_t content; /* octets */
};

struct rv_period_record {
    uint64_t answered, failed, octets, connects;
    struct rv_hist total; /* coarse */
};

/* Published for the watching thread. */
struct rv_recorder_view {
    _Atomic uint64_t answered, failed;
    _Atomic uint64_t p99_us;   /* so far; as of the last full period */
    _Atomic uint64_t connects; /* that succeeded */
    _Atomic uint64_t connect_failures;
    _Atomic uint64_t receive_failures;
    _Atomic uint64_t clients_refused; /* clients that were refused at least once */
};

struct rv_recorder {
    struct rv_load_result result; /* this thread's part; its strings are NULL */
    uint64_t start_us;
    uint64_t last_us; /* of the last answer or failure */
    bool keep_samples;
    int64_t wall_offset_us; /* from the monotonic clock to 1970 */
    uint64_t sample_room;

    struct rv_period_record *periods; /* owned; RV_LOAD_SERIES_MAX */
    struct rv_period_record *period;  /* the one that runs */
    uint64_t period_end_us;
    uint32_t period_s;
    struct rv_hist so_far; /* of the full periods; coarse */
    struct rv_recorder_view view;
};

/* All memory is taken here, but for samples. */
rv_error rv_recorder_init(struct rv_recorder *recorder, bool keep_samples);
void rv_recorder_free(struct rv_recorder *recorder);

/* The run begins. */
void rv_recorder_start(struct rv_recorder *recorder, uint64_t start_us, uint64_t wall_us);

void rv_recorder_started(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                         bool open_model);
void rv_recorder_answered(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                          const struct rv_answer *answer);
/* `number`: the errno behind it, 0: none; or HTTP/2's code, of failures that have one. */
void rv_recorder_failed(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                        enum rv_load_failure failure, int number, uint64_t now_us);
void rv_recorder_connected(struct rv_recorder *recorder, uint64_t took_us, uint64_t now_us);
/* That connection's TLS handshake, which is no part of `took_us`. */
void rv_recorder_secured(struct rv_recorder *recorder, uint64_t took_us, bool resumed);
void rv_recorder_received(struct rv_recorder *recorder, uint64_t octets, uint64_t now_us);

/* Requests that the end has caught in flight. */
void rv_recorder_unfinished(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                            uint64_t now_us);

/* Brings the view up to date. */
void rv_recorder_publish(struct rv_recorder *recorder);

/* Adds up the threads' parts. The series are brought to one period first. RV_ENOMEM. */
rv_error rv_recorders_merge(struct rv_recorder *const *recorders, unsigned count,
                            struct rv_load_result *result);

#endif
