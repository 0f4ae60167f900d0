/*
 * Fields of the response: kept in the talk's arena until the head leaves. What the library sets itself
 * (framing, Date, Server, Connection) is recognised here, so that no response has any of them twice.
 */
#include "http/cookie.h"
#include "http/h1_write.h"
#include "http/scan.h"
#include "server/https.h"
#include "server/talk.h"

#define RV_REASON_BYTES_MAX 128

static bool is(rv_bytes name, const char *wanted)
{
    return rv_bytes_equal_nocase(name, rv_str(wanted));
}

static rv_error check(const struct rv_talk *talk, rv_bytes name, rv_bytes value)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response >= RV_RESPONSE_OPEN)
        return RV_ESTATE;
    if (!rv_is_token(name) || value.ptr == NULL || !rv_field_value_is_valid(value))
        return RV_EINVAL;
    return is(name, "Transfer-Encoding") ? RV_EINVAL : 0;
}

/* RFC 9110 section 7.6.1: an application may end the connection; anything else is not its business. */
static rv_error set_connection(struct rv_talk *talk, rv_bytes value)
{
    rv_bytes option;
    while (rv_bytes_next_element(&value, &option))
        if (is(option, "close"))
            talk->close_asked = true;
        else if (!is(option, "keep-alive"))
            return RV_EINVAL;
    return 0;
}

/* True when the field is not kept as one: it is the library's to write. */
static bool taken_over(struct rv_talk *talk, rv_bytes name, rv_bytes value, rv_error *error)
{
    *error = 0;
    if (is(name, "Content-Length")) {
        uint64_t length;
        if (talk->response == RV_RESPONSE_LEAVING) {
            *error = RV_ESTATE; /* the content is there already */
        } else if (!rv_bytes_to_u64(value, &length) || length > INT64_MAX) {
            *error = RV_EINVAL;
        } else {
            talk->length = length;
            talk->length_set = true;
        }
        return true;
    }
    if (is(name, "Connection")) {
        *error = set_connection(talk, value);
        return true;
    }
    return false;
}

static void note(struct rv_talk *talk, rv_bytes name)
{
    talk->date_set = talk->date_set || is(name, "Date");
    talk->server_set = talk->server_set || is(name, "Server");
    talk->type_set = talk->type_set || is(name, "Content-Type");
}

/* A copy of both in the talk's arena; NULL: no memory. */
static struct rv_response_field *make_field(struct rv_talk *talk, rv_bytes name, rv_bytes value)
{
    struct rv_response_field *field = rv_arena_alloc(&talk->arena, sizeof *field);
    char *name_copy = rv_arena_copy(&talk->arena, name);
    char *value_copy = rv_arena_copy(&talk->arena, value);
    if (field == NULL || name_copy == NULL || value_copy == NULL)
        return NULL;
    *field = (struct rv_response_field){rv_slice(name_copy, name.len),
                                        rv_slice(value_copy, value.len), NULL};
    return field;
}

static rv_error append(struct rv_talk *talk, rv_bytes name, rv_bytes value)
{
    struct rv_response_field *field = make_field(talk, name, value);
    if (field == NULL)
        return RV_ENOMEM;
    *talk->fields_last = field;
    talk->fields_last = &field->next;
    note(talk, name);
    return 0;
}

static void remove_all(struct rv_talk *talk, rv_bytes name)
{
    struct rv_response_field **place = &talk->fields;
    while (*place != NULL) {
        if (rv_bytes_equal_nocase((*place)->name, name))
            *place = (*place)->next;
        else
            place = &(*place)->next;
    }
    talk->fields_last = place;
}

/* Without memory for it the response has none. */
void rv_fields_add_defaults(struct rv_talk *talk, const struct rv_default_fields *defaults)
{
    for (size_t i = 0; i < defaults->count; i++) {
        const struct rv_default_field *wanted = &defaults->fields[i];
        struct rv_response_field *field = rv_arena_alloc(&talk->arena, sizeof *field);
        if (field == NULL)
            return;
        remove_all(talk, wanted->name);
        *field = (struct rv_response_field){wanted->name, wanted->value, NULL}; /* no copies: the
                                                                    server outlives its talks */
        *talk->fields_last = field;
        talk->fields_last = &field->next;
    }
}

void rv_talk_add_policies(struct rv_talk *talk)
{
    rv_fields_add_defaults(talk, &talk->worker->server->defaults);
    rv_https_add_policy(talk);
}

/* Of these a response has one at most, also when it is "added" (RFC 9110 section 5.3). */
static bool is_singular(rv_bytes name)
{
    return is(name, "Date") || is(name, "Server") || is(name, "Content-Type") ||
           is(name, "Location") || is(name, "ETag") || is(name, "Last-Modified") ||
           is(name, "Strict-Transport-Security");
}

rv_error rv_set_header(rv_talk *talk, const char *name, const char *value)
{
    rv_bytes field = rv_str(name), text = rv_bytes_trim(rv_str(value));
    rv_error error = check(talk, field, text);
    if (error != 0 || taken_over(talk, field, text, &error))
        return error;
    remove_all(talk, field);
    return append(talk, field, text);
}

rv_error rv_add_header(rv_talk *talk, const char *name, const char *value)
{
    rv_bytes field = rv_str(name), text = rv_bytes_trim(rv_str(value));
    rv_error error = check(talk, field, text);
    if (error != 0 || taken_over(talk, field, text, &error))
        return error;
    if (is_singular(field))
        remove_all(talk, field);
    return append(talk, field, text);
}

