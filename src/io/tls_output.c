/*
 * The output side of the TLS layer (tls_layer.h): octets become records just before they are sent. A
 * record once made must be sent as it is, so what the back end does not take of it is kept, and its
 * octets are reported as taken only when all of it is. What the protocol says by itself - a ticket, the
 * close_notify behind the last octets - goes with the octets beside it, in one send.
 */
#include "io/backend.h"
#include "io/tls_inner.h"

#include <errno.h>
#include <unistd.h>

/* Where in the pieces the next record begins. */
struct cursor {
    const struct iovec *pieces;
    int count;
    size_t at; /* in the first of them */
};

static size_t rest_of(const struct rv_tls *tls)
{
    return tls->rest.len - tls->rest_sent;
}

/* ---- records ------------------------------------------------------------------------------------------ */

static bool keep_rest(struct rv_tls *tls, const char *octets, size_t length)
{
    tls->stream->blocked = true;
    return rv_buffer_append(&tls->rest, rv_slice(octets, length)) == 0;
}

int rv_tls_send_out(struct rv_tls *tls, bool more)
{
    struct rv_stream *stream = tls->stream;
    struct rv_buffer *out = &stream->loop->tls->out;
    size_t length = out->len, sent = 0;
    out->len = 0;
    if (length == 0)
        return 0;
    if (rest_of(tls) == 0) {
        struct iovec piece = {out->ptr, length};
        ssize_t result = stream->loop->backend->send(stream, &piece, 1, more);
        if (result < 0 && result != -EAGAIN)
            return (int)-result;
        sent = result < 0 ? 0 : (size_t)result;
        tls->taken += sent;
        stream->loop->octets_sent += sent;
    }
    if (sent < length && !keep_rest(tls, out->ptr + sent, length - sent))
        return ENOMEM;
    return 0;
}

bool rv_tls_send_held(struct rv_tls *tls)
{
    if (tls->stream->loop->tls->current != tls)
        return true;
    int error_number = rv_tls_send_out(tls, false);
    if (error_number != 0)
        rv_stream_broke(tls->stream, error_number);
    return error_number == 0;
}

void rv_tls_enter(struct rv_tls *tls)
{
    struct rv_tls_context *context = tls->stream->loop->tls;
    if (context->current == tls)
        return;
    if (context->current != NULL)
        rv_tls_send_held(context->current);
    context->current = tls;
    context->record_type = 0;
}

bool rv_tls_may_send(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    if (rest_of(tls) > 0) {
        struct iovec piece = {tls->rest.ptr + tls->rest_sent, rest_of(tls)};
        ssize_t result = stream->loop->backend->send(stream, &piece, 1, false);
        if (result < 0 && result != -EAGAIN) {
            rv_stream_broke(stream, (int)-result);
            return false;
        }
        size_t sent = result < 0 ? 0 : (size_t)result;
        tls->taken += sent;
        tls->rest_sent += sent;
        stream->loop->octets_sent += sent;
        stream->blocked = rest_of(tls) > 0;
        if (stream->blocked)
            return false;
        rv_buffer_free(&tls->rest);
        tls->rest_sent = 0;
    }
    return tls->established;
}

/* ---- octets into records ------------------------------------------------------------------------------ */

static void advance(struct cursor *cursor, size_t octets)
{
    cursor->at += octets;
    while (cursor->count > 0 && cursor->at >= cursor->pieces->iov_len) {
        cursor->at -= cursor->pieces->iov_len;
        cursor->pieces++;
        cursor->count--;
    }
}

/* The octets of the next record: where they lie, when one piece has enough, else gathered. */
static size_t next_record(struct cursor *cursor, char *gathered, const char **octets)
{
    const struct iovec *piece = cursor->pieces;
    size_t length = piece->iov_len - cursor->at;
    *octets = (const char *)piece->iov_base + cursor->at;
    if (length >= RV_TLS_RECORD_BYTES || cursor->count == 1) {
        length = length < RV_TLS_RECORD_BYTES ? length : RV_TLS_RECORD_BYTES;
        advance(cursor, length);
        return length;
    }
    *octets = gathered;
    size_t filled = 0;
    while (cursor->count > 0 && filled < RV_TLS_RECORD_BYTES) {
        size_t run = cursor->pieces->iov_len - cursor->at;
        if (run > RV_TLS_RECORD_BYTES - filled)
            run = RV_TLS_RECORD_BYTES - filled;
        memcpy(gathered + filled, (const char *)cursor->pieces->iov_base + cursor->at, run);
        filled += run;
        advance(cursor, run);
    }
    return filled;
}

