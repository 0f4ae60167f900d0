/*
 * The steps of an upload (upload.h): its record, what the pool does for it, and what comes of that.
 */
#include "io/tls_layer.h"
#include "server/pool.h"
#include "server/tell.h"
#include "server/upload.h"
#include "server/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ---------------------------------------------------------------------------------------- */

/* Pool thread. */
static void run_step(void *argument)
{
    struct rv_upload *upload = argument;
    struct rv_upload_disk *disk = &upload->disk;
    struct rv_upload_file *file = &upload->files[upload->count == 0 ? 0 : upload->count - 1];
    rv_error error = 0;
    if (upload->step <= RV_UPLOAD_CLOSE)
        error = rv_upload_write(disk, file, rv_slice(upload->writing.ptr, upload->writing.len));
    if (error == 0 && upload->step == RV_UPLOAD_CLOSE)
        error = rv_upload_close(disk, file);
    if (upload->step == RV_UPLOAD_COMMIT)
        error = rv_upload_commit(disk, upload->files, upload->count);
    if (upload->step >= RV_UPLOAD_COMMIT)
        rv_upload_leave(disk, upload->files, upload->count);
    upload->error = error;
    rv_loop_post(&upload->worker->loop, &upload->finished);
}

void rv_upload_begin_step(struct rv_upload *upload, enum rv_upload_step step)
{
    upload->busy = true;
    upload->step = step;
    if (step <= RV_UPLOAD_CLOSE) {
        upload->writing = upload->gathered;
        upload->gathered = (struct rv_buffer){0};
    }
    upload->worker->pool_talks++;
    rv_pool_do(upload->worker->server->pool, &upload->job);
}

static int refuse(rv_talk *talk, int status, const char *reason)
{
    static const char doing[] = "while writing an upload";
    if (status == 507)
        rv_tell_failure(talk, RV_EIO, doing, reason);
    else
        rv_tell_bad_input(talk, status, doing, reason);
    rv_talk_refuse(talk, status, reason);
    return RV_PENDING;
}

static int answer_failure(rv_talk *talk, void *ctx)
{
    const struct rv_upload *upload = ctx;
    switch (upload->disk.error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return refuse(talk, 507, "There is no room for the file.");
    case ESTALE:
        return refuse(talk, 412, "The file is not what it was any more.");
    case EEXIST:
        if (upload->disk.expects && !upload->disk.expected.is_there)
            return refuse(talk, 412, "There is a file of that name now.");
        return refuse(talk, 409, "There is a file of that name already.");
    case EISDIR:
        return refuse(talk, 409, "There is a directory of that name.");
    default:
        return upload->error;
    }
}

static int go_on(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_body_resume(talk);
    return error == 0 ? RV_PENDING : error;
}

static int tell_done(rv_talk *talk, void *ctx)
{
    struct rv_upload *upload = ctx;
    for (size_t i = 0; i < upload->count; i++) {
        memcpy(upload->told[i].sha256, upload->files[i].sha256, sizeof upload->told[i].sha256);
        memcpy(upload->told[i].etag, upload->files[i].etag, sizeof upload->told[i].etag);
        upload->told[i].replaced = upload->files[i].has_replaced;
    }
    return upload->options.done(talk, upload->told, upload->count, upload->ctx);
}

static void tell_abort(struct rv_upload *upload, rv_error reason)
{
    if (upload->options.abort != NULL)
        upload->options.abort(reason, upload->ctx);
}

/* The talk, if it still can be answered. */
static struct rv_talk *talk_of(const struct rv_upload *upload)
{
    struct rv_talk *talk = rv_talk_find(upload->worker, upload->handle);
    bool can = talk != NULL && talk->conn != NULL && talk->response != RV_RESPONSE_ENDED;
    return can ? talk : NULL;
}

/* The form was complete, and its files have their names or are gone. */
static void committed(struct rv_upload *upload)
{
    struct rv_talk *talk = talk_of(upload);
    if (upload->error != 0)
        tell_abort(upload, upload->error);
    if (talk != NULL)
        rv_talk_run(talk, upload->error == 0 ? tell_done : answer_failure, upload);
    else if (upload->error == 0)
        tell_done(NULL, upload);
    rv_upload_free(upload);
    if (talk != NULL)
        rv_talk_advance(talk);
}

/* A step has returned. Worker thread. */
static void finished(struct rv_message *message, void *owner)
{
    struct rv_upload *upload =
        (struct rv_upload *)((char *)message - offsetof(struct rv_upload, finished));
    struct rv_worker *worker = owner;
    worker->pool_talks--;
    upload->busy = false;
    rv_buffer_free(&upload->writing);
    if (upload->step == RV_UPLOAD_LEAVE) {
        rv_upload_free(upload);
        return;
    }
    if (upload->step == RV_UPLOAD_COMMIT) {
        committed(upload);
        return;
    }
    if (upload->over) {
        rv_upload_begin_step(upload, RV_UPLOAD_LEAVE);
        return;
    }
    struct rv_talk *talk = talk_of(upload);
    if (talk == NULL)
        return; /* its end is on the way, and aborts the form */
    if (upload->error != 0) {
        rv_talk_run(talk, answer_failure, upload);
        rv_talk_advance(talk);
    } else if (upload->closing) {
        upload->closing = false;
        rv_upload_begin_step(upload, RV_UPLOAD_CLOSE);
    } else if (upload->paused) {
        upload->paused = false;
        rv_talk_run(talk, go_on, upload);
        rv_talk_advance(talk);
    }
}

/* ---- the end before the end -------------------------------------------------------------------------- */

void rv_upload_abort(struct rv_upload *upload, rv_error reason)
{
    upload->over = true;
    /* While a step is under way, its error is the pool thread's. */
    bool has_failed = !upload->busy && upload->error != 0;
    tell_abort(upload, has_failed ? upload->error : reason);
    if (!upload->busy)
        rv_upload_begin_step(upload, RV_UPLOAD_LEAVE);
}

/* ---- the record --------------------------------------------------------------------------------------- */

struct rv_upload *rv_upload_new(struct rv_talk *talk, const rv_upload_options *options,
                                uint32_t parts_max, void *ctx)
{
    struct rv_upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL)
        return NULL;
    rv_arena_init(&upload->arena, upload->first_block, sizeof upload->first_block);
    upload->options = *options;
    upload->parts_max = parts_max;
    upload->told = calloc(parts_max, sizeof *upload->told);
    upload->files = calloc(parts_max, sizeof *upload->files);
    upload->disk = (struct rv_upload_disk){
        .directory_name = rv_arena_copy(&upload->arena, rv_str(options->directory)),
        .replace = options->replace,
        .sync = options->sync,
        .hashes = options->sha256,
        .directory = -1,
        .file = -1};
    upload->ctx = ctx;
    upload->worker = talk->worker;
    upload->handle = rv_suspend(talk);
    upload->job = (struct rv_pool_job){NULL, run_step, upload};
    upload->finished.run = finished;
    if (upload->told != NULL && upload->files != NULL && upload->disk.directory_name != NULL)
        return upload;
    rv_upload_free(upload);
    return NULL;
}

void rv_upload_free(struct rv_upload *upload)
{
    rv_buffer_free(&upload->gathered);
    rv_buffer_free(&upload->writing);
    rv_arena_free(&upload->arena);
    free(upload->told);
    free(upload->files);
    free(upload);
}
