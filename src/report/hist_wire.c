/*
 * HdrHistogram's V2 compressed form, whose numbers are big-endian:
 *
 *   base64( cookie 0x1c849314, length of what follows, zlib(
 *       cookie 0x1c849313, length of the counts in octets, normalizing index offset, digits,
 *       lowest and highest value, ratio to doubles, counts))
 *
 * A count is a zigzag LEB128 number of at most nine octets, the ninth of which has all its eight bits. A
 * negative one stands for that many places in which nothing was counted. Behind the last place with a
 * value there is nothing.
 *
 * Offset and ratio say nothing about counts, which are in the order of their values whatever they are;
 * hdr-histogram-js writes an offset of 1 and a ratio that is no double. They are not looked at.
 *
 * What is read may come from anywhere. It is inflated piece by piece and counted place by place, so that
 * the only memory it gets is that of a histogram whose size was looked at first.
 */
#include "report/hist_wire.h"

#include "base/base64.h"

#include <stdlib.h>
#include <zlib.h>

#define COOKIE_COMPRESSED 0x1c849314u
#define COOKIE_PLAIN 0x1c849313u
#define ENVELOPE_BYTES 8
#define HEAD_BYTES 40
#define COUNT_BYTES_MAX 9
#define PLACES_MAX (UINT32_C(1) << 21) /* five digits of an hour: 16 MiB */

/* ---- writing ------------------------------------------------------------------------------------- */

static unsigned char *put_be32(unsigned char *to, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (unsigned char)(value >> shift);
    return to;
}

static unsigned char *put_be64(unsigned char *to, uint64_t value)
{
    return put_be32(put_be32(to, (uint32_t)(value >> 32)), (uint32_t)value);
}

static unsigned char *put_count(unsigned char *to, int64_t count)
{
    uint64_t left = (uint64_t)count << 1 ^ (uint64_t)(count >> 63);
    for (int i = 1; i < COUNT_BYTES_MAX && left > 0x7f; i++, left >>= 7)
        *to++ = (unsigned char)(left | 0x80);
    *to++ = (unsigned char)left;
    return to;
}

static unsigned char *put_counts(unsigned char *to, const struct rv_hist *hist, uint32_t places)
{
    for (uint32_t i = 0; i < places;) {
        if (hist->counts[i] != 0) {
            to = put_count(to, (int64_t)hist->counts[i++]);
            continue;
        }
        uint32_t first = i;
        while (i < places && hist->counts[i] == 0)
            i++;
        to = put_count(to, i - first == 1 ? 0 : -(int64_t)(i - first));
    }
    return to;
}

static size_t put_plain(unsigned char *octets, const struct rv_hist *hist, uint32_t places)
{
    static const double ratio = 1;
    uint64_t ratio_bits;
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);

    unsigned char *end = put_counts(octets + HEAD_BYTES, hist, places);
    size_t length = (size_t)(end - octets);
    unsigned char *to = put_be32(octets, COOKIE_PLAIN);
    to = put_be32(to, (uint32_t)(length - HEAD_BYTES));
    to = put_be32(to, 0);
    to = put_be32(to, hist->digits);
    to = put_be64(to, 1);
    to = put_be64(to, hist->highest);
    put_be64(to, ratio_bits);
    return length;
}

/* NULL: no memory. */
static unsigned char *compressed(const unsigned char *plain, size_t length, size_t *packed_length)
{
    uLongf room = compressBound(length);
    unsigned char *packed = malloc(ENVELOPE_BYTES + room);
    if (packed == NULL)
        return NULL;
    if (compress2(packed + ENVELOPE_BYTES, &room, plain, length, Z_DEFAULT_COMPRESSION) != Z_OK) {
        free(packed);
        return NULL;
    }
    put_be32(put_be32(packed, COOKIE_COMPRESSED), (uint32_t)room);
    *packed_length = ENVELOPE_BYTES + room;
    return packed;
}

