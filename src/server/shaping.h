/*
 * What an app says about the content of its responses: how it is framed, and whether it is compressed.
 * Here that is read, and decided for one response: which coding it gets, and what its fields say then.
 * What is done about it is shaper.h's business. Apps that say nothing have no record of this, and their
 * responses pay one look at a pointer.
 */
#ifndef RV_SERVER_SHAPING_H
#define RV_SERVER_SHAPING_H

#include "http/encode.h"
#include "server/talk.h"

struct rv_shaping {
    rv_framing framing;
    uint64_t buffered_bytes_max; /* 0: the server's output_high_bytes */
    char *types;                 /* patterns with spaces between; owned; NULL: the usual ones */
    uint64_t bytes_min;
    int levels[RV_CODINGS];             /* as of rv_encoder_begin */
    enum rv_coding codings[RV_CODINGS]; /* in order of preference */
    size_t coding_count;                /* 0: nothing is compressed */
};

/* From an app's options: `*shaping` is NULL when they ask for nothing. What is wrong with them, and the
   option that it is in; RV_NO_MEMORY_TEXT; NULL: nothing. */
const char *rv_shaping_make(const rv_app_options *options, struct rv_shaping **shaping,
                            const char **option);
void rv_shaping_free(struct rv_shaping *shaping);

/* The talk's app has something to say. */
static inline const struct rv_shaping *rv_shaping_of(const struct rv_talk *talk)
{
    return talk->app == NULL ? NULL : talk->app->shaping;
}

/* What is decided for one response. */
struct rv_coding_choice {
    bool varies; /* it depends on Accept-Encoding, whatever has come of that */
    enum rv_coding coding;
};

/* `type` may be absent, `length` RV_LENGTH_UNKNOWN. On the thread that runs the handler. */
struct rv_coding_choice rv_choose_coding(struct rv_talk *talk, int status, rv_bytes type,
                                         uint64_t length);

/* The fields that a response has besides, or has otherwise, for a choice. What was there is kept, so that
   it can be put back. */
struct rv_fields_before {
    struct rv_response_field *fields;
    bool type_set;
};

/* Vary, Content-Encoding, a weak ETag; and Content-Type, if `type` is there. RV_ENOMEM: nothing has
   changed. */
rv_error rv_coding_fields(struct rv_talk *talk, int status, struct rv_coding_choice choice,
                          rv_bytes type, struct rv_fields_before *before);
void rv_fields_restore(struct rv_talk *talk, const struct rv_fields_before *before);

#endif
