/*
 * Step 2: what was asked. Nouns only: each looks something up in the head, and decodes into the talk's
 * arena where decoding is needed. Every one of them accepts a NULL talk and finds nothing there.
 */
#include "http/cookie.h"
#include "http/form.h"
#include "http/parameters.h"
#include "http/uri.h"
#include "server/h2_conn.h"
#include "server/tell.h"

#include <stdlib.h>

#define NOTHING ((rv_bytes){NULL, 0})

rv_bytes rv_decoded(rv_talk *talk, rv_bytes text, bool plus)
{
    if (!rv_pair_is_encoded(text))
        return text;
    char *out = rv_arena_alloc(&talk->arena, text.len + 1);
    if (out == NULL)
        return NOTHING;
    size_t length = rv_percent_decode(text, plus, out);
    out[length] = '\0';
    return rv_slice(out, length);
}

rv_bytes rv_method(const rv_talk *talk)
{
    return talk == NULL ? NOTHING : rv_talk_span(talk, talk->head.method);
}

rv_bytes rv_target(const rv_talk *talk)
{
    return talk == NULL ? NOTHING : rv_talk_span(talk, talk->head.target);
}

rv_bytes rv_path(const rv_talk *talk)
{
    if (talk == NULL)
        return NOTHING;
    if (talk->path.ptr != NULL)
        return talk->path;
    return rv_talk_span(talk, talk->head.path);
}

rv_bytes rv_path_extension(const rv_talk *talk)
{
    return talk == NULL ? NOTHING : talk->path_extension;
}

rv_bytes rv_path_extension_param(rv_talk *talk, const char *name)
{
    rv_bytes rest = rv_path_extension(talk), wanted = rv_str(name);
    while (rest.len > 0) {
        rv_bytes value = rv_bytes_take_until(&rest, ';'), key = value;
        key = rv_bytes_take_until(&value, '=');
        if (rv_percent_equal(key, wanted))
            return value.ptr > key.ptr + key.len ? rv_decoded(talk, value, false) : rv_slice("", 0);
    }
    return NOTHING;
}

rv_bytes rv_query(const rv_talk *talk)
{
    if (talk == NULL || !talk->head.has_query)
        return NOTHING;
    return rv_talk_span(talk, talk->head.query);
}

rv_bytes rv_host(const rv_talk *talk)
{
    if (talk == NULL || talk->head.authority.length == 0)
        return NOTHING;
    return rv_talk_span(talk, talk->head.authority);
}

rv_bytes rv_host_name(const rv_talk *talk)
{
    return rv_authority_host(rv_host(talk));
}

int rv_port(const rv_talk *talk)
{
    int port = rv_authority_port(rv_host(talk));
    return port >= 0 ? port : talk != NULL && talk->is_tls ? 443 : 80;
}

rv_app *rv_app_of(const rv_talk *talk)
{
    return talk == NULL ? NULL : (rv_app *)talk->app;
}

rv_bytes rv_mount(const rv_talk *talk)
{
    bool has_one = talk != NULL && talk->app != NULL && talk->app->mount != NULL;
    return rv_str(has_one ? talk->app->mount : "");
}

rv_bytes rv_content_type(const rv_talk *talk)
{
    rv_bytes field = rv_header(talk, "Content-Type"), parameters;
    return field.ptr == NULL ? NOTHING : rv_parameters_split(field, &parameters);
}

rv_bytes rv_charset(const rv_talk *talk)
{
    return rv_charset_of(rv_header(talk, "Content-Type"));
}

rv_bytes rv_scheme(const rv_talk *talk)
{
    if (talk == NULL)
        return NOTHING;
    return talk->is_tls ? RV_LIT("https") : RV_LIT("http");
}

rv_bytes rv_peer(const rv_talk *talk)
{
    if (talk == NULL)
        return NOTHING;
    if (talk->peer.ptr != NULL || talk->conn == NULL)
        return talk->peer;
    char text[RV_ADDRESS_TEXT_MAX];
    rv_conn_peer_text(talk->conn, text);
    rv_talk *mine = (rv_talk *)talk; /* a noun for its caller, a cache in here */
    mine->peer = rv_str(rv_arena_copy(&mine->arena, rv_str(text)));
    return mine->peer;
}

int rv_http_major(const rv_talk *talk)
{
    return RV_H2_BUILT && talk != NULL && talk->wire == &rv_h2_wire ? 2 : 1;
}

int rv_http_minor(const rv_talk *talk)
{
    if (talk == NULL)
        return 1;
    return rv_http_major(talk) == 2 ? 0 : talk->head.minor;
}

/* ---- fields ----------------------------------------------------------------------------------------- */

rv_bytes rv_header(const rv_talk *talk, const char *name)
{
    if (talk == NULL)
        return NOTHING;
    const struct rv_field *field = rv_h1_find(talk->octets, &talk->head, rv_str(name));
    return field == NULL ? NOTHING : rv_slice(talk->octets + field->value, field->value_length);
}

bool rv_header_at(const rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    if (talk == NULL || index >= talk->head.field_count)
        return false;
    const struct rv_field *field = &talk->head.fields[index];
    *name = rv_slice(talk->octets + field->name, field->name_length);
    *value = rv_slice(talk->octets + field->value, field->value_length);
    return true;
}

int64_t rv_content_length(const rv_talk *talk)
{
    if (talk == NULL || !talk->head.has_content_length)
        return -1;
    return (int64_t)talk->head.content_length;
}

/* ---- cookies ---------------------------------------------------------------------------------------- */

/* What is no pair is passed over (RFC 6265 section 5.4 lets no browser send it), and told once. */
static void look_at_cookies(struct rv_talk *talk)
{
    rv_bytes field, cookies;
    talk->cookies_told = true;
    for (size_t i = 0; rv_header_at(talk, i, &field, &cookies); i++)
        if (rv_bytes_equal_nocase(field, RV_LIT("cookie")) && !rv_cookies_are_pairs(cookies)) {
            rv_tell_bad_input(talk, 0, "while reading cookies",
                              "What is no name=value was passed over.");
            return;
        }
}

bool rv_cookie_at(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    rv_bytes field, cookies;
    if (talk != NULL && !talk->cookies_told && rv_hears_of_bad_input(talk))
        look_at_cookies(talk);
    for (size_t i = 0; rv_header_at(talk, i, &field, &cookies); i++) {
        if (!rv_bytes_equal_nocase(field, RV_LIT("cookie")))
            continue;
        while (rv_cookie_next(&cookies, name, value))
            if (index-- == 0)
                return true;
    }
    return false;
}

rv_bytes rv_cookie(rv_talk *talk, const char *name)
{
    rv_bytes wanted = rv_str(name), key, value;
    for (size_t i = 0; rv_cookie_at(talk, i, &key, &value); i++)
        if (rv_bytes_equal(key, wanted))
            return value;
    return NOTHING;
}

char *rv_copy(rv_talk *talk, rv_bytes bytes)
{
    return talk == NULL ? NULL : rv_arena_copy(&talk->arena, bytes);
}

void *rv_alloc(rv_talk *talk, size_t size)
{
    return talk == NULL ? NULL : rv_arena_alloc(&talk->arena, size);
}
