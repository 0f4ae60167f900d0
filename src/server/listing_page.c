/*
 * The page of a listing (listing.h): where one is, each step of it a link, and a line for each entry.
 * All links are relative, so that the page knows nothing of prefixes, mounts and hosts.
 */
#include "server/listing.h"

#include "http/html.h"
#include "http/uri.h"

#include <stdio.h>
#include <time.h>

#define ROW_BYTES 256 /* of a line, without name, link and parameters */

static const char head_start[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"UTF-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>/";
static const char head_end[] = "</title>\n<style>\nbody { font-family: sans-serif; margin: 2em }\n"
                               "td, th { padding: 0.1em 1.5em 0.1em 0; text-align: left }\n"
                               "td.number { text-align: right }\n</style>\n</head>\n<body>\n<h1>";
static const char table_start[] = "</h1>\n<table>\n<tr><th>Name</th><th>Size</th>"
                                  "<th>Modified (UTC)</th></tr>\n";

static rv_error put(struct rv_buffer *page, const char *text)
{
    return rv_buffer_append(page, rv_str(text));
}

static rv_error put_escaped(struct rv_buffer *page, rv_bytes text)
{
    rv_error error = rv_buffer_reserve(page, RV_HTML_ESCAPED_MAX * text.len);
    if (error == 0)
        page->len = (size_t)(rv_html_escape(page->ptr + page->len, text) - page->ptr);
    return error;
}

/* ---- where one is ----------------------------------------------------------------------------------------- */

static size_t depth_of(const char *path)
{
    size_t depth = *path != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* A link to the directory so many levels up. */
static rv_error put_step(const struct rv_listing *listing, struct rv_buffer *page, size_t up,
                         rv_bytes name)
{
    rv_error error = put(page, "<a href=\"./");
    for (size_t i = 0; i < up && error == 0; i++)
        error = put(page, "../");
    if (error == 0 && listing->parameters.ptr != NULL)
        error = put(page, ";");
    if (error == 0)
        error = put_escaped(page, listing->parameters);
    if (error == 0)
        error = put(page, "\">");
    if (error == 0)
        error = put_escaped(page, name);
    return error == 0 ? put(page, "/</a>") : error;
}

static rv_error put_steps(const struct rv_listing *listing, struct rv_buffer *page)
{
    size_t up = depth_of(listing->path);
    rv_bytes rest = rv_str(listing->path);
    rv_error error = put_step(listing, page, up, rv_slice("", 0));
    while (up > 0 && error == 0)
        error = put_step(listing, page, --up, rv_bytes_take_until(&rest, '/'));
    return error;
}

/* ---- a line ------------------------------------------------------------------------------------------------- */

static int print_size(char *out, size_t room, uint64_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)size;
    size_t unit = 0;
    for (; amount >= 1023.95 && unit + 1 < sizeof units / sizeof *units; unit++)
        amount /= 1024;
    return snprintf(out, room, unit == 0 ? "%.0f %s" : "%.1f %s", amount, units[unit]);
}

static void print_time(char *out, size_t room, int64_t seconds)
{
    time_t time = (time_t)seconds;
    struct tm parts;
    *out = '\0';
    if (gmtime_r(&time, &parts) != NULL && strftime(out, room, "%Y-%m-%d %H:%M", &parts) == 0)
        *out = '\0';
}

static rv_error put_entry(const struct rv_listing *listing, struct rv_buffer *page,
                          const struct rv_listed *entry)
{
    rv_bytes name = rv_str(entry->name);
    char size[32] = "", modified[64];
    /* Its link is escaped by percents, which leave nothing that HTML would take for its own but "&". */
    rv_error error = rv_buffer_reserve(page, ROW_BYTES + 2 * 3 * RV_HTML_ESCAPED_MAX * name.len +
                                                 RV_HTML_ESCAPED_MAX * listing->parameters.len);
    if (error != 0)
        return error;
    if (!entry->is_directory)
        print_size(size, sizeof size, entry->size);
    print_time(modified, sizeof modified, entry->modified_s);
    char link[3 * 256];
    if (name.len > 255)
        return 0; /* no file system has such names, and none is served */
    rv_bytes encoded = rv_slice(link, rv_percent_encode_path(name, link));
    rv_bytes slash = entry->is_directory ? RV_LIT("/") : rv_slice("", 0);
    char *out = RV_PUT(page->ptr + page->len, "<tr><td><a href=\"");
    out = rv_put(rv_html_escape(out, encoded), slash);
    if (listing->parameters.ptr != NULL)
        out = rv_html_escape(RV_PUT(out, ";"), listing->parameters);
    out = RV_PUT(out, "\">");
    out = rv_put(rv_html_escape(out, name), slash);
    out = RV_PUT(out, "</a></td><td class=\"number\">");
    out = rv_put(out, rv_str(size));
    out = RV_PUT(out, "</td><td>");
    out = rv_put(out, rv_str(modified));
    out = RV_PUT(out, "</td></tr>\n");
    page->len = (size_t)(out - page->ptr);
    return 0;
}

rv_error rv_listing_write(const struct rv_listing *listing, struct rv_buffer *page)
{
    rv_error error = put(page, head_start);
    if (error == 0)
        error = put_escaped(page, rv_str(listing->path));
    if (error == 0)
        error = put(page, head_end);
    if (error == 0)
        error = put_steps(listing, page);
    if (error == 0)
        error = put(page, table_start);
    for (size_t i = 0; i < listing->count && error == 0; i++)
        error = put_entry(listing, page, &listing->entries[i]);
    if (error == 0)
        error = put(page, "</table>\n");
    if (error == 0 && listing->cut)
        error = put(page, "<p>There is more: only the first of its names are listed.</p>\n");
    return error == 0 ? put(page, "</body>\n</html>\n") : error;
}