/* Encrypts up to a batch; 0: it failed. */
static size_t encrypt(struct rv_tls *tls, struct cursor *cursor)
{
    struct rv_tls_context *context = tls->stream->loop->tls;
    size_t batch = 0;
    rv_tls_enter(tls);
    rv_tls_forget_errors();
    while (cursor->count > 0 && batch < RV_TLS_BATCH_BYTES) {
        const char *octets;
        size_t length = next_record(cursor, context->gathered, &octets), written;
        if (SSL_write_ex(tls->ssl, octets, length, &written) != 1) {
            ERR_clear_error();
            context->out.len = 0;
            return 0;
        }
        batch += length;
    }
    return batch;
}

/* close_notify, once; where records are made below it may have to be tried again. */
static void write_goodbye(struct rv_tls *tls)
{
    rv_tls_enter(tls);
    rv_tls_forget_errors();
    SSL_shutdown(tls->ssl);
    tls->notified = SSL_want(tls->ssl) != SSL_WRITING;
    rv_tls_forget_errors();
}

/* Whether these are the last octets that the stream will ever send. */
static bool are_last(const struct rv_tls *tls, bool more)
{
    const struct rv_stream *stream = tls->stream;
    return !more && !tls->notified && (stream->close_when_sent || stream->finishing);
}

static size_t total_of(const struct iovec *pieces, int count)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].iov_len;
    return total;
}

/* Octets that are reported as taken now that their records are gone. */
static size_t settle_owed(struct rv_tls *tls, uint64_t most)
{
    size_t settled = tls->owed < most ? tls->owed : (size_t)most;
    tls->owed -= settled;
    return settled;
}

/* Counts what went to where records are made. */
static ssize_t count_taken(struct rv_tls *tls, ssize_t result)
{
    if (result > 0) {
        tls->taken += (size_t)result;
        tls->stream->loop->octets_sent += (size_t)result;
    }
    return result;
}

ssize_t rv_tls_send(struct rv_stream *stream, const struct iovec *pieces, int count, bool more)
{
    struct rv_tls *tls = rv_tls_of(stream);
    if (tls->below)
        return count_taken(tls, stream->loop->backend->send(stream, pieces, count, more));
    size_t total = total_of(pieces, count), taken = settle_owed(tls, total);
    struct cursor cursor = {pieces, count, 0};
    advance(&cursor, taken);
    while (taken < total) {
        size_t batch = encrypt(tls, &cursor);
        if (batch == 0)
            return -EIO;
        bool more_follows = more || taken + batch < total;
        if (are_last(tls, more_follows))
            write_goodbye(tls);
        int error_number = rv_tls_send_out(tls, more_follows);
        if (error_number != 0)
            return -error_number;
        if (rest_of(tls) > 0) {
            tls->owed = batch;
            break;
        }
        taken += batch;
    }
    return taken == 0 ? -EAGAIN : (ssize_t)taken;
}

ssize_t rv_tls_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
{
    struct rv_tls *tls = rv_tls_of(stream);
    char *octets = stream->loop->tls->gathered;
    if (tls->below)
        return count_taken(tls, stream->loop->backend->send_file(stream, file, offset, length));
    if (tls->owed > 0)
        return (ssize_t)settle_owed(tls, length);
    size_t run = length < RV_TLS_BATCH_BYTES ? (size_t)length : RV_TLS_BATCH_BYTES;
    ssize_t got = pread(file, octets, run, (off_t)offset);
    if (got <= 0)
        return got < 0 ? -errno : 0;
    struct iovec piece = {octets, (size_t)got};
    return rv_tls_send(stream, &piece, 1, rv_stream_queued(stream) > (size_t)got);
}

/* ---- the end ------------------------------------------------------------------------------------------ */

bool rv_tls_say_goodbye(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    if (!tls->notified && tls->established) {
        write_goodbye(tls);
        int error_number = rv_tls_send_out(tls, false);
        if (error_number != 0) {
            rv_stream_broke(stream, error_number);
            return false;
        }
    }
    return (tls->notified || !tls->established) && rest_of(tls) == 0;
}

void rv_tls_withhold_goodbye(struct rv_stream *stream)
{
    rv_tls_of(stream)->notified = true;
}

uint64_t rv_tls_octets_taken(const struct rv_stream *stream)
{
    return rv_tls_of(stream)->taken;
}
