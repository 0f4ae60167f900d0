/*
 * Forms that are taken part by part (forms.h). What is told of the form is kept with its job, which outlives
 * the talk.
 */
#include "fuzz/support/forms.h"

#include "fuzz/support/conversation.h"
#include "fuzz/support/disk.h"
#include "fuzz/support/label.h"
#include "fuzz/support/require.h"

#include <stdio.h>

static const uint32_t parts_max = 8;
static const uint64_t part_bytes_max = 3000;

/* ---- what is told ---------------------------------------------------------------------------------- */

/* Something is told: it may be. */
static void told(rv_talk *talk, const struct fuzz_job *job)
{
    const struct fuzz_job_form *form = &job->form;
    REQUIRE(talk != NULL && form->is_begun && !form->is_over && !form->is_paused);
    REQUIRE(!job->is_answered && !job->is_gone);
}

static void add(struct fuzz_job *job, rv_bytes octets)
{
    for (size_t i = 0; i < octets.len; i++)
        job->form.sum = job->form.sum * 31 + (uint8_t)octets.ptr[i];
}

static void look_at_part(struct fuzz_job *job, const rv_part *part)
{
    rv_bytes name, value;
    REQUIRE(part != NULL && rv_part_name(part).ptr != NULL);
    add(job, rv_part_name(part));
    add(job, rv_part_filename(part));
    add(job, rv_part_content_type(part));
    for (size_t i = 0; rv_part_header_at(part, i, &name, &value); i++) {
        add(job, value);
        REQUIRE(rv_part_header(part, "content-disposition").ptr != NULL);
    }
}

static void opens(rv_talk *talk, const rv_part *part, struct fuzz_job *job)
{
    told(talk, job);
    REQUIRE(!job->form.part_is_open && job->form.parts < parts_max);
    job->form.part_is_open = true;
    job->form.part_octets = 0;
    job->form.parts++;
    look_at_part(job, part);
}

static void gets_data(rv_talk *talk, rv_bytes octets, struct fuzz_job *job)
{
    told(talk, job);
    REQUIRE(job->form.part_is_open && octets.len > 0);
    job->form.part_octets += octets.len;
    job->form.octets += octets.len;
    REQUIRE(job->form.part_octets <= part_bytes_max);
    add(job, octets);
}

static void closes(rv_talk *talk, struct fuzz_job *job)
{
    told(talk, job);
    REQUIRE(job->form.part_is_open);
    job->form.part_is_open = false;
}

static void is_done(rv_talk *talk, struct fuzz_job *job)
{
    told(talk, job);
    REQUIRE(!job->form.part_is_open);
    job->form.is_over = true;
}

/* Also in the midst of an answer of the job's own, and while it is paused. */
static void aborted(const rv_part *part, rv_error reason, void *ctx)
{
    struct fuzz_job *job = ctx;
    REQUIRE(job->form.is_begun && !job->form.is_over && !job->is_gone && reason < 0);
    REQUIRE((part != NULL) == job->form.part_is_open);
    if (part != NULL)
        look_at_part(job, part);
    job->form.part_is_open = false;
    job->form.is_over = true;
    if (job->is_begun && !job->is_answered)
        fuzz_jobs_fail(); /* the response is cut */
}

static int begin(rv_talk *talk, struct fuzz_job *job, rv_parts acceptor)
{
    acceptor.abort = aborted;
    acceptor.parts_max = parts_max;
    acceptor.part_bytes_max = part_bytes_max;
    fuzz_label(talk, "any", 0); /* for what is no form */
    int result = rv_on_parts(talk, &acceptor, job);
    if (result == RV_OK)
        return fuzz_job_answered(job, result);
    job->form.is_begun = result == RV_PENDING;
    return result;
}

/* ---- the same however it came ------------------------------------------------------------------------ */

static int form_open(rv_talk *talk, const rv_part *part, void *ctx)
{
    opens(talk, part, ctx);
    return RV_OK;
}

static int form_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    gets_data(talk, octets, ctx);
    return RV_OK;
}

static int form_close(rv_talk *talk, void *ctx)
{
    closes(talk, ctx);
    return RV_OK;
}

static int form_done(rv_talk *talk, void *ctx)
{
    struct fuzz_job *job = ctx;
    char text[80];
    is_done(talk, job);
    snprintf(text, sizeof text, "%u %llu %llx", job->form.parts,
             (unsigned long long)job->form.octets, (unsigned long long)job->form.sum);
    return fuzz_job_answered(job, rv_text(talk, 200, text));
}

int fuzz_form(rv_talk *talk, struct fuzz_job *job)
{
    rv_parts acceptor = {
        .open = form_open, .data = form_data, .close = form_close, .done = form_done};
    return begin(talk, job, acceptor);
}

/* ---- programmed -------------------------------------------------------------------------------------- */

