/*
 * Escaping for HTML (html.h).
 */
#include "http/html.h"

char *rv_html_escape(char *out, rv_bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&':
            out = RV_PUT(out, "&amp;");
            break;
        case '<':
            out = RV_PUT(out, "&lt;");
            break;
        case '>':
            out = RV_PUT(out, "&gt;");
            break;
        case '"':
            out = RV_PUT(out, "&quot;");
            break;
        case '\'':
            out = RV_PUT(out, "&#39;");
            break;
        default:
            *out++ = text.ptr[i];
        }
    }
    return out;
}
