/*
 * The parts of base/bytes.h that are too long to be inline: numbers in and out, and the elements of
 * a list field. Also the two functions of the public header that make and compare views.
 */
#include "base/bytes.h"

rv_bytes rv_str(const char *text)
{
    return (rv_bytes){text, text != NULL ? strlen(text) : 0};
}

/* An absent view differs from an empty one, so a field that is not there never equals "". */
bool rv_equals(rv_bytes bytes, const char *text)
{
    rv_bytes other = rv_str(text);
    return (bytes.ptr == NULL) == (other.ptr == NULL) && rv_bytes_equal(bytes, other);
}

bool rv_bytes_to_u64(rv_bytes bytes, uint64_t *value)
{
    uint64_t sum = 0;
    if (bytes.len == 0)
        return false;
    for (size_t i = 0; i < bytes.len; i++) {
        if (!rv_is_digit(bytes.ptr[i]))
            return false;
        uint64_t digit = (uint64_t)(bytes.ptr[i] - '0');
        if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

/* How many octets lie before the comma that ends the first element, or before the end. */
static size_t element_length(rv_bytes list)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < list.len; i++) {
        char c = list.ptr[i];
        if (c == '"')
            quoted = !quoted;
        else if (c == '\\' && quoted)
            i++; /* a quoted-pair, RFC 9110 section 5.6.4: the next octet ends nothing */
        else if (c == ',' && !quoted)
            break;
    }
    return i < list.len ? i : list.len;
}

bool rv_bytes_next_element(rv_bytes *list, rv_bytes *element)
{
    while (list->len > 0) {
        size_t length = element_length(*list);
        size_t passed = length < list->len ? length + 1 : length;
        rv_bytes found = rv_bytes_trim(rv_slice(list->ptr, length));
        list->ptr += passed;
        list->len -= passed;
        if (found.len > 0) {
            *element = found;
            return true;
        }
    }
    return false;
}

static const char digit_pairs[200] = "00010203040506070809101112131415161718192021222324"
                                     "25262728293031323334353637383940414243444546474849"
                                     "50515253545556575859606162636465666768697071727374"
                                     "75767778798081828384858687888990919293949596979899";

static size_t decimal_length(uint64_t value)
{
    size_t length = 1;
    for (; value >= 100; value /= 100)
        length += 2;
    return length + (value >= 10);
}

size_t rv_put_decimal(char *out, uint64_t value)
{
    size_t length = decimal_length(value);
    char *at = out + length;
    for (; value >= 100; value /= 100) {
        at -= 2;
        memcpy(at, digit_pairs + 2 * (value % 100), 2);
    }
    if (value >= 10)
        memcpy(out, digit_pairs + 2 * value, 2);
    else
        *out = (char)('0' + value);
    return length;
}

size_t rv_put_hex(char *out, uint64_t value)
{
    size_t length = value == 0 ? 1 : (size_t)(67 - __builtin_clzll(value)) / 4;
    for (size_t i = length; i > 0; i--, value >>= 4)
        out[i - 1] = "0123456789abcdef"[value & 15];
    return length;
}
