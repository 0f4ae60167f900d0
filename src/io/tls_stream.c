/*
 * The input side of the TLS layer (tls_layer.h): handshakes in their turn, decryption, and the ends of
 * a connection. A FIN that comes without close_notify may be an attacker's: it is a loss, not an end.
 */
#include "io/backend.h"
#include "io/tls_inner.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>

/* Handshakes of one turn: as many as fit into this time, and one at least. */
#define SHAKE_NS UINT64_C(1000000)
#define SHAKES_MAX 64

static struct rv_tls_context *context_of(const struct rv_tls *tls)
{
    return tls->stream->loop->tls;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

struct rv_tls *rv_tls_new(struct rv_stream *stream)
{
    struct rv_tls_context *context = stream->loop->tls;
    struct rv_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->stream = stream;
    tls->ssl = SSL_new(stream->client ? context->client : context->servers[0]);
    if (tls->ssl == NULL) {
        ERR_clear_error();
        free(tls);
        return NULL;
    }
    BIO_up_ref(context->bio);
    SSL_set_bio(tls->ssl, context->bio, context->bio);
    if (!stream->client) {
        SSL_set_accept_state(tls->ssl);
    } else if (!rv_tls_begin_as_client(context, tls->ssl)) {
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    context->client_count += stream->client;
    return tls;
}

void rv_tls_free(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    struct rv_tls_context *context = stream->loop->tls;
    if (tls->waits)
        TAILQ_REMOVE(&context->waiting, tls, waiting);
    if (stream->client && tls->established &&
        !tls->failed) /* else its session would not be taken up again */
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    if (context->current == tls) {
        context->current = NULL;
        context->record_type = 0;
        context->out.len = 0;
    }
    context->client_count -= stream->client;
    SSL_free(tls->ssl);
    rv_buffer_free(&tls->kept);
    rv_buffer_free(&tls->rest);
    free(tls);
    stream->secure = false;
}

/* Nothing can be said to this peer any more but why. */
static void fail(struct rv_tls *tls)
{
    struct rv_stream *stream = tls->stream;
    rv_tls_note_failure(tls);
    rv_tls_send_out(tls, false); /* an alert, if it can be sent */
    if (!stream->closed)
        rv_stream_lost(stream, RV_EPROTO, 0);
}

/* ---- decryption ------------------------------------------------------------------------------------------ */

static size_t room_for(const struct rv_stream *stream)
{
    uint64_t left = stream->skipping ? rv_stream_skip_left(stream) : UINT64_MAX;
    return left < RV_TLS_RECORD_BYTES ? (size_t)left : RV_TLS_RECORD_BYTES;
}

/* One record, or what a skip wants of it. False: there is nothing more to be had now. */
static bool decrypt_some(struct rv_tls *tls)
{
    struct rv_tls_context *context = context_of(tls);
    struct rv_stream *stream = tls->stream;
    rv_tls_enter(tls);
    rv_tls_forget_errors();
    size_t held = context->out.len; /* a ticket, which goes with the answer */
    int count = SSL_read(tls->ssl, context->plain, (int)room_for(stream));
    int error = count > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, count);
    if (error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL || tls->floods) {
        fail(tls);
        return false;
    }
    if (context->out.len > held && !rv_tls_send_held(tls)) /* what the protocol answers by itself */
        return false;
    if (error == SSL_ERROR_ZERO_RETURN) {
        tls->ended = true;
        rv_stream_tell_end(stream);
        return false;
    }
    if (error != SSL_ERROR_NONE)
        return false;
    const char *in = context->in;
    size_t in_left = context->in_left;
    rv_stream_deliver(stream, context->plain, (size_t)count);
    context->in = in; /* the owner may have made others read */
    context->in_left = in_left;
    return true;
}

/* Decrypts and delivers, as long as the owner wants it; returns how many octets were not used. */
static size_t decrypt(struct rv_stream *stream, const char *octets, size_t length)
{
    struct rv_tls *tls = rv_tls_of(stream);
    struct rv_tls_context *context = stream->loop->tls;
    context->in = octets;
    context->in_left = length;
    while (!stream->paused && !tls->ended && decrypt_some(tls) && !stream->closed &&
           (context->in_left > 0 || SSL_pending(tls->ssl) > 0))
        ;
    size_t left = context->in_left;
    context->in_left = 0;
    return left;
}

static bool keep(struct rv_tls *tls, const char *octets, size_t length)
{
    if (rv_buffer_append(&tls->kept, rv_slice(octets, length)) == 0)
        return true;
    rv_stream_lost(tls->stream, RV_ENOMEM, ENOMEM);
    return false;
}

/* The same of what is kept, which is out of the record's hands meanwhile: the owner may close it. */
static void decrypt_kept(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    struct rv_buffer kept = tls->kept;
    tls->kept = (struct rv_buffer){0};
    size_t left = decrypt(stream, kept.ptr, kept.len);
    if (!stream->closed && left > 0 && !tls->ended) {
        rv_buffer_consume(&kept, kept.len - left);
        tls->kept = kept;
    } else {
        rv_buffer_free(&kept);
    }
}

bool rv_tls_holds_input(const struct rv_stream *stream)
{
    const struct rv_tls *tls = rv_tls_of(stream);
    return tls->established && !tls->ended &&
           (tls->kept.len > 0 || tls->end_held || SSL_pending(tls->ssl) > 0);
}

bool rv_tls_receive_held(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    if (!rv_tls_holds_input(stream))
        return true;
    decrypt_kept(stream);
    if (stream->closed)
        return false;
    if (!stream->paused && tls->end_held) {
        tls->end_held = false;
        rv_stream_peer_ended(stream);
    }
    return !stream->closed && !stream->paused;
}

static void wait_for_turn(struct rv_tls *tls)
{
    if (tls->waits)
        return;
    tls->waits = true;
    TAILQ_INSERT_TAIL(&context_of(tls)->waiting, tls, waiting);
}

void rv_tls_received(struct rv_stream *stream, char *octets, size_t length)
{
    struct rv_tls *tls = rv_tls_of(stream);
    tls->heard = true;
    if (tls->ended)
        return;
    if (!tls->established) {
        if (keep(tls, octets, length))
            wait_for_turn(tls);
        return;
    }
    if (tls->kept.len > 0 || stream->paused) {
        if (keep(tls, octets, length) && !stream->paused)
            decrypt_kept(stream);
        return;
    }
    size_t left = decrypt(stream, octets, length);
    if (left > 0 && !stream->closed && !tls->ended)
        keep(tls, octets + length - left, left);
}

bool rv_tls_peer_ended(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    if (rv_tls_holds_input(stream))
        decrypt_kept(stream);
    if (stream->closed)
        return false;
    if (tls->waits || (stream->paused && rv_tls_holds_input(stream))) {
        tls->end_held = true;
        return false;
    }
    if (tls->ended)
        return true;
    rv_stream_lost(stream, RV_EGONE, 0);
    return false;
}

/* ---- handshakes ------------------------------------------------------------------------------------------ */

/* A record of TLS begins with its type, which is no letter; a request in the clear begins with one. */
static bool speaks_plainly(const struct rv_tls *tls)
{
    if (tls->stream->client || tls->kept.len == 0)
        return false;
    char first = tls->kept.ptr[0];
    return SSL_in_before(tls->ssl) && first >= 'A' && first <= 'Z';
}

/* What it sent is dropped: it can only be told, in the clear, what is spoken here. */
static void give_up_tls(struct rv_stream *stream)
{
    bool ended = rv_tls_of(stream)->end_held;
    rv_tls_free(stream);
    stream->events->on_insecure(stream);
    if (ended && !stream->closed)
        rv_stream_tell_end(stream);
    if (stream->loop->page_owner == stream)
        rv_stream_flush(stream);
}

void rv_tls_begin(struct rv_stream *stream)
{
    struct rv_tls *tls = rv_tls_of(stream);
    tls->begun_ns = rv_loop_clock_ns(stream->loop);
    wait_for_turn(tls);
}

/* A server's last words, its ticket, go with the answer when the request is there already. */
static void conclude(struct rv_tls *tls)
{
    struct rv_stream *stream = tls->stream;
    tls->established = true;
    if (stream->client)
        stream->events->on_connected(stream);
    else
        stream->events->on_secured(stream);
    if (!stream->closed && !stream->paused)
        rv_tls_receive_held(stream);
    if (!stream->closed)
        rv_stream_flush(stream);
    if (!stream->closed)
        rv_tls_send_held(tls);
}

static void shake(struct rv_tls *tls)
{
    struct rv_tls_context *context = context_of(tls);
    struct rv_stream *stream = tls->stream;
    if (speaks_plainly(tls)) {
        give_up_tls(stream);
        return;
    }
    context->in = tls->kept.ptr;
    context->in_left = tls->kept.len;
    rv_tls_enter(tls);
    rv_tls_forget_errors();
    int result = SSL_do_handshake(tls->ssl);
    int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ) /* else a failure is told by it */
        rv_buffer_consume(&tls->kept, tls->kept.len - context->in_left);
    context->in_left = 0;
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
        fail(tls);
        return;
    }
    bool done = error == SSL_ERROR_NONE;
    int error_number = done && !stream->client ? 0 : rv_tls_send_out(tls, false);
    if (error_number != 0)
        rv_stream_lost(stream, RV_EGONE, error_number);
    else if (done)
        conclude(tls);
    else if (tls->end_held)
        rv_stream_lost(stream, RV_EGONE, 0);
}

