/*
 * The programmed handler (verbs.h). Its place in the program is all that it remembers.
 */
#include "fuzz/support/verbs.h"

#include "fuzz/support/conversation.h"
#include "fuzz/support/label.h"
#include "fuzz/support/require.h"

#include <string.h>

enum { PROGRAM_MAX = 64 };

static int resumed(rv_talk *talk, struct fuzz_job *job);
static int piece_came(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last);

/* Content of any length: the pattern from its beginning. */
static rv_bytes content(struct fuzz_job *job, size_t length)
{
    if (length > FUZZ_PATTERN_MAX - job->at)
        length = FUZZ_PATTERN_MAX - job->at;
    return (rv_bytes){fuzz_pattern + job->at, length};
}

/* Only what has been taken moves the place in the pattern on. */
static int written(struct fuzz_job *job, rv_bytes piece, int result)
{
    REQUIRE(result <= RV_FULL && result != RV_PENDING);
    if (result >= 0)
        job->at += piece.len;
    return result;
}

static void write_piece(rv_talk *talk, struct fuzz_job *job, size_t length, bool borrowed)
{
    rv_bytes piece = content(job, length);
    if (!borrowed) {
        written(job, piece, rv_write(talk, piece));
        return;
    }
    rv_bytes lent = fuzz_lend(piece);
    written(job, piece, rv_write_borrowed(talk, lent, fuzz_release, (void *)lent.ptr));
}

static void answer(struct fuzz_job *job, int result)
{
    REQUIRE(result <= RV_OK);
    if (result == RV_OK)
        fuzz_job_answered(job, result);
}

static void reply_borrowed(rv_talk *talk, struct fuzz_job *job)
{
    rv_bytes lent = fuzz_lend((rv_bytes){fuzz_pattern, 20000});
    answer(job, rv_reply_borrowed(talk, 200, "text/plain", lent, fuzz_release, (void *)lent.ptr));
}

static void begin(rv_talk *talk, struct fuzz_job *job, int status)
{
    if (rv_begin(talk, status) == RV_OK)
        job->is_begun = true;
}

/* Verbs that answer, or write. */
static bool respond(rv_talk *talk, struct fuzz_job *job, char letter)
{
    switch (letter) {
    case 'r':
        answer(job, rv_reply(talk, 200, "text/plain", (rv_bytes){fuzz_pattern, 10}));
        return true;
    case 'R':
        reply_borrowed(talk, job);
        return true;
    case 'P':
        rv_set_header(talk, "X-Content", "any");
        answer(job, rv_problem(talk, 409, NULL));
        return true;
    case 'b':
        begin(talk, job, 200);
        return true;
    case 'n':
        begin(talk, job, 204);
        return true;
    case 'w':
        write_piece(talk, job, 100, false);
        return true;
    case 'W':
        write_piece(talk, job, 5000, false);
        return true;
    case 'o':
        write_piece(talk, job, 20000, true);
        return true;
    case 'O':
        write_piece(talk, job, 100, true);
        return true;
    case 'e':
        answer(job, rv_end(talk));
        return true;
    default:
        return false;
    }
}

/* Verbs that prepare, or ask for something. */
static void prepare(rv_talk *talk, struct fuzz_job *job, char letter)
{
    switch (letter) {
    case 'h':
        rv_add_header(talk, "X-Some", "thing");
        break;
    case 'c':
        rv_set_header(talk, "Connection", "close");
        break;
    case 'l':
        rv_set_header(talk, "Content-Length", "300");
        break;
    case 't':
        rv_set_trailer(talk, "X-Trailer", "some");
        break;
    case 'd':
        fuzz_job_try_drain(talk, job, resumed);
        break;
    case 'a':
        fuzz_job_try_after(talk, job, 7, resumed);
        break;
    case 's':
        fuzz_job_try_suspend(talk, job);
        break;
    case 'B':
        fuzz_job_try_body(talk, job, piece_came);
        break;
    case 'u':
        rv_body_resume(talk);
        break;
    default:
        break;
    }
}

static int go_on(rv_talk *talk, struct fuzz_job *job)
{
    char program[PROGRAM_MAX];
    rv_bytes text = rv_param(talk, "do");
    size_t length = text.len < PROGRAM_MAX ? text.len : PROGRAM_MAX;
    if (length > 0)
        memcpy(program, text.ptr, length); /* which lives until the talk is answered */
    while (job->step < length) {
        char letter = program[job->step++];
        if (letter == 'f')
            return RV_EIO;
        if (letter == '.' && fuzz_job_waits(job))
            return RV_PENDING;
        if (!respond(talk, job, letter))
            prepare(talk, job, letter);
    }
    return RV_OK;
}

/* A response that was begun is ended by the library when its handler returns RV_OK. */
static int ended(struct fuzz_job *job, int result)
{
    if (result == RV_OK && job->is_begun && !job->is_answered)
        fuzz_job_left(job);
    return result;
}

/* What has been asked for happens, or the answer from outside has come. */
static int resumed(rv_talk *talk, struct fuzz_job *job)
{
    return ended(job, go_on(talk, job));
}

static int piece_came(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last)
{
    (void)octets;
    int result = go_on(talk, job);
    if (last)
        return ended(job, result);
    return result < 0 ? result : RV_OK;
}

int fuzz_verbs(rv_talk *talk, struct fuzz_job *job)
{
    fuzz_label(talk, "pattern", FUZZ_LENGTH_OPEN);
    job->when_resumed = resumed;
    return ended(job, go_on(talk, job));
}
