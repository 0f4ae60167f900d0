/*
 * Counting (recorder.h). The way of an answered request is short: a handful of increments in memory that
 * this thread alone writes.
 */
#include "load/recorder.h"

#include <stdlib.h>
#include <string.h>

#define COARSE_DIGITS 1

/* ---- memory ------------------------------------------------------------------------------------------ */

rv_error rv_recorder_init(struct rv_recorder *recorder, bool keep_samples)
{
    memset(recorder, 0, sizeof *recorder);
    recorder->keep_samples = keep_samples;
    recorder->period_s = 1;
    rv_error error = rv_load_result_init(&recorder->result);
    if (error != 0)
        return error;
    recorder->periods = calloc(RV_LOAD_SERIES_MAX, sizeof *recorder->periods);
    if (recorder->periods == NULL ||
        rv_hist_init(&recorder->so_far, COARSE_DIGITS, RV_HIST_HOUR_US) != 0) {
        rv_recorder_free(recorder);
        return RV_ENOMEM;
    }
    for (size_t i = 0; i < RV_LOAD_SERIES_MAX; i++) {
        if (rv_hist_init(&recorder->periods[i].total, COARSE_DIGITS, RV_HIST_HOUR_US) != 0) {
            rv_recorder_free(recorder);
            return RV_ENOMEM;
        }
    }
    recorder->period = recorder->periods;
    return 0;
}

void rv_recorder_free(struct rv_recorder *recorder)
{
    if (recorder->periods != NULL)
        for (size_t i = 0; i < RV_LOAD_SERIES_MAX; i++)
            rv_hist_free(&recorder->periods[i].total);
    free(recorder->periods);
    recorder->periods = NULL;
    rv_hist_free(&recorder->so_far);
    rv_load_result_free(&recorder->result);
}

/* ---- periods ------------------------------------------------------------------------------------------ */

static void add_period(struct rv_period_record *into, const struct rv_period_record *from)
{
    into->answered += from->answered;
    into->failed += from->failed;
    into->octets += from->octets;
    into->connects += from->connects;
    rv_hist_add(&into->total, &from->total);
}

static void clear_period(struct rv_period_record *record)
{
    record->answered = record->failed = record->octets = record->connects = 0;
    rv_hist_reset(&record->total);
}

/* Makes one of every two, so that there is room for as much time again. */
static void halve(struct rv_recorder *recorder)
{
    struct rv_period_record *periods = recorder->periods;
    for (size_t i = 0; i < RV_LOAD_SERIES_MAX / 2; i++) {
        if (i > 0) {
            clear_period(&periods[i]);
            add_period(&periods[i], &periods[2 * i]);
        }
        add_period(&periods[i], &periods[2 * i + 1]);
    }
    for (size_t i = RV_LOAD_SERIES_MAX / 2; i < RV_LOAD_SERIES_MAX; i++)
        clear_period(&periods[i]);
    recorder->period_s *= 2;
}

static void next_period(struct rv_recorder *recorder, uint64_t now_us)
{
    rv_hist_add(&recorder->so_far, &recorder->period->total);
    atomic_store_explicit(&recorder->view.p99_us, rv_hist_percentile(&recorder->so_far, 99),
                          memory_order_relaxed);
    uint64_t period_us;
    uint64_t index;
    for (;;) {
        period_us = (uint64_t)recorder->period_s * 1000000;
        index = (now_us - recorder->start_us) / period_us;
        if (index < RV_LOAD_SERIES_MAX)
            break;
        halve(recorder);
    }
    recorder->period = &recorder->periods[index];
    recorder->period_end_us = recorder->start_us + (index + 1) * period_us;
}

static inline struct rv_period_record *period_at(struct rv_recorder *recorder, uint64_t now_us)
{
    if (now_us >= recorder->period_end_us)
        next_period(recorder, now_us);
    return recorder->period;
}

void rv_recorder_start(struct rv_recorder *recorder, uint64_t start_us, uint64_t wall_us)
{
    recorder->start_us = start_us;
    recorder->last_us = start_us;
    recorder->wall_offset_us = (int64_t)(wall_us - start_us);
    recorder->period_end_us = start_us + 1000000;
}

