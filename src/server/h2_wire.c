/*
 * Responses in HTTP/2 (h2_conn.h). A head goes to the session at once; content waits with its stream until
 * the session asks for it, which it does as far as the client's windows and the order of urgency allow.
 */
#include "http/h1_write.h"
#include "http/status.h"
#include "server/h2_conn.h"
#include "server/wire.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Content up to this size is copied to the talk's own memory. */
#define DIRECT_BYTES_MAX (16 * 1024)

/* A DATA frame that small, with more to send, is the doing of the client's windows. */
#define SMALL_DATA_BYTES 256

/* The library's fields: status, server, date, content type and length. */
#define OWN_FIELDS 5
#define FIELDS_ON_STACK 32
#define DATE_BYTES 29

/* ---- the head ------------------------------------------------------------------------------------------ */

static size_t count_fields(const struct rv_response_field *field)
{
    size_t count = 0;
    for (; field != NULL; field = field->next)
        count++;
    return count;
}

/* RFC 9113 section 8.2.2: they mean nothing here, and make the response malformed. */
static bool is_of_connection(rv_bytes name)
{
    static const char *const names[] = {"Keep-Alive", "Proxy-Connection", "Upgrade", "Connection",
                                        "Transfer-Encoding"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rv_bytes_equal_nocase(name, rv_str(names[i])))
            return true;
    return false;
}

static struct rv_h2_field *put_all(struct rv_h2_field *out, const struct rv_response_field *field)
{
    for (; field != NULL; field = field->next)
        if (!is_of_connection(field->name))
            *out++ = (struct rv_h2_field){field->name, field->value};
    return out;
}

static rv_bytes date_of(const struct rv_h1_preamble *preamble)
{
    return rv_slice(preamble->octets + preamble->date_at + sizeof "Date: " - 1, DATE_BYTES);
}

static bool has_no_content(const struct rv_talk *talk)
{
    return talk->head_only || !rv_status_has_body(talk->status);
}

static rv_error respond(struct rv_talk *talk, rv_bytes content_type, uint64_t length, bool content)
{
    char status[20], digits[20];
    rv_bytes server = rv_str(talk->worker->server->options.server_name);
    struct rv_h2_field room[FIELDS_ON_STACK], *fields = room;
    size_t count = OWN_FIELDS + count_fields(talk->fields);
    if (count > FIELDS_ON_STACK) /* the arena may be a pool thread's at this moment */
        fields = malloc(count * sizeof *fields);
    if (fields == NULL)
        return RV_ENOMEM;
    struct rv_h2_field *out = fields;
    *out++ = (struct rv_h2_field){RV_LIT(":status"),
                                  rv_slice(status, rv_put_decimal(status, (uint64_t)talk->status))};
    if (!talk->server_set && server.len > 0)
        *out++ = (struct rv_h2_field){RV_LIT("server"), server};
    if (!talk->date_set)
        *out++ = (struct rv_h2_field){RV_LIT("date"), date_of(rv_wire_preamble(talk->worker))};
    if (content_type.len > 0)
        *out++ = (struct rv_h2_field){RV_LIT("content-type"), content_type};
    out = put_all(out, talk->fields);
    if (length != RV_LENGTH_UNKNOWN && rv_status_has_body(talk->status))
        *out++ = (struct rv_h2_field){RV_LIT("content-length"),
                                      rv_slice(digits, rv_put_decimal(digits, length))};
    struct rv_h2_stream *stream = talk->h2;
    stream->unasked = talk->continue_due;
    talk->continue_due = false;
    talk->head_sent = true;
    rv_wire_count(talk->worker, talk->status);
    stream->responded = true;
    stream->all_taken = !content;
    rv_error error = RV_EGONE;
    if (!stream->reset)
        error =
            rv_h2_respond(stream->h2->session, stream->id, fields, (size_t)(out - fields), content);
    if (fields != room)
        free(fields);
    return error;
}

/* ---- content --------------------------------------------------------------------------------------------- */

uint64_t rv_h2_wire_queued(const struct rv_h2_stream *stream)
{
    return stream->direct.len + stream->output.octets;
}

/* There is more to send than there was, or the end is known. */
static void go(struct rv_h2_stream *stream)
{
    if (stream->waiting) {
        stream->waiting = false;
        rv_h2_resume(stream->h2->session, stream->id);
    }
    rv_h2_stream_work(stream);
}

static rv_error append_copied(struct rv_h2_stream *stream, rv_bytes octets)
{
    struct rv_loop *loop = &rv_h2_worker(stream->h2)->loop;
    char *room = rv_output_reserve(loop, &stream->output, octets.len);
    if (room == NULL)
        return RV_ENOMEM;
    memcpy(room, octets.ptr, octets.len);
    rv_output_commit(&stream->output, octets.len);
    return 0;
}

