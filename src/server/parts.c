/*
 * Forms that are taken part by part (parts.h), and bodies that are taken as one part. The program is told in this order, and whatever happens
 * every part that was opened is closed or aborted, and the form is done or aborted, exactly once:
 *
 *     rv_on_parts ─► open ─► data … ─► close ─► open … ─► done
 *                      └───────┴─────────┴────────┴────► abort
 *
 * The reader lives in the talk's arena; talk->parts leads to it until the form is done or aborted.
 */
#include "server/parts.h"

#include "http/multipart.h"
#include "server/body.h"
#include "server/tell.h"
#include "server/worker.h"

#define READING_A_FORM "while reading a form"
#define PARTS_MAX 1000
#define PART_HEAD_BYTES_MAX 4096

struct rv_parts_reader {
    rv_parts acceptor; /* with the defaults filled in */
    void *ctx;
    bool is_body; /* it is no form: its one part is all of it ... */
    bool is_told; /* ... and was opened */
    bool part_is_open;
    bool holds;
    uint64_t part_bytes; /* of the part at hand, so far */
    struct rv_parts_held held;
    struct rv_multipart multipart;
};

/* ---- the end of the form -------------------------------------------------------------------------- */

/* From here on the program is told nothing more through the reader. */
static void forget(struct rv_talk *talk)
{
    struct rv_parts_reader *reader = talk->parts;
    talk->parts = NULL;
    if (reader->holds && reader->held.last)
        talk->body_phase = RV_BODY_NONE; /* nothing is left on the wire */
    rv_buffer_free(&reader->held.octets);
}

void rv_parts_abandon(struct rv_talk *talk, rv_error reason)
{
    struct rv_parts_reader *reader = talk->parts;
    if (reader == NULL)
        return;
    forget(talk);
    if (reader->acceptor.abort != NULL)
        reader->acceptor.abort(reader->part_is_open ? &reader->multipart.part : NULL, reason,
                               reader->ctx);
}

/* The status that a refusal by the program is answered with; 0: it is a failure of the program's own. */
static int status_of(rv_error error)
{
    switch (error) {
    case RV_EINVAL:
    case RV_EPROTO:
        return 400;
    case RV_EPERM:
        return 403;
    case RV_ELIMIT:
        return 413;
    default:
        return 0;
    }
}

static int refuse(struct rv_talk *talk, int status, rv_error error, const char *why)
{
    bool is_body = talk->parts != NULL && talk->parts->is_body;
    rv_parts_abandon(talk, error);
    if (status == 413)
        RV_COUNT(talk->worker, body_too_large);
    rv_tell_bad_input(talk, talk->head_sent ? 0 : status,
                      is_body ? "while reading the request body" : READING_A_FORM, why);
    rv_talk_refuse(talk, status, why);
    return RV_PENDING;
}

/* A function of the program has returned an error. */
static int refused(struct rv_talk *talk, rv_error error)
{
    int status = status_of(error);
    if (status == 0) {
        rv_parts_abandon(talk, error);
        return error;
    }
    return refuse(talk, status, error, "A part of the form is refused.");
}

static int malformed(struct rv_talk *talk)
{
    const struct rv_multipart *multipart = &talk->parts->multipart;
    if (multipart->status == 413)
        return refuse(talk, 413, RV_ELIMIT, multipart->reason);
    RV_COUNT(talk->worker, requests_malformed);
    return refuse(talk, multipart->status, RV_EPROTO, multipart->reason);
}

/* ---- what the program is told ----------------------------------------------------------------------- */

static int open_part(struct rv_talk *talk, struct rv_parts_reader *reader)
{
    reader->part_bytes = 0;
    int result = reader->acceptor.open(talk, &reader->multipart.part, reader->ctx);
    reader->part_is_open = result >= 0;
    return result;
}

