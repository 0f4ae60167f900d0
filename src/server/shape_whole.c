/*
 * Whole answers that are compressed, or sent in chunks all the same (shaper.h).
 *
 * Up to a size they are compressed at once, where they are given. Beyond it that would hold up everybody
 * else on the worker, and hold in memory what a slow client has not taken: such a content is kept, and
 * compressed piece by piece whenever the client has taken most of the last one.
 */
#include "server/shaper_inner.h"

#include "http/status.h"
#include "server/encoders.h"
#include "server/pool.h"
#include "server/streaming.h"
#include "server/wire.h"

#include <unistd.h>

/* Two or three milliseconds of work. */
#define AT_ONCE_BYTES_MAX (256 * 1024)
#define PUMP_BYTES (64 * 1024)

/* ---- the octets of a content ---------------------------------------------------------------------------- */

/* A run of it, from `at` on: where it lies, or in `room`. Empty: the file has become shorter. */
static rv_bytes run_of(const struct rv_content *content, uint64_t at, char *room, size_t room_bytes)
{
    uint64_t left = content->length - at;
    if (content->kind != RV_CONTENT_FILE)
        return rv_slice(content->octets.ptr + at, (size_t)left);
    size_t wanted = left < room_bytes ? (size_t)left : room_bytes;
    ssize_t got = pread(content->file, room, wanted, (off_t)(content->offset + at));
    return rv_slice(room, got > 0 ? (size_t)got : 0);
}

/* ---- at once --------------------------------------------------------------------------------------------- */

static rv_error feed_all(struct rv_encoder *encoder, rv_bytes run, enum rv_encode_goal goal,
                         struct rv_buffer *out)
{
    rv_error error;
    do {
        size_t written, room = run.len / 4 > 1024 ? run.len / 4 : 1024;
        error = rv_buffer_reserve(out, room);
        if (error == 0)
            error = rv_encoder_feed(encoder, &run, goal, out->ptr + out->len, room, &written);
        if (error >= 0)
            out->len += written;
    } while (error == RV_PENDING);
    return error;
}

static rv_error encode_all(struct rv_encoder *encoder, const struct rv_content *content,
                           struct rv_buffer *out)
{
    char room[RV_SHAPER_STEP_BYTES];
    rv_error error = 0;
    for (uint64_t at = 0; error == 0 && at < content->length;) {
        rv_bytes run = run_of(content, at, room, sizeof room);
        if (run.len == 0)
            return RV_EIO;
        at += run.len;
        error = feed_all(encoder, run, at == content->length ? RV_ENCODE_END : RV_ENCODE_ON, out);
    }
    return error;
}

/* On a pool thread what was there must wait for the worker, who alone may release it. */
struct replaced {
    char *octets;
    struct rv_content content;
};

static void release_replaced(void *ctx)
{
    struct replaced *replaced = ctx;
    rv_content_drop(&replaced->content);
    free(replaced->octets);
    free(replaced);
}

/* Puts the coded octets in the place of the content, which they release. */
static rv_error replace(struct rv_content *content, const struct rv_buffer *coded)
{
    struct replaced *replaced = malloc(sizeof *replaced);
    if (replaced == NULL)
        return RV_ENOMEM;
    *replaced = (struct replaced){coded->ptr, *content};
    *content = (struct rv_content){.kind = RV_CONTENT_BORROWED,
                                   .octets = rv_slice(coded->ptr, coded->len),
                                   .length = coded->len,
                                   .release = release_replaced,
                                   .ctx = replaced};
    return 0;
}

static rv_error code_at_once(struct rv_talk *talk, enum rv_coding coding,
                             struct rv_content *content)
{
    struct rv_encoder encoder;
    struct rv_buffer coded = {0};
    rv_error error = rv_encoder_take(talk, coding, rv_shaping_of(talk)->levels[coding], &encoder);
    if (error == 0)
        error = encode_all(&encoder, content, &coded);
    rv_encoder_give(talk, &encoder);
    if (error == 0)
        error = replace(content, &coded);
    if (error != 0)
        rv_buffer_free(&coded);
    return error;
}

/* ---- piece by piece -------------------------------------------------------------------------------------- */

