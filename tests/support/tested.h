/*
 * A server under test in memory (step 14 of rivulet.h), and clients who talk to it. The fixtures make
 * and free it; a test adds its routes and talks. Clients have numbers and connect when they are first
 * needed; the functions below mean client 0 until as() says otherwise.
 */
#ifndef RV_TESTS_TESTED_H
#define RV_TESTS_TESTED_H

#include "support/answer.h"

extern rv_server *tested;

int tested_set_up(void **state);
int tested_tear_down(void **state);

/* Another server, with these options, in the stead of the one that is there and its clients. */
void tested_with(const rv_server_options *options);

void route(const char *pattern, rv_handler handler, void *ctx);
void route_with(const char *pattern, rv_handler handler, void *ctx, rv_route_options options);

/* From now on this client (0 .. 7) is meant. */
void as(unsigned number);

/* The client itself, for the functions of step 14 that have no shorter form here. */
rv_test *client(void);

/* Sends octets; `say` those of a string. The server must not have closed. */
void say_octets(rv_bytes octets);
void say(const char *text);

/* "METHOD path HTTP/1.1", a Host field and further field lines (each with its CRLF; may be NULL). */
void request(const char *method, const char *path, const char *fields);
void get(const char *path);

void advance_ms(uint64_t ms);

/* The answer that the expectations below have taken last. Of this client; until its next answer. */
struct answer *last_answer(void);

/* The next answer is there, whole, with that status; and with that content. */
void expect_status(int status);
void expect_answer(int status, const char *content);

/* The same of an answer to HEAD, which has no content. */
void expect_head_status(int status);

/* A field of the last answer; NULL: it has none. */
void expect_field(const char *name, const char *value);

/* Nothing (more) has been sent. */
void expect_silence(void);

/* Exactly these octets are what has been sent beyond the answers taken so far. */
void expect_octets(const char *text);

/* Has the server closed its side? */
void expect_closed(void);
void expect_open(void);

/* What the program was told through the on_error hook: how often, and the last time. */
extern unsigned errors_told;
extern rv_error last_error;
extern char last_error_doing[128];

/* The same of the on_bad_input hook. */
extern unsigned bad_inputs_told;
extern int last_bad_status;
extern char last_bad_doing[128], last_bad_detail[128];

/* It was told of one thing since the last look: this. */
void expect_bad_input(int status, const char *doing, const char *detail);

/* A counter of the server. */
#define COUNTER(name) (tested_counters().name)
rv_counter_values tested_counters(void);

#endif
