/*
 * Forms and sessions of the wire app (wire_state.h). What was understood of a form is answered as lines:
 * "name=value", and "name: filename, type, octets" for its files.
 */
#include "wire/wire_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 8
#define PART_BYTES_MAX 100000
#define SESSION_S 60

/* ---- text ---------------------------------------------------------------------------------------- */

struct text {
    char octets[16384];
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof text->octets - text->used;
    va_start(arguments, format);
    int length = vsnprintf(text->octets + text->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += (size_t)length < room ? (size_t)length : room - 1;
}

static struct text *text_new(rv_talk *talk)
{
    struct text *text = rv_alloc(talk, sizeof *text);
    if (text != NULL)
        text->used = 0;
    return text;
}

static int answer_text(rv_talk *talk, const struct text *text)
{
    return rv_reply(talk, 200, "text/plain; charset=UTF-8", (rv_bytes){text->octets, text->used});
}

/* ---- forms --------------------------------------------------------------------------------------- */

static void say_file(struct text *text, rv_bytes name, rv_bytes filename, rv_bytes type,
                     size_t octets)
{
    say(text, "%.*s: %.*s, %.*s, %zu\n", (int)name.len, name.ptr, (int)filename.len, filename.ptr,
        (int)type.len, type.ptr, octets);
}

/* Query and form together. */
static int show_params(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_bytes name, value;
    rv_form_part part;
    rv_error error = rv_form_check(talk);
    if (error != 0)
        return error;
    struct text *text = text_new(talk);
    if (text == NULL)
        return RV_ENOMEM;
    for (size_t i = 0; rv_param_at(talk, i, &name, &value); i++)
        say(text, "%.*s=%.*s\n", (int)name.len, name.ptr, (int)value.len, value.ptr);
    for (size_t i = 0; rv_form_part_at(talk, i, &part); i++)
        if (part.filename.ptr != NULL)
            say_file(text, part.name, part.filename, part.content_type, part.content.len);
    return answer_text(talk, text);
}

/* ---- forms part by part -------------------------------------------------------------------------- */

struct parts {
    struct text text;
    char line[512]; /* of the part that is open, but for its octets */
    size_t octets;
};

static int open_part(rv_talk *talk, const rv_part *part, void *ctx)
{
    struct parts *parts = ctx;
    rv_bytes name = rv_part_name(part), filename = rv_part_filename(part);
    (void)talk;
    parts->octets = 0;
    snprintf(parts->line, sizeof parts->line, "%.*s: %.*s", (int)name.len, name.ptr,
             (int)filename.len, filename.ptr == NULL ? "" : filename.ptr);
    return RV_OK;
}

static int take_data(rv_talk *talk, rv_bytes octets, void *ctx)
{
    (void)talk;
    ((struct parts *)ctx)->octets += octets.len;
    return RV_OK;
}

static int close_part(rv_talk *talk, void *ctx)
{
    struct parts *parts = ctx;
    (void)talk;
    say(&parts->text, "%s, %zu\n", parts->line, parts->octets);
    return RV_OK;
}

static int answer_parts(rv_talk *talk, void *ctx)
{
    return answer_text(talk, &((struct parts *)ctx)->text);
}

static int show_parts(rv_talk *talk, void *ctx)
{
    static const rv_parts acceptor = {.open = open_part,
                                      .data = take_data,
                                      .close = close_part,
                                      .done = answer_parts,
                                      .parts_max = PARTS_MAX,
                                      .part_bytes_max = PART_BYTES_MAX};
    struct parts *parts = rv_alloc(talk, sizeof *parts);
    (void)ctx;
    if (parts == NULL)
        return RV_ENOMEM;
    memset(parts, 0, sizeof *parts);
    return rv_on_parts(talk, &acceptor, parts);
}

/* ---- sessions ------------------------------------------------------------------------------------ */

static int count_visits(rv_talk *talk, void *ctx)
{
    rv_session *session;
    int64_t visits = 0;
    char text[32];
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    if (error == 0)
        error = rv_session_add_int(session, "visits", 1, &visits);
    if (error != 0)
        return error;
    snprintf(text, sizeof text, "%lld", (long long)visits);
    return rv_text(talk, 200, text);
}

static int log_in(rv_talk *talk, void *ctx)
{
    rv_error error = rv_session_renew(talk);
    return error != 0 ? error : count_visits(talk, ctx);
}

static int log_out(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_found(talk) != NULL ? rv_session_end(talk) : 0;
    return error != 0 ? error : rv_text(talk, 200, "bye");
}

/* ---- the table ----------------------------------------------------------------------------------- */

rv_error wire_state_add(rv_app *app)
{
    static const rv_route_options streamed = {.body = RV_BODY_STREAMED},
                                  pooled = {.run = RV_ON_POOL};
    static const rv_route_entry table[] = {
        {"POST /form", show_params, NULL, NULL, NULL},
        {"POST /parts", show_parts, NULL, &streamed, NULL},
        {"GET /session/count", count_visits, NULL, NULL, NULL},
        {"GET /session/count/on-pool", count_visits, NULL, &pooled, NULL},
        {"GET /session/log-in", log_in, NULL, NULL, NULL},
        {"GET /session/log-out", log_out, NULL, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    rv_error error = rv_sessions(
        app, &(rv_session_options){.timeout_ms = SESSION_S * 1000,
                                   .cookie = {.path = "/session", .max_age_s = SESSION_S}});
    return error != 0 ? error : rv_routes(app, NULL, table);
}
