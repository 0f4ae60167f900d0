/*
 * Pairs of names and values: the query of a target and a body of application/x-www-form-urlencoded,
 * which are written alike (WHATWG URL section 5). Works from one view into the caller's memory;
 * allocates nothing. A pair is decoded with rv_percent_decode (uri.h), "+" a space.
 */
#ifndef RV_HTTP_FORM_H
#define RV_HTTP_FORM_H

#include "base/bytes.h"

/* The next name=value pair, both still encoded; `*value` is the absent view when there is no "=".
   Empty pairs are passed over. Shortens `*pairs`. False: no more. Nothing is malformed here: it is how
   a query is read, which no server refuses for its escapes. */
bool rv_pair_next(rv_bytes *pairs, rv_bytes *name, rv_bytes *value);

struct rv_form_limits {
    uint32_t pairs_max;
    uint32_t name_bytes_max; /* encoded */
};

/* A body while it is read. It is strict, where a query is not: a form that was cut or garbled on its
   way must not be taken for what its user has filled in. */
struct rv_form {
    rv_bytes rest;
    struct rv_form_limits limits;
    uint32_t pairs;     /* so far */
    int status;         /* of the refusal, once RV_FORM_ERROR was returned */
    const char *reason; /* its sentence, static */
};

enum rv_form_result {
    RV_FORM_PAIR,
    RV_FORM_END,
    RV_FORM_ERROR /* `status`: 400 for a malformed escape, 413 for a limit; final */
};

void rv_form_init(struct rv_form *form, rv_bytes body, const struct rv_form_limits *limits);

/* Both encoded, but with escapes that all are whole; "a" and "a=" alike have an empty value. */
enum rv_form_result rv_form_next(struct rv_form *form, rv_bytes *name, rv_bytes *value);

/* The most octets that one becomes when it is encoded. */
#define RV_FORM_ENCODED_MAX 3

/* Writes a name or a value as a form does: a space is "+". Returns the end. */
char *rv_form_encode(char *out, rv_bytes text);

/* True when decoding would change the text. */
bool rv_pair_is_encoded(rv_bytes text);

#endif
