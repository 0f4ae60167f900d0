/*
 * Telling the program: what failed, and what clients got wrong (rv_hooks). Sentences are ours and static,
 * so that nothing of what a client has sent gets into a log this way.
 */
#ifndef RV_SERVER_TELL_H
#define RV_SERVER_TELL_H

#include "server/talk.h"

/* Something failed while a talk was served: on_error. The thread that runs the talk. */
void rv_tell_failure(const struct rv_talk *talk, rv_error error, const char *doing,
                     const char *detail);

/* What a client has sent is wrong: on_bad_input. `status` is the answer's; 0: none is given for it. The
   first on the thread that runs the talk; the second where there is none. */
void rv_tell_bad_input(const struct rv_talk *talk, int status, const char *doing,
                       const char *detail);
void rv_tell_bad_client(const struct rv_conn *conn, int status, const char *doing,
                        const char *detail);

/* Tells, and answers with rv_problem. */
int rv_refuse_bad_input(struct rv_talk *talk, int status, const char *doing, const char *detail);

/* Does anybody listen? What takes work to find out need not be found out else. */
static inline bool rv_hears_of_bad_input(const struct rv_talk *talk)
{
    return talk->worker->server->options.hooks.on_bad_input != NULL;
}

#endif
