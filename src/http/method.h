/*
 * Request methods (RFC 9110 section 9). The registered ones that matter here have a number, so that
 * routes compare integers; every other token is an extension method and keeps its text.
 */
#ifndef RV_HTTP_METHOD_H
#define RV_HTTP_METHOD_H

#include "base/bytes.h"

#define RV_METHODS(X)                                                                              \
    X(GET) X(HEAD) X(POST) X(PUT) X(DELETE) X(CONNECT) X(OPTIONS) X(TRACE) X(PATCH)

enum rv_method {
    RV_METHOD_EXTENSION = 0,
#define RV_METHOD_ENUM(name) RV_METHOD_##name,
    RV_METHODS(RV_METHOD_ENUM)
#undef RV_METHOD_ENUM
};

/* Case-sensitive (RFC 9110 section 9.1). Never fails: what is not known is an extension. */
enum rv_method rv_method_of(rv_bytes text);

/* Do several do no more than one (RFC 9110 section 9.2.2)? Of an extension nobody knows: false. */
bool rv_method_is_idempotent(enum rv_method method);

#endif
