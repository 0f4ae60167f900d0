/*
 * Views in blocks of exactly their size, so that the sanitizer sees a look behind the end.
 */
#ifndef RV_TESTS_EXACT_COPY_H
#define RV_TESTS_EXACT_COPY_H

#include <stdlib.h>

#include "base/bytes.h"

static inline rv_bytes exact_copy(rv_bytes bytes)
{
    char *copy = malloc(bytes.len > 0 ? bytes.len : 1);
    assert_non_null(copy);
    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    return rv_slice(copy, bytes.len);
}

static inline void give_back(rv_bytes copy)
{
    free((char *)copy.ptr);
}

#endif
