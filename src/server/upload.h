/*
 * What an upload (upload.c) holds: options, what has come, and the step that is under way at the pool
 * (upload_steps.c). The worker gathers octets, a pool thread does one step at a time (upload_disk.h); so a slow
 * disk holds up its own client, by a pause of the body, and nobody else. In memory are the step that is under
 * way and the one that is being gathered, about RV_UPLOAD_GATHERED_BYTES each.
 *
 *     WRITE … ─► CLOSE ─► (next file) … ─► COMMIT, or LEAVE when it was aborted
 *
 * The record outlives its talk: when the client goes while a step is under way, the files are removed when
 * that returns.
 */
#ifndef RV_SERVER_UPLOAD_H
#define RV_SERVER_UPLOAD_H

#include "base/arena.h"
#include "server/talk.h"
#include "server/upload_disk.h"

#define RV_UPLOAD_GATHERED_BYTES (256 * 1024)

/* What the step that is under way does behind the octets. */
enum rv_upload_step { RV_UPLOAD_WRITE, RV_UPLOAD_CLOSE, RV_UPLOAD_COMMIT, RV_UPLOAD_LEAVE };

struct rv_upload {
    rv_upload_options options;
    void *ctx;
    struct rv_worker *worker;
    rv_handle handle; /* of the talk */
    uint32_t parts_max;
    rv_uploaded *told;
    struct rv_upload_file *files; /* beside each of them */
    size_t count;
    struct rv_upload_disk disk; /* the pool's while a step is under way */
    struct rv_buffer gathered;
    uint64_t octets;      /* of all parts, so far */
    uint64_t field_bytes; /* of those that are no files */
    bool paused;          /* the body waits for a step ... */
    bool closing;         /* ... and the file for its last one */
    bool over;            /* it was aborted: nothing is told any more */

    /* the step under way */
    bool busy;
    enum rv_upload_step step;
    struct rv_buffer writing;
    rv_error error;
    struct rv_pool_job job;
    struct rv_message finished;

    struct rv_arena arena; /* texts */
    char first_block[1024];
};

/* NULL: no memory. */
struct rv_upload *rv_upload_new(struct rv_talk *talk, const rv_upload_options *options,
                                uint32_t parts_max, void *ctx);

/* Of one that has begun no step; those that have are freed behind the last one. */
void rv_upload_free(struct rv_upload *upload);

/* Sends what was gathered to the pool for this step. None is under way. */
void rv_upload_begin_step(struct rv_upload *upload, enum rv_upload_step step);

/* There will be no more: removes what there is, now or behind the step under way. */
void rv_upload_abort(struct rv_upload *upload, rv_error reason);

#endif
