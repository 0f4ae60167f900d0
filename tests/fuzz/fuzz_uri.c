/*
 * What is read from a target or from one field of a request: paths, authorities, dates and
 * entity tags. The first octet of the input, a letter, says which; the rest is the text. Each reader
 * must keep what its header promises, for any octets. The text and each output lie in blocks of
 * exactly their size, so that the sanitizers see a step too far.
 */
#undef NDEBUG
#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

#include "fuzz/support/block.h"
#include "http/conditional.h"
#include "http/date.h"
#include "http/mime.h"
#include "http/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Is one of the pieces between slashes this one? */
static bool has_segment(rv_bytes path, rv_bytes segment)
{
    for (size_t start = 0; start <= path.len;) {
        size_t end = start;
        while (end < path.len && path.ptr[end] != '/')
            end++;
        if (rv_bytes_equal(rv_slice(path.ptr + start, end - start), segment))
            return true;
        start = end + 1;
    }
    return false;
}

/* Decodes to no more than it was, with and without "+", and equals what it decodes to. */
static void check_decoding(rv_bytes text)
{
    char *decoded = block_of(text.len);
    size_t with_plus = rv_percent_decode(text, true, decoded);
    size_t length = rv_percent_decode(text, false, decoded);
    assert(length <= text.len && with_plus == length);
    assert(rv_percent_equal(text, rv_slice(decoded, length)));
    if (!has_octet(text, '%'))
        assert(rv_bytes_equal(text, rv_slice(decoded, length)));
    free(decoded);
}

static void check_path(rv_bytes path)
{
    char *raw_block = block_of(path.len);
    char *decoded_block = block_of(path.len);
    char *again_raw = block_of(path.len);
    char *again_decoded = block_of(path.len);
    rv_bytes raw = {.ptr = raw_block};
    rv_bytes decoded = {.ptr = decoded_block};
    assert(rv_mime_of(path) != NULL);
    check_decoding(path);
    if (rv_path_normalise(path, raw_block, &raw.len, decoded_block, &decoded.len) == RV_PATH_OK) {
        assert(raw.len <= path.len && decoded.len <= raw.len);
        assert(rv_percent_equal(raw, decoded));
        assert(!has_octet(decoded, '\0'));
        assert(!has_segment(raw, RV_LIT(".")) && !has_segment(raw, RV_LIT("..")));
        assert(!has_segment(decoded, RV_LIT("..")));
        if (path.len > 0 && path.ptr[0] == '/')
            assert(raw.len > 0 && raw.ptr[0] == '/');

        size_t again_raw_length;
        size_t again_decoded_length;
        assert(rv_path_normalise(raw, again_raw, &again_raw_length, again_decoded,
                                 &again_decoded_length) == RV_PATH_OK);
        assert(rv_bytes_equal(raw, rv_slice(again_raw, again_raw_length)));
        assert(rv_bytes_equal(decoded, rv_slice(again_decoded, again_decoded_length)));
    }
    free(raw_block);
    free(decoded_block);
    free(again_raw);
    free(again_decoded);
}

static void check_authority(rv_bytes authority)
{
    bool valid = rv_authority_is_valid(authority);
    if (valid) {
        static const char forbidden[] = "@/?#\\ \t\r\n\"<>^`{|}";
        assert(authority.len > 0 && authority.ptr[0] != ':');
        for (size_t i = 0; i < sizeof forbidden; i++) /* with the NUL */
            assert(!has_octet(authority, forbidden[i]));
    }
    /* The C library has an opinion on addresses. */
    if (authority.len < 3 || authority.ptr[0] != '[' || authority.ptr[authority.len - 1] != ']' ||
        rv_lower(authority.ptr[1]) == 'v' || has_octet(authority, '\0'))
        return;
    struct in6_addr address;
    char *text = block_of(authority.len);
    memcpy(text, authority.ptr + 1, authority.len - 2);
    text[authority.len - 2] = '\0';
    assert(valid == (inet_pton(AF_INET6, text, &address) == 1));
    free(text);
}

/* The text's first eight octets are the clock. */
static void check_date(rv_bytes text)
{
    int64_t now = 0;
    int64_t seconds = 0;
    int64_t again = 0;
    char out[RV_DATE_LENGTH];
    if (text.len < sizeof now)
        return;
    memcpy(&now, text.ptr, sizeof now);
    rv_date_format(out, now);
    assert(rv_date_parse(rv_slice(out, sizeof out), 0, &again));

    text = rv_slice(text.ptr + sizeof now, text.len - sizeof now);
    if (!rv_date_parse(text, now, &seconds))
        return;
    rv_date_format(out, seconds);
    assert(rv_date_parse(rv_slice(out, sizeof out), now, &again));
    /* Two digits and a clock in the last fifty years can mean a year that four digits do not hold. */
    assert(again == seconds || seconds < 0 || seconds > INT64_C(253402300799));
    /* An IMF-fixdate says all: only the day's name may be wrong, or the second a leap second. */
    if (text.len == RV_DATE_LENGTH && text.ptr[3] == ',' && text.ptr[7] == ' ' && seconds >= 0 &&
        memcmp(text.ptr + 23, "60", 2) != 0)
        assert(memcmp(text.ptr + 3, out + 3, RV_DATE_LENGTH - 3) == 0);
}

static void check_entity_tags(rv_bytes field)
{
    const struct rv_validators validators = {.etag = RV_LIT("\"a,b\""), .last_modified = -1};
    const struct rv_conditions match = {.if_match = field};
    const struct rv_conditions none_match = {.if_none_match = field};
    const struct rv_conditions range = {.if_range = field};
    bool strong = rv_conditions_evaluate(&match, &validators, true) == RV_CONDITION_PASS;
    bool weak = rv_conditions_evaluate(&none_match, &validators, true) != RV_CONDITION_PASS;
    assert(weak || !strong);
    /* If-Range is one strong tag, which is a list of one. */
    if (rv_if_range_allows(&range, &validators))
        assert(strong);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    rv_bytes text = block_copy(data + 1, size - 1);
    switch (data[0]) {
    case 'p':
        check_path(text);
        break;
    case 'a':
        check_authority(text);
        break;
    case 'd':
        check_date(text);
        break;
    case 'e':
        check_entity_tags(text);
        break;
    default:
        break;
    }
    block_free(text);
    return 0;
}
