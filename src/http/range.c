/*
 * The Range field against the size of a representation: one range, none that applies, or one that
 * cannot be satisfied. Owns nothing; what is sent then is the caller's affair.
 */
#include "http/range.h"

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
static enum rv_range_result decide_suffix(rv_bytes digits, uint64_t size, uint64_t *first,
                                          uint64_t *length)
{
    uint64_t wanted;
    if (!read_position(digits, &wanted))
        return RV_RANGE_NONE;
    if (wanted == 0 || size == 0)
        return RV_RANGE_UNSATISFIABLE;
    *length = wanted < size ? wanted : size;
    *first = size - *length;
    return RV_RANGE_ONE;
}

/* int-range, 1*DIGIT "-" [ 1*DIGIT ]. */
static enum rv_range_result decide_int_range(rv_bytes first_digits, rv_bytes last_digits,
                                             uint64_t size, uint64_t *first, uint64_t *length)
{
    uint64_t first_position;
    uint64_t last_position = UINT64_MAX;
    if (!read_position(first_digits, &first_position))
        return RV_RANGE_NONE;
    if (last_digits.len > 0 && !read_position(last_digits, &last_position))
        return RV_RANGE_NONE;
    if (last_position < first_position)
        return RV_RANGE_NONE; /* section 14.1.1: invalid, and an invalid set is ignored (14.2) */
    if (first_position >= size)
        return RV_RANGE_UNSATISFIABLE;
    if (last_position >= size)
        last_position = size - 1;
    *first = first_position;
    *length = last_position - first_position + 1;
    return RV_RANGE_ONE;
}

enum rv_range_result rv_range_decide(rv_bytes value, uint64_t size, uint64_t *first,
                                     uint64_t *length)
{
    /* Range units are case-insensitive (section 14.1); one that is not understood is ignored. */
    static const rv_bytes unit = RV_LIT("bytes=");
    if (value.len < unit.len || !rv_bytes_equal_nocase(rv_slice(value.ptr, unit.len), unit))
        return RV_RANGE_NONE;

    rv_bytes list = rv_slice(value.ptr + unit.len, value.len - unit.len);
    rv_bytes range;
    rv_bytes another;
    /* Several ranges would be a multipart answer; a server may always send the whole instead, and
       so hundreds of overlapping ones cost nothing (sections 14.2 and 17.15). */
    if (!rv_bytes_next_element(&list, &range) || rv_bytes_next_element(&list, &another))
        return RV_RANGE_NONE;

    const char *dash = memchr(range.ptr, '-', range.len);
    if (dash == NULL)
        return RV_RANGE_NONE;
    rv_bytes before = rv_slice(range.ptr, (size_t)(dash - range.ptr));
    rv_bytes behind = rv_slice(dash + 1, range.len - before.len - 1);
    if (before.len == 0)
        return decide_suffix(behind, size, first, length);
    return decide_int_range(before, behind, size, first, length);
}
