/*
 * How OpenSSL reads and writes (tls_inner.h): from the octets that were just received, without another
 * copy, and into the octets that are about to be sent. One BIO serves all connections of a loop, since
 * it only means something during a call.
 *
 * Here OpenSSL also hands over the keys for sending, when it was told that somebody below may want them
 * (SSL_OP_ENABLE_KTLS). If they are taken, it makes no records any more: it writes alerts, tickets and
 * the like in the clear and says of what type they are. Data do not come this way then, they need no
 * OpenSSL.
 */
#include "io/backend.h"
#include "io/tls_inner.h"

#include <errno.h>

/* Controls of a BIO that openssl/bio.h tells of in a comment only. */
#define CONTROL_SET_KEYS 72        /* number: not 0 for sending; argument: for rv_backend.encrypt */
#define CONTROL_SET_RECORD_TYPE 74 /* number: of what is written next */
#define CONTROL_CLEAR_RECORD_TYPE 75

/* ---- octets --------------------------------------------------------------------------------------------- */

static int read_octets(BIO *bio, char *octets, size_t room, size_t *count)
{
    struct rv_tls_context *context = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (context->in_left == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    *count = room < context->in_left ? room : context->in_left;
    memcpy(octets, context->in, *count);
    context->in += *count;
    context->in_left -= *count;
    return 1;
}

/* A record that is no data, to where records are made. */
static int write_record(struct rv_tls_context *context, BIO *bio, const char *octets, size_t length)
{
    struct rv_stream *stream = context->current->stream;
    int error_number =
        stream->loop->backend->send_record(stream, context->record_type, octets, length);
    if (error_number == EAGAIN) {
        stream->blocked = true;
        BIO_set_retry_write(bio);
        return -1;
    }
    context->record_type = 0;
    if (error_number != 0)
        return -1;
    context->current->taken += length;
    stream->loop->octets_sent += length;
    return 1;
}

static int write_octets(BIO *bio, const char *octets, size_t length, size_t *count)
{
    struct rv_tls_context *context = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (context->record_type != 0) {
        *count = length;
        return write_record(context, bio, octets, length);
    }
    if (rv_buffer_append(&context->out, rv_slice(octets, length)) != 0)
        return -1;
    *count = length;
    return 1;
}

/* ---- controls ------------------------------------------------------------------------------------------- */

/* What was encrypted above has to be on its way before the rest is encrypted below. */
static bool hand_over_keys(struct rv_tls *tls, const void *keys)
{
    struct rv_stream *stream = tls->stream;
    if (stream->client || tls->below || !rv_tls_send_held(tls) || stream->blocked)
        return false;
    tls->below = stream->loop->backend->encrypt(stream, keys);
    return tls->below;
}

static long control(BIO *bio, int command, long number, void *argument)
{
    struct rv_tls_context *context = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case CONTROL_SET_KEYS:
        return number != 0 && hand_over_keys(context->current, argument);
    case BIO_CTRL_GET_KTLS_SEND:
        return context->current != NULL && context->current->below;
    case CONTROL_SET_RECORD_TYPE:
        context->record_type = (unsigned char)number;
        return 1;
    case CONTROL_CLEAR_RECORD_TYPE:
        context->record_type = 0;
        return 1;
    default:
        return 0;
    }
}

rv_error rv_tls_bio_open(struct rv_tls_context *context)
{
    context->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rivulet");
    if (context->method == NULL)
        return RV_ENOMEM;
    BIO_meth_set_read_ex(context->method, read_octets);
    BIO_meth_set_write_ex(context->method, write_octets);
    BIO_meth_set_ctrl(context->method, control);
    context->bio = BIO_new_ex(context->library, context->method);
    if (context->bio == NULL)
        return RV_ENOMEM;
    BIO_set_data(context->bio, context);
    BIO_set_init(context->bio, 1);
    return 0;
}
