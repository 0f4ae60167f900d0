/*
 * Messages that are sent through a session (h2_session.h): heads, interim responses, trailers, and what is to
 * become of a stream.
 */
#include "http/h2_session.h"

#include <stdlib.h>

/* Fields of a message that this side sends; a request or response has a few dozen at most. */
#define FIELDS_ON_STACK 64

/* The library's form of fields, in `room` or on the heap; NULL: no memory. */
static nghttp2_nv *fields_of(const struct rv_h2_field *fields, size_t count, uint8_t flags,
                             nghttp2_nv *room)
{
    nghttp2_nv *values = count <= FIELDS_ON_STACK ? room : malloc(count * sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++)
        values[i] = (nghttp2_nv){(uint8_t *)fields[i].name.ptr, (uint8_t *)fields[i].value.ptr,
                                 fields[i].name.len, fields[i].value.len, flags};
    return values;
}

static void fields_free(nghttp2_nv *values, nghttp2_nv *room)
{
    if (values != room)
        free(values);
}

rv_error rv_h2_respond(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                       size_t count, bool content)
{
    nghttp2_nv room[FIELDS_ON_STACK],
        *values = fields_of(fields, count, NGHTTP2_NV_FLAG_NONE, room);
    if (values == NULL)
        return RV_ENOMEM;
    nghttp2_data_provider provider = {.read_callback = rv_h2_read_content};
    int result = nghttp2_submit_response(h2->session, (int32_t)id, values, count,
                                         content ? &provider : NULL);
    fields_free(values, room);
    return rv_h2_translate(result);
}

rv_error rv_h2_respond_interim(struct rv_h2 *h2, uint32_t id, int status)
{
    char digits[20];
    size_t length = rv_put_decimal(digits, (uint64_t)status);
    nghttp2_nv field = {(uint8_t *)":status", (uint8_t *)digits, 7, length, NGHTTP2_NV_FLAG_NONE};
    return rv_h2_translate(
        nghttp2_submit_headers(h2->session, NGHTTP2_FLAG_NONE, (int32_t)id, NULL, &field, 1, NULL));
}

rv_error rv_h2_trailers(struct rv_h2 *h2, uint32_t id, const struct rv_h2_field *fields,
                        size_t count)
{
    nghttp2_nv room[FIELDS_ON_STACK],
        *values = fields_of(fields, count, NGHTTP2_NV_FLAG_NONE, room);
    if (values == NULL)
        return RV_ENOMEM;
    int result = nghttp2_submit_trailer(h2->session, (int32_t)id, values, count);
    fields_free(values, room);
    return rv_h2_translate(result);
}

rv_error rv_h2_request(struct rv_h2 *h2, const struct rv_h2_field *fields, size_t count,
                       bool content, void *stream, uint32_t *id)
{
    if (nghttp2_session_check_request_allowed(h2->session) == 0)
        return RV_EGONE;
    nghttp2_nv room[FIELDS_ON_STACK], *values = fields_of(fields, count, h2->field_flags, room);
    if (values == NULL)
        return RV_ENOMEM;
    nghttp2_data_provider provider = {.read_callback = rv_h2_read_content};
    int32_t result = nghttp2_submit_request(h2->session, NULL, values, count,
                                            content ? &provider : NULL, stream);
    fields_free(values, room);
    if (result < 0)
        return rv_h2_translate(result);
    if (id != NULL)
        *id = (uint32_t)result;
    return 0;
}

void rv_h2_resume(struct rv_h2 *h2, uint32_t id)
{
    nghttp2_session_resume_data(h2->session, (int32_t)id);
}

rv_error rv_h2_reset(struct rv_h2 *h2, uint32_t id, uint32_t code)
{
    return rv_h2_translate(
        nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, (int32_t)id, code));
}

void rv_h2_consume(struct rv_h2 *h2, uint32_t id, size_t octets)
{
    nghttp2_session_consume(h2->session, (int32_t)id, octets);
}

void rv_h2_forget(struct rv_h2 *h2, uint32_t id)
{
    nghttp2_session_set_stream_user_data(h2->session, (int32_t)id, NULL);
    if (h2->near_id == (int32_t)id)
        h2->near_id = 0;
}
