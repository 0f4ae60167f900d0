/*
 * HTTP/1 on a connection: it parses requests from what arrives, hands each to a talk, feeds the talk its
 * body, and goes on with the next when the talk is done. Exchanges follow each other: there is never more
 * than one talk.
 *
 *            +------------------ answered, body read, persistent -----------------+
 *            v                                                                    |
 *          HEAD --head complete--> EXCHANGE --answered, body not read--> DRAIN ---+
 *            |                        |                                    |
 *            | refused, timed out     | answered, not persistent           | too much
 *            v                        v                                    v
 *          LINGER (conn_linger.c)                               or closed at once when
 *                                                               everything was read
 *
 * The input buffer exists only while a part of a request is kept, the talk only during an exchange.
 */
#ifndef RV_SERVER_H1_CONN_H
#define RV_SERVER_H1_CONN_H

#include "server/conn.h"

/* A connection that has turned out to speak HTTP/1. */
void rv_h1_conn_begin(struct rv_conn *conn);

/* Does whatever can be done now: called after anything has changed outside of on_data - a talk was
   answered, a body resumed. Never from inside a verb. */
void rv_h1_conn_advance(struct rv_conn *conn);

/* A refusal without a talk, and the end. */
void rv_h1_conn_refuse(struct rv_conn *conn, int status, const char *reason);

/* ---- between h1_conn.c and h1_deadlines.c --------------------------------------------------------------- */

/* Our side is finished; `unread`: the client may still be sending. */
void rv_h1_conn_end(struct rv_conn *conn, bool unread);

/* Is the exchange over, and what comes then? True: the connection can go on (or has ended). `left`:
   octets are there that nobody has read. */
bool rv_h1_finish_exchange(struct rv_conn *conn, bool left);

/* The end of every event: sends, decides whether to read on, sets the timer. */
void rv_h1_conn_settle(struct rv_conn *conn);

void rv_h1_set_deadline(struct rv_conn *conn);
void rv_h1_on_timer(struct rv_stream *stream);

#endif