char *rv_hist_encode(const struct rv_hist *hist)
{
    uint32_t places = rv_hist_index(hist, hist->max) + 1;
    unsigned char *plain = malloc(HEAD_BYTES + (size_t)places * COUNT_BYTES_MAX);
    if (plain == NULL)
        return NULL;
    size_t length = 0;
    unsigned char *packed = compressed(plain, put_plain(plain, hist, places), &length);
    free(plain);
    if (packed == NULL)
        return NULL;
    char *text = malloc(rv_base64_length(length) + 1);
    if (text != NULL)
        text[rv_base64_encode(packed, length, text)] = '\0';
    free(packed);
    return text;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* What comes out of zlib, a piece at a time. The first failure stays. */
struct inflating {
    z_stream stream;
    unsigned char piece[4096];
    size_t at, filled; /* in `piece` */
    bool ended;
    rv_error error;
    const char *reason;
};

static void fail(struct inflating *from, rv_error error, const char *reason)
{
    if (from->error == 0) {
        from->error = error;
        from->reason = reason;
    }
}

static void refuse(struct inflating *from, const char *reason)
{
    fail(from, RV_EINVAL, reason);
}

/* False: there is nothing more, or what is there is broken. */
static bool fill(struct inflating *from)
{
    if (from->ended || from->error != 0)
        return false;
    from->stream.next_out = from->piece;
    from->stream.avail_out = sizeof from->piece;
    int state = inflate(&from->stream, Z_NO_FLUSH);
    from->at = 0;
    from->filled = sizeof from->piece - from->stream.avail_out;
    from->ended = state == Z_STREAM_END;
    if (state == Z_MEM_ERROR)
        fail(from, RV_ENOMEM, "out of memory");
    else if (state == Z_BUF_ERROR || (state == Z_OK && from->filled == 0))
        refuse(from, "the histogram is cut off");
    else if (state != Z_OK && state != Z_STREAM_END)
        refuse(from, "the histogram's zlib data is broken");
    return from->error == 0 && from->filled > 0;
}

/* 0 behind the end, which is a failure. */
static unsigned char take_octet(struct inflating *from)
{
    if (from->at == from->filled && !fill(from)) {
        from->at = from->filled = 0;
        refuse(from, "the histogram is cut off");
        return 0;
    }
    return from->piece[from->at++];
}

static uint32_t take_be32(struct inflating *from)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | take_octet(from);
    return value;
}

static uint64_t take_be64(struct inflating *from)
{
    uint64_t high = take_be32(from);
    return high << 32 | take_be32(from);
}

/* A count, and how many octets it took. */
static int64_t take_count(struct inflating *from, uint32_t *length)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < COUNT_BYTES_MAX; i++) {
        uint64_t octet = take_octet(from);
        bool last = octet <= 0x7f || i == COUNT_BYTES_MAX - 1;
        bits |= (i == COUNT_BYTES_MAX - 1 ? octet : octet & 0x7f) << (7 * i);
        if (last) {
            *length = i + 1;
            break;
        }
    }
    return (int64_t)(bits >> 1 ^ -(bits & 1));
}

/* The head, and from it an empty histogram. */
static void take_head(struct inflating *from, struct rv_hist *hist, uint32_t *counts_bytes)
{
    uint32_t cookie = take_be32(from);
    *counts_bytes = take_be32(from);
    take_be32(from);
    uint32_t digits = take_be32(from);
    uint64_t lowest = take_be64(from);
    uint64_t highest = take_be64(from);
    take_be64(from);
    if (cookie != COOKIE_PLAIN)
        refuse(from, "there is no HdrHistogram of version 2 in it");
    if (lowest != 1)
        refuse(from, "the histogram's lowest value is not 1");
    uint32_t places = rv_hist_places(digits, highest);
    if (places == 0)
        refuse(from, "the histogram's digits or highest value are out of range");
    if (places > PLACES_MAX)
        refuse(from, "the histogram is larger than one of 5 digits and an hour");
    if (from->error == 0 && rv_hist_init(hist, digits, highest) != 0)
        fail(from, RV_ENOMEM, "out of memory");
}

/* Returns how many places were told of. */
static uint32_t take_counts(struct inflating *from, struct rv_hist *hist, uint32_t counts_bytes)
{
    uint32_t place = 0;
    while (counts_bytes > 0 && from->error == 0) {
        uint32_t length = 0;
        int64_t count = take_count(from, &length);
        if (length > counts_bytes)
            refuse(from, "the histogram's last count is cut off");
        uint64_t steps = count < 0 ? -(uint64_t)count : 1;
        if (steps > hist->counts_length - place)
            refuse(from, "the histogram has more places than its head says");
        if (from->error != 0)
            break;
        if (count > 0)
            hist->counts[place] = (uint64_t)count;
        place += (uint32_t)steps;
        counts_bytes -= length;
    }
    return place;
}

