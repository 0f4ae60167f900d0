/*
 * Step 6: streamed responses. These are the verbs: they check and account on the thread that runs the
 * handler. What they let pass goes to the wire, or from a pool thread through the talk's channel.
 */
#include "server/after.h"
#include "server/pool.h"
#include "server/shaper.h"
#include "server/streaming.h"
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
    talk->written = 0; /* of what was collected before, and given up */
    talk->afters_run = false;
    talk->response = RV_RESPONSE_BEGUN;
    return 0;
}

uint64_t rv_promised_length(const struct rv_talk *talk)
{
    return talk->length_set && !talk->length_withheld ? talk->length : RV_LENGTH_UNKNOWN;
}

/* The head is about to leave, unless the app collects what is written. */
static rv_error open_response(struct rv_talk *talk)
{
    bool collects = false;
    if (rv_shaping_of(talk) == NULL) {
        rv_head_leaves(talk);
    } else {
        rv_error error = rv_shape_begin(talk, &collects);
        if (error != 0)
            return error;
    }
    if (!collects)
        talk->response = RV_RESPONSE_OPEN;
    return 0;
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
    rv_error error = talk->response == RV_RESPONSE_BEGUN ? open_response(talk) : 0;
    if (error == 0)
        talk->written += piece.len;
    return error;
}

int rv_write_outcome(struct rv_talk *talk, rv_error error)
{
    if (error != 0) {
        talk->cut = true;
        return error;
    }
    const rv_limits *limits = &talk->worker->server->options.limits;
    return talk->wire->queued(talk) >= limits->output_high_bytes ? RV_FULL : RV_OK;
}

/* ---- the lower half --------------------------------------------------------------------------------- */

int rv_send_piece(struct rv_talk *talk, rv_bytes piece)
{
    uint64_t length = rv_promised_length(talk);
    if (talk->on_pool)
        return rv_pool_write(talk, length, piece);
    rv_error error = talk->wire->begin(talk, length);
    if (error == 0)
        error = talk->wire->piece(talk, piece);
    return rv_write_outcome(talk, error);
}

int rv_send_borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx), void *ctx)
{
    uint64_t length = rv_promised_length(talk);
    if (talk->on_pool)
        return rv_pool_write_borrowed(talk, length, piece, release, ctx);
    rv_error error = talk->wire->begin(talk, length);
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return rv_write_outcome(talk, error);
    }
    return rv_write_outcome(talk, talk->wire->borrowed(talk, piece, release, ctx));
}

rv_error rv_send_end(struct rv_talk *talk, uint64_t length)
{
    rv_error error = talk->wire->begin(talk, length);
    return error == 0 ? talk->wire->end(talk) : error;
}

/* ---- the verbs --------------------------------------------------------------------------------------- */

int rv_write(rv_talk *talk, rv_bytes piece)
{
    rv_error error = admit(talk, piece);
    if (error != 0)
        return error;
    return talk->shaper != NULL ? rv_shape_write(talk, piece) : rv_send_piece(talk, piece);
}

int rv_write_borrowed(rv_talk *talk, rv_bytes piece, void (*release)(void *ctx), void *ctx)
{
    rv_error error = admit(talk, piece);
    if (error != 0) {
        if (release != NULL)
            release(ctx);
        return error;
    }
    return talk->shaper != NULL ? rv_shape_write_borrowed(talk, piece, release, ctx)
                                : rv_send_borrowed(talk, piece, release, ctx);
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

/* Where nothing was written the length is known after all. */
static uint64_t length_at_end(const struct rv_talk *talk, bool empty)
{
    if (empty && !talk->length_set && !talk->length_withheld && talk->trailer_fields == NULL)
        return talk->head_only ? RV_LENGTH_UNKNOWN : 0;
    return rv_promised_length(talk);
}

static bool is_short(const struct rv_talk *talk)
{
    return talk->length_set && talk->written < talk->length && !talk->head_only &&
           rv_status_has_body(talk->status);
}

/* With the head unsent there is time for a 500. On a pool thread it is the worker that cuts, when it looks
   again at what was written (pool.c). */
static rv_error end_short(struct rv_talk *talk)
{
    if (talk->on_pool)
        talk->response = RV_RESPONSE_ENDED;
    else if (talk->head_sent)
        talk->cut = true;
    return RV_ESTATE;
}

/* What the app's shaping has to say about the end. `*answered`: nothing is left to be done. */
static rv_error shape_end(struct rv_talk *talk, bool empty, bool *answered)
{
    *answered = false;
    if (!talk->on_pool && (talk->conn == NULL || talk->cut))
        return RV_EGONE;
    return rv_shaping_of(talk) == NULL ? 0 : rv_shape_end(talk, empty, answered);
}

rv_error rv_end(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_BEGUN && talk->response != RV_RESPONSE_OPEN)
        return RV_ESTATE;
    if (is_short(talk))
        return end_short(talk);
    bool empty = talk->response == RV_RESPONSE_BEGUN, answered;
    if (empty && !rv_shape_collects(talk))
        rv_head_leaves(talk);
    rv_error error = shape_end(talk, empty, &answered);
    if (answered || (error != 0 && !talk->on_pool && !talk->head_sent))
        return error; /* or there is time for a 500 */
    talk->response = RV_RESPONSE_ENDED;
    if (talk->on_pool)
        return error; /* the worker ends it when the handler has returned */
    if (error == 0)
        error = rv_send_end(talk, length_at_end(talk, empty));
    if (error != 0)
        talk->cut = true;
    return error;
}