static int resume(rv_talk *talk, struct fuzz_job *job)
{
    job->form.is_paused = false;
    rv_error error = rv_body_resume(talk);
    return error != 0 ? error : RV_PENDING;
}

static int answer(rv_talk *talk, struct fuzz_job *job)
{
    int result = job->is_begun ? rv_end(talk) : rv_text(talk, 200, "parts");
    return fuzz_job_answered(job, result);
}

static int pause_for(struct fuzz_job *job, int result)
{
    if (result < 0)
        return result;
    job->form.is_paused = true;
    return RV_FULL;
}

static int write_piece(rv_talk *talk, struct fuzz_job *job)
{
    rv_error error = job->is_begun ? 0 : rv_begin(talk, 200);
    if (error != 0)
        return error;
    job->is_begun = true;
    int result = rv_write(talk, (rv_bytes){fuzz_pattern, 10});
    return result < 0 ? result : RV_OK;
}

/* An answer, and then a result: a failure of the answer comes first. */
static int answer_and(rv_talk *talk, struct fuzz_job *job, int result)
{
    int answered = answer(talk, job);
    return answered < 0 ? answered : result;
}

static int act(rv_talk *talk, struct fuzz_job *job, char letter)
{
    switch (letter) {
    case 'p':
        return pause_for(job, fuzz_job_after(talk, job, 1, resume));
    case 's':
        job->when_resumed = resume;
        return pause_for(job, fuzz_job_suspend(talk, job));
    case 'S':
        job->when_resumed = answer;
        return pause_for(job, fuzz_job_suspend(talk, job));
    case 'i':
        return RV_EINVAL;
    case 'e':
        return RV_EPERM;
    case 'l':
        return RV_ELIMIT;
    case 'x':
        return RV_EIO;
    case 'a':
        return answer_and(talk, job, RV_OK);
    case 'A':
        return answer_and(talk, job, RV_FULL);
    case 'b':
        return answer_and(talk, job, RV_EINVAL);
    case 'w':
        return write_piece(talk, job);
    case 'o':
        REQUIRE(rv_on_body(talk, NULL, NULL) == RV_ESTATE);
        return RV_OK;
    default:
        return RV_OK;
    }
}

/* An error that is no mere refusal may cost the connection. */
static int next_of(rv_talk *talk, struct fuzz_job *job)
{
    rv_bytes program = rv_param(talk, "do");
    int result = job->step < program.len ? act(talk, job, program.ptr[job->step++]) : RV_OK;
    bool refuses = result == RV_EINVAL || result == RV_EPERM || result == RV_ELIMIT;
    if (result < 0 && (!refuses || job->is_begun || job->is_answered))
        fuzz_jobs_fail();
    return result;
}

static int parts_open(rv_talk *talk, const rv_part *part, void *ctx)
{
    struct fuzz_job *job = ctx;
    opens(talk, part, job);
    int result = next_of(talk, job);
    if (result < 0)
        job->form.part_is_open = false; /* it is refused, and not told of any more */
    return result;
}

static int parts_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    gets_data(talk, octets, ctx);
    return next_of(talk, ctx);
}

static int parts_close(rv_talk *talk, void *ctx)
{
    closes(talk, ctx);
    return next_of(talk, ctx);
}

/* Whatever it does, it has not come to its end unless it has answered, failed, or waits to do so. */
static int parts_done(rv_talk *talk, void *ctx)
{
    struct fuzz_job *job = ctx;
    is_done(talk, job);
    int result = next_of(talk, job);
    if (job->form.is_paused) { /* that was no pause: what was asked for now answers */
        job->when_late = job->when_late == NULL ? NULL : answer;
        job->when_resumed = answer;
        return RV_PENDING;
    }
    return result < 0 || job->is_answered ? result : answer(talk, job);
}

int fuzz_parts(rv_talk *talk, struct fuzz_job *job)
{
    rv_parts acceptor = {
        .open = parts_open, .data = parts_data, .close = parts_close, .done = parts_done};
    return begin(talk, job, acceptor);
}

/* ---- to the disk --------------------------------------------------------------------------------------- */

static int disk_done(rv_talk *talk, void *ctx)
{
    struct fuzz_job *job = ctx;
    REQUIRE((talk == NULL) == job->is_gone);
    return talk == NULL ? RV_OK : fuzz_job_answered(job, rv_text(talk, 200, "kept"));
}

static int to_disk(struct fuzz_job *job, int result)
{
    if (result == RV_OK)
        return fuzz_job_answered(job, result);
    return result;
}

int fuzz_to_disk(rv_talk *talk, struct fuzz_job *job)
{
    fuzz_label(talk, "any", 0);
    return to_disk(job, fuzz_disk_form(talk, disk_done, job));
}

int fuzz_to_file(rv_talk *talk, struct fuzz_job *job)
{
    fuzz_label(talk, "any", 0);
    return to_disk(job, fuzz_disk_body(talk, disk_done, job));
}
