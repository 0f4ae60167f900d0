/*
 * Forms whose files go to the disk (rv_upload of step 5): an acceptor of parts whose octets are written
 * behind. The worker gathers them, a pool thread writes them, in one step at a time (upload_disk.h); so a
 * slow disk holds up its own client, by a pause of the body, and nobody else. In memory are the step that is
 * under way and the one that is being gathered, about GATHERED_BYTES each.
 *
 * The record outlives its talk: when the client goes while a step is under way, the files are removed when
 * that returns.
 */
#include "base/arena.h"
#include "io/tls_layer.h"
#include "server/pool.h"
#include "server/upload_disk.h"
#include "server/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GATHERED_BYTES (256 * 1024)
#define PARTS_MAX 100
#define FIELDS_BYTES_MAX (64 * 1024)

/* What the step that is under way does behind the octets. */
enum step { STEP_WRITE, STEP_CLOSE, STEP_COMMIT, STEP_LEAVE };

struct upload {
    rv_upload_options options;
    void *ctx;
    struct rv_worker *worker;
    rv_handle handle; /* of the talk */
    rv_uploaded *told;
    struct rv_upload_file *files; /* beside each of them */
    size_t count;
    struct rv_upload_disk disk; /* the pool's while a step is under way */
    struct rv_buffer gathered;
    uint64_t octets;      /* of all parts, so far */
    uint64_t field_bytes; /* of those that are no files */
    bool paused;          /* the body waits for a step ... */
    bool closing;         /* ... and the file for its last one */
    bool over;            /* the form was aborted: nothing is told any more */

    /* the step under way */
    bool busy;
    enum step step;
    struct rv_buffer writing;
    rv_error error;
    struct rv_pool_job job;
    struct rv_message finished;

    struct rv_arena arena; /* texts */
    char first_block[1024];
};

