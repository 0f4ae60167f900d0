/*
 * Labels (label.h). A response that has no memory for all of its label has none: X-Target comes
 * last.
 */
#include "fuzz/support/label.h"

#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"

#include <string.h>

bool fuzz_succeeds(rv_error error)
{
    REQUIRE(error == RV_OK || (error == RV_ENOMEM && fuzz_memory_has_failed()));
    return error == RV_OK;
}

bool fuzz_set_number(rv_talk *talk, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return fuzz_succeeds(rv_set_header(talk, name, text));
}

void fuzz_label(rv_talk *talk, const char *content, uint64_t length)
{
    char text[FUZZ_TARGET_MAX + 1];
    rv_bytes target = rv_target(talk);
    REQUIRE(target.len > 0 && target.len <= FUZZ_TARGET_MAX);
    memcpy(text, target.ptr, target.len);
    text[target.len] = '\0';
    if (length != FUZZ_LENGTH_OPEN && !fuzz_set_number(talk, "X-Length", length))
        return;
    if (fuzz_succeeds(rv_set_header(talk, "X-Content", content)))
        fuzz_succeeds(rv_set_header(talk, "X-Target", text));
}
