/*
 * Reading parameters (params.h), and turning them into numbers and choices within ranges.
 */
#include "server/params.h"

#include "http/date.h"
#include "http/form.h"
#include "http/uri.h"
#include "server/body.h"
#include "server/form_parts.h"
#include "server/tell.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#define NOTHING ((rv_bytes){NULL, 0})

static const struct rv_param_table no_table = {.form_error = RV_ENOMEM};

/* ---- the table ---------------------------------------------------------------------------------------- */

static bool has_form(const struct rv_talk *talk)
{
    return talk->body.len > 0 && rv_bytes_equal_nocase(rv_content_type(talk),
                                                       RV_LIT("application/x-www-form-urlencoded"));
}

static void begin_form(const struct rv_talk *talk, struct rv_form *form)
{
    uint64_t most = talk->worker->server->options.limits.form_fields_max;
    struct rv_form_limits limits = {.pairs_max = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most,
                                    .name_bytes_max = UINT32_MAX};
    rv_form_init(form, talk->body, &limits);
}

/* How many pairs the form has; none when it cannot be used. */
static size_t count_form(const struct rv_talk *talk, struct rv_param_table *table)
{
    struct rv_form form;
    rv_bytes name, value;
    enum rv_form_result result;
    size_t count = 0;
    if (rv_body_is_coded(talk)) {
        table->form_status = 415;
        table->form_reason = RV_BODY_CODED;
        table->form_error = RV_EPROTO;
        return 0;
    }
    begin_form(talk, &form);
    while ((result = rv_form_next(&form, &name, &value)) == RV_FORM_PAIR)
        count++;
    if (result == RV_FORM_END)
        return count;
    table->form_status = form.status;
    table->form_reason = form.reason;
    table->form_error = form.status == 413 ? RV_ELIMIT : RV_EPROTO;
    return 0;
}

/* The same of a multipart form; files are no parameters. */
static size_t count_fields(const struct rv_form_parts *form, struct rv_param_table *table)
{
    size_t count = 0;
    table->form_error = form->error;
    table->form_status = form->status;
    table->form_reason = form->reason;
    for (size_t i = 0; i < form->count; i++)
        count += form->parts[i].filename.ptr == NULL;
    return count;
}

static void add_fields(const struct rv_form_parts *form, struct rv_param_table *table)
{
    for (size_t i = 0; i < form->count; i++)
        if (form->parts[i].filename.ptr == NULL)
            table->pairs[table->count++] =
                (struct rv_param_pair){form->parts[i].name, form->parts[i].content, false};
}

static size_t count_query(rv_bytes query)
{
    rv_bytes name, value;
    size_t count = 0;
    while (query.ptr != NULL && rv_pair_next(&query, &name, &value))
        count++;
    return count;
}

static bool add(struct rv_talk *talk, struct rv_param_table *table, rv_bytes name, rv_bytes value)
{
    name = rv_decoded(talk, name, true);
    if (value.ptr == NULL)
        value = rv_slice("", 0);
    table->pairs[table->count++] = (struct rv_param_pair){name, value, rv_pair_is_encoded(value)};
    return name.ptr != NULL;
}

static bool fill(struct rv_talk *talk, struct rv_param_table *table, size_t form_count)
{
    rv_bytes query = rv_query(talk), name, value;
    struct rv_form form;
    bool good = true;
    while (good && query.ptr != NULL && rv_pair_next(&query, &name, &value))
        good = add(talk, table, name, value);
    if (good && rv_form_parts_of(talk) != NULL) {
        add_fields(rv_form_parts_of(talk), table);
        return true;
    }
    begin_form(talk, &form);
    for (; good && form_count > 0; form_count--)
        good = rv_form_next(&form, &name, &value) == RV_FORM_PAIR && add(talk, table, name, value);
    return good;
}

static const struct rv_param_table *table_of(struct rv_talk *talk)
{
    if (talk->param_table != NULL)
        return talk->param_table;
    struct rv_param_table *table = rv_arena_alloc(&talk->arena, sizeof *table);
    if (table == NULL)
        return &no_table;
    *table = (struct rv_param_table){0};
    const struct rv_form_parts *parts = rv_form_parts_of(talk);
    size_t form_count = parts != NULL    ? count_fields(parts, table)
                        : has_form(talk) ? count_form(talk, table)
                                         : 0;
    if (table->form_status != 0 && !talk->form_told) {
        talk->form_told = true;
        rv_tell_bad_input(talk, table->form_status, "while reading a form", table->form_reason);
    }
    size_t count = count_query(rv_query(talk)) + form_count;
    if (count > 0) {
        table->pairs = rv_arena_alloc(&talk->arena, count * sizeof *table->pairs);
        if (table->pairs == NULL || !fill(talk, table, form_count))
            return &no_table;
    }
    talk->param_table = table;
    return table;
}

static rv_bytes value_of(struct rv_talk *talk, struct rv_param_pair *pair)
{
    if (pair->value_is_encoded) {
        pair->value = rv_decoded(talk, pair->value, true);
        pair->value_is_encoded = false;
    }
    return pair->value;
}

/* ---- as they are ---------------------------------------------------------------------------------------- */

/* Those of the path, and then those of the query, in which "+" is a space. */
static rv_bytes route_param(struct rv_talk *talk, unsigned index)
{
    return rv_decoded(talk, talk->params[index], index >= talk->route->path_param_count);
}

/* A parameter of the pattern that is there under that number. */
static bool path_param_at(struct rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    if (talk->route == NULL || index >= talk->route->param_count)
        return false;
    *name = talk->route->param_names[index];
    *value = route_param(talk, (unsigned)index);
    return true;
}

