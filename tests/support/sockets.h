/*
 * The client's end of real sockets. Nothing here asserts, and everything gives up after ten seconds:
 * threads other than a test's own use it, too.
 */
#ifndef RV_TESTS_SOCKETS_H
#define RV_TESTS_SOCKETS_H

#include "support/answer.h"

/* Connects to "127.0.0.1:80", "[::1]:80", "unix:/path" or "unix:@name"; -1: it could not. */
int dial(const char *address);

/* The same with a receive buffer as small as the kernel allows. */
int dial_narrow(const char *address);

bool send_octets(int socket, rv_bytes octets);
bool send_text(int socket, const char *text);

/* A connection whose answers are read one by one. */
struct caller {
    int socket;
    struct rv_buffer received; /* and not taken yet */
    struct answer answer;      /* the last one */
};

bool caller_dial(struct caller *caller, const char *address);
void caller_close(struct caller *caller);

/* The next answer is there, whole. */
bool caller_receive(struct caller *caller);
bool caller_receive_head(struct caller *caller); /* to a HEAD */

/* Asks with a GET and takes the answer, whose status is returned; 0: there was none. */
int caller_get(struct caller *caller, const char *path);

/* The server has closed (true), with nothing behind the answers taken so far, or reset. */
bool caller_is_ended(struct caller *caller);

/* Octets that arrive until the server closes, or for `wait_ms` at most; how many. */
size_t receive_for(int socket, int wait_ms);

/* Closes with a reset instead of a FIN. */
void hang_up(int socket);

/* True when nobody listens there (any more). */
bool is_refused(const char *address);

#endif
