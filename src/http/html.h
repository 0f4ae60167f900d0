/*
 * Text as HTML text, or as the value of an attribute between quotes of either kind.
 */
#ifndef RV_HTTP_HTML_H
#define RV_HTTP_HTML_H

#include "base/bytes.h"

/* The most that one octet becomes. */
#define RV_HTML_ESCAPED_MAX 6

/* Writes the text with the five octets that mean something in HTML as references. Room for
   RV_HTML_ESCAPED_MAX * text.len; not terminated. Returns where it ends. */
char *rv_html_escape(char *out, rv_bytes text);

#endif
