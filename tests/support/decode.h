/*
 * Reads compressed content back, with the other halves of the libraries that made it.
 */
#ifndef RV_TESTS_DECODE_H
#define RV_TESTS_DECODE_H

#include "http/negotiate.h"

struct decoded {
    size_t length; /* what can be read of it */
    bool whole;    /* and that is all: the coding's own end was reached, and nothing is behind it */
    bool bad;      /* it is not of this coding, or there is too little room */
};

/* A coding that this build does not have decodes nothing. */
struct decoded decode(enum rv_coding coding, rv_bytes octets, char *out, size_t room);

/* The coding of that name; identity for NULL. */
enum rv_coding coding_of_name(const char *name);

#endif