void rv_tls_shake_hands(struct rv_loop *loop)
{
    struct rv_tls_context *context = loop->tls;
    struct rv_tls *tls;
    uint64_t end_ns = 0;
    for (int i = 0; i < SHAKES_MAX && (tls = TAILQ_FIRST(&context->waiting)) != NULL; i++) {
        uint64_t now_ns = rv_loop_clock_ns(loop);
        if (i == 0)
            end_ns = now_ns + SHAKE_NS;
        else if (now_ns >= end_ns)
            return;
        TAILQ_REMOVE(&context->waiting, tls, waiting);
        tls->waits = false;
        shake(tls);
    }
}

bool rv_tls_hands_wait(const struct rv_loop *loop)
{
    return !TAILQ_EMPTY(&loop->tls->waiting);
}

bool rv_tls_is_new(const struct rv_stream *stream)
{
    return !rv_tls_of(stream)->established;
}

bool rv_tls_is_shaking(const struct rv_stream *stream)
{
    const struct rv_tls *tls = rv_tls_of(stream);
    return tls->heard && !tls->established;
}

/* ---- what was agreed on ---------------------------------------------------------------------------------- */

void rv_tls_facts(const struct rv_stream *stream, struct rv_tls_facts *facts)
{
    SSL *ssl = rv_tls_of(stream)->ssl;
    const unsigned char *protocol;
    unsigned protocol_length;
    SSL_get0_alpn_selected(ssl, &protocol, &protocol_length);
    *facts =
        (struct rv_tls_facts){.version = SSL_get_version(ssl),
                              .cipher = SSL_get_cipher_name(ssl),
                              .server_name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
                              .protocol = (const char *)protocol,
                              .protocol_length = protocol_length,
                              .resumed = SSL_session_reused(ssl) == 1,
                              .cipher_bits = (unsigned)SSL_get_cipher_bits(ssl, NULL),
                              .certificate_bits = rv_tls_certificate_bits(ssl),
                              .begun_ns = rv_tls_of(stream)->begun_ns};
}

char *rv_tls_client_subject(const struct rv_stream *stream)
{
    X509 *certificate = SSL_get0_peer_certificate(rv_tls_of(stream)->ssl);
    BIO *memory = certificate == NULL ? NULL : BIO_new(BIO_s_mem());
    char *text, *subject = NULL;
    if (memory == NULL)
        return NULL;
    if (X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0,
                           XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB) >= 0) {
        long length = BIO_get_mem_data(memory, &text);
        subject = length > 0 ? strndup(text, (size_t)length) : strdup("");
    }
    BIO_free(memory);
    return subject;
}
