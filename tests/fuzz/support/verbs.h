/*
 * A handler that the request programs: each letter of the query's "do" is one call of rivulet.h, in
 * whatever order they come, allowed or not. Whatever the library answers, the program goes on; it
 * must survive that, and keep its promises.
 *
 *    r R  answers whole: 10 octets, 20 000 borrowed     b n  begins: 200, 204
 *    P    a problem      F  a file                      w W  writes 100 octets, 5 000
 *    h c l  sets a field, Connection, a Content-Length  o O  ... borrowed: 20 000, 100
 *    t    sets a trailer                                e    ends
 *    d a s  asks for a drain, a delay, an answer from   B u  asks for the body, resumes it
 *         outside: the program goes on there            f    fails; any other letter: nothing
 *    .    returns RV_PENDING, if something has been asked for that will come
 */
#ifndef FUZZ_VERBS_H
#define FUZZ_VERBS_H

#include "fuzz/support/jobs.h"

/* For a route of any kind, on the loop. */
int fuzz_verbs(rv_talk *talk, struct fuzz_job *job);

#endif
