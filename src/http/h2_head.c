/*
 * Heads of HTTP/2 requests (h2_head.h).
 */
#include "http/h2_head.h"

#include "http/h2.h"
#include "http/scan.h"
#include "http/uri.h"

void rv_h2_head_begin(struct rv_h2_head *head, const struct rv_h1_limits *limits,
                      struct rv_field *fields)
{
    struct rv_buffer octets = head->octets, cookies = head->cookies;
    octets.len = cookies.len = 0;
    *head = (struct rv_h2_head){
        .limits = *limits, .fields = fields, .octets = octets, .cookies = cookies};
}

void rv_h2_head_free(struct rv_h2_head *head)
{
    rv_buffer_free(&head->octets);
    rv_buffer_free(&head->cookies);
}

/* Keeps octets; nothing when there is no memory. */
static struct rv_span keep(struct rv_h2_head *head, rv_bytes octets)
{
    struct rv_span span = {(uint32_t)head->octets.len, (uint32_t)octets.len};
    if (rv_buffer_append(&head->octets, octets) == 0)
        return span;
    head->no_memory = true;
    return (struct rv_span){0, 0};
}

static enum rv_field_id field_id(rv_bytes name)
{
    if (rv_bytes_equal(name, RV_LIT("host")))
        return RV_FIELD_HOST;
    if (rv_bytes_equal(name, RV_LIT("content-length")))
        return RV_FIELD_CONTENT_LENGTH;
    if (rv_bytes_equal(name, RV_LIT("expect")))
        return RV_FIELD_EXPECT;
    return RV_FIELD_OTHER;
}

static void apply_expect(struct rv_h2_head *head, rv_bytes value)
{
    rv_bytes expectation;
    while (rv_bytes_next_element(&value, &expectation)) {
        if (rv_bytes_equal_nocase(expectation, RV_LIT("100-continue")))
            head->expect_continue = true;
        else
            head->expect_unknown = true;
    }
}

/* Crumbs of a cookie become one field again (RFC 9113 section 8.2.3). */
static void add_cookie(struct rv_h2_head *head, rv_bytes crumb)
{
    if (head->cookie_crumbs++ > 0 && rv_buffer_append(&head->cookies, RV_LIT("; ")) != 0)
        head->no_memory = true;
    if (rv_buffer_append(&head->cookies, crumb) != 0)
        head->no_memory = true;
}

static void add_field(struct rv_h2_head *head, rv_bytes name, rv_bytes value)
{
    if (head->field_count >= head->limits.head_fields_max || name.len > UINT16_MAX) {
        head->refused = true;
        return;
    }
    enum rv_field_id id = field_id(name);
    struct rv_span kept_name = keep(head, name), kept_value = keep(head, value);
    if (id == RV_FIELD_HOST)
        head->host = kept_value;
    else if (id == RV_FIELD_EXPECT)
        apply_expect(head, value);
    else if (id == RV_FIELD_CONTENT_LENGTH)
        head->has_content_length = rv_bytes_to_u64(value, &head->content_length);
    head->fields[head->field_count++] = (struct rv_field){.name = kept_name.at,
                                                          .value = kept_value.at,
                                                          .value_length = kept_value.length,
                                                          .name_length = (uint16_t)kept_name.length,
                                                          .id = (uint16_t)id};
}

static void add_pseudo_field(struct rv_h2_head *head, rv_bytes name, rv_bytes value)
{
    struct rv_span *place = NULL;
    if (rv_bytes_equal(name, RV_LIT(":method")))
        place = &head->method;
    else if (rv_bytes_equal(name, RV_LIT(":path")))
        place = &head->path;
    else if (rv_bytes_equal(name, RV_LIT(":authority")))
        place = &head->authority;
    if (place != NULL)
        *place = keep(head, value);
}

