/*
 * What the app writes on its responses, so that whoever reads them knows what to expect
 * (conversation.h): the target that is answered, and what the content must be.
 */
#ifndef FUZZ_LABEL_H
#define FUZZ_LABEL_H

#include <rivulet.h>

enum { FUZZ_TARGET_MAX = 256 };

#define FUZZ_LENGTH_OPEN UINT64_MAX /* the pattern's beginning, however long */

/* A verb that must succeed, unless there is no memory. */
bool fuzz_succeeds(rv_error error);

bool fuzz_set_number(rv_talk *talk, const char *name, uint64_t value);

/* `content` is "pattern", "echo" or "any"; `length` is the pattern's. */
void fuzz_label(rv_talk *talk, const char *content, uint64_t length);

#endif
