/*
 * What must hold inside a tested server whenever it has nothing left to do: its timers, counters,
 * connections and talks, looked at from within. What it changes is nobody's.
 */
#ifndef FUZZ_AT_REST_H
#define FUZZ_AT_REST_H

#include <rivulet.h>

/* Between two calls of rv_test functions. Every connection must have a reason to be there: a
   deadline, or a handler that has something coming. `waits_outside(handle)`: does the program still
   hold this talk? */
void fuzz_require_at_rest(const rv_server *server, bool (*waits_outside)(rv_handle handle));

/* Writes over the memory that all connections share and that is nobody's between two calls: whoever
   still looks there will be found out by what it says. */
void fuzz_scribble(const rv_server *server);

/* When the last client has gone: nothing may be left of any of them. */
void fuzz_require_empty(const rv_server *server);

#endif
