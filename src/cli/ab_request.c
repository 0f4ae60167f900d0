/*
 * ApacheBench's request (ab_request.h). It is put together here and not by load/request.c because it is
 * to be the same to the octet: the order of its fields, the spelling of their names, and the user's
 * lines as they were given. Servers and their logs, recorded tests and caches that vary by fields then
 * see no other client.
 */
#include "cli/ab_request.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "http/method.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows; after a failure all else is ignored. */
struct text {
    struct rv_buffer buffer;
    bool failed;
};

static void add(struct text *text, rv_bytes octets)
{
    if (!text->failed && octets.len > 0 && rv_buffer_append(&text->buffer, octets) != 0)
        text->failed = true;
}

static void add_string(struct text *text, const char *string)
{
    add(text, rv_str(string));
}

static void add_line(struct text *text, const char *name, const char *value)
{
    add_string(text, name);
    add_string(text, value);
    add_string(text, "\r\n");
}

static void add_credentials(struct text *text, const char *name, const char *credentials)
{
    size_t length = strlen(credentials);
    char *encoded = malloc(rv_base64_length(length) + 1);
    if (encoded == NULL) {
        text->failed = true;
        return;
    }
    encoded[rv_base64_encode(credentials, length, encoded)] = '\0';
    add_line(text, name, encoded);
    free(encoded);
}

/* A proxy is told the whole URL. Neither is told a fragment (RFC 9110 section 7.1). */
static void add_target(struct text *text, const struct rv_ab_command *command)
{
    rv_bytes target = command->url.target;
    if (command->proxy != NULL) {
        const char *begin = command->url_text;
        const char *end = command->url.host.ptr + command->url.host.len;
        end += strcspn(end, "/?#"); /* behind the port */
        if (command->url.scheme.ptr != begin)
            add_string(text, "http://");
        add(text, rv_slice(begin, (size_t)(end - begin)));
    }
    if (target.ptr[0] != '/')
        add_string(text, "/");
    add(text, target);
}

/* One field for all cookies (RFC 6265 section 5.4). */
static void add_cookies(struct text *text, const struct rv_ab_command *command)
{
    if (command->cookie_count == 0)
        return;
    for (size_t i = 0; i < command->cookie_count; i++) {
        add_string(text, i == 0 ? "Cookie: " : "; ");
        add_string(text, command->cookies[i]);
    }
    add_string(text, "\r\n");
}

static bool has_field(const struct rv_ab_command *command, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < command->field_count; i++)
        if (strncasecmp(command->fields[i], name, length) == 0)
            return true;
    return false;
}

static void add_head(struct text *text, const struct rv_ab_command *command, const char *authority,
                     rv_bytes body)
{
    add_string(text, command->method);
    add_string(text, " ");
    add_target(text, command);
    add_string(text, " HTTP/1.0\r\n");
    if (command->keep_alive)
        add_line(text, "Connection: ", "Keep-Alive");
    add_cookies(text, command);
    if (command->credentials != NULL)
        add_credentials(text, "Authorization: Basic ", command->credentials);
    if (command->proxy_credentials != NULL)
        add_credentials(text, "Proxy-Authorization: Basic ", command->proxy_credentials);
    if (command->body_path != NULL) {
        char length[24];
        snprintf(length, sizeof length, "%zu", body.len);
        add_line(text, "Content-length: ", length);
        add_line(text, "Content-type: ", command->content_type);
    }
    for (size_t i = 0; i < command->field_count; i++)
        add_line(text, command->fields[i], "");
    if (!has_field(command, "Host:"))
        add_line(text, "Host: ", authority);
    if (!has_field(command, "User-Agent:"))
        add_line(text, "User-Agent: ", "ApacheBench/2.3");
    if (!has_field(command, "Accept:"))
        add_line(text, "Accept: ", "*/*");
    add_string(text, "\r\n");
}

rv_error rv_ab_request_build(const struct rv_ab_command *command, const char *authority,
                             rv_bytes body, struct rv_load_request *request)
{
    struct text text = {.failed = false};
    enum rv_method method = rv_method_of(rv_str(command->method));
    add_head(&text, command, authority, body);
    size_t head_length = text.buffer.len;
    if (command->body_path != NULL)
        add(&text, body);
    if (text.failed) {
        rv_buffer_free(&text.buffer);
        return RV_ENOMEM;
    }
    *request = (struct rv_load_request){
        .octets = text.buffer.ptr,
        .length = text.buffer.len,
        .head_length = head_length,
        .is_head = method == RV_METHOD_HEAD,
        .is_idempotent = rv_method_is_idempotent(method),
        .asks_close = !command->keep_alive,
        .content_expected = RV_LENGTH_ANY,
    };
    return 0;
}
