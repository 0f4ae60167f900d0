/*
 * What the verbs of whole answers have in common (reply.c, file.c).
 */
#ifndef RV_SERVER_REPLY_H
#define RV_SERVER_REPLY_H

#include "server/talk.h"

/* May this talk be answered with that status now? 0, RV_EGONE, RV_ESTATE or RV_EINVAL. */
rv_error rv_answer_check(const struct rv_talk *talk, int status);

/* Answers a talk that rv_answer_check has let pass. Takes the content over. */
rv_error rv_answer(struct rv_talk *talk, int status, const char *content_type,
                   const struct rv_content *content);

/* Hands an answer that is decided to the wire, and the content with it. After an error the talk is as
   unanswered as before, or cut when its head has left. Worker thread. */
rv_error rv_answer_send(struct rv_talk *talk, const char *content_type,
                        const struct rv_content *content);

#endif
