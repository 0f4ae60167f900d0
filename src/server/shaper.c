/*
 * Streamed responses that are collected or compressed (shaper.h).
 *
 * When compressed octets leave: on the worker, all writes of one call of a handler are compressed
 * together, and what they amount to leaves when it returns. A pool thread may do anything between two
 * writes: there each one leaves at once.
 */
#include "server/shaper_inner.h"

#include "http/status.h"
#include "server/after.h"
#include "server/encoders.h"
#include "server/streaming.h"
#include "server/wire.h"

/* ---- compressing ---------------------------------------------------------------------------------------- */

int rv_shaper_encode(struct rv_talk *talk, rv_bytes octets, enum rv_encode_goal goal)
{
    struct rv_shaper *shaper = talk->shaper;
    char out[RV_SHAPER_STEP_BYTES];
    rv_error step;
    do {
        size_t written;
        step = rv_encoder_feed(&shaper->encoder, &octets, goal, out, sizeof out, &written);
        if (step < 0)
            return step;
        int result = written > 0 ? rv_send_piece(talk, rv_slice(out, written)) : RV_OK;
        shaper->has_sent = shaper->has_sent || written > 0;
        if (result < 0)
            return result;
    } while (step == RV_PENDING);
    shaper->holds = goal == RV_ENCODE_ON;
    return talk->on_pool ? RV_OK : rv_write_outcome(talk, 0);
}

/* The client can be told nothing else any more. */
static int cut(struct rv_talk *talk, rv_error error)
{
    if (!talk->on_pool)
        talk->cut = true;
    return error;
}

/* Nothing has left, and memory for compressing is missing: then not. */
static int write_plain(struct rv_talk *talk, rv_bytes piece)
{
    struct rv_shaper *shaper = talk->shaper;
    rv_fields_restore(talk, &shaper->before);
    rv_encoder_give(talk, &shaper->encoder);
    shaper->phase = RV_SHAPER_PASSING;
    talk->length_withheld = false;
    return rv_send_piece(talk, piece);
}

static int write_encoded(struct rv_talk *talk, rv_bytes piece)
{
    struct rv_shaper *shaper = talk->shaper;
    bool is_first = !shaper->has_sent && !shaper->holds;
    int result = rv_shaper_encode(talk, piece, talk->on_pool ? RV_ENCODE_FLUSH : RV_ENCODE_ON);
    if (result == RV_ENOMEM && is_first && !shaper->has_sent)
        return write_plain(talk, piece);
    return result < 0 && shaper->has_sent ? cut(talk, result) : result;
}

/* ---- beginning ------------------------------------------------------------------------------------------ */

struct rv_shaper *rv_shaper_make(struct rv_talk *talk)
{
    struct rv_shaper *shaper = rv_arena_alloc(&talk->arena, sizeof *shaper);
    if (shaper != NULL)
        *shaper = (struct rv_shaper){.phase = RV_SHAPER_PASSING};
    talk->shaper = shaper;
    return shaper;
}

static bool has_no_content(const struct rv_talk *talk)
{
    return talk->head_only || !rv_status_has_body(talk->status);
}

/* The head is about to leave: what is it going to say? Without memory for the answer: what it would say
   anyway. */
static void open_up(struct rv_talk *talk, uint64_t length)
{
    const struct rv_shaping *shaping = rv_shaping_of(talk);
    struct rv_shaper *shaper = talk->shaper;
    struct rv_encoder encoder = {0};
    struct rv_coding_choice choice = {false, RV_CODING_IDENTITY};
    talk->length_withheld = shaping->framing == RV_FRAMING_CHUNKED && talk->head.minor > 0;
    if (shaping->framing != RV_FRAMING_RAW)
        choice =
            rv_choose_coding(talk, talk->status, rv_response_header(talk, "Content-Type"), length);
    if (choice.coding != RV_CODING_IDENTITY && !has_no_content(talk) &&
        (shaper == NULL ||
         rv_encoder_take(talk, choice.coding, shaping->levels[choice.coding], &encoder) != 0))
        choice.coding = RV_CODING_IDENTITY;
    struct rv_fields_before before;
    if (!choice.varies ||
        rv_coding_fields(talk, talk->status, choice, rv_slice(NULL, 0), &before) != 0) {
        rv_encoder_give(talk, &encoder);
        return;
    }
    if (choice.coding != RV_CODING_IDENTITY)
        talk->length_withheld = true;
    if (encoder.kind == NULL)
        return;
    shaper->before = before;
    shaper->encoder = encoder;
    shaper->phase = RV_SHAPER_ENCODING;
}

static uint64_t known_length(const struct rv_talk *talk)
{
    return talk->length_set ? talk->length : RV_LENGTH_UNKNOWN;
}

rv_error rv_shape_begin(struct rv_talk *talk, bool *collects)
{
    const struct rv_shaping *shaping = rv_shaping_of(talk);
    *collects = false;
    if (rv_shape_collects(talk)) {
        *collects = true;
        return 0;
    }
    struct rv_shaper *shaper = rv_shaper_make(talk);
    if (shaping->framing == RV_FRAMING_RAW && !talk->length_set &&
        rv_status_has_body(talk->status)) {
        if (shaper != NULL)
            shaper->phase = RV_SHAPER_REFUSING;
        return RV_ENOLENGTH;
    }
    if (shaping->framing == RV_FRAMING_BUFFERED && shaper != NULL) {
        shaper->phase = RV_SHAPER_BUFFERING;
        *collects = true;
        return 0;
    }
    rv_head_leaves(talk);
    open_up(talk, known_length(talk));
    return 0;
}

