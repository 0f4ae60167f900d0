/*
 * Reading the segments of patterns (route_segment.h).
 */
#include "server/route_segment.h"

#include "http/date.h"
#include "http/scan.h"
#include "http/uri.h"

static bool ends_with(rv_bytes text, rv_bytes ending)
{
    return text.len >= ending.len &&
           memcmp(text.ptr + text.len - ending.len, ending.ptr, ending.len) == 0;
}

/* "{...}" with no other brace; `*inner` is what is between. */
static bool is_braced(rv_bytes text, rv_bytes *inner)
{
    if (text.len < 3 || text.ptr[0] != '{' || text.ptr[text.len - 1] != '}')
        return false;
    *inner = rv_slice(text.ptr + 1, text.len - 2);
    return memchr(inner->ptr, '{', inner->len) == NULL &&
           memchr(inner->ptr, '}', inner->len) == NULL;
}

static bool is_dotted(rv_bytes segment, rv_bytes names[RV_SEGMENT_NAMES_MAX])
{
    const char *middle = memmem(segment.ptr, segment.len, "}.{", 3);
    if (middle == NULL)
        return false;
    size_t before = (size_t)(middle - segment.ptr) + 1;
    return is_braced(rv_slice(segment.ptr, before), &names[0]) &&
           is_braced(rv_slice(middle + 2, segment.len - before - 1), &names[1]) &&
           rv_is_token(names[0]) && rv_is_token(names[1]);
}

enum rv_segment_kind rv_segment_parse(rv_bytes segment, rv_bytes names[RV_SEGMENT_NAMES_MAX],
                                      unsigned *count)
{
    static const struct {
        const char *ending;
        enum rv_segment_kind kind;
    } forms[] = {{"...", RV_SEGMENT_REST},
                 {":int", RV_SEGMENT_INT},
                 {":date", RV_SEGMENT_DATE},
                 {"", RV_SEGMENT_PARAM}};
    *count = 0;
    if (memchr(segment.ptr, '{', segment.len) == NULL &&
        memchr(segment.ptr, '}', segment.len) == NULL)
        return RV_SEGMENT_LITERAL;
    *count = 2;
    if (is_dotted(segment, names))
        return RV_SEGMENT_DOTTED;
    *count = 1;
    if (!is_braced(segment, &names[0]))
        return RV_SEGMENT_MALFORMED;
    for (size_t i = 0;; i++) {
        rv_bytes ending = rv_str(forms[i].ending);
        if (!ends_with(names[0], ending))
            continue;
        names[0].len -= ending.len;
        return rv_is_token(names[0]) ? forms[i].kind : RV_SEGMENT_MALFORMED;
    }
}

#define TYPED_BYTES_MAX 64 /* as encoded */

bool rv_segment_is_date(rv_bytes segment, bool plus)
{
    char octets[TYPED_BYTES_MAX];
    int64_t seconds;
    return segment.len <= sizeof octets &&
           rv_date_parse_3339(rv_slice(octets, rv_percent_decode(segment, plus, octets)), &seconds);
}

bool rv_segment_is_int(rv_bytes segment)
{
    char octets[TYPED_BYTES_MAX];
    uint64_t magnitude;
    if (segment.len > sizeof octets)
        return false;
    rv_bytes digits = rv_slice(octets, rv_percent_decode(segment, false, octets));
    bool negative = digits.len > 0 && digits.ptr[0] == '-';
    if (negative)
        digits = rv_slice(digits.ptr + 1, digits.len - 1);
    return rv_bytes_to_u64(digits, &magnitude) &&
           magnitude <= (uint64_t)INT64_MAX + (negative ? 1 : 0);
}

bool rv_segment_part(rv_bytes segment, rv_bytes *name, rv_bytes *extension)
{
    const char *dot = segment.len == 0 ? NULL : memrchr(segment.ptr, '.', segment.len);
    if (dot == NULL)
        return false;
    *name = rv_slice(segment.ptr, (size_t)(dot - segment.ptr));
    *extension = rv_slice(dot + 1, segment.len - name->len - 1);
    return name->len > 0 && extension->len > 0;
}
