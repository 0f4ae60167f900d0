/*
 * What a reader of names and values finds in a text, for the tests of forms and of cookies.
 */
#ifndef RV_TESTS_PAIRS_H
#define RV_TESTS_PAIRS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "unit/http/exact_copy.h"

/* Pairs as "name=value", or "name" where the value is absent, with "|" behind each. */
static inline void assert_pairs(bool (*next)(rv_bytes *, rv_bytes *, rv_bytes *), const char *text,
                                const char *expected)
{
    char seen[256] = "";
    size_t length = 0;
    rv_bytes copy = exact_copy(rv_str(text));
    rv_bytes rest = copy;
    rv_bytes name;
    rv_bytes value;
    while (next(&rest, &name, &value)) {
        assert_non_null(name.ptr);
        length += (size_t)snprintf(seen + length, sizeof seen - length, "%.*s%s%.*s|",
                                   (int)name.len, name.ptr, value.ptr != NULL ? "=" : "",
                                   (int)value.len, value.ptr != NULL ? value.ptr : "");
    }
    assert_int_equal(rest.len, 0);
    assert_false(next(&rest, &name, &value));
    if (strcmp(seen, expected) != 0)
        fail_msg("\"%s\" gives \"%s\", not \"%s\"", text, seen, expected);
    give_back(copy);
}

#endif
