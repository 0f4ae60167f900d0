/*
 * Compression of content as it comes: octets in, octets of a content coding out, into memory of the
 * caller's. One interface before zlib, libbrotlienc and libzstd; a library that was built without one
 * of them does not have that coding. What they need to work they take from malloc, from begin to end.
 */
#ifndef RV_HTTP_ENCODE_H
#define RV_HTTP_ENCODE_H

#include "http/negotiate.h"

struct rv_encoder_kind;

/* All zero: not begun, or ended. */
struct rv_encoder {
    const struct rv_encoder_kind *kind;
    void *state; /* the library's, owned */
    enum rv_coding coding;
    int level; /* as asked for */
    bool has_ended;
};

enum rv_encode_goal {
    RV_ENCODE_ON, /* more will come: give out what there is, hold back what may compress better */
    RV_ENCODE_FLUSH, /* all that was put in must be readable from what comes out */
    RV_ENCODE_END    /* nothing will come after these octets */
};

/* The codings that this build has, in the order in which the server prefers them; behind them stands
   RV_CODING_IDENTITY, which is not counted. */
const enum rv_coding *rv_encoder_codings(size_t *count);

/* The highest level of a coding; 0: this build does not have it. */
int rv_encoder_level_max(enum rv_coding coding);

/* `level` 0 is the level for answers that are made while the client waits; else 1..9 for gzip, 1..11
   for br, 1..19 for zstd. RV_EINVAL: this build does not have the coding, or the coding that level;
   RV_ENOMEM. On failure there is nothing to end. */
rv_error rv_encoder_begin(struct rv_encoder *encoder, enum rv_coding coding, int level);

/* The least room that rv_encoder_feed works with. */
#define RV_ENCODE_ROOM_MIN 32

/*
 * Takes octets, shortening `*octets`, and writes up to `room`. RV_OK: all of them are taken and the goal
 * is reached. RV_PENDING: `room` is full; to be called again with what is left, the same goal and new
 * room. RV_ESTATE: the end was reached before. RV_EINVAL: too little room. RV_ENOMEM. After an error
 * there is only rv_encoder_end.
 */
rv_error rv_encoder_feed(struct rv_encoder *encoder, rv_bytes *octets, enum rv_encode_goal goal,
                         char *out, size_t room, size_t *written);

/* Begins anew, with the same coding and level, whatever was under way. False: this coding cannot; then the
   encoder is as it was, and to be ended. */
bool rv_encoder_restart(struct rv_encoder *encoder);

/* Was it begun like that? */
static inline bool rv_encoder_is_like(const struct rv_encoder *encoder, enum rv_coding coding,
                                      int level)
{
    return encoder->kind != NULL && encoder->coding == coding && encoder->level == level;
}

/* Gives back what was taken, at any time, once or more. */
void rv_encoder_end(struct rv_encoder *encoder);

#endif
