/*
 * Requests, written once and sent many times (request.h). The field list is made first, with
 * whatever the user puts in the place of ours; then it is checked, and written behind the request
 * line.
 */
#include "load/request.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "http/method.h"
#include "http/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX 256
#define OURS_MAX 8
#define DECIMAL_MAX 21

/* ---- our fields, and the user's in their place ----------------------------------------------- */

/* Those that we would send, in their order; a NULL value: not sent unless the user does. */
struct our_fields {
    struct rv_request_field fields[OURS_MAX];
    bool chunked; /* the user's Transfer-Encoding says so: the body goes out as one chunk */
    char content_length[DECIMAL_MAX];
    char *authorization; /* owned */
    char *proxy_authorization;
};

/* "Basic " and the credentials in base64 (RFC 7617); NULL: no memory. */
static char *basic(const char *credentials)
{
    size_t length = strlen(credentials);
    size_t prefix = strlen("Basic ");
    char *value = malloc(prefix + rv_base64_length(length) + 1);
    if (value == NULL)
        return NULL;
    memcpy(value, "Basic ", prefix);
    value[prefix + rv_base64_encode(credentials, length, value + prefix)] = '\0';
    return value;
}

static void our_fields_free(struct our_fields *ours)
{
    free(ours->authorization);
    free(ours->proxy_authorization);
}

static bool same_name(const char *a, const char *b)
{
    return rv_bytes_equal_nocase(rv_str(a), rv_str(b));
}

static bool list_has(const char *list, rv_bytes option)
{
    rv_bytes rest = rv_str(list);
    rv_bytes element;
    while (rv_bytes_next_element(&rest, &element))
        if (rv_bytes_equal_nocase(element, option))
            return true;
    return false;
}

/* Does one of the user's fields of that name list the option? */
static bool user_lists(const struct rv_request_parts *parts, const char *name, rv_bytes option)
{
    for (size_t i = 0; i < parts->field_count; i++)
        if (same_name(parts->fields[i].name, name) && parts->fields[i].value != NULL &&
            list_has(parts->fields[i].value, option))
            return true;
    return false;
}

static rv_error our_fields_make(const struct rv_request_parts *parts, struct our_fields *ours)
{
    const char *connection = parts->says_close        ? "close"
                             : parts->says_keep_alive ? "keep-alive"
                                                      : NULL;
    memset(ours, 0, sizeof *ours);
    if (parts->credentials != NULL)
        ours->authorization = basic(parts->credentials);
    if (parts->proxy_credentials != NULL)
        ours->proxy_authorization = basic(parts->proxy_credentials);
    if ((parts->credentials != NULL && ours->authorization == NULL) ||
        (parts->proxy_credentials != NULL && ours->proxy_authorization == NULL)) {
        our_fields_free(ours);
        return RV_ENOMEM;
    }
    ours->chunked = parts->has_body && !parts->http2 &&
                    user_lists(parts, "Transfer-Encoding", RV_LIT("chunked"));
    ours->content_length[rv_put_decimal(ours->content_length, parts->body.len)] = '\0';
    const struct rv_request_field fields[OURS_MAX] = {
        {"Host", parts->authority},
        {"User-Agent", parts->user_agent},
        {"Accept", parts->accept},
        {"Connection", connection},
        {"Authorization", ours->authorization},
        {"Proxy-Authorization", ours->proxy_authorization},
        {"Content-Type", parts->has_body ? parts->content_type : NULL},
        {"Content-Length", parts->has_body && !ours->chunked ? ours->content_length : NULL},
    };
    memcpy(ours->fields, fields, sizeof fields);
    return 0;
}

