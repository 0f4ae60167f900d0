/*
 * How OpenSSL reads and writes (tls_inner.h): from the octets that were just received, without another
 * copy, and into the octets that are about to be sent. One BIO serves all connections of a loop, since
 * it only means something during a call.
 */
#include "io/tls_inner.h"

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

static int write_octets(BIO *bio, const char *octets, size_t length, size_t *count)
{
    struct rv_tls_context *context = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (rv_buffer_append(&context->out, rv_slice(octets, length)) != 0)
        return -1;
    *count = length;
    return 1;
}

static long control(BIO *bio, int command, long number, void *argument)
{
    (void)bio;
    (void)number;
    (void)argument;
    return command == BIO_CTRL_FLUSH;
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
