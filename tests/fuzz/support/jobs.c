/*
 * Jobs (jobs.h). What is lent lies in heap blocks of exactly its size: AddressSanitizer sees a use
 * after the release, a second release, and with the leak checker one that never comes.
 */
#include "fuzz/support/jobs.h"

#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"

#include <string.h>

enum { SUSPENDED_MAX = 64 };

/* What travels through rv_resume. */
struct answer {
    struct fuzz_job *job;
    fuzz_answer *answer; /* NULL: the talk must be no more */
    unsigned way;
};

static struct fuzz_job *jobs; /* of this run, newest first */
static struct fuzz_job *suspended[SUSPENDED_MAX];
static size_t suspended_count;
static size_t lent_count;
static size_t resumes_under_way;
static bool has_failed;

static bool is_alive(const struct fuzz_job *job)
{
    return !job->is_answered && !job->is_gone && !job->is_left;
}

/* Every result of a handler passes here. */
static int settle(struct fuzz_job *job, int result)
{
    if (result < 0 || (result == RV_OK && !job->is_answered))
        has_failed = true;
    return result;
}

int fuzz_job_answered(struct fuzz_job *job, int result)
{
    REQUIRE(is_alive(job));
    if (result == RV_OK)
        job->is_answered = true;
    return result;
}

static void gone(void *ctx)
{
    struct fuzz_job *job = ctx;
    REQUIRE(!job->is_answered);
    REQUIRE(!job->is_gone);
    job->is_gone = true;
}

int fuzz_job_run(rv_talk *talk, void *ctx)
{
    const struct fuzz_route_ctx *route = ctx;
    struct fuzz_job *job = fuzz_memory_take(sizeof *job);
    job->next = jobs;
    jobs = job;
    REQUIRE(rv_on_gone(talk, gone, job) == RV_OK);
    return settle(job, route->handler(talk, job));
}

/* ---- later calls ----------------------------------------------------------------------------- */

static int late(rv_talk *talk, void *ctx)
{
    struct fuzz_job *job = ctx;
    fuzz_handler *then = job->when_late;
    REQUIRE(talk != NULL && then != NULL && is_alive(job));
    job->when_late = NULL;
    return settle(job, then(talk, job));
}

int fuzz_job_after(rv_talk *talk, struct fuzz_job *job, uint64_t ms, fuzz_handler *then)
{
    REQUIRE(job->when_late == NULL);
    job->when_late = then;
    REQUIRE(rv_after_ms(talk, ms, late, job) == RV_OK);
    return RV_PENDING;
}

static int drained(rv_talk *talk, void *ctx)
{
    struct fuzz_job *job = ctx;
    fuzz_handler *then = job->when_drained;
    REQUIRE(talk != NULL && then != NULL && is_alive(job));
    job->when_drained = NULL;
    return settle(job, then(talk, job));
}

int fuzz_job_drain(rv_talk *talk, struct fuzz_job *job, fuzz_handler *then)
{
    REQUIRE(job->when_drained == NULL);
    job->when_drained = then;
    REQUIRE(rv_on_drain(talk, drained, job) == RV_OK);
    return RV_PENDING;
}

static int piece_arrived(rv_talk *talk, rv_bytes octets, bool last, void *ctx)
{
    struct fuzz_job *job = ctx;
    REQUIRE(talk != NULL && is_alive(job));
    REQUIRE(!job->last_seen && (last || octets.len > 0));
    job->last_seen = last;
    int result = job->on_piece(talk, job, octets, last);
    if (last || result < 0)
        return settle(job, result);
    return result;
}

int fuzz_job_body(rv_talk *talk, struct fuzz_job *job, fuzz_piece *piece)
{
    REQUIRE(job->on_piece == NULL);
    job->on_piece = piece;
    REQUIRE(rv_on_body(talk, piece_arrived, job) == RV_OK);
    REQUIRE(rv_on_body(talk, piece_arrived, job) == RV_ESTATE);
    return RV_PENDING;
}

void fuzz_job_try_after(rv_talk *talk, struct fuzz_job *job, uint64_t ms, fuzz_handler *then)
{
    rv_error error = rv_after_ms(talk, ms, late, job);
    REQUIRE(error == RV_ESTATE || (error == RV_OK && is_alive(job) && job->when_late == NULL));
    if (error == RV_OK)
        job->when_late = then;
}

void fuzz_job_try_drain(rv_talk *talk, struct fuzz_job *job, fuzz_handler *then)
{
    rv_error error = rv_on_drain(talk, drained, job);
    REQUIRE(error == RV_ESTATE || (error == RV_OK && is_alive(job)));
    if (error == RV_OK)
        job->when_drained = then;
}

