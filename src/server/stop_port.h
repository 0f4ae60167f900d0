/*
 * The stop port: whoever sends the four octets "stop" to it stops the server. It listens on 127.0.0.1
 * alone, and is looked after by the thread that runs the server, beside the workers' news. It owns its
 * listener and its few clients; none of them can hold it up.
 */
#ifndef RV_SERVER_STOP_PORT_H
#define RV_SERVER_STOP_PORT_H

#include "server/server.h"

/* Opens it when the options ask for one. The error text names it. */
rv_error rv_stop_port_open(rv_server *server);
void rv_stop_port_close(rv_server *server);

/* Waits for news (rv_server_notify), a signal, or something at the stop port, which is dealt with. */
void rv_stop_port_wait(rv_server *server);

#endif
