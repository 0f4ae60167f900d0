/*
 * The handlers that the wire cases talk to: one for each behaviour of the library that shows on the
 * wire. run_wire.c uses them in memory, target.c over sockets. They hold no state beside the path of
 * the file that is served at "/".
 */
#ifndef WIRE_APP_H
#define WIRE_APP_H

#include <rivulet.h>

/* Adds every route to the server's default app. `file_path` must live as long as the server. */
rv_error wire_app_add_routes(rv_server *server, const char *file_path);

/* Waits for the threads that /deferred has started: before rv_server_free. */
void wire_app_join(void);

#endif
