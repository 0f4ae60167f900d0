/*
 * A server to be fuzzed: handlers of every kind, on the sim back end, with small limits. Each talk
 * that reaches a handler has a job, a record of the app's own that outlives the talk: what is
 * called for it, and how often, is required to be as rivulet.h promises - a drain or a delay only
 * when it was asked for, on_gone once and never after an answer, release once. Handlers run on the
 * loop only, so that the same octets always do the same.
 *
 * Responses say in X-Target what they answer, and in X-Content what their content is
 * (conversation.h). Queries choose what a handler does; the numbers in them have defaults:
 *
 *    /whole ?n= octets ?status= ?close=1     /body        echoes a whole body; /sized: 411 without
 *    /borrowed ?n=                                        a length; /trailer shows its X-T
 *    /file /big-file /shrink (it) /no-file   /echo        echoes a streamed body as it comes
 *    /stream ?n= ?k= a piece ?status=        /unread      answers and leaves the body
 *        ?length= promises n + length - 100  /early       answers at the first piece
 *        ?fail= after so many ?borrow=1      /pause       takes each piece after a millisecond
 *        ?trailer=1                          /broken ?n=  fails after n octets of the body;
 *    /ticks ?n= ?k= ?ms=                                  ?answer=1: answers first
 *    /later ?ms= echoes a body, if any       /suspend     until fuzz_app_answer; /suspend-body the
 *    /nothing /twice /begin /begin-fail                   same with its streamed body
 *    /fields ?n= large ones, ?own=1 its own  /suspend/{name}
 *                                            /wake        answers for the oldest suspended one
 *    /verbs ?do= any verbs (verbs.h)         /verbs-body  the same with a streamed body
 *    /form takes a form by parts; /parts ?do= any verbs (forms.h)
 *    /to-disk a form with its files, /to-file/{name} a body (disk.h) ?max= octets, ?… replaces
 *    /param/{name}/{rest...} /cookies /redirect ?to= /problem ?status=
 */
#ifndef FUZZ_APP_H
#define FUZZ_APP_H

#include <rivulet.h>

#include "http/h1_parse.h"

/* A server with these handlers, whose clients rv_test_new makes. Without `with_pieces` there is no
   /verbs-body and no /parts: their answers depend on the pieces that a body comes in. */
rv_server *fuzz_app_server(bool with_pieces);

/* The same, speaking HTTP/2 as well, with small windows. */
rv_server *fuzz_app_server_h2(void);

/* The limits of a head of that server. */
extern const struct rv_h1_limits fuzz_app_limits;

/* Begins a run: there are no jobs. */
void fuzz_app_begin(void);

/* How many talks wait for fuzz_app_answer, those whose client has gone meanwhile among them. */
size_t fuzz_app_suspended(void);

/* Is this one of them? */
bool fuzz_app_is_suspended(rv_handle handle);

/* Answers one of them, from outside: `which` of the suspended, in one of several ways. */
void fuzz_app_answer(rv_server *server, size_t which, unsigned way);

/* Has a handler failed, by design? Then a connection may have been cut. */
bool fuzz_app_has_failed(void);

/* Ends a run, when no client is left: every job must have come to its end. */
void fuzz_app_end(void);

#endif