static bool is_ours(const struct our_fields *ours, const char *name)
{
    for (size_t i = 0; i < OURS_MAX; i++)
        if (same_name(ours->fields[i].name, name))
            return true;
    return false;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static rv_error bad(char *why, const char *what, const char *text, const char *reason)
{
    snprintf(why, WHY_MAX, "the %s \"%.100s\" %s", what, text, reason);
    for (char *at = why; *at != '\0'; at++) /* a control octet is nothing for a terminal */
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    return RV_EINVAL;
}

static bool is_value(const char *text)
{
    return text == NULL || rv_scan_value_scalar(text, strlen(text)) == strlen(text);
}

static rv_error check(const struct rv_request_parts *parts, const struct our_fields *ours,
                      char *why)
{
    if (!rv_is_token(rv_str(parts->method)))
        return bad(why, "method", parts->method, "is no token");
    if (parts->target.len == 0 ||
        rv_scan_target_scalar(parts->target.ptr, parts->target.len) != parts->target.len) {
        snprintf(why, WHY_MAX, "the request target is empty or has an octet that no target has");
        return RV_EINVAL;
    }
    for (size_t i = 0; i < OURS_MAX; i++)
        if (!is_value(ours->fields[i].value))
            return bad(why, "field", ours->fields[i].name, "has a control octet in its value");
    for (size_t i = 0; i < parts->field_count; i++) {
        if (!rv_is_token(rv_str(parts->fields[i].name)))
            return bad(why, "field name", parts->fields[i].name, "is no token");
        if (!is_value(parts->fields[i].value))
            return bad(why, "field", parts->fields[i].name, "has a control octet in its value");
    }
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends texts until one fails; `error` keeps the first failure. */
struct writer {
    struct rv_buffer buffer;
    rv_error error;
};

static void put(struct writer *writer, rv_bytes bytes)
{
    if (writer->error == 0 && bytes.len > 0)
        writer->error = rv_buffer_append(&writer->buffer, bytes);
}

static void put_field(struct writer *writer, const struct rv_request_field *field)
{
    if (field->value == NULL)
        return;
    put(writer, rv_str(field->name));
    put(writer, *field->value == '\0' ? RV_LIT(":") : RV_LIT(": "));
    put(writer, rv_str(field->value));
    put(writer, RV_LIT("\r\n"));
}

/* Ours, or what the user puts in its place: perhaps nothing, perhaps several. */
static void put_ours_or_theirs(struct writer *writer, const struct rv_request_field *ours,
                               const struct rv_request_parts *parts)
{
    bool replaced = false;
    for (size_t i = 0; i < parts->field_count; i++) {
        if (!same_name(parts->fields[i].name, ours->name))
            continue;
        replaced = true;
        put_field(writer, &parts->fields[i]);
    }
    if (!replaced)
        put_field(writer, ours);
}

static void put_head(struct writer *writer, const struct rv_request_parts *parts,
                     const struct our_fields *ours)
{
    put(writer, rv_str(parts->method));
    put(writer, parts->target.ptr[0] == '?' ? RV_LIT(" /") : RV_LIT(" "));
    put(writer, parts->target);
    put(writer, parts->http_1_0 ? RV_LIT(" HTTP/1.0\r\n") : RV_LIT(" HTTP/1.1\r\n"));
    for (size_t i = 0; i < OURS_MAX; i++)
        put_ours_or_theirs(writer, &ours->fields[i], parts);
    for (size_t i = 0; i < parts->field_count; i++)
        if (!is_ours(ours, parts->fields[i].name))
            put_field(writer, &parts->fields[i]);
    put(writer, RV_LIT("\r\n"));
}

/* As it is, or as one chunk (RFC 9112 section 7.1). */
static void put_body(struct writer *writer, rv_bytes body, bool chunked)
{
    char size[16];
    if (chunked && body.len > 0) {
        put(writer, rv_slice(size, rv_put_hex(size, body.len)));
        put(writer, RV_LIT("\r\n"));
    }
    put(writer, body);
    if (chunked)
        put(writer, body.len > 0 ? RV_LIT("\r\n0\r\n\r\n") : RV_LIT("0\r\n\r\n"));
}

/* ---- what the engine must know --------------------------------------------------------------- */

/* The user's Connection fields take the place of ours. */
static bool connection_has(const struct rv_request_parts *parts, const struct our_fields *ours,
                           rv_bytes option)
{
    bool replaced = false;
    for (size_t i = 0; i < parts->field_count; i++)
        replaced = replaced || same_name(parts->fields[i].name, "Connection");
    if (replaced)
        return user_lists(parts, "Connection", option);
    for (size_t i = 0; i < OURS_MAX; i++)
        if (same_name(ours->fields[i].name, "Connection") && ours->fields[i].value != NULL)
            return list_has(ours->fields[i].value, option);
    return false;
}

/* Persistence by the rules of the version (RFC 9112 section 9.3). */
static bool asks_close(const struct rv_request_parts *parts, const struct our_fields *ours)
{
    if (connection_has(parts, ours, RV_LIT("close")))
        return true;
    return parts->http_1_0 && !connection_has(parts, ours, RV_LIT("keep-alive"));
}

static rv_error build(const struct rv_request_parts *parts, const struct our_fields *ours,
                      struct rv_load_request *request)
{
    struct writer writer = {0};
    enum rv_method method = rv_method_of(rv_str(parts->method));
    put_head(&writer, parts, ours);
    size_t head_length = writer.buffer.len;
    if (parts->has_body)
        put_body(&writer, parts->body, ours->chunked);
    if (writer.error != 0) {
        rv_buffer_free(&writer.buffer);
        return writer.error;
    }
    *request = (struct rv_load_request){
        .octets = writer.buffer.ptr,
        .length = writer.buffer.len,
        .head_length = head_length,
        .is_head = method == RV_METHOD_HEAD,
        .is_idempotent = rv_method_is_idempotent(method),
        .asks_close = asks_close(parts, ours),
        .content_expected = RV_LENGTH_ANY,
    };
    return 0;
}

rv_error rv_request_build(const struct rv_request_parts *parts, struct rv_load_request *request,
                          char *why)
{
    struct our_fields ours;
    rv_error error = our_fields_make(parts, &ours);
    if (error != 0)
        return error;
    error = check(parts, &ours, why);
    if (error == 0)
        error = build(parts, &ours, request);
    our_fields_free(&ours);
    return error;
}

void rv_request_free(struct rv_load_request *request)
{
    free(request->octets);
    free(request->fields);
    memset(request, 0, sizeof *request);
}
