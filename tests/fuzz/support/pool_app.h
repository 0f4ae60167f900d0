/*
 * A server whose handlers run on the pool, and stop where the target wants them to: the letters of
 * the query's "do" are calls of rivulet.h in any order (most as in verbs.h), and "-" is a gate,
 * which the target opens. So what the worker does meanwhile is part of the input, although threads
 * run.
 *
 *    -   waits at a gate
 *    s   resumes its own talk: the answer comes on the worker, when the handler has returned
 *    .   returns RV_PENDING, if its talk has been resumed
 *    g   what is not allowed on the pool: rv_on_gone, rv_on_drain, rv_after_ms, rv_on_body
 *
 * /to-disk and /to-file/{name} (disk.h) run on the worker, and their steps wait for a pool thread while both
 * are at gates.
 */
#ifndef FUZZ_POOL_APP_H
#define FUZZ_POOL_APP_H

#include <rivulet.h>

enum { FUZZ_POOL_THREADS = 2 };

rv_server *fuzz_pool_server(void);

/* Begins a run: all gates are shut. */
void fuzz_pool_begin(void);

/* Opens the gate of one of those who wait, modulo their number; nobody may. */
void fuzz_pool_open(size_t which);

/* Opens every gate, for good. */
void fuzz_pool_open_all(void);

/* Waits until as many handlers as `expected` are running and each of them waits: at a gate, or for
   room for its output as far as one can tell from outside. False: that has not come about, though
   it should. */
bool fuzz_pool_is_quiet(size_t expected);

/* Ends a run: every handler has returned, every resume was called, nothing is lent. */
void fuzz_pool_end(void);

#endif
