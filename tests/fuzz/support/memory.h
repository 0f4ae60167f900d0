/*
 * Memory that runs out when a target wants it to. The linker sends every malloc, calloc and realloc
 * of the library and of the app here (cmake/rivulet_tests.cmake); they fail when their turn has
 * come, and are the real ones otherwise. What the judges and the app's records need never fails:
 * they say so.
 */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Begins a run: memory does not run out. */
void fuzz_memory_begin(void);

/* Lets `count` allocations succeed; the next one fails, and with `all` those behind it too, until
   fuzz_memory_is_back. */
void fuzz_memory_runs_out(unsigned count, bool all);
void fuzz_memory_is_back(void);

/* Has an allocation failed in this run? Then whatever was under way may have been given up. */
bool fuzz_memory_has_failed(void);

/* Zeroed, and never NULL. */
void *fuzz_memory_take(size_t size);

#endif
