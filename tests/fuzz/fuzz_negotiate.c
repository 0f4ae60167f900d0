/*
 * Any octets as Accept-Encoding and as a media type. The first octet of the input chooses what we have
 * and in which order. What is chosen is ours or identity; without a mention of a coding, or of "*", it
 * is not chosen; and our order matters only among equals: with one coding less, the choice stays when
 * it was another.
 */
#include "fuzz/support/block.h"
#include "http/negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool mentions(rv_bytes field, rv_bytes name)
{
    for (size_t at = 0; at + name.len <= field.len; at++)
        if (rv_bytes_equal_nocase(rv_slice(field.ptr + at, name.len), name))
            return true;
    return false;
}

static void check_choice(rv_bytes field, const enum rv_coding *ours, size_t count)
{
    enum rv_coding chosen = rv_negotiate_coding(field, ours, count);
    bool is_ours = chosen == RV_CODING_IDENTITY;
    for (size_t i = 0; i < count; i++)
        is_ours |= ours[i] == chosen;
    REQUIRE(is_ours);
    if (chosen != RV_CODING_IDENTITY)
        REQUIRE(has_octet(field, '*') || mentions(field, rv_coding_name(chosen)));
    if (count > 0 && ours[count - 1] != chosen)
        REQUIRE(rv_negotiate_coding(field, ours, count - 1) == chosen);
    if (count > 0 && ours[0] != chosen)
        REQUIRE(rv_negotiate_coding(field, ours + 1, count - 1) == chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum rv_coding order[] = {RV_CODING_ZSTD, RV_CODING_BROTLI, RV_CODING_GZIP,
                                           RV_CODING_ZSTD, RV_CODING_BROTLI};
    if (size == 0)
        return 0;
    rv_bytes field = block_copy(data + 1, size - 1);
    check_choice(field, order + data[0] % 3, data[0] / 3 % 4);
    if (rv_type_is_compressible(field))
        REQUIRE(has_octet(field, '/') || has_octet(field, '+'));
    unsigned weight;
    if (rv_weight_parse(field, &weight))
        REQUIRE(weight <= 1000 && field.len <= 5);
    block_free(field);
    return 0;
}