/* A run of the kept content. `*is_last`: its end was reached. */
static int pump_run(struct rv_talk *talk, bool *is_last)
{
    struct rv_shaper *shaper = talk->shaper;
    char room[RV_SHAPER_STEP_BYTES];
    rv_bytes run = run_of(&shaper->content, shaper->pumped, room, sizeof room);
    if (run.len == 0)
        return RV_EIO;
    if (run.len > sizeof room)
        run.len = sizeof room;
    shaper->pumped += run.len;
    *is_last = shaper->pumped == shaper->content.length;
    return rv_shaper_encode(talk, run, *is_last ? RV_ENCODE_END : RV_ENCODE_ON);
}

static int pump(rv_talk *talk, void *ctx)
{
    bool is_last = false;
    int result = RV_OK;
    (void)ctx;
    for (size_t runs = 0; runs < PUMP_BYTES / RV_SHAPER_STEP_BYTES && result == RV_OK && !is_last;
         runs++)
        result = pump_run(talk, &is_last);
    if (result >= 0 && is_last)
        result = rv_send_end(talk, RV_LENGTH_UNKNOWN);
    if (result < 0) {
        talk->cut = true;
    } else if (!is_last) {
        talk->drained = pump;
        talk->wire->want_drain(talk);
    }
    return RV_OK;
}

/* The worker does not wait: what the application may take back is copied. */
static rv_error keep(struct rv_content *content)
{
    if (content->kind != RV_CONTENT_COPIED)
        return 0;
    char *copy = malloc((size_t)content->length);
    if (copy == NULL)
        return RV_ENOMEM;
    memcpy(copy, content->octets.ptr, (size_t)content->length);
    content->kind = RV_CONTENT_BORROWED;
    content->octets.ptr = copy;
    content->release = free;
    content->ctx = copy;
    return 0;
}

static rv_error begin_pump(struct rv_talk *talk, struct rv_shaper *shaper,
                           const struct rv_content *content)
{
    talk->response = RV_RESPONSE_ENDED;
    rv_talk_forget_callbacks(talk);
    shaper->pumps = true;
    shaper->content = *content;
    pump(talk, NULL);
    return talk->cut ? RV_EGONE : 0;
}

/* A pool thread may wait for the client. It leaves the end to the worker. */
static rv_error write_through(struct rv_talk *talk, struct rv_shaper *shaper,
                              const struct rv_content *content)
{
    int result = RV_OK;
    talk->response = RV_RESPONSE_OPEN;
    char room[RV_SHAPER_STEP_BYTES];
    for (uint64_t at = 0; result >= 0 && at < content->length;) {
        rv_bytes run = run_of(content, at, room, sizeof room);
        if (run.len == 0)
            result = RV_EIO;
        else if (run.len > PUMP_BYTES)
            run.len = PUMP_BYTES;
        at += run.len;
        if (result >= 0)
            result = rv_shaper_encode(talk, run, RV_ENCODE_ON);
    }
    talk->written = talk->length;
    if (result >= 0 || shaper->has_sent)
        talk->response = RV_RESPONSE_ENDED;
    if (result < 0 || content->kind == RV_CONTENT_FILE || content->release == NULL) {
        rv_content_drop(content);
        return result < 0 ? result : 0;
    }
    result = rv_send_borrowed(talk, rv_slice("", 0), content->release, content->ctx);
    return result < 0 ? result : 0;
}

/* ---- all together ---------------------------------------------------------------------------------------- */

static rv_error hand_on(struct rv_talk *talk, const char *content_type,
                        const struct rv_content *content)
{
    talk->response = RV_RESPONSE_ENDED;
    if (talk->on_pool)
        return rv_pool_leave_answer(talk, content_type, content);
    return rv_answer_send(talk, content_type, content);
}

/* May it be compressed while it is sent? Not while a body comes in, whose handler would still be told. */
static bool goes_piecewise(const struct rv_talk *talk, const struct rv_content *content)
{
    return content->length > AT_ONCE_BYTES_MAX && talk->body_phase == RV_BODY_NONE &&
           rv_shaping_of(talk)->framing != RV_FRAMING_RAW;
}

