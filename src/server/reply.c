/*
 * Step 3: whole answers. Each checks what it is given, decides about the talk's verb side, and hands
 * the content to the wire - or, on a pool thread, leaves it with the talk for its worker to send.
 */
#include "server/reply.h"

#include "http/html.h"
#include "http/status.h"
#include "server/after.h"
#include "server/pool.h"
#include "server/shaper.h"
#include "server/wire.h"

#include <stdio.h>

rv_error rv_answer_check(const struct rv_talk *talk, int status)
{
    if (talk == NULL)
        return RV_EGONE;
    if (talk->response != RV_RESPONSE_NONE)
        return RV_ESTATE;
    return status >= 200 && status <= 999 ? 0 : RV_EINVAL;
}

rv_error rv_answer_send(struct rv_talk *talk, const char *content_type,
                        const struct rv_content *content)
{
    rv_error error = talk->in_pieces ? rv_send_in_pieces(talk, content)
                                     : talk->wire->answer(talk, content_type, content);
    if (error == 0)
        return 0;
    if (talk->head_sent)
        talk->cut = true;
    else
        talk->response = RV_RESPONSE_NONE; /* another may be given, if only the library's 500 */
    return error;
}

rv_error rv_answer(struct rv_talk *talk, int status, const char *content_type,
                   const struct rv_content *content)
{
    if (talk->length_set && talk->length != content->length && !talk->head_only &&
        rv_status_has_body(status)) {
        rv_content_drop(content);
        return RV_EINVAL;
    }
    talk->status = status;
    rv_head_leaves(talk);
    if (rv_shaping_of(talk) != NULL)
        return rv_shape_answer(talk, content_type, content);
    talk->response = RV_RESPONSE_ENDED;
    if (talk->on_pool)
        return rv_pool_leave_answer(talk, content_type, content);
    return rv_answer_send(talk, content_type, content);
}

int rv_reply(rv_talk *talk, int status, const char *content_type, rv_bytes body)
{
    rv_error error = rv_answer_check(talk, status);
    if (error != 0)
        return error;
    struct rv_content content = {.kind = RV_CONTENT_COPIED, .octets = body, .length = body.len};
    return rv_answer(talk, status, content_type, &content);
}

int rv_reply_borrowed(rv_talk *talk, int status, const char *content_type, rv_bytes body,
                      void (*release)(void *ctx), void *ctx)
{
    struct rv_content content = {.kind = RV_CONTENT_BORROWED,
                                 .octets = body,
                                 .release = release,
                                 .ctx = ctx,
                                 .length = body.len};
    rv_error error = rv_answer_check(talk, status);
    if (error != 0) {
        rv_content_drop(&content);
        return error;
    }
    return rv_answer(talk, status, content_type, &content);
}

int rv_text(rv_talk *talk, int status, const char *text)
{
    return rv_reply(talk, status, "text/plain; charset=UTF-8", rv_str(text));
}

int rv_html(rv_talk *talk, int status, const char *html)
{
    return rv_reply(talk, status, "text/html; charset=UTF-8", rv_str(html));
}

int rv_json(rv_talk *talk, int status, const char *json)
{
    return rv_reply(talk, status, "application/json", rv_str(json));
}

/* The app's own page. False: it has none, or none for this: the talk is as unanswered as before. */
static bool answer_in_style(struct rv_talk *talk, int status, const char *detail, int *result)
{
    const rv_app_options *style = talk->app == NULL ? NULL : &talk->app->options;
    if (style == NULL || style->on_problem == NULL || talk->in_problem)
        return false;
    talk->in_problem = true;
    *result = style->on_problem(talk, status, detail, style->ctx);
    talk->in_problem = false;
    if (talk->response == RV_RESPONSE_BEGUN || talk->response == RV_RESPONSE_OPEN)
        *result = rv_end(talk); /* nobody else would: this may be no handler's doing */
    return talk->response != RV_RESPONSE_NONE;
}

int rv_problem(rv_talk *talk, int status, const char *detail)
{
    int result;
    rv_error error = rv_answer_check(talk, status);
    if (error != 0)
        return error;
    if (answer_in_style(talk, status, detail, &result))
        return result;
    rv_bytes reason = rv_status_reason(status);
    size_t size = reason.len + (detail == NULL ? 0 : strlen(detail)) + 16;
    char *text = rv_arena_alloc(&talk->arena, size);
    if (text == NULL)
        return RV_ENOMEM;
    snprintf(text, size, "%d %.*s\n%s%s", status, (int)reason.len, reason.ptr,
             detail == NULL ? "" : detail, detail == NULL ? "" : "\n");
    return rv_text(talk, status, text);
}

/* ---- redirects -------------------------------------------------------------------------------------- */

int rv_redirect(rv_talk *talk, int status, const char *location)
{
    rv_error error = rv_answer_check(talk, status);
    if (error != 0)
        return error;
    if (location == NULL ||
        (status != 301 && status != 302 && status != 303 && status != 307 && status != 308))
        return RV_EINVAL;
    error = rv_set_header(talk, "Location", location);
    if (error != 0)
        return error;
    char *page = rv_arena_alloc(&talk->arena, 2 * 6 * strlen(location) + 64);
    if (page == NULL)
        return RV_ENOMEM;
    char *out = RV_PUT(page, "<a href=\"");
    out = rv_html_escape(out, rv_str(location));
    out = RV_PUT(out, "\">");
    out = rv_html_escape(out, rv_str(location));
    out = RV_PUT(out, "</a>\n");
    return rv_reply(talk, status, "text/html; charset=UTF-8", rv_slice(page, (size_t)(out - page)));
}
