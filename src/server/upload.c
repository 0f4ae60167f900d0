/*
 * Forms and bodies that go to the disk (rv_upload and rv_upload_body of step 5): acceptors of parts whose octets
 * are gathered here and written behind (upload.h). A body is one part, which is a file.
 */
#include "server/upload.h"

#include "io/tls_layer.h"
#include "server/parts.h"
#include "server/tell.h"
#include "server/worker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PARTS_MAX 100
#define FIELDS_BYTES_MAX (64 * 1024)

static bool is_file(const rv_uploaded *part)
{
    return part->file != NULL;
}

/* ---- parts ------------------------------------------------------------------------------------------ */

/* One name, which leads nowhere else. */
static bool is_name(rv_bytes name)
{
    return name.len > 0 && name.len <= NAME_MAX && memchr(name.ptr, '/', name.len) == NULL &&
           memchr(name.ptr, '\0', name.len) == NULL && !rv_bytes_equal(name, RV_LIT(".")) &&
           !rv_bytes_equal(name, RV_LIT(".."));
}

static rv_error random_name(char *name, size_t size)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return RV_EIO;
    snprintf(name, size, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return 0;
}

static rv_error choose_name(rv_talk *talk, struct rv_upload *upload, const rv_part *part,
                            char *name, size_t size)
{
    if (upload->options.name == NULL)
        return random_name(name, size);
    name[0] = '\0';
    int result = upload->options.name(talk, part, name, size, upload->ctx);
    return result < 0 ? result : is_name(rv_str(name)) ? 0 : RV_EINVAL;
}

static rv_bytes keep(struct rv_upload *upload, rv_bytes text)
{
    return text.ptr == NULL ? text : rv_slice(rv_arena_copy(&upload->arena, text), text.len);
}

static int open_part(rv_talk *talk, const rv_part *part, void *ctx)
{
    struct rv_upload *upload = ctx;
    rv_uploaded *told = &upload->told[upload->count];
    char name[NAME_MAX + 1];
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
    struct rv_upload *upload = ctx;
    rv_uploaded *told = &upload->told[upload->count - 1];
    told->bytes += octets.len;
    upload->octets += octets.len;
    if (upload->options.progress != NULL)
        upload->options.progress(talk, upload->octets, upload->ctx);
    if (!is_file(told) && (upload->field_bytes += octets.len) > FIELDS_BYTES_MAX)
        return RV_ELIMIT;
    if (rv_buffer_append(&upload->gathered, octets) != 0)
        return RV_ENOMEM;
    if (!is_file(told) || upload->gathered.len < RV_UPLOAD_GATHERED_BYTES)
        return RV_OK;
    if (upload->busy) {
        upload->paused = true;
        return RV_FULL;
    }
    rv_upload_begin_step(upload, RV_UPLOAD_WRITE);
    return RV_OK;
}

static int close_part(rv_talk *talk, void *ctx)
{
    struct rv_upload *upload = ctx;
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
        rv_upload_begin_step(upload, RV_UPLOAD_CLOSE);
    return RV_FULL;
}

static int form_is_whole(rv_talk *talk, void *ctx)
{
    (void)talk;
    rv_upload_begin_step(ctx, RV_UPLOAD_COMMIT);
    return RV_PENDING;
}

static void form_is_aborted(const rv_part *part, rv_error reason, void *ctx)
{
    (void)part;
    rv_upload_abort(ctx, reason);
}

/* ---- step 5: forms ---------------------------------------------------------------------------------- */

static rv_error check(const rv_talk *talk, const rv_upload_options *options)
{
    if (talk == NULL)
        return RV_EGONE;
    bool can = options != NULL && options->directory != NULL && options->done != NULL &&
               (!options->sha256 || RV_TLS_BUILT);
    return can ? 0 : RV_EINVAL;
}

int rv_upload(rv_talk *talk, const rv_upload_options *options, void *ctx)
{
    rv_error error = check(talk, options);
    if (error != 0)
        return error;
    struct rv_upload *upload =
        rv_upload_new(talk, options, options->parts_max == 0 ? PARTS_MAX : options->parts_max, ctx);
    if (upload == NULL)
        return RV_ENOMEM;
    rv_parts acceptor = {.open = open_part,
                         .data = take_data,
                         .close = close_part,
                         .done = form_is_whole,
                         .abort = form_is_aborted,
                         .parts_max = upload->parts_max,
                         .part_bytes_max = options->file_bytes_max};
    int result = rv_on_parts(talk, &acceptor, upload);
    if (result != RV_PENDING)
        rv_upload_free(upload);
    return result;
}

