/*
 * The preconditions of a request, in the order that RFC 9110 section 13.2.2 lays down. Owns
 * nothing; works on views of the request's fields and on what the caller knows of the
 * representation, which exists, or there would be nothing to call this for.
 */
#include "http/conditional.h"
#include "http/date.h"

static bool is_present(rv_bytes field)
{
    return field.ptr != NULL;
}

static bool is_weak(rv_bytes etag)
{
    return etag.len >= 2 && etag.ptr[0] == 'W' && etag.ptr[1] == '/';
}

static rv_bytes opaque_tag(rv_bytes etag)
{
    return is_weak(etag) ? rv_slice(etag.ptr + 2, etag.len - 2) : etag;
}

/* RFC 9110 section 8.8.3.2: the strong comparison wants two strong tags, the weak one any two. */
static bool etags_match(rv_bytes a, rv_bytes b, bool strong)
{
    if (strong && (is_weak(a) || is_weak(b)))
        return false;
    return rv_bytes_equal(opaque_tag(a), opaque_tag(b));
}

/*
 * The next member of a list of entity tags; commas inside the quotes belong to the tag. Not the
 * general list of base/bytes.h, because an opaque-tag is no quoted-string: a backslash in it is an
 * octet like any other and escapes nothing (section 8.8.3). Members that are no entity tag come out
 * as they are and equal none.
 */
static bool next_etag(rv_bytes *list, rv_bytes *etag)
{
    while (list->len > 0) {
        size_t at = 0;
        bool quoted = false;
        while (at < list->len && (quoted || list->ptr[at] != ',')) {
            if (list->ptr[at] == '"')
                quoted = !quoted;
            at++;
        }
        *etag = rv_bytes_trim(rv_slice(list->ptr, at));
        size_t used = at < list->len ? at + 1 : at;
        list->ptr += used;
        list->len -= used;
        if (etag->len > 0)
            return true;
    }
    return false;
}

/* Does a field of the form "*" or a list of entity tags name our representation? */
static bool names_ours(rv_bytes list, rv_bytes ours, bool strong)
{
    if (rv_bytes_equal(rv_bytes_trim(list), RV_LIT("*")))
        return true;
    if (!is_present(ours))
        return false;
    rv_bytes etag;
    while (next_etag(&list, &etag))
        if (etags_match(etag, ours, strong))
            return true;
    return false;
}

/* A date field counts only when it is a date and ours is known (sections 13.1.3 and 13.1.4). */
static bool date_applies(rv_bytes field, const struct rv_validators *validators, int64_t *seconds)
{
    return is_present(field) && validators->last_modified >= 0 &&
           rv_date_parse(rv_bytes_trim(field), validators->now, seconds);
}

enum rv_condition_result rv_conditions_evaluate(const struct rv_conditions *conditions,
                                                const struct rv_validators *validators,
                                                bool is_get_or_head)
{
    int64_t date;
    /* Steps 1 and 2: an entity tag is the better witness, its presence silences the date. */
    if (is_present(conditions->if_match)) {
        if (!names_ours(conditions->if_match, validators->etag, true))
            return RV_CONDITION_FAILED;
    } else if (date_applies(conditions->if_unmodified_since, validators, &date)) {
        if (validators->last_modified > date)
            return RV_CONDITION_FAILED;
    }
    /* Steps 3 and 4, likewise. */
    if (is_present(conditions->if_none_match)) {
        if (names_ours(conditions->if_none_match, validators->etag, false))
            return is_get_or_head ? RV_CONDITION_NOT_MODIFIED : RV_CONDITION_FAILED;
    } else if (is_get_or_head && date_applies(conditions->if_modified_since, validators, &date)) {
        if (validators->last_modified <= date)
            return RV_CONDITION_NOT_MODIFIED;
    }
    return RV_CONDITION_PASS;
}

bool rv_if_range_allows(const struct rv_conditions *conditions,
                        const struct rv_validators *validators)
{
    if (!is_present(conditions->if_range))
        return true;
    rv_bytes field = rv_bytes_trim(conditions->if_range);
    /* A date has no quote among its first three octets, an entity tag always has. */
    if (memchr(field.ptr, '"', field.len < 3 ? field.len : 3) != NULL)
        return is_present(validators->etag) && etags_match(field, validators->etag, true);
    int64_t date;
    return date_applies(field, validators, &date) && date == validators->last_modified;
}