void fuzz_job_try_body(rv_talk *talk, struct fuzz_job *job, fuzz_piece *piece)
{
    rv_error error = rv_on_body(talk, piece_arrived, job);
    REQUIRE(error == RV_ESTATE || (error == RV_OK && job->on_piece == NULL));
    if (error == RV_OK && is_alive(job)) /* nothing comes of it behind an answer */
        job->on_piece = piece;
}

void fuzz_job_try_suspend(rv_talk *talk, struct fuzz_job *job)
{
    if (!job->is_suspended)
        fuzz_job_suspend(talk, job);
}

bool fuzz_job_waits(const struct fuzz_job *job)
{
    bool waits_for_body = job->on_piece != NULL && !job->last_seen;
    return is_alive(job) && (job->when_late != NULL || job->when_drained != NULL ||
                             job->is_suspended || waits_for_body);
}

void fuzz_job_left(struct fuzz_job *job)
{
    REQUIRE(is_alive(job));
    job->is_left = true;
}

/* ---- suspended talks ------------------------------------------------------------------------- */

int fuzz_job_suspend(rv_talk *talk, struct fuzz_job *job)
{
    if (suspended_count == SUSPENDED_MAX)
        return RV_ELIMIT;
    job->handle = rv_suspend(talk);
    REQUIRE(job->handle.id != 0);
    suspended[suspended_count++] = job;
    job->is_suspended = true;
    return RV_PENDING;
}

static int resumed(rv_talk *talk, void *value)
{
    struct answer answer = *(struct answer *)value;
    free(value);
    resumes_under_way--;
    REQUIRE((talk == NULL) == !is_alive(answer.job));
    if (talk == NULL) {
        REQUIRE(rv_text(NULL, 200, "") == RV_EGONE);
        return RV_EGONE;
    }
    REQUIRE(answer.answer != NULL);
    return settle(answer.job, answer.answer(talk, answer.job, answer.way));
}

static void resume(rv_server *server, struct fuzz_job *job, fuzz_answer *answer, unsigned way)
{
    struct answer *value = fuzz_memory_take(sizeof *value);
    *value = (struct answer){job, answer, way};
    resumes_under_way++;
    rv_error error = rv_resume(server, job->handle, resumed, value);
    if (error == RV_OK)
        return;
    REQUIRE(error == RV_ENOMEM && fuzz_memory_has_failed());
    resumes_under_way--;
    free(value);
    if (answer == NULL)
        return;
    suspended[suspended_count++] = job;
    job->is_suspended = true;
}

void fuzz_jobs_answer(rv_server *server, size_t which, fuzz_answer *answer, unsigned way)
{
    if (suspended_count == 0)
        return;
    size_t place = which % suspended_count;
    struct fuzz_job *job = suspended[place];
    suspended_count--;
    job->is_suspended = false;
    memmove(suspended + place, suspended + place + 1,
            (suspended_count - place) * sizeof *suspended);
    resume(server, job, answer, way);
}

void fuzz_job_answer_again(rv_server *server, struct fuzz_job *job)
{
    resume(server, job, NULL, 0);
}

size_t fuzz_jobs_suspended(void)
{
    return suspended_count;
}

bool fuzz_jobs_has_suspended(rv_handle handle)
{
    for (size_t i = 0; i < suspended_count; i++)
        if (suspended[i]->handle.id == handle.id)
            return true;
    return false;
}

/* ---- lent octets ----------------------------------------------------------------------------- */

rv_bytes fuzz_lend(rv_bytes octets)
{
    char *copy = fuzz_memory_take(octets.len);
    memcpy(copy, octets.ptr, octets.len);
    lent_count++;
    return (rv_bytes){copy, octets.len};
}

void fuzz_release(void *lent)
{
    REQUIRE(lent_count > 0);
    lent_count--;
    free(lent);
}

/* ---- a run ----------------------------------------------------------------------------------- */

void fuzz_jobs_begin(void)
{
    REQUIRE(jobs == NULL && lent_count == 0);
    suspended_count = 0;
    has_failed = false;
}

bool fuzz_jobs_have_failed(void)
{
    return has_failed;
}

void fuzz_jobs_fail(void)
{
    has_failed = true;
}

void fuzz_jobs_end(void)
{
    REQUIRE(lent_count == 0);
    REQUIRE(resumes_under_way == 0);
    while (jobs != NULL) {
        struct fuzz_job *job = jobs;
        jobs = job->next;
        REQUIRE(job->is_answered != job->is_gone || job->is_left);
        REQUIRE(job->form.is_over == job->form.is_begun && !job->form.part_is_open);
        free(job);
    }
    suspended_count = 0;
}
