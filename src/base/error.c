/*
 * The texts of the public error list and of the version. Everything here is static and constant, so
 * any thread may ask at any time.
 */
#include <rivulet.h>

const char *rv_strerror(rv_error error)
{
    switch (error) {
    case RV_OK:
        return "success";
    case RV_PENDING:
        return "not finished yet";
    case RV_FULL:
        return "taken, but wait before giving more";
#define RV_ERROR_CASE(name, value, text)                                                           \
    case name:                                                                                     \
        return text;
        RV_ERRORS(RV_ERROR_CASE)
#undef RV_ERROR_CASE
    default:
        return "unknown error";
    }
}

const char *rv_version(void)
{
    return RV_VERSION_TEXT;
}