/* Compresses. RV_ENOMEM: the content is as it was. `*done`: it is on its way. */
static rv_error code(struct rv_talk *talk, enum rv_coding coding, struct rv_content *content,
                     bool *piecewise)
{
    *piecewise = false;
    if (talk->head_only || !rv_status_has_body(talk->status) || content->length == 0) {
        rv_content_drop(content);
        *content = (struct rv_content){.kind = RV_CONTENT_COPIED, .octets = rv_slice("", 0)};
        return 0;
    }
    if (!goes_piecewise(talk, content))
        return code_at_once(talk, coding, content);
    struct rv_shaper *shaper = rv_shaper_make(talk);
    rv_error error =
        shaper == NULL
            ? RV_ENOMEM
            : rv_encoder_take(talk, coding, rv_shaping_of(talk)->levels[coding], &shaper->encoder);
    if (error == 0 && !talk->on_pool)
        error = keep(content);
    if (error != 0)
        return error;
    shaper->phase = RV_SHAPER_ENCODING;
    *piecewise = true;
    return 0;
}

static bool wants_chunks(const struct rv_talk *talk, const struct rv_content *content)
{
    return rv_shaping_of(talk)->framing == RV_FRAMING_CHUNKED && talk->head.minor > 0 &&
           content->kind != RV_CONTENT_FILE && content->parts == NULL &&
           rv_status_has_body(talk->status);
}

static rv_bytes type_of(const struct rv_talk *talk, const char *content_type)
{
    return talk->type_set ? rv_response_header(talk, "Content-Type") : rv_str(content_type);
}

static rv_error send_shaped(struct rv_talk *talk, struct rv_coding_choice choice,
                            const char *content_type, struct rv_content *content, bool piecewise)
{
    struct rv_fields_before before;
    bool coded = choice.coding != RV_CODING_IDENTITY && rv_status_has_body(talk->status);
    talk->in_pieces = wants_chunks(talk, content) || (coded && talk->head_only);
    talk->length_withheld = coded || talk->in_pieces;
    bool type_moves = (talk->in_pieces || piecewise) && !talk->type_set;
    rv_error error = rv_coding_fields(talk, talk->status, choice,
                                      rv_str(type_moves ? content_type : NULL), &before);
    if (error != 0)
        rv_content_drop(content);
    else if (piecewise)
        error = talk->on_pool ? write_through(talk, talk->shaper, content)
                              : begin_pump(talk, talk->shaper, content);
    else
        error = hand_on(talk, content_type, content);
    if (error != 0 && talk->response != RV_RESPONSE_ENDED) { /* as if nothing had been asked */
        talk->response = RV_RESPONSE_NONE;
        rv_fields_restore(talk, &before);
        rv_shape_drop(talk);
    }
    return error;
}

rv_error rv_shape_answer(struct rv_talk *talk, const char *content_type,
                         const struct rv_content *given)
{
    struct rv_content content = *given;
    uint64_t length = talk->length_set && talk->head_only ? talk->length : content.length;
    struct rv_coding_choice choice =
        rv_choose_coding(talk, talk->status, type_of(talk, content_type), length);
    bool piecewise = false;
    if (!choice.varies && !wants_chunks(talk, &content))
        return hand_on(talk, content_type, &content);
    if (choice.coding != RV_CODING_IDENTITY && code(talk, choice.coding, &content, &piecewise) != 0)
        choice.coding = RV_CODING_IDENTITY; /* no memory: as it is */
    return send_shaped(talk, choice, content_type, &content, piecewise);
}

rv_error rv_send_in_pieces(struct rv_talk *talk, const struct rv_content *content)
{
    rv_error error = talk->wire->begin(talk, RV_LENGTH_UNKNOWN);
    if (error != 0 || talk->head_only || content->length == 0) {
        rv_content_drop(content);
    } else if (content->kind == RV_CONTENT_BORROWED) {
        error = talk->wire->borrowed(talk, content->octets, content->release, content->ctx);
    } else {
        error = talk->wire->piece(talk, content->octets);
        rv_content_drop(content);
    }
    return error == 0 ? talk->wire->end(talk) : error;
}
