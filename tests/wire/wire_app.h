/*
 * The handlers that the wire cases talk to: one for each behaviour of the library that shows on the
 * wire. run_wire.c uses them in memory, target.c over sockets. What is
 * served at "/" is one of wire_root.h.
 */
#ifndef WIRE_APP_H
#define WIRE_APP_H

#include "wire/wire_root.h"

/* Adds every route to the server's default app. `folder` must live as long as the server. */
rv_error wire_app_add_routes(rv_server *server, enum wire_root root, const char *folder);

/* Waits for the threads that /deferred has started: before rv_server_free. */
void wire_app_join(void);

#endif