rv_error rv_remove_header(rv_talk *talk, const char *name)
{
    rv_bytes field = rv_str(name);
    rv_error error = check(talk, field, RV_LIT(""));
    if (error != 0)
        return error;
    if (is(field, "Content-Length") && talk->response == RV_RESPONSE_LEAVING)
        return RV_ESTATE;
    if (is(field, "Content-Length"))
        talk->length_set = false;
    else if (is(field, "Connection"))
        talk->close_asked = false;
    remove_all(talk, field);
    talk->date_set = talk->date_set && !is(field, "Date");
    talk->server_set = talk->server_set && !is(field, "Server");
    talk->type_set = talk->type_set && !is(field, "Content-Type");
    return 0;
}

rv_bytes rv_response_header(const rv_talk *talk, const char *name)
{
    const struct rv_response_field *field = talk == NULL ? NULL : talk->fields;
    while (field != NULL && !is(field->name, name))
        field = field->next;
    return field == NULL ? rv_slice(NULL, 0) : field->value;
}

bool rv_response_header_at(const rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    const struct rv_response_field *field = talk == NULL ? NULL : talk->fields;
    for (; field != NULL && index > 0; index--)
        field = field->next;
    if (field == NULL)
        return false;
    *name = field->name;
    *value = field->value;
    return true;
}

int rv_response_status(const rv_talk *talk)
{
    return talk == NULL || talk->response == RV_RESPONSE_NONE ? 0 : talk->status;
}

rv_error rv_set_reason(rv_talk *talk, const char *reason)
{
    rv_bytes text = rv_bytes_trim(rv_str(reason));
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response >= RV_RESPONSE_OPEN)
        return RV_ESTATE;
    if (text.ptr == NULL || text.len > RV_REASON_BYTES_MAX || !rv_field_value_is_valid(text))
        return RV_EINVAL;
    char *copy = rv_arena_copy(&talk->arena, text);
    if (copy == NULL)
        return RV_ENOMEM;
    talk->reason = rv_slice(copy, text.len);
    return 0;
}

/* RFC 9110 section 6.5.1: framing, routing and authentication have no place in a trailer section. */
static bool is_forbidden_in_trailers(rv_bytes name)
{
    static const char *const names[] = {"Transfer-Encoding",
                                        "Content-Length",
                                        "Host",
                                        "Cache-Control",
                                        "Expect",
                                        "Max-Forwards",
                                        "TE",
                                        "Authorization",
                                        "Set-Cookie",
                                        "Content-Encoding",
                                        "Content-Type",
                                        "Content-Range",
                                        "Trailer",
                                        "Connection"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(name, names[i]))
            return true;
    return false;
}

rv_error rv_set_trailer(rv_talk *talk, const char *name, const char *value)
{
    rv_bytes field = rv_str(name), text = rv_bytes_trim(rv_str(value));
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response == RV_RESPONSE_ENDED)
        return RV_ESTATE;
    if (!rv_is_token(field) || text.ptr == NULL || !rv_field_value_is_valid(text) ||
        is_forbidden_in_trailers(field))
        return RV_EINVAL;
    struct rv_response_field *made = make_field(talk, field, text);
    if (made == NULL)
        return RV_ENOMEM;
    struct rv_response_field **last = &talk->trailer_fields;
    while (*last != NULL)
        last = &(*last)->next;
    *last = made;
    return 0;
}

/* ---- cookies ---------------------------------------------------------------------------------------- */

/* RV_EINVAL: not one of the three words that RFC 6265bis has for it. */
static rv_error read_same_site(const char *text, enum rv_same_site *same_site)
{
    rv_bytes word = rv_str(text);
    *same_site = text == NULL                ? RV_SAME_SITE_UNSAID
                 : rv_equals(word, "Lax")    ? RV_SAME_SITE_LAX
                 : rv_equals(word, "Strict") ? RV_SAME_SITE_STRICT
                                             : RV_SAME_SITE_NONE;
    return *same_site != RV_SAME_SITE_NONE || rv_equals(word, "None") ? 0 : RV_EINVAL;
}

void rv_fields_remove_cookie(struct rv_talk *talk, const char *name)
{
    struct rv_response_field **place = &talk->fields;
    size_t length = strlen(name);
    while (*place != NULL) {
        rv_bytes value = (*place)->value;
        if (is((*place)->name, "Set-Cookie") && value.len > length && value.ptr[length] == '=' &&
            memcmp(value.ptr, name, length) == 0)
            *place = (*place)->next;
        else
            place = &(*place)->next;
    }
    talk->fields_last = place;
}

rv_error rv_set_cookie(rv_talk *talk, const char *name, const char *value,
                       const rv_cookie_options *options)
{
    static const rv_cookie_options defaults;
    const rv_cookie_options *with = options == NULL ? &defaults : options;
    struct rv_set_cookie cookie = {.name = rv_str(name),
                                   .value = rv_str(value),
                                   .path = rv_str(with->path),
                                   .domain = rv_str(with->domain),
                                   .max_age_s = with->max_age_s,
                                   .expires = with->expires_s,
                                   .has_max_age = with->max_age_s != 0,
                                   .has_expires = with->expires_s != 0,
                                   .secure = with->secure,
                                   .http_only = with->http_only,
                                   .partitioned = with->partitioned};
    if (talk == NULL)
        return RV_EGONE;
    if (read_same_site(with->same_site, &cookie.same_site) != 0 ||
        rv_set_cookie_check(&cookie) != RV_COOKIE_GOOD)
        return RV_EINVAL;
    char *text = rv_arena_alloc(&talk->arena, rv_set_cookie_room(&cookie) + 1);
    if (text == NULL)
        return RV_ENOMEM;
    text[rv_set_cookie_write(&cookie, text)] = '\0';
    return rv_add_header(talk, "Set-Cookie", text);
}