static void upload_free(struct upload *upload)
{
    rv_buffer_free(&upload->gathered);
    rv_buffer_free(&upload->writing);
    rv_arena_free(&upload->arena);
    free(upload->told);
    free(upload->files);
    free(upload);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static bool is_file(const rv_uploaded *part)
{
    return part->file != NULL;
}

/* Pool thread. */
static void run_step(void *argument)
{
    struct upload *upload = argument;
    struct rv_upload_disk *disk = &upload->disk;
    struct rv_upload_file *file = &upload->files[upload->count == 0 ? 0 : upload->count - 1];
    rv_error error = 0;
    if (upload->step <= STEP_CLOSE)
        error = rv_upload_write(disk, file, rv_slice(upload->writing.ptr, upload->writing.len));
    if (error == 0 && upload->step == STEP_CLOSE)
        error = rv_upload_close(disk, file);
    if (upload->step == STEP_COMMIT)
        error = rv_upload_commit(disk, upload->files, upload->count);
    if (upload->step >= STEP_COMMIT)
        rv_upload_leave(disk, upload->files, upload->count);
    upload->error = error;
    rv_loop_post(&upload->worker->loop, &upload->finished);
}

static void begin_step(struct upload *upload, enum step step)
{
    upload->busy = true;
    upload->step = step;
    if (step <= STEP_CLOSE) {
        upload->writing = upload->gathered;
        upload->gathered = (struct rv_buffer){0};
    }
    upload->worker->pool_talks++;
    rv_pool_do(upload->worker->server->pool, &upload->job);
}

static int answer_failure(rv_talk *talk, void *ctx)
{
    const struct upload *upload = ctx;
    switch (upload->disk.error_number) {
    case ENOSPC:
    case EDQUOT:
        return rv_problem(talk, 507, "There is no room for the file.");
    case EEXIST:
        return rv_problem(talk, 409, "There is a file of that name already.");
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
    struct upload *upload = ctx;
    for (size_t i = 0; i < upload->count; i++)
        memcpy(upload->told[i].sha256, upload->files[i].sha256, sizeof upload->told[i].sha256);
    return upload->options.done(talk, upload->told, upload->count, upload->ctx);
}

static void tell_abort(struct upload *upload, rv_error reason)
{
    if (upload->options.abort != NULL)
        upload->options.abort(reason, upload->ctx);
}

/* The talk, if it still can be answered. */
static struct rv_talk *talk_of(const struct upload *upload)
{
    struct rv_talk *talk = rv_talk_find(upload->worker, upload->handle);
    bool can = talk != NULL && talk->conn != NULL && talk->response != RV_RESPONSE_ENDED;
    return can ? talk : NULL;
}

/* The form was complete, and its files have their names or are gone. */
static void committed(struct upload *upload)
{
    struct rv_talk *talk = talk_of(upload);
    if (upload->error != 0)
        tell_abort(upload, upload->error);
    if (talk != NULL)
        rv_talk_run(talk, upload->error == 0 ? tell_done : answer_failure, upload);
    else if (upload->error == 0)
        tell_done(NULL, upload);
    upload_free(upload);
    if (talk != NULL)
        rv_talk_advance(talk);
}

/* A step has returned. Worker thread. */
static void finished(struct rv_message *message, void *owner)
{
    struct upload *upload = (struct upload *)((char *)message - offsetof(struct upload, finished));
    struct rv_worker *worker = owner;
    worker->pool_talks--;
    upload->busy = false;
    rv_buffer_free(&upload->writing);
    if (upload->step == STEP_LEAVE) {
        upload_free(upload);
        return;
    }
    if (upload->step == STEP_COMMIT) {
        committed(upload);
        return;
    }
    if (upload->over) {
        begin_step(upload, STEP_LEAVE);
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
        begin_step(upload, STEP_CLOSE);
    } else if (upload->paused) {
        upload->paused = false;
        rv_talk_run(talk, go_on, upload);
        rv_talk_advance(talk);
    }
}

/* ---- parts ------------------------------------------------------------------------------------------ */

/* One name, which leads nowhere else. */
static bool is_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static rv_error choose_name(rv_talk *talk, struct upload *upload, const rv_part *part, char *name,
                            size_t size)
{
    uint64_t random[2];
    if (upload->options.name != NULL) {
        name[0] = '\0';
        int result = upload->options.name(talk, part, name, size, upload->ctx);
        return result < 0 ? result : is_name(name) ? 0 : RV_EINVAL;
    }
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return RV_EIO;
    snprintf(name, size, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return 0;
}

static rv_bytes keep(struct upload *upload, rv_bytes text)
{
    return text.ptr == NULL ? text : rv_slice(rv_arena_copy(&upload->arena, text), text.len);
}

static int open_part(rv_talk *talk, const rv_part *part, void *ctx)
{
    struct upload *upload = ctx;
    rv_uploaded *told = &upload->told[upload->count];
    char name[256];
    bool has_file = rv_part_filename(part).ptr != NULL;
    rv_error error = has_file ? choose_name(talk, upload, part, name, sizeof name) : 0;
    if (error != 0)
        return error;
    *told = (rv_uploaded){.name = keep(upload, rv_part_name(part)),
                          .filename = keep(upload, rv_part_filename(part)),
                          .content_type = keep(upload, rv_part_content_type(part))};
    if (has_file)
        told->file = upload->files[upload->count].name =
            rv_arena_copy(&upload->arena, rv_str(name));
    if (told->name.ptr == NULL || (has_file && (told->file == NULL || told->filename.ptr == NULL)))
        return RV_ENOMEM;
    upload->count++;
    return RV_OK;
}

static int take_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    struct upload *upload = ctx;
    rv_uploaded *told = &upload->told[upload->count - 1];
    told->bytes += octets.len;
    upload->octets += octets.len;
    if (upload->options.progress != NULL)
        upload->options.progress(talk, upload->octets, upload->ctx);
    if (!is_file(told) && (upload->field_bytes += octets.len) > FIELDS_BYTES_MAX)
        return RV_ELIMIT;
    if (rv_buffer_append(&upload->gathered, octets) != 0)
        return RV_ENOMEM;
    if (!is_file(told) || upload->gathered.len < GATHERED_BYTES)
        return RV_OK;
    if (upload->busy) {
        upload->paused = true;
        return RV_FULL;
    }
    begin_step(upload, STEP_WRITE);
    return RV_OK;
}

static int close_part(rv_talk *talk, void *ctx)
{
    struct upload *upload = ctx;
    rv_uploaded *told = &upload->told[upload->count - 1];
    (void)talk;
    if (!is_file(told)) {
        told->value = keep(upload, rv_slice(upload->gathered.len > 0 ? upload->gathered.ptr : "",
                                            upload->gathered.len));
        rv_buffer_free(&upload->gathered);
        return told->value.ptr == NULL ? RV_ENOMEM : RV_OK;
    }
    upload->paused = true;
    if (upload->busy)
        upload->closing = true;
    else
        begin_step(upload, STEP_CLOSE);
    return RV_FULL;
}

static int form_is_whole(rv_talk *talk, void *ctx)
{
    (void)talk;
    begin_step(ctx, STEP_COMMIT);
    return RV_PENDING;
}

static void form_is_aborted(const rv_part *part, rv_error reason, void *ctx)
{
    struct upload *upload = ctx;
    (void)part;
    upload->over = true;
    tell_abort(upload, upload->error != 0 && !upload->busy ? upload->error : reason);
    if (!upload->busy)
        begin_step(upload, STEP_LEAVE);
}

/* ---- step 5 ------------------------------------------------------------------------------------------- */

static struct upload *upload_new(struct rv_talk *talk, const rv_upload_options *options, void *ctx)
{
    struct upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL)
        return NULL;
    rv_arena_init(&upload->arena, upload->first_block, sizeof upload->first_block);
    upload->options = *options;
    if (options->parts_max == 0)
        upload->options.parts_max = PARTS_MAX;
    upload->told = calloc(upload->options.parts_max, sizeof *upload->told);
    upload->files = calloc(upload->options.parts_max, sizeof *upload->files);
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
    upload_free(upload);
    return NULL;
}

int rv_upload(rv_talk *talk, const rv_upload_options *options, void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (options == NULL || options->directory == NULL || options->done == NULL ||
        (options->sha256 && !RV_TLS_BUILT))
        return RV_EINVAL;
    struct upload *upload = upload_new(talk, options, ctx);
    if (upload == NULL)
        return RV_ENOMEM;
    rv_parts acceptor = {.open = open_part,
                         .data = take_data,
                         .close = close_part,
                         .done = form_is_whole,
                         .abort = form_is_aborted,
                         .parts_max = upload->options.parts_max,
                         .part_bytes_max = options->file_bytes_max};
    int result = rv_on_parts(talk, &acceptor, upload);
    if (result != RV_PENDING)
        upload_free(upload);
    return result;
}
