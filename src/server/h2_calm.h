/*
 * What a client of HTTP/2 does too often: frames that keep every rule, cost it nothing and the server
 * work. Each kind has a budget that refills with time; who uses it up is told to ENHANCE_YOUR_CALM and
 * cut, and a counter tells. What one connection may cost is bounded so, whatever the frames are.
 */
#ifndef RV_SERVER_H2_CALM_H
#define RV_SERVER_H2_CALM_H

#include "base/bytes.h"

/*
 * Kind, budget at the beginning, refill per second; the counter is h2_KIND_floods.
 *  reset          streams that the client aborts (CVE-2023-44487), or makes the server abort
 *                 (CVE-2025-8671)
 *  settings, ping, priority, window_update, unknown   frames of these types
 *  empty_data     DATA frames without content, if with padding, that end nothing
 *  small_data     DATA frames that the client's window makes tiny
 * A window may be given back as often as DATA frames have left: twice for each.
 */
#define RV_H2_CALM_KINDS(X)                                                                        \
    X(reset, 200, 20)                                                                              \
    X(settings, 50, 5)                                                                             \
    X(ping, 200, 20)                                                                               \
    X(priority, 1000, 100)                                                                         \
    X(window_update, 2000, 200)                                                                    \
    X(empty_data, 100, 10)                                                                         \
    X(small_data, 1000, 100)                                                                       \
    X(unknown, 100, 10)

enum rv_h2_calm_kind {
#define RV_H2_CALM_ENUM(kind, burst, per_s) RV_H2_CALM_##kind,
    RV_H2_CALM_KINDS(RV_H2_CALM_ENUM)
#undef RV_H2_CALM_ENUM
        RV_H2_CALM_KIND_COUNT
};

/* Frames behind HEADERS that one header block may need (CVE-2024-27316). */
#define RV_H2_CONTINUATIONS_MAX 8

struct rv_h2_calm {
    uint64_t since_ms;                     /* when budgets were last refilled */
    uint32_t spent[RV_H2_CALM_KIND_COUNT]; /* of each budget */
    uint32_t continuations;                /* of the current header block */
};

struct rv_h2_conn;
struct rv_h2_frame;

/* Takes one from a budget; false: it was empty, the connection is failing. */
bool rv_h2_calm_spend(struct rv_h2_conn *h2, enum rv_h2_calm_kind kind);

/* A DATA frame has left: the client may give back its windows. */
void rv_h2_calm_data_sent(struct rv_h2_conn *h2);

/* The head of a frame has arrived. */
void rv_h2_calm_on_frame(struct rv_h2_conn *h2, const struct rv_h2_frame *frame);

/* A DATA frame has padding and nothing else. */
void rv_h2_calm_on_padding(struct rv_h2_conn *h2, const struct rv_h2_frame *frame);

/* RST_STREAM was sent. */
void rv_h2_calm_on_reset_sent(struct rv_h2_conn *h2, uint32_t code);

#endif