/* Small enough to be copied into the talk's memory, wherever it comes from. */
static rv_error take_small(struct rv_talk *talk, const struct rv_content *content)
{
    size_t length = (size_t)content->length, got = 0;
    char *copy = rv_arena_alloc(&talk->arena, length);
    if (copy == NULL)
        return RV_ENOMEM;
    if (content->kind != RV_CONTENT_FILE) {
        memcpy(copy, content->octets.ptr, length);
        got = length;
    }
    while (got < length) {
        ssize_t count =
            pread(content->file, copy + got, length - got, (off_t)(content->offset + got));
        if (count <= 0)
            return RV_EIO;
        got += (size_t)count;
    }
    talk->h2->direct = rv_slice(copy, length);
    return 0;
}

/* Each run of a file has a descriptor of its own, so that what is queued never depends on the rest. */
static rv_error append_run(struct rv_h2_stream *stream, const struct rv_content *content,
                           uint64_t offset, uint64_t length)
{
    struct rv_loop *loop = &rv_h2_worker(stream->h2)->loop;
    if (content->kind != RV_CONTENT_FILE) {
        rv_bytes run = rv_slice(content->octets.ptr + offset, (size_t)length);
        return content->release != NULL
                   ? append_copied(stream, run)
                   : rv_output_append_borrowed(loop, &stream->output, run, NULL, NULL);
    }
    int file = fcntl(content->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        return RV_EFILES;
    rv_error error = rv_output_append_file(loop, &stream->output, file, offset, length);
    if (error != 0)
        close(file);
    return error;
}

static rv_error append_parts(struct rv_h2_stream *stream, const struct rv_content *content)
{
    rv_error error = 0;
    for (size_t i = 0; i < content->part_count && error == 0; i++) {
        const struct rv_content_part *part = &content->parts[i];
        error = append_copied(stream, part->head);
        if (error == 0 && part->length > 0)
            error = append_run(stream, content, part->offset, part->length);
    }
    return error;
}

static rv_error append_as_it_lies(struct rv_loop *loop, struct rv_output *output,
                                  const struct rv_content *content)
{
    if (content->kind != RV_CONTENT_FILE)
        return rv_output_append_borrowed(loop, output, content->octets, content->release,
                                         content->ctx);
    if (content->release == NULL)
        return rv_output_append_file(loop, output, content->file, content->offset, content->length);
    return rv_output_append_lent_file(loop, output, content->file, content->offset, content->length,
                                      content->release, content->ctx);
}

/* Takes the content over; `*dropped` tells whether its release is seen to. */
static rv_error take_content(struct rv_talk *talk, const struct rv_content *content, bool *dropped)
{
    struct rv_h2_stream *stream = talk->h2;
    struct rv_loop *loop = &talk->worker->loop;
    *dropped = false;
    if (content->parts != NULL)
        return append_parts(stream, content);
    if (content->length <= DIRECT_BYTES_MAX)
        return take_small(talk, content);
    if (content->kind == RV_CONTENT_COPIED)
        return append_copied(stream, content->octets);
    rv_error error = append_as_it_lies(loop, &stream->output, content);
    *dropped = error == 0;
    return error;
}

static rv_error answer(struct rv_talk *talk, const char *content_type,
                       const struct rv_content *content)
{
    struct rv_h2_stream *stream = talk->h2;
    rv_bytes type =
        talk->type_set || content_type == NULL ? rv_slice(NULL, 0) : rv_str(content_type);
    if (!rv_status_has_body(talk->status))
        type.len = 0;
    bool nothing = has_no_content(talk) || content->length == 0, dropped = false;
    uint64_t length = talk->length_set && talk->head_only ? talk->length : content->length;
    rv_error error = nothing ? 0 : take_content(talk, content, &dropped);
    if (error == 0)
        error = respond(talk, type, length, !nothing);
    if (!dropped)
        rv_content_drop(content);
    if (error != 0) { /* what was taken of it goes before no other answer */
        stream->direct = rv_slice(NULL, 0);
        rv_output_clear(&talk->worker->loop, &stream->output);
        return error;
    }
    stream->output_ended = true;
    talk->wire_ended = true;
    rv_h2_stream_work(stream);
    return 0;
}

static rv_error begin(struct rv_talk *talk, uint64_t length)
{
    if (talk->head_sent)
        return 0;
    return respond(talk, rv_slice(NULL, 0), length, !has_no_content(talk) && length != 0);
}

static rv_error write_piece(struct rv_talk *talk, rv_bytes piece)
{
    if (has_no_content(talk) || piece.len == 0)
        return 0;
    rv_error error = append_copied(talk->h2, piece);
    if (error == 0)
        go(talk->h2);
    return error;
}

static rv_error borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                         void *ctx)
{
    rv_error error;
    if (has_no_content(talk) || piece.len <= DIRECT_BYTES_MAX) {
        error = write_piece(talk, piece);
    } else {
        error =
            rv_output_append_borrowed(&talk->worker->loop, &talk->h2->output, piece, release, ctx);
        if (error == 0) {
            go(talk->h2);
            return 0;
        }
    }
    if (release != NULL)
        release(ctx);
    return error;
}

static rv_error end(struct rv_talk *talk)
{
    talk->wire_ended = true;
    talk->h2->output_ended = true;
    go(talk->h2);
    return 0;
}