/* ---- step 5: bodies --------------------------------------------------------------------------------- */

/* What the head alone refuses; 0: nothing. */
static int refusal(rv_talk *talk, rv_bytes name, const rv_upload_options *options,
                   const char **reason)
{
    uint64_t most = options->file_bytes_max;
    *reason = "The request body is larger than the server accepts.";
    if (most != 0 && rv_content_length(talk) > 0 && (uint64_t)rv_content_length(talk) > most)
        return 413;
    *reason = "This is no name for a file.";
    if (name.ptr != NULL && !is_name(name))
        return 400;
    *reason = "A part of a file cannot be put in its place: Content-Range."; /* RFC 9110 14.5 */
    if (rv_header(talk, "Content-Range").ptr != NULL)
        return 400;
    return 0;
}

static int refuse(rv_talk *talk, int status, const char *reason)
{
    if (status == 413)
        RV_COUNT(talk->worker, body_too_large);
    return rv_refuse_bad_input(talk, status, "while beginning an upload", reason);
}

/* The one part: its name is known before it begins. */
static rv_error foresee(rv_talk *talk, struct rv_upload *upload, rv_bytes name)
{
    char random[NAME_MAX + 1];
    rv_error error = name.ptr != NULL ? 0 : random_name(random, sizeof random);
    if (error != 0)
        return error;
    upload->files[0].name = rv_arena_copy(&upload->arena, name.ptr != NULL ? name : rv_str(random));
    upload->told[0] = (rv_uploaded){.content_type = keep(upload, rv_header(talk, "Content-Type")),
                                    .file = upload->files[0].name};
    upload->count = 1;
    return upload->files[0].name == NULL ? RV_ENOMEM : 0;
}

/* RFC 9110 section 13.2.1: conditions are about the file that would be replaced. What they were true of must
   still be there when the new file gets its name (upload_disk.h). */
static bool conditions_hold(rv_talk *talk, struct rv_upload *upload)
{
    struct rv_conditions conditions = rv_conditions_of(talk);
    struct rv_validators validators = {.last_modified = -1, .now = talk->wall_s};
    char etag[RV_FILE_ETAG_BYTES];
    if (conditions.if_match.ptr == NULL && conditions.if_none_match.ptr == NULL &&
        conditions.if_unmodified_since.ptr == NULL)
        return true;
    int directory = open(upload->disk.directory_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct rv_upload_seen seen = rv_upload_look(directory, upload->files[0].name);
    if (directory >= 0)
        close(directory);
    upload->disk.expects = true;
    upload->disk.expected = seen;
    if (!seen.is_there)
        return conditions.if_match.ptr == NULL;
    rv_file_etag(etag, seen.bytes, seen.modified, "");
    validators.etag = rv_str(etag);
    validators.last_modified = seen.modified.tv_sec;
    return rv_conditions_evaluate(&conditions, &validators, false) == RV_CONDITION_PASS;
}

static int open_body(rv_talk *talk, const rv_part *part, void *ctx)
{
    (void)talk, (void)part, (void)ctx;
    return RV_OK;
}

int rv_upload_body(rv_talk *talk, rv_bytes name, const rv_upload_options *options, void *ctx)
{
    const char *reason;
    rv_error error = check(talk, options);
    if (error != 0)
        return error;
    int status = refusal(talk, name, options, &reason);
    if (status != 0)
        return refuse(talk, status, reason);
    struct rv_upload *upload = rv_upload_new(talk, options, 1, ctx);
    if (upload == NULL)
        return RV_ENOMEM;
    rv_parts acceptor = {.open = open_body,
                         .data = take_data,
                         .close = close_part,
                         .done = form_is_whole,
                         .abort = form_is_aborted,
                         .part_bytes_max = options->file_bytes_max};
    int result = foresee(talk, upload, name);
    if (result == 0 && name.ptr != NULL && !conditions_hold(talk, upload))
        result = refuse(talk, 412, "The file is not what the request expects.");
    else if (result == 0)
        result = rv_parts_take_body(talk, &acceptor, upload);
    if (result != RV_PENDING)
        rv_upload_free(upload);
    return result;
}
