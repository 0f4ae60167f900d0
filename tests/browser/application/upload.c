/*
 * Uploads (application.h): files go to a folder while they arrive, and their digests are taken on the way.
 * How far an upload is, its session knows: another page of the same visitor tells.
 */
#include "application.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int show(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return page(talk, 200, "Upload",
                "<form method=\"post\" action=\"%s\" enctype=\"multipart/form-data\">\n"
                "<label>Note <input name=\"note\"></label>\n"
                "<label>Files <input name=\"file\" type=\"file\" multiple></label>\n"
                "<button>Send</button>\n</form>\n<a href=\"%s\">Progress</a>\n",
                link_to(talk, "/upload"), link_to(talk, "/upload/progress"));
}

static void note(rv_talk *talk, uint64_t octets, void *ctx)
{
    rv_session *session = rv_session_found(talk);
    (void)ctx;
    rv_session_set_int(session, "arrived", (int64_t)octets);
    rv_session_set_int(session, "expected", rv_content_length(talk));
}

static int progress(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return page(talk, 200, "Progress",
                "<progress></progress>\n<p id=\"arrived\" data-source=\"%s\"></p>\n"
                "<script src=\"/site/progress.js\"></script>\n",
                link_to(talk, "/upload/arrived"));
}

static int arrived(rv_talk *talk, void *ctx)
{
    int64_t octets = 0, expected = 0;
    char text[50];
    rv_session *session = rv_session_found(talk);
    (void)ctx;
    rv_session_get_int(session, "arrived", &octets);
    rv_session_get_int(session, "expected", &expected);
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64, octets, expected);
    rv_set_header(talk, "Cache-Control", "no-store");
    return rv_text(talk, 200, text);
}

/* A line for each part. Returns where it ends, or NULL: it has no room. */
static char *line(rv_talk *talk, char *out, size_t room, const rv_uploaded *part)
{
    int length;
    if (part->file == NULL) {
        length = snprintf(out, room, "<tr><th>%s<td colspan=\"3\">%s\n", escaped(talk, part->name),
                          escaped(talk, part->value));
    } else {
        char path[320];
        snprintf(path, sizeof path, "/uploads/%s", part->file);
        const char *name = escaped(talk, part->filename);
        length = snprintf(
            out, room, "<tr><th>%s<td><a href=\"%s\" download=\"%s\">%s</a><td>%" PRIu64 "<td>%s\n",
            escaped(talk, part->name), link_to(talk, path), name, name, part->bytes, part->sha256);
    }
    return length < 0 || (size_t)length >= room ? NULL : out + length;
}

static int done(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx)
{
    size_t room = 8192;
    char *lines = talk == NULL ? NULL : rv_alloc(talk, room), *out = lines;
    (void)ctx;
    if (talk == NULL)
        return RV_EGONE;
    if (lines == NULL)
        return RV_ENOMEM;
    *lines = '\0';
    for (size_t i = 0; i < count; i++) {
        out = line(talk, out, room - (size_t)(out - lines), &parts[i]);
        if (out == NULL)
            return RV_ELIMIT;
    }
    return page(talk, 200, "Uploaded", "<table>\n%s</table>\n", lines);
}

static int receive(rv_talk *talk, void *folder)
{
    return rv_upload(
        talk,
        &(rv_upload_options){.directory = folder, .progress = note, .done = done, .sha256 = true},
        NULL);
}

rv_error upload_add(rv_app *app, const char *folder)
{
    rv_error error = rv_route(app, "GET /upload", show, NULL);
    if (error == 0)
        error = rv_route(app, "GET /upload/progress", progress, NULL);
    if (error == 0)
        error = rv_route(app, "GET /upload/arrived", arrived, NULL);
    if (error == 0)
        error = rv_route_with(
            app, "POST /upload", receive, (void *)folder,
            &(rv_route_options){.body = RV_BODY_STREAMED, .body_bytes_max = 1ull << 30});
    return error == 0 ? rv_files(app, "/uploads", folder, NULL) : error;
}
