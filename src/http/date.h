/*
 * HTTP dates (RFC 9110 section 5.6.7): IMF-fixdate out; IMF-fixdate, RFC 850 and asctime in. Knows
 * no time zones and no locale, and reads no clock.
 */
#ifndef RV_HTTP_DATE_H
#define RV_HTTP_DATE_H

#include "base/bytes.h"

#define RV_DATE_LENGTH 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* Writes exactly RV_DATE_LENGTH octets, no terminator. Years 1970 to 9999; others are clamped. */
void rv_date_format(char *out, int64_t seconds);

/* False for anything that is none of the three forms, or no real date. `now` settles the century of
   a two-digit year (RFC 850 form): more than 50 years ahead means the past. */
bool rv_date_parse(rv_bytes text, int64_t now, int64_t *seconds);

#endif
