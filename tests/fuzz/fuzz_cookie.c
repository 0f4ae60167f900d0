/*
 * Any octets as a Cookie field, and as the parts of a cookie to set. The first octet of the input is
 * the attributes without a value; name, value, path and domain are what lies between tabs. Whatever is
 * found good is written as one pair and its attributes, and read back as that pair.
 */
#include "fuzz/support/block.h"
#include "http/cookie.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(rv_bytes cookies)
{
    rv_bytes rest = cookies, name, value;
    while (rv_cookie_next(&rest, &name, &value)) {
        REQUIRE(lies_within(name, cookies) && lies_within(value, cookies));
        REQUIRE(name.len > 0 && !has_octet(name, ';') && !has_octet(name, '='));
        REQUIRE(!has_octet(value, ';'));
        REQUIRE(rv_bytes_trim(name).len == name.len && rv_bytes_trim(value).len == value.len);
    }
    REQUIRE(rest.len == 0);
}

static size_t count_octets(rv_bytes text, char octet)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == octet;
    return count;
}

static void check_written(const struct rv_set_cookie *cookie)
{
    size_t room = rv_set_cookie_room(cookie);
    char *out = block_of(room);
    size_t length = rv_set_cookie_write(cookie, out);
    REQUIRE(length <= room);
    rv_bytes written = rv_slice(out, length), name, value;
    for (size_t i = 0; i < length; i++)
        REQUIRE(out[i] >= 0x20 && out[i] < 0x7f);
    size_t attributes = (size_t)cookie->has_max_age + cookie->has_expires + cookie->secure +
                        cookie->http_only + cookie->partitioned + (cookie->path.ptr != NULL) +
                        (cookie->domain.ptr != NULL) + (cookie->same_site != RV_SAME_SITE_UNSAID);
    REQUIRE(count_octets(written, ';') == attributes);
    REQUIRE(rv_cookie_next(&written, &name, &value));
    REQUIRE(rv_bytes_equal(name, cookie->name) && rv_bytes_equal(value, cookie->value));
    free(out);
}

/* What is left before the next tab; absent when nothing is left. */
static rv_bytes take_part(rv_bytes *text)
{
    return text->len == 0 ? (rv_bytes){0} : rv_bytes_take_until(text, '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    rv_bytes text = block_copy(data + 1, size - 1), rest = text;
    unsigned flags = data[0];
    check_field(text);
    struct rv_set_cookie cookie = {.has_max_age = flags & 1,
                                   .has_expires = flags & 2,
                                   .secure = flags & 4,
                                   .http_only = flags & 8,
                                   .partitioned = flags & 16,
                                   .same_site = (enum rv_same_site)(flags >> 5 & 3),
                                   .max_age_s = (int64_t)size - 8,
                                   .expires = (int64_t)size << 32};
    cookie.name = take_part(&rest);
    cookie.value = take_part(&rest);
    cookie.path = take_part(&rest);
    cookie.domain = take_part(&rest);
    enum rv_cookie_fault fault = rv_set_cookie_check(&cookie);
    REQUIRE((fault == RV_COOKIE_GOOD) == (rv_cookie_fault_text(fault)[0] == '\0'));
    if (fault == RV_COOKIE_GOOD)
        check_written(&cookie);
    block_free(text);
    return 0;
}
