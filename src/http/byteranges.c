/*
 * multipart/byteranges (byteranges.h). The head of a part has the line end of the part before it, so
 * that heads and ranges in turn are the whole content.
 */
#include "http/byteranges.h"

void rv_byteranges_set_boundary(struct rv_byteranges *byteranges, const uint64_t random[2])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < RV_BYTERANGES_BOUNDARY_LENGTH; i++)
        byteranges->boundary[i] = digits[random[i / 16] >> 4 * (i % 16) & 15];
}

static rv_bytes boundary_of(const struct rv_byteranges *byteranges)
{
    return rv_slice(byteranges->boundary, RV_BYTERANGES_BOUNDARY_LENGTH);
}

void rv_byteranges_type_write(const struct rv_byteranges *byteranges, char *out)
{
    rv_put(rv_put(out, RV_LIT("multipart/byteranges; boundary=")), boundary_of(byteranges));
}

size_t rv_byteranges_head_room(const struct rv_byteranges *byteranges)
{
    static const char others[] = "\r\n--\r\nContent-Type: \r\nContent-Range: \r\n\r\n";
    return sizeof others + RV_BYTERANGES_BOUNDARY_LENGTH + RV_CONTENT_RANGE_MAX +
           byteranges->content_type.len;
}

size_t rv_byteranges_head_write(const struct rv_byteranges *byteranges, size_t index, char *out)
{
    char *at = rv_put(out, index > 0 ? RV_LIT("\r\n--") : RV_LIT("--"));
    at = rv_put(at, boundary_of(byteranges));
    if (index == byteranges->count)
        return (size_t)(rv_put(at, RV_LIT("--\r\n")) - out);
    if (byteranges->content_type.ptr != NULL)
        at = rv_put(rv_put(at, RV_LIT("\r\nContent-Type: ")), byteranges->content_type);
    at = rv_put(at, RV_LIT("\r\nContent-Range: "));
    at += rv_content_range_write(&byteranges->ranges[index], byteranges->size, at);
    return (size_t)(rv_put(at, RV_LIT("\r\n\r\n")) - out);
}

/* As above, without writing. */
static uint64_t head_length(const struct rv_byteranges *byteranges, size_t index)
{
    char content_range[RV_CONTENT_RANGE_MAX];
    uint64_t length = (index > 0 ? 4 : 2) + RV_BYTERANGES_BOUNDARY_LENGTH + 4;
    if (index == byteranges->count)
        return length;
    if (byteranges->content_type.ptr != NULL)
        length += strlen("\r\nContent-Type: ") + byteranges->content_type.len;
    return length + strlen("\r\nContent-Range: ") +
           rv_content_range_write(&byteranges->ranges[index], byteranges->size, content_range);
}

bool rv_byteranges_length(const struct rv_byteranges *byteranges, uint64_t *length)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= byteranges->count; i++) {
        uint64_t range = i < byteranges->count ? byteranges->ranges[i].length : 0;
        if (__builtin_add_overflow(sum, head_length(byteranges, i), &sum) ||
            __builtin_add_overflow(sum, range, &sum))
            return false;
    }
    *length = sum;
    return sum <= INT64_MAX;
}
