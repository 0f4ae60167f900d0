/*
 * Step 6: streamed responses. These are the verbs: they check and account on the thread that runs the
 * handler. What they let pass goes to the wire, or from a pool thread through the talk's channel.
 */
#include "server/after.h"
#include "server/pool.h"
#include "server/wire.h"

#include "http/status.h"

rv_error rv_begin(rv_talk *talk, int status)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_NONE)
        return RV_ESTATE;
    if (status < 200 || status > 999)
        return RV_EINVAL;
    talk->status = status;
    talk->afters_run = false;
    talk->response = RV_RESPONSE_BEGUN;
    return 0;
}

static uint64_t promised(const struct rv_talk *talk)
{
    return talk->length_set ? talk->length : RV_LENGTH_UNKNOWN;
}

/* May this piece be written? Accounts for it. */
static rv_error admit(struct rv_talk *talk, rv_bytes piece)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_BEGUN && talk->response != RV_RESPONSE_OPEN)
        return RV_ESTATE;
    if (talk->length_set && piece.len > talk->length - talk->written)
        return RV_ELIMIT;
    if (!talk->on_pool && (talk->conn == NULL || talk->cut))
        return RV_EGONE;
    if (talk->response == RV_RESPONSE_BEGUN)
        rv_head_leaves(talk);
    talk->written += piece.len;
    talk->response = RV_RESPONSE_OPEN;
    return 0;
}

static int outcome(struct rv_talk *talk, rv_error error)
{
    if (error != 0) {
        talk->cut = true;
        return error;
    }
    const rv_limits *limits = &talk->worker->server->options.limits;
    return talk->wire->queued(talk) >= limits->output_high_bytes ? RV_FULL : RV_OK;
}

int rv_write(rv_talk *talk, rv_bytes piece)
{
    rv_error error = admit(talk, piece);
    if (error != 0)
        return error;
    if (talk->on_pool)
        return rv_pool_write(talk, promised(talk), piece);
    error = talk->wire->begin(talk, promised(talk));
    if (error == 0)
        error = talk->wire->piece(talk, piece);
    return outcome(talk, error);
}

int rv_write_borrowed(rv_talk *talk, rv_bytes piece, void (*release)(void *ctx), void *ctx)
{
    rv_error error = admit(talk, piece);
    if (error == 0 && talk->on_pool)
        return rv_pool_write_borrowed(talk, promised(talk), piece, release, ctx);
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return error;
    }
    error = talk->wire->begin(talk, promised(talk));
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return outcome(talk, error);
    }
    return outcome(talk, talk->wire->borrowed(talk, piece, release, ctx));
}

rv_error rv_on_drain(rv_talk *talk, rv_handler drained, void *ctx)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->on_pool || talk->response == RV_RESPONSE_NONE ||
        talk->response == RV_RESPONSE_LEAVING || talk->response == RV_RESPONSE_ENDED ||
        talk->conn == NULL)
        return RV_ESTATE;
    if (drained == NULL)
        return RV_EINVAL;
    talk->drained = drained;
    talk->drained_ctx = ctx;
    talk->wire->want_drain(talk);
    return 0;
}

rv_error rv_end(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_BEGUN && talk->response != RV_RESPONSE_OPEN)
        return RV_ESTATE;
    if (talk->length_set && talk->written < talk->length && !talk->head_only &&
        rv_status_has_body(talk->status)) {
        /* With the head unsent there is time for a 500. On a pool thread it is the worker that cuts, when
           it looks again at what was written (pool.c). */
        if (talk->on_pool)
            talk->response = RV_RESPONSE_ENDED;
        else if (talk->response == RV_RESPONSE_OPEN)
            talk->cut = true;
        return RV_ESTATE;
    }
    bool empty = talk->response == RV_RESPONSE_BEGUN;
    if (empty)
        rv_head_leaves(talk);
    talk->response = RV_RESPONSE_ENDED;
    if (talk->on_pool)
        return 0; /* the worker ends it when the handler has returned */
    if (talk->conn == NULL || talk->cut)
        return RV_EGONE;
    /* Nothing was written: the length is known after all. */
    uint64_t length = promised(talk);
    if (empty && !talk->length_set && talk->trailer_fields == NULL)
        length = talk->head_only ? RV_LENGTH_UNKNOWN : 0;
    rv_error error = talk->wire->begin(talk, length);
    if (error == 0)
        error = talk->wire->end(talk);
    if (error != 0)
        talk->cut = true;
    return error;
}