static int give_data(struct rv_talk *talk, struct rv_parts_reader *reader, rv_bytes data)
{
    uint64_t most = reader->acceptor.part_bytes_max;
    if (data.len > most - reader->part_bytes)
        return refuse(talk, 413, RV_ELIMIT,
                      reader->is_body ? "The request body is larger than the server accepts."
                                      : "A part of the form is larger than the server accepts.");
    reader->part_bytes += data.len;
    return reader->acceptor.data(talk, data, reader->ctx);
}

static int close_part(struct rv_talk *talk, struct rv_parts_reader *reader)
{
    reader->part_is_open = false;
    return reader->acceptor.close == NULL ? RV_OK : reader->acceptor.close(talk, reader->ctx);
}

static int tell(struct rv_talk *talk, enum rv_multipart_event event, rv_bytes data)
{
    struct rv_parts_reader *reader = talk->parts;
    switch (event) {
    case RV_MULTIPART_PART:
        return open_part(talk, reader);
    case RV_MULTIPART_DATA:
        return give_data(talk, reader, data);
    case RV_MULTIPART_PART_END:
        return close_part(talk, reader);
    default:
        return malformed(talk);
    }
}

/* As rv_multipart_next, of a body that is one part. */
static enum rv_multipart_event next_of_body(struct rv_parts_reader *reader, rv_bytes *octets,
                                            bool last, rv_bytes *data)
{
    if (!reader->is_told) {
        reader->is_told = true;
        return RV_MULTIPART_PART;
    }
    if (octets->len > 0) {
        *data = *octets;
        *octets = rv_slice(octets->ptr + octets->len, 0);
        return RV_MULTIPART_DATA;
    }
    return last && reader->part_is_open ? RV_MULTIPART_PART_END : RV_MULTIPART_INCOMPLETE;
}

/* All is told that can be told now. */
static int end_of_piece(struct rv_talk *talk, bool last)
{
    struct rv_parts_reader *reader = talk->parts;
    if (!last)
        return RV_OK;
    if (!reader->is_body && !rv_multipart_finish(&reader->multipart))
        return malformed(talk);
    forget(talk);
    return reader->acceptor.done(talk, reader->ctx);
}

/* Paused: keeps what is left of the piece. */
static int hold(struct rv_talk *talk, rv_bytes rest, bool last)
{
    struct rv_parts_reader *reader = talk->parts;
    if (rest.len == 0 && !last)
        return RV_FULL;
    if (rv_buffer_append(&reader->held.octets, rest) != 0) {
        rv_parts_abandon(talk, RV_ENOMEM);
        return RV_ENOMEM;
    }
    reader->held.last = last;
    reader->holds = true;
    return RV_FULL;
}

static int take_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)ctx;
    while (talk->parts != NULL) {
        struct rv_parts_reader *reader = talk->parts;
        rv_bytes data = {NULL, 0};
        enum rv_multipart_event event = reader->is_body
                                            ? next_of_body(reader, &piece, last, &data)
                                            : rv_multipart_next(&reader->multipart, &piece, &data);
        if (event == RV_MULTIPART_INCOMPLETE)
            return end_of_piece(talk, last);
        int result = tell(talk, event, data);
        if (talk->parts == NULL)
            return result;
        if (result < 0)
            return refused(talk, result);
        if (talk->response == RV_RESPONSE_ENDED) {
            rv_parts_abandon(talk, RV_ESTATE);
            return RV_OK;
        }
        if (result == RV_FULL)
            return hold(talk, piece, last);
    }
    return RV_PENDING; /* answered, or refused, already */
}

bool rv_parts_hold(const struct rv_talk *talk)
{
    return talk->parts != NULL && talk->parts->holds;
}

struct rv_parts_held rv_parts_take_held(struct rv_talk *talk)
{
    struct rv_parts_reader *reader = talk->parts;
    struct rv_parts_held held = reader->held;
    reader->held = (struct rv_parts_held){0};
    reader->holds = false;
    return held;
}

/* ---- step 5 ----------------------------------------------------------------------------------------- */

