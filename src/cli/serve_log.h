/*
 * What `rivulet serve` says on its standard error while it runs: the hooks of its server.
 */
#ifndef RV_CLI_SERVE_LOG_H
#define RV_CLI_SERVE_LOG_H

#include <rivulet.h>

void rv_serve_on_log(rv_server *server, const char *line, void *ctx);
void rv_serve_on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                       const char *detail, void *ctx);

/* A few lines a second at most: clients can cause any number of them. What was left out is counted. */
void rv_serve_on_bad_input(rv_server *server, int status, const char *doing, const char *peer,
                           const char *detail, void *ctx);

#endif
