/*
 * Any octets as a histogram's text: as they are, as base64, as what the envelope holds, and as values
 * that are recorded, written and read. Whatever comes in, what is read must be sound, and written again
 * it must be the same. The first octet chooses the way in; the second one when memory runs out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/base64.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "report/hist_wire.h"

enum { OCTETS_MAX = 16384, DIGITS_MAX = 3 };

/* What every histogram promises, whoever made it. */
static void require_sound(const struct rv_hist *hist)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < hist->counts_length; i++)
        total += hist->counts[i];
    REQUIRE(total == hist->total);
    REQUIRE(hist->total == 0 ? hist->min == UINT64_MAX && hist->max == 0
                             : hist->min <= hist->max && hist->max <= hist->highest);
    uint64_t before = 0;
    for (double percent = 0; percent <= 100; percent += 12.5) {
        uint64_t value = rv_hist_percentile(hist, percent);
        REQUIRE(value >= before && value <= hist->max);
        before = value;
    }
    REQUIRE(rv_hist_count_between(hist, 0, UINT64_MAX) == total);
    double mean = rv_hist_mean(hist);
    REQUIRE(mean >= 0 && mean <= (double)hist->highest);
    REQUIRE(rv_hist_deviation(hist) >= 0);
}

static void require_same(const struct rv_hist *left, const struct rv_hist *right)
{
    REQUIRE(left->digits == right->digits && left->highest == right->highest);
    REQUIRE(left->total == right->total && left->counts_length == right->counts_length);
    REQUIRE(memcmp(left->counts, right->counts, left->counts_length * sizeof *left->counts) == 0);
}

static void read_text(const char *text)
{
    struct rv_hist hist, again;
    const char *reason = NULL;
    rv_error error = rv_hist_decode(text, &hist, &reason);
    if (error != 0) {
        REQUIRE(reason != NULL && (error == RV_EINVAL || fuzz_memory_has_failed()));
        return;
    }
    fuzz_memory_is_back();
    require_sound(&hist);
    char *written = rv_hist_encode(&hist);
    REQUIRE(written != NULL && rv_hist_decode(written, &again, &reason) == 0);
    require_same(&hist, &again);
    free(written);
    rv_hist_free(&again);
    rv_hist_free(&hist);
}

static void read_octets(const unsigned char *octets, size_t length)
{
    static char text[OCTETS_MAX * 2];
    text[rv_base64_encode(octets, length, text)] = '\0';
    read_text(text);
}

/* The octets are put into zlib and the envelope, so that mutations reach what is inside. Three digits at
   most, whose last octet is the sixteenth: megabytes of places would take the time. */
static void read_plain(const unsigned char *octets, size_t length)
{
    static unsigned char plain[OCTETS_MAX], packed[OCTETS_MAX + 1024] = {0x1c, 0x84, 0x93, 0x14};
    memcpy(plain, octets, length);
    if (length > 15 && plain[15] > DIGITS_MAX)
        plain[15] %= DIGITS_MAX + 1;
    uLongf room = sizeof packed - 8;
    REQUIRE(compress2(packed + 8, &room, plain, length, 1) == Z_OK);
    packed[6] = (unsigned char)(room >> 8);
    packed[7] = (unsigned char)room;
    read_octets(packed, 8 + room);
}

static void write_values(const unsigned char *octets, size_t length)
{
    struct rv_hist hist;
    unsigned digits = length > 0 ? octets[0] % DIGITS_MAX + 1 : 1;
    if (rv_hist_init(&hist, digits, RV_HIST_HOUR_US) != 0) {
        REQUIRE(fuzz_memory_has_failed());
        return;
    }
    for (size_t i = 1; i + 6 <= length; i += 6) {
        uint32_t value;
        memcpy(&value, octets + i, sizeof value);
        rv_hist_record_many(&hist, value >> octets[i + 4] % 32, octets[i + 5]);
    }
    require_sound(&hist);
    char *text = rv_hist_encode(&hist);
    REQUIRE(text != NULL || fuzz_memory_has_failed());
    if (text != NULL)
        read_text(text);
    free(text);
    rv_hist_free(&hist);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > OCTETS_MAX)
        return 0;
    fuzz_memory_begin();
    if (data[1] < 8)
        fuzz_memory_runs_out(data[1], true);
    const unsigned char *octets = data + 2;
    size_t length = size - 2;
    if (data[0] % 4 == 0) {
        static char text[OCTETS_MAX];
        memcpy(text, octets, length);
        text[length] = '\0';
        read_text(text);
    } else if (data[0] % 4 == 1) {
        read_octets(octets, length);
    } else if (data[0] % 4 == 2) {
        read_plain(octets, length);
    } else {
        write_values(octets, length);
    }
    return 0;
}
