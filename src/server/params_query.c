/*
 * From parameters back to a query: for links that lead to the same page with something changed, the next
 * page of a list for instance. What the path says is not in it, since the link's path says it again.
 */
#include "http/form.h"
#include "server/talk.h"

static bool is_among(rv_bytes name, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (rv_equals(name, *names))
            return true;
    return false;
}

/* The next pair behind `*index` that is not to be ignored. */
static bool next(struct rv_talk *talk, const char *const *ignore, size_t *index, rv_bytes *name,
                 rv_bytes *value)
{
    while (rv_param_at(talk, (*index)++, name, value))
        if (!is_among(*name, ignore))
            return true;
    return false;
}

const char *rv_param_query(rv_talk *talk, const char *const *ignore)
{
    if (talk == NULL)
        return "";
    size_t first = talk->route == NULL ? 0 : talk->route->param_count, size = 1;
    rv_bytes name, value;
    for (size_t index = first; next(talk, ignore, &index, &name, &value);)
        size += RV_FORM_ENCODED_MAX * (name.len + value.len) + 2;
    char *text = rv_alloc(talk, size), *out = text;
    if (text == NULL)
        return NULL;
    for (size_t index = first; next(talk, ignore, &index, &name, &value);) {
        if (out > text)
            *out++ = '&';
        out = rv_form_encode(out, name);
        *out++ = '=';
        out = rv_form_encode(out, value);
    }
    *out = '\0';
    return text;
}
