/*
 * A client of the server in memory, in the clear or over TLS: what it sends and receives are the octets
 * of HTTP either way. Over TLS what is sent at once is one record in one segment, and a half-close is
 * close_notify before the FIN.
 */
#ifndef WIRE_CLIENT_H
#define WIRE_CLIENT_H

#include <rivulet.h>

struct wire_client;

/* Over TLS it has shaken hands already. NULL: rv_server_error_text may tell. */
struct wire_client *wire_client_new(rv_server *server, bool over_tls);
void wire_client_free(struct wire_client *client);

/* A server that has closed already is no failure. */
void wire_client_send(struct wire_client *client, rv_bytes octets);
void wire_client_half_close(struct wire_client *client);
void wire_client_advance_ms(struct wire_client *client, uint64_t ms);

/* What has come since the last call; lives until the next of any of these. */
rv_bytes wire_client_received(struct wire_client *client);

bool wire_client_closed(const struct wire_client *client);

#endif
