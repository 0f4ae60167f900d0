/*
 * The app's side of each talk (app.h): a record that outlives the talk, and the only way in which
 * the app's handlers are called. It requires that the library calls what it was asked to call, when
 * it was asked to, and as often: a drain and a delay only while they are due, pieces of a body up
 * to the last one and none behind it, on_gone once and never after an answer, nothing at all of a
 * talk that has come to its end. It owns the jobs, what was lent to the library, and what waits for
 * an answer.
 */
#ifndef FUZZ_JOBS_H
#define FUZZ_JOBS_H

#include <rivulet.h>

struct fuzz_job;

typedef int fuzz_handler(rv_talk *talk, struct fuzz_job *job);
typedef int fuzz_piece(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last);

/* A form that is taken part by part (forms.h). */
struct fuzz_job_form {
    bool is_begun;
    bool is_over; /* done or aborted */
    bool is_paused;
    bool part_is_open;
    uint32_t parts;
    uint64_t octets, part_octets;
    uint64_t sum;
};

struct fuzz_job {
    struct fuzz_job *next;
    bool is_answered;
    bool is_gone;
    bool is_begun; /* a streamed response */
    bool is_left;  /* ... that the library ends: whether it can is not known yet */
    bool is_suspended;
    bool last_seen;
    fuzz_handler *when_drained; /* NULL: was not asked for, or has been called */
    fuzz_handler *when_late;
    fuzz_handler *when_resumed; /* in the stead of the app's way to answer */
    fuzz_piece *on_piece;
    rv_handle handle;
    uint64_t total; /* octets of the response */
    uint64_t at;    /* of them that were written; of a request body: that were read */
    uint64_t step;
    uint64_t fail_at;
    uint64_t delay_ms;
    bool borrows;
    struct fuzz_job_form form;
    size_t name_length; /* of the parameter "name", as it was at first */
    char name[32];
};

/* A handler of a route, with the app's handler as its ctx: gives the talk a job. */
struct fuzz_route_ctx {
    fuzz_handler *handler;
};
int fuzz_job_run(rv_talk *talk, void *ctx);

/* Notes that a verb has answered: passes `result` on. */
int fuzz_job_answered(struct fuzz_job *job, int result);

/* Each asks the library for a later call, and returns what the handler then returns. */
int fuzz_job_after(rv_talk *talk, struct fuzz_job *job, uint64_t ms, fuzz_handler *then);
int fuzz_job_drain(rv_talk *talk, struct fuzz_job *job, fuzz_handler *then);
int fuzz_job_body(rv_talk *talk, struct fuzz_job *job, fuzz_piece *piece);
int fuzz_job_suspend(rv_talk *talk, struct fuzz_job *job);

/* The same for programs that ask when they may not (verbs.h): nothing follows then. */
void fuzz_job_try_after(rv_talk *talk, struct fuzz_job *job, uint64_t ms, fuzz_handler *then);
void fuzz_job_try_drain(rv_talk *talk, struct fuzz_job *job, fuzz_handler *then);
void fuzz_job_try_body(rv_talk *talk, struct fuzz_job *job, fuzz_piece *piece);
void fuzz_job_try_suspend(rv_talk *talk, struct fuzz_job *job);

/* Will anything of the kind still be called? */
bool fuzz_job_waits(const struct fuzz_job *job);

/* The handler returns RV_OK with a response that has been begun and not ended. */
void fuzz_job_left(struct fuzz_job *job);

/* What happens to a suspended job; `talk` is never NULL. */
typedef int fuzz_answer(rv_talk *talk, struct fuzz_job *job, unsigned way);

/* Has `answer(talk, job, way)` called for the suspended job `which`, modulo their number. */
void fuzz_jobs_answer(rv_server *server, size_t which, fuzz_answer *answer, unsigned way);
size_t fuzz_jobs_suspended(void);
bool fuzz_jobs_has_suspended(rv_handle handle);

/* The same for a job that has just been answered: nobody must be called. */
void fuzz_job_answer_again(rv_server *server, struct fuzz_job *job);

/* A copy of the octets, to be lent with fuzz_release. */
rv_bytes fuzz_lend(rv_bytes octets);
void fuzz_release(void *lent);

void fuzz_jobs_begin(void);
/* Has a handler failed, or said that something will? */
bool fuzz_jobs_have_failed(void);
void fuzz_jobs_fail(void);
void fuzz_jobs_end(void);

#endif