/* ---- collecting ----------------------------------------------------------------------------------------- */

bool rv_shape_collects(const struct rv_talk *talk)
{
    return talk->shaper != NULL && talk->shaper->phase == RV_SHAPER_BUFFERING;
}

/* It has become too much to be held: it goes on as a stream, beginning with what was collected. */
static int spill(struct rv_talk *talk)
{
    struct rv_shaper *shaper = talk->shaper;
    struct rv_buffer collected = shaper->buffer;
    shaper->buffer = (struct rv_buffer){0};
    shaper->phase = RV_SHAPER_PASSING;
    rv_head_leaves(talk);
    open_up(talk, known_length(talk));
    talk->response = RV_RESPONSE_OPEN;
    int result = RV_OK;
    if (collected.len > 0)
        result = rv_shape_write(talk, rv_slice(collected.ptr, collected.len));
    rv_buffer_free(&collected);
    return result;
}

static bool collect(struct rv_talk *talk, rv_bytes piece)
{
    struct rv_buffer *buffer = &talk->shaper->buffer;
    uint64_t most = rv_shaping_of(talk)->buffered_bytes_max;
    if (most == 0)
        most = talk->worker->server->options.limits.output_high_bytes;
    return buffer->len <= most && piece.len <= most - buffer->len &&
           (piece.len == 0 || rv_buffer_append(buffer, piece) == 0);
}

/* ---- writing -------------------------------------------------------------------------------------------- */

int rv_shape_write(struct rv_talk *talk, rv_bytes piece)
{
    if (rv_shape_collects(talk)) {
        if (collect(talk, piece))
            return RV_OK;
        int result = spill(talk);
        if (result < 0)
            return result;
    }
    if (talk->shaper != NULL && talk->shaper->phase == RV_SHAPER_ENCODING)
        return write_encoded(talk, piece);
    return rv_send_piece(talk, piece);
}

int rv_shape_write_borrowed(struct rv_talk *talk, rv_bytes piece, void (*release)(void *ctx),
                            void *ctx)
{
    bool takes = rv_shape_collects(talk) ||
                 (talk->shaper != NULL && talk->shaper->phase == RV_SHAPER_ENCODING);
    if (!takes)
        return rv_send_borrowed(talk, piece, release, ctx);
    int result = rv_shape_write(talk, piece);
    if (release == NULL)
        return result;
    if (!talk->on_pool || result < 0 || rv_shape_collects(talk)) {
        release(ctx);
        return result;
    }
    return rv_send_borrowed(talk, rv_slice("", 0), release, ctx); /* the worker is to release it */
}

/* ---- the end -------------------------------------------------------------------------------------------- */

/* All is here, and so its length is known: a whole answer. */
static rv_error answer_collected(struct rv_talk *talk)
{
    struct rv_buffer *buffer = &talk->shaper->buffer;
    struct rv_content content = {.kind = RV_CONTENT_BORROWED,
                                 .octets = rv_slice(buffer->ptr, buffer->len),
                                 .length = buffer->len,
                                 .release = free,
                                 .ctx = buffer->ptr};
    *buffer = (struct rv_buffer){0};
    talk->shaper->phase = RV_SHAPER_PASSING;
    return rv_answer(talk, talk->status, NULL, &content);
}

rv_error rv_shape_end(struct rv_talk *talk, bool empty, bool *answered)
{
    struct rv_shaper *shaper = talk->shaper;
    *answered = false;
    if (rv_shape_collects(talk)) {
        if (talk->trailer_fields == NULL) {
            *answered = true;
            return answer_collected(talk);
        }
        if (talk->on_pool)
            return 0; /* the worker gets it as it is, and comes by here */
        int result = spill(talk);
        return result < 0 ? result : rv_shape_end(talk, false, answered);
    }
    if (shaper != NULL && shaper->phase == RV_SHAPER_REFUSING)
        return RV_ENOLENGTH;
    if (empty && shaper == NULL) {
        rv_shaper_make(talk);
        open_up(talk, talk->length_set ? talk->length : talk->head_only ? RV_LENGTH_UNKNOWN : 0);
        shaper = talk->shaper;
    }
    if (talk->on_pool || shaper == NULL || shaper->phase != RV_SHAPER_ENCODING)
        return 0;
    int result = rv_shaper_encode(talk, rv_slice("", 0), RV_ENCODE_END);
    return result < 0 ? result : 0;
}

rv_error rv_shape_flush(struct rv_talk *talk)
{
    const struct rv_shaper *shaper = talk->shaper;
    if (shaper->phase != RV_SHAPER_ENCODING || !shaper->holds || talk->conn == NULL || talk->cut)
        return 0;
    int result = rv_shaper_encode(talk, rv_slice("", 0), RV_ENCODE_FLUSH);
    return result < 0 ? result : 0;
}

void rv_shape_drop(struct rv_talk *talk)
{
    struct rv_shaper *shaper = talk->shaper;
    talk->in_pieces = talk->length_withheld = talk->coding_settled = false;
    talk->shaper = NULL;
    if (shaper == NULL)
        return;
    rv_encoder_give(talk, &shaper->encoder);
    rv_buffer_free(&shaper->buffer);
    if (shaper->pumps)
        rv_content_drop(&shaper->content);
}
