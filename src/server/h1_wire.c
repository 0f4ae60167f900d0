/*
 * Responses in HTTP/1 (h1_wire.h). A small answer - head and content - is put into the worker's output
 * page in one go; that is the path nearly every response takes.
 */
#include "server/h1_wire.h"

#include "http/status.h"
#include "server/h1_body.h"
#include "server/h1_conn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Content up to this size is copied behind its head; a larger one is sent from where it lies. */
#define COPY_BYTES_MAX (16 * 1024)

/* ---- the head --------------------------------------------------------------------------------------- */

/* RFC 9112 section 9.3: does the connection end with this response? `whole`: nothing will be read of the
   request's body once it is answered. */
static bool must_close(const struct rv_talk *talk, bool whole, bool delimited)
{
    const struct rv_conn *conn = talk->conn;
    return conn->last || !talk->head.keep_alive || talk->close_asked || !delimited ||
           talk->worker->stopping || conn->stream.ended || rv_h1_body_forces_close(talk, whole);
}

static char *put_start(char *out, const struct rv_talk *talk)
{
    const struct rv_h1_preamble *preamble = rv_wire_preamble(talk->worker);
    if (!talk->date_set && !talk->server_set && talk->reason.ptr == NULL)
        return rv_h1_put_start(out, preamble, talk->status);
    out = talk->reason.ptr == NULL ? rv_h1_put_status_line(out, talk->status)
                                   : rv_h1_put_status_line_with(out, talk->status, talk->reason);
    const char *octets = preamble->octets;
    if (!talk->server_set)
        out = rv_put(
            out, rv_slice(octets + preamble->fields_at, preamble->date_at - preamble->fields_at));
    if (!talk->date_set)
        out =
            rv_put(out, rv_slice(octets + preamble->date_at, preamble->length - preamble->date_at));
    return out;
}

static char *put_framing(char *out, struct rv_talk *talk, uint64_t length)
{
    if (!rv_status_has_body(talk->status))
        return out; /* RFC 9110 section 8.6: no Content-Length in 204 and 1xx; none needed in 304 */
    if (length != RV_LENGTH_UNKNOWN)
        return rv_h1_put_content_length(out, length);
    if (talk->head.minor == 0 || talk->head_only)
        return out; /* RFC 9112 section 6.1: no Transfer-Encoding to a 1.0 client */
    talk->wire_chunked = true;
    return RV_PUT(out, "Transfer-Encoding: chunked\r\n");
}

static char *put_connection(char *out, const struct rv_talk *talk)
{
    if (talk->wire_closes)
        return RV_PUT(out, "Connection: close\r\n");
    if (talk->head.minor > 0)
        return out;
    out = RV_PUT(out, "Connection: keep-alive\r\n");
    uint64_t timeout_ms = talk->worker->server->options.limits.idle_timeout_ms;
    if (timeout_ms == RV_NO_LIMIT)
        return out;
    out = RV_PUT(out, "Keep-Alive: timeout=");
    out += rv_put_decimal(out, timeout_ms / 1000);
    return RV_PUT(out, "\r\n");
}

/* What a head needs beyond RV_H1_HEAD_BYTES. */
static size_t variable_bytes(const struct rv_talk *talk, size_t content_type_length)
{
    size_t size = content_type_length + talk->reason.len;
    for (const struct rv_response_field *field = talk->fields; field != NULL; field = field->next)
        size += rv_h1_field_bytes(field->name, field->value);
    return size;
}

static char *put_head(char *out, struct rv_talk *talk, rv_bytes content_type, uint64_t length)
{
    out = put_start(out, talk);
    if (content_type.len > 0)
        out = rv_h1_put_field(out, RV_LIT("Content-Type"), content_type);
    for (const struct rv_response_field *field = talk->fields; field != NULL; field = field->next)
        out = rv_h1_put_field(out, field->name, field->value);
    out = put_framing(out, talk, length);
    out = put_connection(out, talk);
    return RV_PUT(out, "\r\n");
}

/* Writes the head, with `behind` octets of room asked for in the same piece of memory; `*end` is where
   they go, or NULL when the head was too large for that. */
static rv_error write_head(struct rv_talk *talk, rv_bytes content_type, uint64_t length, bool whole,
                           rv_bytes behind)
{
    struct rv_stream *stream = &talk->conn->stream;
    size_t size = RV_H1_HEAD_BYTES + variable_bytes(talk, content_type.len);
    bool delimited = length != RV_LENGTH_UNKNOWN || talk->head.minor > 0 || talk->head_only ||
                     !rv_status_has_body(talk->status);
    talk->wire_closes = must_close(talk, whole, delimited);
    talk->continue_due = false;
    talk->head_sent = true;
    rv_wire_count(talk->worker, talk->status);
    if (size + behind.len <= RV_PAGE_BYTES / 2) {
        char *room = rv_stream_reserve(stream, size + behind.len);
        if (room == NULL)
            return RV_EGONE;
        char *end = put_head(room, talk, content_type, length);
        if (behind.len > 0)
            end = rv_put(end, behind);
        rv_stream_commit(stream, (size_t)(end - room));
        return 0;
    }
    char *heap = malloc(size);
    if (heap == NULL)
        return RV_ENOMEM;
    char *end = put_head(heap, talk, content_type, length);
    rv_error error = rv_stream_write(stream, rv_slice(heap, (size_t)(end - heap)));
    free(heap);
    return error == 0 && behind.len > 0 ? rv_stream_write(stream, behind) : error;
}

