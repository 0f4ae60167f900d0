/*
 * The media type of a file by its extension.
 */
#ifndef RV_HTTP_MIME_H
#define RV_HTTP_MIME_H

#include "base/bytes.h"

/* Such as "text/html; charset=UTF-8"; "application/octet-stream" for what is not known. Static. The
   extension is what follows the last dot of the last segment, any case. */
const char *rv_mime_of(rv_bytes path);

#endif
