/*
 * Floods of HTTP/2 (h2_calm.h). What is kept is what was spent, so that a new connection is all zeros.
 */
#include "server/h2_calm.h"

#include "server/h2_conn.h"
#include "server/tell.h"

static const struct {
    uint32_t burst;
    uint32_t per_s;
} budgets[] = {
#define RV_H2_CALM_BUDGET(kind, burst, per_s) {burst, per_s},
    RV_H2_CALM_KINDS(RV_H2_CALM_BUDGET)
#undef RV_H2_CALM_BUDGET
};

static void tell_flood(const struct rv_h2_conn *h2, const char *sentence)
{
    rv_tell_bad_client(h2->conn, 0, "while reading frames", sentence);
}

static void count(struct rv_h2_conn *h2, enum rv_h2_calm_kind kind)
{
    struct rv_worker *worker = rv_h2_worker(h2);
    static const char *const floods[] = {
#define RV_H2_CALM_SENTENCE(kind, burst, per_s)                                                    \
    "A flood of HTTP/2 frames (" #kind "): the connection is ended.",
        RV_H2_CALM_KINDS(RV_H2_CALM_SENTENCE)
#undef RV_H2_CALM_SENTENCE
    };
    tell_flood(h2, floods[kind]);
    switch (kind) {
#define RV_H2_CALM_COUNT(kind, burst, per_s)                                                       \
    case RV_H2_CALM_##kind:                                                                        \
        RV_COUNT(worker, h2_##kind##_floods);                                                      \
        break;
        RV_H2_CALM_KINDS(RV_H2_CALM_COUNT)
#undef RV_H2_CALM_COUNT
    case RV_H2_CALM_KIND_COUNT:
        break;
    }
}

/* In steps of whole seconds: a second's worth more or less does not matter. */
static void refill(struct rv_h2_calm *calm, uint64_t now_ms)
{
    if (calm->since_ms == 0)
        calm->since_ms = now_ms;
    uint64_t seconds = (now_ms - calm->since_ms) / 1000;
    if (seconds == 0)
        return;
    calm->since_ms += seconds * 1000;
    for (unsigned i = 0; i < RV_H2_CALM_KIND_COUNT; i++) {
        uint64_t back = seconds * budgets[i].per_s;
        calm->spent[i] = back < calm->spent[i] ? calm->spent[i] - (uint32_t)back : 0;
    }
}

bool rv_h2_calm_spend(struct rv_h2_conn *h2, enum rv_h2_calm_kind kind)
{
    struct rv_h2_calm *calm = &h2->calm;
    refill(calm, rv_conn_now_ms(h2->conn));
    if (calm->spent[kind] < budgets[kind].burst) {
        calm->spent[kind]++;
        return true;
    }
    if (h2->phase != RV_H2_BROKEN) {
        count(h2, kind);
        rv_h2_conn_fail(h2, RV_H2_ENHANCE_YOUR_CALM);
    }
    return false;
}

void rv_h2_calm_data_sent(struct rv_h2_conn *h2)
{
    uint32_t *spent = &h2->calm.spent[RV_H2_CALM_window_update];
    *spent = *spent < 2 ? 0 : *spent - 2;
}

static void on_continuation(struct rv_h2_conn *h2)
{
    if (++h2->calm.continuations <= RV_H2_CONTINUATIONS_MAX || h2->phase == RV_H2_BROKEN)
        return;
    RV_COUNT(rv_h2_worker(h2), h2_continuation_floods);
    tell_flood(h2, "A flood of HTTP/2 frames (continuation): the connection is ended.");
    rv_h2_conn_fail(h2, RV_H2_ENHANCE_YOUR_CALM);
}

void rv_h2_calm_on_frame(struct rv_h2_conn *h2, const struct rv_h2_frame *frame)
{
    switch (frame->type) {
    case RV_H2_HEADERS:
        h2->calm.continuations = 0;
        break;
    case RV_H2_CONTINUATION:
        on_continuation(h2);
        break;
    case RV_H2_DATA:
        if (frame->length == 0 && (frame->flags & RV_H2_FLAG_END_STREAM) == 0)
            rv_h2_calm_spend(h2, RV_H2_CALM_empty_data);
        break;
    case RV_H2_RST_STREAM:
        rv_h2_calm_spend(h2, RV_H2_CALM_reset);
        break;
    case RV_H2_SETTINGS:
        if ((frame->flags & RV_H2_FLAG_ACK) == 0)
            rv_h2_calm_spend(h2, RV_H2_CALM_settings);
        break;
    case RV_H2_PING:
        rv_h2_calm_spend(h2, RV_H2_CALM_ping);
        break;
    case RV_H2_PRIORITY:
    case RV_H2_PRIORITY_UPDATE:
        rv_h2_calm_spend(h2, RV_H2_CALM_priority);
        break;
    case RV_H2_WINDOW_UPDATE:
        rv_h2_calm_spend(h2, RV_H2_CALM_window_update);
        break;
    default:
        rv_h2_calm_spend(h2, RV_H2_CALM_unknown);
    }
}

void rv_h2_calm_on_padding(struct rv_h2_conn *h2, const struct rv_h2_frame *frame)
{
    if ((frame->flags & RV_H2_FLAG_END_STREAM) == 0)
        rv_h2_calm_spend(h2, RV_H2_CALM_empty_data);
}

/* What ends a stream without fault of the client's costs it nothing. */
void rv_h2_calm_on_reset_sent(struct rv_h2_conn *h2, uint32_t code)
{
    if (code != RV_H2_NO_ERROR && code != RV_H2_INTERNAL_ERROR && code != RV_H2_CANCEL)
        rv_h2_calm_spend(h2, RV_H2_CALM_reset);
}