/* ---- whole answers ---------------------------------------------------------------------------------- */

/* Reads a small file straight behind the head: one system call less than sendfile, and one segment. */
static rv_error answer_small_file(struct rv_talk *talk, rv_bytes content_type,
                                  const struct rv_content *content)
{
    char octets[COPY_BYTES_MAX];
    size_t got = 0;
    while (got < content->length) {
        ssize_t count = pread(content->file, octets + got, (size_t)content->length - got,
                              (off_t)(content->offset + got));
        if (count <= 0)
            return RV_EIO;
        got += (size_t)count;
    }
    return write_head(talk, content_type, content->length, true, rv_slice(octets, got));
}

/* Each run of a file has a descriptor of its own, so that what is queued never depends on the rest. */
static rv_error send_run(struct rv_stream *stream, const struct rv_content *content,
                         uint64_t offset, uint64_t length)
{
    if (content->kind != RV_CONTENT_FILE) {
        rv_bytes run = rv_slice(content->octets.ptr + offset, (size_t)length);
        return content->release != NULL ? rv_stream_write(stream, run)
                                        : rv_stream_write_borrowed(stream, run, NULL, NULL);
    }
    int file = fcntl(content->file, F_DUPFD_CLOEXEC, 0);
    return file < 0 ? RV_EFILES : rv_stream_write_file(stream, file, offset, length);
}

static rv_error send_parts(struct rv_stream *stream, const struct rv_content *content)
{
    rv_error error = 0;
    for (size_t i = 0; i < content->part_count && error == 0; i++) {
        const struct rv_content_part *part = &content->parts[i];
        error = rv_stream_write(stream, part->head);
        if (error == 0 && part->length > 0)
            error = send_run(stream, content, part->offset, part->length);
    }
    return error;
}

static rv_error send_content(struct rv_talk *talk, rv_bytes content_type,
                             const struct rv_content *content, bool *dropped)
{
    struct rv_stream *stream = &talk->conn->stream;
    *dropped = false;
    bool nothing = talk->head_only || !rv_status_has_body(talk->status) || content->length == 0;
    if (nothing)
        return write_head(talk, content_type, content->length, true, rv_slice(NULL, 0));
    if (content->parts != NULL) {
        rv_error error = write_head(talk, content_type, content->length, true, rv_slice(NULL, 0));
        return error == 0 ? send_parts(stream, content) : error;
    }
    if (content->length <= COPY_BYTES_MAX && content->kind != RV_CONTENT_FILE)
        return write_head(talk, content_type, content->length, true, content->octets);
    if (content->length <= COPY_BYTES_MAX)
        return answer_small_file(talk, content_type, content);
    rv_error error = write_head(talk, content_type, content->length, true, rv_slice(NULL, 0));
    if (error != 0)
        return error;
    if (content->kind == RV_CONTENT_COPIED)
        return rv_stream_write(stream, content->octets);
    *dropped = true; /* the stream drops it from here on */
    if (content->kind == RV_CONTENT_FILE && content->release != NULL)
        return rv_stream_write_lent_file(stream, content->file, content->offset, content->length,
                                         content->release, content->ctx);
    if (content->kind == RV_CONTENT_FILE)
        return rv_stream_write_file(stream, content->file, content->offset, content->length);
    return rv_stream_write_borrowed(stream, content->octets, content->release, content->ctx);
}

static rv_error answer(struct rv_talk *talk, const char *content_type,
                       const struct rv_content *content)
{
    rv_bytes type =
        talk->type_set || content_type == NULL ? rv_slice(NULL, 0) : rv_str(content_type);
    if (!rv_status_has_body(talk->status))
        type.len = 0;
    bool dropped;
    struct rv_content described = *content;
    if (talk->length_set && talk->head_only)
        described.length = talk->length;
    rv_error error = send_content(talk, type, &described, &dropped);
    if (!dropped)
        rv_content_drop(content);
    if (error == 0)
        talk->wire_ended = true;
    return error;
}

/* ---- streamed responses ----------------------------------------------------------------------------- */

static rv_error begin(struct rv_talk *talk, uint64_t length)
{
    if (talk->head_sent)
        return 0;
    return write_head(talk, rv_slice(NULL, 0), length, false, rv_slice(NULL, 0));
}

static bool has_no_content(const struct rv_talk *talk)
{
    return talk->head_only || !rv_status_has_body(talk->status);
}

