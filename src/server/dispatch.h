/*
 * What becomes of a complete head: it is routed to a handler, or answered by the server itself.
 */
#ifndef RV_SERVER_DISPATCH_H
#define RV_SERVER_DISPATCH_H

#include "server/talk.h"

/* `body_follows`: octets behind the head are there already. */
void rv_dispatch(struct rv_talk *talk, bool body_follows);

/* Counts a head that the parser has refused with `status` after `field_count` fields. */
void rv_dispatch_count_refusal(struct rv_worker *worker, int status, uint32_t field_count);

#endif
