/*
 * A peer's end of real sockets, octet by octet (clients who speak HTTP: served.h). Nothing here asserts,
 * and everything gives up after ten seconds: threads other than a test's own use it, too.
 */
#ifndef RV_TESTS_SOCKETS_H
#define RV_TESTS_SOCKETS_H

#include <rivulet.h>

/* Connects to "127.0.0.1:80", "[::1]:80", "unix:/path" or "unix:@name"; -1: it could not. */
int dial(const char *address);

/* The same with a receive buffer as small as the kernel allows. */
int dial_narrow(const char *address);

bool send_octets(int socket, rv_bytes octets);
bool send_text(int socket, const char *text);

/* Octets that arrive until the server closes, or for `wait_ms` at most; how many. */
size_t receive_for(int socket, int wait_ms);

/* Closes with a reset instead of a FIN. */
void hang_up(int socket);

#endif
