/*
 * What makes clients come over TLS: redirects from the addresses that do not speak it, and
 * Strict-Transport-Security (RFC 6797) from those that do. Both are options of rv_tls_set.
 */
#ifndef RV_SERVER_HTTPS_H
#define RV_SERVER_HTTPS_H

#include "server/server.h"

/* What is wrong with the value of a Strict-Transport-Security field; NULL: nothing. */
const char *rv_https_policy_fault(const char *value);

/* The listeners are open: which port redirects lead to. */
void rv_https_find_port(rv_server *server);

/* Before anything else is done about a request: true when it has been answered. */
bool rv_https_redirects(struct rv_talk *talk);

/* Puts the policy among the fields of a response that has none yet. */
void rv_https_add_policy(struct rv_talk *talk);

#endif
