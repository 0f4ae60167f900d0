/*
 * Any octets as a Range field. The first octet of the input is how many ranges are taken at most, the
 * next eight are the size of the representation. Ranges that apply lie within it and share no octet;
 * one that is taken alone stays so when more may be; and as multipart/byteranges they are exactly as
 * long as was said.
 */
#include "fuzz/support/block.h"
#include "http/byteranges.h"

enum { RANGES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const struct rv_range *ranges, size_t count, uint64_t size)
{
    for (size_t i = 0; i < count; i++) {
        REQUIRE(ranges[i].length > 0 && ranges[i].first < size);
        REQUIRE(ranges[i].length <= size - ranges[i].first);
        for (size_t j = 0; j < i; j++)
            REQUIRE(ranges[i].first >= ranges[j].first + ranges[j].length ||
                    ranges[j].first >= ranges[i].first + ranges[i].length);
    }
}

static void check_length(const struct rv_range *ranges, size_t count, uint64_t size)
{
    struct rv_byteranges byteranges = {
        .content_type = RV_LIT("text/plain"), .size = size, .ranges = ranges, .count = count};
    rv_byteranges_set_boundary(&byteranges, (const uint64_t[2]){size, count});
    size_t room = rv_byteranges_head_room(&byteranges);
    uint64_t length, expected = 0;
    char *head = block_of(room);
    bool is_too_long = false;
    for (size_t i = 0; i <= count; i++) {
        size_t written = rv_byteranges_head_write(&byteranges, i, head);
        REQUIRE(written <= room);
        is_too_long |= __builtin_add_overflow(expected, written, &expected);
        if (i < count)
            is_too_long |= __builtin_add_overflow(expected, ranges[i].length, &expected);
    }
    is_too_long |= expected > INT64_MAX;
    REQUIRE(rv_byteranges_length(&byteranges, &length) == !is_too_long);
    REQUIRE(is_too_long || length == expected);
    free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t octets;
    struct rv_range ranges[RANGES_MAX], alone;
    size_t count = 0, count_alone = 0;
    if (size < 1 + sizeof octets)
        return 0;
    memcpy(&octets, data + 1, sizeof octets);
    rv_bytes field = block_copy(data + 1 + sizeof octets, size - 1 - sizeof octets);
    size_t most = 1 + data[0] % RANGES_MAX;
    enum rv_range_result result = rv_range_decide(field, octets, ranges, most, &count);
    enum rv_range_result result_alone = rv_range_decide(field, octets, &alone, 1, &count_alone);
    if (result == RV_RANGE_ONE || result == RV_RANGE_SEVERAL) {
        REQUIRE(result == RV_RANGE_ONE ? count == 1 : count > 1 && count <= most);
        check_ranges(ranges, count, octets);
        check_length(ranges, count, octets);
    }
    if (result_alone != RV_RANGE_NONE)
        REQUIRE(result == result_alone);
    if (result_alone == RV_RANGE_ONE)
        REQUIRE(alone.first == ranges[0].first && alone.length == ranges[0].length);
    result = rv_range_decide(field, 0, ranges, most, &count);
    REQUIRE(result == RV_RANGE_NONE || result == RV_RANGE_UNSATISFIABLE);
    block_free(field);
    return 0;
}