bool rv_param_at(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    if (talk == NULL)
        return false;
    if (path_param_at(talk, index, name, value))
        return true;
    index -= talk->route == NULL ? 0 : talk->route->param_count;
    const struct rv_param_table *table = table_of(talk);
    if (index >= table->count)
        return false;
    *name = table->pairs[index].name;
    *value = value_of(talk, &table->pairs[index]);
    return true;
}

rv_bytes rv_param(rv_talk *talk, const char *name)
{
    rv_bytes wanted = rv_str(name);
    if (talk == NULL)
        return NOTHING;
    for (unsigned i = 0; talk->route != NULL && i < talk->route->param_count; i++)
        if (rv_bytes_equal(talk->route->param_names[i], wanted))
            return route_param(talk, i);
    if (!talk->head.has_query && talk->body.len == 0)
        return NOTHING;
    const struct rv_param_table *table = table_of(talk);
    for (size_t i = 0; i < table->count; i++)
        if (rv_bytes_equal(table->pairs[i].name, wanted))
            return value_of(talk, &table->pairs[i]);
    return NOTHING;
}

rv_error rv_form_check(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    bool is_form = has_form(talk) || rv_form_parts_of(talk) != NULL;
    return is_form ? table_of(talk)->form_error : 0;
}

/* ---- of a type -------------------------------------------------------------------------------------------- */

/* A parameter that must be there. In a form that cannot be used nobody knows what is there. */
static rv_error need(rv_talk *talk, const char *name, rv_bytes *text)
{
    *text = rv_param(talk, name);
    if (text->ptr != NULL)
        return 0;
    rv_error error = rv_form_check(talk);
    return error != 0 && talk != NULL ? error : RV_ENOTFOUND;
}

static bool are_digits(rv_bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!rv_is_digit(text.ptr[i]))
            return false;
    return text.len > 0;
}

rv_error rv_param_int(rv_talk *talk, const char *name, int64_t min, int64_t max, int64_t *value)
{
    rv_bytes text;
    uint64_t magnitude;
    rv_error error = need(talk, name, &text);
    if (error != 0)
        return error;
    bool negative = text.len > 0 && text.ptr[0] == '-';
    rv_bytes digits = negative ? rv_slice(text.ptr + 1, text.len - 1) : text;
    if (!are_digits(digits))
        return RV_EINVAL;
    uint64_t largest = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (!rv_bytes_to_u64(digits, &magnitude) || magnitude > largest)
        return RV_ELIMIT;
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return RV_ELIMIT;
    *value = number;
    return 0;
}

rv_error rv_param_bool(rv_talk *talk, const char *name, bool *value)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    rv_bytes text;
    rv_error error = need(talk, name, &text);
    if (error != 0)
        return error;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (rv_bytes_equal_nocase(text, rv_str(words[i]))) {
            *value = i % 2 == 1;
            return 0;
        }
    return RV_EINVAL;
}

static rv_bytes skip_digits(rv_bytes text, size_t *count)
{
    for (*count = 0; *count < text.len && rv_is_digit(text.ptr[*count]);)
        ++*count;
    return rv_slice(text.ptr + *count, text.len - *count);
}

static rv_bytes skip_one_of(rv_bytes text, const char *octets)
{
    bool is_one = text.len > 0 && text.ptr[0] != '\0' && strchr(octets, text.ptr[0]) != NULL;
    return is_one ? rv_slice(text.ptr + 1, text.len - 1) : text;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or behind the point: less than strtod takes. */
static bool is_decimal(rv_bytes text)
{
    size_t before, behind = 0, exponent = 1;
    text = skip_digits(skip_one_of(text, "+-"), &before);
    if (text.len > 0 && text.ptr[0] == '.')
        text = skip_digits(rv_slice(text.ptr + 1, text.len - 1), &behind);
    rv_bytes rest = skip_one_of(text, "eE");
    if (rest.len < text.len)
        rest = skip_digits(skip_one_of(rest, "+-"), &exponent);
    return before + behind > 0 && exponent > 0 && rest.len == 0;
}

rv_error rv_param_double(rv_talk *talk, const char *name, double min, double max, double *value)
{
    rv_bytes text;
    rv_error error = need(talk, name, &text);
    if (error != 0)
        return error;
    if (!is_decimal(text))
        return RV_EINVAL;
    char *copy = rv_copy(talk, text);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a point is a point in every locale */
    if (copy == NULL || c == (locale_t)0) {
        if (c != (locale_t)0)
            freelocale(c);
        return RV_ENOMEM;
    }
    double number = strtod_l(copy, NULL, c);
    freelocale(c);
    if (!isfinite(number) || !(number >= min && number <= max))
        return RV_ELIMIT;
    *value = number;
    return 0;
}

rv_error rv_param_date(rv_talk *talk, const char *name, int64_t *seconds)
{
    rv_bytes text;
    rv_error error = need(talk, name, &text);
    if (error != 0)
        return error;
    return rv_date_parse_3339(text, seconds) ? 0 : RV_EINVAL;
}

rv_error rv_param_choice(rv_talk *talk, const char *name, const char *const *choices, size_t *index)
{
    rv_bytes text;
    rv_error error = need(talk, name, &text);
    if (error != 0)
        return error;
    for (size_t i = 0; choices[i] != NULL; i++)
        if (rv_equals(text, choices[i])) {
            *index = i;
            return 0;
        }
    return RV_EINVAL;
}
