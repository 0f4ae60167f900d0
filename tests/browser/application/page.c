/*
 * Pages (application.h): each has the same head and the same way to the others.
 */
#include "application.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PAGE_BYTES 16384 /* of the part in the middle; what is longer is an error, and not cut */

const char *escaped(rv_talk *talk, rv_bytes text)
{
    char *copy = rv_alloc(talk, 6 * text.len + 1), *out = copy;
    if (copy == NULL)
        return "";
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '<':
            out = stpcpy(out, "&lt;");
            break;
        case '>':
            out = stpcpy(out, "&gt;");
            break;
        case '&':
            out = stpcpy(out, "&amp;");
            break;
        case '"':
            out = stpcpy(out, "&quot;");
            break;
        case '\'':
            out = stpcpy(out, "&#39;");
            break;
        default:
            *out++ = text.ptr[i];
        }
    }
    *out = '\0';
    return copy;
}

const char *link_to(rv_talk *talk, const char *path)
{
    rv_bytes mount = rv_mount(talk);
    size_t size = mount.len + strlen(path) + 1;
    char *reference = rv_alloc(talk, size);
    if (reference == NULL)
        return "";
    snprintf(reference, size, "%.*s%s", (int)mount.len, mount.ptr, path);
    const char *link = rv_session_link(talk, reference);
    return link == NULL ? "" : link;
}

int go_to(rv_talk *talk, const char *path)
{
    return rv_redirect(talk, 303, link_to(talk, path));
}

int page(rv_talk *talk, int status, const char *title, const char *format, ...)
{
    static const char around[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"UTF-8\">\n<title>%s</title>\n"
        "<link rel=\"stylesheet\" href=\"/site/site.css\">\n<nav><a href=\"%s\">Home</a> "
        "<a href=\"%s\">Counter</a> <a href=\"%s\">Upload</a> <a href=\"%s\">Files</a> "
        "<a href=\"%s\">Chat</a></nav>\n<h1>%s</h1>\n%s</html>\n";
    va_list arguments;
    if (talk == NULL)
        return RV_EGONE;
    char *middle = rv_alloc(talk, PAGE_BYTES), *whole = rv_alloc(talk, 2 * PAGE_BYTES);
    if (middle == NULL || whole == NULL)
        return RV_ENOMEM;
    va_start(arguments, format);
    int length = vsnprintf(middle, PAGE_BYTES, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= PAGE_BYTES)
        return RV_ELIMIT;
    snprintf(whole, 2 * PAGE_BYTES, around, title, link_to(talk, "/"), link_to(talk, "/counter"),
             link_to(talk, "/upload"), link_to(talk, "/files/"), link_to(talk, "/chat"), title,
             middle);
    rv_set_header(talk, "Cache-Control", "no-store");
    return rv_html(talk, status, whole);
}
