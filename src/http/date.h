/*
 * HTTP dates (RFC 9110 section 5.6.7): IMF-fixdate out; IMF-fixdate, RFC 850 and asctime in, and
 * RFC 3339. Knows no time zones by name and no locale, and reads no clock.
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

/*
 * The dates of programs and forms (RFC 3339): "2026-12-01", its midnight in UTC, or with a time and an
 * offset, "2026-12-01T10:15:30.5+01:00" and "...Z", where the colon of the offset may be missing and the
 * fraction is cut off. Years 0000 to 9999. False for anything else, and for no real date.
 */
bool rv_date_parse_3339(rv_bytes text, int64_t *seconds);

#endif
