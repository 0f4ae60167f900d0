/*
 * SIGHUP for `rivulet serve`: the certificates are read again. A thread of its own waits for the signal,
 * because reading files is nothing that a handler may do.
 */
#ifndef RV_CLI_SERVE_RELOAD_H
#define RV_CLI_SERVE_RELOAD_H

#include <rivulet.h>

/* From now on, and in the threads that are started later, SIGHUP ends nothing. False: it could not. */
bool rv_serve_reload_start(rv_server *server);

/* Ends the thread; only after a start. */
void rv_serve_reload_stop(void);

#endif