/* The checksum stands behind the last octet: it is looked at on the way to the end. */
static void take_end(struct inflating *from)
{
    if (from->at != from->filled || fill(from) || from->stream.avail_in != 0)
        refuse(from, "there is something behind the histogram's counts");
}

/* Count, smallest, largest, sum and squares from the places: as if each value were in the middle of its
   own. False: they are more than 64 bits hold. */
static bool add_up(struct rv_hist *hist, uint32_t places)
{
    bool overflow = false;
    for (uint32_t i = 0; i < places; i++) {
        uint64_t count = hist->counts[i];
        if (count == 0)
            continue;
        uint64_t low = rv_hist_lowest_at(hist, i), high = rv_hist_highest_at(hist, i);
        uint64_t middle = low + (high - low + 1) / 2, sum;
        overflow |= __builtin_add_overflow(hist->total, count, &hist->total);
        overflow |= __builtin_mul_overflow(middle, count, &sum);
        overflow |= __builtin_add_overflow(hist->sum, sum, &hist->sum);
        /* Less than sum * middle each: no more than 2^127 together, while `sum` holds. */
        hist->sum_squares += (unsigned __int128)middle * sum;
        if (low < hist->min)
            hist->min = low;
        hist->max = high;
    }
    /* Other writers count what is above the highest value, too, up to the end of its bucket. */
    if (rv_hist_index(hist, hist->max) > rv_hist_index(hist, hist->highest))
        hist->highest = rv_hist_highest_at(hist, hist->counts_length - 1);
    else if (hist->max > hist->highest)
        hist->max = hist->highest;
    return !overflow;
}

static rv_error inflate_hist(unsigned char *octets, size_t length, struct rv_hist *hist,
                             const char **reason)
{
    struct inflating from = {.stream = {.next_in = octets, .avail_in = (uInt)length}};
    if (inflateInit(&from.stream) != Z_OK)
        return RV_ENOMEM;
    struct rv_hist made = {.counts = NULL};
    uint32_t counts_bytes = 0;
    take_head(&from, &made, &counts_bytes);
    uint32_t places = take_counts(&from, &made, counts_bytes);
    if (from.error == 0)
        take_end(&from);
    if (from.error == 0 && !add_up(&made, places))
        refuse(&from, "the histogram's values add up to more than 64 bits hold");
    inflateEnd(&from.stream);
    if (from.error != 0) {
        rv_hist_free(&made);
        *reason = from.reason;
        return from.error;
    }
    *hist = made;
    return 0;
}

static uint32_t be32_at(const unsigned char *octets)
{
    return (uint32_t)octets[0] << 24 | (uint32_t)octets[1] << 16 | (uint32_t)octets[2] << 8 |
           octets[3];
}

static rv_error open_envelope(unsigned char *octets, size_t length, struct rv_hist *hist,
                              const char **reason)
{
    if (length < ENVELOPE_BYTES || be32_at(octets) != COOKIE_COMPRESSED) {
        *reason = "it is no HdrHistogram in the compressed form of version 2";
        return RV_EINVAL;
    }
    uint32_t packed = be32_at(octets + 4);
    if (packed > length - ENVELOPE_BYTES) {
        *reason = "the histogram is cut off";
        return RV_EINVAL;
    }
    /* hdr-histogram-js writes its whole buffer, with zeros behind the end. */
    for (size_t i = ENVELOPE_BYTES + packed; i < length; i++) {
        if (octets[i] != 0) {
            *reason = "there is something behind the histogram";
            return RV_EINVAL;
        }
    }
    return inflate_hist(octets + ENVELOPE_BYTES, packed, hist, reason);
}

rv_error rv_hist_decode(const char *text, struct rv_hist *hist, const char **reason)
{
    *reason = "out of memory";
    rv_bytes view = rv_str(text);
    unsigned char *octets = malloc(view.len / 4 * 3 + 1);
    if (octets == NULL)
        return RV_ENOMEM;
    size_t length = 0;
    rv_error error = RV_EINVAL;
    if (rv_base64_decode(view, octets, &length) != 0)
        *reason = "the histogram is not in base64";
    else
        error = open_envelope(octets, length, hist, reason);
    free(octets);
    return error;
}