static void go_on(struct rv_talk *talk)
{
    struct rv_h2_stream *stream = talk->h2;
    if (!talk->continue_due || talk->head_sent)
        return;
    talk->continue_due = false;
    if (!stream->reset && rv_h2_respond_interim(stream->h2->session, stream->id, 100) == 0)
        rv_wire_count(talk->worker, 100);
}

/* ---- what the session asks for --------------------------------------------------------------------------- */

static bool put_trailers(struct rv_h2_stream *stream)
{
    struct rv_talk *talk = stream->talk;
    size_t count = count_fields(talk->trailer_fields);
    struct rv_h2_field *fields = rv_arena_alloc(&talk->arena, count * sizeof *fields);
    if (fields == NULL)
        return false;
    count = (size_t)(put_all(fields, talk->trailer_fields) - fields);
    return count > 0 && rv_h2_trailers(stream->h2->session, stream->id, fields, count) == 0;
}

enum rv_h2_pull rv_h2_wire_pull(void *owner, void *record, size_t room, size_t *octets)
{
    struct rv_h2_conn *h2 = owner;
    struct rv_h2_stream *stream = record;
    uint64_t available = rv_h2_wire_queued(stream);
    size_t count = available < room ? (size_t)available : room;
    *octets = count;
    if (count == 0 && !stream->output_ended) {
        stream->waiting = true;
        return RV_H2_PULL_WAIT;
    }
    if (count < available && count < SMALL_DATA_BYTES)
        rv_h2_calm_spend(h2, RV_H2_CALM_small_data);
    if (count < available || !stream->output_ended)
        return RV_H2_PULL_MORE;
    if (stream->talk->trailer_fields != NULL && put_trailers(stream))
        return RV_H2_PULL_TRAILERS;
    return RV_H2_PULL_LAST;
}

/* Copies from the front of the segments. False: a file has become shorter than it was. */
static bool copy_output(struct rv_h2_stream *stream, char *out, size_t count)
{
    struct rv_loop *loop = &rv_h2_worker(stream->h2)->loop;
    while (count > 0) {
        const struct rv_segment *segment = stream->output.first;
        size_t run = segment->length < count ? (size_t)segment->length : count;
        if (segment->kind == RV_SEGMENT_FILE) {
            ssize_t got = pread(segment->file, out, run, (off_t)segment->start);
            if (got <= 0)
                return false;
            run = (size_t)got;
        } else {
            memcpy(out, segment->octets + segment->start, run);
        }
        rv_output_consume(loop, &stream->output, run);
        out += run;
        count -= run;
    }
    return true;
}

bool rv_h2_wire_send(void *owner, void *record, rv_bytes frame_head, size_t octets)
{
    struct rv_h2_conn *h2 = owner;
    struct rv_h2_stream *stream = record;
    char *room = rv_stream_reserve(&h2->conn->stream, frame_head.len + octets);
    if (room == NULL)
        return false;
    char *out = rv_put(room, frame_head);
    size_t direct = stream->direct.len < octets ? stream->direct.len : octets;
    if (direct > 0) {
        out = rv_put(out, rv_slice(stream->direct.ptr, direct));
        stream->direct = rv_slice(stream->direct.ptr + direct, stream->direct.len - direct);
    }
    if (!copy_output(stream, out, octets - direct)) {
        rv_stream_commit(&h2->conn->stream, 0);
        return false;
    }
    rv_stream_commit(&h2->conn->stream, frame_head.len + octets);
    stream->taken += octets;
    rv_h2_calm_data_sent(h2);
    uint64_t left = rv_h2_wire_queued(stream);
    stream->all_taken = stream->output_ended && left == 0;
    stream->drain_due = stream->drain_wanted && left < rv_conn_limits(h2->conn)->output_low_bytes;
    if (stream->all_taken || stream->drain_due)
        rv_h2_stream_work(stream);
    return true;
}

/* ---- the connection ---------------------------------------------------------------------------------------- */

static uint64_t queued(const struct rv_talk *talk)
{
    return rv_h2_wire_queued(talk->h2);
}

static void want_drain(struct rv_talk *talk)
{
    struct rv_h2_stream *stream = talk->h2;
    stream->drain_wanted = true;
    if (rv_h2_wire_queued(stream) < talk->worker->server->options.limits.output_low_bytes) {
        stream->drain_due = true;
        rv_h2_stream_work(stream);
    }
}

/* Other streams do not mind. */
static void abandon_body(struct rv_talk *talk)
{
    (void)talk;
}

static void advance(struct rv_talk *talk)
{
    rv_h2_stream_work(talk->h2);
    rv_h2_conn_settle(talk->h2->h2);
}

const struct rv_wire rv_h2_wire = {
    .answer = answer,
    .begin = begin,
    .piece = write_piece,
    .borrowed = borrowed,
    .end = end,
    .go_on = go_on,
    .queued = queued,
    .want_drain = want_drain,
    .abandon_body = abandon_body,
    .advance = advance,
};
