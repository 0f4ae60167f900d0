/*
 * Any octets as a query and as an urlencoded form. The first octet of the input is the limits. Split
 * leniently and strictly it must give the same pairs, as long as the strict reader has nothing to say;
 * pairs lie in the text, decode to no more than they were, and an error names its status and stays.
 */
#include "fuzz/support/block.h"
#include "http/form.h"
#include "http/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every "%" is followed by two digits: the definition again, in other words than the library's. */
static bool is_whole(rv_bytes text)
{
    for (size_t at = 0; at < text.len; at++)
        if (text.ptr[at] == '%' &&
            (text.len - at < 3 || memchr("0123456789abcdefABCDEF", text.ptr[at + 1], 22) == NULL ||
             memchr("0123456789abcdefABCDEF", text.ptr[at + 2], 22) == NULL))
            return false;
    return true;
}

static void check_decoding(rv_bytes text)
{
    char *decoded = block_of(text.len);
    size_t length = rv_percent_decode(text, true, decoded);
    REQUIRE(length <= text.len);
    if (!rv_pair_is_encoded(text))
        REQUIRE(rv_bytes_equal(text, rv_slice(decoded, length)));
    REQUIRE(rv_percent_is_valid(text) == is_whole(text));
    free(decoded);
}

static void check_pair(rv_bytes name, rv_bytes value, rv_bytes text)
{
    REQUIRE(lies_within(name, text) && !has_octet(name, '&') && !has_octet(name, '='));
    check_decoding(name);
    if (value.ptr == NULL) {
        REQUIRE(name.len > 0);
        return;
    }
    REQUIRE(lies_within(value, text) && !has_octet(value, '&'));
    check_decoding(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct rv_form_limits limits = {.pairs_max = data[0] >> 4,
                                          .name_bytes_max = data[0] & 15};
    rv_bytes text = block_copy(data + 1, size - 1), rest = text;
    rv_bytes name, value, strict_name, strict_value;
    struct rv_form form;
    uint32_t pairs = 0;
    bool sound = true;
    rv_form_init(&form, text, &limits);
    while (rv_pair_next(&rest, &name, &value)) {
        check_pair(name, value, text);
        sound = sound && ++pairs <= limits.pairs_max && name.len <= limits.name_bytes_max &&
                rv_percent_is_valid(name) && rv_percent_is_valid(value);
        enum rv_form_result result = rv_form_next(&form, &strict_name, &strict_value);
        REQUIRE(result == (sound ? RV_FORM_PAIR : RV_FORM_ERROR));
        if (sound) {
            REQUIRE(strict_name.ptr == name.ptr && strict_name.len == name.len);
            REQUIRE(strict_value.ptr != NULL && strict_value.len == value.len);
        } else {
            REQUIRE((form.status == 400 || form.status == 413) && form.reason != NULL);
        }
    }
    REQUIRE(rest.len == 0);
    if (sound)
        REQUIRE(rv_form_next(&form, &strict_name, &strict_value) == RV_FORM_END);
    block_free(text);
    return 0;
}
