/*
 * Demands on the query (route_query.h).
 */
#include "server/route_query.h"

#include "http/form.h"
#include "http/uri.h"
#include "server/route_segment.h"

#include <stdlib.h>

/* ---- reading patterns ------------------------------------------------------------------------------------ */

static const char malformed[] = "a query is name, name=value, name={parameter}, {parameter:int} or "
                                "{parameter:date}, several joined by &";

static rv_bytes decode_in_place(rv_bytes text)
{
    return rv_slice(text.ptr, rv_percent_decode(text, true, (char *)(uintptr_t)text.ptr));
}

static bool has_braces(rv_bytes text)
{
    return memchr(text.ptr, '{', text.len) != NULL || memchr(text.ptr, '}', text.len) != NULL;
}

/* What is behind the "=". */
static bool parse_value(rv_bytes text, struct rv_demand *demand)
{
    rv_bytes names[RV_SEGMENT_NAMES_MAX];
    unsigned count;
    switch (rv_segment_parse(text, names, &count)) {
    case RV_SEGMENT_LITERAL:
        demand->kind = RV_DEMAND_EXACT;
        demand->value = decode_in_place(text);
        return true;
    case RV_SEGMENT_INT:
        demand->kind = RV_DEMAND_INT;
        break;
    case RV_SEGMENT_DATE:
        demand->kind = RV_DEMAND_DATE;
        break;
    case RV_SEGMENT_PARAM:
        demand->kind = RV_DEMAND_TEXT;
        break;
    default:
        return false;
    }
    demand->param = names[0];
    return true;
}

static bool parse_one(rv_bytes pair, struct rv_demand *demand)
{
    bool has_value = pair.len > 0 && memchr(pair.ptr, '=', pair.len) != NULL;
    rv_bytes name = rv_bytes_take_until(&pair, '=');
    *demand = (struct rv_demand){.kind = RV_DEMAND_PRESENT};
    if (name.len == 0 || has_braces(name) || !rv_percent_is_valid(name) ||
        !rv_percent_is_valid(pair))
        return false;
    demand->name = decode_in_place(name);
    return !has_value || parse_value(pair, demand);
}

static bool has_name(const struct rv_demands *demands, rv_bytes name)
{
    for (unsigned i = 0; i < demands->count; i++)
        if (rv_bytes_equal(demands->list[i].name, name))
            return true;
    return false;
}

/* First the number of demands, then of those that say more: four fields that cannot overflow. */
static uint32_t rank_of(const struct rv_demands *demands)
{
    static const uint32_t worth[] = {[RV_DEMAND_EXACT] = 1 << 16,
                                     [RV_DEMAND_INT] = 1 << 8,
                                     [RV_DEMAND_DATE] = 1 << 8,
                                     [RV_DEMAND_TEXT] = 1,
                                     [RV_DEMAND_PRESENT] = 0};
    uint32_t rank = demands->count << 24;
    for (unsigned i = 0; i < demands->count; i++)
        rank += worth[demands->list[i].kind];
    return rank;
}

static size_t count_pairs(rv_bytes rest)
{
    size_t count = 1;
    for (size_t i = 0; i < rest.len; i++)
        count += rest.ptr[i] == '&';
    return count;
}

rv_error rv_demands_parse(struct rv_demands *demands, char *query, const char **why)
{
    rv_bytes rest = rv_str(query);
    size_t wanted = count_pairs(rest);
    *why = "at most 16 names of the query";
    if (wanted > RV_DEMANDS_MAX)
        return RV_EINVAL;
    *why = NULL;
    demands->list = calloc(wanted, sizeof *demands->list);
    if (demands->list == NULL)
        return RV_ENOMEM;
    while (demands->count < wanted) {
        struct rv_demand *demand = &demands->list[demands->count];
        *why = malformed;
        if (!parse_one(rv_bytes_take_until(&rest, '&'), demand))
            return RV_EINVAL;
        *why = "each name of the query once";
        if (has_name(demands, demand->name))
            return RV_EINVAL;
        demands->count++;
    }
    *why = NULL;
    demands->rank = rank_of(demands);
    return 0;
}

/* ---- comparing them --------------------------------------------------------------------------------------- */

static bool has_equal(const struct rv_demands *demands, const struct rv_demand *wanted)
{
    for (unsigned i = 0; i < demands->count; i++) {
        const struct rv_demand *demand = &demands->list[i];
        if (demand->kind == wanted->kind && rv_bytes_equal(demand->name, wanted->name) &&
            rv_bytes_equal(demand->value, wanted->value))
            return true;
    }
    return false;
}

/* Names are there once, so that as many, each of which the other has, are the same. */
bool rv_demands_equal(const struct rv_demands *a, const struct rv_demands *b)
{
    for (unsigned i = 0; i < a->count; i++)
        if (!has_equal(b, &a->list[i]))
            return false;
    return a->count == b->count;
}

/* ---- asking queries ------------------------------------------------------------------------------------------ */

bool rv_demand_is_captured(const struct rv_demand *demand)
{
    return demand->param.ptr != NULL && !rv_bytes_equal(demand->param, demand->name);
}

/* The first value of that name, as rv_param has it; empty without a "=". */
static bool find_value(rv_bytes query, rv_bytes wanted, rv_bytes *value)
{
    rv_bytes name;
    while (query.ptr != NULL && rv_pair_next(&query, &name, value))
        if (rv_percent_plus_equal(name, wanted)) {
            if (value->ptr == NULL)
                *value = rv_slice("", 0);
            return true;
        }
    return false;
}

static bool is_met(const struct rv_demand *demand, rv_bytes value)
{
    switch (demand->kind) {
    case RV_DEMAND_EXACT:
        return rv_percent_plus_equal(value, demand->value);
    case RV_DEMAND_INT:
        return rv_segment_is_int(value);
    case RV_DEMAND_DATE:
        return rv_segment_is_date(value, true);
    case RV_DEMAND_TEXT:
        return value.len > 0;
    case RV_DEMAND_PRESENT:
        break;
    }
    return true;
}

bool rv_demands_met(const struct rv_demands *demands, rv_bytes query, rv_bytes *params)
{
    for (unsigned i = 0; i < demands->count; i++) {
        const struct rv_demand *demand = &demands->list[i];
        rv_bytes value;
        if (!find_value(query, demand->name, &value) || !is_met(demand, value))
            return false;
        if (rv_demand_is_captured(demand))
            *params++ = value;
    }
    return true;
}
