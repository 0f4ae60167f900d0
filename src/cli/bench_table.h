/*
 * The table of bench's options: one row says all about an option; reading argv, the messages and
 * the help are made from it.
 */
#ifndef RV_CLI_BENCH_TABLE_H
#define RV_CLI_BENCH_TABLE_H

#include "cli/bench_options.h"

/* What an option takes, and so what its place in the struct is. */
enum rv_bench_kind {
    RV_TAKES_NOTHING,  /* bool */
    RV_TAKES_COUNT,    /* uint64_t */
    RV_TAKES_DURATION, /* uint64_t, microseconds */
    RV_TAKES_RATE,     /* double, per second */
    RV_TAKES_TEXT,     /* const char * */
    RV_TAKES_TEXTS,    /* struct rv_texts */
    RV_TAKES_ARRIVALS, /* enum rv_arrivals */
    RV_TAKES_FORMAT,   /* enum rv_report_format */
    RV_TAKES_TLS,      /* unsigned: a version */
    RV_TAKES_CPUS      /* cpu_set_t */
};

struct rv_bench_row {
    const char *flag;  /* as it is shown: "-c", "--quota" */
    const char *name;  /* the long one */
    const char *value; /* what it takes, for the help; NULL: nothing */
    const char *help;
    const char *heading; /* that the help puts before it; NULL: none */
    enum rv_bench_kind kind;
    size_t at;         /* of its place in the struct */
    uint64_t min, max; /* of counts and durations */
};

extern const struct rv_bench_row rv_bench_rows[RV_BENCH_OPTION_COUNT];

static inline bool rv_bench_has_letter(const struct rv_bench_row *row)
{
    return row->flag[1] != '-';
}

#endif
