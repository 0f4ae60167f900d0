/*
 * Responses in HTTP/1: octets in the connection's stream.
 */
#ifndef RV_SERVER_H1_WIRE_H
#define RV_SERVER_H1_WIRE_H

#include "server/wire.h"

extern const struct rv_wire rv_h1_wire;

/* A refusal without a talk, `Connection: close`: the head could not be read. */
void rv_h1_wire_refuse(struct rv_conn *conn, int status, const char *reason);

#endif