static rv_error write_piece(struct rv_talk *talk, rv_bytes piece)
{
    struct rv_stream *stream = &talk->conn->stream;
    if (has_no_content(talk) || piece.len == 0)
        return 0;
    if (!talk->wire_chunked)
        return rv_stream_write(stream, piece);
    char line[RV_CHUNK_LINE_BYTES];
    char *end = rv_h1_put_chunk_line(line, piece.len);
    rv_error error = rv_stream_write(stream, rv_slice(line, (size_t)(end - line)));
    if (error == 0)
        error = rv_stream_write(stream, piece);
    return error == 0 ? rv_stream_write(stream, RV_LIT("\r\n")) : error;
}

static rv_error borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                         void *ctx)
{
    struct rv_stream *stream = &talk->conn->stream;
    if (has_no_content(talk) || piece.len <= COPY_BYTES_MAX) {
        rv_error error = write_piece(talk, piece);
        if (release != NULL)
            release(ctx);
        return error;
    }
    if (!talk->wire_chunked)
        return rv_stream_write_borrowed(stream, piece, release, ctx);
    char line[RV_CHUNK_LINE_BYTES];
    char *end = rv_h1_put_chunk_line(line, piece.len);
    rv_error error = rv_stream_write(stream, rv_slice(line, (size_t)(end - line)));
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return error;
    }
    error = rv_stream_write_borrowed(stream, piece, release, ctx);
    return error == 0 ? rv_stream_write(stream, RV_LIT("\r\n")) : error;
}

static rv_error write_last_chunk(struct rv_talk *talk)
{
    struct rv_stream *stream = &talk->conn->stream;
    rv_error error = rv_stream_write(stream, RV_LIT("0\r\n"));
    for (const struct rv_response_field *field = talk->trailer_fields; field != NULL && error == 0;
         field = field->next) {
        error = rv_stream_write(stream, field->name);
        if (error == 0)
            error = rv_stream_write(stream, RV_LIT(": "));
        if (error == 0)
            error = rv_stream_write(stream, field->value);
        if (error == 0)
            error = rv_stream_write(stream, RV_LIT("\r\n"));
    }
    return error == 0 ? rv_stream_write(stream, RV_LIT("\r\n")) : error;
}

static rv_error end(struct rv_talk *talk)
{
    rv_error error = talk->wire_chunked ? write_last_chunk(talk) : 0;
    if (error == 0)
        talk->wire_ended = true;
    return error;
}

/* ---- without a response ------------------------------------------------------------------------------ */

static void go_on(struct rv_talk *talk)
{
    if (!talk->continue_due || talk->head_sent)
        return;
    talk->continue_due = false;
    if (rv_stream_write(&talk->conn->stream, RV_LIT("HTTP/1.1 100 Continue\r\n\r\n")) == 0)
        rv_wire_count(talk->worker, 100);
}

void rv_h1_wire_refuse(struct rv_conn *conn, int status, const char *reason)
{
    struct rv_worker *worker = rv_conn_worker(conn);
    rv_bytes text = rv_str(reason);
    rv_bytes phrase = rv_status_reason(status);
    const char *policy = conn->stream.secure ? worker->server->https.policy : NULL;
    const struct rv_default_fields *defaults = &worker->server->defaults;
    size_t size = RV_H1_HEAD_BYTES + RV_HTTPS_POLICY_MAX + text.len + phrase.len + 48;
    for (size_t i = 0; i < defaults->count; i++)
        size += rv_h1_field_bytes(defaults->fields[i].name, defaults->fields[i].value);
    char *room = rv_stream_reserve(&conn->stream, size);
    if (room == NULL)
        return;
    char *out = rv_h1_put_start(room, rv_wire_preamble(worker), status);
    if (policy != NULL)
        out = rv_h1_put_field(out, RV_LIT("Strict-Transport-Security"), rv_str(policy));
    for (size_t i = 0; i < defaults->count; i++)
        out = rv_h1_put_field(out, defaults->fields[i].name, defaults->fields[i].value);
    out = RV_PUT(out, "Content-Type: text/plain; charset=UTF-8\r\n");
    out = rv_h1_put_content_length(out, 3 + 1 + phrase.len + 1 + text.len + 1);
    out = RV_PUT(out, "Connection: close\r\n\r\n");
    out += rv_put_decimal(out, (uint64_t)status);
    *out++ = ' ';
    out = rv_put(out, phrase);
    *out++ = '\n';
    out = rv_put(out, text);
    *out++ = '\n';
    rv_stream_commit(&conn->stream, (size_t)(out - room));
    rv_wire_count(worker, status);
}

/* ---- the connection ---------------------------------------------------------------------------------- */

static uint64_t queued(const struct rv_talk *talk)
{
    return rv_stream_queued(&talk->conn->stream);
}

static void want_drain(struct rv_talk *talk)
{
    rv_stream_want_drain(&talk->conn->stream);
}

/* Where it ends, and the next request begins, will not be known. */
static void abandon_body(struct rv_talk *talk)
{
    talk->conn->last = true;
}

static void advance(struct rv_talk *talk)
{
    rv_h1_conn_advance(talk->conn);
}

const struct rv_wire rv_h1_wire = {
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
