/*
 * Status codes (RFC 9110 section 15, RFC 6585) and their reason phrases.
 */
#ifndef RV_HTTP_STATUS_H
#define RV_HTTP_STATUS_H

#include "base/bytes.h"

/* The reason phrase; "Unknown" for a code without one. Static. */
rv_bytes rv_status_reason(int status);

/* False where RFC 9110 section 6.4.1 allows no content: 1xx, 204, 304. */
static inline bool rv_status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

#endif