/* With the memory of a multipart reader, or as the reader of a body that is one part. */
static struct rv_parts_reader *reader_new(struct rv_talk *talk, const rv_parts *acceptor, void *ctx,
                                          bool is_body)
{
    uint32_t head_bytes_max = acceptor->part_head_bytes_max;
    if (head_bytes_max == 0)
        head_bytes_max = PART_HEAD_BYTES_MAX;
    size_t memory = is_body ? 0 : RV_MULTIPART_MEMORY(head_bytes_max);
    struct rv_parts_reader *reader = rv_arena_alloc(&talk->arena, sizeof *reader + memory);
    if (reader == NULL)
        return NULL;
    memset(reader, 0, sizeof *reader);
    reader->is_body = is_body;
    reader->ctx = ctx;
    reader->acceptor = *acceptor;
    reader->acceptor.part_head_bytes_max = head_bytes_max;
    if (acceptor->parts_max == 0)
        reader->acceptor.parts_max = PARTS_MAX;
    if (acceptor->part_bytes_max == 0)
        reader->acceptor.part_bytes_max = RV_NO_LIMIT;
    return reader;
}

static rv_error may_begin(const struct rv_talk *talk, const rv_parts *acceptor)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || rv_body_is_whole(talk) || talk->on_body != NULL ||
        talk->response == RV_RESPONSE_ENDED)
        return RV_ESTATE;
    bool can = acceptor != NULL && acceptor->open != NULL && acceptor->data != NULL &&
               acceptor->done != NULL;
    return can ? 0 : RV_EINVAL;
}

static int refuse_coding(struct rv_talk *talk)
{
    rv_error error = rv_set_header(talk, "Accept-Encoding", "identity"); /* RFC 9110 15.5.16 */
    return error != 0 ? error : rv_refuse_bad_input(talk, 415, READING_A_FORM, RV_BODY_CODED);
}

static int begin(struct rv_talk *talk, struct rv_parts_reader *reader)
{
    rv_error error = rv_on_body(talk, take_piece, NULL);
    if (error != 0)
        return error;
    talk->parts = reader;
    return RV_PENDING;
}

int rv_on_parts(rv_talk *talk, const rv_parts *acceptor, void *ctx)
{
    rv_error error = may_begin(talk, acceptor);
    if (error != 0)
        return error;
    if (rv_body_is_coded(talk))
        return refuse_coding(talk);
    struct rv_parts_reader *reader = reader_new(talk, acceptor, ctx, false);
    if (reader == NULL)
        return RV_ENOMEM;
    struct rv_multipart_limits limits = {.parts_max = reader->acceptor.parts_max,
                                         .part_head_bytes_max =
                                             reader->acceptor.part_head_bytes_max};
    if (!rv_multipart_begin(&reader->multipart, rv_header(talk, "Content-Type"), &limits,
                            (char *)(reader + 1))) {
        if (reader->multipart.status == 400)
            RV_COUNT(talk->worker, requests_malformed);
        return rv_refuse_bad_input(talk, reader->multipart.status, READING_A_FORM,
                                   reader->multipart.reason);
    }
    return begin(talk, reader);
}

int rv_parts_take_body(struct rv_talk *talk, const rv_parts *acceptor, void *ctx)
{
    rv_error error = may_begin(talk, acceptor);
    if (error != 0)
        return error;
    if (rv_body_is_coded(talk))
        return refuse_coding(talk);
    struct rv_parts_reader *reader = reader_new(talk, acceptor, ctx, true);
    return reader == NULL ? RV_ENOMEM : begin(talk, reader);
}

/* ---- one part ------------------------------------------------------------------------------------------ */

rv_bytes rv_part_name(const rv_part *part)
{
    return part->name;
}

rv_bytes rv_part_filename(const rv_part *part)
{
    return part->filename;
}

rv_bytes rv_part_content_type(const rv_part *part)
{
    return part->content_type;
}

rv_bytes rv_part_header(const rv_part *part, const char *name)
{
    return rv_part_field(part, rv_str(name));
}

bool rv_part_header_at(const rv_part *part, size_t index, rv_bytes *name, rv_bytes *value)
{
    if (index >= part->field_count)
        return false;
    *name = part->fields[index].name;
    *value = part->fields[index].value;
    return true;
}
