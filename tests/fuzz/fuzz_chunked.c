/*
 * Any octets as a chunked body. Decoded whole, cut in two, and octet by octet, it must give the same
 * data, the same verdict, and stop at the same place; and data is never empty and never from
 * elsewhere. The first octet of the input chooses the cut. Blocks have exactly their size, so that
 * the sanitizer sees a look behind the end.
 */
#include <stdint.h>
#include <stdlib.h>

#include "http/chunked.h"

enum { OCTETS_MAX = 16384 };

struct decoded {
    enum rv_chunked_result result;
    const char *reason;
    size_t used;
    size_t length;
    char data[OCTETS_MAX];
};

/* Unlike assert() it is there in every build. */
static void require(bool holds)
{
    if (!holds)
        abort();
}

static void feed(struct rv_chunked *chunked, const char *from, size_t count,
                 struct decoded *decoded)
{
    char *block = malloc(count > 0 ? count : 1);
    require(block != NULL);
    memcpy(block, from, count);
    rv_bytes octets = rv_slice(block, count);

    do {
        const char *before = octets.ptr;
        rv_bytes data = {NULL, 0};
        decoded->result = rv_chunked_next(chunked, &octets, &data, &decoded->reason);
        require(octets.ptr >= before && octets.ptr + octets.len == block + count);
        if (decoded->result == RV_CHUNKED_DATA) {
            require(data.len > 0 && data.ptr >= before && data.ptr + data.len == octets.ptr);
            memcpy(decoded->data + decoded->length, data.ptr, data.len);
            decoded->length += data.len;
        }
    } while (decoded->result == RV_CHUNKED_DATA);
    require(decoded->result != RV_CHUNKED_INCOMPLETE || octets.len == 0);
    decoded->used += count - octets.len;
    free(block);
}

/* A first piece of `first` octets, then pieces of `step`. */
static void decode(const char *octets, size_t count, size_t first, size_t step,
                   struct decoded *decoded)
{
    struct rv_chunked chunked;
    rv_chunked_init(&chunked);
    *decoded = (struct decoded){.result = RV_CHUNKED_INCOMPLETE};
    for (size_t at = 0; at < count && decoded->result == RV_CHUNKED_INCOMPLETE;) {
        size_t piece = at == 0 && first > 0 ? first : step;
        if (piece > count - at)
            piece = count - at;
        feed(&chunked, octets + at, piece, decoded);
        at += piece;
    }
}

static void require_same(const struct decoded *a, const struct decoded *b)
{
    require(a->result == b->result && a->reason == b->reason);
    require(a->used == b->used && a->length == b->length);
    require(memcmp(a->data, b->data, a->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct decoded whole;
    static struct decoded cut;
    if (size < 1 || size > OCTETS_MAX)
        return 0;
    const char *octets = (const char *)data + 1;
    size_t count = size - 1;

    decode(octets, count, count, count, &whole);
    require(whole.result != RV_CHUNKED_ERROR || whole.reason != NULL);
    require(whole.result != RV_CHUNKED_LAST || octets[whole.used - 1] == '\n');
    decode(octets, count, data[0], count, &cut);
    require_same(&whole, &cut);
    decode(octets, count, 0, 1, &cut);
    require_same(&whole, &cut);
    return 0;
}
