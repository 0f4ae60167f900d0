/*
 * A client that speaks HTTP/2: what it keeps beside struct rv_client. Exchanges that wait are in the client's
 * ring, as ever; one that is sent leaves it for a record of its own, a stream's, and comes back only to be
 * sent again. h2_client.c is about the connection, h2_stream.c about one exchange on it.
 *
 *     in the ring --rv_h2_request--> on its way --answered, reset, timed out--> the recorder
 *          ^                              | never looked at: GOAWAY, a race
 *          +------------------------------+
 *
 * A build without HTTP/2 has none of these functions: RV_H2_BUILT is asked first.
 */
#ifndef RV_LOAD_H2_CLIENT_H
#define RV_LOAD_H2_CLIENT_H

#include "load/client.h"

/* Makes client->h2. RV_ENOMEM. */
rv_error rv_h2_client_new(struct rv_client *client);
void rv_h2_client_free(struct rv_client *client);

#endif
