/*
 * Queries and urlencoded forms (form.h): one split for both, and for forms the checks around it.
 */
#include "http/form.h"

#include "http/uri.h"

bool rv_pair_next(rv_bytes *pairs, rv_bytes *name, rv_bytes *value)
{
    while (pairs->len > 0) {
        rv_bytes pair = rv_bytes_take_until(pairs, '&');
        if (pair.len == 0)
            continue;
        bool has_value = memchr(pair.ptr, '=', pair.len) != NULL;
        *name = rv_bytes_take_until(&pair, '=');
        *value = has_value ? pair : (rv_bytes){0};
        return true;
    }
    return false;
}

bool rv_pair_is_encoded(rv_bytes text)
{
    return text.len > 0 &&
           (memchr(text.ptr, '%', text.len) != NULL || memchr(text.ptr, '+', text.len) != NULL);
}

void rv_form_init(struct rv_form *form, rv_bytes body, const struct rv_form_limits *limits)
{
    *form = (struct rv_form){.rest = body, .limits = *limits};
}

static enum rv_form_result fail(struct rv_form *form, int status, const char *reason)
{
    form->status = status;
    form->reason = reason;
    form->rest.len = 0;
    return RV_FORM_ERROR;
}

enum rv_form_result rv_form_next(struct rv_form *form, rv_bytes *name, rv_bytes *value)
{
    if (form->status != 0)
        return RV_FORM_ERROR;
    if (!rv_pair_next(&form->rest, name, value))
        return RV_FORM_END;
    if (++form->pairs > form->limits.pairs_max)
        return fail(form, 413, "The form has too many fields.");
    if (name->len > form->limits.name_bytes_max)
        return fail(form, 413, "The name of a form field is too long.");
    if (!rv_percent_is_valid(*name) || !rv_percent_is_valid(*value))
        return fail(form, 400, "A \"%\" in the form is not followed by two hexadecimal digits.");
    if (value->ptr == NULL)
        *value = rv_slice(name->ptr + name->len, 0);
    return RV_FORM_PAIR;
}

/* What the application/x-www-form-urlencoded percent-encode set of the WHATWG leaves as it is. */
static bool stays(char c)
{
    return rv_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '*' || c == '-' ||
           c == '.' || c == '_';
}

char *rv_form_encode(char *out, rv_bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (stays((char)c)) {
            *out++ = (char)c;
        } else if (c == ' ') {
            *out++ = '+';
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    return out;
}
