/*
 * The reader of parameters (parameters.h): one parameter at a time from the front of a view, quoted
 * values by their quotes, others by what ends them.
 */
#include "http/parameters.h"

#include "http/scan.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip(rv_bytes *text, size_t count)
{
    text->ptr += count;
    text->len -= count;
}

static void skip_blanks(rv_bytes *text)
{
    while (text->len > 0 && is_blank(text->ptr[0]))
        skip(text, 1);
}

rv_bytes rv_parameters_split(rv_bytes field, rv_bytes *parameters)
{
    *parameters = field;
    return rv_bytes_trim(rv_bytes_take_until(parameters, ';'));
}

/* A quoted-string (RFC 9110 section 5.6.4) whose opening quote is text->ptr[0]. */
static bool take_quoted(rv_bytes *text, rv_bytes *value)
{
    for (size_t at = 1; at < text->len; at++) {
        char c = text->ptr[at];
        if (c == '"') {
            *value = rv_slice(text->ptr + 1, at - 1);
            skip(text, at + 1);
            return true;
        }
        if (c == '\\' && ++at == text->len)
            return false;
        if (rv_scan_value_scalar(text->ptr + at, 1) == 0)
            return false;
    }
    return false;
}

static bool take_plain(rv_bytes *text, rv_bytes *value)
{
    size_t at = 0;
    for (; at < text->len && text->ptr[at] != ';' && !is_blank(text->ptr[at]); at++)
        if (text->ptr[at] == '"' || rv_scan_value_scalar(text->ptr + at, 1) == 0)
            return false;
    *value = rv_slice(text->ptr, at);
    skip(text, at);
    return at > 0;
}

enum rv_parameter_result rv_parameter_next(rv_bytes *parameters, struct rv_parameter *parameter)
{
    while (parameters->len > 0 && (is_blank(parameters->ptr[0]) || parameters->ptr[0] == ';'))
        skip(parameters, 1);
    if (parameters->len == 0)
        return RV_PARAMETER_END;

    size_t length = rv_scan_token_scalar(parameters->ptr, parameters->len);
    parameter->name = rv_slice(parameters->ptr, length);
    skip(parameters, length);
    if (length == 0 || parameters->len < 2 || parameters->ptr[0] != '=')
        return RV_PARAMETER_ERROR;
    skip(parameters, 1);
    parameter->is_quoted = parameters->ptr[0] == '"';
    if (parameter->is_quoted ? !take_quoted(parameters, &parameter->value)
                             : !take_plain(parameters, &parameter->value))
        return RV_PARAMETER_ERROR;
    skip_blanks(parameters);
    return parameters->len == 0 || parameters->ptr[0] == ';' ? RV_PARAMETER : RV_PARAMETER_ERROR;
}

enum rv_parameter_result rv_parameter_find(rv_bytes parameters, rv_bytes name,
                                           struct rv_parameter *parameter)
{
    enum rv_parameter_result found = RV_PARAMETER_END, result;
    struct rv_parameter next;
    while ((result = rv_parameter_next(&parameters, &next)) == RV_PARAMETER) {
        if (!rv_bytes_equal_nocase(next.name, name))
            continue;
        if (found == RV_PARAMETER)
            return RV_PARAMETER_ERROR;
        found = RV_PARAMETER;
        *parameter = next;
    }
    return result == RV_PARAMETER_ERROR ? result : found;
}

size_t rv_parameter_decode(const struct rv_parameter *parameter, char *out)
{
    rv_bytes value = parameter->value;
    size_t length = 0;
    for (size_t at = 0; at < value.len; at++) {
        if (parameter->is_quoted && value.ptr[at] == '\\' && at + 1 < value.len)
            at++;
        out[length++] = value.ptr[at];
    }
    return length;
}

rv_bytes rv_charset_of(rv_bytes content_type)
{
    struct rv_parameter charset;
    rv_bytes parameters;
    rv_parameters_split(content_type, &parameters);
    if (rv_parameter_find(parameters, RV_LIT("charset"), &charset) != RV_PARAMETER ||
        !rv_is_token(charset.value))
        return (rv_bytes){0};
    return charset.value;
}