uint32_t rv_h2_head_add(struct rv_h2_head *head, rv_bytes name, rv_bytes value)
{
    head->bytes += name.len + value.len + RV_H2_FIELD_OVERHEAD;
    if (head->bytes > head->limits.head_bytes_max)
        head->refused = true;
    if (head->refused)
        return 0;
    if (name.len == 0)
        return RV_H2_PROTOCOL_ERROR;
    if (name.ptr[0] == ':')
        add_pseudo_field(head, name, value);
    else if (rv_bytes_equal(name, RV_LIT("cookie")))
        add_cookie(head, value);
    else
        add_field(head, name, value);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static rv_bytes text(const struct rv_h2_head *head, struct rv_span span)
{
    return span.length == 0 ? rv_slice("", 0) : rv_span_bytes(head->octets.ptr, span);
}

/* The targets that there are (RFC 9113 section 8.3.1): a path with a query, "*", or none with CONNECT. */
static bool split_path(const struct rv_h2_head *head, struct rv_h1_head *request)
{
    rv_bytes target = text(head, head->path);
    request->target = head->path;
    if (request->method_id == RV_METHOD_CONNECT) {
        request->form = RV_TARGET_AUTHORITY;
        request->target = head->authority;
        return true;
    }
    request->path = head->path;
    if (target.len == 1 && target.ptr[0] == '*') {
        request->form = RV_TARGET_ASTERISK;
        return request->method_id == RV_METHOD_OPTIONS;
    }
    if (target.len == 0 || target.ptr[0] != '/')
        return false;
    size_t length = rv_scan_path(target.ptr, target.len, &request->path_is_plain);
    request->form = RV_TARGET_ORIGIN;
    request->path.length = (uint32_t)length;
    if (length == target.len)
        return true;
    if (target.ptr[length] != '?')
        return false;
    request->has_query = true;
    request->query = (struct rv_span){head->path.at + (uint32_t)length + 1,
                                      head->path.length - (uint32_t)length - 1};
    return rv_scan_target(target.ptr + length, target.len - length) == target.len - length;
}

/* Host may repeat :authority, and stands in for it; it must not say anything else. */
static bool settle_authority(struct rv_h2_head *head, struct rv_h1_head *request)
{
    if (head->authority.length == 0)
        head->authority = head->host;
    else if (head->host.length > 0 &&
             !rv_bytes_equal_nocase(text(head, head->host), text(head, head->authority)))
        return false;
    request->authority = head->authority;
    return head->authority.length > 0 && rv_authority_is_valid(text(head, head->authority));
}

/* Applications look for Host whatever the version. */
static void add_missing(struct rv_h2_head *head)
{
    struct rv_span authority = head->authority;
    if (head->host.length == 0 && authority.length > 0 &&
        head->field_count < head->limits.head_fields_max) {
        struct rv_span name = keep(head, RV_LIT("host"));
        head->fields[head->field_count++] = (struct rv_field){.name = name.at,
                                                              .value = authority.at,
                                                              .value_length = authority.length,
                                                              .name_length = 4,
                                                              .id = RV_FIELD_HOST};
    }
    if (head->cookie_crumbs > 0)
        add_field(head, RV_LIT("cookie"), rv_slice(head->cookies.ptr, head->cookies.len));
}

static int refusal(const struct rv_h2_head *head, const char **reason)
{
    if (head->no_memory) {
        *reason = "The server is out of memory.";
        return 500;
    }
    if (head->refused) {
        *reason = "The request's fields are larger, or more, than the server accepts.";
        return 431;
    }
    if (head->path.length > head->limits.target_bytes_max) {
        *reason = "The target is longer than the server accepts.";
        return 414;
    }
    return 0;
}

int rv_h2_head_finish(struct rv_h2_head *head, bool last, struct rv_h1_head *request,
                      uint32_t *code, const char **reason)
{
    struct rv_field *fields = request->fields;
    *code = 0;
    *request = (struct rv_h1_head){.fields = fields,
                                   .method = head->method,
                                   .method_id = rv_method_of(text(head, head->method)),
                                   .minor = 1,
                                   .keep_alive = true,
                                   .content_length = head->content_length,
                                   .has_content_length = head->has_content_length,
                                   .chunked = !last && !head->has_content_length,
                                   .expect_continue = head->expect_continue,
                                   .expect_unknown = head->expect_unknown};
    int status = refusal(head, reason);
    if (status == 0 && (!split_path(head, request) || !settle_authority(head, request)))
        *code = RV_H2_PROTOCOL_ERROR;
    if (status == 0 && *code == 0) {
        add_missing(head);
        status = refusal(head, reason);
    }
    request->field_count = head->field_count;
    request->length = (uint32_t)head->octets.len;
    return status;
}
