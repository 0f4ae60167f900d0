/*
 * The request methods that have a number (method.h). One list gives the enum and the
 * comparisons; the length is looked at first, so that each text is compared with two others at
 * most.
 */
#include "http/method.h"

enum rv_method rv_method_of(rv_bytes text)
{
#define RV_METHOD_MATCH(name)                                                                      \
    if (text.len == sizeof(#name) - 1 && memcmp(text.ptr, #name, sizeof(#name) - 1) == 0)          \
        return RV_METHOD_##name;
    RV_METHODS(RV_METHOD_MATCH)
#undef RV_METHOD_MATCH
    return RV_METHOD_EXTENSION;
}

bool rv_method_is_idempotent(enum rv_method method)
{
    switch (method) {
    case RV_METHOD_GET:
    case RV_METHOD_HEAD:
    case RV_METHOD_PUT:
    case RV_METHOD_DELETE:
    case RV_METHOD_OPTIONS:
    case RV_METHOD_TRACE:
        return true;
    default:
        return false;
    }
}