/* ---- requests ----------------------------------------------------------------------------------------- */

void rv_recorder_started(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                         bool open_model)
{
    recorder->result.started++;
    recorder->result.due++;
    if (open_model)
        rv_hist_record(&recorder->result.lateness, exchange->taken_us - exchange->due_us);
}

static uint32_t short_us(uint64_t us)
{
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* Without memory for it the run goes on: the caller sees that there are fewer samples than answers. */
static void keep_sample(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                        const struct rv_answer *answer)
{
    struct rv_load_result *result = &recorder->result;
    if (result->sample_count == recorder->sample_room) {
        uint64_t room = recorder->sample_room == 0 ? 1024 : recorder->sample_room * 2;
        struct rv_load_sample *samples = realloc(result->samples, room * sizeof *samples);
        if (samples == NULL)
            return;
        result->samples = samples;
        recorder->sample_room = room;
    }
    result->samples[result->sample_count++] = (struct rv_load_sample){
        .start_us = exchange->taken_us + (uint64_t)recorder->wall_offset_us,
        .opening_us = exchange->opens ? short_us(exchange->sent_us - exchange->taken_us) : 0,
        .wait_us = short_us(answer->first_us - exchange->sent_us),
        .service_us = short_us(answer->last_us - exchange->sent_us),
        .status = (uint32_t)answer->status,
    };
}

void rv_recorder_answered(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                          const struct rv_answer *answer)
{
    struct rv_load_result *result = &recorder->result;
    uint64_t total_us = answer->last_us - exchange->due_us;
    unsigned digit = (unsigned)answer->status / 100;
    result->answered++;
    result->statuses[answer->status]++;
    result->kept_alive += answer->kept_alive;
    result->content_octets += answer->content;
    if (exchange->opens)
        rv_hist_record(&result->opening, exchange->sent_us - exchange->taken_us);
    rv_hist_record(&result->wait, answer->first_us - exchange->sent_us);
    rv_hist_record(&result->transfer, answer->last_us - answer->first_us);
    rv_hist_record(&result->service, answer->last_us - exchange->sent_us);
    rv_hist_record(&result->total[digit <= 5 ? digit : 0], total_us);
    struct rv_period_record *period = period_at(recorder, answer->last_us);
    period->answered++;
    rv_hist_record(&period->total, total_us);
    recorder->last_us = answer->last_us;
    if (recorder->keep_samples)
        keep_sample(recorder, exchange, answer);
}

static void note_errno(struct rv_load_result *result, enum rv_load_failure failure,
                       int error_number, uint64_t count)
{
    if (error_number == 0)
        return;
    for (uint32_t i = 0; i < result->errno_count; i++) {
        if (result->errnos[i].failure == failure &&
            result->errnos[i].error_number == error_number) {
            result->errnos[i].count += count;
            return;
        }
    }
    if (result->errno_count < RV_LOAD_ERRNOS_MAX)
        result->errnos[result->errno_count++] =
            (struct rv_load_errno){failure, error_number, count};
}

static void note_code(struct rv_load_result *result, enum rv_load_failure failure, uint32_t code,
                      uint64_t count)
{
    for (uint32_t i = 0; i < result->code_count; i++) {
        if (result->codes[i].failure == failure && result->codes[i].code == code) {
            result->codes[i].count += count;
            return;
        }
    }
    if (result->code_count < RV_LOAD_CODES_MAX)
        result->codes[result->code_count++] = (struct rv_load_code){failure, code, count};
}

static bool is_connect_failure(enum rv_load_failure failure)
{
    return failure >= RV_FAILURE_CONNECT_REFUSED && failure <= RV_FAILURE_CONNECT_LAST;
}

static bool is_receive_failure(enum rv_load_failure failure)
{
    return failure == RV_FAILURE_WAIT_RESET || failure == RV_FAILURE_HEAD_RESET ||
           failure == RV_FAILURE_BODY_RESET || failure == RV_FAILURE_SEND_RESET;
}

static void bump(_Atomic uint64_t *counter, bool really)
{
    if (really)
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

void rv_recorder_failed(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                        enum rv_load_failure failure, int number, uint64_t now_us)
{
    struct rv_load_result *result = &recorder->result;
    result->failed++;
    result->failures[failure]++;
    if (rv_load_failure_has_code(failure))
        note_code(result, failure, (uint32_t)number, 1);
    else
        note_errno(result, failure, number, 1);
    rv_hist_record(&result->failing, now_us - exchange->due_us);
    period_at(recorder, now_us)->failed++;
    recorder->last_us = now_us;
    bump(&recorder->view.connect_failures, is_connect_failure(failure));
    bump(&recorder->view.receive_failures, is_receive_failure(failure));
}

void rv_recorder_connected(struct rv_recorder *recorder, uint64_t took_us, uint64_t now_us)
{
    recorder->result.connects++;
    rv_hist_record(&recorder->result.connect, took_us);
    period_at(recorder, now_us)->connects++;
}

void rv_recorder_secured(struct rv_recorder *recorder, uint64_t took_us, bool resumed)
{
    recorder->result.tls_resumed += resumed;
    recorder->result.tls_full += !resumed;
    rv_hist_record(&recorder->result.handshake, took_us);
}

void rv_recorder_received(struct rv_recorder *recorder, uint64_t octets, uint64_t now_us)
{
    recorder->result.received_octets += octets;
    period_at(recorder, now_us)->octets += octets;
}

void rv_recorder_unfinished(struct rv_recorder *recorder, const struct rv_exchange *exchange,
                            uint64_t now_us)
{
    recorder->result.in_flight++;
    rv_hist_record(&recorder->result.unfinished, now_us - exchange->due_us);
}

static void publish(_Atomic uint64_t *place, uint64_t value)
{
    atomic_store_explicit(place, value, memory_order_relaxed);
}

void rv_recorder_publish(struct rv_recorder *recorder)
{
    const struct rv_load_result *result = &recorder->result;
    publish(&recorder->view.answered, result->answered);
    publish(&recorder->view.failed, result->failed);
    publish(&recorder->view.connects, result->connects);
}

/* ---- adding up ----------------------------------------------------------------------------------------- */

static void add_counts(struct rv_load_result *into, struct rv_load_result *from)
{
    into->due += from->due;
    into->started += from->started;
    into->answered += from->answered;
    into->failed += from->failed;
    into->in_flight += from->in_flight;
    into->not_started += from->not_started;
    into->queued += from->queued;
    into->interim += from->interim;
    into->other_length += from->other_length;
    into->kept_alive += from->kept_alive;
    into->connects += from->connects;
    into->connects_tried += from->connects_tried;
    into->open_peak += from->open_peak;
    into->tls_full += from->tls_full;
    into->tls_resumed += from->tls_resumed;
    into->reopened += from->reopened;
    into->races += from->races;
    into->goaways += from->goaways;
    into->sent_again += from->sent_again;
    if (from->streams_limit > 0 &&
        (into->streams_limit == 0 || from->streams_limit < into->streams_limit))
        into->streams_limit = from->streams_limit;
    into->sent_octets += from->sent_octets;
    into->received_octets += from->received_octets;
    into->content_octets += from->content_octets;
    for (size_t i = 0; i < RV_FAILURE_COUNT; i++)
        into->failures[i] += from->failures[i];
    for (size_t i = 0; i < sizeof into->statuses / sizeof *into->statuses; i++)
        into->statuses[i] += from->statuses[i];
    for (uint32_t i = 0; i < from->errno_count; i++)
        note_errno(into, from->errnos[i].failure, from->errnos[i].error_number,
                   from->errnos[i].count);
    for (uint32_t i = 0; i < from->code_count; i++)
        note_code(into, from->codes[i].failure, from->codes[i].code, from->codes[i].count);
    if (into->first_head == NULL) {
        into->first_head = from->first_head;
        from->first_head = NULL;
    }
    if (into->server_software[0] == '\0')
        memcpy(into->server_software, from->server_software, sizeof into->server_software);
    if (into->answered == from->answered) /* the first part that has any */
        into->first_content = from->first_content;
}

/* What was agreed on is the same for all: the first part that has it. */
static void take_tls(struct rv_load_result *into, const struct rv_load_result *from)
{
    if (into->tls_version[0] == '\0') {
        memcpy(into->tls_version, from->tls_version, sizeof into->tls_version);
        memcpy(into->tls_cipher, from->tls_cipher, sizeof into->tls_cipher);
        memcpy(into->tls_temp_key, from->tls_temp_key, sizeof into->tls_temp_key);
        memcpy(into->tls_name, from->tls_name, sizeof into->tls_name);
        into->tls_key_bits = from->tls_key_bits;
        into->tls_certificate_bits = from->tls_certificate_bits;
    }
    if (into->tls_failure[0] == '\0')
        memcpy(into->tls_failure, from->tls_failure, sizeof into->tls_failure);
}

static void add_hists(struct rv_load_result *into, const struct rv_load_result *from)
{
    rv_hist_add(&into->connect, &from->connect);
    rv_hist_add(&into->handshake, &from->handshake);
    rv_hist_add(&into->opening, &from->opening);
    rv_hist_add(&into->wait, &from->wait);
    rv_hist_add(&into->transfer, &from->transfer);
    rv_hist_add(&into->service, &from->service);
    rv_hist_add(&into->lateness, &from->lateness);
    rv_hist_add(&into->failing, &from->failing);
    rv_hist_add(&into->unfinished, &from->unfinished);
    for (size_t i = 0; i < sizeof into->total / sizeof *into->total; i++)
        rv_hist_add(&into->total[i], &from->total[i]);
}

static rv_error add_samples(struct rv_load_result *into, const struct rv_load_result *from)
{
    if (from->sample_count == 0)
        return 0;
    uint64_t count = into->sample_count + from->sample_count;
    struct rv_load_sample *samples = realloc(into->samples, count * sizeof *samples);
    if (samples == NULL)
        return RV_ENOMEM;
    memcpy(samples + into->sample_count, from->samples, from->sample_count * sizeof *samples);
    into->samples = samples;
    into->sample_count = count;
    return 0;
}

static size_t periods_used(const struct rv_recorder *recorder)
{
    uint64_t end_us =
        recorder->last_us > recorder->start_us ? recorder->last_us : recorder->start_us;
    return (size_t)((end_us - recorder->start_us) / ((uint64_t)recorder->period_s * 1000000)) + 1;
}

/* The first recorder's periods become the sum of all; then what they say is written down. */
static rv_error merge_series(struct rv_recorder *const *recorders, unsigned count,
                             struct rv_load_result *result)
{
    uint32_t period_s = 1;
    size_t used = 0;
    for (unsigned i = 0; i < count; i++)
        if (recorders[i]->period_s > period_s)
            period_s = recorders[i]->period_s;
    for (unsigned i = 0; i < count; i++) {
        while (recorders[i]->period_s < period_s)
            halve(recorders[i]);
        size_t here = periods_used(recorders[i]);
        used = here > used ? here : used;
    }
    used = used < RV_LOAD_SERIES_MAX ? used : RV_LOAD_SERIES_MAX;
    result->series = calloc(used, sizeof *result->series);
    if (result->series == NULL)
        return RV_ENOMEM;
    result->series_count = (uint32_t)used;
    result->period_s = period_s;
    for (size_t i = 0; i < used; i++) {
        struct rv_period_record *sum = &recorders[0]->periods[i];
        for (unsigned k = 1; k < count; k++)
            add_period(sum, &recorders[k]->periods[i]);
        result->series[i] = (struct rv_load_period){
            .answered = sum->answered,
            .failed = sum->failed,
            .octets = sum->octets,
            .connects = sum->connects,
            .p50_us = rv_hist_percentile(&sum->total, 50),
            .p99_us = rv_hist_percentile(&sum->total, 99),
            .max_us = sum->total.max,
        };
    }
    return 0;
}

rv_error rv_recorders_merge(struct rv_recorder *const *recorders, unsigned count,
                            struct rv_load_result *result)
{
    for (unsigned i = 0; i < count; i++) {
        add_counts(result, &recorders[i]->result);
        add_hists(result, &recorders[i]->result);
        take_tls(result, &recorders[i]->result);
        rv_error error = add_samples(result, &recorders[i]->result);
        if (error != 0)
            return error;
    }
    return merge_series(recorders, count, result);
}
