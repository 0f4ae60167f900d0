/*
 * What a fuzz target insists on. Unlike assert() it is there in every build, and it says what did
 * not hold: a finding is first read as a line in a log. It owns nothing.
 */
#ifndef FUZZ_REQUIRE_H
#define FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

static inline _Noreturn void require_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: required, and not so: %s\n", file, line, what);
    abort();
}

#define REQUIRE(holds) ((holds) ? (void)0 : require_failed(#holds, __FILE__, __LINE__))

#endif
