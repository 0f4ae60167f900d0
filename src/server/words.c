/*
 * What the library knows and programs want to know, too: reason phrases, media types, dates.
 */
#include "http/date.h"
#include "http/mime.h"
#include "http/status.h"

#include <assert.h>

static_assert(RV_HTTP_DATE_SIZE == RV_DATE_LENGTH + 1, "a date and its terminator");

const char *rv_status_text(int status)
{
    return rv_status_reason(status).ptr; /* a literal */
}

const char *rv_media_type(const char *path)
{
    return rv_mime_of(rv_str(path));
}

const char *rv_http_date(int64_t seconds, char *text)
{
    rv_date_format(text, seconds);
    text[RV_DATE_LENGTH] = '\0';
    return text;
}
