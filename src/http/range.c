/*
 * The Range field against the size of a representation: some ranges, none that applies, or none that
 * can be satisfied. Owns nothing; what is sent then is the caller's affair.
 */
#include "http/range.h"

/* What one range-spec is. */
enum spec_result { SPEC_MALFORMED, SPEC_SATISFIABLE, SPEC_UNSATISFIABLE };

/* 1*DIGIT; a number past 2^64 - 1 becomes 2^64 - 1, which no representation reaches. */
static bool read_position(rv_bytes digits, uint64_t *position)
{
    uint64_t value = 0;
    if (digits.len == 0)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (!rv_is_digit(digits.ptr[i]))
            return false;
        uint64_t digit = (uint64_t)(digits.ptr[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            value = UINT64_MAX;
        else
            value = value * 10 + digit;
    }
    *position = value;
    return true;
}

/* suffix-range, "-" 1*DIGIT: the last octets of the representation. */
static enum spec_result read_suffix(rv_bytes digits, uint64_t size, struct rv_range *range)
{
    uint64_t wanted;
    if (!read_position(digits, &wanted))
        return SPEC_MALFORMED;
    if (wanted == 0 || size == 0)
        return SPEC_UNSATISFIABLE;
    range->length = wanted < size ? wanted : size;
    range->first = size - range->length;
    return SPEC_SATISFIABLE;
}

/* int-range, 1*DIGIT "-" [ 1*DIGIT ]. */
static enum spec_result read_int_range(rv_bytes first_digits, rv_bytes last_digits, uint64_t size,
                                       struct rv_range *range)
{
    uint64_t first;
    uint64_t last = UINT64_MAX;
    if (!read_position(first_digits, &first))
        return SPEC_MALFORMED;
    if (last_digits.len > 0 && !read_position(last_digits, &last))
        return SPEC_MALFORMED;
    if (last < first)
        return SPEC_MALFORMED; /* section 14.1.1: invalid, and an invalid set is ignored (14.2) */
    if (first >= size)
        return SPEC_UNSATISFIABLE;
    if (last >= size)
        last = size - 1;
    range->first = first;
    range->length = last - first + 1;
    return SPEC_SATISFIABLE;
}

static enum spec_result read_spec(rv_bytes spec, uint64_t size, struct rv_range *range)
{
    const char *dash = memchr(spec.ptr, '-', spec.len);
    if (dash == NULL)
        return SPEC_MALFORMED;
    rv_bytes before = rv_slice(spec.ptr, (size_t)(dash - spec.ptr));
    rv_bytes behind = rv_slice(dash + 1, spec.len - before.len - 1);
    if (before.len == 0)
        return read_suffix(behind, size, range);
    return read_int_range(before, behind, size, range);
}

/* Do they share an octet? No sum here can wrap: both lie within a representation. */
static bool overlaps(const struct rv_range *a, const struct rv_range *b)
{
    return a->first < b->first + b->length && b->first < a->first + a->length;
}

static struct rv_range joined(const struct rv_range *a, const struct rv_range *b)
{
    uint64_t first = a->first < b->first ? a->first : b->first;
    uint64_t a_end = a->first + a->length;
    uint64_t b_end = b->first + b->length;
    return (struct rv_range){first, (a_end > b_end ? a_end : b_end) - first};
}

/* Adds one to ranges of which no two overlap. It may be what connects some of them: each that it
   touches is taken out and becomes part of it, and it takes the place of the first. */
static size_t add(struct rv_range *ranges, size_t count, struct rv_range added)
{
    size_t place = count;
    for (size_t i = 0; i < count;) {
        if (!overlaps(&ranges[i], &added)) {
            i++;
            continue;
        }
        added = joined(&ranges[i], &added);
        place = i < place ? i : place;
        memmove(&ranges[i], &ranges[i + 1], (count - i - 1) * sizeof *ranges);
        count--;
        i = 0;
    }
    place = place < count ? place : count;
    memmove(&ranges[place + 1], &ranges[place], (count - place) * sizeof *ranges);
    ranges[place] = added;
    return count + 1;
}

enum rv_range_result rv_range_decide(rv_bytes value, uint64_t size, struct rv_range *ranges,
                                     size_t ranges_max, size_t *count)
{
    /* Range units are case-insensitive (section 14.1); one that is not understood is ignored. */
    static const rv_bytes unit = RV_LIT("bytes=");
    if (value.len < unit.len || !rv_bytes_equal_nocase(rv_slice(value.ptr, unit.len), unit))
        return RV_RANGE_NONE;

    rv_bytes list = rv_slice(value.ptr + unit.len, value.len - unit.len);
    rv_bytes spec;
    struct rv_range range;
    size_t specs = 0, found = 0;
    while (rv_bytes_next_element(&list, &spec)) {
        enum spec_result result = read_spec(spec, size, &range);
        if (result == SPEC_MALFORMED || ++specs > ranges_max)
            return RV_RANGE_NONE;
        if (result == SPEC_SATISFIABLE)
            found = add(ranges, found, range);
    }
    if (specs == 0)
        return RV_RANGE_NONE;
    *count = found;
    return found == 0 ? RV_RANGE_UNSATISFIABLE : found == 1 ? RV_RANGE_ONE : RV_RANGE_SEVERAL;
}

size_t rv_content_range_write(const struct rv_range *range, uint64_t size, char *out)
{
    char *at = out;
    memcpy(at, "bytes ", 6);
    at += 6;
    if (range != NULL) {
        at += rv_put_decimal(at, range->first);
        *at++ = '-';
        at += rv_put_decimal(at, range->first + range->length - 1);
    } else {
        *at++ = '*';
    }
    *at++ = '/';
    at += rv_put_decimal(at, size);
    return (size_t)(at - out);
}
