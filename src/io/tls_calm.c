/*
 * Clients that go on shaking hands behind the handshake (tls_inner.h): new keys in TLS 1.3, wishes to
 * begin again in TLS 1.2. Such a message is a few octets for its sender, and for OpenSSL the making of
 * keys or an alert, all of it within one call: a receive buffer full of them would hold up everybody else
 * of the loop. Nobody needs more than a few, so whoever sends too many in a while is cut.
 */
#include "io/tls_inner.h"

#define MESSAGES_MAX 32
#define WHILE_MS 10000

/* A record with a message of a handshake in it: in TLS 1.3 only what is inside tells. */
static bool is_handshake(int kind, const unsigned char *octets, size_t length)
{
    return (kind == SSL3_RT_HEADER || kind == SSL3_RT_INNER_CONTENT_TYPE) && length > 0 &&
           octets[0] == SSL3_RT_HANDSHAKE;
}

static void count(struct rv_tls_context *context, struct rv_tls *tls)
{
    uint64_t now_ms = tls->stream->loop->now_ms;
    if (now_ms - tls->messages_since_ms >= WHILE_MS) {
        tls->messages_since_ms = now_ms;
        tls->messages = 0;
    }
    if (++tls->messages <= MESSAGES_MAX)
        return;
    tls->floods = true;
    context->in_left = 0; /* so that OpenSSL gets no further */
}

static void on_message(int is_sent, int version, int kind, const void *octets, size_t length,
                       SSL *ssl, void *argument)
{
    struct rv_tls_context *context = argument;
    struct rv_tls *tls = context->current;
    (void)version;
    if (!is_sent && tls != NULL && tls->ssl == ssl && tls->established &&
        is_handshake(kind, octets, length))
        count(context, tls);
}

void rv_tls_stay_calm(SSL_CTX *server, struct rv_tls_context *context)
{
    SSL_CTX_set_msg_callback(server, on_message);
    SSL_CTX_set_msg_callback_arg(server, context);
}

bool rv_tls_has_flooded(const struct rv_stream *stream)
{
    return rv_tls_of(stream)->floods;
}
